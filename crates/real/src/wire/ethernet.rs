//! Ethernet II header and padding (IEEE 802.3, clause 3).
//!
//! ```text
//!    0   6  destination      bit 0 of its first byte: group address
//!    6   6  source
//!   12   2  EtherType        1536 (0x0600) and above; below it is a length, and the frame is none of ours
//!   14      payload, padded with zeros so that the frame has at least 60 bytes
//!           (frame check sequence: 4 bytes, added and taken off by the hardware, never seen here)
//! ```

use std::fmt;

use crate::wire::error::{array, put, take, u16_at};
use crate::wire::{Malformed, Unfit};

/// Length of the header [bytes].
pub const HEADER: usize = 14;
/// Shortest frame without its check sequence [bytes]: 64 - 4 (802.3, clause 4.4.2, minFrameSize).
pub const FRAME_MIN: usize = 60;
/// EtherType of IPv4.
pub const IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const IPV6: u16 = 0x86DD;
/// EtherType of MAC control: PAUSE and PFC (802.3, clause 31).
pub const MAC_CONTROL: u16 = 0x8808;
/// Local experimental EtherType 1 (IEEE 802, clause 9): formats of xoff.
pub const LOCAL: u16 = 0x88B5;
/// Below it the field is a length (802.3, clause 3.2.6).
const ETHER_TYPE_MIN: u16 = 0x0600;

/// A MAC address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// 01-80-C2-00-00-01, to which PAUSE and PFC frames are sent; no bridge forwards it (802.3,
    /// annex 31B; 802.1Q, Table 8-1).
    pub const FLOW_CONTROL: Mac = Mac([0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]);

    /// Is it a group address?
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A checked view: at least a header.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a>(&'a [u8]);

impl<'a> Frame<'a> {
    /// Checks that there is a header with an EtherType.
    pub fn new(bytes: &'a [u8]) -> Result<Frame<'a>, Malformed> {
        let ether_type = u16_at(take("Ethernet header", bytes, HEADER)?, 12);
        if ether_type < ETHER_TYPE_MIN {
            return Err(Malformed::Value {
                field: "EtherType",
                found: ether_type.into(),
                expected: "0x600 or more (below it is a length)",
            });
        }
        Ok(Frame(bytes))
    }

    /// Destination address.
    pub fn destination(&self) -> Mac {
        Mac(array(self.0, 0))
    }

    /// Source address.
    pub fn source(&self) -> Mac {
        Mac(array(self.0, 6))
    }

    /// EtherType: that of the first tag if there is one.
    pub fn ether_type(&self) -> u16 {
        u16_at(self.0, 12)
    }

    /// Bytes after the header, including padding.
    pub fn payload(&self) -> &'a [u8] {
        &self.0[HEADER..]
    }
}

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Destination address.
    pub destination: Mac,
    /// Source address.
    pub source: Mac,
    /// EtherType; 0x0600 or more.
    pub ether_type: u16,
}

impl Repr {
    /// Reads the header of a frame.
    pub fn parse(bytes: &[u8]) -> Result<Repr, Malformed> {
        let f = Frame::new(bytes)?;
        Ok(Repr { destination: f.destination(), source: f.source(), ether_type: f.ether_type() })
    }

    /// Writes the header and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        let got = out.len();
        // Not zeroed: the payload may be there already.
        let out = out.get_mut(..HEADER).ok_or(Unfit::Room {
            format: "Ethernet header",
            needed: HEADER,
            got,
        })?;
        put(out, 0, self.destination.0);
        put(out, 6, self.source.0);
        put(out, 12, self.ether_type.to_be_bytes());
        Ok(HEADER)
    }

    /// Writes a whole frame: header, payload of `payload`, and padding. Returns its length [bytes].
    pub fn emit_frame(
        &self,
        out: &mut [u8],
        payload: impl FnOnce(&mut [u8]) -> Result<usize, Unfit>,
    ) -> Result<usize, Unfit> {
        self.emit(out)?;
        let len = HEADER + payload(&mut out[HEADER..])?;
        pad(out, len)
    }
}

/// Pads the frame in `out[..len]` with zeros to [`FRAME_MIN`] and returns its new length [bytes].
pub fn pad(out: &mut [u8], len: usize) -> Result<usize, Unfit> {
    let (needed, got) = (len.max(FRAME_MIN), out.len());
    if got < needed {
        return Err(Unfit::Room { format: "padded Ethernet frame", needed, got });
    }
    out[len..needed].fill(0);
    Ok(needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_payload_is_padded_and_a_long_one_is_not() {
        let header = Repr { destination: Mac([2; 6]), source: Mac([4; 6]), ether_type: IPV4 };
        let mut out = [0xEE; 100];
        let sevens = |p: &mut [u8]| {
            p[..3].fill(7);
            Ok(3)
        };
        assert_eq!(header.emit_frame(&mut out, sevens), Ok(60));
        assert_eq!(out[..17], [2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 0x08, 0x00, 7, 7, 7]);
        assert!(out[17..60].iter().all(|&b| b == 0) && out[60] == 0xEE);
        assert_eq!(header.emit_frame(&mut out, |_| Ok(80)), Ok(94));
        assert_eq!(
            header.emit_frame(&mut out[..59], |_| Ok(1)),
            Err(Unfit::Room { format: "padded Ethernet frame", needed: 60, got: 59 })
        );
    }

    #[test]
    fn a_length_is_not_an_ether_type() {
        let mut frame = [0; 60];
        frame[12..14].copy_from_slice(&[0x05, 0xFF]);
        assert!(matches!(Frame::new(&frame), Err(Malformed::Value { found: 0x5FF, .. })));
        frame[12..14].copy_from_slice(&[0x06, 0x00]);
        assert_eq!(Frame::new(&frame).unwrap().payload().len(), 46);
        assert_eq!(Mac::FLOW_CONTROL.to_string(), "01:80:c2:00:00:01");
        assert!(Mac::FLOW_CONTROL.is_group() && !Mac([2; 6]).is_group());
    }
}
