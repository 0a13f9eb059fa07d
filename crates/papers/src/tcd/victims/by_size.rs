//! Figs. 15(a), 17(a) and 18(a): completion times of victims by size.

use xoff_report::{Align, Axis, Bar, BarGroup, Cell, Figure, Mark, Panel, Table, Unit};

use super::{ALL_FLOWS, BIN, Bins, CONGESTED, ETHERNET, FLOW_BINS, INFINIBAND, LOAD, MESSAGE_BINS, VICTIMS, picks};
use crate::stats::Mean;
use crate::study::Series;
use crate::tcd::run::{Group, Plan, Results};
use crate::tcd::schemes::{DCQCN, DCQCN_TCD, DCQCN_TCD_B, IB_CC, IB_CC_TCD, Scheme, TIMELY, TIMELY_TCD};
use crate::{Check, Context, Findings, Mode, ReproduceError};

/// Begin of the name of a variant in which no source cuts deeper than without TCD.
const ONLY_MARKS: &str = "TCD marks";

/// Common part of the three figures.
struct Study {
    title: &'static str,
    file: &'static str,
    bins: Bins,
    without: Scheme,
    with: Scheme,
    /// Other readings, shown next to: name and scheme with settings.
    variants: Vec<(&'static str, Scheme, Vec<String>)>,
    /// (bin, smallest, largest accepted ratio, the paper's): how many times faster with TCD.
    expected: Vec<(usize, f64, f64, Option<f64>)>,
    assuming: String,
}

/// The entry of Fig. 15(a).
pub fn run_fig15a(cx: &Context) -> Result<Findings, ReproduceError> {
    let any = f64::INFINITY;
    study(
        cx,
        &Study {
            title: "Mean completion time of victims, DCQCN (paper: Fig. 15a)",
            file: ETHERNET,
            bins: FLOW_BINS,
            without: DCQCN,
            with: DCQCN_TCD,
            variants: vec![
                ("alpha 1.2, reading B", DCQCN_TCD_B, vec![]),
                ("TCD marks, DCQCN cuts as usual", DCQCN_TCD, vec!["rate_control.dcqcn.alpha=0.5".into()]),
            ],
            expected: vec![(0, 1.1, any, None), (1, 1.0, any, None), (2, 1.1, any, None), (3, 1.1, any, None)],
            assuming: format!("{LOAD}; alpha 1.2 is the initial value (reading A)"),
        },
    )
}

/// The entry of Fig. 17(a).
pub fn run_fig17a(cx: &Context) -> Result<Findings, ReproduceError> {
    let any = f64::INFINITY;
    study(
        cx,
        &Study {
            title: "Mean completion time of victim messages, IB CC (paper: Fig. 17a)",
            file: INFINIBAND,
            bins: MESSAGE_BINS,
            without: IB_CC,
            with: IB_CC_TCD,
            variants: vec![
                ("TCD, a BECN per marked packet", IB_CC_TCD, vec!["rate_control.ib-cc.cnp_interval=0us".into()]),
                ("IB CC, a BECN per marked packet", IB_CC, vec!["rate_control.ib-cc.cnp_interval=0us".into()]),
                ("the index falls during UE", IB_CC_TCD, vec!["rate_control.ib-cc.tcd_hold=false".into()]),
                ("TCD marks, IB CC cuts as usual", IB_CC_TCD, vec!["rate_control.ib-cc.increase=1".into()]),
            ],
            // The paper's text speaks of the whole and of I/O.
            expected: (2..MESSAGE_BINS.len()).map(|b| (b, 1.0, any, None)).collect(),
            assuming: format!("{LOAD}; credits every 40 us, at most one BECN per flow and 50 us"),
        },
    )
}

/// The entry of Fig. 18(a).
pub fn run_fig18a(cx: &Context) -> Result<Findings, ReproduceError> {
    let any = f64::INFINITY;
    study(
        cx,
        &Study {
            title: "Mean completion time of victims, TIMELY (paper: Fig. 18a)",
            file: ETHERNET,
            bins: FLOW_BINS,
            without: TIMELY,
            with: TIMELY_TCD,
            variants: vec![
                ("TCD marks, TIMELY cuts as usual", TIMELY_TCD, vec!["rate_control.timely.beta=0.8".into()]),
                ("TCD, min_rtt 32 us", TIMELY_TCD, vec!["rate_control.timely.min_rtt=32us".into()]),
                ("TIMELY, min_rtt 32 us", TIMELY, vec!["rate_control.timely.min_rtt=32us".into()]),
                ("TCD, HPCC's TIMELY", TIMELY_TCD, vec!["rate_control.timely.variant=hpcc".into()]),
                ("TIMELY, HPCC's", TIMELY, vec!["rate_control.timely.variant=hpcc".into()]),
                ("TCD, flows start at 10 Gb/s", TIMELY_TCD, vec!["rate_control.timely.initial_rate=10Gbps".into()]),
                ("TIMELY, flows start at 10 Gb/s", TIMELY, vec!["rate_control.timely.initial_rate=10Gbps".into()]),
            ],
            expected: vec![(0, 1.2, 4.0, Some(2.2)), (1, 1.0, any, None), (2, 1.0, any, None), (3, 1.2, 4.0, Some(2.3))],
            assuming: format!("{LOAD}; TIMELY as published, D_minRTT 20 us"),
        },
    )
}

/// The runs of a study.
struct Runs<'a> {
    s: &'a Study,
    seeds: u64,
    results: Results,
    without: Series,
    with: Series,
    variants: Vec<Series>,
}

fn times(v: f64) -> String {
    format!("{v:.2}x")
}

fn study(cx: &Context, s: &Study) -> Result<Findings, ReproduceError> {
    let runs = Runs::measure(cx, s)?;
    let mut f = Findings { checks: runs.checks(), figures: vec![runs.figure()], tables: vec![runs.table()], ..Findings::default() };
    runs.write_findings(&mut f);
    if cx.mode == Mode::Quick {
        f.notes.push(format!("Quick: {} seeds of 10.", runs.seeds));
    }
    Ok(f)
}

impl<'a> Runs<'a> {
    fn measure(cx: &Context, s: &'a Study) -> Result<Runs<'a>, ReproduceError> {
        let seeds = cx.mode.pick(5, 10);
        let groups = picks(s.bins);
        let mut plan = Plan::default();
        let (without, with) =
            (plan.series(cx, seeds, s.file, &s.without, &[], &groups), plan.series(cx, seeds, s.file, &s.with, &[], &groups));
        let variants: Vec<_> =
            s.variants.iter().map(|(_, scheme, settings)| plan.series(cx, seeds, s.file, scheme, settings, &groups)).collect();
        Ok(Runs { s, seeds, results: plan.run(cx)?, without, with, variants })
    }

    /// Ratio of the times of a group of flows without TCD to those with it.
    fn gain(&self, group: usize) -> Mean {
        self.results.ratio(self.without, self.with, group, |g| g.fct())
    }

    /// Part of the victims.
    fn share(&self, series: Series, value: fn(&Group) -> f64) -> String {
        Unit::Fraction.format(self.results.mean(series, VICTIMS, value).mean)
    }

    /// Pause time of ports.
    fn stopped(&self, series: Series) -> String {
        Unit::Picoseconds.format(self.results.total(series, |t| t.pause_ns as f64 * 1e3).mean)
    }

    fn checks(&self) -> Vec<Check> {
        let s = self.s;
        let mut checks = Vec::new();
        for &(bin, low, high, paper) in &s.expected {
            let what = format!("{}: mean completion time, ratio without to with TCD", s.bins[bin].0);
            let check = Check::mean(what, Unit::None, self.gain(BIN + bin), low, high);
            checks.push(paper.map_or(check.clone().claimed(), |p| check.paper(p)).assuming(&s.assuming));
        }
        let overall = Check::mean(
            "all victims: mean completion time, ratio without to with TCD",
            Unit::None,
            self.gain(VICTIMS),
            1.05,
            f64::INFINITY,
        );
        checks.push(overall.claimed().assuming(&s.assuming));
        checks.extend(self.results.soundness());
        checks
    }

    fn write_findings(&self, f: &mut Findings) {
        let Runs { s, seeds, .. } = self;
        let words: Vec<String> =
            s.bins.iter().enumerate().map(|(b, bin)| format!("{} {}", bin.0, self.gain(BIN + b).words(times))).collect();
        f.measured = format!(
            "Victims are faster with TCD by (mean of {seeds} seeds, 95 % interval): {}; all victims {}. Marked CE: {} of the victims without TCD, {} with it.",
            words.join(", "),
            self.gain(VICTIMS).words(times),
            self.share(self.without, |g| g.ce_share()),
            self.share(self.with, |g| g.ce_share()),
        );
        if s.file == ETHERNET {
            f.why.push(format!(
                "Flows below 10 KB complete before any rate control can act: they gain only from shorter pauses. Ports are paused for {} \
             without TCD and {} with it, in total over all ports.",
                self.stopped(self.without),
                self.stopped(self.with)
            ));
        }
        for ((name, ..), series) in s.variants.iter().zip(&self.variants).filter(|(v, _)| v.0.starts_with(ONLY_MARKS)) {
            let gains: Vec<String> = s
                .bins
                .iter()
                .enumerate()
                .map(|(b, bin)| format!("{} {}", bin.0, self.results.ratio(self.without, *series, BIN + b, |g| g.fct()).words(times)))
                .collect();
            f.notes.push(format!(
                "The marks alone, without the deeper cuts ({name}), give: {}. The rest of the gain is due to the cuts.",
                gains.join(", ")
            ));
        }
        f.notes.push(format!(
            "The congested flows lose or gain as well: S1's {}, all flows of the network {}.",
            self.gain(CONGESTED).words(times),
            self.gain(ALL_FLOWS).words(times)
        ));
    }

    fn figure(&self) -> Figure {
        let s = self.s;
        let bar = |series| {
            s.bins.iter().enumerate().map(move |(b, _)| (series, b)).map(|(series, b)| {
                let m = self.results.mean(series, BIN + b, |g| g.fct());
                Bar::with_interval(m.mean, m.low.max(0.0), m.high)
            })
        };
        let labels = || s.bins.iter().map(|b| b.0);
        let ratios = vec![
            BarGroup::new(
                "here",
                (0..s.bins.len()).map(|b| {
                    let m = self.gain(BIN + b);
                    let paper = s.expected.iter().find(|e| e.0 == b).and_then(|e| e.3).unwrap_or(f64::NAN);
                    Bar::with_interval(m.mean, m.low, m.high).reference(paper)
                }),
            )
            .colour(s.with.colour),
        ];
        Figure::new(s.title)
            .caption("Means over seeds with their 95 % intervals. Below, seed by seed, how many times longer a victim of that size takes without TCD; above 1 TCD is better.")
            .panel(
                Panel::new("", Axis::new("", Unit::None), Axis::new("Completion time", Unit::Picoseconds).log()).mark(Mark::bars(
                    labels(),
                    [
                        BarGroup::new(s.without.name, bar(self.without)).colour(s.without.colour),
                        BarGroup::new(s.with.name, bar(self.with)).colour(s.with.colour),
                    ],
                )),
            )
            .panel(
                Panel::new("", Axis::new("", Unit::None), Axis::new("Time without TCD over with it", Unit::None))
                    .mark(Mark::bars(labels(), ratios).bar_reference(if s.expected.iter().any(|e| e.3.is_some()) { "paper" } else { "" }))
                    .mark(Mark::hline(1.0, "")),
            )
    }

    fn table(&self) -> Table {
        let s = self.s;
        let mut columns = vec!["Variant".to_owned(), "Marked CE".into(), "Marked UE".into(), "Pause time".into()];
        columns.extend(s.bins.iter().map(|b| b.0.to_owned()));
        columns.extend(["All victims".into(), "S1's flows".into()]);
        let mut t = Table::new(columns).align([Align::Left].into_iter().chain(vec![Align::Right; 20])).caption(
            "Mean completion time of victims by size, means over seeds; share of victims with a mark; total pause time of all ports of the \
         network.",
        );
        let lines = [(s.without.name, self.without), (s.with.name, self.with)]
            .into_iter()
            .chain(s.variants.iter().map(|v| v.0).zip(self.variants.iter().copied()));
        for (name, series) in lines {
            let time = |g: usize| -> Cell { Unit::Picoseconds.format(self.results.mean(series, g, |g| g.fct()).mean).into() };
            let mut row: Vec<Cell> = vec![
                name.into(),
                self.share(series, |g| g.ce_share()).into(),
                self.share(series, |g| g.ue_share()).into(),
                self.stopped(series).into(),
            ];
            row.extend((0..s.bins.len()).map(|b| time(BIN + b)));
            row.extend([time(VICTIMS), time(CONGESTED)]);
            t.push(row);
        }
        t
    }
}
