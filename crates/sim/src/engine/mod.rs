//! Pending events in their order, and virtual time.
//!
//! ```text
//!   event      an event, and its place among those of equal time
//!   queue      one global order: a wheel of buckets and a heap
//!   windows    one order for each node, window by window
//!   calendar   the choice between the two
//!   clock      the present event
//! ```

pub(crate) mod calendar;
pub(crate) mod clock;
pub(crate) mod event;
pub(crate) mod queue;
pub(crate) mod windows;
