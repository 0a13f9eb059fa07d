//! One valid frame of every kind.

use std::net::{Ipv4Addr, Ipv6Addr};

use xoff_real::wire::ecn::Ecn;
use xoff_real::wire::ethernet::{self, Mac};
use xoff_real::wire::local::Message;
use xoff_real::wire::mac_control::{self, Pfc};
use xoff_real::wire::{cbfc, gfc, ipv4, ipv6, link_retry, pffc, test_frame, vlan};

/// Address of a port.
pub const PORT: Mac = Mac([0x02, 0, 0, 0, 0, 1]);
/// Address of a host.
pub const HOST: Mac = Mac([0x02, 0, 0, 0, 0, 2]);

/// Protocol number that nobody owns (RFC 3692).
const UNKNOWN: u8 = 253;
/// Zeros after the header of an IP packet [bytes].
const PAYLOAD: usize = 40;
/// Header of an IPv4 packet.
const V4: ipv4::Repr = ipv4::Repr {
    dscp: 48,
    ecn: Ecn::ECT_1,
    identification: 7,
    dont_fragment: true,
    ttl: 64,
    protocol: UNKNOWN,
    source: Ipv4Addr::new(10, 0, 0, 1),
    destination: Ipv4Addr::new(10, 0, 0, 2),
    payload_len: PAYLOAD as u16,
};
/// Header of an IPv6 packet.
const V6: ipv6::Repr = ipv6::Repr {
    dscp: 48,
    ecn: Ecn::NOT_CAPABLE,
    flow_label: 9,
    payload_len: PAYLOAD as u16,
    next_header: UNKNOWN,
    hop_limit: 64,
    source: Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 1),
    destination: Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 2),
};

/// Messages of ours, one of each shape.
pub fn messages() -> Vec<Message> {
    let gfc = |feedback| {
        Message::Gfc(gfc::Repr { priority: 3, sequence: 9, validity_us: 50_000, feedback })
    };
    let v4 = pffc::Addresses::V4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let v6 = pffc::Addresses::V6(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
    let key = |addresses| {
        Some(pffc::Key { addresses, protocol: 17, source_port: 49152, destination_port: 4791 })
    };
    let pffc = |kind, key| {
        Message::Pffc(pffc::Repr { kind, queue: 5, sequence: 2, hash: 0xAABB_CCDD, key })
    };
    vec![
        gfc(gfc::Feedback::Stage(5)),
        gfc(gfc::Feedback::Queue(300_000)),
        gfc(gfc::Feedback::Rate(5_000_000_000)),
        Message::Credit12(cbfc::LinkPacket { op: cbfc::Op::Normal, fctbs: 100, vl: 3, fccl: 2148 }),
        Message::Credit64(cbfc::Wide {
            op: cbfc::Op::Init,
            vl: 3,
            fctbs: 1 << 40,
            fccl: (1 << 40) + 4096,
            occupied: 4160,
        }),
        pffc(pffc::Kind::Pause(65535), None),
        pffc(pffc::Kind::Resume, None),
        pffc(pffc::Kind::Migrate, key(v4)),
        pffc(pffc::Kind::MigrateBack, key(v6)),
        Message::Test(test_frame::Repr {
            kind: test_frame::Kind::Ack,
            mark: Ecn::UE,
            reported: Ecn::CE,
            counted: 64,
            priority: 3,
            last: true,
            len: 100,
            flow: 7,
            sequence: 41,
            due_ps: 1_000,
            sent_ps: 2_000,
        }),
        Message::LinkRetry(link_retry::Repr { kind: 2, number: 41 }),
    ]
}

fn frame(
    header: ethernet::Repr,
    payload: impl FnOnce(&mut [u8]) -> Result<usize, xoff_real::wire::Unfit>,
) -> Vec<u8> {
    let mut out = vec![0; 256];
    let len = header.emit_frame(&mut out, payload).unwrap();
    out.truncate(len);
    out
}

/// Whole frames, one of every kind.
pub fn frames() -> Vec<Vec<u8>> {
    let to = |destination, ether_type| ethernet::Repr { destination, source: PORT, ether_type };
    let control =
        |m: mac_control::Repr| frame(to(Mac::FLOW_CONTROL, ethernet::MAC_CONTROL), |p| m.emit(p));
    let mut pfc = Pfc::one(3, 65535).unwrap();
    pfc.times[4] = Some(0);
    let mut frames = vec![
        control(mac_control::Repr::Pause { quanta: 0x1234 }),
        control(mac_control::Repr::Pfc(pfc)),
        frame(to(HOST, ethernet::IPV4), |p| Ok(V4.emit(p)? + PAYLOAD)),
        frame(to(HOST, ethernet::IPV6), |p| Ok(V6.emit(p)? + PAYLOAD)),
    ];
    for m in messages() {
        let destination = if matches!(m, Message::Test(_)) { HOST } else { Mac::FLOW_CONTROL };
        frames.push(frame(to(destination, ethernet::LOCAL), |p| m.emit(p)));
    }
    let mut tagged = frames[2].clone();
    let len = tagged.len();
    tagged.resize(len + vlan::Tag::LEN, 0);
    vlan::push(&mut tagged, len, vlan::Tag { tpid: vlan::C_TAG, pcp: 3, dei: false, vid: 0 })
        .unwrap();
    frames.push(tagged);
    frames
}
