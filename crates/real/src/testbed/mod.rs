//! Scenarios on real frames.
//!
//! ```text
//!   Scenario --wiring--> links, tables --+
//!   veth_network: namespaces, pairs -----+--> drive: World + ports in real time --> the tables of a simulation, RealReport
//!   processes: a switch or host process for each node, on the same pairs; protocol: their reports
//!   hosts: stacks behind shims ----------+                |
//!   nodes: ports of a switch or a host --+                |
//!                                                      capture --> replay: the same world in virtual time, frame by frame
//!   a second run, simulated ---------------------> compare: one figure, the differences
//!   hosts + drive, in memory: programs
//!   veth_network + drive, rows in memory: observe <--- packet_capture: tcpdump and tshark, independent of all this
//! ```

mod compare;
mod drive;
pub mod hosts;
pub mod metrics;
pub mod nodes;
mod observe;
pub mod packet_capture;
pub mod processes;
pub mod programs;
pub mod protocol;
pub mod replay;
pub mod shims;
mod stack;
pub mod veth_network;
pub mod wiring;

pub use compare::{CompareError, Comparison, Side, compare};
pub use drive::{Drive, DriveError, Look, Next, OutageReport, PortReport, RealReport, drive};
pub use observe::{Observed, RealError, Run, observe, stood_still};
pub use stack::StackPort;
