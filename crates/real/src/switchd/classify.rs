//! What a switch needs to know of a frame of unknown origin: its priority and its flow.

use crate::wire::ethernet::{self, Frame};
use crate::wire::pffc::{Addresses, Key};
use crate::wire::{crc32, ipv4, ipv6, vlan};
use xoff_node::Classes;
use xoff_sim::UNKNOWN_SOURCE;
use xoff_units::{Class, FlowId};

/// Class and flow of a frame.
///
/// The priority is that of the outer VLAN tag; without one the upper three bits of DSCP, the class
/// selector (RFC 2474, section 4.2.2); otherwise 0. A priority that is not in use is treated as the
/// lowest that is. The flow is a hash of addresses, protocol and ports, of the two MAC addresses
/// where that is not IP, among the numbers from [`UNKNOWN_SOURCE`] on.
pub fn classify(bytes: &[u8], classes: &Classes) -> (Class, FlowId) {
    let Ok((ether_type, at)) = vlan::inner(bytes) else {
        return (Class(0), FlowId(UNKNOWN_SOURCE.0));
    };
    let payload = bytes.get(at..).unwrap_or_default();
    let (dscp, key) = match ether_type {
        ethernet::IPV4 => {
            ipv4::Packet::new(payload).map_or((0, None), |p| (p.dscp(), Some(v4(&p))))
        }
        ethernet::IPV6 => {
            ipv6::Packet::new(payload).map_or((0, None), |p| (p.dscp(), Some(v6(&p))))
        }
        _ => (0, None),
    };
    let priority = vlan::outer(bytes).map_or(dscp >> 3, |tag| tag.pcp);
    let class = classes.class(priority).filter(|&c| c.index() < classes.len()).unwrap_or(Class(0));
    let hash = key.map_or_else(|| Frame::new(bytes).map_or(0, |f| macs(&f)), |k| k.hash());
    (class, FlowId(UNKNOWN_SOURCE.0 | hash))
}

fn macs(f: &Frame) -> u32 {
    let mut both = [0; 12];
    both[..6].copy_from_slice(&f.destination().0);
    both[6..].copy_from_slice(&f.source().0);
    crc32(&both)
}

/// Ports of TCP, UDP and their like; 0 where there are none.
fn ports(protocol: u8, payload: &[u8]) -> (u16, u16) {
    const WITH_PORTS: [u8; 4] = [6, 17, 33, 132];
    match payload {
        &[a, b, c, d, ..] if WITH_PORTS.contains(&protocol) => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => (0, 0),
    }
}

fn v4(p: &ipv4::Packet) -> Key {
    // Only the first fragment has ports: all of a flow's fragments stay together without.
    let (source_port, destination_port) =
        if p.is_fragment() { (0, 0) } else { ports(p.protocol(), p.payload()) };
    Key {
        addresses: Addresses::V4(p.source(), p.destination()),
        protocol: p.protocol(),
        source_port,
        destination_port,
    }
}

fn v6(p: &ipv6::Packet) -> Key {
    let (source_port, destination_port) = ports(p.next_header(), p.payload());
    Key {
        addresses: Addresses::V6(p.source(), p.destination()),
        protocol: p.next_header(),
        source_port,
        destination_port,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ecn::Ecn;
    use crate::wire::ethernet::Mac;

    fn udp(dscp: u8, port: u16) -> Vec<u8> {
        let mut out = vec![0; 64];
        let header = ethernet::Repr {
            destination: Mac([2; 6]),
            source: Mac([4; 6]),
            ether_type: ethernet::IPV4,
        };
        let (source, destination) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let ip = ipv4::Repr {
            dscp,
            ecn: Ecn::new(0b10),
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            protocol: 17,
            source,
            destination,
            payload_len: 8,
        };
        header.emit_frame(&mut out, |p| ip.emit(p)).unwrap();
        out[34..36].copy_from_slice(&port.to_be_bytes());
        out
    }

    #[test]
    fn the_tag_decides_before_dscp() {
        let classes = Classes::new([0, 3, 5]);
        assert_eq!(classify(&udp(0, 1), &classes).0, Class(0));
        assert_eq!(
            classify(&udp(3 << 3 | 2, 1), &classes).0,
            Class(1),
            "AF32 is of class selector 3"
        );
        assert_eq!(classify(&udp(7 << 3, 1), &classes).0, Class(0), "7 is unused");
        let mut tagged = udp(3 << 3, 1);
        tagged.extend([0; 4]);
        vlan::push(&mut tagged, 64, vlan::Tag { tpid: vlan::C_TAG, pcp: 5, dei: false, vid: 0 })
            .unwrap();
        assert_eq!(classify(&tagged, &classes).0, Class(2));
    }

    #[test]
    fn flows_are_distinguished_by_their_ports() {
        let classes = Classes::new([0]);
        let flow = |port| classify(&udp(0, port), &classes).1;
        assert!(flow(1) >= UNKNOWN_SOURCE && flow(1) == flow(1) && flow(1) != flow(2));
        assert_eq!(classify(&[1, 2, 3], &classes), (Class(0), UNKNOWN_SOURCE), "no frame at all");
    }
}
