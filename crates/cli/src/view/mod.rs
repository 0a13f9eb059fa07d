//! `xoff view`: the report of a run in a browser, with answers that need a server.

#[cfg(not(target_family = "wasm"))]
mod server;

#[cfg(not(target_family = "wasm"))]
pub use server::{is_own, listen, not_own, open, unserved};

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::{Manifest, Sink};
use xoff_run::{NetworkScenario, explain};
use xoff_scenario::{Problem, Problems};
use xoff_units::Time;

#[cfg(target_family = "wasm")]
use crate::answer::Exit;
use crate::answer::{Answer, unwritten};
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
    /// Answer this request of the report instead of showing it
    #[cfg(target_family = "wasm")]
    request: Option<String>,
    /// Serve on this port of 127.0.0.1; 0: any free one
    #[cfg(not(target_family = "wasm"))]
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Only serve the report; open no browser
    #[cfg(not(target_family = "wasm"))]
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

/// Serves it, or answers a request of it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let folder = &args.run;
    let owner = is_of_a_run(folder)?;
    let scenario = crate::explain::load(folder);
    #[cfg(target_family = "wasm")]
    if let Some(request) = &args.request {
        let (path, query) = request.split_once('?').unwrap_or((request, ""));
        let given = asked(path, query, folder, scenario.as_ref().ok());
        let given = given.map_err(|e| Problem::new(e.to_string().trim(), ""))?;
        let text = String::from_utf8_lossy(&given.body).into_owned();
        return Ok(Answer::new(text, &Json { address: request.clone() }, Exit::Done));
    }
    let manifest = Manifest::read(folder).map_err(|e| unwritten(&e))?;
    let html = page(folder, &manifest, scenario.as_ref().ok(), &owner)?;
    let html = xoff_report::view::opened(&html);
    #[cfg(target_family = "wasm")]
    return Ok(Answer::new(html, &Json { address: folder.display().to_string() }, Exit::Done));
    #[cfg(not(target_family = "wasm"))]
    server::serve(args, html, scenario.ok())
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

/// An answer to a request of the report.
struct Given {
    /// Type of the content.
    content: &'static str,
    body: Vec<u8>,
}

/// Reason for no answer to a request of the report.
enum NoAnswer {
    /// There is no such page.
    NotFound,
    /// The request is wrong.
    Bad(String),
    /// The tables cannot be read.
    Failed(String),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::NotFound => f.write_str("the page is at /\n"),
            NoAnswer::Bad(why) | NoAnswer::Failed(why) => writeln!(f, "{why}"),
        }
    }
}

/// Answers a request of the report of the run in `dir`.
fn asked(
    path: &str,
    query: &str,
    dir: &Path,
    scenario: Option<&NetworkScenario>,
) -> Result<Given, NoAnswer> {
    let time = |name: &str| argument(query, name).and_then(|t| t.parse::<u64>().ok());
    match (path, argument(query, "port"), scenario) {
        ("/api/explain", Some(port), Some(s)) => {
            let Some(at) = time("at_ps") else {
                return Err(NoAnswer::Bad("at_ps is missing: a time in picoseconds".into()));
            };
            let stop = interrupt::asker();
            let e = explain(s, &port, Time(at), None, |_| !stop());
            let e = e.map_err(|e| NoAnswer::Bad(e.to_string()))?;
            let content = "text/plain; charset=utf-8";
            Ok(Given { content, body: e.to_string().into_bytes() })
        }
        ("/api/series", Some(port), _) => {
            let (Some(from), Some(to)) = (time("start_ps"), time("end_ps")) else {
                let why = "start_ps or end_ps is missing: times in picoseconds";
                return Err(NoAnswer::Bad(why.into()));
            };
            let lines = xoff_report::view::series(dir, &port, from, to)
                .map_err(|e| NoAnswer::Failed(e.to_string()))?;
            let body = serde_json::to_vec(&lines).unwrap_or_default();
            Ok(Given { content: "application/json", body })
        }
        _ => Err(NoAnswer::NotFound),
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
