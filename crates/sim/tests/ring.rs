//! The three-switch ring of GFC Fig. 1 with the testbed's parameters: which mechanisms block, and
//! which do not.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::REGISTRY;
use xoff_net::topology::routing::ExplicitPaths;
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Flow, Flows, UNLIMITED};
use xoff_node::{ControlDelay, Delay, DisciplineKind};
use xoff_sim::{Ended, FrameCount, Model, Outcome, ViolationKind, World};
use xoff_units::params::Defaults;
use xoff_units::{Bytes, Loss, Rate, Span, Time};

/// H1..H3 on S1..S3 in a ring; flow i goes from host i over two ring links to the host behind
/// switch i+2. With more hosts on each switch there are as many such rings of flows.
fn ring(hosts: usize) -> (Topology, Flows) {
    let mut t = Topology::default();
    let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
    let s: Vec<_> = (1..=3).map(|i| t.add_node(format!("S{i}"), NodeKind::Switch, 1, i)).collect();
    let h: Vec<_> = (0..3 * hosts)
        .map(|i| t.add_node(format!("H{}", i + 1), NodeKind::Host, 0, (i % 3 + 1) as u32))
        .collect();
    (0..3 * hosts).for_each(|i| {
        t.add_link(h[i], s[i % 3], rate, delay);
    });
    (0..3).for_each(|i| {
        t.add_link(s[i], s[(i + 1) % 3], rate, delay);
    });
    let mut paths = ExplicitPaths::default();
    let to = |i: usize| h[i / 3 * 3 + (i + 2) % 3];
    for i in 0..3 * hosts {
        let names =
            [h[i], s[i % 3], s[(i + 1) % 3], s[(i + 2) % 3], to(i)].map(|n| t.name(n).to_owned());
        paths.add(&t, &names).unwrap();
    }
    let flows: Vec<_> = (0..3 * hosts)
        .map(|i| Flow {
            src: h[i],
            dst: to(i),
            priority: 0,
            size: UNLIMITED,
            start: Time::ZERO,
            rate: None,
            controlled: true,
            src_port: 1,
            dst_port: 1,
            path: Some(i as u32),
            label: 0,
        })
        .collect();
    (t, Flows { flows: flows.into(), paths, labels: vec!["ring".into()], ..Flows::default() })
}

fn run(
    fc: &str,
    params: &'static [(&'static str, &'static str)],
    discipline: DisciplineKind,
    until_ms: u64,
) -> Outcome {
    let o = run_unchecked(fc, params, discipline, until_ms, |_| {});
    assert_eq!(o.violations, []);
    assert_eq!(o.dropped_frames, 0);
    o
}

fn run_unchecked(
    fc: &str,
    params: &'static [(&'static str, &'static str)],
    discipline: DisciplineKind,
    until_ms: u64,
    change: impl Fn(&mut Model),
) -> Outcome {
    run_ring(1, fc, params, discipline, until_ms, change)
}

fn run_ring(
    hosts: usize,
    fc: &str,
    params: &'static [(&'static str, &'static str)],
    discipline: DisciplineKind,
    until_ms: u64,
    change: impl Fn(&mut Model),
) -> Outcome {
    let (topology, flows) = ring(hosts);
    let entry = REGISTRY.iter().find(|e| e.name == fc).unwrap();
    let read = |link: &LinkFacts| {
        let mut v = Defaults::of(entry.params);
        for (k, x) in params {
            v = v.with(k, x);
        }
        (entry.read)(&mut v, link)
    };
    let mut m = Model::plain(Bytes(1_000_000), read);
    m.discipline = discipline;
    // Loop of 86 us: 2 x 1 us + 2 x 1.2 us + 81.6 us in the sender.
    m.control_delay = ControlDelay {
        generation: Delay::default(),
        processing: Delay { constant: Span(81_600_000), jitter: Span::ZERO },
    };
    change(&mut m);
    let mut w = World::build(&topology, flows, &m).unwrap();
    let ended = w.run(Time::from_us(until_ms * 1000), u64::MAX).unwrap();
    let (o, _) = w.finish(ended);
    assert_eq!(o.ended, Ended::TimeUp);
    o
}

const PFC: &[(&str, &str)] = &[("xoff", "800KB"), ("xon", "797KB")];
const GFC: &[(&str, &str)] = &[("b1", "750KB")];
const GFC_TIME: &[(&str, &str)] =
    &[("b0", "492KB"), ("period", "52.4us"), ("remaining", "occupancy")];

fn gbps(o: &Outcome, until_ms: u64) -> Vec<f64> {
    o.flows.iter().map(|f| f.delivered as f64 * 8.0 / (until_ms as f64 * 1e6)).collect()
}

/// Reproduction table 1c: PFC with FIFO queues deadlocks after 2.9 ms (synchronous start).
#[test]
fn pfc_deadlocks_under_fifo() {
    let o = run("pfc", PFC, DisciplineKind::Fifo, 20);
    let d = &o.deadlocks[0];
    assert_eq!(d.cycle.len(), 3);
    let closed_ms = d.closed.as_secs_f64() * 1e3;
    assert!((2.0..20.0).contains(&closed_ms), "{closed_ms} ms");
}

/// Two hosts on each switch, so that an input queue from the ring gets a third of the link that it
/// needs. Some of its frames are for a host and would drain, but they wait behind a frame for the
/// next switch: the detector needs the head.
#[test]
fn pfc_deadlocks_with_input_queues() {
    let run = |until_ms| {
        run_ring(
            2,
            "pfc",
            PFC,
            DisciplineKind::InputFifo { arbitration: Span::ZERO },
            until_ms,
            |_| {},
        )
    };
    let (o, later) = (run(20), run(40));
    assert_eq!(o.deadlocks.iter().map(|d| d.cycle.len()).collect::<Vec<_>>(), [3]);
    let delivered = |o: &Outcome| o.flows.iter().map(|f| f.delivered).sum::<u64>();
    assert_eq!(delivered(&o), delivered(&later), "nothing moves any more");
}

#[test]
fn cbfc_deadlocks_under_fifo() {
    let o = run("cbfc", &[("period", "52.4us")], DisciplineKind::Fifo, 60);
    assert_eq!(o.deadlocks.len(), 1, "{:?}", gbps(&o, 60));
}

#[test]
fn none_deadlocks_under_round_robin_and_every_flow_gets_half() {
    for (fc, p) in [("pfc", PFC), ("gfc-buffer", GFC), ("gfc-time", GFC_TIME)] {
        let o = run(fc, p, DisciplineKind::RoundRobin, 40);
        assert_eq!(o.deadlocks, [], "{fc}");
        for g in gbps(&o, 40) {
            assert!((4.9..5.1).contains(&g), "{fc}: {:?}", gbps(&o, 40));
        }
    }
}

/// Under FIFO the rate of GFC decays, but nothing is held and nothing is lost.
#[test]
fn gfc_never_stands_still() {
    let o = run("gfc-buffer", &[("b1", "750KB"), ("bm", "997KB")], DisciplineKind::Fifo, 20);
    assert_eq!(o.deadlocks, []);
    assert!(gbps(&o, 20).iter().all(|&g| g > 0.5), "{:?}", gbps(&o, 20));
}

/// With entry ports (docs/theory/gfc-repair.md) every flow keeps C/(2 n), whatever the discipline:
/// FIFO, where the paper's rule decays, and round robin, where it collapses with two hosts a
/// switch.
#[test]
fn entry_ports_keep_the_rate_of_the_ring() {
    const ONE: &[(&str, &str)] = &[("b1", "750KB"), ("bm", "997KB"), ("entry_ports", "1")];
    const TWO: &[(&str, &str)] = &[("b1", "750KB"), ("bm", "997KB"), ("entry_ports", "2")];
    const FOUR: &[(&str, &str)] =
        &[("b1", "750KB"), ("bm", "997KB"), ("entry_ports", "4"), ("entry_b1", "200KB")];
    for (hosts, params) in [(1, ONE), (2, TWO), (4, FOUR)] {
        for discipline in [DisciplineKind::Fifo, DisciplineKind::RoundRobin] {
            let of = |ms| run_ring(hosts, "gfc-buffer", params, discipline, ms, |_| {});
            let (a, b) = (of(20), of(40));
            assert_eq!(
                (b.dropped_frames, &b.deadlocks[..], &b.violations[..]),
                (0, &[][..], &[][..])
            );
            for (a, b) in a.flows.iter().zip(&b.flows) {
                let share =
                    (b.delivered - a.delivered) as f64 * 8.0 / (20.0 * 1e6) * 2.0 * hosts as f64
                        / 10.0;
                assert!((0.95..1.05).contains(&share), "{hosts} hosts, {discipline:?}: {share}");
            }
        }
    }
    // The paper's rule, two hosts, round robin: not a frame in the last 20 ms.
    let of = |ms| {
        run_ring(
            2,
            "gfc-buffer",
            &[("b1", "750KB"), ("bm", "997KB")],
            DisciplineKind::RoundRobin,
            ms,
            |_| {},
        )
    };
    let sum = |o: Outcome| o.flows.iter().map(|f| f.delivered).sum::<u64>();
    assert!(sum(of(40)) - sum(of(20)) < 1_000_000);
}

const LATE: &[(&str, &str)] = &[("xoff", "1MB"), ("xon", "997KB")];

/// A canary that must fail: with XOFF at the very buffer there is no headroom, frames are lost, and
/// the check reports it in the names of the scenario. What is lost is counted with and without
/// checks.
#[test]
fn the_checks_can_fail() {
    let o = run_unchecked("pfc", LATE, DisciplineKind::RoundRobin, 5, |_| {});
    assert!(o.dropped_frames > 0);
    assert!(o.violations.iter().any(|v| v.kind == ViolationKind::Loss), "{:?}", o.violations);
    let first = &o.violations[0].what;
    assert!(
        first.contains("dropped a frame from")
            && first.ends_with("1500 B: the ingress buffer had no room"),
        "{first}"
    );
    assert!(["S1", "S2", "S3"].iter().any(|s| first.starts_with(s)), "{first}");
    assert!(first.contains("priority 0, flow "), "{first}");
    assert_eq!(
        (o.lossless, o.lost[Loss::BufferFull], o.lost.unexcused()),
        (true, FrameCount { data: o.dropped_frames, control: 0 }, o.lost.total())
    );
    let unchecked = run_unchecked("pfc", LATE, DisciplineKind::RoundRobin, 5, |m| m.checks = false);
    assert_eq!((unchecked.lost, unchecked.violations_total, unchecked.lossless), (o.lost, 0, true));
    let lossy = run_unchecked("none", &[], DisciplineKind::RoundRobin, 5, |_| {});
    assert!(
        lossy.dropped_frames > 0 && !lossy.lossless && lossy.violations_total == 0,
        "{:?}",
        lossy.lost
    );
}
