//! States in writing: marks of a type by which an engine finds out whether the state of a network recurs.
//!
//! States derive [`serde::Serialize`], so that the compiler counts their fields. A network moves on while it recurs: times grow, and so do
//! byte offsets and credit counters. A comparison of two states receives each number with its meaning ([`Visitor`]), the name of its
//! newtype:
//!
//! ```text
//!   Time        a point in time: two states recur if all of them are later by one period
//!   DEADLINE    a time that means nothing once it has passed
//!   SEQUENCE    a byte offset of the flow at hand: all of them are further by the same number of bytes
//!   COUNTER     a counter that the two ends of a link keep: all of them are higher by the same amount
//!   NUMBER      a second one of the same link
//!   FRAME       a handle of a frame: the frame counts, not the handle
//!   SLOT        a place in the list of flows that a node has begun: all of them are higher by the same number
//!   ITERATION   an iteration of the job at hand: all of them are later by the same number
//! ```
//!
//! Everything else has to be equal. A field that is left out (`serde(skip)`) gives its reason: a constant, a cache, or a result that the
//! state does not depend on.

use serde::ser::{Error, Serializer};

use crate::{Span, Time};

mod walk;

pub use walk::{Meaning, Visitor};

/// Name of a time that means nothing once it has passed.
pub const DEADLINE: &str = "Deadline";
/// Name of a byte offset of the flow at hand.
pub const SEQUENCE: &str = "Sequence";
/// Name of a counter that both ends of a link keep.
pub const COUNTER: &str = "Counter";
/// Name of a second such counter.
pub const NUMBER: &str = "Number";
/// Name of the interval of a clock whose ticks are multiples of it since the start of the run: where in it the time stands has to be equal.
pub const TICKS: &str = "Ticks";
/// Name of a handle of a frame.
pub const FRAME: &str = "Frame";
/// Name of the number of a flow, whose byte offsets follow.
pub const FLOW: &str = "Flow";
/// Name of a place in the list of all flows that a node has begun.
pub const SLOT: &str = "Slot";
/// Name of the number of an iteration of the job at hand.
pub const ITERATION: &str = "Iteration";
/// Name of numbers that belong to the link in the other direction: the receiver half of a port, and the messages that it sends.
pub const FEEDER: &str = "Feeder";

/// A time that means nothing once it has passed.
///
/// # Errors
/// Those of the serializer.
pub fn deadline<S: Serializer>(t: &Time, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_newtype_struct(DEADLINE, &t.0)
}

/// A byte offset of the flow at hand.
///
/// # Errors
/// Those of the serializer.
pub fn sequence<S: Serializer>(offset: &u64, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_newtype_struct(SEQUENCE, offset)
}

/// A counter that both ends of a link keep.
///
/// # Errors
/// Those of the serializer.
pub fn counter<S: Serializer>(count: &u64, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_newtype_struct(COUNTER, count)
}

/// A second counter that both ends of a link keep.
///
/// # Errors
/// Those of the serializer.
pub fn number<S: Serializer>(count: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_newtype_struct(NUMBER, count)
}

/// The interval of a clock whose ticks are multiples of it since the start of the run.
///
/// # Errors
/// Those of the serializer.
pub fn ticks<S: Serializer>(every: Span, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_newtype_struct(TICKS, &every.0)
}

/// A handle of a frame.
///
/// # Errors
/// Those of the serializer.
pub fn frame<S: Serializer>(handle: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_newtype_struct(FRAME, handle)
}

/// The number of a flow, whose byte offsets follow.
///
/// # Errors
/// Those of the serializer.
pub fn flow<S: Serializer>(flow: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_newtype_struct(FLOW, flow)
}

/// A place in the list of all flows that a node has begun.
///
/// # Errors
/// Those of the serializer.
pub fn slot<S: Serializer>(slot: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_newtype_struct(SLOT, slot)
}

/// Several such places.
///
/// # Errors
/// Those of the serializer.
pub fn slots<S: Serializer>(slots: &[u32], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(slots.iter().map(|&n| Slot(n)))
}

/// A place in the list of all flows that a node has begun.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Slot(#[serde(serialize_with = "slot")] pub u32);

/// The number of an iteration of the job at hand.
///
/// # Errors
/// Those of the serializer.
pub fn iteration<S: Serializer>(iteration: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_newtype_struct(ITERATION, iteration)
}

/// The number of a flow.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Flow(#[serde(serialize_with = "flow")] pub u32);

/// The number of an iteration of the job at hand.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Iteration(#[serde(serialize_with = "iteration")] pub u32);

/// State of the opposite direction of the link.
///
/// # Errors
/// Those of the serializer.
pub fn feeder<T: serde::Serialize, S: Serializer>(state: &T, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_newtype_struct(FEEDER, state)
}

/// A state that cannot be written, or that no run returns to, because of this: an engine does not look for one there.
///
/// # Errors
/// Always.
pub fn unwritten<S: Serializer>(what: &str, _: S) -> Result<S::Ok, S::Error> {
    Err(S::Error::custom(what))
}

/// A mechanism from outside, whose state is not known.
///
/// # Errors
/// Always.
pub fn from_outside<T: ?Sized, S: Serializer>(_: &T, s: S) -> Result<S::Ok, S::Error> {
    unwritten("a mechanism from outside", s)
}
