//! Large scale (GFC section 6.2.3): Table 1 and Figs. 15 to 19.
//!
//! ```text
//!   networks --filter--> with a cycle ----> search for deadlocks --> deadlock cases --> performance (Figs. 16b, 17b, 18)
//!       |                                   (Table 1)
//!       +--------------> without a cycle -> performance (Figs. 16a, 17a), messages (Fig. 19)
//! ```
//!
//! Every network and flow control is a job of its own, so that neither the number of threads nor an interruption changes a
//! result. Failures and routes follow from the network, the traffic from the network and the repetition: cases of
//! different networks are independent.

pub mod fig15;
pub mod fig18;
pub mod fig19;
pub mod job;
pub mod meter;
pub mod network;
pub mod performance;
mod sizes;
pub mod stats;
mod study;
pub mod sweep;
pub mod tab1;
#[cfg(test)]
mod tests;

pub use job::Scheme;
pub use sizes::{DURATION_US, Effort, LONG_US, SIZE_MAX, Sizes};
pub use study::{Case, Chatter, LargeScale, Messages, Parts, Search};

/// Assumption behind a deadlock.
use super::schemes::FIFO;

/// Assumption behind another choice of a path.
const ECMP: &str = "each flow takes one of several shortest paths by hash (the paper says shortest path first); host links never fail";

/// Assumption behind the choice of a path.
const LOWEST_ID: &str = "of several shortest paths each flow takes the one through the next hop with the lowest number (the paper says shortest path first); host links never fail";
