//! Loss recovery of a source: a retransmission timer, and go-back-n, or retransmission of missing
//! frames only.
//!
//! ```text
//!   timer      runs while something is outstanding, from the last progress; when it expires, missing bytes are sent again. A shorter one
//! counts
//!              while few frames are outstanding: no frame behind the lost one reports it then
//!   go-back-N  Nack or timer: everything from the first missing byte goes again
//!   selective  the receiver keeps later frames; Nack(all up to here, and this frame): gaps before that frame are sent again, once in a
//! recovery;
//!              frames lost again wait for the timer (IRN, SIGCOMM 2018)
//! ```
//!
//! With a timer no pattern of losses lets a flow hang: missing bytes are sent again until they have
//! arrived.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use xoff_mech::entropy::Entropy;
use xoff_mech::rate_control::RateControl;
use xoff_units::state::State;
use xoff_units::{Span, Time};

use super::Nic;
use super::connection::Repair;
use crate::env::{Call, Env, FLOW_TIMERS, NodeEvent};
use crate::frame::{Frame, FrameKind};

/// Recovery settings of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Retransmission timer [ps].
    pub timer: Span,
    /// The timer while at most [`FEW`] frames are outstanding (RTO_low of IRN) [ps].
    pub timer_of_few: Span,
    /// Repeat missing bytes only; else everything from there.
    pub selective: bool,
}

/// N of IRN: up to this number of frames outstanding, a lost frame may have none behind it that
/// reports it.
pub const FEW: u64 = 3;

impl Recovery {
    /// The timer with these bytes outstanding, in frames of this payload.
    fn timer(&self, outstanding: u64, payload: u32) -> Span {
        if outstanding.div_ceil(u64::from(payload.max(1))) <= FEW {
            self.timer_of_few
        } else {
            self.timer
        }
    }
}

/// The timer of a flow, behind those of its rate control, which has 0 to 7.
pub(super) const RETRANSMISSION: u8 = 8;
const _: () = assert!(RETRANSMISSION < FLOW_TIMERS);

/// The recovery of one flow, at its source.
#[derive(Debug, Default, State)]
pub(super) struct Recovering {
    /// Start of the timer; `None`: nothing is outstanding.
    since: Option<Time>,
    #[state(saved)] // a timer
    called: Option<Time>,
    /// Offsets of frames that are to go again.
    again: VecDeque<u64>,
    /// Offsets of frames beyond the first missing one that have arrived.
    arrived: BTreeSet<u64>,
    /// In a recovery until all before this byte has arrived.
    until: u64,
    /// Holes before this byte have been found in this recovery.
    found: u64,
}

impl Recovering {
    /// The next frame that is to go again.
    pub fn next(&self) -> Option<u64> {
        self.again.front().copied()
    }
}

/// Data of a flow beyond the first missing byte, kept by a receiver.
#[derive(Debug, Default, State)]
pub(super) struct Ahead {
    /// From, to and time of arrival.
    ranges: BTreeMap<u64, (u64, Time)>,
    /// Bytes of all of them.
    held: u64,
    /// End of the flow, if its last frame is among them.
    end: Option<u64>,
}

/// Data that a frame in order has joined.
pub(super) struct Joined {
    /// All before it has arrived.
    pub until: u64,
    /// It is the end of the flow.
    pub ends: bool,
    /// Longest time for which some of it was kept; `None`: none of it was.
    pub hold: Option<Span>,
}

impl Ahead {
    /// A frame is ahead. Returns the bytes kept if any of it is new.
    pub fn keep(&mut self, now: Time, from: u64, payload: u64, ends: bool) -> Option<u64> {
        if ends {
            self.end = Some(from + payload);
        }
        if self.ranges.insert(from, (from + payload, now)).is_some() {
            return None;
        }
        self.held += payload;
        Some(self.held)
    }

    /// All before `expected` has arrived.
    pub fn join(&mut self, now: Time, mut expected: u64) -> Joined {
        let mut hold = None;
        while let Some(first) = self.ranges.first_entry().filter(|e| *e.key() <= expected) {
            let (from, (to, since)) = first.remove_entry();
            self.held -= to - from;
            expected = expected.max(to);
            hold = hold.max(Some(now.since(since)));
        }
        Joined { until: expected, ends: self.end == Some(expected), hold }
    }

    /// Nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

impl Nic {
    /// Something of a flow goes: its timer runs.
    pub(super) fn arm_recovery(&mut self, now: Time, slot: u32, env: &mut impl Env) {
        let Some(c) = self.c.recovery else { return self.arm_connection(slot, env) };
        let f = &mut self.flows[slot as usize];
        let timer = c.timer(f.next.saturating_sub(f.acked), self.c.payload_max);
        let Some(Repair::ByTimer(r)) = f.recovery.as_deref_mut() else { return };
        // A Nack that goes back may leave so little outstanding that the shorter timer has expired
        // already.
        let at = (*r.since.get_or_insert(now) + timer).max(now);
        if r.called.is_none_or(|t| t > at) {
            r.called = Some(at);
            env.call_at(self.node, at, Call::FlowTimer { slot, which: RETRANSMISSION });
        }
    }

    /// The timer of a flow was called for now.
    #[cold]
    pub(super) fn on_retransmission_timer(&mut self, now: Time, slot: u32, env: &mut impl Env) {
        let Some(c) = self.c.recovery else { return };
        let f = &mut self.flows[slot as usize];
        let timer = c.timer(f.next.saturating_sub(f.acked), self.c.payload_max);
        let Some(Repair::ByTimer(r)) = f.recovery.as_deref_mut() else { return };
        if r.called.is_some_and(|t| t <= now) {
            r.called = None;
        }
        if f.done || r.since.is_none() {
            return;
        }
        if r.since.is_some_and(|t| t + timer > now) {
            return self.arm_recovery(now, slot, env);
        }
        r.since = Some(now);
        if c.selective {
            r.again.clear();
            r.again.push_back(f.acked);
            (r.until, r.found) = (f.next, f.acked + self.c.payload_max as u64);
            self.find_holes(slot);
        } else {
            f.next = f.acked;
        }
        let f = &mut self.flows[slot as usize];
        if let Some(entropy) = &mut f.entropy {
            entropy.on_timeout(now);
        }
        let flow = f.start.flow;
        env.emit(self.node, now, NodeEvent::TimedOut { flow });
        self.comes_to_a_shorter_frame(slot);
        self.arm_recovery(now, slot, env);
        self.try_send_flow(now, slot, env);
    }

    /// Holes before the last frame that has arrived are to go again, those that were not found
    /// before.
    fn find_holes(&mut self, slot: u32) {
        let f = &mut self.flows[slot as usize];
        let Some(Repair::ByTimer(r)) = f.recovery.as_deref_mut() else { return };
        let Some(&last) = r.arrived.last() else { return };
        let mut at = r.found.max(f.acked);
        while at < last {
            if !r.arrived.contains(&at) {
                r.again.push_back(at);
            }
            at += self.c.payload_max as u64;
        }
        r.found = r.found.max(at);
    }

    /// An acknowledgement came: `before` was acknowledged before it; a Nack names the frame that
    /// caused it.
    #[cold]
    pub(super) fn recover(
        &mut self,
        now: Time,
        slot: u32,
        before: u64,
        ack: &Frame,
        env: &mut impl Env,
    ) {
        let Some(c) = self.c.recovery else { return };
        let f = &mut self.flows[slot as usize];
        let (acked, next) = (f.acked, f.next.max(f.acked));
        f.next = next;
        if f.done {
            f.next = f.next.max(f.start.size);
        }
        let done = f.done;
        let Some(Repair::ByTimer(r)) = f.recovery.as_deref_mut() else { return };
        if done {
            *r = Recovering { called: r.called, ..Recovering::default() };
            return;
        }
        if acked > before {
            r.since = (acked < next).then_some(now);
            r.arrived = r.arrived.split_off(&acked);
            r.again.retain(|&at| at >= acked);
        }
        if c.selective && ack.kind() == FrameKind::Nack {
            let arrived = ack.sent_at.0;
            if acked >= r.until {
                (r.until, r.found) = (next, acked);
            }
            if arrived > acked && arrived < next {
                r.arrived.insert(arrived);
            }
            self.find_holes(slot);
            self.comes_to_a_shorter_frame(slot);
        }
        if matches!(self.flows[slot as usize].recovery.as_deref(), Some(Repair::ByTimer(r)) if r.since.is_some())
        {
            self.arm_recovery(now, slot, env);
        }
    }

    /// A frame of a flow goes again.
    #[cold]
    pub(super) fn send_again(
        &mut self,
        now: Time,
        port: u16,
        slot: u32,
        seq: u64,
        env: &mut impl Env,
    ) {
        let f = &mut self.flows[slot as usize];
        if let Some(Repair::ByTimer(r)) = f.recovery.as_deref_mut() {
            r.again.pop_front();
        }
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
        let flow = f.start.flow;
        let id = env.frames().insert(frame);
        if self.c.rate_control.telemetry().is_some() {
            *env.frames().telemetry_mut(id) = Default::default();
        }
        if self.c.entropy.is_some() {
            self.give_entropy(now, port, slot, id, env);
        }
        let p = &mut self.ports[port];
        p.port.start_frame(now, id, env);
        p.plan_next(env);
        env.emit(self.node, now, NodeEvent::Sent { flow, payload });
        if !self.ports.is_single() {
            env.emit(self.node, now, NodeEvent::Balanced { flow, port, len });
        }
        self.note_segment(now, slot, seq + payload as u64);
        self.arm_recovery(now, slot, env);
    }
}
