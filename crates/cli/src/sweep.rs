//! `xoff sweep`: many combinations of values and seeds, on this machine or one run a process for a
//! scheduler.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_lab::sweep::{
    Collected, Ended, Plan, Setting, Status, Store, SweepError, Value, run_local,
};
use xoff_record::verdict::Conclusion;
use xoff_scenario::{Problem, Problems, Source};

use crate::answer::{Answer, Exit};
use crate::interrupt;
use crate::out::{Force, refused};
use crate::progress::Bar;
use crate::terminal;

/// Run many combinations of values and seeds: one table, intervals, a report.
///
/// The sweep file names a scenario, values of its keys, and seeds; docs/sweeps.md describes it.
/// xoff keeps every finished run: after an interruption the same command continues. On a cluster
/// each process of a job array computes some runs by number (--index) into a shared folder, and
/// --collect writes the results. runs.parquet has the same bytes in every case.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff sweep scenarios/sweeps/ring.toml  # results in out/ring-sweep\n  xoff sweep scenarios/sweeps/ring.toml --list  # how many runs?\n  xoff sweep scenarios/sweeps/ring.toml --out out/array --index 0-9\n  xoff sweep scenarios/sweeps/ring.toml --out out/array --collect\n\nIn a job array of SLURM: --index $SLURM_ARRAY_TASK_ID"
)]
pub struct Args {
    /// Sweep file
    #[arg(value_name = "SWEEP")]
    plan: PathBuf,
    /// Write the results into this folder; keep finished runs of an earlier sweep there [default:
    /// out/SWEEP-sweep]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Compute only these runs, numbered from 0: 7, 0-99 or 3,17,20-24; write no results, because
    /// others may run at the same time
    #[arg(long, value_name = "RUNS", value_parser = cells, conflicts_with_all = ["collect", "list"])]
    index: Option<Cells>,
    /// Compute nothing: write the results of finished runs
    #[arg(long, conflicts_with = "list")]
    collect: bool,
    /// Compute nothing: list the runs, with --out only unfinished ones
    #[arg(long)]
    list: bool,
    /// Compute N runs at the same time; never changes a result [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
}

/// Numbers of runs, as ranges with both ends.
#[derive(Clone, Debug)]
struct Cells(Vec<(usize, usize)>);

fn cells(text: &str) -> Result<Cells, String> {
    let number = |t: &str| {
        t.trim().parse::<usize>().map_err(|_| {
            format!("'{t}' is not the number of a run: expected 7, 0-99 or 3,17,20-24")
        })
    };
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            Err(format!("{first}-{last}: the first is above the last"))
        } else {
            Ok((first, last))
        }
    };
    text.split(',').map(range).collect::<Result<_, _>>().map(Cells)
}

/// The shortest text of numbers in order: `3,17,20-24`, as `sbatch --array` takes it.
fn ranges(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &n in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => ranges.push((n, n)),
        }
    }
    let one = |&(first, last): &(usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(",")
}

fn bad(e: SweepError, out: Option<&Path>) -> Problems {
    match (e, out) {
        (SweepError::Output(e), Some(out)) => refused("--out", out, e).into(),
        (e, _) => e.problems(),
    }
}

/// Sweeps.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let plan = Plan::load(&args.plan)?;
    let out = args.out.as_deref();
    if args.list {
        return list(&plan, out);
    }
    let default = crate::out::default(&args.plan, "-sweep");
    let out = out.unwrap_or(&default);
    terminal::problems(plan.work().warnings());
    interrupt::ask_first();
    if let Some(cells) = &args.index {
        return index(args, &plan, cells, out);
    }
    let store = Store::claim(out, args.force.force).map_err(|e| bad(e, Some(out)))?;
    if !args.collect {
        let unfinished = store.unfinished(&plan);
        if let Some(interrupted) = work(args, &plan, &store, &unfinished)? {
            return Ok(interrupted);
        }
    }
    let collected = store.collect(&plan).map_err(|e| bad(e, None))?;
    Ok(answer(args, &collected, out).next(next(args, &plan, &collected, out)))
}

/// Executes runs on the cores of this machine; an answer only if the user stopped it.
fn work(
    args: &Args,
    plan: &Plan,
    store: &Store,
    cells: &[usize],
) -> Result<Option<Answer>, Problems> {
    let bar = Bar::new("{bar:24} {msg} {elapsed_precise:.dim}");
    let threads = args.threads.map_or_else(xoff_run::cores, |n| n as usize);
    let stop = interrupt::asker();
    let ended = run_local(plan, store, cells, threads, &stop, &|p| {
        bar.done(p.part());
        let left = p
            .left
            .map_or(String::new(), |left| format!(", {} left", indicatif::HumanDuration(left)));
        bar.message(format!("{}{left}", p.words()));
    });
    bar.clear();
    match ended {
        Ok(Ended::Tried) => Ok(None),
        Ok(Ended::Stopped) => {
            let done = plan.len() - store.unfinished(plan).len();
            let text = format!(
                "interrupted: {done} of {} runs are complete and kept; repeat the command to continue",
                plan.len()
            );
            let json = Stopped {
                answer: Conclusion::Interrupted,
                headline: &text,
                runs: RunsDone { total: plan.len(), done },
            };
            Ok(Some(Answer::new(terminal::bad(&text), &json, Exit::Interrupted)))
        }
        Err(e) => {
            let done = plan.len() - store.unfinished(plan).len();
            let mut problems = bad(e, None);
            problems.push(Problem::new(
                format!("the sweep ended: {done} of {} runs are complete and kept", plan.len()),
                "free some space, then repeat the command",
            ));
            Err(problems)
        }
    }
}

/// A sweep that the user stopped.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "SweepStopped")]
pub struct Stopped<'a> {
    /// `interrupted`.
    answer: Conclusion,
    /// Progress, in one line.
    headline: &'a str,
    /// Progress, in numbers.
    runs: RunsDone,
}

/// Runs that are done, among all.
#[derive(JsonSchema, Serialize)]
struct RunsDone {
    /// Runs of the plan.
    total: usize,
    /// Runs with a result.
    done: usize,
}

/// Runs of one process of a job array.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "SweepIndex")]
pub struct Ran {
    /// `no`: at least one of these runs failed.
    answer: Conclusion,
    /// The runs of --index.
    runs: Vec<One>,
    /// Folder of the results.
    out: String,
}

/// A finished run.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FinishedRun")]
struct One {
    /// Number in the plan, from 0.
    run: usize,
    /// Values, as text.
    values: String,
    /// State at the end.
    status: Status,
    /// Reason of the failure; null: the run did not fail.
    error: Option<String>,
}

/// The runs of a plan.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "SweepList")]
pub struct Listed<'a> {
    /// Runs of the plan.
    runs: usize,
    /// Combinations of values.
    combinations: usize,
    /// The seeds of each combination.
    seeds: &'a [u64],
    /// Numbers of the runs that are not finished; without --out all.
    unfinished: Vec<usize>,
    /// Numbers as ranges, for --index or a job array.
    index: String,
}

/// Executes the runs of one process of a job array.
fn index(args: &Args, plan: &Plan, cells: &Cells, out: &Path) -> Result<Answer, Problems> {
    if let Some((_, last)) = cells.0.iter().find(|(_, last)| *last >= plan.len()) {
        let hint = format!("the plan has {} runs, numbered 0 to {}", plan.len(), plan.len() - 1);
        return Err(Problem::new(format!("--index: there is no run {last}"), hint).into());
    }
    let mut own: Vec<usize> = cells.0.iter().flat_map(|&(first, last)| first..=last).collect();
    own.sort_unstable();
    own.dedup();
    let store = Store::join(out, args.force.force).map_err(|e| bad(e, Some(out)))?;
    let done = |i: &usize| store.get(&plan.cell(*i)).is_some_and(|s| s.status == Status::Done);
    let missing: Vec<usize> = own.iter().copied().filter(|i| !done(i)).collect();
    if let Some(interrupted) = work(args, plan, &store, &missing)? {
        return Ok(interrupted);
    }
    let ended = own.iter().filter_map(|&i| Some((i, store.get(&plan.cell(i))?)));
    let list: Vec<One> = ended
        .map(|(run, s)| One { run, values: s.cell, status: s.status, error: s.error })
        .collect();
    let failed = list.iter().filter(|one| one.status == Status::Failed).count();
    let conclusion = Conclusion::of(false, failed == 0);
    let mut text: String = list
        .iter()
        .map(|one| match &one.error {
            None => format!("run {}: done ({})\n", one.run, one.values),
            Some(error) => format!(
                "{}\n",
                terminal::bad(&format!("run {}: failed ({}): {error}", one.run, one.values))
            ),
        })
        .collect();
    text += &format!(
        "{} of {} runs were complete before. Use --collect when all are complete.\n",
        own.len() - missing.len(),
        own.len()
    );
    Ok(Answer::new(
        text,
        &Ran { answer: conclusion, runs: list, out: out.display().to_string() },
        conclusion.into(),
    ))
}

/// The runs of the plan.
fn list(plan: &Plan, out: Option<&Path>) -> Result<Answer, Problems> {
    let seeds = terminal::counted(plan.seeds.len() as u64, "seed");
    let head = format!(
        "{}: {} x {seeds}",
        terminal::counted(plan.len() as u64, "run"),
        terminal::counted(plan.combinations() as u64, "combination")
    );
    let unfinished = match out {
        None => (0..plan.len()).collect(),
        Some(out) => Store::read(out).unfinished(plan),
    };
    let what = if out.is_some() { "Not finished" } else { "Runs" };
    let mut t = terminal::table(["Run", "Values"]);
    unfinished.iter().take(100).for_each(|&i| {
        t.add_row([i.to_string(), plan.cell(i).words()]);
    });
    let rest = if unfinished.len() > 100 {
        format!("... and {} more\n", unfinished.len() - 100)
    } else {
        String::new()
    };
    let range = if unfinished.is_empty() { "none".into() } else { ranges(&unfinished) };
    let text = format!("{head}\n{what}: {range}\n\n{}{rest}", terminal::draw(&t));
    let index = ranges(&unfinished);
    let json = Listed {
        runs: plan.len(),
        combinations: plan.combinations(),
        seeds: &plan.seeds,
        unfinished,
        index,
    };
    Ok(Answer::new(text, &json, Exit::Done))
}

/// Commands that lead on: a run that failed, the missing runs, or else the first run with its
/// report.
fn next(args: &Args, plan: &Plan, c: &Collected, out: &Path) -> Vec<String> {
    let named = |path: &Path| terminal::word(&path.display().to_string()).into_owned();
    if c.failed.is_empty() && !c.missing.is_empty() {
        return vec![format!("xoff sweep {} --out {}", named(&args.plan), named(out))];
    }
    let (number, suffix) = c.failed.first().map_or((0, "run"), |(n, ..)| (*n, "failed"));
    let scenario = plan.scenario_file();
    let file = joined(args.plan.parent().unwrap_or(Path::new("")), Path::new(scenario));
    let cell = plan.cell(number);
    let set: String = cell
        .all()
        .map(|(name, s)| format!(" --set {}", terminal::word(&format!("{name}={}", typed(s)))))
        .collect();
    let results = PathBuf::from(format!(
        "{}-{suffix}-{number}",
        out.display().to_string().trim_end_matches('/')
    ));
    vec![format!("xoff run {} --seed {}{set} --out {}", named(&file), cell.seed, named(&results))]
}

/// A path below a folder, `..` of its beginning taken off the folder where that is a plain name.
fn joined(folder: &Path, path: &Path) -> PathBuf {
    match (path.strip_prefix(".."), folder.file_name()) {
        (Ok(rest), Some(_)) if !folder.is_symlink() => {
            joined(folder.parent().unwrap_or(Path::new("")), rest)
        }
        _ => folder.join(path),
    }
}

/// Reads a text as a value of TOML.
fn parse_value(text: &str) -> Result<(), Problems> {
    xoff_scenario::document::parse(&Source::file("value", format!("x = {text}"))).map(drop)
}

/// A value as `--set` takes it: a plain word needs no quotes.
fn typed(setting: &Setting) -> &str {
    let plain = |t: &&String| {
        t.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) && parse_value(t).is_err()
    };
    if let Value::Text(text) = &setting.value {
        Some(text).filter(plain).unwrap_or(&setting.toml)
    } else {
        &setting.toml
    }
}

/// The table of combinations; false: without its intervals, because with them a row would take many
/// lines.
fn draw(c: &Collected) -> (String, bool) {
    let rows = &c.table.rows[..c.table.rows.len().min(100)];
    let table = |cell: fn(&str) -> String| {
        let mut t = terminal::table(c.table.columns.iter().map(|c| c.name.as_str()));
        rows.iter().for_each(|row| _ = t.add_row(row.iter().map(|c| cell(c.text()))));
        terminal::draw(&t)
    };
    let whole = table(str::to_owned);
    // Two lines a row at most, two of heading and a rule.
    if whole.lines().count() <= 2 * rows.len() + 3 {
        (whole, true)
    } else {
        (table(without_interval), false)
    }
}

/// `5.06 Gb/s` of `5.06 (5.031 to 5.088) Gb/s`.
fn without_interval(text: &str) -> String {
    let parts =
        text.split_once(" (").and_then(|(value, rest)| Some((value, rest.split_once(')')?)));
    match parts {
        Some((value, (interval, unit))) if interval.contains(" to ") => format!("{value}{unit}"),
        _ => text.to_owned(),
    }
}

fn answer(args: &Args, c: &Collected, out: &Path) -> Answer {
    let counts = c.manifest.runs;
    let conclusion = Conclusion::of(false, counts.is_complete());
    let title = if c.manifest.title.is_empty() {
        args.plan.display().to_string()
    } else {
        c.manifest.title.clone()
    };
    let headline = format!("{title}: {}", counts.headline());
    let mut text =
        if counts.is_complete() { terminal::good(&headline) } else { terminal::bad(&headline) };
    text.push('\n');
    for (cell, values, error) in c.failed.iter().take(3) {
        text += &format!("run {cell} ({values}): {}\n", error.lines().next().unwrap_or_default());
    }
    if c.failed.len() > 3 {
        text +=
            &format!("... and {} more that failed; all are in the report\n", c.failed.len() - 3);
    }
    if !c.missing.is_empty() {
        text += &format!("Missing: --index {}\n", ranges(&c.missing));
        for (run, why) in c.unreadable.iter().take(3) {
            text += &format!("run {run}: {why}\n");
        }
        if c.unreadable.len() > 3 {
            text += &format!("... and {} more that cannot be read\n", c.unreadable.len() - 3);
        }
    }
    text.push('\n');
    let (drawn, whole) = draw(c);
    text += &drawn;
    if c.table.rows.len() > 100 {
        text += &format!("... and {} more rows, in table.csv\n", c.table.rows.len() - 100);
    }
    text += &terminal::wrapped(if whole {
        &c.manifest.intervals
    } else {
        "Intervals: in the report, or here in a wider terminal."
    });
    text += &format!(
        "\nRuns: {}\nReport: {}\n",
        out.join("runs.parquet").display(),
        out.join("index.html").display()
    );
    Answer::new(text, &c.json(out), conclusion.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_its_unit_without_its_interval() {
        let cells = ["5.06 (5.031 to 5.088) Gb/s", "0 (0 to 27.75) %", "8 (a link)", "gfc-buffer"];
        assert_eq!(cells.map(without_interval), ["5.06 Gb/s", "0 %", "8 (a link)", "gfc-buffer"]);
    }

    #[test]
    fn numbers_of_cells_are_read_and_written_as_ranges() {
        assert_eq!(cells("3, 17,20-24").unwrap().0, [(3, 3), (17, 17), (20, 24)]);
        assert_eq!(ranges(&[3, 17, 20, 21, 22]), "3,17,20-22");
        for wrong in ["", "a", "5-3", "1-", "-1", "1..2"] {
            assert!(cells(wrong).is_err(), "{wrong}");
        }
    }
}
