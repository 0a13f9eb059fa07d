//! Time, sizes and rates.
//!
//! Everything is an integer: picoseconds, bytes, bits per second. One byte takes exactly 80, 40, 20
//! or 10 ps at 100, 200, 400 or 800 Gb/s. Where a rate does not divide, [`Rate::time_for`] computes
//! the whole frame in 128 bits and rounds up, so a link is never faster than its rate. No other
//! file rounds.
//!
//! Text for people has a space: `10 Gb/s`, `1 us`, `300 KB`. Scenario files and commands have the
//! compact form `10Gbps`, `1us`, `300KB` (`{:#}`). K, M, G are powers of 1000 and Ki, Mi, Gi powers
//! of 1024. A number without a unit is rejected.

extern crate self as xoff_units;

mod grouped;
mod loss;
pub mod measured;
pub mod paged;
pub mod params;
mod parse;
mod place;
mod prefetch;
mod quantity;
pub mod state;

pub use grouped::grouped;
pub use loss::{Fate, Loss, Meaning};
pub use parse::UnitError;
pub use place::{At, Class, FlowId, NodeId, PortId};
pub use quantity::{Bytes, Length, Rate, Span, Time};

mod wire_clock;
pub use prefetch::{prefetch, prefetch_whole};
pub use wire_clock::{WireClock, cut_off, seconds_to_ns};
