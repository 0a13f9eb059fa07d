//! The `xoff` command, as a library: the program and the Python package start the same one.
//!
//! ```text
//!   arguments -> subcommand -> Answer (text | JSON, exit code) -> stdout
//!                     +-------> Problems -------------------------> stderr, exit code 2
//! ```

mod answer;
mod answers;
mod caller;
mod check;
mod compare;
mod explain;
mod export;
mod figure;
mod host;
mod hpcc;
mod import;
mod installed;
mod interrupt;
mod live;
mod live_page;
mod new;
mod out;
mod plan;
mod processes;
mod progress;
mod replay;
mod reproduce;
mod run;
mod schema;
mod sweep;
mod switch;
mod terminal;
mod testbed;
mod tree;
mod view;

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};
use xoff_scenario::{Problem, Problems};

pub use answer::Given;
pub use answers::page as answers_page;
pub use caller::{Caller, Step};
pub use processes::main_among;
pub use sweep::studies;

/// Version, and the commit that it was built from where that is known: `0.1.0 (292ebc0f1a2b 2026-11-23)`.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("XOFF_BUILD"));

/// A laboratory for lossless networks: simulate, check for deadlocks, dimension.
#[derive(Parser)]
#[command(name = "xoff", version = VERSION, max_term_width = 110, after_help = HELP, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Answer with one JSON object on stdout
    #[arg(long, global = true, display_order = 900)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario: tables, manifest, summary
    Run(run::Args),
    /// Replay an unmodified configuration of the HPCC simulator
    Hpcc(hpcc::Args),
    /// Write a commented scenario to begin with
    New(new::Args),
    /// Import a scenario from the files of a real network: SONiC, containerlab, InfiniBand, FRR, graphs, htsim
    Import(import::Args),
    /// Search for cyclic buffer dependencies: can these routes deadlock?
    Check(check::Args),
    /// Dimension a lossless link: headroom, thresholds, stages, periods
    #[command(visible_alias = "headroom")]
    Plan(plan::Args),
    /// Show the page of a run in a browser
    View(view::Args),
    /// Explain why a port was blocked: which flows filled which buffer
    Explain(explain::Args),
    /// Show the congestion tree at a time: roots, leaves, culprits and victims
    Tree(tree::Args),
    /// Compare runs: parameters, slowdown by size, victims, pauses
    Compare(compare::Args),
    /// Export a run for Perfetto, Wireshark or spreadsheets
    Export(export::Args),
    /// Draw a figure of a run for a paper
    Figure(figure::Args),
    /// Run the figures and tables of a paper and judge them
    Reproduce(reproduce::Args),
    /// Run many combinations of values and seeds: one table, intervals, a report
    Sweep(sweep::Args),
    /// Run a scenario with real Ethernet frames on this machine
    Testbed(testbed::Args),
    /// Run one switch of a scenario on real interfaces
    Switch(switch::Args),
    /// Run one host of a scenario on a real interface
    Host(host::Args),
    /// Prove from a capture that a real run matches the simulation, frame by frame
    Replay(replay::Args),
    Schema(schema::Args),
    Completions(installed::Completions),
    Man(installed::Manual),
}

const HELP: &str = "\
Examples:
  xoff run scenarios/tutorial/ring.toml --out out/ring
  xoff view out/ring  # its page in a browser
  xoff explain out/ring H1:S1 15ms  # why did this port stand still?
  xoff tree scenarios/mechanisms/tcd.toml 500us  # which ports are congested?
  xoff hpcc crates/hpcc/tests/cases/m4_star_2to1_dcqcnstep/config.txt \\
    --out out/hpcc
  xoff check fat-tree:k=8 --fail-any 1  # which failures can deadlock?
  xoff import sonic configs/ --out network.toml  # your own network
  xoff plan --flow-control pfc --rate 100Gbps --length 100m --mtu 1500
  xoff reproduce gfc --quick --out out/paper-gfc  # its figures, judged
  xoff sweep scenarios/sweeps/ring.toml --out out/sweep  # many runs

Exit codes: 0 done; 1 done, and the answer is \"no\": a deadlock, frames lost, a check
violated, a cycle found (--allow deadlock,loss if they are expected); 2 bad input or a
missing capability; 130 interrupted, partial results closed.
The answer goes to stdout, progress and messages go to stderr.";

/// A negative number where no option begins with one: clap takes it for an option and prints how to pass one.
fn negative(e: &clap::Error, args: &[OsString]) -> Option<Problem> {
    let Some(ContextValue::String(found)) = e.get(ContextKind::InvalidArg) else { return None };
    if !found.strip_prefix('-')?.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    // clap names the first letters of it.
    let text: Vec<&str> = args.iter().filter_map(|a| a.to_str()).collect();
    let at = text.iter().position(|a| a.starts_with(found.as_str()))?;
    let option = text.get(at.checked_sub(1)?).filter(|before| before.starts_with("--"));
    let name = option.map_or(String::new(), |name| format!("{name}: "));
    let problem = Problem::new(format!("{name}'{}' is negative", text[at]), "expected 0 or more; see --help");
    Some(option.map_or(problem.clone(), |name| problem.at(terminal::option(name, text[at]))))
}

/// How a further process of this command is started, where the program of this one is another: what stands before the arguments.
static STARTED_BY: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets how a further process of this command is started: its program, and what stands before the arguments. For a caller whose process is
/// not that of the program `xoff`, such as an interpreter; the first call counts.
pub fn started_by(words: Vec<OsString>) {
    let _ = STARTED_BY.set(words);
}

/// Names the commit of this program in the manifests that it writes. [`main_with_args`], [`main_among`] and [`ask`] call it.
pub fn identify() {
    xoff_record::built_from(env!("XOFF_COMMIT"));
}

/// The arguments with `import hpcc` as `hpcc`: both are the same command.
fn imported(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if let Some(at) = args.windows(2).position(|w| w[0] == "import" && w[1] == "hpcc").filter(|at| *at <= 2) {
        args.remove(at);
    }
    args
}

/// The command with these arguments, the program's name first; returns its exit code.
pub fn main_with_args(args: impl IntoIterator<Item = OsString>) -> u8 {
    identify();
    let args = imported(args);
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(e) => {
            if let Some(problem) = negative(&e, &args) {
                terminal::problems(&problem.into());
                return answer::Exit::Bad as u8;
            }
            // Help asked for goes to stdout, everything else to stderr; a closed one is no error.
            let _ = e.print();
            return e.exit_code() as u8;
        }
    };
    answer::deliver(cli.answer(), cli.json)
}

/// The answer of a subcommand with these arguments, the program's name first, for a caller in the same process. It runs on this thread.
///
/// # Errors
/// What the command would print to stderr before exit code 2.
pub fn ask(args: impl IntoIterator<Item = OsString>, caller: &Arc<Caller>) -> Result<Given, Problems> {
    identify();
    let cli = Cli::try_parse_from(imported(args)).map_err(|e| unparsed(&e))?;
    caller::serve(caller, || cli.answer()).map(Given::from)
}

/// A refusal of the arguments, with what would be right as its hint.
fn unparsed(e: &clap::Error) -> Problem {
    let text = e.render().to_string();
    let mut lines = text
        .lines()
        .take_while(|l| !l.starts_with("Usage") && !l.starts_with("For more information"))
        .map(str::trim)
        .filter(|l| !l.is_empty());
    let what = lines.next().unwrap_or_default();
    let hint: Vec<&str> = lines.map(|l| l.trim_start_matches('[').trim_end_matches(']')).collect();
    Problem::new(what.strip_prefix("error: ").unwrap_or(what), hint.join("; "))
}

impl Cli {
    fn answer(&self) -> Result<answer::Answer, Problems> {
        match &self.command {
            Command::Run(args) => run::run(args),
            Command::Hpcc(args) => hpcc::run(args),
            Command::New(args) => new::run(args),
            Command::Import(args) => import::run(args),
            Command::Check(args) => check::run(args),
            Command::Plan(args) => plan::run(args),
            Command::View(args) => view::run(args),
            Command::Explain(args) => explain::run(args),
            Command::Tree(args) => tree::run(args),
            Command::Compare(args) => compare::run(args),
            Command::Export(args) => export::run(args),
            Command::Figure(args) => figure::run(args),
            Command::Reproduce(args) => reproduce::run(args),
            Command::Sweep(args) => sweep::run(args),
            Command::Testbed(args) => testbed::run(args),
            Command::Switch(args) => switch::run(args),
            Command::Host(args) => host::run(args),
            Command::Replay(args) => replay::run(args),
            Command::Schema(args) => schema::run(args),
            Command::Completions(args) => installed::completions(args),
            Command::Man(args) => installed::manual(args),
        }
    }
}
