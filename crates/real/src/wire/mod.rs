//! Bytes and structs: one format per file, its byte map in the header comment.
//!
//! ```text
//!   bytes --- X::parse ---> X     rejects frames that are too short, unknown or fail their checksum; ignores reserved bits
//!   bytes <-- X::emit ----- X     sends reserved bits as zero; refuses a field that does not fit
//!
//!   ethernet - vlan -+- mac_control   PAUSE, PFC                       IEEE 802.3, 802.1Q
//!                    +- ipv4, ipv6 -- ecn   two bits, read and rewritten     RFC 3168, TCD Table 1
//!                    +- local -+- gfc, cbfc, pffc, test_frame, link_retry   ours, EtherType 0x88B5
//! ```
//!
//! Where payload or options vary in length there is a checked view of the bytes (`Frame`,
//! `Packet`), whose accessors cannot fail, next to the parsed `Repr`. Nothing here allocates,
//! trusts a length it reads, or panics on any input. All fields are big-endian, "network order",
//! unless a byte map says otherwise; its first column is the offset, the second the length [bytes].
//!
//! This crate knows no mechanism: the effect of a message on a port is in the crate `mech`.

#![forbid(unsafe_code)]

pub mod cbfc;
mod checksum;
pub mod control;
pub mod ecn;
mod error;
pub mod ethernet;
pub mod gfc;
pub mod ipv4;
pub mod ipv6;
pub mod link_retry;
pub mod local;
pub mod mac_control;
pub mod pffc;
pub mod test_frame;
pub mod vlan;

pub use checksum::{crc32, internet, internet_update};
pub use error::{Malformed, Unfit};
