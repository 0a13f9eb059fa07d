//! Environment of a node.

use std::cmp::Ordering;

use xoff_mech::detection::{Congestion, Mark, PortState, Side};
use xoff_mech::flow_control::{Message, StoppedBy};
use xoff_mech::watchdog::Change;
use xoff_units::state::State;
use xoff_units::{Class, FlowId, Loss, NodeId, PortId, Rate, Span, Time};

use crate::frame::{Frame, FrameId, FrameKind, FrameStore};

/// A place in the order of events: a time and, among equal times, a rank that only the environment
/// understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct EventKey {
    /// Simulated time.
    pub time: Time,
    /// Order among equal times; zero in a world without an order of its own.
    pub rank: u64,
}

impl EventKey {
    /// Before everything.
    pub const START: EventKey = EventKey { time: Time::ZERO, rank: 0 };
    /// After everything.
    pub const NEVER: EventKey = EventKey { time: Time::NEVER, rank: u64::MAX };

    /// Key as one number: comparing two of these takes two instructions and no branch.
    #[inline(always)]
    fn word(self) -> u128 {
        (self.time.0 as u128) << 64 | self.rank as u128
    }
}

impl Ord for EventKey {
    #[inline(always)]
    fn cmp(&self, other: &EventKey) -> Ordering {
        self.word().cmp(&other.word())
    }
    #[inline(always)]
    fn min(self, other: EventKey) -> EventKey {
        if other < self { other } else { self }
    }
    #[inline(always)]
    fn max(self, other: EventKey) -> EventKey {
        if other < self { self } else { other }
    }
}

impl PartialOrd for EventKey {
    #[inline(always)]
    fn partial_cmp(&self, other: &EventKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    #[inline(always)]
    fn lt(&self, other: &EventKey) -> bool {
        self.word() < other.word()
    }
    #[inline(always)]
    fn le(&self, other: &EventKey) -> bool {
        self.word() <= other.word()
    }
    #[inline(always)]
    fn gt(&self, other: &EventKey) -> bool {
        self.word() > other.word()
    }
    #[inline(always)]
    fn ge(&self, other: &EventKey) -> bool {
        self.word() >= other.word()
    }
}

/// A call that a node wants at a later time. Early, late or repeated calls do no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The wire of this port is free, as [`Env::transmit`] returned.
    WireFree {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Rank of that time.
        rank: u64,
    },
    /// The input buffer of this port has been read to the end of the frame that left it last.
    InputRead {
        /// Number of the port at its node, from 0.
        port: u16,
    },
    /// Try to send again from this port.
    Wake {
        /// Number of the port at its node, from 0.
        port: u16,
    },
    /// The timer of the receiver half of this port and class.
    Receiver {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
    },
    /// The timer of the congestion point of this port and class.
    CongestionPoint {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
    },
    /// A received control message takes effect.
    Apply {
        /// Number of the port at its node, from 0.
        port: u16,
    },
    /// A control message leaves its generator.
    Emit {
        /// Number of the port at its node, from 0.
        port: u16,
    },
    /// A clock of the node itself.
    Clock {
        /// Number of the timer.
        which: u8,
    },
    /// A timer of a flow: of its rate control, or for its repetitions.
    FlowTimer {
        /// The flow's place in its NIC.
        slot: u32,
        /// Number of the timer, below [`FLOW_TIMERS`].
        which: u8,
    },
}

/// Timers of one flow that can be distinguished.
pub const FLOW_TIMERS: u8 = 16;

/// Reason for a dropped frame. A correctly dimensioned lossless network drops none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drop {
    /// Cause, as far as the node knows it: a node knows no lossy classes and no failures of other
    /// links.
    pub cause: Loss,
    /// Port of the egress queue that had no room, or that the watchdog had found in a storm.
    pub queue: Option<u16>,
}

impl From<Loss> for Drop {
    fn from(cause: Loss) -> Drop {
        Drop { cause, queue: None }
    }
}

/// Action of a port whose link repeats frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryEvent {
    /// A frame arrived corrupted, or did not arrive.
    Corrupted(FrameKind),
    /// A good frame arrived, but not the expected one.
    Discarded(FrameKind),
    /// A frame was sent again.
    Replayed(FrameKind),
    /// The port reported a missing frame to the far end.
    Nack,
    /// The far end was silent for the whole timeout, so everything is sent again.
    TimedOut,
    /// A signal of the far end was lost.
    SignalLost,
    /// The sender gave up a kept frame. It may have arrived, or arrive later: the far end knows.
    GivenUp {
        /// Purpose of the frame.
        kind: FrameKind,
        /// Flow of the frame.
        flow: FlowId,
        /// Number of the frame on this link, counted from the first of the run.
        number: u64,
        /// The last bit that the port has sent so far leaves it then.
        sent: Time,
        /// Reason.
        why: Surrender,
    },
    /// The far end restarted: these numbers will not arrive any more.
    Skipped {
        /// The first of them, counted from the first of the run.
        from: u64,
        /// The next that will come.
        to: u64,
    },
}

/// Reason for a link to give up its kept frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surrender {
    /// More replays in a row without any progress than are allowed.
    NoProgress,
    /// The link has failed.
    LinkFailed,
}

/// Event inside a node, for probes, checkers and flow accounting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeEvent {
    /// A frame entered (`arrived`) or left a switch: present bytes of its ingress and its egress
    /// queue [bytes].
    Queue {
        /// Ingress port.
        in_port: u16,
        /// Egress port.
        out_port: u16,
        /// Number of the class, from 0.
        class: Class,
        /// Held from this ingress and class [bytes].
        ingress: u64,
        /// Waiting for this egress and class [bytes].
        egress: u64,
    },
    /// A flow control message was put on the wire or handed over.
    MessageSent {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
        /// The message.
        message: Message,
    },
    /// A flow control message arrived.
    MessageReceived {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
        /// The message.
        message: Message,
    },
    /// The rate that flow control allows changed [bit/s].
    AllowedRate {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
        /// Rate; 0 while stopped.
        rate: Rate,
        /// Cause of the stop.
        by: StoppedBy,
        /// If it is stopped and no message is needed to end that: when it ends, and the rate from
        /// then on.
        expires: Option<(Time, Rate)>,
    },
    /// The peer's flow control began to hold a class in which a frame waits, or let it go.
    Hold {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
        /// True at the start.
        on: bool,
        /// Cause of the stop.
        by: StoppedBy,
    },
    /// A flow's own rate changed [bit/s].
    FlowRate {
        /// Number of the flow.
        flow: FlowId,
        /// Rate that the rate control allows [bit/s].
        rate: Rate,
    },
    /// A frame was marked at an egress port.
    Marked {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
        /// Flow of the frame.
        flow: FlowId,
        /// Mark of the frame.
        mark: Mark,
    },
    /// A source is notified that a buffer is congested.
    CnmSent {
        /// Port of the buffer.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
        /// Buffer of the port.
        side: Side,
        /// Flow whose source is notified.
        flow: FlowId,
        /// The feedback.
        congestion: Congestion,
    },
    /// The source of a flow was notified.
    CongestionNotificationReceived {
        /// Number of the flow.
        flow: FlowId,
    },
    /// State of a port by its detector after a frame has left; only if states are recorded.
    State {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
        /// New state.
        state: PortState,
    },
    /// The watchdog has found that a class of a port is stormed, or that this is over.
    Watchdog {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
        /// Finding of the watchdog.
        change: Change,
    },
    /// Action of a port whose link repeats corrupted frames.
    LinkRetry {
        /// Number of the port at its node, from 0.
        port: u16,
        /// Action of the link.
        what: RetryEvent,
    },
    /// A frame was dropped.
    Dropped {
        /// Ingress port.
        port: u16,
        /// Number of the class, from 0.
        class: Class,
        /// Number of the flow.
        flow: FlowId,
        /// Length [bytes].
        len: u32,
        /// Purpose of the frame. The flow of a control frame has no meaning.
        kind: FrameKind,
        /// Cause of the drop.
        why: Drop,
    },
    /// A frame of data took one of several ports of its host, or one of several next hops at the first
    /// switch of its path, where switches balance load.
    Balanced {
        /// Number of the flow.
        flow: FlowId,
        /// Egress port.
        port: u16,
        /// Length [bytes].
        len: u32,
    },
    /// Payload of a flow left its source for the first time or again.
    Sent {
        /// Number of the flow.
        flow: FlowId,
        /// Payload [bytes].
        payload: u32,
    },
    /// The last payload byte of a flow was put on the wire.
    AllSent {
        /// Number of the flow.
        flow: FlowId,
    },
    /// Payload arrived in order at its destination.
    Delivered {
        /// Number of the flow.
        flow: FlowId,
        /// Payload [bytes].
        payload: u32,
        /// The mark of the frame.
        mark: Mark,
        /// The flow is complete at the destination.
        complete: bool,
    },
    /// A frame that arrived ahead of a gap is kept, or delivered at once.
    Ahead {
        /// Number of the flow.
        flow: FlowId,
        /// Bytes beyond the first gap of the flow now, this frame included.
        held: u64,
    },
    /// The first gap of a flow is filled.
    GapFilled {
        /// Number of the flow.
        flow: FlowId,
        /// Longest time for which a frame that is now in order was ahead of it.
        hold: Span,
        /// Payload of frames that were kept and are delivered now [bytes].
        released: u32,
    },
    /// A frame arrived at its destination out of order.
    OutOfOrder {
        /// Number of the flow.
        flow: FlowId,
        /// Bytes expected next.
        expected: u64,
        /// Offset it carried.
        got: u64,
        /// Payload [bytes]; where it is kept, a gap that is filled releases it.
        payload: u32,
        /// The mark of the frame.
        mark: Mark,
    },
    /// The retransmission timer of a flow expired.
    TimedOut {
        /// Number of the flow.
        flow: FlowId,
    },
    /// Everything is acknowledged at the source (last acknowledgement).
    Acknowledged {
        /// Number of the flow.
        flow: FlowId,
    },
}

/// The world around a node. The simulator implements it with an event queue, a real switch with
/// sockets.
pub trait Env {
    /// Time of the event that the node takes.
    fn now(&self) -> Time;
    /// All frames.
    fn frames(&mut self) -> &mut FrameStore;
    /// The frame starts now on this port's wire and occupies it for `tx`; the peer gets it after
    /// `tx` and the propagation delay. Returns the time at which the wire is free. A node to which
    /// that matters requests a call then ([`Call::WireFree`]); with nothing to send it need not,
    /// which saves an event for most frames of a quiet network.
    fn transmit(&mut self, at: PortId, frame: FrameId, tx: Span) -> EventKey;
    /// Time of a frame of `len` bytes on a wire of this rate.
    fn wire_time(&mut self, rate: Rate, len: u32) -> Span;
    /// True if this time has come.
    fn has_come(&self, key: EventKey) -> bool;
    /// The queue pair of a flow that its source has cleared; `None`: it has none.
    fn queue_pair_of(&mut self, _flow: FlowId) -> Option<u32> {
        None
    }

    /// True if the lengths of queues are recorded. If not, [`NodeEvent::Queue`] may be left out.
    fn records_queues(&self) -> bool;
    /// True if the states of ports are recorded. If not, [`NodeEvent::State`] may be left out.
    fn records_states(&self) -> bool {
        false
    }
    /// True if a plain switch may take the short way, which leaves out [`NodeEvent::Queue`] and
    /// [`NodeEvent::State`].
    fn allows_plain(&self) -> bool {
        false
    }
    /// Hands an ideal control message to the peer after the propagation delay, without using the
    /// wire.
    fn hand_over(&mut self, at: PortId, frame: FrameId);
    /// The node wants to be called at `at`.
    fn call_at(&mut self, node: NodeId, at: Time, call: Call);
    /// Egress port for a frame at this node.
    fn route(&mut self, node: NodeId, frame: &Frame) -> Option<u16>;
    /// Ports of the next hops of a frame of data at this node, put into `ports`. Returns the number
    /// of their set: destinations with the same next hops share it.
    fn next_hops(&mut self, node: NodeId, frame: &Frame, ports: &mut Vec<u16>) -> u32 {
        ports.clear();
        ports.extend(self.route(node, frame));
        0
    }
    /// Leaves of the hosts that a frame comes from and goes to, in a network whose frames between
    /// leaves have headers; `None`: its source is unknown.
    fn leaves(&mut self, _frame: &Frame) -> Option<[NodeId; 2]> {
        None
    }
    /// Rate at which the network can carry traffic to the destination of a frame through this port,
    /// alone.
    fn capacity(&mut self, _at: PortId, _frame: &Frame) -> Rate {
        Rate::ZERO
    }
    /// The hash of the flow of a frame and of its entropy value, 0 for none, at this node, scaled to
    /// 0..`n`.
    fn hashed(&mut self, _node: NodeId, _frame: &Frame, _entropy: u16, _n: u64) -> u64 {
        0
    }
    /// A random number in [0, 1) from the stream of this node's load balancer.
    fn draw_for_balancing(&mut self, _node: NodeId) -> f64 {
        0.0
    }
    /// A random number in [0, 1) from the stream of this port.
    fn draw(&mut self, at: PortId) -> f64;
    /// Something happened.
    fn emit(&mut self, node: NodeId, emit: NodeEvent);

    /// Frees a frame that reached its end.
    #[inline]
    fn discard(&mut self, frame: FrameId) -> Frame {
        self.frames().remove(frame)
    }
}

/// True for frames that carry no flow data and may be sent by hosts at any time.
pub(crate) fn is_feedback(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::Ack | FrameKind::Nack | FrameKind::CongestionNotification)
}
