//! Beyond the paper: in which order a flow takes its paths, and whose path its control takes, where smooth packets of many flows fall short
//! (Figs. 13 and 14).

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::{Config, ControlPath, Core, Pattern, Shape, Spray, Traffic};

use super::run::{Plan, Run, soundness};
use super::setups::{self, MIN_P};
use crate::stats::Mean;
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError};

/// Spreading of the segments of a flow (sections 2.1 and 3.2), and the path of its control.
const ORDERS: [(&str, Spray, ControlPath); 5] = [
    ("round robin", Spray::RoundRobin, ControlPath::Shared),
    ("round robin, separate control", Spray::RoundRobin, ControlPath::Own),
    ("a separate order", Spray::Permuted, ControlPath::Shared),
    ("a separate order, separate control", Spray::Permuted, ControlPath::Own),
    ("at random", Spray::Random, ControlPath::Shared),
];
/// Places in [`ORDERS`].
const IN_TURN: usize = 0;
const APART: usize = 1;
const OWN: usize = 2;
const OWN_APART: usize = 3;
const RANDOM: usize = 4;

/// Ports and the share of unbalanced traffic: Fig. 13, and Fig. 14 where it is worst.
const SETTINGS: [(u32, f64); 4] = [(64, 0.0), (64, 0.5), (256, 0.0), (256, 0.5)];

fn config(ports: u32, w: f64, spray: Spray, control_path: ControlPath) -> Config {
    let traffic = Traffic { pattern: Pattern::Unbalanced { w }, load: 1.0, sizes: setups::fixed(MIN_P), burst_packets: 1.0 };
    let mut c = Config { spray, control_path, ..setups::section_4(traffic, 1.1) };
    if ports == 256 {
        c.core = Core::Network(Shape::benes(16, 3));
    }
    c
}

/// The entry.
#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    // A run of N = 256 takes a minute.
    let settings = &SETTINGS[..cx.mode.pick(1, SETTINGS.len())];
    let (from, to) = cx.mode.pick((2_000, 5_000), (4_000, 10_000));
    let mut plan = Plan::default();
    let all: Vec<Vec<Series>> = settings
        .iter()
        .map(|&(n, w)| {
            ORDERS
                .iter()
                .map(|&(_, spray, own)| plan.series(cx, setups::seeds(cx, n), &setups::during(config(n, w, spray, own), from, to)))
                .collect()
        })
        .collect();
    let results = plan.run(cx)?;
    let first = |setting: usize, order: usize| &results.of(all[setting][order])[0];
    let mean = |setting: usize, order: usize, value: fn(&Run) -> f64| results.mean(all[setting][order], value);
    let mut f = Findings::default();
    for (i, (n, w)) in settings.iter().enumerate() {
        // Seed by seed.
        let less = |a: usize, b: usize| {
            let of = |order: usize| results.values(all[i][order], |r| r.cold);
            Mean::of(of(a).iter().zip(of(b)).map(|(a, b)| a - b))
        };
        let more = |what: &str, a: usize, b: usize| {
            Check::mean(format!("N = {n}, w = {w}: throughput of {what} {}", ORDERS[b].0), Unit::Fraction, less(a, b), 0.0, 1.0)
                .possible(-1.0, 1.0)
        };
        f.checks.push(more("a separate order minus that of", OWN, IN_TURN));
        f.checks.push(more("separate control minus in-band control,", APART, IN_TURN));
        for order in [OWN, RANDOM, OWN_APART] {
            f.checks.push(Check::mean(
                format!("N = {n}, w = {w}: {}", ORDERS[order].0),
                Unit::Fraction,
                mean(i, order, |r| r.cold),
                0.88,
                1.01,
            ));
        }
    }
    f.checks.push(soundness(&results));
    let sentences = settings.iter().enumerate().map(|(i, (n, w))| {
        let orders: Vec<String> =
            ORDERS.iter().enumerate().map(|(o, name)| format!("{} {:.3}", name.0, mean(i, o, |r| r.cold).mean)).collect();
        format!("N = {n}, w = {w}: {}", orders.join(", "))
    });
    f.measured = format!("Smooth packets of 40 B, throughput by the order of paths. {}.", sentences.collect::<Vec<_>>().join(". "));
    let mut table =
        Table::new(["N", "w", "Paths of a flow", "Throughput", "Control", "Overtaken", "Longest queue by stage", "Waits by stage"])
            .align([Align::Right, Align::Right, Align::Left].into_iter().chain([Align::Right; 5]))
            .caption(
                "Means over seeds, throughput with its 95 % interval. Control: share of all bytes that are stand-alone control \
            segments. Queues in bytes, the largest of all seeds. Waits: how often a free link with a segment found no space at its far \
            end, per 1000 segments, by stage from the adapters on.",
            );
    for (i, (n, w)) in settings.iter().enumerate() {
        for (o, (name, ..)) in ORDERS.iter().enumerate() {
            let stages = first(i, o).waits.len();
            let of = all[i][o];
            let waits =
                (0..stages).map(|stage| format!("{:.1}", results.mean(of, |r| 1e3 * r.waits[stage] as f64 / r.segments as f64).mean));
            let queues = (0..first(i, o).queue_max.len()).map(|stage| results.max(of, |r| f64::from(r.queue_max[stage])).to_string());
            table.push([
                Cell::from(u64::from(*n)),
                format!("{w}").into(),
                (*name).into(),
                mean(i, o, |r| r.cold).words(|v| format!("{v:.3}")).into(),
                Unit::Fraction.format(mean(i, o, |r| r.control_share).mean).into(),
                Unit::Fraction.format(mean(i, o, |r| r.out_of_order as f64 / r.segments as f64).mean).into(),
                queues.collect::<Vec<_>>().join(" / ").into(),
                waits.collect::<Vec<_>>().join(" / ").into(),
            ]);
        }
    }
    f.tables.push(table);
    let mut figure = Figure::new("The order in which a flow takes its paths, w = 0")
        .caption(
            "Smooth packets of 40 B, spread evenly over all outputs, all inputs fully loaded, links of 1.1 times the line rate: \
            throughput over time, the first seed.",
        )
        .columns(2);
    for (i, (n, _)) in settings.iter().enumerate().filter(|(_, s)| s.1 == 0.0) {
        let axis = Axis::new("Throughput", Unit::Fraction).range(0.5, 1.01);
        let mut panel = Panel::new(format!("N = {n}"), Axis::new("Time", setups::t_min()), axis);
        for (o, (name, ..)) in ORDERS.iter().enumerate() {
            panel = panel.mark(Mark::line(*name, first(i, o).stretches.iter().map(|s| (s.end, s.cold)).collect::<Vec<_>>()));
        }
        figure = figure.panel(panel.mark(Mark::hline(0.9, "paper: worst of all w")));
    }
    f.figures.push(figure);
    setups::quick_note(cx, &mut f.notes);
    Ok(f)
}
