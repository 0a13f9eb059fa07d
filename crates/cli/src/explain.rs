//! `xoff explain`: the causal chain from a pause back to its root.

use std::path::PathBuf;

use serde::Serialize;
use xoff_record::Manifest;
use xoff_run::{Explanation, How, Root, Scenario, explain};
use xoff_scenario::{Problem, Problems};
use xoff_units::Time;

use crate::answer::{Answer, Exit, refused, unwritten};
use crate::{interrupt, terminal};

/// Explain why a port could not send: who filled which buffer.
///
/// The run is deterministic, so it is run again up to that time with the probe that notes who fills the buffer
/// whenever a port is stopped or slowed down; nothing in the run's folder changes.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  xoff explain out/ring \"H1->S1\" 15ms\n  xoff explain ring.toml \"S1->S2\" 2.9ms")]
pub struct Args {
    /// Folder of a run, or a scenario file
    run: PathBuf,
    /// Port that waited, as FROM->TO
    port: String,
    /// Moment, such as 2.9ms
    time: String,
    /// Priority; the lowest one that waited if it is not given
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..8))]
    priority: Option<u8>,
}

/// Explains it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    interrupt::end_at_once();
    let at = moment(&args.time)?;
    let scenario = load(&args.run)?;
    let e = explain(&scenario, &args.port, at, args.priority, |_| true).map_err(|e| refused(&e))?;
    Ok(Answer::new(e.to_string(), &json(&e), Exit::Done))
}

/// The argument TIME.
pub fn moment(text: &str) -> Result<Time, Problem> {
    text.parse()
        .map_err(|e: xoff_units::UnitError| Problem::new(e.what, format!("expected {}", e.expected)).at(terminal::option("TIME", text)))
}

/// The scenario of a run's folder, or a scenario file.
pub fn load(path: &std::path::Path) -> Result<Scenario, Problems> {
    if path.is_file() {
        return Scenario::load(path, &[]);
    }
    let m = Manifest::read(path).map_err(|e| unwritten(&e))?;
    let name = path.join(xoff_run::RESOLVED).display().to_string();
    Scenario::from_text(&name, &m.scenario, &[], std::path::Path::new(&m.scenario_folder))
}

#[derive(Serialize)]
struct JsonStep {
    port: String,
    priority: u8,
    since_ps: u64,
    restraint: &'static str,
    allowed_bits_per_second: u64,
    held_bytes: u64,
    waiting_for: Vec<(String, u64)>,
    flows: Vec<(u32, String, String, u64)>,
}

#[derive(Serialize)]
struct Json {
    at_ps: u64,
    steps: Vec<JsonStep>,
    root: &'static str,
    root_port: Option<String>,
    cycle_from_step: Option<usize>,
}

fn json(e: &Explanation) -> impl Serialize + use<> {
    let (root, root_port, cycle_from_step) = match &e.root {
        Root::NotHeld => ("not held", None, None),
        Root::Cycle(i) => ("deadlock", None, Some(*i)),
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
