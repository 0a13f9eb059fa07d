//! Effect of flow control, port by port.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::Run;

/// A port that was paused or blocked on some side. Means over the runs, one value a side, in their
/// order.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct PortPauses {
    /// Name.
    pub port: String,
    /// Number of pauses.
    pub pauses: Vec<f64>,
    /// Time it was paused [ps].
    pub paused_ps: Vec<f64>,
    /// Time it was blocked: a frame at the head of its queue waited for XON or credits [ps].
    pub blocked_ps: Vec<f64>,
}

impl PortPauses {
    /// Some side has another value than the first.
    pub(crate) fn is_changed(&self) -> bool {
        [&self.pauses, &self.paused_ps, &self.blocked_ps]
            .into_iter()
            .any(|v| v.iter().any(|x| *x != v[0]))
    }

    /// Change from the first side to the last [ps].
    fn change(&self) -> f64 {
        let of = |v: &[f64]| (v[v.len() - 1] - v[0]).abs();
        of(&self.blocked_ps) + of(&self.paused_ps)
    }
}

/// Names of ports that some side has and another has not.
pub(crate) fn not_everywhere(sides: &[Vec<Run>]) -> BTreeSet<&str> {
    let names: Vec<BTreeSet<&str>> = sides
        .iter()
        .map(|side| side.iter().flat_map(|r| &r.ports).map(|p| p.port.as_str()).collect())
        .collect();
    let all: BTreeSet<&str> = names.iter().flatten().copied().collect();
    all.into_iter().filter(|port| names.iter().any(|n| !n.contains(port))).collect()
}

/// Ports of every side with any of it, the largest change first.
pub(crate) fn all(sides: &[Vec<Run>]) -> Vec<PortPauses> {
    let not_everywhere = not_everywhere(sides);
    let none = || vec![0.0; sides.len()];
    let mut ports: BTreeMap<&str, PortPauses> = BTreeMap::new();
    for (s, runs) in sides.iter().enumerate() {
        // Whole numbers are summed before they are divided: no order of the runs changes the last
        // bit.
        let mut sums: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
        for p in runs.iter().flat_map(|r| &r.ports) {
            let sum = sums.entry(&p.port).or_default();
            for (sum, value) in sum.iter_mut().zip([p.pauses, p.paused_ps, p.blocked_ps]) {
                *sum += value;
            }
        }
        for (port, sum) in sums {
            let row = ports.entry(port).or_insert_with(|| PortPauses {
                port: port.into(),
                pauses: none(),
                paused_ps: none(),
                blocked_ps: none(),
            });
            let [pauses, paused_ps, blocked_ps] = sum.map(|v| v as f64 / runs.len() as f64);
            (row.pauses[s], row.paused_ps[s], row.blocked_ps[s]) = (pauses, paused_ps, blocked_ps);
        }
    }
    let any = |p: &PortPauses| {
        [&p.pauses, &p.paused_ps, &p.blocked_ps].into_iter().flatten().any(|v| *v > 0.0)
    };
    let mut rows: Vec<PortPauses> = ports
        .into_values()
        .filter(|p| any(p) && !not_everywhere.contains(p.port.as_str()))
        .collect();
    rows.sort_by(|a, b| b.change().total_cmp(&a.change()).then_with(|| a.port.cmp(&b.port)));
    rows
}
