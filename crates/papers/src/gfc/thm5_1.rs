//! Theorem 5.1: time-based GFC never reaches B_m if B_m - B_0 >= (sqrt(tau/T) + 1)^2 C T.

use xoff_analysis::theorems::theorem_5_1::{bound, bound_any, bound_ratio, critical, critical_ratio, overshoot, smallest_gap};
use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_units::{Bytes, Rate, Span};

use crate::{Check, Context, Findings, ReproduceError, lab};

/// Link rate [Gb/s], tau [ns], T [ns], where it occurs.
const CASES: [(u64, u64, u64, &str); 5] = [
    (10, 7_400, 52_400, "10 Gb/s, CEE"),
    (10, 11_400, 52_400, "10 Gb/s, InfiniBand"),
    (40, 6_600, 13_100, "40 Gb/s, InfiniBand"),
    (100, 5_640, 5_243, "100 Gb/s, InfiniBand"),
    (10, 90_000, 52_400, "the testbed"),
];
const CONDITION: &str = "tau <= T, which the proof needs (it uses T - tau as a duration) and the theorem does not state";

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut checks = Vec::new();
    let mut table = Table::new(["Where", "tau/T", "The paper's bound", "Overshoot at it", "Exact bound", "1 KB of overshoot at"]).align([
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    let answers = cx.parallel(&CASES, |(gbps, tau, t, _)| {
        let (rate, tau, t) = (Rate::from_gbps(*gbps), Span::from_ns(*tau), Span::from_ns(*t));
        let printed = bound(rate, tau, t);
        // The bound rounds up to a byte: what is below half a byte is rounding.
        Ok((printed, overshoot(rate, tau, t, printed), bound_any(rate, tau, t), critical(rate, tau, t, 1e3)))
    })?;
    for ((_, tau, t, name), (printed, over, exact, visible)) in CASES.into_iter().zip(&answers) {
        let d = tau as f64 / t as f64;
        let bytes = |b: Bytes| lab::bytes(b.0 as f64);
        table.push([name.into(), format!("{d:.3}"), bytes(*printed), lab::bytes(*over), bytes(*exact), bytes(*visible)].map(Cell::from));
        let what = format!("{name}: queue beyond B_m at the paper's bound");
        checks.push(if tau <= t {
            Check::new(what, Unit::Bytes, *over, 0.0, 0.5).claimed().assuming(CONDITION)
        } else {
            Check::new(format!("{what} (tau > T: it must fail)"), Unit::Bytes, *over, 1.0, f64::INFINITY)
        });
    }
    let testbed = &answers[4];
    let by_fluid = onset(90.0 / 52.4) * 10e9 / 8.0 * 52.4e-6;
    checks.push(
        Check::near("the testbed: B_m - B_0 that is needed, formula over sampled fluid", Unit::Bytes, testbed.2.0 as f64, by_fluid, 0.005)
            .beside(testbed.0.0 as f64),
    );
    checks.push(
        Check::new(
            "the testbed: queue beyond B_m with its 508 KB",
            Unit::Bytes,
            overshoot(Rate::from_gbps(10), Span::from_us(90), Span::from_ns(52_400), Bytes::from_kb(508)),
            0.0,
            0.5,
        )
        .claimed(),
    );

    let ds: Vec<f64> = (1..=52).map(|i| f64::from(i) / 20.0).collect();
    let fluid = cx.parallel(&[0.2, 0.5, 0.8, 1.0, 1.3, 1.72, 2.0, 2.4], |d| Ok((*d, onset(*d))))?;
    let figure = Figure::new("Theorem 5.1: buffer needed and the paper's bound")
        .caption(
            "B_m - B_0 over C T that keeps the queue below B_m with a stopped drain. Up to tau = T the paper's bound is exact; \
            beyond that it is too small.",
        )
        .panel(
            Panel::new("", Axis::new("tau / T", Unit::None), Axis::new("(B_m - B_0) / (C T)", Unit::None))
                .mark(Mark::line("exact", ds.iter().map(|d| (*d, critical_ratio(*d)))))
                .mark(Mark::line("paper: (sqrt(tau/T) + 1)^2", ds.iter().map(|d| (*d, bound_ratio(*d)))).dashed())
                .mark(Mark::points("sampled fluid, onset", fluid))
                .mark(Mark::vline(90.0 / 52.4, "testbed")),
        );
    let measured = format!(
        "exact for tau <= T; false for tau > T: in the testbed (90/52.4 us) the bound of {} is exceeded by {}, and {} are needed",
        lab::bytes(testbed.0.0 as f64),
        lab::bytes(testbed.1),
        lab::bytes(testbed.2.0 as f64)
    );
    let why = vec![format!(
        "Counter-example: 10 Gb/s, tau 90 us, T 52.4 us, stopped drain. With B_m - B_0 = {} the sampled fluid exceeds B_m by {}. The \
         testbed's 508 KB are safe nevertheless.",
        lab::bytes(testbed.0.0 as f64),
        lab::bytes(testbed.1)
    )];
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], why, ..Findings::default() })
}

/// Buffer at which the sampled fluid begins to exceed B_m, by bisection [C T].
fn onset(d: f64) -> f64 {
    let (mut low, mut high) = (0.5, 12.0);
    while high - low > 1e-3 {
        let l = 0.5 * (low + high);
        if smallest_gap(l, d, 0.0) < 0.0 { low = l } else { high = l }
    }
    high
}
