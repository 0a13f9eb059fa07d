//! Flows on every side of a comparison.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::{FlowFacts, Run};

/// A flow that every side has.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Victim {
    /// Seed of its runs.
    pub seed: u64,
    /// Number.
    pub flow: u64,
    /// Sending host.
    pub src: String,
    /// Receiving host.
    pub dst: String,
    /// Payload [bytes].
    pub size_bytes: u64,
    /// Slowdown on each side, in their order; null: unfinished.
    pub slowdowns: Vec<Option<f64>>,
    /// Ratio of its slowdown on the last side to that on the first; null: unfinished on one of
    /// them.
    pub factor: Option<f64>,
    /// Factor by which the last side is slower, at least; 0: not known, because a run ended too
    /// early.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) harm: f64,
}

/// A flow on one side.
#[derive(Clone, Copy)]
struct Fate {
    slowdown: Option<f64>,
    /// Lower bound of the slowdown, if the flow is unfinished.
    at_least: f64,
}

impl Fate {
    fn of(flow: &FlowFacts, run: &Run) -> Fate {
        Fate { slowdown: flow.slowdown, at_least: run.slowdown(flow) }
    }
}

/// Factor by which the last side is slower, at least. A flow that is unfinished because its run
/// ended earlier is no worse for that.
fn harm(first: Fate, last: Fate) -> f64 {
    match (first.slowdown, last.slowdown) {
        (Some(first), Some(last)) => last / first,
        (Some(first), None) if last.at_least > first => last.at_least / first,
        _ => 0.0,
    }
}

/// Flows of seeds that every side has, because only these draw the same traffic; the most harmed
/// first. One that finished nowhere is no victim of the change.
pub(crate) fn all(sides: &[Vec<Run>]) -> Vec<Victim> {
    let mut found = Vec::new();
    for first in &sides[0] {
        let seed = first.manifest.seed;
        let others: Option<Vec<&Run>> =
            sides[1..].iter().map(|side| side.iter().find(|r| r.manifest.seed == seed)).collect();
        let Some(others) = others else { continue };
        let tables: Vec<HashMap<_, Fate>> = others.iter().map(|run| fates(run)).collect();
        for flow in first.flows.iter().filter(|f| f.is_sized()) {
            let key = (flow.flow, flow.src.as_str(), flow.dst.as_str(), flow.size_bytes);
            let elsewhere: Option<Vec<Fate>> =
                tables.iter().map(|t| t.get(&key).copied()).collect();
            let Some(elsewhere) = elsewhere else { continue };
            let here = Fate::of(flow, first);
            let harm = elsewhere.last().map_or(1.0, |last| harm(here, *last));
            let slowdowns: Vec<Option<f64>> =
                std::iter::once(here).chain(elsewhere).map(|f| f.slowdown).collect();
            if slowdowns.iter().all(Option::is_none) {
                continue;
            }
            let factor = slowdowns
                .last()
                .copied()
                .flatten()
                .zip(flow.slowdown)
                .map(|(last, first)| last / first);
            let (src, dst) = (flow.src.clone(), flow.dst.clone());
            found.push(Victim {
                seed,
                flow: flow.flow,
                src,
                dst,
                size_bytes: flow.size_bytes,
                slowdowns,
                factor,
                harm,
            });
        }
    }
    found.sort_by(|a, b| b.harm.total_cmp(&a.harm).then((a.seed, a.flow).cmp(&(b.seed, b.flow))));
    found
}

fn fates(run: &Run) -> HashMap<(u64, &str, &str, u64), Fate> {
    let sized = run.flows.iter().filter(|f| f.is_sized());
    sized
        .map(|f| ((f.flow, f.src.as_str(), f.dst.as_str(), f.size_bytes), Fate::of(f, run)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_record::Manifest;

    /// A run of so many us with one flow from 0 on, which takes 100 us alone.
    fn run(us: f64, slowdown: Option<f64>) -> Vec<Run> {
        let flow = FlowFacts {
            src: "H0".into(),
            dst: "H1".into(),
            size_bytes: 1000,
            ideal_fct_ps: Some(100_000_000),
            slowdown,
            ..FlowFacts::default()
        };
        let manifest = Manifest { simulated_seconds: us * 1e-6, ..Manifest::default() };
        vec![Run {
            folder: String::new(),
            manifest,
            flows: vec![flow],
            ports: Vec::new(),
            is_network: true,
        }]
    }

    fn harm_of(first: Vec<Run>, last: Vec<Run>) -> Option<f64> {
        all(&[first, last]).first().map(|v| v.harm)
    }

    #[test]
    fn a_run_that_ends_earlier_harms_nothing() {
        let done = || run(1000.0, Some(4.0));
        assert_eq!(harm_of(done(), run(1000.0, Some(6.0))), Some(1.5));
        // Cut off after 300 us: its slowdown is 3 at least, which is no worse than 4; after 500 us
        // it is.
        assert_eq!(harm_of(done(), run(300.0, None)), Some(0.0));
        assert_eq!(harm_of(done(), run(500.0, None)), Some(5.0 / 4.0));
        assert_eq!(harm_of(run(300.0, None), done()), Some(0.0));
        assert_eq!(harm_of(run(300.0, None), run(300.0, None)), None);
    }
}
