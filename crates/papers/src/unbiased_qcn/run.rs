//! Run of a fabric with hosts, and its kept result.
//!
//! ```text
//!   Job (name, configuration) --run--> Run { by flow: rates, limits, queues, CNMs over time; totals }
//!       '------ key ---------------> DIR/unbiased-qcn/done.jsonl, so that a stopped study can continue
//! ```
//!
//! Entries share runs: whoever needs one that another entry has done finds it there.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use xoff_sim::scheduled::{Config, HostReport, Report, World};
use xoff_units::Span;

use crate::lab::Points;
use crate::study::{self, Series};
use crate::{Check, Context, ReproduceError};

/// A run: scenario, settings and what to examine.
#[derive(Clone, Debug, Serialize)]
pub struct Job {
    /// Name for a reader of the file.
    name: String,
    /// Every setting, hashed: another one is another run.
    settings: String,
    #[serde(skip)]
    config: Config,
}

impl Job {
    fn new(name: &str, config: Config) -> Job {
        Job { name: name.into(), settings: study::fingerprint(&format!("{config:?}")), config }
    }
}

impl study::Job for Job {
    const FOLDER: &'static str = "unbiased-qcn";
    const SOURCE: &'static str = include_str!("run.rs");
    type Run = Run;

    fn run(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Run>, ReproduceError> {
        let world = World::new(self.config.clone()).map_err(refused)?;
        let mut stopped = false;
        let mut report = world.run(&mut |_, _| {
            stopped = stop();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let hosts = report.hosts.take().unwrap_or_default();
        Ok((!stopped).then(|| Run::of(&self.config, &report, &hosts)))
    }
}

fn refused(problems: Vec<xoff_sim::scheduled::Problem>) -> ReproduceError {
    let mut all = xoff_scenario::Problems::default();
    problems.into_iter().for_each(|p| all.push(xoff_scenario::Problem::new(format!("{}: {}", p.key, p.what), p.hint)));
    ReproduceError::Scenario(all)
}

/// Flow over the windows of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRun {
    /// Port of its host.
    pub source: u32,
    /// Bytes that came to its input buffer, with the overhead on the line [bytes].
    #[serde(with = "packed")]
    pub arrived: Vec<u64>,
    /// CNMs that reached it.
    #[serde(with = "packed")]
    pub cnms: Vec<u64>,
    /// Rate limit at the end of each window; 0: no limiter [bit/s].
    #[serde(with = "packed")]
    pub limit: Vec<u64>,
    /// Bytes in its input buffer at the end of each window [bytes].
    #[serde(with = "packed")]
    pub held: Vec<u64>,
    /// Occupancy of its input buffer at the end of each window [bytes].
    #[serde(with = "packed")]
    pub input: Vec<u64>,
    /// Occupancy of the output buffer of its first destination [bytes].
    #[serde(with = "packed")]
    pub output: Vec<u64>,
    /// Bytes that left its outputs over the whole run [bytes].
    pub delivered: u64,
    /// Mean and 99th percentile of the delays of its frames [ps].
    pub delay: [f64; 2],
    /// STOPs to its host, and how long it was stopped [ps].
    pub stops: u64,
    /// Pause time [ps].
    pub stopped_ps: u64,
}

/// Kept result of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Length of a window [ps].
    pub window: u64,
    /// Results by flow.
    pub flows: Vec<FlowRun>,
    /// STOPs of all ports.
    pub stops: u64,
    /// Time that hosts were stopped, all added up [ps].
    pub stopped_ps: u64,
    /// Largest occupancy of an input buffer [bytes].
    pub input_max: u64,
    /// Largest occupancy of an output buffer [bytes].
    pub output_max: u64,
    /// Frames that came to a full input buffer.
    pub overflows: u64,
    /// Bytes of CNM and PAUSE frames.
    pub control_bytes: u64,
    /// Frames of the background that were delivered, mean and 99th percentile of their delays [ps].
    pub background: (u64, [f64; 2]),
    /// Frames that came in, and that left.
    pub frames: [u64; 2],
    /// Segments that came before an earlier one of their flow.
    pub out_of_order: u64,
    /// Times that a segment entered a switching element.
    pub hops: u64,
    /// Longest output queue of an element [bytes].
    pub queue_max: u64,
    /// Frames wait for each other in a reassembly buffer.
    pub stuck: bool,
}

impl Run {
    fn of(c: &Config, report: &Report, h: &HostReport) -> Run {
        let Some(hosts) = &c.hosts else { return Run::default() };
        let flow = |(f, flow): (usize, &xoff_sim::scheduled::HostFlow)| {
            let port = flow.source as usize;
            FlowRun {
                source: flow.source,
                arrived: h.windows.iter().map(|w| w.arrived[f]).collect(),
                cnms: h.windows.iter().map(|w| w.cnms[f].into()).collect(),
                limit: h.windows.iter().map(|w| w.limit[f].map_or(0, |r| r.0)).collect(),
                held: h.windows.iter().map(|w| w.held[f]).collect(),
                input: h.windows.iter().map(|w| w.input[f]).collect(),
                output: h.windows.iter().map(|w| w.output[f]).collect(),
                delivered: h.windows.iter().map(|w| w.delivered[f]).sum(),
                delay: [h.delays[f].mean(), h.delays[f].quantile(0.99) as f64],
                stops: h.stops[port],
                stopped_ps: h.stopped_ps[port],
            }
        };
        Run {
            window: c.window.0,
            flows: hosts.flows.iter().enumerate().map(flow).collect(),
            stops: h.stops.iter().sum(),
            stopped_ps: h.stopped_ps.iter().sum(),
            input_max: h.input_max,
            output_max: report.reassembly_max,
            overflows: h.overflows,
            control_bytes: h.control_bytes,
            background: (h.background.count(), [h.background.mean(), h.background.quantile(0.99) as f64]),
            frames: [report.packets_in, report.packets_out],
            out_of_order: report.out_of_order,
            hops: report.hops,
            queue_max: report.queue_max.iter().copied().max().unwrap_or(0).into(),
            stuck: report.stuck.is_some(),
        }
    }

    /// Windows that lie within a stretch of time [ms].
    fn windows(&self, from: f64, to: f64) -> std::ops::Range<usize> {
        let at = |ms: f64| ((ms * 1e9 / self.window as f64).round() as usize).min(self.flows[0].arrived.len());
        at(from)..at(to)
    }

    /// Mean rate of a flow at its input buffer over a stretch of time [ms], as the paper counts it: with the overhead [bit/s].
    pub fn rate(&self, flow: usize, from: f64, to: f64) -> f64 {
        let windows = self.windows(from, to);
        let span = windows.len() as f64 * self.window as f64;
        self.flows[flow].arrived[windows].iter().sum::<u64>() as f64 * 8e12 / span
    }

    /// CNMs to a flow over a stretch of time [ms].
    pub fn cnms(&self, flow: usize, from: f64, to: f64) -> u64 {
        self.flows[flow].cnms[self.windows(from, to)].iter().sum()
    }

    /// Mean of a series over a stretch of time [ms].
    pub fn mean(&self, series: &[u64], from: f64, to: f64) -> f64 {
        let windows = self.windows(from, to);
        series[windows.clone()].iter().sum::<u64>() as f64 / windows.len() as f64
    }

    /// A part of the samples of a series within a stretch of time [ms], from the smallest.
    pub fn quantile(&self, series: &[u64], from: f64, to: f64, share: f64) -> f64 {
        let mut sorted: Vec<f64> = series[self.windows(from, to)].iter().map(|&v| v as f64).collect();
        sorted.sort_by(f64::total_cmp);
        crate::stats::quantile(&sorted, share)
    }

    /// Rates of a flow, the mean of `over` windows at a time, at their ends [ps, bit/s].
    pub fn rates(&self, flow: usize, over: usize) -> Points {
        let span = (over as u64 * self.window) as f64;
        let chunks = self.flows[flow].arrived.chunks_exact(over).enumerate();
        chunks.map(|(i, bytes)| ((i + 1) as f64 * span, bytes.iter().sum::<u64>() as f64 * 8e12 / span)).collect()
    }

    /// A series over time [ps].
    pub fn points(&self, series: &[u64]) -> Points {
        series.iter().enumerate().map(|(i, &v)| ((i + 1) as f64 * self.window as f64, v as f64)).collect()
    }

    /// The limits of a flow over time; gaps while it has no limiter [ps, bit/s].
    pub fn limits(&self, flow: usize) -> Points {
        let mut points = self.points(&self.flows[flow].limit);
        points.iter_mut().filter(|p| p.1 == 0.0).for_each(|p| p.1 = f64::NAN);
        points
    }

    /// When the limit of a flow first is at or below a rate, after `from` [ms]; NaN: never.
    pub fn limited_to(&self, flow: usize, rate: f64, from: f64) -> f64 {
        let first = self.windows(from, f64::MAX).start;
        let at = self.flows[flow].limit[first..].iter().position(|&l| l > 0 && l as f64 <= rate);
        at.map_or(f64::NAN, |n| (first + n + 1) as f64 * self.window as f64 / 1e9)
    }

    /// Time that the host of a flow was stopped [ms].
    pub fn stopped_ms(&self, flow: usize) -> f64 {
        self.flows[flow].stopped_ps as f64 / Span::from_ms(1).0 as f64
    }
}

/// The runs that an entry needs, in series of one run per seed.
#[derive(Default)]
pub struct Plan(study::Plan<Job>);

/// The runs of a plan.
pub type Results = study::Results<Run>;

impl Plan {
    /// Adds a run for each of `seeds` seeds from that of the context on.
    pub fn series(&mut self, cx: &Context, seeds: u64, name: &str, config: impl Fn(u64) -> Config) -> Series {
        self.0.add(cx, seeds, |seed| Job::new(name, Config { seed, ..config(seed) }))
    }

    /// Does what no earlier entry or run has done.
    pub fn run(self, cx: &Context) -> Result<Results, ReproduceError> {
        self.0.run(cx)
    }
}

/// Checks of every run: no buffer overflow, no loss, no permanent wait.
pub fn soundness(results: &Results) -> Vec<Check> {
    vec![
        Check::none("frames that arrived at a full input buffer, all runs", "frames", results.sum(|r| r.overflows)),
        Check::none("runs that end in a reassembly deadlock", "runs", results.sum(|r| r.stuck.into())),
    ]
}

/// A series as text: numbers in a row, `7*3` for three of the same. A tenth of the memory of a JSON array that is read.
mod packed {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(all: &[u64], s: S) -> Result<S::Ok, S::Error> {
        let runs = all.chunk_by(|a, b| a == b).map(|run| match run.len() {
            1 => run[0].to_string(),
            n => format!("{}*{n}", run[0]),
        });
        s.serialize_str(&runs.collect::<Vec<_>>().join(" "))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u64>, D::Error> {
        let text = String::deserialize(d)?;
        let mut all = Vec::new();
        for run in text.split_whitespace() {
            let (value, times) = run.split_once('*').unwrap_or((run, "1"));
            let (value, times): (u64, usize) = (value.parse().map_err(D::Error::custom)?, times.parse().map_err(D::Error::custom)?);
            all.resize(all.len() + times, value);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_come_back_from_their_text() {
        for arrived in [vec![], vec![0], vec![5, 5, 5, 1, 0, 0], vec![u64::MAX, 1, 1]] {
            let flow = FlowRun { arrived, limit: vec![1, 2], ..FlowRun::default() };
            let text = serde_json::to_string(&flow).unwrap();
            assert_eq!(serde_json::from_str::<FlowRun>(&text).unwrap(), flow, "{text}");
        }
    }

    /// Windows of 1 ms: 1.25 MB are 10 Gb/s.
    #[test]
    fn rates_and_times_are_those_of_the_windows() {
        let flow = FlowRun { arrived: vec![1_250_000, 0, 2_500_000, 0], limit: vec![0, 9, 5, 3], ..FlowRun::default() };
        let run = Run { window: 1_000_000_000, flows: vec![flow], ..Run::default() };
        assert_eq!([run.rate(0, 0.0, 1.0), run.rate(0, 0.0, 4.0), run.rate(0, 2.0, 99.0)], [10e9, 7.5e9, 10e9]);
        assert_eq!(run.rates(0, 2), [(2e9, 5e9), (4e9, 10e9)]);
        assert_eq!([run.limited_to(0, 5.0, 0.0), run.limited_to(0, 9.0, 2.0)], [3.0, 3.0]);
        assert!(run.limited_to(0, 2.0, 0.0).is_nan() && run.limits(0)[0].1.is_nan());
    }
}
