//! End-to-end rate control: the trait and the registry.
//!
//! ```text
//!   source NIC: RateControl (reaction point)   <--- Feedback ---   destination NIC: NotificationPoint
//!                 rate() paces the flow                               decides when a mark is reported
//! ```

pub mod dcqcn;
mod registry;

pub use registry::{AnyRateControl, Custom, Entry, Notification, NotificationPoint, REGISTRY, RateControlKind};

use xoff_units::{Bytes, Rate, Time};

/// What comes back from the receiver of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Congestion was experienced on the way (a CNP, or the CNP bit of an acknowledgement).
    Congestion,
}

/// Timers a rate control asks for: which, and when. A timer is re-armed by asking again; a wake-up for a time that
/// no longer counts is ignored by its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    armed: [Option<(u8, Time)>; 4],
    len: usize,
}

impl Wakes {
    /// Asks for timer `which` at `at`. Order of asking is kept: among equal times the first asked fires first.
    pub fn arm(&mut self, which: u8, at: Time) {
        self.armed[self.len] = Some((which, at));
        self.len += 1;
    }
    /// What was asked for, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u8, Time)> + '_ {
        self.armed[..self.len].iter().flatten().copied()
    }
}

/// The reaction point of one flow.
pub trait RateControl {
    /// The rate at which the flow may send now [bit/s].
    fn rate(&self) -> Rate;
    /// A frame of `len` of this flow was sent.
    fn on_sent(&mut self, now: Time, len: Bytes, wakes: &mut Wakes);
    /// News from the receiver.
    fn on_feedback(&mut self, now: Time, feedback: Feedback, wakes: &mut Wakes);
    /// Timer `which` may be due.
    fn on_wake(&mut self, now: Time, which: u8, wakes: &mut Wakes);
}
