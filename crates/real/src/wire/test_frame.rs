//! Test frame: a generator sends it and a sink counts it. A format of xoff, not a standard.
//!
//! ```text
//!    0   4  header of 0x88B5, subtype 5          (local.rs)
//!    4   1  bits 2-0 priority   bits 7-3 reserved
//!    5   1  bit 0 last frame of its flow         bits 2-1 kind: 0 data, 1 acknowledgement, 2 with a gap, 3 CNP or CNM
//!           bits 4-3 mark    bits 6-5 mark that it reports to the source    as in ECN, ecn.rs    bit 7 reserved
//!    6   2  length [bytes]      of all this with its filler; the rest is Ethernet padding
//!    8   4  flow
//!   12   2  counted [bytes]     bytes for which it counts on a link, at most its length; 0: its length
//!   14   2  reserved
//!   16   8  sequence            of its flow, from 0; an acknowledgement: bytes in order; a CNM: its value
//!   24   8  due [ps]            when the generator's schedule wanted it to leave
//!   32   8  sent [ps]           when it was given to the port
//!   40      zeros up to the length
//! ```
//!
//! Times are picoseconds of the generator's own clock, from any origin; 64 bits hold 213 days. From
//! due to sent is the generator's lateness, or its flow control; the difference that the sink
//! measures is a delay only if both read the same clock.

use crate::wire::ecn::Ecn;
use crate::wire::error::{fits, put, room, take, u16_at, u32_at, u64_at};
use crate::wire::local::Subtype;
use crate::wire::{Malformed, Unfit};

/// Purpose of a test frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Part of a flow.
    #[default]
    Data = 0,
    /// Cumulative acknowledgement.
    Ack = 1,
    /// Acknowledgement that also reports a gap.
    Nack = 2,
    /// CNM, CNP or BECN.
    CongestionNotification = 3,
}

/// Header of a test frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Purpose.
    pub kind: Kind,
    /// Congestion mark, written as ECN does.
    pub mark: Ecn,
    /// Mark that it reports to its flow's source.
    pub reported: Ecn,
    /// Counted length on a link, if less than the frame's own length; else 0 [bytes]. No receiver
    /// accepts more.
    pub counted: u16,
    /// Priority in which it is sent, 0 to 7; a VLAN tag may carry the same for switches.
    pub priority: u8,
    /// True for the last frame of its flow.
    pub last: bool,
    /// Length with filler, without Ethernet header [bytes]; at least [`Repr::LEN`].
    pub len: u16,
    /// Number of the flow.
    pub flow: u32,
    /// Number in its flow, from 0. Acknowledgement: bytes received in order. CNM: its value.
    pub sequence: u64,
    /// Planned departure; for an acknowledgement, the planned departure of the acknowledged frame
    /// [ps].
    pub due_ps: u64,
    /// Time at which the frame was given to the port [ps].
    pub sent_ps: u64,
}

impl Repr {
    /// Length without filler [bytes].
    pub const LEN: usize = 40;

    /// Reads the payload after EtherType 0x88B5. A frame that was cut off is rejected.
    pub fn parse(bytes: &[u8]) -> Result<Repr, Malformed> {
        let b = Subtype::Test.expect("test frame", bytes, Repr::LEN)?;
        let len = u16_at(b, 6);
        if usize::from(len) < Repr::LEN {
            return Err(Malformed::Value {
                field: "length of a test frame",
                found: len.into(),
                expected: "40 or more",
            });
        }
        take("test frame with its filler", bytes, len.into())?;
        let kind = [Kind::Data, Kind::Ack, Kind::Nack, Kind::CongestionNotification]
            [usize::from(b[5] >> 1 & 3)];
        Ok(Repr {
            kind,
            mark: Ecn::new(b[5] >> 3),
            reported: Ecn::new(b[5] >> 5),
            counted: u16_at(b, 12),
            priority: b[4] & 7,
            last: b[5] & 1 == 1,
            len,
            flow: u32_at(b, 8),
            sequence: u64_at(b, 16),
            due_ps: u64_at(b, 24),
            sent_ps: u64_at(b, 32),
        })
    }

    /// Writes the payload after EtherType 0x88B5, with its filler; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        fits("priority of a test frame", self.priority, 7)?;
        let out = room("test frame", out, usize::from(self.len).max(Repr::LEN))?;
        Subtype::Test.put(out);
        (out[4], out[5]) = (
            self.priority,
            u8::from(self.last)
                | (self.kind as u8) << 1
                | self.mark.bits() << 3
                | self.reported.bits() << 5,
        );
        put(out, 6, (out.len() as u16).to_be_bytes());
        put(out, 8, self.flow.to_be_bytes());
        put(out, 12, self.counted.to_be_bytes());
        put(out, 16, self.sequence.to_be_bytes());
        put(out, 24, self.due_ps.to_be_bytes());
        put(out, 32, self.sent_ps.to_be_bytes());
        Ok(out.len())
    }
}

/// Writes the time of sending into a frame that waits, at the last instant: `bytes` as
/// [`Repr::emit`] wrote them.
pub fn stamp(bytes: &mut [u8], sent_ps: u64) -> Result<(), Malformed> {
    Subtype::Test.expect("test frame", bytes, Repr::LEN)?;
    put(bytes, 32, sent_ps.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_by_byte() {
        let (kind, mark, reported, counted) = (Kind::Nack, Ecn::CE, Ecn::UE, 1500);
        let m = Repr {
            kind,
            mark,
            reported,
            counted,
            priority: 5,
            last: true,
            len: 50,
            flow: 7,
            sequence: 1 << 32,
            due_ps: 1_000_000,
            sent_ps: 0,
        };
        let mut out = [0xEE; 60];
        assert_eq!(m.emit(&mut out), Ok(50));
        assert_eq!(
            out[..16],
            [0x78, 0x6F, 1, 5, 5, 0b0101_1101, 0, 50, 0, 0, 0, 7, 0x05, 0xDC, 0, 0]
        );
        assert_eq!(out[16..32], [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0F, 0x42, 0x40]);
        assert!(out[32..50].iter().all(|&b| b == 0) && out[50] == 0xEE);
        stamp(&mut out, 1_000_001).unwrap();
        assert_eq!(Repr::parse(&out), Ok(Repr { sent_ps: 1_000_001, ..m }));
        assert!(matches!(
            Repr::parse(&out[..49]),
            Err(Malformed::Short { needed: 50, got: 49, .. })
        ));
        // Below its header a length is raised when sent and refused when received.
        assert_eq!(Repr { len: 3, ..m }.emit(&mut out), Ok(40));
        out[7] = 39;
        assert!(matches!(Repr::parse(&out), Err(Malformed::Value { found: 39, .. })));
    }
}
