//! Traces of both halves, and properties that always hold.

use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;
use xoff_units::{FlowId, Rate, Span, Time};

use super::super::{FlowReceiver, FlowSender, Gate, Message};
use super::*;

const C: Rate = Rate::from_gbps(10);
const LINK: LinkFacts = LinkFacts::plain(C, Span::from_us(1), Bytes(1500), Bytes(100_000));

fn params(xoff_s: u64, xon_s: u64, queues: u16, slots: u32) -> Params {
    Params {
        xoff_s: Bytes(xoff_s),
        xon_s: Bytes(xon_s),
        queues,
        slots,
        quanta: None,
        repeat: Span::ZERO,
    }
}

/// PAUSE until resumed.
fn pause(queue: u16) -> Order {
    Order::Pause(queue, Pause::STICKY)
}

/// All messages of a decision.
fn all(first: Option<Message>, r: &mut PffcReceiver) -> Vec<Order> {
    let order = |m| if let Message::Flow(o) = m { o } else { panic!("{m:?} is not ours") };
    first.map(order).into_iter().chain(std::iter::from_fn(|| r.more().map(order))).collect()
}

fn arrive(r: &mut PffcReceiver, flow: FlowId, len: u64) -> Vec<Order> {
    let m = r.on_arrival(Time::ZERO, flow, None, Bytes(len));
    all(m, r)
}

fn leave(r: &mut PffcReceiver, flow: FlowId, len: u64) -> Vec<Order> {
    let m = r.on_departure(Time::ZERO, flow, None, Bytes(len));
    all(m, r)
}

fn obey(s: &mut PffcSender, orders: &[Order]) {
    orders.iter().for_each(|&o| s.on_message(Time::ZERO, Message::Flow(o)));
}

/// Frames that leave until none may.
fn drain(s: &mut PffcSender) -> Vec<u32> {
    std::iter::from_fn(|| s.pop(Time::ZERO)).collect()
}

#[test]
fn a_flow_is_paused_above_xoff_s_and_resumed_at_xon_s() {
    let p = params(3000, 1500, 6, 4096);
    let (mut r, slot) = (PffcReceiver::new(&p, C), p.slot(FlowId(7)));
    let queue = slot % 6;
    for _ in 0..3 {
        assert_eq!(arrive(&mut r, FlowId(7), 1000), []);
    }
    assert_eq!(r.held(FlowId(7)), Bytes(3000), "at Xoff_s, not above it");
    assert_eq!(arrive(&mut r, FlowId(7), 1000), [pause(queue), Order::Migrate(slot)]);
    assert_eq!(arrive(&mut r, FlowId(7), 1000), [], "what was on its way");
    for _ in 0..3 {
        assert_eq!(leave(&mut r, FlowId(7), 1000), []);
    }
    assert!(r.holds(Bytes(499)) && !r.holds(Bytes(500)), "2000 B are 500 above Xon_s");
    assert_eq!(leave(&mut r, FlowId(7), 500), [Order::Resume(queue), Order::MigrateBack(slot)]);
    assert_eq!(leave(&mut r, FlowId(7), 1500), []);
    assert!(!r.holds(Bytes::ZERO));
}

#[test]
fn a_shared_pause_queue_goes_on_with_its_last_flow() {
    let p = params(1000, 500, 1, 4096);
    let (mut r, [a, b]) = (PffcReceiver::new(&p, C), [1, 2].map(|f| p.slot(FlowId(f))));
    assert_eq!(arrive(&mut r, FlowId(1), 1500), [pause(0), Order::Migrate(a)]);
    assert_eq!(arrive(&mut r, FlowId(2), 1500), [Order::Migrate(b)], "the queue is paused already");
    assert_eq!(leave(&mut r, FlowId(1), 1500), [], "its frames stand among those of the other");
    assert_eq!(arrive(&mut r, FlowId(1), 1500), [], "nor does it have to be paused again");
    assert_eq!(leave(&mut r, FlowId(2), 1500), []);
    assert!(r.holds(Bytes(999)) && !r.holds(Bytes(1000)));
    assert_eq!(
        leave(&mut r, FlowId(1), 1000),
        [Order::Resume(0), Order::MigrateBack(a), Order::MigrateBack(b)]
    );
}

#[test]
fn flows_in_one_slot_share_their_fate_and_are_counted() {
    let p = params(1000, 500, 6, 1);
    let mut r = PffcReceiver::new(&p, C);
    assert_eq!((arrive(&mut r, FlowId(1), 600), r.collisions()), (vec![], 0));
    assert_eq!(
        (arrive(&mut r, FlowId(2), 600), r.collisions()),
        (vec![pause(0), Order::Migrate(0)], 1)
    );
    let mut s = PffcSender::new(&p, C);
    obey(&mut s, &[pause(0), Order::Migrate(0)]);
    assert_eq!([1, 2, 3].map(|f| s.flow_gate(Time::ZERO, FlowId(f))), [Gate::Blocked; 3]);
    leave(&mut r, FlowId(1), 600);
    leave(&mut r, FlowId(2), 600);
    arrive(&mut r, FlowId(2), 600);
    assert_eq!(r.collisions(), 1, "the slot was empty");
}

/// Two flows of different slots and queues, as most are.
fn two(p: &Params) -> [u32; 2] {
    let apart = |b: &u32| p.slot(FlowId(*b)) % p.queues != p.slot(FlowId(0)) % p.queues;
    [0, (1..).find(apart).unwrap()]
}

fn orders(p: &Params, flow: FlowId) -> (u16, u16) {
    (p.slot(flow) % p.queues, p.slot(flow))
}

#[test]
fn a_paused_flow_waits_apart_and_goes_before_the_default_queue() {
    let p = params(3000, 1500, 6, 4096);
    let [a, b] = two(&p);
    let ((queue, slot), mut s) = (orders(&p, FlowId(a)), PffcSender::new(&p, C));
    s.push(Time::ZERO, 10, FlowId(a), Bytes(1500));
    obey(&mut s, &[pause(queue)]);
    s.push(Time::ZERO, 11, FlowId(a), Bytes(1500)); // between the two messages
    obey(&mut s, &[Order::Migrate(slot)]);
    s.push(Time::ZERO, 12, FlowId(a), Bytes(1500));
    s.push(Time::ZERO, 20, FlowId(b), Bytes(1500));
    assert_eq!([a, b].map(|f| s.flow_gate(Time::ZERO, FlowId(f))), [Gate::Blocked, Gate::Open]);
    assert_eq!(
        drain(&mut s),
        [10, 11, 20],
        "MIGRATE leaves what waits already in the default queue"
    );
    assert_eq!((s.head(Time::ZERO), s.gate(Time::ZERO)), (Some((12, false)), Gate::Blocked));
    s.push(Time::ZERO, 21, FlowId(b), Bytes(1500));
    s.push(Time::ZERO, 13, FlowId(a), Bytes(1500));
    s.push(Time::ZERO, 22, FlowId(b), Bytes(1500));
    obey(&mut s, &[Order::Resume(queue), Order::MigrateBack(slot)]);
    s.push(Time::ZERO, 23, FlowId(b), Bytes(1500));
    s.push(Time::ZERO, 14, FlowId(a), Bytes(1500));
    s.push(Time::ZERO, 24, FlowId(b), Bytes(1500));
    assert_eq!(
        drain(&mut s),
        [12, 13, 21, 22, 23, 14, 24],
        "the pause queue first, later frames in their order"
    );
    assert_eq!((s.head(Time::ZERO), s.queue_of(Time::ZERO, FlowId(a))), (None, None));
}

#[test]
fn a_quick_resume_does_not_overtake_what_was_left_behind() {
    let p = params(3000, 1500, 6, 4096);
    let [a, b] = two(&p);
    let ((queue, slot), mut s) = (orders(&p, FlowId(a)), PffcSender::new(&p, C));
    s.push(Time::ZERO, 20, FlowId(b), Bytes(1500));
    s.push(Time::ZERO, 10, FlowId(a), Bytes(1500));
    obey(&mut s, &[pause(queue), Order::Migrate(slot)]);
    s.push(Time::ZERO, 21, FlowId(b), Bytes(1500));
    s.push(Time::ZERO, 11, FlowId(a), Bytes(1500));
    obey(&mut s, &[Order::Resume(queue)]);
    assert_eq!(
        drain(&mut s),
        [20, 10, 11, 21],
        "once 10 has left, the pause queue has the right of way"
    );
}

#[test]
fn a_second_pause_while_it_drains_stops_the_flow_and_no_other() {
    let p = params(3000, 1500, 6, 4096);
    let [a, b] = two(&p);
    let ((queue, slot), mut s) = (orders(&p, FlowId(a)), PffcSender::new(&p, C));
    obey(&mut s, &[pause(queue), Order::Migrate(slot)]);
    s.push(Time::ZERO, 10, FlowId(a), Bytes(1500));
    s.push(Time::ZERO, 11, FlowId(a), Bytes(1500));
    obey(&mut s, &[Order::Resume(queue), Order::MigrateBack(slot)]);
    s.push(Time::ZERO, 12, FlowId(a), Bytes(1500));
    s.push(Time::ZERO, 20, FlowId(b), Bytes(1500));
    assert_eq!(s.pop(Time::ZERO), Some(10));
    obey(&mut s, &[pause(queue), Order::Migrate(slot)]);
    s.push(Time::ZERO, 13, FlowId(a), Bytes(1500));
    assert_eq!(drain(&mut s), [20]);
    obey(&mut s, &[Order::Resume(queue), Order::MigrateBack(slot)]);
    assert_eq!(drain(&mut s), [11, 12, 13]);
}

/// A pause time of 100 quanta, 5.12 us at 10 Gb/s.
const TIMED: Params = Params {
    xoff_s: Bytes(3000),
    xon_s: Bytes(1500),
    queues: 6,
    slots: 4096,
    quanta: Some(100),
    repeat: Span::ZERO,
};
const LIFE: Span = Span(5_120_000);

/// A receiver that holds a flow, with its messages at half life, and again after another half.
#[test]
fn a_pause_is_repeated_with_its_migrates_at_half_life() {
    let (queue, slot) = orders(&TIMED, FlowId(7));
    let mut r = PffcReceiver::new(&TIMED, C);
    assert_eq!(r.next_wake(), None);
    let at = |now: Time, r: &mut PffcReceiver| {
        let m = r.on_wake(now);
        all(m, r)
    };
    assert_eq!(
        arrive(&mut r, FlowId(7), 4500),
        [Order::Pause(queue, Pause(100)), Order::Migrate(slot)]
    );
    for nth in 1..4 {
        let half = Time::ZERO + LIFE / 2 * nth;
        assert_eq!(r.next_wake(), Some(half));
        assert_eq!(at(Time(half.0 - 1), &mut r), [], "an early wake-up is harmless");
        assert_eq!(at(half, &mut r), [Order::Pause(queue, Pause(100)), Order::Migrate(slot)]);
    }
    assert_eq!(leave(&mut r, FlowId(7), 3000), [Order::Resume(queue), Order::MigrateBack(slot)]);
    assert_eq!(
        (r.next_wake(), at(Time::from_us(100), &mut r)),
        (None, vec![]),
        "a late wake-up is harmless"
    );
}

/// 802.3 Annex 31D: the pause of a queue whose RESUME never comes ends with its time, and its flow
/// goes back when it has drained.
#[test]
fn a_lost_resume_costs_a_pause_time() {
    let [a, b] = two(&TIMED);
    let ((queue, slot), mut s) = (orders(&TIMED, FlowId(a)), PffcSender::new(&TIMED, C));
    let (now, end) = (Time::from_us(1), Time::from_us(1) + LIFE);
    s.on_message(now, Message::Flow(Order::Pause(queue, Pause(100))));
    s.on_message(now, Message::Flow(Order::Migrate(slot)));
    s.push(now, 10, FlowId(a), Bytes(1500));
    assert_eq!(
        (s.gate(now), s.flow_gate(now, FlowId(a)), s.flow_gate(now, FlowId(b))),
        (Gate::Until(end), Gate::Until(end), Gate::Open)
    );
    s.push(now, 20, FlowId(b), Bytes(1500));
    s.push(now, 11, FlowId(a), Bytes(1500));
    assert_eq!([s.pop(now), s.pop(now)], [Some(20), None]);
    // A repeat puts the end off.
    s.on_message(now + LIFE / 2, Message::Flow(Order::Pause(queue, Pause(100))));
    let end = end + LIFE / 2;
    assert_eq!((s.gate(Time(end.0 - 1)), s.gate(end)), (Gate::Until(end), Gate::Open));
    s.push(end, 21, FlowId(b), Bytes(1500));
    s.push(end, 12, FlowId(a), Bytes(1500));
    assert_eq!(s.queue_of(end, FlowId(a)), Some(queue), "its frames wait there");
    assert_eq!(
        [s.pop(end), s.pop(end), s.pop(end), s.pop(end), s.pop(end)],
        [Some(10), Some(11), Some(21), Some(12), None]
    );
    assert_eq!(s.queue_of(end, FlowId(a)), None, "they are gone, and so is the detour");
}

/// MIGRATE or PAUSE is lost: the repeat at half life makes up for it. Until then the flow
/// continues, and no flow is stopped for it.
#[test]
fn a_lost_migrate_or_pause_is_made_up_for_at_half_life() {
    let (queue, slot) = orders(&TIMED, FlowId(7));
    for lost in 0..2 {
        let (mut r, mut s) = (PffcReceiver::new(&TIMED, C), PffcSender::new(&TIMED, C));
        let stated = arrive(&mut r, FlowId(7), 4500);
        obey(&mut s, &[stated[1 - lost]]);
        assert_eq!(s.flow_gate(Time::ZERO, FlowId(7)), Gate::Open, "{:?} alone", stated[1 - lost]);
        s.push(Time::ZERO, 10, FlowId(7), Bytes(1500));
        assert_eq!(s.pop(Time::ZERO), Some(10));
        let half = r.next_wake().unwrap();
        let again = r.on_wake(half);
        all(again, &mut r).into_iter().for_each(|o| s.on_message(half, Message::Flow(o)));
        assert_eq!(s.flow_gate(half, FlowId(7)), Gate::Until(half + LIFE));
        leave(&mut r, FlowId(7), 4500)
            .into_iter()
            .for_each(|o| s.on_message(half, Message::Flow(o)));
        assert_eq!((s.flow_gate(half, FlowId(7)), s.queue_of(half, FlowId(7))), (Gate::Open, None));
    }
    // MIGRATE-BACK is lost: the detour ends with the queue, and a pause for another flow of the
    // queue does not stop this one.
    let mut s = PffcSender::new(&TIMED, C);
    let other = (0..)
        .find(|&f| f != 7 && TIMED.slot(FlowId(f)) % 6 == queue && TIMED.slot(FlowId(f)) != slot)
        .unwrap();
    obey(
        &mut s,
        &[
            pause(queue),
            Order::Migrate(slot),
            Order::Resume(queue),
            pause(queue),
            Order::Migrate(TIMED.slot(FlowId(other))),
        ],
    );
    assert_eq!([7, other].map(|f| s.flow_gate(Time::ZERO, FlowId(f))), [Gate::Open, Gate::Blocked]);
}

/// A MIGRATE that came before its PAUSE, because that was late, or lost and sent again without it,
/// still counts; and the order stays.
#[test]
fn a_migrate_that_overtook_its_pause_counts() {
    let [a, b] = two(&TIMED);
    let (queue, slot) = orders(&TIMED, FlowId(a));
    let (now, end) = (Time::from_us(1), Time::from_us(1) + LIFE);
    let send = |s: &mut PffcSender, now: Time, orders: &[Order]| {
        orders.iter().for_each(|&o| s.on_message(now, Message::Flow(o)))
    };
    let pause = Order::Pause(queue, Pause(100));
    let mut s = PffcSender::new(&TIMED, C);
    send(&mut s, now, &[Order::Migrate(slot)]);
    s.push(now, 10, FlowId(a), Bytes(1500));
    assert_eq!(
        (s.queue_of(now, FlowId(a)), s.flow_gate(now, FlowId(a))),
        (None, Gate::Open),
        "MIGRATE alone stops nothing"
    );
    send(&mut s, now, &[pause]);
    s.push(now, 11, FlowId(a), Bytes(1500));
    s.push(now, 20, FlowId(b), Bytes(1500));
    assert_eq!([a, b].map(|f| s.flow_gate(now, FlowId(f))), [Gate::Until(end), Gate::Open]);
    send(&mut s, now, &[Order::Resume(queue)]);
    assert_eq!(
        [s.pop(now), s.pop(now), s.pop(now)],
        [Some(10), Some(11), Some(20)],
        "what came between the two goes first"
    );
    // Before the first pause, behind one that has ended with its time, behind one that was resumed:
    // each time it counts for one pause.
    for (before, at) in
        [(vec![], now), (vec![pause], end), (vec![pause, Order::Resume(queue)], now)]
    {
        let mut s = PffcSender::new(&TIMED, C);
        send(&mut s, now, &before);
        send(&mut s, at, &[Order::Migrate(slot), pause]);
        assert_eq!(s.flow_gate(at, FlowId(a)), Gate::Until(at + LIFE), "after {before:?}");
        assert_eq!(s.flow_gate(at + LIFE, FlowId(a)), Gate::Open, "after {before:?}");
        send(&mut s, at + LIFE, &[pause]);
        assert_eq!(
            s.flow_gate(at + LIFE, FlowId(a)),
            Gate::Open,
            "its pause has ended: the next one needs a MIGRATE of its own"
        );
    }
    // RESUME and MIGRATE-BACK make it void.
    for void in [Order::Resume(queue), Order::MigrateBack(slot)] {
        let mut s = PffcSender::new(&TIMED, C);
        send(&mut s, now, &[Order::Migrate(slot), void, pause]);
        assert_eq!(s.flow_gate(now, FlowId(a)), Gate::Open, "{void:?}");
    }
}

/// With repetition any message that is lost comes again after the interval: pauses without an end,
/// and resumes.
#[test]
fn messages_of_the_present_state_are_repeated_at_intervals() {
    let p = Params { quanta: None, repeat: Span::from_us(10), ..TIMED };
    let (queue, slot) = orders(&p, FlowId(7));
    let mut r = PffcReceiver::new(&p, C);
    arrive(&mut r, FlowId(7), 4500);
    let wake = |r: &mut PffcReceiver, us| {
        let first = r.on_wake(Time::from_us(us));
        all(first, r)
    };
    assert_eq!(r.next_wake(), Some(Time::from_us(10)));
    for us in [10, 20] {
        assert_eq!(wake(&mut r, us), [Order::Pause(queue, Pause::STICKY), Order::Migrate(slot)]);
    }
    assert_eq!(leave(&mut r, FlowId(7), 4500), [Order::Resume(queue), Order::MigrateBack(slot)]);
    for us in [30, 40] {
        assert_eq!(wake(&mut r, us), [Order::Resume(queue)], "a detour ends without MIGRATE-BACK");
    }
    // The room that is planned for a flow has the loss of one in it.
    let room = |p: &Params| p.flow_bytes_max(&LINK, 1, 1).0;
    assert_eq!(
        room(&p) - room(&Params { repeat: Span::ZERO, ..p.clone() }),
        12_500 + 8 * 64 + 2 * 64
    );
}

/// A source at 10 Gb/s sends frames of 1500 B (1.2 us) over 1 us to a switch that sends nothing on;
/// Xoff_s is 6000 B.
#[test]
fn what_arrives_after_a_pause() {
    let p = params(6000, 3000, 6, 4096);
    let (mut r, mut s) = (PffcReceiver::new(&p, C), PffcSender::new(&p, C));
    let (frame, message) = (C.time_for(Bytes(1500)), C.time_for(Bytes(64)));
    assert_eq!((frame, message), (Span(1_200_000), Span(51_200)));
    // The frames that begin by the time a message takes effect arrive; frames first, then the
    // receiver's messages about them.
    let mut effects: Vec<(Time, Order)> = Vec::new();
    let mut begins = Time::ZERO;
    loop {
        effects
            .extract_if(.., |(at, _)| *at <= begins)
            .for_each(|(at, o)| s.on_message(at, Message::Flow(o)));
        if s.flow_gate(begins, FlowId(7)) == Gate::Blocked {
            break;
        }
        let arrives = begins + frame + LINK.delay;
        for (nth, order) in arrive(&mut r, FlowId(7), 1500).into_iter().enumerate() {
            assert_eq!(arrives, Time::from_us(7), "the fifth frame");
            effects.push((arrives + message * (nth as u64 + 1) + LINK.delay, order));
        }
        begins += frame;
    }
    // PAUSE at 8.0512 us, MIGRATE at 8.1024 us: the frame that began at 7.2 us is the seventh and
    // last.
    assert_eq!((begins, r.held(FlowId(7))), (Time::from_ns(8_400), Bytes(10_500)));
    assert_eq!(
        Params::headroom(&LINK, 1),
        Bytes(5_500 + 1_500 + 256),
        "C tau = 10 Gb/s x (2.4 + 2) us"
    );
    assert!(r.held(FlowId(7)) <= p.flow_bytes_max(&LINK, 1, 1));
}

#[test]
fn defaults_follow_the_link_and_what_cannot_work_is_refused() {
    let read = |link: &LinkFacts, set: &[(&'static str, &'static str)]| {
        let mut v = xoff_units::params::Defaults::of(PARAMS);
        for (key, value) in set {
            v = v.with(key, value);
        }
        Params::read(&mut v, link)
    };
    let default = Params { quanta: Some(65_535), ..params(11_000, 5_500, 6, 4096) };
    assert_eq!(read(&LINK, &[]), Ok(default), "2 C tau and half of it");
    assert_eq!(read(&LINK, &[("pause", "sticky")]), Ok(params(11_000, 5_500, 6, 4096)));
    let least = LinkFacts { buffer: Bytes(11_000 + 7_256), ..LINK };
    assert!(read(&least, &[]).is_ok());
    assert_eq!(
        read(&LinkFacts { buffer: Bytes(least.buffer.0 - 1), ..LINK }, &[]).unwrap_err().key,
        "xoff_s"
    );
    assert_eq!(read(&LINK, &[("xoff_s", "0B")]).unwrap_err().key, "xoff_s");
    assert_eq!(read(&LINK, &[("xon_s", "12KB")]).unwrap_err().key, "xon_s");
    assert_eq!(read(&LINK, &[("queues", "65")]).unwrap_err().key, "queues");
    assert_eq!(read(&LINK, &[("slots", "0")]).unwrap_err().key, "slots");
    assert_eq!(read(&LINK, &[("quanta", "65536")]).unwrap_err().key, "quanta");
}

/// Each other flow that shares the link adds its four messages to the wait, and with repetition a
/// PAUSE and a MIGRATE more.
#[test]
fn room_grows_with_the_messages_of_other_flows() {
    let once = params(6_000, 3_000, 6, 4096);
    let repeated = Params { repeat: Span::from_us(100), ..once };
    for (p, messages) in [(once, 4), (repeated, 6)] {
        let room = |flows| p.flow_bytes_max(&LINK, 1, flows);
        assert_eq!(room(3) - room(1), MESSAGE_LEN * 2 * messages);
        assert_eq!(p.flow_bytes_max(&LINK, 2, 3), room(3) * 2);
    }
}

/// Consecutive numbers meet as arbitrary ones would: of 1000 pairs in 100 slots about 10.
#[test]
fn flows_meet_by_chance_only() {
    let same =
        (0..1000).filter(|i| slot(FlowId(2 * i), 100) == slot(FlowId(2 * i + 1), 100)).count();
    assert!((3..=20).contains(&same), "{same}");
    let used: BTreeSet<u16> = (0..4096).map(|i| slot(FlowId(i), 4096)).collect();
    assert!((2480..=2700).contains(&used.len()), "4096 (1 - 1/e) = 2589: {}", used.len());
}

#[derive(Clone, Debug)]
enum Step {
    Push(u32),
    Pop,
    Order(Order),
    Wait(u64),
}

/// Pauses of 1 to 4 quanta, or until resumed; waits of up to 2 quanta of 51.2 ns.
fn step() -> impl Strategy<Value = Step> {
    let order = (0..4u64, 0..5u64, prop_oneof![1..5u64, Just(u32::MAX as u64)]);
    let order = order
        .prop_map(|(kind, value, quanta)| Order::from_words(quanta << 32 | kind << 16 | value, 0));
    let wait = (0..102_400u64).prop_map(Step::Wait);
    prop_oneof![3 => (0..6u32).prop_map(Step::Push), 3 => Just(Step::Pop), 2 => order.prop_map(Step::Order), 2 => wait]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random frames in any order and at any time, also to slots and queues that do not exist; and
    /// the gate decides which may leave.
    #[test]
    fn the_order_of_a_flow_never_changes(steps in prop::collection::vec(step(), 0..160)) {
        let p = params(1, 0, 2, 4);
        let mut s = PffcSender::new(&p, C);
        let mut now = Time::ZERO;
        let (mut came, mut left) = (vec![Vec::new(); 6], vec![Vec::new(); 6]);
        let mut flow_of = Vec::new();
        let mut take = |handle: u32, flow_of: &[u32]| left[flow_of[handle as usize] as usize].push(handle);
        for step in steps {
            match step {
                Step::Push(flow) => {
                    let handle = flow_of.len() as u32;
                    came[flow as usize].push(handle);
                    flow_of.push(flow);
                    s.push(now, handle, FlowId(flow), Bytes(1500));
                }
                Step::Pop => {
                    let head = s.head(now);
                    prop_assert_eq!(s.gate(now) == Gate::Open, head.is_none_or(|(_, open)| open));
                    if let Gate::Until(at) = s.gate(now) {
                        prop_assert!(at > now && s.gate(Time(at.0 - 1)) == Gate::Until(at) && s.gate(at) == Gate::Open);
                    }
                    let popped = s.pop(now);
                    prop_assert_eq!(popped, head.filter(|(_, open)| *open).map(|(handle, _)| handle));
                    popped.into_iter().for_each(|h| take(h, &flow_of));
                }
                Step::Order(order) => s.on_message(now, Message::Flow(order)),
                Step::Wait(ps) => now += Span(ps),
            }
        }
        let mut waiting = 0;
        s.for_each(&mut |_| waiting += 1);
        for q in 0..2 {
            s.on_message(now, Message::Flow(Order::Resume(q)));
        }
        let rest: Vec<u32> = std::iter::from_fn(|| s.pop(now)).collect();
        prop_assert_eq!(rest.len(), waiting);
        rest.into_iter().for_each(|h| take(h, &flow_of));
        prop_assert_eq!(came, left);
    }
}

/// Two switches in a row behind a source, 64 B a step, with random stops behind the second:
/// `(most held of a flow at each)`. Panics if a flow's frames change their order.
fn two_hops(p: &Params, seed: u64, flows: &[u32]) -> [u64; 2] {
    const LEN: u64 = 1536; // 24 steps of 64 B
    const DELAY: u64 = 20; // steps
    let mut random = seed;
    let mut draw = |n: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
    let (mut r, mut s) = (
        [PffcReceiver::new(p, C), PffcReceiver::new(p, C)],
        [PffcSender::new(p, C), PffcSender::new(p, C)],
    );
    // Frames (flow, number) by handle; by link: arrivals, messages with their effect, when each
    // wire is free.
    let mut frames: Vec<(u32, u64)> = Vec::new();
    let mut made = vec![0u64; flows.len()];
    let (mut seen, mut most) = (made.clone(), [0; 2]);
    let mut arrivals = [VecDeque::new(), VecDeque::new()];
    let mut messages = [VecDeque::new(), VecDeque::new()];
    let (mut wire, mut control) = ([0u64; 2], [0u64; 2]);
    let mut sink: Vec<VecDeque<u32>> = vec![Default::default(); flows.len()];
    let mut stops = vec![false; flows.len()];
    for now in 0..60_000u64 {
        // Behind messages that wait and behind the rest of a frame on the way back.
        let mut transmit =
            |line: &mut VecDeque<(u64, Order)>, hop: usize, orders: Vec<Order>, wait: u64| {
                for o in orders {
                    control[hop] = control[hop].max(now + wait) + 1;
                    line.push_back((control[hop] + DELAY, o));
                }
            };
        for hop in 0..2 {
            while messages[hop].front().is_some_and(|(at, _)| *at <= now) {
                obey(&mut s[hop], &[messages[hop].pop_front().unwrap().1]);
            }
            while arrivals[hop].front().is_some_and(|(at, _)| *at <= now) {
                let (_, handle): (u64, u32) = arrivals[hop].pop_front().unwrap();
                let flow = frames[handle as usize].0 as usize;
                transmit(
                    &mut messages[hop],
                    hop,
                    arrive(&mut r[hop], FlowId(flows[flow]), LEN),
                    draw(24),
                );
                most[hop] = most[hop].max(r[hop].held(FlowId(flows[flow])).0);
                if hop == 0 {
                    s[1].push(Time::ZERO, handle, FlowId(flows[flow]), Bytes(1500));
                } else {
                    assert_eq!(frames[handle as usize].1, seen[flow], "in order");
                    seen[flow] += 1;
                    sink[flow].push_back(handle);
                }
            }
        }
        if wire[0] <= now {
            let first = draw(flows.len() as u64) as usize;
            let open = (0..flows.len())
                .map(|i| (first + i) % flows.len())
                .find(|&i| s[0].flow_gate(Time::ZERO, FlowId(flows[i])) == Gate::Open);
            if let Some(flow) = open {
                wire[0] = now + 24;
                arrivals[0].push_back((now + 24 + DELAY, frames.len() as u32));
                frames.push((flow as u32, made[flow]));
                made[flow] += 1;
            }
        }
        if wire[1] <= now
            && let Some(handle) = s[1].pop(Time::ZERO)
        {
            // Half as fast for a while, so that a queue grows before it.
            wire[1] = now + if now / 5_000 % 2 == 0 { 96 } else { 24 };
            arrivals[1].push_back((now + 24 + DELAY, handle));
            let flow = flows[frames[handle as usize].0 as usize];
            transmit(&mut messages[0], 0, leave(&mut r[0], FlowId(flow), LEN), draw(24));
        }
        for flow in 0..flows.len() {
            if draw(2_000) == 0 {
                stops[flow] = !stops[flow];
            }
            if now % 30 == 0 && !stops[flow] && sink[flow].pop_front().is_some() {
                transmit(&mut messages[1], 1, leave(&mut r[1], FlowId(flows[flow]), LEN), draw(24));
            }
        }
    }
    assert!(seen.iter().all(|n| *n > 10), "every flow gets on: {seen:?}");
    most
}

/// The planned room suffices at both switches; that of the first would not at the second, where
/// MIGRATE has left frames in the default queue of the first.
#[test]
fn nothing_is_lost_with_the_planned_room() {
    let p = params(6_000, 3_000, 6, 4096);
    let flows = [1, 2, 3, 4];
    // Steps of 51.2 ns: 20 of them on the wire.
    let link = LinkFacts::plain(C, Span(20 * 51_200), Bytes(1536), LINK.buffer);
    let room = |hop| p.flow_bytes_max(&link, hop, flows.len() as u64).0;
    let mut most = [0; 2];
    for seed in 0..20 {
        let peak = two_hops(&p, seed, &flows);
        for hop in 0..2 {
            most[hop] = most[hop].max(peak[hop]);
            assert!(
                peak[hop] <= room(hop as u64 + 1),
                "seed {seed}, switch {hop}: {} of {}",
                peak[hop],
                room(hop as u64 + 1)
            );
        }
    }
    assert!(
        most[0] > p.xoff_s.0 && most[1] > room(1),
        "{most:?}: the test reaches what it is about"
    );
}
