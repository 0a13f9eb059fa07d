//! The sending side of a NIC: its flows, whose turn it is, and when a frame may go.

use xoff_mech::entropy::{AnyEntropy, Entropy};
use xoff_mech::flow_control::Gate;
use xoff_mech::rate_control::{AnyRateControl, FlowFacts, RateControl, Wakes};
use xoff_units::state::{State, may_be_gone};
use xoff_units::{Bytes, Class, FlowId, Rate, Time};

use super::nic_port::{NicPort, Order, PortSet};
use super::per_flow::flow_gate;
use super::queue_pair::InPair;
use super::repair::Repair;
use super::round_robin::{Answer, Flows, NOTHING};
use super::senders::Senders;
use super::{FlowStart, Nic, NicConfig, Pacing, PausedWith};
use crate::env::{Env, NodeEvent};
use crate::frame::{Frame, FrameId, FrameKind, FrameStore, Telemetry};
use crate::port::{Hold, Port};
use crate::wire_times::FlowTimes;

/// The sending side of a flow.
#[derive(State)]
pub(super) struct Sending {
    #[state(compared)]
    pub start: FlowStart,
    /// Ports through which it leaves.
    #[state(compared)]
    pub ports: PortSet,
    /// Rate of these ports together.
    #[state(built)] // follows from them
    pub line: Rate,
    /// Next byte to send.
    #[state(sequence)]
    pub next: u64,
    /// First byte not acknowledged.
    #[state(saved)] // means nothing without acknowledgements
    pub acked: u64,
    /// Not before this time.
    #[state(deadline)]
    pub available: Time,
    /// Times of the flow's frames at its rate.
    #[state(built)] // a cache
    pub times: FlowTimes,
    #[state(by = may_be_gone)]
    pub rate_control: Option<AnyRateControl>,
    pub window: Option<u64>,
    /// Length of its last frame [bytes].
    pub last_len: u32,
    /// All of it is acknowledged. It may still have bytes to send again, if it went back before.
    pub done: bool,
    /// Pending timers of the rate control no longer count.
    pub timers_cancelled: bool,
    /// It has nothing to send, and thus no turn. It may still have to send something again.
    pub asleep: bool,
    /// Timers of its rate control that have been asked for and have not come; counted for a NIC
    /// that clears flows.
    #[state(built)]
    pub timers: u32,
    /// Application of the flow, if it produces at a rate ([`Pacing::Schedule`]).
    #[state(each)]
    pub production: Option<Box<Production>>,
    /// Position of the flow in its queue pair, if any.
    #[state(saved)] // its queue pair has the same in another form
    pub pair: Option<Box<InPair>>,
    /// Entropy values of its frames, if each has its own.
    pub entropy: Option<Box<AnyEntropy>>,
    /// Data to send again, and the window of a connection; gone once all is acknowledged.
    #[state(by = may_be_gone)]
    pub repair: Option<Box<Repair>>,
}

/// An application that produces bytes at a constant rate.
#[derive(State)]
pub(super) struct Production {
    rate: Rate,
    /// Time at which the next frame has been produced.
    pub due: Time,
    #[state(built)] // a cache
    gaps: FlowTimes,
}

impl Production {
    pub fn new(start: &FlowStart, now: Time, c: &NicConfig) -> Option<Box<Production>> {
        let rate = start.app_rate.filter(|_| c.pacing == Pacing::Schedule)?;
        Some(Box::new(Production { rate, due: now, gaps: FlowTimes::new(c.clock) }))
    }

    /// A frame of this length goes. Returns when the next one is due.
    #[cold]
    fn next(&mut self, len: u32) -> Time {
        self.due += self.gaps.of(self.rate, len);
        self.due
    }
}

impl Sending {
    /// A flow that begins now.
    pub fn new(
        start: FlowStart,
        ports: PortSet,
        now: Time,
        facts: &FlowFacts,
        c: &NicConfig,
    ) -> Sending {
        Sending {
            start,
            ports,
            line: facts.line,
            next: 0,
            acked: 0,
            available: now,
            times: FlowTimes::new(c.clock),
            rate_control: if start.controlled {
                c.rate_control.reaction_point(facts)
            } else {
                None
            },
            window: facts.window.filter(|_| !start.is_datagrams(c)),
            last_len: 0,
            done: start.size == 0,
            timers_cancelled: false,
            asleep: false,
            timers: 0,
            production: Production::new(&start, now, c),
            pair: None,
            entropy: c.entropy.map(|e| Box::new(e.of_flow())),
            repair: Repair::of(&start, c),
        }
    }

    #[inline]
    pub fn left(&self) -> u64 {
        self.start.size.saturating_sub(self.next)
    }

    /// Length of its next frame; [`NOTHING`]: it has none [bytes].
    #[inline]
    pub fn next_len(&self, c: &NicConfig) -> u32 {
        if let Some(seq) = self.again() {
            return (self.start.size - seq).min(c.payload_max as u64) as u32 + c.header;
        }
        match self.left() {
            0 => NOTHING,
            left => left.min(c.payload_max as u64) as u32 + c.header,
        }
    }

    /// The offset of a frame that is to go again.
    #[inline]
    pub fn again(&self) -> Option<u64> {
        self.repair.as_ref().and_then(|r| r.source.again(self.acked))
    }

    #[inline]
    fn window_bound(&self, c: &NicConfig) -> bool {
        if let Some(r) = &self.repair
            && let Some(bound) = r.bounds(self, c)
        {
            return bound;
        }
        let own = self.rate_control.as_ref().and_then(|rc| rc.window());
        let Some(window) = own.or(self.window) else { return false };
        let window = match &self.rate_control {
            // In 64 bits, and a product beyond them wraps (`compat.rs`).
            Some(rc) if own.is_none() && c.window_follows_rate => {
                (window.wrapping_mul(rc.rate().0) / self.line.0).max(1)
            }
            _ => window,
        };
        // Wraps when a late acknowledgement overtakes a sender that went back, as unsigned
        // arithmetic does there.
        self.next.wrapping_sub(self.acked) >= window
    }

    /// True if it is over for good, its rate control included.
    pub fn rests(&self, c: &NicConfig) -> bool {
        self.finished(c)
            && self.left() == 0
            && (self.rate_control.is_none() || self.timers_cancelled)
    }

    #[inline]
    pub fn finished(&self, c: &NicConfig) -> bool {
        if c.transport.acknowledges() { self.done } else { self.next >= self.start.size }
    }
}

/// The flows of a NIC, asked whether they may send.
pub(super) struct Asked<'n> {
    pub flows: &'n Senders,
    pub port: &'n mut Port,
    pub c: &'n NicConfig,
    pub per_flow: bool,
    pub now: Time,
    /// Earliest time at which one of the examined flows may send, if nothing happens before.
    pub earliest: Time,
}

impl Flows for Asked<'_> {
    #[inline(always)]
    fn ask(&mut self, slot: u32) -> Answer {
        let f = &self.flows[slot as usize];
        let (finished, len) = (f.finished(self.c), f.next_len(self.c));
        if len == NOTHING || f.window_bound(self.c) {
            return if finished { Answer::Over } else { Answer::Waits(len) };
        }
        let early = f.available > self.now;
        if early && !finished {
            self.earliest = self.earliest.min(f.available);
            return Answer::Waits(len);
        }
        let class = f.start.class;
        let gate = match self.per_flow {
            true => flow_gate(self.port, self.now, class, f.start.flow, self.c.obeys_priorities),
            false => self.port.gate(self.now, class, len),
        };
        match gate {
            Gate::Open if early => self.earliest = self.earliest.min(f.available),
            Gate::Open => return Answer::Go,
            Gate::Until(t) => self.earliest = self.earliest.min(t),
            // A finished flow still sends its repetitions, unless a pause finds it.
            Gate::Blocked if finished => return Answer::Over,
            Gate::Blocked => {}
        }
        if gate == Gate::Open { Answer::Waits(len) } else { Answer::Held(len) }
    }

    #[cold]
    fn closed_from(&mut self, class: Class, len: u32) -> bool {
        match self.port.would_open(self.now, class, len) {
            Gate::Open => return false,
            Gate::Until(t) => self.earliest = self.earliest.min(t),
            Gate::Blocked => {}
        }
        true
    }

    fn asleep(&self, slot: u32) -> bool {
        self.flows[slot as usize].asleep
    }

    fn finished(&self, slot: u32) -> bool {
        self.flows[slot as usize].finished(self.c)
    }
}

impl Nic {
    /// Tries to send at each port of a flow.
    #[inline]
    pub(super) fn try_send_flow(&mut self, slot: u32, env: &mut impl Env) {
        if self.ports.is_single() {
            return self.try_send(0, env);
        }
        let ports = self.flows[slot as usize].ports;
        ports.iter().for_each(|p| self.try_send(p, env));
    }

    pub(super) fn try_send(&mut self, port: u16, env: &mut impl Env) {
        let now = env.now();
        let Nic { ports, flows, c, .. } = self;
        let p = &mut ports[port];
        if p.port.failed() {
            return;
        }
        if p.port.busy(env) {
            return p.port.call_when_free(env);
        }
        if p.port.start_control(env) {
            return p.plan_next(env);
        }
        let mut earliest = Time::NEVER;
        if let Some(id) = p.feedback.front() {
            let f = env.frames()[id];
            let class = match c.acks.paused_with {
                PausedWith::Class(class) => class,
                PausedWith::OwnClass => Some(f.class()),
            };
            match class.map_or(Gate::Open, |class| match p.per_flow {
                true => flow_gate(&p.port, now, class, f.flow, c.obeys_priorities),
                false => p.port.gate(now, class, f.len()),
            }) {
                Gate::Open => {
                    p.feedback.pop(env.frames());
                    p.port.start_frame(id, env);
                    return p.plan_next(env);
                }
                Gate::Until(t) => earliest = t,
                Gate::Blocked => {}
            }
        }
        let next = p.next_flow(now, flows, c, &mut earliest);
        if p.per_flow {
            p.note_flows(now, next, flows, c, env.frames());
        }
        p.port.report_holds(env);
        match next {
            Some(slot) => self.send_data(port, slot, env),
            None if c.compat.wakes_stay => self.plan_wake_that_stays(port, env),
            None => p.port.wake_at(earliest, env),
        }
    }

    /// Plans a wake-up for all flows with bytes left, also for those that are paused or window
    /// bound, unless one is pending.
    fn plan_wake_that_stays(&mut self, port: u16, env: &mut impl Env) {
        let now = env.now();
        let p = &mut self.ports[port];
        if p.port.pending_wake().is_some() {
            return;
        }
        let round_robin = p.round_robin.of_class(Class(0)).iter().map(|&s| &self.flows[s as usize]);
        if let Some(t) =
            round_robin.filter(|f| f.left() > 0).map(|f| f.available).min().filter(|&t| t > now)
        {
            p.port.wake_at(t, env);
        }
    }

    fn send_data(&mut self, port: u16, slot: u32, env: &mut impl Env) {
        let now = env.now();
        if let Some(seq) = self.flows[slot as usize].again() {
            return self.send_again(port, slot, seq, env);
        }
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
        if s.is_datagrams(&self.c) {
            frame.set_unanswered();
        }
        let mut wakes = Wakes::default();
        let mut before = Rate::ZERO;
        let mut rate = f.line;
        let mut spacing = None;
        if let Some(rc) = &mut f.rate_control {
            before = rc.rate();
            if self.c.rate_bound {
                rate = before;
                spacing = rc.spacing(now, Bytes(len as u64), Bytes(payload as u64));
            }
            rc.on_sent(now, Bytes(len as u64), &mut wakes);
        }
        if let Some(app) = s.app_rate
            && f.production.is_none()
        {
            rate = rate.min(app);
            spacing = spacing.map(|s| s.max(f.times.of(app, len)));
        }
        // The distance from the frame that goes now, which a rate control sets, is no promise: a
        // limiter makes nothing up.
        f.available = now + spacing.unwrap_or_else(|| f.times.of(rate, len));
        if let Some(p) = &mut f.production {
            f.available = f.available.max(p.next(len));
        }
        f.last_len = len;
        let (paced, repairs, in_pair) =
            (f.rate_control.is_some(), f.repair.is_some(), f.pair.is_some());
        let short = f.left() < self.c.payload_max as u64;
        self.put_on_wire(port, slot, frame, payload, env);
        if repairs {
            self.note_sent(slot, frame.seq + payload as u64, env);
        }
        if short {
            self.comes_to_its_end(slot);
        }
        if all_sent {
            env.emit(self.node, NodeEvent::AllSent { flow: s.flow });
            if in_pair {
                self.next_in_pair(port, slot, env);
            }
        } else if paced {
            self.after_rate_control(slot, before, &wakes, env);
        }
    }

    /// A frame of data leaves through a port.
    #[inline(always)]
    pub(super) fn put_on_wire(
        &mut self,
        port: u16,
        slot: u32,
        frame: Frame,
        payload: u32,
        env: &mut impl Env,
    ) {
        let id = env.frames().insert(frame);
        if self.c.rate_control.telemetry().is_some() {
            *env.frames().telemetry_mut(id) = Telemetry::default();
        }
        if self.c.entropy.is_some() {
            self.give_entropy(port, slot, id, env);
        }
        let p = &mut self.ports[port];
        p.port.start_frame(id, env);
        p.plan_next(env);
        let flow = frame.flow;
        env.emit(self.node, NodeEvent::Sent { flow, payload });
        if !self.ports.is_single() {
            self.ask_again(slot);
            env.emit(self.node, NodeEvent::Balanced { flow, port, len: frame.len() });
        }
    }

    /// Gives a frame of a flow its entropy value.
    #[cold]
    fn give_entropy(&mut self, port: u16, slot: u32, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let at = self.ports[port].port.at();
        if let Some(entropy) = self.entropy_of(slot) {
            let value = entropy.next(now, &mut || env.draw(at));
            env.frames().set_entropy(id, value);
        }
    }

    /// The values of a flow. Those of a message whose queue pair has gone on are with the latest
    /// message.
    pub(super) fn entropy_of(&mut self, slot: u32) -> Option<&mut AnyEntropy> {
        let at = match self.flows[slot as usize].entropy {
            Some(_) => slot,
            None => self.successor(slot)?,
        };
        self.flows[at as usize].entropy.as_deref_mut()
    }

    /// A flow has less than a full frame left, or nothing.
    fn comes_to_its_end(&mut self, slot: u32) {
        let f = &mut self.flows[slot as usize];
        if f.left() > 0 {
            return self.comes_to_a_shorter_frame(slot);
        }
        let acknowledges = self.c.transport.acknowledges();
        let unacknowledged = !acknowledges || f.start.is_datagrams(&self.c);
        f.done |= unacknowledged && acknowledges;
        if (unacknowledged || f.done) && f.pair.is_none() {
            f.rate_control = None;
        }
        if unacknowledged {
            // News of a queue pair's messages concern the next one.
            if f.pair.is_none() || self.c.clears_flows {
                self.slots.remove(&f.start.flow);
            }
        }
        self.falls_asleep(slot);
    }

    /// A flow takes no more turns if it has nothing to send.
    pub(super) fn falls_asleep(&mut self, slot: u32) {
        let f = &mut self.flows[slot as usize];
        if !f.asleep && f.next_len(&self.c) == NOTHING {
            f.asleep = true;
            let (class, flow) = (f.start.class, f.start.flow);
            f.ports.iter().for_each(|p| self.ports[p].falls_asleep(class, slot, flow));
        }
    }

    /// The next frame of a flow may have become shorter, or it has one again.
    pub(super) fn comes_to_a_shorter_frame(&mut self, slot: u32) {
        let f = &mut self.flows[slot as usize];
        let (class, len) = (f.start.class, f.next_len(&self.c));
        if len == NOTHING {
            return;
        }
        let wakes = std::mem::take(&mut f.asleep);
        for p in f.ports.iter() {
            let p = &mut self.ports[p];
            if wakes {
                p.wakes(class, slot);
            }
            p.round_robin.shorter(class, len);
        }
        self.ask_again(slot);
    }

    /// The queue of a class at a port if the peer's flow control holds it: a flow or feedback waits
    /// and may not go.
    pub fn hold(&self, now: Time, port: u16, class: Class, frames: &FrameStore) -> Option<Hold> {
        let p = &self.ports[port];
        if p.per_flow {
            return p.flows_hold(now, class, &self.flows, &self.c, frames);
        }
        p.port.hold(now, class, self.waits(p, class, frames)?)
    }

    /// Length of the frame of a class that goes next at a port [bytes]; `None`: nothing waits.
    fn waits(&self, port: &NicPort, class: Class, frames: &FrameStore) -> Option<u32> {
        port.feedback
            .front()
            .map(|id| frames[id])
            .filter(|f| f.class() == class)
            .map(|f| f.len())
            .or_else(|| {
                let flows =
                    port.round_robin.of_class(class).iter().map(|&s| &self.flows[s as usize]);
                flows
                    .filter(|f| f.start.class == class && f.left() > 0)
                    .map(|f| f.next_len(&self.c))
                    .next()
            })
    }

    /// The rate control's rate of every flow that is not over: `f(flow, rate)`.
    pub fn flow_rates(&self, mut f: impl FnMut(FlowId, Rate)) {
        for s in self.flows.iter().filter(|s| s.pair.as_ref().is_none_or(|p| !p.waits())) {
            if let Some(rc) = &s.rate_control {
                f(s.start.flow, rc.rate());
            }
        }
    }
}

impl NicPort {
    /// Next flow in round robin order that may send; else the time is noted at which one may, if
    /// nothing happens before.
    #[inline]
    fn next_flow(
        &mut self,
        now: Time,
        flows: &Senders,
        c: &NicConfig,
        earliest: &mut Time,
    ) -> Option<u32> {
        if self.per_flow {
            return self.next_of_ready(now, flows, c, earliest);
        }
        let NicPort { port, round_robin, .. } = self;
        let mut asked = Asked { flows, port, c, per_flow: false, now, earliest: *earliest };
        let picked = match round_robin {
            Order::ByStart(round_robin) => round_robin.pick(&mut asked),
            Order::ByPlace(round_robin) => round_robin.pick(&mut asked),
        };
        *earliest = asked.earliest;
        picked
    }
}
