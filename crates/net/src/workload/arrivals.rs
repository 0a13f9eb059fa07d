//! Poisson arrivals, and where a stream of arrivals ends: after a time, after a number, or both.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand_chacha::ChaCha8Rng;
use xoff_units::params::{ParamError, Values, memory};
use xoff_units::{Bytes, Span};

use crate::workload::random::exponential;

/// More flows than this are refused before memory runs out [flows].
pub(crate) const FLOWS_MAX: f64 = 100e6;

/// The arrivals of one Poisson process, without end, as time since its start.
pub(crate) struct Poisson {
    /// Mean gap [ps].
    mean: f64,
    /// Random stream of the gaps.
    rng: ChaCha8Rng,
    /// The latest arrival [ps].
    at: u64,
}

impl Poisson {
    /// Gaps of mean `mean` [ps] from `rng`; the first one counts from the start.
    pub fn new(mean: f64, rng: ChaCha8Rng) -> Poisson {
        Poisson { mean, rng, at: 0 }
    }
}

impl Iterator for Poisson {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        // Rounded to the nearest picosecond, at least one, so that time advances; the cast
        // saturates.
        self.at =
            self.at.saturating_add(((exponential(&mut self.rng, self.mean) + 0.5) as u64).max(1));
        Some(Span(self.at))
    }
}

/// End of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct End {
    /// Nothing arrives from here on.
    pub duration: Option<Span>,
    /// No more than this, of all processes together.
    pub count: Option<u64>,
}

impl End {
    /// Reads `duration` and the key of the number. At least one of them is required; `what`
    /// arrives.
    pub fn read(v: &mut dyn Values, key: &str, what: &str) -> Result<End, ParamError> {
        let (duration, count) = (v.span_opt("duration")?, v.count_opt(key)?);
        if duration == Some(Span::ZERO) {
            return Err(ParamError::new(
                "duration",
                format!("the duration is 0: no {what} can start"),
                "give a duration above 0",
            ));
        }
        if count == Some(0) {
            return Err(ParamError::new(
                key,
                format!("the number is 0: no {what} starts"),
                "give a number above 0",
            ));
        }
        if duration.is_none() && count.is_none() {
            return Err(ParamError::new(
                "duration",
                "missing",
                format!("give a duration, {key}, or both"),
            ));
        }
        Ok(End { duration, count })
    }

    /// Refuses more than [`FLOWS_MAX`] flows. `per_ps` are expected [flows/ps]; `each` flows make
    /// one counted unit.
    pub fn check(&self, key: &str, per_ps: f64, each: usize) -> Result<(), ParamError> {
        let in_time = self.duration.map_or(f64::INFINITY, |d| d.0 as f64 * per_ps);
        let in_number = self.count.map_or(f64::INFINITY, |n| n as f64 * each as f64);
        let expected = in_time.min(in_number);
        if expected <= FLOWS_MAX {
            // The list grows by doubling, and is sorted by time.
            let needed = Bytes((expected * 3.0) as u64 * size_of::<crate::workload::Flow>() as u64);
            let key = if in_time <= in_number { "duration" } else { key };
            return memory::suffices(key, &format!("about {expected:.0} flows"), needed);
        }
        let what = format!("about {:.0} million flows would start", expected / 1e6);
        Err(match self.duration {
            Some(_) => ParamError::new(
                "duration",
                what,
                "expected at most 100 million; give a shorter duration, or a lower load or rate",
            ),
            None => ParamError::new(key, what, "expected at most 100 million"),
        })
    }

    /// The arrivals that count, process by process. With a number, the first ones of all processes
    /// together; at equal times the process listed first is the earlier one.
    pub fn cut(&self, mut processes: Vec<Poisson>) -> Vec<Vec<Span>> {
        // Time has an end even where none is given.
        let end = self.duration.unwrap_or(Span(u64::MAX));
        let Some(count) = self.count else {
            return processes.into_iter().map(|p| p.take_while(|at| *at < end).collect()).collect();
        };
        let mut arrivals = vec![Vec::new(); processes.len()];
        let mut next: BinaryHeap<Reverse<(Span, usize)>> = processes
            .iter_mut()
            .enumerate()
            .filter_map(|(i, p)| p.next().map(|at| Reverse((at, i))))
            .collect();
        for _ in 0..count {
            let Some(Reverse((at, i))) = next.pop().filter(|Reverse((at, _))| *at < end) else {
                break;
            };
            arrivals[i].push(at);
            next.extend(processes[i].next().map(|at| Reverse((at, i))));
        }
        arrivals
    }
}
