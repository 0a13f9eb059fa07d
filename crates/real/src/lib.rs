//! The simulator's nodes on real frames.
//!
//! ```text
//!   wire      bytes of each message                          no system call, no allocation
//!   netio     Ethernet ports, captures, namespaces           Linux; all `unsafe` code is in `netio::sys`
//!   switchd   codec, forwarding, a world in real time        no socket, no clock but what is given to it
//!   testbed   scenarios on ports: veth pairs, processes, replays, comparisons
//!   export    frames of a simulated run as a capture
//! ```

pub mod export;
pub mod netio;
pub mod switchd;
pub mod testbed;
pub mod wire;
