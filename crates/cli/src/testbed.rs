//! `xoff testbed`: a scenario with real Ethernet frames, on this machine.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use xoff_record::Sink;
use xoff_run::{Finished, Progress, Scenario};
use xoff_scenario::{Problem, Problems};
use xoff_sim::Ended;
use xoff_switchd::RunnerConfig;
use xoff_testbed::wiring::{self, Real};
use xoff_testbed::{Comparison, Drive, DriveError, RealReport, Side, bed, compare, drive};

use crate::answer::{Answer, Exit, refused};
use crate::run::{Bar, problem, settings};
use crate::{interrupt, terminal};

/// Run a scenario with real Ethernet frames on this machine.
///
/// Every link becomes a pair of virtual interfaces in namespaces of the command's own, which need no privileges and vanish with it.
/// The nodes are those of a simulation; they send and receive real frames, at the rates of the scenario, in real time. Results are the
/// tables of a simulation and what only real frames can tell.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  xoff testbed scenarios/testbed/ring-pfc.toml --out out/pfc\n  xoff testbed scenarios/testbed/ring-gfc.toml --out out/gfc --compare\n  xoff testbed scenarios/testbed/ring-gfc.toml --out out/gfc --set run.duration=3s"
)]
pub struct Args {
    /// Scenario file
    scenario: PathBuf,
    /// Folder for the results; made if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Seed of every random stream; replaces run.seed
    #[arg(long)]
    seed: Option<u64>,
    /// Replace or add a value, such as flow_control=gfc-buffer or run.duration=2s; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Also simulate the scenario, and draw both in one figure: compare.svg, compare.html and compare.md beside the tables
    #[arg(long)]
    compare: bool,
}

/// Runs it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let scenario = Scenario::load(&args.scenario, &settings(&args.set, args.seed)?)?;
    wiring::refuse(&scenario).map_err(|e| refused(&e))?;
    terminal::problems(&scenario.warnings);
    wiring::warnings(&scenario).iter().for_each(|w| terminal::note(w));
    // Before anything has a thread.
    bed::isolate().map_err(|e| Problem::new(e.to_string(), ""))?;
    interrupt::ask_first();

    let here = vec![true; scenario.topology.nodes.len()];
    let links = wiring::links(&scenario, &here, |_, _| false);
    let ports = bed::ports(&scenario, &links).map_err(|e| Problem::new(e.to_string(), ""))?;
    let runner = RunnerConfig { until: scenario.until, report: Duration::from_millis(100), ..RunnerConfig::default() };
    let bar = Bar::new();
    let d = Drive { runner, real: Real::default(), tap: None };
    let driven = drive(&scenario, here, links, ports, Sink::Files(args.out.clone()), d, |look| {
        bar.update(&Progress { now: look.time, until: look.until, events: 0, deadlocks: look.deadlocks });
        look.log.iter().for_each(|l| terminal::note(l));
        !interrupt::asked()
    });
    drop(bar);
    let (finished, real) = driven.map_err(failed)?;
    let exit = match finished.outcome.ended {
        Ended::Interrupted => Exit::Interrupted,
        _ if finished.outcome.violations_total > 0 || real.kernel_drops() > 0 => Exit::No,
        _ => Exit::Done,
    };
    let compared = if args.compare { Some(simulated(&scenario, &finished, &real, args)?) } else { None };
    let mut answer = text(&scenario, &finished, &real, args);
    if let Some(c) = &compared {
        let mut t = terminal::table(c.table.columns.iter().map(|c| c.name.as_str()));
        c.table.rows.iter().for_each(|row| {
            t.add_row(row.iter().map(|c| c.text().to_owned()));
        });
        answer.push_str(&format!("\n{}\nComparison: {}\n", terminal::draw(&t), c.page.display()));
    }
    Ok(Answer::new(answer, &json(&finished, &real, compared.as_ref(), args), exit))
}

/// The same scenario simulated, beside the real run.
fn simulated(s: &Scenario, real: &Finished, report: &RealReport, args: &Args) -> Result<Comparison, Problems> {
    let folder = args.out.join("simulated");
    let simulated = s.run(Sink::Files(folder.clone())).map_err(problem)?;
    let real = Side { finished: real, folder: &args.out };
    let simulated = Side { finished: &simulated, folder: &folder };
    compare(s, real, report, simulated, &args.out).map_err(|e| Problem::new(e.to_string(), "").into())
}

/// A run that failed, as problems.
fn failed(e: DriveError) -> Problems {
    match e {
        DriveError::Run(e) => problem(e),
        DriveError::Live(e) => Problem::new(e.to_string(), "").into(),
    }
}

#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    run: serde_json::Value,
    real: &'a RealReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<&'a Comparison>,
}

fn json<'a>(f: &Finished, real: &'a RealReport, compared: Option<&'a Comparison>, args: &Args) -> impl Serialize + use<'a> {
    Json { run: serde_json::to_value(crate::run::json(f, &args.out)).unwrap_or_default(), real, compared }
}

fn text(s: &Scenario, f: &Finished, real: &RealReport, args: &Args) -> String {
    let mut t = terminal::pairs();
    let mut row = |name: &str, value: String| {
        t.add_row([name, &value]);
    };
    let count = |of: fn(&xoff_testbed::PortReport) -> u64| real.ports.iter().map(of).sum::<u64>();
    row("Real frames", format!("{} sent, {} of them control frames", count(|p| p.sent), count(|p| p.control_sent)));
    row("Lost on wires", real.lost_on_wire.map_or("-".into(), |n| n.to_string()));
    row("Lost in the kernel's rings", real.kernel_drops().to_string());
    row("Refused", count(|p| p.refused).to_string());
    row("Loop gaps", format!("99 % below {:.0} us, longest {:.0} us", real.gap_p99_us, real.gap_longest_us));
    row(
        "World's clock",
        format!("{:.3} of {:.3} seconds left out, while the processor was elsewhere", real.left_out_seconds, real.wall_seconds),
    );
    format!("{}\n{}", crate::run::text(s, f, &args.out), terminal::draw(&t))
}
