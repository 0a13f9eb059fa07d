//! The simulator's nodes on real frames.
//!
//! ```text
//!   wire      bytes of each message                          no system call, no allocation
//!   netio     Ethernet ports, captures, namespaces           Linux; all `unsafe` code is in `netio::sys`
//!   switchd   codec, forwarding, a world in real time        no socket, no clock but what is given to it
//!   testbed   scenarios on ports: veth pairs, processes, replays, comparisons
//!   export    frames of a simulated run as a capture
//! ```
//!
//! Linux has all of it. Other systems have captures and their replay, without ports.

// Elsewhere than on Linux there are no ports: only captures are written and replayed.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

pub mod export;
pub mod netio;
pub mod switchd;
pub mod testbed;
pub mod wire;
