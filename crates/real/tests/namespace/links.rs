//! Frames over veth pairs: a frame leaves as it entered, byte for byte, and lost frames are counted.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use xoff_real::netio::{PacketOptions, PacketPort, Port, PortCounters, sandbox, wait};
use xoff_real::wire::ethernet::Mac;
use xoff_real::wire::mac_control::{Pfc, Repr};
use xoff_real::wire::vlan;

use super::{arriving, in_namespaces, number, numbered, send_now, two_ports};

#[test]
fn a_pfc_frame_arrives_byte_for_byte() {
    in_namespaces("links::a_pfc_frame_arrives_byte_for_byte", || {
        let (mut a, mut b) = two_ports(1500, &PacketOptions::default());
        let mut frame = [0; 60];
        let pfc = Repr::Pfc(Pfc {
            times: [Some(0xFFFF), None, None, Some(7), None, None, None, Some(0)],
        });
        assert_eq!(pfc.emit_frame(a.mac(), &mut frame), Ok(60));
        send_now(&mut a, &frame);
        assert_eq!(arriving(&mut b, 1), [frame.to_vec()]);
        // The other way too, and nothing comes back to who sent it.
        frame[6..12].copy_from_slice(&b.mac().0);
        send_now(&mut b, &frame);
        assert_eq!(arriving(&mut a, 1), [frame.to_vec()]);
        assert_eq!(b.receive(64, &mut |f| panic!("{f:02x?}")).unwrap(), 0);
        assert_eq!(
            a.counters(),
            PortCounters { received: 1, sent: 1, sent_bytes: 60, ..Default::default() }
        );
        assert_ne!(a.mac(), b.mac());
        assert_ne!(a.mac(), Mac::default());
    });
}

/// Every tag comes back in line: customer's, service provider's, priority only, and two at once.
#[test]
fn vlan_tags_are_restored() {
    in_namespaces("links::vlan_tags_are_restored", || {
        let (mut a, mut b) = two_ports(1500, &PacketOptions::default());
        let tag = |tpid, pcp, dei, vid| vlan::Tag { tpid, pcp, dei, vid };
        let tags = [
            tag(vlan::C_TAG, 3, false, 0x123),
            tag(vlan::S_TAG, 7, true, 4095),
            tag(vlan::C_TAG, 5, false, 0),
            tag(vlan::C_TAG, 0, false, 0),
        ];
        let mut sent = Vec::new();
        for (i, tag) in tags.into_iter().enumerate() {
            let mut frame = numbered(i as u32, 100);
            frame.resize(108, 0);
            assert_eq!(vlan::push(&mut frame, 100, tag), Ok(104));
            sent.push(frame[..104].to_vec());
            assert_eq!(vlan::push(&mut frame, 104, tags[1]), Ok(108));
            sent.push(frame);
        }
        sent.iter().for_each(|frame| send_now(&mut a, frame));
        assert_eq!(arriving(&mut b, sent.len()), sent);
    });
}

#[test]
fn ten_thousand_frames_arrive_in_order() {
    in_namespaces("links::ten_thousand_frames_arrive_in_order", || {
        let (mut a, mut b) = two_ports(1500, &PacketOptions::default());
        let (mut next_out, mut next_in) = (0, 0u32);
        while next_in < 10_000 {
            for _ in 0..16 {
                // Lengths of all kinds, the shortest and the longest among them.
                let len = [60, 61, 64, 777, 1514][next_out as usize % 5];
                if next_out < 10_000 && a.send(&numbered(next_out, len)).unwrap() {
                    next_out += 1;
                }
            }
            a.flush().unwrap();
            b.receive(64, &mut |frame| {
                assert_eq!(
                    (number(frame), frame.len()),
                    (next_in, [60, 61, 64, 777, 1514][next_in as usize % 5])
                );
                next_in += 1;
            })
            .unwrap();
        }
        assert_eq!(
            a.counters(),
            PortCounters {
                sent: 10_000,
                sent_bytes: 2_000 * (60 + 61 + 64 + 777 + 1514),
                ..Default::default()
            }
        );
        assert_eq!(b.counters(), PortCounters { received: 10_000, ..Default::default() });
    });
}

/// A queue of 64 frames: the port reports that there is no room, and after a flush there is.
#[test]
fn a_full_queue_is_reported() {
    in_namespaces("links::a_full_queue_is_reported", || {
        let (mut a, mut b) = two_ports(1500, &PacketOptions::default());
        let mut sent = 0;
        while a.send(&numbered(sent, 60)).unwrap() {
            sent += 1;
        }
        assert_eq!((sent, a.counters().sent), (64, 0));
        a.flush().unwrap();
        assert!(a.send(&numbered(sent, 60)).unwrap());
        a.flush().unwrap();
        assert_eq!(arriving(&mut b, 65).len(), 65);
    });
}

#[test]
fn frames_lost_in_a_full_ring_are_counted() {
    in_namespaces("links::frames_lost_in_a_full_ring_are_counted", || {
        let (mut a, mut b) =
            two_ports(1500, &PacketOptions { ring_bytes: 1, ..Default::default() });
        for n in 0..200 {
            send_now(&mut a, &numbered(n, 60));
        }
        let arrived: Vec<_> = arriving(&mut b, 200).iter().map(|f| number(f)).collect();
        // One block of 64 KiB, 40 places.
        assert_eq!(arrived, (0..40).collect::<Vec<_>>());
        let expected = PortCounters { received: 40, kernel_drops: 160, ..Default::default() };
        assert_eq!((b.counters(), b.counters()), (expected, expected));
        assert!(expected.advice("p1").unwrap().contains("lost 160 frames"));
        // The ring works on, round its end.
        for n in 0..100 {
            send_now(&mut a, &numbered(n, 60));
            assert_eq!(arriving(&mut b, 1), [numbered(n, 60)]);
        }
    });
}

/// The far end has a larger MTU: what is longer than ours plus a tag is rejected and counted; a
/// tagged frame of full length is not.
#[test]
fn frames_longer_than_the_mtu_are_refused() {
    in_namespaces("links::frames_longer_than_the_mtu_are_refused", || {
        sandbox::veth_pair("p0", "p1", 9000).unwrap();
        let mut a = PacketPort::open("p0", &PacketOptions::default()).unwrap();
        sandbox::ip("link set dev p1 mtu 1500\n").unwrap();
        let mut b = PacketPort::open("p1", &PacketOptions::default()).unwrap();
        let mut tagged = numbered(0, 1518);
        tagged[12..14].copy_from_slice(&[0x81, 0x00]);
        // An MTU is no more than an agreement: veth itself lets a tag's length and no more pass
        // beyond it.
        send_now(&mut a, &tagged);
        send_now(&mut a, &numbered(1, 1514));
        assert_eq!(arriving(&mut b, 2), [tagged, numbered(1, 1514)]);
        // A frame that the sending port itself cannot take.
        send_now(&mut b, &numbered(2, 1519));
        send_now(&mut b, &[0; 13]);
        // Taken, and refused by the kernel: four bytes above the MTU without a tag to explain them.
        send_now(&mut b, &numbered(3, 1518));
        assert_eq!(
            b.counters(),
            PortCounters { received: 2, send_errors: 3, ..Default::default() }
        );
    });
}

#[test]
fn one_interface_has_one_switch() {
    in_namespaces("links::one_interface_has_one_switch", || {
        let (a, _b) = two_ports(1500, &PacketOptions::default());
        let again = || PacketPort::open("p0", &PacketOptions::default());
        let text = again().map(drop).unwrap_err().to_string();
        assert!(text.contains("interface p0 is already open in another xoff"), "{text}");
        drop(a);
        again().unwrap();
    });
}

/// An idle port sleeps until a frame comes; an interface that goes down is an error, and not an
/// endless wake-up.
#[test]
fn waiting_for_a_port() {
    in_namespaces("links::waiting_for_a_port", || {
        let (mut a, mut b) = two_ports(1500, &PacketOptions::default());
        let cpu = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
        let (start, used) = (Instant::now(), cpu());
        assert!(!wait([&b as &dyn Port], Duration::from_millis(200)).unwrap());
        assert!(start.elapsed() >= Duration::from_millis(200));
        assert!(cpu() - used < Duration::from_millis(20), "waiting took the core");
        for n in 0..3 {
            send_now(&mut a, &numbered(n, 60));
            assert!(wait([&b as &dyn Port], Duration::from_secs(10)).unwrap());
            assert_eq!(arriving(&mut b, 1), [numbered(n, 60)]);
            assert!(!wait([&b as &dyn Port], Duration::ZERO).unwrap());
        }
        sandbox::ip("link set dev p1 down\n").unwrap();
        let error = wait([&b as &dyn Port], Duration::from_secs(10)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NetworkDown, "{error}");
        assert!(!wait([&b as &dyn Port], Duration::from_millis(1)).unwrap());
        // A switch that never waits learns it too.
        sandbox::ip("link set dev p1 up\nlink set dev p1 down\n").unwrap();
        assert!((0..2000).any(|_| b.receive(64, &mut |_| ()).is_err()));
        sandbox::ip("link set dev p1 up\n").unwrap();
        let _ = b.receive(64, &mut |_| ());
        send_now(&mut a, &numbered(9, 60));
        assert_eq!(arriving(&mut b, 1), [numbered(9, 60)]);
    });
}

/// A fresh pair is silent: no router is asked for, no address is announced.
#[test]
fn nothing_is_sent_on_a_fresh_pair() {
    in_namespaces("links::nothing_is_sent_on_a_fresh_pair", || {
        let (_a, mut b) = two_ports(1500, &PacketOptions::default());
        // Longer than the random delay before the first question for a router or for a double (RFC
        // 4862, section 5.4.2: 1 s).
        std::thread::sleep(Duration::from_millis(1500));
        let mut received = Vec::new();
        b.receive(64, &mut |f| received.push(f.to_vec())).unwrap();
        assert!(received.is_empty(), "{received:02x?}");
    });
}
