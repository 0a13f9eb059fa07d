//! One port of a node: the wire, the control queue, and the flow control halves of each class.

use xoff_mech::LinkFacts;
use xoff_mech::detection::{AnyDetector, Detector};
use xoff_mech::flow_control::{Answer, FlowControl, FlowSender, Gate, Message, Occupancy, Rx, Sender, Tx};
use xoff_mech::rate_control::RecordFormat;
use xoff_units::{Bytes, Rate, Span, Time, prefetch};

use crate::buffer::Ingress;
use crate::control::{ControlDelay, DelayLine};
use crate::discipline::Egress;
use crate::env::{Call, Env, EventKey, NodeEvent};
use crate::frame::{Frame, FrameId, FrameKind, FrameList, FrameStore};

/// An egress queue that the peer's flow control holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Port.
    pub port: u16,
    /// Class.
    pub class: u8,
    /// Length of the frame that waits at the head [bytes].
    pub len: u32,
    /// Since when.
    pub since: Time,
}

/// One class at one port: all that a frame needs when it leaves through it, then all that it needs when it comes in by it.
/// Side by side, because a large network waits for memory, and because one place is found once.
#[repr(C)]
pub(crate) struct ClassState {
    /// What waits to leave.
    pub egress: Egress,
    /// Obeys the peer. One that looks at flows is the queue itself; the egress then only counts.
    pub tx: Tx,
    /// Marks what leaves.
    pub detector: AnyDetector,
    /// What has come in and not left the switch.
    pub ingress: Ingress,
    /// Watches the ingress.
    pub rx: Rx,
    /// Pending look at the clock of the receiver.
    rx_wake: Time,
    /// Since when the peer holds the class; means nothing unless the port says that it does.
    held_since: Time,
}

/// What a port has by class besides its flow control.
pub(crate) struct ClassConfig {
    pub ingress: Ingress,
    pub detector: AnyDetector,
}

/// Control messages inside the node. Most ports have no such delays.
#[derive(Default)]
struct Delays {
    /// Received messages that have not taken effect.
    inbox: DelayLine,
    /// Messages that have not reached the control queue.
    outbox: DelayLine,
}

/// A port. Owned by a switch or a NIC, which decides what to send.
///
/// Fields stand in the order of use: a departure needs the first cache lines, an arrival those after them.
#[repr(C, align(64))]
pub struct Port {
    /// When the wire is free, or was.
    free: EventKey,
    /// Control frames waiting; they go before everything else and cannot be paused.
    control: FrameList,
    /// A call for the moment the wire is free is due.
    free_called: bool,
    /// The link has failed: nothing is sent any more.
    failed: bool,
    /// Classes whose head frame its sender half keeps back, one bit each: OFF, in the words of a detector.
    off: u8,
    /// Those of them that the peer's word keeps back.
    held: u8,
    /// Classes whose hold has begun or ended since it was last told, one bit each.
    hold_changes: u8,
    /// There is only one class.
    single: bool,
    /// Data frames that leave record this port, and bytes sent are counted for that.
    records: bool,
    /// Line rate [bit/s].
    pub rate: Rate,
    /// The first class; most runs have no other.
    class_state: ClassState,
    /// When the next `Wake` is due; never: none is.
    wake_at: Time,
    /// The other classes.
    more: Box<[ClassState]>,
    delays: Option<Box<Delays>>,
    /// Length of control frames [bytes].
    message_len: u32,
    /// Bytes of all frames that were put on the wire, if they are counted.
    sent: u64,
    /// How records are kept.
    telemetry: RecordFormat,
}

impl Port {
    /// A port whose halves are configured for this link.
    pub(crate) fn new(fc: &FlowControl, facts: &LinkFacts, class_state: &ClassConfig, classes: usize, message_len: Bytes) -> Self {
        let class_state = || {
            let (rx, tx) = fc.halves(facts);
            let (egress, detector, ingress) = (Egress::default(), class_state.detector.clone(), class_state.ingress);
            ClassState { egress, tx, detector, ingress, rx, rx_wake: Time::NEVER, held_since: Time::NEVER }
        };
        Port {
            free: EventKey::START,
            wake_at: Time::NEVER,
            control: FrameList::default(),
            free_called: false,
            failed: false,
            single: classes == 1,
            records: false,
            sent: 0,
            telemetry: RecordFormat::Exact,
            off: 0,
            held: 0,
            hold_changes: 0,
            rate: facts.rate,
            message_len: message_len.0 as u32,
            class_state: class_state(),
            more: (1..classes).map(|_| class_state()).collect(),
            delays: None,
        }
    }

    /// What belongs to a class.
    #[inline]
    pub(crate) fn class_state(&self, class: u8) -> &ClassState {
        if class == 0 { &self.class_state } else { &self.more[class as usize - 1] }
    }

    /// What belongs to a class.
    #[inline]
    pub(crate) fn class_state_mut(&mut self, class: u8) -> &mut ClassState {
        if class == 0 { &mut self.class_state } else { &mut self.more[class as usize - 1] }
    }

    /// What belongs to a class; the express priority, which travels with the control frames, has nothing.
    #[inline]
    fn class_state_if_any(&mut self, class: u8) -> Option<&mut ClassState> {
        if class == 0 { Some(&mut self.class_state) } else { self.more.get_mut(class as usize - 1) }
    }

    /// What belongs to each class, in class order.
    pub(crate) fn class_states(&self) -> impl Iterator<Item = &ClassState> {
        std::iter::once(&self.class_state).chain(&self.more)
    }

    /// Does anything but control frames wait?
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        // Without a look at the other classes where there are none: a cache line.
        self.class_state.egress.bytes() > 0 || !self.single && self.more.iter().any(|l| l.egress.bytes() > 0)
    }

    /// Asks for the first wake-ups of the receivers.
    pub fn start(&mut self, node: u32, port: u16, env: &mut impl Env) {
        for class in 0..=self.more.len() as u8 {
            self.plan_receiver(node, port, class, env);
        }
    }

    /// A frame will leave through the port soon.
    #[inline]
    pub fn prefetch_out(&self) {
        prefetch(self);
        prefetch(&self.class_state.tx);
    }

    /// A frame will come in by the port soon, or one that came in by it will leave.
    #[inline]
    pub fn prefetch_in(&self) {
        prefetch(&self.class_state.ingress);
        prefetch(&self.class_state.rx_wake);
    }

    /// Is a frame on the wire?
    #[inline]
    pub fn busy(&self, env: &impl Env) -> bool {
        !env.has_come(self.free)
    }
    /// Has the link failed?
    #[inline]
    pub fn failed(&self) -> bool {
        self.failed
    }
    /// The link fails: nothing is sent any more. What waited among the control frames is thrown away frame by frame.
    pub fn fail(&mut self, env: &mut impl Env) -> Option<Frame> {
        self.failed = true;
        let id = self.control.pop(env.frames())?;
        Some(env.discard(id))
    }
    /// Something waits for the wire: asks for a call when it is free.
    #[inline]
    pub fn call_when_free(&mut self, node: u32, port: u16, env: &mut impl Env) {
        if !self.free_called {
            self.free_called = true;
            env.call_at(node, self.free.time, Call::WireFree { port, rank: self.free.rank });
        }
    }
    /// The wire is free again.
    #[inline]
    pub fn set_free(&mut self) {
        self.free = EventKey::START;
        self.free_called = false;
    }
    /// Has the wake-up that was asked for come? An earlier or a later one may have been asked for since.
    #[inline]
    pub fn woken(&mut self, now: Time) -> bool {
        let due = now >= self.wake_at;
        if due {
            self.wake_at = Time::NEVER;
        }
        due
    }
    /// Data frames record this port from now on.
    pub fn keep_telemetry(&mut self, format: Option<RecordFormat>) {
        self.records = format.is_some();
        self.telemetry = format.unwrap_or_default();
    }
    /// A frame that leaves now takes a record along if it carries data ([`Hop`](xoff_mech::rate_control::Hop)): bytes sent before it, bytes
    /// that wait in all classes, control frames included.
    #[cold]
    pub fn add_record(&self, now: Time, id: FrameId, frames: &mut FrameStore) {
        if frames[id].kind() != FrameKind::Data {
            return;
        }
        let control: u64 = self.control.iter(frames).map(|f| f.len() as u64).sum();
        let waiting: u64 = self.class_states().map(|l| l.egress.bytes()).sum();
        let hop = self.telemetry.record(now, self.sent, Bytes(control + waiting), self.rate);
        frames.telemetry_mut(id).push(hop);
    }
    /// When a wake-up is still to come.
    pub fn pending_wake(&self) -> Option<Time> {
        (self.wake_at != Time::NEVER).then_some(self.wake_at)
    }
    /// Do control frames wait?
    #[inline]
    pub fn control_waits(&self) -> bool {
        self.control.front().is_some()
    }

    /// May a frame of this class and length go, the first that waits? Remembers since when the peer holds it, and tells the
    /// detector when the queue is kept back and when no longer.
    #[inline(always)]
    pub fn gate(&mut self, now: Time, class: u8, len: u32) -> Gate {
        let Some(class_state) = self.class_state_if_any(class) else { return Gate::Open };
        let gate = class_state.tx.gate(now, Bytes(len as u64));
        if gate != Gate::Open || self.off != 0 {
            self.note_gate(now, class, len, gate);
        }
        gate
    }

    /// Might a frame of this class and length go? Nothing is remembered of it.
    pub fn would_open(&self, now: Time, class: u8, len: u32) -> Gate {
        let class_state = if class == 0 { Some(&self.class_state) } else { self.more.get(class as usize - 1) };
        class_state.map_or(Gate::Open, |l| l.tx.gate(now, Bytes(len as u64)))
    }

    /// The sender half of a class if it looks at flows.
    pub fn flows(&self, class: u8) -> Option<&dyn FlowSender> {
        let class_state = if class == 0 { &self.class_state } else { self.more.get(class as usize - 1)? };
        class_state.tx.flows()
    }

    /// All flows of a class that have something to send are held, or no longer: where the peer holds single flows, their source says
    /// what that means for the class.
    pub fn note_flows(&mut self, now: Time, class: u8, held: bool) {
        let bit = 1 << class;
        if held != (self.held & bit != 0) {
            self.held ^= bit;
            self.hold_changes |= bit;
            self.class_state_mut(class).held_since = now;
        }
    }

    /// Since when a class is held, at most until now.
    pub fn held_since(&self, now: Time, class: u8) -> Time {
        if self.held & 1 << class != 0 { self.class_state(class).held_since } else { now }
    }

    fn note_gate(&mut self, now: Time, class: u8, len: u32, gate: Gate) {
        let bit = 1 << class;
        let (off, held) = (self.off & bit != 0, self.held & bit != 0);
        let class_state = self.class_state_mut(class);
        let closed = gate != Gate::Open;
        let begins = closed && !held && class_state.tx.held(now, Bytes(len as u64));
        if begins {
            class_state.held_since = now;
        }
        if closed && !off {
            class_state.detector.on_off(now);
        } else if !closed && off {
            class_state.detector.on_on(now, Bytes(class_state.egress.bytes()));
        }
        self.off = if closed { self.off | bit } else { self.off & !bit };
        if begins || held && !closed {
            self.held ^= bit;
            self.hold_changes |= bit;
        }
    }

    /// Tells which holds have begun or ended in the gates asked since the last time.
    #[inline(always)]
    pub fn report_holds(&mut self, now: Time, node: u32, port: u16, env: &mut impl Env) {
        if self.hold_changes != 0 {
            self.report_hold_changes(now, node, port, env);
        }
    }

    fn report_hold_changes(&mut self, now: Time, node: u32, port: u16, env: &mut impl Env) {
        let mut changes = std::mem::take(&mut self.hold_changes);
        while changes != 0 {
            let class = changes.trailing_zeros() as u8;
            changes &= changes - 1;
            let by = self.class_state(class).tx.stopped_by();
            env.emit(node, now, NodeEvent::Hold { port, class, on: self.held & 1 << class != 0, by });
        }
    }

    /// The hold on a class whose head frame has this length, if the peer holds it now.
    pub fn hold(&self, now: Time, port: u16, class: u8, len: u32) -> Option<Hold> {
        let class_state = if class == 0 { &self.class_state } else { self.more.get(class as usize - 1)? };
        let since = self.held_since(now, class);
        class_state.tx.held(now, Bytes(len as u64)).then_some(Hold { port, class, len, since })
    }

    /// Does flow control keep a frame of this class and length from leaving now? A question only: notes nothing.
    pub fn keeps_back(&self, now: Time, class: u8, len: u32) -> bool {
        self.class_state(class).tx.gate(now, Bytes(len as u64)) != Gate::Open
    }

    /// The sender half of a class.
    pub fn tx(&self, class: u8) -> &Tx {
        &self.class_state(class).tx
    }

    /// The flow control of the peer counts for a class no longer, or again ([`Tx::release`]). The port looks at what waits at `now`.
    pub fn release(&mut self, now: Time, node: u32, port: u16, class: u8, on: bool, env: &mut impl Env) {
        let line = self.rate;
        self.class_state_mut(class).tx.release(now, line, on);
        self.note_allowed(now, node, port, class, env);
        self.wake_at(node, port, now, env);
    }

    /// The link of the port has been down: the sender halves forget what the peer said ([`Sender::restart`]).
    pub fn restart(&mut self, now: Time, node: u32, port: u16, env: &mut impl Env) {
        for class in 0..=self.more.len() as u8 {
            self.class_state_mut(class).tx.restart(now);
            self.note_allowed(now, node, port, class, env);
        }
    }

    /// Notes the rate that the sender half of a class allows now, and when a stop ends by itself.
    #[inline]
    fn note_allowed(&self, now: Time, node: u32, port: u16, class: u8, env: &mut impl Env) -> Rate {
        let tx = &self.class_state(class).tx;
        let (rate, by) = (tx.rate(now), tx.stopped_by());
        let expires = if rate.0 == 0 { expiry(now, tx) } else { None };
        env.emit(node, now, NodeEvent::AllowedRate { port, class, rate, by, expires });
        rate
    }

    /// The peer of a class says how much it has sent in all ([`xoff_mech::flow_control::Receiver::on_peer_total`]).
    pub fn on_peer_total(&mut self, class: u8, sent: u64) {
        self.class_state_mut(class).rx.on_peer_total(sent);
    }

    /// If `stuck` bytes of an ingress never leave, does its peer stay unable to send a frame of `len`?
    pub fn would_hold(&self, class: u8, occupancy: &Occupancy, stuck: u64, len: u32) -> bool {
        self.class_state(class).rx.holds(occupancy, Bytes(stuck), Bytes(len as u64))
    }

    /// Has a class ever sent more than its credits allowed?
    pub fn overdrawn(&self, class: u8) -> bool {
        self.class_state(class).tx.overdrawn()
    }

    /// The rate flow control allows a class now [bit/s].
    pub fn allowed_rate(&self, now: Time, class: u8) -> Rate {
        self.class_state(class).tx.rate(now)
    }

    /// Asks for a wake-up unless an earlier one is due.
    #[inline]
    pub fn wake_at(&mut self, node: u32, port: u16, at: Time, env: &mut impl Env) {
        if at < self.wake_at {
            self.wake_at = at;
            env.call_at(node, at, Call::Wake { port });
        }
    }

    /// Asks for a wake-up in the place of the one that is pending, which will come all the same.
    pub fn put_wake_at(&mut self, node: u32, port: u16, at: Time, env: &mut impl Env) {
        self.wake_at = at;
        env.call_at(node, at, Call::Wake { port });
    }

    /// Puts a frame of a class on the wire.
    #[inline(always)]
    pub fn start_frame(&mut self, now: Time, node: u32, port: u16, id: u32, env: &mut impl Env) {
        let f = &env.frames()[id];
        let (class, len) = (f.class(), f.len());
        let tx = env.wire_time(self.rate, len);
        if let Some(class_state) = self.class_state_if_any(class) {
            class_state.tx.on_sent(now, Bytes(len as u64), tx);
        }
        self.transmit(node, port, id, tx, env);
    }

    #[inline(always)]
    fn transmit(&mut self, node: u32, port: u16, id: u32, tx: Span, env: &mut impl Env) {
        // Two frames at once on a wire: a node that is told to overlap them is told when each of them has left.
        let overlaps = self.busy(env);
        if overlaps {
            self.call_when_free(node, port, env);
        }
        if self.records {
            self.sent += env.frames()[id].len() as u64;
        }
        self.free = env.transmit(node, port, id, tx);
        self.free_called = false;
        if overlaps || self.control_waits() {
            self.call_when_free(node, port, env);
        }
    }

    /// Starts the next control frame if there is one and the wire is free.
    #[inline]
    pub fn start_control(&mut self, now: Time, node: u32, port: u16, env: &mut impl Env) -> bool {
        if self.control.front().is_none() || self.failed {
            return false;
        }
        if self.busy(env) {
            self.call_when_free(node, port, env);
            return false;
        }
        let Some(id) = self.control.pop(env.frames()) else { return false };
        if self.records {
            self.add_record(now, id, env.frames());
        }
        let len = env.frames()[id].len();
        let tx = env.wire_time(self.rate, len);
        self.transmit(node, port, id, tx, env);
        true
    }

    /// Queues a frame behind the control frames.
    pub fn send_unpaused(&mut self, now: Time, node: u32, port: u16, id: FrameId, env: &mut impl Env) {
        self.control.push(id, env.frames());
        self.start_control(now, node, port, env);
    }

    /// What the receiver of a class says when a frame of a flow was admitted.
    #[inline(always)]
    pub fn on_arrival(&mut self, now: Time, class: u8, flow: u32, occupancy: &Occupancy, len: u32) -> Option<Message> {
        let (rx, len) = (&mut self.class_state_if_any(class)?.rx, Bytes(len as u64));
        match rx.on_arrival(now, occupancy, len) {
            Answer::Message(message) => message,
            Answer::OfFlow => rx.on_flow_arrival(now, flow, None, len),
        }
    }

    /// What it says when a frame of a flow left.
    #[inline(always)]
    pub fn on_departure(&mut self, now: Time, class: u8, flow: u32, occupancy: &Occupancy, len: u32) -> Option<Message> {
        let (rx, len) = (&mut self.class_state_if_any(class)?.rx, Bytes(len as u64));
        match rx.on_departure(now, occupancy, len) {
            Answer::Message(message) => message,
            Answer::OfFlow => rx.on_flow_departure(now, flow, None, len),
        }
    }

    /// What it says when the clock reaches `now`.
    pub fn on_receiver_wake(&mut self, now: Time, class: u8, occupancy: &Occupancy) -> Option<Message> {
        self.class_state_mut(class).rx_wake = Time::NEVER;
        self.class_state_mut(class).rx.on_wake(now, occupancy)
    }

    /// Asks for the receiver's next look at the clock.
    #[inline]
    pub fn plan_receiver(&mut self, node: u32, port: u16, class: u8, env: &mut impl Env) {
        if let Some(at) = self.class_state(class).rx.next_wake()
            && at < self.class_state(class).rx_wake
        {
            self.class_state_mut(class).rx_wake = at;
            env.call_at(node, at, Call::Receiver { port, class });
        }
    }

    /// Sends a message to the peer: through the generation delay, then the control queue and the wire.
    #[allow(clippy::too_many_arguments)] // all of them are the context of one message
    pub fn send_control(&mut self, now: Time, node: u32, port: u16, class: u8, message: Message, delay: &ControlDelay, env: &mut impl Env) {
        if delay.generation.is_zero() {
            self.emit(now, node, port, class, message, env);
        } else {
            let due = self.delays.get_or_insert_default().outbox.push(now, &delay.generation, || env.draw(node, port), class, message);
            env.call_at(node, due, Call::Emit { port });
        }
    }

    /// Sends what has passed the generation delay.
    pub fn emit_due(&mut self, now: Time, node: u32, port: u16, env: &mut impl Env) {
        while let Some((class, message)) = self.delays.as_mut().and_then(|d| d.outbox.pop(now)) {
            self.emit(now, node, port, class, message, env);
        }
    }

    #[allow(clippy::too_many_arguments)] // all of them are the context of one message
    fn emit(&mut self, now: Time, node: u32, port: u16, class: u8, message: Message, env: &mut impl Env) {
        env.emit(node, now, NodeEvent::MessageSent { port, class, message });
        if self.failed {
            return; // nobody hears it
        }
        let len = if message.is_part() { 0 } else { self.message_len };
        let id = env.frames().insert(Frame::control(message, class, len));
        if len == 0 {
            env.hand_over(node, port, id);
        } else {
            self.control.push(id, env.frames());
            self.start_control(now, node, port, env);
        }
    }

    /// A control message arrived. Returns true if something may go now that could not before.
    #[allow(clippy::too_many_arguments)] // all of them are the context of one message
    pub fn on_control(
        &mut self,
        now: Time,
        node: u32,
        port: u16,
        class: u8,
        message: Message,
        delay: &ControlDelay,
        env: &mut impl Env,
    ) -> bool {
        env.emit(node, now, NodeEvent::MessageReceived { port, class, message });
        if delay.processing.is_zero() {
            return self.apply(now, node, port, class, message, env);
        }
        let due = self.delays.get_or_insert_default().inbox.push(now, &delay.processing, || env.draw(node, port), class, message);
        env.call_at(node, due, Call::Apply { port });
        false
    }

    /// Lets everything take effect whose processing time is over. Returns true if something may go now.
    pub fn apply_due(&mut self, now: Time, node: u32, port: u16, env: &mut impl Env) -> bool {
        let mut open = false;
        while let Some((class, message)) = self.delays.as_mut().and_then(|d| d.inbox.pop(now)) {
            open |= self.apply(now, node, port, class, message, env);
        }
        open
    }

    fn apply(&mut self, now: Time, node: u32, port: u16, class: u8, message: Message, env: &mut impl Env) -> bool {
        self.class_state_mut(class).tx.on_message(now, message);
        self.note_allowed(now, node, port, class, env).0 > 0
    }
}

/// When a stop ends without a message, and the rate from then on; `None`: only a message ends it.
#[cold]
fn expiry(now: Time, tx: &Tx) -> Option<(Time, Rate)> {
    let Gate::Until(at) = tx.gate(now, Bytes(1)) else { return None };
    Some((at, tx.rate(at)))
}
