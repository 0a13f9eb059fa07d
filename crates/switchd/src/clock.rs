//! What time a world on real ports is told.
//!
//! ```text
//!   wall   ----.----.----.-----------------.----.----      looks of the loop; the scheduler took the processor away
//!   world  ----.----.----.-.---.----.                      time stands still beyond the budget
//! ```
//!
//! A wire does not stop when a process does. A world that made up for a pause of 10 ms at once would send 10 ms of frames in a
//! burst that no buffer was planned for. So its clock goes on by a budget at most and then stands still until the next look:
//! everything happens later, nothing happens faster. What was left out is counted, and belongs beside every rate.

use std::time::{Duration, Instant};

use xoff_units::Time;

/// How long the loop was away, between two looks at the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// Looks.
    pub looks: u64,
    /// The longest.
    pub longest: Duration,
    /// Time that the world was not told about.
    pub left_out: Duration,
    /// Looks by the length of the gap before them: below 2^n microseconds, n from 0.
    pub below_us_log2: [u64; 24],
}

impl Default for Gaps {
    fn default() -> Self {
        Gaps { looks: 0, longest: Duration::ZERO, left_out: Duration::ZERO, below_us_log2: [0; 24] }
    }
}

impl Gaps {
    fn count(&mut self, gap: Duration) {
        self.looks += 1;
        self.longest = self.longest.max(gap);
        let log2 = (u64::BITS - (gap.as_micros() as u64).leading_zeros()) as usize;
        self.below_us_log2[log2.min(23)] += 1;
    }

    /// The gap that this share of all looks, 0 to 1, stayed below: the end of its bin, so at most twice too long.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.looks as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (log2, n) in self.below_us_log2.iter().enumerate() {
            seen += n;
            if seen >= wanted {
                return Duration::from_micros(1 << log2).min(self.longest);
            }
        }
        self.longest
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
    /// A clock at zero that makes up for at most `budget` at a look.
    pub fn start(budget: Duration) -> Clock {
        Clock { budget, last: Instant::now(), now: Time::ZERO, gaps: Gaps::default() }
    }

    /// The time now, in whole nanoseconds, later than at the last look.
    pub fn look(&mut self) -> Time {
        let wall = Instant::now();
        self.pass(wall.duration_since(self.last));
        self.last = wall;
        self.now
    }

    fn pass(&mut self, gap: Duration) {
        self.gaps.count(gap);
        let told = gap.min(self.budget).max(Duration::from_nanos(1));
        self.gaps.left_out += gap.saturating_sub(self.budget);
        self.now = Time(self.now.0 + told.as_nanos() as u64 * 1000);
    }

    /// How regularly it was looked at.
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
    fn quantiles_are_ends_of_bins() {
        let mut g = Gaps::default();
        (0..99).for_each(|_| g.count(Duration::from_micros(50)));
        g.count(Duration::from_micros(5000));
        assert_eq!([0.5, 0.99, 1.0].map(|q| g.quantile(q).as_micros()), [64, 64, 5000]);
    }
}
