//! A partition of the network: some nodes, their environment, and the flows that begin there.
//!
//! A run that is not split has one partition. Partitions share nothing that changes; a frame
//! between them goes through [`Core::outgoing`].

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_net::workload::generators::closed_loop::ClosedLoop;
use xoff_net::workload::{Flow, UNLIMITED};
use xoff_node::{Arrived, EventKey, FlowStart, FrameId, Hit, Nic, Switch};
use xoff_units::state::State;
use xoff_units::{Class, FlowId, NodeId, PortId, Span, Time, prefetch};

use crate::engine::calendar::Calendar;
use crate::engine::event::{Event, EventOrder, Kind};
use crate::observe::flows::FlowRecord;
use crate::wire::fault::StartOrder;
use crate::world::core::{Core, of_flow_timer};
use crate::world::handed_in::News;
use crate::world::jobs::{JOB, Ranks};
use crate::world::model::PathFacts;

/// A switch is called because it asked for it. `acted`: time of the last event that does something.
pub(crate) fn call_switch(s: &mut Switch, e: Event, port: u16, core: &mut Core, acted: &mut Time) {
    let now = core.clock.now;
    match e.kind() {
        // The frame that was on the wire arrives no sooner: that is when something happens last.
        Kind::WireFree => s.on_wire_free(port, core),
        Kind::InputRead => {
            *acted = now.max(*acted);
            s.on_input_read(port, core)
        }
        Kind::Wake => s.on_wake(port, core),
        Kind::Receiver => s.on_receiver_wake(port, Class(e.arg as u8), core),
        Kind::CongestionPoint => s.on_congestion_point_wake(port, Class(e.arg as u8), core),
        Kind::Apply => {
            *acted = now.max(*acted);
            s.on_apply(port, core)
        }
        Kind::Emit => {
            *acted = now.max(*acted);
            s.on_emit(port, core)
        }
        Kind::Clock => {
            if s.on_clock(e.arg as u8, core) {
                *acted = now.max(*acted);
            }
        }
        other => unreachable!("{other:?} is no event of a switch"),
    }
}

#[derive(State)]
#[state(in_place)]
pub(crate) enum Node {
    Switch(Box<Switch>),
    Nic(Box<Nic>),
    /// In another partition.
    Remote,
}

/// Flows that have not begun.
#[derive(State)]
pub(crate) struct Starts {
    /// All flows of the run, by start.
    #[state(built)]
    pub flows: Arc<Vec<Flow>>,
    /// Flows whose source is in this partition.
    #[state(built)]
    pub own: Vec<u32>,
    /// Index in `own` of the next one to start.
    pub next: usize,
    /// Path facts of each flow; empty: nothing.
    #[state(built)]
    pub path_facts: Arc<Vec<PathFacts>>,
    /// Flows of messages that are not in the list, by source and destination.
    #[state(built)]
    pub facts_of_ends: Arc<FxHashMap<(NodeId, NodeId), PathFacts>>,
    #[state(built)]
    pub loops: Vec<ClosedLoop>,
    /// Flows each host has started per closed loop: by (loop, host).
    pub started: BTreeMap<(u32, NodeId), u64>,
    #[state(built)]
    pub round_robin: Option<Box<dyn StartOrder>>,
    /// Flows that have begun.
    pub begun: usize,
    /// Time skipped by fast-forward: flows begin earlier by this span for the nodes.
    pub skipped: Span,
}

impl Starts {
    /// The next flow begins and ends without being simulated. Returns how many its source had
    /// started before.
    pub fn pass_over(&mut self, src: NodeId) -> u64 {
        self.next += 1;
        self.begun += 1;
        let started = self.started.entry((u32::MAX, src)).or_insert(0);
        *started += 1;
        *started - 1
    }

    pub fn new(flows: Arc<Vec<Flow>>, own: Vec<u32>, path_facts: Arc<Vec<PathFacts>>) -> Starts {
        Starts {
            flows,
            own,
            next: 0,
            path_facts,
            facts_of_ends: Arc::default(),
            loops: Vec::new(),
            started: BTreeMap::new(),
            round_robin: None,
            begun: 0,
            skipped: Span::ZERO,
        }
    }
}

/// Some nodes with their environment.
#[derive(State)]
pub(crate) struct Partition {
    /// By node; nodes of other partitions are elsewhere.
    #[state(each)]
    pub nodes: Vec<Node>,
    pub core: Core,
    pub starts: Starts,
    /// Ranks of jobs at the hosts that are here.
    #[state(each)]
    pub jobs: Option<Box<Ranks>>,
    /// News of flows from outside since the last call; `None`: there are no such flows.
    pub news: Option<Vec<News>>,
    /// It stops right after news.
    #[state(built)]
    pub stops_at_news: bool,
    /// Events prefetch the memory of their ports and nodes.
    #[state(built)]
    large: bool,
    /// Time of the last event, apart from calls that find no work.
    pub acted: Time,
    /// Buckets of events whose frames have been asked for.
    #[state(built)]
    asked: u64,
}

/// Subject of the start of a flow, in the last part of its argument; see
/// [`Partition::start_flows`].
pub(crate) const HOPS: u32 = 4;
/// A source learns that its flow has been delivered, and may start the next one.
pub(crate) const RECEIVES: u32 = 3;

/// Rows kept before they must be taken.
const ROWS_MAX: usize = 1 << 16;

impl Partition {
    pub fn new(nodes: Vec<Node>, core: Core, starts: Starts) -> Partition {
        // The state of a port has about 500 bytes; the second-level cache of a processor holds one
        // or two MiB. In a smaller network asking ahead costs more than it saves.
        const LARGE: usize = 4096;
        let large = core.layout.ports.len() > LARGE;
        Partition {
            nodes,
            core,
            starts,
            jobs: None,
            news: None,
            stops_at_news: false,
            large,
            acted: Time::ZERO,
            asked: 0,
        }
    }

    /// Handles events before `bound`, at most `events` of them.
    pub fn run(&mut self, bound: EventKey, events: u64) {
        self.core.begin_run();
        if self.windows().is_some() {
            return self.run_windows(bound, events, ROWS_MAX);
        }
        let stop = self.core.events.saturating_add(events);
        if self.stops_at_news {
            return self.run_to_news(bound, stop);
        }
        while self.core.events < stop && !self.has_many_rows() {
            let Some(e) = self.core.next(bound) else { return };
            self.prefetch();
            self.handle(e);
            if !self.core.monitor.rows.ask_why.is_empty() {
                self.record_causes();
            }
        }
    }

    /// Handles all events before `bound`, however many rows they make: the other partitions come as
    /// far.
    pub fn run_window(&mut self, bound: EventKey) {
        self.core.begin_run();
        if self.windows().is_some() {
            return self.run_windows(bound, u64::MAX, usize::MAX);
        }
        while let Some(e) = self.core.next(bound) {
            self.prefetch();
            self.handle(e);
        }
    }

    /// Prefetches the frames of the bucket whose turn comes next, and the events of the bucket
    /// after it.
    fn prefetch_upcoming(&mut self) {
        let Calendar::Global(queue) = &mut self.core.pending else { return };
        self.asked = queue.buckets_begun();
        queue.sort_upcoming();
        let core = &self.core;
        let Calendar::Global(queue) = &core.pending else { return };
        for e in queue.upcoming() {
            if e.kind() == Kind::Arrive {
                core.frames.prefetch(e.arg);
            }
            prefetch(&core.layout.ports.places()[e.port() as usize]);
        }
        queue.prefetch_after_next();
    }

    /// Prefetches memory, where that saves more than it costs.
    #[inline(always)]
    fn prefetch(&mut self) {
        if self.large {
            if matches!(&self.core.pending, Calendar::Global(queue) if self.asked != queue.buckets_begun())
            {
                self.prefetch_upcoming();
            }
            self.prefetch_next();
        } else {
            self.prefetch_frames();
        }
    }

    /// Prefetches the frames of the next events, then their routes. For other events than arrivals
    /// it fetches some frame in vain, which costs less than a test.
    #[inline(always)]
    fn prefetch_frames(&self) {
        let core = &self.core;
        let Calendar::Global(queue) = &core.pending else { return };
        if let Some(e) = queue.soon(5) {
            core.frames.prefetch(e.arg);
        }
        if let Some(e) = queue.soon(2) {
            core.prefetch_route(e.arg);
        }
    }

    /// Prefetches the memory of the next events, a step further along the chain of pointers the
    /// nearer an event is: in a large network every step waits for memory, and so they wait side by
    /// side instead of one after the other.
    fn prefetch_next(&self) {
        let core = &self.core;
        let Calendar::Global(queue) = &core.pending else { return };
        let node_of = |e: &Event| core.layout.ports.places()[e.port() as usize];
        if let Some(e) = queue.ahead(16) {
            prefetch(&self.nodes[node_of(e).node.index()]);
        }
        if let Some(e) = queue.ahead(11) {
            let PortId { node, port } = node_of(e);
            match &self.nodes[node.index()] {
                Node::Switch(s) => s.prefetch(),
                Node::Nic(n) => n.prefetch(port),
                Node::Remote => {}
            }
        }
        if let Some(e) = queue.ahead(7) {
            let PortId { node, port } = node_of(e);
            match &self.nodes[node.index()] {
                Node::Switch(s) if e.kind() == Kind::Arrive => s.prefetch_in(port),
                Node::Switch(s) => s.prefetch_out(port),
                Node::Nic(n) => n.prefetch_flows(port),
                Node::Remote => {}
            }
            if e.kind() == Kind::Arrive {
                core.prefetch_flow(&core.frames[e.arg]);
            } else {
                core.prefetch_line(e.port());
            }
        }
        if let Some(e) = queue.ahead(4) {
            let PortId { node, port } = node_of(e);
            match &self.nodes[node.index()] {
                Node::Switch(s) if e.kind() == Kind::Arrive => {
                    if let Some(out) = core.known_route(node, &core.frames[e.arg]) {
                        s.prefetch_out(out);
                        core.prefetch_line(
                            core.layout.port_index(PortId { node, port: out }) as u32
                        );
                    }
                }
                Node::Switch(s) => s.prefetch_head(port, &core.frames),
                Node::Nic(n) => {
                    if let Some(flow) = n.prefetch_next(port) {
                        core.monitor
                            .flows
                            .records
                            .get(flow.index())
                            .into_iter()
                            .for_each(FlowRecord::prefetch);
                    }
                }
                Node::Remote => {}
            }
        }
        if let Some(e) = queue.ahead(1) {
            let PortId { node, port } = node_of(e);
            match &self.nodes[node.index()] {
                Node::Switch(s) if e.kind() == Kind::Arrive => {
                    if let Some(out) = core.known_route(node, &core.frames[e.arg]) {
                        s.prefetch_last(out, &core.frames);
                    }
                }
                Node::Switch(s) => s.prefetch_source(port, &core.frames),
                Node::Nic(_) | Node::Remote => {}
            }
        }
    }

    /// True if only wake-ups without work are left.
    pub fn rests(&self) -> bool {
        self.next_start().is_none()
            && self.has_nothing_due()
            && self.jobs.as_ref().is_none_or(|j| j.rest())
    }

    /// True if only such wake-ups and flows that have not started are left.
    pub fn has_nothing_due(&self) -> bool {
        self.core.frames.live_data() == 0
            && self
                .core
                .pending
                .events()
                .all(|e| e.kind().is_timer() || e.kind() == Kind::FlowStart)
            && self.nodes.iter().all(|n| match n {
                Node::Switch(s) => s.rests(),
                Node::Nic(n) => n.rests(),
                Node::Remote => true,
            })
    }

    /// True if something happened that the world has to put in order, or it has to hear of news.
    pub(crate) fn reports(&self) -> bool {
        let m = &self.core.monitor;
        !m.flows.completions.is_empty()
            || !m.rows.rows.is_empty()
            || !m.rows.frames.is_empty()
            || m.rows.out_of_order
            || self.news.as_ref().is_some_and(|n| !n.is_empty())
            || m.stop_expires_before(Time(self.core.clock.now.0.saturating_add(1)))
    }

    /// Rows that have not been taken.
    pub(crate) fn rows_kept(&self) -> usize {
        self.core.monitor.rows.rows.len() + self.core.monitor.rows.frames.len()
    }

    /// True if it keeps enough rows that they should be taken.
    pub fn has_many_rows(&self) -> bool {
        self.rows_kept() >= ROWS_MAX
    }

    #[inline(always)]
    pub(crate) fn handle(&mut self, e: Event) {
        match e.kind() {
            Kind::Arrive => self.arrive(e),
            Kind::FlowStart => self.start_flows(e.arg),
            _ => self.call(e),
        }
    }

    /// A frame arrives.
    #[inline(always)]
    fn arrive(&mut self, e: Event) {
        let (now, core) = (self.core.clock.now, &mut self.core);
        self.acted = self.acted.max(now);
        if core.links_act() && !self.passes_link(e) {
            return;
        }
        let core = &mut self.core;
        let PortId { node, port } = core.layout.ports.places()[e.port() as usize];
        match &mut self.nodes[node.index()] {
            Node::Switch(s) => {
                if core.layout.jobs {
                    core.last_frame_arrives(node, e.arg);
                }
                s.on_frame(port, e.arg, core);
            }
            Node::Nic(n) => {
                n.on_frame(port, e.arg, core);
                self.after_flows();
            }
            Node::Remote => unreachable!("a frame for another partition"),
        }
    }

    /// True if a frame reaches the node behind its link.
    #[cold]
    fn passes_link(&mut self, e: Event) -> bool {
        let core = &mut self.core;
        if core.loses(e.port(), e.arg) {
            return false;
        }
        let Some(hit) = core.over_link(e.port(), e.arg) else { return true };
        self.comes_over(e.port(), e.arg, hit)
    }

    /// A frame comes over the link of a port, which has done this to it; true: its node gets it.
    pub(super) fn comes_over(&mut self, at: u32, id: FrameId, hit: Option<Hit>) -> bool {
        let core = &mut self.core;
        let PortId { node, port } = core.layout.ports.places()[at as usize];
        let arrived = match &mut self.nodes[node.index()] {
            Node::Switch(s) => s.on_link(port, id, hit, core),
            Node::Nic(n) => n.on_link(port, id, hit, core),
            Node::Remote => unreachable!("a frame for another partition"),
        };
        if arrived == Arrived::Lost {
            core.lose(at, id);
        }
        // An answer of the link lets a NIC send again, perhaps the last of a message.
        self.after_flows();
        arrived == Arrived::Goes
    }

    /// A node is called because it asked for it.
    fn call(&mut self, e: Event) {
        let (now, core) = (self.core.clock.now, &mut self.core);
        let PortId { node, port } = core.layout.ports.places()[e.port() as usize];
        match &mut self.nodes[node.index()] {
            Node::Switch(s) => call_switch(s, e, port, core, &mut self.acted),
            Node::Nic(n) => {
                match e.kind() {
                    Kind::WireFree => n.on_wire_free(port, core),
                    Kind::Wake => n.on_wake(port, core),
                    Kind::Receiver => n.on_receiver_wake(port, Class(e.arg as u8), core),
                    Kind::Apply => {
                        self.acted = self.acted.max(now);
                        n.on_apply(port, core)
                    }
                    Kind::Emit => {
                        self.acted = self.acted.max(now);
                        n.on_emit(port, core)
                    }
                    Kind::Clock if e.arg == JOB as u32 => return self.ranks_are_due(node),
                    Kind::Clock => {
                        if n.on_clock(e.arg as u8, core) {
                            self.acted = self.acted.max(now);
                        }
                    }
                    Kind::FlowTimer => {
                        let (slot, which) = of_flow_timer(e.arg);
                        n.on_flow_timer(slot, which, core);
                    }
                    other => unreachable!("{other:?} is no event of a NIC"),
                }
                self.after_flows();
            }
            Node::Remote => unreachable!("an event of another partition"),
        }
    }

    /// Successors of flows that ended, and memory of receivers that is no longer needed.
    #[inline(always)]
    fn after_flows(&mut self) {
        if !self.core.monitor.flows.acknowledged.is_empty()
            || !self.core.monitor.flows.ended.is_empty()
        {
            self.follow_up();
        }
    }

    #[inline(never)]
    fn follow_up(&mut self) {
        while let Some(flow) = self.core.monitor.flows.acknowledged.pop() {
            if let Some(round_robin) = &mut self.starts.round_robin {
                round_robin.ended(flow);
            }
            let dst = self.core.monitor.flows.records.at(flow).flow.dst;
            if let Node::Nic(n) = &mut self.nodes[dst.index()] {
                n.drop_flow(flow);
            }
        }
        self.follow_loops();
    }

    pub(crate) fn next_start(&self) -> Option<(u32, Time)> {
        let &flow = self.starts.own.get(self.starts.next)?;
        Some((flow, Time(self.starts.flows[flow as usize].start.0 - self.starts.skipped.0)))
    }

    fn plan(&mut self, time: Time, entity: u32, arg: u32) {
        let rank = self.core.ranks.of(Kind::FlowStart, entity, 0, 0);
        self.core.pending.push(Event::new(EventKey { time, rank }, Kind::FlowStart, 0, arg));
    }

    pub fn plan_flow_start(&mut self) {
        if self.windows().is_some() {
            return; // each window gets its own
        }
        if let Some((flow, start)) = self.next_start() {
            self.plan(start, flow, 0);
        }
    }

    /// The next flow of the list begins sooner than was planned.
    pub fn replan_flow_start(&mut self) {
        if let Calendar::Global(queue) = &mut self.core.pending {
            queue.retain(|e| e.kind() != Kind::FlowStart || e.arg % HOPS != 0);
            self.plan_flow_start();
        }
    }

    /// The next flow of the list begins. In the order of ns-3 every flow that is due starts an
    /// application and then itself, each in an event of its own at the same time: `arg` is the flow
    /// and how many are still to come.
    fn start_flows(&mut self, arg: u32) {
        let now = self.core.clock.now;
        self.acted = self.acted.max(now);
        match arg % HOPS {
            0 if self.core.ranks.order == EventOrder::Insertion => {
                while let Some((flow, _)) = self.next_start().filter(|&(_, start)| start <= now) {
                    self.starts.next += 1;
                    self.plan(now, 0, flow * HOPS + 2);
                }
                self.plan_flow_start();
            }
            0 => {
                if let Some((flow, _)) = self.next_start() {
                    self.starts.next += 1;
                    self.start_listed(flow);
                }
                self.plan_flow_start();
            }
            1 => self.start_listed(arg / HOPS),
            RECEIVES => self.receives(FlowId(arg / HOPS)),
            _ => self.plan(now, 0, arg - 1),
        }
    }

    /// A flow of the list begins. It has its number from the list, unless closed loops start flows
    /// in between.
    fn start_listed(&mut self, listed: u32) {
        let facts = self.starts.path_facts.get(listed as usize).copied().unwrap_or_default();
        let mut flow = listed;
        if self.core.layout.loops {
            let record = FlowRecord::new(self.starts.flows[listed as usize].clone(), 0);
            flow = self.core.monitor.flows.records.append(record).0;
        }
        self.begin(FlowId(flow), facts);
    }

    pub fn begin(&mut self, flow: FlowId, facts: PathFacts) {
        let pair = self.connection_of(flow);
        self.begin_in(flow, facts, pair, None);
        self.after_flows();
    }

    /// The queue pair of a message that shares a connection: that of its receiver and priority.
    /// Those of jobs have numbers of their own.
    fn connection_of(&self, flow: FlowId) -> Option<u32> {
        const CONNECTION: u32 = 1 << 31;
        if !self.core.layout.shared_connections {
            return None;
        }
        let f = self.core.monitor.flows.records.known(flow)?;
        let shares = f.controlled && f.rate.is_none() && f.size != UNLIMITED;
        shares.then(|| CONNECTION | f.dst.0 << 3 | u32::from(f.priority))
    }

    /// A flow begins, in a queue pair of its source if it has one.
    /// `rank`: that of the source, for a message of a job.
    pub fn begin_in(
        &mut self,
        flow: FlowId,
        facts: PathFacts,
        queue_pair: Option<u32>,
        rank: Option<u32>,
    ) {
        let record = self.core.monitor.flows.records.at(flow);
        let f = &record.flow;
        let index = self
            .starts
            .loops
            .iter()
            .position(|l| l.label() == f.label)
            .map_or(u32::MAX, |i| i as u32);
        let counter = self.starts.started.entry((index, f.src)).or_insert(0);
        if let Some(round_robin) = &mut self.starts.round_robin {
            round_robin.started(flow, f);
        }
        let class = self.core.layout.classes.class(f.priority).unwrap_or(Class(0));
        let src = f.src;
        let start = FlowStart {
            flow,
            dst: f.dst,
            class,
            size: f.size,
            app_rate: f.rate,
            controlled: f.controlled,
            rail: rank.unwrap_or(src.0) as u16,
            window: facts.window,
            base_rtt: facts.base_rtt,
            queue_pair,
        };
        if let Some(pair) = queue_pair.filter(|_| self.core.layout.streamed) {
            let f = &record.flow;
            self.core.queue_pairs.insert((src, f.dst, f.src_port, f.label), pair);
        }
        record.nth = *counter;
        *counter += 1;
        self.starts.begun += 1;

        if let Node::Nic(n) = &mut self.nodes[src.index()] {
            n.start_flow(start, &mut self.core);
        }
    }

    /// Records the flows that fill the buffers of newly blocked ports.
    fn record_causes(&mut self) {
        for at in std::mem::take(&mut self.core.monitor.rows.ask_why) {
            let PortId { node: peer, port: peer_port } = self.core.peer(at.port_id());
            let Node::Switch(s) = &self.nodes[peer.index()] else { continue };
            let mut partitions: BTreeMap<(u16, u32), u64> = BTreeMap::new();
            s.occupants(&self.core.frames, |ingress, c, o| {
                if (ingress, c) == (peer_port, at.class) {
                    *partitions.entry((o.out_port, o.flow.0)).or_default() += o.bytes;
                }
            });
            let core = &mut self.core;
            for ((port, flow), bytes) in partitions {
                core.monitor.record_cause(
                    &core.clock,
                    at,
                    PortId { node: peer, port },
                    FlowId(flow),
                    bytes,
                );
            }
        }
    }
}
