//! Fig. 4: port P2 under ECN and FECN where it is the second congestion point.

use xoff_mech::detection::Mark as Marking;
use xoff_report::Unit;

use super::fig2::{self, FULL_RATE, Fabric, Flows, Load, P2, PAPER_PERIOD};
use super::fig03::{self, FABRICS};
use crate::{Check, Context, Findings, ReproduceError};

/// The entry. Its InfiniBand has credits as often as full rate needs: with the paper's period P2 would never have it.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let seen = fig03::observe(cx, Load::Multiple, false)?;
    let mut checks = Vec::new();
    for ((fabric, paper), run) in FABRICS.into_iter().zip(&seen.runs) {
        let name = fabric.name();
        checks.extend(fig03::course(fabric, paper, run));
        let (low, _) = fig2::queue_after(run);
        let assumed = if fabric == Fabric::Ib { FULL_RATE } else { fig03::assumption(fabric) };
        checks.push(
            Check::new(format!("{name}: rate of P2 after its last OFF"), Unit::BitsPerSecond, fig2::rate_after(run), 39e9, 40e9)
                .paper(40e9)
                .assuming(assumed),
        );
        checks.push(
            Check::new(format!("{name}: shortest queue of P2 after its last OFF"), Unit::Bytes, low, 50e3, f64::INFINITY)
                .claimed()
                .assuming(assumed),
        );
        let flows = Flows::of(run);
        checks.push(fig2::some(format!("{name}: marks of P2 on F0"), fig2::count(run, P2, flows.f0, Marking::Ce)).assuming(assumed));
    }
    let mut why = seen.why;
    why.push(format!(
        "InfiniBand: with the paper's period of {PAPER_PERIOD} and its buffer of 280 KB P2 alternates until the end of the run. Its \
         rate is what 280 KB per period allow (table). \"recovers to send normally\" needs more frequent credits, or a larger buffer."
    ));
    let measured = fig03::summary(&seen.runs);
    let figure = fig03::figure(
        "Multiple congestion points: port P2 (paper: Fig. 4)",
        "F0 and F2 offer 25 Gb/s each, so that P2 is congested as well as paused. The paper: P2 alternates until 1.6 ms (CEE) or 4 ms \
         (InfiniBand), then sends 40 Gb/s with a persistent queue.",
        &seen.runs,
    );
    Ok(Findings { measured, checks, figures: vec![figure], tables: seen.tables, why, ..Findings::default() })
}
