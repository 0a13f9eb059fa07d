//! End-to-end rate control: the trait and the registry.
//!
//! ```text
//!   source NIC: RateControl (reaction point)   <--- Feedback ---   destination NIC: NotificationPoint
//!                 rate() paces the flow,                              decides when a mark is reported
//!                 window() bounds bytes in flight
//! ```
//!
//! Feedback is a CNP (DCQCN), a BECN (IB CC) or every acknowledgement (TIMELY, HPCC).

pub mod dcqcn;
mod glue;
pub mod hpcc;
pub mod ib_cc;
mod law;
mod notification_point;
pub mod qcn;
mod registry;
mod telemetry;
pub mod timely;

pub use law::{Custom, Entry, FlowFacts, Law};
pub use notification_point::{CnpClock, CnpMode, NotificationPoint};
pub use registry::{AnyRateControl, REGISTRY, RateControlKind};
pub use telemetry::{HOPS_MAX, Hop, RecordFormat};

use xoff_units::{Bytes, Rate, Span, Time};

use crate::detection::Mark;

/// Feedback from the receiver of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback<'a> {
    /// Congestion was experienced on the way (a CNP, or the CNP bit of an acknowledgement).
    Congestion,
    /// Only undetermined ports were met (TCD, section 5.2: a CNP that reports UE and not CE).
    Undetermined,
    /// A congestion point on the way reports congestion of this degree, 1 to 63 (the CNM of QCN).
    Quantized(u8),
    /// An acknowledgement; only for who [`wants_acks`](RateControlKind::wants_acks).
    Ack(Ack<'a>),
}

/// An acknowledgement as a rate control sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// Payload received in order, by this acknowledgement [bytes].
    pub acked: u64,
    /// First byte that the flow has not sent yet, when the acknowledgement is handled; after going
    /// back less than before [bytes].
    pub sent: u64,
    /// From the first bit of the acknowledged frame at its source to this acknowledgement [ps].
    pub rtt: Span,
    /// Length on the wire of that frame; zero if unknown [bytes].
    pub len: Bytes,
    /// Mark that the frame had collected.
    pub mark: Mark,
    /// Records that the frame had collected, in the order of its way; empty without telemetry.
    pub hops: &'a [Hop],
}

/// Timers a rate control asks for: which, and when. A timer is re-armed by asking again; a wake-up
/// for a time that no longer counts is ignored by its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    // Apart, because every frame of a flow with a rate control makes one.
    which: [u8; 4],
    at: [Time; 4],
    len: u8,
    moves_next_frame: bool,
}

impl Wakes {
    /// Requests timer `which` at `at`. Order of asking is kept: among equal times the first asked
    /// fires first.
    pub fn arm(&mut self, which: u8, at: Time) {
        (self.which[self.len as usize], self.at[self.len as usize]) = (which, at);
        self.len += 1;
    }
    /// The rate was set, perhaps to its old value, and the earliest start of the next frame moves
    /// with it. The shift is the last frame's time at the new rate minus its time at the old one.
    /// Without this call a waiting frame keeps its start.
    pub fn move_next_frame(&mut self) {
        self.moves_next_frame = true;
    }
    /// True if the change also moves a frame that is already scheduled.
    #[inline]
    pub fn moves_next_frame(&self) -> bool {
        self.moves_next_frame
    }
    /// Requested wake-ups, in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (u8, Time)> + '_ {
        (0..self.len as usize).map(|nth| (self.which[nth], self.at[nth]))
    }
}

/// The reaction point of one flow.
pub trait RateControl {
    /// The rate at which the flow may send now [bit/s].
    fn rate(&self) -> Rate;
    /// Bytes that may be in flight, sent and not acknowledged; `None`: no limit of its own [bytes].
    #[inline]
    fn window(&self) -> Option<u64> {
        None
    }
    /// A frame of `len` of this flow was sent.
    fn on_sent(&mut self, now: Time, len: Bytes, wakes: &mut Wakes);
    /// From the start of the frame that was just sent, with this `payload`, to that of the next
    /// one; `None`: the time of `len` at the rate.
    #[inline]
    fn spacing(&mut self, _now: Time, _len: Bytes, _payload: Bytes) -> Option<Span> {
        None
    }
    /// News from the receiver.
    fn on_feedback(&mut self, now: Time, feedback: Feedback<'_>, wakes: &mut Wakes);
    /// Timer `which` may be due.
    fn on_wake(&mut self, now: Time, which: u8, wakes: &mut Wakes);
}
