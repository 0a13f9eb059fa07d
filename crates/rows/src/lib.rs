//! Tables that a run records, declared once: each table is a row type whose declaration is its
//! schema and its documentation.
//!
//! ```text
//!   table! { /// text  QueueRow in "queues" { /// text  time_ps: u64 ["ps"], ... } }
//!        +-> struct QueueRow        the simulator makes rows
//!        +-> QueueRow::SPEC         record makes columns, docs/tables.md and the list of tables of Python
//!        +-> values, feed           record fills columns and the result hash
//! ```
//!
//! Times are picoseconds since the start of the run, sizes bytes, rates bit/s. A port is directed:
//! `H1->S1` as an egress is H1's queue towards S1, as an ingress it is S1's buffer for frames from
//! H1.

mod cell;
mod fabric;
mod network;
mod spec;
mod words;

pub use cell::{Cell, Label, Message, Node, Port, Value};
pub use fabric::{FABRIC, FabricPortRow, HostFlowRow, Load, WindowRow};
pub use network::{
    CauseRow, CnmRow, CollectiveRow, ControlRow, DeadlockRow, FlowRow, MarkRow, NETWORK,
    OperationRow, PathRow, PauseRow, PoolRow, PortRow, QueueRow, RankRow, RateRow, StateRow,
    StormRow, UplinkRow,
};
pub use spec::{ColumnSpec, Kind, TableRow, TableSpec};
pub use words::{Cause, Direction, Operation, RateSource, Word};
pub use xoff_mech::detection::{Mark, PortState, Side};
pub use xoff_mech::flow_control::StoppedBy;
pub use xoff_mech::watchdog::Action;

/// Every table: of a network, then of a scheduled fabric.
pub fn tables() -> impl Iterator<Item = &'static TableSpec> {
    NETWORK.iter().chain(FABRIC).copied()
}
