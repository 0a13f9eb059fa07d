//! Flows that share a slot of the table: how often, and what it costs.

use xoff_analysis::plan::pffc::meets_another;
use xoff_mech::flow_control::pffc::slot;
use xoff_report::{Align, Axis, Bar, BarGroup, Colour, Figure, Mark, Panel, Table, Unit};

use super::run::{END, PFC, PFFC, Scheme, run};
use super::spreading::SCENARIO;
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// Sizes of the table.
const SLOTS: [u32; 5] = [64, 256, 1024, 4096, 65_536];
/// Concurrent flows.
const FLOWS: [u32; 4] = [8, 32, 128, 512];
const COLOURS: [Colour; 4] = [Colour::Blue, Colour::Green, Colour::Purple, Colour::Orange];
/// Flows that are drawn for each pair of sizes, in blocks that are concurrent.
const DRAWN: u32 = 1 << 20;

/// Share of flows that meet another one of their block in their slot.
fn counted(flows: u32, slots: u32) -> f64 {
    let mut met = 0u64;
    let blocks = DRAWN / flows;
    for block in 0..blocks {
        let mut all: Vec<u16> = (0..flows).map(|f| slot(block * flows + f, slots)).collect();
        all.sort_unstable();
        met += all.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(|same| same.len() as u64).sum::<u64>();
    }
    met as f64 / f64::from(blocks * flows)
}

/// The entry.
pub fn run_all(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut checks = Vec::new();
    let mut rows = Table::new(["Slots", "Flows", "Share a slot", "1 - (1 - 1/slots)^(flows - 1)"]).align([Align::Right; 4]);
    let mut curves: Vec<Vec<(f64, f64)>> = vec![Vec::new(); FLOWS.len()];
    for slots in SLOTS {
        for (f, flows) in FLOWS.into_iter().enumerate() {
            let (here, expected) = (counted(flows, slots), meets_another(u64::from(flows), u64::from(slots)));
            curves[f].push((f64::from(slots), here));
            rows.push([slots.to_string(), flows.to_string(), Unit::Fraction.format(here), Unit::Fraction.format(expected)]);
            // Below a hundred expected ones the count itself scatters by more than that.
            if expected * f64::from(DRAWN) > 1_000.0 {
                let what = format!("{flows} flows, {slots} slots: flows that share a slot with another flow");
                checks.push(Check::near(what, Unit::Fraction, here, expected, 0.1));
            }
        }
        cx.go_on()?;
    }
    // The victim of the entry spreading, in a slot of its own and in that of flow 1.
    let jobs: [(&str, Scheme, &[&str]); 3] =
        [("PFFC, own slots", PFFC, &[]), ("PFFC, one slot", PFFC, &["flow_control.slots=1"]), ("PFC", PFC, &[])];
    let runs = cx.parallel(&jobs, |(_, scheme, more)| run(cx, SCENARIO, *scheme, more))?;
    let victim: Vec<f64> = runs.iter().map(|r: &Observed| r.rates_at_end(END)[1]).collect();
    checks.push(Check::near("own slots: rate of flow 2", Unit::BitsPerSecond, victim[0], 3e9, 0.01));
    checks.push(Check::none("own slots: frames counted for another flow", "frames", runs[0].outcome.flow_collisions));
    checks.push(Check::near("one slot: rate of flow 2, relative to PFC", Unit::None, victim[1] / victim[2], 1.0, 0.2));
    checks.push(Check::some("one slot: frames counted for another flow", "frames", runs[1].outcome.flow_collisions));
    let mut damage = Table::new(["", "Flow 1", "Flow 2", "Frames counted for another flow"]).align([
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    for ((name, ..), r) in jobs.iter().zip(&runs) {
        let rates = r.rates_at_end(END);
        damage.push([(*name).to_owned(), lab::rate(rates[0]), lab::rate(rates[1]), r.outcome.flow_collisions.to_string()]);
    }
    let mut panel =
        Panel::new("Flows that share a slot", Axis::new("Slots", Unit::None).log(), Axis::new("Share of flows", Unit::Fraction).log());
    for (f, flows) in FLOWS.into_iter().enumerate() {
        let law = SLOTS.map(|s| (f64::from(s), meets_another(u64::from(flows), u64::from(s))));
        panel = panel
            .mark(Mark::points(format!("{flows} flows, counted"), curves[f].iter().copied()).colour(COLOURS[f]))
            .mark(Mark::line(format!("{flows} flows, formula"), law).colour(COLOURS[f]).dashed());
    }
    let bars = [BarGroup::new("flow 2", victim.iter().map(|v| Bar::new(*v)))];
    let figure = Figure::new("Flows that share a slot")
        .caption("Left: how often. Right: the effect on flow 2 of spreading, which offers 3 Gb/s.")
        .panel(panel)
        .panel(
            Panel::new("Rate of flow 2", Axis::new("", Unit::None), Axis::new("Throughput", Unit::BitsPerSecond))
                .mark(Mark::bars(jobs.iter().map(|j| j.0), bars)),
        )
        .columns(2);
    let measured = format!(
        "128 flows, 4096 slots: {} share a slot (formula {}). Flow 2: {} in its own slot, {} in that of flow 1, {} under PFC.",
        Unit::Fraction.format(counted(128, 4096)),
        Unit::Fraction.format(meets_another(128, 4096)),
        lab::rate(victim[0]),
        lab::rate(victim[1]),
        lab::rate(victim[2])
    );
    let tables = vec![rows.caption("A million flows with consecutive numbers, in blocks."), damage.caption("spreading.")];
    Ok(Findings { measured, checks, figures: vec![figure], tables, ..Findings::default() })
}
