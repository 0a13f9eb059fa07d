//! IPv4 header (RFC 791): fields for marking, and for sending a packet.
//!
//! ```text
//!    0   1  bits 7-4 version 4    bits 3-0 IHL: length of the header [4 bytes], 5 to 15
//!    1   1  bits 7-2 DSCP         bits 1-0 ECN
//!    2   2  total length [bytes], header included; the rest is Ethernet padding
//!    4   2  identification
//!    6   2  bit 15 reserved, bit 14 don't fragment, bit 13 more fragments, bits 12-0 fragment offset [8 bytes]
//!    8   1  time to live
//!    9   1  protocol
//!   10   2  header checksum (RFC 1071)
//!   12   4  source
//!   16   4  destination
//!   20      options up to the length of the header
//! ```
//!
//! [`Repr`] writes no options and is no fragment. Reading skips options; [`Packet`] also takes
//! fragments, which are marked like others.

use std::net::Ipv4Addr;

use crate::wire::checksum::{finish, internet, internet_update, sum};
use crate::wire::ecn::Ecn;
use crate::wire::error::{array, fits, put, room, take, u16_at};
use crate::wire::{Malformed, Unfit};

const FORMAT: &str = "IPv4 header";
const DONT_FRAGMENT: u16 = 0x4000;
/// More fragments, and the offset.
const FRAGMENT: u16 = 0x3FFF;

/// A checked view: version, and lengths that agree with each other and with the bytes. The checksum
/// is not checked.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a>(&'a [u8]);

impl<'a> Packet<'a> {
    /// Checks version and lengths; padding behind the packet is cut off.
    pub fn new(bytes: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        let b = take(FORMAT, bytes, Repr::LEN)?;
        if b[0] >> 4 != 4 {
            return Err(Malformed::Value {
                field: "IPv4 version",
                found: (b[0] >> 4).into(),
                expected: "4",
            });
        }
        let (header, total) = (usize::from(b[0] & 15) * 4, usize::from(u16_at(b, 2)));
        if header < Repr::LEN {
            return Err(Malformed::Value {
                field: "IPv4 header length",
                found: header as u64,
                expected: "20 to 60",
            });
        }
        if total < header {
            return Err(Malformed::Value {
                field: "IPv4 total length",
                found: total as u64,
                expected: "no less than the header",
            });
        }
        take("IPv4 packet", bytes, total).map(Packet)
    }

    /// Length of the header with its options [bytes].
    pub fn header_len(&self) -> usize {
        usize::from(self.0[0] & 15) * 4
    }

    /// Differentiated services code point, 6 bits.
    pub fn dscp(&self) -> u8 {
        self.0[1] >> 2
    }

    /// The two bits of ECN.
    pub fn ecn(&self) -> Ecn {
        Ecn::new(self.0[1])
    }

    /// Is it one piece of several?
    pub fn is_fragment(&self) -> bool {
        u16_at(self.0, 6) & FRAGMENT != 0
    }

    /// Protocol of the payload.
    pub fn protocol(&self) -> u8 {
        self.0[9]
    }

    /// Source address.
    pub fn source(&self) -> Ipv4Addr {
        array(self.0, 12).into()
    }

    /// Destination address.
    pub fn destination(&self) -> Ipv4Addr {
        array(self.0, 16).into()
    }

    /// Compares the checksum with the header.
    pub fn check(&self) -> Result<(), Malformed> {
        let found = u16_at(self.0, 10);
        let header = &self.0[..self.header_len()];
        if internet(header) == 0 {
            return Ok(());
        }
        let expected = finish(sum(sum(0, &header[..10]), &header[12..]));
        Err(Malformed::Checksum {
            field: "IPv4 header checksum",
            found: found.into(),
            expected: expected.into(),
        })
    }

    /// Bytes after the header, without Ethernet's padding.
    pub fn payload(&self) -> &'a [u8] {
        &self.0[self.header_len()..]
    }
}

/// The header of a whole packet, without options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// The two bits of ECN.
    pub ecn: Ecn,
    /// Number that the fragments of a packet share.
    pub identification: u16,
    /// Routers may not cut it into fragments.
    pub dont_fragment: bool,
    /// Time to live [hops].
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: u8,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Length of the payload [bytes]; header and payload have at most 65535.
    pub payload_len: u16,
}

impl Repr {
    /// Length of the header without options [bytes].
    pub const LEN: usize = 20;

    /// Reads the header of a whole packet and checks its checksum.
    pub fn parse(bytes: &[u8]) -> Result<Repr, Malformed> {
        let p = Packet::new(bytes)?;
        p.check()?;
        if p.is_fragment() {
            let found = (u16_at(p.0, 6) & FRAGMENT).into();
            return Err(Malformed::Value {
                field: "IPv4 fragment field",
                found,
                expected: "0: a whole packet",
            });
        }
        Ok(Repr {
            dscp: p.dscp(),
            ecn: p.ecn(),
            identification: u16_at(p.0, 4),
            dont_fragment: u16_at(p.0, 6) & DONT_FRAGMENT != 0,
            ttl: p.0[8],
            protocol: p.protocol(),
            source: p.source(),
            destination: p.destination(),
            payload_len: p.payload().len() as u16,
        })
    }

    /// Writes the header with its checksum; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        const PAYLOAD_MAX: u16 = u16::MAX - Repr::LEN as u16;
        fits("DSCP", self.dscp, 63)?;
        fits("IPv4 payload length", self.payload_len, PAYLOAD_MAX.into())?;
        let out = room(FORMAT, out, Repr::LEN)?;
        (out[0], out[1]) = (0x45, self.dscp << 2 | self.ecn.bits());
        put(out, 2, (Repr::LEN as u16 + self.payload_len).to_be_bytes());
        put(out, 4, self.identification.to_be_bytes());
        put(out, 6, if self.dont_fragment { DONT_FRAGMENT } else { 0 }.to_be_bytes());
        (out[8], out[9]) = (self.ttl, self.protocol);
        put(out, 12, self.source.octets());
        put(out, 16, self.destination.octets());
        put(out, 10, internet(out).to_be_bytes());
        Ok(Repr::LEN)
    }
}

/// Rewrites ECN in the header that `packet` begins with and updates its checksum incrementally (RFC
/// 1624); returns it as it was.
pub fn rewrite_ecn(packet: &mut [u8], change: impl FnOnce(Ecn) -> Ecn) -> Result<Ecn, Malformed> {
    let before = Packet::new(packet)?.ecn();
    let (old, sum) = (u16_at(packet, 0), u16_at(packet, 10));
    let new = old & !0b11 | u16::from(change(before).bits());
    put(packet, 0, new.to_be_bytes());
    put(packet, 10, internet_update(sum, old, new).to_be_bytes());
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header whose checksum is known: the example of the encyclopedias, 0xB861.
    const HEADER: [u8; 20] = [
        0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xB8, 0x61, 0xC0, 0xA8, 0, 0x01, 0xC0, 0xA8,
        0, 0xC7,
    ];

    fn packet() -> [u8; 115] {
        let mut bytes = [0; 115];
        bytes[..20].copy_from_slice(&HEADER);
        bytes
    }

    #[test]
    fn a_known_header() {
        let r = Repr::parse(&packet()).unwrap();
        assert_eq!((r.payload_len, r.ttl, r.protocol, r.dont_fragment), (95, 64, 17, true));
        let mut out = [0xEE; 20];
        assert_eq!(r.emit(&mut out), Ok(20));
        assert_eq!(out, HEADER);
        assert!(
            Repr { payload_len: 65_516, ..r }.emit(&mut out).is_err()
                && Repr { dscp: 64, ..r }.emit(&mut out).is_err()
        );
    }

    #[test]
    fn a_wrong_checksum_is_reported_with_the_right_one() {
        let mut bytes = packet();
        bytes[10] = 0;
        let error =
            Malformed::Checksum { field: "IPv4 header checksum", found: 0x61, expected: 0xB861 };
        assert_eq!(Repr::parse(&bytes), Err(error));
        // Marking keeps the damage visible.
        rewrite_ecn(&mut bytes, |_| Ecn::CE).unwrap();
        assert!(Packet::new(&bytes).unwrap().check().is_err());
    }

    /// The incremental checksum is the computed one, for every change of the bits and every value
    /// of another word.
    #[test]
    fn ecn_is_rewritten_with_its_checksum() {
        let (mut out, mut anew) = ([0; 20], [0; 20]);
        let r = Repr { payload_len: 0, ..Repr::parse(&packet()).unwrap() };
        for identification in 0..=u16::MAX {
            for change in 0..16 {
                let (from, to) = (Ecn::new(change), Ecn::new(change >> 2));
                Repr { identification, ecn: from, ..r }.emit(&mut out).unwrap();
                assert_eq!(rewrite_ecn(&mut out, |_| to), Ok(from));
                Repr { identification, ecn: to, ..r }.emit(&mut anew).unwrap();
                assert_eq!(out, anew);
            }
        }
    }

    #[test]
    fn lengths_are_not_trusted() {
        let with = |at: usize, b: u8| {
            let mut bytes = packet();
            bytes[at] = b;
            Packet::new(&bytes).map(|p| p.payload().len())
        };
        assert_eq!(with(0, 0x46), Ok(91));
        assert!(with(0, 0x44).is_err() && with(0, 0x65).is_err());
        assert!(with(3, 19).is_err());
        assert_eq!(
            with(3, 116),
            Err(Malformed::Short { format: "IPv4 packet", needed: 116, got: 115 })
        );
    }
}
