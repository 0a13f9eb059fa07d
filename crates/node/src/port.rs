//! Port of a node: the wire, the control queue, and the flow control halves of each class.

use xoff_mech::LinkFacts;
use xoff_mech::detection::{AnyDetector, Detector};
use xoff_mech::flow_control::saved_tx;
use xoff_mech::flow_control::{
    FlowControl, FlowSender, Gate, Message, Occupancy, Rx, Sender, Totals, Tx,
};
use xoff_mech::rate_control::RecordFormat;
use xoff_units::state::{State, may_be_gone};
use xoff_units::{Bytes, Class, FlowId, NodeId, PortId, Rate, Span, Time, prefetch};

use crate::buffer::Ingress;
use crate::control::{ControlDelay, DelayLine};
use crate::discipline::Egress;
use crate::env::{Call, Env, EventKey, NodeEvent};
use crate::frame::{Frame, FrameId, FrameKind, FrameList, FrameStore};

mod holds;
mod messages;
mod retry;

use retry::Retry;
pub use retry::{Arrived, Hit};

/// An egress queue that the peer's flow control holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Number of the port at its node, from 0.
    pub port: u16,
    /// Number of the class, from 0.
    pub class: Class,
    /// Length of the frame that waits at the head [bytes].
    pub len: u32,
    /// Since when.
    pub since: Time,
}

/// State of a class at a port: first the fields for leaving frames, then the fields for arriving
/// frames. Side by side, because a large network waits for memory, and because one place is found
/// once.
#[derive(State)]
#[repr(C)]
pub(crate) struct ClassState {
    /// Frames that wait to leave.
    pub egress: Egress,
    /// Obeys the peer. A per-flow one is the queue itself; the egress then only counts.
    #[state(by = saved_tx)]
    pub tx: Tx,
    /// Marks departing frames.
    pub detector: AnyDetector,
    /// Frames that have arrived and not left the switch.
    pub ingress: Ingress,
    /// Downstream half, of the ingress.
    #[state(feeder)]
    pub rx: Rx,
    /// Pending timer of the receiver.
    #[state(saved)] // a timer: when it has to act is in the state of the half
    rx_wake: Time,
    /// Since when the peer holds the class; never: it does not.
    held_since: Time,
}

/// The time at which the wire becomes free has no meaning once it has passed, and the rank follows
/// from the port.
mod free_time {
    use xoff_units::state::{Broken, Meaning, Reader, State, Walk};

    use crate::EventKey;

    pub fn walk<W: Walk>(free: &EventKey, w: &mut W) -> Result<(), W::Stop> {
        if W::COMPARES { w.number(Meaning::Deadline, free.time.0) } else { free.walk(w) }
    }

    pub fn restore(free: &mut EventKey, from: &mut Reader) -> Result<(), Broken> {
        free.restore(from)
    }
}

impl ClassState {
    /// An idle class with the halves of a flow control on this link.
    pub fn new(
        flow_control: &FlowControl,
        link: &LinkFacts,
        ingress: Ingress,
        detector: AnyDetector,
    ) -> ClassState {
        let (rx, tx) = flow_control.halves(link);
        ClassState {
            egress: Egress::default(),
            tx,
            detector,
            ingress,
            rx,
            rx_wake: Time::NEVER,
            held_since: Time::NEVER,
        }
    }
}

/// Control messages inside the node. Most ports have no such delays.
#[derive(Default, State)]
struct Delays {
    /// Received messages that have not taken effect.
    inbox: DelayLine,
    /// Messages that have not reached the control queue.
    #[state(feeder)]
    outbox: DelayLine,
}

/// A port. Owned by a switch or a NIC, which decides what to send.
///
/// Fields stand in the order of use: a departure needs the first cache lines, an arrival those
/// after them.
#[derive(State)]
#[repr(C, align(64))]
pub struct Port {
    /// Time at which the wire becomes or became free.
    #[state(by = free_time)]
    free: EventKey,
    /// Control frames waiting; they go before everything else and cannot be paused.
    #[state(feeder)]
    control: FrameList,
    /// A call for the time the wire is free is due.
    free_called: bool,
    /// The link has failed: nothing is sent any more.
    failed: bool,
    /// Classes whose head frame is blocked by its sender half, one bit each: OFF, in the words of a
    /// detector.
    off: u8,
    /// Subset of `off` that the peer's messages block, one bit each.
    held: u8,
    /// Classes whose hold has begun or ended since the last report, one bit each.
    hold_changes: u8,
    /// There is only one class.
    single: bool,
    /// Data frames that leave record this port, and bytes sent are counted for that.
    records: bool,
    /// True if the link repeats corrupted frames: `retry` is present.
    repeats: bool,
    /// True if the sender halves share a resource ([`Sender::shared_use`]).
    shares: bool,
    /// True if the link repeats frames or the sender halves share: a frame that starts is noted.
    /// Other ports test one flag.
    notes_frames: bool,
    /// Number at its node, from 0.
    #[state(built)] // constant
    number: u16,
    /// Node of the port.
    #[state(built)] // constant
    node: NodeId,
    /// Line rate [bit/s]. A driver may lower it.
    pub rate: Rate,
    /// The first class; most runs have no other.
    class_state: ClassState,
    /// Time of the next `Wake`; never: none is due.
    #[state(saved)] // a timer: when the port may send is in the state of its halves and flows
    wake_at: Time,
    /// Other classes.
    #[state(each)]
    more: Box<[ClassState]>,
    delays: Option<Box<Delays>>,
    #[state(by = may_be_gone)]
    retry: Option<Box<Retry>>,
    /// Length of control frames [bytes].
    message_len: u32,
    /// True if the link may lose frames to errors.
    lossy: bool,
    /// Messages of the flow control go before unpaused frames that wait already.
    #[state(built)] // constant
    messages_first: bool,
    /// Bytes of all frames that were put on the wire, if they are counted.
    sent: u64,
    /// Format of records.
    #[state(built)] // constant
    telemetry: RecordFormat,
}

impl Port {
    /// A port on this link, class by class.
    pub(crate) fn new(
        at: PortId,
        facts: &LinkFacts,
        of_class: impl Fn(Class) -> ClassState,
        classes: usize,
        message_len: Bytes,
    ) -> Self {
        let mut port = Port {
            node: at.node,
            number: at.port,
            free: EventKey::START,
            wake_at: Time::NEVER,
            control: FrameList::default(),
            free_called: false,
            failed: false,
            single: classes == 1,
            records: false,
            lossy: false,
            repeats: false,
            shares: false,
            notes_frames: false,
            messages_first: false,
            retry: None,
            sent: 0,
            telemetry: RecordFormat::Exact,
            off: 0,
            held: 0,
            hold_changes: 0,
            rate: facts.rate,
            message_len: message_len.0 as u32,
            class_state: of_class(Class(0)),
            more: Class::up_to(classes).skip(1).map(of_class).collect(),
            delays: None,
        };
        let shares = port.class_states().any(|c| c.tx.shared_use().is_some());
        (port.shares, port.notes_frames) = (shares, shares);
        port.note_shared_use();
        port
    }

    /// Place of the port.
    #[inline]
    pub fn at(&self) -> PortId {
        PortId { node: self.node, port: self.number }
    }

    /// State of a class.
    #[inline]
    pub(crate) fn class_state(&self, class: Class) -> &ClassState {
        if class == Class(0) { &self.class_state } else { &self.more[class.index() - 1] }
    }

    /// State of a class.
    #[inline]
    pub(crate) fn class_state_mut(&mut self, class: Class) -> &mut ClassState {
        if class == Class(0) { &mut self.class_state } else { &mut self.more[class.index() - 1] }
    }

    /// State of a class; the unpaused control class, which travels with the control frames, has
    /// none.
    #[inline]
    pub(crate) fn class_state_if_any(&mut self, class: Class) -> Option<&mut ClassState> {
        if class == Class(0) {
            Some(&mut self.class_state)
        } else {
            self.more.get_mut(class.index() - 1)
        }
    }

    /// State of the class of a port that has no other.
    #[inline(always)]
    pub(crate) fn only_class(&mut self) -> &mut ClassState {
        &mut self.class_state
    }

    /// True if nothing but the wire and earlier frames can hold back a frame of the only class, and
    /// nothing of that is to be noted: [`Port::gate`] does the rest.
    #[inline(always)]
    pub(crate) fn is_open(&self, now: Time, len: u32) -> bool {
        self.off == 0
            && !self.failed
            && !self.control_waits()
            && self.class_state.tx.gate(now, Bytes(len as u64)) == Gate::Open
    }

    /// State of each class, in class order.
    pub(crate) fn class_states(&self) -> impl Iterator<Item = &ClassState> {
        std::iter::once(&self.class_state).chain(&self.more)
    }

    /// True if frames other than control frames wait.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        // Without a look at the other classes where there are none: a cache line.
        self.class_state.egress.bytes() > 0
            || !self.single && self.more.iter().any(|l| l.egress.bytes() > 0)
    }

    /// Requests the first wake-ups of the receivers.
    pub fn start(&mut self, env: &mut impl Env) {
        for class in Class::up_to(1 + self.more.len()) {
            self.plan_receiver(class, env);
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

    /// True if a frame is on the wire.
    #[inline]
    pub fn busy(&self, env: &impl Env) -> bool {
        !env.has_come(self.free)
    }
    /// True if the link has failed.
    #[inline]
    pub fn failed(&self) -> bool {
        self.failed
    }
    /// The link fails: nothing is sent any more. What waited among the control frames is thrown
    /// away frame by frame.
    pub fn fail(&mut self, env: &mut impl Env) -> Option<Frame> {
        self.failed = true;
        self.drop_kept(env);
        let id = self.control.pop(env.frames())?;
        Some(env.discard(id))
    }
    /// Something waits for the wire; requests a call when it is free.
    #[inline]
    pub fn call_when_free(&mut self, env: &mut impl Env) {
        if !self.free_called {
            self.free_called = true;
            env.call_at(
                self.node,
                self.free.time,
                Call::WireFree { port: self.number, rank: self.free.rank },
            );
        }
    }
    /// The wire is free again.
    #[inline]
    pub fn set_free(&mut self) {
        self.free = EventKey::START;
        self.free_called = false;
    }
    /// True if the requested wake-up has come. An earlier or a later one may have been requested
    /// since.
    #[inline]
    pub fn woken(&mut self, now: Time) -> bool {
        let due = now >= self.wake_at;
        if due {
            self.wake_at = Time::NEVER;
        }
        due
    }
    /// True if no control frame waits, and no receiver half has anything due.
    pub(crate) fn rests(&self) -> bool {
        self.control.front().is_none()
            && self.retry_rests()
            && self.class_states().all(|c| c.rx.next_wake().is_none())
    }
    /// Data frames record this port from now on.
    pub fn keep_telemetry(&mut self, format: Option<RecordFormat>) {
        self.records = format.is_some();
        self.telemetry = format.unwrap_or_default();
    }
    /// True if data frames record this port.
    pub fn records(&self) -> bool {
        self.records
    }
    /// A frame that leaves now takes a record along if it carries data
    /// ([`Hop`](xoff_mech::rate_control::Hop)): bytes sent before it, bytes that wait in all
    /// classes, control frames included.
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
    /// Messages of the flow control go before unpaused frames that wait already, from now on: how
    /// long such a message takes does not depend on how many of those there are.
    pub fn put_messages_first(&mut self) {
        self.messages_first = true;
    }
    /// Time of a pending wake-up.
    pub fn pending_wake(&self) -> Option<Time> {
        (self.wake_at != Time::NEVER).then_some(self.wake_at)
    }
    /// True if something may precede the frames of classes, such as control frames.
    #[inline]
    pub fn control_waits(&self) -> bool {
        self.control.front().is_some() || self.repeats
    }

    /// Requests a wake-up unless an earlier one is due.
    #[inline]
    pub fn wake_at(&mut self, at: Time, env: &mut impl Env) {
        if at < self.wake_at {
            self.wake_at = at;
            env.call_at(self.node, at, Call::Wake { port: self.number });
        }
    }

    /// Requests a wake-up in the place of the pending one, which will still come.
    pub fn put_wake_at(&mut self, at: Time, env: &mut impl Env) {
        self.wake_at = at;
        env.call_at(self.node, at, Call::Wake { port: self.number });
    }

    /// Puts a frame of a class on the wire.
    #[inline(always)]
    pub fn start_frame(&mut self, id: u32, env: &mut impl Env) {
        let class = env.frames()[id].class();
        self.start_frame_of(class, id, env);
    }

    /// Puts a frame of this class on the wire.
    #[inline(always)]
    pub fn start_frame_of(&mut self, class: Class, id: u32, env: &mut impl Env) {
        let now = env.now();
        let len = env.frames()[id].len();
        let tx = env.wire_time(self.rate, len);
        if let Some(class_state) = self.class_state_if_any(class) {
            class_state.tx.on_sent(now, Bytes(len as u64), tx);
        }
        if self.notes_frames {
            self.note_frame(id, env);
        }
        self.transmit(id, tx, env);
    }

    /// Puts a frame of the only class on the wire, which is free, where no control frame waits and
    /// no frame records the port.
    #[inline(always)]
    pub(crate) fn start_plain(&mut self, id: FrameId, len: u32, env: &mut impl Env) {
        debug_assert!(!self.busy(env) && !self.control_waits() && !self.records);
        let tx = env.wire_time(self.rate, len);
        self.class_state.tx.on_sent(env.now(), Bytes(len as u64), tx);
        if self.notes_frames {
            self.note_frame(id, env);
        }
        self.free = env.transmit(self.at(), id, tx);
        self.free_called = false;
        if self.class_state.egress.bytes() > 0 {
            self.call_when_free(env);
        }
    }

    #[cold] // out of line
    fn note_frame(&mut self, id: u32, env: &mut impl Env) {
        if self.shares {
            self.note_shared_use();
        }
        if self.repeats {
            self.keep(id, env);
        }
    }

    #[inline(always)]
    fn transmit(&mut self, id: u32, tx: Span, env: &mut impl Env) {
        // Two frames at once on a wire: a node that has to overlap them is called when each of them
        // has left.
        let overlaps = self.busy(env);
        if overlaps {
            self.call_when_free(env);
        }
        if self.records {
            self.sent += env.frames()[id].len() as u64;
        }
        self.free = env.transmit(self.at(), id, tx);
        self.free_called = false;
        if overlaps || self.control_waits() {
            self.call_when_free(env);
        }
    }

    /// Starts the next control frame if there is one and the wire is free. Returns whether no frame
    /// of a class may go now.
    #[inline(always)]
    pub fn start_control(&mut self, env: &mut impl Env) -> bool {
        self.control_waits() && !self.failed && self.start_waiting_control(env)
    }

    #[inline(never)] // out of line: control frames are few
    fn start_waiting_control(&mut self, env: &mut impl Env) -> bool {
        if self.repeats {
            return self.start_before_new(env);
        }
        if self.busy(env) {
            self.call_when_free(env);
            return false;
        }
        let Some(id) = self.control.pop(env.frames()) else { return false };
        self.start_popped(id, env);
        true
    }

    #[inline]
    fn start_popped(&mut self, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        self.add_total(id, env.frames());
        if self.repeats && env.frames()[id].total().is_some() {
            // The message is about earlier frames.
            self.keep(id, env);
        }
        if self.records {
            self.add_record(now, id, env.frames());
        }
        let len = env.frames()[id].len();
        let tx = env.wire_time(self.rate, len);
        self.transmit(id, tx, env);
    }

    /// Queues a frame behind the control frames.
    pub fn send_unpaused(&mut self, id: FrameId, env: &mut impl Env) {
        self.control.push(id, env.frames());
        self.start_control(env);
    }
}
