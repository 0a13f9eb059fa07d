//! VLAN tags (IEEE 802.1Q, clause 9): read, pushed, popped, and put back where a capture has taken
//! them out.
//!
//! ```text
//!   12   2  TPID             0x8100 customer tag, 0x88A8 service tag
//!   14   2  TCI              bits 15-13 PCP (priority), bit 12 DEI, bits 11-0 VID; VID 0: priority only
//!   16      EtherType of the rest
//! ```
//!
//! Linux takes the first tag out of every frame and hands it to a packet socket next to the frame,
//! as `tp_vlan_tci` and `tp_vlan_tpid`; a switch in user space has to put it back ([`restore`])
//! before it sends the frame on.
//!
//! Frames are changed in place: `buf[..len]` is the frame, and the rest is room to grow.

use crate::wire::error::{fits, put, take, u16_at};
use crate::wire::ethernet::{Frame, HEADER};
use crate::wire::{Malformed, Unfit};

/// TPID of a customer tag, "802.1Q".
pub const C_TAG: u16 = 0x8100;
/// TPID of a service tag, "802.1ad".
pub const S_TAG: u16 = 0x88A8;
/// Offset of a tag: after the two addresses.
const AT: usize = 12;

/// A tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// [`C_TAG`] or [`S_TAG`].
    pub tpid: u16,
    /// Priority code point, 0 to 7: the priority that PFC pauses.
    pub pcp: u8,
    /// Drop eligible indicator.
    pub dei: bool,
    /// VLAN identifier, 0 to 4095; 0: the tag carries a priority only.
    pub vid: u16,
}

impl Tag {
    /// Length [bytes].
    pub const LEN: usize = 4;

    /// The tag from its two words.
    pub fn from_words(tpid: u16, tci: u16) -> Tag {
        Tag { tpid, pcp: (tci >> 13) as u8, dei: tci & 0x1000 != 0, vid: tci & 0x0FFF }
    }

    /// Tag control information.
    pub fn tci(&self) -> Result<u16, Unfit> {
        fits("PCP of a VLAN tag", self.pcp, 7)?;
        fits("VID of a VLAN tag", self.vid, 0xFFF)?;
        Ok(u16::from(self.pcp) << 13 | u16::from(self.dei) << 12 | self.vid)
    }

    /// Reads a tag, beginning with its TPID.
    pub fn parse(bytes: &[u8]) -> Result<Tag, Malformed> {
        let b = take("VLAN tag", bytes, Tag::LEN)?;
        let tpid = u16_at(b, 0);
        if !is_tag(tpid) {
            return Err(Malformed::Value {
                field: "TPID of a VLAN tag",
                found: tpid.into(),
                expected: "0x8100 or 0x88a8",
            });
        }
        Ok(Tag::from_words(tpid, u16_at(b, 2)))
    }

    /// Writes the tag and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        let (tci, got) = (self.tci()?, out.len());
        let out = out.get_mut(..Tag::LEN).ok_or(Unfit::Room {
            format: "VLAN tag",
            needed: Tag::LEN,
            got,
        })?;
        put(out, 0, self.tpid.to_be_bytes());
        put(out, 2, tci.to_be_bytes());
        Ok(Tag::LEN)
    }
}

/// Does this EtherType begin a VLAN tag?
pub fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, C_TAG | S_TAG)
}

/// The outermost tag of a frame, if it has one. A frame that ends within its tag has none.
pub fn outer(frame: &[u8]) -> Option<Tag> {
    Tag::parse(frame.get(AT..)?).ok()
}

/// EtherType behind at most two tags, and where its payload begins [bytes].
pub fn inner(frame: &[u8]) -> Result<(u16, usize), Malformed> {
    let (mut ether_type, mut at) = (Frame::new(frame)?.ether_type(), HEADER);
    // Two: customer within service tag. More are not supported, and are left to look like an
    // unknown EtherType.
    for _ in 0..2 {
        if is_tag(ether_type) {
            ether_type = u16_at(take("tagged frame", frame, at + Tag::LEN)?, at + 2);
            at += Tag::LEN;
        }
    }
    Ok((ether_type, at))
}

/// Inserts a tag as the outermost one and returns the new length of the frame [bytes].
pub fn push(buf: &mut [u8], len: usize, tag: Tag) -> Result<usize, Unfit> {
    let needed = len.saturating_add(Tag::LEN);
    if len < AT || buf.len() < needed {
        return Err(Unfit::Room {
            format: "tagged frame",
            needed: needed.max(AT + Tag::LEN),
            got: buf.len().min(needed),
        });
    }
    let mut bytes = [0; Tag::LEN];
    tag.emit(&mut bytes)?;
    buf.copy_within(AT..len, AT + Tag::LEN);
    put(buf, AT, bytes);
    Ok(needed)
}

/// Takes the outermost tag out; returns it and the new length of the frame [bytes].
///
/// The frame is not padded: one of 60 bytes with its tag has 56 without it
/// ([`crate::wire::ethernet::pad`]).
pub fn pop(buf: &mut [u8], len: usize) -> Result<(Tag, usize), Malformed> {
    let frame = take("tagged frame", buf, len)?;
    // A tag has an EtherType behind it; without one, the rest would be no frame.
    take("tagged frame", frame, HEADER + Tag::LEN)?;
    let tag = Tag::parse(&frame[AT..])?;
    buf.copy_within(AT + Tag::LEN..len, AT);
    Ok((tag, len - Tag::LEN))
}

/// Puts back the tag that a packet socket handed over next to the frame; returns the new length of
/// the frame [bytes].
///
/// `tpid` is `None` where the kernel did not report it (`TP_STATUS_VLAN_TPID_VALID` unset, kernels
/// before 3.14): a customer tag then. Call it only if the socket reported a tag
/// (`TP_STATUS_VLAN_VALID`): a TCI of 0 is a tag too.
pub fn restore(buf: &mut [u8], len: usize, tci: u16, tpid: Option<u16>) -> Result<usize, Unfit> {
    push(buf, len, Tag::from_words(tpid.unwrap_or(C_TAG), tci))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_pushed_read_and_popped() {
        let mut buf = [0u8; 68];
        for (i, b) in buf.iter_mut().enumerate().take(60) {
            *b = i as u8;
        }
        put(&mut buf, 12, [0x08, 0x00]);
        let before = buf;
        let tag = Tag { tpid: C_TAG, pcp: 3, dei: true, vid: 0x123 };
        assert_eq!(push(&mut buf, 60, tag), Ok(64));
        assert_eq!(buf[10..20], [10, 11, 0x81, 0x00, 0x71, 0x23, 0x08, 0x00, 14, 15]);
        assert_eq!((outer(&buf[..64]), inner(&buf[..64])), (Some(tag), Ok((0x0800, 18))));
        assert_eq!(restore(&mut buf, 64, 0xE000, Some(S_TAG)), Ok(68));
        assert_eq!(inner(&buf), Ok((0x0800, 22)));
        assert_eq!(
            push(&mut buf, 68, tag),
            Err(Unfit::Room { format: "tagged frame", needed: 72, got: 68 })
        );
        assert_eq!(pop(&mut buf, 68), Ok((Tag { tpid: S_TAG, pcp: 7, dei: false, vid: 0 }, 64)));
        assert_eq!(pop(&mut buf, 64), Ok((tag, 60)));
        assert_eq!(buf[..60], before[..60]);
        assert!(pop(&mut buf, 60).is_err() && pop(&mut buf, 1000).is_err());
    }

    #[test]
    fn nothing_is_written_that_does_not_fit() {
        let mut buf = [0u8; 64];
        let wide = Tag { tpid: C_TAG, pcp: 8, dei: false, vid: 0 };
        assert_eq!(
            push(&mut buf, 60, wide),
            Err(Unfit::Value { field: "PCP of a VLAN tag", value: 8, max: 7 })
        );
        assert_eq!(buf, [0; 64]);
        assert!(push(&mut buf, 11, Tag { pcp: 0, ..wide }).is_err());
        assert_eq!(restore(&mut buf, 60, 0, None), Ok(64));
        assert_eq!(outer(&buf), Some(Tag { pcp: 0, ..wide }));
    }
}
