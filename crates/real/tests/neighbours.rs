//! Neighbours that restart, lie, repeat themselves or never let go, in virtual time: every field of
//! every message at its ends. Every test is the same on any machine.

use std::path::Path;

use xoff_mech::watchdog::{self, Action, Detector};
use xoff_real::switchd::{Counters, Machine, mac};
use xoff_real::testbed::wiring::{self, Real};
use xoff_real::wire::control;
use xoff_real::wire::ecn::Ecn;
use xoff_real::wire::local::Message;
use xoff_real::wire::mac_control::{self, Pfc};
use xoff_real::wire::{cbfc, gfc, pffc, test_frame};
use xoff_record::Sink;
use xoff_run::{NetworkScenario, Running};
use xoff_units::{NodeId, Span, Time};

const INCAST: &str = include_str!("../../../scenarios/testbed/incast.toml");
const KINDS: [&str; 6] = ["pfc", "cbfc", "gfc-buffer", "gfc-time", "gfc-conceptual", "pffc"];

fn scenario(kind: &str) -> NetworkScenario {
    let set = [
        format!("flow_control={kind}"),
        "switch.buffer=8MB".into(),
        "flow_control.gfc-buffer.bm=400KB".into(),
    ];
    let set = match kind {
        "cbfc" => &set[..1], // 400 KB: 6,250 blocks
        "gfc-buffer" => &set[..],
        _ => &set[..2],
    };
    let set: Vec<_> =
        set.iter().map(|s| xoff_scenario::document::Override::set(s).unwrap()).collect();
    NetworkScenario::from_text("incast.toml", INCAST, &set, Path::new(""))
        .unwrap_or_else(|e| panic!("{e:?}"))
}

fn ms(n: u64) -> Time {
    Time(n * 1_000_000_000)
}

/// One node on its own; its clock began at `began`.
struct Node<'s> {
    running: Running<'s>,
    machine: Machine,
    began: Time,
    peers: Vec<NodeId>,
    /// Frames that have left: time, next node, bytes.
    out: Vec<(Time, NodeId, Vec<u8>)>,
}

impl<'s> Node<'s> {
    fn new(s: &'s NetworkScenario, name: &str, began: Time, real: &Real) -> Node<'s> {
        let node = s.topology.find(name).unwrap();
        let here: Vec<bool> = s.topology.node_ids().map(|n| n == node).collect();
        let links = wiring::links(s, &here, |_, _| false);
        let peers = links
            .iter()
            .map(|l| s.topology.nodes[l.node.index()].ports[l.port as usize].peer)
            .collect();
        let mut running = s.start_outside(Sink::Nothing, here).unwrap();
        let machine = wiring::machine(s, links, real, running.world());
        Node { running, machine, began, peers, out: Vec::new() }
    }

    fn link(&self, s: &NetworkScenario, peer: &str) -> usize {
        let peer = s.topology.find(peer).unwrap();
        self.peers.iter().position(|&p| p == peer).unwrap()
    }

    fn receive(&mut self, now: Time, link: usize, bytes: &[u8]) {
        self.machine.receive(self.running.world(), Time(now.0 - self.began.0), link, bytes);
        self.take(now);
    }

    fn run(&mut self, now: Time) {
        self.machine.run(self.running.world(), Time(now.0 - self.began.0));
        self.take(now);
    }

    fn take(&mut self, now: Time) {
        let (began, peers, out) = (self.began, &self.peers, &mut self.out);
        self.machine.depart(Time(now.0 - began.0), |at, link, bytes| {
            out.push((Time(at.0 + began.0), peers[link], bytes.to_vec()))
        });
    }

    fn counters(&self, link: usize) -> Counters {
        *self.machine.links().nth(link).unwrap().1
    }

    /// Data frames that have left by a link.
    fn data(&self, link: usize) -> u64 {
        let data = |(_, to, bytes): &&(Time, NodeId, Vec<u8>)| {
            *to == self.peers[link] && matches!(control::parse(bytes), Ok(None))
        };
        self.out.iter().filter(data).count() as u64
    }
}

/// The switch alone; its neighbours are this test. H0 is at link 0, H1 at link 1.
fn switch(s: &NetworkScenario) -> Node<'_> {
    let n = Node::new(s, "S1", Time::ZERO, &Real::default());
    assert_eq!((n.link(s, "H0"), n.link(s, "H1")), (0, 1));
    n
}

fn honest() -> test_frame::Repr {
    test_frame::Repr {
        kind: test_frame::Kind::Data,
        mark: Ecn::TCD_CAPABLE,
        reported: Ecn::TCD_CAPABLE,
        counted: 1500,
        priority: 0,
        last: false,
        len: 1482,
        flow: 0,
        sequence: 0,
        due_ps: 0,
        sent_ps: 0,
    }
}

fn local(m: Message) -> Vec<u8> {
    let mut out = vec![0; 2000];
    let n = m
        .emit_frame(xoff_real::wire::ethernet::Mac::FLOW_CONTROL, mac(NodeId(1), 0), &mut out)
        .unwrap();
    out.truncate(n);
    out
}

fn data(t: test_frame::Repr) -> Vec<u8> {
    let mut bytes = local(Message::Test(t));
    bytes[..6].copy_from_slice(&mac(NodeId(1), 0).0);
    bytes
}

fn pause(vector: u8, quanta: u16) -> Vec<u8> {
    let times = std::array::from_fn(|n| (vector >> n & 1 == 1).then_some(quanta));
    let mut out = vec![0; 64];
    let n = mac_control::Repr::Pfc(Pfc { times }).emit_frame(mac(NodeId(1), 0), &mut out).unwrap();
    out.truncate(n);
    out
}

fn credit(fctbs: u64, fccl: u64, occupied: u64) -> Vec<u8> {
    local(Message::Credit64(cbfc::Wide { op: cbfc::Op::Normal, vl: 0, fctbs, fccl, occupied }))
}

fn feedback(sequence: u32, validity_us: u32, feedback: gfc::Feedback) -> Vec<u8> {
    local(Message::Gfc(gfc::Repr { priority: 0, sequence, validity_us, feedback }))
}

fn order(sequence: u32, kind: pffc::Kind, hash: u32) -> Vec<u8> {
    local(Message::Pffc(pffc::Repr { kind, queue: 0, sequence, hash, key: None }))
}

/// `frames` full frames from H1 towards H0, from `from` on, a little slower than the link.
fn send(n: &mut Node, from: Time, frames: u64) -> Time {
    let at = |k: u64| Time(from.0 + k * 125_000_000);
    (0..frames).for_each(|k| {
        n.receive(at(k), 1, &data(test_frame::Repr { sequence: k * 1482, ..honest() }))
    });
    at(frames)
}

/// Each field of a credit message at its ends, after credit for 260 frames (6,250 blocks, of which
/// 6,240 are used) has run out: nothing opens the gate but a limit that the buffer allows.
#[test]
fn no_credit_message_opens_the_gate_but_a_true_one() {
    let s = scenario("cbfc");
    let (used, buffer) = (6240u64, 6250u64);
    let limits = [
        (0, 0, 1),
        (1, 0, 1),
        (used - 1, 0, 1),
        (used, 0, 0),
        (used + 23, 0, 0),
        (used + 24, 1, 0),
        (used + buffer, 40, 0),
        (used + buffer + 1, 0, 1),
        (1 << 63, 0, 1),
        (u64::MAX - 1, 0, 1),
        (u64::MAX, 0, 1),
    ];
    for (fccl, more, impossible) in limits {
        for rest in [0, 1, u64::MAX - 1, u64::MAX] {
            let mut n = switch(&s);
            let end = send(&mut n, ms(1), 300);
            n.run(end);
            assert_eq!(n.data(0), 260, "the credit of the beginning");
            n.receive(end, 0, &credit(rest, fccl, rest));
            n.run(Time(end.0 + ms(50).0));
            assert_eq!(
                (n.data(0), n.counters(0).impossible),
                (260 + more, impossible),
                "FCCL {fccl}, others {rest}"
            );
        }
    }
}

/// Serial numbers, validity and every stage, queue length and rate: a stale message is not obeyed,
/// one whose time is over is taken back, one that nothing can be made of is rejected, and none
/// makes the port faster than its line or stops it forever.
#[test]
fn rates_are_those_of_the_newest_message_while_it_is_valid() {
    use gfc::Feedback::{Queue, Rate, Stage};
    let s = scenario("gfc-buffer");
    // Messages (number, validity [us], what), whether 100 frames leave at once, how many messages
    // were stale and refused.
    type Case<'a> = (&'a str, Vec<(u32, u32, gfc::Feedback)>, bool, (u64, u64));
    let cases: Vec<Case> = vec![
        ("nothing sent", vec![], true, (0, 0)),
        ("stage 12", vec![(1, 0, Stage(12))], false, (0, 0)),
        ("any stage", vec![(1, 0, Stage(u16::MAX))], false, (0, 0)),
        ("older", vec![(1000, 0, Stage(0)), (5, 1000, Stage(12))], true, (1, 0)),
        ("the same again", vec![(1000, 0, Stage(0)), (1000, 0, Stage(12))], true, (1, 0)),
        ("reordered", vec![(7, 0, Stage(12)), (9, 0, Stage(0)), (8, 0, Stage(12))], true, (1, 0)),
        ("half the circle", vec![(0, 0, Stage(0)), (1 << 31, 0, Stage(12))], true, (1, 0)),
        ("round the end", vec![(u32::MAX, 0, Stage(12)), (0, 0, Stage(0))], true, (0, 0)),
        ("back round the end", vec![(0, 0, Stage(0)), (u32::MAX, 0, Stage(12))], true, (1, 0)),
        ("valid for 1 us", vec![(1, 1, Stage(12))], true, (0, 0)),
        ("valid for long", vec![(1, u32::MAX, Stage(12))], false, (0, 0)),
        ("valid for 1 us, older", vec![(2, 0, Stage(12)), (1, 1, Stage(0))], false, (1, 0)),
        (
            "began anew",
            vec![(9, 0, Stage(12)), (0, 0, Stage(0)), (1, 0, Stage(0)), (2, 0, Stage(0))],
            true,
            (2, 0),
        ),
        (
            "another form",
            vec![(1, 0, Queue(u64::MAX)), (2, 0, Rate(0)), (3, 0, Rate(u64::MAX))],
            true,
            (0, 3),
        ),
    ];
    for (name, messages, fast, (stale, refused)) in cases {
        let mut n = switch(&s);
        let mut now = ms(1);
        for (sequence, validity, what) in messages {
            n.receive(now, 0, &feedback(sequence, validity, what));
            now = Time(now.0 + 100_000_000);
        }
        let end = send(&mut n, now, 100);
        n.run(Time(end.0 + ms(200).0));
        let c = n.counters(0);
        assert_eq!(
            ((c.stale, c.unexpected), n.data(0) == 100),
            ((stale, refused), fast),
            "{name}: {} frames",
            n.data(0)
        );
        assert!(n.data(0) >= 1, "{name}: stopped");
    }
}

#[test]
fn queue_lengths_and_occupancies_slow_down_at_most() {
    for kind in ["gfc-conceptual", "gfc-time"] {
        let s = scenario(kind);
        for value in [0, 1, 400_000, 8_000_000, 8_000_001, 1 << 63, u64::MAX - 1, u64::MAX] {
            let mut n = switch(&s);
            let message = if kind == "gfc-time" {
                credit(value, value, value)
            } else {
                feedback(1, 0, gfc::Feedback::Queue(value))
            };
            n.receive(ms(1), 0, &message);
            let end = send(&mut n, ms(1), 100);
            n.run(Time(end.0 + ms(200).0));
            assert!((1..=100).contains(&n.data(0)), "{kind} {value}: {}", n.data(0));
            let full = value > 125_000; // beyond any buffer: in blocks for one, in bytes for the other
            assert!(
                !full || kind == "gfc-conceptual" && value < 8_000_000 || n.data(0) < 100,
                "{kind} {value}: as fast as with an empty buffer"
            );
        }
    }
}

/// A pause lasts 512 bit times a quantum, and the next frame sets how long from then on. Vectors of
/// unused priorities are refused.
#[test]
fn pauses_end_after_their_quanta() {
    let s = scenario("pfc");
    for (vector, quanta, until_ms, refused) in [
        (0, 65_535, 0, 1),
        (0xfe, 65_535, 0, 1),
        (1, 0, 0, 0),
        (1, 1, 0, 0),
        (1, 65_534, 335, 0),
        (1, 65_535, 335, 0),
        (0xff, 65_535, 335, 0),
    ] {
        let mut n = switch(&s);
        n.receive(ms(1), 0, &pause(vector, quanta));
        let end = send(&mut n, ms(2), 10);
        n.run(end);
        assert_eq!(
            (n.data(0) >= 9, n.counters(0).unexpected),
            (until_ms == 0, refused),
            "{vector:#x} {quanta}"
        );
        n.run(ms(1 + until_ms + 10));
        assert_eq!(n.data(0), 10, "{vector:#x} {quanta}");
    }
}

/// Queues and slots that do not exist, numbers out of order, all times: other flows go on, and
/// every pause ends.
#[test]
fn orders_about_flows_touch_flows_that_exist() {
    use pffc::Kind::{Migrate, MigrateBack, Pause, Resume};
    let s = scenario("pffc");
    for hash in [0, 1, 5, 6, 4095, 4096, 65_535, 65_536, u32::MAX] {
        let mut n = switch(&s);
        let kinds = [
            Pause(1),
            Pause(65_535),
            Migrate,
            Pause(0),
            Migrate,
            Pause(65_535),
            MigrateBack,
            Resume,
            Migrate,
        ];
        for (nth, kind) in kinds.into_iter().enumerate() {
            n.receive(ms(1), 0, &order(nth as u32, kind, hash));
            n.receive(ms(1), 0, &order(nth as u32, kind, hash));
        }
        n.receive(ms(1), 0, &order(u32::MAX, Migrate, hash));
        let end = send(&mut n, ms(2), 100);
        n.run(Time(end.0 + ms(400).0));
        let c = n.counters(0);
        assert_eq!(
            (n.data(0), c.stale + c.malformed + c.unexpected),
            (100, kinds.len() as u64 + 1 + u64::from(hash > 65_535) * 9),
            "{hash}"
        );
    }
}

/// Flow numbers, offsets, times and marks that cannot be: refused or forwarded, and never counted
/// for more than their bytes.
#[test]
fn a_test_frame_is_as_long_as_its_bytes() {
    let s = scenario("pfc");
    let t = honest();
    for lie in [
        test_frame::Repr { counted: u16::MAX, len: 46, ..t },
        test_frame::Repr { sequence: u64::MAX, ..t },
        test_frame::Repr { due_ps: u64::MAX, sent_ps: u64::MAX, last: true, ..t },
        test_frame::Repr { flow: 2, kind: test_frame::Kind::Ack, sequence: u64::MAX, ..t },
        test_frame::Repr { flow: 3, ..t },
        test_frame::Repr { flow: (1 << 31) - 1, ..t },
        test_frame::Repr { flow: 1 << 31, ..t },
        test_frame::Repr { flow: u32::MAX, ..t },
    ] {
        let mut n = switch(&s);
        let bytes = data(lie);
        n.receive(ms(1), 1, &bytes);
        n.run(ms(10));
        let came = n.counters(1);
        let sent: u64 = (0..4).map(|link| n.counters(link).departed).sum();
        let gone: Vec<usize> = n.out.iter().map(|(_, _, b)| b.len()).collect();
        assert!(gone.iter().all(|&len| len <= bytes.len()), "{lie:?}: {gone:?}");
        assert_eq!(
            sent + came.strange + came.no_route,
            1,
            "{lie:?}: neither forwarded nor refused"
        );
    }
}

/// A host takes no data beyond the end of a flow, nor acknowledgements of what was never sent.
#[test]
fn a_host_is_given_what_its_flows_can_have() {
    let text = INCAST.replacen("dst = \"H0\"\n", "dst = \"H0\"\nsize = \"10KB\"\n", 1);
    let s = NetworkScenario::from_text("incast.toml", &text, &[], Path::new("")).unwrap();
    for (sequence, good) in [
        (0, true),
        (8_000, true),
        (9_999, false),
        (10_000, false),
        (u64::MAX - 1, false),
        (u64::MAX, false),
    ] {
        let mut n = Node::new(&s, "H0", Time::ZERO, &Real::default());
        n.receive(ms(1), 0, &data(test_frame::Repr { sequence, ..honest() }));
        assert_eq!(n.counters(0).strange, u64::from(!good), "{sequence}");
        n.receive(
            ms(2),
            0,
            &data(test_frame::Repr {
                sequence: sequence.max(1),
                kind: test_frame::Kind::Ack,
                ..honest()
            }),
        );
        assert_eq!(n.counters(0).strange, 1 + u64::from(!good), "{sequence}");
    }
}

/// The watchdog frees a port of whatever holds it, for as long as it would be held, and only then.
#[test]
fn the_watchdog_acts_for_every_flow_control() {
    type Message = fn(u32) -> Vec<u8>;
    let stop: [(&str, Message); 5] = [
        ("pfc", |_| pause(1, u16::MAX)),
        ("cbfc", |_| credit(0, 6240, 0)),
        ("gfc-buffer", |n| feedback(n, 0, gfc::Feedback::Stage(20))),
        ("gfc-conceptual", |n| feedback(n, 0, gfc::Feedback::Queue(u64::MAX))),
        ("gfc-time", |_| credit(0, 0, 8_000_000)),
    ];
    let go: [Message; 5] = [
        |_| pause(1, 0),
        |_| unreachable!("what was sent decides"),
        |n| feedback(n, 0, gfc::Feedback::Stage(0)),
        |n| feedback(n, 0, gfc::Feedback::Queue(0)),
        |_| credit(0, 0, 0),
    ];
    for ((kind, stop), go) in stop.into_iter().zip(go) {
        for action in [Action::Forward, Action::Drop] {
            let mut s = scenario(kind);
            let (detect, restore, poll) =
                (Span::from_ms(200), Span::from_ms(300), Span::from_ms(10));
            s.set_watchdog(watchdog::Config {
                detector: Detector::Duration { empty_queues: false },
                detect,
                restore,
                poll,
                action,
            })
            .unwrap();
            let mut n = switch(&s);
            let mut k = 0;
            for step in 0..300 {
                let number = step as u32 + 1;
                let now = ms(1 + step * 10);
                // Held for two seconds, then let go.
                if step < 200 {
                    n.receive(now, 0, &stop(number));
                } else if kind == "cbfc" {
                    // Credits for what has come, and more.
                    let come = n.data(0);
                    n.receive(now, 0, &credit(0, 24 * come + 1000, 0));
                } else {
                    n.receive(now, 0, &go(number));
                }
                for j in 0..20 {
                    n.receive(
                        Time(now.0 + j * 450_000_000),
                        1,
                        &data(test_frame::Repr { sequence: k * 1482, ..honest() }),
                    );
                    k += 1;
                }
            }
            n.run(ms(3200));
            let c = n.counters(0);
            let log = n.machine.take_log();
            assert_eq!(c.storms, 1, "{kind}: {log:#?}");
            assert_eq!(log.len(), 2, "{kind}: {log:#?}");
            assert!(
                log[0].contains("S1->H0 priority 0 was paused for")
                    && log[1].contains("restored after"),
                "{kind}: {log:#?}"
            );
            assert_eq!(c.thrown_away > 1000, action == Action::Drop, "{kind}: {c:?}");
            assert!(n.data(0) + c.thrown_away > 5000, "{kind}: {c:?}");
        }
    }
}

/// One node of three restarts in the middle of a run, whatever it had sent, received and granted:
/// what was under way to it is lost, and everything continues within a second.
#[test]
fn a_neighbour_may_restart_under_every_flow_control() {
    for kind in KINDS {
        for restarts in ["H0", "S1", "H1"] {
            let s = scenario(kind);
            let names = ["H0", "H1", "H2", "H3", "S1"];
            let of = |name: &str| s.topology.find(name).unwrap();
            let mut nodes: Vec<Node> = names
                .iter()
                .map(|name| Node::new(&s, name, Time::ZERO, &Real::default()))
                .collect();
            let mut received = [0u64; 4];
            for step in 1..=14_000u64 {
                // In steps of 200 us, a few frames long: what leaves in one arrives in the next.
                let now = Time(step * 200_000_000);
                if step == 5_000 {
                    let i = names.iter().position(|n| *n == restarts).unwrap();
                    nodes[i] = Node::new(&s, restarts, Time(now.0 - 200_000_000), &Real::default());
                }
                let mut under_way = Vec::new();
                for (from, node) in nodes.iter_mut().enumerate() {
                    node.run(now);
                    under_way.extend(
                        node.out.drain(..).map(|(at, to, bytes)| (at, of(names[from]), to, bytes)),
                    );
                }
                under_way.sort_by_key(|(at, ..)| *at);
                for (_, from, to, bytes) in under_way {
                    let i = names.iter().position(|n| of(n) == to).unwrap();
                    let link = nodes[i].peers.iter().position(|&p| p == from).unwrap();
                    if names[i] == "H0" && matches!(control::parse(&bytes), Ok(None)) {
                        received[(step / 5_000).min(3) as usize] +=
                            u64::from(step % 5_000 >= 2_500);
                    }
                    nodes[i].receive(now, link, &bytes);
                }
            }
            // Half a second before the restart, and half a second that began half a second after
            // it.
            let [before, after, ..] = received;
            assert!(before > 3_500, "{kind} {restarts}: {received:?}");
            assert!(after * 10 > before * 8, "{kind} {restarts}: {received:?}");
        }
    }
}

#[test]
fn a_port_that_goes_down_drops_its_state_and_delays_no_other() {
    for kind in KINDS {
        let s = scenario(kind);
        let mut n = switch(&s);
        let hold = match kind {
            "pfc" => pause(1, u16::MAX),
            "pffc" => order(1, pffc::Kind::Pause(u16::MAX), 0),
            "gfc-buffer" => feedback(1, 0, gfc::Feedback::Stage(20)),
            "gfc-conceptual" => feedback(1, 0, gfc::Feedback::Queue(u64::MAX)),
            _ => credit(0, 0, 8_000_000),
        };
        n.receive(ms(1), 0, &hold);
        let now = send(&mut n, ms(2), 250);
        n.run(now);
        let before = n.data(0);
        n.machine.link_down(n.running.world(), now, 0, 0);
        let now = send(&mut n, now, 250);
        n.run(Time(now.0 + ms(40).0));
        let c = n.counters(0);
        assert_eq!(
            (n.data(0), c.port_down, c.downs),
            (before, 500 - before, 1),
            "{kind}: what waited and what came is dropped and counted"
        );
        assert!(n.machine.is_down(0));
        // Up again: no message received before holds; credits are granted by the neighbour.
        let now = Time(now.0 + ms(40).0);
        n.machine.link_up(n.running.world(), now, 0);
        if kind == "cbfc" {
            let end = send(&mut n, Time(now.0 + 1_000_000_000), 10);
            n.run(end);
            assert_eq!(n.data(0), before, "without credits");
            n.receive(end, 0, &credit(0, 500 * 24 + 6250, 0));
            n.run(Time(end.0 + 10_000_000_000));
            assert_eq!(n.data(0), before + 10);
            continue;
        }
        let now = send(&mut n, Time(now.0 + 1_000_000_000), 100);
        n.run(Time(now.0 + ms(40).0));
        assert_eq!((n.data(0), n.counters(0).port_down), (before + 100, 500 - before), "{kind}");
        let (_, _, outages) = n.machine.links().next().unwrap();
        assert_eq!((outages.len(), outages[0].until.is_some()), (1, true));
    }
}

/// Link retry sends again what a port that is down has dropped: nothing is lost.
#[test]
fn frames_that_link_retry_repeats_are_not_lost_at_a_port_that_is_down() {
    let set = ["switch.buffer=8MB", "link_retry.kind=llr", "link_retry.timer=20ms"]
        .map(|s| xoff_scenario::document::Override::set(s).unwrap());
    let s = NetworkScenario::from_text("incast.toml", INCAST, &set, Path::new(""))
        .unwrap_or_else(|e| panic!("{e:?}"));
    let mut n = switch(&s);
    n.machine.link_down(n.running.world(), ms(1), 0, 3);
    let now = send(&mut n, ms(2), 50);
    n.run(now);
    let left =
        |n: &Node| n.out.iter().filter(|(_, to, b)| *to == n.peers[0] && b.len() > 1500).count();
    assert_eq!((left(&n), n.counters(0).port_down), (0, 0));
    n.machine.link_up(n.running.world(), now, 0);
    n.run(Time(now.0 + ms(60).0));
    assert!(left(&n) > 0, "sent again after the timer");
    assert_eq!(n.counters(0).port_down, 0);
}
