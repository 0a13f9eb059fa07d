//! `xoff bench-fabric`: the tests of the IETF draft on AI fabrics, for the fabric of a scenario.

use std::path::{Path, PathBuf};

use xoff_lab::bench::{Against, Bench, Benchmark, Choice, DRAFT, Outcome, State, names};
use xoff_lab::sweep::{Ended, Store, SweepError};
use xoff_record::verdict::Conclusion;
use xoff_scenario::{Problem, Problems};

use crate::answer::{Allowed, Answer};
use crate::interrupt;
use crate::out::{Force, refused};
use crate::progress::Bar;
use crate::terminal;

/// Findings of a test on a terminal.
const FINDINGS_MAX: usize = 3;

/// Run the IETF's tests of AI fabrics: incast, deadlock, JCT.
///
/// The tests are those of draft-calabria-bmwg-ai-fabric-training-bench-02 that a simulator can run:
/// PFC under incast, convergence of the rate control, storms and deadlocks, load balancing,
/// collectives, tenants, failures; docs/bench-fabric.md defines them. The scenario gives topology,
/// flow control, switches and hosts; the tests replace its traffic. Every case is a scenario of its
/// own in the folder of the results. xoff keeps every finished run: after an interruption the same
/// command continues.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff new leaf-spine --out fabric.toml\n  xoff bench-fabric fabric.toml --only incast,deadlock --seeds 10\n  xoff bench-fabric fabric.toml --only deadlock \\\n    --set flow_control=gfc-buffer --out out/bench-gfc\n  xoff bench-fabric scenarios/mechanisms/flowlet.toml --seeds 1\n\nExit codes: 0 no deadlock, no loss, all work ended; 1 one of these; 2 bad input; 130 interrupted, finished runs are kept."
)]
pub struct Args {
    /// Scenario of the fabric
    scenario: PathBuf,
    /// Run only these tests
    #[arg(long, value_name = "TEST", value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(names()))]
    only: Vec<String>,
    /// Run each case with the seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Set a value of the scenario, such as flow_control=gfc-buffer; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Write the results into this folder; keep finished runs of an earlier benchmark there
    /// [default: out/SCENARIO-bench]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    allow: Allowed,
    /// Compute N runs at the same time; never changes a result [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
}

fn bad(e: SweepError, out: &Path) -> Problems {
    match e {
        SweepError::Output(e) => refused("--out", out, e).into(),
        e => e.problems(),
    }
}

/// Runs it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    interrupt::ask_first();
    let settings = crate::run::settings(&args.set, None)?;
    let choice = Choice { only: args.only.clone(), seeds: args.seeds };
    let mut bench = {
        let spinner = Bar::spinner("{spinner} {msg} {elapsed:.dim}");
        spinner.message("searching for cycles of buffers".into());
        spinner.turn();
        Bench::load(&args.scenario, &settings, &choice)?
    };
    if !bench.dut().ignored.is_empty() {
        terminal::note(&format!(
            "the tests replace {} of the scenario by their own traffic",
            bench.dut().ignored.join(", ")
        ));
    }
    let default = crate::out::default(&args.scenario, "-bench");
    let out = args.out.as_deref().unwrap_or(&default);
    let store = bench.claim(out, args.force.force).map_err(|e| bad(e, out))?;
    terminal::problems(&bench.warnings());
    let ended = work(args, &bench, &store);
    // What is done is reported in any case.
    let found = bench.collect(&store, &args.allow.list()).map_err(|e| bad(e, out))?;
    if let Err(e) = ended {
        let mut problems = bad(e, out);
        problems.push(Problem::new(
            format!("the benchmark ended: {}", found.runs.headline()),
            "free some space, then repeat the command",
        ));
        return Err(problems);
    }
    Ok(Answer::new(text(&found), &found, found.answer.into()).next(next(&found)))
}

/// Executes the runs without a result.
fn work(args: &Args, bench: &Bench, store: &Store) -> Result<Ended, SweepError> {
    let bar = Bar::new("{bar:24} {msg} {elapsed_precise:.dim}");
    let threads = args.threads.map_or_else(xoff_run::cores, |n| n as usize);
    let stop = interrupt::asker();
    bench.run(store, threads, &stop, &|p| {
        bar.done(p.part());
        let left = p
            .left
            .map_or(String::new(), |left| format!(", {} left", indicatif::HumanDuration(left)));
        bar.message(format!("{}{left}", p.words()));
    })
}

/// Commands that lead on: what is left, or the first run with a finding.
fn next(found: &Benchmark) -> Vec<String> {
    if found.answer == Conclusion::Interrupted {
        return vec![format!(
            "xoff bench-fabric {} --out {}",
            terminal::word(&found.scenario),
            terminal::word(&found.out)
        )];
    }
    let with = |t: &&Outcome| t.findings.iter().any(|f| f.kind != Against::Failed);
    let first = found.tests.iter().find(with).and_then(|t| {
        let name = t.findings.first()?.what.split(',').next()?;
        t.scenarios.iter().find(|s| s.ends_with(&format!("/{name}.toml")))
    });
    let scenario = first.map(|file| Path::new(&found.out).join(file).display().to_string());
    scenario.map(|file| format!("xoff run {}", terminal::word(&file))).into_iter().collect()
}

/// The table of a test. What differs is one column, which further tables repeat.
fn table(t: &Outcome) -> String {
    let heading = t.labels.join(", ");
    let columns: Vec<&str> = [heading.as_str()]
        .into_iter()
        .chain(t.columns()[t.labels.len()..].iter().copied())
        .collect();
    let rows: Vec<Vec<String>> = t
        .means()
        .into_iter()
        .map(|row| {
            let (case, values) = row.split_at(t.labels.len());
            [case.join(" ").trim().to_owned()].into_iter().chain(values.iter().cloned()).collect()
        })
        .collect();
    terminal::stacked(&columns, &rows)
}

fn text(found: &Benchmark) -> String {
    let tone = match found.answer {
        Conclusion::Yes => terminal::good,
        Conclusion::No | Conclusion::Interrupted => terminal::bad,
    };
    let mut out = tone(terminal::hanging(&found.headline, "").trim_end());
    out += &format!("\n{}", terminal::wrapped(&format!("Tests of {DRAFT}, simulated.")));
    for t in &found.tests {
        out += &format!("\n{}\n", console::style(format!("{} {}", t.sections, t.title)).bold());
        if let Some(why) = &t.why {
            out += &terminal::wrapped(&format!("Not applicable: {why}."));
            continue;
        }
        if t.state == State::Incomplete {
            out += &format!("{}\n", terminal::caution("Incomplete."));
        }
        if !t.rows.is_empty() {
            out += &format!("\n{}", table(t));
        }
        for note in &t.notes {
            out += &terminal::wrapped(note);
        }
        for f in t.findings.iter().take(FINDINGS_MAX) {
            out += &format!("{}\n", terminal::bad(terminal::hanging(&f.what, "  ").trim_end()));
        }
        if t.findings.len() > FINDINGS_MAX {
            out += &format!("... and {} more\n", t.findings.len() - FINDINGS_MAX);
        }
    }
    let report = Path::new(&found.out).join("index.html");
    out + &format!(
        "\n{}Report: {}\n",
        terminal::wrapped(&format!(
            "{} places differ from the draft; the report lists them, intervals and definitions.",
            found.deviations.len()
        )),
        report.display()
    )
}
