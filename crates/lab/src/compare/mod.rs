//! Runs side by side: differences of their parameters and of their results. The command and Python
//! take their numbers from here.
//!
//! ```text
//!   folders, or runs in memory --> Side { runs: [Run { manifest, flows, ports }] } --compare--> Comparison --> text, JSON, HTML, Python
//!                                  several runs: seeds of one scenario, for intervals
//! ```

mod error;
mod measures;
mod names;
mod pauses;
mod report;
mod run;
mod size;
mod slowdown;
mod victims;
mod words;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::stats::{Mean, Share, are_one};

pub use error::CompareError;
pub use measures::Measure;
pub use names::{Difference, Sides};
pub use pauses::PortPauses;
pub use report::{INTERVALS, in_words};
pub use run::{FlowFacts, PortFacts, Run};
pub use size::Bins;
pub use slowdown::SizeBin;
pub use victims::Victim;

/// A mean over the runs of a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Estimate {
    /// The mean; null: no run has a value.
    pub mean: Option<f64>,
    /// Lower end of its 95 % interval (Student's t over the runs; of a share of runs, Wilson's);
    /// null: fewer than two runs have a value, or the runs of a side all have the same result.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

impl Estimate {
    /// Estimate from the values of some runs.
    pub fn of(values: &[f64]) -> Estimate {
        if values.is_empty() {
            return Estimate::default();
        }
        let m = Mean::of(values.iter().copied());
        let interval = m.n > 1;
        Estimate {
            mean: Some(m.mean),
            low: interval.then_some(m.low),
            high: interval.then_some(m.high),
        }
    }

    /// Estimate of a value that cannot be below `least`: nor can its interval.
    pub fn of_at_least(values: &[f64], least: f64) -> Estimate {
        let e = Estimate::of(values);
        Estimate { low: e.low.map(|low| low.max(least)), ..e }
    }

    /// Estimate of a share, from values that are true (1) or false (0) for each run; the interval
    /// is Wilson's, which suits few runs.
    pub fn of_share(values: &[f64]) -> Estimate {
        let share = Share { of: values.iter().filter(|v| **v > 0.0).count(), n: values.len() };
        match values.len() {
            0 => Estimate::default(),
            1 => Estimate { mean: Some(share.value()), low: None, high: None },
            _ => {
                let (low, high) = share.interval();
                Estimate { mean: Some(share.value()), low: Some(low), high: Some(high) }
            }
        }
    }

    /// The interval is on one side of zero.
    pub fn is_beyond_chance(&self) -> Option<bool> {
        Some(self.low? > 0.0 || self.high? < 0.0)
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SideFacts {
    /// Name.
    pub name: String,
    /// The folders of its runs; of a run in memory: empty.
    pub folders: Vec<String>,
    /// The seeds of its runs.
    pub seeds: Vec<u64>,
    /// The hashes of their results.
    pub result_hashes: Vec<String>,
    /// The headlines of their verdicts.
    pub verdicts: Vec<String>,
    /// Runs that deadlocked.
    pub deadlocks: u64,
}

/// Runs side by side.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Comparison {
    /// Changes, in one line.
    pub headline: String,
    /// Warnings about the numbers: an interrupted run, another version of xoff, equal results.
    pub notes: Vec<String>,
    /// The sides, in their order.
    pub sides: Vec<SideFacts>,
    /// Parameters that differ. Seeds and titles are left out.
    pub parameters: Vec<Difference>,
    /// Results by measure and side.
    pub measures: Vec<Measure>,
    /// Slowdown by size of flow and side.
    pub slowdown: Vec<SizeBin>,
    /// Flows that every side has (same seed, number, ends and size), sorted by slowdown on the last
    /// side relative to the first, largest first.
    pub victims: Vec<Victim>,
    /// Number of flows that every side has; more than `victims` lists if that list is cut off.
    pub victims_total: u64,
    /// Ports that flow control paused or blocked, sorted by the change from the first side to the
    /// last, largest first.
    pub pauses: Vec<PortPauses>,
    /// Smallest sizes of the bins of `slowdown` [bytes].
    pub bins: Vec<u64>,
}

/// Compares sides, each of one run or of several with different seeds.
///
/// # Errors
/// Fewer than two sides, one without a run or with a seed twice, a run of a scheduled fabric, names
/// or bins that cannot be used.
pub fn compare(sides: &Sides, bins: &Bins) -> Result<Comparison, CompareError> {
    for side in &sides.runs {
        run::check(side)?;
    }
    if sides.runs.len() < 2 {
        return Err(CompareError::new(
            format!("expected two runs or more, not {}", sides.runs.len()),
            "name another folder",
        ));
    }
    let parameters: Vec<_> = sides.runs.iter().map(|side| names::parameters(side)).collect();
    let names = names::choose(sides.names.as_deref(), &parameters)?;
    let starts = bins.starts(sides.runs.iter().flatten())?;
    let facts: Vec<SideFacts> =
        names.iter().zip(&sides.runs).map(|(name, runs)| side_facts(name, runs)).collect();
    // The same result several times is one result: no interval comes of it.
    let distinct: Vec<&[Run]> =
        sides.runs.iter().map(|runs| if is_one(runs) { &runs[..1] } else { runs }).collect();
    let measures = measures::all(&names, &distinct);
    let victims = victims::all(&sides.runs);
    Ok(Comparison {
        headline: words::headline(&facts, &measures),
        notes: notes(&facts, &sides.runs, &parameters),
        parameters: names::differing(&parameters),
        slowdown: slowdown::by_size(&names, &distinct, &starts),
        pauses: pauses::all(&sides.runs),
        victims_total: victims.len() as u64,
        sides: facts,
        measures,
        victims,
        bins: starts,
    })
}

impl Comparison {
    /// Comparison with at most `rows_max` victims and ports.
    #[must_use]
    pub fn cut(mut self, rows_max: usize) -> Comparison {
        self.victims.truncate(rows_max);
        self.pauses.truncate(rows_max);
        self
    }
}

fn side_facts(name: &str, runs: &[Run]) -> SideFacts {
    let of = |one: fn(&Run) -> String| runs.iter().map(one).collect();
    SideFacts {
        name: name.into(),
        folders: runs.iter().filter(|r| !r.folder.is_empty()).map(|r| r.folder.clone()).collect(),
        seeds: runs.iter().map(|r| r.manifest.seed).collect(),
        result_hashes: of(|r| r.manifest.result_hash.clone()),
        verdicts: of(|r| {
            r.manifest.verdict.as_ref().map_or(String::new(), |v| v.headline().to_owned())
        }),
        deadlocks: runs.iter().filter(|r| r.manifest.deadlock.is_some()).count() as u64,
    }
}

/// Whether several seeds give one result, to the last row.
fn is_one(runs: &[Run]) -> bool {
    are_one(&runs.iter().map(|r| &r.manifest.result_hash).collect::<Vec<_>>())
}

fn notes(facts: &[SideFacts], sides: &[Vec<Run>], parameters: &[names::Parameters]) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, of) in facts.iter().zip(parameters) {
        let mixed: Vec<&str> =
            of.iter().filter(|p| p.values.len() > 1).map(|p| p.path.as_str()).collect();
        if !mixed.is_empty() {
            notes.push(format!(
                "{}: its runs are not one scenario with several seeds, they differ in {}",
                side.name,
                mixed.join(", ")
            ));
        }
    }
    for (side, runs) in facts.iter().zip(sides).filter(|(_, runs)| is_one(runs)) {
        notes.push(format!(
            "{}: its {} seeds give the same result, nothing in it is drawn at random; it counts once, without an interval",
            side.name,
            runs.len()
        ));
    }
    for (side, runs) in facts.iter().zip(sides) {
        for run in runs.iter().filter(|r| r.manifest.interrupted) {
            let seconds = run.manifest.simulated_seconds * 1e3;
            notes.push(format!(
                "{}: the run with seed {} was interrupted at {seconds:.4} ms",
                side.name, run.manifest.seed
            ));
        }
    }
    let not_everywhere = pauses::not_everywhere(sides).len();
    if not_everywhere > 0 {
        notes.push(format!(
            "the networks differ: xoff leaves out {not_everywhere} ports that are not on every side from the comparison by port"
        ));
    }
    let times: Vec<f64> =
        sides.iter().flatten().map(|r| r.manifest.simulated_seconds * 1e3).collect();
    let ends = |runs: &[Run]| {
        runs.iter().flat_map(|r| &r.flows).any(|f| f.is_sized() && f.slowdown.is_none())
    };
    if times.iter().any(|t| *t != times[0]) && sides.iter().any(|runs| ends(runs)) {
        let (least, most) =
            times.iter().fold((f64::INFINITY, 0.0f64), |(a, b), t| (a.min(*t), b.max(*t)));
        notes.push(format!(
            "the runs cover {least:.4} ms to {most:.4} ms, and some flows did not finish: sums and slowdowns of the longer ones hold more traffic"
        ));
    }
    let versions: BTreeSet<&str> =
        sides.iter().flatten().map(|r| r.manifest.xoff_version.as_str()).collect();
    if versions.len() > 1 {
        let list: Vec<&str> = versions.into_iter().collect();
        notes
            .push(format!("the runs were made by different versions of xoff: {}", list.join(", ")));
    }
    let one_each = sides.iter().all(|runs| runs.len() == 1);
    if one_each && facts.iter().any(|f| f.seeds != facts[0].seeds) {
        let list: Vec<String> =
            facts.iter().map(|f| format!("{} ({})", f.seeds[0], f.name)).collect();
        notes.push(format!(
            "the runs have different seeds, {}: part of every difference is chance",
            list.join(", ")
        ));
    }
    let unfinished = |runs: &[Run]| {
        runs.iter().flat_map(|r| &r.flows).filter(|f| f.is_sized() && f.slowdown.is_none()).count()
    };
    let late: Vec<usize> = sides.iter().map(|runs| unfinished(runs)).collect();
    if late.iter().any(|n| *n > 0) {
        let of = |f: &SideFacts| {
            if f.seeds.len() == 1 { String::new() } else { format!(" in {} runs", f.seeds.len()) }
        };
        let list: Vec<String> =
            facts.iter().zip(&late).map(|(f, n)| format!("{n}{} ({})", of(f), f.name)).collect();
        notes.push(format!(
            "unfinished flows count with their age, so that slowdowns are lower bounds (≥); unfinished: {}",
            list.join(", ")
        ));
    }
    for (i, side) in facts.iter().enumerate().skip(1) {
        if side.result_hashes == facts[0].result_hashes && sides[i].len() == sides[0].len() {
            notes.push(format!(
                "{} and {} have the same result hash: the same results to the last row",
                facts[0].name, side.name
            ));
        }
    }
    notes
}
