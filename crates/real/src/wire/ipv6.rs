//! IPv6 header (RFC 8200): fields for marking, and for sending a packet.
//!
//! ```text
//!    0   4  bits 31-28 version 6    27-22 DSCP    21-20 ECN    19-0 flow label
//!    4   2  payload length [bytes], without this header; the rest is Ethernet padding
//!    6   1  next header: protocol of the payload, or an extension header
//!    7   1  hop limit
//!    8  16  source
//!   24  16  destination
//!   40      extension headers and payload; not looked into
//! ```
//!
//! There is no header checksum, and the pseudo-header of UDP and TCP leaves the traffic class out:
//! marking changes two bits only.

use std::net::Ipv6Addr;

use crate::wire::ecn::Ecn;
use crate::wire::error::{array, fits, put, room, take, u16_at, u32_at};
use crate::wire::{Malformed, Unfit};

/// A checked view: version, and a length that agrees with the bytes.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a>(&'a [u8]);

impl<'a> Packet<'a> {
    /// Checks version and length; padding behind the packet is cut off.
    pub fn new(bytes: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        let b = take("IPv6 header", bytes, Repr::LEN)?;
        if b[0] >> 4 != 6 {
            return Err(Malformed::Value {
                field: "IPv6 version",
                found: (b[0] >> 4).into(),
                expected: "6",
            });
        }
        take("IPv6 packet", bytes, Repr::LEN + usize::from(u16_at(b, 4))).map(Packet)
    }

    /// Differentiated services code point, 6 bits.
    pub fn dscp(&self) -> u8 {
        (u16_at(self.0, 0) >> 6 & 0x3F) as u8
    }

    /// The two bits of ECN.
    pub fn ecn(&self) -> Ecn {
        Ecn::new(self.0[1] >> 4)
    }

    /// Flow label, 20 bits.
    pub fn flow_label(&self) -> u32 {
        u32_at(self.0, 0) & 0xF_FFFF
    }

    /// Protocol of the payload, or of the first extension header.
    pub fn next_header(&self) -> u8 {
        self.0[6]
    }

    /// Source address.
    pub fn source(&self) -> Ipv6Addr {
        array::<16>(self.0, 8).into()
    }

    /// Destination address.
    pub fn destination(&self) -> Ipv6Addr {
        array::<16>(self.0, 24).into()
    }

    /// Bytes after the header, without Ethernet's padding.
    pub fn payload(&self) -> &'a [u8] {
        &self.0[Repr::LEN..]
    }
}

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// The two bits of ECN.
    pub ecn: Ecn,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Length of the rest [bytes].
    pub payload_len: u16,
    /// Protocol of the payload, or of the first extension header.
    pub next_header: u8,
    /// Hop limit [hops].
    pub hop_limit: u8,
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
}

impl Repr {
    /// Length of the header [bytes].
    pub const LEN: usize = 40;

    /// Reads the header of a packet.
    pub fn parse(bytes: &[u8]) -> Result<Repr, Malformed> {
        let p = Packet::new(bytes)?;
        Ok(Repr {
            dscp: p.dscp(),
            ecn: p.ecn(),
            flow_label: p.flow_label(),
            payload_len: p.payload().len() as u16,
            next_header: p.next_header(),
            hop_limit: p.0[7],
            source: p.source(),
            destination: p.destination(),
        })
    }

    /// Writes the header; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        fits("DSCP", self.dscp, 63)?;
        fits("IPv6 flow label", self.flow_label, 0xF_FFFF)?;
        let out = room("IPv6 header", out, Repr::LEN)?;
        let word = 6 << 28
            | u32::from(self.dscp) << 22
            | u32::from(self.ecn.bits()) << 20
            | self.flow_label;
        put(out, 0, word.to_be_bytes());
        put(out, 4, self.payload_len.to_be_bytes());
        (out[6], out[7]) = (self.next_header, self.hop_limit);
        put(out, 8, self.source.octets());
        put(out, 24, self.destination.octets());
        Ok(Repr::LEN)
    }
}

/// Rewrites ECN in the header that `packet` begins with; returns it as it was.
pub fn rewrite_ecn(packet: &mut [u8], change: impl FnOnce(Ecn) -> Ecn) -> Result<Ecn, Malformed> {
    let before = Packet::new(packet)?.ecn();
    packet[1] = packet[1] & !0x30 | change(before).bits() << 4;
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_first_word() {
        let r = Repr {
            dscp: 0b10_1110,
            ecn: Ecn::UE,
            flow_label: 0x12345,
            payload_len: 3,
            next_header: 17,
            hop_limit: 64,
            source: Ipv6Addr::LOCALHOST,
            destination: "2001:db8::2".parse().unwrap(),
        };
        let mut out = [0; 46];
        assert_eq!(r.emit(&mut out), Ok(40));
        assert_eq!(out[..8], [0x6B, 0xA1, 0x23, 0x45, 0, 3, 17, 64]);
        assert_eq!((Repr::parse(&out), Packet::new(&out).unwrap().payload().len()), (Ok(r), 3));
        assert_eq!(rewrite_ecn(&mut out, Ecn::with_ce), Ok(Ecn::UE));
        assert_eq!(
            (out[..2].to_vec(), Repr::parse(&out)),
            (vec![0x6B, 0xB1], Ok(Repr { ecn: Ecn::CE, ..r }))
        );
        assert!(Packet::new(&out[..42]).is_err());
        assert!(Repr { flow_label: 1 << 20, ..r }.emit(&mut out).is_err());
    }
}
