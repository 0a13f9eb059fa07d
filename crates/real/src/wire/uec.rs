//! CC_Update of Ultra Ethernet's credit-based flow control (UE 1.0, section 5.2.6.2): how many
//! credits a sender has used in all, by virtual channel.
//!
//! ```text
//!    0   6  destination 01-80-C2-00-00-01; an address of its own is possible, here it is not
//!    6   6  source: the sending port
//!   12   2  EtherType 0x8808
//!   14   2  opcode 0xFFFE, extension (IEEE 802.3 annex 31C)
//!   16   3  company identifier FA-7A-CB
//!   19   1  message: 1 virtual channels 0 to 15, 2 virtual channels 16 to 31
//!   20  40  16 counters of 20 bits: credits consumed, mod 2^20
//!   60
//! ```
//!
//! Where each field stands and how long it is was read in a public design of a packet parser that
//! follows that section; the specification itself was not at hand. That the lowest channel comes
//! first, and its highest bit first, is **our reading**: two counters take five bytes. CF_Update
//! and the messages of link-level retry are control ordered sets of 8 bytes, between frames and not
//! frames; the places of their fields were in nothing public, so they have no format here.

use crate::wire::error::{fits, put, room, take, u16_at};
use crate::wire::ethernet::{self, Mac};
use crate::wire::{Malformed, Unfit};

/// Opcode of extensions of MAC control.
pub const OPCODE_EXTENSION: u16 = 0xFFFE;
/// Company identifier of the Ultra Ethernet Consortium.
pub const COMPANY: [u8; 3] = [0xFA, 0x7A, 0xCB];
/// Counters wrap at 2^20.
pub const COUNTER_MAX: u32 = (1 << 20) - 1;
/// Virtual channels of a message.
pub const CHANNELS: usize = 16;

/// Credits consumed of sixteen virtual channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CcUpdate {
    /// True for the channels 16 to 31, false for 0 to 15.
    pub upper: bool,
    /// S_CC of each, mod 2^20 [credits].
    pub consumed: [u32; CHANNELS],
}

impl CcUpdate {
    /// Length [bytes].
    pub const LEN: usize = 46;

    /// Reads the payload after EtherType 0x8808.
    pub fn parse(bytes: &[u8]) -> Result<CcUpdate, Malformed> {
        let b = take("CC_Update", bytes, CcUpdate::LEN)?;
        let value = |field, found, expected| Err(Malformed::Value { field, found, expected });
        if u16_at(b, 0) != OPCODE_EXTENSION {
            return value("MAC control opcode", u16_at(b, 0).into(), "0xFFFE (extension)");
        }
        if b[2..5] != COMPANY {
            return value(
                "company identifier",
                u64::from(b[2]) << 16 | u64::from(b[3]) << 8 | u64::from(b[4]),
                "0xFA7ACB",
            );
        }
        let upper = match b[5] {
            1 => false,
            2 => true,
            found => return value("message of Ultra Ethernet", found.into(), "1 or 2 (CC_Update)"),
        };
        let mut consumed = [0; CHANNELS];
        for (two, b) in consumed.chunks_exact_mut(2).zip(b[6..].chunks_exact(5)) {
            let bits = b.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
            (two[0], two[1]) = ((bits >> 20) as u32, bits as u32 & COUNTER_MAX);
        }
        Ok(CcUpdate { upper, consumed })
    }

    /// Writes the payload after EtherType 0x8808; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        for &counter in &self.consumed {
            fits("credits consumed", counter, COUNTER_MAX.into())?;
        }
        let out = room("CC_Update", out, CcUpdate::LEN)?;
        put(out, 0, OPCODE_EXTENSION.to_be_bytes());
        put(out, 2, COMPANY);
        out[5] = if self.upper { 2 } else { 1 };
        for (two, out) in self.consumed.chunks_exact(2).zip(out[6..].chunks_exact_mut(5)) {
            let bits = u64::from(two[0]) << 20 | u64::from(two[1]);
            out.copy_from_slice(&bits.to_be_bytes()[3..]);
        }
        Ok(CcUpdate::LEN)
    }

    /// Writes the whole frame from a port; returns its length, 60 [bytes].
    pub fn emit_frame(&self, source: Mac, out: &mut [u8]) -> Result<usize, Unfit> {
        let header = ethernet::Repr {
            destination: Mac::FLOW_CONTROL,
            source,
            ether_type: ethernet::MAC_CONTROL,
        };
        header.emit_frame(out, |payload| self.emit(payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_byte_by_byte() {
        let mut consumed = [0; CHANNELS];
        (consumed[0], consumed[1], consumed[15]) = (0x12345, 0xABCDE, COUNTER_MAX);
        let m = CcUpdate { upper: true, consumed };
        let mut out = [0xEE; 64];
        let source = Mac([2, 0, 0, 0, 0, 1]);
        assert_eq!(m.emit_frame(source, &mut out), Ok(60), "64 B with the check sequence");
        assert_eq!(
            out[..20],
            [1, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0xFF, 0xFE, 0xFA, 0x7A, 0xCB, 2]
        );
        assert_eq!(out[20..26], [0x12, 0x34, 0x5A, 0xBC, 0xDE, 0]);
        assert_eq!(out[55..60], [0, 0, 0x0F, 0xFF, 0xFF]);
        assert_eq!(CcUpdate::parse(&out[14..60]), Ok(m));
        assert!(CcUpdate { consumed: [COUNTER_MAX + 1; CHANNELS], ..m }.emit(&mut out).is_err());
        for (at, byte) in [(14, 0), (16, 0xFB), (19, 3)] {
            let mut other = out;
            other[at] = byte;
            assert!(
                matches!(CcUpdate::parse(&other[14..60]), Err(Malformed::Value { .. })),
                "byte {at}"
            );
        }
        assert!(CcUpdate::parse(&out[14..59]).is_err(), "cut off");
    }
}
