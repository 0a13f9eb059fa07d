//! Fig. 11: the testbed experiment, simulated.

use xoff_mech::detection::{Mark as Marking, PortState};
use xoff_report::{Align, Axis, Cell, Colour, Figure, Mark, Panel, Table, Unit};
use xoff_sim::RateSource;

use super::fig12::share;
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("tcd", "testbed.toml");
/// Assumption behind it all.
const SIMULATED: &str = "the experiment is simulated with the testbed's numbers, and ingresses are served round robin. The run with real frames belongs to \
     the software switch.";
/// The port that A0 makes undetermined.
const P0: &str = "T0->T2";
/// The receiver's port, which is congested.
const ROOT: &str = "T2->R1";
/// Flows in the order of the scenario.
const F0: u32 = 0;
const F1: u32 = 1;
const A0: u32 = 2;
/// Interval of the paper's figure [ps].
const STEP: f64 = 1e11;

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let credits = ["flow_control=cbfc", "switch.buffer=800KB"].map(str::to_owned).to_vec();
    let jobs = [("PFC", vec![]), ("Credits", credits)];
    let runs = cx.parallel(&jobs, |(_, more)| {
        let mut settings = vec![format!("run.seed={}", cx.seed)];
        settings.extend(more.iter().cloned());
        lab::run(cx, SCENARIO.0, SCENARIO.1, &settings)
    })?;
    let mut checks = Vec::new();
    let mut sentences = Vec::new();
    let mut table = Table::new(["Flow control", "Interval", "F0 UE", "F0 CE", "F1 UE", "F1 CE"])
        .align([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption("Share of the frames that arrive in each 100 ms with a mark. A0 sends from 300 ms on.");
    let mut figure = Figure::new("How F0 and F1 are marked per 100 ms (paper: Fig. 11)")
        .caption("The paper shows F0: UE while A0 sends, no mark before and after. F1 is the inverse: CE while A0 sends.")
        .columns(2);
    for ((name, _), run) in jobs.iter().zip(&runs) {
        let a0 = &run.outcome.flows[A0 as usize];
        let (from, to) = (lab::ps(a0.flow.start), a0.received.map_or(f64::NAN, lab::ps));
        let of = |flow, mark, port| fractions(run, flow, mark, port);
        // F0 meets no congested port, F1 meets P0 before the receiver's: what P0 puts on F0, and R1's port on F1, is what arrives.
        let (ue, ce) = (of(F0, Marking::Ue, P0), of(F0, Marking::Ce, P0));
        let (f1_ue, f1_ce) = (of(F1, Marking::Ue, P0), of(F1, Marking::Ce, ROOT));
        // Whole intervals; one more after A0's end for the port to be released.
        let during = |p: &(f64, f64)| p.0 - STEP >= from && p.0 <= to;
        let outside = |p: &(f64, f64)| p.0 <= from || p.0 - 2.0 * STEP >= to;
        let least = |points: &[(f64, f64)], keep: &dyn Fn(&(f64, f64)) -> bool| {
            points.iter().filter(|p| keep(p)).map(|p| p.1).fold(f64::INFINITY, f64::min)
        };
        let most =
            |points: &[(f64, f64)], keep: &dyn Fn(&(f64, f64)) -> bool| points.iter().filter(|p| keep(p)).map(|p| p.1).fold(0.0, f64::max);
        let check = |what: &str, value: f64, low: f64, high: f64| {
            Check::new(format!("{name}: {what}"), Unit::Fraction, value, low, high).claimed().assuming(SIMULATED)
        };
        checks.extend([
            check("F0 marked UE while A0 sends, smallest per 100 ms", least(&ue, &during), 0.95, 1.01),
            check("F0 marked UE before and after, largest per 100 ms", most(&ue, &outside), 0.0, 0.01),
            check("F0 marked CE, largest per 100 ms", most(&ce, &|_| true), 0.0, 0.0),
            check("F1 marked CE at the receiver while A0 sends, smallest per 100 ms", least(&f1_ce, &during), 0.95, 1.01),
            check("F1 marked CE before and after, largest per 100 ms", most(&f1_ce, &outside), 0.0, 0.01),
            check("share of A0's time in which P0 is undetermined", share(run, P0, PortState::Undetermined, from, to), 0.95, 1.0),
            Check::none(format!("{name}: frames lost"), "frames", run.lost()),
        ]);
        sentences.push(format!(
            "{name}: A0 sends from {} to {}. Within that time at least {} of F0 is UE, outside at most {}; within it at least {} of F1 is CE.",
            lab::time(from),
            lab::time(to),
            Unit::Fraction.format(least(&ue, &during)),
            Unit::Fraction.format(most(&ue, &outside)),
            Unit::Fraction.format(least(&f1_ce, &during))
        ));
        for (i, u) in ue.iter().enumerate() {
            let share = |p: &[(f64, f64)]| p.get(i).map_or("n/a".to_owned(), |p| Unit::Fraction.format(p.1));
            let span = format!("to {}", lab::time(u.0));
            table.push([(*name).into(), span, share(&ue), share(&ce), share(&f1_ue), share(&f1_ce)].map(|c: String| Cell::from(c)));
        }
        let panel = Panel::new(
            *name,
            Axis::new("Time", Unit::Picoseconds).range(0.0, lab::ps(run.outcome.now)),
            Axis::new("Marked frames", Unit::Fraction).range(0.0, 1.05),
        );
        // An interval's value holds from its beginning.
        let steps = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let mut all: Vec<(f64, f64)> = points.iter().map(|p| (p.0 - STEP, p.1)).collect();
            all.extend(points.last().copied());
            all
        };
        figure = figure.panel(
            panel
                .mark(Mark::vband(from, to, "A0 sends"))
                .mark(Mark::steps("F0, UE", steps(&ue)).colour(Colour::Blue))
                .mark(Mark::steps("F1, CE", steps(&f1_ce)).colour(Colour::Vermilion).dashed()),
        );
    }
    let notes =
        vec!["The 100 ms after A0's end count as neither inside nor outside, because F1's backlog still drains before P0 resumes.".into()];
    Ok(Findings { measured: sentences.join(" "), checks, figures: vec![figure], tables: vec![table], notes, ..Findings::default() })
}

/// Share of the frames of a flow that arrive in each interval with this mark of this port: end of the interval, share.
fn fractions(run: &Observed, flow: u32, mark: Marking, port: &str) -> Vec<(f64, f64)> {
    let marks = run.marks(port);
    run.flow_rate(flow, RateSource::Measured)
        .into_iter()
        .map(|(end, rate)| {
            // Frames of 1000 B without a header.
            let frames = rate * STEP / 1e12 / 8e3;
            let n = marks.iter().filter(|m| m.flow == flow && m.mark == mark && end - STEP < m.time && m.time <= end).count();
            (end, n as f64 / frames)
        })
        .collect()
}
