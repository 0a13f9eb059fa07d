//! Table I prints Q_eq = 60 without a unit, and I_s as a base: what the readings give in the paper's scenes.

use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::{Params, Placement};
use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::Config;
use xoff_units::Bytes;

use super::fig2::off_fair;
use super::fig5::settled;
use super::fig6;
use super::run::{Plan, Results, Run, soundness};
use super::scenes::{self, F6, PHASES, SETTING, Signal};
use crate::stats::Mean;
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError, lab};

/// Readings of the set point: name, bytes, and whether intervals shrink.
const READINGS: [(&str, u64, bool); 5] = [
    ("60 KB", 60_000, true),
    ("60 frames, 91.3 KB", 91_320, true),
    ("60 units of 256 B, 15.4 KB", 15_360, true),
    ("60 KB, every interval I_s", 60_000, false),
    ("91.3 KB, every interval I_s", 91_320, false),
];

/// Results of a reading.
struct Outcome {
    /// Largest distance from the fair share, Fig. 2(c).
    off: f64,
    /// Hosts stopped, part of all senders' time, Fig. 2(c).
    stopped: f64,
    /// Rate of the victim of Fig. 5(c) [bit/s].
    victim: f64,
    /// Fig. 6: outputs and inputs [ms].
    drop: [f64; 2],
    /// Fig. 7: input with occupancy sampling at inputs, output with QCN at outputs [bytes].
    queues: [f64; 2],
}

struct Runs {
    fair: Series,
    victim: Series,
    drop: [Series; 2],
    queues: [Series; 2],
}

fn plan(all: &mut Plan, cx: &Context, (name, bytes, shrinking): (&str, u64, bool)) -> Runs {
    let n = cx.mode.pick(3, 10);
    let change = move |signal: Signal| {
        scenes::with(signal, |p: &mut Params| {
            p.setpoint = Bytes(bytes);
            p.shrinking = shrinking;
        })
    };
    let mut series = |what: &str, config: &dyn Fn(u64) -> Config| all.series(cx, n, &format!("set point {name}, {what}"), config);
    let input = |sampling| change(scenes::at_10g(Placement::Input, sampling));
    let at_100g = |placement, sampling| change(scenes::at_100g(placement, sampling));
    let end = fig6::END;
    Runs {
        fair: series("fan-in", &|seed| scenes::fan_in(input(Sampling::Arrival), false, seed)),
        victim: series("victim", &|seed| scenes::fan_in(input(Sampling::Random), true, seed)),
        drop: [
            series("drop, outputs", &|seed| {
                scenes::drop_to_1g(change(scenes::at_10g(Placement::Output, Sampling::Arrival)), false, end, seed)
            }),
            series("drop, inputs", &|seed| scenes::drop_to_1g(input(Sampling::Random), false, end, seed)),
        ],
        queues: [
            series("hotspot, inputs", &|seed| scenes::input_hotspot(at_100g(Placement::Input, Sampling::Random), 6, 40.0, seed)),
            series("hotspot, outputs", &|seed| scenes::input_hotspot(at_100g(Placement::Output, Sampling::Arrival), 6, 40.0, seed)),
        ],
    }
}

fn outcome(results: &Results, runs: &Runs) -> Outcome {
    let mean = |s: Series, of: &dyn Fn(&Run) -> f64| Mean::of(results.of(s).iter().map(of)).mean;
    let held = |s: Series, input: bool| mean(s, &|r| r.mean(if input { &r.flows[0].input } else { &r.flows[0].output }, 25.0, 40.0));
    Outcome {
        off: off_fair(results.of(runs.fair)),
        stopped: mean(runs.fair, &|r| r.stopped_ps as f64 / (1e9 * (4.0 * 300.0 + 100.0))),
        victim: mean(runs.victim, &|r| (0..PHASES.len()).map(|p| settled(r, F6, p)).sum::<f64>() / PHASES.len() as f64),
        drop: runs.drop.map(|s| fig6::times(results.of(s)).mean),
        queues: [held(runs.queues[0], true), held(runs.queues[1], false)],
    }
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all = Plan::default();
    let runs = READINGS.map(|r| plan(&mut all, cx, r));
    let results = all.run(cx)?;
    let outcomes: Vec<Outcome> = runs.iter().map(|r| outcome(&results, r)).collect();
    let own = &outcomes[0];
    let mut checks = soundness(&results);
    let claimed =
        |what: &str, unit: Unit, value: f64, low: f64, high: f64| Check::new(what, unit, value, low, high).claimed().assuming(SETTING);
    let factor = Unit::Other("times".into());
    checks.push(claimed("60 KB: Fig. 2c, largest distance from the fair share", Unit::Fraction, own.off, 0.0, 0.05));
    checks.push(claimed("60 KB: Fig. 5c, victim", Unit::BitsPerSecond, own.victim, 6.86e9, 7.14e9).beside(7e9));
    checks.push(
        claimed("60 KB: Fig. 6, outputs", Unit::Picoseconds, lab::ms(own.drop[0]), lab::ms(7.0), lab::ms(20.0)).beside(lab::ms(15.0)),
    );
    checks.push(
        claimed("60 KB: Fig. 6, ratio of inputs to outputs", factor.clone(), own.drop[1] / own.drop[0], 2.0, f64::INFINITY).beside(4.0),
    );
    for (n, what) in ["input", "output"].into_iter().enumerate() {
        checks.push(claimed(&format!("60 KB: Fig. 7, {what} over Q_eq"), factor.clone(), own.queues[n] / 60e3, 0.7, 1.3));
    }
    let distance = |o: &Outcome| (o.drop[0] / 15.0).max(15.0 / o.drop[0]);
    checks.push(claimed(
        "Fig. 6, outputs: 91.3 KB is farther from 15 ms than 60 KB, by",
        factor.clone(),
        distance(&outcomes[1]) / distance(own),
        1.0,
        f64::INFINITY,
    ));
    checks.push(claimed(
        "Fig. 6, outputs: 15.4 KB is farther from 15 ms than 60 KB, by",
        factor,
        distance(&outcomes[2]) / distance(own),
        1.0,
        f64::INFINITY,
    ));
    let table = table(&outcomes);
    let bars = |n: usize| outcomes.iter().map(move |o| Bar::new(lab::ms(o.drop[n])));
    let panel = Panel::new("Fig. 6: until the flow is throttled", Axis::new("", Unit::None), Axis::new("Time", Unit::Picoseconds)).mark(
        Mark::bars(
            READINGS.map(|r| r.0.replace(", every interval I_s", ", fixed").replace("60 units of 256 B, ", "").replace("60 frames, ", "")),
            [BarGroup::new("outputs", bars(0)), BarGroup::new("inputs", bars(1))],
        ),
    );
    let figure =
        Figure::new("Possible units of Q_eq = 60 (paper: Table I)").caption("Fixed: every interval between samples is I_s.").panel(panel);
    let [kb, frames, units] = [0, 1, 2].map(|i| &outcomes[i]);
    let measured = format!(
        "60 KB: off the fair share by at most {}, victim {}, Fig. 6 {:.1} and {:.1} ms, queues {} and {}. 91.3 KB: {:.1} and {:.1} ms; 15.4 KB: {:.1} and {:.1} ms.",
        Unit::Fraction.format(kb.off),
        lab::rate(kb.victim),
        kb.drop[0],
        kb.drop[1],
        lab::bytes(kb.queues[0]),
        lab::bytes(kb.queues[1]),
        frames.drop[0],
        frames.drop[1],
        units.drop[0],
        units.drop[1]
    );
    let notes = vec![
        "Fairness and the victim's rate do not depend on the set point, but the time in Fig. 6 does. Section IV needs a \
        set point between Q_low and Q_high: below Q_low every sample during a swing finds congestion, unless the queue has just fallen."
            .into(),
    ];
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes, ..Findings::default() })
}

/// A row a reading.
fn table(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new([
        "Q_eq",
        "Fig. 2c: off fair by at most",
        "hosts paused",
        "Fig. 5c: victim",
        "Fig. 6: outputs",
        "inputs",
        "ratio",
        "Fig. 7: input",
        "output",
    ])
    .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right])
    .caption("The paper: precise, -, 7 Gb/s, 15 ms, 4 times as long, queues around Q_eq. Fig. 6 ends after 200 ms.");
    for ((name, ..), o) in READINGS.iter().zip(outcomes) {
        table.push([
            (*name).to_owned(),
            Unit::Fraction.format(o.off),
            Unit::Fraction.format(o.stopped),
            lab::rate(o.victim),
            format!("{:.1} ms", o.drop[0]),
            format!("{:.1} ms", o.drop[1]),
            format!("{:.1}", o.drop[1] / o.drop[0]),
            lab::bytes(o.queues[0]),
            lab::bytes(o.queues[1]),
        ]);
    }
    table
}
