//! The same flow on every side.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Run;

/// A flow that every side has.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Victim {
    /// Seed of its runs.
    pub seed: u64,
    /// Its number.
    pub flow: u64,
    /// Sending host.
    pub src: String,
    /// Receiving host.
    pub dst: String,
    /// Payload [bytes].
    pub size_bytes: u64,
    /// Its slowdown on each side, in their order; null: unfinished.
    pub slowdowns: Vec<Option<f64>>,
    /// Its slowdown on the last side over that on the first; null: unfinished on one of them.
    pub factor: Option<f64>,
}

impl Victim {
    /// Some side has another slowdown than the first.
    pub(crate) fn is_changed(&self) -> bool {
        self.slowdowns.iter().any(|s| *s != self.slowdowns[0])
    }

    /// How much worse the last side is: unfinished there only is worst of all.
    fn harm(&self) -> f64 {
        match (self.slowdowns.first().copied().flatten(), self.slowdowns.last().copied().flatten()) {
            (_, None) => f64::INFINITY,
            (None, _) => 0.0,
            (Some(first), Some(last)) => last / first,
        }
    }
}

/// Flows of seeds that every side has, because only these draw the same traffic; the most harmed first. One that finished nowhere is no victim of
/// the change.
pub(crate) fn all(sides: &[Vec<Run>]) -> Vec<Victim> {
    let mut found = Vec::new();
    for first in &sides[0] {
        let seed = first.manifest.seed;
        let others: Option<Vec<&Run>> = sides[1..].iter().map(|side| side.iter().find(|r| r.manifest.seed == seed)).collect();
        let Some(others) = others else { continue };
        let tables: Vec<HashMap<_, Option<f64>>> = others.iter().map(|run| slowdowns(run)).collect();
        for flow in first.flows.iter().filter(|f| f.is_sized()) {
            let key = (flow.flow, flow.src.as_str(), flow.dst.as_str(), flow.size_bytes);
            let elsewhere: Option<Vec<Option<f64>>> = tables.iter().map(|t| t.get(&key).copied()).collect();
            let Some(elsewhere) = elsewhere else { continue };
            let slowdowns: Vec<Option<f64>> = std::iter::once(flow.slowdown).chain(elsewhere).collect();
            if slowdowns.iter().all(Option::is_none) {
                continue;
            }
            let factor = slowdowns.last().copied().flatten().zip(flow.slowdown).map(|(last, first)| last / first);
            let (src, dst) = (flow.src.clone(), flow.dst.clone());
            found.push(Victim { seed, flow: flow.flow, src, dst, size_bytes: flow.size_bytes, slowdowns, factor });
        }
    }
    found.sort_by(|a, b| b.harm().total_cmp(&a.harm()).then((a.seed, a.flow).cmp(&(b.seed, b.flow))));
    found
}

fn slowdowns(run: &Run) -> HashMap<(u64, &str, &str, u64), Option<f64>> {
    let sized = run.flows.iter().filter(|f| f.is_sized());
    sized.map(|f| ((f.flow, f.src.as_str(), f.dst.as_str(), f.size_bytes), f.slowdown)).collect()
}
