//! UDP header (RFC 768), as far as RoCEv2 needs it.
//!
//! ```text
//!    0   2  source port
//!    2   2  destination port
//!    4   2  length [bytes], this header included
//!    6   2  checksum over a pseudo-header, this header and the payload; 0: not computed
//! ```

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::wire::checksum::{finish, sum};

/// Length of the header [bytes].
pub(crate) const HEADER: usize = 8;
/// IP protocol number.
pub(crate) const PROTOCOL: u8 = 17;

/// Sum of the pseudo-header over IPv4 (RFC 768).
pub(crate) fn pseudo_v4(source: Ipv4Addr, destination: Ipv4Addr, len: usize) -> u64 {
    sum(sum(len as u64 + u64::from(PROTOCOL), &source.octets()), &destination.octets())
}

/// Sum of the pseudo-header over IPv6 (RFC 8200, section 8.1).
pub(crate) fn pseudo_v6(source: Ipv6Addr, destination: Ipv6Addr, len: usize) -> u64 {
    sum(sum(len as u64 + u64::from(PROTOCOL), &source.octets()), &destination.octets())
}

/// Checksum of a datagram whose field holds zero: the value to put in the field, where zero is sent
/// as all ones.
pub(crate) fn checksum(pseudo: u64, datagram: &[u8]) -> u16 {
    match finish(sum(pseudo, datagram)) {
        0 => 0xFFFF,
        checksum => checksum,
    }
}
