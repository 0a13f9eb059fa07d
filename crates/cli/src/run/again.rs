//! `xoff run --resume` and `--from`: runs that are continued.

use std::path::Path;

use xoff_record::verdict::Allow;
use xoff_run::{Fork, Saved, Scenario};
use xoff_scenario::{Problem, Problems};

use super::{Args, Ending, fabric, report_threads, threads, to_the_end};
use crate::answer::{Allowed, Answer};
use crate::{explain, interrupt, terminal};

/// Note of a run in its checkpoints: the names of `--allow`.
pub fn note(allowed: &Allowed) -> String {
    serde_json::to_string(&allowed.list()).unwrap_or_default()
}

/// Continues the run in a folder.
pub fn resume(args: &Args, root: &Path) -> Result<Answer, Problems> {
    let at_option = |p: Problem| {
        Problems::from(p.at(terminal::option("--resume", &root.display().to_string())))
    };
    let saved = Saved::newest(root).map_err(at_option)?;
    saved.passed_over().iter().for_each(|text| terminal::note(text));
    let scenario = saved.scenario()?;
    let continues = || {
        let (root, at) = (root.display(), saved.time());
        terminal::note(&format!("{root} continues from its checkpoint at {at}"));
    };
    let allowed: Vec<Allow> = serde_json::from_str(saved.note()).unwrap_or_default();
    let allowed = args.allowed.clone().and(&allowed);
    let ending =
        Ending { folder: root.to_owned(), report: saved.page(), allowed, verbose: args.verbose };
    interrupt::ask_first();
    match scenario {
        Scenario::Network(scenario) => {
            terminal::problems(&scenario.warnings);
            let running = saved.resume(&scenario, args.claim()?)?;
            continues();
            to_the_end(&ending, &scenario, running)
        }
        Scenario::Fabric(scenario) => {
            terminal::problems(&scenario.warnings);
            let running = scenario.resume(&saved, args.claim()?)?;
            continues();
            fabric::to_the_end(&ending, &scenario, running)
        }
    }
}

/// Continues a copy of the run in a folder with other settings.
pub fn fork(args: &Args, root: &Path) -> Result<Answer, Problems> {
    let at_option =
        |option, value: &str, p: Problem| Problems::from(p.at(terminal::option(option, value)));
    let time = args.at.as_deref().unwrap_or_default();
    let at = time.parse().map_err(|e: xoff_units::UnitError| {
        at_option("--at", time, Problem::new(e.what, format!("expected {}", e.expected)))
    })?;
    if args
        .folder()
        .canonicalize()
        .is_ok_and(|out| root.canonicalize().is_ok_and(|from| out == from))
    {
        let problem = Problem::new(
            "this folder contains the run to be continued",
            "name another folder for the copy",
        );
        return Err(at_option("--out", &args.folder().display().to_string(), problem));
    }
    explain::unchanged(root)?;
    let mut fork = Fork::of(root, at, &args.settings()?)?;
    if !fork.begins_at_a_checkpoint() {
        fork.scenario().engine = args.engine.into();
    }
    terminal::problems(&fork.scenario().warnings);
    interrupt::ask_first();
    fork.notes().iter().for_each(|text| terminal::note(text));
    let running = fork.start(args.claim()?, args.format, threads(args.threads))?;
    if let Some(asked) = args.threads {
        report_threads(asked as usize, running.threads(), running.unsplit());
    }
    to_the_end(&args.ending(), fork.read(), running)
}
