//! Fig. 13: TCD where P2 is the second congestion point.

use xoff_mech::detection::Mark as CodePoint;
use xoff_mech::detection::{Mark as Marking, PortState};
use xoff_report::Unit;

use super::fig2::{self, Detection, FULL_RATE_PERIOD_US, Fabric, Load, P1, P2, Reading, Setup};
use super::fig03::FABRICS;
use super::fig12::{self, assumption, share};
use super::second_reading;
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    second_reading::beside(cx, entry)
}

fn entry(cx: &Context, reading: Reading) -> Result<Findings, ReproduceError> {
    let runs =
        fig2::observe(cx, &FABRICS.map(|(f, _)| Setup::new(f, Detection::Tcd, Load::Multiple).read(reading.discipline, reading.variant)))?;
    let mut checks = Vec::new();
    let mut sentences = Vec::new();
    for ((fabric, _), run) in FABRICS.into_iter().zip(&runs) {
        let name = fabric.name();
        let (last_off, first_ce) = (fig2::last_off(run, P2), first_ce(run));
        let period = max_ton(fabric);
        let marks = run.marks(P2);
        let early = fig2::between(&marks, Marking::Ce, 0.0, last_off);
        checks.extend([
            fig2::some(format!("{name}: UE of P2"), run.totals(P2).marked.of(CodePoint::Ue)),
            fig2::none(format!("{name}: CE of P2 before its last OFF"), early),
            // No sooner than the release and one period; how much later is the entry covered-root.
            Check::new(
                format!("{name}: first CE of P2 after its last OFF"),
                Unit::Picoseconds,
                first_ce - last_off,
                2.0 * period,
                lab::ms(2.0),
            )
            .claimed()
            .assuming(assumption(fabric)),
            Check::new(
                format!("{name}: share of the time after that CE in which P2 is in congestion"),
                Unit::Fraction,
                share(run, P2, PortState::Congestion, first_ce, lab::ps(run.outcome.now)),
                0.95,
                1.0,
            )
            .claimed()
            .assuming(assumption(fabric)),
            fig2::none(format!("{name}: CE of P1"), run.totals(P1).marked.of(CodePoint::Ce)),
            Check::none(
                format!("{name}: P1 ends in another state than undetermined"),
                "ports",
                u64::from(run.states(P1).last().is_none_or(|s| s.1 != PortState::Undetermined)),
            )
            .claimed(),
            Check::none(
                format!("{name}: P2 ends in another state than congestion"),
                "ports",
                u64::from(run.states(P2).last().is_none_or(|s| s.1 != PortState::Congestion)),
            )
            .claimed(),
        ]);
        checks.extend(fig12::root(fabric, run));
        checks.push(Check::none(format!("{name}: frames lost"), "frames", run.lost()));
        sentences.push(format!(
            "{name}: P2 is paused until {}; first CE {} later, {} CE and {} UE in total. P1 {} CE and {} UE.",
            lab::time(last_off),
            lab::time(first_ce - last_off),
            run.totals(P2).marked.of(CodePoint::Ce),
            run.totals(P2).marked.of(CodePoint::Ue),
            run.totals(P1).marked.of(CodePoint::Ce),
            run.totals(P1).marked.of(CodePoint::Ue)
        ));
    }
    let figure = fig12::figure(
        "TCD, multiple congestion points (paper: Fig. 13)",
        "Left CEE, right InfiniBand. The paper: P2 changes from undetermined to congestion and marks CE. P1 stays undetermined, because \
         congestion spreads from P2.",
        &runs,
    );
    let tables = vec![fig2::marks_table(&[("CEE", &runs[0]), ("InfiniBand", &runs[1])])];
    Ok(Findings { measured: sentences.join(" "), checks, figures: vec![figure], tables, ..Findings::default() })
}

/// The first CE of P2 [ps].
pub(super) fn first_ce(run: &Observed) -> f64 {
    run.marks(P2).iter().find(|m| m.mark == Marking::Ce).map_or(f64::NAN, |m| m.time)
}

/// max(T_on) of the links of the scenario [ps].
pub(super) fn max_ton(fabric: Fabric) -> f64 {
    match fabric {
        Fabric::Cee => xoff_analysis::plan::tcd::of_the_paper(xoff_units::Span::from_us(4)).0 as f64,
        Fabric::Ib => lab::us(FULL_RATE_PERIOD_US as f64),
    }
}
