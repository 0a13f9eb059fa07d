//! The simulator: events, links, probes, checkers, the deadlock detector.
//!
//! ```text
//!   Model + Topology + Flows -- World::build --> World -- run --> Outcome
//!                                                  |
//!                                   Recorder (rows), deadlock_detector, Checks (promises kept)
//! ```
//!
//! The nodes are the sans-IO switch and NIC of the node crate; [`World`] is their environment with
//! virtual time.
//!
//! ```text
//!   engine         pending events in their order, virtual time
//!   processes      the processes of one run, and their mail
//!   wire           the network between nodes: links, lines, faults, routes
//!   observe        what is counted, recorded and checked
//!   world          nodes, flows and jobs, driven by events
//!   fast_forward   a state that recurs is advanced by whole periods
//!   scheduled      scheduled fabrics, with a world of their own
//! ```

mod engine;
mod fast_forward;
mod observe;
mod processes;
pub mod scheduled;
mod wire;
mod world;

pub use engine::calendar::Engine;
pub use engine::event::EventOrder;
pub use engine::queue::{EventQueue, Pending, QueueTrace, Replayed};
pub use observe::checks::{Violation, ViolationKind};
pub use observe::deadlock_detector::{Deadlock, StuckPort};
pub use observe::flows::{Ahead, FlowRecord};
pub use observe::histogram::{Looks, QueueCounts};
pub use observe::lost::{FrameCount, LostFrames, RetryCounts};
pub use observe::outcome::{Ended, FastForwarded, Outcome, PortCnms, PortTotals, RankLog};
pub use observe::probe::{
    HoldChange, OnWire, PORT_PROBES, PauseChange, PortProbe, Probes, Recorder, Row, Selection,
};
pub use observe::storms::Storm;
pub use processes::{Local, Processes, Share, Stopped, agree, local, texts};
pub use wire::cut_through::stored_and_forwarded;
pub use wire::draws::{BalancingDraws, Fresh, RngSource};
pub use wire::errors::{Code, ErrorKind, HitFrames, LinkErrors};
pub use wire::fault::{Faults, LinkFailure, Losses, PauseStorm, SlowReceiver, StartOrder};
pub use wire::lone::{Lone, ideal_time};
pub use wire::routing::{NO_PORT, UNKNOWN_SOURCE};
pub use world::handed_in::{News, Reached};
pub use world::memory::{BYTES_PER_FRAME, BYTES_PER_IDLE_PORT, Memory};
pub use world::model::{
    Model, NicModel, PathFacts, PathFactsOf, PerLink, SwitchAt, path_facts, way,
};
pub use world::{Leaving, PAYS_WINDOW, PortNow, PortSample, SLICE, Waiter, World, classes_in_use};
pub use xoff_node::{EventKey, PoolUse};
/// Component types of the rows.
pub use xoff_rows::{
    CauseRow, CnmRow, ControlRow, Direction, MarkRow, Port, QueueRow, RateRow, RateSource, Side,
    StateRow,
};
