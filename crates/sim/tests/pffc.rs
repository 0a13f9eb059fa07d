//! Per-flow flow control in a network: flows that share a link with a paused flow, and flows that
//! keep running in a ring.

use std::sync::Arc;

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, REGISTRY};
use xoff_net::topology::routing::ExplicitPaths;
use xoff_net::topology::{LinkId, NodeKind, Topology};
use xoff_net::workload::{Flow, Flows, UNLIMITED};
use xoff_node::{ControlDelay, Delay, DisciplineKind};
use xoff_sim::{Losses, Model, Outcome, World};
use xoff_units::params::{Defaults, ParamError};
use xoff_units::{Bytes, NodeId, Rate, Span, Time};

const C: Rate = Rate::from_gbps(10);

fn flow(src: NodeId, dst: NodeId, rate: Option<Rate>, path: Option<u32>) -> Flow {
    Flow {
        src,
        dst,
        priority: 0,
        size: UNLIMITED,
        start: Time::ZERO,
        rate,
        controlled: true,
        src_port: 1,
        dst_port: 1,
        path,
        label: 0,
    }
}

/// Two sources on S1, their destinations on S2; that of the first flow by a link of 1 Gb/s. Both
/// offer 3 Gb/s (PFFC slides).
fn victim() -> (Topology, Flows) {
    let mut t = Topology::default();
    let delay = Span::from_us(1);
    let [s1, s2] = [1, 2].map(|i| t.add_node(format!("S{i}"), NodeKind::Switch, 1, i));
    let [h1, h2, h3, h4] = [1, 2, 3, 4].map(|i| t.add_node(format!("H{i}"), NodeKind::Host, 0, i));
    for (a, b, rate) in
        [(h1, s1, C), (h2, s1, C), (s1, s2, C), (s2, h3, Rate::from_gbps(1)), (s2, h4, C)]
    {
        t.add_link(a, b, rate, delay);
    }
    let offered = Some(Rate::from_gbps(3));
    let flows = vec![flow(h1, h3, offered, None), flow(h2, h4, offered, None)];
    (t, Flows { flows: flows.into(), labels: vec!["victim".into()], ..Flows::default() })
}

/// The ring of GFC Fig. 1, as in `ring.rs`.
fn ring() -> (Topology, Flows) {
    let mut t = Topology::default();
    let delay = Span::from_us(1);
    let s: Vec<_> = (1..=3).map(|i| t.add_node(format!("S{i}"), NodeKind::Switch, 1, i)).collect();
    let h: Vec<_> = (1..=3).map(|i| t.add_node(format!("H{i}"), NodeKind::Host, 0, i)).collect();
    for i in 0..3 {
        t.add_link(h[i], s[i], C, delay);
        t.add_link(s[i], s[(i + 1) % 3], C, delay);
    }
    let mut paths = ExplicitPaths::default();
    for i in 0..3 {
        let names = [h[i], s[i], s[(i + 1) % 3], s[(i + 2) % 3], h[(i + 2) % 3]]
            .map(|n| t.name(n).to_owned());
        paths.add(&t, &names).unwrap();
    }
    let flows: Vec<_> = (0..3).map(|i| flow(h[i], h[(i + 2) % 3], None, Some(i as u32))).collect();
    (t, Flows { flows: flows.into(), paths, labels: vec!["ring".into()], ..Flows::default() })
}

type Set = &'static [(&'static str, &'static str)];

fn reader(fc: &'static str, params: Set) -> impl Fn(&LinkFacts) -> Result<FlowControl, ParamError> {
    let entry = REGISTRY.iter().find(|e| e.name == fc).unwrap();
    move |link| {
        let v = params.iter().fold(Defaults::of(entry.params), |v, (k, x)| v.with(k, x));
        (entry.read)(&mut { v }, link)
    }
}

fn world(
    (topology, flows): (Topology, Flows),
    fc: &'static str,
    params: Set,
    delay: Span,
) -> World {
    let mut m = Model::plain(Bytes(1_000_000), reader(fc, params));
    m.control_delay = ControlDelay {
        generation: Delay::default(),
        processing: Delay { constant: delay, jitter: Span::ZERO },
    };
    World::build(&topology, flows, &m).unwrap()
}

fn run(
    net: (Topology, Flows),
    fc: &'static str,
    params: Set,
    delay: Span,
    until_ms: u64,
) -> Outcome {
    let mut w = world(net, fc, params, delay);
    let ended = w.run(Time::from_us(until_ms * 1000), u64::MAX).unwrap();
    let (o, _) = w.finish(ended);
    assert_eq!(o.violations, [], "{fc}: nothing is lost, every flow stays in order");
    o
}

fn gbps(o: &Outcome) -> Vec<f64> {
    o.flows.iter().map(|f| f.delivered as f64 * 8.0 / o.now.as_secs_f64() / 1e9).collect()
}

/// Congestion spreading: flow 2 shares a link with flow 1, whose destination takes 1 Gb/s (PFFC
/// slides: 3 Gb/s each).
#[test]
fn a_neighbour_of_a_paused_flow_is_not_slowed() {
    let o = run(victim(), "pfc", &[], Span::ZERO, 20);
    assert!(gbps(&o)[1] < 1.5, "PFC stops both: {:?}", gbps(&o));
    let o = run(victim(), "pffc", &[], Span::ZERO, 20);
    let g = gbps(&o);
    assert!((0.99..=1.0).contains(&g[0]) && (2.99..=3.0).contains(&g[1]), "{g:?}");
    // S1 -> S2 is never held while flow 2 sends, H1 is: C tau = 5.5 KB, Xoff_s = 11 KB.
    let room = 11_000 + 5_500 + 1_500 + 256;
    let fullest = |node: usize| o.ports[node].iter().map(|p| p.ingress_bytes_max).max().unwrap();
    assert!(
        fullest(0) > 11_000 && fullest(0) <= room && fullest(1) <= 2 * room,
        "{} {}",
        fullest(0),
        fullest(1)
    );
    assert_eq!(
        o.ports[3].iter().map(|p| p.messages_received).sum::<u64>(),
        0,
        "no message reaches the second source"
    );
    assert_eq!(o.flow_collisions, 0);
}

/// Flows of one source to two destinations are held apart too: a host obeys by flow.
#[test]
fn a_source_holds_back_one_of_its_flows() {
    let (t, f) = victim();
    let mut flows = f.flows.to_vec();
    flows[1].src = flows[0].src;
    let o = run(
        (t.clone(), Flows { flows: flows.into(), labels: f.labels.clone(), ..Flows::default() }),
        "pfc",
        &[],
        Span::ZERO,
        20,
    );
    assert!(gbps(&o)[1] < 1.5, "{:?}", gbps(&o));
    let g = gbps(&run((t, f), "pffc", &[], Span::ZERO, 20));
    assert!((0.99..=1.0).contains(&g[0]) && (2.99..=3.0).contains(&g[1]), "{g:?}");
}

const LOOP: Span = Span(81_600_000);

#[test]
fn the_ring_that_stands_still_with_pfc_does_not() {
    let o = run(ring(), "pfc", &[("xoff", "800KB"), ("xon", "797KB")], LOOP, 40);
    assert_eq!(o.deadlocks[0].cycle.len(), 3);
    for set in [&[("xoff_s", "150KB"), ("xon_s", "100KB")][..], &[]] {
        let o = run(ring(), "pffc", set, LOOP, 40);
        assert_eq!(o.deadlocks, []);
        assert!(gbps(&o).iter().all(|&g| g > 4.9), "{set:?}: {:?}", gbps(&o));
    }
}

/// With one slot for all flows it is PFC again, with all its buffer dependencies, and the detector
/// finds the deadlock.
#[test]
fn flows_that_share_their_fate_deadlock_in_the_ring() {
    let o = run(ring(), "pffc", &[("slots", "1"), ("xoff_s", "150KB")], LOOP, 40);
    assert_eq!(o.deadlocks.iter().map(|d| d.cycle.len()).collect::<Vec<_>>(), [3]);
    assert!(o.flow_collisions > 0);
    let later = run(ring(), "pffc", &[("slots", "1"), ("xoff_s", "150KB")], LOOP, 80);
    let delivered = |o: &Outcome| o.flows.iter().map(|f| f.delivered).sum::<u64>();
    assert_eq!(delivered(&o), delivered(&later), "it is one: nothing moves any more");
}

/// Thresholds (PFFC slides: exploration of Xoff_s and Xon_s, without numbers): the share that a
/// flow of 10 Gb/s into a link of 5 Gb/s keeps, and the bytes of it that are held. The loop is 86
/// us, in which 53.8 KB leave at 5 Gb/s: an Xon_s below that lets the link run dry.
#[test]
fn a_threshold_below_the_loop_costs_throughput_and_one_above_it_memory() {
    let mut seen = Vec::new();
    for set in [
        &[("xoff_s", "20KB"), ("xon_s", "10KB")][..],
        &[("xoff_s", "60KB"), ("xon_s", "30KB")],
        &[("xoff_s", "120KB"), ("xon_s", "60KB")],
        &[("xoff_s", "200KB"), ("xon_s", "60KB")],
    ] {
        let mut t = Topology::default();
        let [h1, h2] = ["H1", "H2"].map(|n| t.add_node(n, NodeKind::Host, 0, 0));
        let s1 = t.add_node("S1", NodeKind::Switch, 1, 0);
        t.add_link(h1, s1, C, Span::from_us(1));
        t.add_link(s1, h2, Rate::from_gbps(5), Span::from_us(1));
        let flows = Flows {
            flows: vec![flow(h1, h2, None, None)].into(),
            labels: vec!["one".into()],
            ..Flows::default()
        };
        let o = run((t, flows), "pffc", set, LOOP, 40);
        seen.push((gbps(&o)[0], o.ports[s1.index()][0].ingress_bytes_max));
    }
    assert!(seen[0].0 < seen[1].0 && seen[1].0 < 4.7, "{seen:?}");
    assert!(seen[2].0 > 4.9 && seen[3].0 > 4.9, "{seen:?}");
    assert!(seen.windows(2).all(|w| w[0].1 < w[1].1), "{seen:?}");
}

/// Every tenth frame between the switches, data and messages of either direction.
struct Tenth(u64);
impl Losses for Tenth {
    fn lost(&mut self, link: LinkId) -> bool {
        self.0 += (link == 2) as u64;
        link == 2 && self.0.is_multiple_of(10)
    }
}

/// Messages that are lost: a pause that is not repeated ends with its time, so the flow continues.
/// A pause that only RESUME ends does not.
#[test]
fn a_lost_message_heals_with_time() {
    let lossy = |set: Set| {
        let (topology, flows) = victim();
        let mut m = Model::plain(Bytes(1_000_000), reader("pffc", set));
        m.faults.losses = Some(Arc::new(|| Box::new(Tenth(0))));
        let mut w = World::build(&topology, flows, &m).unwrap();
        let ended = w.run(Time::from_us(20_000), u64::MAX).unwrap();
        let o = w.finish(ended).0;
        assert_eq!((o.dropped_frames, o.violations.as_slice()), (0, &[][..]), "{set:?}");
        // Bytes that S2 sends to both destinations: a flow with a gap counts as delivered up to the
        // gap only.
        [1, 2].map(|port| o.ports[1][port].tx_bytes as f64 * 8.0 / o.now.as_secs_f64() / 1e9)
    };
    // 500 quanta are 25.6 us.
    let [timed, sticky] = [&[("quanta", "500")][..], &[("pause", "sticky")]].map(lossy);
    assert!(timed[0] > 0.85 && timed[1] > 2.6, "{timed:?}");
    assert!(sticky[0] < 0.1 && sticky[1] > 2.6, "{sticky:?}");
}

#[test]
fn another_discipline_is_refused() {
    let (topology, flows) = victim();
    let pffc = REGISTRY.iter().find(|e| e.name == "pffc").unwrap();
    let mut m =
        Model::plain(Bytes(1_000_000), |link| (pffc.read)(&mut Defaults::of(pffc.params), link));
    m.discipline = DisciplineKind::RoundRobin;
    assert_eq!(World::build(&topology, flows, &m).err().map(|e| e.key), Some("discipline".into()));
}
