//! PFFC with real frames: the ring, several hops, congestion spreading, loss, and what control frames take.

use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};
use xoff_sim::RateSource;
use xoff_units::Span;

use super::repeat::{Cell, Real, Runs, all, capture_table, captured, machine};
use crate::lab;
use crate::pffc::loss::FIT;
use crate::pffc::run::{PFC, PFFC, SHAPE, Scheme};
use crate::pffc::table3::RATIO;
use crate::stats::Mean;
use crate::{Check, Context, Findings, ReproduceError};

const RING: (&str, &str) = scenario!("pffc/testbed", "ring.toml");
const HOPS: (&str, &str) = scenario!("pffc/testbed", "hops.toml");
const VICTIM: (&str, &str) = scenario!("pffc/testbed", "victim.toml");
const LOSS: (&str, &str) = scenario!("pffc/testbed", "loss.toml");
const OVERHEAD: (&str, &str) = scenario!("pffc/testbed", "overhead.toml");
/// The scenario of the entry `loss` with its flows: one of each sender.
const SENDERS: usize = 4;
/// Line rate [bit/s].
const LINE: f64 = 100e6;
/// Stretch at the end of a run over which rates are taken.
const END: Span = Span::from_ms(500);
/// Assumption behind the deadlock.
const FIFO: &str = "the egress is FIFO across ingresses (the slides name no discipline)";
/// Assumption behind the rates.
const SLOW: &str = "the slow link carries 10 Mb/s, a tenth of the others";

fn cell(scenario: (&'static str, &'static str), scheme: Scheme, what: &str, more: &[String]) -> Cell {
    let name = if what.is_empty() { scheme.title.to_owned() } else { format!("{}, {what}", scheme.title) };
    let mut cell = Cell::new(name, scenario, &[]);
    cell.settings.push(format!("flow_control.kind={}", scheme.kind));
    cell.settings.extend_from_slice(more);
    cell
}

fn run(cx: &Context, cells: &[Cell]) -> Result<Vec<Runs>, ReproduceError> {
    all(cx, &cells.iter().collect::<Vec<_>>())
}

/// Mean over the runs, with its interval, in words.
fn words(runs: &Runs, of: impl Fn(&Real) -> f64, one: impl Fn(f64) -> String) -> String {
    runs.mean(of).words(one)
}

/// A mean rate that lies, with all of its interval, within a share of what was computed.
fn near(what: impl Into<String>, runs: &Runs, of: impl Fn(&Real) -> f64, expected: f64, share: f64) -> Check {
    let off = expected * share;
    Check::mean(what, Unit::BitsPerSecond, runs.mean(of), expected - off, expected + off).recomputed()
}

fn rate_of(flow: usize) -> impl Fn(&Real) -> f64 {
    move |r| r.seen.rates_at_end(END)[flow]
}

fn total(r: &Real) -> f64 {
    r.seen.rates_at_end(END).iter().sum()
}

fn lossless(all: &[Runs]) -> Check {
    let broken = all.iter().map(|r| r.lost() + r.runs.iter().map(|r| r.seen.outcome.violations_total).sum::<u64>()).sum();
    Check::none("frames lost or out of order, all runs", "frames", broken)
}

/// The entry `deadlock`.
pub fn run_ring(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut cells = [PFC, PFFC].map(|s| cell(RING, s, "", &[]));
    cells.iter_mut().for_each(|c| c.captured = Some("S1->S2"));
    let all = run(cx, &cells)?;
    let still = |i: usize| all[i].share(|r| r.still);
    let what = |i: usize| format!("{}: runs that stopped", all[i].name);
    let mut checks = vec![
        captured(&all[0], all[0].nearly_all(what(0), |r| r.still).assuming(FIFO)),
        captured(&all[1], all[1].none(what(1), |r| r.still)),
    ];
    for flow in 0..3 {
        let what = format!("PFFC: rate of flow {}, mean of the runs", flow + 1);
        checks.push(Check::mean(what, Unit::BitsPerSecond, all[1].mean(rate_of(flow)), 0.9 * LINE / 2.0, 1.01 * LINE / 2.0));
    }
    checks.push(lossless(&all));
    checks.extend(all.iter().map(Runs::enough));
    let rates = |i: usize| (0..3).map(|f| lab::rate(all[i].mean(rate_of(f)).mean)).collect::<Vec<_>>().join(", ");
    let measured = format!(
        "Stopped, by the packet capture: PFC {}, PFFC {}. Rates of the flows in the last 500 ms, mean of the runs: PFC {}; PFFC {}.",
        still(0).words(),
        still(1).words(),
        rates(0),
        rates(1)
    );
    let figure = curves(
        "Real frames: three flows around a ring",
        "The slides: a deadlock may occur under PFC, but not under PFFC. First run that counts.",
        &all,
        3,
        105e6,
    );
    Ok(Findings {
        measured,
        checks,
        figures: vec![figure],
        tables: vec![capture_table(&all)],
        notes: vec![machine(&all)],
        ..Findings::default()
    })
}

/// Throughput of each flow over time, a panel a cell.
fn curves(title: &str, caption: &str, all: &[Runs], flows: u32, high: f64) -> Figure {
    let mut figure = Figure::new(title).caption(caption).columns(all.len());
    for runs in all {
        let axis = Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, high);
        let mut panel = Panel::new(runs.name.as_str(), Axis::new("Time", Unit::Picoseconds), axis);
        if let Some(r) = runs.runs.first() {
            for flow in 0..flows {
                panel = panel.mark(Mark::line(format!("flow {}", flow + 1), r.seen.flow_rate(flow, RateSource::Measured)));
            }
        }
        figure = figure.panel(panel);
    }
    figure
}

/// The entry `hops`.
pub fn run_hops(cx: &Context) -> Result<Findings, ReproduceError> {
    const N: usize = 4;
    let cells: Vec<Cell> = (1..=N)
        .map(|n| {
            // The second sender sits at the last switch, where both meet: the bottleneck is behind all hops.
            let (last, beside) = (format!("H{}", 3 * n), format!("H{}", 3 * n - 1));
            let more = [
                format!("topology.switches={n}"),
                format!("flow[0].dst={last}"),
                format!("flow[1].src={beside}"),
                format!("flow[1].dst={last}"),
            ];
            cell(HOPS, PFFC, &format!("N = {n}"), &more)
        })
        .collect();
    let all = run(cx, &cells)?;
    let of_all = |i: usize| all[i].mean(total);
    let mut checks = Vec::new();
    for (i, runs) in all.iter().enumerate() {
        let what = format!("{}: mean throughput of a connection", runs.name);
        checks.push(near(what, runs, |r| total(r) / 2.0, LINE / 2.0, 0.03).assuming(SHAPE));
        if i > 0 {
            checks.push(Check::mean(format!("{} over N = 1", runs.name), Unit::None, of_all(i).over(of_all(0)), 0.97, 1.03).claimed());
            // Else the hops would take no part in it.
            let held = runs.runs.iter().map(|r| r.seen.totals(&format!("S{i}->S{}", i + 1)).blocks).min().unwrap_or(0);
            let what = format!("{}: times that the last switch pauses a flow at the previous one, smallest of the runs", runs.name);
            checks.push(Check::some(what, "times", held));
        }
        checks.push(runs.enough());
    }
    checks.push(lossless(&all));
    let mut table = Table::new(["Cell", "Runs", "Mean throughput", "Largest ingress", "Control frames", "Clock stopped"])
        .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption("Means over the runs that count, with their 95 % intervals; rates of the last 500 ms.");
    for runs in &all {
        table.push([
            runs.name.clone(),
            runs.runs.len().to_string(),
            words(runs, |r| total(r) / 2.0, lab::rate),
            lab::bytes(runs.mean(|r| r.seen.peak()).mean),
            words(runs, |r| r.seen.messages() as f64, |v| format!("{v:.0}")),
            Unit::Fraction.format(runs.mean(Real::left_out).mean),
        ]);
    }
    let figure = Figure::new("Real frames: two connections over one to four hops")
        .caption(
            "One connection comes from the first switch, one from the last. The slides: PFFC scales to multi-hop networks. Two \
            connections can have at most half the line rate each.",
        )
        .panel(
            Panel::new(
                "",
                Axis::new("Switches", Unit::None).range(1.0, N as f64),
                Axis::new("Mean throughput", Unit::BitsPerSecond).range(0.0, 105e6),
            )
            .mark(Mark::line(PFFC.title, (0..N).map(|i| ((i + 1) as f64, of_all(i).mean / 2.0))).colour(PFFC.colour))
            .mark(Mark::hline(LINE / 2.0, "half the line")),
        );
    let measured =
        format!("PFFC, N = 1 to 4: {} per connection.", (0..N).map(|i| lab::rate(of_all(i).mean / 2.0)).collect::<Vec<_>>().join(", "));
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes: vec![machine(&all)], ..Findings::default() })
}

/// The entry `spreading`.
pub fn run_spreading(cx: &Context) -> Result<Findings, ReproduceError> {
    let cells = [PFC, PFFC].map(|s| cell(VICTIM, s, "", &[]));
    let all = run(cx, &cells)?;
    let mut checks = vec![
        Check::mean("PFC: rate of flow 2, mean of the runs", Unit::BitsPerSecond, all[0].mean(rate_of(1)), 0.0, 15e6)
            .claimed()
            .assuming(SLOW),
        near("PFFC: rate of flow 2, mean of the runs", &all[1], rate_of(1), 30e6, 0.01).paper(30e6),
        near("PFFC: rate of flow 1, mean of the runs", &all[1], rate_of(0), 10e6, 0.01).assuming(SLOW),
        lossless(&all),
    ];
    checks.extend(all.iter().map(Runs::enough));
    let mut table = Table::new(["Flow control", "Runs", "Flow 1", "Flow 2", "Largest fill of S2 behind S1", "Control frames"])
        .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption("Means over the runs that count, with their 95 % intervals; rates of the last 500 ms of 2 s.");
    for runs in &all {
        table.push([
            runs.name.clone(),
            runs.runs.len().to_string(),
            words(runs, rate_of(0), lab::rate),
            words(runs, rate_of(1), lab::rate),
            lab::bytes(runs.mean(|r| r.seen.ingress_peak("S1->S2")).mean),
            format!("{:.0}", runs.mean(|r| r.seen.messages() as f64).mean),
        ]);
    }
    let measured = format!(
        "PFC: flow 1 {}, flow 2 {}. PFFC: flow 1 {}, flow 2 {}.",
        lab::rate(all[0].mean(rate_of(0)).mean),
        lab::rate(all[0].mean(rate_of(1)).mean),
        lab::rate(all[1].mean(rate_of(0)).mean),
        lab::rate(all[1].mean(rate_of(1)).mean)
    );
    let title = "Real frames: two flows of 30 Mb/s over one link; flow 1 continues over a link of 10 Mb/s";
    let figure = curves(title, "The slides: PFC needlessly slows flow 2, PFFC does not. First run that counts.", &all, 2, 35e6);
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes: vec![machine(&all)], ..Findings::default() })
}

/// The entry `loss`.
pub fn run_loss(cx: &Context) -> Result<Findings, ReproduceError> {
    const MEMORY: u64 = 800_000;
    /// Flows that need more than the memory.
    const MANY: usize = 64;
    let pfc = [3, 20, 40].map(|tenths: u64| {
        let xoff = (MEMORY * tenths / 10 / SENDERS as u64).min(MEMORY);
        let more = [format!("flow_control.pfc.xoff={xoff}B"), format!("flow_control.pfc.xon={}B", xoff - 3_000)];
        cell(LOSS, PFC, &format!("XOFFs {}.{} of the buffer", tenths / 10, tenths % 10), &more)
    });
    // So many do not fit: each needs Xoff_s, 18.5 KB, besides its headroom.
    let flows: Vec<String> = (0..MANY).map(|i| format!("{{src=\"H{}\", dst=\"H5\"}}", i % SENDERS + 1)).collect();
    let many = cell(LOSS, PFFC, &format!("{MANY} flows"), &[format!("flow=[{}]", flows.join(", "))]);
    let cells: Vec<Cell> = pfc.into_iter().chain([cell(LOSS, PFFC, "one flow per sender", &[]), many]).collect();
    let all = run(cx, &cells)?;
    let dropped = |r: &Real| r.seen.lost() as f64;
    let outside = all.iter().flat_map(|r| &r.runs).map(|r| r.lost() - r.seen.lost()).sum();
    let frames = || Unit::Other("frames".into());
    let fewest = |runs: &Runs| runs.runs.iter().map(dropped).fold(f64::INFINITY, f64::min);
    let mut checks = vec![
        Check::none("PFC, XOFFs and headroom within the buffer: frames lost, all runs", "frames", all[0].lost()),
        Check::new("PFC, XOFFs twice the buffer: frames lost, smallest of the runs", frames(), fewest(&all[1]), 1.0, f64::INFINITY)
            .claimed()
            .assuming(SHAPE),
        Check::new("PFC, XOFFs four times the buffer: frames lost, smallest of the runs", frames(), fewest(&all[2]), 1.0, f64::INFINITY)
            .claimed()
            .assuming(SHAPE),
        Check::none("PFFC, one flow per sender, which fit in the buffer: frames lost, all runs", "frames", all[3].lost())
            .claimed()
            .assuming(FIT),
        Check::new(
            format!("PFFC, {MANY} flows, which do not fit: frames lost, smallest of the runs"),
            frames(),
            fewest(&all[4]),
            1.0,
            f64::INFINITY,
        ),
        Check::none("frames lost on wires and in the kernel's rings, all runs", "frames", outside),
    ];
    checks.extend(all.iter().map(Runs::enough));
    let share = |r: &Real| dropped(r) / (r.seen.outcome.delivered_frames as f64 + dropped(r));
    let mut table = Table::new(["Cell", "Runs", "Frames lost in a run", "Share", "Largest egress queue"])
        .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption("Means over the runs that count, with their 95 % intervals. The memory is 800 KB.");
    for runs in &all {
        table.push([
            runs.name.clone(),
            runs.runs.len().to_string(),
            words(runs, dropped, |v| format!("{v:.0}")),
            Unit::Fraction.format(runs.mean(share).mean),
            lab::bytes(runs.mean(|r| r.seen.totals("S1->H5").egress_bytes_max as f64).mean),
        ]);
    }
    let bars = [BarGroup::new("lost", all.iter().map(|r| Bar::new(r.mean(share).mean)))];
    let figure = Figure::new("Real frames: four senders to one output, 800 KB")
        .caption(
            "PFC, by the ratio of the sum of its ingress thresholds to the buffer, and PFFC. The slides claim that PFC loses frames and PFFC does \
             not.",
        )
        .panel(
            Panel::new("", Axis::new("", Unit::None), Axis::new("Frames lost", Unit::Fraction))
                .mark(Mark::bars(all.iter().map(|r| r.name.replace(" of the buffer", "")), bars)),
        );
    let measured = all.iter().map(|r| format!("{}: {:.0}", r.name, r.mean(dropped).mean)).collect::<Vec<_>>().join("; ");
    let measured = format!("Frames lost in a run of one second, mean of the runs. {measured}.");
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes: vec![machine(&all)], ..Findings::default() })
}

/// The entry `table3`.
pub fn run_overhead(cx: &Context) -> Result<Findings, ReproduceError> {
    /// Frames of Table 3 and the share of the link next to them.
    const PAPER: [(f64, f64); 2] = [(156_461.0, 0.0040), (211_010.0, 0.0054)];
    let names = [["pfc.xoff", "pfc.xon"], ["pffc.xoff_s", "pffc.xon_s"]];
    // Twice the product of rate and delay of a hop, and half of that.
    let both = |n: [&str; 2]| [format!("flow_control.{}=18500B", n[0]), format!("flow_control.{}=9250B", n[1])];
    let mut cells = [cell(OVERHEAD, PFC, "", &both(names[0])), cell(OVERHEAD, PFFC, "", &both(names[1]))];
    cells.iter_mut().for_each(|c| c.captured = Some("S1->S2"));
    let all = run(cx, &cells)?;
    let frames = |r: &Real| r.whole.map_or(f64::NAN, |w| (w.pfc + w.local) as f64);
    let seconds = |r: &Real| lab::ps(r.seen.outcome.now) / 1e12;
    // The smallest frame of Ethernet, as the paper counts.
    let share = |r: &Real| frames(r) * 64.0 * 8.0 / (LINE * seconds(r));
    // Runs have no partner: the largest over the smallest of both means' intervals.
    let [pfc, pffc] = [0, 1].map(|i| Mean::of(all[i].runs.iter().map(frames)));
    let ratio = pffc.mean / pfc.mean;
    let printed = PAPER[1].0 / PAPER[0].0;
    let mut checks = vec![captured(
        &all[1],
        Check::near("PFFC over PFC, control frames, means of the runs", Unit::None, ratio, printed, RATIO)
            .interval(pffc.low / pfc.high, pffc.high / pfc.low)
            .paper(printed)
            .assuming(SHAPE),
    )];
    for (runs, (_, paper)) in all.iter().zip(PAPER) {
        let what = format!("{}: share of the link, mean of the runs", runs.name);
        checks.push(Check::mean(what, Unit::Fraction, runs.mean(share), 0.0, 0.01).beside(paper).assuming(SHAPE));
        checks.push(runs.enough());
    }
    checks.push(lossless(&all));
    let mut table = Table::new(["Flow control", "Runs", "Control frames in 2 s", "Share of the link", "Paper"])
        .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption("Control frames in the capture of the link S1-S2; means over the runs that count, with their 95 % intervals.");
    for (runs, (_, paper)) in all.iter().zip(PAPER) {
        table.push([
            runs.name.clone(),
            runs.runs.len().to_string(),
            words(runs, frames, |v| format!("{v:.0}")),
            words(runs, share, |v| Unit::Fraction.format(v)),
            Unit::Fraction.format(paper),
        ]);
    }
    let bars = BarGroup::new("share", all.iter().zip(PAPER).map(|(r, p)| Bar::new(r.mean(share).mean).reference(p.1)));
    let figure = Figure::new("Real frames: share of the link that control frames take (Table 3)")
        .caption("Xoff 18.5 KB and Xon half of it for both; the paper names no thresholds, and the count depends on their distance.")
        .panel(
            Panel::new("", Axis::new("", Unit::None), Axis::new("Share of the link", Unit::Fraction))
                .mark(Mark::bars(all.iter().map(|r| r.name.clone()), [bars]).bar_reference("paper")),
        );
    let measured = format!(
        "PFC {} of the link, PFFC {}; PFFC over PFC {ratio:.2} (paper {printed:.2}).",
        Unit::Fraction.format(all[0].mean(share).mean),
        Unit::Fraction.format(all[1].mean(share).mean)
    );
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes: vec![machine(&all)], ..Findings::default() })
}
