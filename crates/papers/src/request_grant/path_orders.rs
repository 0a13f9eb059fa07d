//! Beyond the paper: in which order a flow takes its paths, and whose path its control takes, where smooth packets of many flows fall short
//! (Fig. 14).

use xoff_fabric::{Config, ControlPath, Core, Pattern, Shape, Spray, Traffic};
use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};

use super::run::{Plan, Run, soundness};
use super::setups::{self, MIN_P};
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError};

/// How a flow spreads its segments (sections 2.1 and 3.2), and whose path its control takes.
const ORDERS: [(&str, Spray, ControlPath); 5] = [
    ("in turn", Spray::RoundRobin, ControlPath::Shared),
    ("in turn, control apart", Spray::RoundRobin, ControlPath::Own),
    ("an order of its own", Spray::Permuted, ControlPath::Shared),
    ("an order of its own, control apart", Spray::Permuted, ControlPath::Own),
    ("at random", Spray::Random, ControlPath::Shared),
];
/// Places in [`ORDERS`].
const IN_TURN: usize = 0;
const APART: usize = 1;
const OWN: usize = 2;
const OWN_APART: usize = 3;
const RANDOM: usize = 4;

/// Shares of unbalanced traffic.
const SHARES: [f64; 2] = [0.0, 0.5];

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let shares = &SHARES[..cx.mode.pick(1, 2)];
    let (from, to) = cx.mode.pick((2_000, 5_000), (6_000, 16_000));
    let mut plan = Plan::default();
    let all: Vec<Vec<Series>> = ORDERS
        .iter()
        .map(|&(_, spray, control_path)| {
            let of = |w| {
                let traffic = Traffic { pattern: Pattern::Unbalanced { w }, load: 1.0, sizes: setups::fixed(MIN_P), burst_packets: 1.0 };
                let mut c = Config { spray, control_path, ..setups::section_4(traffic, 1.1) };
                c.core = Core::Network(Shape::benes(16, 3));
                setups::during(c, from, to)
            };
            shares.iter().map(|&w| plan.series(cx, 1, &of(w))).collect()
        })
        .collect();
    let results = plan.run(cx)?;
    let one = |order: usize, w: usize| &results.of(all[order][w])[0];
    let mut f = Findings::default();
    for (k, w) in shares.iter().enumerate() {
        let of = |order: usize| one(order, k).cold;
        let more = |what: &str, a: usize, b: usize| {
            Check::new(format!("w = {w}: throughput of {what} {}", ORDERS[b].0), Unit::Fraction, of(a) - of(b), 0.0, 1.0)
        };
        f.checks.push(more("an order of its own less that", OWN, IN_TURN));
        f.checks.push(more("control apart less that of control that goes with the data,", APART, IN_TURN));
        f.checks.push(Check::new(format!("w = {w}: an order of its own"), Unit::Fraction, of(OWN), 0.88, 1.01));
        f.checks.push(Check::new(format!("w = {w}: at random"), Unit::Fraction, of(RANDOM), 0.88, 1.01));
        f.checks.push(Check::new(format!("w = {w}: an order of its own, control apart"), Unit::Fraction, of(OWN_APART), 0.88, 1.01));
    }
    f.checks.push(soundness(&results));
    let sentences = ORDERS.iter().enumerate().map(|(o, n)| {
        let by_w: Vec<String> = shares.iter().enumerate().map(|(k, w)| format!("{:.3} at w = {w}", one(o, k).cold)).collect();
        format!("{} {}", n.0, by_w.join(", "))
    });
    f.measured = format!("N = 256, smooth packets of 40 B, throughput by the order of paths: {}.", sentences.collect::<Vec<_>>().join("; "));
    let mut table = Table::new(["Paths of a flow", "w", "Throughput", "Control", "Overtaken", "Longest queue by stage", "Waits by stage"])
        .align([Align::Left].into_iter().chain([Align::Right; 6]))
        .caption("Waits: how often a free link with a segment found no room behind it, per 1000 segments, by stage from the adapters on. Control: share of all bytes that are stand-alone control segments.");
    for (o, (name, ..)) in ORDERS.iter().enumerate() {
        for (k, w) in shares.iter().enumerate() {
            let r: &Run = one(o, k);
            let waits: Vec<String> = r.waits.iter().map(|n| format!("{:.1}", 1e3 * *n as f64 / r.segments as f64)).collect();
            table.push([
                Cell::from(*name),
                format!("{w}").into(),
                format!("{:.3}", r.cold).into(),
                Unit::Fraction.format(r.control_share).into(),
                Unit::Fraction.format(r.out_of_order as f64 / r.segments as f64).into(),
                r.queue_max.iter().map(ToString::to_string).collect::<Vec<_>>().join(" / ").into(),
                waits.join(" / ").into(),
            ]);
        }
    }
    f.tables.push(table);
    let mut panel = Panel::new("", Axis::new("Time", setups::t_min()), Axis::new("Throughput", Unit::Fraction).range(0.5, 1.01));
    for (o, (name, ..)) in ORDERS.iter().enumerate() {
        panel = panel.mark(Mark::line(*name, one(o, 0).stretches.iter().map(|s| (s.end, s.cold)).collect::<Vec<_>>()));
    }
    f.figures.push(
        Figure::new("The order in which a flow takes its paths, N = 256, w = 0")
            .caption("Smooth packets of 40 B to all outputs alike, all inputs fully loaded, links of 1.1 times the line: throughput over time.")
            .panel(panel.mark(Mark::hline(0.9, "paper: worst of all w"))),
    );
    setups::quick_note(cx, &mut f.notes);
    Ok(f)
}
