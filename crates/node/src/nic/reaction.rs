//! Reactions of a NIC's flows to acknowledgements, CNMs and CNPs, and to timers of their rate
//! control.

use xoff_mech::detection::Mark;
use xoff_mech::entropy::Entropy;
use xoff_mech::rate_control::{Ack, CnpMode, Feedback, RateControl, Wakes};
use xoff_units::{Bytes, FlowId, Rate, Time};

use super::Nic;
use super::repair::{CNP_TICK, DELAYED_ACK, RETRANSMISSION};
use crate::env::{Call, Env, NodeEvent};
use crate::frame::{Frame, FrameId, FrameKind};

impl Nic {
    /// A timer of a flow.
    #[inline(never)] // it would crowd the registers of every call
    pub fn on_flow_timer(&mut self, slot: u32, which: u8, env: &mut impl Env) {
        match which {
            RETRANSMISSION => return self.on_retransmission_timer(slot, env),
            DELAYED_ACK => return self.on_delayed_ack(FlowId(slot), env),
            CNP_TICK => return self.on_cnp_tick(FlowId(slot), env),
            _ => {}
        }
        let timers = &mut self.flows[slot as usize].timers;
        *timers = timers.saturating_sub(1);
        self.timer_of(slot, which, env);
    }

    fn timer_of(&mut self, slot: u32, which: u8, env: &mut impl Env) {
        let now = env.now();
        let mut wakes = Wakes::default();
        let f = &mut self.flows[slot as usize];
        let Some(rc) = f.rate_control.as_mut().filter(|_| !f.timers_cancelled) else {
            if let Some(next) = self.successor(slot) {
                self.timer_of(next, which, env);
            }
            return;
        };
        let before = rc.rate();
        rc.on_wake(now, which, &mut wakes);
        self.ask_again(slot);
        self.after_rate_control(slot, before, &wakes, env);
    }

    pub(super) fn after_rate_control(
        &mut self,
        slot: u32,
        before: Rate,
        wakes: &Wakes,
        env: &mut impl Env,
    ) {
        for (which, at) in wakes.iter() {
            env.call_at(self.node, at, Call::FlowTimer { slot, which });
            self.flows[slot as usize].timers += u32::from(at != Time::NEVER);
        }
        let f = &self.flows[slot as usize];
        if let Some(rate) = f.rate_control.as_ref().map(|rc| rc.rate()).filter(|&r| r != before) {
            env.emit(self.node, NodeEvent::FlowRate { flow: f.start.flow, rate });
        }
    }

    pub(super) fn on_ack(&mut self, f: &Frame, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        if !self.c.transport.acknowledges() {
            return;
        }
        let Some(&slot) = self.slots.get(&f.flow) else { return };
        if self.c.entropy.is_some()
            && let Some(entropy) = self.entropy_of(slot)
        {
            entropy.on_ack(now, env.frames().entropy(id), f.reported() != Mark::None);
        }
        let flow = &mut self.flows[slot as usize];
        let before = flow.acked;
        flow.acked = before.max(self.c.transport.acked(f.seq));
        self.ask_again(slot);
        let flow = &mut self.flows[slot as usize];
        let finished = flow.acked >= flow.start.size;
        if finished {
            // Repetitions are sent at the present rate; news on this very frame still count.
            flow.done = true;
            flow.timers_cancelled = flow.pair.is_none();
            self.slots.remove(&f.flow);
            env.emit(self.node, NodeEvent::Acknowledged { flow: f.flow });
        }
        // The frame that caused a Nack, instead of the time at which it was sent.
        let nack = f.kind() == FrameKind::Nack;
        let named = (nack && self.c.transport.facts().nacks_name_frames).then_some(f.sent_at.0);
        if nack && named.is_none() {
            let flow = &mut self.flows[slot as usize];
            flow.next = flow.acked;
            self.comes_to_a_shorter_frame(slot);
        }
        if self.flows[slot as usize].repair.is_some() {
            self.repair(slot, (before, named), now.since(f.sent_at), env);
        }
        if f.reported() != Mark::None && self.c.rate_control.cnp_mode() == CnpMode::InAck {
            self.on_congestion_notification(slot, f.reported(), env);
        }
        if self.c.rate_control.wants_acks() && named.is_none() {
            self.on_wanted_ack(slot, f, id, env);
        }
        let flow = &mut self.flows[slot as usize];
        if flow.done && flow.next >= flow.start.size && flow.pair.is_none() {
            flow.rate_control = None;
        }
        if flow.done {
            self.falls_asleep(slot);
        }
        self.try_send_flow(slot, env);
    }

    /// The receiver reports a mark.
    pub(super) fn on_congestion_notification(&mut self, slot: u32, mark: Mark, env: &mut impl Env) {
        if let Some(feedback) = self.c.rate_control.feedback_of(mark) {
            self.on_feedback(slot, feedback, env);
        }
    }

    /// A congestion point reports a value about a flow.
    #[cold]
    pub(super) fn on_value(&mut self, slot: u32, flow: FlowId, value: u8, env: &mut impl Env) {
        env.emit(self.node, NodeEvent::CongestionNotificationReceived { flow });
        self.on_feedback(slot, Feedback::Quantized(value), env);
    }

    /// An acknowledgement came that the rate control wants.
    #[cold]
    fn on_wanted_ack(&mut self, slot: u32, f: &Frame, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let flow = &self.flows[slot as usize];
        // Full frames, except for the last one.
        let payload = if f.seq == flow.start.size {
            (f.seq - 1) % self.c.payload_max as u64 + 1
        } else {
            self.c.payload_max as u64
        };
        let records = env.frames().telemetry(id).copied().unwrap_or_default();
        let (before, sent) = self.in_pair(slot);
        let ack = Ack {
            acked: before + f.seq,
            sent,
            rtt: now.since(f.sent_at),
            len: Bytes(payload + self.c.header as u64),
            mark: f.reported(),
            hops: records.hops(),
        };
        self.on_feedback(slot, Feedback::Ack(ack), env);
    }

    /// The rate was set: the frame that waits moves by as much as the last one's time has changed,
    /// and a wake-up that would now come too late is asked for again.
    #[cold]
    fn move_next_frame(&mut self, slot: u32, before: Rate, env: &mut impl Env) {
        let now = env.now();
        let flow = &mut self.flows[slot as usize];
        let Some(after) = flow.rate_control.as_ref().map(|rc| rc.rate()) else { return };
        let (old, new) =
            (flow.times.of(before, flow.last_len), flow.times.of(after, flow.last_len));
        let moved = Time((flow.available + new).0.saturating_sub(old.0));
        flow.available = flow.production.as_ref().map_or(moved, |p| moved.max(p.due));
        let (available, ports) = (flow.available, flow.ports);
        for p in ports.iter() {
            let p = &mut self.ports[p];
            let Some(pending) = p.port.pending_wake().filter(|&t| available < t) else { continue };
            let at = available.max(now);
            if self.c.compat.wakes_stay {
                p.cancelled_wakes.push(pending);
                p.port.put_wake_at(at, env);
            } else {
                p.port.wake_at(at, env);
            }
        }
    }

    fn on_feedback(&mut self, slot: u32, feedback: Feedback<'_>, env: &mut impl Env) {
        let now = env.now();
        let flow = &mut self.flows[slot as usize];
        let Some(rc) = &mut flow.rate_control else {
            if let Some(next) = self.successor(slot) {
                self.on_feedback(next, feedback, env);
            }
            return;
        };
        let mut wakes = Wakes::default();
        let before = rc.rate();
        rc.on_feedback(now, feedback, &mut wakes);
        // The first news of a flow may come with its last acknowledgement: its timers are new ones
        // then.
        flow.timers_cancelled &= wakes.iter().next().is_none();
        self.ask_again(slot);
        if wakes.moves_next_frame() {
            self.move_next_frame(slot, before, env);
        }
        self.after_rate_control(slot, before, &wakes, env);
    }
}
