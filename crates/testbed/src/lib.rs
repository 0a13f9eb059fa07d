//! Scenarios on real frames.
//!
//! ```text
//!   Scenario --wiring--> links, tables --+
//!   bed: namespaces, veth pairs ---------+--> drive: World + ports in real time --> the tables of a simulation, RealReport
//!   hosts: stacks behind shims ----------+                |
//!   nodes: ports of a switch or a host --+                |
//!                                                      capture --> replay: the same world in virtual time, frame by frame
//! ```

pub mod bed;
mod drive;
pub mod hosts;
pub mod metrics;
pub mod nodes;
pub mod replay;
pub mod shims;
mod stack;
pub mod wiring;

pub use drive::{Drive, DriveError, Look, Next, PortReport, RealReport, drive};
pub use stack::StackPort;
