//! CNM: congestion notification message of QCN (IEEE 802.1Q, clause 33; 802.1Qau), and the tag that
//! distinguishes a source's flows.
//!
//! ```text
//!   behind the addresses and the VLAN tag of the sampled frame, returned to its sender
//!      CN-TAG: EtherType 0x22E9 | 2 flow identifier (RPID); copied from the sampled frame, if it had one
//!      CNM:    EtherType 0x22E7 | PDU
//!
//!   PDU
//!    0   2  bits 15-12 version 0    bits 11-6 reserved    bits 5-0 quantised feedback
//!    2   8  CPID, congestion point identifier
//!   10   2  cnmQOffset [64 bytes], two's complement
//!   12   2  cnmQDelta [64 bytes], two's complement
//!   14   2  bits 15-13 priority of the sampled frame    bits 12-0 reserved
//!   16   6  destination of the sampled frame
//!   22   2  length of the rest [bytes], 0 to 64
//!   24      first bytes of the sampled frame's MSDU
//! ```
//!
//! Order and lengths were checked against vendors' manuals. That the priority is in the top three
//! bits of its two bytes is from general knowledge of the standard. The standard's signs are those
//! of Q_eq - Q, negative when congested; the crate `mech` has RZ 3880's, the opposite: negate its
//! values.

use crate::wire::error::{fits, put, room, take, u16_at, u64_at};
use crate::wire::ethernet::Mac;
use crate::wire::{Malformed, Unfit};

/// EtherType of a CNM.
pub const ETHER_TYPE: u16 = 0x22E7;
/// EtherType of the tag.
pub const CN_TAG: u16 = 0x22E9;
/// Most bytes of the sampled frame that a CNM carries.
pub const MSDU_MAX: usize = 64;

/// Contents of a CNM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// Quantised feedback, 0 to 63.
    pub feedback: u8,
    /// Congestion point identifier: unique in the network.
    pub cpid: u64,
    /// cnmQOffset [64 bytes].
    pub q_offset: i16,
    /// cnmQDelta [64 bytes].
    pub q_delta: i16,
    /// Priority of the sampled frame, 0 to 7.
    pub priority: u8,
    /// Destination of the sampled frame.
    pub destination: Mac,
    /// First bytes of its MSDU, at most 64.
    pub msdu: &'a [u8],
}

impl<'a> Repr<'a> {
    /// Length without MSDU [bytes].
    pub const LEN: usize = 24;

    /// Reads the payload after EtherType 0x22E7.
    pub fn parse(bytes: &'a [u8]) -> Result<Repr<'a>, Malformed> {
        let b = take("CNM", bytes, Repr::LEN)?;
        if b[0] >> 4 != 0 {
            return Err(Malformed::Value {
                field: "CNM version",
                found: (b[0] >> 4).into(),
                expected: "0",
            });
        }
        let len = usize::from(u16_at(b, 22));
        if len > MSDU_MAX {
            return Err(Malformed::Value {
                field: "CNM MSDU length",
                found: len as u64,
                expected: "0 to 64",
            });
        }
        let msdu = &take("CNM with its MSDU", bytes, Repr::LEN + len)?[Repr::LEN..];
        Ok(Repr {
            feedback: b[1] & 0x3F,
            cpid: u64_at(b, 2),
            q_offset: u16_at(b, 10) as i16,
            q_delta: u16_at(b, 12) as i16,
            priority: b[14] >> 5,
            destination: Mac(crate::wire::error::array(b, 16)),
            msdu,
        })
    }

    /// Writes the payload after EtherType 0x22E7, without padding; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        fits("CNM feedback", self.feedback, 63)?;
        fits("CNM priority", self.priority, 7)?;
        fits("CNM MSDU length", self.msdu.len() as u64, MSDU_MAX as u64)?;
        let len = Repr::LEN + self.msdu.len();
        let out = room("CNM", out, len)?;
        out[1] = self.feedback;
        put(out, 2, self.cpid.to_be_bytes());
        put(out, 10, self.q_offset.to_be_bytes());
        put(out, 12, self.q_delta.to_be_bytes());
        out[14] = self.priority << 5;
        put(out, 16, self.destination.0);
        put(out, 22, (self.msdu.len() as u16).to_be_bytes());
        out[Repr::LEN..].copy_from_slice(self.msdu);
        Ok(len)
    }
}

/// The CN-TAG: EtherType and flow identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Number of a frame's flow among the rate-limited flows of its sender (RPID).
    pub flow: u16,
}

impl Tag {
    /// Length with its EtherType [bytes].
    pub const LEN: usize = 4;

    /// Reads a tag, beginning with its EtherType.
    pub fn parse(bytes: &[u8]) -> Result<Tag, Malformed> {
        let b = take("CN-TAG", bytes, Tag::LEN)?;
        match u16_at(b, 0) {
            CN_TAG => Ok(Tag { flow: u16_at(b, 2) }),
            found => Err(Malformed::Value {
                field: "EtherType of a CN-TAG",
                found: found.into(),
                expected: "0x22e9",
            }),
        }
    }

    /// Writes the tag, beginning with its EtherType; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        let out = room("CN-TAG", out, Tag::LEN)?;
        put(out, 0, CN_TAG.to_be_bytes());
        put(out, 2, self.flow.to_be_bytes());
        Ok(Tag::LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_by_byte() {
        let m = Repr {
            feedback: 0x2A,
            cpid: 0x0102_0304_0506_0708,
            q_offset: -781,
            q_delta: 2,
            priority: 3,
            destination: Mac([2, 0, 0, 0, 0, 9]),
            msdu: &[0xAA, 0xBB],
        };
        let mut out = [0xEE; 46];
        assert_eq!(m.emit(&mut out), Ok(26));
        assert_eq!(out[..14], [0, 0x2A, 1, 2, 3, 4, 5, 6, 7, 8, 0xFC, 0xF3, 0, 2]);
        assert_eq!(out[14..26], [0x60, 0, 2, 0, 0, 0, 0, 9, 0, 2, 0xAA, 0xBB]);
        // The reserved bits are ignored; a length is not trusted.
        (out[0], out[1]) = (0x0F, 0xEA);
        assert_eq!(Repr::parse(&out), Ok(m));
        out[23] = 23;
        assert_eq!(
            Repr::parse(&out),
            Err(Malformed::Short { format: "CNM with its MSDU", needed: 47, got: 46 })
        );
        out[23] = 65;
        assert!(matches!(Repr::parse(&out), Err(Malformed::Value { found: 65, .. })));
        assert!(Repr { msdu: &[0; 65], ..m }.emit(&mut [0; 100]).is_err());
        assert!(
            Repr { feedback: 64, ..m }.emit(&mut out).is_err()
                && Repr { priority: 8, ..m }.emit(&mut out).is_err()
        );
    }
}
