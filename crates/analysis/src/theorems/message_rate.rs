//! Share of the link that the messages of buffer-based GFC take (GFC section 4.2, "Occupied
//! bandwidth").
//!
//! ```text
//!           u tau
//!          /\            threshold crossed upwards: message, effective tau later; the queue then falls at d,
//!   ------/--\------     crosses downwards: message, effective tau later; it rises at u again, and so on.
//!             \/         period = tau (u + d)^2/(u d) = 2 tau + tau (u/d + d/u) >= 4 tau, two messages
//!            d tau
//! ```
//!
//! u = R_{k-1} - R_d and d = R_d - R_k, a drain between two stages. The paper states m/(8 tau) for
//! the steady worst case and omits the calculation; the limit cycle above, without hysteresis,
//! gives up to m/(2 tau), which is four times as much and agrees with the 0.21 % the paper measures
//! (Fig. 19).

use xoff_units::{Bytes, Rate, Span};

/// Size of a feedback message [bytes] -- GFC section 4.2, m = 64 B (preamble and gap not counted).
pub const MESSAGE: Bytes = Bytes(64);

/// Worst case, a transient: one message per tau, m/tau [bit/s] (GFC section 4.2).
pub fn worst(message: Bytes, tau: Span) -> Rate {
    Rate::of(message, tau)
}

/// The steady worst case as the paper states it: m/(8 tau) [bit/s] (GFC section 4.2). See
/// [`steady_worst`].
pub fn steady_as_printed(message: Bytes, tau: Span) -> Rate {
    Rate::of(message, tau * 8)
}

/// The steady worst case of the two-stage limit cycle: m/(2 tau) [bit/s], when the drain is midway.
pub fn steady_worst(message: Bytes, tau: Span) -> Rate {
    Rate::of(message, tau * 2)
}

/// Period of the limit cycle between two stages: tau (u + d)^2/(u d), rounded down to the
/// picosecond. `None` if the drain does not lie strictly between the stages: then there is no
/// cycle.
pub fn limit_cycle_period(tau: Span, upper: Rate, lower: Rate, drain: Rate) -> Option<Span> {
    if !(lower < drain && drain < upper) {
        return None;
    }
    let (u, d) = (u128::from((upper - drain).0), u128::from((drain - lower).0));
    // (u + d)^2/(u d) may be as large as the rates themselves; tau below 2^40 ps (1 s) keeps this
    // inside 128 bits.
    let period = u128::from(tau.0).checked_mul((u + d) * (u + d))? / (u * d);
    u64::try_from(period).ok().map(Span)
}

/// Rate of messages in the limit cycle, 2 m per period [bit/s]; zero if there is no cycle.
pub fn limit_cycle(message: Bytes, tau: Span, upper: Rate, lower: Rate, drain: Rate) -> Rate {
    limit_cycle_period(tau, upper, lower, drain).map_or(Rate::ZERO, |p| Rate::of(message * 2, p))
}

/// Result of the fluid simulation of the limit cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitCycle {
    /// Rate of messages over the whole cycles of the run [bit/s]; zero if no cycle was completed.
    pub rate: Rate,
    /// Mean time between two upward crossings [s].
    pub period: f64,
    /// Highest and lowest queue around the threshold [bytes].
    pub swing: (f64, f64),
}

/// Simulates the two-stage cycle event by event: crossings of the threshold send messages, messages
/// change the rate tau later. Starts at the threshold, rising at the upper stage, and runs for
/// `until`.
pub fn simulate(
    message: Bytes,
    tau: Span,
    upper: Rate,
    lower: Rate,
    drain: Rate,
    until: Span,
) -> LimitCycle {
    let slope = |stage_up: bool| (if stage_up { upper } else { lower }).as_f64() - drain.as_f64();
    let (tau, until) = (tau.as_secs_f64(), until.as_secs_f64());
    // Queue relative to the threshold [bits]; the crossing at time zero has just sent its message.
    let (mut t, mut queue, mut fast) = (0.0_f64, 0.0_f64, true);
    let mut change = Some((tau, false));
    // Only whole cycles count: the messages after the first crossing, up to the last upward one.
    let (mut messages, mut upward) = (0u64, 0u64);
    let (mut last_upward, mut messages_whole) = (0.0, 0u64);
    let (mut high, mut low) = (0.0_f64, 0.0_f64);
    loop {
        let v = slope(fast);
        // Towards the threshold only: a queue on it that moves away has crossed already.
        let crossing = if queue * v < 0.0 { t - queue / v } else { f64::INFINITY };
        let effect = change.map_or(f64::INFINITY, |c| c.0);
        let now = crossing.min(effect);
        if now > until || now.is_infinite() {
            break;
        }
        if crossing <= effect {
            queue = 0.0;
            messages += 1;
            if v > 0.0 {
                upward += 1;
                last_upward = now;
                messages_whole = messages;
            }
            change = Some((now + tau, v < 0.0));
        } else {
            queue += v * (now - t);
            if let Some((_, stage_up)) = change.take() {
                fast = stage_up;
            }
        }
        t = now;
        high = high.max(queue);
        low = low.min(queue);
    }
    let swing = (high / 8.0, low / 8.0);
    if upward == 0 {
        return LimitCycle { rate: Rate::ZERO, period: f64::INFINITY, swing };
    }
    let rate = Rate::from_f64(messages_whole as f64 * message.0 as f64 * 8.0 / last_upward);
    LimitCycle { rate, period: last_upward / upward as f64, swing }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAU: Span = Span::from_ns(7_400);
    const C: Rate = Rate::from_gbps(10);

    #[test]
    fn midway_the_cycle_takes_exactly_four_tau() {
        let half = Rate::from_gbps(5);
        let drain = Rate(7_500_000_000);
        assert_eq!(limit_cycle_period(TAU, C, half, drain), Some(TAU * 4));
        assert_eq!(limit_cycle(MESSAGE, TAU, C, half, drain), steady_worst(MESSAGE, TAU));
        // At a fifth of the step: 2 + 4 + 1/4 tau.
        assert_eq!(
            limit_cycle_period(TAU, C, half, Rate::from_gbps(6)),
            Some(Span(TAU.0 * 625 / 100))
        );
        assert_eq!(limit_cycle_period(TAU, C, half, half), None);
        assert_eq!(limit_cycle_period(TAU, C, half, C), None);
    }

    #[test]
    fn the_simulated_cycle_has_the_computed_period_and_swing() {
        let lower = Rate::from_gbps(5);
        for drain in [Rate::from_gbps(6), Rate(7_500_000_000), Rate::from_gbps(9)] {
            let seen = simulate(MESSAGE, TAU, C, lower, drain, Span::from_ms(20));
            let period = limit_cycle_period(TAU, C, lower, drain).unwrap().as_secs_f64();
            assert!((seen.period / period - 1.0).abs() < 1e-9, "{seen:?} {period}");
            let (u, d) = ((C - drain).bytes_in(TAU), (drain - lower).bytes_in(TAU));
            assert!(
                (seen.swing.0 - u.0 as f64).abs() < 1.0 && (seen.swing.1 + d.0 as f64).abs() < 1.0
            );
            let expected = limit_cycle(MESSAGE, TAU, C, lower, drain).as_f64();
            assert!((seen.rate.as_f64() / expected - 1.0).abs() < 1e-6);
        }
    }
}
