//! The laws of lossless networks as pure state machines, usable one by one.
//!
//! A mechanism sees `now` and its inputs and returns its requests. It owns no clock, no socket and
//! no random source, allocates nothing in its hooks, and tolerates an early, late or spurious
//! wake-up: that is what lets the same file run under a simulator's virtual time and in a switch
//! with a real clock.
//!
//! ```text
//!  flow_control/    Receiver (measures one ingress buffer, sends upstream) and Sender (obeys, answers `gate`)
//!  detection/       Detector (decides at an egress queue whether a frame is marked)
//!  rate_control/    RateControl (an end system's rate per flow) and its notification point
//!  entropy/         Entropy (the path of each frame, chosen by its source)
//!  balancing/       Balancer (which of several next hops a frame takes)
//!  sharing/         Sharing (how much of a pool of memory a queue may hold)
//!  transport/       Source of a flow (repetitions, timer, window) and the replies of its receiver
//!  link_retry       frames that a link corrupts are sent again by the link
//!  watchdog         frees an egress queue that its peer holds for too long
//! ```
//!
//! No file of the node crate and of the simulator names a mechanism (`sim/tests/names.rs`): a
//! switch and a NIC use traits only.

pub mod balancing;
pub mod choice;
mod control_loop;
pub mod detection;
pub mod entropy;
pub mod flow_control;
pub mod link_retry;
pub mod rate_control;
pub mod scheduled;
pub mod sharing;
pub mod transport;
mod unmet;
pub mod watchdog;

pub use control_loop::{ControlLoop, bytes_ceil};
pub use unmet::Unmet;

use std::cmp::Ordering;

use xoff_units::{Bytes, Rate, Span};

/// Facts about the link of a mechanism, for its configuration and validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFacts {
    /// Line rate C of the link [bit/s].
    pub rate: Rate,
    /// One-way propagation delay t_w [ps].
    pub delay: Span,
    /// Largest frame that flow control holds back [bytes].
    pub mtu: Bytes,
    /// Largest frame of any class, which a message to the peer may have to wait for [bytes].
    pub mtu_other: Bytes,
    /// Buffer B behind the link, for one ingress and one priority [bytes].
    pub buffer: Bytes,
    /// Longest time a control message spends inside the two nodes, t_r [ps].
    pub processing: Span,
    /// The part of it that varies from message to message [ps].
    pub jitter: Span,
    /// Control frames that may be sent before a message: those of other classes, and CNMs.
    pub control_ahead: u64,
    /// The distance of the other end from its nearest host, in links, compared with that of this
    /// end. `Less`: a host, or a switch nearer to hosts, so that traffic enters the network by this
    /// port. `Equal` where it is unknown.
    pub peer_tier: Ordering,
}
