//! Traces of both halves.

use std::collections::VecDeque;

use xoff_units::params::Defaults;
use xoff_units::{FlowId, Rate, Time};

use super::super::law::Signal;
use super::super::{FlowReceiver, FlowSender, Gate, Message};
use super::*;

const C: Rate = Rate::from_gbps(10);
const LINK: LinkFacts = LinkFacts::plain(C, Span::from_us(1), Bytes(1500), Bytes(100_000));
const MTU: Bytes = Bytes(1500);

fn params(queues: u16) -> Params {
    Params { queues, vfids: 16_384, period: Span::from_us(2), resumes: 2 }
}

fn state(bytes: u64, active: u32) -> Option<QueueState> {
    Some(QueueState { bytes: Bytes(bytes), rate: C, active })
}

/// Messages of a frame on the wire.
fn filter_of(r: &mut BfcReceiver, now: Time) -> Vec<Message> {
    let first = r.on_wake(now);
    first.into_iter().chain(std::iter::from_fn(|| r.more())).collect()
}

/// HRTT = 2 x 1 us + 1.2 us + 146 B at 10 Gb/s = 3.3168 us; with tau = 2 us: 6646 B for one queue,
/// a third of it for three.
#[test]
fn the_threshold_is_what_a_queue_sends_in_a_round_trip() {
    let of = |active| params(8).threshold(&LINK, &state(0, active).unwrap());
    assert_eq!(hrtt(&LINK), Span(3_316_800));
    assert_eq!([of(1), of(3), of(0)], [Bytes(6646), Bytes(2215), Bytes(6646)]);
}

#[test]
fn a_flow_is_paused_above_its_threshold_and_resumed_at_it() {
    let (p, at) = (params(8), Time::from_us);
    let (mut r, mut s) = (BfcReceiver::new(&p, &LINK), BfcSender::new(&p, &LINK));
    r.on_arrival(at(1), FlowId(7), state(5146, 1), MTU);
    assert_eq!(r.next_wake(), None, "6646 B: at Th, not above it");
    r.on_arrival(at(1), FlowId(7), state(5147, 1), MTU);
    assert_eq!(r.next_wake(), Some(at(2)), "at the next multiple of tau");
    filter_of(&mut r, at(2)).into_iter().for_each(|m| s.on_message(at(3), m));
    assert_eq!([7, 8].map(|f| s.flow_gate(at(3), FlowId(f))), [Gate::Blocked, Gate::Open]);
    r.on_departure(at(3), FlowId(7), state(6647, 1), MTU);
    assert!(r.holds(Bytes::ZERO));
    r.on_departure(at(3), FlowId(7), state(6646, 1), MTU);
    assert!(!r.holds(Bytes::ZERO));
    let last = filter_of(&mut r, at(4));
    assert_eq!((&last[..], r.next_wake()), (&[Message::Filter(FilterPart::End(2, 0))][..], None));
    last.into_iter().for_each(|m| s.on_message(at(5), m));
    assert_eq!(s.flow_gate(at(5), FlowId(7)), Gate::Open);
}

#[test]
fn a_period_resumes_two_flows_at_most() {
    let (p, at) = (params(8), Time::from_us);
    let mut r = BfcReceiver::new(&p, &LINK);
    (0..5).for_each(|f| _ = r.on_arrival(at(1), FlowId(f), state(9000, 1), MTU));
    (0..5).for_each(|f| _ = r.on_departure(at(1), FlowId(f), state(0, 1), MTU));
    let paused = [2, 4, 6].map(|t| filter_of(&mut r, at(t)).pop());
    assert_eq!(
        paused,
        [(1, 3), (2, 1), (3, 0)].map(|(n, left)| Some(Message::Filter(FilterPart::End(n, left))))
    );
}

#[test]
fn flows_get_empty_queues_keep_them_and_take_turns() {
    let (p, now) = (params(2), Time::from_us(1));
    let mut s = BfcSender::new(&p, &LINK);
    [(10, 1), (11, 1), (20, 2), (21, 2)]
        .into_iter()
        .for_each(|(handle, flow)| s.push(now, handle, FlowId(flow), MTU));
    assert_eq!([1, 2].map(|f| s.queue_of(now, FlowId(f))), [0, 1]);
    assert_eq!(
        s.queue(now, FlowId(1)),
        Some(QueueState { bytes: Bytes(3000), rate: C, active: 2 })
    );
    assert_eq!(std::iter::from_fn(|| s.pop(now)).collect::<Vec<_>>(), [20, 10, 21, 11]);
    let late = now + hrtt(&LINK) + hrtt(&LINK);
    assert_eq!(
        (s.queue_of(Time(late.0 - 1), FlowId(2)), s.queue_of(late, FlowId(2))),
        (1, 0),
        "kept for two round trips"
    );
}

/// A flow at line rate into an egress of a tenth of it: its queue never holds more than Th plus the
/// bytes that C sends in HRTT + tau.
#[test]
fn a_queue_holds_its_threshold_and_one_round_trip_at_most() {
    let p = params(8);
    let mu = Rate::from_gbps(1);
    let (slow, mut r) = (LinkFacts { rate: mu, ..LINK }, BfcReceiver::new(&p, &LINK));
    let (mut up, mut egress) = (BfcSender::new(&p, &LINK), BfcSender::new(&p, &slow));
    let step = C.time_for(MTU); // of the clock: a frame at line rate
    let mut arrivals: VecDeque<Time> = VecDeque::new();
    let mut filters: VecDeque<(Time, Message)> = VecDeque::new();
    let (mut highest, mut sent, mut pauses) = (Bytes::ZERO, 0, 0);
    for n in 0..5_000u64 {
        let now = Time(step.0 * n);
        while filters.front().is_some_and(|f| f.0 <= now) {
            up.on_message(now, filters.pop_front().unwrap().1);
        }
        if r.next_wake().is_some_and(|at| at <= now) {
            let arrives = now + LINK.delay + C.time_for(FRAME_LEN);
            filters.extend(filter_of(&mut r, now).into_iter().map(|m| (arrives, m)));
            pauses += 1;
        }
        if arrivals.front().is_some_and(|&at| at <= now) {
            arrivals.pop_front();
            r.on_arrival(now, FlowId(7), egress.queue(now, FlowId(7)), MTU);
            egress.push(now, n as u32, FlowId(7), MTU);
        }
        highest = highest.max(egress.queue(now, FlowId(7)).unwrap().bytes);
        if n % 10 == 0 && egress.pop(now).is_some() {
            sent += 1;
            r.on_departure(now, FlowId(7), egress.queue(now, FlowId(7)), MTU);
        }
        if up.flow_gate(now, FlowId(7)) == Gate::Open {
            arrivals.push_back(now + step + LINK.delay);
        }
    }
    let threshold = p.threshold(&LINK, &QueueState { bytes: Bytes::ZERO, rate: mu, active: 1 });
    // Two steps of the clock: filters leave and take effect on its ticks here.
    let bound = threshold + C.bytes_in(hrtt(&LINK) + p.period) + MTU + MTU;
    assert!(threshold < highest && highest <= bound, "{threshold} < {highest} <= {bound}");
    assert!(pauses > 100 && sent > 450, "{pauses} filters, {sent} of 500 frames");
}

#[test]
fn parts_survive_their_packing() {
    for part in [
        FilterPart::Word(u32::MAX, 15, u64::MAX),
        FilterPart::Word(0, 0, 1),
        FilterPart::End(3, 16_384),
    ] {
        let (a, b) = part.to_words();
        assert_eq!(FilterPart::from_words(a, b), part);
    }
    assert!(FilterPart::Word(1, 1, 1).is_part() && !FilterPart::End(1, 0).is_part());
}

/// The words of the second filter come while the closing message of the first still waits for the
/// wire.
#[test]
fn a_filter_that_overtakes_another_ends_neither() {
    let (p, at) = (params(8), Time::from_us);
    let (mut r, mut s) = (BfcReceiver::new(&p, &LINK), BfcSender::new(&p, &LINK));
    r.on_arrival(at(1), FlowId(7), state(9000, 1), MTU);
    let mut first = filter_of(&mut r, at(2));
    r.on_arrival(at(3), FlowId(8), state(9000, 1), MTU);
    let mut second = filter_of(&mut r, at(4));
    let ends = [first.pop().unwrap(), second.pop().unwrap()];
    first.into_iter().chain(second).for_each(|m| s.on_message(at(4), m));
    let mut after = |m| {
        s.on_message(at(5), m);
        [7, 8].map(|f| s.flow_gate(at(5), FlowId(f)))
    };
    assert_eq!(ends.map(&mut after), [[Gate::Blocked, Gate::Open], [Gate::Blocked, Gate::Blocked]]);
}

/// Drained before flow 1, congested again, drained after it: flow 1 is resumed first.
#[test]
fn a_flow_that_is_congested_again_waits_behind_those_that_have_drained() {
    let (p, at) = (Params { resumes: 1, ..params(8) }, Time::from_us);
    let mut r = BfcReceiver::new(&p, &LINK);
    (0..2).for_each(|f| {
        _ = (0..2).map(|_| r.on_arrival(at(1), FlowId(f), state(9000, 1), MTU)).count()
    });
    r.on_departure(at(1), FlowId(0), state(0, 1), MTU);
    r.on_departure(at(1), FlowId(1), state(0, 1), MTU);
    r.on_arrival(at(1), FlowId(0), state(9000, 1), MTU);
    r.on_departure(at(1), FlowId(0), state(0, 1), MTU);
    let mut s = BfcSender::new(&p, &LINK);
    filter_of(&mut r, at(2)).into_iter().for_each(|m| s.on_message(at(2), m));
    assert_eq!([0, 1].map(|f| s.flow_gate(at(2), FlowId(f))), [Gate::Blocked, Gate::Open]);
}

/// Filters of all priorities fit into a period; where half of HRTT is shorter than they are, they
/// are the period.
#[test]
fn a_period_is_at_least_as_long_as_its_filters() {
    let read = |period: Option<&'static str>, link: &LinkFacts| {
        let given = Defaults::of(PARAMS);
        let mut values = if let Some(p) = period { given.with("period", p) } else { given };
        Params::read(&mut values, link)
    };
    // 146 B at 100 Gb/s are 11.68 ns.
    let fast = LinkFacts { rate: Rate::from_gbps(100), delay: Span::ZERO, mtu: Bytes(64), ..LINK };
    let eight = LinkFacts { control_ahead: 7, ..fast };
    assert_eq!(read(None, &fast).unwrap().period, Span(11_680));
    assert_eq!(read(None, &eight).unwrap().period, Span(8 * 11_680));
    assert_eq!(read(Some("11680ps"), &fast).unwrap().period, Span(11_680));
    for (period, link) in [("11679ps", &fast), ("93ns", &eight), ("0us", &fast)] {
        assert_eq!(read(Some(period), link).unwrap_err().key, "period", "{period}");
    }
}

/// 2 C (HRTT + tau) + 2 MTU, to the byte.
#[test]
fn a_buffer_below_what_one_flow_needs_is_named() {
    let p = params(8);
    let need = C.bytes_in(hrtt(&LINK) + p.period) * 2 + MTU + MTU;
    assert!(p.unmet(&LinkFacts { buffer: need, ..LINK }).is_empty());
    let unmet = p.unmet(&LinkFacts { buffer: need - Bytes(1), ..LINK });
    assert!(unmet[0].what.contains(&format!("is less than {need}")), "{unmet:?}");
}
