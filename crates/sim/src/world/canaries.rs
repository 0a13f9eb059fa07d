//! Canaries: for each check, a run that breaks its promise. Nothing that a scenario can ask for
//! does, so the world is spoilt by hand.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Gate, Law, Message, Occupancy, Receiver, Sender, pfc};
use xoff_net::topology::NodeKind;
use xoff_node::{Call, Env, Frame, FrameId, FrameKind, FrameStore, NodeEvent};
use xoff_units::{Class, NodeId};

use super::*;

const S1: usize = 2;

/// A flow control that lets everything go and counts 30,000 B as its credits.
#[derive(Debug)]
struct Spendthrift;

struct Spent(u64);

impl Law for Spendthrift {
    type Receiver = Box<dyn Receiver + Send + Sync>;
    type Sender = Box<dyn Sender + Send + Sync>;
    fn halves(&self, _link: &LinkFacts) -> (Self::Receiver, Self::Sender) {
        (Box::new(Silent), Box::new(Spent(0)))
    }
    fn message_len(&self) -> Bytes {
        Bytes(64)
    }
}

struct Silent;

impl Receiver for Silent {
    fn on_arrival(&mut self, _now: Time, _fill: &Occupancy, _len: Bytes) -> Option<Message> {
        None
    }
    fn on_departure(&mut self, _now: Time, _fill: &Occupancy, _len: Bytes) -> Option<Message> {
        None
    }
    fn on_wake(&mut self, _now: Time, _fill: &Occupancy) -> Option<Message> {
        None
    }
    fn next_wake(&self) -> Option<Time> {
        None
    }
    fn holds(&self, _fill: &Occupancy, _stuck: Bytes, _len: Bytes) -> bool {
        false
    }
}

impl Sender for Spent {
    fn gate(&self, _now: Time, _len: Bytes) -> Gate {
        Gate::Open
    }
    fn on_sent(&mut self, _now: Time, len: Bytes, _tx: Span) {
        self.0 += len.0;
    }
    fn on_message(&mut self, _now: Time, _message: Message) {}
    fn rate(&self, _now: Time) -> Rate {
        Rate::from_gbps(10)
    }
    fn restart(&mut self, _now: Time) {}
    fn overdrawn(&self) -> bool {
        self.0 > 30_000
    }
}

/// Two hosts send 300 KB; S1 forwards them. Each port is named once, however often the detector
/// runs.
#[test]
fn ports_that_overdraw_their_credits_are_seen() {
    let mut w = world_with(FlowControl::Custom(Arc::new(Spendthrift)), Bytes::from_kb(700));
    let ended = w.run(Time::from_us(10_000), u64::MAX).unwrap();
    let (o, _) = w.finish(ended);
    let words: Vec<&str> = o.violations.iter().map(|v| v.what.as_str()).collect();
    let stated = |from: &str, to: &str| {
        format!("{from} sent more to {to}, priority 3, than its credits allowed")
    };
    assert_eq!(words, [stated("H1", "S1"), stated("H2", "S1"), stated("S1", "H3")]);
    assert!(
        o.violations.iter().all(|v| v.kind == ViolationKind::Credit) && o.violations_total == 3
    );
}

/// H1 and H2 on S1, which leads to H3 by a link of half their rate: frames wait in S1.
fn world() -> World {
    let threshold = pfc::Threshold::Static { xoff: Bytes::from_kb(100), xon: Bytes::from_kb(97) };
    world_with(
        FlowControl::Pfc(pfc::Params { threshold, quanta: None, repeat: Span::ZERO }),
        Bytes::from_kb(300),
    )
}

fn world_with(fc: FlowControl, buffer: Bytes) -> World {
    let mut t = Topology::default();
    let [h1, h2] = ["H1", "H2"].map(|n| t.add_node(n, NodeKind::Host, 0, 0));
    let s1 = t.add_node("S1", NodeKind::Switch, 1, 0);
    let h3 = t.add_node("H3", NodeKind::Host, 0, 0);
    for (host, gbps) in [(h1, 10), (h2, 10), (h3, 5)] {
        t.add_link(host, s1, Rate::from_gbps(gbps), Span::from_us(1));
    }
    let flow = |src| Flow {
        src,
        dst: h3,
        priority: 3,
        size: 300_000,
        start: Time::ZERO,
        rate: None,
        controlled: true,
        src_port: 1,
        dst_port: 1,
        path: None,
        label: 0,
    };
    let flows = Flows {
        flows: vec![flow(h1), flow(h2)].into(),
        labels: vec!["pair".into()],
        ..Flows::default()
    };
    let m = Model::plain(buffer, move |_| Ok(fc.clone()));
    World::build(&t, flows, &m).unwrap()
}

/// Report of the checks for a run that is spoilt after 100 us: kinds and words.
fn broken(spoil: impl FnOnce(&mut Partition)) -> Vec<(ViolationKind, String)> {
    let mut w = world();
    w.run(Time::from_us(100), u64::MAX);
    spoil(&mut w.partitions[0]);
    let ended = w.run(Time::from_us(10_000), u64::MAX).unwrap();
    let (o, _) = w.finish(ended);
    assert_eq!(o.violations.is_empty(), o.violations_total == 0);
    o.violations.into_iter().map(|v| (v.kind, v.what)).collect()
}

fn kinds(of: &[(ViolationKind, String)]) -> Vec<ViolationKind> {
    let mut kinds: Vec<_> = of.iter().map(|v| v.0).collect();
    kinds.dedup();
    kinds
}

#[test]
fn a_world_that_nothing_spoils_keeps_its_promises() {
    assert_eq!(broken(|_| {}), []);
}

/// Two frames of a flow that wait in S1 change places.
#[test]
fn frames_out_of_order_are_seen() {
    let seen = broken(|partition| {
        let frames = &mut partition.core.frames;
        let waiting: Vec<FrameId> = (0..1000)
            .filter(|&id| {
                frames.get(id).is_some_and(|f| f.kind() == FrameKind::Data && f.flow == FlowId(1))
            })
            .collect();
        let (a, b) = (waiting[1], waiting[2]);
        let (seq_a, seq_b) = (frames[a].seq, frames[b].seq);
        (frames[a].seq, frames[b].seq) = (seq_b, seq_a);
    });
    assert_eq!(kinds(&seen), [ViolationKind::Order], "{seen:?}");
    assert!(
        seen[0].1.starts_with("H3 expected byte ")
            && seen[0].1.contains(" of flow 1 from H2, but received byte "),
        "{}",
        seen[0].1
    );
}

#[test]
fn data_frames_that_vanish_or_come_from_nothing_are_seen() {
    let spoils: [fn(&mut Core); 4] = [
        |c| c.monitor.counts.injected += 1,
        |c| c.monitor.counts.injected -= 1,
        |c| c.monitor.counts.delivered += 1,
        |c| _ = c.frames.insert(Frame::new(FrameKind::Data, FlowId(0), Class(0), 1500)),
    ];
    for spoil in spoils {
        let seen = broken(|partition| spoil(&mut partition.core));
        assert_eq!(kinds(&seen), [ViolationKind::Conservation], "{seen:?}");
    }
    // Frames other than data are counted apart.
    assert_eq!(
        broken(|partition| _ =
            partition.core.frames.insert(Frame::new(FrameKind::Ack, FlowId(0), Class(0), 64))),
        []
    );
}

/// An environment that changes the length of a frame while a switch asks for its route: it is
/// admitted with one length and queued with another.
struct Liar<'a> {
    core: &'a mut Core,
    frame: FrameId,
    len: u32,
}

impl Env for Liar<'_> {
    fn now(&self) -> Time {
        self.core.now()
    }
    fn frames(&mut self) -> &mut FrameStore {
        self.core.frames()
    }
    fn transmit(&mut self, at: PortId, frame: FrameId, tx: Span) -> EventKey {
        self.core.transmit(at, frame, tx)
    }
    fn wire_time(&mut self, rate: Rate, len: u32) -> Span {
        self.core.wire_time(rate, len)
    }
    fn has_come(&self, event_key: EventKey) -> bool {
        self.core.has_come(event_key)
    }
    fn records_queues(&self) -> bool {
        Env::records_queues(self.core)
    }
    fn hand_over(&mut self, at: PortId, frame: FrameId) {
        self.core.hand_over(at, frame);
    }
    fn call_at(&mut self, node: NodeId, at: Time, call: Call) {
        self.core.call_at(node, at, call);
    }
    fn route(&mut self, node: NodeId, frame: &Frame) -> Option<u16> {
        let mut other = Frame::new(frame.kind(), frame.flow, frame.class(), self.len);
        other.seq = frame.seq;
        self.core.frames[self.frame] = other;
        self.core.route(node, frame)
    }
    fn draw(&mut self, at: PortId) -> f64 {
        self.core.draw(at)
    }
    fn emit(&mut self, node: NodeId, emit: NodeEvent) {
        self.core.emit(node, emit);
    }
}

/// A switch that accounts for more than it queues, and one that accounts for less.
#[test]
fn accounting_that_differs_from_the_queues_is_seen() {
    for len in [1400, 1600] {
        let mut w = world();
        w.run(Time::from_us(100), u64::MAX);
        let now = w.now;
        let Partition { nodes, core, .. } = &mut w.partitions[0];
        let Node::Switch(s) = &mut nodes[S1] else { panic!("S1 is a switch") };
        let before = (s.held().0, s.queued());
        assert_eq!(before.0, before.1);
        core.monitor.counts.injected += 1;
        let frame = core.frames.insert(Frame::new(FrameKind::Data, FlowId(0), Class(0), 1500));
        core.reach_time(now);
        s.on_frame(0, frame, &mut Liar { core, frame, len });
        assert_eq!((s.held().0, s.queued()), (before.0 + 1500, before.1 + len as u64), "it waits");
        w.audit();
        let (violations, _) = Checks::merged([std::mem::take(&mut w.checks)]);
        assert_eq!(
            violations.iter().map(|v| v.kind).collect::<Vec<_>>(),
            [ViolationKind::Accounting]
        );
        assert!(violations[0].what.starts_with("S1 accounts for "), "{}", violations[0].what);
    }
}

/// Outcome of a run that another world continues after 100 us, from its state, with a spoilt part.
fn continued(spoil: impl FnOnce(&mut World)) -> String {
    let mut w = world();
    w.run(Time::from_us(100), u64::MAX);
    let state = w.save().unwrap();
    let mut other = world();
    other.restore(&state).unwrap();
    spoil(&mut other);
    let ended = other.run(Time::from_us(10_000), u64::MAX).unwrap();
    format!("{:?}", other.finish(ended).0)
}

/// A field that is left out of a checkpoint has the value that it is built with.
#[test]
fn a_field_that_is_not_restored_is_seen() {
    let mut w = world();
    let ended = w.run(Time::from_us(10_000), u64::MAX).unwrap();
    let whole = format!("{:?}", w.finish(ended).0);
    assert_eq!(continued(|_| {}), whole);
    let left_out: [fn(&mut World); 6] = [
        |w| w.partitions[0].core.lines[0].tx_bytes = 0,
        |w| w.partitions[0].core.monitor.counts.frame_hops = 0,
        |w| w.partitions[0].core.monitor.flows.records[0].delivered = 0,
        |w| w.partitions[0].core.events = 0,
        |w| w.partitions[0].core.frames = FrameStore::new(),
        |w| w.partitions[0].nodes[S1] = world().partitions.remove(0).nodes.remove(S1),
    ];
    for (nth, leave_out) in left_out.into_iter().enumerate() {
        // Some of it no run survives: that is seen too.
        let came = std::panic::catch_unwind(|| continued(leave_out));
        assert!(
            !came.is_ok_and(|o| o == whole),
            "field {nth} was left out, and the run is the same"
        );
    }
}

#[test]
fn a_state_of_another_network_or_a_part_of_one_is_refused() {
    let mut w = world();
    w.run(Time::from_us(100), u64::MAX);
    let state = w.save().unwrap();
    for cut in (0..state.len()).step_by(7) {
        assert!(world().restore(&state[..cut]).is_err(), "{cut} bytes");
    }
    assert!(world().restore(&[&state[..], &[0]].concat()).is_err());
    let mut other = world_with(FlowControl::None, Bytes::from_kb(300));
    assert!(other.restore(&state).is_err(), "a state of another flow control");
    let custom = world_with(FlowControl::Custom(Arc::new(Spendthrift)), Bytes::from_kb(700));
    assert_eq!(custom.save().unwrap_err(), "Tx::Custom");
}
