//! Traffic of the hosts: single flows, patterns, random arrivals, closed loops.
//!
//! ```text
//!   [[workload]] -> generators::find(kind) -> generate(values, context) -> Generated --+
//!   [[workload]] -> ...                                                                +-> Flows::new -> the run
//! ```
//!
//! A generator reads its declared parameters, checks them against the topology and returns flows.
//! It draws only through [`random`], so the same seed gives the same flows on every machine, and
//! one host's flows do not depend on the others'. Closed loops cannot be laid out in advance:
//! [`ClosedLoop`] answers, during the run, what a host's n-th flow is, as a pure function of the
//! seed.

mod arrivals;
mod calls;
pub mod cdf;
mod destinations;
pub mod flow;
pub mod generators;
pub mod random;
pub mod repeat;
mod select;

pub use calls::{Act, Call};
pub use cdf::{CdfError, SizeCdf};
pub use flow::{DST_PORT, Flow, Flows, Generated, GivenPath, UNLIMITED, message_flow, src_port};
pub use generators::closed_loop::ClosedLoop;
pub use generators::{Context, GENERATORS, Generator};
pub use repeat::Repeat;
