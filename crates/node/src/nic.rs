//! The host's network interface: flows as queue pairs, acknowledgements, pacing, rate control, and
//! the same port with the same flow control halves as a switch.
//!
//! ```text
//!   sending.rs    flows, when a frame may go      <- round_robin.rs, round_robin_by_place.rs   whose turn it is
//!   receiving.rs  bytes received in order, acknowledgements
//!   reaction.rs   acknowledgements, CNMs and CNPs, timers of rate control
//!   recovery.rs   a timer, and repetitions
//!   connection.rs flows that are connections of a transport
//!   per_flow.rs   where the peer holds single flows
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_mech::LinkFacts;
use xoff_mech::detection::AnyDetector;
use xoff_mech::flow_control::{FlowControl, Message, Occupancy};
use xoff_mech::rate_control::FlowFacts;
use xoff_units::state::State;
use xoff_units::{Bytes, FlowId, Loss, PortId, Rate, Time, prefetch, prefetch_whole};

use crate::buffer::Ingress;
use crate::env::{Env, NodeEvent};
use crate::frame::{Frame, FrameId, FrameKind, FrameList};
use crate::port::{Arrived, ClassState, Hit, Port};

mod config;
mod connection;
mod drain;
mod per_flow;
mod queue_pair;
mod reaction;
mod receiving;
mod recovery;
mod round_robin;
mod round_robin_by_place;
mod senders;
mod sending;
mod state;
mod storm;

pub use config::{Delivery, FlowStart, NicConfig, Pacing, PausedWith, Transport};
use connection::Destination;
use drain::Drain;
pub use drain::DrainConfig;
use receiving::Receiving;
use recovery::Ahead;
pub use recovery::Recovery;
use round_robin::RoundRobin;
use round_robin_by_place::RoundRobinByPlace;
use senders::Senders;
use sending::Sending;
pub use state::Left;
use storm::Storm;
pub use storm::StormConfig;

/// Choice of the next flow, by one of two rules.
#[derive(State)]
enum Order {
    ByStart(RoundRobin),
    /// See [`Compat::round_robin_by_place`](crate::Compat).
    ByPlace(RoundRobinByPlace),
}

impl Order {
    fn push(&mut self, class: u8, slot: u32, len: u32) {
        match self {
            Order::ByStart(t) => t.push(class, slot, len),
            Order::ByPlace(t) => t.flows.push(slot),
        }
    }
    #[inline]
    fn is_empty(&self) -> bool {
        match self {
            Order::ByStart(t) => t.is_empty(),
            Order::ByPlace(t) => t.flows.is_empty(),
        }
    }
    /// Flows that take turns, those of a class at least, by start.
    #[inline]
    fn of_class(&self, class: u8) -> &[u32] {
        match self {
            Order::ByStart(t) => t.of_class(class),
            Order::ByPlace(t) => &t.flows,
        }
    }
    #[inline]
    fn likely(&self) -> Option<u32> {
        match self {
            Order::ByStart(t) => t.likely(),
            Order::ByPlace(t) => t.likely(),
        }
    }
    #[inline]
    fn shorter(&mut self, class: u8, len: u32) {
        if let Order::ByStart(t) = self {
            t.shorter(class, len);
        }
    }
    fn over(&mut self, class: u8) {
        if let Order::ByStart(t) = self {
            t.over(class);
        }
    }
}

/// A NIC with one port. What every frame needs stands first.
#[repr(C)]
pub struct Nic {
    /// Shared by all NICs, so that it stays near.
    c: Arc<NicConfig>,
    node: u32,
    /// The peer holds single flows.
    per_flow: bool,
    /// Rate of its link.
    line: Rate,
    /// Buffer behind the link.
    memory: Bytes,
    flows: Senders,
    /// The flows that take turns, by place.
    round_robin: Order,
    slots: FxHashMap<FlowId, u32>,
    receiving: FxHashMap<FlowId, Receiving>,
    /// By flow: bytes received beyond the first missing one, where these are kept.
    ahead: FxHashMap<FlowId, Ahead>,
    /// By flow: acknowledgements that wait for another segment, where connections delay them.
    sinks: FxHashMap<FlowId, Destination>,
    /// Acknowledgements, CNMs and CNPs that wait.
    feedback: FrameList,
    port: Port,
    /// Memory of a slow NIC; most NICs have none.
    drain: Option<Box<Drain>>,
    /// Storms of a broken NIC; most NICs have none.
    storms: Vec<Storm>,
    /// Wake-ups that are still to come and no longer count; only where they stay
    /// ([`Compat::wakes_stay`](crate::Compat)).
    cancelled_wakes: Vec<Time>,
    /// The latest message of each queue pair, by place.
    queue_pairs: FxHashMap<u32, u32>,
    /// The message of each queue pair that has its rate control, by place, where those before it
    /// are cleared.
    at_work: FxHashMap<u32, u32>,
    /// Flows that are complete here and are to be cleared.
    complete: VecDeque<FlowId>,
}

impl Nic {
    /// A NIC without flows on a link with this flow control.
    pub fn new(node: u32, flow_control: &FlowControl, link: &LinkFacts, c: Arc<NicConfig>) -> Self {
        let len = c.message_len.unwrap_or(flow_control.message_len());
        let class = |class| {
            let flow_control = if c.lossy.has(class) { &FlowControl::None } else { flow_control };
            ClassState::new(flow_control, link, Ingress::default(), AnyDetector::None)
        };
        let mut port = Port::new(PortId { node, port: 0 }, link, class, c.classes, len);
        if c.cnp_class.is_some() {
            port.put_messages_first();
        }
        Nic {
            node,
            per_flow: flow_control.per_flow(),
            line: link.rate,
            memory: link.buffer,
            port,
            round_robin: if c.compat.round_robin_by_place {
                Order::ByPlace(RoundRobinByPlace::default())
            } else {
                Order::ByStart(RoundRobin::new())
            },
            c,
            flows: Senders::default(),
            slots: FxHashMap::default(),
            receiving: FxHashMap::default(),
            ahead: FxHashMap::default(),
            sinks: FxHashMap::default(),
            feedback: FrameList::default(),
            drain: None,
            storms: Vec::new(),
            cancelled_wakes: Vec::new(),
            queue_pairs: FxHashMap::default(),
            complete: VecDeque::new(),
            at_work: FxHashMap::default(),
        }
    }

    /// Arms the first timers.
    pub fn start(&mut self, env: &mut impl Env) {
        self.port.start(env);
        self.plan_storm(env);
    }

    /// Bytes of a data frame around its payload.
    pub fn header(&self) -> u32 {
        self.c.header
    }

    /// The port.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// The port, to change its state from outside.
    pub fn port_mut(&mut self) -> &mut Port {
        &mut self.port
    }

    /// A flow begins.
    pub fn start_flow(&mut self, now: Time, start: FlowStart, env: &mut impl Env) {
        if self.c.clears_flows && self.flows.are_many() {
            self.clear_flows();
        }
        let slot = self.flows.len() as u32;
        // As many bits as a random draw has.
        let seed = if self.c.rate_control.draws() {
            (env.draw(self.port.at()) * (1u64 << 53) as f64) as u64
        } else {
            0
        };
        self.flows.push(Sending::new(start, now, &self.facts(&start, seed), &self.c));
        self.slots.insert(start.flow, slot);
        if let Some(pair) = start.queue_pair
            && !self.go_on_in_pair(pair, slot)
        {
            return;
        }
        self.round_robin.push(start.class, slot, self.flows[slot as usize].next_len(&self.c));
        self.try_send(now, env);
    }

    /// Removes flows that are over, except those on which something may still depend: the latest of
    /// each queue pair, those that have a turn, and those whose timers are to come.
    #[cold]
    fn clear_flows(&mut self) {
        let Nic { flows, round_robin, c, .. } = self;
        flows.clear_over(|slot, f| {
            let idle = f.rate_control.is_none() && f.pair.as_ref().is_none_or(|p| p.is_passed());
            idle && f.finished(c)
                && f.left() == 0
                && f.timers == 0
                && !round_robin.of_class(f.start.class).contains(&slot)
        });
    }

    /// Facts about a flow for its rate control.
    fn facts(&self, start: &FlowStart, seed: u64) -> FlowFacts {
        FlowFacts {
            line: self.line,
            window: start.window.or(self.c.window),
            base_rtt: start.base_rtt,
            seed,
        }
    }

    /// A frame arrived.
    pub fn on_frame(&mut self, now: Time, id: FrameId, env: &mut impl Env) {
        if self.drain.is_some() && env.frames()[id].kind() == FrameKind::Data {
            return self.take_in(now, id, env);
        }
        let frame = env.discard(id); // its records stay in their place until another frame takes it
        match frame.kind() {
            FrameKind::Control => {
                if self.port.on_control(now, &frame, &self.c.control_delay, env) {
                    self.try_send(now, env);
                }
                return;
            }
            FrameKind::Data => self.on_data(now, &frame, id, env),
            FrameKind::Ack | FrameKind::Nack => self.on_ack(now, &frame, id, env),
            FrameKind::CongestionNotification => {
                let slot = self.slots.get(&frame.flow).copied();
                if let Some(slot) = slot.or_else(|| self.slot_of_pair(frame.flow, env)) {
                    match frame.value() {
                        0 => self.on_congestion_notification(now, slot, frame.reported(), env),
                        value => self.on_value(now, slot, frame.flow, value, env),
                    }
                }
            }
        }
        // A host's memory is not modelled: the frame enters and leaves its buffer in one instant.
        // The receiver half still has to count it, or credits would run out.
        let (class, len) = (frame.class(), frame.len());
        let without = self.occupancy(class);
        let bytes = without.bytes + frame.bytes();
        let on_arrival = self.port.on_arrival(
            now,
            class,
            frame.flow,
            &Occupancy { bytes, shared: bytes, ..without },
            len,
        );
        let on_departure = self.port.on_departure(now, class, frame.flow, &without, len);
        if on_arrival.is_some() || on_departure.is_some() {
            for message in [on_arrival, on_departure].into_iter().flatten() {
                self.send_control(now, class, message, env);
                self.port.plan_receiver(class, env);
            }
            if self.per_flow {
                self.send_more_control(now, class, env);
            }
        }
    }

    /// A frame arrives over the link, which has done this to it.
    #[cold]
    pub fn on_link(
        &mut self,
        now: Time,
        id: FrameId,
        hit: Option<Hit>,
        env: &mut impl Env,
    ) -> Arrived {
        let arrived = self.port.on_link(now, id, hit, env);
        if arrived == Arrived::Taken {
            self.try_send(now, env);
        }
        arrived
    }

    /// The NIC will be asked soon.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self);
        prefetch(&self.round_robin);
        prefetch(&self.receiving);
        self.port.prefetch_out();
        self.port.prefetch_in();
    }

    /// Prefetches the NIC's flows for the next call.
    #[inline]
    pub fn prefetch_flows(&self) {
        if let Some(turn) = self.round_robin.of_class(0).first() {
            prefetch(turn);
        }
        if let Some(flow) = self.flows.last() {
            prefetch_whole(flow);
        }
    }

    /// The flow whose turn is next will be asked very soon. Returns which it is.
    #[inline]
    pub fn prefetch_next(&self) -> Option<FlowId> {
        let flow = &self.flows[self.round_robin.likely()? as usize];
        prefetch_whole(flow);
        if let Some(rc) = &flow.rate_control {
            rc.prefetch();
        }
        Some(flow.start.flow)
    }

    /// The wire is free.
    pub fn on_wire_free(&mut self, now: Time, env: &mut impl Env) {
        self.port.set_free();
        self.try_send(now, env);
    }

    /// A wake-up.
    pub fn on_wake(&mut self, now: Time, env: &mut impl Env) {
        // One that was cancelled comes before the one that took its place, even at the same time.
        if let Some(at) = self.cancelled_wakes.iter().position(|&t| t == now) {
            self.cancelled_wakes.swap_remove(at);
            return;
        }
        if self.port.woken(now) {
            self.try_send(now, env);
        }
    }

    /// A timer of the receiver half expires.
    pub fn on_receiver_wake(&mut self, now: Time, class: u8, env: &mut impl Env) {
        let occupancy = self.occupancy(class);
        if let Some(message) = self.port.on_receiver_wake(now, class, &occupancy) {
            self.send_control(now, class, message, env);
            if self.per_flow {
                self.send_more_control(now, class, env);
            }
        }
        self.port.plan_receiver(class, env);
    }

    /// The link fails: control frames and acknowledgements that wait are dropped, nothing is sent
    /// any more.
    pub fn on_link_failed(&mut self, now: Time, env: &mut impl Env) {
        while let Some(f) = self.port.fail(now, env) {
            self.drop_waiting(now, &f, env);
        }
        while let Some(id) = self.feedback.pop(env.frames()) {
            let f = env.discard(id);
            self.drop_waiting(now, &f, env);
        }
    }

    fn drop_waiting(&self, now: Time, f: &Frame, env: &mut impl Env) {
        let dropped = NodeEvent::Dropped {
            port: 0,
            class: f.class(),
            flow: f.flow,
            len: f.len(),
            kind: f.kind(),
            why: Loss::FailedPort.into(),
        };
        env.emit(self.node, now, dropped);
    }

    /// Replaces the round-robin order, where it goes by place: exactly these flows, in this order,
    /// each with a try to send before the next one comes.
    pub fn replace_round_robin_order(&mut self, now: Time, flows: &[FlowId], env: &mut impl Env) {
        if let Order::ByPlace(round_robin) = &mut self.round_robin {
            round_robin.flows.clear();
        }
        for flow in flows {
            if let Some(&slot) = self.slots.get(flow) {
                if let Order::ByPlace(round_robin) = &mut self.round_robin {
                    round_robin.flows.push(slot);
                }
                self.try_send(now, env);
            }
        }
    }

    /// Received messages take effect.
    pub fn on_apply(&mut self, now: Time, env: &mut impl Env) {
        if self.port.apply_due(now, env).0 {
            self.try_send(now, env);
        }
    }

    /// Messages leave their generator.
    pub fn on_emit(&mut self, now: Time, env: &mut impl Env) {
        self.port.emit_due(now, env);
        self.plan_next(env);
    }

    fn send_control(&mut self, now: Time, class: u8, message: Message, env: &mut impl Env) {
        if !self.storms.is_empty() && self.withholds(now, class, message) {
            return;
        }
        self.port.send_control(now, class, message, &self.c.control_delay, env);
        self.plan_next(env);
    }
}
