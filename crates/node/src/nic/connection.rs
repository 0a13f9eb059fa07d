//! Flows that are connections of a transport: permission to send, bytes received in order,
//! acknowledgements and their times.
//!
//! ```text
//!   window, retransmissions, the timer    <- mech: Source, one a flow, at its source
//!   which acknowledgement waits           <- mech: Sink, at its destination, where acknowledgements are delayed
//! ```
//!
//! Next to connections there may be flows of datagrams. Their frames carry a mark, and are not
//! acknowledged.

use xoff_mech::transport::{Acked, Answer, Sink, Source};
use xoff_units::state::{State, Walk};
use xoff_units::{Class, FlowId, Time};

use super::receiving::accept;
use super::recovery::Recovering;
use super::sending::Sending;
use super::{Delivery, FlowStart, Nic, NicConfig, Transport};
use crate::env::{Call, Env, NodeEvent};
use crate::frame::{Frame, FrameKind};

/// Timer of a source; the others are those of a rate control, which connections do not have.
const RETRANSMISSION: u8 = 0;
/// Timer of a destination, by number of the flow.
const DELAYED_ACK: u8 = 1;

/// Loss recovery of a source.
#[derive(Debug, State)]
#[state(canonical)]
pub(super) enum Repair {
    /// By the rule of the NIC.
    ByTimer(Recovering),
    /// As its connection does.
    Connection(Connection),
}

/// The source of a connection.
#[derive(Debug, State)]
pub(super) struct Connection {
    source: Source,
    /// A call of its timer is due then.
    called: Option<Time>,
}

/// The destination of a connection.
#[derive(Clone, Copy, Debug, Default, State)]
pub(super) struct Destination {
    sink: Sink,
    /// Class of its data.
    class: Class,
    /// Port by which its latest segment came.
    port: u16,
}

impl Destination {
    /// Nothing waits.
    pub fn rests(&self) -> bool {
        self.sink.rests()
    }
}

impl Repair {
    fn compare<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        match self {
            Repair::ByTimer(r) => r.walk(w),
            Repair::Connection(_) => w.refuse("a connection"),
        }
    }
}

impl FlowStart {
    /// True if its frames are datagrams next to the connections of other flows.
    #[inline]
    pub(super) fn is_datagrams(&self, c: &NicConfig) -> bool {
        c.connection.is_some() && !self.controlled
    }
}

impl Repair {
    /// State of a new flow; `None`: it repairs nothing.
    pub fn of(start: &FlowStart, c: &NicConfig) -> Option<Box<Repair>> {
        let repair = match &c.connection {
            Some(_) if !start.controlled => return None,
            Some(p) => Repair::Connection(Connection { source: Source::new(p), called: None }),
            None => Repair::ByTimer(c.recovery.map(|_| Recovering::default())?),
        };
        Some(Box::new(repair))
    }

    /// The offset of the next frame that is to go again, with all before `acked` acknowledged.
    pub fn next(&self, acked: u64) -> Option<u64> {
        match self {
            Repair::ByTimer(r) => r.next(),
            Repair::Connection(f) => f.source.again().then_some(acked),
        }
    }

    /// True if it holds back the next frame of this flow; `None`: it does not decide, a window may.
    pub fn bounds(&self, f: &Sending, c: &NicConfig) -> Option<bool> {
        if self.next(f.acked).is_some() {
            return Some(false); // a repetition is in the window
        }
        let (Repair::Connection(connection), Some(p)) = (self, &c.connection) else { return None };
        let end = f.next + f.left().min(c.payload_max as u64);
        Some(end > connection.source.limit(p, f.acked, f.window.unwrap_or(u64::MAX)))
    }
}

impl Nic {
    /// A segment went that ends before byte `end`.
    #[cold]
    pub(super) fn note_segment(&mut self, now: Time, slot: u32, end: u64) {
        if let Some(Repair::Connection(c)) = self.flows[slot as usize].recovery.as_deref_mut() {
            c.source.on_sent(now, end);
        }
    }

    /// Asks for a call when the timer of a connection expires.
    #[cold]
    pub(super) fn arm_connection(&mut self, slot: u32, env: &mut impl Env) {
        let Some(p) = &self.c.connection else { return };
        let Some(Repair::Connection(c)) = self.flows[slot as usize].recovery.as_deref_mut() else {
            return;
        };
        let Some(due) = c.source.due(p).filter(|&due| c.called.is_none_or(|t| t > due)) else {
            return;
        };
        c.called = Some(due);
        env.call_at(self.node, due, Call::FlowTimer { slot, which: RETRANSMISSION });
    }

    /// A call for a connection.
    #[cold]
    pub(super) fn on_connection_call(&mut self, now: Time, at: u32, which: u8, env: &mut impl Env) {
        match which {
            RETRANSMISSION => self.on_connection_timer(now, at, env),
            _ => self.on_delayed_ack(now, FlowId(at), env),
        }
    }

    fn on_connection_timer(&mut self, now: Time, slot: u32, env: &mut impl Env) {
        let Some(p) = &self.c.connection else { return };
        let f = &mut self.flows[slot as usize];
        let Some(Repair::Connection(c)) = f.recovery.as_deref_mut() else { return };
        if c.called.is_some_and(|t| t <= now) {
            c.called = None;
        }
        if f.done {
            return;
        }
        if c.source.on_timer(p, now, f.acked, f.next) {
            f.next = f.acked;
            env.emit(self.node, now, NodeEvent::TimedOut { flow: f.start.flow });
            self.comes_to_a_shorter_frame(slot);
            self.arm_connection(slot, env);
            return self.try_send_flow(now, slot, env);
        }
        self.arm_connection(slot, env);
    }

    /// An acknowledgement of a connection came; `before` was acknowledged before it.
    #[cold]
    pub(super) fn on_segment_ack(
        &mut self,
        now: Time,
        slot: u32,
        before: u64,
        ack: &Frame,
        env: &mut impl Env,
    ) {
        let Some(p) = &self.c.connection else { return };
        let f = &mut self.flows[slot as usize];
        let Some(Repair::Connection(c)) = f.recovery.as_deref_mut() else { return };
        c.source.on_ack(
            p,
            now,
            &Acked { before, until: f.acked, next: f.next, rtt: now.since(ack.sent_at) },
        );
        // After going back for all of it, bytes that had arrived behind the loss are acknowledged
        // too.
        f.next = f.next.max(f.acked);
        if f.done {
            f.next = f.next.max(f.start.size);
            return;
        }
        self.comes_to_a_shorter_frame(slot);
        self.arm_connection(slot, env);
    }

    /// A data frame came, where flows are connections.
    #[cold]
    pub(super) fn on_segment(&mut self, now: Time, port: u16, f: &Frame, env: &mut impl Env) {
        let payload = f.len() - self.c.header;
        let answered = !f.is_unanswered();
        let order = if answered { Delivery::Buffer } else { Delivery::Strict };
        let r = self.receiving.entry(f.flow).or_default();
        let accepted = accept(now, f, payload, order, r, &mut self.ahead);
        let until = r.expected;
        self.report(now, f, payload, &accepted, env);
        if !answered {
            if accepted.complete {
                self.receiving.remove(&f.flow);
            }
            return;
        }
        let Some(p) = self.c.connection.filter(|p| p.delayed_ack.0 > 0) else {
            return self.acknowledge(now, port, (f.flow, f.class()), until, f.sent_at, env);
        };
        // In order, and no gap is or was behind it.
        let plain = accepted.in_order && !accepted.gap && payload as u64 >= p.mss;
        let d = self.sinks.entry(f.flow).or_default();
        (d.class, d.port) = (f.class(), port);
        let answer = d.sink.on_segment(&p, now, f.sent_at, plain);
        self.answer(now, port, (f.flow, f.class()), until, answer, env);
    }

    /// Acknowledgements of a flow may have waited long enough.
    fn on_delayed_ack(&mut self, now: Time, flow: FlowId, env: &mut impl Env) {
        let Some(d) = self.sinks.get_mut(&flow) else { return };
        let (answer, class, port) = (d.sink.on_call(now), d.class, d.port);
        let until = self.receiving.get(&flow).map_or(0, |r| r.expected);
        self.answer(now, port, (flow, class), until, answer, env);
    }

    fn answer(
        &mut self,
        now: Time,
        port: u16,
        (flow, class): (FlowId, Class),
        until: u64,
        answer: Answer,
        env: &mut impl Env,
    ) {
        match answer {
            Answer::Now(sent) => self.acknowledge(now, port, (flow, class), until, sent, env),
            Answer::Later(Some(at)) => {
                env.call_at(self.node, at, Call::FlowTimer { slot: flow.0, which: DELAYED_ACK })
            }
            Answer::Later(None) => {}
        }
    }

    /// All of a flow before this byte has come; the segment that is answered left its source at
    /// `sent`.
    fn acknowledge(
        &mut self,
        now: Time,
        port: u16,
        (flow, data): (FlowId, Class),
        until: u64,
        sent: Time,
        env: &mut impl Env,
    ) {
        let Transport::Acks { ack_len, class, .. } = self.c.transport else { return };
        let mut ack = Frame::new(FrameKind::Ack, flow, class.unwrap_or(data), ack_len);
        (ack.seq, ack.sent_at) = (until, sent);
        self.queue_feedback(port, ack, env);
        self.try_send(now, port, env);
    }
}
