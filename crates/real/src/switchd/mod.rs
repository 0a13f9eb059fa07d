//! The simulator's nodes on real Ethernet ports, in real time.
//!
//! ```text
//!            netio::Port              Machine                      sim::World
//!   wire --> bytes ---> codec / forwarding ---> enter(at) ---> switches and NICs, as in any simulation
//!   wire <-- bytes <--- codec / departures <--- leaving() <--+
//!                            ^
//!                          Clock: the time of the world
//! ```
//!
//! There is no second implementation of a switch. A world with links to the outside gets the time
//! and the frames, and its actions depend on nothing else. [`replay`] proves that: with the frames
//! of a capture, at the same times, a world in virtual time sends the same frames at the same times.

mod classify;
mod clock;
mod codec;
mod formats;
mod forwarding;
mod machine;
mod record;
mod replay;
#[cfg(target_os = "linux")]
mod runner;
mod sequence;

pub use clock::{Clock, Gaps};
pub use codec::{Decoded, Refused, decode, encode, mac};
pub use formats::{Carrier, FORMATS, Format, Terms, blocks, format_of};
pub use forwarding::Forwarding;
pub use machine::{Counters, Link, Machine, MachineConfig, Outage};
pub use record::Tap;
pub use replay::{Captured, Replayed, replay};
#[cfg(target_os = "linux")]
pub use runner::{Attached, Ended, Live, LiveError, Now, RunnerConfig};
