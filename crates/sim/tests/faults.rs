//! Links that fail and frames that get lost: what still arrives, and which promises hold.

use std::sync::Arc;

use xoff_mech::flow_control::{FlowControl, pfc};
use xoff_mech::transport::{Transport, roce};
use xoff_net::topology::routing::Routing;
use xoff_net::topology::{LinkId, NodeKind, Topology};
use xoff_net::workload::{Flow, Flows};
use xoff_node::{Acks, DisciplineKind, PausedWith};
use xoff_sim::{Ended, LinkFailure, Losses, LostFrames, Model, Outcome, World};
use xoff_units::{Bytes, FlowId, Loss, NodeId, Rate, Span, Time};

/// Two hosts each on two edge switches, two spines; links 0 to 3 lead to the hosts, 4 and 5 from E1
/// to the spines, 6 and 7 from the spines to E2.
fn leaf_spine() -> Topology {
    let mut t = Topology::default();
    let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
    let h: Vec<_> = (1..=4).map(|i| t.add_node(format!("H{i}"), NodeKind::Host, 0, 0)).collect();
    let e: Vec<_> = (1..=2).map(|i| t.add_node(format!("E{i}"), NodeKind::Switch, 1, 0)).collect();
    let s: Vec<_> = (1..=2).map(|i| t.add_node(format!("S{i}"), NodeKind::Switch, 2, 0)).collect();
    for i in 0..4 {
        t.add_link(h[i], e[i / 2], rate, delay);
    }
    s.iter().for_each(|&spine| {
        t.add_link(e[0], spine, rate, delay);
    });
    s.iter().for_each(|&spine| {
        t.add_link(spine, e[1], rate, delay);
    });
    t
}

fn model<'a>() -> Model<'a> {
    let threshold = pfc::Threshold::Static { xoff: Bytes::from_kb(100), xon: Bytes::from_kb(97) };
    let fc = FlowControl::Pfc(pfc::Params { threshold, quanta: None, repeat: Span::ZERO });
    let mut m = Model::plain(Bytes::from_kb(300), move |_| Ok(fc.clone()));
    m.routing = Routing::named("lowest-id", 1).unwrap(); // everything over S1
    m
}

/// Both left hosts send 1 MB to both right ones.
fn run(m: Model<'_>) -> Outcome {
    let t = leaf_spine();
    let flow = |src, dst| Flow {
        src,
        dst,
        priority: 0,
        size: 1_000_000,
        start: Time::ZERO,
        rate: None,
        controlled: true,
        src_port: 1,
        dst_port: 1,
        path: None,
        label: 0,
    };
    let flows = Flows {
        flows: vec![flow(NodeId(0), NodeId(2)), flow(NodeId(1), NodeId(3))].into(),
        labels: vec!["pairs".into()],
        ..Flows::default()
    };
    let mut w = World::build(&t, flows, &m).unwrap();
    let ended = w.run(Time::from_us(10_000), u64::MAX).unwrap_or(Ended::TimeUp);
    w.finish(ended).0
}

/// Frames sent by a node through a port.
fn sent(o: &Outcome, node: usize, port: usize) -> u64 {
    o.ports[node][port].tx_frames
}

const E1: usize = 4;

#[test]
fn after_a_failure_everything_takes_the_link_that_is_left() {
    for discipline in [
        DisciplineKind::Fifo,
        DisciplineKind::RoundRobin,
        DisciplineKind::InputFifo { arbitration: Span::ZERO },
    ] {
        let whole = run(model());
        assert_eq!(
            (sent(&whole, E1, 2), sent(&whole, E1, 3)),
            (1334, 0),
            "1 MB in 667 frames each"
        );
        let mut m = model();
        m.discipline = discipline;
        m.faults.failures.push(LinkFailure { at: Time::from_us(500), link: 4 });
        let o = run(m);
        let over = |port| sent(&o, E1, port);
        assert!(over(2) > 300 && over(3) > 600, "{discipline:?}: {} and {}", over(2), over(3));
        // Frames that waited in E1 are dropped there. The frame on the wire is lost at S1. Neither
        // breaks a promise.
        assert!(
            o.dropped_frames > 0 && o.dropped_frames < 200,
            "{discipline:?}: {} dropped",
            o.dropped_frames
        );
        assert!((1..=2).contains(&o.lost_frames), "{discipline:?}: {} lost", o.lost_frames);
        assert_eq!(over(2) + over(3) + o.dropped_frames, 1334, "{discipline:?}");
        assert_eq!(o.violations, []);
        assert_eq!(
            (o.lost[Loss::FailedPort].data, o.lost[Loss::OnFailedLink].total()),
            (o.dropped_frames, o.lost_frames),
            "{:?}",
            o.lost
        );
        assert_eq!(
            (o.lossless, o.lost.unexcused().total(), o.lost.excused()),
            (true, 0, o.lost.total()),
            "{:?}",
            o.lost
        );
        assert_eq!(o.ended, Ended::Quiet, "{discipline:?}: none waits for ever");
    }
}

#[test]
fn a_host_that_is_cut_off_sends_nothing_more() {
    let mut m = model();
    m.faults.failures.push(LinkFailure { at: Time::from_us(100), link: 0 });
    let o = run(m);
    assert!(sent(&o, 0, 0) < 100);
    assert_eq!((o.completions.as_slice(), o.violations.len()), (&[FlowId(1)][..], 0));
}

/// Both hosts behind E2 answer frame by frame, so that an acknowledgement may wait for the wire
/// when a link fails: it is counted, apart from data. So is what has no route any more.
#[test]
fn acknowledgements_lost_with_a_link_are_counted_apart() {
    let mut seen = LostFrames::default();
    for nanoseconds in 0..40 {
        let mut m = model();
        // Longer than the data, so that they wait.
        m.nic.acks = Acks { len: 9000, class: None, paused_with: PausedWith::Class(None) };
        m.nic.transport = Transport::Roce(roce::Params {
            interval: 1,
            chunk: 4000,
            back_to_zero: false,
            nack_interval: Span::from_us(500),
            timers: None,
        });
        m.faults
            .failures
            .push(LinkFailure { at: Time(200_000_000 + nanoseconds * 50_000), link: 2 });
        let o = run(m);
        assert_eq!(o.violations, []);
        assert_eq!(
            (o.lost.dropped().total(), o.lost.on_links().total()),
            (o.dropped_frames, o.lost_frames)
        );
        assert_eq!(o.lost.unexcused().total(), 0, "{:?}", o.lost);
        for cause in [Loss::FailedPort, Loss::CutOff, Loss::OnFailedLink] {
            seen[cause] = seen[cause] + o.lost[cause];
        }
    }
    assert!(
        seen[Loss::FailedPort].control > 0 && seen[Loss::OnFailedLink].control > 0,
        "of the host that is cut off: {seen:?}"
    );
    assert!(
        seen[Loss::CutOff].data > 0 && seen[Loss::OnFailedLink].data > 0,
        "frames that still leave for it: {seen:?}"
    );
}

#[test]
fn a_link_that_does_not_exist_is_refused() {
    let mut m = model();
    m.faults.failures.push(LinkFailure { at: Time::from_us(100), link: 8 });
    let t = leaf_spine();
    assert_eq!(World::build(&t, Flows::default(), &m).err().unwrap().key, "link_failure");
}

/// Every tenth frame on one link.
struct Tenth(u64);
impl Losses for Tenth {
    fn lost(&mut self, link: LinkId) -> bool {
        self.0 += (link == 4) as u64;
        link == 4 && self.0.is_multiple_of(10)
    }
}

#[test]
fn a_loss_on_a_link_breaks_no_promise() {
    let mut m = model();
    m.faults.losses = Some(Arc::new(|| Box::new(Tenth(0))));
    let o = run(m);
    assert!(o.lost_frames >= 133, "{}", o.lost_frames);
    assert_eq!(o.ports[6][0].lost, o.lost_frames, "at S1's port to E1");
    assert_eq!((o.dropped_frames, o.violations.as_slice()), (0, &[][..]));
}
