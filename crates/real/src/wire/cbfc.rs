//! Credit messages: InfiniBand's flow control packet (IBA volume 1, section 7.9.4), and a wide one
//! for Ethernet.
//!
//! ```text
//!   link packet (IBA)                                  bit 15 of a word is its first on the wire
//!    0   2  bits 15-12 Op          0 normal, 1 initialise; others are refused
//!           bits 11-0  FCTBS       blocks sent since the link came up, mod 4096
//!    2   2  bits 15-12 VL          virtual lane
//!           bits 11-0  FCCL        blocks that may have been sent in all, mod 4096
//!    4   2  LPCRC                  CRC-16, polynomial 0x100B, over bytes 0 to 3; low byte first
//!    6
//!
//!   12-bit on Ethernet (ours)      64-bit on Ethernet (ours)
//!    0   4  header, subtype 2       0   4  header of 0x88B5, subtype 3
//!    4   6  link packet, unchanged  4   1  Op, as above
//!   10                              5   1  bits 3-0 VL or priority, bits 7-4 reserved
//!                                   6   2  reserved
//!                                   8   8  FCTBS
//!                                  16   8  FCCL
//!                                  24   8  occupied [bytes]: for time-based GFC, which asks how full the buffer is
//!                                  32
//! ```
//!
//! A block has 64 bytes; a packet counts in whole blocks. With 12 bits at most 2048 blocks can be
//! granted, 131,072 bytes per virtual lane; that is why there is a wide variant. The counters are
//! absolute, so a lost message is repaired by the next one, and lost frames by FCTBS, which
//! replaces the receiver's own count.
//!
//! The layout was checked against a public hardware model, not against the standard; that the LPCRC
//! is computed like the VCRC is from general knowledge of it.

use crate::wire::checksum::crc16_ib;
use crate::wire::error::{fits, put, room, take, u16_at, u64_at};
use crate::wire::local::{self, Subtype};
use crate::wire::{Malformed, Unfit};

/// Reason for sending the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The link is up.
    Normal = 0,
    /// The link is being initialised; counters start.
    Init = 1,
}

impl Op {
    fn from_bits(bits: u8) -> Result<Op, Malformed> {
        match bits {
            0 => Ok(Op::Normal),
            1 => Ok(Op::Init),
            found => Err(Malformed::Value {
                field: "Op of a credit message",
                found: found.into(),
                expected: "0 or 1",
            }),
        }
    }
}

/// InfiniBand's flow control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPacket {
    /// Normal or initialising.
    pub op: Op,
    /// Blocks that its sender has sent on this virtual lane, mod 4096 [64 bytes].
    pub fctbs: u16,
    /// Virtual lane, 0 to 15; 15, management, has no credits.
    pub vl: u8,
    /// Blocks that its receiver may have sent on this virtual lane, mod 4096 [64 bytes].
    pub fccl: u16,
}

impl LinkPacket {
    /// Length [bytes].
    pub const LEN: usize = 6;
    /// Length on Ethernet, without padding [bytes].
    pub const LOCAL_LEN: usize = local::HEADER + LinkPacket::LEN;

    /// Reads a link packet and checks its LPCRC.
    pub fn parse(bytes: &[u8]) -> Result<LinkPacket, Malformed> {
        let b = take("flow control packet", bytes, LinkPacket::LEN)?;
        let (found, expected) = (u16::from_le_bytes([b[4], b[5]]), crc16_ib(&b[..4]));
        if found != expected {
            return Err(Malformed::Checksum {
                field: "LPCRC",
                found: found.into(),
                expected: expected.into(),
            });
        }
        Ok(LinkPacket {
            op: Op::from_bits(b[0] >> 4)?,
            fctbs: u16_at(b, 0) & 0xFFF,
            vl: b[2] >> 4,
            fccl: u16_at(b, 2) & 0xFFF,
        })
    }

    /// Writes a link packet with its LPCRC; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        fits("FCTBS", self.fctbs, 0xFFF)?;
        fits("VL", self.vl, 15)?;
        fits("FCCL", self.fccl, 0xFFF)?;
        let out = room("flow control packet", out, LinkPacket::LEN)?;
        put(out, 0, ((self.op as u16) << 12 | self.fctbs).to_be_bytes());
        put(out, 2, (u16::from(self.vl) << 12 | self.fccl).to_be_bytes());
        put(out, 4, crc16_ib(&out[..4]).to_le_bytes());
        Ok(LinkPacket::LEN)
    }

    /// Reads the payload after EtherType 0x88B5.
    pub fn parse_local(bytes: &[u8]) -> Result<LinkPacket, Malformed> {
        LinkPacket::parse(
            &Subtype::Credit12.expect("12-bit credit", bytes, LinkPacket::LOCAL_LEN)?
                [local::HEADER..],
        )
    }

    /// Writes the payload after EtherType 0x88B5, without padding; returns its length.
    pub fn emit_local(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        let out = room("12-bit credit", out, LinkPacket::LOCAL_LEN)?;
        Subtype::Credit12.put(out);
        self.emit(&mut out[local::HEADER..])?;
        Ok(LinkPacket::LOCAL_LEN)
    }
}

/// A credit message with 64-bit counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide {
    /// Normal or initialising.
    pub op: Op,
    /// Virtual lane or priority, 0 to 15.
    pub vl: u8,
    /// Blocks that its sender has sent [64 bytes].
    pub fctbs: u64,
    /// Blocks that its receiver may have sent [64 bytes].
    pub fccl: u64,
    /// Occupancy of the buffer when the message was made [bytes].
    pub occupied: u64,
}

impl Wide {
    /// Length without padding [bytes].
    pub const LEN: usize = 32;

    /// Reads the payload after EtherType 0x88B5.
    pub fn parse(bytes: &[u8]) -> Result<Wide, Malformed> {
        let b = Subtype::Credit64.expect("64-bit credit", bytes, Wide::LEN)?;
        Ok(Wide {
            op: Op::from_bits(b[4])?,
            vl: b[5] & 15,
            fctbs: u64_at(b, 8),
            fccl: u64_at(b, 16),
            occupied: u64_at(b, 24),
        })
    }

    /// Writes the payload after EtherType 0x88B5, without padding; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        fits("VL", self.vl, 15)?;
        let out = room("64-bit credit", out, Wide::LEN)?;
        Subtype::Credit64.put(out);
        (out[4], out[5]) = (self.op as u8, self.vl);
        put(out, 8, self.fctbs.to_be_bytes());
        put(out, 16, self.fccl.to_be_bytes());
        put(out, 24, self.occupied.to_be_bytes());
        Ok(Wide::LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_link_packet() {
        let m = LinkPacket { op: Op::Init, fctbs: 0x234, vl: 5, fccl: 0x678 };
        let mut out = [0; 6];
        assert_eq!(m.emit(&mut out), Ok(6));
        assert_eq!(out[..4], [0x12, 0x34, 0x56, 0x78]);
        assert_eq!(LinkPacket::parse(&out), Ok(m));
        out[5] ^= 1;
        assert!(matches!(LinkPacket::parse(&out), Err(Malformed::Checksum { field: "LPCRC", .. })));
        assert!(LinkPacket { fccl: 4096, ..m }.emit(&mut out).is_err());
        // An Op that IBA reserves, with a right LPCRC.
        let crc = crc16_ib(&[0x20, 0, 0, 0]).to_le_bytes();
        assert!(matches!(
            LinkPacket::parse(&[0x20, 0, 0, 0, crc[0], crc[1]]),
            Err(Malformed::Value { found: 2, .. })
        ));
    }

    #[test]
    fn the_wide_message_byte_by_byte() {
        let m = Wide {
            op: Op::Normal,
            vl: 3,
            fctbs: 1 << 40,
            fccl: (1 << 40) + 4096,
            occupied: 300_000,
        };
        let mut out = [0xEE; 32];
        assert_eq!(m.emit(&mut out), Ok(32));
        assert_eq!(out[..16], [0x78, 0x6F, 1, 3, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!(out[16..], [0, 0, 1, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 4, 0x93, 0xE0]);
        assert_eq!(Wide::parse(&out), Ok(m));
        assert!(Wide { vl: 16, ..m }.emit(&mut out).is_err());
    }
}
