//! Fig. 12: TCD where P3 is the only congestion point.

use xoff_mech::detection::Mark as CodePoint;
use xoff_mech::detection::{Mark as Marking, PortState};
use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_sim::RateSource;

use super::fig2::{self, Detection, FULL_RATE, Fabric, Flows, Load, P0, P1, P2, P3, PAPER_PERIOD, PORTS, READ, Reading, Setup};
use super::fig03::FABRICS;
use super::second_reading;
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    second_reading::beside(cx, entry)
}

fn entry(cx: &Context, reading: Reading) -> Result<Findings, ReproduceError> {
    let mut setups = FABRICS.map(|(f, _)| Setup::new(f, Detection::Tcd, Load::Single).read(reading.discipline, reading.variant)).to_vec();
    setups.push(setups[1].clone().paper_period());
    let runs = fig2::observe(cx, &setups)?;
    let (runs, starved) = (&runs[..2], &runs[2]);
    let mut checks = Vec::new();
    let mut sentences = Vec::new();
    for ((fabric, _), run) in FABRICS.into_iter().zip(runs) {
        let name = fabric.name();
        for (port, at) in [("P0", P0), ("P1", P1), ("P2", P2)] {
            checks.push(fig2::none(format!("{name}: CE of {port}"), run.totals(at).marked.of(CodePoint::Ce)));
            checks.push(fig2::some(format!("{name}: UE of {port}"), run.totals(at).marked.of(CodePoint::Ue)));
        }
        let undecided = [P0, P1, P2].iter().filter(|p| run.states(p).last().is_none_or(|s| s.1 != PortState::NonCongestion)).count();
        checks.push(Check::none(format!("{name}: ports P0 to P2 that do not end in non-congestion"), "ports", undecided as u64).claimed());
        let threshold = threshold(fabric);
        let left = queue_at_release(run);
        checks.push(
            Check::new(format!("{name}: queue of P2 at the end of UE"), Unit::Bytes, left, threshold, f64::INFINITY)
                .claimed()
                .assuming(assumption(fabric)),
        );
        checks.extend(root(fabric, run));
        checks.push(Check::none(format!("{name}: frames lost"), "frames", run.lost()));
        let free = released(run, P2);
        sentences.push(format!(
            "{name}: CE of P0/P1/P2: {}/{}/{}; UE {}/{}/{}. P2 is paused until {} and undetermined until {}, with {} waiting at the end \
             of UE, decided at {}.",
            run.totals(P0).marked.of(CodePoint::Ce),
            run.totals(P1).marked.of(CodePoint::Ce),
            run.totals(P2).marked.of(CodePoint::Ce),
            run.totals(P0).marked.of(CodePoint::Ue),
            run.totals(P1).marked.of(CodePoint::Ue),
            run.totals(P2).marked.of(CodePoint::Ue),
            lab::time(fig2::last_off(run, P2)),
            lab::time(last_ue(run, P2)),
            lab::bytes(left),
            lab::time(free)
        ));
    }
    let figure = figure(
        "TCD, single congestion point (paper: Fig. 12)",
        "Left CEE, right InfiniBand. The paper: P2 and P1 change from undetermined to non-congestion. While P2 drains, no packet is \
         marked CE although the queue exceeds the threshold.",
        runs,
    );
    let tables = vec![fig2::marks_table(&[("CEE", &runs[0]), ("InfiniBand", &runs[1])])];
    let why = vec![format!(
        "The paper's own credit period does not fit TCD. With {PAPER_PERIOD} and 280 KB the root P3 runs out of credits in every \
         period. It is therefore undetermined for {} of 0.2 to 3 ms and marks {} of F1's frames UE and {} CE. The congestion would stay \
         hidden. With 46 us P3 never lacks credits.",
        Unit::Fraction.format(share(starved, P3, PortState::Undetermined, lab::ms(0.2), lab::ms(3.0))),
        fig2::count(starved, P3, Flows::of(starved).f1, Marking::Ue),
        fig2::count(starved, P3, Flows::of(starved).f1, Marking::Ce)
    )];
    Ok(Findings { measured: sentences.join(" "), checks, figures: vec![figure], tables, why, ..Findings::default() })
}

/// Notes on the dependence of the states.
pub(super) fn assumption(fabric: Fabric) -> &'static str {
    match fabric {
        Fabric::Cee => READ,
        Fabric::Ib => FULL_RATE,
    }
}

/// Queue above which an ordinary port marks everything: Kmax, or FECN's threshold [bytes].
pub(super) fn threshold(fabric: Fabric) -> f64 {
    match fabric {
        Fabric::Cee => 200e3,
        Fabric::Ib => 50e3,
    }
}

/// The last UE of a port [ps].
pub(super) fn last_ue(run: &Observed, port: &str) -> f64 {
    run.marks(port).iter().rfind(|m| m.mark == Marking::Ue).map_or(f64::NAN, |m| m.time)
}

/// When the port leaves the undetermined state for good [ps]; NaN: never.
pub(super) fn released(run: &Observed, port: &str) -> f64 {
    run.states(port).last().filter(|s| s.1 != PortState::Undetermined).map_or(f64::NAN, |s| s.0)
}

/// P2's queue at its last UE, by the next sample [bytes].
fn queue_at_release(run: &Observed) -> f64 {
    let at = last_ue(run, P2);
    run.egress(P2).into_iter().find(|p| p.0 >= at).map_or(f64::NAN, |p| p.1)
}

/// P3 is the root: congested while bursts come, CE on F1. From 0.2 ms, when the queue has passed the threshold, to 3 ms.
pub(super) fn root(fabric: Fabric, run: &Observed) -> Vec<Check> {
    let (from, to) = (lab::ms(0.2), lab::ms(3.0));
    let f1 = Flows::of(run).f1;
    let marked = run.marks(P3).iter().filter(|m| m.flow == f1 && m.mark == Marking::Ce && from < m.time && m.time <= to).count() as f64;
    // Frames of 1000 B without a header.
    let arrived = lab::mean(&run.flow_rate(f1, RateSource::Measured), from, to) * (to - from) / 1e12 / 8e3;
    let name = fabric.name();
    vec![
        Check::new(format!("{name}: share of F1's frames that P3 marks CE, 0.2 to 3 ms"), Unit::Fraction, marked / arrived, 0.95, 1.05)
            .claimed()
            .assuming(assumption(fabric)),
        Check::new(
            format!("{name}: share of 0.2 to 3 ms in which P3 is in congestion"),
            Unit::Fraction,
            share(run, P3, PortState::Congestion, from, to),
            0.95,
            1.0,
        )
        .claimed()
        .assuming(assumption(fabric)),
    ]
}

/// Share of a stretch of time in which a port is in a state.
pub(super) fn share(run: &Observed, port: &str, state: PortState, from: f64, to: f64) -> f64 {
    let states = run.states(port);
    let ends = states.iter().skip(1).map(|s| s.0).chain([lab::ps(run.outcome.now)]);
    let inside = |a: f64, b: f64| (b.min(to) - a.max(from)).max(0.0);
    states.iter().zip(ends).filter(|(s, _)| s.1 == state).map(|(s, end)| inside(s.0, end)).sum::<f64>() / (to - from)
}

/// Queues of P2 and P1, states of all ports, marks of all ports: one column a fabric.
pub(super) fn figure(title: &str, caption: &str, runs: &[Observed]) -> Figure {
    let until = lab::ms(6.0);
    let mut figure = Figure::new(title).caption(caption).columns(2);
    for ((fabric, _), run) in FABRICS.into_iter().zip(runs) {
        let panel = Panel::new(fabric.name(), fig2::time(until), Axis::new("Queue", Unit::Bytes));
        figure = figure.panel(
            panel
                .mark(Mark::line("P2", fig2::first(run.egress(P2), until)))
                .mark(Mark::line("P1", fig2::first(run.egress(P1), until)))
                .mark(Mark::hline(threshold(fabric), format!("threshold {}", lab::bytes(threshold(fabric))))),
        );
    }
    let lanes =
        |title: &str, groups| Panel::new(title, fig2::time(until), Axis::new("", Unit::None)).mark(Mark::lanes(PORTS.map(|p| p.0), groups));
    for run in runs {
        figure = figure.panel(lanes("State of the port", fig2::state_lanes(run, &PORTS, until)));
    }
    for run in runs {
        let marks = PORTS.iter().enumerate().flat_map(|(row, (_, at))| run.marks(at).into_iter().map(move |m| (row, m)));
        figure = figure.panel(lanes("Marks of the port", fig2::mark_lanes(marks, until)));
    }
    figure
}
