//! The NIC as packet traces: at t this goes in, this must come out.

use std::sync::Arc;

use xoff_mech::LinkFacts;
use xoff_mech::detection::Mark;
use xoff_mech::flow_control::{FlowControl, Gate, Message, pfc, pffc};
use xoff_mech::rate_control::{
    Feedback, FlowFacts, Hop, Law, RateControl, RateControlKind, Wakes, dcqcn, hpcc, qcn,
};
use xoff_mech::transport::{Transport, roce};
use xoff_node::{
    Acks, Call, Compat, ControlDelay, Env, EventKey, FlowStart, Frame, FrameId, FrameKind,
    FrameStore, Nic, NicConfig, NodeEvent, Pacing, PausedWith,
};
use xoff_units::{Bytes, Class, FlowId, NodeId, PortId, Rate, Span, Time, WireClock};

const LINE: Rate = Rate::from_gbps(100);
const ME: NodeId = NodeId(0);

/// A world that records what left and when a call is wanted.
#[derive(Default)]
struct World {
    frames: FrameStore,
    now: Time,
    sent: Vec<(u64, FrameKind, u32, u64)>,
    /// The mark that each frame sent reports.
    reports: Vec<Mark>,
    /// The records that each frame sent carries.
    records: Vec<Vec<Hop>>,
    calls: Vec<(Time, Call)>,
    /// Flows whose source was notified a value.
    notified: Vec<u32>,
}

impl Env for World {
    fn now(&self) -> Time {
        self.now
    }
    fn frames(&mut self) -> &mut FrameStore {
        &mut self.frames
    }
    fn transmit(&mut self, _at: PortId, frame: FrameId, tx: Span) -> EventKey {
        self.records.push(self.frames.telemetry(frame).map_or(Vec::new(), |t| t.hops().to_vec()));
        let f = self.frames.remove(frame);
        self.sent.push((self.now.as_ns(), f.kind(), f.flow.0, f.seq));
        self.reports.push(f.reported());
        EventKey { time: self.now + tx, rank: 0 }
    }
    fn wire_time(&mut self, rate: Rate, len: u32) -> Span {
        WireClock::Nanoseconds.time_for(rate, Bytes(len as u64))
    }
    fn has_come(&self, key: EventKey) -> bool {
        key.time <= self.now
    }
    fn records_queues(&self) -> bool {
        false
    }
    fn hand_over(&mut self, _at: PortId, _frame: FrameId) {}
    fn call_at(&mut self, _node: NodeId, at: Time, call: Call) {
        self.calls.push((at, call));
    }
    fn route(&mut self, _node: NodeId, _frame: &Frame) -> Option<u16> {
        Some(0)
    }
    fn draw(&mut self, _at: PortId) -> f64 {
        0.0
    }
    fn emit(&mut self, _node: NodeId, emit: NodeEvent) {
        if let NodeEvent::CongestionNotificationReceived { flow } = emit {
            self.notified.push(flow.0);
        }
    }
}

fn link() -> LinkFacts {
    LinkFacts::plain(LINE, Span::from_us(1), Bytes(1048), Bytes::from_kb(300))
}

/// A NIC with its world.
struct Bench {
    nic: Nic,
    world: World,
}

impl Bench {
    fn new(rate_control: RateControlKind) -> Bench {
        Bench::with(rate_control, |_| {})
    }

    fn with(rate_control: RateControlKind, change: impl FnOnce(&mut NicConfig)) -> Bench {
        let threshold = pfc::Threshold::Dynamic { xon_offset: Bytes(3072) };
        let pfc = pfc::Params { threshold, quanta: None, repeat: Span::ZERO };
        Bench::over(&FlowControl::Pfc(pfc), rate_control, change)
    }

    fn over(
        flow_control: &FlowControl,
        rate_control: RateControlKind,
        change: impl FnOnce(&mut NicConfig),
    ) -> Bench {
        let link = link();
        let mut config = NicConfig {
            clears_flows: false,
            control_delay: ControlDelay::default(),
            classes: 1,
            lossy: Default::default(),
            clock: WireClock::Nanoseconds,
            message_len: None,
            payload_max: 1000,
            header: 48,
            transport: Transport::Roce(roce::Params {
                interval: 1,
                chunk: 4000,
                back_to_zero: false,
                nack_interval: Span::from_us(500),
                timers: None,
            }),
            acks: Acks { len: 60, class: None, paused_with: PausedWith::OwnClass },
            cnp_class: None,
            order: Default::default(),
            order_of_datagrams: Default::default(),
            entropy: None,
            port_choice: Default::default(),
            obeys_priorities: false,
            rate_control,
            window: None,
            window_follows_rate: false,
            rate_bound: true,
            pacing: Pacing::Schedule,
            compat: Compat::HPCC_SIMULATOR,
        };
        change(&mut config);
        Bench {
            nic: Nic::new(ME, flow_control, &link, Arc::new(config)),
            world: World { frames: FrameStore::new(), ..World::default() },
        }
    }

    /// Events of the wire and the timers until `ns`.
    fn until(&mut self, ns: u64) {
        let end = Time::from_ns(ns);
        // A wire that is free comes before a timer of the same time.
        let order = |c: &(Time, Call)| (c.0, !matches!(c.1, Call::WireFree { .. }));
        while let Some(i) = (0..self.world.calls.len()).min_by_key(|&i| order(&self.world.calls[i]))
        {
            let at = self.world.calls[i].0;
            if at > end {
                break;
            }
            self.world.now = at;
            match self.world.calls.remove(i).1 {
                Call::WireFree { port, .. } => self.nic.on_wire_free(port, &mut self.world),
                Call::Wake { port } => self.nic.on_wake(port, &mut self.world),
                Call::FlowTimer { slot, which } => {
                    self.nic.on_flow_timer(slot, which, &mut self.world)
                }
                other => panic!("{other:?}"),
            }
        }
        self.world.now = end;
    }

    fn flow(&mut self, flow: FlowId, size: u64, app_rate: Option<Rate>, window: Option<u64>) {
        let start = FlowStart {
            flow,
            dst: NodeId(1),
            class: Class(0),
            size,
            app_rate,
            rail: 0,
            controlled: true,
            window,
            base_rtt: None,
            queue_pair: None,
        };
        self.nic.start_flow(start, &mut self.world);
    }

    fn receives(&mut self, frame: Frame) {
        let id = self.world.frames.insert(frame);
        self.nic.on_frame(0, id, &mut self.world);
    }

    fn ack(&mut self, kind: FrameKind, flow: FlowId, seq: u64, reports_mark: bool) {
        let mut f = Frame::new(kind, flow, Class(0), 60);
        f.seq = seq;
        f.set_reported(if reports_mark { Mark::Ce } else { Mark::None });
        self.receives(f);
    }

    fn sent(&mut self) -> Vec<(u64, FrameKind, u32, u64)> {
        std::mem::take(&mut self.world.sent)
    }
}

use FrameKind::{Ack, Data, Nack};

/// The HPCC simulator looks at its NIC after data only if it has an acknowledgement to send, and it
/// plans no wake-up while a window-bound flow is past its time (`RdmaHw::ReceiveUdp`,
/// `QbbNetDevice::DequeueAndTransmit`).
#[test]
fn data_without_an_answer_is_no_occasion_to_send() {
    let mut b = Bench::new(RateControlKind::None);
    b.flow(FlowId(0), 5000, None, Some(1000)); // window-bound after one frame
    b.flow(FlowId(1), 5000, Some(Rate::from_gbps(10)), None); // paced: next frame 838 ns later
    b.until(1000);
    assert_eq!(b.sent(), [(0, Data, 0, 0), (83, Data, 1, 0)], "nothing wakes the NIC");
    let mut late = Frame::new(Data, FlowId(7), Class(0), 1048);
    late.seq = 3000;
    b.receives(late); // a gap: reported
    assert_eq!(b.sent(), [(1000, Nack, 7, 0)]);
    b.until(1004);
    assert_eq!(b.sent(), [(1004, Data, 1, 1000)]);
    b.until(2000);
    b.receives(late); // the same gap: nothing to report, so nothing happens
    assert_eq!(b.sent(), []);
    b.ack(Ack, FlowId(0), 0, false);
    assert_eq!(b.sent(), [(2000, Data, 1, 2000)], "any acknowledgement is an occasion");
}

/// A sender that went back and then receives an acknowledgement of everything still sends its
/// repetitions, at its present rate. A pause in this state ends it.
#[test]
fn a_finished_flow_sends_again_what_it_went_back_for() {
    let slow = |b: &mut Bench| {
        b.flow(FlowId(0), 3000, None, None);
        b.until(300);
        b.ack(Ack, FlowId(0), 1000, true); // first news: timers start, a cut follows 4001 ns later
        b.until(5000);
        assert_eq!(b.sent().len(), 3);
        b.ack(Nack, FlowId(0), 1000, false);
        b.ack(Ack, FlowId(0), 3000, false);
    };
    let mut b = Bench::new(RateControlKind::Dcqcn(dcqcn::Params::of(dcqcn::Variant::Hpcc)));
    slow(&mut b);
    b.until(1_000_000);
    // Alpha decayed four times before the cut: 1048 B at 50.78 Gb/s take 165 ns; no timer raises
    // the rate any more.
    assert_eq!(b.sent(), [(5000, Data, 0, 1000), (5165, Data, 0, 2000)]);

    let mut b = Bench::new(RateControlKind::Dcqcn(dcqcn::Params::of(dcqcn::Variant::Hpcc)));
    slow(&mut b);
    b.receives(Frame::control(Message::Pfc(pfc::Pause::STICKY), Class(0), 43));
    b.until(6000);
    b.receives(Frame::control(Message::Pfc(pfc::Pause::RESUME), Class(0), 43));
    b.until(7000);
    assert_eq!(b.sent(), [(5000, Data, 0, 1000)]);
}

/// Hosts as they are by default: round robin over the flows by their start.
fn by_start(timers: Option<roce::Timers>) -> Bench {
    Bench::with(RateControlKind::None, |c| {
        c.compat = Compat::default();
        if let Transport::Roce(p) = &mut c.transport {
            p.timers = timers;
        }
    })
}

fn flows(sent: &[(u64, FrameKind, u32, u64)]) -> Vec<u32> {
    sent.iter().map(|s| s.2).collect()
}

/// Flows that have sent everything take no turns. A Nack brings one back to its place: after the
/// flows that follow the one served last, and before the others.
#[test]
fn a_nack_wakes_a_flow_that_has_sent_everything() {
    let mut b = by_start(None);
    (0..8).for_each(|f| b.flow(FlowId(f), 1000, None, None));
    b.until(10_000);
    assert_eq!(flows(&b.sent()), [0, 1, 2, 3, 4, 5, 6, 7]);
    b.ack(Nack, FlowId(3), 0, false);
    assert_eq!(b.sent(), [(10_000, Data, 3, 0)], "nothing else is to be sent");

    b.until(20_000);
    (8..10).for_each(|f| b.flow(FlowId(f), 3000, None, None));
    b.ack(Nack, FlowId(5), 0, false);
    b.ack(Nack, FlowId(3), 0, false);
    b.until(30_000);
    assert_eq!(flows(&b.sent()), [8, 9, 3, 5, 8, 9, 8, 9]);
}

/// The same by the retransmission timer, of the one flow that was not acknowledged.
#[test]
fn a_timer_wakes_a_flow_that_has_sent_everything() {
    let timer = Span::from_us(50);
    let mut b = by_start(Some(roce::Timers { timer, timer_of_few: timer }));
    (0..8).for_each(|f| b.flow(FlowId(f), 1000, None, None));
    b.until(10_000);
    b.sent();
    (0..8).filter(|&f| f != 3).for_each(|f| b.ack(Ack, FlowId(f), 1000, false));
    b.flow(FlowId(8), 10_000_000, None, None);
    b.until(60_000);
    let again: Vec<_> = b.sent().into_iter().filter(|s| s.2 == 3).collect();
    // Its frame left at 249 ns; the frame on the wire at 50,249 ns ends at 50,255 ns.
    assert_eq!(again, [(50_255, Data, 3, 0)]);
    b.ack(Ack, FlowId(3), 1000, false);
    b.until(200_000);
    assert!(b.sent().iter().all(|s| s.2 == 8));
}

/// Flows that PFFC holds are not asked until they may send. The flow that goes next is the one that
/// a walk over all flows finds, after thousands of messages in any order.
#[test]
fn held_flows_keep_their_turn() {
    const FLOWS: u32 = 40;
    let mut random = 1u64;
    let mut below = |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % n
    };
    for quanta in [None, Some(200)] {
        let pffc = FlowControl::Pffc(pffc::Params {
            xoff_s: Bytes(20_000),
            xon_s: Bytes(10_000),
            queues: 3,
            slots: 16,
            quanta,
            repeat: Span::ZERO,
        });
        let mut b = Bench::over(&pffc, RateControlKind::None, |c| c.compat = Compat::default());
        let mut peer = pffc.halves(&link()).1;
        let half = peer.flows_mut().unwrap();
        (0..FLOWS).for_each(|f| b.flow(FlowId(f), 1 << 40, None, None));
        let (mut last, mut all, mut skipped) = (0, 0, 0);
        for step in 1..4000u64 {
            let pause = pfc::Pause::of(quanta);
            let order = match below(8) {
                0..3 => pffc::Order::Pause(below(3) as u16, pause),
                3 => pffc::Order::Resume(below(3) as u16),
                4..7 => pffc::Order::Migrate(below(16) as u16),
                _ => pffc::Order::MigrateBack(below(16) as u16),
            };
            for (at, _, flow, _) in b.sent() {
                let now = Time::from_ns(at);
                let open = |f: &u32| half.flow_gate(now, FlowId(*f)) == Gate::Open;
                let next = (last + 1..FLOWS).chain(0..=last).find(open);
                assert!(Some(flow) == next || all == 0, "{next:?} for {flow} at {at} ns");
                skipped += u32::from(flow != (last + 1) % FLOWS);
                (last, all) = (flow, all + 1);
            }
            half.on_message(b.world.now, Message::Flow(order));
            b.receives(Frame::control(Message::Flow(order), Class(0), 64));
            b.until(step * 700);
        }
        assert!(all > 10_000 && skipped > 100, "{all} frames, {skipped} of them after a held flow");
    }
}

/// A frame carries its mark to the acknowledgement.
#[test]
fn the_acknowledgement_reports_the_mark() {
    let mut b = Bench::new(RateControlKind::None);
    let mut f = Frame::new(Data, FlowId(7), Class(0), 1048);
    f.add_mark(Mark::Ce);
    b.receives(f);
    b.until(100);
    let mut next = Frame::new(Data, FlowId(7), Class(0), 1048);
    next.seq = 1000;
    b.receives(next);
    assert_eq!(b.sent(), [(0, Ack, 7, 1000), (100, Ack, 7, 2000)]);
    assert_eq!(
        b.world.reports,
        [Mark::Ce, Mark::None],
        "the first frame was marked, the second was not"
    );
}

/// DCQCN with TCD's rule (section 5.2.1): a CNP carries whether it reports UE or CE.
fn with_tcd() -> RateControlKind {
    RateControlKind::Dcqcn(dcqcn::Params {
        tcd: Some(dcqcn::TcdCut::Alpha),
        ..dcqcn::Params::of(dcqcn::Variant::Ns3Rdma)
    })
}

#[test]
fn a_cnp_carries_the_mark_it_reports() {
    let marked = |marks: &[Mark]| {
        let mut b = Bench::new(with_tcd());
        for (i, &mark) in marks.iter().enumerate() {
            let mut f = Frame::new(Data, FlowId(7), Class(0), 1048);
            f.seq = 1000 * i as u64;
            f.add_mark(mark);
            b.receives(f);
            b.until(100 * (i + 1) as u64);
        }
        let cnms = b
            .sent()
            .into_iter()
            .zip(&b.world.reports)
            .filter(|(s, _)| s.1 == FrameKind::CongestionNotification);
        cnms.map(|(s, &mark)| (s.0, mark)).collect::<Vec<_>>()
    };
    // A CNP waits for the acknowledgement before it on the wire: 60 B, 4 ns.
    assert_eq!(marked(&[Mark::None, Mark::Ue, Mark::Ue]), [(104, Mark::Ue)], "one per interval");
    assert_eq!(
        marked(&[Mark::Ue, Mark::Ce, Mark::Ue]),
        [(4, Mark::Ue), (104, Mark::Ce)],
        "CE does not wait for the interval of UE"
    );
}

/// CNPs of a class that nothing pauses leave at once, before acknowledgements that wait; else they
/// wait with them, 60 B being 4 ns here.
#[test]
fn a_cnp_of_its_own_class_is_held_by_nothing() {
    let sent = |cnp_class: Option<Class>| {
        let mut b = Bench::with(with_tcd(), |c| c.cnp_class = cnp_class);
        b.receives(Frame::control(Message::Pfc(pfc::Pause::STICKY), Class(0), 43));
        b.until(100);
        let mut f = Frame::new(Data, FlowId(7), Class(0), 1048);
        f.add_mark(Mark::Ce);
        b.receives(f);
        b.until(200);
        b.receives(Frame::control(Message::Pfc(pfc::Pause::RESUME), Class(0), 43));
        b.until(300);
        b.sent()
    };
    let cnp = FrameKind::CongestionNotification;
    assert_eq!(sent(None), [(200, Ack, 7, 1000), (204, cnp, 7, 0)]);
    assert_eq!(sent(Some(Class(1))), [(100, cnp, 7, 0), (200, Ack, 7, 1000)]);
}

/// A CNP waits for the frame on the wire alone: 1048 B take 83 ns.
#[test]
fn a_cnp_of_its_own_class_goes_before_data_and_acknowledgements() {
    let mut b = Bench::with(with_tcd(), |c| c.cnp_class = Some(Class(1)));
    b.flow(FlowId(0), 3000, None, None);
    b.until(10);
    let mut f = Frame::new(Data, FlowId(7), Class(0), 1048);
    f.add_mark(Mark::Ce);
    b.receives(f);
    b.until(300);
    let cnp = FrameKind::CongestionNotification;
    assert_eq!(
        b.sent(),
        [
            (0, Data, 0, 0),
            (83, cnp, 7, 0),
            (88, Ack, 7, 1000),
            (92, Data, 0, 1000),
            (175, Data, 0, 2000)
        ]
    );
}

/// "Senders do not update the sending rate when receiving a CNP marked with UE" (section 5.2.1).
#[test]
fn only_ce_lowers_the_rate() {
    let rate_after = |mark: Mark| {
        let mut b = Bench::new(with_tcd());
        b.flow(FlowId(0), 1_000_000, None, None);
        b.until(1000);
        let mut cnp = Frame::new(FrameKind::CongestionNotification, FlowId(0), Class(0), 64);
        cnp.set_reported(mark);
        b.receives(cnp);
        let mut rates = Vec::new();
        b.nic.flow_rates(|_, rate| rates.push(rate));
        rates
    };
    assert_eq!(rate_after(Mark::Ue), [LINE]);
    assert!(rate_after(Mark::Ce)[0] < LINE);
}

/// A frame's mark rises and never falls: "UE can only be marked when the current code point is not
/// CE" (section 4.1). A CNM with value 63 cuts to 65/128 at once, here without a reaction time; a
/// CNP of a receiver, whose value is 0, and a CNM of a flow that is not there do nothing.
#[test]
fn a_value_reaches_the_rate_control() {
    let p = qcn::Params { reaction: Span::ZERO, jitter: false, ..qcn::Params::standard() };
    let mut b = Bench::new(RateControlKind::Qcn(p));
    b.flow(FlowId(3), 1_000_000, None, None);
    let rates = |b: &Bench| {
        let mut rates = Vec::new();
        b.nic.flow_rates(|flow, rate| rates.push((flow, rate)));
        rates
    };
    let mut report = Frame::new(FrameKind::CongestionNotification, FlowId(3), Class(1), 64);
    report.set_reported(Mark::Ce);
    b.receives(report);
    b.receives(Frame::cnm(FlowId(4), Class(1), 64, 63));
    assert_eq!((rates(&b), b.world.notified.len()), (vec![(FlowId(3), LINE)], 0));
    let cnm = Frame::cnm(FlowId(3), Class(1), 64, 63);
    assert_eq!(
        (cnm.kind(), cnm.value(), report.value(), cnm.len()),
        (FrameKind::CongestionNotification, 63, 0, 64)
    );
    b.receives(cnm);
    assert_eq!((rates(&b), &b.world.notified[..]), (vec![(FlowId(3), LINE * 65 / 128)], &[3][..]));
}

#[test]
fn a_mark_is_never_weakened() {
    let mut f = Frame::new(Data, FlowId(0), Class(0), 1000);
    let marks = [Mark::Ue, Mark::Ce, Mark::Ue].map(|m| {
        f.add_mark(m);
        f.mark()
    });
    assert_eq!(marks, [Mark::Ue, Mark::Ce, Mark::Ce]);
    assert_eq!(
        (f.kind(), f.class(), f.len(), f.reported(), f.ends_flow()),
        (Data, Class(0), 1000, Mark::None, false)
    );
}

/// HPCC (SIGCOMM'19, section 3.1): "the receiver copies all the meta-data recorded by the switches
/// to the ACK".
#[test]
fn the_acknowledgement_carries_the_records() {
    let mut b = Bench::new(RateControlKind::Hpcc(hpcc::Params::default()));
    let hop =
        |ns: u64| Hop { at: Time::from_ns(ns), tx_bytes: 5000 * ns, queue: Bytes(ns), rate: LINE };
    let id = b.world.frames.insert(Frame::new(Data, FlowId(7), Class(0), 1048));
    for ns in [10, 20] {
        b.world.frames.telemetry_mut(id).push(hop(ns));
    }
    b.nic.on_frame(0, id, &mut b.world);
    b.until(100);
    // A frame of its own begins without records, although the handle has been used before.
    b.flow(FlowId(0), 1000, None, None);
    assert_eq!(b.sent(), [(0, Ack, 7, 1000), (100, Data, 0, 0)]);
    assert_eq!(b.world.records, [vec![hop(10), hop(20)], vec![]]);
}

/// Sets the rate that the acknowledgement of so many kilobytes names in Gb/s, and reports that; 0:
/// sets nothing.
#[derive(Debug)]
struct Notified(Rate);

impl RateControl for Notified {
    fn rate(&self) -> Rate {
        self.0
    }
    fn on_sent(&mut self, _now: Time, _len: Bytes, _wakes: &mut Wakes) {}
    fn on_feedback(&mut self, _now: Time, feedback: Feedback<'_>, wakes: &mut Wakes) {
        if let Feedback::Ack(ack) = feedback
            && ack.acked > 0
        {
            self.0 = Rate::from_gbps(ack.acked / 1000);
            wakes.move_next_frame();
        }
    }
    fn on_wake(&mut self, _now: Time, _which: u8, _wakes: &mut Wakes) {}
}

/// Flows that begin at 10 Gb/s.
#[derive(Debug)]
struct NotifiedKind;

impl Law for NotifiedKind {
    type ReactionPoint = Box<dyn RateControl + Send>;
    fn reaction_point(&self, _flow: &FlowFacts) -> Self::ReactionPoint {
        Box::new(Notified(Rate::from_gbps(10)))
    }
    fn wants_acks(&self) -> bool {
        true
    }
}

/// 1048 B take 838 ns at 10 Gb/s and 419 ns at 20 (`RdmaHw::ChangeRate`: the next frame moves by
/// the difference). The wake-up that was pending is cancelled: at its time it does nothing,
/// although another one has been asked for that very time.
#[test]
fn a_rate_that_is_set_moves_the_frame_that_waits() {
    let mut b = Bench::new(RateControlKind::Custom(Arc::new(NotifiedKind)));
    b.flow(FlowId(0), 100_000, None, None);
    b.until(200);
    b.ack(Ack, FlowId(0), 20_000, false);
    b.until(500); // the wire is still busy
    assert_eq!(b.sent(), [(0, Data, 0, 0), (419, Data, 0, 1000)]);
    b.until(502); // and free now: the next frame, too, is due at 838
    let woken = |b: &mut Bench| {
        b.world.now = Time::from_ns(838);
        b.nic.on_wake(0, &mut b.world);
        b.sent()
    };
    assert_eq!((woken(&mut b), woken(&mut b)), (vec![], vec![(838, Data, 0, 2000)]));
}

/// An acknowledgement that sets no rate leaves the wake-up alone. One that makes a frame overdue
/// requests a wake-up at once, be the frame one of a flow that is over
/// (`QbbNetDevice::UpdateNextAvail`).
#[test]
fn only_a_rate_that_is_set_replaces_a_wake_up() {
    let mut b = Bench::new(RateControlKind::Custom(Arc::new(NotifiedKind)));
    b.flow(FlowId(0), 100_000, None, Some(1000)); // window-bound, so that the acknowledgement itself sends nothing
    b.flow(FlowId(1), 100_000, None, None);
    b.until(300);
    assert_eq!(b.sent(), [(0, Data, 0, 0), (83, Data, 1, 0)]);
    b.ack(Ack, FlowId(1), 0, false);
    assert_eq!(b.world.calls, [(Time::from_ns(838), Call::Wake { port: 0 })]);
    b.ack(Ack, FlowId(1), 100_000, false); // over, and at 100 Gb/s: it was due at 166
    assert_eq!(b.world.calls[1], (Time::from_ns(300), Call::Wake { port: 0 }));
}

/// `L2_ACK_INTERVAL 0` there: every frame is acknowledged, and its source does not care
/// (`RdmaHw::ReceiveAck`).
#[test]
fn acknowledgements_that_nothing_uses() {
    let ignore = |c: &mut NicConfig| {
        if let Transport::Roce(p) = &mut c.transport {
            p.interval = 0;
        }
    };
    let mut b = Bench::with(RateControlKind::None, ignore);
    b.flow(FlowId(0), 2000, None, Some(1000));
    b.until(100);
    b.ack(Ack, FlowId(0), 1000, false);
    b.until(200);
    assert_eq!(b.sent(), [(0, Data, 0, 0)], "the window stays shut");
    b.ack(Nack, FlowId(0), 1000, false);
    assert_eq!(b.sent(), [(200, Data, 0, 0)], "back to the first byte");
    b.until(300);
    b.receives(Frame::new(Data, FlowId(7), Class(0), 1048));
    assert_eq!(b.sent(), [(300, Ack, 7, 1000)]);
}
