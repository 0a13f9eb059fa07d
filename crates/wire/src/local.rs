//! What all messages of ours begin with: EtherType 0x88B5, "local experimental 1". Ours, not a standard.
//!
//! ```text
//!    0   2  magic 0x786F, "xo"   others may use the same EtherType on the same wire
//!    2   1  version 1
//!    3   1  subtype              1 gfc, 2 cbfc 12-bit, 3 cbfc 64-bit, 4 pffc, 5 test frame
//!    4      body of the subtype
//! ```
//!
//! Offsets count from behind the EtherType, here and in the formats of ours. IEEE 802 (clause 9) asks users of this EtherType to
//! carry a subtype and a version of their own. Control messages go to 01-80-C2-00-00-01, which no bridge forwards, in frames padded
//! to 60 bytes; a test frame goes where it is tested. Another magic, version or subtype is refused: its bytes may mean anything.

use crate::error::{put, take, u16_at};
use crate::ethernet::{self, Mac};
use crate::{Malformed, Unfit, cbfc, gfc, pffc, test_frame};

/// First two bytes: "xo".
pub const MAGIC: u16 = 0x786F;
/// Version of all subtypes.
pub const VERSION: u8 = 1;
/// Length of what all messages begin with [bytes].
pub const HEADER: usize = 4;

/// Which message follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subtype {
    /// [`gfc::Repr`].
    Gfc = 1,
    /// [`cbfc::LinkPacket`].
    Credit12 = 2,
    /// [`cbfc::Wide`].
    Credit64 = 3,
    /// [`pffc::Repr`].
    Pffc = 4,
    /// [`test_frame::Repr`].
    Test = 5,
}

impl Subtype {
    /// Reads the header.
    pub fn parse(bytes: &[u8]) -> Result<Subtype, Malformed> {
        let b = take("header of 0x88b5", bytes, HEADER)?;
        let magic = u16_at(b, 0);
        if magic != MAGIC {
            return Err(Malformed::Value { field: "magic of 0x88b5", found: magic.into(), expected: "0x786f" });
        }
        if b[2] != VERSION {
            return Err(Malformed::Value { field: "version of 0x88b5", found: b[2].into(), expected: "1" });
        }
        match b[3] {
            1 => Ok(Subtype::Gfc),
            2 => Ok(Subtype::Credit12),
            3 => Ok(Subtype::Credit64),
            4 => Ok(Subtype::Pffc),
            5 => Ok(Subtype::Test),
            found => Err(Malformed::Value { field: "subtype of 0x88b5", found: found.into(), expected: "1 to 5" }),
        }
    }

    /// `len` bytes that must be of this subtype.
    pub(crate) fn expect<'a>(self, format: &'static str, bytes: &'a [u8], len: usize) -> Result<&'a [u8], Malformed> {
        match Subtype::parse(bytes)? {
            found if found == self => take(format, bytes, len),
            found => Err(Malformed::Value { field: "subtype of 0x88b5", found: found as u64, expected: "that of the format being read" }),
        }
    }

    /// Writes the header into bytes that are known to be there.
    pub(crate) fn put(self, out: &mut [u8]) {
        put(out, 0, MAGIC.to_be_bytes());
        (out[2], out[3]) = (VERSION, self as u8);
    }
}

/// Any message of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Stage, queue or rate of GFC.
    Gfc(gfc::Repr),
    /// Credit limit in InfiniBand's own packet.
    Credit12(cbfc::LinkPacket),
    /// Credit limit in 64 bits.
    Credit64(cbfc::Wide),
    /// Pause, resume, migrate or migrate back.
    Pffc(pffc::Repr),
    /// A test frame: data, not control.
    Test(test_frame::Repr),
}

impl Message {
    /// Reads what follows EtherType 0x88B5.
    pub fn parse(bytes: &[u8]) -> Result<Message, Malformed> {
        Ok(match Subtype::parse(bytes)? {
            Subtype::Gfc => Message::Gfc(gfc::Repr::parse(bytes)?),
            Subtype::Credit12 => Message::Credit12(cbfc::LinkPacket::parse_local(bytes)?),
            Subtype::Credit64 => Message::Credit64(cbfc::Wide::parse(bytes)?),
            Subtype::Pffc => Message::Pffc(pffc::Repr::parse(bytes)?),
            Subtype::Test => Message::Test(test_frame::Repr::parse(bytes)?),
        })
    }

    /// Writes what follows EtherType 0x88B5, without padding; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        match self {
            Message::Gfc(m) => m.emit(out),
            Message::Credit12(m) => m.emit_local(out),
            Message::Credit64(m) => m.emit(out),
            Message::Pffc(m) => m.emit(out),
            Message::Test(m) => m.emit(out),
        }
    }

    /// Writes the whole frame, padded; returns its length [bytes]. Control messages go to [`Mac::FLOW_CONTROL`].
    pub fn emit_frame(&self, destination: Mac, source: Mac, out: &mut [u8]) -> Result<usize, Unfit> {
        ethernet::Repr { destination, source, ether_type: ethernet::LOCAL }.emit_frame(out, |payload| self.emit(payload))
    }
}
