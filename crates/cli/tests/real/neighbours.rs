//! Bad neighbours with real frames: ports that flap, interfaces that are made again, neighbours
//! that restart, hold forever, or lie. What each field of each message does is in
//! `real/tests/neighbours.rs`, in virtual time.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use xoff_real::netio::{PacketOptions, PacketPort, Port, sandbox};
use xoff_real::switchd::mac;
use xoff_real::wire::ecn::Ecn;
use xoff_real::wire::ethernet::Mac;
use xoff_real::wire::local::Message;
use xoff_real::wire::mac_control::{self, Pfc};
use xoff_real::wire::{cbfc, gfc, pffc, test_frame};
use xoff_units::NodeId;

use crate::processes::{Process, SWITCH, flow, host, scenario, send, switch, wires};
use crate::support::{command, folder, path};
use crate::{INCAST, in_namespaces, possible};

fn port(interface: &str) -> PacketPort {
    PacketPort::open(interface, &PacketOptions::default()).unwrap()
}

/// Frames but control frames that come within a time.
fn receive(port: &mut PacketPort, lasting: u64, enough: usize) -> usize {
    let (end, mut received) = (Instant::now() + Duration::from_millis(lasting), 0);
    while Instant::now() < end && received < enough {
        port.receive(1000, &mut |f| received += usize::from(f[..6] != Mac::FLOW_CONTROL.0))
            .unwrap();
        sleep(Duration::from_millis(1));
    }
    received
}

fn local(m: Message, to: Mac) -> Vec<u8> {
    let mut out = vec![0; 2000];
    let n = m.emit_frame(to, mac(NodeId(1), 0), &mut out).unwrap();
    out.truncate(n);
    out
}

/// A frame of the flow from H1 to H0.
fn data(nth: u64, counted: u16, len: u16) -> Vec<u8> {
    let t = test_frame::Repr {
        kind: test_frame::Kind::Data,
        mark: Ecn::TCD_CAPABLE,
        reported: Ecn::TCD_CAPABLE,
        counted,
        priority: 0,
        last: false,
        len,
        flow: 0,
        sequence: nth * 1482,
        due_ps: 0,
        sent_ps: 0,
    };
    local(Message::Test(t), mac(NodeId(0), 0))
}

/// Frames of 1500 B from H1 to H0, as fast as the link between them.
fn offer(from: &mut PacketPort, frames: u64) {
    for nth in 0..frames {
        send(from, &data(nth, 1500, 1482));
        sleep(Duration::from_micros(60));
    }
}

#[test]
fn a_port_that_flaps_leaves_the_others_alone() {
    in_namespaces("neighbours::a_port_that_flaps_leaves_the_others_alone", || {
        wires(1500);
        let mut s1 = switch(&["--json", "--set", "flow_control=cbfc"]);
        let (mut b1, mut b2) = (port("b1"), port("b2"));
        let mut unknown = vec![0; 200];
        unknown[..6].copy_from_slice(&mac(NodeId(2), 0).0);
        unknown[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 9, 0x12, 0x34]);
        sandbox::ip("link set dev a0 down\n").unwrap();
        let line = s1.prints("port S1->H0 (a0) went down at");
        assert!(line.contains("set down"), "{line}");
        // To the port that is down, and past it.
        offer(&mut b1, 30);
        (0..50).for_each(|_| send(&mut b1, &unknown));
        assert_eq!(receive(&mut b2, 3000, 50), 50, "the others go on");
        sandbox::ip("link set dev a0 up\n").unwrap();
        s1.prints("port S1->H0 (a0) is up again at");
        // Its far end goes down, then the interface goes and is made again: the port comes back
        // each time.
        sandbox::ip("link set dev b0 down\n").unwrap();
        assert!(s1.prints("port S1->H0 (a0) went down at").contains("no carrier"));
        sandbox::ip("link set dev b0 up\n").unwrap();
        s1.prints("port S1->H0 (a0) is up again at");
        sandbox::ip("link del dev a0\n").unwrap();
        // The kernel takes an interface down before it takes it away: a poll between the two sees
        // it set down.
        let line = s1.prints("port S1->H0 (a0) went down at");
        assert!(["gone", "set down", "no carrier"].iter().any(|why| line.contains(why)), "{line}");
        sandbox::veth_pair("a0", "b0", 1500).unwrap();
        s1.prints("port S1->H0 (a0) is up again at");
        let mut b0 = port("b0");
        // Credits restart: none until the neighbour grants some.
        let granted =
            cbfc::Wide { op: cbfc::Op::Normal, vl: 0, fctbs: 0, fccl: 30 * 24 + 6250, occupied: 0 };
        send(&mut b0, &local(Message::Credit64(granted), Mac::FLOW_CONTROL));
        offer(&mut b1, 30);
        assert_eq!(receive(&mut b0, 3000, 30), 30);
        let ran = s1.stop();
        let answer = ran.json();
        let p = &answer["real"]["ports"][0];
        assert_eq!((p["downs"].as_u64(), ran.code), (Some(3), 130), "{p:#}");
        // The 30 frames of data, and frames for the port before it was seen to be down: a few
        // messages of credits.
        assert!((30..=40).contains(&p["port_down"].as_u64().unwrap()), "{p:#}");
        let outages = p["outages"].as_array().unwrap();
        assert!(
            outages.len() == 3
                && outages.iter().all(|o| o["until_seconds"].as_f64() > o["from_seconds"].as_f64()),
            "{p:#}"
        );
        assert_eq!(answer["real"]["ports"][1]["downs"], 0, "{answer:#}");
    });
}

/// Messages that stop and release a port, by flow control; `n` numbers the messages.
fn stop(kind: &str, n: u32) -> Message {
    let credit = |occupied| {
        Message::Credit64(cbfc::Wide { op: cbfc::Op::Normal, vl: 0, fctbs: 0, fccl: 0, occupied })
    };
    let gfc =
        |feedback| Message::Gfc(gfc::Repr { priority: 0, sequence: n, validity_us: 0, feedback });
    match kind {
        "cbfc" => credit(0),
        "gfc-time" => credit(400_000),
        "gfc-conceptual" => gfc(gfc::Feedback::Queue(u64::MAX)),
        _ => gfc(gfc::Feedback::Stage(20)),
    }
}

fn go(kind: &str, n: u32, sent: u64) -> Message {
    let credit = |fccl| {
        Message::Credit64(cbfc::Wide { op: cbfc::Op::Normal, vl: 0, fctbs: 0, fccl, occupied: 0 })
    };
    let gfc =
        |feedback| Message::Gfc(gfc::Repr { priority: 0, sequence: n, validity_us: 0, feedback });
    match kind {
        "cbfc" | "gfc-time" => credit(24 * sent + 6000),
        "gfc-conceptual" => gfc(gfc::Feedback::Queue(0)),
        _ => gfc(gfc::Feedback::Stage(0)),
    }
}

/// A priority that is held by want of credits, or with a rate next to nothing, is freed as one that
/// is paused (`a_storm_is_contained_while_others_go_on`), until the neighbour lets go.
#[test]
fn a_storm_is_contained_under_every_flow_control() {
    in_namespaces("neighbours::a_storm_is_contained_under_every_flow_control", || {
        wires(1500);
        for kind in ["cbfc", "gfc-buffer", "gfc-time", "gfc-conceptual"] {
            let set = format!("flow_control={kind}");
            let mut s1 = switch(&["--json", "--set", &set, "--watchdog", "100ms,100ms,forward"]);
            let (mut b0, mut b1) = (port("b0"), port("b1"));
            send(&mut b0, &local(stop(kind, 1), Mac::FLOW_CONTROL));
            sleep(Duration::from_millis(20));
            offer(&mut b1, 20);
            let early = receive(&mut b0, 30, 20);
            assert!(early <= 1, "{kind}: {early} frames, held");
            s1.prints("S1->H0 priority 0 was paused for");
            assert_eq!(early + receive(&mut b0, 2000, 20 - early), 20, "{kind}: freed");
            send(&mut b0, &local(go(kind, 2, 20), Mac::FLOW_CONTROL));
            s1.prints("S1->H0 priority 0 was restored after");
            let answer = s1.stop().json();
            assert_eq!(
                (answer["real"]["ports"][0]["storms"].as_u64(), answer["dropped_frames"].as_u64()),
                (Some(1), Some(0)),
                "{kind}"
            );
        }
        // A flow control that pauses flows ends on its own, so xoff rejects the watchdog with it.
        let refused = Process::start_anyhow(
            &[&SWITCH[..], &["--set", "flow_control=pffc", "--watchdog", "100ms,100ms,drop"]]
                .concat(),
        )
        .end();
        assert_eq!(refused.code, 2, "{}", refused.err);
        refused.complains(&["--watchdog", "single flows"]);
        let s1 = switch(&["--json", "--set", "flow_control=pffc"]);
        let (mut b0, mut b1) = (port("b0"), port("b1"));
        for (sequence, kind) in [pffc::Kind::Pause(u16::MAX), pffc::Kind::Migrate]
            .into_iter()
            .cycle()
            .take(8192)
            .enumerate()
        {
            // Every flow into every pause queue: a storm about all there is.
            let repr = pffc::Repr {
                kind,
                queue: 0,
                sequence: sequence as u32,
                hash: sequence as u32 / 2 % 4096,
                key: None,
            };
            send(&mut b0, &local(Message::Pffc(repr), Mac::FLOW_CONTROL));
        }
        offer(&mut b1, 20);
        assert_eq!(receive(&mut b0, 3000, 20), 20, "a pause ends after 335 ms");
        s1.stop();
    });
}

/// Wrong numbers, validity and lengths: 60 B that claim 65,535 are 60 B; an older message is not
/// obeyed; a message ends with its time.
#[test]
fn lies_change_nothing() {
    in_namespaces("neighbours::lies_change_nothing", || {
        wires(1500);
        let s1 = switch(&["--json", "--set", "flow_control=gfc-buffer"]);
        let (mut b0, mut b1) = (port("b0"), port("b1"));
        let stage = |sequence, validity_us, k| {
            let feedback = gfc::Feedback::Stage(k);
            local(
                Message::Gfc(gfc::Repr { priority: 0, sequence, validity_us, feedback }),
                Mac::FLOW_CONTROL,
            )
        };
        [stage(1000, 0, 0), stage(5, 1000, 12), stage(1001, 1000, 12)]
            .iter()
            .for_each(|f| send(&mut b0, f));
        sleep(Duration::from_millis(20));
        let began = Instant::now();
        (0..200).for_each(|nth| send(&mut b1, &data(nth, u16::MAX, 46)));
        assert_eq!(receive(&mut b0, 5000, 200), 200);
        // As they claim to be they would need a second, and more memory than there is.
        assert!(began.elapsed() < Duration::from_millis(800), "{:?}", began.elapsed());
        offer(&mut b1, 100);
        assert_eq!(receive(&mut b0, 5000, 100), 100);
        let answer = s1.stop().json();
        let p = &answer["real"]["ports"][0];
        assert_eq!(
            (p["stale"].as_u64(), p["refused"].as_u64(), answer["dropped_frames"].as_u64()),
            (Some(1), Some(0), Some(0)),
            "{p:#}"
        );
    });
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    /// A number at an end of its range, or anywhere in it.
    fn extreme(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => 1 << self.below(64),
            4 => (1 << self.below(64)) - 1,
            5 => self.below(10_000) as u64,
            _ => self.next(),
        }
    }
}

/// A frame of an enemy: bytes that mean nothing, a control message of any kind with any values, the
/// same with a byte changed or cut short, or a test frame with any values.
fn hostile(r: &mut Random) -> Vec<u8> {
    if r.below(8) == 0 {
        return (0..14 + r.below(200)).map(|_| r.next() as u8).collect();
    }
    let mut any = || r.extreme();
    let mut out = vec![0; 2000];
    let mut bytes = match any() % 6 {
        0 => {
            let times = std::array::from_fn(|_| any().is_multiple_of(2).then(|| any() as u16));
            let n = mac_control::Repr::Pfc(Pfc { times }).emit_frame(mac(NodeId(1), 0), &mut out);
            out.truncate(n.unwrap());
            out
        }
        1 => local(
            Message::Credit64(cbfc::Wide {
                op: [cbfc::Op::Normal, cbfc::Op::Init][any() as usize % 2],
                vl: any() as u8 % 16,
                fctbs: any(),
                fccl: any(),
                occupied: any(),
            }),
            Mac::FLOW_CONTROL,
        ),
        2 => {
            let feedback = match any() % 3 {
                0 => gfc::Feedback::Stage(any() as u16),
                1 => gfc::Feedback::Queue(any()),
                _ => gfc::Feedback::Rate(any()),
            };
            let (sequence, validity_us) = (any() as u32, any() as u32);
            let repr = gfc::Repr { priority: any() as u8 % 8, sequence, validity_us, feedback };
            local(Message::Gfc(repr), Mac::FLOW_CONTROL)
        }
        3 => {
            let kind = match any() % 4 {
                0 => pffc::Kind::Pause(any() as u16),
                1 => pffc::Kind::Resume,
                2 => pffc::Kind::Migrate,
                _ => pffc::Kind::MigrateBack,
            };
            let (sequence, hash) = (any() as u32, any() as u32);
            let repr = pffc::Repr { kind, queue: any() as u8 % 8, sequence, hash, key: None };
            local(Message::Pffc(repr), Mac::FLOW_CONTROL)
        }
        4 => local(
            Message::Credit12(cbfc::LinkPacket {
                op: cbfc::Op::Normal,
                fctbs: any() as u16 % 4096,
                vl: any() as u8 % 15,
                fccl: any() as u16 % 4096,
            }),
            Mac::FLOW_CONTROL,
        ),
        // Of the flow from H1 to H0, with the addresses that it has.
        _ => {
            let t = test_frame::Repr {
                kind: test_frame::Kind::Data,
                mark: Ecn::new(any() as u8),
                reported: Ecn::new(any() as u8),
                counted: any() as u16,
                priority: any() as u8 % 8,
                last: any().is_multiple_of(2),
                len: 40 + any() as u16 % 1400,
                flow: 0,
                sequence: any(),
                due_ps: any(),
                sent_ps: any(),
            };
            return local(Message::Test(t), mac(NodeId(0), 0));
        }
    };
    match r.below(3) {
        0 => {
            let at = 12 + r.below(bytes.len() - 12);
            bytes[at] = r.next() as u8;
        }
        1 => bytes.truncate(14 + r.below(bytes.len() - 14)),
        _ => {}
    }
    bytes
}

/// Thousands of hostile frames at three ports, under every flow control that has a wire format: the
/// switch survives, forwards what is for the fourth port, loses nothing of it, and did with each of
/// the frames what the simulation does.
#[test]
fn hostile_frames_do_what_they_do_in_the_simulation() {
    in_namespaces("neighbours::hostile_frames_do_what_they_do_in_the_simulation", || {
        let frames: usize = std::env::var("XOFF_TEST_FRAMES").map_or(3000, |n| n.parse().unwrap());
        wires(1500);
        let mut r = Random(41);
        for kind in ["pfc", "cbfc", "gfc-buffer", "gfc-time", "gfc-conceptual", "pffc"] {
            let set = format!("flow_control={kind}");
            let capture = path(&folder(&format!("hostile-{kind}")), "s1.pcapng");
            let s1 = switch(&["--json", "--set", &set, "--capture", &capture]);
            let mut ports = ["b0", "b1", "b2"].map(port);
            let mut b3 = port("b3");
            let mut unknown = vec![0; 200];
            unknown[..6].copy_from_slice(&mac(NodeId(3), 0).0);
            unknown[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 9, 0x12, 0x34]);
            let mut arrived = 0;
            for nth in 0..frames {
                send(&mut ports[r.below(3)], &hostile(&mut r));
                if nth % 100 == 0 {
                    send(&mut ports[1], &unknown);
                    arrived += receive(&mut b3, 1, 1);
                }
            }
            let wanted = frames.div_ceil(100);
            let rest = wanted - arrived;
            assert_eq!(receive(&mut b3, 5000, rest), rest, "{kind}: the fourth port");
            let ran = s1.stop();
            assert_eq!(ran.code, 130, "{kind}: {}", ran.err);
            let replayed = Process::start_anyhow(&["replay", &capture, "--json"]).end();
            let (code, json) = (replayed.code, replayed.json());
            assert_eq!((code, &json["answer"]), (0, &"yes".into()), "{kind}: {json:#}");
            assert_eq!(json["bytes_compared"], json["bytes_out"], "{kind}: {json:#}");
            let taken = json["frames_in"].as_u64().unwrap() as usize;
            let refused: u64 = ran.json()["real"]["ports"]
                .as_array()
                .unwrap()
                .iter()
                .map(|p| p["refused"].as_u64().unwrap() + p["stale"].as_u64().unwrap())
                .sum();
            println!("{kind}: {taken} frames came in, {refused} were refused or stale");
            assert!(
                taken >= frames && refused as usize > frames / 10,
                "{kind}: {taken}, {refused}"
            );
        }
        // Without a wire format there is nothing to attack.
        let bfc = Process::start_anyhow(&[&SWITCH[..], &["--set", "flow_control=bfc"]].concat());
        let refused = bfc.end();
        assert_eq!(refused.code, 2, "{}", refused.err);
        refused.complains(&["wire format"]);
    });
}

/// A receiver that restarts does not know its earlier grants and frames. Within a second it
/// receives frames again.
#[test]
fn a_neighbour_restarts() {
    in_namespaces("neighbours::a_neighbour_restarts", || {
        wires(1500);
        for kind in ["cbfc", "gfc-buffer"] {
            let set = format!("flow_control={kind}");
            let file = scenario(&format!("restarts-{kind}"), &flow("H1", "H0", ""));
            let mut args = SWITCH.to_vec();
            args[1] = &file;
            args.extend(["--json", "--set", &set]);
            let s1 = Process::start(&args);
            let h1 = host("H1", "b1", &file, &["--set", &set]);
            let first = host("H0", "b0", &file, &["--set", &set, "--for", "500ms"]).end().json();
            let second = host("H0", "b0", &file, &["--set", &set, "--for", "1500ms"]).end();
            let received = |answer: &serde_json::Value| {
                answer["real"]["ports"][0]["received"].as_u64().unwrap()
            };
            assert!(received(&first) > 1000, "{kind}: {first:#}");
            // 8,333 a second at most; a stalled one gets what was granted before, 260 at most.
            assert!(received(&second.json()) > 4000, "{kind}: {}", second.out);
            h1.stop();
            s1.stop();
        }
    });
}

/// Killed without a chance to clean up, a testbed of processes takes its nodes along.
#[test]
fn nodes_do_not_outlive_their_testbed() {
    if !possible(&[]) {
        return;
    }
    let out = folder("orphans");
    let mut testbed = command(["testbed", INCAST, "--processes", "--out", &path(&out, "")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = testbed.id();
    let end = Instant::now() + Duration::from_secs(20);
    let children = loop {
        let text =
            std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        let all: Vec<u32> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        if all.len() >= 5 {
            break all;
        }
        assert!(Instant::now() < end, "it started {} nodes", all.len());
        sleep(Duration::from_millis(20));
    };
    testbed.kill().unwrap();
    testbed.wait().unwrap();
    // Gone, or dead and not yet collected by whoever inherited them.
    let lives = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with(['Z', 'X']))
    };
    let end = Instant::now() + Duration::from_secs(5);
    while children.iter().any(lives) {
        assert!(
            Instant::now() < end,
            "still there: {:?}",
            children.iter().filter(|id| lives(id)).collect::<Vec<_>>()
        );
        sleep(Duration::from_millis(20));
    }
}
