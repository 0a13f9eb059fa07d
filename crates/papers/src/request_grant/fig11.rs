//! Figs. 11 and 12: delays with control in band, all outputs of a last-stage switch being hotspots.

use xoff_report::Unit;
use xoff_sim::scheduled::Sizes;

use super::fig06::{loads, loads_beside};
use super::run::{Plan, soundness};
use super::setups::{self, BURST, MAX_P, MIN_P, t_min};
use super::sweep::{Sweep, figure};
use crate::stats::Mean;
use crate::study::Series;
use crate::{Check, Context, Findings, Mode, ReproduceError};

/// What a figure shows: name, sizes, packets of a burst, how much longer to measure.
type Workload = (&'static str, Sizes, f64, u64);

/// Links of the fabric in multiples of the line.
const SPEEDUP: f64 = 1.1;
const UNIFORM: &str = "uniform";
const HOT: &str = "8 hotspots";
const BESIDE: &str = "8 hotspots, on top of the rest";

/// Loads from nearly none on.
fn all_loads(mode: Mode, hot: u32) -> Vec<f64> {
    let mut all = loads(mode, hot);
    all.insert(0, 0.05);
    all
}

fn sweeps(cx: &Context, plan: &mut Plan, workloads: &[Workload]) -> Vec<Sweep> {
    workloads
        .iter()
        .map(|&(_, sizes, burst, longer)| {
            let traffic = |hot, l| setups::traffic(hot, l, sizes, burst);
            let mut s = Sweep::default();
            for (name, hot) in [(UNIFORM, 0), (HOT, 8)] {
                s.curve(cx, plan, name, &all_loads(cx.mode, hot), longer, |l| setups::section_4(traffic(hot, l), SPEEDUP));
            }
            let config = |l| setups::section_4(setups::beside(&traffic(8, l)), SPEEDUP);
            s.curve(cx, plan, BESIDE, loads_beside(cx.mode), longer, config).dashed();
            s
        })
        .collect()
}

/// Fig. 11.
#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
pub fn run_fig11(cx: &Context) -> Result<Findings, ReproduceError> {
    let workloads = [("smooth", setups::fixed(MIN_P), 1.0, 1), ("bursty", setups::fixed(MIN_P), BURST, 1)];
    let mut plan = Plan::default();
    let sweeps = sweeps(cx, &mut plan, &workloads);
    let results = plan.run(cx)?;
    let delay = |s: usize, name: &str, load: f64| sweeps[s].get(name).delay(&results, load).mean;
    // What hotspots add to the delay, seed by seed.
    let added = |s: usize, load: f64| -> Vec<f64> {
        let of = |name: &str| results.values(sweeps[s].get(name).at(load), |r| r.delay.mean);
        of(HOT).iter().zip(of(UNIFORM)).map(|(hot, uniform)| hot - uniform).collect()
    };
    let last = |s: usize, name: &str| sweeps[s].get(name).loads().last().unwrap_or(0.0);
    let mut checks = vec![
        Check::mean("smooth, uniform, load 0.05: mean delay", t_min(), sweeps[0].get(UNIFORM).delay(&results, 0.05), 29.0, 32.0)
            .paper(29.0),
        Check::mean(
            "smooth, load 0.05: delay with 8 hotspots, relative to uniform traffic",
            Unit::None,
            results.ratio(sweeps[0].get(HOT).at(0.05), sweeps[0].get(UNIFORM).at(0.05), |r| r.delay.mean),
            1.1,
            83.0 / 29.0,
        )
        .claimed(),
        Check::mean(
            "load 0.05: extra delay of 8 hotspots over uniform traffic, ratio of bursty to smooth traffic",
            Unit::None,
            Mean::ratio(&added(1, 0.05), &added(0, 0.05)),
            1.0,
            f64::INFINITY,
        )
        .claimed(),
    ];
    for (s, (name, ..)) in workloads.iter().enumerate() {
        for curve in [UNIFORM, HOT] {
            let low = sweeps[s].get(curve).carried_min(&results, 0.9);
            checks.push(
                Check::mean(
                    format!("{name}, {curve}: smallest share carried up to load {:.2}", last(s, curve).min(0.9)),
                    Unit::Fraction,
                    low,
                    0.97,
                    1.03,
                )
                .claimed(),
            );
        }
    }
    checks.push(soundness(&results));
    setups::assuming(&mut checks, setups::LOAD);
    let describe = |s: usize| {
        format!(
            "{}: {:.0} t_min uniform and {:.0} with 8 hotspots at load 0.05, {:.0} and {:.0} at 0.7",
            workloads[s].0,
            delay(s, UNIFORM, 0.05),
            delay(s, HOT, 0.05),
            delay(s, UNIFORM, 0.7),
            delay(s, HOT, 0.7)
        )
    };
    let mut f = Findings {
        measured: format!("{}. {}.", describe(0), describe(1)),
        checks,
        tables: sweeps
            .iter()
            .zip(&workloads)
            .map(|(s, w)| s.table(&results).caption(format!("{} arrivals of 40 B packets; columns as in Fig. 6.", w.0)))
            .collect(),
        ..Findings::default()
    };
    let share = |name: &str| results.mean(sweeps[0].get(name).at(0.05), |r| r.unsolicited as f64 / r.segments as f64).mean;
    f.why.push(format!(
        "Hotspots cost delay at low loads. ACKs, grants and the segments that carry them queue with the hotspots' data on the way to \
         the hotspots' adapters, which also send other traffic. Unsolicited segments are {} of all with uniform traffic and {} with \
         hotspots (load 0.05, smooth).",
        Unit::Fraction.format(share(UNIFORM)),
        Unit::Fraction.format(share(HOT))
    ));
    setups::quick_note(cx, &mut f.notes);
    f.figures.push(figure(
        "Reserving fabric-buffers, 1.1 times the line rate, control in band (paper: Fig. 11)",
        "Packets of 40 B, smooth and in bursts of 36. Uniform smooth traffic at low load is just above the smallest possible delay, \
         because nearly all of it is unsolicited. With hotspots this is partly lost.",
        sweeps.iter().zip(&workloads).flat_map(|(s, w)| s.panels(w.0, &results)),
    ));
    Ok(f)
}

/// Fig. 12.
pub fn run_fig12(cx: &Context) -> Result<Findings, ReproduceError> {
    let workloads = [("bimodal", setups::bimodal(), 1.0, 2), ("jumbo", setups::fixed(MAX_P), 1.0, 3)];
    let mut plan = Plan::default();
    let sweeps = sweeps(cx, &mut plan, &workloads);
    // The packets of Fig. 11, for comparison.
    let small = [1.0, BURST].map(|burst| {
        [0, 8].map(|hot| {
            let c = setups::section_4(setups::traffic(hot, 0.5, setups::fixed(MIN_P), burst), SPEEDUP);
            plan.series(cx, setups::seeds(cx, setups::PORTS), &setups::measured(cx, c, 1))
        })
    });
    let results = plan.run(cx)?;
    let beyond = |hot: Series, uniform: Series| results.ratio(hot, uniform, |r| r.delay.mean).plus(-1.0);
    let beyond_at = |s: usize, load: f64| beyond(sweeps[s].get(HOT).at(load), sweeps[s].get(UNIFORM).at(load));
    let excess = |s: usize, load: f64| beyond_at(s, load).mean;
    let small = small.map(|[uniform, hot]| beyond(hot, uniform));
    let of_small = small.map(|m| m.mean);
    let mut checks = Vec::new();
    for (s, (name, ..)) in workloads.iter().enumerate() {
        let low = |curve: &str| sweeps[s].get(curve).carried_min(&results, 0.9);
        checks.extend(less_discernible(name, beyond_at(s, 0.5), small, low));
    }
    checks.push(soundness(&results));
    setups::assuming(&mut checks, setups::LOAD);
    let percent = |v: f64| Unit::Fraction.format(v);
    let describe = |s: usize| {
        let near: Vec<String> = [0.05, 0.5, 0.7, 0.78].iter().map(|&l| format!("{} at {l}", percent(excess(s, l)))).collect();
        format!("{}: with 8 hotspots the delay is longer by {}", workloads[s].0, near.join(", "))
    };
    let mut f = Findings {
        measured: format!("{}. {}.", describe(0), describe(1)),
        checks,
        tables: sweeps
            .iter()
            .zip(&workloads)
            .map(|(s, w)| s.table(&results).caption(format!("{} packets; columns as in Fig. 6.", w.0)))
            .collect(),
        ..Findings::default()
    };
    f.why.push(format!(
        "The effect is less discernible than with small packets: at load 0.5 hotspots add {} to the delay of bimodal packets \
         and {} to that of jumbo packets, but {} to smooth and {} to bursty packets of 40 B.",
        percent(excess(0, 0.5)),
        percent(excess(1, 0.5)),
        percent(of_small[0]),
        percent(of_small[1])
    ));
    let middle = |s: usize| results.max(sweeps[s].get(HOT).at(0.05), |r| f64::from(r.queue_max[1]));
    f.why.push(format!(
        "At low loads the difference remains visible. The hotspots' reserved segments wait not only in the last stage but also before \
         it, up to {} in an output queue of the middle stage at load 0.05. Segments to a hotspot's adapter (grants for its other \
         traffic) queue with them.",
        Unit::Bytes.format(middle(1))
    ));
    setups::quick_note(cx, &mut f.notes);
    f.figures.push(figure(
        "The same for bimodal and jumbo packets (paper: Fig. 12)",
        "95 % packets of 40 B and 5 % of 9000 B, and packets of 9000 B. Other delays dominate, and hotspots are less discernible.",
        sweeps.iter().zip(&workloads).flat_map(|(s, w)| s.panels(w.0, &results)),
    ));
    Ok(f)
}

/// Judges the delay that hotspots add at load 0.5, next to `small`, that of packets of 40 B, smooth and bursty; and the smallest share
/// carried, by curve.
fn less_discernible(name: &str, excess: Mean, small: [Mean; 2], low: impl Fn(&str) -> Mean) -> Vec<Check> {
    // "Less discernible": below that of either, with all of the interval.
    let mut checks: Vec<Check> = ["smooth", "bursty"]
        .into_iter()
        .zip(small)
        .map(|(of, small)| {
            let what = format!("{name}, load 0.5: delay that 8 hotspots add, relative to {of} packets of 40 B (Fig. 11)");
            Check::new(what, Unit::None, excess.mean / small.mean, f64::NEG_INFINITY, 1.0)
                .interval(excess.low / small.high, excess.high / small.low)
                .claimed()
        })
        .collect();
    for curve in [UNIFORM, HOT] {
        checks.push(
            Check::mean(format!("{name}, {curve}: smallest share carried up to load 0.9"), Unit::Fraction, low(curve), 0.95, 1.04)
                .claimed(),
        );
    }
    checks
}
