//! Slowdown of the flows of a run: completion time over the shortest possible one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mean, median and 99th percentile. An unfinished flow counts with its age at the end, which its completion time exceeds: it has a
/// lower bound in the place of a value, and so has what is computed from it. Leaving it out would make a network that does not finish
/// its largest flows look fast.
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
    /// From the values of complete flows and the lower bounds of unfinished ones; `None`: there are none of either.
    pub fn of(complete: &[f64], unfinished: &[f64]) -> Option<Slowdown> {
        let mut all: Vec<f64> = complete.iter().chain(unfinished).copied().collect();
        if all.is_empty() {
            return None;
        }
        all.sort_by(f64::total_cmp);
        let at = |share: f64| all[((share * all.len() as f64).ceil() as usize).clamp(1, all.len()) - 1];
        Some(Slowdown {
            flows: all.len() as u64,
            censored: unfinished.len() as u64,
            mean: all.iter().sum::<f64>() / all.len() as f64,
            median: at(0.5),
            p99: at(0.99),
        })
    }

    /// `mean 1.20, median 1.10, 99th percentile 3.20 (flows: 986)`.
    pub fn words(&self) -> String {
        let Slowdown { flows, censored, mean, median, p99 } = self;
        let values = format!("mean {mean:.2}, median {median:.2}, 99th percentile {p99:.2}");
        match censored {
            0 => format!("{values} (flows: {flows})"),
            n => format!("at least: {values} (flows: {flows}; unfinished and counted with their age: {n})"),
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
        // Fourteen that have lasted for a long time: the 99th percentile is theirs, not that of the complete ones.
        let bounded = Slowdown::of(&complete, &[500.0; 14]).unwrap();
        assert_eq!((bounded.flows, bounded.censored, bounded.median, bounded.p99), (100, 14, 50.0, 500.0));
        assert!(
            bounded.words().starts_with("at least: mean")
                && bounded.words().ends_with("(flows: 100; unfinished and counted with their age: 14)"),
            "{}",
            bounded.words()
        );
    }
}
