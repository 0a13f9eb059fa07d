//! Figs. 16 and 17: throughput and slowdown, without a cycle and in the deadlock cases.

use xoff_report::{Align, Axis, Bar, BarGroup, Cell, Figure, Mark, Panel, Table, Unit};

use super::job::{Run, Scheme};
use super::meter::{Sums, WINDOW};
use super::sizes::Sizes;
use super::study::{Case, FREE_MORE, LargeScale, Parts};
use super::{ECMP, FIFO, LOWEST_ID};
use crate::gfc::schemes::WITH_REPAIR;
use crate::stats::Mean;
use crate::{Check, Context, Findings, ReproduceError};

/// Windows at the end of a run that show what is left: 5 ms.
const TAIL: usize = 50;

/// Results of one size under one flow control.
#[derive(Clone, Debug, Default)]
struct Pooled {
    runs: u64,
    throughput: Sums,
    slowdown: Sums,
    fct_ps: (f64, f64),
    ingress: Sums,
    /// Rate per server over the last 5 ms of each run [bit/s].
    tail: Sums,
    /// The same of each run with a deadlock.
    tail_deadlocked: Vec<f64>,
    /// Runs in which a port stopped.
    standstill: u64,
    /// Runs in which a flow had not a byte for 1 ms and until the end, and for 5 ms: it stopped.
    still: (u64, u64),
    /// Mean rate per server [bit/s] and mean slowdown of each run.
    each: Vec<(f64, f64)>,
    /// Runs with a deadlock.
    deadlocks: u64,
    /// Flows started and complete.
    flows: (u64, u64),
    /// Flows of each run that are complete [1/ms].
    complete: Vec<f64>,
}

impl Pooled {
    fn of<'c>(cases: impl Iterator<Item = &'c Case>, scheme: Scheme) -> Pooled {
        let mut p = Pooled::default();
        // Only networks that are done under all four: the four are compared over the same networks and traffic.
        let complete = cases.filter(|c| c.runs.iter().all(Option::is_some));
        for run in complete.filter_map(|c| c.of(scheme)).flat_map(|r| &r.runs) {
            p.add(run);
        }
        p
    }

    fn add(&mut self, run: &Run) {
        self.runs += 1;
        self.throughput.merge(&run.measured.throughput);
        self.slowdown.merge(&run.slowdown);
        self.fct_ps = (self.fct_ps.0 + run.fct_ps.0, self.fct_ps.1 + run.fct_ps.1);
        self.ingress.merge(&run.measured.ingress);
        self.tail.add(run.tail(TAIL));
        if run.deadlock_ns.is_some() {
            self.tail_deadlocked.push(run.tail(TAIL));
            self.deadlocks += 1;
        }
        self.standstill += (run.measured.standstill_ports > 0) as u64;
        self.still = (self.still.0 + (run.waiting > 0) as u64, self.still.1 + (run.still > 0) as u64);
        self.each.push((run.measured.throughput.mean(), run.slowdown.mean()));
        // Stretches of standstill at the end included.
        let ms = run.measured.series_kbps.len() as f64 * WINDOW.as_secs_f64() * 1e3;
        self.complete.push(run.slowdown.n as f64 / ms);
        self.flows = (self.flows.0 + run.flows, self.flows.1 + run.slowdown.n);
    }
}

/// The four flow controls of the paper, and xoff's extension, of each size.
type BySize = Vec<(u32, [Pooled; 5])>;

/// Sizes for which there are cases, with the four flow controls pooled.
fn by_size(cases: &[Case]) -> BySize {
    let mut sizes: Vec<u32> = cases.iter().map(|c| c.network.k).collect();
    sizes.dedup();
    let of = |k: u32| Scheme::WITH_REPAIR.map(|s| Pooled::of(cases.iter().filter(|c| c.network.k == k), s));
    sizes.into_iter().map(|k| (k, of(k))).filter(|(_, p)| p[0].runs > 0).collect()
}

/// The paper's four: the one with the largest mean over the one with the smallest, network by network, minus one.
fn spread(p: &[Pooled; 5], of: fn(&(f64, f64)) -> f64) -> Mean {
    let values = Scheme::ALL.map(|s| p[s as usize].each.iter().map(of).collect::<Vec<f64>>());
    let mean = |v: &&Vec<f64>| Mean::of(v.iter().copied()).mean;
    let largest = values.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    let smallest = values.iter().min_by(|a, b| mean(a).total_cmp(&mean(b)));
    Mean::ratio(largest.expect("four"), smallest.expect("four")).plus(-1.0)
}

/// Mean rate of each run over a rate.
fn over(p: &Pooled, rate: f64) -> Mean {
    Mean::of(p.each.iter().map(|e| e.0 / rate))
}

/// Rate at the end of each run with a deadlock over the mean without a cycle.
fn after_deadlock(own: &Pooled, free: &Pooled) -> Mean {
    Mean::of(own.tail_deadlocked.iter().map(|rate| rate / free.throughput.mean()))
}

/// Number of networks that represent the paper's 100.
fn sample(k: u32, p: &[Pooled; 5]) -> String {
    format!("k = {k}, {} networks", p[0].runs)
}

fn study(cx: &Context) -> Result<LargeScale, ReproduceError> {
    let parts = Parts { headline: true, free: true, stuck: true, round_robin: true, ..Parts::default() };
    LargeScale::run(cx, Sizes::of(cx.mode), parts)
}

/// The entry of Fig. 16.
pub fn run_fig16(cx: &Context) -> Result<Findings, ReproduceError> {
    Ok(throughput(&study(cx)?))
}

/// The entry of Fig. 17.
pub fn run_fig17(cx: &Context) -> Result<Findings, ReproduceError> {
    Ok(slowdown(&study(cx)?))
}

fn rate(v: f64) -> String {
    Unit::BitsPerSecond.format(v)
}

/// Available bandwidth.
pub fn throughput(study: &LargeScale) -> Findings {
    let mut f = Findings::default();
    let (free, stuck) = (by_size(&study.free), by_size(&study.stuck));
    let ecmp = study.free_more.first().map_or(Vec::new(), |cases| by_size(cases));
    for (name, sizes, assumption) in [("no cycle", &free, LOWEST_ID), ("no cycle, ECMP", &ecmp, ECMP)] {
        for (k, p) in sizes {
            let what = format!("{}, {name}: mean throughput, ratio of the largest of the four to the smallest, minus 1", sample(*k, p));
            f.checks.push(
                Check::mean(what, Unit::Fraction, spread(p, |e| e.0), -0.02, 0.02)
                    .possible(0.0, f64::INFINITY)
                    .claimed()
                    .assuming(assumption),
            );
        }
    }
    for (k, p) in &free {
        for (gentle, other) in [(Scheme::GfcBuffer, Scheme::Pfc), (Scheme::GfcTime, Scheme::Cbfc)] {
            let ratio = p[gentle as usize].throughput.deviation() / p[other as usize].throughput.deviation();
            f.checks.push(
                Check::new(
                    format!("k = {k}, no cycle: standard deviation of {}, relative to {}", gentle.title(), other.title()),
                    Unit::None,
                    ratio,
                    0.0,
                    1.0,
                )
                .claimed()
                .assuming(LOWEST_ID),
            );
        }
    }
    for (k, p) in &stuck {
        let Some(base) = free.iter().find(|(size, _)| size == k) else { continue };
        for scheme in Scheme::ALL {
            let (own, free) = (&p[scheme as usize], &base.1[scheme as usize]);
            if scheme.is_gentle() {
                let what =
                    format!("k = {k}, {} deadlock cases: throughput of {}, relative to networks without a cycle", own.runs, scheme.title());
                f.checks.push(Check::mean(what, Unit::None, over(own, free.throughput.mean()), 0.95, 1.05).claimed().assuming(FIFO));
            } else if !own.tail_deadlocked.is_empty() {
                let what = format!(
                    "k = {k}, the {} of {} runs that deadlock under {}: throughput in the last 5 ms, relative to networks without a cycle",
                    own.deadlocks,
                    own.runs,
                    scheme.title()
                );
                f.checks.push(Check::mean(what, Unit::None, after_deadlock(own, free), 0.0, 0.05).claimed().assuming(FIFO));
            }
        }
    }
    let round_robin = by_size(&study.stuck_round_robin);
    f.measured = [("No cycle", &free), ("Deadlock cases, FIFO", &stuck), ("The same networks and traffic, round robin", &round_robin)]
        .iter()
        .flat_map(|(name, sizes)| {
            sizes.iter().map(move |(k, p)| format!("{name}, k = {k}: {}", p.each_ref().map(|p| rate(p.throughput.mean())).join(", ")))
        })
        .collect::<Vec<_>>()
        .join(". ")
        + " (mean per server; PFC, CBFC, buffer-based GFC, time-based GFC, and buffer-based GFC with entry ports).";
    explain_throughput(&stuck, &round_robin, &mut f);
    f.why.extend(
        [("FIFO", &study.stuck), ("round robin", &study.stuck_round_robin)]
            .into_iter()
            .filter_map(|(name, cases)| coincidence(name, cases)),
    );
    let figure = throughput_figure(&free, &stuck, &round_robin);
    f.figures.push(figure);
    f.tables.push(table(study, &[("No cycle", &free), ("Deadlock cases", &stuck), ("Deadlock cases, round robin", &round_robin)]));
    f
}

fn throughput_figure(free: &BySize, stuck: &BySize, round_robin: &BySize) -> Figure {
    let bar = |p: &Pooled| {
        let (mean, sd) = (p.throughput.mean(), p.throughput.deviation());
        Bar::with_interval(mean, (mean - sd).max(0.0), mean + sd)
    };
    let axis = || Axis::new("Throughput per server", Unit::BitsPerSecond);
    Figure::new("Fig. 16: available bandwidth")
        .caption(
            "Bytes delivered to each server per 100 us: mean and standard deviation over servers and windows. (b) and (c): the last 5 ms.",
        )
        .panel(bars("(a) No cycle", free, axis(), bar))
        .panel(bars("(b) Deadlock cases", stuck, axis(), |p| Bar::new(p.tail.mean())))
        .panel(bars("(c) Like (b), round robin", round_robin, axis(), |p| Bar::new(p.tail.mean())))
        .columns(2)
}

/// In how many of the runs that deadlock under PFC each kind of GFC stops, and what it delivers at the end.
fn coincidence(name: &str, cases: &[Case]) -> Option<String> {
    let dead: Vec<&Case> = cases.iter().filter(|c| c.deadlocks(Scheme::Pfc) == Some(true)).collect();
    let of = |scheme: Scheme| {
        let p = Pooled::of(dead.iter().copied(), scheme);
        (p.runs, p.standstill, rate(p.tail.mean()))
    };
    let ((runs, buffer, buffer_rate), (_, time, time_rate)) = (of(Scheme::GfcBuffer), of(Scheme::GfcTime));
    (runs > 0).then(|| {
        format!(
            "{name}: in {runs} of {} of these runs PFC deadlocks within 60 ms. In those runs, ports stop under buffer-based GFC in \
             {buffer} and under time-based GFC in {time}, and a server receives {buffer_rate} and {time_rate} in the last 5 ms.",
            cases.len()
        )
    })
}

fn explain_throughput(stuck: &[(u32, [Pooled; 5])], round_robin: &[(u32, [Pooled; 5])], f: &mut Findings) {
    for (k, p) in stuck {
        let of = |s: Scheme| (&p[s as usize].standstill, rate(p[s as usize].tail.mean()));
        let ((b, b_rate), (t, t_rate)) = (of(Scheme::GfcBuffer), of(Scheme::GfcTime));
        let round_robin_text = round_robin.iter().find(|(size, _)| size == k).map_or(String::new(), |(_, r)| {
            let of = |s: Scheme| (r[s as usize].standstill, rate(r[s as usize].tail.mean()));
            let ((b, b_rate), (t, t_rate)) = (of(Scheme::GfcBuffer), of(Scheme::GfcTime));
            let pfc = &r[Scheme::Pfc as usize];
            format!(
                " With round robin across ingresses the same networks and traffic end at {b_rate} and {t_rate}, with such ports in {b} \
                 and {t}. PFC then ends at {} and deadlocks in {}.",
                rate(pfc.tail.mean()),
                pfc.deadlocks
            )
        });
        f.why.push(format!(
            "k = {k}: under FIFO GFC does not deadlock. Nevertheless ports slow down to a standstill in {b} (buffer-based) and {t} \
             (time-based) of {} networks, and the servers end at {b_rate} and {t_rate}.{round_robin_text}",
            p[0].runs
        ));
    }
}

/// Slowdown.
pub fn slowdown(study: &LargeScale) -> Findings {
    let mut f = Findings::default();
    let (free, stuck) = (by_size(&study.free), by_size(&study.stuck));
    let mut words = Vec::new();
    let ecmp = study.free_more.first().map_or(Vec::new(), |cases| by_size(cases));
    for (k, p) in &ecmp {
        let what = format!("{}, no cycle, ECMP: mean slowdown, ratio of the largest of the four to the smallest, minus 1", sample(*k, p));
        f.checks
            .push(Check::mean(what, Unit::Fraction, spread(p, |e| e.1), -0.05, 0.05).possible(0.0, f64::INFINITY).claimed().assuming(ECMP));
    }
    for (k, p) in &free {
        let means = p.each_ref().map(|p| Mean::of(p.each.iter().map(|e| e.1)).mean);
        let what = format!("{}, no cycle: mean slowdown, ratio of the largest of the four to the smallest, minus 1", sample(*k, p));
        f.checks.push(
            Check::mean(what, Unit::Fraction, spread(p, |e| e.1), -0.05, 0.05).possible(0.0, f64::INFINITY).claimed().assuming(LOWEST_ID),
        );
        words.push(format!("k = {k}: {}", means.map(|m| format!("{m:.1}")).join(", ")));
        let fill = p.each_ref().map(|p| Unit::Bytes.format(p.ingress.mean()));
        f.why.push(format!(
            "k = {k}: three flows in four fit into three frames, so that the mean slowdown is the waiting time of one frame. It follows \
             the mean fill of the ingress buffers in use: {} (PFC, CBFC, buffer-based GFC, time-based GFC, buffer-based GFC with entry \
             ports). Time-based GFC slows down from 159 KB on, entry ports by the queue at the egress, and the others from 280 KB on.",
            fill.join(", ")
        ));
    }
    for (k, p) in &stuck {
        let Some((_, base)) = free.iter().find(|(size, _)| size == k) else { continue };
        for scheme in Scheme::ALL {
            let (own, free) = (&p[scheme as usize], &base[scheme as usize]);
            if scheme.is_gentle() {
                let what = format!(
                    "k = {k}, deadlock cases: flows completed per ms under {}, relative to networks without a cycle",
                    scheme.title()
                );
                f.checks.push(
                    Check::mean(
                        what,
                        Unit::None,
                        Mean::of(own.complete.iter().copied()).over(Mean::of(free.complete.iter().copied())),
                        0.95,
                        1.05,
                    )
                    .claimed()
                    .assuming(FIFO),
                );
            } else if !own.tail_deadlocked.is_empty() {
                // Flows that a deadlock holds never end. What shows it: nothing arrives any more.
                let what = format!(
                    "k = {k}, the {} of {} runs that deadlock under {}: bytes that still arrive in the last 5 ms, relative to networks without a cycle",
                    own.deadlocks,
                    own.runs,
                    scheme.title()
                );
                f.checks.push(Check::mean(what, Unit::None, after_deadlock(own, free), 0.0, 0.05).claimed().assuming(FIFO));
            }
        }
    }
    f.measured = format!(
        "Mean slowdown without a cycle, averaged over the networks, for PFC, CBFC, buffer-based GFC, time-based GFC, buffer-based GFC \
         with entry ports: {}.",
        words.join("; ")
    );
    let smallest = |k: u32| {
        let p = free.iter().find(|(size, _)| *size == k).map(|(_, p)| p.each_ref().map(|p| p.slowdown.mean()));
        p.map_or(f64::NAN, |m| m.into_iter().fold(f64::INFINITY, f64::min))
    };
    let axis = || Axis::new("Mean slowdown over the smallest", Unit::None);
    let figure = Figure::new("Fig. 17: slowdown, normalised to the smallest of each size")
        .caption(
            "Flow completion time over the shortest possible time, averaged over complete flows. Flows in a deadlock never \
            complete and do not count.",
        )
        .panel(bars_by("(a) No cycle", &free, axis(), |k, p| Bar::new(p.slowdown.mean() / smallest(k))))
        .panel(bars("(b) Deadlock cases: flows completed", &stuck, Axis::new("Share of the flows started", Unit::Fraction), |p| {
            Bar::new(p.flows.1 as f64 / p.flows.0 as f64)
        }))
        .columns(2);
    f.figures.push(figure);
    f.tables.push(table(study, &[("No cycle", &free), ("Deadlock cases", &stuck)]));
    f
}

fn bars(title: &str, sizes: &[(u32, [Pooled; 5])], y: Axis, bar: impl Fn(&Pooled) -> Bar) -> Panel {
    bars_by(title, sizes, y, |_, p| bar(p))
}

fn bars_by(title: &str, sizes: &[(u32, [Pooled; 5])], y: Axis, bar: impl Fn(u32, &Pooled) -> Bar) -> Panel {
    let group =
        |s: Scheme| BarGroup::new(s.title(), sizes.iter().map(|(k, p)| bar(*k, &p[s as usize]))).colour(WITH_REPAIR[s as usize].colour);
    let labels = sizes.iter().map(|(k, _)| format!("k = {k}"));
    Panel::new(title, Axis::new("", Unit::None), y).mark(Mark::bars(labels, Scheme::WITH_REPAIR.map(group)))
}

fn table(study: &LargeScale, parts: &[(&str, &BySize)]) -> Table {
    let more: Vec<(&str, BySize)> = FREE_MORE.iter().zip(&study.free_more).map(|(m, cases)| (m.2, by_size(cases))).collect();
    let parts = parts.iter().copied().chain(more.iter().map(|(name, sizes)| (*name, sizes)));
    let columns = [
        "Networks",
        "Flow control",
        "Throughput",
        "Standard deviation",
        "Last 5 ms",
        "Slowdown",
        "Total time over ideal",
        "Mean fill",
        "Deadlocks",
        "Ports at a standstill",
        "Flows without a byte for 1 ms and 5 ms",
    ];
    let mut t = Table::new(columns).align([Align::Left, Align::Left].into_iter().chain([Align::Right; 9])).caption(
        "Throughput per server. Slowdown over complete flows, each counted once, and weighted by its shortest possible time. Mean fill \
         of ingress buffers in use. Runs with a deadlock. Runs with a port that was allowed less than one frame in 5 ms for 5 ms. Runs \
         with a flow that had no byte for 1 ms, for 5 ms, and up to the end: the last counts as stopped. Mean rate and slowdown of a \
         run have 95 % intervals.",
    );
    for (name, sizes) in parts {
        for (k, pooled) in sizes.iter() {
            for (scheme, p) in Scheme::WITH_REPAIR.iter().zip(pooled) {
                let mean = |of: fn(&(f64, f64)) -> f64| Mean::of(p.each.iter().map(of));
                let row: [Cell; 11] = [
                    format!("{name}, k = {k} ({})", p.runs).into(),
                    scheme.title().into(),
                    mean(|e| e.0).words(rate).into(),
                    rate(p.throughput.deviation()).into(),
                    rate(p.tail.mean()).into(),
                    mean(|e| e.1).words(|v| format!("{v:.1}")).into(),
                    format!("{:.2}", p.fct_ps.0 / p.fct_ps.1).into(),
                    Unit::Bytes.format(p.ingress.mean()).into(),
                    p.deadlocks.into(),
                    p.standstill.into(),
                    format!("{} and {}", p.still.0, p.still.1).into(),
                ];
                t.push(row);
            }
        }
    }
    t
}
