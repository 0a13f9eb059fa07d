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
//!   packet_capture: tcpdump and tshark on a link, independent of all this
//! ```

#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod drive;
#[cfg(target_os = "linux")]
pub mod hosts;
#[cfg(target_os = "linux")]
pub mod metrics;
#[cfg(target_os = "linux")]
pub mod nodes;
#[cfg(target_os = "linux")]
pub mod packet_capture;
#[cfg(target_os = "linux")]
pub mod processes;
#[cfg(target_os = "linux")]
pub mod protocol;
pub mod replay;
pub mod shims;
#[cfg(target_os = "linux")]
mod stack;
#[cfg(target_os = "linux")]
pub mod veth_network;
pub mod wiring;

#[cfg(target_os = "linux")]
pub use compare::{CompareError, Comparison, Side, compare};
#[cfg(target_os = "linux")]
pub use drive::{Drive, DriveError, Look, Next, OutageReport, PortReport, RealReport, drive};
#[cfg(target_os = "linux")]
pub use stack::StackPort;
