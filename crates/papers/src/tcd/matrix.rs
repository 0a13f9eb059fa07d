//! Beyond the paper: does ternary marking still help where nothing is ever paused? TCD with three rate controls on four flow
//! controls, on the network of the victims.

use xoff_report::{Align, Axis, Cell, Figure, HeatCell, Mark, Panel, Table, Tone, Unit};

use super::run::{Group, Plan, Results};
use super::schemes::{DCQCN, DCQCN_TCD, HPCC, HPCC_TCD, Scheme, TIMELY, TIMELY_TCD};
use super::victims::{ALL_FLOWS, BIN, CONGESTED, ETHERNET, FLOW_BINS, LOAD, VICTIMS, picks};
use crate::stats::Mean;
use crate::study::Series;
use crate::{Check, Context, Findings, Mode, ReproduceError};

/// Flow controls: kind and name.
const FLOW_CONTROLS: [(&str, &str); 4] =
    [("pfc", "PFC"), ("gfc-buffer", "Buffer-based GFC"), ("gfc-time", "Time-based GFC"), ("cbfc", "CBFC")];
/// Rate controls without and with TCD.
const RATE_CONTROLS: [(&str, Scheme, Scheme); 3] = [("DCQCN", DCQCN, DCQCN_TCD), ("TIMELY", TIMELY, TIMELY_TCD), ("HPCC", HPCC, HPCC_TCD)];

/// The runs: of each flow control and rate control without and with TCD, and with DCQCN and a TCD that looks at the trend of a queue for
/// longer.
struct Runs {
    seeds: u64,
    results: Results,
    series: Vec<Vec<[Series; 2]>>,
    patient: Vec<Series>,
}

fn times(v: f64) -> String {
    format!("{v:.2}x")
}

fn percent(v: f64) -> String {
    Unit::Fraction.format(v)
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let runs = Runs::measure(cx)?;
    let mut f = Findings { checks: runs.checks(), tables: vec![runs.table()], ..Findings::default() };
    runs.write_findings(&mut f);
    if cx.mode == Mode::Quick {
        f.notes.push(format!("Quick: {} seeds of 5.", runs.seeds));
    }
    f.figures.push(figure(&|fc, rc, group| runs.gain(fc, rc, group).mean, &|fc, rc, which| runs.ce(fc, rc, which).mean));
    Ok(f)
}

impl Runs {
    fn measure(cx: &Context) -> Result<Runs, ReproduceError> {
        let seeds = cx.mode.pick(3, 5);
        let groups = picks(FLOW_BINS);
        let mut plan = Plan::default();
        let series: Vec<Vec<[Series; 2]>> = FLOW_CONTROLS
            .iter()
            .map(|(kind, _)| {
                let settings = [format!("flow_control.kind={kind}")];
                RATE_CONTROLS
                    .iter()
                    .map(|(_, without, with)| [without, with].map(|s| plan.series(cx, seeds, ETHERNET, s, &settings, &groups)))
                    .collect()
            })
            .collect();
        let patient: Vec<Series> = FLOW_CONTROLS
            .iter()
            .map(|(kind, _)| {
                let settings = [format!("flow_control.kind={kind}"), "detection.tcd.period=1ms".into()];
                plan.series(cx, seeds, ETHERNET, &DCQCN_TCD, &settings, &groups)
            })
            .collect();
        Ok(Runs { seeds, results: plan.run(cx)?, series, patient })
    }

    /// Ratio of the times of a group of flows without TCD to those with it.
    fn gain(&self, fc: usize, rc: usize, group: usize) -> Mean {
        let [without, with] = self.series[fc][rc];
        self.results.ratio(without, with, group, |g| g.fct())
    }

    /// Part of the victims that are marked CE; `which`: 0 without TCD, 1 with it.
    fn ce(&self, fc: usize, rc: usize, which: usize) -> Mean {
        self.results.mean(self.series[fc][rc][which], VICTIMS, |g| g.ce_share()).within(0.0, 1.0)
    }

    fn checks(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        for (fc, (_, name)) in FLOW_CONTROLS.iter().enumerate() {
            for (rc, (control, ..)) in RATE_CONTROLS.iter().enumerate().take(2) {
                let marked = format!("{control} on {name}: victims marked CE with TCD");
                checks.push(Check::mean(marked, Unit::Fraction, self.ce(fc, rc, 1), 0.0, 0.005).assuming(LOAD));
                let gain = format!("{control} on {name}: mean completion time of victims, ratio without to with TCD");
                checks.push(Check::mean(gain, Unit::None, self.gain(fc, rc, VICTIMS), 1.0, f64::INFINITY).assuming(LOAD));
            }
            checks.push(
                Check::mean(
                    format!("HPCC on {name}: mean completion time of all flows, ratio without to with TCD"),
                    Unit::None,
                    self.gain(fc, 2, ALL_FLOWS),
                    1.0,
                    1.0,
                )
                .recomputed()
                .assuming(LOAD),
            );
        }
        checks.extend(self.results.soundness());
        checks
    }

    fn write_findings(&self, f: &mut Findings) {
        let words = |rc: usize| -> String {
            let all: Vec<String> =
                FLOW_CONTROLS.iter().enumerate().map(|(fc, n)| format!("{} {}", n.1, self.gain(fc, rc, VICTIMS).words(times))).collect();
            all.join(", ")
        };
        f.measured = format!(
            "Victims are faster with TCD, mean of {} seeds (95 % interval): with DCQCN on {}; with TIMELY on {}; with HPCC nothing changes.",
            self.seeds,
            words(0),
            words(1)
        );
        let shares: Vec<String> = FLOW_CONTROLS
            .iter()
            .enumerate()
            .map(|(fc, n)| {
                let patient = self.results.mean(self.patient[fc], VICTIMS, |g| g.ce_share()).mean;
                format!("{} {} and {}", n.1, percent(self.ce(fc, 0, 1).mean), percent(patient))
            })
            .collect();
        f.why.push(format!(
            "TCD marks victims CE because of the trend of a queue that neither grows nor shrinks (see Table 3). One more frame counts \
             as growth, and with a shorter period T = max(T_on) the trend is sampled more often. With DCQCN, unchanged and with T = 1 \
             ms: {}.",
            shares.join("; ")
        ));
        f.notes.push(format!(
            "HPCC reads queues and rates from the frames, and ignores marks: with and without TCD every flow ends at the same time. \
             HPCC has the least need of TCD. Victims take {} with HPCC on PFC and {} with DCQCN and TCD. Ports are paused {:.0} times \
             per run, {:.0} with DCQCN alone.",
            Unit::Picoseconds.format(self.results.mean(self.series[0][2][0], VICTIMS, |g| g.fct()).mean),
            Unit::Picoseconds.format(self.results.mean(self.series[0][0][1], VICTIMS, |g| g.fct()).mean),
            self.results.total(self.series[0][2][0], |t| t.pauses as f64).mean,
            self.results.total(self.series[0][0][0], |t| t.pauses as f64).mean,
        ));
    }

    fn table(&self) -> Table {
        let columns = [
            "Flow control",
            "Rate control",
            "Victims' mean time",
            "< 10 KB",
            "> 1 MB",
            "Slowdown, median",
            "99th percentile",
            "Marked CE",
            "Marked UE",
            "Victims' rate",
            "S1's rate",
            "Stops",
            "Pause time",
            "Messages",
        ];
        let mut t = Table::new(columns).align([Align::Left, Align::Left].into_iter().chain([Align::Right; 12])).caption(
            "Means over seeds. Victims are S0's flows; a rate is payload over completion time. Stops: how often PFC paused a port, all \
         ports. GFC pauses none, and a lack of credits does not count. Messages: those of flow control.",
        );
        for (fc, (_, name)) in FLOW_CONTROLS.iter().enumerate() {
            for (rc, (_, without, with)) in RATE_CONTROLS.iter().enumerate() {
                for (which, scheme) in [without, with].into_iter().enumerate() {
                    let s = self.series[fc][rc][which];
                    let mean = |group: usize, value: fn(&Group) -> f64| self.results.mean(s, group, value).mean;
                    let time = |v: f64| Unit::Picoseconds.format(v);
                    let row: [Cell; 14] = [
                        (*name).into(),
                        scheme.name.into(),
                        time(mean(VICTIMS, |g| g.fct())).into(),
                        time(mean(BIN, |g| g.fct())).into(),
                        time(mean(BIN + 3, |g| g.fct())).into(),
                        format!("{:.2}", mean(VICTIMS, |g| g.quantile(0))).into(),
                        format!("{:.1}", mean(VICTIMS, |g| g.quantile(2))).into(),
                        percent(mean(VICTIMS, |g| g.ce_share())).into(),
                        percent(mean(VICTIMS, |g| g.ue_share())).into(),
                        Unit::BitsPerSecond.format(mean(VICTIMS, |g| g.rate())).into(),
                        Unit::BitsPerSecond.format(mean(CONGESTED, |g| g.rate())).into(),
                        format!("{:.0}", self.results.total(s, |t| t.pauses as f64).mean).into(),
                        time(self.results.total(s, |t| t.pause_ns as f64 * 1e3).mean).into(),
                        format!("{:.0}", self.results.total(s, |t| t.messages as f64).mean).into(),
                    ];
                    t.push(row);
                }
            }
        }
        t
    }
}

fn figure(gain: &dyn Fn(usize, usize, usize) -> f64, ce: &dyn Fn(usize, usize, usize) -> f64) -> Figure {
    let rows: Vec<&str> = FLOW_CONTROLS.iter().map(|f| f.1).collect();
    let bins: [(&str, usize); 3] = [("all", VICTIMS), ("< 10 KB", BIN), ("> 1 MB", BIN + 3)];
    let columns: Vec<String> = RATE_CONTROLS.iter().flat_map(|r| bins.map(|b| format!("{}, {}", r.0, b.0))).collect();
    let cell = |fc: usize, column: usize| {
        let (rc, (_, group)) = (column / bins.len(), bins[column % bins.len()]);
        let ratio = gain(fc, rc, group);
        let tone = match ratio {
            r if r >= 1.05 => Tone::Good,
            r if r <= 0.95 => Tone::Bad,
            _ => Tone::Neutral,
        };
        let detail =
            if group == VICTIMS { format!("CE {:.1} to {:.1} %", 100.0 * ce(fc, rc, 0), 100.0 * ce(fc, rc, 1)) } else { String::new() };
        HeatCell::new(tone, format!("{ratio:.2}x")).detail(detail)
    };
    let cells = (0..rows.len()).map(|fc| (0..columns.len()).map(|c| cell(fc, c)).collect()).collect();
    let legend = [(Tone::Good, "victims at least 5 % faster with TCD"), (Tone::Neutral, "alike"), (Tone::Bad, "at least 5 % slower")];
    Figure::new("Does ternary marking help where nothing is paused?")
        .caption(
            "Ratio of mean completion times of victims without and with TCD, by size. Below it the share of victims that are marked \
            CE, without and with TCD.",
        )
        .panel(
            Panel::new("", Axis::new("Rate control, size of the victims", Unit::None), Axis::new("Flow control", Unit::None))
                .mark(Mark::heatmap(rows, columns, cells).legend(legend)),
        )
}
