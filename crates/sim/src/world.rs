//! The world: nodes and their environment, built from a model, run event by event.

use std::collections::BTreeMap;

use xoff_mech::LinkFacts;
use xoff_node::{Classes, FlowStart, Nic, NicConfig, PausedWith, Switch, SwitchConfig, Transport};
use xoff_params::ParamError;
use xoff_topology::routing::Routing;
use xoff_topology::{LinkId, NodeKind, Topology};
use xoff_units::{Bytes, Rate, Span, Time};
use xoff_workload::{Flow, Flows};

use crate::checks::ViolationKind;
use crate::core::{Core, Wire};
use crate::event::{Event, EventOrder, Kind};
use crate::fault::TurnOrder;
use crate::histogram::Histogram;
use crate::model::Model;
use crate::outcome::{Ended, Outcome};
use crate::probe::{RateSource, Recorder, Row};
use crate::queue::EventQueue;
use crate::watch::{self, Deadlock, Egress, StuckPort, Waiting};

enum Node {
    Switch(Box<Switch>),
    Nic(Box<Nic>),
}

/// A network in motion.
pub struct World {
    nodes: Vec<Node>,
    core: Core,
    flows: Flows,
    /// Index of the first flow of the list that has not started.
    next_flow: usize,
    /// Flows each host has started per closed loop: by (loop, host).
    started: BTreeMap<(u32, u32), u64>,
    windows: Vec<Option<u64>>,
    watch: Span,
    stop_on_deadlock: bool,
    deadlocks: Vec<Deadlock>,
    samples: Samples,
    /// Pending samples and looks of the watch: when nothing else is pending, nothing will happen any more.
    own_events: usize,
    stop_when_done: bool,
    /// Graph and rule for finding routes anew; only if links fail.
    rerouting: Option<Box<(Topology, Routing)>>,
    turns: Option<Box<dyn TurnOrder>>,
    /// Flows on their way through the events of a start, in insertion order only.
    starting: Vec<(Flow, Option<u64>)>,
}

/// Counters at the last sample, to turn totals into rates.
#[derive(Default)]
struct Samples {
    at: Time,
    tx_bytes: Vec<u64>,
    flow_bytes: Vec<u64>,
}

impl World {
    /// Builds a network at rest with its flows waiting to start.
    pub fn build(topology: &Topology, mut flows: Flows, m: &mut Model) -> Result<World, ParamError> {
        let mut priorities: Vec<u8> = flows.flows.iter().map(|f| f.priority).collect();
        priorities.extend(flows.loops.iter().flat_map(|l| l.initial().map(|f| f.priority)));
        let mut classes = Classes::new(priorities.iter().copied());
        // The model speaks of priorities, nodes of classes.
        let mut transport = m.nic.transport;
        if let Transport::Acks { class, paused_with, .. } = &mut transport {
            if let Some(p) = *class {
                classes = Classes::new(priorities.iter().copied().chain([p]));
                *class = classes.class(p);
            }
            if let PausedWith::Class(Some(p)) = *paused_with {
                *paused_with = PausedWith::Class(classes.class(p));
            }
        }
        let mtu = Bytes((m.nic.payload_max + m.nic.header) as u64);
        let facts = |node: u32, port: u16| {
            let l = topology.link_at(node, port);
            LinkFacts { rate: l.rate, delay: l.delay, mtu, buffer: m.ingress_buffer, processing: m.control_delay.longest() }
        };

        let mut first_port = Vec::with_capacity(topology.nodes.len());
        let mut wires = Vec::new();
        let mut nodes = Vec::with_capacity(topology.nodes.len());
        let mut lossless = true;
        for (n, node) in topology.nodes.iter().enumerate() {
            let n = n as u32;
            first_port.push(wires.len() as u32);
            wires.extend(node.ports.iter().map(|p| {
                let l = &topology.links[p.link as usize];
                Wire { peer: p.peer, peer_port: p.peer_port, delay: l.delay, link: p.link, up: l.up }
            }));
            let links: Vec<LinkFacts> = (0..node.ports.len()).map(|p| facts(n, p as u16)).collect();
            let flow_control = links.iter().map(|l| (m.flow_control)(l)).collect::<Result<Vec<_>, _>>()?;
            lossless &= !flow_control.iter().any(|f| matches!(f, xoff_mech::flow_control::FlowControl::None));
            nodes.push(match node.kind {
                NodeKind::Switch => Node::Switch(Box::new(Switch::new(
                    n,
                    &SwitchConfig {
                        flow_control,
                        detection: links.iter().map(|l| (m.detection)(l)).collect(),
                        buffer: (m.buffer)(&links),
                        links,
                        discipline: m.discipline,
                        scheduler: m.scheduler.clone(),
                        control_delay: m.control_delay,
                        classes: classes.len(),
                        clock: m.clock,
                        message_len: m.message_len,
                        express: m.express.and_then(|p| classes.class(p)),
                        failed_port_keeps_memory: m.faults.failed_port_keeps_memory,
                        turning_back_overlaps: m.faults.turning_back_overlaps,
                    },
                ))),
                NodeKind::Host => {
                    if links.len() != 1 {
                        return Err(ParamError::new("topology", format!("host {} has {} links", node.name, links.len()), "a host has one link; use a switch to join several"));
                    }
                    let flow_control = flow_control.into_iter().next().expect("one link, one flow control");
                    Node::Nic(Box::new(Nic::new(
                        n,
                        NicConfig {
                            flow_control,
                            link: links[0],
                            control_delay: m.control_delay,
                            classes: classes.len(),
                            clock: m.clock,
                            message_len: m.message_len,
                            payload_max: m.nic.payload_max,
                            header: m.nic.header,
                            transport,
                            rate_control: m.nic.rate_control.clone(),
                            window: None,
                            window_follows_rate: m.nic.window_follows_rate,
                            rate_bound: m.nic.rate_bound,
                            keeps_first_wake: m.nic.keeps_first_wake,
                        },
                    )))
                }
            });
        }

        let routes = m.routing.routes(topology);
        // A bucket of about one frame time of the fastest link: a few events each.
        let fastest = topology.links.iter().map(|l| l.rate).max().unwrap_or(Rate::from_gbps(10));
        let mut core = Core::new(EventQueue::new(fastest.time_for(mtu).0), m.order, classes, routes, m.routing.choice, first_port, wires, m.seed);
        core.acks = !matches!(m.nic.transport, Transport::None);
        core.lossless = lossless;
        core.coin_source = m.coins.take();
        core.losses = m.faults.losses.take();
        core.checks.on = m.checks;
        core.probes = m.probes.clone();
        let p = &core.probes;
        core.watching = p.flow_rates || p.causes || ![&p.queue_changes, &p.rate_changes, &p.control, &p.pauses].iter().all(|s| s.is_none());

        core.paths = std::mem::take(&mut flows.paths);
        for f in &flows.flows {
            if f.path.is_none() && core.routes.candidates(f.src, f.dst).is_empty() {
                return Err(ParamError::new("flow", format!("no route from {} to {}", topology.name(f.src), topology.name(f.dst)), "a failed link may have cut the network in two"));
            }
        }
        let mut initial: Vec<Flow> = flows.loops.iter().flat_map(|l| l.initial()).collect();
        flows.flows.append(&mut initial);
        flows.flows.sort_by_key(|f| f.start); // stable: ties keep the order given
        let windows = match &m.window {
            Some(w) => flows.flows.iter().map(|f| w(f.src, f.dst)).collect(),
            None => Vec::new(),
        };

        let mut world = World {
            nodes,
            core,
            flows,
            next_flow: 0,
            started: BTreeMap::new(),
            windows,
            watch: m.watch,
            stop_on_deadlock: m.stop_on_deadlock,
            deadlocks: Vec::new(),
            samples: Samples::default(),
            own_events: 0,
            stop_when_done: m.stop_when_done,
            rerouting: (!m.faults.failures.is_empty()).then(|| Box::new((topology.clone(), m.routing))),
            turns: m.faults.turns.take(),
            starting: Vec::new(),
        };
        for node in &mut world.nodes {
            match node {
                Node::Switch(s) => s.start(&mut world.core),
                Node::Nic(n) => n.start(&mut world.core),
            }
        }
        world.plan_flow_start();
        for (nth, f) in m.faults.failures.iter().enumerate() {
            if f.link as usize >= topology.links.len() {
                return Err(ParamError::new("link_failure", format!("there is no link {}", f.link), "links are counted from 0"));
            }
            world.core.schedule(f.at, Kind::LinkFails, 0, 0, f.link, 0, f.link, nth as u16);
        }
        if let Some(looks) = world.core.probes.histogram {
            let (ports, classes) = (world.core.wires.len(), world.core.classes.len());
            world.core.histogram = Some(Box::new(Histogram::new(looks, ports, classes)));
            world.core.schedule(looks.first, Kind::Look, 0, 0, 0, 0, 0, 0);
        }
        if world.watch.0 > 0 {
            world.plan(world.watch, Kind::Watch);
        }
        if world.core.probes.interval.0 > 0 {
            world.plan(world.core.probes.interval, Kind::Sample);
        }
        Ok(world)
    }

    /// Sends rows to `recorder` from now on.
    pub fn record_to(&mut self, recorder: Box<dyn Recorder>) {
        self.core.recorder = Some(recorder);
    }

    /// Takes the recorder back.
    pub fn take_recorder(&mut self) -> Option<Box<dyn Recorder>> {
        self.core.recorder.take()
    }

    /// Simulated time reached.
    pub fn now(&self) -> Time {
        self.core.now
    }
    /// Events handled.
    pub fn events(&self) -> u64 {
        self.core.events
    }
    /// Flows that are complete.
    pub fn completed(&self) -> usize {
        self.core.completions.len()
    }
    /// Deadlocks found so far.
    pub fn deadlocks(&self) -> &[Deadlock] {
        &self.deadlocks
    }

    fn plan(&mut self, after: Span, kind: Kind) {
        self.own_events += 1;
        self.core.schedule(self.core.now + after, kind, 0, 0, 0, 0, 0, 0);
    }

    fn plan_flow_start(&mut self) {
        if let Some(f) = self.flows.flows.get(self.next_flow) {
            self.core.schedule(f.start, Kind::FlowStart, 0, 0, 0, 0, 0, 0);
        }
    }

    /// Runs until `until` (events at that very time included) or for at most `events` events. `None`: there is more to
    /// do, call again.
    pub fn run(&mut self, until: Time, events: u64) -> Option<Ended> {
        let stop = self.core.events + events;
        while self.core.events < stop {
            if self.stop_when_done && self.flows.loops.is_empty() && self.core.completions.len() == self.flows.flows.len() {
                return Some(Ended::FlowsDone);
            }
            if self.core.queue.len() <= self.own_events {
                return Some(Ended::Quiet);
            }
            match self.core.queue.peek_time() {
                None => return Some(Ended::Quiet),
                Some(t) if t > until.0 => {
                    self.core.now = until;
                    return Some(Ended::TimeUp);
                }
                Some(_) => {}
            }
            let Some(e) = self.core.queue.pop() else { return Some(Ended::Quiet) };
            self.core.now = Time(e.time);
            self.core.events += 1;
            self.handle(e);
            if !self.core.ask_why.is_empty() {
                self.record_causes();
            }
            if self.stop_on_deadlock && !self.deadlocks.is_empty() {
                return Some(Ended::Deadlock);
            }
        }
        if self.core.recorder.as_ref().is_some_and(|r| r.failed()) {
            return Some(Ended::RecorderFailed);
        }
        None
    }

    #[inline]
    fn handle(&mut self, e: Event) {
        let (now, core) = (self.core.now, &mut self.core);
        match e.kind {
            Kind::FlowStart if e.sub > 0 => return self.start_one(e.arg, e.sub),
            Kind::FlowStart => return self.start_flows(),
            Kind::LinkFails => return self.fail_link(e.arg),
            Kind::Look => {
                let until = core.queue.peek_time().map_or(Time::NEVER, Time);
                let next = core.histogram.as_mut().and_then(|h| h.look(now, until, &core.first_port));
                if let Some(next) = next {
                    core.schedule(next, Kind::Look, 0, 0, 0, 0, 0, 0);
                }
                return;
            }
            Kind::Arrive if core.loses(e.node, e.port, e.arg) => return,
            Kind::Sample => {
                self.own_events -= 1;
                return self.sample();
            }
            Kind::Watch => {
                self.own_events -= 1;
                return self.look_for_deadlocks();
            }
            _ => {}
        }
        match &mut self.nodes[e.node as usize] {
            Node::Switch(s) => match e.kind {
                Kind::Arrive => s.on_frame(now, e.port, e.arg, core),
                Kind::WireFree => s.on_wire_free(now, e.port, core),
                Kind::Wake => s.on_wake(now, e.port, core),
                Kind::Receiver => s.on_receiver_wake(now, e.port, e.sub, core),
                Kind::Apply => s.on_apply(now, e.port, core),
                Kind::Emit => s.on_emit(now, e.port, core),
                _ => unreachable!("not an event of a switch"),
            },
            Node::Nic(n) => {
                match e.kind {
                    Kind::Arrive => n.on_frame(now, e.arg, core),
                    Kind::WireFree => n.on_wire_free(now, core),
                    Kind::Wake => n.on_wake(now, core),
                    Kind::Receiver => n.on_receiver_wake(now, e.sub, core),
                    Kind::Apply => n.on_apply(now, core),
                    Kind::Emit => n.on_emit(now, core),
                    Kind::FlowTimer => n.on_flow_timer(now, e.arg, e.sub, core),
                    _ => unreachable!("not an event of a NIC"),
                }
                self.after_flows();
            }
        }
    }

    /// A link fails: its ends throw away what waits for it, everybody finds new ways.
    fn fail_link(&mut self, link: LinkId) {
        let (now, core) = (self.core.now, &mut self.core);
        let Some((topology, routing)) = self.rerouting.as_deref_mut() else { return };
        let l = &mut topology.links[link as usize];
        if !std::mem::replace(&mut l.up, false) {
            return;
        }
        let ends = [(l.a, l.a_port), (l.b, l.b_port)];
        core.failed = true;
        core.routes = routing.routes(topology);
        for (node, port) in ends {
            let at = core.port_index(node, port);
            core.wires[at].up = false;
        }
        for (node, port) in ends {
            match &mut self.nodes[node as usize] {
                Node::Switch(s) => s.on_link_failed(now, port, core),
                Node::Nic(n) => n.on_link_failed(core),
            }
        }
        let Some(turns) = &mut self.turns else { return };
        for (host, node) in self.nodes.iter_mut().enumerate() {
            if let Node::Nic(n) = node {
                n.take_turns(now, &turns.order(host as u32), core);
            }
        }
    }

    /// Successors of flows that ended, and memory of receivers that is no longer needed.
    fn after_flows(&mut self) {
        while let Some(flow) = self.core.acknowledged.pop() {
            if let Some(turns) = &mut self.turns {
                turns.ended(flow);
            }
            let dst = self.core.flows[flow as usize].flow.dst;
            if let Node::Nic(n) = &mut self.nodes[dst as usize] {
                n.forget(flow);
            }
        }
        while let Some(flow) = self.core.ended.pop() {
            let (label, host) = {
                let f = &self.core.flows[flow as usize].flow;
                (f.label, f.src)
            };
            let Some(index) = self.flows.loops.iter().position(|l| l.label() == label) else { continue };
            let nth = self.started.get(&(index as u32, host)).copied().unwrap_or(0);
            if let Some(next) = self.flows.loops[index].flow(host, nth, self.core.now) {
                self.begin(next, None);
            }
        }
    }

    fn start_flows(&mut self) {
        while let Some(f) = self.flows.flows.get(self.next_flow).filter(|f| f.start <= self.core.now) {
            let f = f.clone();
            let window = self.windows.get(self.next_flow).copied().flatten();
            self.next_flow += 1;
            if self.core.order == EventOrder::Insertion {
                // ns-3 starts an application and then its flow, each in an event of its own at the same time.
                let now = self.core.now;
                self.starting.push((f, window));
                let at = self.starting.len() as u32 - 1;
                self.core.schedule(now, Kind::FlowStart, 0, 0, at, 2, 0, 0);
            } else {
                self.begin(f, window);
            }
        }
        self.plan_flow_start();
    }

    fn start_one(&mut self, at: u32, hops: u8) {
        if hops > 1 {
            self.core.schedule(self.core.now, Kind::FlowStart, 0, 0, at, hops - 1, 0, 0);
        } else {
            let (flow, window) = self.starting[at as usize].clone();
            self.begin(flow, window);
        }
    }

    fn begin(&mut self, f: Flow, window: Option<u64>) {
        let index = self.flows.loops.iter().position(|l| l.label() == f.label).map_or(u32::MAX, |i| i as u32);
        let counter = self.started.entry((index, f.src)).or_insert(0);
        let nth = *counter;
        *counter += 1;
        let class = self.core.classes.class(f.priority).unwrap_or(0);
        let (src, dst, size, app_rate) = (f.src, f.dst, f.size, f.rate);
        let flow = self.core.add_flow(f, nth);
        if let Some(turns) = &mut self.turns {
            turns.started(flow, &self.core.flows[flow as usize].flow);
        }
        let now = self.core.now;
        if let Node::Nic(n) = &mut self.nodes[src as usize] {
            n.start_flow(now, FlowStart { flow, dst, class, size, app_rate, window }, &mut self.core);
        }
        self.after_flows();
    }

    fn sample(&mut self) {
        let now = self.core.now;
        let span = now.since(self.samples.at);
        let probes = self.core.probes.clone();
        let classes = self.core.classes.clone();
        self.samples.tx_bytes.resize(self.core.totals.len(), 0);
        for node in 0..self.nodes.len() as u32 {
            let ports = match &self.nodes[node as usize] {
                Node::Switch(s) => s.port_count(),
                Node::Nic(_) => 1,
            };
            for port in 0..ports as u16 {
                let at = self.core.port_index(node, port);
                if probes.queues.has(node, port) {
                    if let Node::Switch(s) = &self.nodes[node as usize] {
                        for class in 0..classes.len() as u8 {
                            let priority = classes.priority(class as usize);
                            let (ingress, egress) = (s.fill(port, class).bytes, Bytes(s.waiting(port, class)));
                            self.core.record(Row::Queue { time: now, node, port, ingress: true, priority, bytes: ingress });
                            self.core.record(Row::Queue { time: now, node, port, ingress: false, priority, bytes: egress });
                        }
                    }
                }
                if probes.rates.has(node, port) {
                    let sent = self.core.totals[at].tx_bytes - self.samples.tx_bytes[at];
                    self.core.record(Row::PortRate { time: now, node, port, priority: None, rate: Rate::of(Bytes(sent), span), source: RateSource::Measured });
                    for class in 0..classes.len() as u8 {
                        let rate = match &self.nodes[node as usize] {
                            Node::Switch(s) => s.port(port).allowed_rate(now, class),
                            Node::Nic(n) => n.port().allowed_rate(now, class),
                        };
                        let priority = Some(classes.priority(class as usize));
                        self.core.record(Row::PortRate { time: now, node, port, priority, rate, source: RateSource::FlowControl });
                    }
                }
                self.samples.tx_bytes[at] = self.core.totals[at].tx_bytes;
            }
        }
        if probes.flow_rates {
            self.samples.flow_bytes.resize(self.core.flows.len(), 0);
            for flow in 0..self.core.flows.len() {
                let delivered = self.core.flows[flow].delivered;
                let done = self.core.flows[flow].end.is_some_and(|e| e <= self.samples.at);
                if !done {
                    let rate = Rate::of(Bytes(delivered - self.samples.flow_bytes[flow]), span);
                    let node = self.core.flows[flow].flow.src;
                    self.core.record(Row::FlowRate { time: now, node, flow: flow as u32, rate, source: RateSource::Measured });
                }
                self.samples.flow_bytes[flow] = delivered;
            }
        }
        self.samples.at = now;
        self.plan(probes.interval, Kind::Sample);
    }

    /// Who fills the buffers for which ports have just begun to wait.
    fn record_causes(&mut self) {
        let time = self.core.now;
        for (node, port, class) in std::mem::take(&mut self.core.ask_why) {
            let wire = self.core.wires[self.core.port_index(node, port)];
            let Node::Switch(s) = &self.nodes[wire.peer as usize] else { continue };
            let mut parts: BTreeMap<(u16, u32), u64> = BTreeMap::new();
            s.occupants(&self.core.frames, |ingress, c, o| {
                if (ingress, c) == (wire.peer_port, class) {
                    let out = s.input_head(ingress, c, &self.core.frames).unwrap_or(o.out_port);
                    *parts.entry((out, o.flow)).or_default() += o.bytes;
                }
            });
            let priority = self.core.classes.priority(class as usize);
            for ((next_port, flow), bytes) in parts {
                self.core.record(Row::Cause { time, node, port, priority, flow, next_node: wire.peer, next_port, bytes: Bytes(bytes) });
            }
        }
    }

    /// Every queue that its peer's flow control holds, and what it waits for.
    fn waiting(&mut self) -> BTreeMap<Egress, Waiting> {
        let now = self.core.now;
        let classes = self.core.classes.len() as u8;
        let mut held = BTreeMap::new();
        let mut occupied: BTreeMap<u32, BTreeMap<(u16, u8), BTreeMap<u16, (u64, u32)>>> = BTreeMap::new();
        for node in 0..self.nodes.len() as u32 {
            match &mut self.nodes[node as usize] {
                Node::Nic(n) => {
                    for class in 0..classes {
                        if let Some(h) = n.hold(now, class, &self.core.frames) {
                            held.insert((node, 0, class), Waiting { since: h.since, frames: 1, bytes: h.len as u64, blockers: BTreeMap::new() });
                        }
                    }
                }
                Node::Switch(s) => {
                    for port in 0..s.port_count() as u16 {
                        for class in 0..classes {
                            if let Some(h) = s.hold(now, port, class, &self.core.frames) {
                                let bytes = s.waiting(port, class);
                                held.insert((node, port, class), Waiting { since: h.since, frames: 0, bytes, blockers: BTreeMap::new() });
                            }
                        }
                    }
                }
            }
        }
        // Only switches behind a held queue need a look inside.
        let peers: Vec<u32> = held.keys().map(|&(n, p, _)| self.core.wires[self.core.port_index(n, p)].peer).collect();
        for node in peers.into_iter().chain(held.keys().map(|k| k.0)) {
            let Node::Switch(s) = &self.nodes[node as usize] else { continue };
            occupied.entry(node).or_insert_with(|| {
                let mut by_ingress: BTreeMap<(u16, u8), BTreeMap<u16, (u64, u32)>> = BTreeMap::new();
                s.occupants(&self.core.frames, |ingress, class, o| {
                    // Behind the head of an input queue everything waits for the head's egress.
                    let out = s.input_head(ingress, class, &self.core.frames).unwrap_or(o.out_port);
                    let e = by_ingress.entry((ingress, class)).or_default().entry(out).or_default();
                    e.0 += o.bytes;
                    e.1 += o.frames;
                });
                by_ingress
            });
        }
        for (&(node, port, class), w) in held.iter_mut() {
            if let Some(inside) = occupied.get(&node) {
                w.frames = inside.iter().filter(|((_, c), _)| *c == class).filter_map(|(_, by_out)| by_out.get(&port)).map(|o| o.1).sum();
            }
            let wire = self.core.wires[self.core.port_index(node, port)];
            if let Some(by_out) = occupied.get(&wire.peer).and_then(|o| o.get(&(wire.peer_port, class))) {
                w.blockers = by_out.iter().map(|(&out, &(bytes, _))| ((wire.peer, out, class), bytes)).collect();
            }
        }
        held
    }

    fn look_for_deadlocks(&mut self) {
        let waiting = self.waiting();
        let (nodes, core) = (&mut self.nodes, &self.core);
        let mut head_len = BTreeMap::new();
        for &(node, port, class) in waiting.keys() {
            let len = match &mut nodes[node as usize] {
                Node::Switch(s) => s.hold(core.now, port, class, &core.frames).map_or(0, |h| h.len),
                Node::Nic(n) => n.hold(core.now, class, &core.frames).map_or(0, |h| h.len),
            };
            head_len.insert((node, port, class), len);
        }
        let stuck = watch::stuck(&waiting, |e, stuck| {
            let wire = core.wires[core.port_index(e.0, e.1)];
            match &nodes[wire.peer as usize] {
                Node::Switch(s) => s.port(wire.peer_port).would_hold(e.2, &s.fill(wire.peer_port, e.2), stuck, head_len[&e]),
                Node::Nic(_) => false, // a host takes everything in
            }
        });
        for cycle in watch::cycles(&waiting, &stuck) {
            let known = |d: &Deadlock| d.cycle.iter().map(|p| (p.node, p.port, p.class)).eq(cycle.iter().copied());
            if self.deadlocks.iter().any(known) {
                continue;
            }
            let cycle: Vec<StuckPort> = cycle
                .iter()
                .map(|e| {
                    let w = &waiting[e];
                    StuckPort { node: e.0, port: e.1, class: e.2, frames: w.frames, bytes: Bytes(w.bytes), since: w.since }
                })
                .collect();
            let closed = cycle.iter().map(|p| p.since).max().unwrap_or(self.core.now);
            self.deadlocks.push(Deadlock { closed, seen: self.core.now, cycle, stuck_ports: stuck.len() });
        }
        self.audit();
        self.plan(self.watch, Kind::Watch);
    }

    /// The promises that need a look at everything: conservation and accounting.
    fn audit(&mut self) {
        if !self.core.checks.on {
            return;
        }
        let now = self.core.now;
        for (n, node) in self.nodes.iter().enumerate() {
            let Node::Switch(s) = node else { continue };
            let mut queued = 0;
            s.occupants(&self.core.frames, |_, _, o| queued += o.bytes);
            let held = s.held().0;
            if queued != held {
                self.core.checks.broken(now, ViolationKind::Accounting, || format!("switch {n} accounts for {held} B, its queues hold {queued} B"));
            }
        }
        let gone = self.core.delivered + self.core.dropped_data;
        let (injected, live) = (self.core.injected, self.core.frames.live() as u64);
        // Feedback and control frames live too, so live frames bound the data frames that are under way.
        if injected < self.core.delivered || injected > gone + live {
            self.core.checks.broken(now, ViolationKind::Conservation, || format!("{injected} data frames sent, {gone} delivered or dropped, {live} frames alive"));
        }
    }

    /// Ends the run: final look, counters, flows.
    pub fn finish(mut self, ended: Ended) -> (Outcome, Option<Box<dyn Recorder>>) {
        if self.watch.0 > 0 && self.deadlocks.is_empty() {
            self.look_for_deadlocks();
        }
        self.audit();
        self.core.close_pauses();
        let recorder = self.core.recorder.take();
        let c = self.core;
        let mut ports = Vec::with_capacity(self.nodes.len());
        let mut totals = c.totals.into_iter();
        for i in 0..c.first_port.len() {
            let end = c.first_port.get(i + 1).copied().unwrap_or(c.wires.len() as u32);
            ports.push(totals.by_ref().take((end - c.first_port[i]) as usize).collect());
        }
        let outcome = Outcome {
            ended,
            now: c.now,
            events: c.events,
            frame_hops: c.frame_hops,
            data_frame_hops: c.data_frame_hops,
            dropped_frames: c.dropped,
            lost_frames: c.lost,
            delivered_frames: c.delivered,
            flows: c.flows,
            completions: c.completions,
            queue_counts: c.histogram.map(|h| h.kept).unwrap_or_default(),
            deadlocks: self.deadlocks,
            ports,
            violations: c.checks.violations,
            violations_total: c.checks.count,
        };
        (outcome, recorder)
    }
}
