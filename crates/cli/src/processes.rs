//! `xoff-mpi`: `xoff run` in several processes. The program supplies the transport: this
//! crate does not know MPI.
//!
//! ```text
//!   every process   arguments -> scenario -> the same at all? -> its share of the run
//!   process 0       folder, tables, progress, answer, exit code
//!   another one     nothing on stdout and stderr: process 0 reports its errors
//! ```

use std::ffi::OsString;

use clap::{Parser, Subcommand};
use xoff_record::Sink;
use xoff_run::{NetworkScenario, Processes, Scenario, Stopped, agree};
use xoff_scenario::{Problem, Problems};

use crate::answer::{self, Answer, Exit};
use crate::run::{self, Args};
use crate::{VERSION, interrupt, terminal};

/// A laboratory for lossless networks: one run in several processes, started by mpirun.
#[derive(Parser)]
#[command(name = "xoff-mpi", version = VERSION, max_term_width = 110, after_long_help = HELP, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Answer with one JSON object on stdout
    #[arg(long, global = true, display_order = 900)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario of a network: the tables, manifest, summary and result hash are those of
    /// `xoff run`
    Run(Args),
}

const HELP: &str = "\
Example:
  mpirun -n 4 xoff-mpi run scenarios/bench/permutation.toml --out out/permutation

Every process reads the scenario, and simulates its share of the network; process 0
writes the folder. Exit codes are those of xoff run.";

/// The command with these arguments, in one of several processes; returns its exit code.
pub fn main_among(
    args: impl IntoIterator<Item = OsString>,
    mut processes: Box<dyn Processes>,
) -> u8 {
    crate::identify();
    let first = processes.mine() == 0;
    let cli = match agree(&mut *processes, Cli::try_parse_from(args)) {
        Ok(cli) => cli,
        Err(Stopped::Here(e)) => {
            if first {
                let _ = e.print();
            }
            return e.exit_code() as u8;
        }
        Err(Stopped::Remote { process, why }) => return refused(&elsewhere(process, &why), first),
    };
    let Command::Run(args) = &cli.command;
    match among(args, processes) {
        Ok(Some(answer)) => answer::deliver(Ok(answer), cli.json),
        Ok(None) => Exit::Done as u8,
        Err(problems) => refused(&problems, first),
    }
}

/// Process 0 reports why there is no run.
fn refused(problems: &Problems, first: bool) -> u8 {
    if first {
        terminal::problems(problems);
    }
    Exit::Bad as u8
}

/// Failure of another process.
fn elsewhere(process: usize, why: &str) -> Problems {
    let hint =
        "every process needs the same program, scenario and input files, under the same names";
    Problem::new(format!("process {process}: {why}"), hint).into()
}

/// Reasons why not all processes continue, as problems.
fn problems<E>(stopped: Stopped<E>, here: impl FnOnce(E) -> Problems) -> Problems {
    match stopped {
        Stopped::Here(e) => here(e),
        Stopped::Remote { process, why } => elsewhere(process, &why),
    }
}

/// The scenario, if several processes can share it.
fn load(args: &Args) -> Result<NetworkScenario, Problems> {
    if args.threads.is_some_and(|n| n > 1) {
        let what = "each process runs on one thread";
        return Err(Problem::new(what, "remove --threads; mpirun -n N starts more processes")
            .at(terminal::option("--threads", "N"))
            .into());
    }
    let Some(file) = args.scenario() else {
        return Err(
            Problem::new("xoff can continue a run only in one process", "use xoff run").into()
        );
    };
    match crate::import::or_foreign(Scenario::load(file, &args.settings()?), file, "run")? {
        Scenario::Fabric(_) => {
            Err(Problem::new("a scheduled fabric needs one process", "use xoff run").into())
        }
        Scenario::Network(mut scenario) => {
            scenario.engine = args.engine.into();
            Ok(*scenario)
        }
    }
}

/// Runs the share of this process. The first one has the answer.
fn among(args: &Args, mut processes: Box<dyn Processes>) -> Result<Option<Answer>, Problems> {
    interrupt::ask_first();
    let first = processes.mine() == 0;
    let prepared = load(args).and_then(|scenario| {
        if first {
            terminal::problems(&scenario.warnings);
        }
        let folder = if first { Some(args.claim()?) } else { None };
        Ok((scenario, folder))
    });
    let (scenario, folder) = agree(&mut *processes, prepared).map_err(|s| problems(s, |p| p))?;
    let differs =
        |what: String| Problem::new(what, "give all processes the same files and the same program");
    scenario.same_everywhere(&mut *processes).map_err(differs)?;
    let Some(folder) = folder else {
        scenario
            .follow(processes, || !interrupt::asked())
            .map_err(|s| problems(s, run::problem))?;
        return Ok(None);
    };
    let running = scenario
        .lead(Sink::Files(folder, args.format), processes)
        .map_err(|s| problems(s, run::problem))?;
    let (all, busy) = running.processes();
    if busy < all {
        terminal::note(&format!(
            "{} of {all} processes are idle: the network has no more switches to share",
            all - busy
        ));
    }
    run::to_the_end(&args.ending(), &scenario, running).map(Some)
}
