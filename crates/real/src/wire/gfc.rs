//! GFC feedback (SIGCOMM 2019, sections 4 and 5). Ours, not a standard: the paper reuses a PFC
//! frame, see below.
//!
//! ```text
//!    0   4  header of 0x88B5, subtype 1          (local.rs)
//!    4   1  kind                1 stage, 2 queue, 3 rate
//!    5   1  bits 2-0 priority   bits 7-3 reserved
//!    6   2  reserved
//!    8   4  sequence            of this port and priority, from 0, wraps (RFC 1982); an older one is stale
//!   12   4  validity [us]       how long it stands without a refresh, then: as if there had been no message; 0: until replaced
//!   16   8  value               kind 1: number of the stage, 16 bits; kind 2: queue [bytes]; kind 3: rate [bit/s]
//!   24
//! ```
//!
//! Kind 1 is what buffer-based GFC sends (section 5.1), kind 2 what the conceptual form needs
//! (section 4.1), kind 3 carries what the peer would compute, for peers that do not share the
//! mapping. The sequence is not in the paper: a stage that a newer one has overtaken would stay
//! forever, and a receiver detects it by that. Time-based GFC has the messages of cbfc.
//!
//! **As published** (section 5.1, Fig. 7) the stage travels in `Time[n]` of a PFC frame, with bit n
//! of the class-enable vector. A port that does not know GFC *pauses* on it.

use crate::wire::error::{fits, put, room, u32_at, u64_at};
use crate::wire::local::Subtype;
use crate::wire::{Malformed, Unfit};

/// The receiver's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Number of the stage that the ingress queue is in.
    Stage(u16),
    /// Length of the ingress queue [bytes].
    Queue(u64),
    /// Rate at which the peer shall send [bit/s].
    Rate(u64),
}

/// A GFC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Priority that it regulates, 0 to 7.
    pub priority: u8,
    /// Counts the messages of this port and priority; wraps.
    pub sequence: u32,
    /// Validity without a refresh [us]; 0: until it is replaced.
    pub validity_us: u32,
    /// Value of the feedback.
    pub feedback: Feedback,
}

impl Repr {
    /// Length without padding [bytes].
    pub const LEN: usize = 24;

    /// Reads the payload after EtherType 0x88B5.
    pub fn parse(bytes: &[u8]) -> Result<Repr, Malformed> {
        let b = Subtype::Gfc.expect("GFC", bytes, Repr::LEN)?;
        let value = u64_at(b, 16);
        let feedback = match b[4] {
            1 => Feedback::Stage(u16::try_from(value).map_err(|_| Malformed::Value {
                field: "GFC stage",
                found: value,
                expected: "16 bits",
            })?),
            2 => Feedback::Queue(value),
            3 => Feedback::Rate(value),
            found => {
                return Err(Malformed::Value {
                    field: "GFC kind",
                    found: found.into(),
                    expected: "1 to 3",
                });
            }
        };
        Ok(Repr {
            priority: b[5] & 7,
            sequence: u32_at(b, 8),
            validity_us: u32_at(b, 12),
            feedback,
        })
    }

    /// Writes the payload after EtherType 0x88B5, without padding; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        fits("GFC priority", self.priority, 7)?;
        let out = room("GFC", out, Repr::LEN)?;
        Subtype::Gfc.put(out);
        let (kind, value) = match self.feedback {
            Feedback::Stage(k) => (1, k.into()),
            Feedback::Queue(bytes) => (2, bytes),
            Feedback::Rate(bps) => (3, bps),
        };
        (out[4], out[5]) = (kind, self.priority);
        put(out, 8, self.sequence.to_be_bytes());
        put(out, 12, self.validity_us.to_be_bytes());
        put(out, 16, value.to_be_bytes());
        Ok(Repr::LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_byte_by_byte() {
        let m = Repr {
            priority: 3,
            sequence: 0x0102_0304,
            validity_us: 50_000,
            feedback: Feedback::Stage(5),
        };
        let mut out = [0xEE; 24];
        assert_eq!(m.emit(&mut out), Ok(24));
        assert_eq!(
            out,
            [0x78, 0x6F, 1, 1, 1, 3, 0, 0, 1, 2, 3, 4, 0, 0, 0xC3, 0x50, 0, 0, 0, 0, 0, 0, 0, 5]
        );
        // Reserved bits are ignored on receipt.
        (out[5], out[6]) = (0xFB, 0xFF);
        assert_eq!(Repr::parse(&out), Ok(m));
        // A stage has 16 bits.
        out[20] = 1;
        assert!(matches!(Repr::parse(&out), Err(Malformed::Value { field: "GFC stage", .. })));
        assert_eq!(
            Repr { priority: 8, ..m }.emit(&mut out),
            Err(Unfit::Value { field: "GFC priority", value: 8, max: 7 })
        );
    }
}
