//! Everything a [`World`](crate::World) is built from, besides topology and flows.

use std::sync::Arc;

use xoff_mech::LinkFacts;
use xoff_mech::balancing::Balancing;
use xoff_mech::detection::Detection;
use xoff_mech::entropy::Entropies;
use xoff_mech::flow_control::FlowControl;
use xoff_mech::rate_control::RateControlKind;
use xoff_mech::transport::Transport;
use xoff_mech::watchdog;
use xoff_net::topology::routing::{FlowKey, Routes, Routing, Way, fastest_path, trace_path};
use xoff_net::topology::{LinkId, Topology};
use xoff_node::{
    Acks, BufferPolicy, Classes, Compat, ControlDelay, Delivery, DisciplineKind, Pacing,
    PausedWith, PortChoice, SchedulerKind,
};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, NodeId, Rate, Span, WireClock};

use crate::engine::calendar::Engine;
use crate::engine::event::EventOrder;
use crate::observe::probe::Probes;
use crate::processes::Share;
use crate::wire::draws::{Fresh, RngSource};
use crate::wire::fault::Faults;
use crate::wire::lone::{Lone, ideal_time};

/// A switch whose memory is wanted.
#[derive(Clone, Copy)]
pub struct SwitchAt<'a> {
    /// Number of the node.
    pub node: NodeId,
    /// Facts of the links of its ports.
    pub links: &'a [LinkFacts],
    /// The priorities in use.
    pub classes: &'a Classes,
    /// Model of the run.
    pub model: &'a Model<'a>,
}

/// Memory of a switch.
pub type BufferOf<'a> = Arc<dyn Fn(&SwitchAt<'_>) -> BufferPolicy + Send + Sync + 'a>;

/// Path facts of a flow before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PathFacts {
    /// Bytes in flight; `None`: as many as it likes.
    pub window: Option<u64>,
    /// Round-trip time of the way without queues; `None`: unknown.
    pub base_rtt: Option<Span>,
}

/// Path facts of each flow, by (source, destination).
pub type PathFactsOf<'a> = Arc<dyn Fn(NodeId, NodeId) -> PathFacts + Send + Sync + 'a>;

/// The mechanism of a link, or why there is none.
type OfLink<'a, T> = dyn Fn(&LinkFacts) -> Result<T, ParamError> + Send + Sync + 'a;

/// A mechanism that may differ from link to link.
#[derive(Clone)]
pub enum PerLink<'a, T> {
    /// The same for every link.
    All(T),
    /// One for each kind of link. The facts of two kinds differ in rate or delay.
    Kinds(Vec<(LinkFacts, T)>),
    /// A function of the link.
    By(Arc<OfLink<'a, T>>),
}

impl<'a, T: Clone> PerLink<'a, T> {
    /// From a function of the link.
    pub fn by(f: impl Fn(&LinkFacts) -> Result<T, ParamError> + Send + Sync + 'a) -> Self {
        PerLink::By(Arc::new(f))
    }

    /// The mechanism of a link.
    ///
    /// # Errors
    /// There is none for such a link, or the function rejects the link.
    pub fn at(&self, link: &LinkFacts) -> Result<T, ParamError> {
        match self {
            PerLink::All(t) => Ok(t.clone()),
            PerLink::Kinds(_) => match self.kind(link) {
                Some((_, t)) => Ok(t.clone()),
                None => Err(ParamError::new("flow_control", "a link without flow control", "")),
            },
            PerLink::By(f) => f(link),
        }
    }

    /// Facts and mechanism of the kind of a link.
    pub fn kind(&self, like: &LinkFacts) -> Option<&(LinkFacts, T)> {
        self.kinds().iter().find(|(f, _)| (f.rate, f.delay) == (like.rate, like.delay))
    }

    /// The kinds of links, where they are listed.
    pub fn kinds(&self) -> &[(LinkFacts, T)] {
        match self {
            PerLink::Kinds(kinds) => kinds,
            _ => &[],
        }
    }

    /// True if a listed mechanism is such.
    pub fn any(&self, is: impl Fn(&T) -> bool) -> bool {
        match self {
            PerLink::All(t) => is(t),
            _ => self.kinds().iter().any(|(_, t)| is(t)),
        }
    }
}

/// The end systems.
#[derive(Clone, Debug)]
pub struct NicModel {
    /// Largest payload of a frame [bytes].
    pub payload_max: u32,
    /// Bytes on the wire around the payload.
    pub header: u32,
    /// Transport of every flow.
    pub transport: Transport,
    /// Acknowledgements, where the transport has them, with a priority as their class.
    pub acks: Acks<u8>,
    /// CNPs travel as [`Model::unpaused`] does, and messages of the flow control go before all that
    /// does; off: with acknowledgements, or with the data where there are none.
    pub cnps_unpaused: bool,
    /// Treatment of frames ahead of a gap at receivers.
    pub order: Delivery,
    /// Rate control of every flow.
    pub rate_control: RateControlKind,
    /// The window shrinks with the rate.
    pub window_follows_rate: bool,
    /// The rate control's rate paces frames.
    pub rate_bound: bool,
    /// True if a host pauses all flows of a priority when flow control pauses single flows.
    pub obeys_priorities: bool,
    /// Entropy values of frames; `None`: a flow keeps the path of its hash.
    pub entropy: Option<Entropies>,
    /// Choice of the port of a flow, where a host has several.
    pub port_choice: PortChoice,
    /// Pacing of an application's rate.
    pub pacing: Pacing,
    /// Messages of one source for one receiver and priority share a connection; off: each has its
    /// own.
    pub shared_connections: bool,
    /// Bytes in flight of each flow where no [`Model::path_facts`] are given; `None`: no limit.
    pub window: Option<u64>,
}

/// The model of a run.
#[derive(Clone)]
pub struct Model<'a> {
    /// Flow control of a link.
    pub flow_control: PerLink<'a, FlowControl>,
    /// Detection at the egress port of a link.
    pub detection: PerLink<'a, Detection>,
    /// Memory of a switch.
    pub buffer: BufferOf<'a>,
    /// Buffer behind a link, for one ingress and class, as flow control plans with it [bytes].
    pub ingress_buffer: Bytes,
    /// Order across ingresses.
    pub discipline: DisciplineKind,
    /// Order across classes; where it names virtual lanes, these are priorities.
    pub scheduler: SchedulerKind,
    /// Received bytes of a frame after which switches forward it (virtual cut-through); `None`:
    /// store and forward [bytes].
    pub cut_through: Option<Bytes>,
    /// Frees queues of switches that their peers hold for too long.
    pub watchdog: Option<watchdog::Config>,
    /// Delays of control messages.
    pub control_delay: ControlDelay,
    /// Length of control frames; `None`: that of the flow control.
    pub message_len: Option<Bytes>,
    /// Rounding of transmission times.
    pub clock: WireClock,
    /// Routing rule.
    pub routing: Routing,
    /// Choice of switches among the next hops of a frame.
    pub balancing: Balancing,
    /// End systems.
    pub nic: NicModel,
    /// Rules of a simulator that is replayed; default: none.
    pub compat: Compat,
    /// Order of equal times.
    pub order: EventOrder,
    /// Threads to run on, if the network can be split; never changes a result.
    pub threads: usize,
    /// The share of the network that this process simulates, if others have the rest, see
    /// [`World::join`](crate::World::join); `None`: all of it. Never changes a result.
    pub share: Option<Share>,
    /// Engine for events; never changes a result.
    pub engine: Engine,
    /// A network whose state recurs is advanced by whole periods; never changes a result.
    pub fast_forward: bool,
    /// Seed of all random streams.
    pub seed: u64,
    /// Distance between two rounds of the deadlock detector; zero: none [ps].
    pub deadlock_interval: Span,
    /// Stop when a deadlock is found.
    pub stop_on_deadlock: bool,
    /// Stop when all flows of the list are complete (a closed loop never is).
    pub stop_when_done: bool,
    /// Hold the run to its promises.
    pub checks: bool,
    /// Recordings.
    pub probes: Probes,
    /// Priorities that no flow control pauses: a switch without room drops their frames, and that
    /// is a result.
    pub lossy: Vec<u8>,
    /// A priority that travels with the control frames in switches: first, never paused, neither
    /// counted nor marked.
    pub unpaused: Option<u8>,
    /// Replaces our random streams where a detector draws at random.
    pub draws: Option<Fresh<dyn RngSource>>,
    /// Failures during the run.
    pub faults: Faults,
    /// Nodes to be built, by number, with every link leading out of this world, see
    /// [`World::leaving`](crate::World::leaving); `None`: a network of its own.
    pub outside: Option<Vec<bool>>,
    /// Links to neighbours without flow control. The driver of the world accepts no more frames on
    /// them than there is room for, so the network is lossless without it.
    pub links_without_flow_control: Vec<LinkId>,
    /// Priorities in use besides those of the flows: frames from outside may have them.
    pub priorities: Vec<u8>,
    /// Path facts of each flow; `None`: the window of [`NicModel::window`], and the round trip in
    /// the empty network for a rate control that reads records of the path.
    pub path_facts: Option<PathFactsOf<'a>>,
}

impl<'a> Model<'a> {
    /// A plain model: per-ingress buffers, arrival-order queues, strict priority, frames of 1500 B
    /// without acknowledgements, checks on, the deadlock detector at work every 100 us. Change what
    /// differs.
    pub fn plain(
        ingress_buffer: Bytes,
        flow_control: impl Fn(&LinkFacts) -> Result<FlowControl, ParamError> + Send + Sync + 'a,
    ) -> Self {
        Model {
            flow_control: PerLink::by(flow_control),
            detection: PerLink::All(Detection::None),
            buffer: Arc::new(move |_| BufferPolicy::PerIngress(ingress_buffer)),
            ingress_buffer,
            discipline: DisciplineKind::Fifo,
            scheduler: SchedulerKind::Strict,
            cut_through: None,
            watchdog: None,
            control_delay: ControlDelay::default(),
            message_len: None,
            clock: WireClock::Picoseconds,
            routing: Routing::named("ecmp", 1).expect("a known name"),
            balancing: Balancing::default(),
            nic: NicModel {
                payload_max: 1500,
                header: 0,
                transport: Transport::None,
                acks: Acks { len: 64, class: None, paused_with: PausedWith::OwnClass },
                cnps_unpaused: false,
                order: Delivery::Strict,
                obeys_priorities: false,
                rate_control: RateControlKind::None,
                window_follows_rate: false,
                rate_bound: true,
                entropy: None,
                port_choice: PortChoice::Hash,
                pacing: Pacing::Schedule,
                shared_connections: false,
                window: None,
            },
            compat: Compat::default(),
            order: EventOrder::Entity,
            threads: 1,
            share: None,
            engine: Engine::default(),
            fast_forward: true,
            seed: 1,
            deadlock_interval: Span::from_us(100),
            stop_on_deadlock: false,
            stop_when_done: false,
            checks: true,
            probes: Probes::default(),
            lossy: Vec::new(),
            unpaused: None,
            draws: None,
            faults: Faults::default(),
            outside: None,
            links_without_flow_control: Vec::new(),
            priorities: Vec::new(),
            path_facts: None,
        }
    }

    /// True if some host chooses one of its ports for a flow, other than by the hash of the flow.
    pub fn chooses_ports(&self, topology: &Topology) -> bool {
        self.nic.port_choice != PortChoice::Hash && topology.has_hosts_of_several_ports()
    }

    /// True if switches choose a next hop for each frame.
    pub fn switches_choose(&self) -> bool {
        !self.balancing.is_ecmp() || self.nic.entropy.is_some()
    }

    /// True if more than the hash of a flow decides on its path.
    pub fn balances(&self, topology: &Topology) -> bool {
        self.switches_choose() || self.chooses_ports(topology)
    }

    /// True if frames of a flow may overtake each other.
    pub fn reorders(&self, topology: &Topology) -> bool {
        self.balancing.reorders()
            || self.nic.entropy.is_some_and(|e| e.paths > 1)
            || self.nic.port_choice == PortChoice::Spray && self.chooses_ports(topology)
    }

    /// Rate of all ports together by which the frames of one flow leave at the same time, if these
    /// are several.
    pub fn spray_rate(
        &self,
        topology: &Topology,
        routes: &Routes,
        src: NodeId,
        dst: NodeId,
    ) -> Option<Rate> {
        if self.nic.port_choice != PortChoice::Spray {
            return None;
        }
        let ports = routes.candidates(src, dst);
        let rate = |&p: &u16| topology.link_at(src, p).rate.0;
        (ports.len() > 1).then(|| Rate(ports.iter().map(rate).sum()))
    }

    /// True if sources know the round trip of their path in the empty network: for records of the
    /// path, in acknowledgements.
    pub fn measures_paths(&self) -> bool {
        self.nic.rate_control.telemetry().is_some() && self.nic.transport.acknowledges()
    }
}

/// Egress ports of a flow's path, or of the fastest that load balancing may choose, with the hops to
/// which there are alternatives; `None`: there is no route.
pub fn way(
    topology: &Topology,
    routes: &Routes,
    m: &Model<'_>,
    key: &FlowKey,
    frame: Bytes,
) -> Option<Way> {
    if !m.balances(topology) {
        return trace_path(topology, routes, &m.routing.choice, key).map(|path| (path, 0..0));
    }
    let (path, spread) = fastest_path(topology, routes, (key.src, key.dst), frame)?;
    // All frames of a flow leave by one port, unless the host sprays them.
    let first = if m.nic.port_choice == PortChoice::Spray { 0 } else { 1 };
    Some((path, spread.start.max(first)..spread.end))
}

/// Path facts of a flow between two hosts: the window of all flows, and for a rate control that
/// reads records of the path the round trip of a full frame and its acknowledgement in the empty
/// network.
pub fn path_facts(
    topology: &Topology,
    routes: &Routes,
    m: &Model<'_>,
    src: NodeId,
    dst: NodeId,
) -> PathFacts {
    let window = m.nic.window;
    if !m.measures_paths() {
        return PathFacts { window, base_rtt: None };
    }
    let key = FlowKey { src, dst, src_port: 0, dst_port: 0 };
    let time = |key: FlowKey, payload: u32, header: u32| {
        let full = Bytes(u64::from(payload + header));
        let (path, spread) = way(topology, routes, m, &key, full)?;
        let frame = Lone { size: payload as u64, rate: None, payload_max: payload, header };
        Some(ideal_time(topology, (&path, spread), &frame, m.cut_through))
    };
    let there = time(key, m.nic.payload_max, m.nic.header);
    let back = time(key.reversed(), m.nic.acks.len, 0);
    PathFacts { window, base_rtt: there.zip(back).map(|(a, b)| a + b) }
}
