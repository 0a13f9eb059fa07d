//! Real Ethernet ports and their surroundings. Linux only; independent of switches.
//!
//! ```text
//!   interface (exists, up, MTU, offloads) --checks--> PacketPort --+
//!   /dev/net/tun ----------------------------------> TapPort ------+-- Port: receive, send, flush, counters
//!   nothing at all --------------------------------> MemoryPort ---+     |
//!                                                                        +-- wait, nap     idle without a busy core
//!   sandbox      a network of one's own without being root               +-- capture       pcapng, written and read
//!   privileges   given up once the ports are open                        +-- metrics       numbers for Prometheus
//! ```
//!
//! A frame is everything between preamble and check sequence: addresses, VLAN tags in line,
//! EtherType, payload. All `unsafe` code is in `sys`, each block with its reason.

#![deny(unsafe_code)]

mod capture;
mod checksum;
mod error;
#[cfg(not(target_family = "wasm"))]
mod http;
#[cfg(target_os = "linux")]
pub mod interface;
mod memory;
#[cfg(not(target_family = "wasm"))]
mod metrics;
#[cfg(target_os = "linux")]
mod packet;
mod port;
#[cfg(target_os = "linux")]
pub mod privileges;
mod queue;
#[cfg(target_os = "linux")]
pub mod sandbox;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod sys;
#[cfg(target_os = "linux")]
mod tap;
#[cfg(target_os = "linux")]
mod wait;

pub use capture::Whole;
pub use capture::{Capture, CaptureOptions, CaptureReader, Captured, Direction};
pub use error::OpenError;
#[cfg(not(target_family = "wasm"))]
pub use http::{HttpAnswer, HttpRequest, HttpServer};
pub use memory::{MemoryPort, pair};
#[cfg(not(target_family = "wasm"))]
pub use metrics::MetricsServer;
#[cfg(target_os = "linux")]
pub use packet::{PacketOptions, PacketPort};
pub use port::{Carrier, Port, PortCounters};
#[cfg(target_os = "linux")]
pub use tap::TapPort;
#[cfg(target_os = "linux")]
pub use wait::wait;
