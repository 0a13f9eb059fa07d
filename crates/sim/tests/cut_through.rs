//! Virtual cut-through: exact times on paths through an empty network, and where it falls back to
//! store and forward.

use xoff_mech::flow_control::FlowControl;
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Flow, Flows};
use xoff_sim::{Model, Outcome, World};
use xoff_units::{Bytes, NodeId, Rate, Span, Time};

/// A host, switches and a host in a row; the links by rate [Gb/s] and delay [ns].
fn chain(links: &[(u64, u64)]) -> Topology {
    let mut t = Topology::default();
    let last = links.len();
    for i in 0..=last {
        let kind = if i == 0 || i == last { NodeKind::Host } else { NodeKind::Switch };
        t.add_node(format!("N{i}"), kind, (kind == NodeKind::Switch) as u8, i as u32);
    }
    for (i, &(gbps, ns)) in links.iter().enumerate() {
        t.add_link(
            NodeId(i as u32),
            NodeId(i as u32 + 1),
            Rate::from_gbps(gbps),
            Span::from_ns(ns),
        );
    }
    t
}

fn flow(src: NodeId, dst: NodeId, size: u64, start: Time) -> Flow {
    Flow {
        src,
        dst,
        priority: 0,
        size,
        start,
        rate: None,
        controlled: true,
        src_port: 1,
        dst_port: 1,
        path: None,
        label: 0,
    }
}

fn run(t: &Topology, flows: &[Flow], cut_through: Option<Bytes>) -> Outcome {
    let flows =
        Flows { flows: flows.to_vec().into(), labels: vec!["test".into()], ..Flows::default() };
    let mut m = Model::plain(Bytes(100_000), |_| Ok(FlowControl::None));
    m.cut_through = cut_through;
    let mut w = World::build(t, flows, &m).unwrap();
    let ended = w.run(Time::from_us(100_000), u64::MAX).unwrap();
    let (o, _) = w.finish(ended);
    assert_eq!((o.violations.len(), o.dropped_frames), (0, 0));
    o
}

/// Completion time of a lone flow from the first to the last node of a chain.
fn lone(links: &[(u64, u64)], size: u64, cut_through: Option<Bytes>) -> Span {
    let o = run(
        &chain(links),
        &[flow(NodeId(0), NodeId(links.len() as u32), size, Time::ZERO)],
        cut_through,
    );
    o.flows[0].fct().unwrap()
}

const HEAD: Option<Bytes> = Some(Bytes(40));

/// Five links at 40 Gb/s: 40 B take 8 ns, 1500 B take 300 ns. Delays, four heads, one whole frame.
#[test]
fn a_frame_takes_the_delays_the_heads_and_itself_once() {
    let links = [(40, 1000), (40, 4000), (40, 500), (40, 4000), (40, 1000)];
    let (delays, heads, frame) = (Span::from_ns(10_500), Span::from_ns(4 * 8), Span::from_ns(300));
    assert_eq!(lone(&links, 1500, HEAD), delays + heads + frame);
    assert_eq!(lone(&links, 1500, None), delays + Span::from_ns(5 * 300), "store and forward");
    // The frames behind it follow on its heels: 10 frames, 9 frame times later.
    assert_eq!(lone(&links, 15_000, HEAD), delays + heads + Span::from_ns(10 * 300));
    // A frame shorter than the head: it is in when it is in. 20 B take 4 ns.
    assert_eq!(lone(&links, 20, HEAD), delays + Span::from_ns(5 * 4));
}

/// 10 Gb/s into a switch that sends at 40: bits would run out, so that link is stored and
/// forwarded. 40 into 10 is not.
#[test]
fn a_slower_link_before_a_faster_one_is_stored_and_forwarded() {
    let d = Span::from_ns(2000);
    assert_eq!(lone(&[(10, 1000), (40, 1000)], 1500, HEAD), d + Span::from_ns(1200 + 300));
    assert_eq!(lone(&[(40, 1000), (10, 1000)], 1500, HEAD), d + Span::from_ns(8 + 1200));
    // Another port of the switch is faster, though the frame does not take it.
    let mut t = chain(&[(10, 1000), (10, 1000)]);
    let h = t.add_node("fast", NodeKind::Host, 0, 9);
    t.add_link(NodeId(1), h, Rate::from_gbps(40), Span::from_ns(1000));
    let o = run(&t, &[flow(NodeId(0), NodeId(2), 1500, Time::ZERO)], HEAD);
    assert_eq!(o.flows[0].fct().unwrap(), d + Span::from_ns(2 * 1200));
}

/// With a head as long as a frame nothing is different from store and forward.
#[test]
fn a_head_as_long_as_a_frame_is_store_and_forward() {
    let mut t = chain(&[(40, 1000), (40, 4000), (10, 1000)]);
    let (a, b) = (t.add_node("a", NodeKind::Host, 0, 8), t.add_node("b", NodeKind::Host, 0, 9));
    t.add_link(NodeId(1), a, Rate::from_gbps(40), Span::from_ns(1000));
    t.add_link(NodeId(2), b, Rate::from_gbps(40), Span::from_ns(1000));
    let flows = [
        flow(NodeId(0), NodeId(3), 40_001, Time::ZERO),
        flow(a, NodeId(3), 33_000, Time(7_000)),
        flow(NodeId(0), b, 50_000, Time(9_000)),
        flow(b, a, 50_000, Time::ZERO),
    ];
    let whole = run(&t, &flows, None);
    for head in [1500, 9000] {
        let o = run(&t, &flows, Some(Bytes(head)));
        assert_eq!((&o.flows, o.events), (&whole.flows, whole.events), "{head} B");
    }
    assert_ne!(run(&t, &flows, HEAD).flows, whole.flows);
}
