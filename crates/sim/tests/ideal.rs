//! The ideal completion time is that of a lone flow: equal to the simulated time, to the
//! picosecond.

use xoff_mech::flow_control::FlowControl;
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Flow, Flows};
use xoff_sim::{Engine, Lone, Model, World, ideal_time};
use xoff_units::{Bytes, NodeId, Rate, Span, Time};

/// A host, switches and a host in a row.
fn chain(links: &[(Rate, Span)]) -> Topology {
    let mut t = Topology::default();
    let last = links.len();
    for i in 0..=last {
        let kind = if i == 0 || i == last { NodeKind::Host } else { NodeKind::Switch };
        t.add_node(format!("N{i}"), kind, (kind == NodeKind::Switch) as u8, i as u32);
    }
    for (i, &(rate, delay)) in links.iter().enumerate() {
        t.add_link(NodeId(i as u32), NodeId(i as u32 + 1), rate, delay);
    }
    t
}

/// Completion time of a lone flow from the first to the last node of a chain, and the ideal one.
fn lone(links: &[(Rate, Span)], f: &Lone, start: Time, cut_through: Option<Bytes>) -> (Span, Span) {
    let t = chain(links);
    let dst = links.len() as u32;
    let (size, rate) = (f.size, f.rate);
    let flow = Flow {
        src: NodeId(0),
        dst: NodeId(dst),
        priority: 0,
        size,
        start,
        rate,
        controlled: true,
        src_port: 1,
        dst_port: 1,
        path: None,
        label: 0,
    };
    let flows = Flows { flows: vec![flow].into(), labels: vec!["test".into()], ..Flows::default() };
    let mut m = Model::plain(Bytes(1 << 30), |_| Ok(FlowControl::None));
    (m.cut_through, m.nic.payload_max, m.nic.header, m.deadlock_interval) =
        (cut_through, f.payload_max, f.header, Span::ZERO);
    let mut w = World::build(&t, flows, &m).unwrap();
    let ended = w.run(Time(u64::MAX / 2), u64::MAX).unwrap();
    let (o, _) = w.finish(ended);
    assert_eq!((o.violations.len(), o.dropped_frames), (0, 0));
    let path: Vec<(NodeId, u16)> = (0..dst).map(|n| (NodeId(n), (n > 0) as u16)).collect();
    (o.flows[0].fct().unwrap(), ideal_time(&t, (&path, 0..0), f, cut_through))
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize]
    }
    /// Rates of Ethernet, and some by which nothing divides.
    fn rate(&mut self) -> Rate {
        let odd = Rate(33_333_333 + self.roll(400_000_000_000));
        self.pick(&[
            Rate::from_gbps(10),
            Rate::from_gbps(25),
            Rate::from_gbps(40),
            Rate::from_gbps(100),
            Rate(1_234_567_891),
            odd,
        ])
    }
}

#[test]
fn the_ideal_time_is_that_of_a_lone_flow() {
    let mut d = Dice(1);
    // How often each of what makes it difficult was drawn.
    let (mut mixed_and_short, mut cut, mut paced, mut slower_than_links) = (0, 0, 0, 0);
    for case in 0..3000 {
        let links: Vec<_> = (0..1 + d.roll(6))
            .map(|_| (d.rate(), Span(d.pick(&[0, 1, 777_777, 1_000_000, 4_000_000]))))
            .collect();
        let payload_max = d.pick(&[1, 64, 1000, 1452, 4096, 9000]);
        let header = d.pick(&[0, 0, 42, 48, 90]);
        let frames = 1 + d.roll(40);
        let size = (frames - 1) * payload_max as u64 + 1 + d.roll(payload_max as u64);
        let rate = (d.roll(3) == 0).then(|| d.rate());
        let cut_through = (d.roll(2) == 0).then(|| Bytes(d.pick(&[1, 40, 64, 700, 1499, 20_000])));
        let flow = Lone { size, rate, payload_max, header };
        let (fct, ideal) = lone(&links, &flow, Time(d.roll(5_000_000)), cut_through);
        assert_eq!(fct, ideal, "case {case}: {links:?}, {flow:?}, head {cut_through:?}");

        let slowest = links.iter().map(|l| l.0).min().unwrap();
        let mixed = links.iter().any(|l| l.0 != slowest);
        mixed_and_short += (mixed && frames > 1 && !size.is_multiple_of(payload_max as u64)) as u32;
        cut += cut_through.is_some() as u32;
        paced += rate.is_some() as u32;
        slower_than_links += rate.is_some_and(|r| r < slowest && frames > 1) as u32;
    }
    assert!(mixed_and_short > 1000 && cut > 1000 && paced > 500 && slower_than_links > 100);
}

/// A run to the last picosecond with a flow that begins in the last microsecond: its frames would
/// arrive beyond the end of time.
#[test]
fn a_run_to_the_end_of_time_ends() {
    let t = chain(&[(Rate::from_gbps(10), Span::from_us(1))]);
    let start = Time(u64::MAX - 1000);
    let flow = Flow {
        src: NodeId(0),
        dst: NodeId(1),
        priority: 0,
        size: 10_000,
        start,
        rate: None,
        controlled: true,
        src_port: 1,
        dst_port: 1,
        path: None,
        label: 0,
    };
    let flows = Flows { flows: vec![flow].into(), labels: vec!["test".into()], ..Flows::default() };
    for engine in [Engine::Windows, Engine::Events] {
        let mut m = Model::plain(Bytes(100_000), |_| Ok(FlowControl::None));
        (m.engine, m.deadlock_interval) = (engine, Span::ZERO);
        let mut w = World::build(&t, flows.clone(), &m).unwrap();
        assert_eq!(w.by_events().is_none(), engine == Engine::Windows);
        assert!(w.run(Time(u64::MAX), 1000).is_some(), "{engine:?}");
    }
}
