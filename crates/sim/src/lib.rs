//! The simulator: events, links, probes, checkers, the deadlock detector.
//!
//! ```text
//!   Model + Topology + Flows -- World::build --> World -- run --> Outcome
//!                                                  |
//!                                   Recorder (rows), deadlock_detector, Checks (promises kept)
//! ```
//!
//! The nodes are the sans-IO switch and NIC of the node crate; [`World`] is their environment with virtual time.

mod calendar;
mod checks;
mod clock;
mod core;
mod cut_through;
mod deadlock_detector;
mod draws;
mod errors;
mod event;
mod fast_forward;
mod fault;
mod flows;
mod given_up;
mod handed_in;
mod histogram;
mod ideal;
mod jobs;
mod last_frames;
mod layout;
mod line;
mod lone;
mod loops;
mod lost;
mod memory;
mod model;
mod monitor;
mod outcome;
mod pack;
mod partition;
mod probe;
mod processes;
mod queue;
mod records;
mod route_cache;
mod routing;
mod rows;
mod split;
mod stops;
mod storms;
mod window_run;
mod windows;
mod world;

pub use calendar::Engine;
pub use checks::{Violation, ViolationKind};
pub use cut_through::stored_and_forwarded;
pub use deadlock_detector::{Deadlock, StuckPort};
pub use draws::RngSource;
pub use errors::{Code, ErrorKind, HitFrames, LinkErrors};
pub use event::EventOrder;
pub use fast_forward::FastForwarded;
pub use fault::{Faults, LinkFailure, Losses, PauseStorm, SlowReceiver, StartOrder};
pub use flows::FlowRecord;
pub use handed_in::News;
pub use histogram::{Looks, QueueCounts};
pub use jobs::RankLog;
pub use lone::{Lone, ideal_time};
pub use lost::{FrameCount, LostFrames, RetryCounts};
pub use memory::{BYTES_PER_FRAME, BYTES_PER_IDLE_PORT, Memory};
pub use model::{Model, NicModel, PathFacts, PathFactsOf, SwitchAt};
pub use outcome::{Ended, Outcome, PortCnms, PortTotals};
pub use probe::{HoldChange, OnWire, PORT_PROBES, PauseChange, PortProbe, Probes, Recorder, Row, Selection};
pub use processes::{Local, Processes, Share, Stopped, agree, local, texts};
pub use queue::{EventQueue, Pending, QueueTrace, Replayed};
pub use storms::Storm;
pub use world::{Leaving, NO_PORT, PAYS_WINDOW, PortNow, PortSample, SLICE, UNKNOWN_SOURCE, Waiter, World, classes_in_use};
pub use xoff_node::{EventKey, PoolUse};
/// Component types of the rows.
pub use xoff_rows::{CauseRow, CnmRow, ControlRow, Direction, MarkRow, Port, QueueRow, RateRow, RateSource, Side, StateRow};
