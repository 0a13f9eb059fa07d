//! The receiving side of a NIC: bytes received in order, gaps, and acknowledgements to the source.

use rustc_hash::FxHashMap;
use xoff_mech::detection::Mark;
use xoff_mech::rate_control::{CnpMode, NotificationPoint};
use xoff_mech::transport::{Received, Reply};
use xoff_units::state::State;
use xoff_units::{FlowId, Span, Time};

use super::ahead::Ahead;
use super::{Delivery, Nic, NicConfig};
use crate::env::{Env, NodeEvent, is_feedback};
use crate::frame::{Frame, FrameId, FrameKind};

/// The receiving side of a flow.
#[derive(Clone, Copy, Default, State)]
pub(super) struct Receiving {
    pub data: Received,
    pub np: NotificationPoint,
}

/// Complete flows that are kept, for frames that may be repeated.
const COMPLETE_KEPT: usize = 256;

/// Effect of a frame of data at its receiver.
struct Accepted {
    /// Byte that was expected before it.
    expected: u64,
    /// It is the expected one.
    in_order: bool,
    /// Payload that counts as delivered now [bytes].
    delivered: u32,
    /// The flow is complete.
    complete: bool,
    /// Bytes kept beyond a gap, if it joined them.
    kept: Option<u64>,
    /// Longest time for which data that it released were kept.
    hold: Option<Span>,
    /// Data are or were kept beyond it.
    gap: bool,
}

/// Counts a frame of data. Frames ahead of a gap are treated as configured.
#[inline(always)]
fn accept(
    now: Time,
    f: &Frame,
    payload: u32,
    c: &NicConfig,
    r: &mut Received,
    ahead: &mut FxHashMap<FlowId, Ahead>,
) -> Accepted {
    let order = || if f.is_unanswered() { c.order_of_datagrams } else { c.order };
    let expected = r.expected;
    let in_order = f.seq == expected;
    let mut a = Accepted {
        expected,
        in_order,
        delivered: 0,
        complete: in_order && f.ends_flow(),
        kept: None,
        hold: None,
        gap: false,
    };
    if in_order {
        r.expected += u64::from(payload);
        a.delivered = payload;
        if let Some(kept) = ahead.get_mut(&f.flow) {
            let joined = kept.join(now, r.expected);
            r.expected = joined.until;
            if order() == Delivery::Buffer {
                a.delivered = (joined.until - expected) as u32;
            }
            (a.complete, a.hold, a.gap) = (a.complete || joined.ends, joined.hold, true);
            if kept.is_empty() {
                ahead.remove(&f.flow);
            }
        }
    } else if order() != Delivery::Strict && f.seq > expected {
        let held = ahead.entry(f.flow).or_default();
        a.kept = held.keep(now, f.seq, u64::from(payload), f.ends_flow());
        if order() == Delivery::Count && a.kept.is_some() {
            a.delivered = payload;
        }
    }
    a
}

/// Answer to a frame of data, if the transport sends one. `r` already counts a frame that came in
/// sequence.
#[inline(always)]
fn acknowledge(
    now: Time,
    c: &NicConfig,
    r: &mut Received,
    f: &Frame,
    expected: u64,
) -> Option<Frame> {
    if !c.transport.acknowledges() || f.is_unanswered() {
        return None;
    }
    let keeps = c.order != Delivery::Strict;
    let kind = match c.transport.reply(now, r, f.seq, expected, keeps)? {
        Reply::Ack => FrameKind::Ack,
        Reply::Nack => FrameKind::Nack,
    };
    let names_frame = kind == FrameKind::Nack && c.transport.facts().nacks_name_frames;
    let mut ack = Frame::new(kind, f.flow, c.acks.class.unwrap_or(f.class()), c.acks.len);
    ack.seq = r.expected;
    ack.sent_at = if names_frame { Time(f.seq) } else { f.sent_at };
    ack.set_reported(f.mark());
    Some(ack)
}

impl Nic {
    pub(super) fn on_data(&mut self, port: u16, f: &Frame, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let payload = f.len() - self.c.header;
        let r = self.receiving.entry(f.flow).or_default();
        let accepted = accept(now, f, payload, &self.c, &mut r.data, &mut self.ahead);
        let complete = accepted.complete;
        let mut answers = [acknowledge(now, &self.c, &mut r.data, f, accepted.expected), None];
        // No news of a flow whose source has dropped it.
        let over = complete && (f.is_unanswered() || !self.c.transport.acknowledges());
        let mark = match self.c.rate_control.cnp_mode() {
            CnpMode::Frame { interval } if f.mark() != Mark::None && !over => {
                r.np.on_frame(now, f.mark(), interval, self.c.rate_control.reports_undetermined())
            }
            CnpMode::Clock { interval } if !over => self.note_for_clock(port, f, interval, env),
            _ => None,
        };
        answers[1] = mark.map(|mark| self.cnp(f.flow, f.class(), mark));
        if over {
            self.receiving.remove(&f.flow);
            self.clocked.remove(&f.flow);
        } else if complete && self.c.clears_flows {
            self.clear_received(f.flow);
        }
        self.report(f, payload, &accepted, env);
        let [answer, cnp] = answers;
        if answer.is_none() && cnp.is_none() {
            return;
        }
        let value = self.c.entropy.map(|_| env.frames().entropy(id));
        let answer = match answer {
            Some(ack) if self.c.transport.facts().delayed_ack > Span::ZERO => {
                let plain = accepted.in_order && !accepted.gap && payload >= self.c.payload_max;
                self.delay_ack(port, (ack, value), plain, env)
            }
            answer => answer,
        };
        let records = if self.c.rate_control.telemetry().is_some() {
            env.frames().telemetry(id).copied()
        } else {
            None
        };
        if let Some(frame) = answer {
            let id = self.queue_feedback(port, frame, env);
            if let Some(records) = records {
                *env.frames().telemetry_mut(id) = records;
            }
            if let Some(value) = value {
                env.frames().set_entropy(id, value);
            }
        }
        if let Some(frame) = cnp {
            self.send_cnp(port, frame, env);
        }
        self.try_send(port, env);
    }

    /// Tells the environment what became of a frame of data.
    #[inline(always)]
    fn report(&self, f: &Frame, payload: u32, a: &Accepted, env: &mut impl Env) {
        let (flow, mark) = (f.flow, f.mark());
        if let Some(hold) = a.hold {
            let released = a.delivered - if a.delivered > 0 { payload } else { 0 };
            env.emit(self.node, NodeEvent::GapFilled { flow, hold, released });
        }
        if let Some(held) = a.kept {
            env.emit(self.node, NodeEvent::Ahead { flow, held });
        }
        if a.delivered > 0 || a.in_order {
            let (payload, complete) = (a.delivered, a.complete);
            env.emit(self.node, NodeEvent::Delivered { flow, payload, mark, complete });
        } else {
            let (expected, got) = (a.expected, f.seq);
            env.emit(self.node, NodeEvent::OutOfOrder { flow, expected, got, payload, mark });
        }
    }

    /// Feedback leaves through the port by which its frame came.
    pub(super) fn queue_feedback(
        &mut self,
        port: u16,
        frame: Frame,
        env: &mut impl Env,
    ) -> FrameId {
        debug_assert!(is_feedback(frame.kind()));
        let id = env.frames().insert(frame);
        self.ports[port].feedback.push(id, env.frames());
        id
    }

    /// A flow is complete. What is kept for a repetition goes with the next but some that are.
    #[cold]
    fn clear_received(&mut self, flow: FlowId) {
        self.complete.push_back(flow);
        if self.complete.len() > COMPLETE_KEPT
            && let Some(first) = self.complete.pop_front()
        {
            self.receiving.remove(&first);
            self.clocked.remove(&first);
        }
    }

    /// The receiving side of a flow is no longer needed (all is acknowledged at its source).
    pub fn drop_flow(&mut self, flow: FlowId) {
        self.ahead.remove(&flow);
        self.sinks.remove(&flow);
        self.clocked.remove(&flow);
        // A frame that was repeated without need may still arrive: it must not restart the flow.
        if !self.c.transport.has_timer() {
            self.receiving.remove(&flow);
        }
    }
}
