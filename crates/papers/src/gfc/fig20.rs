//! Fig. 20: DCQCN and buffer-based GFC together.

use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_sim::RateSource;

use crate::lab::{self, Points};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("gfc", "fig20.toml");
/// The paper's H1.
const PORT: &str = "H0->S1";
/// Assumption about DCQCN.
const PARAMETERS: &str = "DCQCN's unstated parameters are those of its own paper; its rate never drops below 100 Mb/s";
/// Assumption about the queue of the 40 KB threshold.
const INGRESS: &str = "the ECN threshold of 40 KB applies to each ingress queue; 8 of them share the egress queue, which makes 320 KB";

/// The entry.
#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let thresholds = ["320KB", "40KB"];
    let runs = cx.parallel(&thresholds, |t| {
        lab::run(
            cx,
            SCENARIO.0,
            SCENARIO.1,
            &[format!("run.seed={}", cx.seed), format!("detection.kmin={t}"), format!("detection.kmax={t}")],
        )
    })?;
    let (run, literal) = (&runs[0], &runs[1]);
    let end = lab::ps(run.outcome.now);
    let allowed = steps(run.port_rate(PORT, RateSource::FlowControl));
    let dcqcn = run.flow_rate(0, RateSource::RateControl);
    let queue = run.ingress(PORT);
    let top = lab::highest(&queue);
    let reached = allowed.iter().find(|s| s.1 < 10e9).map_or(f64::NAN, |s| s.0);
    // From the first stage to the last return to line rate, GFC is in charge or stands by.
    let released = allowed.iter().rev().find(|s| s.1 >= 10e9).map_or(f64::NAN, |s| s.0);
    let lowest = allowed.iter().map(|s| s.1).fold(f64::INFINITY, f64::min);
    let descent: Vec<f64> = allowed.iter().map(|s| s.1).filter(|r| *r < 10e9).take(3).collect();
    let handed = below_for_good(&dcqcn, &allowed);
    let rates = run.rates_at_end(xoff_units::Span::from_ms(10));
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let quiet = (end - released) / 1e9;
    let rate = |what: &str, value: f64, expected: f64| Check::exact(what, Unit::BitsPerSecond, value, expected);
    let step = |n: usize| descent.get(n).copied().unwrap_or(f64::NAN);
    let checks = vec![
        Check::new("the queue reaches B_1 at", Unit::Picoseconds, reached, lab::us(240.0), lab::ms(1.0)).assuming(INGRESS),
        rate("first GFC rate", step(0), 5e9).claimed().assuming(INGRESS),
        rate("second GFC rate", step(1), 2.5e9).claimed().assuming(INGRESS),
        rate("third GFC rate", step(2), 1.25e9).paper(1.25e9).assuming(INGRESS),
        Check::new("smallest GFC rate", Unit::BitsPerSecond, lowest, 0.625e9, 1.25e9).beside(1.25e9).assuming(INGRESS),
        Check::new("highest queue", Unit::Bytes, top.1, 281e3, 300e3).assuming(INGRESS),
        Check::new("DCQCN's rate is permanently below GFC's from", Unit::Picoseconds, handed, reached, lab::ms(20.0))
            .claimed()
            .assuming(PARAMETERS),
        Check::new("GFC's rate is permanently the line rate from", Unit::Picoseconds, released, reached, lab::ms(20.0))
            .claimed()
            .assuming(PARAMETERS),
        Check::new("no stage change during the last", Unit::Picoseconds, lab::ms(quiet), lab::ms(5.0), f64::INFINITY)
            .claimed()
            .assuming(PARAMETERS),
        Check::near("mean rate per flow at the end", Unit::BitsPerSecond, mean, 1.25e9, 0.05).assuming(PARAMETERS),
        Check::none("frames lost", "frames", runs.iter().map(|r| r.lost()).sum()),
    ];
    let why = vec![format!(
        "The DCQCN paper puts the threshold of 40 KB at the egress queue. There 8 senders pass it after 5 us, and DCQCN cuts all of \
         them every 50 us. H1's queue then peaks at {}, below B_1 = 281 KB, and GFC never acts (smallest rate {}). The paper's curves \
         need marking that starts later. A threshold of 40 KB at each ingress queue, as in a simulator with input buffers, gives them.",
        lab::bytes(literal.ingress_peak(PORT)),
        literal.allowed_min(PORT).map_or("line rate".into(), |r| lab::rate(r.as_f64()))
    )];
    let until = lab::ms(10.0);
    let first = |points: Points| points.into_iter().filter(move |p| p.0 <= until);
    let time = || Axis::new("Time", Unit::Picoseconds).range(0.0, until);
    let figure = Figure::new("Buffer-based GFC and DCQCN, 8 senders, 1 receiver (paper: Fig. 20)")
        .caption(
            "The paper: the queue rises, and GFC reduces H1 to 1.25 Gb/s. DCQCN keeps cutting until its rate is below GFC's. The \
            backlog drains, and DCQCN alone controls the rate.",
        )
        .panel(
            Panel::new("Ingress queue of H1's port", time(), Axis::new("Queue length", Unit::Bytes))
                .mark(Mark::line("queue", first(queue.clone())))
                .mark(Mark::hline(281e3, "B_1")),
        )
        .panel(
            Panel::new("Rates of H1", time(), Axis::new("Rate", Unit::BitsPerSecond))
                .mark(Mark::steps("GFC rate", first(run.port_rate(PORT, RateSource::FlowControl))))
                .mark(Mark::steps("DCQCN rate", first(dcqcn.clone())))
                .mark(Mark::hline(1.25e9, "paper: 1.25 Gb/s")),
        );
    let names: Vec<String> = descent.iter().map(|r| lab::rate(*r)).collect();
    let measured = format!(
        "B_1 reached at {}. GFC rate {}, lowest {}. DCQCN takes over at {}, and GFC is back at line rate from {}. {} per flow at the \
         end; highest queue {}.",
        lab::time(reached),
        names.join(", "),
        lab::rate(lowest),
        lab::time(handed),
        lab::time(released),
        lab::rate(mean),
        lab::bytes(top.1)
    );
    Ok(Findings { measured, checks, figures: vec![figure], why, ..Findings::default() })
}

/// Only the points where the value changes.
fn steps(points: Points) -> Points {
    let mut out: Points = Vec::new();
    for p in points {
        if out.last().is_none_or(|l| l.1 != p.1) {
            out.push(p);
        }
    }
    out
}

/// From when on `a` stays below `b`, after having been above it; both are steps.
fn below_for_good(a: &[(f64, f64)], b: &[(f64, f64)]) -> f64 {
    let at = |t: f64| b.iter().take_while(|s| s.0 <= t).last().map_or(f64::INFINITY, |s| s.1);
    let above = a.iter().rposition(|p| p.1 > at(p.0));
    above.and_then(|i| a.get(i + 1)).map_or(f64::NAN, |p| p.0)
}
