//! Surroundings of the ports: offloads, hosts with a stack of their own, taps, rights.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;

use xoff_real::netio::interface::{Interface, turn};
use xoff_real::netio::sandbox::{self, Capability, Host};
use xoff_real::netio::{OpenError, PacketOptions, PacketPort, Port, TapPort, privileges};

use super::{arriving, has, in_namespaces, numbered, send_now, two_ports};

/// Internet checksum over pseudo-header and UDP datagram of a frame without tags or options: zero
/// if it is right.
fn udp_check(frame: &[u8]) -> u16 {
    let length = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
    let mut all = frame[26..34].to_vec();
    all.extend([0, 17]);
    all.extend_from_slice(&frame[38..40]);
    all.extend_from_slice(&frame[34..34 + length]);
    xoff_real::wire::internet(&all)
}

/// A host whose stack leaves checksums to hardware sends UDP into the switch: the port finishes
/// them.
#[test]
fn unfinished_checksums_are_completed() {
    in_namespaces("machine::unfinished_checksums_are_completed", || {
        sandbox::veth_pair("p0", "p1", 1500).unwrap();
        turn("p1", "tx", true).unwrap();
        let host = Host::new("client").unwrap();
        host.attach("p1", &["10.0.0.1/24"]).unwrap();
        host.run(|| sandbox::ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev p1\n")).unwrap();
        let mut port = PacketPort::open("p0", &PacketOptions::default()).unwrap();
        host.run(|| {
            let socket = std::net::UdpSocket::bind("10.0.0.1:1000").unwrap();
            for n in 0..3u8 {
                socket.send_to(&vec![n; 100 + usize::from(n)], "10.0.0.2:2000").unwrap();
            }
        });
        let frames = arriving(&mut port, 3);
        assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [142, 143, 144]);
        for frame in &frames {
            assert_eq!(udp_check(frame), 0, "{frame:02x?}");
        }
        let counters = port.counters();
        assert_eq!((counters.received, counters.checksums_completed), (3, 3));
        assert!(counters.advice("p0").unwrap().contains("tx off"));
    });
}

/// Pair as the sandbox creates it, seen by the host: nothing is left to finish.
#[test]
fn a_pair_of_the_sandbox_needs_no_mending() {
    in_namespaces("machine::a_pair_of_the_sandbox_needs_no_mending", || {
        sandbox::veth_pair("p0", "p1", 1500).unwrap();
        assert_eq!(Interface::look("p1").unwrap().breaking(), Vec::<&str>::new());
        let host = Host::new("client").unwrap();
        host.attach("p1", &["10.0.0.1/24"]).unwrap();
        host.run(|| sandbox::ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev p1\n")).unwrap();
        let mut port = PacketPort::open("p0", &PacketOptions::default()).unwrap();
        host.run(|| {
            std::net::UdpSocket::bind("10.0.0.1:1000").unwrap().send_to(&[7; 100], "10.0.0.2:2000")
        })
        .unwrap();
        assert_eq!(udp_check(&arriving(&mut port, 1)[0]), 0);
        assert_eq!((port.counters().received, port.counters().checksums_completed), (1, 0));
    });
}

/// A host with segmentation left to hardware sends frames of up to 64 KiB: refused, counted, and
/// the counters' text advises what to do.
#[test]
fn segments_left_to_hardware_are_refused() {
    in_namespaces("machine::segments_left_to_hardware_are_refused", || {
        sandbox::veth_pair("p0", "p1", 1500).unwrap();
        for offload in ["tx", "gso", "tso"] {
            turn("p1", offload, true).unwrap();
        }
        let host = Host::new("client").unwrap();
        host.attach("p1", &["10.0.0.1/24"]).unwrap();
        host.run(|| sandbox::ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev p1\n")).unwrap();
        let mut port = PacketPort::open("p0", &PacketOptions::default()).unwrap();
        // UDP_SEGMENT (103) of SOL_UDP: one call, five datagrams, to be cut by "the hardware". TCP
        // would need a peer that answers.
        let sent = host.output({
            let mut c = Command::new("python3");
            c.args(["-c", "import socket; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.setsockopt(17,103,1000); s.sendto(b'x'*5000,('10.0.0.2',9))"]);
            c
        });
        match sent {
            Ok(output) if output.status.success() => {}
            other => {
                return xoff_testing::skip(
                    "python3",
                    format_args!("it does not send with UDP_SEGMENT: {other:?}"),
                );
            }
        }
        assert_eq!(arriving(&mut port, 1), Vec::<Vec<u8>>::new());
        let counters = port.counters();
        assert_eq!((counters.received, counters.too_long), (0, 1));
        assert!(counters.advice("p0").unwrap().contains("tso off"));
    });
}

#[test]
fn offloads_are_refused_or_turned_off() {
    in_namespaces("machine::offloads_are_refused_or_turned_off", || {
        // As `ip` makes it, with everything that a kernel turns on by default.
        sandbox::ip(
            "link add name p0 type veth peer name p1\nlink set dev p0 up\nlink set dev p1 up\n",
        )
        .unwrap();
        let open = |fix_offloads| {
            PacketPort::open("p0", &PacketOptions { fix_offloads, ..Default::default() }).map(drop)
        };
        let before = Interface::look("p0").unwrap();
        assert_eq!(before.driver, "veth");
        let text = open(false).unwrap_err().to_string();
        assert!(text.contains("ethtool -K p0 tx off tso off gso off"), "{text}");
        assert_eq!(
            Interface::look("p0").unwrap().offloads,
            before.offloads,
            "a refusal changes nothing"
        );
        open(true).unwrap();
        assert_eq!(Interface::look("p0").unwrap().breaking(), Vec::<&str>::new());
        assert_eq!(
            Interface::look("p1").unwrap().offloads,
            before.offloads,
            "the peer was not given and is not touched"
        );
        open(false).unwrap();
        // Merging of received frames alone is rejected too.
        turn("p0", "gro", true).unwrap();
        let text = open(false).unwrap_err().to_string();
        assert!(text.contains("ethtool -K p0 gro off"), "{text}");
        open(true).unwrap();
    });
}

#[test]
fn an_interface_that_is_down_is_refused() {
    in_namespaces("machine::an_interface_that_is_down_is_refused", || {
        sandbox::veth_pair("p0", "p1", 1500).unwrap();
        sandbox::ip("link set dev p0 down\n").unwrap();
        let error = PacketPort::open("p0", &PacketOptions::default()).map(drop).unwrap_err();
        assert!(
            matches!(error, OpenError::Down { .. })
                && error.to_string().contains("ip link set p0 up"),
            "{error}"
        );
    });
}

/// A tap returns the frames of the stack with addresses swapped: a ping is answered.
#[test]
fn a_tap_echoes() {
    in_namespaces("machine::a_tap_echoes", || {
        if !has(Capability::Tun) {
            return;
        }
        let mut tap = TapPort::create("t0", 1400).unwrap();
        let looked = Interface::look("t0").unwrap();
        assert_eq!((looked.mtu, looked.up, looked.mac), (1400, true, tap.mac().0));
        sandbox::ip(
            "addr add 10.0.0.1/24 dev t0\nneigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev t0\n",
        )
        .unwrap();
        let socket = std::net::UdpSocket::bind("10.0.0.1:7").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        socket.send_to(b"there and back", "10.0.0.2:7").unwrap();
        let (mut echoes, mut sent) = (0, Vec::new());
        while echoes == 0 {
            for mut frame in arriving(&mut tap, 1) {
                // IPv4 and UDP: MAC and IP addresses change places, ports are equal, checksums stay
                // right.
                if frame[12..14] == [0x08, 0x00] && frame[23] == 17 {
                    let (destination, source) = (frame[..6].to_vec(), frame[6..12].to_vec());
                    frame[..6].copy_from_slice(&source);
                    frame[6..12].copy_from_slice(&destination);
                    let (source, destination) = (frame[26..30].to_vec(), frame[30..34].to_vec());
                    frame[26..30].copy_from_slice(&destination);
                    frame[30..34].copy_from_slice(&source);
                    send_now(&mut tap, &frame);
                    sent = frame;
                    echoes += 1;
                }
            }
        }
        assert_eq!(udp_check(&sent), 0, "the stack finishes checksums before a tap");
        let mut buffer = [0; 64];
        let (length, from) = socket.recv_from(&mut buffer).unwrap();
        assert_eq!(
            (&buffer[..length], from.to_string()),
            (&b"there and back"[..], "10.0.0.2:7".to_owned())
        );
        assert_eq!(tap.counters().sent, 1);
        // Nothing reads: the tap's queue overflows, and that is counted.
        for _ in 0..2000 {
            socket.send_to(b"more", "10.0.0.2:7").unwrap();
        }
        let lost = tap.counters().kernel_drops;
        let arrived = arriving(&mut tap, 2000).len() as u64;
        assert!(lost > 0 && lost + arrived >= 2000, "{lost} + {arrived}");
        drop(tap);
        assert!(Interface::look("t0").is_err(), "a tap goes with its port");
    });
}

/// A tap does not hold who writes into it to its MTU: a packet socket on its interface gets frames
/// that no veth end would pass on. One byte too long or a thousand, they are refused and counted.
#[test]
fn frames_longer_than_an_mtu_are_refused() {
    in_namespaces("machine::frames_longer_than_an_mtu_are_refused", || {
        if !has(Capability::Tun) {
            return;
        }
        let mut tap = TapPort::create("t0", 9000).unwrap();
        sandbox::ip("link set dev t0 mtu 1500\n").unwrap();
        let mut port =
            PacketPort::open("t0", &PacketOptions { fix_offloads: true, ..Default::default() })
                .unwrap();
        for length in [1518, 1519, 1530, 2500, 9014, 60] {
            send_now(&mut tap, &numbered(0, length));
        }
        let frames = arriving(&mut port, 6)
            .iter()
            .map(Vec::len)
            .filter(|&length| [60, 1518].contains(&length))
            .count();
        assert_eq!((frames, port.counters().too_long), (2, 4));
    });
}

/// Two hosts on one pair ping each other; their commands run in their networks and die with them.
#[test]
fn hosts_have_networks_of_their_own() {
    in_namespaces("machine::hosts_have_networks_of_their_own", || {
        sandbox::veth_pair("p0", "p1", 1500).unwrap();
        let (a, b) = (Host::new("a").unwrap(), Host::new("b").unwrap());
        a.attach("p0", &["10.0.0.1/24", "fd00::1/64"]).unwrap();
        b.attach("p1", &["10.0.0.2/24", "fd00::2/64"]).unwrap();
        assert!(Interface::look("p0").is_err());
        b.run(|| {
            let socket = std::net::UdpSocket::bind("0.0.0.0:7").unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            std::thread::spawn(move || {
                let mut buffer = [0; 16];
                let (length, from) = socket.recv_from(&mut buffer).unwrap();
                socket.send_to(&buffer[..length], from).unwrap();
            });
        });
        let answer = a.run(|| {
            let socket = std::net::UdpSocket::bind("10.0.0.1:0").unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            socket.send_to(b"ping", "10.0.0.2:7").unwrap();
            let mut buffer = [0; 16];
            let length = socket.recv(&mut buffer).unwrap();
            buffer[..length].to_vec()
        });
        assert_eq!(answer, b"ping");
        let output = b.output({
            let mut ip = Command::new("ip");
            ip.args(["-o", "addr", "show", "dev", "p1"]);
            ip
        });
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(text.contains("10.0.0.2/24") && text.contains("fd00::2/64"), "{text}");
        let mut sleeper = b.spawn({
            let mut sleep = Command::new("sleep");
            sleep.arg("20");
            sleep
        });
        let sleeper = sleeper.as_mut().unwrap();
        assert!(sleeper.try_wait().unwrap().is_none());
        drop(b);
        // Killed, not ended: no exit code.
        assert_eq!(sleeper.wait().unwrap().code(), None);
        assert!(catch_unwind(AssertUnwindSafe(|| a.run(|| panic!("passed on")))).is_err());
        assert_eq!(a.run(|| 7), 7);
    });
}

/// Limits of a user namespace, set from inside, take capabilities away: each is missed under its
/// name, with the kernel's errno.
#[test]
fn what_is_missing_is_named() {
    in_namespaces("machine::what_is_missing_is_named", || {
        sandbox::probe().unwrap();
        std::fs::write("/proc/sys/user/max_user_namespaces", "0").unwrap();
        // Root, as we are in here, needs no user namespace to have a network.
        sandbox::probe().unwrap();
        std::fs::write("/proc/sys/user/max_net_namespaces", "0").unwrap();
        let missing = sandbox::probe().unwrap_err();
        assert_eq!(missing.capability, Capability::NetworkNamespaces);
        assert_eq!(
            missing.to_string(),
            "network namespaces: No space left on device (os error 28)"
        );
        assert!(missing.remedy().contains("max_net_namespaces"));
        assert!(Host::new("none").is_err());
        assert!(sandbox::command("true").status().is_err());
        // Nor is anything else taken for granted: without rights there is no user namespace either.
        privileges::drop_all().unwrap();
        assert_eq!(sandbox::probe().unwrap_err().capability, Capability::NetworkNamespaces);
    });
}

/// Ports work on without any right; new ones cannot be opened.
#[test]
fn open_ports_outlive_privileges() {
    in_namespaces("machine::open_ports_outlive_privileges", || {
        let (mut a, mut b) = two_ports(1500, &PacketOptions::default());
        assert!(privileges::has_any().unwrap());
        drop(b);
        b = PacketPort::open("p1", &PacketOptions::default()).unwrap();
        privileges::drop_all().unwrap();
        send_now(&mut a, &numbered(1, 60));
        assert_eq!(arriving(&mut b, 1), [numbered(1, 60)]);
        assert_eq!(b.counters().kernel_drops, 0);
        drop(b);
        let error = PacketPort::open("p1", &PacketOptions::default()).map(drop).unwrap_err();
        assert!(
            matches!(error, OpenError::NotPermitted { .. })
                && error.to_string().contains("setcap cap_net_raw+ep"),
            "{error}"
        );
        let error = TapPort::create("t0", 1500).map(drop).unwrap_err();
        assert!(matches!(error, OpenError::NotPermitted { .. }), "{error}");
    });
}
