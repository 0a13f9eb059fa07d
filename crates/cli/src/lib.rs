//! The `xoff` command, as a library: the program and the Python package start the same one.
//!
//! ```text
//!   arguments -> subcommand -> Answer (text | JSON, exit code) -> stdout
//!                     +-------> Problems -------------------------> stderr, exit code 2
//! ```

// Elsewhere than on Linux there are no commands with real frames, and in WebAssembly none that starts
// processes or threads.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

mod answer;
#[cfg(not(target_family = "wasm"))]
mod answers;
#[cfg(not(target_family = "wasm"))]
mod bench_fabric;
mod caller;
mod check;
mod compare;
mod explain;
mod export;
#[cfg(not(target_family = "wasm"))]
mod figure;
#[cfg(target_os = "linux")]
mod host;
mod hpcc;
mod import;
#[cfg(not(target_family = "wasm"))]
mod installed;
mod interrupt;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod live_page;
mod new;
mod out;
mod plan;
#[cfg(not(target_family = "wasm"))]
mod processes;
#[cfg_attr(target_family = "wasm", path = "progress_lines.rs")]
mod progress;
#[cfg(not(target_family = "wasm"))]
mod python;
mod replay;
#[cfg(not(target_family = "wasm"))]
mod reproduce;
mod run;
mod schema;
#[cfg(not(target_family = "wasm"))]
mod sweep;
#[cfg(target_os = "linux")]
mod switch;
mod terminal;
#[cfg(target_os = "linux")]
mod testbed;
mod tree;
#[cfg(not(target_family = "wasm"))]
mod verify;
mod view;
mod waits;

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use xoff_scenario::{Problem, Problems};

pub use answer::Given;
pub use caller::{Caller, Step};
#[cfg(not(target_family = "wasm"))]
pub use processes::main_among;

/// Version, and the commit that it was built from where that is known:
/// `0.1.0 (292ebc0f1a2b 2026-11-23)`.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("XOFF_BUILD"));

/// Lossless networks: find deadlocks, explain pauses, size headroom, simulate.
#[derive(Parser)]
#[command(name = "xoff", version = VERSION, after_long_help = HELP, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Answer with one JSON object on stdout
    #[arg(long, global = true, display_order = 900)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Write a commented scenario to start from
    New(new::Args),
    /// Import SONiC, containerlab, InfiniBand, FRR, htsim, SimAI, graphs
    Import(import::Args),
    /// Check whether routes can deadlock, now or after failures
    Check(check::Args),
    /// Size headroom and thresholds of a link or of a whole network
    #[command(visible_alias = "headroom")]
    Plan(plan::Args),
    /// Run a scenario: verdict, tables, report
    Run(run::Args),
    /// Run many combinations of values and seeds: one table, one report
    #[cfg(not(target_family = "wasm"))]
    Sweep(sweep::Args),
    /// Run the IETF's tests of AI fabrics: incast, deadlock, JCT
    #[cfg(not(target_family = "wasm"))]
    BenchFabric(bench_fabric::Args),
    /// Show the report of a run in a browser
    View(view::Args),
    /// Explain why a port was paused: from the pause back to its root
    Explain(explain::Args),
    /// Show which ports wait for which at a time: roots, leaves, victims
    Tree(tree::Args),
    /// Compare runs: parameters, slowdown by size, victims, pauses
    Compare(compare::Args),
    /// Derive every number of a run or sweep again from its tables
    #[cfg(not(target_family = "wasm"))]
    Verify(verify::Args),
    /// Export a run for Perfetto, Wireshark or spreadsheets
    Export(export::Args),
    /// Draw a figure of a run for a paper
    #[cfg(not(target_family = "wasm"))]
    Figure(figure::Args),
    /// Run a scenario with real Ethernet frames on this machine
    #[cfg(target_os = "linux")]
    Testbed(testbed::Args),
    /// Run one switch of a scenario on real interfaces
    #[cfg(target_os = "linux")]
    Switch(switch::Args),
    /// Run one host of a scenario on a real interface
    #[cfg(target_os = "linux")]
    Host(host::Args),
    /// Prove from a capture that a real run matches the simulation
    Replay(replay::Args),
    /// Reproduce the figures and tables of a paper, claim by claim
    #[cfg(not(target_family = "wasm"))]
    Reproduce(reproduce::Args),
    /// Replay an unmodified configuration of the HPCC simulator
    Hpcc(hpcc::Args),
    Schema(schema::Args),
    #[cfg(not(target_family = "wasm"))]
    Completions(installed::Completions),
    #[cfg(not(target_family = "wasm"))]
    Man(installed::Manual),
}

const HELP: &str = "\
Examples:
  xoff check fat-tree:k=4 --fail-any 2  # which failures can deadlock?
  xoff plan --rate 100Gbps --length 100m  # headroom and thresholds
  xoff new ring --out ring.toml
  xoff run ring.toml  # deadlock; results in out/ring
  xoff explain out/ring S1:S2 2.9ms  # why was this port paused?
  xoff view out/ring  # the report in a browser
  xoff plan sonic:configs/  # every lossless port of your fabric

Exit codes:
  0    done
  1    done, and the answer is \"no\": deadlock, loss, a violated check, a cycle;
       --allow deadlock,loss makes an expected one 0
  2    bad input, or the machine cannot do it
  130  interrupted; partial results are complete files

The answer goes to standard output, progress and messages to standard error.";

/// Commands by purpose, as `xoff --help` shows them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Look before you build", &["check", "plan"]),
    ("Run", &["new", "import", "run", "sweep", "bench-fabric"]),
    ("Understand", &["view", "explain", "tree", "compare", "verify", "figure", "export"]),
    ("Real frames", &["testbed", "switch", "host", "replay"]),
    ("Papers and other simulators", &["reproduce", "hpcc"]),
    ("Set up", &["schema", "completions", "man"]),
];

/// The command, its subcommands in groups.
fn command() -> clap::Command {
    let command = Cli::command();
    let known: Vec<&str> = GROUPS.iter().flat_map(|g| g.1).copied().collect();
    let others: Vec<&str> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .filter(|name| !known.contains(name))
        .collect();
    let heading = |title: &str| {
        console::style(format!("{title}:")).bold().underlined().force_styling(true).to_string()
    };
    let mut list = String::new();
    for (title, names) in
        GROUPS.iter().copied().chain([("More", &others[..])]).filter(|g| !g.1.is_empty())
    {
        list += &format!("\n{}\n", heading(title));
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(clap::Command::get_about)
                .map(ToString::to_string)
                .unwrap_or_default();
            list += &format!(
                "  {}{}{about}\n",
                console::style(name).bold().force_styling(true),
                " ".repeat(13 - name.len())
            );
        }
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\n{}\n{{options}}{{after-help}}",
        heading("Options")
    );
    command.help_template(template).term_width(terminal::columns().min(110).into())
}

/// Reads the arguments, the program's name first.
fn parsed(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
}

/// A negative number where no option begins with one: clap takes it for an option and prints how to
/// pass one.
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
    let problem =
        Problem::new(format!("{name}'{}' is negative", text[at]), "expected 0 or more; see --help");
    Some(option.map_or(problem.clone(), |name| problem.at(terminal::option(name, text[at]))))
}

/// Command that starts a further process, if this process is another program: the program, and the
/// words before the arguments.
static STARTED_BY: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets how a further process of this command is started: its program, and the words before the
/// arguments. For a caller whose process is not that of the program `xoff`, such as an interpreter;
/// the first call counts.
pub fn started_by(words: Vec<OsString>) {
    let _ = STARTED_BY.set(words);
}

/// Names the commit of this program in the manifests that it writes. [`main_with_args`],
/// [`main_among`] and [`ask`] call it.
pub fn identify() {
    xoff_record::built_from(env!("XOFF_COMMIT"));
}

/// The arguments with `import hpcc` as `hpcc`: both are the same command.
fn imported(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if let Some(at) =
        args.windows(2).position(|w| w[0] == "import" && w[1] == "hpcc").filter(|at| *at <= 2)
    {
        args.remove(at);
    }
    args
}

/// The command with these arguments, the program's name first; returns its exit code.
pub fn main_with_args(args: impl IntoIterator<Item = OsString>) -> u8 {
    identify();
    let args = imported(args);
    let cli = match parsed(args.clone()) {
        Ok(cli) => cli,
        Err(e)
            if matches!(
                e.kind(),
                ErrorKind::DisplayHelp
                    | ErrorKind::DisplayVersion
                    | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            ) =>
        {
            // Help asked for goes to stdout, other help to stderr; a closed one is no error.
            let _ = e.print();
            return e.exit_code() as u8;
        }
        Err(e) => {
            terminal::problems(&negative(&e, &args).unwrap_or_else(|| unparsed(&e)).into());
            return answer::Exit::Bad as u8;
        }
    };
    answer::deliver(cli.answer(), cli.json)
}

/// The answer of a subcommand with these arguments, the program's name first, for a caller in the
/// same process. It runs on this thread.
///
/// # Errors
/// The text that the command would print to stderr before exit code 2.
pub fn ask(
    args: impl IntoIterator<Item = OsString>,
    caller: &Arc<Caller>,
) -> Result<Given, Problems> {
    identify();
    let cli = parsed(imported(args)).map_err(|e| unparsed(&e))?;
    caller::serve(caller, || cli.answer()).map(Given::from)
}

/// Arguments that clap rejects, in the form of every other problem: at the option, with a hint.
fn unparsed(e: &clap::Error) -> Problem {
    let context = |kind| match e.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
        _ => Vec::new(),
    };
    let text = e.render().to_string();
    let mut lines = text
        .lines()
        .take_while(|l| !l.starts_with("Usage") && !l.starts_with("For more information"))
        .map(str::trim)
        .filter(|l| !l.is_empty());
    let first = lines.next().unwrap_or_default();
    let mut what = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    let mut hints: Vec<String> = lines
        .map(|l| {
            l.trim_start_matches('[').trim_end_matches(']').trim_start_matches("tip: ").to_owned()
        })
        .collect();
    let argument = context(ContextKind::InvalidArg);
    let usage = context(ContextKind::Usage).join(" ");
    let usage = usage.trim().trim_start_matches("Usage:").trim();
    let of: Vec<&str> = usage
        .split_whitespace()
        .take_while(|w| w.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    let for_example =
        || of.get(1).and_then(|name| example(name)).map(|e| format!("for example: {e}"));
    if e.kind() == ErrorKind::TooFewValues {
        hints.extend(for_example());
    }
    if e.kind() == ErrorKind::MissingRequiredArgument {
        what = format!(
            "{} {} missing",
            argument.join(", "),
            if argument.len() == 1 { "is" } else { "are" }
        );
        hints = for_example().into_iter().collect();
        hints.extend(
            argument
                .iter()
                .filter(|a| *a == "<SCENARIO>")
                .map(|_| "xoff new ring --out ring.toml writes a scenario".to_owned()),
        );
        hints.push(format!("usage: {usage}"));
    }
    if hints.is_empty() && !usage.is_empty() {
        hints.push(format!("usage: {usage}"));
    }
    if hints.is_empty() && of.is_empty() {
        hints.push("--help describes all options".into());
    }
    if !of.is_empty() {
        hints.push(format!("{} --help describes all options", of.join(" ")));
    }
    let problem = Problem::new(what, hints.join("; "));
    // `--engine <ENGINE>` and its value.
    match (
        e.kind(),
        argument.first().and_then(|a| a.split(' ').next()),
        context(ContextKind::InvalidValue).first(),
    ) {
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(name), Some(value))
            if name.starts_with("--") && !value.is_empty() =>
        {
            problem.at(terminal::option(name, value))
        }
        _ => problem,
    }
}

/// The first example of a subcommand's help that uses it.
fn example(name: &str) -> Option<String> {
    let command = Cli::command();
    let help = command.find_subcommand(name)?.get_after_long_help()?.to_string();
    let joined = help.replace("\\\n", " ");
    let lines = joined.lines().map(|l| l.trim().split("  #").next().unwrap_or_default());
    let words = |l: &str| l.split_whitespace().collect::<Vec<_>>().join(" ");
    lines.map(words).find(|l| l.starts_with(&format!("xoff {name} ")))
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
            #[cfg(not(target_family = "wasm"))]
            Command::Verify(args) => verify::run(args),
            Command::Export(args) => export::run(args),
            #[cfg(not(target_family = "wasm"))]
            Command::Figure(args) => figure::run(args),
            #[cfg(not(target_family = "wasm"))]
            Command::Reproduce(args) => reproduce::run(args),
            #[cfg(not(target_family = "wasm"))]
            Command::Sweep(args) => sweep::run(args),
            #[cfg(not(target_family = "wasm"))]
            Command::BenchFabric(args) => bench_fabric::run(args),
            #[cfg(target_os = "linux")]
            Command::Testbed(args) => testbed::run(args),
            #[cfg(target_os = "linux")]
            Command::Switch(args) => switch::run(args),
            #[cfg(target_os = "linux")]
            Command::Host(args) => host::run(args),
            Command::Replay(args) => replay::run(args),
            Command::Schema(args) => schema::run(args),
            #[cfg(not(target_family = "wasm"))]
            Command::Completions(args) => installed::completions(args),
            #[cfg(not(target_family = "wasm"))]
            Command::Man(args) => installed::manual(args),
        }
    }
}
