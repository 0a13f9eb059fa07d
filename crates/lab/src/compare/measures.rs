//! Results of the runs, measure by measure.

use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::{JobAnswer, LoadBalance, Slowdown};

use crate::compare::{Estimate, Run};

/// A measure of a side.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Measure {
    /// Name of the measure: `slowdown, 99th percentile`.
    pub measure: String,
    /// Unit; empty: a number.
    pub unit: String,
    /// Name of the side.
    pub side: String,
    /// Over the runs of the side.
    #[serde(flatten)]
    pub value: Estimate,
    /// Runs that have a value.
    pub runs: u64,
    /// The value is a lower bound: flows that did not finish count with their age.
    pub at_least: bool,
    /// This side minus the first: run by run if both have the same seeds, otherwise from the means
    /// and without an interval; null: the first side itself. If this side is a lower bound, the
    /// difference is one too. If the first side is a lower bound, the difference is unknown.
    pub difference: Option<Estimate>,
}

/// Unit of a yes-or-no measure.
const SHARE: &str = "share of runs";
/// Measures that are shown although all sides have zero: no news is news.
const ALWAYS: [&str; 2] = ["deadlocks", "lost frames"];

/// Name and unit of a measure, and its value in a run.
type Measured = (String, &'static str, Option<f64>);

/// All measures of a run; `jobs`: names of the jobs of all sides.
fn measured(run: &Run, jobs: &[&str]) -> Vec<Measured> {
    let mut all: Vec<Measured> = of_network(run)
        .into_iter()
        .map(|(name, unit, value)| (name.to_owned(), unit, value))
        .collect();
    all.extend(of_uplinks(run.manifest.load_balance.as_ref()));
    for name in jobs {
        let job = run.manifest.jobs.iter().find(|j| j.name == *name && !j.iterations.is_empty());
        let mean = |ps: u64, n: usize| ps as f64 / 1e6 / n as f64;
        let exposed = |j: &JobAnswer| {
            mean(j.iterations.iter().map(|i| i.exposed_ps).sum(), j.iterations.len())
        };
        all.push((
            format!("iteration of job {name}, mean"),
            "us",
            job.map(|j| mean(j.time_ps, j.iterations.len())),
        ));
        all.push((format!("exposed communication of job {name}, mean"), "us", job.map(exposed)));
        let ratio = job.and_then(|j| j.time_over_ideal);
        all.push((format!("time of job {name}, over the ideal"), "", ratio));
    }
    all
}

/// Balance of load; docs/tables.md defines each measure.
fn of_uplinks(balance: Option<&LoadBalance>) -> Vec<Measured> {
    type Measure = fn(&LoadBalance) -> Option<f64>;
    let measures: [(&str, &str, Measure); 9] = [
        ("uplinks, Jain's index", "", |b| b.jain),
        ("uplinks, largest over mean", "", |b| b.max_over_mean),
        ("uplinks over time, Jain's index", "", |b| b.jain_sampled),
        ("uplinks over time, largest over mean", "", |b| b.max_over_mean_sampled),
        ("flows that collided", "flows", |b| Some(b.collided as f64)),
        ("paths of a flow, mean", "", |b| b.paths_mean),
        ("frames out of order", "frames", |b| Some(b.frames_ahead as f64)),
        ("largest reorder buffer", "bytes", |b| Some(b.ahead_bytes_max as f64)),
        ("longest wait for order", "us", |b| Some(b.ahead_ps_max as f64 / 1e6)),
    ];
    let of = |(name, unit, value): (&str, _, fn(&LoadBalance) -> Option<f64>)| {
        (name.to_owned(), unit, balance.and_then(value))
    };
    measures.map(of).into()
}

fn of_network(run: &Run) -> [(&'static str, &'static str, Option<f64>); 13] {
    let m = &run.manifest;
    let slowdown = |of: fn(&Slowdown) -> f64| m.slowdown.as_ref().map(of);
    let sum = |one: fn(&crate::compare::PortFacts) -> u64| {
        Some(run.ports.iter().map(one).sum::<u64>() as f64)
    };
    let delivered: u64 = run.flows.iter().map(|f| f.bytes_delivered).sum();
    let unfinished = m.verdict.as_ref().map_or(0, |v| v.parts().work.incomplete);
    let undetermined = run.flows.iter().filter(|f| f.ue_frames > 0 && f.ce_frames == 0).count();
    [
        ("deadlocks", SHARE, Some(f64::from(u8::from(m.deadlock.is_some())))),
        ("lost frames", "frames", Some(m.lost_frames as f64)),
        ("flows unfinished", "flows", Some(unfinished as f64)),
        ("slowdown, mean", "", slowdown(|s| s.mean)),
        ("slowdown, median", "", slowdown(|s| s.median)),
        ("slowdown, 99th percentile", "", slowdown(|s| s.p99)),
        (
            "goodput of all flows",
            "bit/s",
            (m.simulated_seconds > 0.0).then(|| delivered as f64 * 8.0 / m.simulated_seconds),
        ),
        ("pauses", "", sum(|p| p.pauses)),
        ("time paused, all ports", "us", sum(|p| p.paused_ps).map(|ps| ps / 1e6)),
        ("time blocked, all ports", "us", sum(|p| p.blocked_ps).map(|ps| ps / 1e6)),
        (
            "fullest ingress",
            "bytes",
            Some(run.ports.iter().map(|p| p.ingress_bytes_max).max().unwrap_or(0) as f64),
        ),
        ("marked frames", "frames", sum(|p| p.marked)),
        ("flows marked UE alone", "flows", Some(undetermined as f64)),
    ]
}

/// All measures that are not zero on every side.
pub(crate) fn all(names: &[String], sides: &[&[Run]]) -> Vec<Measure> {
    let mut jobs: Vec<&str> = Vec::new();
    for job in sides.iter().flat_map(|runs| runs.iter()).flat_map(|r| &r.manifest.jobs) {
        if !jobs.contains(&job.name.as_str()) {
            jobs.push(&job.name);
        }
    }
    let of: Vec<Vec<(u64, Vec<Measured>)>> = sides
        .iter()
        .map(|runs| runs.iter().map(|r| (r.manifest.seed, measured(r, &jobs))).collect())
        .collect();
    let mut rows = Vec::new();
    for (i, &(ref measure, unit, _)) in of[0][0].1.iter().enumerate() {
        let values: Vec<Vec<(u64, Option<f64>)>> =
            of.iter().map(|runs| runs.iter().map(|(seed, m)| (*seed, m[i].2)).collect()).collect();
        if values.iter().flatten().all(|(_, v)| v.is_none_or(|v| v == 0.0))
            && !ALWAYS.contains(&measure.as_str())
        {
            continue;
        }
        // What is computed from slowdowns is a lower bound where flows did not finish.
        let is_slowdown = measure.starts_with("slowdown");
        let bounds = |runs: &[Run]| {
            is_slowdown
                && runs.iter().any(|r| r.manifest.slowdown.as_ref().is_some_and(|s| s.censored > 0))
        };
        for (s, (name, here)) in names.iter().zip(&values).enumerate() {
            let known: Vec<f64> = here.iter().filter_map(|(_, v)| *v).collect();
            rows.push(Measure {
                measure: measure.clone(),
                unit: unit.into(),
                side: name.clone(),
                value: match unit {
                    SHARE => Estimate::of_share(&known),
                    _ => Estimate::of_at_least(&known, if is_slowdown { 1.0 } else { 0.0 }),
                },
                runs: known.len() as u64,
                at_least: bounds(sides[s]),
                difference: (s > 0).then(|| match difference(&values[0], here) {
                    _ if bounds(sides[0]) => Estimate::default(),
                    // The interval of Student is none of shares.
                    Estimate { mean, .. } if unit == SHARE => {
                        Estimate { mean, ..Estimate::default() }
                    }
                    of => of,
                }),
            });
        }
    }
    rows
}

/// The second less the first: seed by seed where both have the same ones.
fn difference(first: &[(u64, Option<f64>)], other: &[(u64, Option<f64>)]) -> Estimate {
    let of = |side: &[(u64, Option<f64>)], seed: u64| {
        side.iter().find(|(s, _)| *s == seed).map(|(_, v)| *v)
    };
    let paired =
        first.len() == other.len() && first.iter().all(|(seed, _)| of(other, *seed).is_some());
    if paired {
        let pairs: Vec<f64> =
            first.iter().filter_map(|&(seed, a)| Some(of(other, seed)?? - a?)).collect();
        return Estimate::of(&pairs);
    }
    let mean = |side: &[(u64, Option<f64>)]| {
        Estimate::of(&side.iter().filter_map(|(_, v)| *v).collect::<Vec<_>>()).mean
    };
    Estimate { mean: mean(other).zip(mean(first)).map(|(b, a)| b - a), ..Estimate::default() }
}
