//! Fig. 14: how many packets of victims are marked CE, over epsilon.

use xoff_mech::detection::Mark as Marking;
use xoff_mech::flow_control::on_off::max_ton_by_queue;
use xoff_report::{Align, Axis, Cell, Colour, Figure, Mark, Panel, Table, Unit};
use xoff_units::{Bytes, Rate, Span};

use super::fig2::{self, Detection, Fabric, Flows, Load, PORTS, Setup};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// Section 5.1.3's scenario, which is a user's as well.
const VICTIMS: (&str, &str) =
    ("victims-hadoop.toml", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/tcd/victims-hadoop.toml")));
const EPSILONS: [f64; 11] = [0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0];
/// Assumption behind the traffic.
const TRAFFIC: &str = "the concurrent burst simulation is that of section 5.1.3: Hadoop at S0 and S1 (40 % load) and synchronised Hadoop messages at A0 to A14 (50 % of P3 on the average); the paper gives no load";

/// Assumption behind the rate control.
const RULES: &str = "DCQCN has TCD's rules of section 5.2.1 (reading A of alpha 1.2)";

/// What one run counts: victims' frames with this mark.
#[derive(Clone, Copy, Default)]
struct Seen {
    ce: u64,
    ue: u64,
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let seeds = cx.mode.pick(5, 40);
    let rules = [("DCQCN as it is", "false"), ("DCQCN with TCD's cuts", "true")];
    let jobs: Vec<(&str, f64, u64)> = rules.iter().flat_map(|r| EPSILONS.iter().flat_map(|e| (0..seeds).map(|s| (r.1, *e, s)))).collect();
    let all = cx.parallel(&jobs, |(tcd, e, seed)| {
        let settings = [
            format!("run.seed={}", cx.seed + seed),
            "detection=tcd".into(),
            format!("detection.epsilon={e}"),
            format!("rate_control.tcd={tcd}"),
        ];
        Ok(victims(&lab::run(cx, VICTIMS.0, VICTIMS.1, &settings)?))
    })?;
    let sums: Vec<Seen> = all
        .chunks(seeds as usize)
        .map(|runs| runs.iter().fold(Seen::default(), |sum, s| Seen { ce: sum.ce + s.ce, ue: sum.ue + s.ue }))
        .collect();
    let hadoop: Vec<&[Seen]> = sums.chunks(EPSILONS.len()).collect();
    let bursts: Vec<Setup> = EPSILONS
        .iter()
        .map(|e| Setup::new(Fabric::Cee, Detection::Tcd, Load::Single).with([format!("detection.tcd.epsilon={e}")]))
        .collect();
    let bursts: Vec<Seen> = fig2::observe(cx, &bursts)?.iter().map(single).collect();

    let mut checks = Vec::new();
    let main = hadoop[1];
    for (e, s) in EPSILONS.iter().zip(main) {
        if *e <= 0.05 {
            checks.push(fig2::none(format!("victims' CE, epsilon {e}"), s.ce).assuming(RULES));
        } else if *e == 0.2 || *e == 0.5 {
            checks.push(fig2::some(format!("victims' CE, epsilon {e}"), s.ce).assuming(RULES));
        }
    }
    let grows = mean(main, 0.3, 1.0) / mean(main, 0.07, 0.15);
    checks.push(
        Check::new("victims' CE per epsilon: 0.3 to 1 against 0.07 to 0.15", Unit::None, grows, 1.0, f64::INFINITY)
            .claimed()
            .assuming(RULES),
    );
    checks.push(
        Check::some("victims' UE at epsilon 0.05: they do pass undetermined ports", "frames", ue(main, 0.05)).claimed().assuming(TRAFFIC),
    );
    let mut table = Table::new(["epsilon", "max(T_on)", "DCQCN as it is: CE", "UE", "TCD's cuts: CE", "UE", "Fixed bursts: CE", "UE"])
        .align([Align::Right; 8])
        .caption(format!(
            "Marked frames of victims: S0's flows in {seeds} runs of 100 ms of section 5.1.3's scenario, and F0 and F2 in that of Fig. 12."
        ));
    for (i, e) in EPSILONS.iter().enumerate() {
        let mut row = vec![Cell::from(e.to_string()), lab::time(max_ton(*e)).into()];
        row.extend([hadoop[0][i], hadoop[1][i], bursts[i]].iter().flat_map(|s| [Cell::from(s.ce), Cell::from(s.ue)]));
        table.push(row);
    }
    let first = |seen: &[Seen]| EPSILONS.iter().zip(seen).find(|(_, s)| s.ce > 0).map_or("no epsilon".to_owned(), |(e, _)| e.to_string());
    let at = |seen: &[Seen], e: f64| EPSILONS.iter().zip(seen).find(|x| *x.0 == e).map_or(0, |x| x.1.ce);
    let measured = rules
        .iter()
        .zip(&hadoop)
        .map(|((name, _), s)| {
            format!(
                "{name}: victims' first CE at epsilon {}; {} at 0.05, {} at 0.1, {} at 0.2, {} at 0.5",
                first(s),
                at(s, 0.05),
                at(s, 0.1),
                at(s, 0.2),
                at(s, 0.5)
            )
        })
        .collect::<Vec<_>>()
        .join("; ");
    let why = vec![format!(
        "With DCQCN as it is victims are marked CE at every epsilon ({} frames at 0.01, {} at 0.05, {} at 0.5): S0 and S1 together bring P0 and P2 up to their line rate of 40 Gb/s, so that what an OFF has left there does not drain after the release; a look then finds it a little longer than the look before, and above 200 KB. The deeper cuts of S1's flows with TCD's rules make room.",
        at(hadoop[0], 0.01),
        at(hadoop[0], 0.05),
        at(hadoop[0], 0.5)
    )];
    let notes = vec![format!(
        "In the scenario of Fig. 12, where F0 and F2 have a constant rate, P2's ON periods are 12 us at most, shorter than max(T_on) for every epsilon up to 1 ({}): its victims get {} CE at epsilon 1. The longer ON periods that a larger epsilon mistakes for a release need traffic that comes and goes.",
        lab::time(max_ton(1.0)),
        at(&bursts, 1.0)
    )];
    let axis = || Axis::new("epsilon", Unit::None).log().range(0.01, 1.0);
    let mut panel = Panel::new("", axis(), Axis::new("Victims' frames marked CE", Unit::None));
    for (((name, _), seen), colour) in rules.iter().zip(&hadoop).zip([Colour::Blue, Colour::Vermilion]) {
        let points: Vec<(f64, f64)> = EPSILONS.iter().zip(*seen).map(|(e, s)| (*e, s.ce as f64)).collect();
        panel = panel.mark(Mark::line(*name, points.clone()).colour(colour)).mark(Mark::points("", points).colour(colour));
    }
    let figure = Figure::new("Victims' packets marked CE over epsilon (paper: Fig. 14)")
        .caption("The paper: none below 0.1, more with a larger epsilon, whose max(T_on) is shorter than the time for which a stopped port is ON.")
        .panel(panel.mark(Mark::vline(0.1, "paper: from here on")));
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes, why, ..Findings::default() })
}

/// max(T_on) of the simulations' links by Eq. (3) [ps].
fn max_ton(epsilon: f64) -> f64 {
    max_ton_by_queue(Rate::from_gbps(40), Bytes(2_000), Span::from_ns(8_400), epsilon).0 as f64
}

/// UE at an epsilon.
fn ue(seen: &[Seen], epsilon: f64) -> u64 {
    EPSILONS.iter().zip(seen).find(|x| *x.0 == epsilon).map_or(0, |x| x.1.ue)
}

/// Mean of CE over the epsilons of a range, ends included.
fn mean(seen: &[Seen], from: f64, to: f64) -> f64 {
    let inside: Vec<f64> = EPSILONS.iter().zip(seen).filter(|(e, _)| from <= **e && **e <= to).map(|(_, s)| s.ce as f64).collect();
    inside.iter().sum::<f64>() / inside.len() as f64
}

/// CE and UE of the frames of S0's flows that arrived.
fn victims(run: &Observed) -> Seen {
    let s0 = run.topology.find("S0");
    let all = run.outcome.flows.iter().filter(|f| Some(f.flow.src) == s0);
    all.fold(Seen::default(), |sum, f| Seen { ce: sum.ce + f.ce_frames, ue: sum.ue + f.ue_frames })
}

/// What the ports put on F0 and F2.
fn single(run: &Observed) -> Seen {
    let flows = Flows::of(run);
    let of = |mark| PORTS.iter().map(|(_, p)| fig2::count(run, p, flows.f0, mark) + fig2::count(run, p, flows.f2, mark)).sum();
    Seen { ce: of(Marking::Ce), ue: of(Marking::Ue) }
}
