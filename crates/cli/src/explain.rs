//! `xoff explain`: the causal chain from a pause back to its root.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::Manifest;
use xoff_run::{Circle, Explanation, How, NetworkScenario, Root, explain_in};
use xoff_scenario::{Problem, Problems};
use xoff_units::Time;

use crate::answer::{Answer, Exit, refused, unwritten};
use crate::caller::{self, Caller};
use crate::run::bar;
use crate::{interrupt, terminal};

/// Explain why a port could not send: who filled which buffer.
///
/// The run is deterministic, so it is run again up to that time with the probe that notes who fills the buffer
/// whenever a port is stopped or slowed down; nothing in the run's folder changes.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  xoff run scenarios/tutorial/ring.toml --out out/ring\n  xoff explain out/ring H1:S1 15ms\n  xoff explain scenarios/tutorial/ring.toml S1:S2 2.9ms\n\nA port is named by its two ends. H1->S1 is the same as H1:S1, but a shell takes the > for itself unless it is quoted."
)]
pub struct Args {
    /// Folder of a run, or a scenario file
    run: PathBuf,
    /// Port that waited, as FROM:TO
    port: String,
    /// Time, such as 2.9ms
    time: String,
    /// Priority; default: the lowest one that waited
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..8))]
    priority: Option<u8>,
}

/// Explains it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    interrupt::end_at_once();
    in_order(&[args.run.as_os_str(), args.port.as_ref(), args.time.as_ref()], "explain")?;
    let at = parse_time(&args.time)?;
    let scenario = load(&args.run)?;
    let folder = Some(args.run.as_path()).filter(|run| run.is_dir());
    let e = explain_in(&scenario, folder, &args.port, at, args.priority, repeats(at)).map_err(|e| refused(&e))?;
    Ok(Answer::new(e.to_string(), &json(&e), Exit::Done))
}

/// Shows on a bar how far a run is that is repeated up to `until`; it ends when a caller asks for it. Ctrl-C ends the process.
pub fn repeats(until: Time) -> impl FnMut(Time) -> bool {
    let (bar, asked) = (bar(), interrupt::asker());
    move |now| {
        let part = now.as_secs_f64() / until.as_secs_f64().max(1e-12);
        bar.done(part);
        bar.message(format!("repeated {now} of {until}, {} left", bar.left(part)));
        !asked()
    }
}

/// Refuses arguments that were given in another order than RUN [PORT] TIME: the one that is a file or folder comes first, the one that
/// is a time last.
pub fn in_order(args: &[&OsStr], command: &str) -> Result<(), Problem> {
    let is_time = |a: &OsStr| a.to_str().is_some_and(|t| t.parse::<Time>().is_ok());
    let rank = |a: &OsStr| if Path::new(a).exists() { 0 } else { 1 + u8::from(is_time(a)) };
    let mut sorted = args.to_vec();
    sorted.sort_by_key(|a| rank(a));
    let all_there = rank(sorted[0]) == 0 && sorted.last().is_some_and(|a| is_time(a));
    if !all_there || (rank(args[0]) == 0 && is_time(args[args.len() - 1])) {
        return Ok(());
    }
    let quoted: Vec<String> = sorted.iter().map(|a| format!("'{}'", a.to_string_lossy())).collect();
    Err(Problem::new("the arguments are swapped", format!("did you mean xoff {command} {}?", quoted.join(" "))))
}

/// The argument TIME.
pub fn parse_time(text: &str) -> Result<Time, Problem> {
    text.parse()
        .map_err(|e: xoff_units::UnitError| Problem::new(e.what, format!("expected {}", e.expected)).at(terminal::option("TIME", text)))
}

/// The scenario of a run's folder, or a scenario file.
pub fn load(path: &Path) -> Result<NetworkScenario, Problems> {
    if let Some((text, folder)) = caller::present().as_deref().and_then(Caller::scenario) {
        return NetworkScenario::from_text(xoff_run::RESOLVED, text, &[], folder);
    }
    if !path.exists() {
        let what = format!("there is no folder or file '{}'", path.display());
        return Err(Problem::new(what, "expected the folder of a run (--out of xoff run), or a scenario file").into());
    }
    if !path.is_dir() {
        return NetworkScenario::load(path, &[]);
    }
    let m = Manifest::read(path).map_err(|e| unwritten(&e))?;
    unchanged(path)?;
    let owner = xoff_output::owner(path).unwrap_or_default();
    if let Some(real @ ("testbed" | "switch" | "host")) = owner.split_whitespace().next() {
        let what = format!("{} belongs to xoff {real}: its frames were real and do not come again", path.display());
        return Err(Problem::new(what, "give the scenario file, which is simulated").into());
    }
    if m.xoff_version != xoff_run::VERSION {
        let (then, now) = (&m.xoff_version, xoff_run::VERSION);
        let text = format!("{} was made by xoff {then}, the run is repeated by xoff {now}: what it did then may differ", path.display());
        terminal::note(&text);
    }
    let name = path.join(xoff_run::RESOLVED).display().to_string();
    NetworkScenario::from_text(&name, &m.scenario, &[], Path::new(&m.scenario_folder))
}

/// Refuses a folder whose results are not as the run left them.
pub fn unchanged(folder: &Path) -> Result<(), Problem> {
    let changed = xoff_output::changed_in(folder);
    let Some(name) = changed.first() else { return Ok(()) };
    let what = format!("{} is not as the run left it", folder.join(name).display());
    Err(Problem::new(what, "the folder was changed after the run: run it again"))
}

/// A port that waits.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ExplainStep")]
struct JsonStep {
    /// Its name.
    port: String,
    /// Its priority that waits.
    priority: u8,
    /// Since when it is held back [ps].
    since_ps: u64,
    /// `stopped` or `slowed`.
    restraint: &'static str,
    /// Rate that flow control allows [bit/s]; 0: it is stopped.
    allowed_bits_per_second: u64,
    /// Bytes in the buffer behind it, because of which it is held back [bytes].
    held_bytes: u64,
    /// Egress ports of that switch through which these bytes are to leave, with their bytes.
    waiting_for: Vec<(String, u64)>,
    /// Flows of these bytes: number, sending host, receiving host, bytes.
    flows: Vec<(u32, String, String, u64)>,
}

/// Why a port waited, from port to port.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Explain")]
pub struct Json {
    /// The time that was asked about [ps].
    at_ps: u64,
    /// The port that was asked about, then the port for which each waits.
    steps: Vec<JsonStep>,
    /// Where it ends: `bottleneck`, `deadlock`, `circle` (ports that wait for each other without a deadlock), `far end` (a host that does not take frames), `not held` (the port did not wait).
    root: &'static str,
    /// The port that is the bottleneck; null: it ends elsewhere.
    root_port: Option<String>,
    /// Number of the step, from 0, to which the last one leads back; null: to none.
    cycle_from_step: Option<usize>,
}

fn json(e: &Explanation) -> Json {
    let (root, root_port, cycle_from_step) = match &e.root {
        Root::NotHeld => ("not held", None, None),
        Root::Cycle { step, circle: Circle::Deadlock } => ("deadlock", None, Some(*step)),
        Root::Cycle { step, .. } => ("circle", None, Some(*step)),
        Root::Bottleneck { port, .. } => ("bottleneck", Some(port.clone()), None),
        Root::FarEnd => ("far end", None, None),
    };
    let step = |s: &xoff_run::Step| JsonStep {
        port: s.port.clone(),
        priority: s.priority,
        since_ps: s.since.0,
        restraint: if s.how == How::Stopped { "stopped" } else { "slowed" },
        allowed_bits_per_second: if let How::Slowed(r) = s.how { r.0 } else { 0 },
        held_bytes: s.held.0,
        waiting_for: s.waiting_for.iter().map(|(p, b)| (p.clone(), b.0)).collect(),
        flows: s.flows.iter().map(|(f, a, b, x)| (*f, a.clone(), b.clone(), x.0)).collect(),
    };
    Json { at_ps: e.at.0, steps: e.steps.iter().map(step).collect(), root, root_port, cycle_from_step }
}
