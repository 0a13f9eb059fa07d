//! The environment of the nodes: virtual time, links, routes, flow accounting, counters.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use xoff_mech::detection::{Mark, Side};
use xoff_node::{Call, Classes, Env, EventKey, Frame, FrameId, FrameKind, FrameStore, NodeEvent, Telemetry, WireTimes};
use xoff_topology::LinkId;
use xoff_topology::routing::{Choice, ExplicitPaths, FlowKey, Routes};
use xoff_units::{Rate, Span, Time, WireClock, prefetch};
use xoff_workload::random;

use crate::checks::Checks;
use crate::event::{Event, EventOrder, Kind, Ranks};
use crate::fault::Losses;
use crate::flows::FlowRecord;
use crate::histogram::Histogram;
use crate::ideal::HandedOver;
use crate::loops::Stage;
use crate::lost::{Dropped, LostFrames};
use crate::outcome::{PortNotifications, PortTotals};
use crate::probe::Probes;
use crate::queue::{EventQueue, Pending};
use crate::route_cache::RouteCache;
use crate::rows::RowBuffer;
use crate::stops::{Allowed, Stops};
use crate::world::{NO_PORT, UNKNOWN_SOURCE};

/// A port's line: the far end, what lies between, and what went over it: all that a transmission touches here.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // one cache line, not two halves
pub(crate) struct Line {
    /// The port at the far end, counted over the whole network.
    pub to: u32,
    pub link: LinkId,
    pub delay: Span,
    /// After how much of it a frame can go on at the far end; never before its last bit: [`NO_HEAD`](crate::cut_through::NO_HEAD) [ps].
    head: Span,
    /// Bytes put on the wire, control frames not counted.
    tx_bytes: u64,
    /// Frames put on the wire, control frames not counted.
    tx_frames: u64,
    /// Part of the network in which the far end lives.
    partition: u16,
    /// False once the link has failed.
    pub up: bool,
}

impl Line {
    pub fn new(to: u32, link: LinkId, delay: Span, head: Span, partition: u16, up: bool) -> Line {
        Line { to, link, delay, head, tx_bytes: 0, tx_frames: 0, partition, up }
    }
    /// The far end: its port and its part.
    #[inline]
    fn far(&self) -> (u32, u16) {
        (self.to, self.partition)
    }
    /// Bytes put on the wire, control frames not counted.
    pub fn tx_bytes(&self) -> u64 {
        self.tx_bytes
    }
}

/// A frame on its way to another part of the network, or out of it.
pub(crate) struct RemoteArrival {
    pub at: EventKey,
    /// The port at the far end.
    pub to: u32,
    pub frame: Frame,
    /// The handle that it had here.
    pub id: FrameId,
    /// Its records, in a run whose frames collect any.
    pub telemetry: Option<Box<Telemetry>>,
}

/// What is the same for all parts of a network and does not change during a run.
pub(crate) struct Layout {
    /// Index of the first port of each node in the columns by port.
    pub first_port: Vec<u32>,
    /// Node and port of each port.
    pub places: Vec<(u32, u16)>,
    /// Part of each node.
    pub partition_of: Vec<u16>,
    pub classes: Classes,
    /// Rounding of transmission times.
    pub clock: WireClock,
    pub seed: u64,
    pub choice: Choice,
    pub paths: ExplicitPaths,
    pub acks: bool,
    pub lossless: bool,
    pub probes: Probes,
    /// Any on-change probe is set: notes are looked at for rows.
    pub detecting: bool,
    /// The receiver forgets a flow when its source knows that all has arrived, whatever may still come.
    pub frees_receiver_state: bool,
    /// Flows that end may have successors.
    pub loops: bool,
    /// Names of the nodes.
    pub names: Vec<Box<str>>,
}

impl Layout {
    #[inline]
    pub fn port_index(&self, node: u32, port: u16) -> usize {
        self.first_port[node as usize] as usize + port as usize
    }
}

/// Random numbers in an order of another simulator's, instead of our streams.
pub trait RngSource: Send {
    /// A number in [0, 1).
    fn draw(&mut self) -> f64;
    /// A control message was made, which consumes randomness there.
    fn message_sent(&mut self) {}
}

/// Timers of one flow that an event can tell apart: they share 32 bits with the place of the flow.
const FLOW_TIMERS: u32 = 8;

/// The place of a flow in its NIC and one of its timers, as the argument of an event.
fn flow_timer(slot: u32, which: u8) -> u32 {
    slot * FLOW_TIMERS + which as u32
}

/// What [`flow_timer`] put together.
pub(crate) fn of_flow_timer(arg: u32) -> (u32, u8) {
    (arg / FLOW_TIMERS, (arg % FLOW_TIMERS) as u8)
}

/// Purpose of the random streams of ports (the workload crate counts from 1, the topology crate from 1000).
const PORT_DRAWS: u64 = 2000;

/// The environment of the nodes of one part of the network (of all of them, if the run is not split).
pub(crate) struct Core {
    /// Which part.
    partition: u16,
    /// When the present event happens, and its rank among equal times.
    pub now: Time,
    rank: u64,
    /// The latest event that has asked for one of its own instant and a lower rank, which then came after it all the same.
    floor: EventKey,
    pub queue: EventQueue,
    pub ranks: Ranks,
    pub frames: FrameStore,
    pub layout: Arc<Layout>,
    wire_times: WireTimes<32>,
    pub routes: Arc<Routes>,
    route_cache: RouteCache,
    /// By port, as all columns here; ports of other parts stay as they are.
    pub lines: Vec<Line>,
    pub totals: Vec<PortTotals>,
    /// By node and port, where there are any.
    pub notices: BTreeMap<(u32, u16), PortNotifications>,
    /// What the peers stop and hold.
    pub stops: Stops,
    /// Changes of a flow's rate.
    pub rate_changes: u64,
    draws: Vec<Option<Box<ChaCha8Rng>>>,
    /// Keeps the ideal messages of one port in order.
    handed_over: HandedOver,
    /// Frames for other parts, by part.
    pub outgoing: Vec<Vec<RemoteArrival>>,
    pub flows: Vec<FlowRecord>,
    /// Flows of which their source may make something: another one, in a closed loop.
    pub ended: Vec<(u32, Stage)>,
    /// Flows that are acknowledged: the receiver may forget them.
    pub acknowledged: Vec<u32>,
    pub events: u64,
    pub frame_hops: u64,
    pub data_frame_hops: u64,
    pub lost_frames: LostFrames,
    pub losses: Option<Box<dyn Losses>>,
    /// A link has failed: frames may find no way, or arrive out of order over a new one.
    pub failed: bool,
    pub injected: u64,
    pub delivered: u64,
    /// Flows that are complete, in that order.
    pub completions: Vec<(EventKey, u32)>,
    /// Replaces the per-port random streams.
    pub rng_source: Option<Box<dyn RngSource>>,
    pub checks: Checks,
    /// What is recorded.
    pub rows: RowBuffer,
    pub histogram: Option<Box<Histogram>>,
    /// Queue lengths are recorded or counted.
    pub watches_queues: bool,
    watches_states: bool,
}

impl Core {
    pub fn new(
        partition: u16,
        partitions: usize,
        queue: EventQueue,
        order: EventOrder,
        layout: Arc<Layout>,
        routes: Arc<Routes>,
        lines: Vec<Line>,
    ) -> Self {
        let n = lines.len();
        Core {
            partition,
            now: Time::ZERO,
            rank: 0,
            floor: EventKey::START,
            queue,
            ranks: Ranks::new(order),
            frames: FrameStore::new(),
            wire_times: WireTimes::new(layout.clock),
            totals: vec![PortTotals::default(); n],
            notices: BTreeMap::new(),
            stops: Stops::new(n * layout.classes.len()),
            rate_changes: 0,
            draws: (0..n).map(|_| None).collect(),
            routes,
            route_cache: RouteCache::default(),
            lines,
            handed_over: HandedOver::default(),
            outgoing: (0..partitions).map(|_| Vec::new()).collect(),
            flows: Vec::new(),
            ended: Vec::new(),
            acknowledged: Vec::new(),
            events: 0,
            frame_hops: 0,
            data_frame_hops: 0,
            lost_frames: LostFrames::default(),
            losses: None,
            failed: false,
            injected: 0,
            delivered: 0,
            completions: Vec::new(),
            rng_source: None,
            checks: Checks::default(),
            rows: RowBuffer::default(),
            histogram: None,
            watches_queues: !layout.probes.queue_changes.is_none(),
            watches_states: !layout.probes.states.is_none(),
            layout,
        }
    }

    /// The present event.
    #[inline]
    pub fn event_key(&self) -> EventKey {
        EventKey { time: self.now, rank: self.rank }
    }

    /// The place of the present event among all events of the network in the order in which they happen: what rows are put in order by.
    /// That is its moment, unless an event of the same instant and a higher rank asked for it.
    pub fn place(&self) -> EventKey {
        self.event_key().max(self.floor)
    }

    /// An event is asked for, possibly one of this very instant that belongs before the present one.
    #[inline]
    fn ask_for(&mut self, e: Event) {
        if e.event_key().time <= self.now {
            self.floor = self.place();
        }
        self.queue.push(e);
    }

    /// Goes on to the next event before `bound`, if there is one.
    #[inline(always)]
    pub fn next(&mut self, bound: EventKey) -> Option<Event> {
        let e = self.queue.pop_before(bound)?;
        let at = e.event_key();
        (self.now, self.rank) = (at.time, at.rank);
        self.events += 1;
        Some(e)
    }

    /// Node and port at the far end of a port.
    pub fn peer(&self, node: u32, port: u16) -> (u32, u16) {
        self.layout.places[self.lines[self.layout.port_index(node, port)].to as usize]
    }

    /// What is kept of the flow of a frame will be asked for soon.
    #[inline]
    pub fn prefetch_flow(&self, f: &Frame) {
        if f.kind() != FrameKind::Control {
            self.route_cache.prefetch(f.flow, f.kind() != FrameKind::Data);
            if let Some(flow) = self.flows.get(f.flow as usize) {
                flow.prefetch();
            }
        }
    }

    /// The way of a frame, if it is one, will be asked for soon.
    #[inline]
    pub fn prefetch_route(&self, frame: FrameId) {
        if let Some(f) = self.frames.get(frame) {
            self.route_cache.prefetch(f.flow, f.kind() != FrameKind::Data);
        }
    }

    /// The port of a frame at a node, if it is known.
    #[inline]
    pub fn known_route(&self, node: u32, f: &Frame) -> Option<u16> {
        self.route_cache.get(f.flow, f.kind() != FrameKind::Data, node, f.hops())
    }

    /// A port will send soon.
    #[inline]
    pub fn prefetch_line(&self, port: u32) {
        prefetch(&self.lines[port as usize]);
    }

    /// An event of the whole network happens: everything here is behind it.
    pub fn reach(&mut self, at: EventKey) {
        (self.now, self.rank) = (at.time, at.rank);
    }

    /// The world has reached a time at which somebody outside does something.
    pub fn reach_time(&mut self, now: Time) {
        if now > self.now {
            self.reach(EventKey { time: now, rank: 0 });
        }
    }

    /// Takes a frame in from another part.
    pub fn enter(&mut self, c: RemoteArrival) -> FrameId {
        let id = self.frames.insert(c.frame);
        if let Some(t) = c.telemetry {
            *self.frames.telemetry_mut(id) = *t;
        }
        self.queue.push(Event::new(c.at, Kind::Arrive, c.to, id));
        id
    }

    /// A frame arrives at the far end of the line of port `at`.
    #[inline(always)]
    fn arrive(&mut self, at: usize, (to, partition): (u32, u16), time: Time, frame: FrameId, nth: u32) {
        let event_key = EventKey { time, rank: self.ranks.of(Kind::Arrive, at as u32, 0, nth) };
        if partition == self.partition {
            self.queue.push(Event::new(event_key, Kind::Arrive, to, frame));
        } else {
            let telemetry = self.frames.telemetry(frame).copied().map(Box::new);
            let f = self.frames.remove(frame);
            self.outgoing[partition as usize].push(RemoteArrival { at: event_key, to, frame: f, id: frame, telemetry });
        }
    }

    /// Does the frame that arrives now get lost on its link? Then it is gone.
    #[inline]
    pub fn loses(&mut self, port: u32, frame: FrameId) -> bool {
        (self.failed || self.losses.is_some()) && self.loses_on(port as usize, frame)
    }

    /// The way of a frame that no frame of its flow and direction has gone before.
    #[cold]
    fn find_route(&mut self, node: u32, f: &Frame, back: bool) -> Option<u16> {
        if f.flow >= UNKNOWN_SOURCE {
            // What a switch itself says about such a flow has nobody to go to.
            return (f.kind() == FrameKind::Data && f.out_port != NO_PORT).then_some(f.out_port);
        }
        let flow = &self.flows[f.flow as usize].flow;
        let port = if let Some(path) = flow.path {
            let paths = &self.layout.paths;
            let port = if back { paths.port_back(path, node) } else { paths.port(path, node) };
            port.filter(|&p| self.lines[self.layout.port_index(node, p)].up)
        } else {
            let candidates = self.routes.candidates(node, if back { flow.src } else { flow.dst });
            match candidates.len() {
                0 => None,
                1 => Some(candidates[0]),
                n => {
                    let key = FlowKey { src: flow.src, dst: flow.dst, src_port: flow.src_port, dst_port: flow.dst_port };
                    let key = if back { key.reversed() } else { key };
                    Some(candidates[self.layout.choice.index(&key, node, n)])
                }
            }
        }?;
        self.route_cache.put(f.flow, back, node, port);
        Some(port)
    }

    /// Routes have changed because a link failed.
    pub fn reroute(&mut self, routes: Arc<Routes>, ends: [(u32, u16); 2]) {
        self.failed = true;
        self.routes = routes;
        self.route_cache.forget();
        for (node, port) in ends {
            let at = self.layout.port_index(node, port);
            self.lines[at].up = false;
        }
    }

    /// The counters of a port, those of its line included.
    pub fn totals_of(&self, at: usize) -> PortTotals {
        let line = &self.lines[at];
        PortTotals { tx_bytes: line.tx_bytes, tx_frames: line.tx_frames, ..self.totals[at] }
    }

    fn complete(&mut self, flow: u32) {
        self.flows[flow as usize].end = Some(self.now);
        self.completions.push((self.place(), flow));
    }

    fn comes_to(&mut self, flow: u32, stage: Stage) {
        if self.layout.loops {
            self.ended.push((flow, stage));
        }
    }
}

impl Env for Core {
    fn frames(&mut self) -> &mut FrameStore {
        &mut self.frames
    }

    #[inline(always)]
    fn transmit(&mut self, node: u32, port: u16, frame: FrameId, tx: Span) -> EventKey {
        let at = self.layout.port_index(node, port);
        let f = &self.frames[frame];
        let line = &mut self.lines[at];
        let mut after = tx;
        if f.kind() != FrameKind::Control {
            self.frame_hops += 1;
            self.data_frame_hops += (f.kind() == FrameKind::Data) as u64;
            line.tx_bytes += f.len() as u64;
            line.tx_frames += 1;
            // Cut-through: the far end has it once its head is there. The wire stays busy to the last bit.
            after = tx.min(line.head);
        }
        let (far, arrival) = (line.far(), self.now + after + line.delay);
        // In this order: a simulator that goes by insertion sees the wire free before an arrival of the same instant.
        let free = EventKey { time: self.now + tx, rank: self.ranks.of(Kind::WireFree, at as u32, 0, 0) };
        self.arrive(at, far, arrival, frame, 0);
        free
    }

    #[inline]
    fn wire_time(&mut self, rate: Rate, len: u32) -> Span {
        self.wire_times.of(rate, len)
    }

    #[inline]
    fn has_come(&self, event_key: EventKey) -> bool {
        event_key <= self.event_key()
    }

    #[inline]
    fn watches_queues(&self) -> bool {
        self.watches_queues
    }

    #[inline]
    fn watches_states(&self) -> bool {
        self.watches_states
    }

    fn hand_over(&mut self, node: u32, port: u16, frame: FrameId) {
        let at = self.layout.port_index(node, port);
        let nth = self.handed_over.number(at, self.lines.len(), self.now);
        let line = &self.lines[at];
        let (far, delay) = (line.far(), line.delay);
        if delay == Span::ZERO {
            self.floor = self.place(); // it arrives in this very instant
        }
        self.arrive(at, far, self.now + delay, frame, nth);
    }

    #[inline]
    fn call_at(&mut self, node: u32, at: Time, call: Call) {
        if at == Time::NEVER {
            return;
        }
        let port = |port| self.layout.port_index(node, port) as u32;
        let (kind, port, arg, sub, nth) = match call {
            Call::WireFree { port: p, rank } => {
                let e = Event::new(EventKey { time: at, rank }, Kind::WireFree, port(p), 0);
                return self.queue.push(e);
            }
            Call::InputRead { port: p } => (Kind::InputRead, port(p), 0, 0, 0),
            Call::Wake { port: p } => (Kind::Wake, port(p), 0, 0, 0),
            Call::Receiver { port: p, class } => (Kind::Receiver, port(p), class as u32, class, 0),
            Call::Notifier { port: p, class } => (Kind::Notifier, port(p), class as u32, class, 0),
            Call::Apply { port: p } => (Kind::Apply, port(p), 0, 0, 0),
            Call::Emit { port: p } => (Kind::Emit, port(p), 0, 0, 0),
            Call::FlowTimer { slot, which } => (Kind::FlowTimer, port(0), flow_timer(slot, which), which, slot),
        };
        let rank = self.ranks.of(kind, port, sub, nth);
        self.ask_for(Event::new(EventKey { time: at, rank }, kind, port, arg));
    }

    #[inline]
    fn route(&mut self, node: u32, frame: &Frame) -> Option<u16> {
        let back = frame.kind() != FrameKind::Data;
        self.route_cache.get(frame.flow, back, node, frame.hops()).or_else(|| self.find_route(node, frame, back))
    }

    fn draw(&mut self, node: u32, port: u16) -> f64 {
        if let Some(source) = &mut self.rng_source {
            return source.draw();
        }
        let at = self.layout.port_index(node, port);
        let seed = self.layout.seed;
        random::uniform(self.draws[at].get_or_insert_with(|| Box::new(random::stream(seed, at as u64, PORT_DRAWS))).as_mut())
    }

    fn emit(&mut self, node: u32, now: Time, emit: NodeEvent) {
        match emit {
            NodeEvent::Queue { in_port, out_port, class, ingress, egress } => {
                if let Some(h) = &mut self.histogram {
                    h.set(self.layout.port_index(node, out_port), class, egress);
                }
                self.record_queue_change((node, class), (in_port, ingress), (out_port, egress));
            }
            NodeEvent::MessageSent { port, class, message } => {
                if let Some(source) = &mut self.rng_source {
                    source.message_sent();
                }
                self.totals[self.layout.port_index(node, port)].messages_sent += 1;
                self.record_control(node, port, class, true, message);
            }
            NodeEvent::MessageReceived { port, class, message } => {
                self.totals[self.layout.port_index(node, port)].messages_received += 1;
                self.record_control(node, port, class, false, message);
            }
            NodeEvent::AllowedRate { port, class, rate, by, expires } => self.note_rate(Allowed { node, port, class, rate, by, expires }),
            NodeEvent::Hold { port, class, on, by } => self.note_hold(node, port, class, on, by),
            NodeEvent::FlowRate { flow, rate } => {
                self.rate_changes += 1;
                self.record_flow_rate(node, now, flow, rate);
            }
            NodeEvent::Marked { port, class, flow, mark } => {
                self.record_mark((node, port, class), now, flow, mark);
                let t = &mut self.totals[self.layout.port_index(node, port)];
                t.marked += (mark == Mark::Ce) as u64;
                t.marked_ue += (mark == Mark::Ue) as u64;
            }
            NodeEvent::Notified { port, class, side, flow, congestion } => {
                let sent = self.notices.entry((node, port)).or_default();
                match side {
                    Side::Ingress => sent.ingress += 1,
                    Side::Egress => sent.egress += 1,
                }
                self.record_notice((node, port, class, side), flow, congestion);
            }
            NodeEvent::NotificationReceived { flow } => self.flows[flow as usize].notices += 1,
            NodeEvent::State { port, class, state } => self.record_state(node, port, class, state),
            NodeEvent::Dropped { port, class, flow, len, kind, why } => {
                self.note_dropped(now, &Dropped { at: self.layout.port_index(node, port), class, flow, len, kind, why });
            }
            NodeEvent::Sent { flow, payload } => {
                self.injected += 1;
                self.flows[flow as usize].sent += payload as u64;
            }
            NodeEvent::AllSent { flow } => {
                // Again, if it went back: only the first time counts.
                if self.flows[flow as usize].all_sent.replace(now).is_none() {
                    self.comes_to(flow, Stage::Sent);
                }
            }
            NodeEvent::Delivered { flow, payload, mark, complete } => {
                self.delivered += 1;
                let f = &mut self.flows[flow as usize];
                f.delivered += payload as u64;
                f.ce_frames += (mark == Mark::Ce) as u64;
                f.ue_frames += (mark == Mark::Ue) as u64;
                if complete {
                    f.received = Some(now);
                }
                if complete && !self.layout.acks {
                    self.complete(flow);
                    self.comes_to(flow, Stage::Delivered);
                }
            }
            NodeEvent::OutOfOrder { flow, expected, got, payload } => {
                self.delivered += 1;
                self.flows[flow as usize].out_of_order += payload as u64;
                if self.layout.lossless && !self.failed && self.losses.is_none() {
                    let (at, layout, flows) = (self.place(), &self.layout, &self.flows);
                    let describe = || layout.say_out_of_order(flow, &flows[flow as usize].flow, (expected, got));
                    self.checks.out_of_order(at, flow, (expected, got), describe);
                }
            }
            NodeEvent::Acknowledged { flow } => {
                self.complete(flow);
                self.comes_to(flow, Stage::Acknowledged);
                if self.layout.frees_receiver_state {
                    self.acknowledged.push(flow);
                }
            }
        }
    }
}
