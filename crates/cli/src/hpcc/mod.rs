//! `xoff hpcc`: replay of an unmodified configuration of the HPCC simulator.

mod files;
pub mod report;

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use xoff_net::topology::PortNumbers;
use xoff_record::{RecordError, ResultHash, Verdict};
use xoff_run::ProcessTime;
use xoff_run::hpcc::{Lines, Replay, fct_line, prepare, qlen_block};
use xoff_scenario::Problems;
use xoff_scenario::hpcc::HpccCase;
use xoff_sim::{Ended, Outcome, World};

use crate::answer::{Allowed, Answer, refused, unwritten};
use crate::out::{self, Out};
use crate::progress::Bar;
use crate::{interrupt, terminal};
use files::{Files, LineFile, PfcRecorder};
use xoff_units::grouped;

/// Replay an unmodified configuration of the HPCC simulator.
///
/// Reads the configuration with its topology and flow files. Writes flow completion times and PFC
/// frames in the same format, equal to the nanosecond, and manifest.json. Supports CC_MODE 0
/// (none), 1 (DCQCN), 3 (HPCC) and 7 (TIMELY). Runs on one thread, in the event order of that
/// simulator.
#[derive(clap::Args)]
#[command(
    after_long_help = "Example:\n  xoff hpcc crates/run/tests/hpcc/m4_star_2to1_dcqcnstep/config.txt \\\n    --out out/hpcc && head out/hpcc/fct.txt"
)]
pub struct Args {
    /// Configuration file (config.txt)
    config: PathBuf,
    #[command(flatten)]
    out: Out,
    #[command(flatten)]
    allowed: Allowed,
}

/// Facts of the run, for the report.
struct Run {
    case: HpccCase,
    outcome: Outcome,
    hash: ResultHash,
    started: SystemTime,
    wall_seconds: f64,
    cpu_seconds: f64,
    pfc_lines: u64,
    verdict: Verdict,
    fct: PathBuf,
    pfc: PathBuf,
}

/// Replays it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let case = xoff_scenario::hpcc::load(&args.config)?;
    print(&case);
    let (started, wall, cpu) = (SystemTime::now(), Instant::now(), ProcessTime::now());
    let mut replay = prepare(&case).map_err(|e| refused(&e))?;
    let results = args.out.or(default_folder(&args.config));
    if args.out.is_default() {
        out::of_this_file(&results, &args.config, &args.out.force)?;
    }
    let folder = out::claim("--out", &results, "hpcc", &args.out.force)?;
    let Files { mut fct, pfc, mut qlen } = files::create(&folder, &case, &args.config)?;

    let switches: Vec<bool> = replay.topology.node_ids().map(|n| replay.is_switch(n)).collect();
    replay.world.record_to(Box::new(PfcRecorder {
        file: pfc,
        ports: PortNumbers::new(&replay.topology),
        switches: switches.clone(),
    }));
    let ended = drive(&mut replay, &case);
    let (outcome, recorder) = replay.world.finish(ended);
    let recorder = recorder.expect("the world was given a recorder").into_any();
    let pfc = recorder
        .downcast::<PfcRecorder>()
        .expect("the world returns the recorder it was given")
        .file;
    let (pairs, payload, conweave_ns3) = (&replay.pairs, replay.payload, replay.conweave_ns3);
    for &f in &outcome.completions {
        fct_line(&outcome.flows[f.index()], &Lines { pairs, payload, conweave_ns3 })
            .iter()
            .for_each(|l| fct.line(l));
    }

    if let Some(file) = &mut qlen {
        outcome.queue_counts.iter().for_each(|q| {
            qlen_block(q, |n| switches[n.index()]).lines().for_each(|l| file.line(l))
        });
    }

    let close = || {
        let (fct_path, pfc_path) = (fct.path(), pfc.path());
        let run = Run {
            hash: ResultHash::of([("fct", &fct.hasher), ("pfc", &pfc.hasher)]),
            pfc_lines: pfc.hasher.rows(),
            pfc: pfc_path,
            fct: fct_path,
            verdict: report::judge(&case, &replay.topology, &outcome),
            outcome,
            started,
            wall_seconds: wall.elapsed().as_secs_f64(),
            cpu_seconds: cpu.elapsed().as_secs_f64(),
            case,
        };
        let files = [Some(fct), Some(pfc), qlen]
            .into_iter()
            .flatten()
            .map(LineFile::finish)
            .collect::<Result<Vec<_>, _>>()?;
        Ok::<_, RecordError>((run, files))
    };
    let (run, files) = close().map_err(|e| unwritten(&e))?;
    let mut manifest = report::manifest(&run, &args.config);
    manifest.files = files;
    let path = manifest.write(&folder).map_err(|e| unwritten(&e))?;
    let text = report::text(&run, &manifest, &path, &args.allowed);
    let json = report::json(&run, &manifest, &path, &args.allowed);
    Ok(Answer::new(text, &json, args.allowed.exit(&run.verdict))
        .next([next(&args.config, &run.case)]))
}

/// The command that leads on: whether the routes of the same files can deadlock.
fn next(config: &Path, case: &HpccCase) -> String {
    let found = |name: &String| {
        xoff_scenario::hpcc::locate(config, name, &None)
            .map_or_else(|_| name.clone(), |p| p.display().to_string())
    };
    let (topology, flows) = (found(&case.config.topology_file), found(&case.config.flow_file));
    format!(
        "xoff check {} --flows {} --routing hashed",
        terminal::word(&topology),
        terminal::word(&flows)
    )
}

/// Folder for the results of a configuration, which most often is called config.txt:
/// `out/NAME-hpcc` after its own folder.
fn default_folder(config: &Path) -> PathBuf {
    let folder = config
        .parent()
        .filter(|p| p.file_name().is_some() && config.file_stem().is_some_and(|s| s == "config"));
    out::default(folder.unwrap_or(config), "-hpcc")
}

/// Runs to the end, or until the user interrupts it or the disk is full.
fn drive(replay: &mut Replay, case: &HpccCase) -> Ended {
    interrupt::ask_first();
    let bar = Bar::new("{bar:12} {msg}");
    replay.world.drive(replay.until, |world| {
        show(&bar, case, world);
        !interrupt::asked()
    })
}

/// Shows on a bar how far a replay is. Work goes with flows, not with simulated time: a stop time
/// usually is seconds after the last flow.
fn show(bar: &Bar, case: &HpccCase, world: &World) {
    let (done, flows) = (world.completed() as u64, case.flows.len() as u64);
    let part = done as f64 / flows.max(1) as f64;
    bar.done(part);
    bar.message(format!(
        "{} of {} flows, at {:.6} s, {:.1} million events/s, {} left",
        grouped(done),
        grouped(flows),
        world.now().as_secs_f64(),
        world.events() as f64 / bar.elapsed().as_secs_f64().max(1e-9) / 1e6,
        bar.left(part)
    ));
}

/// Warnings, and the keys that have no effect, by reason.
fn print(case: &HpccCase) {
    terminal::problems(&case.warnings);
    report::ignored(case).iter().for_each(|line| terminal::note(line));
}
