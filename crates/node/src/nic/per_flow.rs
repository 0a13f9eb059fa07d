//! A NIC whose peer holds single flows. It keeps its flows apart anyway and stores nothing in the
//! sender half: it asks it.
//!
//! Out of line throughout, so that a NIC of another kind pays for one look at a flag.

use xoff_mech::flow_control::Gate;
use xoff_units::{Class, FlowId, Time};

use super::nic_port::NicPort;
use super::{Nic, NicConfig};
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

impl Nic {
    /// The hold on a class: all its flows with something to send are held. Of the feedback that
    /// waits, the first decides.
    #[cold]
    pub(super) fn flows_hold(
        &self,
        now: Time,
        port: u16,
        class: Class,
        frames: &FrameStore,
    ) -> Option<Hold> {
        let p = &self.ports[port];
        p.port.flows(class)?;
        let whole = self.c.obeys_priorities;
        let feedback = p
            .feedback
            .front()
            .map(|id| frames[id])
            .filter(|f| f.class() == class)
            .map(|f| (f.flow, f.len()));
        let round_robin = p.round_robin.of_class(class).iter().map(|&s| &self.flows[s as usize]);
        let sending = round_robin.filter(|f| f.start.class == class && f.left() > 0);
        let mut waiting = feedback
            .into_iter()
            .chain(sending.map(|f| (f.start.flow, f.next_len(&self.c))))
            .peekable();
        let &(_, len) = waiting.peek()?;
        let since = p.port.held_since(now, class);
        waiting
            .all(|(flow, _)| flow_gate(&p.port, now, class, flow, whole) != Gate::Open)
            .then_some(Hold { port, class, len, since })
    }

    /// Records which classes of a port are held, after it was tried to send.
    #[cold]
    #[inline(never)]
    pub(super) fn note_flows(&mut self, now: Time, port: u16, frames: &FrameStore) {
        for class in Class::up_to(self.c.classes) {
            let held = self.flows_hold(now, port, class, frames).is_some();
            self.ports[port].port.note_flows(now, class, held);
        }
    }
}

impl NicPort {
    /// A decision about a flow takes several messages: those after the first.
    #[cold]
    #[inline(never)]
    pub fn send_more_control(
        &mut self,
        now: Time,
        class: Class,
        c: &NicConfig,
        env: &mut impl Env,
    ) {
        while let Some(message) = self.port.class_state_mut(class).rx.more() {
            self.send_control(now, class, message, c, env);
        }
    }
}
