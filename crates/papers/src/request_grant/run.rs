//! Run of a fabric, and its kept result.
//!
//! ```text
//!   Config --run--> Run { throughput, delays, windows, queues, messages }, times in t_min
//!      '--- as text, key ---> DIR/request-grant/done.jsonl, so that a stopped study can continue
//! ```
//!
//! Entries share runs: whoever needs one that another entry has done finds it there.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize, Serializer};
use xoff_sim::scheduled::{Config, Delay, Pattern, Report, World};

use crate::study::{self, Series};
use crate::{Check, Context, ReproduceError};

/// Delays of packets [t_min].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    /// Packets.
    pub packets: u64,
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl Delays {
    fn of(d: &Delay, t_min: f64) -> Delays {
        let at = |ps: u64| ps as f64 / t_min;
        if d.count() == 0 {
            return Delays::default();
        }
        Delays { packets: d.count(), min: at(d.min()), mean: d.mean() / t_min, p99: at(d.quantile(0.99)), max: at(d.max()) }
    }
}

/// A stretch of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// End of the run [t_min].
    pub end: f64,
    /// Throughput of an output that is no hotspot, as a share of its line.
    pub cold: f64,
    /// Bytes of packets that left for hotspots [bytes].
    #[serde(default)]
    pub hot_bytes: u64,
    /// Mean delay of packets that left for such outputs; none if none did [t_min].
    pub delay: Option<f64>,
    /// Fullest fabric-output queue of a hotspot at the end [bytes].
    pub hot_queue_max: u32,
    /// Mean [bytes].
    pub hot_queue_mean: f64,
    /// Grants held by the input that holds most at the end [segments].
    pub grants_max: u32,
    /// Mean over inputs [segments].
    pub grants_mean: f64,
}

/// Kept result of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Throughput of outputs that are no hotspots, as a share of their lines.
    pub cold: f64,
    /// Offered load.
    pub offered: f64,
    /// Throughput of the hotspots; 0 without any.
    pub hot: f64,
    /// Throughput by input, as a share of its line.
    pub by_input: Vec<f64>,
    /// Throughput by output, as a share of its line.
    pub by_output: Vec<f64>,
    /// Delays to outputs that are no hotspots.
    pub delay: Delays,
    /// Stretches.
    pub stretches: Vec<Stretch>,
    /// Largest output queue by stage [bytes].
    pub queue_max: Vec<u32>,
    /// Times that a link had a segment and no room behind it, by stage, adapters first.
    pub waits: Vec<u64>,
    /// Most in a reorder and reassembly buffer [bytes].
    pub reassembly_max: u64,
    /// Segments with payload.
    pub segments: u64,
    /// Unsolicited segments.
    pub unsolicited: u64,
    /// Segments overtaken by a later one of their flow.
    pub out_of_order: u64,
    /// Stand-alone control segments, or messages next to the data.
    pub control: u64,
    /// Share of all bytes injected.
    pub control_share: f64,
    /// Packets that came, in the whole run.
    pub packets_in: u64,
    /// Packets that left.
    pub packets_out: u64,
    /// A deadlock in words.
    pub stuck: Option<String>,
}

impl Run {
    /// Part of what outputs that are no hotspots were offered that they carried.
    pub fn carried(&self) -> f64 {
        self.cold / self.offered
    }

    fn of(c: &Config, r: &Report) -> Run {
        let (n, t_min) = (c.ports(), c.t_min().0 as f64);
        let hot: &[u32] = match &c.traffic.pattern {
            Pattern::Hotspots { outputs, .. } | Pattern::HotspotsBeside { outputs, .. } => outputs,
            _ => &[],
        };
        let lines = |bytes: u64, ports: usize| bytes as f64 * 8e12 / (c.line.as_f64() * r.measured as f64 * ports.max(1) as f64);
        let sum = |of: &[u64], wanted: bool| (0..n).filter(|o| hot.contains(o) == wanted).map(|o| of[o as usize]).sum::<u64>();
        let cold_ports = n as usize - hot.len();
        let window_bytes = c.line.as_f64() / 8e12 * c.window.0 as f64 * cold_ports as f64;
        let stretch = |w: &xoff_sim::scheduled::Window| Stretch {
            end: w.end.0 as f64 / t_min,
            cold: w.cold_bytes as f64 / window_bytes,
            hot_bytes: w.hot_bytes,
            delay: (w.cold_packets > 0).then(|| w.cold_delay as f64 / w.cold_packets as f64 / t_min),
            hot_queue_max: w.hot_queue_max,
            hot_queue_mean: w.hot_queue_mean,
            grants_max: w.grants_max,
            grants_mean: w.grants_mean,
        };
        Run {
            cold: lines(sum(&r.delivered, false), cold_ports),
            offered: lines(sum(&r.offered, false), cold_ports),
            hot: lines(sum(&r.delivered, true), hot.len()),
            by_input: r.delivered_by_input.iter().map(|&b| lines(b, 1)).collect(),
            by_output: r.delivered.iter().map(|&b| lines(b, 1)).collect(),
            delay: Delays::of(&r.cold, t_min),
            stretches: r.windows.iter().map(stretch).collect(),
            queue_max: r.queue_max.clone(),
            waits: r.waits.clone(),
            reassembly_max: r.reassembly_max,
            segments: r.segments,
            unsolicited: r.unsolicited,
            out_of_order: r.out_of_order,
            control: r.control,
            control_share: r.control_bytes as f64 / (r.control_bytes + r.segment_bytes).max(1) as f64,
            packets_in: r.packets_in,
            packets_out: r.packets_out,
            stuck: r.stuck.as_ref().map(ToString::to_string),
        }
    }
}

/// A run of a fabric, distinguished from others by the text of its configuration, which names every setting.
pub struct Job(pub Config);

impl Serialize for Job {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{:?}", self.0))
    }
}

impl study::Job for Job {
    const FOLDER: &'static str = "request-grant";
    const SOURCE: &'static str = include_str!("run.rs");
    type Run = Run;

    fn run(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Run>, ReproduceError> {
        let world = World::new(self.0.clone()).unwrap_or_else(|p| panic!("settings of an entry: {p:?}"));
        let mut stopped = false;
        let report = world.run(&mut |_, _| {
            stopped = stop();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        Ok((!stopped).then(|| Run::of(&self.0, &report)))
    }
}

/// The runs an entry needs, in series of one run per seed.
#[derive(Default)]
pub struct Plan(study::Plan<Job>);

/// The runs of a plan.
pub type Results = study::Results<Run>;

impl Plan {
    /// Adds a run for each of `seeds` seeds from that of the context on.
    pub fn series(&mut self, cx: &Context, seeds: u64, config: &Config) -> Series {
        self.0.add(cx, seeds, |seed| Job(Config { seed, ..config.clone() }))
    }

    /// Does what no earlier entry or run has done.
    pub fn run(self, cx: &Context) -> Result<Results, ReproduceError> {
        self.0.run(cx)
    }
}

/// Checks of every run except those that are meant to deadlock.
pub fn soundness(results: &Results) -> Check {
    Check::none("reassembly deadlocks in all runs", "deadlocks", results.sum(|r| r.stuck.is_some().into()))
}
