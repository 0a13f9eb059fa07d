//! Real frames without a clock: bytes go from port to port in virtual time, through faults that a
//! wire may have. Every test is the same on any machine.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use xoff_real::netio::Direction;
use xoff_real::switchd::{Captured, Counters, Machine, replay};
use xoff_real::testbed::replay as capture;
use xoff_real::testbed::wiring::{self, Real};
use xoff_real::wire::control;
use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario, Running};
use xoff_units::{Loss, Span, Time};

#[path = "virtual_time/link_errors.rs"]
mod link_errors;
#[path = "virtual_time/mutants.rs"]
mod mutants;

const RING: &str = include_str!("../../../scenarios/testbed/ring-gfc.toml");

fn scenario(settings: &[&str]) -> NetworkScenario {
    let set: Vec<_> =
        settings.iter().map(|s| xoff_scenario::document::Override::set(s).unwrap()).collect();
    NetworkScenario::from_text("ring-gfc.toml", RING, &set, Path::new(""))
        .unwrap_or_else(|e| panic!("{e:?}"))
}

/// Effect of a wire on a frame: the times at which copies of it arrive, and their bytes.
type Wire<'a> = dyn FnMut(Time, &[u8]) -> Vec<(Span, Vec<u8>)> + 'a;

/// A scenario whose nodes exchange bytes in virtual time.
struct Bench<'s> {
    running: Running<'s>,
    machine: Machine,
    /// The link at the far end of each.
    far: Vec<usize>,
    /// Frames on their way by arrival, then in order of sending: link and bytes.
    under_way: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    sent: u64,
    log: Vec<Captured>,
    /// Frames are taken from the machine when they start, and not when they arrive: an arrival then
    /// precedes other events of its picosecond, as in the simulator.
    early: bool,
}

impl<'s> Bench<'s> {
    fn new(s: &'s NetworkScenario, real: &Real) -> Bench<'s> {
        let here = vec![true; s.topology.nodes.len()];
        let links = wiring::links(s, &here, |_, _| false);
        let far = links
            .iter()
            .map(|l| {
                let p = s.topology.nodes[l.node.index()].ports[l.port as usize];
                links.iter().position(|o| (o.node, o.port) == (p.peer, p.peer_port)).unwrap()
            })
            .collect();
        let mut running = s.start_outside(Sink::Nothing, here).unwrap();
        let machine = wiring::machine(s, links, real, running.world());
        Bench {
            running,
            machine,
            far,
            under_way: BTreeMap::new(),
            sent: 0,
            log: Vec::new(),
            early: false,
        }
    }

    fn run(&mut self, until: Time, wire: &mut Wire) -> Option<xoff_sim::Ended> {
        loop {
            let arrival = self.under_way.keys().next().map(|k| k.0);
            let next = self.machine.next(self.running.world());
            let now = [arrival, next].into_iter().flatten().min().unwrap_or(until).min(until);
            let mut received = now;
            while let Some((&key, _)) = self.under_way.first_key_value().filter(|(k, _)| k.0 <= now)
            {
                let (link, bytes) = self.under_way.remove(&key).unwrap();
                received = self.machine.receive(self.running.world(), now, link, &bytes);
                self.log.push(Captured {
                    at: received,
                    link,
                    inbound: true,
                    len: bytes.len(),
                    bytes,
                });
            }
            let now = now.max(received);
            let ended = self.machine.run(self.running.world(), now);
            let (far, under_way, sent, log) =
                (&self.far, &mut self.under_way, &mut self.sent, &mut self.log);
            let ready = if self.early { Time::NEVER } else { now };
            self.machine.depart(ready, |at, link, bytes| {
                log.push(Captured {
                    at: Time(at.0 / 1000 * 1000),
                    link,
                    inbound: false,
                    len: bytes.len(),
                    bytes: bytes.to_vec(),
                });
                for (later, bytes) in wire(at, bytes) {
                    *sent += 1;
                    // On the grid of a capture, as a real port has it.
                    under_way.insert(
                        (Time((at + later).0.next_multiple_of(1000)), *sent),
                        (far[link], bytes),
                    );
                }
            });
            if ended.is_some() || now >= until {
                return ended;
            }
        }
    }

    fn finish(self, ended: Option<xoff_sim::Ended>) -> Finished {
        self.running.finish(ended.unwrap_or(xoff_sim::Ended::TimeUp)).unwrap()
    }

    fn counters(&self, of: fn(&Counters) -> u64) -> u64 {
        self.machine.links().map(|(_, c, _)| of(c)).sum()
    }
}

fn whole(_: Time, bytes: &[u8]) -> Vec<(Span, Vec<u8>)> {
    vec![(Span::ZERO, bytes.to_vec())]
}

fn is_control(bytes: &[u8]) -> bool {
    !matches!(control::parse(bytes), Ok(None))
}

const END: Time = Time::from_us(10_000_000);

/// Through bytes and back nothing is lost of what nodes look at: the flows end when those of the
/// simulation do, but for the nanoseconds to which arrivals are rounded.
#[test]
fn bytes_make_the_same_run_as_the_simulator() {
    for (kind, discipline) in [
        ("gfc-buffer", "round-robin"),
        ("cbfc", "round-robin"),
        ("gfc-time", "round-robin"),
        ("pffc", "fifo"),
    ] {
        let kind_is = format!("flow_control.kind={kind}");
        let s = scenario(&[
            &kind_is,
            &format!("switch.discipline={discipline}"),
            "flow_control.gfc-buffer.bm=397KB",
        ]);
        let mut b = Bench::new(&s, &Real::default());
        let ended = b.run(END, &mut whole);
        let real = b.finish(ended).outcome;
        let simulated = s.run(Sink::Nothing).unwrap().outcome;
        assert_eq!(
            (real.violations_total, real.dropped_frames),
            (0, 0),
            "{kind}: {:?}",
            real.violations
        );
        for (r, i) in real.flows.iter().zip(&simulated.flows) {
            let (r, i) = (r.received.unwrap().as_secs_f64(), i.received.unwrap().as_secs_f64());
            assert!((r / i - 1.0).abs() < 0.01, "{kind}: {r} s with bytes, {i} s simulated");
        }
    }
}

#[test]
fn a_deadlock_is_one_with_bytes_too() {
    for kind in ["pfc", "cbfc"] {
        let s = scenario(&[
            &format!("flow_control.kind={kind}"),
            "switch.discipline=fifo",
            "run.duration=2s",
        ]);
        let mut b = Bench::new(&s, &Real::default());
        let ended = b.run(Time::from_us(2_000_000), &mut whole);
        let o = b.finish(ended).outcome;
        assert_eq!(o.dropped_frames, 0);
        assert_eq!(o.deadlocks.len(), 1, "{kind}");
        assert_eq!(o.deadlocks[0].cycle.len(), 3, "{kind}");
    }
}

/// A window in which a wire does something to all control frames; then it is whole again.
fn faulty(
    kind: &str,
    discipline: &str,
    fault: impl Fn(u64, &[u8]) -> Vec<(Span, Vec<u8>)>,
) -> (Finished, u64) {
    // A large buffer: a lost pause may cost memory, which is not what is tested here.
    let settings = [
        format!("flow_control.kind={kind}"),
        format!("switch.discipline={discipline}"),
        "switch.buffer=8MB".into(),
        "flow_control.gfc-buffer.bm=397KB".into(),
        "run.duration=20s".into(),
    ];
    let s = scenario(&settings.iter().map(String::as_str).collect::<Vec<_>>());
    let mut b = Bench::new(&s, &Real::default());
    let (from, to) = (Time::from_us(5_000), Time::from_us(400_000));
    let mut nth = 0;
    let ended = b.run(Time::from_us(20_000_000), &mut |at, bytes| {
        if is_control(bytes) && (from..to).contains(&at) {
            nth += 1;
            fault(nth, bytes)
        } else {
            whole(at, bytes)
        }
    });
    let refused = b.counters(|c| c.malformed + c.unexpected + c.strange);
    assert!(nth > 0, "{kind}: no control frame was touched");
    (b.finish(ended), refused)
}

/// The flow controls whose ring keeps moving, and the discipline.
const MOVING: [(&str, &str); 4] = [
    ("gfc-buffer", "round-robin"),
    ("gfc-time", "round-robin"),
    ("cbfc", "round-robin"),
    ("pfc", "round-robin"),
];

fn all_flows_complete(kind: &str, f: &Finished) {
    let o = &f.outcome;
    assert_eq!(
        f.manifest.flows_completed,
        3,
        "{kind}: {:?}, deadlocks {:?}",
        o.ended,
        o.deadlocks.len()
    );
    assert_eq!(o.dropped_frames, 0, "{kind}");
}

#[test]
fn lost_control_frames_heal() {
    for (kind, discipline) in MOVING {
        let (f, _) = faulty(kind, discipline, |nth, bytes| {
            if nth % 2 == 0 { vec![] } else { vec![(Span::ZERO, bytes.to_vec())] }
        });
        all_flows_complete(kind, &f);
    }
}

/// The hardest loss: every message that would let a sender go on as before. With repetition the
/// ring drains; without it the senders stay at a sixteenth of their rate forever, which shows that
/// it is repetition that heals.
#[test]
fn a_lost_release_heals_by_repetition() {
    let s = scenario(&["flow_control.gfc-buffer.bm=397KB", "switch.buffer=8MB", "run.duration=3s"]);
    let completed = |repeat| {
        let mut b = Bench::new(&s, &Real { repeat, ..Real::default() });
        let ended = b.run(Time::from_us(3_000_000), &mut |at, bytes| {
            let stage = match control::parse(bytes) {
                Ok(Some(control::Control::Local(xoff_real::wire::local::Message::Gfc(g)))) => {
                    g.feedback
                }
                _ => return whole(at, bytes),
            };
            let xoff_real::wire::gfc::Feedback::Stage(stage) = stage else { panic!("a stage") };
            if at > Time::from_us(500_000) {
                return whole(at, bytes);
            }
            // Every sender receives stage 4 once, and of nothing else.
            match stage {
                0 => vec![],
                _ => {
                    let mut bytes = bytes.to_vec();
                    let mut g = match control::parse(&bytes) {
                        Ok(Some(control::Control::Local(
                            xoff_real::wire::local::Message::Gfc(g),
                        ))) => g,
                        _ => unreachable!(),
                    };
                    g.feedback = xoff_real::wire::gfc::Feedback::Stage(4);
                    g.emit(&mut bytes[14..]).unwrap();
                    vec![(Span::ZERO, bytes)]
                }
            }
        });
        b.finish(ended).manifest.flows_completed
    };
    assert_eq!((completed(Span::from_ms(50)), completed(Span::ZERO)), (3, 0));
}

#[test]
fn duplicated_control_frames_do_no_harm() {
    for (kind, discipline) in MOVING {
        let copies = |_, bytes: &[u8]| {
            vec![(Span::ZERO, bytes.to_vec()), (Span::from_us(300), bytes.to_vec())]
        };
        all_flows_complete(kind, &faulty(kind, discipline, copies).0);
    }
}

#[test]
fn reordered_control_frames_heal() {
    for (kind, discipline) in MOVING {
        let late = |nth, bytes: &[u8]| {
            vec![(Span::from_us(if nth % 3 == 0 { 7_000 } else { 0 }), bytes.to_vec())]
        };
        all_flows_complete(kind, &faulty(kind, discipline, late).0);
    }
}

/// Corrupted frames fail their FCS and never reach a switch; this is about those that do: each byte
/// is changed once.
#[test]
fn corrupted_control_frames_are_refused_or_heal() {
    for (kind, discipline) in MOVING {
        let corrupt = |nth: u64, bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            // Not the value: the sender would obey a wrong stage or time until the next message.
            let at = (nth as usize * 7) % 18;
            bytes[at] ^= 0x5A;
            vec![(Span::ZERO, bytes)]
        };
        let (f, refused) = faulty(kind, discipline, corrupt);
        all_flows_complete(kind, &f);
        assert!(refused > 0, "{kind}: nothing was refused");
    }
}

/// Replay of a capture through another machine: no difference; with one byte changed: the
/// difference is found.
#[test]
fn a_replay_is_identical_and_can_fail() {
    let s = scenario(&["run.duration=60ms", "flow_control.gfc-buffer.b1=20KB"]);
    let mut b = Bench::new(&s, &Real::default());
    b.run(Time::from_us(60_000), &mut whole);
    let log = std::mem::take(&mut b.log);
    let again = |log: Vec<Captured>| {
        let Bench { mut running, mut machine, far, .. } = Bench::new(&s, &Real::default());
        let far: Vec<_> = far.into_iter().map(Some).collect();
        replay(running.world(), &mut machine, &far, log.into_iter(), || true)
    };
    let seen = again(log.clone());
    assert_eq!(seen.difference, None);
    assert_eq!((seen.inbound + seen.outbound) as usize, log.len());
    assert!(
        log.iter().any(|c| !c.inbound && is_control(&c.bytes)),
        "control frames are among them"
    );

    let mut late = log.clone();
    let some = late.iter().rposition(|c| c.inbound && !is_control(&c.bytes)).unwrap() - 200;
    let some = (some..).find(|&i| late[i].inbound).unwrap();
    late.remove(some);
    let difference = again(late).difference.expect("a frame is missing");
    assert!(difference.contains("frame"), "{difference}");
}

/// A lossless incast next to a lossy one into the same port; the switch has its memory in pools.
const POOLS: &str = "[run]\nduration = \"300ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Mbps\"\ndelay = \"10us\"\n\
    [switch]\nmemory = \"pools\"\nscheduler = \"round-robin\"\n[flow_control]\nkind = \"pfc\"\nthreshold = \"profile\"\nlossy = [\"0\"]\n\
    [[buffer_pool]]\nname = \"ingress\"\nsize = \"200KB\"\nheadroom = \"60KB\"\n[[buffer_profile]]\npool = \"ingress\"\npriorities = [\"0-7\"]\nheadroom = \"20KB\"\nalpha = 0.25\n\
    [[buffer_pool]]\nname = \"egress\"\nsize = \"60KB\"\n[[buffer_profile]]\npool = \"egress\"\nside = \"egress\"\npriorities = [\"0\"]\nalpha = 1\n\
    [[workload]]\nkind = \"incast\"\nreceiver = \"H0\"\nsize = \"300KB\"\npriority = 3\n[[workload]]\nkind = \"incast\"\nreceiver = \"H0\"\nsize = \"300KB\"\n";

/// Real ports with memory in pools: lossless frames wait, lossy ones are dropped at the egress, as
/// many as in the simulation; and a replay is identical.
#[test]
fn memory_in_pools_holds_real_frames_too() {
    let s = NetworkScenario::from_text("pools.toml", POOLS, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{e:?}"));
    let mut b = Bench::new(&s, &Real::default());
    let ended = b.run(Time::from_us(300_000), &mut whole);
    let log = std::mem::take(&mut b.log);
    let real = b.finish(ended).outcome;
    let simulated = s.run(Sink::Nothing).unwrap().outcome;
    assert_eq!(
        (real.violations_total, real.lost[Loss::BufferFull].total()),
        (0, 0),
        "{:?}",
        real.violations
    );
    for (r, i) in real.flows.iter().zip(&simulated.flows).filter(|(r, _)| r.flow.priority == 3) {
        let (r, i) = (
            r.received.expect("lossless").as_secs_f64(),
            i.received.expect("lossless").as_secs_f64(),
        );
        assert!((r / i - 1.0).abs() < 0.02, "{r} s with bytes, {i} s simulated");
    }
    let (r, i) = (real.lost[Loss::LossyEgress].total(), simulated.lost[Loss::LossyEgress].total());
    assert!(
        r > 100 && r.abs_diff(i) * 50 <= i,
        "{r} dropped at the egress with bytes, {i} simulated"
    );
    let Bench { mut running, mut machine, far, .. } = Bench::new(&s, &Real::default());
    let far: Vec<_> = far.into_iter().map(Some).collect();
    let seen = replay(running.world(), &mut machine, &far, log.into_iter(), || true);
    assert_eq!(seen.difference, None);
    assert_eq!((seen.bytes_compared, seen.bytes_in_compared), (seen.bytes_out, seen.bytes_in));
}

/// A time stamp with a flipped bit is a difference or refused by its packet, in bounded memory: the
/// flows here would send 135 GB in three hours.
#[test]
fn damaged_time_stamps_are_found_at_once() {
    let endless: Vec<String> = (0..3).map(|flow| format!("flow[{flow}].size=1TB")).collect();
    let endless: Vec<&str> =
        endless.iter().map(String::as_str).chain(["run.duration=60ms"]).collect();
    let s = scenario(&endless);
    let mut b = Bench::new(&s, &Real::default());
    b.run(Time::from_us(60_000), &mut whole);
    let log = std::mem::take(&mut b.log);
    let here = vec![true; s.topology.nodes.len()];
    let links = wiring::links(&s, &here, |_, _| false);
    let facts = capture::Facts::of(&s, &here, &links, &Real::default());
    let file = tempfile::NamedTempFile::new().unwrap();
    let replayed = |late: usize, by: Span| {
        let mut written = capture::create(file.path(), &links, &facts, 0).unwrap();
        for (i, c) in log.iter().enumerate() {
            let direction = if c.inbound { Direction::Inbound } else { Direction::Outbound };
            let at = if i == late { c.at + by } else { c.at };
            written.write(at.0 / 1000, c.link, direction, &c.bytes).unwrap();
        }
        written.finish().unwrap();
        capture::replay(file.path(), |_| true).map(|(_, seen, _)| seen.difference)
    };
    assert_eq!(replayed(usize::MAX, Span::ZERO).unwrap(), None, "as it is");
    let hours = |n: u64| Span::from_ms(n * 3_600_000);
    for late in [log.len() / 2, log.len() - 1] {
        for by in [Span::from_ms(16), hours(3)] {
            assert!(replayed(late, by).unwrap().is_some(), "packet {late} later by {by}");
        }
        for by in [hours(25), hours(5_000)] {
            let refused = replayed(late, by).unwrap_err().to_string();
            assert!(
                refused.contains(&format!("packet {} is", late + 1))
                    && refused.contains("at most 24 h"),
                "{refused}"
            );
        }
    }
}

proptest! {
    /// The switch parses any frame of unknown sources, and continues.
    #[test]
    fn no_bytes_make_a_switch_panic(
        frames in prop::collection::vec((0usize..12, prop::collection::vec(any::<u8>(), 0..200), any::<prop::sample::Index>(), any::<u8>()), 1..40)
    ) {
        let s = scenario(&["run.duration=5ms", "flow_control.kind=pffc", "switch.discipline=fifo"]);
        let mut b = Bench::new(&s, &Real::default());
        b.run(Time::from_us(2_000), &mut whole);
        let valid: Vec<Vec<u8>> = b.log.iter().map(|c| c.bytes.clone()).collect();
        for (i, (link, bytes, at, byte)) in frames.into_iter().enumerate() {
            let now = Time::from_us(2_000 + i as u64);
            b.machine.receive(b.running.world(), now, link, &bytes);
            // A valid frame with one byte changed goes deeper.
            let mut near = at.get(&valid).clone();
            let which = at.index(near.len().min(44));
            near[which] = byte;
            b.machine.receive(b.running.world(), now, link, &near);
        }
        // A test frame whose flow is a number of the switch's own making (found so).
        let mut near = valid.iter().find(|v| v[12..14] == [0x88, 0xB5] && v[17] == 5).unwrap().clone();
        near[22] |= 0x80;
        b.machine.receive(b.running.world(), Time::from_us(4_000), 0, &near);
        b.run(Time::from_us(5_000), &mut whole);
    }
}
