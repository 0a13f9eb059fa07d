//! Fig. 4: two flows of one input leave out of order; which of them arrival and occupancy sampling notify.

use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::Placement;
use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};
use xoff_units::Rate;

use super::run::{Plan, Run, soundness};
use super::scenes;
use crate::{Check, Context, Findings, ReproduceError};

/// Examined interval [ms].
const FROM: f64 = 20.0;
const TO: f64 = 300.0;
/// The fast flow without a backlog.
const F2: usize = 5;

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all = Plan::default();
    let kinds = [("arrival", Sampling::Arrival), ("random occupancy", Sampling::Random), ("largest occupancy", Sampling::Largest)];
    let series = kinds.map(|(name, sampling)| {
        all.series(cx, cx.mode.pick(3, 10), &format!("principle, {name}"), |seed| {
            let mut signal = scenes::at_10g(Placement::Input, sampling);
            if let Some((_, r)) = &mut signal {
                r.min_dec_fac = 100; // a cut leaves all of the rate
            }
            let mut c = scenes::fan_in(signal, true, seed);
            let flows = c.hosts.as_mut().map(|h| &mut h.flows);
            if let Some(flows) = flows {
                flows[F2].rate = Rate::from_gbps(6);
            }
            c
        })
    });
    let results = all.run(cx)?;
    let mut checks = soundness(&results);
    let mut table = Table::new(["Sampling", "f2's share of arrivals", "of the buffer", "of CNMs", "CNMs"])
        .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption("f2 arrives twice as fast as f1. The buffer holds f1's frames, plus frames of f2 in transit.");
    let mut bars: [Vec<Bar>; 3] = Default::default();
    let mut sentences = Vec::new();
    for (nth, (name, _)) in kinds.iter().enumerate() {
        let runs = results.of(series[nth]);
        let sum = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>();
        let arrivals = sum(&|r| r.rate(F2, FROM, TO)) / sum(&|r| r.rate(F2, FROM, TO) + r.rate(0, FROM, TO));
        let cnms = sum(&|r| (r.cnms(F2, FROM, TO) + r.cnms(0, FROM, TO)) as f64);
        let notified = sum(&|r| r.cnms(F2, FROM, TO) as f64) / cnms;
        let held = |f: usize| runs.iter().map(|r| r.mean(&r.flows[f].held, FROM, TO)).sum::<f64>();
        let occupied = held(F2) / (held(F2) + held(0));
        let part = |what: &str, expected: f64| {
            Check::new(format!("{name}: f2's share of CNMs minus {what}"), Unit::Fraction, notified - expected, -0.05, 0.05)
                .claimed()
                .assuming(scenes::SETTING)
        };
        match nth {
            0 => checks.push(part("its share of arrivals", arrivals)),
            1 => checks.push(part("its share of the buffer", occupied)),
            _ => checks.push(
                Check::exact(format!("{name}: f2's share of CNMs"), Unit::Fraction, notified, 0.0).claimed().assuming(scenes::SETTING),
            ),
        }
        let percent = |v| Unit::Fraction.format(v);
        table.push([(*name).to_owned(), percent(arrivals), percent(occupied), percent(notified), format!("{cnms:.0}")]);
        for (bar, value) in bars.iter_mut().zip([arrivals, occupied, notified]) {
            bar.push(Bar::new(value));
        }
        sentences.push(format!(
            "{name}: {} of CNMs to f2, which is {} of arrivals and {} of the buffer",
            percent(notified),
            percent(arrivals),
            percent(occupied)
        ));
    }
    let [arrivals, occupied, notified] = bars;
    let panel = Panel::new("", Axis::new("", Unit::None), Axis::new("f2's share", Unit::Fraction).range(0.0, 1.0)).mark(Mark::bars(
        kinds.map(|k| k.0),
        [BarGroup::new("of arrivals", arrivals), BarGroup::new("of the buffer", occupied), BarGroup::new("of CNMs", notified)],
    ));
    let figure = Figure::new("A fast flow without a backlog next to a slow one with it (paper: Fig. 4)")
        .caption("Arrival sampling notifies the flow that arrives most, occupancy sampling the flow that fills the buffer.")
        .panel(panel);
    Ok(Findings {
        measured: format!("{}.", sentences.join("; ")),
        checks,
        figures: vec![figure],
        tables: vec![table],
        ..Findings::default()
    })
}
