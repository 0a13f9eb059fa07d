//! BFC in a network: how much a queue holds.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, QueueState, bfc};
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Flow, Flows, UNLIMITED};
use xoff_sim::{Ended, Engine, Model, World};
use xoff_units::params::Defaults;
use xoff_units::{Bytes, FlowId, NodeId, Rate, Span, Time};

const C: Rate = Rate::from_gbps(10);
const MTU: Bytes = Bytes(1_500);
/// Flows to R: three begin at S1, two at S2.
const INTO_R: u32 = 5;

/// H1, H2 and H3 at S1, H4, H5 and R at S2. All send to R at line rate, and R sends to H1, so that
/// filters wait for frames on the wire.
fn incast(delay: Span) -> (Topology, Flows) {
    let mut t = Topology::default();
    let [s1, s2] = [1, 2].map(|i| t.add_node(format!("S{i}"), NodeKind::Switch, 1, i));
    let h: Vec<NodeId> =
        (1..=5).map(|i| t.add_node(format!("H{i}"), NodeKind::Host, 0, i)).collect();
    let r = t.add_node("R".to_owned(), NodeKind::Host, 0, 6);
    for (a, b) in [(h[0], s1), (h[1], s1), (h[2], s1), (s1, s2), (h[3], s2), (h[4], s2), (s2, r)] {
        t.add_link(a, b, C, delay);
    }
    let flow = |src, dst, src_port| Flow {
        src,
        dst,
        priority: 0,
        size: UNLIMITED,
        start: Time::ZERO,
        rate: None,
        controlled: true,
        src_port,
        dst_port: 1,
        path: None,
        label: 0,
    };
    let mut flows: Vec<Flow> = h.iter().map(|&src| flow(src, r, 1)).collect();
    flows.push(flow(r, h[0], 2));
    (t, Flows { flows: flows.into(), labels: vec!["incast".into()], ..Flows::default() })
}

/// The largest queue of a flow over all events, at both switches, and the bound of
/// `docs/mechanisms/bfc.md`; cables are `longer` than BFC is configured for.
fn highest(delay: Span, longer: u64) -> (Bytes, Bytes, Bytes) {
    let (topology, flows) = incast(Span(delay.0 * longer));
    let assumed = |link: &LinkFacts| LinkFacts { delay, ..*link };
    let reader = |link: &LinkFacts| {
        bfc::Params::read(&mut Defaults::of(bfc::PARAMS), &assumed(link)).map(FlowControl::Bfc)
    };
    let link = LinkFacts::plain(C, delay, MTU, Bytes(1_000_000));
    let FlowControl::Bfc(p) = reader(&link).unwrap() else { unreachable!() };
    let mut m = Model::plain(Bytes(1_000_000), reader);
    m.engine = Engine::Events;
    let mut w = World::build(&topology, flows, &m).unwrap();
    let mut highest = Bytes::ZERO;
    let mut ended = None;
    while ended.is_none() {
        ended = w.run(Time::from_us(1_000), 1);
        // S1 -> S2 and S2 -> R are the last links of either.
        for node in [0, 1] {
            let of = |flow: u32| {
                w.flow_queue((NodeId(node), 3).into(), 0, FlowId(flow))
                    .expect("BFC keeps queues by flow")
                    .bytes
            };
            highest = (0..INTO_R).map(of).fold(highest, Bytes::max);
        }
    }
    assert_eq!(ended, Some(Ended::TimeUp));
    let (outcome, _) = w.finish(Ended::TimeUp);
    assert_eq!(outcome.violations, [], "nothing is lost, every flow stays in order");
    let received: u64 = outcome.flows[..INTO_R as usize].iter().map(|f| f.delivered).sum();
    assert!(received * 8 > 8_000_000, "R gets {received} bytes in 1 ms at 10 Gb/s"); // all of them are paused at times
    let threshold = p.threshold(&link, &QueueState { bytes: Bytes::ZERO, rate: C, active: 1 });
    (highest, threshold, threshold + C.bytes_in(bfc::hrtt(&link) + p.period) + MTU + MTU)
}

/// The threshold of a queue that is alone, what a link carries in HRTT and a period, and two
/// frames: at every event of an incast.
#[test]
fn a_queue_of_an_incast_holds_its_threshold_and_one_hop_at_most() {
    for delay in [Span::from_ns(100), Span::from_us(1), Span::from_us(5)] {
        let (highest, threshold, bound) = highest(delay, 1);
        assert!(
            threshold < highest && highest <= bound,
            "{delay}: {threshold} < {highest} <= {bound}"
        );
    }
}

/// The bound follows from the cable: one that is longer than BFC is configured for passes it.
#[test]
fn a_longer_cable_passes_the_bound() {
    for delay in [Span::from_us(1), Span::from_us(5)] {
        let (highest, _, bound) = highest(delay, 8);
        assert!(highest > bound, "{delay}: {highest} > {bound}");
    }
}
