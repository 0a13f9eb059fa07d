//! Section 4.2: bandwidth of the feedback messages in the worst case.

use xoff_analysis::theorems::message_rate::{self, MESSAGE};
use xoff_report::Unit;
use xoff_units::{Rate, Span};

use crate::{Check, Context, Findings, ReproduceError, lab};

/// Feedback latency at 10 Gb/s (section 5.4).
pub(super) const TAU: Span = Span::from_ns(7_400);
/// Link rate.
pub(super) const C: Rate = Rate::from_gbps(10);

/// The entry.
pub fn run(_: &Context) -> Result<Findings, ReproduceError> {
    let worst = message_rate::worst(MESSAGE, TAU).as_f64();
    let steady = message_rate::steady_as_printed(MESSAGE, TAU).as_f64();
    let checks = vec![
        Check::near("m/tau", Unit::BitsPerSecond, worst, 69e6, 0.005).paper(69e6),
        Check::near("m/tau as a share of 10 Gb/s", Unit::Fraction, worst / C.as_f64(), 0.0069, 0.005).paper(0.0069),
        Check::near("m/(8 tau)", Unit::BitsPerSecond, steady, 8.6e6, 0.01).paper(8.6e6),
    ];
    let measured = format!("m/tau = {}, m/(8 tau) = {}", lab::rate(worst), lab::rate(steady));
    let notes = vec![
        "This claim checks the arithmetic. The claim sec4.2-steady checks whether m/(8 tau) is the worst case in steady \
        state."
            .into(),
    ];
    Ok(Findings { measured, checks, notes, ..Findings::default() })
}
