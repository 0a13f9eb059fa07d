//! Beyond the paper: AF-QCN, which it sets itself apart from, in its scenes.

use xoff_mech::detection::af_qcn;
use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::Placement;
use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::CongestionPoints;
use xoff_units::Bytes;

use super::fig2::{self, spreads, throughput, unfair};
use super::fig5::{self, settled};
use super::run::{Plan, Run, soundness};
use super::scenes::{self, F6, PHASES, SETTING, Scheme, Signal};
use crate::stats::Mean;
use crate::{Check, Context, Findings, ReproduceError, lab};

fn af(placement: Placement, sampling: Sampling) -> Signal {
    scenes::at_10g(placement, sampling).map(|(points, reaction)| match points {
        CongestionPoints::Qcn(qcn) => {
            (CongestionPoints::AfQcn(af_qcn::Params { qcn, alpha_permille: 500, window: Bytes::from_kb(1_500) }), reaction)
        }
        other => (other, reaction),
    })
}

/// The schemes: name, and how congestion is signalled.
const KINDS: [Scheme; 6] = [
    ("QCN, outputs", || scenes::at_10g(Placement::Output, Sampling::Arrival)),
    ("AF-QCN, outputs", || af(Placement::Output, Sampling::Arrival)),
    ("QCN, inputs, arrival", || scenes::at_10g(Placement::Input, Sampling::Arrival)),
    ("AF-QCN, inputs, arrival", || af(Placement::Input, Sampling::Arrival)),
    ("QCN, inputs, random", || scenes::at_10g(Placement::Input, Sampling::Random)),
    ("AF-QCN, inputs, random", || af(Placement::Input, Sampling::Random)),
];
const AF_OUTPUTS: usize = 1;
const AF_INPUTS: usize = 3;

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all = Plan::default();
    let n = fig2::seeds(cx);
    let series = KINDS.map(|(name, signal)| {
        (
            all.series(cx, n, &format!("fan-in, {name}"), |seed| scenes::fan_in(signal(), false, seed)),
            fig5::plan(&mut all, cx, n, name, signal),
        )
    });
    let results = all.run(cx)?;
    let fair = |k: usize| results.of(series[k].0);
    let victim = |k: usize| results.of(series[k].1);
    let spread = |k: usize| Mean::of(spreads(fair(k)));
    let rate =
        |k: usize| Mean::of(victim(k).iter().map(|r| (0..PHASES.len()).map(|p| settled(r, F6, p)).sum::<f64>() / PHASES.len() as f64));
    let notified = |runs: &[Run], f: usize| Mean::of(runs.iter().map(|r| r.cnms(f, 0.0, 300.0) as f64)).mean;
    let mut checks = soundness(&results);
    let factor = || Unit::Other("times".into());
    let check = |what: &str, unit: Unit, mean: Mean, low: f64, high: f64| Check::mean(what, unit, mean, low, high).assuming(SETTING);
    checks.push(check("at outputs: mean spread of AF-QCN, relative to QCN", factor(), spread(AF_OUTPUTS).over(spread(0)), 0.0, 0.95));
    checks.push(check(
        "at outputs: mean spread of AF-QCN, relative to QCN at inputs",
        factor(),
        spread(AF_OUTPUTS).over(spread(2)),
        1.0,
        f64::INFINITY,
    ));
    checks.push(
        check("at inputs, arrival sampling: rate that AF-QCN leaves the victim", Unit::BitsPerSecond, rate(AF_INPUTS), 0.0, 5.6e9)
            .claimed(),
    );
    checks.push(check("at inputs, random sampling: victim under AF-QCN", Unit::BitsPerSecond, rate(5), 6.86e9, 7.14e9));
    checks.push(check("at outputs: victim under AF-QCN", Unit::BitsPerSecond, rate(AF_OUTPUTS), 6.86e9, 7.14e9));
    let mut table =
        Table::new(["Scheme", "Fastest over slowest", "Seeds at 1.3 and more, by phase", "STOPs", "Victim", "CNMs to f1", "to the victim"])
            .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right])
            .caption(format!("Fan-in of Fig. 2, and with the victim of Fig. 5; {n} seeds, 95 % intervals."));
    for (k, (name, _)) in KINDS.iter().enumerate() {
        table.push([
            (*name).to_owned(),
            spread(k).words(|v| format!("{v:.2}")),
            (0..PHASES.len()).map(|p| unfair(fair(k), p).of.to_string()).collect::<Vec<_>>().join(", "),
            format!("{:.0}", Mean::of(fair(k).iter().map(|r| r.stops as f64)).mean),
            rate(k).words(lab::rate),
            format!("{:.0}", notified(victim(k), 0)),
            format!("{:.1}", notified(victim(k), F6)),
        ]);
    }
    let names = || KINDS.map(|k| k.0);
    let interval = |m: Mean| Bar::with_interval(m.mean, m.low, m.high);
    let figure = Figure::new("AF-QCN in the scenarios of Figs. 2 and 5")
        .caption("Measured flow rates make an output fairer. They do not decide which flow to notify at an input.")
        .panel(
            Panel::new(
                "Fan-in: ratio of fastest to slowest flow",
                Axis::new("", Unit::None),
                Axis::new("Times", Unit::None).range(0.0, 2.5),
            )
            .mark(Mark::bars(names(), [BarGroup::new("spread", (0..KINDS.len()).map(|k| interval(spread(k))))])),
        )
        .panel(
            Panel::new("Victim", Axis::new("", Unit::None), Axis::new("Rate", Unit::BitsPerSecond).range(0.0, 7.5e9))
                .mark(Mark::bars(names(), [BarGroup::new("f6", (0..KINDS.len()).map(|k| interval(rate(k))))]))
                .mark(Mark::hline(7e9, "offered")),
        )
        .panel(throughput("AF-QCN at outputs, the first seed", &fair(AF_OUTPUTS)[0], 5, 2));
    let measured = format!(
        "Ratio of fastest to slowest flow: QCN at outputs {}, AF-QCN at outputs {}, QCN at inputs {}. Victim: AF-QCN at inputs with arrival sampling {}, with random sampling {}.",
        spread(0).words(|v| format!("{v:.2}")),
        spread(AF_OUTPUTS).words(|v| format!("{v:.2}")),
        spread(2).words(|v| format!("{v:.2}")),
        rate(AF_INPUTS).words(lab::rate),
        rate(5).words(lab::rate)
    );
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], ..Findings::default() })
}
