//! Section 4.2: "in steady status, the worst-case occupied bandwidth is only m/(8 tau)".

use xoff_analysis::theorems::message_rate::{self, MESSAGE, simulate};
use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_units::{Rate, Span};

use super::sec4_2::{C, TAU};
use crate::{Check, Context, Findings, ReproduceError, lab};

/// The entry.
pub fn run(_: &Context) -> Result<Findings, ReproduceError> {
    let half = C / 2;
    // Drains between stage 0 and stage 1, as shares of the step.
    let drains: Vec<f64> = (1..40).map(|i| f64::from(i) / 40.0).collect();
    let at = |share: f64| Rate::from_f64(half.as_f64() * (1.0 + share));
    let formula = |share| message_rate::limit_cycle(MESSAGE, TAU, C, half, at(share)).as_f64();
    let fluid = |share| simulate(MESSAGE, TAU, C, half, at(share), Span::from_ms(5)).rate.as_f64();
    let worst = drains.iter().map(|s| fluid(*s)).fold(0.0, f64::max);
    let printed = message_rate::steady_as_printed(MESSAGE, TAU).as_f64();
    let expected = message_rate::steady_worst(MESSAGE, TAU).as_f64();
    let checks = vec![
        Check::near("largest message rate of the limit cycle, fluid simulation", Unit::BitsPerSecond, worst, expected, 0.05)
            .beside(printed),
        Check::new("the same rate, compared with the paper's bound m/(8 tau)", Unit::BitsPerSecond, worst, 0.0, printed).paper(printed),
    ];
    let figure = Figure::new("Messages of buffer-based GFC in steady state, without hysteresis")
        .caption(
            "Between two stages the queue swings around a threshold and sends two messages per period tau (u + d)^2/(u d). Midway \
            between them that is m/(2 tau), four times the paper's value.",
        )
        .panel(
            Panel::new(
                "",
                Axis::new("Draining rate", Unit::BitsPerSecond).range(5e9, 10e9),
                Axis::new("Message rate", Unit::BitsPerSecond).range(0.0, 40e6),
            )
            .mark(Mark::line("limit cycle, formula", drains.iter().map(|s| (at(*s).as_f64(), formula(*s)))))
            .mark(Mark::points("limit cycle, fluid simulation", drains.iter().step_by(3).map(|s| (at(*s).as_f64(), fluid(*s)))))
            .mark(Mark::hline(expected, "m/(2 tau)"))
            .mark(Mark::hline(printed, "paper: m/(8 tau)")),
        );
    let measured = format!(
        "up to {} ({} of the link) with the draining rate midway between two stages",
        lab::rate(worst),
        Unit::Fraction.format(worst / C.as_f64())
    );
    let why = vec![
        format!(
            "Each crossing of a threshold takes effect tau later. If u and d are the rates above and below the draining rate, a period \
             is 2 tau + tau (u/d + d/u), at least 4 tau, with two messages: at most m/(2 tau) = {}. The paper omits its calculation.",
            lab::rate(expected)
        ),
        format!(
            "The paper's own measurement agrees: the mean of 0.21 % in Fig. 19 exceeds the {} of m/(8 tau). A hysteresis, which the \
             paper does not mention, would lower it.",
            Unit::Fraction.format(printed / C.as_f64())
        ),
    ];
    Ok(Findings { measured, checks, figures: vec![figure], why, ..Findings::default() })
}
