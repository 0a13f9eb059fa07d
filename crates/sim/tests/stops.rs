//! Times at which a port may not send, to the picosecond: pauses that a message lifts, that expire,
//! that are renewed, and lack of credits.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::cbfc::CreditLimit;
use xoff_mech::flow_control::pfc::Pause;
use xoff_mech::flow_control::pffc::{Order, slot};
use xoff_mech::flow_control::{Message, REGISTRY, StoppedBy};
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Flow, Flows};
use xoff_node::{ControlDelay, Delay, Frame};
use xoff_sim::{Model, Outcome, Port, PortTotals, Row, Selection, World};
use xoff_units::params::Defaults;
use xoff_units::{Bytes, Class, FlowId, NodeId, Rate, Span, Time};

const C: Rate = Rate::from_gbps(10);
const US: u64 = 1_000_000;
/// 100 quanta of 512 bit times at 10 Gb/s [ps].
const PAUSE: u64 = 5_120_000;
const Q100: Message = Message::Pfc(Pause(100));
const RESUME: Message = Message::Pfc(Pause::RESUME);

fn flow(src: NodeId, dst: NodeId, frames: u64, start: u64) -> Flow {
    let size = 1500 * frames;
    let start = Time(start);
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

/// Record of a host: the frames that left it, when each had left [ps], its counters, rows.
struct Seen {
    left: Vec<u64>,
    port: PortTotals,
    rows: Vec<Row>,
}

impl Seen {
    /// Stops: time, whether a stop begins, and the stopped port and class.
    fn stops(&self) -> Vec<(u64, bool, StoppedBy)> {
        let of = |r: &Row| {
            if let Row::Pause(p) = *r { Some((p.time_ps, p.stopped, p.by)) } else { None }
        };
        self.rows.iter().filter_map(of).collect()
    }
    /// Changes of the allowed rate.
    fn rates(&self) -> Vec<(u64, Rate)> {
        let of = |r: &Row| {
            if let Row::Rate(r) = *r { Some((r.time_ps, Rate(r.rate_bps))) } else { None }
        };
        self.rows.iter().filter_map(of).collect()
    }
}

/// A host alone, its switch played by the test: it receives these messages at these times [ps], and
/// sends 3 frames from 0, one at 30 us and one after everything.
fn host(
    kind: &str,
    params: &[(&'static str, &'static str)],
    buffer: u64,
    messages: &[(u64, Message)],
    until: u64,
) -> Seen {
    let mut t = Topology::default();
    let (h, s, d) = (
        t.add_node("H1", NodeKind::Host, 0, 1),
        t.add_node("S1", NodeKind::Switch, 1, 1),
        t.add_node("H2", NodeKind::Host, 0, 2),
    );
    t.add_link(h, s, C, Span::from_us(1));
    t.add_link(s, d, C, Span::from_us(1));
    let flows = Flows {
        flows: vec![flow(h, d, 3, 0), flow(h, d, 1, 30 * US), flow(h, d, 1, 90 * US)].into(),
        labels: vec!["x".into()],
        ..Flows::default()
    };
    let entry = REGISTRY.iter().find(|e| e.name == kind).unwrap();
    let read = |link: &LinkFacts| {
        let v = params.iter().fold(Defaults::of(entry.params), |v, (key, x)| v.with(key, x));
        (entry.read)(&mut { v }, link)
    };
    let mut m = Model::plain(Bytes(buffer), read);
    m.outside = Some(vec![true, false, false]);
    m.probes.pauses = Selection::All;
    m.probes.rate_changes = Selection::All;
    let mut w = World::build(&t, flows, &m).unwrap();
    w.record_to(Box::new(Vec::<Row>::new()));
    for &(at, message) in messages {
        w.enter(Time(at), (h, 0).into(), Frame::control(message, Class(0), 64)).unwrap();
    }
    let ended = w.run(Time(until), u64::MAX).unwrap();
    let left = w.leaving().filter(|l| l.frame.len() == 1500).map(|l| l.at.0 - US).collect();
    let (o, rows) = w.finish(ended);
    Seen { left, port: o.ports[h.index()][0], rows: *rows.unwrap().into_any().downcast().unwrap() }
}

fn pfc(messages: &[(u64, Message)], until: u64) -> Seen {
    host("pfc", &[("xoff", "50KB"), ("xon", "40KB")], 100_000, messages, until)
}

const END: u64 = 50 * US;
const FRAME: u64 = 1_200_000;

/// The first frame is on the wire when the pause comes at 0.5 us; the second goes when the pause is
/// over, though no message ends it.
#[test]
fn a_timed_pause_ends_with_its_time() {
    let s = pfc(&[(500_000, Q100)], END);
    let end = 500_000 + PAUSE;
    assert_eq!(s.left, [FRAME, end + FRAME, end + 2 * FRAME, 30 * US + FRAME]);
    assert_eq!((s.port.pauses, s.port.paused_ps), (1, PAUSE), "49.5 us before");
    assert_eq!((s.port.blocks, s.port.blocked_ps), (1, end - FRAME));
    assert_eq!(s.stops(), [(500_000, true, StoppedBy::Pause), (end, false, StoppedBy::Pause)]);
    assert_eq!(s.rates(), [(500_000, Rate::ZERO), (end, C)]);
}

/// Also where nothing happens at that time: all has been sent, and the next event is seven pauses
/// later.
#[test]
fn a_pause_that_expires_in_silence_has_its_length() {
    let s = pfc(&[(10 * US, Q100)], END);
    assert_eq!((s.port.pauses, s.port.paused_ps, s.port.blocks), (1, PAUSE, 0));
    assert_eq!(
        s.stops(),
        [(10 * US, true, StoppedBy::Pause), (10 * US + PAUSE, false, StoppedBy::Pause)]
    );
    // And where the run is over before another event comes.
    let s = pfc(&[(40 * US, Q100)], END);
    assert_eq!((s.port.pauses, s.port.paused_ps), (1, PAUSE));
    assert_eq!(s.stops()[1].0, 40 * US + PAUSE);
}

/// A run that ends within a pause counts it up to there, and its row stays open.
#[test]
fn a_pause_is_cut_at_the_end_of_the_run() {
    let s = pfc(&[(48 * US, Q100)], END);
    assert_eq!((s.port.pauses, s.port.paused_ps, s.stops().len()), (1, 2 * US, 1));
    let s = pfc(&[(END - PAUSE, Q100)], END);
    assert_eq!(
        (s.port.pauses, s.port.paused_ps, s.stops().len()),
        (1, PAUSE, 2),
        "it expires with the run"
    );
}

#[test]
fn a_message_within_a_pause_renews_it_or_ends_it() {
    for (second, at, until) in [
        (Q100, 3 * US, 3 * US + PAUSE),
        (Q100, 500_000 + PAUSE, 500_000 + 2 * PAUSE),
        (RESUME, 3 * US, 3 * US),
        (RESUME, 500_000 + PAUSE, 500_000 + PAUSE),
    ] {
        let s = pfc(&[(500_000, Q100), (at, second)], END);
        assert_eq!((s.port.pauses, s.port.paused_ps), (1, until - 500_000), "{second:?} at {at}");
        assert_eq!(
            s.stops().iter().map(|s| s.0).collect::<Vec<_>>(),
            [500_000, until],
            "{second:?} at {at}"
        );
        assert_eq!(s.left[1], until + FRAME, "{second:?} at {at}");
    }
}

/// A pause after one that has expired is another one, and a resume after it ends nothing.
#[test]
fn a_pause_after_one_that_has_expired_counts_again() {
    let (a, b) = (10 * US, 20 * US);
    let s = pfc(&[(a, Q100), (b, Q100), (b + 9 * US, RESUME)], END);
    assert_eq!((s.port.pauses, s.port.paused_ps), (2, 2 * PAUSE));
    assert_eq!(s.stops().iter().map(|s| s.0).collect::<Vec<_>>(), [a, a + PAUSE, b, b + PAUSE]);
}

/// 48 blocks are two frames: from 2.4 us on the third waits, though no message has stopped its
/// port, until credits come.
#[test]
fn a_port_without_credits_for_what_waits_is_off() {
    let credit = Message::Credit(CreditLimit { fccl: 96, occupied: Bytes::ZERO });
    let s = host("cbfc", &[("period", "1ms")], 3072, &[(10 * US, credit)], END);
    assert_eq!(s.left, [FRAME, 2 * FRAME, 10 * US + FRAME, 30 * US + FRAME]);
    assert_eq!(
        s.stops(),
        [(2 * FRAME, true, StoppedBy::Credits), (10 * US, false, StoppedBy::Credits)]
    );
    assert_eq!((s.port.pauses, s.port.blocks, s.port.blocked_ps), (0, 1, 10 * US - 2 * FRAME));
    // A message that leaves it without credits opens nothing: with 3072 B both counters are at 48
    // blocks.
    let none = Message::Credit(CreditLimit { fccl: 48, occupied: Bytes::ZERO });
    let s = host("cbfc", &[("period", "1ms")], 3072, &[(5 * US, none), (10 * US, credit)], END);
    assert_eq!(s.stops().iter().map(|s| s.0).collect::<Vec<_>>(), [2 * FRAME, 10 * US]);
    assert_eq!((s.port.pauses, s.port.paused_ps, s.port.blocked_ps), (0, 0, 10 * US - 2 * FRAME));
}

/// If single flows are paused, a port is off while only frames of paused flows wait.
#[test]
fn a_port_whose_only_flow_is_paused_is_off_until_the_pause_expires() {
    let away = slot(FlowId(0), 4096);
    let orders = [(500_000, Order::Pause(away % 6, Pause(100))), (500_001, Order::Migrate(away))]
        .map(|(t, o)| (t, Message::Flow(o)));
    let s = host("pffc", &[("xoff_s", "20KB")], 1_000_000, &orders, END);
    let end = 500_000 + PAUSE;
    assert_eq!(s.stops(), [(FRAME, true, StoppedBy::Flows), (end, false, StoppedBy::Flows)]);
    assert_eq!((s.port.pauses, s.port.blocks, s.port.blocked_ps), (0, 1, end - FRAME));
}

/// Four hosts, each behind a separate switch. Three of them send to the first; messages take up to
/// 200 us longer than others, so that pauses of 5.12 us expire.
fn incast(threads: usize) -> (Outcome, Vec<Row>, usize) {
    let mut t = Topology::default();
    let s = t.add_node("S1", NodeKind::Switch, 1, 1);
    let h: Vec<NodeId> =
        (0..4).map(|i| t.add_node(format!("H{i}"), NodeKind::Host, 0, i)).collect();
    for (i, &h) in h.iter().enumerate() {
        let leaf = t.add_node(format!("L{i}"), NodeKind::Switch, 0, i as u32);
        t.add_link(h, leaf, C, Span::from_us(1));
        t.add_link(leaf, s, C, Span::from_us(20));
    }
    let flows = Flows {
        flows: h[1..].iter().map(|&src| flow(src, h[0], 1000, 0)).collect::<Vec<_>>().into(),
        labels: vec!["x".into()],
        ..Flows::default()
    };
    let entry = REGISTRY.iter().find(|e| e.name == "pfc").unwrap();
    let mut m = Model::plain(Bytes(10_000_000), |link: &LinkFacts| {
        (entry.read)(
            &mut Defaults::of(entry.params)
                .with("xoff", "20KB")
                .with("xon", "10KB")
                .with("quanta", "100"),
            link,
        )
    });
    m.control_delay = ControlDelay {
        generation: Delay::default(),
        processing: Delay { constant: Span::ZERO, jitter: Span::from_us(200) },
    };
    m.threads = threads;
    m.probes.pauses = Selection::All;
    m.probes.rate_changes = Selection::All;
    m.probes.rates = Selection::All;
    m.probes.interval = Span::from_us(10);
    let mut w = World::build(&t, flows, &m).unwrap();
    let partitions = w.threads();
    w.record_to(Box::new(Vec::<Row>::new()));
    let ended = w.run(Time::from_us(6000), u64::MAX).unwrap();
    let (o, rows) = w.finish(ended);
    (o, *rows.unwrap().into_any().downcast().unwrap(), partitions)
}

/// A paused port does not send, rows are in the order of time, and no number of threads changes any
/// of it.
#[test]
fn pauses_that_expire_are_the_same_on_any_number_of_threads() {
    let (whole, rows, _) = incast(1);
    let time = |r: &Row| match *r {
        Row::Pause(p) => p.time_ps,
        Row::Rate(r) => r.time_ps,
        _ => 0,
    };
    assert!(rows.is_sorted_by_key(time));
    for (nth, h) in (2..5u32).enumerate() {
        let number = Port(whole.ports[..h as usize].iter().map(|node| node.len() as u32).sum());
        let stops: Vec<(u64, bool)> = rows
            .iter()
            .filter_map(|r| match *r {
                Row::Pause(p) if p.port == number => Some((p.time_ps, p.stopped)),
                _ => None,
            })
            .collect();
        let (p, frames) = (whole.ports[h as usize][0], 1000 * FRAME);
        assert!(
            p.pauses > 5 && stops.len() as u64 == 2 * p.pauses,
            "{} pauses, {} rows",
            p.pauses,
            stops.len()
        );
        assert!(stops.chunks(2).all(|s| s[0].1 && !s[1].1 && s[0].0 <= s[1].0), "{stops:?}");
        assert_eq!(stops.chunks(2).map(|s| s[1].0 - s[0].0).sum::<u64>(), p.paused_ps);
        // Greedy from 0: while it has frames it sends or is paused, and a pause begins within a
        // frame.
        let sent = whole.flows[nth].all_sent.unwrap().0 + FRAME;
        let paused: u64 = stops.chunks(2).map(|s| s[1].0.min(sent).saturating_sub(s[0].0)).sum();
        let idle = sent - frames;
        assert!(
            idle <= paused && paused <= idle + p.pauses * FRAME,
            "H{h}: idle {idle} ps, paused {paused} ps"
        );
    }
    for threads in [2, 3, 4] {
        let (partitions, other, n) = incast(threads);
        assert!(n > 1, "one partition for {threads} threads");
        assert_eq!(partitions.ports, whole.ports, "{threads} threads");
        assert_eq!(other, rows, "{threads} threads");
    }
}
