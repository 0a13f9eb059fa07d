//! Figs. 16 and 19: slowdown by flow size, without and with TCD; and Fig. 16 again with GFC in place of PFC.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};

use super::readings::{Hash, Load, Reading};
use crate::stats::Mean;
use crate::study::Series;
use crate::tcd::run::{Group, Pick, Plan, Results};
use crate::tcd::schemes::{DCQCN, DCQCN_TCD, DCQCN_TCD_B, Scheme, TIMELY, TIMELY_TCD};
use crate::tcd::victims::tab3::crossings;
use crate::{Check, Context, Findings, Mode, ReproduceError};

const FILE: &str = "workloads.toml";
/// Names of the percentiles.
const WHICH: [&str; 3] = ["median", "95th percentile", "99th percentile"];
/// Assumption of all entries.
const FABRIC: &str = "each flow goes from any host to any other. Switches and CNPs are as in ns3-rdma (FIFO at every egress, CNPs never \
    paused, one hash for all switches). The three tiers of links carry 60 % on average";
const READING_A: &str = "alpha 1.2 is the initial value (reading A)";
const TIMELY_RTT: &str = "TIMELY as published with D_minRTT 20 us, although the unloaded round trip here is 32 to 48 us";

/// The reading that is judged.
const BASE: Reading = Reading::new(Hash::Polarised, Load::Tiers);
/// The other readings of the hash and of the load under DCQCN, and loads between them.
const READINGS: [Reading; 6] = [
    Reading::new(Hash::Polarised, Load::Of(0.2)),
    Reading::new(Hash::Polarised, Load::Of(0.35)),
    Reading::new(Hash::Polarised, Load::Links),
    Reading::new(Hash::Polarised, Load::Hosts),
    Reading::new(Hash::Spread, Load::Hosts),
    Reading::new(Hash::Spread, Load::Tiers),
];
/// Sizes under TIMELY, where a run takes twice as long.
const TIMELY_READINGS: [Reading; 2] = [READINGS[3], READINGS[5]];

/// Flows of WebSearch in shorter runs.
const SHORTER: u64 = 12_000;

/// Settings over a scenario with their name.
type Variant = (&'static str, &'static [&'static str]);
/// Other readings of the paper's switch.
const SWITCHES: [Variant; 1] = [("ingresses served round robin", &["switch.discipline=round-robin"])];
/// A distribution of sizes with the sizes that are examined.
pub struct Workload {
    /// Name in a scenario.
    pub cdf: &'static str,
    /// Name in the paper.
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

/// Size of a study.
#[derive(Clone, Copy)]
pub struct Size {
    k: u64,
    flows: u64,
    seeds: u64,
}

impl Size {
    /// Size for a workload and a mode.
    fn of(mode: Mode, w: &Workload, rate_control: &str) -> Size {
        match (mode, w.cdf) {
            (Mode::Quick, "hadoop") => Size { k: 4, flows: 4_000, seeds: 3 },
            (Mode::Quick, _) => Size { k: 4, flows: 600, seeds: 3 },
            // A run with all of the paper's flows takes minutes, and half as long again under TIMELY.
            (Mode::Full, "websearch") if rate_control == TIMELY.name => Size { k: 10, flows: SHORTER, seeds: 5 },
            (Mode::Full, _) => Size { k: 10, flows: 40_000, seeds: 5 },
        }
    }
    fn settings(&self, w: &Workload, flow_control: &str, reading: &Reading) -> Vec<String> {
        let of_run = [
            format!("topology.k={}", self.k),
            format!("workload[0].flows={}", self.flows),
            format!("workload[0].cdf={}", w.cdf),
            format!("flow_control.kind={flow_control}"),
        ];
        of_run.into_iter().chain(reading.settings(self.k)).collect()
    }
    fn words(&self) -> String {
        format!("k = {}, {} hosts, {} flows, {} seeds", self.k, self.k * self.k * self.k / 4, self.flows, self.seeds)
    }
}

/// Expectation for a range of sizes.
#[derive(Clone, Copy)]
struct Expected {
    range: usize,
    /// Percentile.
    which: usize,
    of: What,
    low: f64,
    high: f64,
    paper: Option<f64>,
}

/// Expected band.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// Slowdown without TCD over that with it.
    Gain,
    /// Slowdown without TCD.
    Without,
    /// Slowdown with it.
    With,
}

const fn expect(range: usize, which: usize, low: f64, high: f64, paper: Option<f64>) -> Expected {
    Expected { range, which, of: What::Gain, low, high, paper }
}

/// A slowdown that the paper prints: within a factor of 1.5.
const fn level(range: usize, which: usize, of: What, paper: f64) -> Expected {
    Expected { range, which, of, low: paper / 1.5, high: paper * 1.5, paper: Some(paper) }
}

/// A pair of schemes under a workload, run.
pub struct Pair {
    results: Results,
    without: Series,
    with: Series,
    /// Other schemes, next to.
    others: Vec<Series>,
    /// Other readings of hash and load, without and with TCD.
    readings: Vec<(Reading, [Series; 2])>,
    /// Other readings of what else the paper leaves open.
    variants: Vec<(&'static str, [Series; 2])>,
    /// With fewer flows: how many.
    shorter: Option<(u64, [Series; 2])>,
    size: Size,
}

/// Runs in addition to the two schemes.
#[derive(Default)]
struct Beside {
    schemes: &'static [Scheme],
    readings: &'static [Reading],
    variants: &'static [Variant],
    /// So many flows.
    shorter: Option<u64>,
}

/// Runs a workload without and with TCD, and what stands next to.
fn pair(cx: &Context, w: &Workload, flow_control: &str, schemes: [&Scheme; 2], beside: &Beside) -> Result<Pair, ReproduceError> {
    pair_of(cx, w, flow_control, schemes, Size::of(cx.mode, w, schemes[0].name), beside)
}

/// [`pair`] of another size.
fn pair_of(
    cx: &Context,
    w: &Workload,
    flow_control: &str,
    schemes: [&Scheme; 2],
    size: Size,
    beside: &Beside,
) -> Result<Pair, ReproduceError> {
    let groups = w.picks();
    let mut plan = Plan::default();
    let mut of = |size: &Size, scheme: &Scheme, reading: &Reading, more: &[&str]| {
        let mut settings = size.settings(w, flow_control, reading);
        settings.extend(more.iter().map(|s| (*s).to_owned()));
        plan.series(cx, size.seeds, FILE, scheme, &settings, &groups)
    };
    let shorter = beside.shorter.map(|flows| (flows, schemes.map(|s| of(&Size { flows, ..size }, s, &BASE, &[]))));
    let mut add = |scheme: &Scheme, reading: &Reading, more: &[&str]| of(&size, scheme, reading, more);
    let [without, with] = schemes.map(|s| add(s, &BASE, &[]));
    let others = beside.schemes.iter().map(|s| add(s, &BASE, &[])).collect();
    let readings = beside.readings.iter().map(|r| (*r, schemes.map(|s| add(s, r, &[])))).collect();
    let variants = beside.variants.iter().map(|(name, more)| (*name, schemes.map(|s| add(s, &BASE, more)))).collect();
    Ok(Pair { results: plan.run(cx)?, without, with, others, readings, variants, shorter, size })
}

impl Pair {
    /// The two of Fig. 16.
    pub fn dcqcn(cx: &Context, w: &Workload) -> Result<Pair, ReproduceError> {
        // What costs minutes a run is run without what is only shown next to.
        let beside = match w.cdf == HADOOP.cdf {
            true => Beside { schemes: &[DCQCN_TCD_B], readings: &READINGS, variants: &SWITCHES, shorter: None },
            false if cx.mode == Mode::Full => Beside { shorter: Some(SHORTER), ..Beside::default() },
            false => Beside::default(),
        };
        pair(cx, w, "pfc", [&DCQCN, &DCQCN_TCD], &beside)
    }
    /// The two of Fig. 19.
    pub fn timely(cx: &Context, w: &Workload) -> Result<Pair, ReproduceError> {
        let beside = match w.cdf == HADOOP.cdf {
            true => Beside { readings: &TIMELY_READINGS, ..Beside::default() },
            false => Beside::default(),
        };
        pair(cx, w, "pfc", [&TIMELY, &TIMELY_TCD], &beside)
    }
    /// Ratio of a percentile without TCD to that with it.
    fn gain(&self, group: usize, which: usize) -> Mean {
        self.gain_of([self.without, self.with], group, which)
    }
    fn gain_of(&self, [without, with]: [Series; 2], group: usize, which: usize) -> Mean {
        self.results.ratio(without, with, group, |g| g.quantile(which))
    }
    /// A check of two series, all of whose interval must lie in the band.
    fn check(&self, w: &Workload, series: [Series; 2], e: &Expected) -> Check {
        let (name, which, group) = (w.ranges[e.range].0, WHICH[e.which], w.range(e.range));
        let (what, mean) = match e.of {
            What::Gain => (format!("{name}, {which}: slowdown, ratio without to with TCD"), self.gain_of(series, group, e.which)),
            What::Without => (format!("{name}, {which}: slowdown without TCD"), self.value(series[0], group, e.which)),
            What::With => (format!("{name}, {which}: slowdown with TCD"), self.value(series[1], group, e.which)),
        };
        let check = Check::mean(what, Unit::None, mean, e.low, e.high);
        e.paper.map_or(check.clone().claimed(), |p| check.paper(p))
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
    let pair = Pair::dcqcn(cx, &HADOOP)?;
    let expected = [
        expect(1, 0, 1.5, 5.0, Some(10.8 / 3.6)),
        level(1, 0, What::Without, 10.8),
        level(1, 0, What::With, 3.6),
        expect(2, 2, 1.2, 2.2, Some(1.7)),
        expect(3, 0, 0.85, 1.15, Some(1.0)),
    ];
    let mut f = judged(&pair, &HADOOP, [&DCQCN, &DCQCN_TCD], &expected, &format!("{FABRIC}; {READING_A}"), "Fig. 16a");
    let tail = pair.gain(HADOOP.range(3), 2).words(|v| format!("{v:.2}x"));
    f.why.push(format!(
        "For the flows {} the 99th percentile changes by {tail} with TCD; the paper does not state which value it means there.",
        HADOOP.ranges[3].0
    ));
    f.notes.extend(reading_b(&pair, &HADOOP));
    Ok(f)
}

/// The entry of Fig. 16(b).
pub fn run_fig16b(cx: &Context) -> Result<Findings, ReproduceError> {
    let pair = Pair::dcqcn(cx, &WEBSEARCH)?;
    let expected = [
        expect(1, 0, 1.3, 3.0, Some(4.6 / 2.5)),
        level(1, 0, What::Without, 4.6),
        level(1, 0, What::With, 2.5),
        expect(1, 2, 1.3, 3.0, Some(2.0)),
        expect(3, 2, 0.85, 1.15, Some(1.0)),
    ];
    Ok(judged(&pair, &WEBSEARCH, [&DCQCN, &DCQCN_TCD], &expected, &format!("{FABRIC}; {READING_A}"), "Fig. 16b"))
}

/// The entry of Fig. 19(a).
pub fn run_fig19a(cx: &Context) -> Result<Findings, ReproduceError> {
    let pair = Pair::timely(cx, &HADOOP)?;
    let expected = [
        expect(2, 2, 1.1, 2.0, Some(50.3 / 36.6)),
        level(2, 2, What::Without, 50.3),
        level(2, 2, What::With, 36.6),
        expect(1, 0, 1.0, f64::INFINITY, None),
    ];
    Ok(judged(&pair, &HADOOP, [&TIMELY, &TIMELY_TCD], &expected, &format!("{FABRIC}; {TIMELY_RTT}"), "Fig. 19a"))
}

/// The entry of Fig. 19(b).
pub fn run_fig19b(cx: &Context) -> Result<Findings, ReproduceError> {
    let pair = Pair::timely(cx, &WEBSEARCH)?;
    let better = |range, which| expect(range, which, 1.0, f64::INFINITY, None);
    let expected = [better(1, 0), better(1, 2), better(0, 0), better(0, 2)];
    Ok(judged(&pair, &WEBSEARCH, [&TIMELY, &TIMELY_TCD], &expected, &format!("{FABRIC}; {TIMELY_RTT}"), "Fig. 19b"))
}

/// The entry beyond the paper: Fig. 16 with buffer-based GFC.
pub fn run_fig16_gfc(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all = Findings::default();
    let assuming = format!("buffer-based GFC instead of PFC, same memory; {FABRIC}; {READING_A}");
    let mut measured = Vec::new();
    for (w, range) in [(&HADOOP, "Fig. 16a with GFC"), (&WEBSEARCH, "Fig. 16b with GFC")] {
        let whole = Size::of(cx.mode, w, DCQCN.name);
        let size = if w.cdf == HADOOP.cdf { whole } else { Size { flows: whole.flows.min(SHORTER), ..whole } };
        let of = |flow_control: &str| pair_of(cx, w, flow_control, [&DCQCN, &DCQCN_TCD], size, &Beside::default());
        let pair = of("gfc-buffer")?;
        let expected = [expect(1, 0, 1.1, f64::INFINITY, None), expect(1, 2, 1.1, f64::INFINITY, None)];
        let one = judged(&pair, w, [&DCQCN, &DCQCN_TCD], &expected, &assuming, range);
        measured.push(one.measured);
        all.checks.extend(one.checks.into_iter().map(|mut c| {
            c.what = format!("{}, {}", w.title, c.what);
            c
        }));
        all.figures.extend(one.figures);
        all.tables.extend(one.tables);
        let pfc = of("pfc")?;
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

/// Results of the other reading of alpha.
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

fn judged(pair: &Pair, w: &Workload, [without, with]: [&Scheme; 2], expected: &[Expected], assuming: &str, figure: &str) -> Findings {
    let times = |v: f64| format!("{v:.2}x");
    let mut f = Findings::default();
    f.checks.extend(expected.iter().map(|e| pair.check(w, [pair.without, pair.with], e).assuming(assuming)));
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
    if pair.size.k != 10 || pair.size.flows != 40_000 {
        f.notes.push(format!("Scaled: {}; the paper has k = 10, 250 hosts and over 40 thousand flows.", pair.size.words()));
    }
    if let Some((flows, series)) = pair.shorter {
        let value = |s: Series| pair.value(s, w.range(1), 0).words(|v| format!("{v:.2}"));
        f.why.push(format!(
            "The core is overloaded, so that queues grow with the length of a run. The median {} is {} without TCD and {} with it, but \
             {} and {} with {flows} flows.",
            w.ranges[1].0,
            value(pair.without),
            value(pair.with),
            value(series[0]),
            value(series[1])
        ));
    }
    if !pair.readings.is_empty() {
        f.tables.push(readings(pair, w, expected));
        f.notes.extend(expected.iter().filter_map(|e| where_found(pair, w, e)));
    }
    f.figures.push(draw(pair, w, without, with, figure));
    f.tables.push(table(pair, w, without, with));
    f
}

/// The load of the hosts at which a slowdown is the paper's, where all switches have one hash.
fn where_found(pair: &Pair, w: &Workload, e: &Expected) -> Option<String> {
    let which = match e.of {
        What::Without => 0,
        What::With => 1,
        What::Gain => return None,
    };
    let base = (BASE, [pair.without, pair.with]);
    let polarised = pair.readings.iter().copied().chain([base]).filter(|(r, _)| r.hash == Hash::Polarised);
    let mut curve: Vec<(f64, f64)> =
        polarised.map(|(r, s)| (r.host_load(pair.size.k), pair.value(s[which], w.range(e.range), e.which).mean)).collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    let paper = e.paper?;
    let at: Vec<String> = crossings(&curve, paper).into_iter().map(|v| Unit::Fraction.format(v)).collect();
    let found = if at.is_empty() { "at none of these loads".to_owned() } else { format!("if hosts offer {}", at.join(" and ")) };
    Some(format!(
        "With one hash for all switches the paper's {paper} ({}, {}, {} TCD) appears {found}, linear between the loads of the table; the judged load is {}.",
        w.ranges[e.range].0,
        WHICH[e.which],
        if which == 0 { "without" } else { "with" },
        Unit::Fraction.format(BASE.host_load(pair.size.k))
    ))
}

/// The same under every reading of hash and load, and under the variants.
fn readings(pair: &Pair, w: &Workload, expected: &[Expected]) -> Table {
    let columns = [
        "Reading",
        "Hosts",
        "Edge",
        "Core",
        "< 80 KB, median, without",
        "with TCD",
        "gain",
        "< 50 KB, 99th, without",
        "with TCD",
        "gain",
        "> 100 KB, median, gain",
        "Checks that hold",
    ];
    let mut t = Table::new(columns).align([Align::Left].into_iter().chain([Align::Right; 11])).caption(
        "Readings of the paper's fabric: the load offered to host links, to links of edge switches and to the core that flows can use. \
         The slowdown without and with TCD (means over seeds, 95 % intervals). The number of checks of this claim that would hold.",
    );
    let number = |v: f64| format!("{v:.2}");
    let base = (BASE.name() + " (judged)", BASE, [pair.without, pair.with]);
    let others = pair.readings.iter().map(|(r, s)| (r.name(), *r, *s));
    let variants = pair.variants.iter().map(|(name, s)| (format!("{}; {name}", BASE.name()), BASE, *s));
    for (name, reading, series) in [base].into_iter().chain(others).chain(variants) {
        let load = reading.host_load(pair.size.k);
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(reading.tiers(pair.size.k).map(|tier| Cell::from(format!("{:.0} %", 100.0 * tier * load))));
        for (range, which) in [(1, 0), (2, 2)] {
            row.extend(series.map(|s| Cell::from(pair.value(s, w.range(range), which).words(number))));
            row.push(pair.gain_of(series, w.range(range), which).words(number).into());
        }
        row.push(pair.gain_of(series, w.range(3), 0).words(number).into());
        let hold = expected.iter().filter(|e| pair.check(w, series, e).holds()).count();
        row.push(format!("{hold} of {}", expected.len()).into());
        t.push(row);
    }
    t
}

fn draw(pair: &Pair, w: &Workload, without: &Scheme, with: &Scheme, name: &str) -> Figure {
    let middle = |b: usize| (w.edges[b] as f64 * w.edges[b + 1] as f64).sqrt();
    let mut figure = Figure::new(format!("{}: slowdown by flow size (paper: {name})", w.title))
        .caption(
            "Completion time over the shortest possible time of the flow on its own path. A point represents a group of sizes; its \
            value is the mean over seeds.",
        )
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
        "Slowdown: means over seeds; gain: ratio without to with TCD, seed by seed, with its 95 % interval; share of the flows with a mark.",
    );
    let number = |v: f64| format!("{v:.2}");
    let names = (0..w.bins()).map(|b| w.name(b)).chain(w.ranges.iter().map(|r| r.0.to_owned()));
    for (group, name) in names.enumerate() {
        let mut row: Vec<Cell> = vec![name.into(), pair.results.flows(pair.without, group).into()];
        for which in 0..WHICH.len() {
            row.extend([pair.without, pair.with].map(|s| Cell::from(number(pair.value(s, group, which).mean))));
            row.push(pair.gain(group, which).words(number).into());
        }
        let share = |s, value: fn(&Group) -> f64| Cell::from(Unit::Fraction.format(pair.results.mean(s, group, value).mean));
        row.extend([share(pair.without, |g| g.ce_share()), share(pair.with, |g| g.ce_share()), share(pair.with, |g| g.ue_share())]);
        t.push(row);
    }
    t
}
