//! The rate limiter of GFC section 5.3: after each frame a gap of (C - R)/R times its transmission
//! time.
//!
//! The paper names three registers: R_l, the transmission time of the last frame; R_r, the assigned
//! rate; R_c, a countdown. Here R_c is the instant `free_at` at which it reaches zero.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Rate, Span, Time};

use super::Gate;

/// The key of the flow controls that use the limiter.
pub(super) const COUNTDOWN: ParamSpec = ParamSpec::new(
    "countdown",
    Kind::Choice(&["scaled", "once"]),
    "scaled",
    "gap that runs when the rate changes: its rest is scaled, or it ends as loaded",
    "GFC section 5.3 loads R_c once",
);

/// How a new rate changes the gap before the next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub enum Countdown {
    /// Its rest is scaled by old/new.
    Scaled,
    /// Nothing: R_c is loaded once, when the frame has been sent.
    Once,
}

impl Countdown {
    /// Reads [`COUNTDOWN`].
    pub(super) fn read(v: &mut dyn Values) -> Result<Countdown, ParamError> {
        Ok(if v.text("countdown")? == "once" { Countdown::Once } else { Countdown::Scaled })
    }
}

/// Enforces an assigned rate between frames of one queue.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct RateLimiter {
    /// Line rate C [bit/s] -- constant.
    line: Rate,
    /// Smallest rate the hardware can hold [bit/s] -- constant. Rates below it are raised to it.
    unit: Rate,
    countdown: Countdown,
    /// Assigned rate R_r [bit/s].
    rate: Rate,
    /// Transmission time R_l of the last frame [ps].
    last_tx: Span,
    /// Time at which the last frame left the port.
    #[state(deadline)]
    last_end: Time,
    /// Earliest start of the next frame.
    #[state(deadline)]
    free_at: Time,
}

impl RateLimiter {
    /// A limiter that starts open at line rate. 8 kb/s is the unit of commodity switches (GFC
    /// section 7).
    pub fn new(line: Rate, unit: Rate, countdown: Countdown) -> Self {
        RateLimiter {
            line,
            unit,
            countdown,
            rate: line,
            last_tx: Span::ZERO,
            last_end: Time::ZERO,
            free_at: Time::ZERO,
        }
    }

    /// The assigned rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// True if a frame may start now.
    pub fn gate(&self, now: Time) -> Gate {
        if now >= self.free_at { Gate::Open } else { Gate::Until(self.free_at) }
    }

    /// A frame starts now and takes `tx` on the wire.
    pub fn on_sent(&mut self, now: Time, tx: Span) {
        self.last_tx = tx;
        self.last_end = now + tx;
        self.free_at = self.last_end + self.gap();
    }

    /// Assigns a new rate. A gap that is running is scaled by old/new, unless it was loaded once:
    /// then one frame sent at 9.5 kb/s holds the queue for 1.26 s although the buffer has long
    /// drained.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        let new = Rate(rate.0.clamp(self.unit.0.min(self.line.0), self.line.0));
        let old = std::mem::replace(&mut self.rate, new);
        if now < self.last_end {
            // The countdown is loaded when the frame is completely sent, with the rate of that
            // time.
            self.free_at = self.last_end + self.gap();
        } else if now < self.free_at && self.countdown == Countdown::Scaled {
            self.free_at = now + (self.free_at - now).scale_ceil(old.0, new.0);
        }
    }

    /// R_c = (C - R_r)/R_r x R_l, rounded up.
    fn gap(&self) -> Span {
        self.last_tx.scale_ceil(self.line.0 - self.rate.0, self.rate.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::Bytes;

    const C: Rate = Rate::from_gbps(10);
    const UNIT: Rate = Rate(8_000);

    fn limiter(countdown: Countdown) -> RateLimiter {
        RateLimiter::new(C, UNIT, countdown)
    }

    /// GFC section 5.3: the long-run rate equals R_r, from 8 kb/s to C.
    #[test]
    fn long_run_rate_is_the_assigned_rate() {
        let tx = C.time_for(Bytes(1500));
        for bps in [
            8_000,
            9_537,
            152_588,
            1_000_000,
            1_250_000_000,
            3_333_333_333,
            5_000_000_000,
            10_000_000_000,
        ] {
            let mut limiter = limiter(Countdown::Scaled);
            limiter.set_rate(Time::ZERO, Rate(bps));
            let mut now = Time::ZERO;
            for _ in 0..1000 {
                limiter.on_sent(now, tx);
                now = match limiter.gate(now) {
                    Gate::Until(t) => t,
                    _ => panic!("a frame is on the wire"),
                };
            }
            let measured = Rate::of(Bytes(1500 * 1000), now - Time::ZERO).as_f64();
            assert!((measured / bps as f64 - 1.0).abs() < 1e-3, "{bps}: {measured}");
        }
    }

    #[test]
    fn a_running_gap_is_scaled_when_the_rate_changes() {
        let mut limiter = limiter(Countdown::Scaled);
        limiter.set_rate(Time::ZERO, Rate::from_gbps(5));
        limiter.on_sent(Time::ZERO, Span::from_us(1)); // ends at 1 us, gap 1 us
        assert_eq!(limiter.gate(Time::ZERO), Gate::Until(Time::from_us(2)));
        limiter.set_rate(Time(1_500_000), Rate(2_500_000_000)); // 0.5 us left at 5G = 1 us at 2.5G
        assert_eq!(limiter.gate(Time(1_500_000)), Gate::Until(Time(2_500_000)));
        limiter.set_rate(Time(1_500_000), C); // back to line rate: 0.25 us
        assert_eq!(limiter.gate(Time(1_500_000)), Gate::Until(Time(1_750_000)));
    }

    /// Section 5.3 to the letter: a frame of 1500 B at the lowest stage of GFC at 10 Gb/s, 9,537
    /// b/s, holds the queue for 1500 x 8 / 9,537 s from its start, whatever rate comes after its end.
    /// Scaled to line rate the gap is the time of the frame.
    #[test]
    fn a_gap_loaded_once_ends_as_loaded() {
        let tx = C.time_for(Bytes(1500));
        let free = |countdown, then| {
            let mut limiter = limiter(countdown);
            limiter.set_rate(Time::ZERO, Rate(9_537));
            limiter.on_sent(Time::ZERO, tx);
            limiter.set_rate(Time::ZERO + tx, then);
            match limiter.gate(Time::ZERO + tx) {
                Gate::Until(t) => t,
                _ => Time::ZERO + tx,
            }
        };
        let exact = Time((1500 * 8 * 1_000_000_000_000u64).div_ceil(9_537));
        for then in [C, Rate::from_gbps(5), Rate(9_537), UNIT] {
            assert!(free(Countdown::Once, then).0.abs_diff(exact.0) <= 1, "{then}");
        }
        assert_eq!(free(Countdown::Scaled, C).0, 2 * tx.0 - 1, "tx (C - R)/C, rounded up");
        // Before the frame's end nothing is loaded yet.
        let mut limiter = limiter(Countdown::Once);
        limiter.on_sent(Time::ZERO, Span::from_us(1));
        limiter.set_rate(Time(999_999), Rate::from_gbps(5));
        assert_eq!(limiter.gate(Time(999_999)), Gate::Until(Time::from_us(2)));
    }

    /// Until its end a frame leaves the gap of the rate that comes; from its end on a gap runs, and
    /// at line rate that is none.
    #[test]
    fn a_gap_begins_when_its_frame_has_ended() {
        let at = |t| {
            let mut limiter = limiter(Countdown::Scaled);
            limiter.on_sent(Time::ZERO, Span::from_us(1));
            limiter.set_rate(Time(t), Rate::from_gbps(5));
            limiter.gate(Time::from_us(1))
        };
        assert_eq!([999_999, 1_000_000].map(at), [Gate::Until(Time::from_us(2)), Gate::Open]);
    }

    #[test]
    fn a_change_during_the_frame_sets_the_whole_gap() {
        let mut limiter = limiter(Countdown::Scaled);
        limiter.on_sent(Time::ZERO, Span::from_us(1));
        assert_eq!(limiter.gate(Time::ZERO), Gate::Until(Time::from_us(1)));
        limiter.set_rate(Time(500_000), Rate(2_500_000_000));
        assert_eq!(limiter.gate(Time(500_000)), Gate::Until(Time::from_us(4)));
    }

    #[test]
    fn rates_below_the_unit_are_raised_to_it() {
        let mut limiter = limiter(Countdown::Scaled);
        limiter.set_rate(Time::ZERO, Rate::ZERO);
        assert_eq!(limiter.rate(), UNIT);
    }
}
