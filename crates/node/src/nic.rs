//! The host's network interface: flows as queue pairs, acknowledgements, pacing, rate control, and the same port
//! with the same flow control halves as a switch.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_mech::LinkFacts;
use xoff_mech::detection::{AnyDetector, Mark};
use xoff_mech::flow_control::{Fill, FlowControl, Gate, Message};
use xoff_mech::rate_control::{Ack, AnyRateControl, Feedback, FlowFacts, Notification, RateControl, RateControlKind, Wakes};
use xoff_units::{Bytes, Rate, Span, Time, WireClock, prefetch, prefetch_whole};

use crate::buffer::Ingress;
use crate::control::ControlDelay;
use crate::env::{Call, Drop, Env, Note};
use crate::frame::{Frame, FrameId, FrameKind, FrameList, FrameStore, Telemetry};
use crate::port::{Hold, LaneConfig, Port};
use crate::wire_times::FlowTimes;

mod by_flow;
mod receiving;

use by_flow::flow_gate;
use receiving::Receiving;

/// How a flow learns that its data arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// It does not: a flow is over for its source when its last byte is on the wire.
    None,
    /// Cumulative acknowledgements, go-back-N after a gap.
    Acks {
        /// Length of an acknowledgement on the wire [bytes].
        ack_len: u32,
        /// Class of acknowledgements; `None`: that of the data.
        class: Option<u8>,
        /// Whose pause holds acknowledgements back at their host (in switches it is that of their own class).
        paused_with: PausedWith,
        /// Acknowledge from this many bytes on; 1: every frame. 0: every frame too, but sources take no notice of how far their
        /// data have come, so that no flow ever ends, as in the HPCC simulator.
        interval: u64,
        /// Chunk of go-back-0; also acknowledged at its multiples [bytes].
        chunk: u64,
        /// After a gap, go back to the start of the chunk.
        back_to_zero: bool,
        /// Shortest distance between two reports of the same gap [ps].
        nack_interval: Span,
    },
}

/// What holds back acknowledgements at the host that sends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PausedWith {
    /// Their own class.
    OwnClass,
    /// This class; `None`: nothing.
    Class(Option<u8>),
}

/// How the NICs of a network are built, whatever their links.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// Delays of control messages.
    pub control_delay: ControlDelay,
    /// Number of classes.
    pub classes: usize,
    /// Rounding of the times by which flows are paced.
    pub clock: WireClock,
    /// Length of control frames [bytes]; `None`: what the flow control says.
    pub message_len: Option<Bytes>,
    /// Largest payload of a frame [bytes].
    pub payload_max: u32,
    /// Bytes on the wire around the payload.
    pub header: u32,
    /// Acknowledgements.
    pub transport: Transport,
    /// Rate control of every flow.
    pub rate_control: RateControlKind,
    /// Bytes in flight per flow; `None`: unlimited.
    pub window: Option<u64>,
    /// The window shrinks with the rate.
    pub window_follows_rate: bool,
    /// The rate control's rate paces frames; off: only line rate does.
    pub rate_bound: bool,
    /// A pending wake-up is never replaced by an earlier one, as in the HPCC simulator; only a rate control that moves a frame
    /// replaces it.
    pub keeps_first_wake: bool,
}

/// A flow that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStart {
    /// Number of the flow.
    pub flow: u32,
    /// Priority class.
    pub class: u8,
    /// Payload [bytes]; `u64::MAX`: endless.
    pub size: u64,
    /// Rate at which the application produces it [bit/s]; `None`: as fast as it goes.
    pub app_rate: Option<Rate>,
    /// Whether the NIC's rate control applies.
    pub controlled: bool,
    /// Window of this flow [bytes]; overrides the NIC's.
    pub window: Option<u64>,
    /// Round-trip time of its way without queues; `None`: unknown.
    pub base_rtt: Option<Span>,
}

/// The sending side of a flow.
struct Sending {
    start: FlowStart,
    /// Next byte to send.
    next: u64,
    /// First byte not acknowledged.
    acked: u64,
    /// Not before this time.
    available: Time,
    /// What its frames take at its rate.
    times: FlowTimes,
    rate_control: Option<AnyRateControl>,
    window: Option<u64>,
    /// Length of its last frame [bytes].
    last_len: u32,
    /// All of it is acknowledged. It may still have bytes to send again, if it went back before.
    done: bool,
    /// Pending timers of the rate control no longer count.
    deaf: bool,
}

/// A NIC with one port. What every frame needs stands first.
#[repr(C)]
pub struct Nic {
    /// Shared by all NICs, so that it stays near.
    c: Arc<NicConfig>,
    node: u32,
    /// The peer holds single flows.
    by_flow: bool,
    /// Rate of its link.
    line: Rate,
    /// Buffer behind the link.
    memory: Bytes,
    flows: Vec<Sending>,
    /// Places of the flows that take turns, in order of their start.
    turns: Vec<u32>,
    /// Position in `turns` that was served last.
    last: usize,
    slots: FxHashMap<u32, u32>,
    receiving: FxHashMap<u32, Receiving>,
    /// Acknowledgements and notifications that wait.
    feedback: FrameList,
    port: Port,
    /// Wake-ups that are still to come and no longer count; only where they are kept ([`NicConfig::keeps_first_wake`]).
    cancelled_wakes: Vec<Time>,
}

impl Nic {
    /// A NIC without flows on a link with this flow control.
    pub fn new(node: u32, flow_control: &FlowControl, link: &LinkFacts, c: Arc<NicConfig>) -> Self {
        let len = c.message_len.unwrap_or(flow_control.message_len());
        Nic {
            node,
            by_flow: flow_control.looks_at_flows(),
            line: link.rate,
            memory: link.buffer,
            port: Port::new(flow_control, link, &LaneConfig { ingress: Ingress::default(), detector: AnyDetector::None }, c.classes, len),
            c,
            flows: Vec::new(),
            turns: Vec::new(),
            last: 0,
            slots: FxHashMap::default(),
            receiving: FxHashMap::default(),
            feedback: FrameList::default(),
            cancelled_wakes: Vec::new(),
        }
    }

    /// Arms the first timers.
    pub fn start(&mut self, env: &mut impl Env) {
        self.port.start(self.node, 0, env);
    }

    /// Bytes of a data frame around its payload.
    pub fn header(&self) -> u32 {
        self.c.header
    }

    /// The port.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// A flow begins.
    pub fn start_flow(&mut self, now: Time, start: FlowStart, env: &mut impl Env) {
        let slot = self.flows.len() as u32;
        // As many bits as a coin has.
        let seed = if self.c.rate_control.tosses() { (env.coin(self.node, 0) * (1u64 << 53) as f64) as u64 } else { 0 };
        let facts = FlowFacts { line: self.line, window: start.window.or(self.c.window), base_rtt: start.base_rtt, seed };
        self.flows.push(Sending {
            start,
            next: 0,
            acked: 0,
            available: now,
            times: FlowTimes::new(self.c.clock),
            rate_control: if start.controlled { self.c.rate_control.reaction_point(&facts) } else { None },
            window: facts.window,
            last_len: 0,
            done: start.size == 0,
            deaf: false,
        });
        self.slots.insert(start.flow, slot);
        self.turns.push(slot);
        self.try_send(now, env);
    }

    /// A frame arrived.
    pub fn on_frame(&mut self, now: Time, id: FrameId, env: &mut impl Env) {
        let frame = env.discard(id); // its records stay in their place until another frame takes it
        match frame.kind() {
            FrameKind::Control => {
                if self.port.hear(now, self.node, 0, frame.class(), frame.message(), &self.c.control_delay, env) {
                    self.try_send(now, env);
                }
                return;
            }
            FrameKind::Data => self.on_data(now, &frame, id, env),
            FrameKind::Ack | FrameKind::Nack => self.on_ack(now, &frame, id, env),
            FrameKind::Notification => {
                if let Some(&slot) = self.slots.get(&frame.flow) {
                    match frame.value() {
                        0 => self.on_notice(now, slot, frame.reported(), env),
                        value => self.on_value(now, slot, value, env),
                    }
                }
            }
        }
        // A host's memory is not modelled: the frame enters and leaves its buffer in one instant. The receiver half
        // still has to count it, or credits would run out.
        let (class, len) = (frame.class(), frame.len());
        let full = Fill { bytes: frame.bytes(), shared: frame.bytes(), headroom: Bytes::ZERO, limit: self.memory };
        let on_arrival = self.port.on_arrival(now, class, frame.flow, &full, len);
        let on_departure = self.port.on_departure(now, class, frame.flow, &Fill { limit: full.limit, ..Fill::default() }, len);
        if on_arrival.is_some() || on_departure.is_some() {
            for message in [on_arrival, on_departure].into_iter().flatten() {
                self.say(now, class, message, env);
                self.port.plan_receiver(self.node, 0, class, env);
            }
            if self.by_flow {
                self.say_more(now, class, env);
            }
        }
    }

    /// The NIC will be asked soon.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self);
        prefetch(&self.turns);
        prefetch(&self.receiving);
        self.port.prefetch_out();
        self.port.prefetch_in();
    }

    /// Its flows will be asked soon.
    #[inline]
    pub fn prefetch_flows(&self) {
        if let Some(turn) = self.turns.first() {
            prefetch(turn);
        }
        if let Some(flow) = self.flows.last() {
            prefetch_whole(flow);
        }
    }

    /// The flow whose turn is next will be asked very soon. Returns which it is.
    #[inline]
    pub fn prefetch_next(&self) -> Option<u32> {
        let next = if self.last + 1 < self.turns.len() { self.last + 1 } else { 0 };
        let flow = &self.flows[*self.turns.get(next)? as usize];
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

    /// The receiver half looks at the clock.
    pub fn on_receiver_wake(&mut self, now: Time, class: u8, env: &mut impl Env) {
        if let Some(message) = self.port.on_receiver_wake(now, class, &Fill { limit: self.memory, ..Fill::default() }) {
            self.say(now, class, message, env);
            if self.by_flow {
                self.say_more(now, class, env);
            }
        }
        self.port.plan_receiver(self.node, 0, class, env);
    }

    /// The link fails: control frames and acknowledgements that wait are dropped, nothing is sent any more.
    pub fn on_link_failed(&mut self, now: Time, env: &mut impl Env) {
        while let Some(f) = self.port.fail(env) {
            self.drop_waiting(now, &f, env);
        }
        while let Some(id) = self.feedback.pop(env.frames()) {
            let f = env.discard(id);
            self.drop_waiting(now, &f, env);
        }
    }

    fn drop_waiting(&self, now: Time, f: &Frame, env: &mut impl Env) {
        let dropped = Note::Dropped { port: 0, class: f.class(), flow: f.flow, len: f.len(), kind: f.kind(), why: Drop::LinkFailed };
        env.note(self.node, now, dropped);
    }

    /// Deals the turns anew: exactly these flows, in this order, each with a try to send before the next one comes.
    pub fn take_turns(&mut self, now: Time, flows: &[u32], env: &mut impl Env) {
        self.turns.clear();
        for flow in flows {
            if let Some(&slot) = self.slots.get(flow) {
                self.turns.push(slot);
                self.try_send(now, env);
            }
        }
    }

    /// Received messages take effect.
    pub fn on_apply(&mut self, now: Time, env: &mut impl Env) {
        if self.port.apply_due(now, self.node, 0, env) {
            self.try_send(now, env);
        }
    }

    /// Messages leave their generator.
    pub fn on_emit(&mut self, now: Time, env: &mut impl Env) {
        self.port.emit_due(now, self.node, 0, env);
        self.plan_next(env);
    }

    fn say(&mut self, now: Time, class: u8, message: Message, env: &mut impl Env) {
        self.port.say(now, self.node, 0, class, message, &self.c.control_delay, env);
        self.plan_next(env);
    }

    /// A timer of a flow's rate control.
    pub fn on_flow_timer(&mut self, now: Time, slot: u32, which: u8, env: &mut impl Env) {
        let mut wakes = Wakes::default();
        let f = &mut self.flows[slot as usize];
        let Some(rc) = f.rate_control.as_mut().filter(|_| !f.deaf) else { return };
        let before = rc.rate();
        rc.on_wake(now, which, &mut wakes);
        self.after_rate_control(now, slot, before, wakes, env);
    }

    fn after_rate_control(&mut self, now: Time, slot: u32, before: Rate, wakes: Wakes, env: &mut impl Env) {
        for (which, at) in wakes.iter() {
            env.call_at(self.node, at, Call::FlowTimer { slot, which });
        }
        let f = &self.flows[slot as usize];
        if let Some(rate) = f.rate_control.as_ref().map(|rc| rc.rate()).filter(|&r| r != before) {
            env.note(self.node, now, Note::FlowRate { flow: f.start.flow, rate });
        }
    }

    fn on_ack(&mut self, now: Time, f: &Frame, id: FrameId, env: &mut impl Env) {
        let Transport::Acks { interval, chunk, back_to_zero, .. } = self.c.transport else { return };
        let Some(&slot) = self.slots.get(&f.flow) else { return };
        let flow = &mut self.flows[slot as usize];
        let seq = if back_to_zero { f.seq / chunk * chunk } else { f.seq };
        if interval > 0 {
            flow.acked = flow.acked.max(seq);
        }
        let finished = interval > 0 && flow.acked >= flow.start.size;
        if finished {
            // What it has to send again goes out at the rate it has now; news on this very frame still count.
            flow.done = true;
            flow.deaf = true;
            self.slots.remove(&f.flow);
            env.note(self.node, now, Note::Acknowledged { flow: f.flow });
        }
        if f.kind() == FrameKind::Nack {
            let flow = &mut self.flows[slot as usize];
            flow.next = flow.acked;
        }
        if f.reported() != Mark::None && self.c.rate_control.notification() == Notification::InAck {
            self.on_notice(now, slot, f.reported(), env);
        }
        if self.c.rate_control.hears_acks() {
            self.on_heard_ack(now, slot, f, id, env);
        }
        let flow = &mut self.flows[slot as usize];
        if flow.done && flow.next >= flow.start.size {
            flow.rate_control = None;
        }
        self.try_send(now, env);
    }

    /// The receiver reports a mark.
    fn on_notice(&mut self, now: Time, slot: u32, mark: Mark, env: &mut impl Env) {
        match mark {
            Mark::None => {}
            Mark::Ue if !self.c.rate_control.reports_undetermined() => {}
            Mark::Ue => self.on_feedback(now, slot, Feedback::Undetermined, env),
            Mark::Ce => self.on_feedback(now, slot, Feedback::Congestion, env),
        }
    }

    /// A congestion point reports a value.
    #[cold]
    fn on_value(&mut self, now: Time, slot: u32, value: u8, env: &mut impl Env) {
        env.note(self.node, now, Note::NoticeHeard { flow: self.flows[slot as usize].start.flow });
        self.on_feedback(now, slot, Feedback::Quantized(value), env);
    }

    /// An acknowledgement came that the rate control wants to hear of.
    #[cold]
    fn on_heard_ack(&mut self, now: Time, slot: u32, f: &Frame, id: FrameId, env: &mut impl Env) {
        let flow = &self.flows[slot as usize];
        // Full frames, but for the last one.
        let payload = if f.seq == flow.start.size { (f.seq - 1) % self.c.payload_max as u64 + 1 } else { self.c.payload_max as u64 };
        let records = env.frames().telemetry(id).copied().unwrap_or_default();
        let ack = Ack {
            acked: f.seq,
            sent: flow.next,
            rtt: now.since(f.sent_at),
            len: Bytes(payload + self.c.header as u64),
            mark: f.reported(),
            hops: records.hops(),
        };
        self.on_feedback(now, slot, Feedback::Ack(ack), env);
    }

    /// The rate was set: the frame that waits moves by as much as the last one's time has changed, and a wake-up that would now
    /// come too late is asked for again.
    #[cold]
    fn move_next_frame(&mut self, now: Time, slot: u32, before: Rate, env: &mut impl Env) {
        let flow = &mut self.flows[slot as usize];
        let Some(after) = flow.rate_control.as_ref().map(|rc| rc.rate()) else { return };
        let (old, new) = (flow.times.of(before, flow.last_len), flow.times.of(after, flow.last_len));
        flow.available = Time((flow.available + new).0.saturating_sub(old.0));
        let Some(pending) = self.port.pending_wake().filter(|&t| flow.available < t) else { return };
        let at = flow.available.max(now);
        if self.c.keeps_first_wake {
            self.cancelled_wakes.push(pending);
            self.port.put_wake_at(self.node, 0, at, env);
        } else {
            self.port.wake_at(self.node, 0, at, env);
        }
    }

    fn on_feedback(&mut self, now: Time, slot: u32, feedback: Feedback<'_>, env: &mut impl Env) {
        let flow = &mut self.flows[slot as usize];
        let Some(rc) = &mut flow.rate_control else { return };
        let mut wakes = Wakes::default();
        let before = rc.rate();
        rc.on_feedback(now, feedback, &mut wakes);
        // The first news of a flow may come with its last acknowledgement: its timers are new ones then.
        flow.deaf &= wakes.iter().next().is_none();
        if wakes.moves_next_frame() {
            self.move_next_frame(now, slot, before, env);
        }
        self.after_rate_control(now, slot, before, wakes, env);
    }

    fn left(&self, f: &Sending) -> u64 {
        f.start.size.saturating_sub(f.next)
    }

    fn window_bound(&self, f: &Sending) -> bool {
        let own = f.rate_control.as_ref().and_then(|rc| rc.window());
        let Some(window) = own.or(f.window) else { return false };
        let window = match &f.rate_control {
            // In 64 bits in the HPCC simulator, and a product beyond them wraps.
            Some(rc) if own.is_none() && self.c.window_follows_rate => (window.wrapping_mul(rc.rate().0) / self.line.0).max(1),
            _ => window,
        };
        // Wraps when a late acknowledgement overtakes a sender that went back, as unsigned arithmetic does there.
        f.next.wrapping_sub(f.acked) >= window
    }

    fn finished(&self, f: &Sending) -> bool {
        match self.c.transport {
            Transport::None => f.next >= f.start.size,
            Transport::Acks { .. } => f.done,
        }
    }

    fn try_send(&mut self, now: Time, env: &mut impl Env) {
        if self.port.failed() {
            return;
        }
        if self.port.busy(env) {
            return self.port.call_when_free(self.node, 0, env);
        }
        if self.port.start_control(now, self.node, 0, env) {
            return self.plan_next(env);
        }
        let mut earliest = Time::NEVER;
        if let Some(id) = self.feedback.front() {
            let f = env.frames()[id];
            let class = match self.c.transport {
                Transport::Acks { paused_with: PausedWith::Class(class), .. } => class,
                _ => Some(f.class()),
            };
            match class.map_or(Gate::Open, |c| match self.by_flow {
                true => flow_gate(&self.port, now, c, f.flow),
                false => self.port.gate(now, c, f.len()),
            }) {
                Gate::Open => {
                    self.feedback.pop(env.frames());
                    self.port.start_frame(now, self.node, 0, id, env);
                    return self.plan_next(env);
                }
                Gate::Until(t) => earliest = t,
                Gate::Blocked => {}
            }
        }
        let next = self.next_flow(now, &mut earliest);
        if self.by_flow {
            self.note_flows(now, env.frames());
        }
        self.port.tell_holds(now, self.node, 0, env);
        match next {
            Some(slot) => self.send_data(now, slot, env),
            None if self.c.keeps_first_wake && self.port.pending_wake().is_some() => {}
            None if self.c.keeps_first_wake => {
                // All flows with bytes left count here, also those that are paused or window bound.
                let t = self.turns.iter().map(|&s| &self.flows[s as usize]).filter(|f| self.left(f) > 0).map(|f| f.available).min();
                if let Some(t) = t.filter(|&t| t > now) {
                    self.port.wake_at(self.node, 0, t, env);
                }
            }
            None => self.port.wake_at(self.node, 0, earliest, env),
        }
    }

    /// A frame may have gone on the wire: asks to be called when it has left, if there is anybody to ask then. Flows that
    /// are over count: they leave the ring when they are asked.
    #[inline]
    fn plan_next(&mut self, env: &mut impl Env) {
        if self.port.busy(env) && (self.feedback.front().is_some() || !self.turns.is_empty()) {
            self.port.call_when_free(self.node, 0, env);
        }
    }

    /// The next flow in turn that may send, after the one served last. Finished flows leave the ring on the way.
    fn next_flow(&mut self, now: Time, earliest: &mut Time) -> Option<u32> {
        let n = self.turns.len();
        let mut picked = None;
        let mut first_finished = n;
        for k in 1..=n {
            let at = (k + self.last) % n;
            let f = &self.flows[self.turns[at] as usize];
            let left = self.left(f);
            let finished = self.finished(f);
            if left > 0 && !self.window_bound(f) {
                if f.available > now && !finished {
                    *earliest = (*earliest).min(f.available);
                    continue;
                }
                let len = left.min(self.c.payload_max as u64) as u32 + self.c.header;
                let class = f.start.class;
                let gate = if self.by_flow { flow_gate(&self.port, now, class, f.start.flow) } else { self.port.gate(now, class, len) };
                match gate {
                    Gate::Open if f.available > now => *earliest = (*earliest).min(f.available),
                    Gate::Open => {
                        picked = Some(at);
                        break;
                    }
                    Gate::Until(t) => *earliest = (*earliest).min(t),
                    // A finished flow sends again what it went back for, unless a pause finds it.
                    Gate::Blocked if finished => first_finished = first_finished.min(at),
                    Gate::Blocked => {}
                }
            } else if finished {
                first_finished = first_finished.min(at);
            }
        }
        // Clean up from the first finished flow on; the place served last moves only with a flow that was picked.
        let slot = picked.map(|at| self.turns[at]);
        if first_finished < n {
            let mut keep = first_finished;
            for at in first_finished + 1..n {
                if !self.finished(&self.flows[self.turns[at] as usize]) {
                    if picked == Some(at) {
                        picked = Some(keep);
                    }
                    self.turns[keep] = self.turns[at];
                    keep += 1;
                }
            }
            self.turns.truncate(keep);
        }
        if let Some(at) = picked {
            self.last = at;
        }
        slot
    }

    fn send_data(&mut self, now: Time, slot: u32, env: &mut impl Env) {
        let f = &mut self.flows[slot as usize];
        let s = f.start;
        let payload = (s.size - f.next).min(self.c.payload_max as u64) as u32;
        let len = payload + self.c.header;
        let mut frame = Frame::new(FrameKind::Data, s.flow, s.class, len);
        frame.seq = f.next;
        frame.sent_at = now;
        f.next += payload as u64;
        let all_sent = f.next >= s.size;
        frame.set_ends_flow(all_sent);
        let mut wakes = Wakes::default();
        let mut before = Rate::ZERO;
        let mut rate = self.line;
        if let Some(rc) = &mut f.rate_control {
            before = rc.rate();
            if self.c.rate_bound {
                rate = before;
            }
            rc.on_sent(now, Bytes(len as u64), &mut wakes);
        }
        if let Some(app) = s.app_rate {
            rate = rate.min(app);
        }
        f.available = now + f.times.of(rate, len);
        f.last_len = len;
        let paced = f.rate_control.is_some();
        let id = env.frames().insert(frame);
        if self.c.rate_control.needs_int().is_some() {
            *env.frames().telemetry_mut(id) = Telemetry::default();
        }
        self.port.start_frame(now, self.node, 0, id, env);
        self.plan_next(env);
        env.note(self.node, now, Note::Sent { flow: s.flow, payload });
        if all_sent {
            let unacknowledged = self.c.transport == Transport::None;
            if unacknowledged {
                self.slots.remove(&s.flow);
            }
            if unacknowledged || self.flows[slot as usize].done {
                self.flows[slot as usize].rate_control = None;
            }
            env.note(self.node, now, Note::AllSent { flow: s.flow });
        } else if paced {
            self.after_rate_control(now, slot, before, wakes, env);
        }
    }

    /// The queue of a class if the peer's flow control holds it: a flow or feedback waits and may not go.
    pub fn hold(&self, now: Time, class: u8, frames: &FrameStore) -> Option<Hold> {
        if self.by_flow {
            return self.flows_hold(now, class, frames);
        }
        self.port.hold(now, 0, class, self.waits(class, frames)?)
    }

    /// Length of the frame of a class that goes next [bytes]; `None`: nothing waits.
    fn waits(&self, class: u8, frames: &FrameStore) -> Option<u32> {
        self.feedback.front().map(|id| frames[id]).filter(|f| f.class() == class).map(|f| f.len()).or_else(|| {
            let flow = self.turns.iter().map(|&s| &self.flows[s as usize]).find(|f| f.start.class == class && self.left(f) > 0)?;
            Some(self.left(flow).min(self.c.payload_max as u64) as u32 + self.c.header)
        })
    }

    /// Does flow control keep what waits from leaving now?
    pub fn keeps_back(&self, now: Time, class: u8, frames: &FrameStore) -> bool {
        self.waits(class, frames).is_some_and(|len| self.port.keeps_back(now, class, len))
    }

    /// The port, to change its state from outside.
    pub fn port_mut(&mut self) -> &mut Port {
        &mut self.port
    }

    /// The rate control's rate of every flow that is not over: `f(flow, rate)`.
    pub fn flow_rates(&self, mut f: impl FnMut(u32, Rate)) {
        for s in self.turns.iter().map(|&s| &self.flows[s as usize]) {
            if let Some(rc) = &s.rate_control {
                f(s.start.flow, rc.rate());
            }
        }
    }
}
