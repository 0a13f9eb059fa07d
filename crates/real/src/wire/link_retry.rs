//! Numbers and signals of link-level retry, for Ethernet. A format of xoff, not a standard: the
//! control ordered sets of Ultra Ethernet have no bytes in a public source.
//!
//! ```text
//!    0   4  header of 0x88B5, subtype 6          (local.rs)
//!    4   1  kind   0 a frame with a number, 1 Ack, 2 Nack, 3 Init, 4 Init echo
//!    5   3  bits 19-0 number       bits 23-20 reserved
//!    8      kind 0: the frame, from its destination address on; others: nothing
//! ```
//!
//! All go to 01-80-C2-00-00-01, which no bridge forwards.

use crate::wire::error::{fits, put, room, take, u32_at};
use crate::wire::ethernet::{self, Mac};
use crate::wire::local::Subtype;
use crate::wire::{Malformed, Unfit};

/// Bits of a number.
const NUMBER_MAX: u32 = (1 << 20) - 1;

/// A frame with a number, or a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Kind of the signal, 1 to 4; 0: a frame follows.
    pub kind: u8,
    /// Number of a frame, mod 2^20.
    pub number: u32,
}

impl Repr {
    /// Length without the frame that follows [bytes].
    pub const LEN: usize = 8;
    /// Largest kind.
    const KIND_MAX: u8 = 4;

    /// Reads the payload after EtherType 0x88B5.
    pub fn parse(bytes: &[u8]) -> Result<Repr, Malformed> {
        let b = Subtype::LinkRetry.expect("link retry", bytes, Repr::LEN)?;
        if b[4] > Repr::KIND_MAX {
            let (field, found) = ("kind of link retry", b[4].into());
            return Err(Malformed::Value { field, found, expected: "0 to 4" });
        }
        Ok(Repr { kind: b[4], number: u32_at(b, 4) & NUMBER_MAX })
    }

    /// Writes the payload after EtherType 0x88B5, without the frame that follows; returns its
    /// length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        fits("kind of link retry", self.kind, Repr::KIND_MAX.into())?;
        fits("number of link retry", self.number, NUMBER_MAX.into())?;
        let out = room("link retry", out, Repr::LEN)?;
        Subtype::LinkRetry.put(out);
        put(out, 4, (u32::from(self.kind) << 24 | self.number).to_be_bytes());
        Ok(Repr::LEN)
    }
}

/// Bytes in front of a frame with a number [bytes].
pub const AROUND: usize = ethernet::HEADER + Repr::LEN;

/// Writes a frame with its number; returns its length [bytes].
pub fn emit_numbered(
    number: u32,
    frame: &[u8],
    source: Mac,
    out: &mut [u8],
) -> Result<usize, Unfit> {
    let (needed, got) = (AROUND + frame.len(), out.len());
    let Some(inner) = out.get_mut(AROUND..needed) else {
        return Err(Unfit::Room { format: "frame with a number", needed, got });
    };
    inner.copy_from_slice(frame);
    let header =
        ethernet::Repr { destination: Mac::FLOW_CONTROL, source, ether_type: ethernet::LOCAL };
    header.emit(out)?;
    Repr { kind: 0, number }.emit(&mut out[ethernet::HEADER..AROUND])?;
    ethernet::pad(out, needed)
}

/// A received frame of link retry, and the frame that follows; `None`: the frame is another one.
pub fn parse_frame(bytes: &[u8]) -> Result<Option<(Repr, &[u8])>, Malformed> {
    let frame = ethernet::Frame::new(bytes)?;
    let ours = (frame.destination(), frame.ether_type()) == (Mac::FLOW_CONTROL, ethernet::LOCAL);
    if !ours || !matches!(Subtype::parse(frame.payload()), Ok(Subtype::LinkRetry)) {
        return Ok(None);
    }
    let repr = Repr::parse(frame.payload())?;
    let inner = &frame.payload()[Repr::LEN..];
    if repr.kind == 0 {
        take("frame with a number", inner, ethernet::HEADER)?;
    }
    Ok(Some((repr, inner)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::local::Message;

    #[test]
    fn byte_by_byte() {
        let source = Mac([2, 0x58, 0x4F, 0, 1, 0]);
        let mut out = [0xEE; 90];
        let signal = Message::LinkRetry(Repr { kind: 2, number: 0xA_BCDE });
        assert_eq!(signal.emit_frame(Mac::FLOW_CONTROL, source, &mut out), Ok(60));
        assert_eq!(out[14..22], [0x78, 0x6F, 1, 6, 2, 0x0A, 0xBC, 0xDE]);
        let read = parse_frame(&out[..60]).unwrap().unwrap().0;
        assert_eq!(read, Repr { kind: 2, number: 0xA_BCDE });
        let frame = [7; 60];
        assert_eq!(emit_numbered(1, &frame, source, &mut out), Ok(82));
        assert_eq!(out[..6], Mac::FLOW_CONTROL.0);
        assert_eq!(parse_frame(&out[..82]), Ok(Some((Repr { kind: 0, number: 1 }, &frame[..]))));
        // Reserved bits are ignored; an unknown kind, a number that does not fit and a frame without
        // a header are refused.
        out[19] |= 0xF0;
        assert_eq!(parse_frame(&out[..82]).unwrap().unwrap().0.number, 1);
        assert!(matches!(
            parse_frame(&out[..35]),
            Err(Malformed::Short { needed: 14, got: 13, .. })
        ));
        out[18] = 5;
        assert!(matches!(parse_frame(&out[..82]), Err(Malformed::Value { found: 5, .. })));
        assert!(Repr { kind: 0, number: 1 << 20 }.emit(&mut out).is_err());
        assert!(emit_numbered(1, &frame, source, &mut out[..81]).is_err());
        assert_eq!(parse_frame(&[0x22; 60]), Ok(None));
    }
}
