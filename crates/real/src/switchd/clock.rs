//! The time of a world on real ports.
//!
//! ```text
//!   wall   ----.----.----.-----------------.----.----      looks of the loop; the scheduler took the processor away
//!   world  ----.----.----.-.---.----.                      time stops beyond the budget
//! ```
//!
//! A wire does not stop when a process does. A world that made up for a pause of 10 ms at once
//! would send 10 ms of frames in a burst beyond the planned buffers. So its clock advances by a
//! budget at most and then stops until the next poll: everything happens later, nothing happens
//! faster. What was left out is counted, and belongs next to every rate.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use xoff_units::Time;

/// Longest gap that is distinguished from longer ones [us].
const GAP_MAX_US: u64 = 10_000_000;

/// Absences of the loop, between two readings of the clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaps {
    /// Number of rounds of the loop.
    pub looks: u64,
    /// The longest.
    pub longest: Duration,
    /// Time that the world did not get.
    pub left_out: Duration,
    /// Looks by the length of the gap before them [us], to two digits.
    by_us: Histogram<u64>,
}

impl Default for Gaps {
    fn default() -> Self {
        let by_us = Histogram::new_with_max(GAP_MAX_US, 2).expect("two digits are allowed");
        Gaps { looks: 0, longest: Duration::ZERO, left_out: Duration::ZERO, by_us }
    }
}

impl Gaps {
    fn count(&mut self, gap: Duration) {
        self.looks += 1;
        self.longest = self.longest.max(gap);
        self.by_us.saturating_record(gap.as_micros() as u64);
    }

    /// Quantile of the gaps between polls: this share of them, 0 to 1, is not longer. At most one
    /// part in a hundred plus 1 us too long.
    pub fn quantile(&self, share: f64) -> Duration {
        match self.by_us.value_at_quantile(share) {
            us if us >= GAP_MAX_US => self.longest,
            // A gap was cut off to whole microseconds.
            us => Duration::from_micros(us + 1).min(self.longest),
        }
    }
}

/// The clock of a world.
#[derive(Clone, Debug)]
pub struct Clock {
    budget: Duration,
    last: Instant,
    now: Time,
    gaps: Gaps,
}

impl Clock {
    /// A clock at zero that makes up for at most `budget` at a poll.
    pub fn start(budget: Duration) -> Clock {
        Clock { budget, last: Instant::now(), now: Time::ZERO, gaps: Gaps::default() }
    }

    /// The time now, in whole nanoseconds, later than at the last poll.
    pub fn look(&mut self) -> Time {
        let wall = Instant::now();
        self.pass(wall.duration_since(self.last));
        self.last = wall;
        self.now
    }

    fn pass(&mut self, gap: Duration) {
        self.gaps.count(gap);
        let passed = gap.min(self.budget).max(Duration::from_nanos(1));
        self.gaps.left_out += gap.saturating_sub(self.budget);
        self.now = Time(self.now.0 + passed.as_nanos() as u64 * 1000);
    }

    /// Regularity of the loop's readings.
    pub fn gaps(&self) -> &Gaps {
        &self.gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_beyond_the_budget() {
        let mut c = Clock::start(Duration::from_millis(1));
        c.pass(Duration::from_micros(40));
        c.pass(Duration::ZERO);
        assert_eq!(c.now, Time(40_001_000), "never twice the same");
        c.pass(Duration::from_millis(9));
        assert_eq!((c.now, c.gaps.left_out), (Time(1_040_001_000), Duration::from_millis(8)));
        assert_eq!((c.gaps.looks, c.gaps.longest), (3, Duration::from_millis(9)));
    }

    #[test]
    fn quantiles_are_exact_to_a_hundredth() {
        let mut g = Gaps::default();
        (0..99).for_each(|_| g.count(Duration::from_micros(50)));
        g.count(Duration::from_micros(5000));
        assert_eq!([0.5, 0.99, 1.0].map(|q| g.quantile(q).as_micros()), [51, 51, 5000]);
        // Below the last one, and above the resolution.
        g.count(Duration::from_micros(5000));
        g.count(Duration::from_secs(100));
        let at = g.quantile(0.985).as_micros();
        assert!((5000..=5051).contains(&at), "{at}");
        assert_eq!(g.quantile(1.0), Duration::from_secs(100));
    }
}
