//! Slowdown of the flows of a run: completion time over the shortest possible one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Place among `n` values in order of the smallest one with at least `share` of the values up to
/// it.
fn place(share: f64, n: u64) -> u64 {
    ((share * n as f64).ceil() as u64).clamp(1, n.max(1)) - 1
}

/// The smallest value with at least `share` of the values up to it; NaN of nothing. `sorted` is.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted.get(place(share, sorted.len() as u64) as usize).copied().unwrap_or(f64::NAN)
}

/// Mean, median and 99th percentile. An unfinished flow counts with its age at the end of the run.
/// Its completion time is longer, so every result from it is a lower bound. Leaving it out would
/// make a network that does not finish its largest flows look fast.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Slowdown {
    /// Flows that count: those with a size and a route.
    pub flows: u64,
    /// Unfinished flows among them. Above 0: all values are lower bounds.
    pub censored: u64,
    /// Mean of the slowdowns.
    pub mean: f64,
    /// Median of the slowdowns.
    pub median: f64,
    /// 99th percentile: the smallest value that 99 of 100 flows do not exceed.
    pub p99: f64,
}

impl Slowdown {
    /// From the values of complete flows and the lower bounds of unfinished ones; `None`: there are
    /// none of either.
    pub fn of(complete: &[f64], unfinished: &[f64]) -> Option<Slowdown> {
        let mut all: Vec<f64> = complete.iter().chain(unfinished).copied().collect();
        if all.is_empty() {
            return None;
        }
        all.sort_by(f64::total_cmp);
        Slowdown::of_sorted(all.len() as u64, unfinished.len() as u64, all.into_iter())
    }

    /// Percentiles of `flows` values in order, `censored` of them lower bounds; `None`: there are
    /// none.
    pub fn of_sorted(
        flows: u64,
        censored: u64,
        values: impl Iterator<Item = f64>,
    ) -> Option<Slowdown> {
        if flows == 0 {
            return None;
        }
        let (at_median, at_p99) = (place(0.5, flows), place(0.99, flows));
        let (mut sum, mut median, mut p99) = (-0.0, 0.0, 0.0);
        for (nth, value) in (0..).zip(values) {
            sum += value;
            median = if nth == at_median { value } else { median };
            p99 = if nth == at_p99 { value } else { p99 };
        }
        Some(Slowdown { flows, censored, mean: sum / flows as f64, median, p99 })
    }

    /// `mean 1.20, median 1.10, 99th percentile 3.20 (flows: 986)`.
    pub fn words(&self) -> String {
        let Slowdown { flows, censored, mean, median, p99 } = self;
        let values = format!("mean {mean:.2}, median {median:.2}, 99th percentile {p99:.2}");
        match censored {
            0 => format!("{values} (flows: {flows})"),
            n => format!(
                "at least: {values} (flows: {flows}; unfinished and counted with their age: {n})"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_flows_are_counted_and_reported() {
        assert_eq!(Slowdown::of(&[], &[]), None);
        let complete: Vec<f64> = (1..=86).map(f64::from).collect();
        let exact = Slowdown::of(&complete, &[]).unwrap();
        assert_eq!((exact.flows, exact.censored, exact.median, exact.p99), (86, 0, 43.0, 86.0));
        assert!(!exact.words().contains("at least"));
        // Fourteen that have lasted for a long time: the 99th percentile is theirs, not that of the
        // complete ones.
        let bounded = Slowdown::of(&complete, &[500.0; 14]).unwrap();
        assert_eq!(
            (bounded.flows, bounded.censored, bounded.median, bounded.p99),
            (100, 14, 50.0, 500.0)
        );
        assert!(
            bounded.words().starts_with("at least: mean")
                && bounded
                    .words()
                    .ends_with("(flows: 100; unfinished and counted with their age: 14)"),
            "{}",
            bounded.words()
        );
    }
}
