//! Flow control on one link, checked in every state that the link can reach.
//!
//! ```text
//!   source --> Tx --- frames on the wire ---> buffer of B bytes, Rx --> drain
//!              ^                                     |
//!              +------- messages on the wire --------+
//! ```
//!
//! The halves are those that switches, NICs and real ports use. All that is free to vary is decided
//! by an adversary, tick by tick: whether the source has anything to send, whether the drain takes
//! a frame, and what becomes of a message. The model checker goes through all of its decisions;
//! states that differ only in the time on the clock and in numbers that have grown together are
//! one, so the search ends by itself and holds for runs of any length. Bounds: one link, one
//! priority, frames of one length, and drains at whole ticks.
//!
//! [`link`] is that system, [`retry`] the one of a link that repeats what it corrupts, [`faults`]
//! what may become of messages, [`setups`] the flow controls with the parameters that they are
//! checked with, [`verdict`] what came out, [`page`] the page that says so.

pub mod faults;
pub mod link;
pub mod page;
pub mod retry;
pub mod setups;
pub mod verdict;
mod words;
