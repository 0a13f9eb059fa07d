//! The server of a report, on this machine only.

use std::io::IsTerminal;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use xoff_real::netio::{HttpAnswer, HttpRequest, HttpServer};
use xoff_run::NetworkScenario;
use xoff_scenario::{Problem, Problems};

use super::{Args, Given, Json, NoAnswer};
use crate::answer::{Answer, Exit};
use crate::{interrupt, terminal};

/// Serves the page of a run until Ctrl-C.
pub fn serve(
    args: &Args,
    html: String,
    scenario: Option<NetworkScenario>,
) -> Result<Answer, Problems> {
    let dir = args.run.clone();
    let listener = listen(args.port)?;
    interrupt::ask_first();
    let server =
        HttpServer::start("view", listener, move |r| answer(r, &html, &dir, scenario.as_ref()))
            .map_err(|e| unserved(&e))?;
    let address = format!("http://{}/", server.address());
    terminal::note(&format!("{} is at {address} (Ctrl-C ends)", args.run.display()));
    if !args.no_browser && std::io::stderr().is_terminal() {
        open(&address);
    }
    while !interrupt::asked() {
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(Answer::new(String::new(), &Json { address }, Exit::Done))
}

/// A socket of this machine only.
pub fn listen(port: u16) -> Result<TcpListener, Problems> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|e| unserved(&e))
}

/// Reason why nothing can be served.
pub fn unserved(e: &std::io::Error) -> Problems {
    Problem::new(
        format!("xoff cannot serve the report: {e}"),
        "choose another port, or no port for any free one",
    )
    .into()
}

/// Starts the user's browser, where there is one.
pub fn open(address: &str) {
    let quiet = std::process::Stdio::null;
    // Without one the address is on the terminal.
    let _ = std::process::Command::new("xdg-open")
        .arg(address)
        .stdin(quiet())
        .stdout(quiet())
        .stderr(quiet())
        .spawn();
}

/// Whether the request has the server's own host name, and comes from its own page: another site
/// that the browser shows may not read a run through a name that leads here, nor have one repeated.
/// Others may link to the page itself.
pub fn is_own(r: &HttpRequest) -> bool {
    let name = r.host.map(|h| h.rsplit_once(':').map_or(h, |(name, _)| name));
    matches!(name, Some("127.0.0.1" | "localhost")) && (r.path == "/" || !r.is_foreign)
}

/// Answer to a request that is not the server's own.
pub fn not_own() -> HttpAnswer {
    HttpAnswer::text("403 Forbidden", "this server only answers its page at http://127.0.0.1\n")
}

fn answer(
    r: &HttpRequest,
    html: &str,
    dir: &Path,
    scenario: Option<&NetworkScenario>,
) -> HttpAnswer {
    if !is_own(r) {
        return not_own();
    }
    if r.path == "/" {
        let content = "text/html; charset=utf-8";
        return HttpAnswer { status: "200 OK", content, body: Arc::from(html.as_bytes()) };
    }
    match super::asked(r.path, r.query, dir, scenario) {
        Ok(Given { content, body }) => HttpAnswer { status: "200 OK", content, body: body.into() },
        Err(e) => {
            let status = match &e {
                NoAnswer::NotFound => "404 Not Found",
                NoAnswer::Bad(_) => "400 Bad Request",
                NoAnswer::Failed(_) => "500 Internal Server Error",
            };
            HttpAnswer::text(status, e.to_string())
        }
    }
}
