//! Section 4: how much speed-up implicit rate regulation needs, with the parameters of Figs. 11 and 12.

use xoff_report::{Align, Axis, Cell, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::{Pattern, Sizes, Traffic};

use super::run::{Plan, Results, soundness};
use super::setups::{self, BURST, MAX_P, MIN_P, t_min};
use super::sweep::{figure, grants_max};
use crate::stats::Mean;
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError};

/// Speed-ups of implicit rate regulation.
const SPEEDUPS: [f64; 4] = [1.0, 1.1, 1.2, 1.4];

/// Shares w of unbalanced traffic (Figs. 13 and 14, after which the paper's sentence follows).
const UNBALANCED: [f64; 3] = [0.25, 0.5, 0.75];

/// Workloads: name, sizes of packets, packets of a burst, how much longer a run is.
fn workloads() -> [(&'static str, Sizes, f64, u64); 2] {
    [("40 B, bursty", setups::fixed(MIN_P), BURST, 1), ("9000 B", setups::fixed(MAX_P), 1.0, 2)]
}

/// The runs.
struct Runs {
    results: Results,
    /// Results by workload: implicit by [`SPEEDUPS`], and reserving at 1.1.
    all: Vec<(Vec<Series>, Series)>,
    /// The buffers of 32 KB under many jumbo packets, in which the paper saw them fill up, by [`SPEEDUPS`].
    small: [Series; 4],
    /// Unbalanced smooth traffic of 40 B at 1.1, by [`UNBALANCED`]: implicit and reserving.
    unbalanced: Vec<[Series; 2]>,
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let runs = Runs::measure(cx)?;
    let mut f = Findings { checks: runs.checks(), tables: vec![runs.table()], ..Findings::default() };
    setups::assuming(&mut f.checks, setups::LOAD);
    runs.write_findings(&mut f);
    setups::quick_note(cx, &mut f.notes);
    f.figures.push(figure(
        "Speed-up that implicit rate regulation needs (section 4)",
        "8 hotspots, other outputs at the peak possible load, control in band: mean delay of packets to the others.",
        runs.panels(),
    ));
    Ok(f)
}

impl Runs {
    fn measure(cx: &Context) -> Result<Runs, ReproduceError> {
        let load = 0.78;
        let seeds = cx.mode.pick(2, 5);
        let mut plan = Plan::default();
        let all: Vec<(Vec<Series>, Series)> = workloads()
            .into_iter()
            .map(|(_, sizes, burst, longer)| {
                let c = |speedup| setups::measured(cx, setups::section_4(setups::traffic(8, load, sizes, burst), speedup), longer);
                let implicit = SPEEDUPS.iter().map(|&s| plan.series(cx, seeds, &setups::implicit(c(s)))).collect();
                (implicit, plan.series(cx, seeds, &c(1.1)))
            })
            .collect();
        let small = SPEEDUPS.map(|s| {
            let heavy = setups::traffic(0, 1.0, setups::fixed(MAX_P), 1.0);
            let mut c = setups::implicit(setups::section_4(heavy, s));
            c.element.output = xoff_units::Bytes(32 << 10);
            plan.series(cx, seeds, &setups::measured(cx, c, 8))
        });
        let unbalanced = UNBALANCED
            .iter()
            .map(|&w| {
                let traffic = Traffic { pattern: Pattern::Unbalanced { w }, load: 1.0, sizes: setups::fixed(MIN_P), burst_packets: 1.0 };
                let reserve = setups::section_4(traffic, 1.1);
                [setups::implicit(reserve.clone()), reserve].map(|c| plan.series(cx, seeds, &setups::measured(cx, c, 1)))
            })
            .collect();
        Ok(Runs { results: plan.run(cx)?, all, small, unbalanced })
    }

    /// Mean delay of implicit at a speed-up over that of reserving.
    fn ratio(&self, workload: usize, speedup: usize) -> Mean {
        self.results.ratio(self.all[workload].0[speedup], self.all[workload].1, |r| r.delay.mean)
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            "Workload",
            "Scheme",
            "L_F/L",
            "Carried",
            "Mean delay",
            "99th percentile",
            "Most grants held",
            "Longest queue by stage",
        ])
        .align([Align::Left, Align::Left].into_iter().chain([Align::Right; 6]))
        .caption(
            "8 hotspots, the others at load 0.78, control in band. Means over seeds with 95 % intervals; delays in t_min, queues in bytes.",
        );
        for ((name, ..), (implicit, reserve)) in workloads().iter().zip(&self.all) {
            table.push(self.row(name, "reserve", 1.1, *reserve));
            SPEEDUPS.iter().zip(implicit).for_each(|(s, series)| table.push(self.row(name, "implicit", *s, *series)));
        }
        for (speedup, s) in SPEEDUPS.iter().zip(self.small) {
            table.push(self.row("9000 B, 32 KB buffers, uniform, load 1", "implicit", *speedup, s));
        }
        table
    }

    fn row(&self, workload: &str, scheme: &str, speedup: f64, s: Series) -> [Cell; 8] {
        let queues: Vec<String> = (0..3).map(|stage| self.results.max(s, |r| f64::from(r.queue_max[stage])).to_string()).collect();
        [
            Cell::from(workload),
            scheme.into(),
            format!("{speedup}").into(),
            self.results.mean(s, |r| r.carried()).words(|v| format!("{v:.3}")).into(),
            self.results.mean(s, |r| r.delay.mean).words(|v| format!("{v:.0}")).into(),
            format!("{:.0}", self.results.mean(s, |r| r.delay.p99).mean).into(),
            format!("{:.0}", self.results.max(s, grants_max)).into(),
            queues.join(" / ").into(),
        ]
    }

    fn checks(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        for (w, (name, ..)) in workloads().iter().enumerate() {
            let (implicit, reserve) = (&self.all[w].0, self.all[w].1);
            for (i, speedup) in SPEEDUPS.iter().enumerate().skip(2) {
                let carried = self.results.mean(implicit[i], |r| r.carried());
                checks.push(Check::mean(format!("{name}: implicit at {speedup}: carried"), Unit::Fraction, carried, 0.97, 1.03).claimed());
            }
            let p99 = self.results.ratio(implicit[1], reserve, |r| r.delay.p99);
            let hot = self.results.ratio(implicit[1], reserve, |r| r.hot);
            // "Worse": whichever is measured, with all of the interval.
            for (what, value, low, high) in [
                ("mean delay of implicit relative to reserve", self.ratio(w, 1), 1.0, f64::INFINITY),
                ("99th percentile of implicit relative to reserve", p99, 1.0, f64::INFINITY),
                ("throughput of hotspots, implicit relative to reserve", hot, 0.0, 1.0),
            ] {
                checks.push(Check::mean(format!("{name}, both at 1.1: {what}"), Unit::None, value, low, high).claimed());
            }
        }
        for (i, w) in UNBALANCED.iter().enumerate() {
            let what = format!("unbalanced, 40 B smooth, w = {w}, both at 1.1: throughput of implicit relative to reserve");
            checks.push(Check::mean(what, Unit::None, self.unbalanced(i), 0.0, 1.0).claimed());
        }
        let full = self.fullest()[1];
        checks.push(
            Check::new("9000 B, 32 KB buffers, implicit at 1.1: fullest fabric-output buffer", Unit::Bytes, full, 31e3, 32768.0).claimed(),
        );
        checks.push(soundness(&self.results));
        checks
    }

    /// Throughput of implicit over that of reserving at 1.1 under unbalanced traffic, by [`UNBALANCED`].
    fn unbalanced(&self, i: usize) -> Mean {
        let [implicit, reserve] = self.unbalanced[i];
        self.results.ratio(implicit, reserve, |r| r.cold)
    }

    /// Fullest fabric-output buffer of 32 KB by [`SPEEDUPS`] [bytes].
    fn fullest(&self) -> [f64; 4] {
        self.small.map(|s| self.results.max(s, |r| f64::from(r.queue_max[2])))
    }

    fn panels(&self) -> Vec<Panel> {
        let panel = |(name, (implicit, reserve)): (&'static str, &(Vec<Series>, Series))| {
            let line = |what: &str, value: fn(&super::run::Run) -> f64| {
                Mark::line(what, SPEEDUPS.iter().zip(implicit).map(|(x, s)| (*x, self.results.mean(*s, value).mean)).collect::<Vec<_>>())
            };
            Panel::new(name, Axis::new("L_F / L", Unit::None).range(0.98, 1.42), Axis::new("Mean delay", t_min()).log())
                .mark(line("implicit", |r| r.delay.mean))
                .mark(Mark::points("reserve", [(1.1, self.results.mean(*reserve, |r| r.delay.mean).mean)]))
        };
        workloads().iter().map(|w| w.0).zip(&self.all).map(panel).collect()
    }

    fn write_findings(&self, f: &mut Findings) {
        let sentences = workloads().into_iter().enumerate().map(|(w, (name, ..))| {
            let words: Vec<String> =
                SPEEDUPS.iter().enumerate().map(|(i, s)| format!("{} at {s}", self.ratio(w, i).words(|v| format!("{v:.2}")))).collect();
            format!("{name}: delay of implicit, relative to reserve at 1.1: {}", words.join(", "))
        });
        let unbalanced: Vec<String> = (0..UNBALANCED.len())
            .map(|i| format!("{} at w = {}", self.unbalanced(i).words(|v| format!("{v:.3}")), UNBALANCED[i]))
            .collect();
        f.measured = format!(
            "{}. Unbalanced traffic: throughput of implicit, relative to reserve at 1.1: {}.",
            sentences.collect::<Vec<_>>().join(". "),
            unbalanced.join(", ")
        );
        let full = self.fullest();
        let [(_, small_reserve), (_, large_reserve)] = [&self.all[0], &self.all[1]];
        let middle = |s: Series| Unit::Bytes.format(self.results.max(s, |r| f64::from(r.queue_max[1])));
        let hot = |s: Series| self.results.mean(s, |r| r.hot).mean;
        let tail = |i: usize| self.results.ratio(self.all[i].0[1], self.all[i].1, |r| r.delay.p99).words(|v| format!("{v:.2}"));
        f.why.push(format!(
            "At 1.1, reserving increases the mean delay: every hotspot may have its 240 slots in the fabric at once. With eight \
             hotspots in one switch they also wait before the last stage, up to {} in a queue of the middle stage (implicit {}; with \
             9000 B {} and {}). Implicit rate regulation grants to hotspots at L and keeps those queues short as long as inputs answer \
             in time. It loses throughput of the hotspots, {:.3} and {:.3} instead of {:.3} and {:.3}. Its 99th percentile is {} times \
             that of reserving with 40 B in bursts and {} times with 9000 B.",
            middle(*small_reserve),
            middle(self.all[0].0[1]),
            middle(*large_reserve),
            middle(self.all[1].0[1]),
            hot(self.all[0].0[1]),
            hot(self.all[1].0[1]),
            hot(*small_reserve),
            hot(*large_reserve),
            tail(0),
            tail(1)
        ));
        f.notes.push(format!(
            "Fabric-output buffers of 32 KB hold up to {} at 1.1 and {} at 1.4 under uniform 9000 B packets at load 1 (the paper observed \
         them filling up \"under a heavy workload\").",
            Unit::Bytes.format(full[1]),
            Unit::Bytes.format(full[3])
        ));
    }
}
