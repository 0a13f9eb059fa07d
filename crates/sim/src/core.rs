//! The environment of the nodes: virtual time, links, routes, flow accounting, counters.

use rand_chacha::ChaCha8Rng;
use xoff_node::{Call, Classes, Drop, Env, Frame, FrameId, FrameKind, FrameStore, Note};
use xoff_topology::LinkId;
use xoff_topology::routing::{Choice, ExplicitPaths, FlowKey, Routes};
use xoff_units::{Bytes, Rate, Span, Time};
use xoff_workload::{Flow, random};

use crate::checks::{Checks, ViolationKind};
use crate::event::{Event, EventOrder, Kind};
use crate::fault::Losses;
use crate::flows::FlowRecord;
use crate::histogram::Histogram;
use crate::outcome::PortTotals;
use crate::probe::{Probes, RateSource, Recorder, Row};
use crate::queue::EventQueue;

/// The far end of a port and what lies between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    pub peer: u32,
    pub peer_port: u16,
    pub delay: Span,
    pub link: LinkId,
    /// False once the link has failed.
    pub up: bool,
}

/// Random numbers in an order of another simulator's, instead of our streams.
pub trait CoinSource: Send {
    /// A number in [0, 1).
    fn toss(&mut self) -> f64;
    /// A control message was made, which consumes randomness there.
    fn message_sent(&mut self) {}
}

/// Purpose of the random streams of ports (the workload crate counts from 1, the topology crate from 1000).
const COINS: u64 = 2000;

pub(crate) struct Core {
    pub now: Time,
    pub queue: EventQueue,
    pub order: EventOrder,
    inserted: u64,
    /// Ideal messages handed over so far: keeps those of one port and instant in order.
    handed_over: u16,
    pub frames: FrameStore,
    /// Index of the first port of each node in the columns below.
    pub first_port: Vec<u32>,
    pub wires: Vec<Wire>,
    pub totals: Vec<PortTotals>,
    /// Since when the peer stops each port and class; never: it does not. Indexed by port * classes + class.
    stopped_since: Vec<Time>,
    coins: Vec<Option<Box<ChaCha8Rng>>>,
    pub seed: u64,
    pub classes: Classes,
    pub routes: Routes,
    pub choice: Choice,
    pub paths: ExplicitPaths,
    pub flows: Vec<FlowRecord>,
    /// Flows that ended at their source and may have a successor: (flow, host).
    pub ended: Vec<u32>,
    /// Flows that are acknowledged: the receiver may forget them.
    pub acknowledged: Vec<u32>,
    pub acks: bool,
    pub lossless: bool,
    pub events: u64,
    pub frame_hops: u64,
    pub data_frame_hops: u64,
    pub dropped: u64,
    pub dropped_data: u64,
    /// Frames lost on links.
    pub lost: u64,
    pub losses: Option<Box<dyn Losses>>,
    /// A link has failed: frames may find no way, or arrive out of order over a new one.
    pub failed: bool,
    pub injected: u64,
    pub delivered: u64,
    /// Flows that are complete, in that order.
    pub completions: Vec<u32>,
    /// Replaces the per-port random streams.
    pub coin_source: Option<Box<dyn CoinSource>>,
    pub checks: Checks,
    pub probes: Probes,
    pub recorder: Option<Box<dyn Recorder>>,
    pub histogram: Option<Box<Histogram>>,
    /// Ports that were just held or slowed down and whose reason is to be recorded: node, port, class.
    pub ask_why: Vec<(u32, u16, u8)>,
    /// Any on-change probe is set: notes are looked at for rows.
    pub watching: bool,
}

impl Core {
    #[allow(clippy::too_many_arguments)] // what a core cannot be without
    pub fn new(
        queue: EventQueue,
        order: EventOrder,
        classes: Classes,
        routes: Routes,
        choice: Choice,
        first_port: Vec<u32>,
        wires: Vec<Wire>,
        seed: u64,
    ) -> Self {
        let n = wires.len();
        Core {
            now: Time::ZERO,
            queue,
            order,
            inserted: 0,
            handed_over: 0,
            frames: FrameStore::new(),
            first_port,
            totals: vec![PortTotals::default(); n],
            stopped_since: vec![Time::NEVER; n * classes.len()],
            coins: (0..n).map(|_| None).collect(),
            wires,
            seed,
            classes,
            routes,
            choice,
            paths: ExplicitPaths::default(),
            flows: Vec::new(),
            ended: Vec::new(),
            acknowledged: Vec::new(),
            acks: false,
            lossless: true,
            events: 0,
            frame_hops: 0,
            data_frame_hops: 0,
            dropped: 0,
            dropped_data: 0,
            lost: 0,
            losses: None,
            failed: false,
            injected: 0,
            delivered: 0,
            completions: Vec::new(),
            coin_source: None,
            checks: Checks::default(),
            probes: Probes::default(),
            recorder: None,
            histogram: None,
            ask_why: Vec::new(),
            watching: false,
        }
    }

    #[inline]
    pub fn port_index(&self, node: u32, port: u16) -> usize {
        self.first_port[node as usize] as usize + port as usize
    }

    /// Schedules an event. `entity` and `sub` make its place among equal times unique and independent of how the run
    /// is split: the transmitting port of an arrival, the port of a wake-up, the flow of a timer.
    #[inline]
    #[allow(clippy::too_many_arguments)] // the fields of an event
    pub fn schedule(&mut self, time: Time, kind: Kind, node: u32, port: u16, arg: u32, sub: u8, entity: u32, nth: u16) {
        let order = match self.order {
            EventOrder::Entity => (kind as u64) << 56 | (entity as u64) << 24 | (sub as u64) << 16 | nth as u64,
            EventOrder::Insertion => {
                self.inserted += 1;
                self.inserted
            }
        };
        self.queue.push(Event { time: time.0, order, node, arg, port, kind, sub });
    }

    #[inline]
    fn arrive(&mut self, node: u32, port: u16, frame: FrameId, after: Span, nth: u16) {
        let at = self.port_index(node, port);
        let wire = self.wires[at];
        self.schedule(self.now + after + wire.delay, Kind::Arrive, wire.peer, wire.peer_port, frame, 0, at as u32, nth);
    }

    /// Does the frame that arrives now get lost on its link? Then it is gone.
    #[inline]
    pub fn loses(&mut self, node: u32, port: u16, frame: FrameId) -> bool {
        (self.failed || self.losses.is_some()) && self.loses_on(node, port, frame)
    }

    fn loses_on(&mut self, node: u32, port: u16, frame: FrameId) -> bool {
        let at = self.port_index(node, port);
        let wire = self.wires[at];
        let lost = !wire.up || self.losses.as_mut().is_some_and(|l| l.lost(wire.link));
        if lost {
            let f = self.frames.remove(frame);
            self.totals[at].lost += 1;
            self.lost += 1;
            self.dropped_data += (f.kind == FrameKind::Data) as u64;
        }
        lost
    }

    /// Registers a flow that starts now.
    pub fn add_flow(&mut self, flow: Flow, nth: u64) -> u32 {
        self.flows.push(FlowRecord::new(flow, nth));
        (self.flows.len() - 1) as u32
    }

    pub fn record(&mut self, row: Row) {
        if let Some(r) = &mut self.recorder {
            r.row(&row);
        }
    }

    /// Time a port has been stopped so far, an open stop included.
    pub fn close_pauses(&mut self) {
        let classes = self.classes.len();
        for (i, since) in self.stopped_since.iter_mut().enumerate() {
            if *since != Time::NEVER {
                self.totals[i / classes].pause_ps_total += self.now.since(*since).0;
                *since = self.now;
            }
        }
    }

    fn note_rate(&mut self, node: u32, port: u16, class: u8, rate: Rate) {
        let at = self.port_index(node, port);
        let t = &mut self.totals[at];
        t.allowed_min = Some(t.allowed_min.map_or(rate, |m| m.min(rate)));
        let since = &mut self.stopped_since[at * self.classes.len() + class as usize];
        let change = match (rate.0 == 0, *since == Time::NEVER) {
            (true, true) => {
                *since = self.now;
                t.pauses += 1;
                Some(true)
            }
            (false, false) => {
                t.pause_ps_total += self.now.since(*since).0;
                *since = Time::NEVER;
                Some(false)
            }
            _ => None,
        };
        if !self.watching {
            return;
        }
        if self.probes.causes {
            self.ask_why.push((node, port, class));
        }
        let (time, priority) = (self.now, self.classes.priority(class as usize));
        if self.probes.rate_changes.has(node, port) {
            self.record(Row::PortRate { time, node, port, priority: Some(priority), rate, source: RateSource::FlowControl });
        }
        if let Some(stopped) = change.filter(|_| self.probes.pauses.has(node, port)) {
            self.record(Row::Pause { time, node, port, priority, stopped });
        }
    }

    fn note_message(&mut self, node: u32, port: u16, class: u8, sent: bool, message: xoff_mech::flow_control::Message) {
        let at = self.port_index(node, port);
        if sent {
            if let Some(source) = &mut self.coin_source {
                source.message_sent();
            }
            self.totals[at].messages_sent += 1;
        } else {
            self.totals[at].messages_received += 1;
        }
        if self.watching && self.probes.control.has(node, port) {
            let (kind, value) = message.describe();
            let priority = self.classes.priority(class as usize);
            self.record(Row::Control { time: self.now, node, port, priority, sent, kind, value });
        }
    }

    fn note_queue(&mut self, node: u32, in_port: u16, out_port: u16, class: u8, ingress: u64, egress: u64) {
        let (i, o) = (self.port_index(node, in_port), self.port_index(node, out_port));
        let t = &mut self.totals[i];
        t.ingress_bytes_max = t.ingress_bytes_max.max(ingress);
        let t = &mut self.totals[o];
        t.egress_bytes_max = t.egress_bytes_max.max(egress);
        if let Some(h) = &mut self.histogram {
            h.set(o, class, egress);
        }
        if self.watching {
            let (time, priority) = (self.now, self.classes.priority(class as usize));
            if self.probes.queue_changes.has(node, in_port) {
                self.record(Row::Queue { time, node, port: in_port, ingress: true, priority, bytes: Bytes(ingress) });
            }
            if self.probes.queue_changes.has(node, out_port) {
                self.record(Row::Queue { time, node, port: out_port, ingress: false, priority, bytes: Bytes(egress) });
            }
        }
    }
}

impl Env for Core {
    fn frames(&mut self) -> &mut FrameStore {
        &mut self.frames
    }

    fn transmit(&mut self, node: u32, port: u16, frame: FrameId, tx: Span) {
        let at = self.port_index(node, port);
        let f = &self.frames[frame];
        if f.kind != FrameKind::Control {
            self.frame_hops += 1;
            self.data_frame_hops += (f.kind == FrameKind::Data) as u64;
            let t = &mut self.totals[at];
            t.tx_bytes += f.len as u64;
            t.tx_frames += 1;
        }
        // In this order: a simulator that goes by insertion sees the wire free before an arrival of the same instant.
        self.schedule(self.now + tx, Kind::WireFree, node, port, 0, 0, at as u32, 0);
        self.arrive(node, port, frame, tx, 0);
    }

    fn hand_over(&mut self, node: u32, port: u16, frame: FrameId) {
        self.handed_over = self.handed_over.wrapping_add(1);
        self.arrive(node, port, frame, Span::ZERO, self.handed_over);
    }

    fn call_at(&mut self, node: u32, at: Time, call: Call) {
        if at == Time::NEVER {
            return;
        }
        let entity = |port| self.port_index(node, port) as u32;
        match call {
            Call::Wake { port } => self.schedule(at, Kind::Wake, node, port, 0, 0, entity(port), 0),
            Call::Receiver { port, class } => self.schedule(at, Kind::Receiver, node, port, 0, class, entity(port), 0),
            Call::Apply { port } => self.schedule(at, Kind::Apply, node, port, 0, 0, entity(port), 0),
            Call::Emit { port } => self.schedule(at, Kind::Emit, node, port, 0, 0, entity(port), 0),
            Call::FlowTimer { slot, which } => self.schedule(at, Kind::FlowTimer, node, 0, slot, which, entity(0), slot as u16),
        }
    }

    fn route(&mut self, node: u32, frame: &Frame) -> Option<u16> {
        let flow = &self.flows[frame.flow as usize].flow;
        let back = frame.kind != FrameKind::Data;
        if let Some(path) = flow.path {
            let port = if back { self.paths.port_back(path, node) } else { self.paths.port(path, node) };
            return port.filter(|&p| self.wires[self.port_index(node, p)].up);
        }
        let candidates = self.routes.candidates(node, frame.dst);
        match candidates.len() {
            0 => None,
            1 => Some(candidates[0]),
            n => {
                let key = FlowKey { src: flow.src, dst: flow.dst, src_port: flow.src_port, dst_port: flow.dst_port };
                let key = if back { key.reversed() } else { key };
                Some(candidates[self.choice.index(&key, node, n)])
            }
        }
    }

    fn coin(&mut self, node: u32, port: u16) -> f64 {
        if let Some(source) = &mut self.coin_source {
            return source.toss();
        }
        let at = self.port_index(node, port);
        let seed = self.seed;
        random::uniform(self.coins[at].get_or_insert_with(|| Box::new(random::stream(seed, at as u64, COINS))).as_mut())
    }

    fn note(&mut self, node: u32, now: Time, note: Note) {
        match note {
            Note::Queue { in_port, out_port, class, ingress, egress } => self.note_queue(node, in_port, out_port, class, ingress, egress),
            Note::MessageSent { port, class, message } => self.note_message(node, port, class, true, message),
            Note::MessageReceived { port, class, message } => self.note_message(node, port, class, false, message),
            Note::AllowedRate { port, class, rate } => self.note_rate(node, port, class, rate),
            Note::Hold { port, class, on } => {
                if self.watching && self.probes.causes {
                    let priority = self.classes.priority(class as usize);
                    self.record(Row::Hold { time: now, node, port, priority, on });
                    if on {
                        self.ask_why.push((node, port, class));
                    }
                }
            }
            Note::FlowRate { flow, rate } => {
                if self.watching && self.probes.flow_rates {
                    self.record(Row::FlowRate { time: now, node, flow, rate, source: RateSource::RateControl });
                }
            }
            Note::Marked { port, flow, .. } => {
                let at = self.port_index(node, port);
                self.totals[at].marked += 1;
                self.flows[flow as usize].marked += 1;
            }
            Note::Dropped { port, class, flow, len, why } => {
                let at = self.port_index(node, port);
                self.totals[at].dropped += 1;
                self.dropped += 1;
                self.dropped_data += 1;
                let excused = why == Drop::LinkFailed || (why == Drop::NoRoute && self.failed);
                if self.lossless && !excused {
                    self.checks.broken(now, ViolationKind::Loss, || {
                        format!("node {node} port {port} class {class} dropped {len} B of flow {flow}: {why:?}")
                    });
                }
            }
            Note::Sent { flow, payload } => {
                self.injected += 1;
                self.flows[flow as usize].sent += payload as u64;
            }
            Note::AllSent { flow } => {
                self.flows[flow as usize].all_sent = Some(now);
                if !self.acks {
                    self.ended.push(flow);
                }
            }
            Note::Delivered { flow, payload, complete } => {
                self.delivered += 1;
                let f = &mut self.flows[flow as usize];
                f.delivered += payload as u64;
                if complete {
                    f.received = Some(now);
                }
                if complete && !self.acks {
                    f.end = Some(now);
                    self.completions.push(flow);
                }
            }
            Note::OutOfOrder { flow, expected, got } => {
                self.delivered += 1;
                if self.lossless && !self.failed && self.losses.is_none() {
                    self.checks.broken(now, ViolationKind::Order, || format!("flow {flow} expected offset {expected}, got {got}"));
                }
            }
            Note::Acknowledged { flow } => {
                self.flows[flow as usize].end = Some(now);
                self.completions.push(flow);
                self.ended.push(flow);
                self.acknowledged.push(flow);
            }
        }
    }
}
