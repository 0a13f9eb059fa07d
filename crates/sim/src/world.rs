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

mod build;
mod flows;
mod inspect;
mod sample;

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
