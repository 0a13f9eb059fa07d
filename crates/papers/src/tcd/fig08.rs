//! Fig. 8: T_on over epsilon and R_d.

use xoff_mech::flow_control::on_off::{max_ton_by_queue, ton_by_queue};
use xoff_report::{Axis, Figure, HeatCell, Mark, Panel, Unit};
use xoff_units::{Bytes, Rate, Span};

use crate::{Check, Context, Findings, ReproduceError, lab};

const C: Rate = Rate::from_gbps(40);
const TAU: Span = Span::from_us(8);
/// B_1 - B_0: the 2 MTU that section 4.2 recommends.
const RANGE: Bytes = Bytes(2000);
const EPSILONS: [f64; 7] = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5];
/// R_d/C.
const SHARES: [f64; 5] = [0.1, 0.2, 0.3, 0.4, 0.5];

fn ton(share: f64, epsilon: f64) -> f64 {
    ton_by_queue(C, RANGE, share, TAU, epsilon).0 as f64
}

/// The entry.
pub fn run(_: &Context) -> Result<Findings, ReproduceError> {
    let recomputed = [448.0, 228.0, 464.0 / 3.0, 96.0, 52.0, 30.0, 16.8];
    let mut checks: Vec<Check> = EPSILONS
        .into_iter()
        .zip(recomputed)
        .map(|(e, us)| Check::near(format!("T_on, epsilon {e}, R_d = C/2"), Unit::Picoseconds, ton(0.5, e), lab::us(us), 1e-6))
        .collect();
    let grid: Vec<f64> = (1..=50).map(|i| f64::from(i) / 100.0).collect();
    let falls = grid.windows(2).filter(|w| SHARES.iter().any(|s| ton(*s, w[0]) <= ton(*s, w[1]))).count();
    let rises = grid.windows(2).filter(|w| EPSILONS.iter().any(|e| ton(w[0], *e) >= ton(w[1], *e))).count();
    checks.push(Check::none("steps of epsilon at which T_on does not fall", "steps", falls as u64).claimed());
    checks.push(Check::none("steps of R_d at which T_on does not rise", "steps", rises as u64));
    let plane = max_ton_by_queue(C, RANGE, TAU, 0.05).0 as f64;
    let below = grid.iter().filter(|e| **e >= 0.05 && ton(0.5, **e) > plane).count();
    checks.push(Check::none("congestion degrees of 0.05 and more whose T_on lies above the plane", "degrees", below as u64).claimed());

    let mut curves = Panel::new(
        "T_on over the congestion degree",
        Axis::new("Congestion degree epsilon", Unit::None).log().range(0.01, 0.5),
        Axis::new("T_on", Unit::Picoseconds).range(0.0, lab::us(460.0)),
    );
    for share in SHARES {
        let epsilons = std::iter::successors(Some(0.01), |e| Some(e * 1.04)).take_while(|e| *e < 0.51);
        let points = epsilons.map(|e| (e, ton(share, e)));
        curves = curves.mark(Mark::line(format!("R_d = {:.0} Gb/s", share * 40.0), points));
    }
    curves = curves.mark(Mark::hline(plane, "plane at epsilon = 0.05"));
    let largest = ton(0.5, 0.01);
    let cells = SHARES
        .iter()
        .rev()
        .map(|s| {
            let cell = |e: &f64| HeatCell::with_level((ton(*s, *e) / largest).sqrt(), lab::time(ton(*s, *e)));
            EPSILONS.iter().map(cell).collect()
        })
        .collect();
    let rows: Vec<String> = SHARES.iter().rev().map(|s| format!("R_d {:.0} Gb/s", s * 40.0)).collect();
    let columns: Vec<String> = EPSILONS.iter().map(|e| format!("epsilon {e}")).collect();
    let surface = Panel::new("The surface", Axis::new("", Unit::None), Axis::new("", Unit::None)).mark(Mark::heatmap(rows, columns, cells));
    let figure = Figure::new("T_on over epsilon and R_d, tau 8 us, 40 Gb/s (paper: Fig. 8)")
        .caption(
            "Eq. (2) with B_1 - B_0 = 2 KB. The paper: T_on rises slowly, then rapidly, as epsilon falls; the plane is its value \
            at epsilon = 0.05 (and R_d = C/2).",
        )
        .panel(curves)
        .panel(surface);
    let measured = format!(
        "at R_d = C/2: {} for epsilon {}; the plane is at {}",
        EPSILONS.map(|e| lab::time(ton(0.5, e))).join(", "),
        EPSILONS.map(|e| e.to_string()).join(", "),
        lab::time(plane)
    );
    let notes = vec![format!(
        "The simulations have tau = 8.4 us (two frames of 1000 B plus 8 us of links), hence 100.4 us instead of {}. R_d <= C/2 does not \
         hold for a flow whose competitor is slower than its share: with R_d = C, T_on is {} at epsilon 0.05.",
        lab::time(plane),
        lab::time(ton(1.0, 0.05))
    )];
    Ok(Findings { measured, checks, figures: vec![figure], notes, ..Findings::default() })
}
