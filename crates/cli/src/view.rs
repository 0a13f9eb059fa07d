//! `xoff view`: the report of a run in a browser, with answers that need a server.

use std::io::{ErrorKind, IsTerminal};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use xoff_real::netio::{HttpAnswer, HttpRequest, HttpServer};
use xoff_record::{Manifest, Sink};
use xoff_run::{NetworkScenario, explain};
use xoff_scenario::{Problem, Problems};
use xoff_units::Time;

use crate::answer::{Answer, Exit, unwritten};
use crate::run::{bar, problem, show};
use crate::{interrupt, terminal};

/// Show the report of a run in a browser.
///
/// Serves report.html on this machine only, until Ctrl-C. The served report also loads the probes
/// of a port from the tables as you zoom, and answers `xoff explain`. xoff repeats a run without
/// report.html to draw it.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff run scenarios/tutorial/ring.toml\n  xoff view out/ring"
)]
pub struct Args {
    /// Folder of a run
    run: PathBuf,
    /// Serve on this port of 127.0.0.1; 0: any free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Only serve the report; open no browser
    #[arg(long)]
    no_browser: bool,
}

/// A page that was served.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "View")]
pub struct Json {
    /// Address.
    address: String,
}

/// Serves it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let folder = &args.run;
    let owner = is_of_a_run(folder)?;
    let scenario = crate::explain::load(folder);
    let manifest = Manifest::read(folder).map_err(|e| unwritten(&e))?;
    let html = page(folder, &manifest, scenario.as_ref().ok(), &owner)?;
    let listener = listen(args.port)?;
    interrupt::ask_first();
    let html = xoff_report::view::opened(&html);
    let (dir, scenario) = (folder.clone(), scenario.ok());
    let server =
        HttpServer::start("view", listener, move |r| answer(r, &html, &dir, scenario.as_ref()))
            .map_err(|e| unserved(&e))?;
    let address = format!("http://{}/", server.address());
    terminal::note(&format!("{} is at {address} (Ctrl-C ends)", folder.display()));
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

/// Rejects a folder without a run that has a report. Returns the subcommand of the run, empty if it
/// is not known.
fn is_of_a_run(folder: &Path) -> Result<String, Problem> {
    let name = folder.display().to_string();
    let refuse =
        |what: String, hint: &str| Err(Problem::new(what, hint).at(terminal::option("RUN", &name)));
    if !folder.exists() {
        return refuse(
            format!("there is no folder '{name}'"),
            "expected the folder of a run (--out of xoff run), such as out/ring",
        );
    }
    if folder.is_file() {
        let hint = "expected the folder of a run; open report.html directly in a browser";
        return refuse(format!("'{name}' is a file, not the folder of a run"), hint);
    }
    let owner = xoff_record::output::owner(folder).unwrap_or_default();
    match owner.split_whitespace().next().unwrap_or_default() {
        command @ ("sweep" | "bench-fabric" | "reproduce") => refuse(
            format!("'{name}' is not the folder of a run: it belongs to xoff {command}"),
            "open its index.html instead",
        ),
        "hpcc" => refuse(
            format!("'{name}' contains a replay of the HPCC simulator, which has no report"),
            "use xoff run for a report; a replay has the output files of that simulator",
        ),
        _ => Ok(owner),
    }
}

/// The page of the run, from its folder or from the run repeated.
fn page(
    folder: &Path,
    manifest: &Manifest,
    scenario: Option<&NetworkScenario>,
    owner: &str,
) -> Result<String, Problems> {
    let file = folder.join(xoff_report::view::REPORT);
    if manifest.files.iter().any(|f| f.name == xoff_report::view::REPORT) {
        match std::fs::read_to_string(&file) {
            Ok(html) => return Ok(html),
            // Removed since: as if the run had left none.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => {
                return Err(Problem::new(
                    format!("cannot read {}: {e}", file.display()),
                    "run it again",
                )
                .into());
            }
        }
    }
    if ["testbed", "switch", "host"].iter().any(|real| owner.starts_with(real)) {
        let what = format!(
            "{} has no {}, and real frames cannot be repeated",
            folder.display(),
            xoff_report::view::REPORT
        );
        let hint = "use xoff testbed, or xoff switch and xoff host with --live and --out";
        return Err(Problem::new(what, hint).into());
    }
    let Some(s) = scenario else {
        // The scheduled fabric, whose runs are short; or what explain::load has refused, with its
        // reason.
        let hint = "repeat the run without --no-report";
        return Err(Problem::new(
            format!("{} has no {}", folder.display(), xoff_report::view::REPORT),
            hint,
        )
        .into());
    };
    terminal::note(&format!(
        "{} has no {}: xoff repeats the run to draw it",
        folder.display(),
        xoff_report::view::REPORT
    ));
    interrupt::ask_first();
    let (bar, name) = (bar(), folder.display().to_string());
    let running = s.start(Sink::Nothing, None).map_err(problem)?.with_page(|_| None);
    let finished = running.run(|p| {
        show(&bar, p);
        !interrupt::asked()
    });
    let finished = finished.map_err(problem)?;
    if !manifest.interrupted && finished.manifest.result_hash != manifest.result_hash {
        terminal::note(
            "the repeated run has another result hash: xoff or an input file has changed",
        );
    }
    Ok(String::from_utf8_lossy(&xoff_report::view::of_network(s, &finished, &name).bytes)
        .into_owned())
}

/// Reads `a=b&c=d`, with percent escapes.
fn argument(query: &str, name: &str) -> Option<String> {
    let value =
        query.split('&').find_map(|pair| pair.split_once('=').filter(|(n, _)| *n == name))?.1;
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(b) = rest.next() {
        match b {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            b'+' => bytes.push(b' '),
            b => bytes.push(b),
        }
    }
    String::from_utf8(bytes).ok()
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
    const NOT_FOUND: &str = "404 Not Found";
    const BAD: &str = "400 Bad Request";
    if !is_own(r) {
        return not_own();
    }
    let time = |name: &str| argument(r.query, name).and_then(|t| t.parse::<u64>().ok());
    let port = argument(r.query, "port");
    match (r.path, port, scenario) {
        ("/", ..) => HttpAnswer {
            status: "200 OK",
            content: "text/html; charset=utf-8",
            body: std::sync::Arc::from(html.as_bytes()),
        },
        ("/api/explain", Some(port), Some(s)) => {
            let Some(at) = time("at_ps") else {
                return HttpAnswer::text(BAD, "at_ps is missing: a time in picoseconds\n");
            };
            let asked = interrupt::asker();
            match explain(s, &port, Time(at), None, |_| !asked()) {
                Ok(e) => HttpAnswer::text("200 OK", e.to_string()),
                Err(e) => HttpAnswer::text(BAD, format!("{e}\n")),
            }
        }
        ("/api/series", Some(port), _) => {
            let (Some(from), Some(to)) = (time("start_ps"), time("end_ps")) else {
                return HttpAnswer::text(
                    BAD,
                    "start_ps or end_ps is missing: times in picoseconds\n",
                );
            };
            match xoff_report::view::series(dir, &port, from, to) {
                Ok(lines) => {
                    let body = serde_json::to_vec(&lines).unwrap_or_default();
                    HttpAnswer { status: "200 OK", content: "application/json", body: body.into() }
                }
                Err(e) => HttpAnswer::text("500 Internal Server Error", format!("{e}\n")),
            }
        }
        _ => HttpAnswer::text(NOT_FOUND, "the page is at /\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_unescaped() {
        assert_eq!(argument("port=S1-%3ES2&at_ps=5", "port").as_deref(), Some("S1->S2"));
        assert_eq!(argument("port=S1-%3ES2&at_ps=5", "at_ps").as_deref(), Some("5"));
        assert_eq!(argument("port=%f", "port"), None);
        assert_eq!(argument("", "port"), None);
    }
}
