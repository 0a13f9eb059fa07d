//! Jobs: programs of several ranks that compute and exchange messages, as a training run does.
//!
//! ```text
//!   collectives, traces --> Graph: operations by rank, dependencies --check--> Job: hosts, iterations, numbers of messages
//!                                                                                  |
//!   simulator, LogGP network -- sent, delivered, time is up --> Machine (one per rank) +-- a message begins, call me at t
//!                                                                 +-- Log: start, end and awaited event of each operation
//! ```
//!
//! A [`Machine`] is sans-IO, like all nodes: it takes `(now, input)` and returns actions. It sees
//! only events at its own host, so ranks can be simulated apart from each other.

pub mod check;
pub mod collectives;
mod course;
pub mod graph;
pub mod job;
pub mod leap;
pub mod loggp;
pub mod machine;
mod state;

pub use check::Fault;
pub use collectives::{Algorithm, Collective, Kind};
pub use course::Shares;
pub use graph::{BYTES_MAX, Graph, NONE, OPS_MAX, Op, Pages, Work};
pub use job::{Inner, Job, Jobs, Message, Overheads};
pub use leap::{Leap, Stood, unfold};
pub use machine::{Action, Input, Log, Machine, OpTimes, SPAN_MAX};
