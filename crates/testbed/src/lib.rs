//! Scenarios on real frames.
//!
//! ```text
//!   Scenario --wiring--> links, tables --+
//!   bed: namespaces, veth pairs ---------+--> drive: World + ports in real time --> the tables of a simulation, RealReport
//!   ports of a switch or a host ---------+                |
//!                                                      capture --> replay: the same world in virtual time, frame by frame
//! ```

pub mod bed;
mod drive;
pub mod replay;
pub mod wiring;

pub use drive::{Drive, DriveError, Look, PortReport, RealReport, drive};
