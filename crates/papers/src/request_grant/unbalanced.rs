//! Figs. 13 and 14: throughput under unbalanced traffic, N = 64 and N = 256.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::{Config, Core, Pattern, Shape, Sizes, Spray, Traffic};

use super::run::{Plan, Results, Run, soundness};
use super::setups::{self, BURST, MAX_P, MIN_P};
use crate::stats::Mean;
use crate::study::Series;
use crate::{Check, Context, Findings, Mode, ReproduceError};

/// Workloads: name, sizes, packets of a burst, how much longer to measure: VOQs of large packets take longer to fill.
fn workloads() -> [(&'static str, Sizes, f64, u64); 4] {
    [
        ("40 B, smooth", setups::fixed(MIN_P), 1.0, 1),
        ("40 B, bursty", setups::fixed(MIN_P), BURST, 2),
        ("bimodal", setups::bimodal(), 1.0, 4),
        ("9000 B", setups::fixed(MAX_P), 1.0, 8),
    ]
}

fn shares(mode: Mode, ports: u32) -> &'static [f64] {
    match (mode, ports) {
        (Mode::Quick, 64) => &[0.0, 0.5, 1.0],
        (Mode::Quick, _) => &[0.5],
        (Mode::Full, 64) => &[0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0],
        (Mode::Full, _) => &[0.0, 0.25, 0.5, 0.75, 1.0],
    }
}

fn config(cx: &Context, ports: u32, w: f64, (_, sizes, burst, longer): (&str, Sizes, f64, u64)) -> Config {
    let traffic = Traffic { pattern: Pattern::Unbalanced { w }, load: 1.0, sizes, burst_packets: burst };
    let mut c = setups::section_4(traffic, 1.1);
    if ports == 256 {
        c.core = Core::Network(Shape::benes(16, 3));
        let (from, to) = cx.mode.pick((4_000, 9_000), (6_000, 20_000));
        let longer = longer.min(cx.mode.pick(3, 5));
        return setups::during(c, from * longer, to * longer);
    }
    setups::measured(cx, c, longer)
}

/// Throughput of every workload at every w.
struct Seen {
    ports: u32,
    shares: &'static [f64],
    series: Vec<Vec<Series>>,
    results: Results,
}

impl Seen {
    fn run(cx: &Context, ports: u32) -> Result<Seen, ReproduceError> {
        let mut plan = Plan::default();
        let shares = shares(cx.mode, ports);
        let seeds = setups::seeds(cx, ports);
        let series =
            workloads().iter().map(|&load| shares.iter().map(|&w| plan.series(cx, seeds, &config(cx, ports, w, load))).collect()).collect();
        Ok(Seen { ports, shares, series, results: plan.run(cx)? })
    }

    fn throughput(&self, workload: usize, w: usize) -> Mean {
        self.results.mean(self.series[workload][w], |r| r.cold)
    }

    /// Lowest throughput of a workload, that whose interval reaches the lowest, and its w.
    fn lowest(&self, workload: usize) -> (Mean, f64) {
        let all = self.shares.iter().enumerate().map(|(i, &w)| (self.throughput(workload, i), w));
        all.min_by(|a, b| a.0.low.total_cmp(&b.0.low)).expect("a share of the traffic")
    }

    fn table(&self) -> Table {
        let mut t =
            Table::new(["Workload", "w", "Throughput", "Mean delay", "Control", "Unsolicited", "Overtaken", "Longest queue by stage"])
                .align([Align::Left].into_iter().chain([Align::Right; 7]))
                .caption(
                    "Load 1. Throughput with its 95 % interval over seeds; delay in t_min (queues at load 1 grow all the time). \
                Control: share of all bytes that are stand-alone control segments. Segments unsolicited and overtaken; queues in bytes.",
                );
        for (i, (name, ..)) in workloads().iter().enumerate() {
            for (k, w) in self.shares.iter().enumerate() {
                let (s, r) = (self.series[i][k], &self.results);
                let share = |v: f64| Unit::Fraction.format(v);
                let queues: Vec<String> = (0..3).map(|stage| r.max(s, |r| f64::from(r.queue_max[stage])).to_string()).collect();
                t.push([
                    Cell::from(*name),
                    format!("{w:.2}").into(),
                    r.mean(s, |r| r.cold).words(|v| format!("{v:.3}")).into(),
                    format!("{:.0}", r.mean(s, |r| r.delay.mean).mean).into(),
                    share(r.mean(s, |r| r.control_share).mean).into(),
                    share(r.mean(s, |r| r.unsolicited as f64 / r.segments as f64).mean).into(),
                    share(r.mean(s, |r| r.out_of_order as f64 / r.segments as f64).mean).into(),
                    queues.join(" / ").into(),
                ]);
            }
        }
        t
    }

    fn figure(&self, title: &str) -> Figure {
        let mut panel =
            Panel::new("", Axis::new("w", Unit::None).range(0.0, 1.0), Axis::new("Throughput", Unit::Fraction).range(0.8, 1.01));
        for (i, (name, ..)) in workloads().iter().enumerate() {
            let points: Vec<(f64, f64)> = self.shares.iter().enumerate().map(|(k, &w)| (w, self.throughput(i, k).mean)).collect();
            panel = panel.mark(if points.len() > 1 { Mark::line(*name, points) } else { Mark::points(*name, points) });
        }
        Figure::new(title)
            .caption(
                "From uniform traffic (w = 0) to one input per output (w = 1), all inputs fully loaded, links of 1.1 times the \
                line rate, control in band. The paper's worst is about 90 %.",
            )
            .panel(panel.mark(Mark::hline(0.9, "paper: worst")))
    }

    fn findings(&self, cx: &Context, title: &str) -> Findings {
        let mut f = Findings { figures: vec![self.figure(title)], tables: vec![self.table()], ..Findings::default() };
        let mut sentences = Vec::new();
        for (i, (name, ..)) in workloads().iter().enumerate() {
            let (low, at) = self.lowest(i);
            sentences.push(format!("{name} {:.3} (at w = {at})", low.mean));
            f.checks.push(Check::mean(format!("{name}: lowest throughput for any w"), Unit::Fraction, low, 0.89, 1.01).paper(0.9));
        }
        f.checks.push(soundness(&self.results));
        setups::assuming(&mut f.checks, setups::CROSSBAR);
        f.measured = format!("N = {}, lowest throughput: {}", self.ports, sentences.join(", "));
        setups::quick_note(cx, &mut f.notes);
        f
    }
}

/// Fig. 13.
pub fn run_fig13(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut f = Seen::run(cx, 64)?.findings(cx, "Unbalanced traffic, N = 64 (paper: Fig. 13)");
    // What becomes of w = 1 if a segment that is cut through holds the crossbar at the rate of its link.
    let mut plan = Plan::default();
    let load = workloads()[3];
    let series = [false, true].map(|holds| {
        let mut c = config(cx, 64, 1.0, load);
        c.element.holds = holds;
        plan.series(cx, setups::seeds(cx, 64), &c)
    });
    let results = plan.run(cx)?;
    let [shared, held] = series.map(|s| results.mean(s, |r| r.cold).mean);
    f.notes.push(format!(
        "A crossbar of L_S = 2 L_F must give an output that speed while a segment is still arriving. If such a segment holds the output \
         to its last bit, at the rate of its link, w = 1 with packets of 9000 B drops from {shared:.3} to {held:.3}. Eight flows with \
         paths in step then collide at the inputs of the last stage, and the FIFO queues there never recover (see `elements`)."
    ));
    Ok(f)
}

/// Fig. 14.
pub fn run_fig14(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut f = Seen::run(cx, 256)?.findings(cx, "Unbalanced traffic, N = 256 (paper: Fig. 14)");
    // The workload that falls short, with the segments of a flow on paths at random instead of round robin.
    let mut plan = Plan::default();
    let smooth = workloads()[0];
    let series = shares(cx.mode, 256)
        .iter()
        .map(|&w| (w, plan.series(cx, setups::seeds(cx, 256), &Config { spray: Spray::Random, ..config(cx, 256, w, smooth) })));
    let series: Vec<(f64, Series)> = series.collect();
    let results = plan.run(cx)?;
    let random: Vec<(f64, Mean)> = series.iter().map(|&(w, s)| (w, results.mean(s, |r| r.cold))).collect();
    let lowest = random.iter().map(|p| p.1).min_by(|a, b| a.low.total_cmp(&b.low)).expect("a share of the traffic");
    f.checks.push(Check::mean("40 B, smooth, paths at random: lowest throughput for any w", Unit::Fraction, lowest, 0.89, 1.01).paper(0.9));
    f.measured.push_str(&format!("; 40 B, smooth, with paths at random {:.3}", lowest.mean));
    let by_w: Vec<String> = random.iter().map(|(w, t)| format!("{:.3} at w = {w}", t.mean)).collect();
    f.notes.push(format!(
        "If each segment of the smooth 40 B packets takes a random path, the throughput is {}. The order of the paths therefore costs \
         the throughput here, not request-grant. Why flows that take their paths round robin, each from a random start, obstruct each \
         other was not measured. The paper mentions random load balancing (section 1) and a counter per flow that is incremented \
         (section 3.2).",
        by_w.join(", ")
    ));
    f.notes.push(
        "256 ports of 16 x 16 switches, a shorter run than N = 64. For the smooth traffic later in the run see \
        `unbalanced-worst`."
            .into(),
    );
    Ok(f)
}

/// Worst traffic, and its course over time.
#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
pub fn run_worst(cx: &Context) -> Result<Findings, ReproduceError> {
    let (small, large) = (Seen::run(cx, 64)?, Seen::run(cx, 256)?);
    // Smooth packets of 40 B at w = 0.5, for longer; and with nothing sent unasked.
    let mut plan = Plan::default();
    let load = workloads()[0];
    let until = cx.mode.pick(10_000, 60_000);
    let cases = [("N = 64", 64, true), ("N = 256", 256, true), ("N = 256, nothing unsolicited", 256, false)];
    let long = cases.map(|(_, ports, unsolicited)| {
        let c = Config { unsolicited, ..config(cx, ports, 0.5, load) };
        plan.series(cx, 1, &setups::during(c, until / 4, until))
    });
    let results = plan.run(cx)?;
    let others = |s: &Seen| (1..4).map(|i| s.lowest(i).0).min_by(|a, b| a.low.total_cmp(&b.low)).expect("workloads");
    let control = |s: &Seen, i: usize| s.results.mean(s.series[i][s.shares.len() / 2], |r| r.control_share).mean;
    let (smooth, at) = large.lowest(0);
    let mut checks = vec![
        Check::new("N = 256, 40 B smooth: its w", Unit::None, at, 0.1, 0.9).claimed(),
        Check::mean(
            "N = 256, 40 B smooth: lowest throughput minus lowest throughput of the other workloads",
            Unit::Fraction,
            smooth.less(others(&large)),
            -1.0,
            0.0,
        )
        .possible(-1.0, 1.0)
        .claimed(),
        Check::mean(
            "N = 64, 40 B smooth: lowest throughput minus lowest throughput of the other workloads",
            Unit::Fraction,
            small.lowest(0).0.less(others(&small)),
            -1.0,
            0.0,
        )
        .possible(-1.0, 1.0)
        .claimed(),
        Check::new(
            "40 B smooth, w = 0.5, N = 256: share of bytes in stand-alone control segments",
            Unit::Fraction,
            control(&large, 0),
            0.05,
            1.0,
        )
        .claimed(),
    ];
    setups::assuming(&mut checks, setups::CROSSBAR);
    let percent = |v: f64| Unit::Fraction.format(v);
    let end = |s: Series| {
        let of = &results.of(s)[0].stretches;
        of.iter().rev().take(5).map(|w| w.cold).sum::<f64>() / 5.0
    };
    let mut f = Findings {
        measured: format!(
            "40 B smooth: {:.3} at w = {at} for N = 256 (the others {:.3} or more), {:.3} for N = 64 (the others {:.3} or more). Over \
             {until} t_min at w = 0.5 it ends at {:.3} for N = 64, {:.3} for N = 256, {:.3} for N = 256 without unsolicited segments",
            smooth.mean,
            others(&large).mean,
            small.lowest(0).0.mean,
            others(&small).mean,
            end(long[0]),
            end(long[1]),
            end(long[2])
        ),
        checks,
        ..Findings::default()
    };
    f.why.push(format!(
        "Control matters most for small smooth packets: {} of the bytes for N = 64 and {} for N = 256 (bursts {}, 9000 B {}; w = 0.5). \
         With N = 64 this fits into the fabric's extra capacity, because segments fill as VOQs grow. With 256 flows per input hardly \
         two packets share a VOQ, and control takes more than the tenth that L_F = 1.1 L provides.",
        percent(control(&small, 0)),
        percent(control(&large, 0)),
        percent(control(&large, 1)),
        percent(control(&large, 3))
    ));
    let run = &results.of(long[1])[0];
    let falls = run
        .stretches
        .iter()
        .find(|w| w.cold < 0.88)
        .map_or("stays above 0.88".to_owned(), |w| format!("is below 0.88 from {:.0} t_min on", w.end));
    f.notes.push(format!(
        "At w = 0.5 the throughput of N = 256 {falls}. The adapters' links are always full, queues behind them reach their 60 KiB ({:?} \
         B by stage), and FIFO inputs spread the congestion. Unsolicited segments are {} of all, and no space is reserved for them. \
         Times that a link found no space, by stage from the adapters on: {:?}.",
        run.queue_max,
        percent(run.unsolicited as f64 / run.segments as f64),
        run.waits
    ));
    f.figures.push(over_time(cases.map(|c| c.0).into_iter().zip(long.map(|s| &results.of(s)[0]))));
    setups::quick_note(cx, &mut f.notes);
    Ok(f)
}

/// Throughput over time, a line a run.
fn over_time<'a>(runs: impl Iterator<Item = (&'a str, &'a Run)>) -> Figure {
    let mut panel = Panel::new("", Axis::new("Time", setups::t_min()), Axis::new("Throughput", Unit::Fraction).range(0.5, 1.01));
    for (name, run) in runs {
        panel = panel.mark(Mark::line(name, run.stretches.iter().map(|w| (w.end, w.cold)).collect::<Vec<_>>()));
    }
    Figure::new("Smooth packets of 40 B, w = 0.5, all inputs fully loaded")
        .caption(
            "Throughput over time, by number of ports: with many ports the links of the adapters, full of small segments, ACKs and \
            grants, fill the queues of the first stages.",
        )
        .panel(panel.mark(Mark::hline(0.9, "paper: about 90 %")))
}
