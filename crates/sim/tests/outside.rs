//! A world with links to the outside gives the same run if every frame is handed back when it is
//! due.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::REGISTRY;
use xoff_net::topology::routing::ExplicitPaths;
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Flow, Flows};
use xoff_node::{DisciplineKind, Frame, FrameKind};
use xoff_sim::{Ended, Model, NO_PORT, Outcome, PerLink, Row, UNKNOWN_SOURCE, World};
use xoff_units::params::Defaults;
use xoff_units::{Bytes, Class, FlowId, NodeId, PortId, Rate, Span, Time};

/// Three hosts on three switches in a ring; flow i goes over two ring links.
fn ring() -> (Topology, Flows) {
    let mut t = Topology::default();
    let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
    let s: Vec<_> = (1..=3).map(|i| t.add_node(format!("S{i}"), NodeKind::Switch, 1, i)).collect();
    let h: Vec<_> = (1..=3).map(|i| t.add_node(format!("H{i}"), NodeKind::Host, 0, i)).collect();
    (0..3).for_each(|i| _ = t.add_link(h[i], s[i], rate, delay));
    (0..3).for_each(|i| _ = t.add_link(s[i], s[(i + 1) % 3], rate, delay));
    let mut paths = ExplicitPaths::default();
    for i in 0..3 {
        let names = [h[i], s[i], s[(i + 1) % 3], s[(i + 2) % 3], h[(i + 2) % 3]]
            .map(|n| t.name(n).to_owned());
        paths.add(&t, &names).unwrap();
    }
    let flow = |i: usize| Flow {
        src: h[i],
        dst: h[(i + 2) % 3],
        priority: 0,
        size: 1_000_000 + i as u64,
        start: Time::from_us(3 * i as u64),
        rate: None,
        controlled: true,
        src_port: 1,
        dst_port: 1,
        path: Some(i as u32),
        label: 0,
    };
    let flows: Vec<_> = (0..3).map(flow).collect();
    (t, Flows { flows: flows.into(), paths, labels: vec!["ring".into()], ..Flows::default() })
}

fn build(kind: &str, discipline: DisciplineKind, here: Option<Vec<bool>>) -> World {
    let (topology, flows) = ring();
    let entry = REGISTRY.iter().find(|e| e.name == kind).unwrap();
    let params: &'static [(&str, &str)] =
        if kind == "pfc" { &[("xoff", "80KB"), ("xon", "77KB")] } else { &[] };
    let read = move |link: &LinkFacts| {
        let v = params.iter().fold(Defaults::of(entry.params), |v, (key, x)| v.with(key, x));
        (entry.read)(&mut { v }, link)
    };
    let mut m = Model::plain(Bytes(120_000), read);
    m.discipline = discipline;
    m.probes.interval = Span::from_us(50);
    m.probes.queues = xoff_sim::Selection::All;
    m.probes.rates = xoff_sim::Selection::All;
    m.outside = here;
    let mut w = World::build(&topology, flows, &m).unwrap();
    w.record_to(Box::new(Vec::<Row>::new()));
    w
}

const END: Time = Time::from_us(5000);

fn finish(w: World, ended: Ended) -> (Outcome, Vec<Row>) {
    let (o, rows) = w.finish(ended);
    let rows = *rows.unwrap().into_any().downcast::<Vec<Row>>().unwrap();
    assert_eq!(o.violations, []);
    (o, rows)
}

#[test]
fn frames_handed_back_when_they_are_due_make_the_same_run() {
    for (kind, discipline) in [
        ("pfc", DisciplineKind::Fifo),
        ("pfc", DisciplineKind::RoundRobin),
        ("cbfc", DisciplineKind::Fifo),
        ("gfc-buffer", DisciplineKind::RoundRobin),
        ("gfc-time", DisciplineKind::RoundRobin),
        ("gfc-conceptual", DisciplineKind::RoundRobin),
        ("pffc", DisciplineKind::Fifo),
    ] {
        let mut inside = build(kind, discipline, None);
        let ended = inside.run(END, u64::MAX).unwrap();
        let (inside, rows_inside) = finish(inside, ended);

        let mut w = build(kind, discipline, Some(vec![true; 6]));
        let (t, _) = ring();
        let ended = loop {
            let next = w.next_event().unwrap_or(END).min(END);
            let ended = w.run(next, u64::MAX).unwrap();
            let left: Vec<_> = w.leaving().collect();
            if left.is_empty() && (next >= END || w.next_event().is_none()) {
                break ended;
            }
            for l in left {
                let far = t.nodes[l.node.index()].ports[l.port as usize];
                w.enter(l.at, (far.peer, far.peer_port).into(), l.frame).unwrap();
            }
        };
        let (outside, rows_outside) = finish(w, ended);
        // Events may differ by a look at a world that is quiet because its last frame is outside. A
        // network of its own ends when something last happened. A world with links to the outside
        // cannot know that no more frames arrive. It continues, with its samples, until the last
        // timer has found nothing due.
        assert!(
            outside.ended == inside.ended && outside.now >= inside.now,
            "{kind}: {} {}",
            outside.now,
            inside.now
        );
        assert_eq!(
            (outside.frame_hops, &outside.deadlocks),
            (inside.frame_hops, &inside.deadlocks),
            "{kind}"
        );
        let ends = |o: &Outcome| o.flows.iter().map(|f| (f.end, f.delivered)).collect::<Vec<_>>();
        assert_eq!(ends(&outside), ends(&inside), "{kind}");
        let (same, more) = rows_outside.split_at(rows_inside.len());
        assert_eq!(same, rows_inside, "{kind}");
        assert!(
            more.is_empty() || inside.ended == Ended::Quiet && outside.now > inside.now,
            "{kind}"
        );
        assert!(inside.frame_hops > 1000, "{kind}: {}", inside.frame_hops);
    }
}

/// Frames may come from an unknown source: none of them may make a node panic.
#[test]
fn what_no_node_could_be_given_is_refused() {
    let (t, _) = ring();
    let node = |name: &str| t.find(name).unwrap();
    let mut here = vec![true; 6];
    here[node("H3").index()] = false;
    let mut w = build("pfc", DisciplineKind::Fifo, Some(here));
    let mut refused = |at: &str, f: Frame| w.enter(Time(1), (node(at), 0).into(), f).err();
    let data = |flow, len| Frame::new(FrameKind::Data, flow, Class(0), len);
    // Flow 0 goes from H1 to H3, flow 1 from H2 to H1.
    assert_eq!(refused("S1", data(FlowId(3), 1500)), Some("a flow that does not exist"));
    assert_eq!(
        refused("S1", Frame::new(FrameKind::Data, FlowId(0), Class(1), 1500)),
        Some("a class that is not in use")
    );
    assert_eq!(refused("H1", data(FlowId(0), 1500)), Some("data for another host"));
    assert_eq!(refused("H1", data(FlowId(1), 0)), Some("data without payload"));
    assert_eq!(refused("H3", data(FlowId(0), 1500)), Some("a node that is not here"));
    let mut ack = Frame::new(FrameKind::Ack, FlowId(0), Class(0), 64);
    ack.seq = 1;
    assert_eq!(refused("H1", ack), Some("an acknowledgement of bytes that were never sent"));
    let mut of_others = data(FlowId(UNKNOWN_SOURCE.0 | 7), 1500);
    of_others.out_port = 3;
    assert_eq!(refused("S1", of_others), Some("an egress port that does not exist"));
    assert_eq!(refused("H1", of_others), Some("a frame of an unknown flow"));
    of_others.out_port = NO_PORT;
    assert_eq!(refused("S1", of_others), None);
    assert_eq!(w.run(Time(2), u64::MAX), Some(Ended::TimeUp));
    assert_eq!(w.leaving().count(), 1, "the first frame of H1");
}

/// Frames of flows that the world does not know pass it under every flow control and detection;
/// nothing is kept, looked up or sent by their numbers.
#[test]
fn flows_of_others_pass_under_everything() {
    let (t, _) = ring();
    for fc in REGISTRY {
        for detection in xoff_mech::detection::REGISTRY {
            let read = move |_: &LinkFacts| (detection.read)(&mut Defaults::of(detection.params));
            let flow_control = move |link: &LinkFacts| {
                let v = Defaults::of(fc.params);
                let v =
                    if fc.name == "pfc" { v.with("xoff", "80KB").with("xon", "77KB") } else { v };
                (fc.read)(&mut { v }, link)
            };
            let mut m = Model::plain(Bytes(2_000_000), flow_control);
            m.detection = PerLink::by(read);
            m.outside = Some(vec![true; 6]);
            m.priorities = vec![0];
            let mut w = World::build(&t, Flows::default(), &m).unwrap();
            // S1 by all of its ports at once, to its host: more than the link carries, and many on
            // their way at a time.
            let (s1, to_host) = (NodeId(0), 0);
            for n in 0..200u32 {
                for port in 1..3 {
                    let mut f = Frame::new(
                        FrameKind::Data,
                        FlowId(UNKNOWN_SOURCE.0 | (n % 5) << 20 | u32::from(port)),
                        Class(0),
                        1518,
                    );
                    f.out_port = to_host;
                    w.enter(
                        Time(u64::from(n) * 1_300_000 + u64::from(port) * 1000),
                        (s1, port).into(),
                        f,
                    )
                    .unwrap();
                }
            }
            w.run(END, u64::MAX);
            let left: Vec<_> =
                w.leaving().filter(|l| l.frame.kind() != FrameKind::Control).collect();
            assert!(
                left.iter()
                    .all(|l| l.frame.flow >= UNKNOWN_SOURCE && l.frame.kind() == FrameKind::Data),
                "{} {}",
                fc.name,
                detection.name
            );
            // A ring has no source of credits: what came first has left, and nothing is lost.
            assert!(!left.is_empty(), "{} {}", fc.name, detection.name);
            let (o, _) = w.finish(Ended::TimeUp);
            assert_eq!(
                (o.dropped_frames, o.violations),
                (0, vec![]),
                "{} {}",
                fc.name,
                detection.name
            );
        }
    }
}

/// A pause ends when the watchdog releases the port, or when its link has been down, and not when
/// the quanta would have run out (3.355 ms at 10 Gb/s).
#[test]
fn a_pause_that_no_longer_counts_ends_in_the_counters() {
    use xoff_mech::flow_control::{Message, pfc::Pause};
    let (t, _) = ring();
    let (s1, h1) = (t.find("S1").unwrap(), t.find("H1").unwrap());
    let port = t.nodes[s1.index()].ports.iter().position(|p| p.peer == h1).unwrap() as u16;
    for released in [true, false] {
        let mut w = build("pfc", DisciplineKind::Fifo, Some(vec![true; 6]));
        w.run(Time::from_us(10), u64::MAX);
        w.enter(
            Time::from_us(10),
            (s1, port).into(),
            Frame::control(Message::Pfc(Pause(65_535)), Class(0), 64),
        )
        .unwrap();
        w.run(Time::from_us(110), u64::MAX);
        if released {
            w.release(Time::from_us(110), PortId { node: s1, port }.class(Class(0)), true);
        } else {
            w.restart(Time::from_us(110), (s1, port).into());
        }
        let ended = w.run(Time::from_us(2000), u64::MAX).unwrap();
        let (o, _) = w.finish(ended);
        let p = &o.ports[s1.index()][port as usize];
        assert_eq!((p.pauses, p.paused_ps), (1, Span::from_us(100).0), "released {released}");
    }
}
