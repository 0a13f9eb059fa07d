//! What is written is read as it was, whatever the values.

use proptest::prelude::*;
use xoff_real::wire::ecn::Ecn;
use xoff_real::wire::ethernet::{self, Mac};
use xoff_real::wire::local::Message;
use xoff_real::wire::{
    cbfc, control, gfc, ipv4, ipv6, link_retry, mac_control, pffc, test_frame, vlan,
};

use xoff_farm::frames::PORT;

fn messages_of_any_value() -> impl Strategy<Value = Message> {
    let feedback = prop_oneof![
        any::<u16>().prop_map(gfc::Feedback::Stage),
        any::<u64>().prop_map(gfc::Feedback::Queue),
        any::<u64>().prop_map(gfc::Feedback::Rate)
    ];
    let gfc = (0..8u8, any::<u32>(), any::<u32>(), feedback).prop_map(
        |(priority, sequence, validity_us, feedback)| gfc::Repr {
            priority,
            sequence,
            validity_us,
            feedback,
        },
    );
    let op = prop_oneof![Just(cbfc::Op::Normal), Just(cbfc::Op::Init)];
    let narrow = (op.clone(), 0..4096u16, 0..16u8, 0..4096u16)
        .prop_map(|(op, fctbs, vl, fccl)| cbfc::LinkPacket { op, fctbs, vl, fccl });
    let wide = (op, 0..16u8, any::<[u64; 3]>())
        .prop_map(|(op, vl, [fctbs, fccl, occupied])| cbfc::Wide { op, vl, fctbs, fccl, occupied });
    let kind = prop_oneof![
        any::<u16>().prop_map(pffc::Kind::Pause),
        Just(pffc::Kind::Resume),
        Just(pffc::Kind::Migrate),
        Just(pffc::Kind::MigrateBack)
    ];
    let addresses = prop_oneof![
        any::<[[u8; 4]; 2]>().prop_map(|[s, d]| pffc::Addresses::V4(s.into(), d.into())),
        any::<[[u8; 16]; 2]>().prop_map(|[s, d]| pffc::Addresses::V6(s.into(), d.into()))
    ];
    let key = (addresses, any::<u8>(), any::<[u16; 2]>()).prop_map(
        |(addresses, protocol, [source_port, destination_port])| pffc::Key {
            addresses,
            protocol,
            source_port,
            destination_port,
        },
    );
    let pffc = (kind, 0..8u8, any::<[u32; 2]>(), proptest::option::of(key)).prop_map(
        |(kind, queue, [sequence, hash], key)| pffc::Repr { kind, queue, sequence, hash, key },
    );
    let test = (
        0..8u8,
        any::<[u8; 3]>(),
        any::<bool>(),
        40..=1500u16,
        any::<u16>(),
        any::<u32>(),
        any::<[u64; 3]>(),
    )
        .prop_map(
            |(priority, [kind, mark, reported], last, len, counted, flow, [n, due, sent])| {
                use test_frame::Kind::*;
                let kind = [Data, Ack, Nack, CongestionNotification][usize::from(kind & 3)];
                let (mark, reported) = (Ecn::new(mark), Ecn::new(reported));
                test_frame::Repr {
                    kind,
                    mark,
                    reported,
                    counted,
                    priority,
                    last,
                    len,
                    flow,
                    sequence: n,
                    due_ps: due,
                    sent_ps: sent,
                }
            },
        );
    let link = (0..5u8, 0..1u32 << 20).prop_map(|(kind, number)| link_retry::Repr { kind, number });
    prop_oneof![
        gfc.prop_map(Message::Gfc),
        narrow.prop_map(Message::Credit12),
        wide.prop_map(Message::Credit64),
        pffc.prop_map(Message::Pffc),
        test.prop_map(Message::Test),
        link.prop_map(Message::LinkRetry)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_message_in_a_frame_is_read_as_it_was_written(message in messages_of_any_value()) {
        let mut out = [0xEE; 1600];
        let len = message.emit_frame(Mac::FLOW_CONTROL, PORT, &mut out).unwrap();
        prop_assert!(len >= ethernet::FRAME_MIN && out[len] == 0xEE);
        prop_assert_eq!(Message::parse(ethernet::Frame::new(&out[..len]).unwrap().payload()), Ok(message));
        let control = control::parse(&out[..len]).unwrap();
        match message {
            Message::Test(_) => prop_assert_eq!(control, None),
            m => prop_assert_eq!(control, Some(control::Control::Local(m))),
        }
    }

    #[test]
    fn pauses(times in any::<[Option<u16>; 8]>(), quanta in any::<u16>()) {
        for m in [mac_control::Repr::Pfc(mac_control::Pfc { times }), mac_control::Repr::Pause { quanta }] {
            let mut out = [0; 60];
            prop_assert_eq!(m.emit_frame(PORT, &mut out), Ok(60));
            prop_assert_eq!(control::parse(&out), Ok(Some(control::Control::Mac(m))));
        }
    }

    #[test]
    fn headers_come_back(
        (dscp, ecn, hops, protocol) in (0..64u8, 0..4u8, any::<u8>(), any::<u8>()),
        (identification, dont_fragment, payload_len, flow_label) in (any::<u16>(), any::<bool>(), 0..1000u16, 0..1u32 << 20),
        [v4s, v4d] in any::<[[u8; 4]; 2]>(),
        [v6s, v6d] in any::<[[u8; 16]; 2]>(),
        (pcp, dei, vid) in (0..8u8, any::<bool>(), 0..4096u16),
    ) {
        let (ecn, mut out) = (Ecn::new(ecn), [0; 1040]);
        let (source, destination) = (v4s.into(), v4d.into());
        let v4 = ipv4::Repr { dscp, ecn, identification, dont_fragment, ttl: hops, protocol, source, destination, payload_len };
        v4.emit(&mut out).unwrap();
        prop_assert_eq!(ipv4::Repr::parse(&out), Ok(v4));
        let (source, destination) = (v6s.into(), v6d.into());
        let v6 = ipv6::Repr { dscp, ecn, flow_label, payload_len, next_header: protocol, hop_limit: hops, source, destination };
        v6.emit(&mut out).unwrap();
        prop_assert_eq!(ipv6::Repr::parse(&out), Ok(v6));
        let tag = vlan::Tag { tpid: vlan::S_TAG, pcp, dei, vid };
        tag.emit(&mut out).unwrap();
        prop_assert_eq!(vlan::Tag::parse(&out), Ok(tag));
    }
}
