//! Explicit congestion notification: two bits of every IP header, with two readings.
//!
//! ```text
//!   bits   RFC 3168, section 5        TCD (SIGCOMM 2021), Table 1
//!   00     Not-ECT                    not TCD-capable transport
//!   01     ECT(1)                     TCD-capable transport
//!   10     ECT(0)                     UE, undetermined encountered
//!   11     CE                         CE, congestion encountered
//!
//!   IPv4: bits 1-0 of byte 1 (bits 7-2: DSCP), covered by the header checksum    IPv6: bits 5-4 of byte 1, no checksum
//! ```
//!
//! The readings collide: most hosts send ECT(0), which a TCD port would take for UE. A network uses
//! one of the two.

use crate::wire::ethernet::{IPV4, IPV6};
use crate::wire::{Malformed, ipv4, ipv6, vlan};

/// The two bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ecn(u8);

impl Ecn {
    /// 00: the transport understands no marks, and gets none.
    pub const NOT_CAPABLE: Ecn = Ecn(0b00);
    /// 01, RFC 3168: capable, the rarer of the two code points.
    pub const ECT_1: Ecn = Ecn(0b01);
    /// 01, TCD: capable.
    pub const TCD_CAPABLE: Ecn = Ecn(0b01);
    /// 10, TCD: the packet met a port in the undetermined state.
    pub const UE: Ecn = Ecn(0b10);
    /// 11, in both: the packet met congestion.
    pub const CE: Ecn = Ecn(0b11);

    /// From the two lowest bits; the others, DSCP in a traffic class, are left out.
    pub fn new(bits: u8) -> Ecn {
        Ecn(bits & 0b11)
    }

    /// The two bits, 0 to 3.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// After a congested port, in both readings: CE if the transport is capable (RFC 3168, section
    /// 5; TCD, section 4.1).
    #[must_use]
    pub fn with_ce(self) -> Ecn {
        if self == Ecn::NOT_CAPABLE { self } else { Ecn::CE }
    }

    /// After an undetermined port, in TCD's reading: UE if the transport is capable, but never over
    /// CE (TCD, section 4.1).
    #[must_use]
    pub fn with_ue(self) -> Ecn {
        if self == Ecn::TCD_CAPABLE { Ecn::UE } else { self }
    }
}

/// The bits of the IP header in an Ethernet frame with at most two VLAN tags; `None` where it
/// carries no IP.
pub fn of_frame(frame: &[u8]) -> Result<Option<Ecn>, Malformed> {
    let (ether_type, at) = vlan::inner(frame)?;
    match ether_type {
        IPV4 => Ok(Some(ipv4::Packet::new(&frame[at..])?.ecn())),
        IPV6 => Ok(Some(ipv6::Packet::new(&frame[at..])?.ecn())),
        _ => Ok(None),
    }
}

/// Rewrites the bits of the IP header in an Ethernet frame; returns them as they were, `None` where
/// it carries no IP.
///
/// An ICRC or a UDP checksum does not cover these bits, so this is all there is to change.
pub fn rewrite_frame(
    frame: &mut [u8],
    change: impl FnOnce(Ecn) -> Ecn,
) -> Result<Option<Ecn>, Malformed> {
    let (ether_type, at) = vlan::inner(frame)?;
    match ether_type {
        IPV4 => ipv4::rewrite_ecn(&mut frame[at..], change).map(Some),
        IPV6 => ipv6::rewrite_ecn(&mut frame[at..], change).map(Some),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TCD, section 4.1: UE only if the code point is not CE; CE whenever the port is congested; 00
    /// takes no mark.
    #[test]
    fn marks_follow_table_1() {
        let after = |f: fn(Ecn) -> Ecn| [0, 1, 2, 3].map(|bits| f(Ecn::new(bits)).bits());
        assert_eq!(after(Ecn::with_ue), [0, 2, 2, 3]);
        assert_eq!(after(Ecn::with_ce), [0, 3, 3, 3]);
    }
}
