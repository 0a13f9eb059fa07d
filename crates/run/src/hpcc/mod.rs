//! Replays an unmodified configuration of the HPCC simulator
//! (alibaba-edu/High-Precision-Congestion-Control, commit 9f4be2a) so that every flow and every
//! pause comes out at the same nanosecond.
//!
//! ```text
//!   HpccCase --(this crate)--> Model + Flows --> World --> fct.txt, pfc.txt, qlen.txt
//! ```
//!
//! The same switch and NIC run as everywhere else; this crate chooses the differences: transmission
//! times cut to whole nanoseconds, events of equal time in insertion order, that simulator's memory
//! rule, hash, acknowledgements and random numbers. Facts were read off its source and its runs;
//! none of its code is used.

mod losses;
mod model;
mod output;
mod random;
mod round_robin;
mod rtt;

pub use model::{Replay, prepare};
pub use output::{Lines, Pfc, fct_line, pfc_line, qlen_block};
pub use rtt::PairTable;

/// Bytes around the payload of a data frame: 14 (PPP header padded to Ethernet's), 20 IPv4, 8 UDP,
/// 6 sequence header. What a rate control adds comes on top, but not in the last column of
/// `fct.txt`.
pub const HEADER: u32 = 48;
/// Bytes of an acknowledgement without the additions of a rate control: 14, 20 IPv4, 12 sequence
/// header. None is shorter than [`ACK_MIN`] on the wire.
pub const ACK_HEADER: u32 = 46;
/// The shortest acknowledgement on the wire [bytes].
pub const ACK_MIN: u32 = 60;
/// A PFC frame on the wire [bytes].
pub const PFC_FRAME: u64 = 43;
