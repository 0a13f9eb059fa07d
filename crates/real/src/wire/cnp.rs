//! CNP: congestion notification packet of RoCEv2 (IBA, annex 17, section 17.9.3), over IPv4 or
//! IPv6.
//!
//! ```text
//!    0  20 or 40  IP header              (ipv4.rs, ipv6.rs); protocol UDP, no options or extensions, no fragment
//!        8        UDP header             destination port 4791; the checksum may be 0, "not computed"
//!   BTH, base transport header
//!    0   1        opcode 0x81
//!    1   1        bit 7 SE, bit 6 M, bits 5-4 pad count: 0     bits 3-0 transport version: 0
//!    2   2        P_Key, partition key   0xFFFF: the default partition
//!    4   1        bit 7 FECN: 0, bit 6 BECN: 1, bits 5-0 reserved
//!    5   3        destination QP: the queue pair to slow down
//!    8   1        bit 7 acknowledge request: 0, bits 6-0 reserved
//!    9   3        packet sequence number: 0
//!   12  16        reserved: 0
//!   28   4        ICRC, low byte first
//! ```
//!
//! 60 bytes over IPv4, 80 over IPv6. The ICRC is CRC-32 over eight bytes of ones (where InfiniBand
//! has its local header) and everything from the IP header on, with ones in place of fields that
//! routers change: type of service, time to live and checksum of IPv4; traffic class, flow label
//! and hop limit of IPv6; the UDP checksum; byte 4 of the BTH.
//!
//! Sent with both checksums; adapters often send 0 in UDP. On receipt SE, M, pad count, FECN, BECN,
//! sequence number and the reserved bytes are ignored: the opcode says it all. Another transport
//! version is rejected.
//!
//! The annex was read in a vendor's article with an annotated packet, not in the standard.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::wire::checksum::crc32_add;
use crate::wire::ecn::Ecn;
use crate::wire::error::{fits, put, room, take, u16_at, u32_at};
use crate::wire::{Malformed, Unfit, ipv4, ipv6, udp};

/// Opcode of a CNP.
pub const OPCODE: u8 = 0x81;
/// UDP port of RoCEv2.
pub const UDP_PORT: u16 = 4791;
/// Partition key of the default partition.
pub const DEFAULT_PARTITION: u16 = 0xFFFF;
/// Bit of byte 4 of the BTH.
const BECN: u8 = 0x40;
/// Length of BTH, reserved bytes and ICRC [bytes].
const BODY: usize = 12 + 16 + ICRC;
const ICRC: usize = 4;
/// Length of the UDP datagram [bytes].
const DATAGRAM: usize = udp::HEADER + BODY;

/// Addresses and ports of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Over IPv4.
    V4 {
        /// The notification point.
        source: Ipv4Addr,
        /// The sender that shall slow down.
        destination: Ipv4Addr,
    },
    /// Over IPv6.
    V6 {
        /// The notification point.
        source: Ipv6Addr,
        /// The sender that shall slow down.
        destination: Ipv6Addr,
    },
}

/// A CNP, from its IP header to its ICRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Addresses of the flow.
    pub addresses: Addresses,
    /// Differentiated services code point, 0 to 63: adapters send 48 by default.
    pub dscp: u8,
    /// ECN of the CNP itself.
    pub ecn: Ecn,
    /// Time to live, or hop limit [hops].
    pub hop_limit: u8,
    /// UDP source port: entropy for the choice of a path.
    pub source_port: u16,
    /// Partition key.
    pub partition: u16,
    /// Queue pair to slow down, 24 bits.
    pub queue_pair: u32,
}

impl Repr {
    /// Length of this packet [bytes].
    pub fn len(&self) -> usize {
        self.ip_len() + DATAGRAM
    }

    /// Never; there are no empty packets.
    pub fn is_empty(&self) -> bool {
        false
    }

    fn ip_len(&self) -> usize {
        match self.addresses {
            Addresses::V4 { .. } => ipv4::Repr::LEN,
            Addresses::V6 { .. } => ipv6::Repr::LEN,
        }
    }

    fn pseudo(&self) -> u64 {
        match self.addresses {
            Addresses::V4 { source, destination } => udp::pseudo_v4(source, destination, DATAGRAM),
            Addresses::V6 { source, destination } => udp::pseudo_v6(source, destination, DATAGRAM),
        }
    }

    /// Reads an IP packet, beginning with its IP header, and checks every checksum that it has.
    pub fn parse(bytes: &[u8]) -> Result<Repr, Malformed> {
        let version = take("CNP", bytes, 1)?[0] >> 4;
        let wrong = |field, found: u64, expected| Err(Malformed::Value { field, found, expected });
        let (addresses, dscp, ecn, hop_limit, protocol, ip_len, datagram) = match version {
            4 => {
                let (view, ip) = (ipv4::Packet::new(bytes)?, ipv4::Repr::parse(bytes)?);
                let addresses = Addresses::V4 { source: ip.source, destination: ip.destination };
                (addresses, ip.dscp, ip.ecn, ip.ttl, ip.protocol, view.header_len(), view.payload())
            }
            6 => {
                let (view, ip) = (ipv6::Packet::new(bytes)?, ipv6::Repr::parse(bytes)?);
                let addresses = Addresses::V6 { source: ip.source, destination: ip.destination };
                (
                    addresses,
                    ip.dscp,
                    ip.ecn,
                    ip.hop_limit,
                    ip.next_header,
                    ipv6::Repr::LEN,
                    view.payload(),
                )
            }
            found => return wrong("IP version", found.into(), "4 or 6"),
        };
        if version == 4 && ip_len != ipv4::Repr::LEN {
            return wrong("IPv4 header length of a CNP", ip_len as u64, "20: no options");
        }
        if protocol != udp::PROTOCOL {
            return wrong("IP protocol of a CNP", protocol.into(), "17, UDP");
        }
        if datagram.len() != DATAGRAM {
            return wrong("length of a CNP", datagram.len() as u64, "40 behind the IP header");
        }
        if u16_at(datagram, 2) != UDP_PORT {
            return wrong("UDP port of a CNP", u16_at(datagram, 2).into(), "4791");
        }
        if usize::from(u16_at(datagram, 4)) != DATAGRAM {
            return wrong("UDP length of a CNP", u16_at(datagram, 4).into(), "40");
        }
        let bth = &datagram[udp::HEADER..];
        if bth[0] != OPCODE {
            return wrong("BTH opcode", bth[0].into(), "0x81, CNP");
        }
        if bth[1] & 15 != 0 {
            return wrong("BTH transport version", (bth[1] & 15).into(), "0");
        }
        let (source_port, partition, queue_pair) =
            (u16_at(datagram, 0), u16_at(bth, 2), u32_at(bth, 4) & 0xFF_FFFF);
        let repr = Repr { addresses, dscp, ecn, hop_limit, source_port, partition, queue_pair };
        repr.check_sums(&bytes[..ip_len], datagram)?;
        Ok(repr)
    }

    fn check_sums(&self, ip: &[u8], datagram: &[u8]) -> Result<(), Malformed> {
        let mut zeroed = [0; DATAGRAM];
        zeroed.copy_from_slice(datagram);
        put(&mut zeroed, 6, [0, 0]);
        let (found, expected) = (u16_at(datagram, 6), udp::checksum(self.pseudo(), &zeroed));
        if found != 0 && found != expected {
            return Err(Malformed::Checksum {
                field: "UDP checksum",
                found: found.into(),
                expected: expected.into(),
            });
        }
        let (found, expected) =
            (u32_at(datagram, DATAGRAM - ICRC).swap_bytes(), icrc(ip, datagram));
        if found == expected {
            Ok(())
        } else {
            Err(Malformed::Checksum { field: "ICRC", found, expected })
        }
    }

    /// Writes an IP packet, beginning with its IP header; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        fits("QP of a CNP", self.queue_pair, 0xFF_FFFF)?;
        let out = room("CNP", out, self.len())?;
        let (dscp, ecn, payload_len) = (self.dscp, self.ecn, DATAGRAM as u16);
        let ip_len = match self.addresses {
            Addresses::V4 { source, destination } => {
                let (ttl, protocol) = (self.hop_limit, udp::PROTOCOL);
                // RFC 6864: the identification of a packet that cannot be fragmented has no
                // meaning.
                ipv4::Repr {
                    dscp,
                    ecn,
                    identification: 0,
                    dont_fragment: true,
                    ttl,
                    protocol,
                    source,
                    destination,
                    payload_len,
                }
                .emit(out)
            }
            Addresses::V6 { source, destination } => {
                let (hop_limit, next_header) = (self.hop_limit, udp::PROTOCOL);
                ipv6::Repr {
                    dscp,
                    ecn,
                    flow_label: 0,
                    payload_len,
                    next_header,
                    hop_limit,
                    source,
                    destination,
                }
                .emit(out)
            }
        }?;
        let (ip, datagram) = out.split_at_mut(ip_len);
        put(datagram, 0, self.source_port.to_be_bytes());
        put(datagram, 2, UDP_PORT.to_be_bytes());
        put(datagram, 4, payload_len.to_be_bytes());
        let bth = &mut datagram[udp::HEADER..];
        bth[0] = OPCODE;
        put(bth, 2, self.partition.to_be_bytes());
        put(bth, 4, self.queue_pair.to_be_bytes());
        bth[4] = BECN;
        put(datagram, DATAGRAM - ICRC, icrc(ip, datagram).to_le_bytes());
        put(datagram, 6, udp::checksum(self.pseudo(), datagram).to_be_bytes());
        Ok(self.len())
    }
}

/// Invariant CRC of an IP header and a datagram of RoCEv2 (IBA, annex 17, section 17.3.3); its last
/// four bytes are the ICRC.
fn icrc(ip: &[u8], datagram: &[u8]) -> u32 {
    let (mut masked, mut transport) = ([0; ipv6::Repr::LEN], [0; udp::HEADER + 12]);
    let masked = &mut masked[..ip.len()];
    masked.copy_from_slice(ip);
    if ip[0] >> 4 == 4 {
        (masked[1], masked[8]) = (0xFF, 0xFF);
        put(masked, 10, [0xFF; 2]);
    } else {
        put(masked, 0, [0x6F, 0xFF, 0xFF, 0xFF]);
        masked[7] = 0xFF;
    }
    let (head, rest) = datagram.split_at(transport.len());
    transport.copy_from_slice(head);
    put(&mut transport, 6, [0xFF; 2]);
    transport[udp::HEADER + 4] = 0xFF;
    [&[0xFF; 8], &*masked, &transport, &rest[..rest.len() - ICRC]]
        .iter()
        .fold(!0, |r, piece| crc32_add(r, piece))
        ^ u32::MAX
}
