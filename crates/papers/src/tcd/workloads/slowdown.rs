//! Figs. 16 and 19: slowdown by flow size, without and with TCD; and Fig. 16 again with GFC in place of PFC.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};

use crate::stats::Mean;
use crate::study::Series;
use crate::tcd::run::{Pick, Plan, Results};
use crate::tcd::schemes::{DCQCN, DCQCN_TCD, DCQCN_TCD_B, Scheme, TIMELY, TIMELY_TCD};
use crate::{Check, Context, Findings, Mode, ReproduceError};

const FILE: &str = "workloads.toml";
/// Names of the percentiles.
const WHICH: [&str; 3] = ["median", "95th percentile", "99th percentile"];
/// What is left open for all of them.
const FABRIC: &str = "flows from any host to any other, paths by hash, round robin across ingresses at every egress";
const READING_A: &str = "alpha 1.2 is the initial value (reading A)";
const TIMELY_RTT: &str = "TIMELY as published with D_minRTT 20 us, though the unloaded round trip here is 32 to 48 us";

/// Another reading of what the paper leaves open: what is different, and the settings.
type Reading = (&'static str, &'static [&'static str]);
/// What else may have been the paper's fabric.
const FABRICS: [Reading; 3] = [
    ("order of arrival at every egress", &["switch.discipline=fifo"]),
    ("90 % load", &["workload[0].load=0.9"]),
    ("order of arrival and 90 % load", &["switch.discipline=fifo", "workload[0].load=0.9"]),
];
/// What else may have been the paper's TIMELY.
const ROUND_TRIPS: [Reading; 1] = [("D_minRTT 48 us", &["rate_control.timely.min_rtt=48us"])];

/// A distribution of sizes with the sizes that are examined.
pub struct Workload {
    /// As in a scenario.
    pub cdf: &'static str,
    /// As in the paper.
    pub title: &'static str,
    /// Edges of the bins of the figure [bytes].
    edges: &'static [u64],
    /// Ranges the paper speaks of: name, first size, first size that is too large.
    ranges: &'static [(&'static str, u64, u64)],
}

/// Hadoop.
pub const HADOOP: Workload = Workload {
    cdf: "hadoop",
    title: "Hadoop",
    edges: &[100, 500, 1_000, 7_000, 30_000, 50_000, 80_000, 120_000, 300_000, 1_000_000, 10_000_000],
    ranges: &[("all", 0, u64::MAX), ("< 80 KB", 0, 80_000), ("< 50 KB", 0, 50_000), ("> 100 KB", 100_000, u64::MAX)],
};
/// WebSearch.
pub const WEBSEARCH: Workload = Workload {
    cdf: "websearch",
    title: "WebSearch",
    edges: &[1_000, 10_000, 20_000, 30_000, 50_000, 80_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 30_000_000],
    ranges: &[("all", 0, u64::MAX), ("< 500 KB", 0, 500_000), ("< 50 KB", 0, 50_000), ("> 1 MB", 1_000_000, u64::MAX)],
};

impl Workload {
    fn bins(&self) -> usize {
        self.edges.len() - 1
    }
    /// The bins of the figure, then the ranges.
    fn picks(&self) -> Vec<Pick> {
        // The largest size belongs to the last bin.
        let last = self.bins() - 1;
        let bins = (0..=last).map(|b| Pick::new("", self.edges[b], if b == last { u64::MAX } else { self.edges[b + 1] }));
        bins.chain(self.ranges.iter().map(|&(_, low, high)| Pick::new("", low, high))).collect()
    }
    /// Place of a range in [`Workload::picks`].
    fn range(&self, nth: usize) -> usize {
        self.bins() + nth
    }
    fn name(&self, bin: usize) -> String {
        let size = |v: u64| Unit::Bytes.format(v as f64);
        format!("{} - {}", size(self.edges[bin]), size(self.edges[bin + 1]))
    }
}

/// How large a study is.
pub struct Size {
    k: u64,
    flows: u64,
    seeds: u64,
}

impl Size {
    /// Of a workload in a mode.
    fn of(mode: Mode, w: &Workload) -> Size {
        match (mode, w.cdf) {
            (Mode::Quick, "hadoop") => Size { k: 4, flows: 4_000, seeds: 3 },
            (Mode::Quick, _) => Size { k: 4, flows: 600, seeds: 3 },
            (Mode::Full, "hadoop") => Size { k: 10, flows: 40_000, seeds: 3 },
            (Mode::Full, _) => Size { k: 10, flows: 40_000, seeds: 1 },
        }
    }
    fn settings(&self, w: &Workload, flow_control: &str) -> Vec<String> {
        vec![
            format!("topology.k={}", self.k),
            format!("workload[0].flows={}", self.flows),
            format!("workload[0].cdf={}", w.cdf),
            format!("flow_control.kind={flow_control}"),
        ]
    }
    fn words(&self) -> String {
        format!(
            "k = {}, {} hosts, {} flows, {} seed{}",
            self.k,
            self.k * self.k * self.k / 4,
            self.flows,
            self.seeds,
            if self.seeds == 1 { "" } else { "s" }
        )
    }
}

/// A range of sizes, a percentile, the accepted ratio and the paper's.
struct Expected {
    range: usize,
    which: usize,
    low: f64,
    high: f64,
    paper: Option<f64>,
}

const fn expect(range: usize, which: usize, low: f64, high: f64, paper: Option<f64>) -> Expected {
    Expected { range, which, low, high, paper }
}

/// A pair of schemes under a workload, run.
pub struct Pair {
    results: Results,
    without: Series,
    with: Series,
    /// Other schemes, beside.
    others: Vec<Series>,
    /// Other readings of what the paper leaves open, without and with TCD, first seed: what is different.
    readings: Vec<(&'static str, Series, Series)>,
    size: Size,
}

/// Runs a workload without and with TCD, and other schemes beside.
fn pair(
    cx: &Context,
    w: &Workload,
    flow_control: &str,
    schemes: [&Scheme; 2],
    others: &[Scheme],
    readings: &[Reading],
) -> Result<Pair, ReproduceError> {
    let size = Size::of(cx.mode, w);
    let (settings, groups) = (size.settings(w, flow_control), w.picks());
    let mut plan = Plan::default();
    let mut add = |scheme: &Scheme| plan.series(cx, size.seeds, FILE, scheme, &settings, &groups);
    let [without, with] = schemes.map(&mut add);
    let others = others.iter().map(add).collect();
    let readings = readings.iter().map(|(name, more)| {
        let settings: Vec<String> = settings.iter().cloned().chain(more.iter().map(|s| (*s).to_owned())).collect();
        let [without, with] = schemes.map(|s| plan.series(cx, 1, FILE, s, &settings, &groups));
        (*name, without, with)
    });
    let readings = readings.collect();
    Ok(Pair { results: plan.run(cx)?, without, with, others, readings, size })
}

impl Pair {
    /// The two of Fig. 16.
    pub fn dcqcn(cx: &Context, w: &Workload, flow_control: &str) -> Result<Pair, ReproduceError> {
        // What costs minutes a run is run without what is only shown beside.
        let short = cx.mode == Mode::Quick || w.cdf == HADOOP.cdf;
        let others: &[Scheme] = if flow_control == "pfc" && short { &[DCQCN_TCD_B] } else { &[] };
        let readings: &[_] = if flow_control == "pfc" && w.cdf == HADOOP.cdf { &FABRICS } else { &[] };
        pair(cx, w, flow_control, [&DCQCN, &DCQCN_TCD], others, readings)
    }
    /// The two of Fig. 19.
    pub fn timely(cx: &Context, w: &Workload) -> Result<Pair, ReproduceError> {
        let readings: &[_] = if w.cdf == HADOOP.cdf { &ROUND_TRIPS } else { &[] };
        pair(cx, w, "pfc", [&TIMELY, &TIMELY_TCD], &[], readings)
    }
    /// How many times smaller a percentile is with TCD.
    fn gain(&self, group: usize, which: usize) -> Mean {
        self.results.ratio(self.without, self.with, group, |g| g.quantile(which))
    }
    fn value(&self, series: Series, group: usize, which: usize) -> Mean {
        self.results.mean(series, group, |g| g.quantile(which))
    }
    /// The largest gain over the bins of a figure that hold at least 50 flows: its bin, the gain.
    pub fn best(&self, w: &Workload, which: usize) -> (String, Mean) {
        let nothing = Mean { mean: f64::NAN, low: f64::NAN, high: f64::NAN, n: 0 };
        (0..w.bins())
            .filter(|&b| self.results.flows(self.without, b) >= 50)
            .map(|b| (w.name(b), self.gain(b, which)))
            .fold((String::new(), nothing), |best, one| if one.1.mean > best.1.mean || best.1.mean.is_nan() { one } else { best })
    }
}

/// The entry of Fig. 16(a).
pub fn run_fig16a(cx: &Context) -> Result<Findings, ReproduceError> {
    let pair = Pair::dcqcn(cx, &HADOOP, "pfc")?;
    let expected = [expect(1, 0, 1.5, 5.0, Some(10.8 / 3.6)), expect(2, 2, 1.2, 2.2, Some(1.7)), expect(3, 0, 0.85, 1.15, Some(1.0))];
    let mut f = judged(cx, &pair, &HADOOP, &DCQCN, &DCQCN_TCD, &expected, &format!("{FABRIC}; {READING_A}"), "Fig. 16a");
    let (a, b) = (pair.value(pair.without, HADOOP.range(1), 0).mean, pair.value(pair.with, HADOOP.range(1), 0).mean);
    f.notes.push(format!("Median slowdown below 80 KB: {a:.2} without TCD (paper 10.8), {b:.2} with it (paper 3.6)."));
    f.notes.extend(reading_b(&pair, &HADOOP));
    Ok(f)
}

/// The entry of Fig. 16(b).
pub fn run_fig16b(cx: &Context) -> Result<Findings, ReproduceError> {
    let pair = Pair::dcqcn(cx, &WEBSEARCH, "pfc")?;
    let expected = [expect(1, 0, 1.3, 3.0, Some(4.6 / 2.5)), expect(1, 2, 1.3, 3.0, Some(2.0)), expect(3, 2, 0.85, 1.15, Some(1.0))];
    let mut f = judged(cx, &pair, &WEBSEARCH, &DCQCN, &DCQCN_TCD, &expected, &format!("{FABRIC}; {READING_A}"), "Fig. 16b");
    let (a, b) = (pair.value(pair.without, WEBSEARCH.range(1), 0).mean, pair.value(pair.with, WEBSEARCH.range(1), 0).mean);
    f.notes.push(format!("Median slowdown below 500 KB: {a:.2} without TCD (paper 4.6), {b:.2} with it (paper 2.5)."));
    f.notes.extend(reading_b(&pair, &WEBSEARCH));
    Ok(f)
}

/// The entry of Fig. 19(a).
pub fn run_fig19a(cx: &Context) -> Result<Findings, ReproduceError> {
    let pair = Pair::timely(cx, &HADOOP)?;
    let expected = [expect(2, 2, 1.1, 2.0, Some(50.3 / 36.6)), expect(1, 0, 1.0, f64::INFINITY, None)];
    let mut f = judged(cx, &pair, &HADOOP, &TIMELY, &TIMELY_TCD, &expected, &format!("{FABRIC}; {TIMELY_RTT}"), "Fig. 19a");
    let (a, b) = (pair.value(pair.without, HADOOP.range(2), 2).mean, pair.value(pair.with, HADOOP.range(2), 2).mean);
    f.notes.push(format!("99th percentile of the slowdown below 50 KB: {a:.1} without TCD (paper 50.3), {b:.1} with it (paper 36.6)."));
    Ok(f)
}

/// The entry of Fig. 19(b).
pub fn run_fig19b(cx: &Context) -> Result<Findings, ReproduceError> {
    let pair = Pair::timely(cx, &WEBSEARCH)?;
    let expected = [expect(1, 0, 1.0, f64::INFINITY, None), expect(1, 2, 1.0, f64::INFINITY, None)];
    Ok(judged(cx, &pair, &WEBSEARCH, &TIMELY, &TIMELY_TCD, &expected, &format!("{FABRIC}; {TIMELY_RTT}"), "Fig. 19b"))
}

/// The entry beyond the paper: Fig. 16 with buffer-based GFC.
pub fn run_fig16_gfc(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all = Findings::default();
    let assuming = format!("buffer-based GFC in place of PFC, same memory; {FABRIC}; {READING_A}");
    let mut measured = Vec::new();
    for (w, range) in [(&HADOOP, "Fig. 16a with GFC"), (&WEBSEARCH, "Fig. 16b with GFC")] {
        let pair = Pair::dcqcn(cx, w, "gfc-buffer")?;
        let expected = [expect(1, 0, 1.1, f64::INFINITY, None), expect(1, 2, 1.1, f64::INFINITY, None)];
        let one = judged(cx, &pair, w, &DCQCN, &DCQCN_TCD, &expected, &assuming, range);
        measured.push(one.measured);
        all.checks.extend(one.checks.into_iter().map(|mut c| {
            c.what = format!("{}, {}", w.title, c.what);
            c
        }));
        all.figures.extend(one.figures);
        all.tables.extend(one.tables);
        let pfc = Pair::dcqcn(cx, w, "pfc")?;
        for (name, p) in [("PFC", &pfc), ("GFC", &pair)] {
            let at = |series, which| p.value(series, w.range(1), which).mean;
            all.notes.push(format!(
                "{} on {name}, {}: median {:.2} without TCD, {:.2} with it; 99th percentile {:.1} and {:.1}. Flow control sent {:.0} and {:.0} messages.",
                w.title,
                w.ranges[1].0,
                at(p.without, 0),
                at(p.with, 0),
                at(p.without, 2),
                at(p.with, 2),
                p.results.total(p.without, |t| t.messages as f64).mean,
                p.results.total(p.with, |t| t.messages as f64).mean
            ));
        }
        all.notes.extend(one.notes);
    }
    all.measured = measured.join(" ");
    Ok(all)
}

/// What the other reading of alpha gives.
fn reading_b(pair: &Pair, w: &Workload) -> Option<String> {
    let b = *pair.others.first()?;
    let gain = |group: usize, which: usize| pair.results.ratio(pair.without, b, group, |g| g.quantile(which));
    let times = |v: f64| format!("{v:.2}x");
    Some(format!(
        "The other reading of alpha (B: a cut leaves 1 - 1.2 alpha): {} gains {} at the median and {} at the 99th percentile, {} {} and {}.",
        w.ranges[1].0,
        gain(w.range(1), 0).words(times),
        gain(w.range(1), 2).words(times),
        w.ranges[3].0,
        gain(w.range(3), 0).words(times),
        gain(w.range(3), 2).words(times)
    ))
}

#[allow(clippy::too_many_arguments)]
fn judged(
    cx: &Context,
    pair: &Pair,
    w: &Workload,
    without: &Scheme,
    with: &Scheme,
    expected: &[Expected],
    assuming: &str,
    figure: &str,
) -> Findings {
    let times = |v: f64| format!("{v:.2}x");
    let mut f = Findings::default();
    for e in expected {
        let what = format!("{}, {}: slowdown without TCD over that with it", w.ranges[e.range].0, WHICH[e.which]);
        let check = Check::new(what, Unit::None, pair.gain(w.range(e.range), e.which).mean, e.low, e.high);
        f.checks.push(e.paper.map_or(check.clone().claimed(), |p| check.paper(p)).assuming(assuming));
    }
    f.checks.extend(pair.results.soundness());
    let words: Vec<String> = (0..w.ranges.len())
        .map(|r| {
            let gains: Vec<String> = [0, 2].map(|which| pair.gain(w.range(r), which).words(times)).into();
            format!("{} {}", w.ranges[r].0, gains.join(" and "))
        })
        .collect();
    f.measured = format!(
        "{}, {}. Slowdown is smaller with TCD at the median and at the 99th percentile by (mean over seeds, 95 % interval): {}.",
        w.title,
        pair.size.words(),
        words.join("; ")
    );
    if cx.mode == Mode::Quick {
        f.notes.push(format!("Quick: {}; the paper has k = 10, 250 hosts and 40 thousand flows.", pair.size.words()));
    } else if pair.size.seeds == 1 {
        f.notes.push("One seed: a run of this workload takes minutes. There is no interval.".into());
    }
    for (name, without, with) in &pair.readings {
        let both = |range: usize, which: usize| {
            let of = |s: Series| pair.value(s, w.range(range), which).mean;
            format!("{:.2} and {:.2}", of(*without), of(*with))
        };
        f.why.push(format!(
            "Under another reading, {name} (first seed), the slowdown {} without and with TCD is {} at the median and {} at the 99th percentile.",
            w.ranges[1].0,
            both(1, 0),
            both(1, 2)
        ));
    }
    f.figures.push(draw(pair, w, without, with, figure));
    f.tables.push(table(pair, w, without, with));
    f
}

fn draw(pair: &Pair, w: &Workload, without: &Scheme, with: &Scheme, name: &str) -> Figure {
    let middle = |b: usize| (w.edges[b] as f64 * w.edges[b + 1] as f64).sqrt();
    let mut figure = Figure::new(format!("{}: slowdown by flow size (paper: {name})", w.title))
        .caption("Completion time over the shortest possible time of the flow on its own path; a point stands for the sizes around it, its value is the mean over seeds.")
        .note(pair.size.words())
        .columns(3);
    let mut lines = vec![(without, pair.without), (with, pair.with)];
    if let Some(b) = pair.others.first() {
        lines.push((&DCQCN_TCD_B, *b));
    }
    for (which, title) in WHICH.iter().enumerate() {
        let x = Axis::new("Flow size", Unit::Bytes).log();
        let mut panel = Panel::new(*title, x, Axis::new("Slowdown", Unit::None).log());
        for (scheme, series) in &lines {
            let points = (0..w.bins()).map(|b| (middle(b), pair.value(*series, b, which).mean)).filter(|p| p.1.is_finite());
            let line = Mark::line(scheme.name, points).colour(scheme.colour);
            panel = panel.mark(if scheme.name == DCQCN_TCD_B.name { line.dashed() } else { line });
        }
        figure = figure.panel(panel);
    }
    figure
}

fn table(pair: &Pair, w: &Workload, without: &Scheme, with: &Scheme) -> Table {
    let mut columns = vec!["Flow size".to_owned(), "Flows".into()];
    for which in WHICH {
        columns.extend([format!("{which}, {}", without.name), with.name.into(), "gain".into()]);
    }
    columns.extend(["Marked CE without".into(), "CE with TCD".into(), "UE with TCD".into()]);
    let mut t = Table::new(columns).align([Align::Left].into_iter().chain([Align::Right; 13])).caption(
        "Slowdown: means over seeds; gain: without TCD over with it, seed by seed, with its 95 % interval; share of the flows with a mark.",
    );
    let number = |v: f64| format!("{v:.2}");
    let names = (0..w.bins()).map(|b| w.name(b)).chain(w.ranges.iter().map(|r| r.0.to_owned()));
    for (group, name) in names.enumerate() {
        let mut row: Vec<Cell> = vec![name.into(), pair.results.flows(pair.without, group).into()];
        for which in 0..WHICH.len() {
            row.extend([pair.without, pair.with].map(|s| Cell::from(number(pair.value(s, group, which).mean))));
            row.push(pair.gain(group, which).words(number).into());
        }
        let share =
            |s, value: fn(&crate::tcd::run::Group) -> f64| Cell::from(Unit::Fraction.format(pair.results.mean(s, group, value).mean));
        row.extend([share(pair.without, |g| g.ce_share()), share(pair.with, |g| g.ce_share()), share(pair.with, |g| g.ue_share())]);
        t.push(row);
    }
    t
}
