//! A NIC whose peer holds single flows. It keeps its flows apart anyway and stores nothing in the
//! sender half: it asks it.
//!
//! Out of line throughout, so that a NIC of another kind pays for one look at a flag.

use xoff_mech::flow_control::Gate;
use xoff_units::{Class, FlowId, Time};

use super::NicConfig;
use super::nic_port::NicPort;
use super::senders::Senders;
use crate::env::Env;
use crate::frame::FrameStore;
use crate::port::{Hold, Port};

/// True if a frame of this flow may leave. `whole`: the NIC knows priorities only, and one paused
/// flow pauses them all.
#[cold]
#[inline(never)]
pub(super) fn flow_gate(port: &Port, now: Time, class: Class, flow: FlowId, whole: bool) -> Gate {
    port.flows(class)
        .map_or(Gate::Open, |f| if whole { f.whole_gate(now) } else { f.flow_gate(now, flow) })
}

impl NicPort {
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

    /// Records which classes are held, after it was tried to send.
    #[cold]
    #[inline(never)]
    pub fn note_flows(&mut self, now: Time, flows: &Senders, c: &NicConfig, frames: &FrameStore) {
        for class in Class::up_to(c.classes) {
            let held = self.flows_hold(now, class, flows, c, frames).is_some();
            self.port.note_flows(now, class, held);
        }
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
