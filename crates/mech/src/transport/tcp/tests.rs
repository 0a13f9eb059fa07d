//! A connection over a path with a fixed round trip and no rate: its state after each round trip.

use std::collections::BTreeSet;

use super::*;
use crate::transport::{Acked, Answer, Sink, Source};
use xoff_units::Time;
use xoff_units::params::Defaults;

const MSS: u64 = 1_000;
const RTT: Span = Span::from_us(100);

fn params(given: &[(&str, &str)]) -> Params {
    let mut v = given.iter().fold(Defaults::of(PARAMS), |v, (k, x)| v.with(k, x));
    Params::read(&mut v).unwrap()
}

fn reno(window: u64) -> Params {
    params(&[("congestion_control", "reno"), ("initial_window", &window.to_string())])
}

/// Sender and receiver. The receiver acknowledges every segment.
struct Path {
    source: Connection,
    now: Time,
    acked: u64,
    next: u64,
    size: u64,
    /// Segments that the path loses, by number of the transmission from 1.
    lost: BTreeSet<u64>,
    transmissions: u64,
    /// Data at the receiver.
    arrived: BTreeSet<u64>,
    expected: u64,
    /// Acknowledgements under way, each with the time at which its segment left.
    back: Vec<(u64, Time)>,
}

impl Path {
    fn new(p: Params, segments: u64) -> Path {
        Path {
            source: Connection::new(p, MSS as u32),
            now: Time::ZERO,
            acked: 0,
            next: 0,
            size: segments * MSS,
            lost: BTreeSet::new(),
            transmissions: 0,
            arrived: BTreeSet::new(),
            expected: 0,
            back: Vec::new(),
        }
    }

    fn transmit(&mut self, seq: u64) {
        self.transmissions += 1;
        self.source.on_sent(self.now, seq + MSS);
        if self.lost.contains(&self.transmissions) {
            return;
        }
        self.arrived.insert(seq);
        while self.arrived.contains(&self.expected) {
            self.expected += MSS;
        }
        self.back.push((self.expected, self.now));
    }

    /// All that may go goes.
    fn send(&mut self) {
        if let Some(seq) = self.source.again(self.acked) {
            self.transmit(seq);
        }
        while self.next < self.size
            && self.source.limit(self.acked, u64::MAX).is_none_or(|limit| self.next + MSS <= limit)
        {
            self.next += MSS;
            self.transmit(self.next - MSS);
        }
    }

    /// A round trip: the acknowledgements of all segments in flight arrive, and each allows new
    /// segments.
    fn round(&mut self) {
        self.now += RTT;
        for (until, sent) in std::mem::take(&mut self.back) {
            let ack = Acked {
                before: self.acked,
                until: until.max(self.acked),
                next: self.next,
                rtt: self.now.since(sent),
                ahead: None,
            };
            self.acked = ack.until;
            self.source.on_ack(self.now, &ack);
            self.next = self.next.max(self.acked);
            self.send();
        }
    }

    /// Nothing comes: the timer expires.
    fn wait(&mut self) -> Span {
        assert!(self.back.is_empty());
        let due = self.source.due(self.next - self.acked).unwrap();
        let waited = due.since(self.now);
        self.now = due;
        self.next = self.source.on_timer(self.now, self.acked, self.next);
        assert_eq!(self.next, self.acked);
        self.send();
        waited
    }

    fn in_flight(&self) -> u64 {
        (self.next - self.acked) / MSS
    }
}

/// RFC 6928: ten segments, and no more than 14,600 B of long ones.
#[test]
fn the_initial_window_is_that_of_the_rfc() {
    let window = |mss| params(&[]).first_window(mss);
    assert_eq!(
        [1_000, 1_460, 1_500, 4_096, 9_000].map(window),
        [10_000, 14_600, 14_600, 14_600, 18_000]
    );
}

#[test]
fn slow_start_doubles_with_each_round_trip() {
    for law in ["reno", "cubic"] {
        let mut path =
            Path::new(params(&[("congestion_control", law), ("initial_window", "10")]), 100_000);
        path.send();
        for k in 0..8 {
            assert_eq!(
                (path.in_flight(), path.source.cwnd()),
                (10 << k, (10 << k) * MSS),
                "{law}, round {k}"
            );
            path.round();
        }
    }
}

#[test]
fn beyond_slow_start_a_round_trip_is_one_segment() {
    let mut path = Path::new(reno(8), 10_000);
    path.lost.insert(1);
    path.send();
    path.round(); // seven duplicates: the first segment goes again
    path.round(); // all eight are acknowledged
    let left = path.source.cwnd() / MSS;
    assert_eq!(left, 4, "half of eight");
    // The window fills with segments that were sent in recovery, then grows by one segment per
    // round trip.
    path.round();
    let first = path.source.cwnd() / MSS;
    for k in 0..20 {
        assert_eq!(path.source.cwnd() / MSS, first + k, "round {k}");
        path.round();
    }
}

/// RFC 5681 section 3.2, RFC 3042: the numbers of a single loss among ten.
#[test]
fn three_duplicates_send_the_missing_segment_again() {
    let mut path = Path::new(reno(10), 1_000);
    path.lost.insert(1);
    path.send();
    assert_eq!(path.in_flight(), 10);
    path.now += RTT;
    let acks = std::mem::take(&mut path.back);
    assert_eq!(acks.len(), 9);
    for (n, (until, sent)) in (1..).zip(acks) {
        assert_eq!(until, 0);
        let rtt = path.now.since(sent);
        let ack = Acked { before: 0, until, next: path.next, rtt, ahead: None };
        path.source.on_ack(path.now, &ack);
        match n {
            // Limited transmit.
            1 | 2 => assert_eq!((path.source.cwnd(), path.source.recovers()), (10 * MSS, false)),
            // ssthresh = 10 / 2, cwnd = 5 + 3.
            3 => assert_eq!(
                (path.source.cwnd(), path.source.recovers(), path.source.again(0)),
                (8 * MSS, true, Some(0))
            ),
            n => assert_eq!(path.source.cwnd(), (8 + n - 3) * MSS),
        }
        path.send();
    }
    // 10 at first, 2 by limited transmit, the missing one, and the room that nine duplicates opened
    // beyond the twelve: 14 - 12.
    assert_eq!(path.transmissions, 10 + 2 + 1 + 2);
    path.round();
    assert_eq!((path.source.recovers(), path.source.cwnd()), (false, 5 * MSS));
    assert_eq!(path.acked, 14 * MSS);
}

/// RFC 6582: two losses of one window cost a round trip each and no timeout.
#[test]
fn a_partial_acknowledgement_sends_the_next_missing_segment() {
    let mut path = Path::new(reno(10), 1_000);
    path.lost.extend([2, 5]);
    path.send();
    path.round(); // the second goes again
    assert!(path.source.recovers());
    path.round(); // partial: the fifth goes again
    assert!(path.source.recovers());
    assert_eq!(path.acked, 4 * MSS);
    path.round();
    assert!(!path.source.recovers());
    assert!(path.acked >= 10 * MSS);
    while path.acked < path.size {
        path.round();
    }
    assert_eq!(path.transmissions, 1_000 + 2, "nothing else went again");
}

/// RFC 6298 with a constant round trip R: srtt R, rttvar R/2 (3/4)^k; the least timeout holds; then
/// it doubles.
#[test]
fn the_timer_doubles_until_something_new_is_acknowledged() {
    let mut path = Path::new(reno(4), 8);
    path.lost.extend(1..=7);
    path.send();
    assert_eq!(path.wait(), Span::from_ms(1_000), "no round trip is known");
    assert_eq!(path.in_flight(), 1, "the loss window");
    assert_eq!(path.wait(), Span::from_ms(2_000));
    assert_eq!(path.wait(), Span::from_ms(4_000));
    assert_eq!(path.wait(), Span::from_ms(8_000));
    assert_eq!(path.transmissions, 8);
    path.round();
    assert_eq!((path.acked, path.source.cwnd()), (MSS, 2 * MSS), "slow start");
    path.round();
    // ssthresh is half of the four that were in flight, set once: from two segments on it is
    // congestion avoidance.
    assert_eq!((path.acked, path.source.cwnd()), (3 * MSS, 3 * MSS));
}

#[test]
fn the_timeout_is_that_of_the_measured_round_trips() {
    let p = params(&[("rto_min", "1us"), ("rto_initial", "1s")]);
    let mut rto = rto::Rto::default();
    let due = |rto: &rto::Rto| rto.due(Time::ZERO, &p).since(Time::ZERO).0;
    rto.sample(Span(800));
    assert_eq!(due(&rto), 1_000_000, "the least");
    let p = Params { rto_min: Span(1), ..p };
    let due = |rto: &rto::Rto| rto.due(Time::ZERO, &p).since(Time::ZERO).0;
    assert_eq!(due(&rto), 800 + 4 * 400);
    rto.sample(Span(800));
    assert_eq!(due(&rto), 800 + 4 * 300);
    rto.sample(Span(1_600));
    assert_eq!(due(&rto), 900 + 4 * ((3 * 300 + 800) / 4));
    rto.double();
    rto.double();
    assert_eq!(due(&rto), 4 * (900 + 4 * 425));
}

/// A message whose last segment is lost waits for the timer; the same with another one behind it
/// does not.
#[test]
fn a_lost_tail_waits_for_the_timer() {
    let mut path = Path::new(reno(10), 10);
    path.lost.insert(10);
    path.send();
    path.round();
    assert_eq!((path.acked, path.source.recovers()), (9 * MSS, false));
    assert_eq!(path.wait(), Span::from_ms(200));
    path.round();
    assert_eq!(path.acked, 10 * MSS);
}

/// A window that the application does not fill stays as it is.
#[test]
fn an_idle_window_does_not_grow() {
    let mut path = Path::new(reno(10), 1_000);
    path.size = 2 * MSS;
    for _ in 0..50 {
        path.send();
        path.round();
        path.size += 2 * MSS;
    }
    assert_eq!(path.source.cwnd(), 10 * MSS);
}

#[test]
fn every_second_segment_is_acknowledged_or_after_a_time() {
    let delay = Span::from_ms(40);
    let (us, late) = (Time::from_us, Time::from_us(40_010));
    let mut sink = Sink::default();
    assert_eq!(sink.on_segment(delay, us(10), us(0), true), Answer::Later(Some(late)));
    assert_eq!(
        sink.on_segment(delay, us(20), us(1), true),
        Answer::Now(us(0)),
        "with the time of the first"
    );
    assert_eq!(
        sink.on_segment(delay, us(30), us(2), true),
        Answer::Later(None),
        "the call that is due comes first"
    );
    assert_eq!(sink.on_call(late), Answer::Later(Some(Time::from_us(40_030))));
    assert_eq!(sink.on_call(Time::from_us(40_030)), Answer::Now(us(2)));
    assert!(sink.rests());
    assert_eq!(
        sink.on_segment(delay, us(50_000), us(3), false),
        Answer::Now(us(3)),
        "a gap, or what fills it"
    );
    assert_eq!(
        sink.on_segment(delay, us(50_001), us(4), true),
        Answer::Later(Some(Time::from_us(90_001)))
    );
    assert_eq!(sink.on_segment(delay, us(50_002), us(5), false), Answer::Now(us(4)));
    // Three at once; a call that never came; and one that is too late for a shorter time.
    let mut sink = Sink::default();
    assert_eq!(sink.on_segment(delay, us(10), us(0), true), Answer::Later(Some(late)));
    assert_eq!(sink.on_segment(delay, us(10), us(1), true), Answer::Now(us(0)));
    assert_eq!(
        sink.on_segment(delay, us(10), us(2), true),
        Answer::Later(None),
        "that call is as early"
    );
    assert_eq!(sink.on_segment(delay, us(11), us(3), true), Answer::Now(us(2)));
    assert_eq!(sink.on_segment(delay, us(50_000), us(4), true), Answer::Later(Some(us(90_000))));
    assert_eq!(sink.on_segment(delay, us(50_001), us(5), true), Answer::Now(us(4)));
    let shorter = Span::from_us(5);
    assert_eq!(sink.on_segment(shorter, us(50_002), us(6), true), Answer::Later(Some(us(50_007))));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |given: &[(&str, &str)]| {
        let mut v = given.iter().fold(Defaults::of(PARAMS), |v, (k, x)| v.with(k, x));
        let e = Params::read(&mut v).unwrap_err();
        assert!(!e.hint.is_empty());
        e.key
    };
    assert_eq!(refused(&[("mss", "0B")]), "mss");
    assert_eq!(refused(&[("initial_window", "0")]), "initial_window");
    assert_eq!(refused(&[("delayed_ack", "501ms")]), "delayed_ack");
    assert_eq!(refused(&[("delayed_ack", "300ms")]), "delayed_ack");
    assert_eq!(refused(&[("rto_min", "0us")]), "rto_min");
    assert_eq!(refused(&[("rto_initial", "61s")]), "rto_initial");
}
