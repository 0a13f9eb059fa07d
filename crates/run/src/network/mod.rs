//! A scenario of a network as a run: from its file to everything a world is built from.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use xoff_mech::LinkFacts;
use xoff_mech::detection::Detection;
use xoff_mech::flow_control::FlowControl;
use xoff_mech::rate_control::RateControlKind;
use xoff_mech::{link_retry, watchdog};
use xoff_net::topology::Topology;
use xoff_net::topology::routing::{FlowKey, Routes, Routing, trace_path};
use xoff_net::workload::{Flow, Flows};
use xoff_node::{BufferPolicy, Compat, ControlDelay, PoolConfig, SharedPool, Transport};
use xoff_scenario::document::{Document, Override};
use xoff_scenario::{Problems, Source};
use xoff_sim::{
    Engine, Faults, LinkErrors, LinkFailure, Lone, Model, NicModel, PathFacts, PathFactsOf, PauseStorm, Probes, Selection, SlowReceiver,
    SwitchAt, ideal_time,
};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, Span, Time, WireClock};

pub(crate) mod boundary;
pub(crate) mod buffers;
pub(crate) mod checkpoint;
mod conditions;
mod course;
mod derived;
pub(crate) mod driven;
mod execute;
pub(crate) mod explain;
mod flows_at_once;
mod from_outside;
mod host;
mod ideal;
pub(crate) mod jobs;
pub(crate) mod link_errors;
mod operation;
mod parts;
mod pool;
mod processes;
mod read;
mod recorder;
pub(crate) mod resources;
mod rows;
mod sorted;
mod standstill;
pub(crate) mod summary;
mod summary_of_faults;
mod switch;
mod transport;
pub(crate) mod tree;
pub mod verdict;

use boundary::Boundary;
use buffers::{Buffers, SwitchLinks};
pub use course::{Course, PortLook};
pub use execute::{Finished, Page, Running};
use host::Host;
pub use jobs::{CAUSES, Iteration, JobSummary, RankState, Straggler, Stretch, rank_states};
pub(crate) use read::{absolute, read};
pub use recorder::FrameTap;
use switch::{Memory, SwitchParts};

/// A network of switches and hosts that can run.
pub struct NetworkScenario {
    /// Description in one line.
    pub title: String,
    /// Folder in which its files are looked up.
    pub folder: PathBuf,
    /// The network, failed links marked.
    pub topology: Topology,
    /// Flows of the scenario.
    pub flows: Flows,
    /// Simulated time.
    pub until: Time,
    /// Seed of every random stream.
    pub seed: u64,
    /// Name of the flow control.
    pub flow_control: &'static str,
    /// Name of the detection.
    pub detection: &'static str,
    /// Name of the rate control.
    pub rate_control: &'static str,
    /// Everything resolved, as a document that gives the same run.
    pub resolved: String,
    /// Every parameter with its origin.
    pub parameters: Vec<xoff_record::Parameter>,
    /// Warnings for the user, each with its place.
    pub warnings: Problems,
    /// Surroundings where its frames are real.
    pub boundary: Boundary,
    /// Engine for events; never changes a result.
    pub engine: Engine,
    /// Time on the clock between two checkpoints; `None`: none are written.
    pub checkpoint: Option<Duration>,
    /// As given: the text, and the settings over it.
    pub source: Arc<Source>,
    /// Settings laid over the text.
    pub settings: Vec<Override>,
    pub(crate) model: ModelParts,
}

/// Parts from which [`NetworkScenario::model`] assembles a new model.
pub(crate) struct ModelParts {
    pub flow_control: Vec<(LinkFacts, FlowControl)>,
    pub detection: Detection,
    pub rate_control: RateControlKind,
    pub switch: SwitchParts,
    /// Priorities that no flow control holds.
    pub lossy: Vec<u8>,
    /// Memory of the switches in pools.
    pub buffers: Option<Buffers>,
    pub watchdog: Option<watchdog::Config>,
    pub control_delay: ControlDelay,
    pub routing: Routing,
    pub host: Host,
    pub deadlock_interval: Span,
    pub stop_on_deadlock: bool,
    pub stop_when_done: bool,
    pub fast_forward: bool,
    pub checks: bool,
    pub probes: Probes,
    pub failures: Vec<LinkFailure>,
    pub storms: Vec<PauseStorm>,
    pub slow_receivers: Vec<SlowReceiver>,
    pub errors: Vec<LinkErrors>,
    pub link_retry: Option<link_retry::Config>,
}

impl ModelParts {
    /// The facts of a kind of link, which differ in rate and delay only, and its flow control.
    fn link(&self, like: &LinkFacts) -> Option<&(LinkFacts, FlowControl)> {
        self.flow_control.iter().find(|(f, _)| (f.rate, f.delay) == (like.rate, like.delay))
    }
}

impl NetworkScenario {
    /// Reads a file; `settings` replace or add values.
    ///
    /// # Errors
    /// A file that cannot be read, and all problems of the scenario, each with its place and the expected form.
    pub fn load(path: &Path, settings: &[Override]) -> Result<NetworkScenario, Problems> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        read(Document::load(path, settings)?, &folder)
    }

    /// From a text; `name` appears in messages, files are looked up in `folder`.
    ///
    /// # Errors
    /// All problems of the scenario, each with its place and the expected form.
    pub fn from_text(name: &str, text: &str, settings: &[Override], folder: &Path) -> Result<NetworkScenario, Problems> {
        read(Document::from_text(name, text, settings)?, folder)
    }

    /// A fresh model of this scenario.
    pub fn model(&self) -> Model<'_> {
        let m = &self.model;
        let buffer = m.switch.ingress_buffer;
        Model {
            flow_control: Box::new(move |facts| {
                let found = m.link(facts).map(|(_, fc)| fc.clone());
                found.ok_or_else(|| ParamError::new("flow_control", "a link without flow control", ""))
            }),
            detection: Box::new(move |_| m.detection.clone()),
            buffer: Box::new(move |at| match &m.switch.memory {
                Memory::Pools => self.pools_of(at),
                Memory::PerIngress if m.flow_control.iter().any(|(_, fc)| fc.shares_port()) => BufferPolicy::PerPort(buffer),
                Memory::PerIngress => BufferPolicy::PerIngress(buffer),
                Memory::Shared { total, reserve, headroom, shift } => BufferPolicy::Shared(SharedPool {
                    total: *total,
                    reserve: *reserve,
                    headroom: at
                        .links
                        .iter()
                        .map(|l| m.link(l).map_or(Bytes::ZERO, |(facts, fc)| pool::headroom(*headroom, facts, fc)))
                        .collect(),
                    shift: vec![*shift; at.links.len()],
                }),
            }),
            ingress_buffer: buffer,
            discipline: m.switch.discipline,
            scheduler: m.switch.scheduler.clone(),
            lossy: m.lossy.clone(),
            cut_through: m.switch.cut_through,
            watchdog: m.watchdog,
            control_delay: m.control_delay,
            message_len: None,
            clock: WireClock::Picoseconds,
            routing: m.routing,
            nic: NicModel {
                payload_max: m.host.payload_max,
                header: m.host.header,
                transport: m.host.transport,
                cnps_unpaused: m.host.cnp_priority.is_some(),
                recovery: m.host.recovery,
                connection: m.host.connection,
                obeys_priorities: m.host.obeys_priorities,
                rate_control: m.rate_control.clone(),
                window_follows_rate: false,
                rate_bound: true,
                pacing: m.host.pacing,
                shared_connections: m.host.shared_connections,
            },
            compat: Compat::default(),
            order: Default::default(),
            threads: 1,
            engine: self.engine,
            seed: self.seed,
            deadlock_interval: m.deadlock_interval,
            stop_on_deadlock: m.stop_on_deadlock,
            stop_when_done: m.stop_when_done,
            fast_forward: m.fast_forward,
            checks: m.checks,
            probes: match self.flows.jobs {
                // Where the time of a job went is read from them.
                Some(_) => Probes { pauses: Selection::All, ..m.probes.clone() },
                None => m.probes.clone(),
            },
            faults: Faults {
                failures: m.failures.clone(),
                storms: m.storms.clone(),
                slow_receivers: m.slow_receivers.clone(),
                errors: m.errors.clone(),
                link_retry: m.link_retry,
                ..Faults::default()
            },
            path_facts: self.path_facts(),
            unpaused: m.host.cnp_priority,
            ..Model::plain(buffer, |_| Ok(FlowControl::None))
        }
    }

    /// The pools of a switch.
    fn pools_of(&self, at: &SwitchAt<'_>) -> BufferPolicy {
        let m = &self.model;
        let Some(buffers) = &m.buffers else { return BufferPolicy::PerIngress(m.switch.ingress_buffer) };
        let made = self.with_links(at.node, |links| buffers.at(links)).unwrap_or_else(|(_, e)| panic!("was checked when it was read: {e}"));
        BufferPolicy::Pools(made.in_classes(at.links.len() as u16, at.classes))
    }

    /// Facts about a switch for its pools.
    fn with_links<T>(&self, node: u32, f: impl FnOnce(&SwitchLinks<'_>) -> T) -> T {
        let m = &self.model;
        let lossy = buffers::lossy(self.flow_control, &m.lossy);
        buffers::with_links(&self.topology, &m.flow_control, node, &lossy, f)
    }

    /// Priorities that no flow control holds.
    pub fn lossy(&self) -> &[u8] {
        &self.model.lossy
    }

    /// Names of all pools, each once.
    pub(crate) fn pool_names(&self) -> Vec<String> {
        self.model.buffers.as_ref().map_or(Vec::new(), Buffers::pool_names)
    }

    /// The pools of a switch, each with its side; empty: its memory is not in pools.
    pub fn pools_at(&self, node: u32) -> Vec<PoolConfig> {
        let Some(buffers) = &self.model.buffers else { return Vec::new() };
        self.with_links(node, |links| buffers.at(links)).map_or(Vec::new(), |made| made.pools)
    }

    /// Path facts of flows: the window of the file, and for who reckons with it the round trip of a full frame
    /// and its acknowledgement in the empty network.
    fn path_facts(&self) -> Option<PathFactsOf<'_>> {
        let m = &self.model;
        let window = m.host.window;
        if m.rate_control.telemetry().is_none() || m.host.transport == Transport::None {
            return window.map(|_| -> PathFactsOf { Box::new(move |_, _| PathFacts { window, base_rtt: None }) });
        }
        let routes = m.routing.routes(&self.topology);
        Some(Box::new(move |src, dst| self.facts_of_path(&routes, src, dst)))
    }

    /// Path facts of a flow between two hosts.
    fn facts_of_path(&self, routes: &Routes, src: u32, dst: u32) -> PathFacts {
        let m = &self.model;
        let window = m.host.window;
        let (true, Transport::Acks { ack_len, .. }) = (m.rate_control.telemetry().is_some(), m.host.transport) else {
            return PathFacts { window, base_rtt: None };
        };
        let key = FlowKey { src, dst, src_port: 0, dst_port: 0 };
        let time = |key: FlowKey, payload: u32, header: u32| {
            let path = trace_path(&self.topology, routes, &m.routing.choice, &key)?;
            let frame = Lone { size: payload as u64, rate: None, payload_max: payload, header };
            Some(ideal_time(&self.topology, &path, &frame, m.switch.cut_through))
        };
        let there = time(key, m.host.payload_max, m.host.header);
        let back = time(key.reversed(), ack_len, 0);
        PathFacts { window, base_rtt: there.zip(back).map(|(a, b)| a + b) }
    }

    /// The egress ports that a flow goes through, its host's first; `None`: there is no route, or it leads in a circle.
    pub fn path(&self, routes: &Routes, w: &Flow) -> Option<Vec<(u32, u16)>> {
        match w.path {
            Some(p) if self.flows.paths.is_loop(p) => None,
            Some(p) => Some(self.flows.paths.hops(p).to_vec()),
            None => {
                let key = FlowKey { src: w.src, dst: w.dst, src_port: w.src_port, dst_port: w.dst_port };
                trace_path(&self.topology, routes, &self.model.routing.choice, &key)
            }
        }
    }

    /// True if the operations and messages of its jobs are in a file, and not in memory.
    pub fn is_streamed(&self) -> bool {
        self.flows.jobs.as_ref().is_some_and(|j| j.are_streamed())
    }

    /// Refuses a question about single flows of a run that does not keep its messages.
    ///
    /// # Errors
    /// The job is streamed.
    pub fn keeps_flows(&self) -> Result<(), ParamError> {
        if self.is_streamed() {
            let what = "a run does not keep the messages of a streamed job";
            return Err(ParamError::new("job.stream", what, "run the job without stream = true, or run a part of the trace"));
        }
        Ok(())
    }

    /// Payload of a full frame and bytes around it.
    pub fn frame(&self) -> (u32, u32) {
        (self.model.host.payload_max, self.model.host.header)
    }

    /// Bytes after which switches forward a frame; `None`: they wait for all of it.
    pub fn cut_through(&self) -> Option<Bytes> {
        self.model.switch.cut_through
    }

    /// True if frames carry records of the ports they pass.
    pub fn needs_telemetry(&self) -> bool {
        self.model.rate_control.telemetry().is_some()
    }

    /// True if the run checks its invariants.
    pub fn is_checked(&self) -> bool {
        self.model.checks
    }

    /// True if flows are connections of a transport.
    pub fn has_connections(&self) -> bool {
        self.model.host.connection.is_some()
    }

    /// True if links fail during the run.
    pub fn has_failures(&self) -> bool {
        !self.model.failures.is_empty()
    }

    /// True if links corrupt or resend frames.
    pub fn has_link_errors(&self) -> bool {
        !self.model.errors.is_empty() || self.model.link_retry.is_some()
    }

    /// The routing rule.
    pub fn routing(&self) -> Routing {
        self.model.routing
    }

    /// The facts of every kind of link with the flow control configured for it.
    pub fn links(&self) -> &[(LinkFacts, FlowControl)] {
        &self.model.flow_control
    }
}
