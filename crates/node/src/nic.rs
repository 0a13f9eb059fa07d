//! The host's network interface: flows as queue pairs, acknowledgements, pacing, rate control, and
//! ports with the same flow control halves as a switch.
//!
//! ```text
//!   nic_port.rs   a port and what waits at it    <- port_choice.rs   through which ports a flow leaves
//!   sending.rs    flows, when a frame may go      <- round_robin.rs, round_robin_by_place.rs   whose turn it is
//!   receiving.rs  bytes received in order, acknowledgements
//!   reaction.rs   acknowledgements, CNMs and CNPs, timers of rate control
//!   repair.rs     a timer and repetitions, as the transport decides
//!   ahead.rs      data ahead of a gap            delayed_ack.rs  acknowledgements that wait
//!   per_flow.rs   where the peer holds single flows
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Occupancy};
use xoff_mech::rate_control::FlowFacts;
use xoff_units::{Class, FlowId, Loss, NodeId, PortId, prefetch, prefetch_whole};

use crate::env::{Env, NodeEvent};
use crate::frame::{Frame, FrameId, FrameKind};
use crate::port::{Arrived, Hit, Port};

mod ahead;
mod cnp_clock;
mod config;
mod delayed_ack;
mod drain;
mod nic_port;
mod per_flow;
mod port_choice;
mod queue_pair;
mod reaction;
mod receiving;
mod repair;
mod round_robin;
mod round_robin_by_place;
mod senders;
mod sending;
mod state;
mod storm;

use ahead::Ahead;
use cnp_clock::Clocked;
pub use config::{Acks, Delivery, FlowStart, NicConfig, Pacing, PausedWith};
use delayed_ack::Destination;
pub use drain::DrainConfig;
pub use nic_port::PORTS_MAX as NIC_PORTS_MAX;
use nic_port::{NicPort, NicPorts, Order, PortSet};
pub use port_choice::PortChoice;
use receiving::Receiving;
use senders::Senders;
use sending::Sending;
pub use state::Left;
pub use storm::StormConfig;

/// A NIC with one port or several. What every frame needs stands first.
#[repr(C)]
pub struct Nic {
    /// Shared by all NICs, so that it stays near.
    c: Arc<NicConfig>,
    node: NodeId,
    /// Flows that chose a port, where each takes the next one.
    next_port: u32,
    flows: Senders,
    ports: NicPorts,
    slots: FxHashMap<FlowId, u32>,
    receiving: FxHashMap<FlowId, Receiving>,
    /// By flow: bytes received beyond the first missing one, where these are kept.
    ahead: FxHashMap<FlowId, Ahead>,
    /// By flow: acknowledgements that wait for another segment, where the transport delays them.
    sinks: FxHashMap<FlowId, Destination>,
    /// By flow: the clock of its CNPs, where they have one.
    clocked: FxHashMap<FlowId, Clocked>,
    /// The latest message of each queue pair, by place.
    queue_pairs: FxHashMap<u32, u32>,
    /// The message of each queue pair that has its rate control, by place, where those before it
    /// are cleared.
    at_work: FxHashMap<u32, u32>,
    /// Flows that are complete here and are to be cleared.
    complete: VecDeque<FlowId>,
}

impl Nic {
    /// A NIC without flows, with one port on a link with this flow control.
    pub fn new(
        node: NodeId,
        flow_control: &FlowControl,
        link: &LinkFacts,
        c: Arc<NicConfig>,
    ) -> Self {
        let first = NicPort::new(PortId { node, port: 0 }, flow_control, link, &c);
        Nic {
            c,
            node,
            next_port: 0,
            flows: Senders::default(),
            ports: NicPorts::new(first),
            slots: FxHashMap::default(),
            receiving: FxHashMap::default(),
            ahead: FxHashMap::default(),
            sinks: FxHashMap::default(),
            clocked: FxHashMap::default(),
            queue_pairs: FxHashMap::default(),
            complete: VecDeque::new(),
            at_work: FxHashMap::default(),
        }
    }

    /// Adds the next port, on a link with this flow control. A NIC has at most
    /// [`NIC_PORTS_MAX`](crate::NIC_PORTS_MAX).
    pub fn add_port(&mut self, flow_control: &FlowControl, link: &LinkFacts) {
        let at = PortId { node: self.node, port: self.ports.len() };
        self.ports.push(NicPort::new(at, flow_control, link, &self.c));
    }

    /// Arms the first timers.
    pub fn start(&mut self, env: &mut impl Env) {
        for p in self.ports.iter_mut() {
            p.port.start(env);
            p.plan_storm(env);
        }
    }

    /// Bytes of a data frame around its payload.
    pub fn header(&self) -> u32 {
        self.c.header
    }

    /// A port.
    #[inline]
    pub fn port(&self, port: u16) -> &Port {
        &self.ports[port].port
    }

    /// A port, to change its state from outside.
    pub fn port_mut(&mut self, port: u16) -> &mut Port {
        &mut self.ports[port].port
    }

    /// Number of ports.
    pub fn ports(&self) -> u16 {
        self.ports.len()
    }

    /// A flow begins.
    pub fn start_flow(&mut self, start: FlowStart, env: &mut impl Env) {
        let now = env.now();
        if self.c.clears_flows && self.flows.are_many() {
            self.clear_flows();
        }
        let slot = self.flows.len() as u32;
        // As many bits as a random draw has.
        let seed = if self.c.rate_control.draws() {
            (env.draw(self.ports[0].port.at()) * (1u64 << 53) as f64) as u64
        } else {
            0
        };
        let ports = self.choose_ports(&start, env);
        let facts = self.facts(&start, ports, seed);
        self.flows.push(Sending::new(start, ports, now, &facts, &self.c));
        self.slots.insert(start.flow, slot);
        if let Some(pair) = start.queue_pair
            && !self.go_on_in_pair(pair, slot)
        {
            return;
        }
        self.takes_turns(slot);
        self.try_send_flow(slot, env);
    }

    /// A flow takes turns with the others of its ports.
    pub(super) fn takes_turns(&mut self, slot: u32) {
        let f = &self.flows[slot as usize];
        let (class, len) = (f.start.class, f.next_len(&self.c));
        f.ports.iter().for_each(|p| self.ports[p].takes_turns(class, slot, len));
        self.falls_asleep(slot);
    }

    /// Removes flows that are over, except those on which something may still depend: the latest of
    /// each queue pair, those that have a turn, and those whose timers are to come.
    #[cold]
    fn clear_flows(&mut self) {
        let Nic { flows, ports, c, .. } = self;
        flows.clear_over(|slot, f| {
            let idle = f.rate_control.is_none() && f.pair.as_ref().is_none_or(|p| p.is_passed());
            idle && f.finished(c)
                && f.left() == 0
                && f.timers == 0
                && !ports.iter().any(|p| p.round_robin.has(f.start.class, slot))
        });
    }

    /// Facts about a flow for its rate control.
    fn facts(&self, start: &FlowStart, ports: PortSet, seed: u64) -> FlowFacts {
        FlowFacts {
            line: self.line_of(ports),
            window: start.window.or(self.c.window),
            base_rtt: start.base_rtt,
            seed,
        }
    }

    /// A frame arrived at a port.
    pub fn on_frame(&mut self, port: u16, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        if self.ports[port].drain.is_some() && env.frames()[id].kind() == FrameKind::Data {
            return self.take_in(port, id, env);
        }
        let frame = env.discard(id); // its records stay in their place until another frame takes it
        match frame.kind() {
            FrameKind::Control => {
                let p = &mut self.ports[port].port;
                if p.on_control(&frame, &self.c.control_delay, env) {
                    self.try_send(port, env);
                }
                return;
            }
            FrameKind::Data => self.on_data(port, &frame, id, env),
            FrameKind::Ack | FrameKind::Nack => self.on_ack(&frame, id, env),
            FrameKind::Reply => unreachable!("the leaf of a flow's source takes its replies"),
            FrameKind::CongestionNotification => {
                let slot = self.slots.get(&frame.flow).copied();
                if let Some(slot) = slot.or_else(|| self.slot_of_pair(frame.flow, env)) {
                    match frame.value() {
                        0 => self.on_congestion_notification(slot, frame.reported(), env),
                        value => self.on_value(slot, frame.flow, value, env),
                    }
                }
            }
        }
        // A host's memory is not modelled: the frame enters and leaves its buffer in one instant.
        // The receiver half still has to count it, or credits would run out.
        let (class, len) = (frame.class(), frame.len());
        let p = &mut self.ports[port];
        let without = p.occupancy(class);
        let bytes = without.bytes + frame.bytes();
        let on_arrival = p.port.on_arrival(
            now,
            class,
            frame.flow,
            &Occupancy { bytes, shared: bytes, ..without },
            len,
        );
        let on_departure = p.port.on_departure(now, class, frame.flow, &without, len);
        if on_arrival.is_some() || on_departure.is_some() {
            for message in [on_arrival, on_departure].into_iter().flatten() {
                p.send_control(class, message, &self.c, env);
                p.port.plan_receiver(class, env);
            }
            if p.per_flow {
                p.send_more_control(class, &self.c, env);
            }
        }
    }

    /// A frame arrives over the link of a port, which has done this to it.
    #[cold]
    pub fn on_link(
        &mut self,
        port: u16,
        id: FrameId,
        hit: Option<Hit>,
        env: &mut impl Env,
    ) -> Arrived {
        let arrived = self.ports[port].port.on_link(id, hit, env);
        if arrived == Arrived::Taken {
            self.try_send(port, env);
        }
        arrived
    }

    /// The NIC will be asked soon.
    #[inline]
    pub fn prefetch(&self, port: u16) {
        prefetch(self);
        prefetch(&self.receiving);
        let p = &self.ports[port];
        prefetch(&p.round_robin);
        p.port.prefetch_out();
        p.port.prefetch_in();
    }

    /// Prefetches the NIC's flows for the next call.
    #[inline]
    pub fn prefetch_flows(&self, port: u16) {
        if let Some(turn) = self.ports[port].round_robin.of_class(Class(0)).first() {
            prefetch(turn);
        }
        if let Some(flow) = self.flows.last() {
            prefetch_whole(flow);
        }
    }

    /// The flow whose turn is next will be asked very soon. Returns which it is.
    #[inline]
    pub fn prefetch_next(&self, port: u16) -> Option<FlowId> {
        let flow = &self.flows[self.ports[port].round_robin.likely()? as usize];
        prefetch_whole(flow);
        if let Some(rc) = &flow.rate_control {
            rc.prefetch();
        }
        Some(flow.start.flow)
    }

    /// The wire of a port is free.
    pub fn on_wire_free(&mut self, port: u16, env: &mut impl Env) {
        self.ports[port].port.set_free();
        self.try_send(port, env);
    }

    /// A wake-up of a port.
    pub fn on_wake(&mut self, port: u16, env: &mut impl Env) {
        let now = env.now();
        let p = &mut self.ports[port];
        // One that was cancelled comes before the one that took its place, even at the same time.
        if let Some(at) = p.cancelled_wakes.iter().position(|&t| t == now) {
            p.cancelled_wakes.swap_remove(at);
            return;
        }
        if p.port.woken(now) {
            self.try_send(port, env);
        }
    }

    /// A timer of the receiver half of a port expires.
    pub fn on_receiver_wake(&mut self, port: u16, class: Class, env: &mut impl Env) {
        let now = env.now();
        let p = &mut self.ports[port];
        let occupancy = p.occupancy(class);
        if let Some(message) = p.port.on_receiver_wake(now, class, &occupancy) {
            p.send_control(class, message, &self.c, env);
            if p.per_flow {
                p.send_more_control(class, &self.c, env);
            }
        }
        p.port.plan_receiver(class, env);
    }

    /// The link of a port fails: control frames and acknowledgements that wait are dropped, nothing
    /// is sent there any more.
    pub fn on_link_failed(&mut self, port: u16, env: &mut impl Env) {
        while let Some(f) = self.ports[port].port.fail(env) {
            self.drop_waiting(port, &f, env);
        }
        while let Some(id) = self.ports[port].feedback.pop(env.frames()) {
            let f = env.discard(id);
            self.drop_waiting(port, &f, env);
        }
    }

    fn drop_waiting(&self, port: u16, f: &Frame, env: &mut impl Env) {
        let dropped = NodeEvent::Dropped {
            port,
            class: f.class(),
            flow: f.flow,
            len: f.len(),
            kind: f.kind(),
            why: Loss::FailedPort.into(),
        };
        env.emit(self.node, dropped);
    }

    /// Replaces the round-robin order of the first port, where it goes by place: exactly these
    /// flows, in this order, each with a try to send before the next one comes.
    pub fn replace_round_robin_order(&mut self, flows: &[FlowId], env: &mut impl Env) {
        if let Order::ByPlace(round_robin) = &mut self.ports[0].round_robin {
            round_robin.flows.clear();
        }
        for flow in flows {
            if let Some(&slot) = self.slots.get(flow) {
                if let Order::ByPlace(round_robin) = &mut self.ports[0].round_robin {
                    round_robin.flows.push(slot);
                }
                self.try_send(0, env);
            }
        }
    }

    /// Received messages take effect.
    pub fn on_apply(&mut self, port: u16, env: &mut impl Env) {
        if self.ports[port].port.apply_due(env).0 {
            self.try_send(port, env);
        }
    }

    /// Messages leave their generator.
    pub fn on_emit(&mut self, port: u16, env: &mut impl Env) {
        let p = &mut self.ports[port];
        p.port.emit_due(env);
        p.plan_next(env);
    }
}
