//! A NIC whose peer holds single flows. It keeps its flows apart anyway and stores no frame in the
//! sender half: it asks it. A flow that is held leaves the flows that are asked, and the sender half
//! returns it when it may send. So the cost of a frame does not grow with the number of held flows.
//!
//! Out of line throughout, so that a NIC of another kind pays for one look at a flag.

use std::collections::BTreeSet;

use xoff_mech::flow_control::Gate;
use xoff_units::{Class, FlowId, Time};

use super::nic_port::{NicPort, Order};
use super::round_robin::{Answer, CLASSES_MAX, Flows};
use super::senders::Senders;
use super::sending::Asked;
use super::{Nic, NicConfig};
use crate::env::Env;
use crate::frame::{Frame, FrameStore};
use crate::port::{Hold, Port};

/// True if a frame of this flow may leave. `whole`: the NIC knows priorities only, and one paused
/// flow pauses them all.
#[cold]
#[inline(never)]
pub(super) fn flow_gate(port: &Port, now: Time, class: Class, flow: FlowId, whole: bool) -> Gate {
    port.flows(class)
        .map_or(Gate::Open, |f| if whole { f.whole_gate(now) } else { f.flow_gate(now, flow) })
}

/// Flows that are asked, by class: all that take turns but those that are parked in a sender half.
#[derive(Default)]
pub(super) struct Ready(Vec<BTreeSet<u32>>);

impl Ready {
    /// All flows that take turns.
    pub fn of(round_robin: &Order) -> Ready {
        let of_class = |class| round_robin.of_class(class).iter().copied().collect();
        Ready(Class::up_to(CLASSES_MAX).map(of_class).collect())
    }

    pub fn insert(&mut self, class: Class, slot: u32) {
        while self.0.len() <= class.index() {
            self.0.push(BTreeSet::new());
        }
        self.0[class.index()].insert(slot);
    }

    fn of_class(&self, class: Class) -> impl Iterator<Item = u32> {
        self.0.get(class.index()).into_iter().flatten().copied()
    }

    /// The first flow with one of these numbers, with its class.
    fn first(&self, from: u32, to: u32) -> Option<(u32, Class)> {
        if from > to {
            return None;
        }
        let firsts = (0..)
            .zip(&self.0)
            .filter_map(|(class, flows)| Some((*flows.range(from..=to).next()?, Class(class))));
        firsts.min()
    }
}

impl Nic {
    /// A flow is asked again: it has new data, or an acknowledgement, message or timer changed it.
    #[inline]
    pub(super) fn ask_again(&mut self, slot: u32) {
        if !self.ports.is_single() || self.ports[0].per_flow {
            self.ask_again_at_ports(slot);
        }
    }

    #[cold]
    fn ask_again_at_ports(&mut self, slot: u32) {
        let f = &self.flows[slot as usize];
        let (class, flow, ports) = (f.start.class, f.start.flow, f.ports);
        for p in ports.iter() {
            let p = &mut self.ports[p];
            if p.port.flows_mut(class).is_some_and(|half| half.unpark(flow, slot)) {
                p.ready.insert(class, slot);
            }
        }
    }
}

impl NicPort {
    /// A flow does not take turns any more, or has nothing to send.
    #[cold]
    pub fn no_longer_ready(&mut self, class: Class, slot: u32, flow: FlowId) {
        if let Some(half) = self.port.flows_mut(class) {
            half.unpark(flow, slot);
        }
        if let Some(ready) = self.ready.0.get_mut(class.index()) {
            ready.remove(&slot);
        }
    }

    /// Next flow in round robin order that may send ([`RoundRobin::pick`]).
    ///
    /// [`RoundRobin::pick`]: super::round_robin::RoundRobin::pick
    #[cold]
    #[inline(never)]
    pub fn next_of_ready(
        &mut self,
        now: Time,
        flows: &Senders,
        c: &NicConfig,
        earliest: &mut Time,
    ) -> Option<u32> {
        let NicPort { port, round_robin: Order::ByStart(round_robin), ready, .. } = self else {
            unreachable!("the order by place holds back no single flows")
        };
        for (class, ready) in (0..).zip(&mut ready.0) {
            if let Some(half) = port.flows_mut(Class(class)) {
                ready.extend(half.freed(now));
            }
        }
        let mut asked = Asked { flows, port, c, per_flow: true, now, earliest: *earliest };
        let last = round_robin.before_pick(&asked);
        let mut picked = None;
        'all: for (mut from, to) in [(last.saturating_add(1), u32::MAX), (0, last)] {
            while let Some((slot, class)) = ready.first(from, to) {
                match asked.ask(slot) {
                    Answer::Go => {
                        picked = Some(slot);
                        break 'all;
                    }
                    Answer::Held(_) if !c.obeys_priorities => {
                        ready.0[class.index()].remove(&slot);
                        let flow = flows[slot as usize].start.flow;
                        if let Some(half) = asked.port.flows_mut(class) {
                            half.park(flow, slot);
                        }
                    }
                    Answer::Held(_) | Answer::Waits(_) | Answer::Over => {}
                }
                from = slot + 1;
            }
        }
        *earliest = asked.earliest;
        match picked {
            Some(slot) => round_robin.served(slot),
            None => {
                let halves = Class::up_to(c.classes).filter_map(|class| port.flows(class));
                *earliest = halves.map(|half| half.parked_until()).fold(*earliest, Time::min);
            }
        }
        picked
    }

    /// The hold on a class: all its flows with something to send are held. Of the feedback that
    /// waits, the first decides.
    #[cold]
    pub fn flows_hold(
        &self,
        now: Time,
        class: Class,
        flows: &Senders,
        c: &NicConfig,
        frames: &FrameStore,
    ) -> Option<Hold> {
        self.port.flows(class)?;
        let feedback = self
            .feedback
            .front()
            .map(|id| frames[id])
            .filter(|f| f.class() == class)
            .map(|f| (f.flow, f.len()));
        let round_robin = self.round_robin.of_class(class).iter().map(|&s| &flows[s as usize]);
        let sending = round_robin.filter(|f| f.start.class == class && f.left() > 0);
        let mut waiting =
            feedback.into_iter().chain(sending.map(|f| (f.start.flow, f.next_len(c)))).peekable();
        let &(_, len) = waiting.peek()?;
        let (port, since) = (self.port.at().port, self.port.held_since(now, class));
        let whole = c.obeys_priorities;
        waiting
            .all(|(flow, _)| flow_gate(&self.port, now, class, flow, whole) != Gate::Open)
            .then_some(Hold { port, class, len, since })
    }

    /// Records which classes are held, after it was tried to send: all flows of such a class with
    /// something to send, and the feedback that waits.
    #[cold]
    #[inline(never)]
    pub fn note_flows(
        &mut self,
        now: Time,
        picked: Option<u32>,
        flows: &Senders,
        c: &NicConfig,
        frames: &FrameStore,
    ) {
        let feedback = self.feedback.front().map(|id| frames[id]);
        for class in Class::up_to(c.classes) {
            let held = self.holds_all(now, class, picked, feedback, flows, c);
            self.port.note_flows(now, class, held);
        }
    }

    /// True if something of a class waits and everything that waits is held.
    fn holds_all(
        &self,
        now: Time,
        class: Class,
        picked: Option<u32>,
        feedback: Option<Frame>,
        flows: &Senders,
        c: &NicConfig,
    ) -> bool {
        let Some(half) = self.port.flows(class) else { return false };
        let waits = |slot: u32| {
            flows[slot as usize].start.class == class && flows[slot as usize].left() > 0
        };
        let open = |flow| flow_gate(&self.port, now, class, flow, c.obeys_priorities) == Gate::Open;
        if picked.is_some_and(waits) {
            return false;
        }
        let feedback = feedback.filter(|f| f.class() == class).map(|f| f.flow);
        let ready = self.ready.of_class(class).filter(|&s| waits(s));
        let mut asked =
            feedback.into_iter().chain(ready.map(|s| flows[s as usize].start.flow)).peekable();
        let some = asked.peek().is_some() || half.any_parked(&mut |s| waits(s));
        some && !asked.any(open)
    }

    /// A decision about a flow takes several messages: those after the first.
    #[cold]
    #[inline(never)]
    pub fn send_more_control(&mut self, class: Class, c: &NicConfig, env: &mut impl Env) {
        while let Some(message) = self.port.class_state_mut(class).rx.more() {
            self.send_control(class, message, c, env);
        }
    }
}
