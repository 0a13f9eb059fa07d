//! Slowdown by size of flow.

use crate::stats::quantile;
use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::size::label;
use crate::compare::{Estimate, FlowFacts, Run};

/// Flows of a side whose sizes are in a bin.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SizeBin {
    /// The bin in words: `10 KB to 100 KB`.
    pub size: String,
    /// Smallest size in it [bytes].
    pub from_bytes: u64,
    /// Smallest size above it [bytes]; null: there is none.
    pub to_bytes: Option<u64>,
    /// Name of the side.
    pub side: String,
    /// Flows of all its runs, unfinished ones among them.
    pub flows: u64,
    /// Flows that did not finish. They count with their age at the end of the run: above 0, the
    /// percentiles are lower bounds.
    pub unfinished: u64,
    /// Median of the slowdowns, its mean over the runs.
    pub p50: Estimate,
    /// 95th percentile, likewise.
    pub p95: Estimate,
    /// 99th percentile, likewise.
    pub p99: Estimate,
}

/// A row for each bin and side with flows.
pub(crate) fn by_size(names: &[String], sides: &[&[Run]], starts: &[u64]) -> Vec<SizeBin> {
    let mut rows = Vec::new();
    for (i, &from) in starts.iter().enumerate() {
        let to = starts.get(i + 1).copied();
        for (name, runs) in names.iter().zip(sides) {
            rows.extend(one(name, runs, from, to));
        }
    }
    rows
}

fn one(name: &str, runs: &[Run], from: u64, to: Option<u64>) -> Option<SizeBin> {
    let inside = |f: &&FlowFacts| {
        f.is_sized() && f.size_bytes >= from && to.is_none_or(|to| f.size_bytes < to)
    };
    let (mut flows, mut unfinished) = (0u64, 0u64);
    let mut percentiles: [Vec<f64>; 3] = Default::default();
    for run in runs {
        unfinished +=
            run.flows.iter().filter(inside).filter(|f| f.slowdown.is_none()).count() as u64;
        let mut all: Vec<f64> = run.flows.iter().filter(inside).map(|f| run.slowdown(f)).collect();
        all.sort_by(f64::total_cmp);
        flows += all.len() as u64;
        if !all.is_empty() {
            for (values, share) in percentiles.iter_mut().zip([0.5, 0.95, 0.99]) {
                values.push(quantile(&all, share));
            }
        }
    }
    let [p50, p95, p99] = percentiles.map(|values| Estimate::of_at_least(&values, 1.0));
    (flows > 0).then(|| SizeBin {
        size: label(from, to),
        from_bytes: from,
        to_bytes: to,
        side: name.into(),
        flows,
        unfinished,
        p50,
        p95,
        p99,
    })
}
