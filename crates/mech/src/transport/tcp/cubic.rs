//! CUBIC (RFC 9438): the window follows a cubic curve in time, and is no smaller than that of a
//! Reno with the same decrease. In whole numbers.
//!
//! ```text
//!   W_cubic(t) = C (t - K)^3 + W_max      C = 0.4 segments/s^3, K = cbrt((W_max - cwnd at the start) / C)
//!   W_est      + alpha acked / cwnd       alpha = 3 (1 - beta) / (1 + beta) = 9/17 up to the window before the loss, then 1
//!   loss: W_max = cwnd, or 0.85 cwnd if that is less than the last W_max; ssthresh = beta x in flight, beta = 0.7
//! ```

use xoff_units::state::State;
use xoff_units::{Span, Time};

/// State of the curve. Bytes where RFC 9438 has segments.
#[derive(Clone, Copy, Debug, Default, State)]
pub(super) struct Cubic {
    /// Plateau of the curve [bytes].
    w_max: u64,
    /// Start of this congestion avoidance; `None`: with the next acknowledgement.
    epoch: Option<Time>,
    /// K of section 4.2 [ns].
    k: u64,
    /// Window of a Reno with the same decrease [bytes].
    w_est: u64,
    /// Part of its growth that is not yet a whole byte.
    est_rest: u64,
    /// Part of the window's growth that is not yet a whole byte.
    rest: u64,
    /// Window before the last loss [bytes].
    prior: u64,
    /// Slow start ended without a loss, or after a timeout: the curve begins at its plateau.
    fresh: bool,
}

/// C is 4 / `PER_C` segments/s^3, with times in ns: 0.4e-27.
const PER_C: u128 = 10u128.pow(28);
/// Longest time from the plateau that is reckoned with [ns]: 100 s.
const FARTHEST: u64 = 100_000_000_000;

/// The largest whole number whose cube is no more than this.
fn cube_root(n: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..42).rev() {
        let tried = root | 1 << bit;
        if tried * tried * tried <= n {
            root = tried;
        }
    }
    root as u64
}

impl Cubic {
    /// K for a window that begins so far below the plateau [ns].
    fn k_of(below: u64, mss: u64) -> u64 {
        cube_root(u128::from(below.min(1 << 40)) * PER_C / (4 * u128::from(mss)))
    }

    /// W_cubic at a time after the start [bytes].
    fn curve(&self, t: Span, mss: u64) -> u64 {
        let t = t.0 / 1000;
        let off = t.abs_diff(self.k).min(FARTHEST);
        let cubed = u128::from(off).pow(3);
        let change = (4 * u128::from(mss) * cubed / PER_C).min(1 << 60) as u64;
        if t >= self.k { self.w_max + change } else { self.w_max.saturating_sub(change) }
    }

    /// Slow start is over, or begins again.
    pub fn begin(&mut self) {
        self.epoch = None;
        self.fresh = true;
    }

    /// The window after an acknowledgement of `acked` bytes [bytes].
    pub fn grow(&mut self, now: Time, cwnd: u64, acked: u64, mss: u64, rtt: Span) -> u64 {
        let epoch = *self.epoch.get_or_insert_with(|| {
            if self.fresh {
                (self.w_max, self.prior, self.fresh) = (cwnd, cwnd, false); // sections 4.8 and 4.10
            }
            self.k = Cubic::k_of(self.w_max.saturating_sub(cwnd), mss);
            (self.w_est, self.est_rest, self.rest) = (cwnd, 0, 0);
            now
        });
        let t = now.since(epoch);
        // Section 4.3.
        let (alpha, per) = if self.w_est < self.prior { (9, 17) } else { (1, 1) };
        let grown = u128::from(self.est_rest) + alpha * u128::from(acked) * u128::from(mss);
        let per = per * u128::from(cwnd);
        self.w_est += (grown / per) as u64;
        self.est_rest = (grown % per) as u64;
        if self.curve(t, mss) < self.w_est {
            return cwnd.max(self.w_est);
        }
        // Sections 4.4 and 4.5.
        let target = self.curve(t + rtt, mss).clamp(cwnd, cwnd + cwnd / 2);
        let grown = u128::from(self.rest) + u128::from(target - cwnd) * u128::from(mss);
        self.rest = (grown % u128::from(cwnd)) as u64;
        cwnd + (grown / u128::from(cwnd)) as u64
    }

    /// Bytes in flight that remain after a loss: sections 4.6 and 4.7.
    pub fn after_loss(&mut self, cwnd: u64, in_flight: u64, mss: u64) -> u64 {
        self.prior = cwnd;
        self.w_max = if cwnd < self.w_max { cwnd * 17 / 20 } else { cwnd };
        (self.epoch, self.fresh) = (None, false);
        (in_flight * 7 / 10).max(2 * mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    #[test]
    fn the_cube_root_is_the_largest_whole_number_below() {
        for n in [0u128, 1, 7, 8, 26, 27, 1_000_000, 10u128.pow(33), (1 << 42) - 1] {
            let root = u128::from(cube_root(n));
            assert!(root.pow(3) <= n && n < (root + 1).pow(3), "{n}: {root}");
        }
    }

    /// W_max - cwnd = 0.4 x 1000 segments: K = 10 s, and the curve is C (t - K)^3 + W_max around
    /// it.
    #[test]
    fn the_curve_is_that_of_the_rfc() {
        let mut c = Cubic { w_max: 1_000 * MSS, prior: 1_000 * MSS, ..Cubic::default() };
        let cwnd = 600 * MSS;
        let first = c.grow(Time(0), cwnd, MSS, MSS, Span::ZERO);
        assert_eq!(c.k, 10_000_000_000);
        assert_eq!(first, cwnd, "at its start the curve is at the window");
        for (seconds, segments) in
            [(0, 600.0), (5, 950.0), (10, 1000.0), (15, 1050.0), (20, 1400.0)]
        {
            let got = c.curve(Span::from_ms(seconds * 1000), MSS);
            assert_eq!(got as f64, segments * MSS as f64, "after {seconds} s");
        }
        // After 1 s, with a round trip of another: W_cubic(2 s) = 1000 - 0.4 x 8^3 = 795.2
        // segments, (795.2 - 600)/600 of one for an acknowledged one.
        assert_eq!(
            c.grow(Time(0) + Span::from_ms(1_000), cwnd, MSS, MSS, Span::from_ms(1_000)),
            cwnd + 325
        );
    }

    /// For short round trips Reno's line is above the curve: 9/17 of a segment for each
    /// acknowledged window.
    #[test]
    fn short_round_trips_are_reno_with_its_decrease() {
        let mut c = Cubic::default();
        let left = c.after_loss(100 * MSS, 100 * MSS, MSS);
        assert_eq!(left, 70 * MSS);
        let mut cwnd = left;
        let mut now = Time(0);
        let mut acked = 0;
        // 17 windows of 70 segments, acknowledged within 17 x 10 us.
        for _ in 0..17 {
            let window = cwnd;
            let mut done = 0;
            while done < window {
                cwnd = c.grow(now, cwnd, MSS, MSS, Span::from_us(10));
                done += MSS;
                acked += 1;
            }
            now += Span::from_us(10);
        }
        assert!(acked > 17 * 70);
        assert!((cwnd as i64 - (79 * MSS) as i64).unsigned_abs() <= MSS, "{cwnd}");
    }

    #[test]
    fn a_second_loss_below_the_plateau_gives_room() {
        let mut c = Cubic::default();
        c.after_loss(100 * MSS, 100 * MSS, MSS);
        c.after_loss(80 * MSS, 80 * MSS, MSS);
        assert_eq!(c.w_max, 68 * MSS);
        assert_eq!(c.after_loss(MSS, MSS, MSS), 2 * MSS);
    }
}
