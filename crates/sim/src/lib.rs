//! The simulator: events, links, probes, checkers, the deadlock watch.
//!
//! ```text
//!   Model + Topology + Flows -- World::build --> World -- run --> Outcome
//!                                                  |
//!                                   Recorder (rows), Watch (deadlocks), Checks (promises kept)
//! ```
//!
//! The nodes are the sans-IO switch and NIC of the node crate; [`World`] is their environment with virtual time.

mod checks;
mod core;
mod cut_through;
mod event;
mod fault;
mod flows;
mod histogram;
mod ideal;
mod lone;
mod loops;
mod lost;
mod memory;
mod model;
mod outcome;
mod part;
mod probe;
mod queue;
mod split;
mod stops;
mod watch;
mod ways;
mod world;

pub use checks::{Violation, ViolationKind};
pub use core::CoinSource;
pub use cut_through::stored_and_forwarded;
pub use event::EventOrder;
pub use fault::{Faults, LinkFailure, Losses, TurnOrder};
pub use flows::FlowRecord;
pub use histogram::{Looks, QueueCounts};
pub use lone::{Lone, ideal_time};
pub use lost::{FrameCount, LostFrames};
pub use memory::{BYTES_PER_FRAME, BYTES_PER_IDLE_PORT, Memory};
pub use model::{Model, NicModel, WayFacts, WayFactsOf};
pub use outcome::{Ended, Outcome, PortNotices, PortTotals};
pub use probe::{Probes, RateSource, Recorder, Row, Selection};
pub use queue::{EventQueue, Pending, QueueTrace, Replayed};
pub use watch::{Deadlock, StuckPort};
pub use world::{FOREIGN, Leaving, NO_PORT, PAYS_WINDOW, PortNow, World, classes_in_use};
pub use xoff_node::Moment;
