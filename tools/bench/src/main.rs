//! `xoff-bench`: how fast xoff is on this machine, next to the targets, and the gate on
//! instructions.
//!
//! ```text
//!   run          -> runs `xoff` as a user does -> bench.json, a table next to targets and baseline
//!   page         bench.json -> docs/performance/*.csv, out/bench/figures/*.svg
//!   instructions -> callgrind counts per frame-hop against instructions.json; more than 3 % above: exit code 1
//!   slopes       -> callgrind counts of three sizes of each cost; one that grows faster than the work: exit code 1
//!   peers        -> other simulators and xoff by turns, the same work
//!   accept       -> new instructions.json, and bench.json becomes the baseline
//! ```
//!
//! Timings never fail anything. Every run is a process of its own, so that its peak memory and its
//! start count too.

mod child;
mod engines;
mod forwarding;
mod growth;
mod hpcc_case;
mod instructions;
mod machine;
mod memory;
mod page;
mod peers;
mod queue;
mod results;
mod runs;
mod slopes;
mod table;
mod targets;
mod threads;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use child::Xoff;
use results::Report;

/// The problem, one sentence.
type Failed = String;

/// How fast xoff is, and whether it became slower.
#[derive(Parser)]
#[command(
    name = "xoff-bench",
    version,
    max_term_width = 110,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// The program to measure; default: `xoff` next to this program
    #[arg(long, global = true, value_name = "FILE")]
    xoff: Option<PathBuf>,
    /// Folder of the benchmark's scenarios
    #[arg(long, global = true, value_name = "DIR", default_value = "scenarios/bench")]
    scenarios: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Measure everything and print the table
    Run {
        /// Leave out what takes minutes: 65,536 hosts, and 10 ms of simulated time
        #[arg(long)]
        quick: bool,
        /// Folder for bench.json and the runs
        #[arg(long, value_name = "DIR", default_value = "out/bench")]
        out: PathBuf,
        /// Earlier figures to compare with
        #[arg(long, value_name = "FILE", default_value = BASELINE)]
        baseline: PathBuf,
        /// Longest time that one run may take [s]
        #[arg(long, value_name = "SECONDS", default_value_t = 900)]
        limit: u64,
    },
    /// Measure only how real frames are forwarded, and print it
    Forwarding {
        /// Folder of the written files
        #[arg(long, value_name = "DIR", default_value = "out/bench")]
        out: PathBuf,
    },
    /// Child process of `forwarding`
    #[command(hide = true)]
    ForwardChild,
    /// Write the tables and the figures of docs/performance.md
    Page {
        /// What `run` wrote
        #[arg(long, value_name = "FILE", default_value = "out/bench/bench.json")]
        from: PathBuf,
        /// Folder for the tables
        #[arg(long, value_name = "DIR", default_value = "docs/performance")]
        out: PathBuf,
        /// Folder for the figures
        #[arg(long, value_name = "DIR", default_value = "out/bench/figures")]
        figures: PathBuf,
    },
    /// Compare instructions per frame-hop with the accepted ones
    Instructions {
        /// The accepted counts
        #[arg(long, value_name = "FILE", default_value = INSTRUCTIONS)]
        accepted: PathBuf,
    },
    /// Compare instructions of three sizes of each cost: none may grow faster than the work
    Slopes {
        /// Only costs whose name contains this
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
    },
    /// Run other simulators and xoff by turns on the same work, and print the table
    Peers(peers::Args),
    /// Accept today's instruction counts, and the figures of the last `run`
    Accept {
        /// Output of `run`; ignored if the file is absent
        #[arg(long, value_name = "FILE", default_value = "out/bench/bench.json")]
        from: PathBuf,
        /// Where to keep them
        #[arg(long, value_name = "FILE", default_value = BASELINE)]
        baseline: PathBuf,
        /// The accepted counts
        #[arg(long, value_name = "FILE", default_value = INSTRUCTIONS)]
        accepted: PathBuf,
    },
}

const BASELINE: &str = "tools/bench/baseline.json";
const INSTRUCTIONS: &str = "tools/bench/instructions.json";

fn main() -> ExitCode {
    let cli = Cli::parse();
    match execute(&cli) {
        Ok(code) => code,
        Err(what) => {
            eprintln!("xoff-bench: {what}");
            ExitCode::from(2)
        }
    }
}

fn execute(cli: &Cli) -> Result<ExitCode, Failed> {
    let xoff = || Xoff::find(cli.xoff.as_deref());
    match &cli.command {
        Command::Run { quick, out, baseline, limit } => {
            let bench = runs::Bench::new(
                xoff()?,
                &cli.scenarios,
                out,
                Duration::from_secs(*limit),
                *quick,
            )?;
            let report = bench.run()?;
            let path = out.join("bench.json");
            report.write(&path)?;
            print!("{}", table::terminal(&report, earlier(baseline)?.as_ref()));
            println!("Figures: {}", path.display());
        }
        Command::Forwarding { out } => {
            let bench =
                runs::Bench::new(xoff()?, &cli.scenarios, out, Duration::from_secs(900), true)?;
            print!("{}", table::terminal(&bench.only(forwarding::rows), None));
        }
        Command::ForwardChild => forwarding::child()?,
        Command::Page { from, out, figures } => page::write(&Report::read(from)?, out, figures)?,
        Command::Instructions { accepted } => {
            return instructions::gate(&xoff()?, &cli.scenarios, accepted);
        }
        Command::Slopes { only } => return slopes::gate(&xoff()?, only.as_deref()),
        Command::Peers(args) => peers::measure(args, &xoff()?)?,
        Command::Accept { from, baseline, accepted } => {
            instructions::accept(&xoff()?, &cli.scenarios, accepted)?;
            if from.exists() {
                Report::read(from)?.write(baseline)?;
                println!("Accepted {} as {}", from.display(), baseline.display());
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The baseline, if there is one.
fn earlier(path: &Path) -> Result<Option<Report>, Failed> {
    if path.exists() { Report::read(path).map(Some) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
