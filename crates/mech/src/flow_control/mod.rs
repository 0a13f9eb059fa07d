//! Hop-by-hop flow control: the traits and the registry.
//!
//! ```text
//!   upstream port                               downstream port
//!   egress queue -> Sender.gate --- data --->  ingress buffer -> Receiver
//!                   Sender.on_message <------- Message --------------+
//! ```
//!
//! One receiver and one sender exist per link direction and priority. Per-flow ones have traits of
//! their own, [`FlowReceiver`] and [`FlowSender`]: their sender is the egress queue itself, because
//! the flow of a frame decides whether it may leave.

pub mod bfc;
pub mod cbfc;
pub mod gfc_buffer;
pub mod gfc_conceptual;
pub mod gfc_time;
mod glue;
mod law;
pub mod on_off;
mod parked;
pub mod pfc;
pub mod pffc;
mod rate_limiter;
mod registry;
pub mod repeat;
pub mod standstill;
pub mod uec_cbfc;

pub use law::{Custom, Entry, Law, Pauses, Signal, Totals};
pub use rate_limiter::{Countdown, RateLimiter};
pub use registry::{FlowControl, Message, REGISTRY, Rx, Tx, saved_tx};

use std::collections::BTreeSet;

use xoff_units::state::State;
use xoff_units::{Bytes, FlowId, Rate, Span, Time};

/// A control frame on the wire, the smallest Ethernet frame (GFC section 4.2: m = 64 B) [bytes].
pub const MESSAGE_LEN: Bytes = Bytes(64);

/// The answer to "may this frame go now?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The frame may go.
    Open,
    /// Not before this time; no message is needed for it to open.
    Until(Time),
    /// Not until a message of the peer.
    Blocked,
}

/// Cause of a stopped sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub enum StoppedBy {
    /// The peer's message: from the time it takes effect to the next one, or until it expires.
    #[default]
    Pause,
    /// Own sending: the credits are used up.
    Credits,
    /// Pauses of single flows, where no other flow has anything to send.
    Flows,
}

/// State of the ingress buffer after a change, for one ingress port and one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Everything held from this ingress and priority [bytes].
    pub bytes: Bytes,
    /// The part of it that counts against a shared pool [bytes]; equals `bytes` without a pool.
    pub shared: Bytes,
    /// The part of it that sits in headroom [bytes].
    pub headroom: Bytes,
    /// Current limit on `shared` [bytes]: alpha times the free pool, or the fixed buffer size.
    /// Where a buffer profile sets the limits, the `bytes` at or below which the peer resumes:
    /// bytes above the limit are in headroom anyway.
    pub limit: Bytes,
}

/// Queue at an egress port for one priority, from all ingresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The egress port.
    pub port: u16,
    /// [bytes]
    pub bytes: Bytes,
}

/// The downstream half: measures one ingress buffer and sends messages to the upstream port.
pub trait Receiver {
    /// A frame of `len` was admitted; `occupancy` is the state after it.
    fn on_arrival(&mut self, now: Time, occupancy: &Occupancy, len: Bytes) -> Option<Message>;
    /// A frame of `len` left the buffer; `occupancy` is the state after it.
    fn on_departure(&mut self, now: Time, occupancy: &Occupancy, len: Bytes) -> Option<Message>;
    /// True if it depends on the queue that a frame joins or has left. Then
    /// [`Receiver::on_arrival_to`] and [`Receiver::on_departure_from`] are called in the place of
    /// the two above.
    fn wants_egress(&self) -> bool {
        false
    }
    /// As [`Receiver::on_arrival`]; `egress` is the queue that the frame joins, with it.
    fn on_arrival_to(
        &mut self,
        now: Time,
        occupancy: &Occupancy,
        _egress: Waiting,
        len: Bytes,
    ) -> Option<Message> {
        self.on_arrival(now, occupancy, len)
    }
    /// As [`Receiver::on_departure`]; `egress` is the queue that the frame has left, without it.
    fn on_departure_from(
        &mut self,
        now: Time,
        occupancy: &Occupancy,
        _egress: Waiting,
        len: Bytes,
    ) -> Option<Message> {
        self.on_departure(now, occupancy, len)
    }
    /// The clock reached `now`; sends only if something is due.
    fn on_wake(&mut self, now: Time, occupancy: &Occupancy) -> Option<Message>;
    /// Next time at which the clock matters; has no side effect.
    fn next_wake(&self) -> Option<Time>;
    /// Whether the upstream port stays unable forever to send a frame of `len`, if `stuck` bytes of
    /// `occupancy` never leave and the rest does.
    fn holds(&self, occupancy: &Occupancy, stuck: Bytes, len: Bytes) -> bool;
    /// The peer reports how much it has sent in all, in the unit in which this half counts. On a
    /// real link frames get lost and peers restart; a half that counts arrivals takes the peer's
    /// figure (IBA 7.9.4).
    fn on_peer_total(&mut self, _sent: u64) {}
    /// A frame arrived and was dropped at once, for want of a route or of room: it takes no room,
    /// but it was sent.
    fn on_dropped(&mut self, _now: Time, _len: Bytes) -> Option<Message> {
        None
    }
    /// The message that holds the peer as long as one can, as of a receiver whose buffer is full or
    /// that is broken; `None`: there is none.
    fn hold(&self) -> Option<Message> {
        None
    }
}

/// The upstream half: obeys messages and answers for one egress queue.
pub trait Sender {
    /// True if a frame of `len` may start now. How often it is asked depends on the engine.
    fn gate(&self, now: Time, len: Bytes) -> Gate;
    /// A frame of `len` starts now and occupies the wire for `tx`.
    fn on_sent(&mut self, now: Time, len: Bytes, tx: Span);
    /// A message from the peer takes effect.
    fn on_message(&mut self, now: Time, message: Message);
    /// True if the peer's messages block the queue (a pause, a lack of credits), whatever timer may
    /// run.
    fn held(&self, now: Time, len: Bytes) -> bool {
        self.gate(now, len) == Gate::Blocked
    }
    /// The rate the flow control allows at this time [bit/s]; 0 while held.
    fn rate(&self, now: Time) -> Rate;
    /// True if this message is plausible now. [`Sender::on_message`] treats an implausible one with
    /// caution; whoever has a real link counts it.
    fn is_possible(&self, _message: Message) -> bool {
        true
    }
    /// The link has been down: messages received before no longer count. A pause or a rate ends;
    /// credits are zero until the peer grants new ones.
    fn restart(&mut self, now: Time);
    /// True if it has ever sent more than its credits allowed. For the check of credits; without
    /// credits there is nothing to overdraw.
    fn overdrawn(&self) -> bool {
        false
    }
    /// Whether a frame of `len` may leave within `within`, now and at the allowed rate.
    fn lets_go(&self, now: Time, len: Bytes, within: Span) -> bool {
        let soon = match self.gate(now, len) {
            Gate::Open => true,
            Gate::Until(t) => t.since(now) < within,
            Gate::Blocked => false,
        };
        let rate = self.rate(now);
        soon && !self.held(now, len) && rate.0 > 0 && rate.time_for(len) < within
    }
    /// Cause that stops this sender, if it is stopped.
    fn stopped_by(&self) -> StoppedBy {
        StoppedBy::Pause
    }
    /// Used part of the resource that all classes of a port share, in a unit of the mechanism;
    /// `None`: nothing is shared.
    fn shared_use(&self) -> Option<u64> {
        None
    }
    /// Reports the bytes that other classes of the port use now; `classes` of them share, itself
    /// included.
    fn on_shared_use(&mut self, _others: u64, _classes: u64) {}
    /// All that it has sent, in the unit in which its receiver half counts; `None`: that is not
    /// counted ([`Receiver::on_peer_total`]).
    fn sent_total(&self) -> Option<u64> {
        None
    }
}

/// A queue of a per-flow sender, as far as it concerns the receiver of the ingress from which a
/// frame comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Queued bytes.
    pub bytes: Bytes,
    /// Rate of its port [bit/s].
    pub rate: Rate,
    /// Queues of this egress and priority that have something to send and are not paused, this one
    /// included.
    pub active: u32,
}

/// The downstream half of a per-flow flow control. A decision may take several messages: the hooks
/// return the first, [`FlowReceiver::more`] the others.
pub trait FlowReceiver {
    /// A frame of this flow was admitted; `queue` is the queue that it joins, without it. `None`:
    /// it waits for no such sender, as in a host.
    fn on_arrival(
        &mut self,
        now: Time,
        flow: FlowId,
        queue: Option<QueueState>,
        len: Bytes,
    ) -> Option<Message>;
    /// A frame of this flow left the buffer; `queue` is the queue that it left, without it.
    fn on_departure(
        &mut self,
        now: Time,
        flow: FlowId,
        queue: Option<QueueState>,
        len: Bytes,
    ) -> Option<Message>;
    /// The clock reached `now`; sends only if something is due.
    fn on_wake(&mut self, now: Time) -> Option<Message>;
    /// Next time at which the clock matters; has no side effect.
    fn next_wake(&self) -> Option<Time>;
    /// The next message of the decision made last; each is asked for until there is none.
    fn more(&mut self) -> Option<Message>;
    /// If `gone` bytes leave, whosever they are, and nothing else ever does: does every flow that
    /// is held stay so?
    fn holds(&self, gone: Bytes) -> bool;
    /// Frames that were taken for those of another flow.
    fn collisions(&self) -> u64;
}

/// The upstream half of a per-flow flow control: the frames that wait, as handles, in the order in
/// which they may go. A source that keeps its flows apart stores nothing here and asks
/// [`FlowSender::flow_gate`].
pub trait FlowSender {
    /// A frame of this flow begins to wait.
    fn push(&mut self, now: Time, handle: u32, flow: FlowId, len: Bytes);
    /// The queue that a frame of this flow joins if it comes now; `None`: no receiver of this flow
    /// control asks.
    fn queue(&self, _now: Time, _flow: FlowId) -> Option<QueueState> {
        None
    }
    /// The frame that goes next, and whether it may go now. While nothing may, the one that has
    /// waited longest. `None`: nothing waits.
    fn head(&self, now: Time) -> Option<(u32, bool)>;
    /// True if some waiting frame may leave now, or none waits.
    fn gate(&self, now: Time) -> Gate;
    /// Takes the frame that may go now.
    fn pop(&mut self, now: Time) -> Option<u32>;
    /// Removes a frame that will never be sent, paused or not.
    fn discard(&mut self) -> Option<u32>;
    /// True if a frame of this flow could leave now, had it arrived now at an empty queue.
    fn flow_gate(&self, now: Time, flow: FlowId) -> Gate;
    /// True if a frame may leave now at a source that knows priorities only, for which one paused
    /// flow pauses them all.
    fn whole_gate(&self, now: Time) -> Gate;
    /// The source asks about a held flow no longer, until its handle is among
    /// [`FlowSender::freed`] or it is unparked.
    fn park(&mut self, flow: FlowId, handle: u32);
    /// The source asks about a flow again. Returns whether it was parked.
    fn unpark(&mut self, flow: FlowId, handle: u32) -> bool;
    /// Parked flows that may send now; they are parked no longer.
    fn freed(&mut self, now: Time) -> BTreeSet<u32>;
    /// Time at which a parked flow may send without a message; never: no such flow.
    fn parked_until(&self) -> Time;
    /// True if a parked flow satisfies the condition.
    fn any_parked(&self, f: &mut dyn FnMut(u32) -> bool) -> bool;
    /// A message from the peer takes effect.
    fn on_message(&mut self, now: Time, message: Message);
    /// See [`Sender::is_possible`].
    fn is_possible(&self, _message: Message) -> bool {
        true
    }
    /// See [`Sender::restart`].
    fn restart(&mut self, now: Time);
    /// The rate at which flows that are not held may go [bit/s].
    fn rate(&self) -> Rate;
    /// Every frame that waits; those of one flow in their order.
    fn for_each(&self, f: &mut dyn FnMut(u32));
}

/// A named value with its unit, for probes and debuggers.
pub type Observation = (&'static str, f64, &'static str);

#[cfg(test)]
mod tests {
    use super::*;

    /// Half with a fixed gate and rate.
    struct Half(Gate, Rate);

    impl Sender for Half {
        fn gate(&self, _: Time, _: Bytes) -> Gate {
            self.0
        }
        fn on_sent(&mut self, _: Time, _: Bytes, _: Span) {}
        fn on_message(&mut self, _: Time, _: Message) {}
        fn rate(&self, _: Time) -> Rate {
            self.1
        }
        fn restart(&mut self, _: Time) {}
    }

    /// A frame goes within a time if the gate opens before that time is over, and if the frame
    /// itself takes less.
    #[test]
    fn a_frame_goes_within_a_time() {
        let within = Span::from_us(2);
        let goes =
            |gate, rate, len| Half(gate, rate).lets_go(Time::from_us(10), Bytes(len), within);
        let c = Rate::from_gbps(10); // 2500 B in 2 us
        assert_eq!([2_499, 2_500, 2_501].map(|len| goes(Gate::Open, c, len)), [true, false, false]);
        let until = |ps: u64| Gate::Until(Time(11_999_999 + ps));
        assert_eq!([0, 1, 2].map(|ps| goes(until(ps), c, 64)), [true, false, false]);
        assert!(!goes(Gate::Blocked, c, 64));
        assert!(!goes(Gate::Open, Rate::ZERO, 64), "nothing goes at a rate of 0");
        assert!(goes(Gate::Open, Rate(1), 0), "and what has no length goes at any other");
        // Default answers of a half that implements the required methods only.
        let half = Half(Gate::Blocked, c);
        assert!(
            half.held(Time::ZERO, Bytes(1))
                && !Half(Gate::Until(Time(1)), c).held(Time::ZERO, Bytes(1))
        );
        assert!(half.is_possible(Message::Custom(1)) && !half.overdrawn());
        assert_eq!(
            (half.stopped_by(), half.shared_use(), half.sent_total()),
            (StoppedBy::Pause, None, None)
        );
    }
}
