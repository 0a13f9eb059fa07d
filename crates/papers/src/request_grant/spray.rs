//! Beyond the paper: what spreading a flow evenly is worth (premise (v) of Theorem 1), in packets.

use xoff_report::{Align, Axis, Bar, BarGroup, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::{Config, Core, Pattern, Shape, Spray, Traffic};

use super::run::{Plan, Results, Run, soundness};
use super::setups::{self, BURST, MIN_P};
use crate::stats::Mean;
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError};

/// Rules that choose a path.
const PATH_CHOICES: [(&str, Spray); 3] =
    [("round robin", Spray::RoundRobin), ("at random", Spray::Random), ("one path per flow", Spray::PerFlow)];

/// Loads: name, traffic.
fn loads() -> [(&'static str, Traffic); 3] {
    let bursty = |load| setups::traffic(0, load, setups::fixed(MIN_P), BURST);
    [
        ("uniform, load 0.7", bursty(0.7)),
        ("uniform, load 0.95", bursty(0.95)),
        ("one to one, load 0.9", Traffic { pattern: Pattern::Unbalanced { w: 1.0 }, ..bursty(0.9) }),
    ]
}

/// The entry `spray`.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let seeds = cx.mode.pick(2, 10);
    let mut plan = Plan::default();
    let all: Vec<Vec<Series>> = loads()
        .iter()
        .map(|(_, traffic)| {
            PATH_CHOICES
                .iter()
                .map(|&(_, spray)| {
                    let c = Config { spray, ..setups::section_4(traffic.clone(), 1.0) };
                    plan.series(cx, seeds, &setups::measured(cx, c, 1))
                })
                .collect()
        })
        .collect();
    let results = plan.run(cx)?;
    let mut f = Findings::default();
    let carried = |load: usize, way: usize| results.mean(all[load][way], |r| r.carried());
    for (i, (name, _)) in loads().iter().enumerate() {
        let values = |way: usize| results.values(all[i][way], |r| r.carried());
        let less = Mean::of(values(2).iter().zip(values(0)).map(|(one, turn)| one - turn));
        f.checks.push(
            Check::mean(
                format!("{name}: throughput of one path per flow minus throughput of round robin"),
                Unit::Fraction,
                less,
                -1.0,
                0.0,
            )
            .possible(-1.0, 1.0),
        );
        f.checks.push(Check::mean(format!("{name}: carried, round robin"), Unit::Fraction, carried(i, 0), 0.9, 1.03));
    }
    let collapse = carried(2, 2);
    f.checks.push(Check::mean("one to one, load 0.9: carried with one path per flow", Unit::Fraction, collapse, 0.0, 0.85));
    f.checks.push(soundness(&results));
    f.measured = loads()
        .iter()
        .enumerate()
        .map(|(i, (name, _))| {
            let of: Vec<String> = PATH_CHOICES.iter().enumerate().map(|(w, way)| format!("{:.3} {}", carried(i, w).mean, way.0)).collect();
            format!("{name}: carried {}", of.join(", "))
        })
        .collect::<Vec<_>>()
        .join("; ");
    // In a one-to-one pattern a path per flow is a random choice of 8 by 8: the fullest of 8 bins.
    f.notes.push(format!(
        "One to one with a path per flow, eight flows of a switch throw eight balls into eight bins. The expected number of empty bins \
         is 8 (7/8)^8 = 2.75, so that at most 5.25/8 = 0.656 of the capacity is used, 0.73 of load 0.9. Here {} is carried.",
        collapse.words(|v| format!("{v:.3}"))
    ));
    f.tables.push(table(&results, &loads().map(|l| l.0), &PATH_CHOICES.map(|w| w.0), &all).caption(
        "No speed-up, reserved buffers, control in band, packets of 40 B in bursts. Waits: how often a free link with a segment found \
         no space at its far end, per 1000 segments, by stage from the adapters on.",
    ));
    setups::quick_note(cx, &mut f.notes);
    f.figures.push(bars(
        &results,
        "The gain from spreading flows evenly",
        "Carried share of the offered load, with 95 % intervals over seeds.",
        &loads().map(|l| l.0),
        &PATH_CHOICES.map(|w| w.0),
        &all,
    ));
    Ok(f)
}

/// An output queue of an element: 240 segments of 256 B [bytes].
const BUFFER: f64 = 61_440.0;

/// Shapes of 64 ports.
fn shapes() -> [(&'static str, Shape); 5] {
    let folded = |shape: Shape| Shape { folded: true, ..shape };
    [
        ("3 stages of 8 x 8", Shape::benes(8, 3)),
        ("5 stages of 4 x 4", Shape::benes(4, 5)),
        ("11 stages of 2 x 2", Shape::benes(2, 11)),
        ("fat tree, 2 levels", folded(Shape::benes(8, 3))),
        ("fat tree, 3 levels", folded(Shape::benes(4, 5))),
    ]
}

/// The entry `stages`.
pub fn run_stages(cx: &Context) -> Result<Findings, ReproduceError> {
    let seeds = cx.mode.pick(1, 3);
    let traffics = [
        ("uniform, load 0.9", setups::traffic(0, 0.9, setups::fixed(MIN_P), BURST)),
        ("8 hotspots, the others at 0.75", setups::traffic(8, 0.75, setups::fixed(MIN_P), BURST)),
    ];
    let mut plan = Plan::default();
    let all: Vec<Vec<Series>> = traffics
        .iter()
        .map(|(_, traffic)| {
            shapes()
                .iter()
                .map(|&(_, shape)| {
                    // Two smallest of a grant round trip, so that the longest networks are not limited by G.
                    let c = Config { core: Core::Network(shape), ..setups::section_4(traffic.clone(), 1.1) };
                    plan.series(cx, seeds, &setups::measured(cx, c, 1))
                })
                .collect()
        })
        .collect();
    let results = plan.run(cx)?;
    let mut f = Findings::default();
    for (i, (name, _)) in traffics.iter().enumerate() {
        for (k, (shape, _)) in shapes().iter().enumerate() {
            let carried = results.mean(all[i][k], |r| r.carried());
            f.checks.push(Check::mean(format!("{shape}, {name}: carried"), Unit::Fraction, carried, 0.95, 1.04).claimed());
            let last = results.max(all[i][k], |r| f64::from(*r.queue_max.last().expect("stages")));
            f.checks.push(
                Check::new(format!("{shape}, {name}: fullest queue of the last stage"), Unit::Bytes, last, 0.0, BUFFER - 256.0)
                    .possible(0.0, BUFFER)
                    .claimed(),
            );
        }
    }
    f.checks.push(soundness(&results));
    f.measured = traffics
        .iter()
        .enumerate()
        .map(|(i, (name, _))| {
            let of: Vec<String> = shapes()
                .iter()
                .enumerate()
                .map(|(k, s)| {
                    format!(
                        "{} {:.3} in {:.0} t_min",
                        s.0,
                        results.mean(all[i][k], |r| r.carried()).mean,
                        results.mean(all[i][k], |r| r.delay.mean).mean
                    )
                })
                .collect();
            format!("{name}: {}", of.join(", "))
        })
        .collect::<Vec<_>>()
        .join("; ");
    f.notes.push(
        "All links have the same delay, so that more stages mean a longer round trip: 27 t_min one way through 3 stages, 81 \
        through 11."
            .into(),
    );
    f.tables.push(table(&results, &traffics.map(|t| t.0), &shapes().map(|s| s.0), &all).caption(
        "Reserved buffers, L_F = 1.1 L, control in band, packets of 40 B in bursts. In a fat tree both directions of a switch share one queue; it is listed under its stage of the longest path.",
    ));
    setups::quick_note(cx, &mut f.notes);
    f.figures.push(bars(
        &results,
        "Sixty-four ports of other switches",
        "Carried share of the load offered to outputs that are no hotspots: Benes networks of 3, 5 and 11 stages, and fat trees.",
        &["uniform, load 0.9", "8 hotspots, 0.75"],
        &shapes().map(|s| s.0),
        &all,
    ));
    Ok(f)
}

/// Rows of loads by variants.
pub fn table(results: &Results, loads: &[&str], variants: &[&str], all: &[Vec<Series>]) -> Table {
    let mut t = Table::new([
        "Load",
        "Variant",
        "Carried",
        "Mean delay",
        "99th percentile",
        "Overtaken",
        "Longest queue by stage",
        "Waits by stage",
    ])
    .align([Align::Left, Align::Left].into_iter().chain([Align::Right; 6]));
    for (load, series) in loads.iter().zip(all) {
        for (variant, s) in variants.iter().zip(series) {
            let stages = results.of(*s)[0].queue_max.len();
            let queues: Vec<String> = (0..stages).map(|k| results.max(*s, |r| f64::from(r.queue_max[k])).to_string()).collect();
            let waits: Vec<String> =
                (0..=stages).map(|k| format!("{:.1}", results.mean(*s, |r| 1e3 * r.waits[k] as f64 / r.segments as f64).mean)).collect();
            t.push([
                Cell::from(*load),
                (*variant).into(),
                results.mean(*s, |r| r.carried()).words(|v| format!("{v:.3}")).into(),
                results.mean(*s, |r| r.delay.mean).words(|v| format!("{v:.0}")).into(),
                format!("{:.0}", results.mean(*s, |r| r.delay.p99).mean).into(),
                Unit::Fraction.format(results.mean(*s, |r| r.out_of_order as f64 / r.segments as f64).mean).into(),
                queues.join(" / ").into(),
                waits.join(" / ").into(),
            ]);
        }
    }
    t
}

/// Carried load, as bars.
pub fn bars(results: &Results, title: &str, caption: &str, loads: &[&str], variants: &[&str], all: &[Vec<Series>]) -> Figure {
    let bar = |m: Mean| Bar::with_interval(m.mean, m.low, m.high);
    let value = |r: &Run| r.carried();
    let groups = variants.iter().enumerate().map(|(v, name)| BarGroup::new(*name, all.iter().map(|s| bar(results.mean(s[v], value)))));
    let panel = Panel::new("", Axis::new("", Unit::None), Axis::new("Carried", Unit::Fraction).range(0.0, 1.1))
        .mark(Mark::bars(loads.iter().copied(), groups));
    Figure::new(title).caption(caption).panel(panel)
}
