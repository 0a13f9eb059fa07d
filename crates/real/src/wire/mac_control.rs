//! MAC control: PAUSE (IEEE 802.3, annex 31B) and PFC (802.3, annex 31D; 802.1Q, clause 36).
//! Byte-exact.
//!
//! ```text
//!           PAUSE                            PFC
//!    0   6  destination 01-80-C2-00-00-01    the same
//!    6   6  source: the sending port         the same
//!   12   2  EtherType 0x8808                 the same
//!   14   2  opcode 0x0001                    opcode 0x0101
//!   16   2  pause time [quanta]              class-enable vector: upper byte 0, bit n of the lower enables time n
//!   18      zeros to 60                      8 x 2 time 0 to time 7 [quanta]; 0: resume
//!   34                                       zeros to 60
//! ```
//!
//! `Repr` is the payload after the EtherType. A quantum is the time of 512 bits at the port's own
//! rate.
//!
//! On receipt: the upper byte of the vector, the time of a priority that is not enabled and the
//! padding are ignored. Other opcodes are refused (802.3 has more, EPON's among them). A frame cut
//! off in its padding is taken: some drivers do that. PAUSE may also be sent to a station's own
//! address (annex 31B.1); here only the group address is.

use crate::wire::error::{put, room, take, u16_at};
use crate::wire::ethernet::{self, Mac};
use crate::wire::{Malformed, Unfit};

/// Opcode of PAUSE.
pub const OPCODE_PAUSE: u16 = 0x0001;
/// Opcode of PFC.
pub const OPCODE_PFC: u16 = 0x0101;
/// A MAC control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr {
    /// Stops everything for so many quanta; 0 lets it go on.
    Pause {
        /// Pause time [quanta].
        quanta: u16,
    },
    /// Stops priorities.
    Pfc(Pfc),
}

/// Contents of a PFC frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pfc {
    /// Per priority: its new pause time [quanta], 0 to resume; `None`: not enabled, its timer runs
    /// on.
    pub times: [Option<u16>; 8],
}

impl Pfc {
    /// A frame about one priority, 0 to 7; `None` for any other.
    pub fn one(priority: u8, quanta: u16) -> Option<Pfc> {
        let mut times = [None; 8];
        *times.get_mut(usize::from(priority))? = Some(quanta);
        Some(Pfc { times })
    }

    /// Class-enable vector: bit n for priority n.
    pub fn vector(&self) -> u8 {
        (0..8).filter(|&n| self.times[n].is_some()).map(|n| 1 << n).sum()
    }
}

impl Repr {
    /// Length of the longer message, PFC, without padding [bytes].
    pub const LEN: usize = 20;

    /// Length of this message without padding [bytes].
    pub fn len(&self) -> usize {
        match self {
            Repr::Pause { .. } => 4,
            Repr::Pfc(_) => Repr::LEN,
        }
    }

    /// Never; there are no empty messages.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Reads the payload after EtherType 0x8808.
    pub fn parse(bytes: &[u8]) -> Result<Repr, Malformed> {
        match u16_at(take("MAC control opcode", bytes, 2)?, 0) {
            OPCODE_PAUSE => Ok(Repr::Pause { quanta: u16_at(take("PAUSE", bytes, 4)?, 2) }),
            OPCODE_PFC => {
                let b = take("PFC", bytes, Repr::LEN)?;
                let time = |n: usize| (b[3] >> n & 1 == 1).then(|| u16_at(b, 4 + 2 * n));
                Ok(Repr::Pfc(Pfc { times: std::array::from_fn(time) }))
            }
            found => Err(Malformed::Value {
                field: "MAC control opcode",
                found: found.into(),
                expected: "0x1 (PAUSE) or 0x101 (PFC)",
            }),
        }
    }

    /// Writes the payload after EtherType 0x8808, without padding; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        let out = room("MAC control", out, self.len())?;
        match self {
            Repr::Pause { quanta } => {
                put(out, 0, OPCODE_PAUSE.to_be_bytes());
                put(out, 2, quanta.to_be_bytes());
            }
            Repr::Pfc(pfc) => {
                put(out, 0, OPCODE_PFC.to_be_bytes());
                out[3] = pfc.vector();
                for (n, time) in pfc.times.iter().enumerate() {
                    put(out, 4 + 2 * n, time.unwrap_or(0).to_be_bytes());
                }
            }
        }
        Ok(self.len())
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
    fn a_priority_that_is_not_enabled_has_no_time() {
        let mut bytes = [0; 20];
        assert_eq!(Repr::Pfc(Pfc::one(3, 7).unwrap()).emit(&mut bytes), Ok(20));
        // Reserved byte, and a time without its bit.
        (bytes[2], bytes[5]) = (0xFF, 9);
        assert_eq!(Repr::parse(&bytes), Ok(Repr::Pfc(Pfc::one(3, 7).unwrap())));
        assert_eq!(Pfc::one(8, 7), None);
        assert!(matches!(
            Repr::parse(&[0x01, 0x02, 0, 0]),
            Err(Malformed::Value { found: 0x0102, .. })
        ));
    }
}
