//! The `xoff` command, as a library: the program and the Python package start the same one.
//!
//! ```text
//!   arguments -> subcommand -> Answer (text | JSON, exit code) -> stdout
//!                     +-------> Problems -------------------------> stderr, exit code 2
//! ```

mod answer;
mod check;
mod explain;
mod host;
mod hpcc;
mod interrupt;
mod live;
mod out;
mod plan;
mod replay;
mod reproduce;
mod run;
mod schema;
mod switch;
mod terminal;
mod testbed;
mod tree;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

/// A laboratory for lossless networks: simulate, check for deadlocks, dimension.
#[derive(Parser)]
#[command(name = "xoff", version, max_term_width = 110, after_help = HELP, subcommand_required = true, arg_required_else_help = true)]
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
    /// Look for cyclic buffer dependencies: can these routes deadlock?
    Check(check::Args),
    /// Dimension a lossless link: headroom, thresholds, stages, periods
    Plan(plan::Args),
    /// Explain why a port stood still: who filled which buffer
    Explain(explain::Args),
    /// Show the congestion tree at a moment: roots, leaves, culprits and victims
    Tree(tree::Args),
    /// Run the figures and tables of a paper and judge them
    Reproduce(reproduce::Args),
    /// Run a scenario with real Ethernet frames on this machine
    Testbed(testbed::Args),
    /// Run one switch of a scenario on real interfaces
    Switch(switch::Args),
    /// Run one host of a scenario on a real interface
    Host(host::Args),
    /// Prove from a capture that a real run was a simulation's, frame by frame
    Replay(replay::Args),
    Schema(schema::Args),
}

const HELP: &str = "\
Examples:
  xoff run scenarios/tutorial/ring.toml --out out/ring
  xoff explain out/ring 'H1->S1' 15ms          why did this port stand still?
  xoff tree out/tcd 1ms --svg tree.svg         which ports are congested, who suffers?
  xoff hpcc mix/config.txt --out run           fct.txt and pfc.txt, to the nanosecond
  xoff check fat-tree:k=8 --fail-any 1         which single link failures can deadlock
  xoff plan --flow-control pfc --rate 100Gbps --length 100m --mtu 1500
  xoff reproduce gfc --quick --out out/gfc     the paper's figures, judged

Exit codes: 0 done; 1 done, and the answer is \"no\": a deadlock, frames lost, a check
violated, a cycle found (--allow deadlock,loss for who expects it); 2 bad input or a
missing capability; 130 interrupted, partial results closed.
Progress and messages go to stderr; stdout carries the answer.";

/// The command with these arguments, the program's name first; returns its exit code.
pub fn main_with_args(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            // Help asked for goes to stdout, everything else to stderr; a closed one harms nobody.
            let _ = e.print();
            return e.exit_code() as u8;
        }
    };
    let answer = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Hpcc(args) => hpcc::run(args),
        Command::Check(args) => check::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Tree(args) => tree::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Testbed(args) => testbed::run(args),
        Command::Switch(args) => switch::run(args),
        Command::Host(args) => host::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Schema(args) => schema::run(args),
    };
    answer::deliver(answer, cli.json)
}
