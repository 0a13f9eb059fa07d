//! One job: a network under a flow control, one or several times.

use serde::{Deserialize, Serialize};
use xoff_net::topology::{FlowKey, Topology, trace_path};
use xoff_run::NetworkScenario;
use xoff_sim::{Ended, FlowRecord, Lone, Outcome, Probes, Selection, World, ideal_time};
use xoff_units::{Span, Time};

use crate::gfc::schemes::WITH_REPAIR;
use crate::{ReproduceError, lab};

use super::meter::{Measured, Meter, Sums, WINDOW};
use super::network::{Network, RoutingRule};
use super::sizes::LONG_US;

/// The scenario of every run; a job changes what [`Job`] names.
pub const SCENARIO: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/gfc/tab1.toml"));

/// The four flow controls of the paper, and xoff's extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Priority-based flow control.
    Pfc,
    /// Credits.
    Cbfc,
    /// Buffer-based Gentle Flow Control.
    GfcBuffer,
    /// Time-based Gentle Flow Control.
    GfcTime,
    /// Buffer-based Gentle Flow Control whose entry ports slow down first: an xoff extension.
    Repaired,
}

impl Scheme {
    /// Schemes in the order of the figures.
    pub const ALL: [Scheme; 4] = [Scheme::Pfc, Scheme::Cbfc, Scheme::GfcBuffer, Scheme::GfcTime];
    /// The same and xoff's extension.
    pub const WITH_REPAIR: [Scheme; 5] = [Scheme::Pfc, Scheme::Cbfc, Scheme::GfcBuffer, Scheme::GfcTime, Scheme::Repaired];

    /// Name in scenario files.
    pub fn name(self) -> &'static str {
        ["pfc", "cbfc", "gfc-buffer", "gfc-time", "gfc-buffer"][self as usize]
    }

    /// Name in the paper.
    pub fn title(self) -> &'static str {
        WITH_REPAIR[self as usize].title
    }

    /// True if the scheme only slows ports down and never pauses them.
    pub fn is_gentle(self) -> bool {
        WITH_REPAIR[self as usize].gentle
    }
}

/// Order across ingresses at an egress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Egress {
    /// FIFO.
    Fifo,
    /// Round robin.
    RoundRobin,
}

impl Egress {
    /// Name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Egress::Fifo => "fifo",
            Egress::RoundRobin => "round-robin",
        }
    }
}

/// Purpose of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// Does it deadlock, or do flows stop permanently? Each run stops at the first deadlock, and the series of runs at the first of both.
    Deadlock,
    /// Performance; each run continues to its end.
    Performance,
    /// Number of messages; as `Performance`, with every message counted.
    Messages,
}

/// Event that starts the next flow of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NextAfter {
    /// The last one has arrived: a closed loop, as the paper describes it.
    Delivery,
    /// The last frame has left, so that flows pile up in a congested network.
    Sent,
}

/// Before the end of a run: when what has arrived is noted. No byte since the first: a flow stops; since the second: it waits.
const NOTED: [Span; 2] = [STANDSTILL, crate::gfc::schemes::STANDSTILL];
/// How long a flow of these networks has had no byte when it stops. Not 1 ms, as in the other entries: behind a hotspot flows wait that long
/// under PFC too, without any cycle (Fig. 16 counts them).
const STANDSTILL: Span = Span::from_ms(5);
/// How long a search goes on with a repetition in which flows stop under GFC: do they still when it is over? [us]
const GOES_ON_US: u64 = LONG_US;

/// A run: purpose, network, flow control and settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Job {
    /// Purpose.
    pub aim: Aim,
    /// The network.
    pub network: Network,
    /// Routing rule.
    pub rule: RoutingRule,
    /// Order across ingresses.
    pub egress: Egress,
    /// Flow control.
    pub scheme: Scheme,
    /// Hysteresis of buffer-based GFC [bytes].
    pub hysteresis: u32,
    /// Least time between two messages of buffer-based GFC [ns].
    pub spacing_ns: u32,
    /// When the next flow of a host starts.
    pub next_after: NextAfter,
    /// Largest flow [bytes]; 0: as the distribution has it.
    pub size_max: u64,
    /// Length of a run [us].
    pub duration_us: u64,
    /// Number of the first repetition; with the network it gives the seed of the traffic.
    pub first: u32,
    /// Repetitions.
    pub repetitions: u32,
}

/// Result of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Number of the repetition.
    pub repetition: u32,
    /// When a cycle closed [ns]; none: no deadlock.
    pub deadlock_ns: Option<u64>,
    /// The ports of that cycle by name.
    pub cycle: Vec<String>,
    /// Simulated time reached [us].
    pub end_us: u64,
    /// Flow completion time over the shortest possible time, over the flows that were complete.
    pub slowdown: Sums,
    /// Sum of the flow completion times of those flows [ps], and of their shortest possible times.
    pub fct_ps: (f64, f64),
    /// Flows that were started.
    pub flows: u64,
    /// Flows that stop: begun, not complete, not a byte in the last 5 ms; if no deadlock cut the run short.
    pub still: u64,
    /// The same with 1 ms in place of 5.
    pub waiting: u64,
    /// In a search, under GFC: flows that stop and have not a byte until 60 ms either, when the repetition runs that long.
    #[serde(default)]
    pub for_good: u64,
    /// Frames dropped.
    pub dropped: u64,
    /// Promises broken.
    pub violations: u64,
    /// Link traversals of data frames.
    pub frame_hops: u64,
    /// Measurements of the run.
    pub measured: Measured,
}

/// The runs of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// In order of repetition; in a search for deadlocks none after the first that had one.
    pub runs: Vec<Run>,
}

impl Run {
    /// Mean rate per server over the last `windows` windows [bit/s].
    pub fn tail(&self, windows: usize) -> f64 {
        let series = &self.measured.series_kbps;
        let tail = &series[series.len().saturating_sub(windows)..];
        1000.0 * tail.iter().map(|&v| v as f64).sum::<f64>() / tail.len() as f64
    }
}

impl Runs {
    /// The first run with a deadlock.
    pub fn deadlock(&self) -> Option<&Run> {
        self.runs.iter().find(|r| r.deadlock_ns.is_some())
    }

    /// True if flows stopped in a run without a deadlock.
    pub fn stands_still(&self) -> bool {
        self.runs.iter().any(|r| r.deadlock_ns.is_none() && r.still > 0)
    }

    /// True if flows stopped permanently.
    pub fn for_good(&self) -> bool {
        self.runs.iter().any(|r| r.for_good > 0)
    }
}

impl Job {
    /// Runs it; `None` when `stop` returned true.
    pub fn run(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Runs>, ReproduceError> {
        let mut runs = Runs::default();
        for repetition in self.first..self.first + self.repetitions {
            let Some(mut run) = self.one(repetition, NOTED, stop)? else { return Ok(None) };
            if self.aim == Aim::Deadlock && self.scheme.is_gentle() && run.still > 0 {
                let long = Job { aim: Aim::Performance, duration_us: GOES_ON_US, ..self.clone() };
                let since = STANDSTILL + Span::from_us(GOES_ON_US.saturating_sub(self.duration_us));
                let Some(later) = long.one(repetition, [since, since], stop)? else { return Ok(None) };
                run.for_good = later.still;
            }
            let found = run.deadlock_ns.is_some() || run.for_good > 0;
            runs.runs.push(run);
            if found && self.aim == Aim::Deadlock {
                break;
            }
        }
        Ok(Some(runs))
    }

    /// Seed of the traffic of a repetition: its own for every network, or all networks would meet the same few
    /// traffics and their outcomes would not be independent. The same for all flow controls.
    pub fn traffic_seed(&self, repetition: u32) -> u64 {
        self.network.seed() * 1_000_000_000 + repetition as u64
    }

    /// The settings that turn [`SCENARIO`] into a repetition of this job.
    pub fn settings(&self, repetition: u32) -> Vec<String> {
        let n = self.network;
        let mut settings = vec![
            format!("topology.k={}", n.k),
            format!("failures.seed={}", n.seed()),
            format!("routing.kind={}", self.rule.name()),
            format!("switch.discipline={}", self.egress.name()),
            format!("flow_control.kind={}", self.scheme.name()),
            format!("flow_control.gfc-buffer.hysteresis={}B", self.hysteresis),
            format!("flow_control.gfc-buffer.spacing={}ns", self.spacing_ns),
            format!("workload[0].next_after={}", if self.next_after == NextAfter::Sent { "sent" } else { "delivery" }),
            format!("run.duration={}us", self.duration_us),
            format!("run.stop_on_deadlock={}", self.aim == Aim::Deadlock),
            format!("run.seed={}", self.traffic_seed(repetition)),
        ];
        let cap = if self.size_max == 0 { u64::MAX >> 8 } else { self.size_max };
        settings.push(format!("workload[0].size_max={cap}B"));
        if self.scheme == Scheme::Repaired {
            // Half of a switch's ports lead down.
            settings.push(format!("flow_control.gfc-buffer.entry_ports={}", n.k / 2));
        }
        settings
    }

    /// The scenario of a repetition.
    pub fn scenario(&self, repetition: u32) -> Result<NetworkScenario, ReproduceError> {
        lab::load("tab1.toml", SCENARIO, &self.settings(repetition))
    }

    fn one(&self, repetition: u32, noted: [Span; 2], stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Run>, ReproduceError> {
        let scenario = self.scenario(repetition)?;
        let mut model = scenario.model();
        // The seed of the run is that of the traffic. The routes belong to the network: every repetition has the same.
        model.routing = self.rule.routing(self.network.seed());
        model.probes = self.probes();
        let t = &scenario.topology;
        let mut world = World::build(t, scenario.flows.clone(), &model)?;
        drop(model);
        world.record_to(Box::new(Meter::new(t)));
        // What had arrived some time before the end shows which flows stop.
        let mut ended = Ended::TimeUp;
        let before = noted.map(|least| {
            if ended == Ended::TimeUp {
                ended = world.drive(Time(scenario.until.0.saturating_sub(least.0)), |_| !stop());
            }
            (world.now(), world.flows_now())
        });
        if ended == Ended::TimeUp {
            ended = world.drive(scenario.until, |_| !stop());
        }
        if ended == Ended::Interrupted {
            return Ok(None);
        }
        // Nothing happens any more in a network that came to a stop, but its servers keep receiving nothing.
        let (outcome, recorder) = world.finish(ended);
        let meter = recorder.and_then(|r| r.into_any().downcast::<Meter>().ok()).expect("the world returns the recorder it was given");
        let mut run = self.summary(repetition, t, &outcome);
        if run.deadlock_ns.is_none() || self.aim != Aim::Deadlock {
            [run.still, run.waiting] = before.map(|(at, flows)| standing_still(at, &flows, &outcome.flows));
        }
        run.measured = meter.finish(outcome.now, self.aim == Aim::Messages);
        if ended == Ended::Quiet {
            pad(&mut run, t, self.duration_us);
        }
        Ok(Some(run))
    }

    fn probes(&self) -> Probes {
        let control = if self.aim == Aim::Messages { Selection::All } else { Selection::None };
        let queues = if self.aim == Aim::Performance { Selection::All } else { Selection::None };
        Probes { interval: WINDOW, rates: Selection::All, queues, control, ..Probes::default() }
    }

    fn summary(&self, repetition: u32, t: &Topology, outcome: &Outcome) -> Run {
        let routing = self.rule.routing(self.network.seed());
        let routes = routing.routes(t);
        let (mut slowdown, mut fct_ps) = (Sums::default(), (0.0, 0.0));
        for f in &outcome.flows {
            let Some(fct) = f.fct() else { continue };
            let key = FlowKey { src: f.flow.src, dst: f.flow.dst, src_port: f.flow.src_port, dst_port: f.flow.dst_port };
            let Some(path) = trace_path(t, &routes, &routing.choice, &key) else { continue };
            let lone = Lone { size: f.flow.size, rate: f.flow.rate, payload_max: 1500, header: 0 };
            let ideal = ideal_time(t, &path, &lone, None);
            slowdown.add(fct.0 as f64 / ideal.0 as f64);
            fct_ps = (fct_ps.0 + fct.0 as f64, fct_ps.1 + ideal.0 as f64);
        }
        let deadlock = outcome.deadlocks.iter().min_by_key(|d| d.closed);
        Run {
            repetition,
            deadlock_ns: deadlock.map(|d| d.closed.0 / 1000),
            cycle: deadlock.map_or(Vec::new(), |d| d.cycle.iter().map(|p| t.port_name(p.node, p.port)).collect()),
            end_us: outcome.now.0 / 1_000_000,
            slowdown,
            fct_ps,
            flows: outcome.flows.len() as u64,
            still: 0,
            waiting: 0,
            for_good: 0,
            dropped: xoff_run::verdict::losses(outcome).total(),
            violations: outcome.violations_total,
            frame_hops: outcome.data_frame_hops,
            measured: Measured::default(),
        }
    }
}

/// Flows that had begun by then, are not complete, and of which no byte has arrived since.
fn standing_still(since: Time, before: &[FlowRecord], now: &[FlowRecord]) -> u64 {
    let waits = |(b, n): &(&FlowRecord, &FlowRecord)| b.flow.start < since && n.received.is_none() && n.delivered == b.delivered;
    before.iter().zip(now).filter(waits).count() as u64
}

/// Windows of zero up to the planned end.
fn pad(run: &mut Run, t: &Topology, duration_us: u64) {
    let windows = (duration_us * 1_000_000 / WINDOW.0) as usize;
    let servers = t.hosts().count() as u64;
    while run.measured.series_kbps.len() < windows {
        run.measured.series_kbps.push(0);
        run.measured.throughput.n += servers;
    }
}
