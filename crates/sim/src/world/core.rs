//! The environment of the nodes with a global list of events: virtual time, links, and the events
//! that nodes ask for.
//!
//! Parts that do not depend on the storage of events have types of their own: [`Layout`],
//! [`Router`], [`Draws`], [`Monitor`].

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_net::topology::routing::{Choice, FlowKey, Routes};
use xoff_net::workload::Flow;
use xoff_node::{
    Call, Env, EventKey, FLOW_TIMERS, Frame, FrameId, FrameKind, FrameStore, Hit, NodeEvent,
    WireTimes,
};
use xoff_units::state::State;
use xoff_units::{FlowId, NodeId, PortId, Rate, Span, Time, prefetch};

use crate::engine::calendar::Calendar;
use crate::engine::clock::Clock;
use crate::engine::event::{Event, EventOrder, Kind, Ranks};
use crate::engine::queue::Pending;
use crate::observe::monitor::Monitor;
use crate::observe::outcome::PortTotals;
use crate::observe::probe::OnWire;
use crate::wire::cut_through::NO_HEAD;
use crate::wire::draws::Draws;
use crate::wire::errors::{self, Direction, LinkErrors, directions};
use crate::wire::fault::Losses;
use crate::wire::ideal::HandedOver;
use crate::wire::layout::Layout;
use crate::wire::line::{Line, RemoteArrival, TAPPED};
use crate::wire::routing::{Router, UNKNOWN_SOURCE};

/// Flows whose routes are cached where there may be more messages than memory.
const STREAMED_ROUTES: u32 = 1 << 16;

/// The place of a flow in its NIC and one of its timers, as the argument of an event: they share 32
/// bits.
fn flow_timer(slot: u32, which: u8) -> u32 {
    slot * FLOW_TIMERS as u32 + which as u32
}

/// Inverse of [`flow_timer`].
pub(crate) fn of_flow_timer(arg: u32) -> (u32, u8) {
    (arg / FLOW_TIMERS as u32, (arg % FLOW_TIMERS as u32) as u8)
}

/// The environment of the nodes of one partition of the network (of all of them, if the run is not
/// split).
#[derive(State)]
pub(crate) struct Core {
    /// Number of the partition.
    #[state(built)]
    partition: u16,
    pub clock: Clock,
    pub pending: Calendar,
    pub ranks: Ranks,
    /// Events handled.
    pub events: u64,
    pub frames: FrameStore,
    #[state(built)]
    pub layout: Arc<Layout>,
    #[state(built)]
    wire_times: WireTimes<32>,
    /// By port, as all columns here; ports of other partitions stay as they are.
    #[state(each)]
    pub lines: Vec<Line>,
    #[state(built)]
    router: Router,
    pub monitor: Monitor,
    /// Frames for other partitions, by partition.
    #[state(built)]
    pub outgoing: Vec<Vec<RemoteArrival>>,
    /// Arrival of the first of them, without a search.
    pub first_outgoing: EventKey,
    #[state(built)]
    losses: Option<Box<dyn Losses>>,
    /// By port at which they arrive; empty: no link corrupts or repeats frames.
    #[state(by = directions)]
    errors: Vec<Vec<Direction>>,
    pub draws: Draws,
    /// Plain switches take the short way: see [`Env::allows_plain`].
    #[state(built)]
    plain: bool,
    /// Frames arrive whole, and equal times go by entity.
    #[state(built)]
    plain_lines: bool,
    /// Keeps the ideal messages of one port in order.
    handed_over: HandedOver,
    /// Queue pairs by source, destination, source port and label, where messages are cleared.
    #[state(saved)] // a run that clears messages is not compared
    pub queue_pairs: FxHashMap<(NodeId, NodeId, u16, u32), u32>,
}

impl Core {
    /// Partition `partition`, with frames for a number of `destinations`: all partitions, and the
    /// outside.
    pub fn new(
        partition: u16,
        destinations: usize,
        pending: Calendar,
        order: EventOrder,
        routes: Arc<Routes>,
        lines: Vec<Line>,
        monitor: Monitor,
    ) -> Self {
        let layout = monitor.layout.clone();
        Core {
            partition,
            clock: Clock::new(),
            pending,
            ranks: Ranks::new(order),
            events: 0,
            frames: FrameStore::new(),
            wire_times: WireTimes::new(layout.clock),
            router: Router::new(routes, layout.streamed.then_some(STREAMED_ROUTES)),
            outgoing: (0..destinations).map(|_| Vec::new()).collect(),
            first_outgoing: EventKey::NEVER,
            losses: None,
            errors: Vec::new(),
            draws: Draws::new(
                layout.seed,
                lines.len(),
                if layout.rates.is_empty() { 0 } else { layout.partition_of.len() },
            ),
            plain: false,
            plain_lines: order == EventOrder::Entity
                && lines.iter().all(|line| line.head == NO_HEAD),
            handed_over: HandedOver::default(),
            queue_pairs: FxHashMap::default(),
            lines,
            layout,
            monitor,
        }
    }

    /// A run begins: what is recorded may have changed.
    pub fn begin_run(&mut self) {
        let m = &self.monitor;
        self.plain = self.layout.plain && !m.records_queues && !m.records_states;
    }

    /// Links lose frames to errors from now on.
    pub fn set_losses(&mut self, losses: Option<Box<dyn Losses>>) {
        self.monitor.links_lose = losses.is_some();
        self.losses = losses;
    }

    /// Links corrupt frames from now on, and repeat them if `repeat`.
    pub fn set_errors(&mut self, errors: &[LinkErrors], repeat: bool) {
        if errors.is_empty() && !repeat {
            return;
        }
        self.monitor.links_lose |= !repeat;
        self.errors = (0..self.lines.len()).map(|_| Vec::new()).collect();
        for (nth, e) in errors.iter().enumerate() {
            let shared = Arc::new(LinkErrors { ports: Vec::new(), ..e.clone() });
            for &port in &e.ports {
                let to = self.layout.ports.peer(self.layout.port_index(port.into()) as u32);
                self.errors[to as usize].push(Direction::new(
                    self.layout.seed,
                    to,
                    nth as u64,
                    shared.clone(),
                ));
            }
        }
    }

    /// True if an arriving frame concerns its link, and not its node alone.
    #[inline]
    pub fn links_act(&self) -> bool {
        self.monitor.link_failed || self.losses.is_some() || !self.errors.is_empty()
    }

    /// Effect of the link on a frame that arrives by a port; `None`: links neither repeat nor
    /// corrupt.
    pub fn over_link(&mut self, port: u32, frame: FrameId) -> Option<Option<Hit>> {
        let frame = &self.frames[frame];
        let directions = self.errors.get_mut(port as usize)?;
        Some(errors::hit(directions, frame))
    }

    /// Errors of links that lead outside, by receiving port: they act before a frame enters.
    pub fn take_errors(&mut self) -> Vec<Vec<Direction>> {
        std::mem::take(&mut self.errors)
    }

    /// A frame is lost on the link by which it arrives at a port.
    pub fn lose(&mut self, port: u32, frame: FrameId) {
        self.remove_lost(port as usize, frame, true);
    }

    #[inline(never)]
    fn push(&mut self, e: Event) {
        self.pending.push(e);
    }

    /// A node wants to be called, other than when a wire is free.
    #[inline(never)]
    fn call_later(&mut self, node: NodeId, at: Time, call: Call) {
        if at == Time::NEVER {
            return;
        }
        debug_assert!(at >= self.clock.now, "a call of the past");
        let port = |port| self.layout.port_index(PortId { node, port }) as u32;
        let (kind, port, arg, sub, nth) = match call {
            Call::WireFree { .. } => unreachable!("its caller pushes it"),
            Call::InputRead { port: p } => (Kind::InputRead, port(p), 0, 0, 0),
            Call::Wake { port: p } => (Kind::Wake, port(p), 0, 0, 0),
            Call::Receiver { port: p, class } => {
                (Kind::Receiver, port(p), u32::from(class.0), class.0, 0)
            }
            Call::CongestionPoint { port: p, class } => {
                (Kind::CongestionPoint, port(p), u32::from(class.0), class.0, 0)
            }
            Call::Apply { port: p } => (Kind::Apply, port(p), 0, 0, 0),
            Call::Emit { port: p } => (Kind::Emit, port(p), 0, 0, 0),
            Call::Clock { which } => (Kind::Clock, port(0), which as u32, which, 0),
            Call::FlowTimer { slot, which } => {
                (Kind::FlowTimer, port(0), flow_timer(slot, which), which, slot)
            }
        };
        let rank = self.ranks.of(kind, port, sub, nth);
        self.ask_for(Event::new(EventKey { time: at, rank }, kind, port, arg));
    }

    /// An event is asked for, possibly one of this very instant that belongs before the present
    /// one.
    #[inline]
    fn ask_for(&mut self, e: Event) {
        if e.event_key().time <= self.clock.now {
            self.clock.stay();
        }
        self.pending.push(e);
    }

    /// Advances to the next event before `bound`, if there is one.
    #[inline(always)]
    pub fn next(&mut self, bound: EventKey) -> Option<Event> {
        let Calendar::Global(queue) = &mut self.pending else { return None };
        let e = queue.pop_before(bound)?;
        self.clock.reach(e.event_key());
        self.events += 1;
        Some(e)
    }

    /// Begins the turn of the next unit, if the pass has not ended. `reached`: the latest place of
    /// a unit in the pass. Returns the first event of the turn.
    #[inline(always)]
    pub fn begin_turn(&mut self, reached: &mut EventKey) -> Option<Option<Event>> {
        let Calendar::ByWindow(windows) = &mut self.pending else { return None };
        let begun = windows.begin_turn();
        *reached = self.clock.place().max(*reached);
        self.clock.take_turn();
        begun.then(|| windows.soon(0).copied())
    }

    /// Advances to the next event of the present turn, if there is one. Prefetches the frames of
    /// later ones, then their routes.
    #[inline(always)]
    pub fn next_of_turn(&mut self) -> Option<Event> {
        let Calendar::ByWindow(windows) = &mut self.pending else { return None };
        let e = windows.next()?;
        self.clock.reach(e.event_key());
        self.events += 1;
        // In a large network frames come from memory, and not from the cache of the core.
        let (frame, route) = if windows.is_large() { (14, 5) } else { (5, 2) };
        if let Some(e) = windows.at_most(frame) {
            self.frames.prefetch(e.arg);
        }
        if let Some(e) = windows.at_most(route)
            && let Some(f) = self.frames.get(e.arg)
        {
            self.router.prefetch(f);
        }
        Some(e)
    }

    /// Port at the far end of the link of a port.
    pub fn peer(&self, at: PortId) -> PortId {
        self.layout.ports.place(self.layout.ports.peer(self.layout.port_index(at) as u32))
    }

    /// Prefetches the state of the flow of a frame.
    #[inline]
    pub fn prefetch_flow(&self, f: &Frame) {
        if f.kind() != FrameKind::Control {
            self.router.prefetch(f);
            if let Some(flow) = self.monitor.flows.records.get(f.flow.index()) {
                flow.prefetch();
            }
        }
    }

    /// The way of a frame, if it is one, will be asked for soon.
    #[inline]
    pub fn prefetch_route(&self, frame: FrameId) {
        if let Some(f) = self.frames.get(frame) {
            self.router.prefetch(f);
        }
    }

    /// The port of a frame at a node, if it is known.
    #[inline]
    pub fn known_route(&self, node: NodeId, f: &Frame) -> Option<u16> {
        self.router.known(node, f)
    }

    /// The flow of a frame, explicit path or not; `None`: its source is unknown.
    fn known_flow(&self, frame: &Frame) -> Option<Flow> {
        (frame.flow < UNKNOWN_SOURCE).then(|| self.monitor.flows.records.known(frame.flow))?
    }

    /// The flow of a frame of data; `None`: its path is explicit, or given by its source.
    fn routed_flow(&self, frame: &Frame) -> Option<Flow> {
        self.known_flow(frame).filter(|flow| flow.path.is_none())
    }

    /// The port of a frame at a node that no frame of its flow and direction has been to.
    #[cold]
    fn find_route(&mut self, node: NodeId, f: &Frame) -> Option<u16> {
        let (lines, records) = (&self.lines, &self.monitor.flows.records);
        self.router.find(node, f, &self.layout, || records.known(f.flow), |at| lines[at].up)
    }

    /// A port will send soon.
    #[inline]
    pub fn prefetch_line(&self, port: u32) {
        prefetch(&self.lines[port as usize]);
    }

    /// The world has reached a time at which something outside acts.
    pub fn reach_time(&mut self, now: Time) {
        if now > self.clock.now {
            self.clock.reach(EventKey { time: now, rank: 0 });
        }
    }

    /// A frame arrives at a switch; of messages of jobs the last one is kept in view.
    pub fn last_frame_arrives(&mut self, node: NodeId, frame: FrameId) {
        let f = &self.frames[frame];
        if f.kind() == FrameKind::Data
            && f.ends_flow()
            && let Some(last) = &mut self.monitor.last_frames
        {
            last.arrives(f.flow, node, self.clock.now);
        }
    }

    /// Takes a frame in from another partition.
    pub fn enter(&mut self, c: RemoteArrival) -> FrameId {
        let id = self.frames.insert(c.frame);
        if let Some(beside) = &c.beside {
            self.frames.put_beside(id, beside);
        }
        self.pending.push(Event::new(c.at, Kind::Arrive, c.to, id));
        id
    }

    /// A frame is on the line of port `at`, whose frames are recorded.
    #[cold]
    fn record_frame(&mut self, at: usize, arrives: Time, frame: FrameId) {
        let PortId { node, port } = self.layout.ports.place(at as u32);
        let frame = self.frames[frame];
        let flow = (frame.kind() != FrameKind::Control)
            .then(|| self.monitor.flows.records.known(frame.flow))
            .flatten();
        let ends = flow.map(|f| (f.src, f.dst));
        self.monitor.rows.record_frame(OnWire::Sent {
            at: self.clock.now,
            arrives,
            node,
            port,
            frame,
            ends,
        });
    }

    /// A frame arrives at the far end of the line of port `at`.
    #[inline(always)]
    fn arrive(
        &mut self,
        at: usize,
        (to, mut partition): (u32, u16),
        time: Time,
        frame: FrameId,
        nth: u32,
    ) {
        if partition != self.partition && partition & TAPPED != 0 {
            self.record_frame(at, time, frame);
            partition &= !TAPPED;
        }
        let event_key = EventKey { time, rank: self.ranks.of(Kind::Arrive, at as u32, 0, nth) };
        if partition == self.partition {
            self.pending.push(Event::new(event_key, Kind::Arrive, to, frame));
        } else {
            let beside = self.frames.beside(frame);
            let f = self.frames.remove(frame);
            self.first_outgoing = self.first_outgoing.min(event_key);
            self.outgoing[partition as usize].push(RemoteArrival {
                at: event_key,
                to,
                frame: f,
                id: frame,
                beside,
            });
        }
    }

    /// [`Env::transmit`] through the port `at` of any frame, by any rules.
    #[inline(never)]
    fn transmit_any(&mut self, at: usize, frame: FrameId, tx: Span) -> EventKey {
        let f = &self.frames[frame];
        let line = &mut self.lines[at];
        let mut after = tx;
        if f.kind() != FrameKind::Control {
            let counts = &mut self.monitor.counts;
            counts.frame_hops += 1;
            counts.data_frame_hops += (f.kind() == FrameKind::Data) as u64;
            line.tx_bytes += f.len() as u64;
            line.tx_frames += 1;
            // Cut-through: the far end has it once its head is there. The wire stays busy to the
            // last bit.
            after = tx.min(line.head);
            if f.ends_flow() && self.layout.jobs {
                self.monitor.last_frame_leaves(
                    self.clock.now,
                    self.layout.ports.place(at as u32).class(f.class()),
                    f.flow,
                );
            }
        }
        let (far, arrival) = (line.far(), self.clock.now + after + line.delay);
        // In this order: a simulator that goes by insertion sees the wire free before an arrival of
        // the same instant.
        let free = EventKey {
            time: self.clock.now + tx,
            rank: self.ranks.of(Kind::WireFree, at as u32, 0, 0),
        };
        self.arrive(at, far, arrival, frame, 0);
        free
    }

    /// True if the frame that arrives by a port is lost on its link.
    pub fn loses(&mut self, port: u32, frame: FrameId) -> bool {
        let at = port as usize;
        let (link, up) = (self.lines[at].link, self.lines[at].up);
        let lost = !up || self.losses.as_mut().is_some_and(|l| l.lost(link));
        if lost {
            self.remove_lost(at, frame, up);
        }
        lost
    }

    fn remove_lost(&mut self, at: usize, frame: FrameId, up: bool) {
        let frame = self.frames.remove(frame);
        if self.lines[at].is_tapped() {
            let PortId { node, port } = self.layout.ports.place(at as u32);
            self.monitor.rows.record_frame(OnWire::Lost { at: self.clock.now, node, port });
        }
        self.monitor.note_lost(at, &frame, up);
    }

    /// Routes have changed because a link failed.
    pub fn reroute(&mut self, routes: Arc<Routes>, ends: [PortId; 2]) {
        self.monitor.link_failed = true;
        self.router.replace(routes);
        for end in ends {
            let at = self.layout.port_index(end);
            self.lines[at].up = false;
        }
    }

    /// Routes as they are after the failures of a state that was restored.
    pub fn set_routes(&mut self, routes: Arc<Routes>) {
        self.router.replace(routes);
    }

    /// True if the user of the library decides which frames links lose.
    pub fn loses_by_other(&self) -> bool {
        self.losses.is_some()
    }

    /// The counters of a port, those of its line included.
    pub fn totals_of(&self, at: usize) -> PortTotals {
        let line = &self.lines[at];
        PortTotals { tx_bytes: line.tx_bytes, tx_frames: line.tx_frames, ..self.monitor.ports[at] }
    }
}

impl Core {
    /// Bytes that a node has put on the wires of all its ports.
    pub fn on_wires(&self, node: NodeId) -> u64 {
        let lines = self.layout.ports.all_of(node).map(|at| &self.lines[at as usize]);
        lines.map(|l| l.tx_bytes).sum()
    }
}

impl Env for Core {
    #[inline(always)]
    fn now(&self) -> Time {
        self.clock.now
    }

    fn frames(&mut self) -> &mut FrameStore {
        &mut self.frames
    }

    #[inline(always)]
    fn transmit(&mut self, port: PortId, frame: FrameId, tx: Span) -> EventKey {
        let at = self.layout.port_index(port);
        let f = &self.frames[frame];
        if f.is_control() || !self.plain_lines || f.ends_flow() && self.layout.jobs {
            return self.transmit_any(at, frame, tx);
        }
        let counts = &mut self.monitor.counts;
        counts.frame_hops += 1;
        counts.data_frame_hops += f.is_data() as u64;
        let line = &mut self.lines[at];
        line.tx_bytes += f.len() as u64;
        line.tx_frames += 1;
        let free = self.clock.now + tx;
        let (far, arrival) = (line.far(), free + line.delay);
        let rank = |kind| (kind as u64) << 60 | (at as u64) << 32;
        match &mut self.pending {
            Calendar::ByWindow(windows) if far.1 == self.partition => {
                let at = EventKey { time: arrival, rank: rank(Kind::Arrive) };
                windows.push_ahead(Event::new(at, Kind::Arrive, far.0, frame));
            }
            _ => self.arrive(at, far, arrival, frame, 0),
        }
        EventKey { time: free, rank: rank(Kind::WireFree) }
    }

    #[inline(always)]
    fn allows_plain(&self) -> bool {
        self.plain
    }

    #[inline]
    fn wire_time(&mut self, rate: Rate, len: u32) -> Span {
        self.wire_times.of(rate, len)
    }

    #[inline]
    fn has_come(&self, event_key: EventKey) -> bool {
        event_key <= self.clock.event_key()
    }

    fn queue_pair_of(&mut self, flow: FlowId) -> Option<u32> {
        // A flow of the list may have the ports of a message.
        if flow.index() < self.monitor.flows.records.len() {
            return None;
        }
        let f = &self.monitor.flows.records.at(flow).flow;
        self.queue_pairs.get(&(f.src, f.dst, f.src_port, f.label)).copied()
    }

    #[inline]
    fn records_queues(&self) -> bool {
        self.monitor.records_queues
    }

    #[inline]
    fn records_states(&self) -> bool {
        self.monitor.records_states
    }

    fn hand_over(&mut self, port: PortId, frame: FrameId) {
        let at = self.layout.port_index(port);
        let nth = self.handed_over.number(at, self.lines.len(), self.clock.now);
        let line = &self.lines[at];
        let (far, delay) = (line.far(), line.delay);
        if delay == Span::ZERO {
            self.clock.stay(); // it arrives in this very instant
        }
        self.arrive(at, far, self.clock.now + delay, frame, nth);
    }

    #[inline(always)]
    fn call_at(&mut self, node: NodeId, at: Time, call: Call) {
        match call {
            // Every caller knows that it is this one.
            Call::WireFree { port, rank } => {
                let port = self.layout.port_index(PortId { node, port }) as u32;
                self.push(Event::new(EventKey { time: at, rank }, Kind::WireFree, port, 0));
            }
            call => self.call_later(node, at, call),
        }
    }

    #[inline]
    fn route(&mut self, node: NodeId, frame: &Frame) -> Option<u16> {
        self.router.known(node, frame).or_else(|| self.find_route(node, frame))
    }

    fn next_hops(&mut self, node: NodeId, frame: &Frame, ports: &mut Vec<u16>) -> u32 {
        ports.clear();
        match self.routed_flow(frame) {
            Some(flow) if matches!(self.layout.choice, Choice::Hashed(_)) => {
                let (all, set) = self.router.next_hops(node, flow.dst);
                ports.extend_from_slice(all);
                set
            }
            _ => {
                ports.extend(self.route(node, frame));
                0
            }
        }
    }

    fn leaves(&mut self, frame: &Frame) -> Option<[NodeId; 2]> {
        let flow = self.known_flow(frame)?;
        let [src, dst] = [flow.src, flow.dst].map(|host| self.layout.leaves[host.index()]);
        Some(if frame.kind() == FrameKind::Data { [src, dst] } else { [dst, src] })
    }

    fn capacity(&mut self, at: PortId, frame: &Frame) -> Rate {
        let flow = self.routed_flow(frame);
        flow.map_or(Rate::ZERO, |flow| self.router.capacity(at, flow.dst, &self.layout))
    }

    fn hashed(&mut self, node: NodeId, frame: &Frame, entropy: u16, n: u64) -> u64 {
        let key = self.routed_flow(frame).map(|flow| {
            let key = FlowKey::from(&flow);
            FlowKey { src_port: key.src_port.wrapping_add(entropy), ..key }
        });
        key.map_or(0, |key| self.layout.choice.below(&key, node, n))
    }

    fn draw_for_balancing(&mut self, node: NodeId) -> f64 {
        self.draws.draw_for_balancing(node.index())
    }

    fn draw(&mut self, port: PortId) -> f64 {
        self.draws.draw(self.layout.port_index(port))
    }

    #[inline]
    fn emit(&mut self, node: NodeId, event: NodeEvent) {
        if matches!(event, NodeEvent::MessageSent { .. }) {
            self.draws.message_sent();
        }
        self.monitor.note(&self.clock, node, event);
    }
}
