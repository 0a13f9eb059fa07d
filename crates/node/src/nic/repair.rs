//! Repair of losses by the source of a flow: its timer and its repetitions, as its transport
//! decides.

use xoff_mech::entropy::Entropy;
use xoff_mech::rate_control::RateControl;
use xoff_mech::transport::{Acked, AnySource};
use xoff_units::state::State;
use xoff_units::{Span, Time};

use super::sending::Sending;
use super::{FlowStart, Nic, NicConfig};
use crate::env::{Call, Env, FLOW_TIMERS, NodeEvent};
use crate::frame::{Frame, FrameKind};

/// Timers of a flow behind those of its rate control, which has 0 to 7.
pub(super) const RETRANSMISSION: u8 = 8;
/// By number of the flow, at its destination.
pub(super) const DELAYED_ACK: u8 = 9;
/// By number of the flow, at its destination.
pub(super) const CNP_TICK: u8 = 10;
const _: () = assert!(CNP_TICK < FLOW_TIMERS);

/// Repair of one flow.
#[derive(Debug, State)]
#[state(in_place)]
pub(super) struct Repair {
    pub source: AnySource,
    /// A call of its timer is due then.
    #[state(saved)] // a timer
    called: Option<Time>,
}

impl FlowStart {
    /// True if its frames are datagrams next to the connections of other flows.
    #[inline]
    pub(super) fn is_datagrams(&self, c: &NicConfig) -> bool {
        !self.controlled && c.transport.facts().connections
    }
}

impl Repair {
    /// State of a new flow; `None`: it repairs nothing.
    pub fn of(start: &FlowStart, c: &NicConfig) -> Option<Box<Repair>> {
        let source = c.transport.source(c.payload_max).filter(|_| !start.is_datagrams(c))?;
        Some(Box::new(Repair { source, called: None }))
    }

    /// True if it holds back the next frame of this flow; `None`: it does not decide, a window may.
    #[cold]
    pub fn bounds(&self, f: &Sending, c: &NicConfig) -> Option<bool> {
        if self.source.again(f.acked).is_some() {
            return Some(false); // a repetition is in the window
        }
        let limit = self.source.limit(f.acked, f.window.unwrap_or(u64::MAX))?;
        Some(f.next + f.left().min(c.payload_max as u64) > limit)
    }
}

impl Nic {
    /// A frame of a flow was sent that ends before byte `end`: its timer runs.
    #[cold]
    pub(super) fn note_sent(&mut self, slot: u32, end: u64, env: &mut impl Env) {
        let now = env.now();
        if let Some(r) = &mut self.flows[slot as usize].repair {
            r.source.on_sent(now, end);
        }
        self.arm_repair(slot, env);
    }

    /// Asks for a call when the timer of a flow expires.
    #[cold]
    fn arm_repair(&mut self, slot: u32, env: &mut impl Env) {
        let now = env.now();
        let f = &mut self.flows[slot as usize];
        let in_flight = f.next.saturating_sub(f.acked);
        let Some(r) = &mut f.repair else { return };
        // A Nack that goes back may leave so little in flight that a shorter timer has expired
        // already.
        let due = r.source.due(in_flight).map(|due| due.max(now));
        let Some(due) = due.filter(|&due| r.called.is_none_or(|t| t > due)) else { return };
        r.called = Some(due);
        env.call_at(self.node, due, Call::FlowTimer { slot, which: RETRANSMISSION });
    }

    /// The timer of a flow was called for now.
    #[cold]
    pub(super) fn on_retransmission_timer(&mut self, slot: u32, env: &mut impl Env) {
        let now = env.now();
        let f = &mut self.flows[slot as usize];
        let in_flight = f.next.saturating_sub(f.acked);
        let Some(r) = &mut f.repair else { return };
        if r.called.is_some_and(|t| t <= now) {
            r.called = None;
        }
        if r.source.due(in_flight).is_none_or(|due| due > now) {
            return self.arm_repair(slot, env);
        }
        f.next = r.source.on_timer(now, f.acked, f.next);
        let flow = f.start.flow;
        if let Some(entropy) = self.entropy_of(slot) {
            entropy.on_timeout(now);
        }
        env.emit(self.node, NodeEvent::TimedOut { flow });
        self.comes_to_a_shorter_frame(slot);
        self.arm_repair(slot, env);
        self.try_send_flow(slot, env);
    }

    /// An acknowledgement came after this round trip: `before` was acknowledged before it, and it
    /// may name a frame that arrived `ahead` of a gap.
    #[cold]
    pub(super) fn repair(
        &mut self,
        slot: u32,
        (before, ahead): (u64, Option<u64>),
        rtt: Span,
        env: &mut impl Env,
    ) {
        let now = env.now();
        let f = &mut self.flows[slot as usize];
        let Some(r) = &mut f.repair else { return };
        r.source.on_ack(now, &Acked { before, until: f.acked, next: f.next, rtt, ahead });
        // After going back, bytes that had arrived behind the loss are acknowledged too.
        f.next = f.next.max(f.acked);
        if f.done {
            f.next = f.next.max(f.start.size);
            f.repair = None;
            return;
        }
        self.comes_to_a_shorter_frame(slot);
        self.arm_repair(slot, env);
    }

    /// A frame of a flow goes again.
    #[cold]
    pub(super) fn send_again(&mut self, port: u16, slot: u32, seq: u64, env: &mut impl Env) {
        let now = env.now();
        let f = &mut self.flows[slot as usize];
        let payload = (f.start.size - seq).min(self.c.payload_max as u64) as u32;
        let len = payload + self.c.header;
        let mut frame = Frame::new(FrameKind::Data, f.start.flow, f.start.class, len);
        (frame.seq, frame.sent_at) = (seq, now);
        frame.set_ends_flow(seq + payload as u64 >= f.start.size);
        let rate = match &f.rate_control {
            Some(rc) if self.c.rate_bound => rc.rate(),
            _ => f.line,
        };
        f.available = now + f.times.of(rate, len);
        f.last_len = len;
        self.put_on_wire(port, slot, frame, payload, env);
        self.note_sent(slot, seq + payload as u64, env);
        self.falls_asleep(slot);
    }
}
