//! Large scale (GFC section 6.2.3): Table 1 and Figs. 15 to 19.
//!
//! ```text
//!   networks --filter--> with a cycle ----> search for deadlocks --> deadlock cases --> performance (Figs. 16b, 17b, 18)
//!       |                                   (Table 1)
//!       +--------------> without a cycle -> performance (Figs. 16a, 17a), messages (Fig. 19)
//! ```
//!
//! Every network, repetition and flow control is a job of its own whose seeds follow from its name, so that neither the
//! number of threads nor an interruption changes a result.

mod bench;
pub mod job;
pub mod meter;
pub mod network;
pub mod stats;
mod store;
mod study;

pub use study::{Case, Effort, LargeScale, Messages, Search, Sizes};
