//! PFFC: per-hop per-flow flow control (IEEE Access 2021). Ours, not a standard, and not the
//! paper's bytes.
//!
//! ```text
//!    0   4  header of 0x88B5, subtype 4          (local.rs)
//!    4   1  kind                1 pause, 2 resume, 3 migrate, 4 migrate back
//!    5   1  bits 2-0 queue      the paused egress queue (PEQ); bits 7-3 reserved
//!    6   2  duration [quanta]   of a pause; 0 and ignored otherwise
//!    8   4  sequence            of this port and priority, from 0, wraps (RFC 1982); an older one is stale
//!   12   4  flow hash           index of the switches' tables
//!   16   1  key                 0 none, 4 IPv4, 6 IPv6
//!   17   1  IP protocol         this and the rest only with a key
//!   18   2  reserved
//!   20   2  source port
//!   22   2  destination port
//!   24      source and destination address, 4 or 16 bytes each
//!   17 without a key, 32 with IPv4, 56 with IPv6   (a frame of 70 bytes; the others are padded to 60)
//! ```
//!
//! The paper's figure of its control frame was not legible to us. What is known: PAUSE and RESUME
//! are PFC frames whose vector names the queue; MIGRATE is a frame of its own that names the flow.
//! Here all four have one format, so that PAUSE can name a flow too. The 5-tuple is optional: a
//! hash alone is enough where both ends compute it alike, and [`Key::hash`] is the one that this
//! crate offers.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::wire::checksum::crc32;
use crate::wire::error::{array, fits, put, room, take, u16_at, u32_at};
use crate::wire::local::Subtype;
use crate::wire::{Malformed, Unfit};

/// Action for the upstream port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Stop the queue for this time [quanta of 512 bits].
    Pause(u16),
    /// Serve the queue until it is empty, then the default queue again.
    Resume,
    /// Put later frames of this flow into the queue.
    Migrate,
    /// Put later frames of this flow into the default queue again.
    MigrateBack,
}

/// Addresses of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addresses {
    /// Source and destination.
    V4(Ipv4Addr, Ipv4Addr),
    /// Source and destination.
    V6(Ipv6Addr, Ipv6Addr),
}

/// The 5-tuple of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Source and destination address.
    pub addresses: Addresses,
    /// IP protocol.
    pub protocol: u8,
    /// Source port; 0 where the protocol has none.
    pub source_port: u16,
    /// Destination port; 0 where the protocol has none.
    pub destination_port: u16,
}

impl Key {
    /// Longest key on the wire [bytes].
    const LEN_MAX: usize = 40;

    /// Hash of the key: CRC-32 of its bytes in the message, from the byte `key` on, reserved bytes
    /// zero. Ours.
    pub fn hash(&self) -> u32 {
        let mut bytes = [0; Key::LEN_MAX];
        let len = self.put(&mut bytes);
        crc32(&bytes[..len])
    }

    fn len(&self) -> usize {
        match self.addresses {
            Addresses::V4(..) => 16,
            Addresses::V6(..) => Key::LEN_MAX,
        }
    }

    /// Into zeroed bytes that are known to be there.
    fn put(&self, out: &mut [u8]) -> usize {
        out[1] = self.protocol;
        put(out, 4, self.source_port.to_be_bytes());
        put(out, 6, self.destination_port.to_be_bytes());
        match self.addresses {
            Addresses::V4(source, destination) => {
                out[0] = 4;
                put(out, 8, source.octets());
                put(out, 12, destination.octets());
            }
            Addresses::V6(source, destination) => {
                out[0] = 6;
                put(out, 8, source.octets());
                put(out, 24, destination.octets());
            }
        }
        self.len()
    }

    fn parse(bytes: &[u8]) -> Result<Option<Key>, Malformed> {
        let addresses = match take("PFFC", bytes, 1)?[0] {
            0 => return Ok(None),
            4 => {
                let b = take("PFFC with an IPv4 key", bytes, 16)?;
                Addresses::V4(array(b, 8).into(), array(b, 12).into())
            }
            6 => {
                let b = take("PFFC with an IPv6 key", bytes, Key::LEN_MAX)?;
                Addresses::V6(array::<16>(b, 8).into(), array::<16>(b, 24).into())
            }
            found => {
                return Err(Malformed::Value {
                    field: "PFFC key",
                    found: found.into(),
                    expected: "0, 4 or 6",
                });
            }
        };
        Ok(Some(Key {
            addresses,
            protocol: bytes[1],
            source_port: u16_at(bytes, 4),
            destination_port: u16_at(bytes, 6),
        }))
    }
}

/// A PFFC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Action.
    pub kind: Kind,
    /// Paused egress queue that it is about, 0 to 7: its PFC priority.
    pub queue: u8,
    /// Counts the messages of this port and priority; wraps.
    pub sequence: u32,
    /// Hash of the flow that it is about.
    pub hash: u32,
    /// The flow itself.
    pub key: Option<Key>,
}

impl Repr {
    /// Bytes before the key.
    const FIXED: usize = 16;

    /// Length of this message without padding [bytes]; without a key, the message ends with the
    /// `key` byte.
    pub fn len(&self) -> usize {
        Repr::FIXED + self.key.map_or(1, |k| k.len())
    }

    /// Never; there are no empty messages.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Reads the payload after EtherType 0x88B5.
    pub fn parse(bytes: &[u8]) -> Result<Repr, Malformed> {
        let b = Subtype::Pffc.expect("PFFC", bytes, Repr::FIXED)?;
        let kind = match b[4] {
            1 => Kind::Pause(u16_at(b, 6)),
            2 => Kind::Resume,
            3 => Kind::Migrate,
            4 => Kind::MigrateBack,
            found => {
                return Err(Malformed::Value {
                    field: "PFFC kind",
                    found: found.into(),
                    expected: "1 to 4",
                });
            }
        };
        let key = Key::parse(&bytes[Repr::FIXED..])?;
        Ok(Repr { kind, queue: b[5] & 7, sequence: u32_at(b, 8), hash: u32_at(b, 12), key })
    }

    /// Writes the payload after EtherType 0x88B5, without padding; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        fits("PFFC queue", self.queue, 7)?;
        let out = room("PFFC", out, self.len())?;
        Subtype::Pffc.put(out);
        let (kind, quanta) = match self.kind {
            Kind::Pause(quanta) => (1, quanta),
            Kind::Resume => (2, 0),
            Kind::Migrate => (3, 0),
            Kind::MigrateBack => (4, 0),
        };
        (out[4], out[5]) = (kind, self.queue);
        put(out, 6, quanta.to_be_bytes());
        put(out, 8, self.sequence.to_be_bytes());
        put(out, 12, self.hash.to_be_bytes());
        if let Some(key) = self.key {
            key.put(&mut out[Repr::FIXED..]);
        }
        Ok(self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrate_byte_by_byte() {
        let addresses = Addresses::V4([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let key = Key { addresses, protocol: 17, source_port: 49152, destination_port: 4791 };
        let m =
            Repr { kind: Kind::Migrate, queue: 5, sequence: 7, hash: 0xAABB_CCDD, key: Some(key) };
        let mut out = [0xEE; 32];
        assert_eq!(m.emit(&mut out), Ok(32));
        assert_eq!(out[..16], [0x78, 0x6F, 1, 4, 3, 5, 0, 0, 0, 0, 0, 7, 0xAA, 0xBB, 0xCC, 0xDD]);
        assert_eq!(out[16..], [4, 17, 0, 0, 0xC0, 0, 0x12, 0xB7, 10, 0, 0, 1, 10, 0, 0, 2]);
        assert_eq!(Repr::parse(&out), Ok(m));
        assert_eq!(key.hash(), crc32(&out[16..]));
        assert_ne!(key.hash(), Key { source_port: 49153, ..key }.hash());
    }
}
