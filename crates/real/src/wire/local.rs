//! Header of xoff's own messages, which are no standard: EtherType 0x88B5, "local experimental 1".
//!
//! ```text
//!    0   2  magic 0x786F, "xo"   others may use the same EtherType on the same wire
//!    2   1  version 1
//!    3   1  subtype              1 gfc, 2 cbfc 12-bit, 3 cbfc 64-bit, 4 pffc, 5 test frame, 6 link retry
//!    4      body of the subtype
//! ```
//!
//! Offsets count from behind the EtherType, here and in the formats of ours. IEEE 802 (clause 9)
//! asks users of this EtherType to carry a subtype and a version of their own. Control messages go
//! to 01-80-C2-00-00-01, which no bridge forwards, in frames padded to 60 bytes; a test frame goes
//! where it is tested. Another magic, version or subtype is rejected: its bytes may mean anything.

use crate::wire::error::{put, take, u16_at};
use crate::wire::ethernet::{self, Mac};
use crate::wire::{Malformed, Unfit, cbfc, gfc, link_retry, pffc, test_frame};

/// First two bytes: "xo".
pub const MAGIC: u16 = 0x786F;
/// Version of all subtypes.
pub const VERSION: u8 = 1;
/// Length of the common beginning of all messages [bytes].
pub const HEADER: usize = 4;

/// Makes [`Subtype`] and [`Message`] of one line for each format: its number, its name, its
/// content, its reader and writer.
macro_rules! subtypes {
    ($($(#[$doc:meta])+ $number:literal $name:ident($repr:ty) $parse:ident $emit:ident;)+) => {
        /// Kind of the message that follows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Subtype {
            $(#[doc = concat!("[`", stringify!($repr), "`].")] $name = $number,)+
        }

        impl Subtype {
            /// The numbers in use.
            const NUMBERS: &str = concat!("one of" $(, " ", $number)+);

            fn of(number: u8) -> Option<Subtype> {
                match number {
                    $($number => Some(Subtype::$name),)+
                    _ => None,
                }
            }
        }

        /// Any message of ours.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Message {
            $($(#[$doc])+ $name($repr),)+
        }

        impl Message {
            /// Reads the payload after EtherType 0x88B5.
            pub fn parse(bytes: &[u8]) -> Result<Message, Malformed> {
                Ok(match Subtype::parse(bytes)? {
                    $(Subtype::$name => Message::$name(<$repr>::$parse(bytes)?),)+
                })
            }

            /// Writes the payload after EtherType 0x88B5, without padding; returns its length.
            pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
                match self {
                    $(Message::$name(m) => m.$emit(out),)+
                }
            }
        }
    };
}

subtypes! {
    /// Stage, queue or rate of GFC.
    1 Gfc(gfc::Repr) parse emit;
    /// Credit limit in InfiniBand's own packet.
    2 Credit12(cbfc::LinkPacket) parse_local emit_local;
    /// Credit limit in 64 bits.
    3 Credit64(cbfc::Wide) parse emit;
    /// Pause, resume, migrate or migrate back.
    4 Pffc(pffc::Repr) parse emit;
    /// A test frame: data, not control.
    5 Test(test_frame::Repr) parse emit;
    /// Number of the frame that follows, or a signal about such numbers.
    6 LinkRetry(link_retry::Repr) parse emit;
}

impl Subtype {
    /// Reads the header.
    pub fn parse(bytes: &[u8]) -> Result<Subtype, Malformed> {
        let b = take("header of 0x88b5", bytes, HEADER)?;
        let magic = u16_at(b, 0);
        if magic != MAGIC {
            return Err(Malformed::Value {
                field: "magic of 0x88b5",
                found: magic.into(),
                expected: "0x786f",
            });
        }
        if b[2] != VERSION {
            return Err(Malformed::Value {
                field: "version of 0x88b5",
                found: b[2].into(),
                expected: "1",
            });
        }
        Subtype::of(b[3]).ok_or(Malformed::Value {
            field: "subtype of 0x88b5",
            found: b[3].into(),
            expected: Subtype::NUMBERS,
        })
    }

    /// `len` bytes that must be of this subtype.
    pub(crate) fn expect<'a>(
        self,
        format: &'static str,
        bytes: &'a [u8],
        len: usize,
    ) -> Result<&'a [u8], Malformed> {
        match Subtype::parse(bytes)? {
            found if found == self => take(format, bytes, len),
            found => Err(Malformed::Value {
                field: "subtype of 0x88b5",
                found: found as u64,
                expected: "that of the format being read",
            }),
        }
    }

    /// Writes the header into bytes that are known to be there.
    pub(crate) fn put(self, out: &mut [u8]) {
        put(out, 0, MAGIC.to_be_bytes());
        (out[2], out[3]) = (VERSION, self as u8);
    }
}

impl Message {
    /// Writes the whole frame, padded; returns its length [bytes]. Control messages go to
    /// [`Mac::FLOW_CONTROL`].
    pub fn emit_frame(
        &self,
        destination: Mac,
        source: Mac,
        out: &mut [u8],
    ) -> Result<usize, Unfit> {
        ethernet::Repr { destination, source, ether_type: ethernet::LOCAL }
            .emit_frame(out, |payload| self.emit(payload))
    }
}
