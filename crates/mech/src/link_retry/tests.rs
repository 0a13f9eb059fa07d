use std::collections::VecDeque;

use super::*;
use xoff_units::params::Defaults;

const C: Rate = Rate::from_gbps(100);
const MTU: Bytes = Bytes(1000);

fn config(given: &[(&str, &str)]) -> Result<Config, ParamError> {
    let mut values = given.iter().fold(Defaults::of(PARAMS), |v, (key, value)| v.with(key, value));
    Config::read(&mut values)
}

fn params(given: &[(&str, &str)]) -> Params {
    config(given).unwrap().on(C, Span::from_ns(200), MTU).unwrap()
}

/// Fate of a frame or a set on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Good,
    Bad,
    Gone,
}

/// Output of a link.
#[derive(Debug, Default, PartialEq)]
struct Came {
    delivered: Vec<u64>,
    /// Time of the last arrival [ps].
    at: u64,
    sent: u64,
    flushes: u64,
}

fn due<T>(queue: &mut VecDeque<T>, is_due: impl Fn(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(is_due) { queue.pop_front() } else { None }
}

/// A link with both halves, without a simulator: `frames` frames of one length go as fast as they
/// may; one step is a nanosecond.
fn wire(p: Params, frames: u64, until: u64, mut fate: impl FnMut(bool, u64) -> Fate) -> Came {
    let (mut tx, mut rx) = (RetrySender::new(p), RetryReceiver::new(p));
    let (step, each, delay) = (1000, C.time_for(MTU).0, 200_000);
    let mut kept: VecDeque<u64> = VecDeque::new();
    let mut there: VecDeque<(u64, u32, u64, Fate)> = VecDeque::new();
    let mut back: VecDeque<(u64, Signal)> = VecDeque::new();
    let mut control: VecDeque<(u64, Signal)> = VecDeque::new();
    let (mut next, mut free, mut went, mut answered) = (0, 0, 0, 0);
    let mut came = Came::default();
    for now in (0..until).step_by(step) {
        let t = Time(now);
        while let Some((_, number, what, fate)) = due(&mut there, |a| a.0 <= now) {
            match fate {
                Fate::Good if rx.on_frame(number) => {
                    came.delivered.push(what);
                    came.at = now;
                }
                Fate::Bad => rx.on_bad(),
                _ => {}
            }
        }
        while let Some((_, signal)) = due(&mut control, |a| a.0 <= now) {
            if let Some(echo) = rx.on_signal(signal) {
                back.push_back((now + delay, echo));
            }
        }
        if let Some(signal) = rx.due(t) {
            answered += 1;
            if fate(false, answered - 1) == Fate::Good {
                back.push_back((now + delay, signal));
            }
        }
        let mut after = |c: Change, kept: &mut VecDeque<u64>| {
            kept.drain(..c.freed);
            if c.flushed {
                came.flushes += 1;
                kept.clear();
            }
        };
        while let Some((_, signal)) = due(&mut back, |a| a.0 <= now) {
            let c = tx.on_signal(t, signal);
            after(c, &mut kept);
        }
        let (expired, c) = tx.on_wake(t);
        after(c, &mut kept);
        if let Some(init) = tx.handshake().filter(|_| expired || c.flushed) {
            control.push_back((now + delay, init));
        }
        assert_eq!(kept.len() as u64, tx.outstanding());
        if free > now {
            continue;
        }
        let goes = match tx.replay() {
            Some((at, number)) => Some((number, kept[at])),
            None if next < frames && tx.has_room() => {
                kept.push_back(next);
                next += 1;
                tx.on_sent(t, MTU.0 as u32).map(|n| (n, next - 1))
            }
            None => None,
        };
        if let Some((number, what)) = goes {
            free = now + each;
            came.sent += 1;
            went += 1;
            there.push_back((free + delay, number, what, fate(true, went - 1)));
        }
        if came.delivered.len() as u64 == frames && tx.outstanding() == 0 {
            break;
        }
    }
    came
}

fn dice(seed: u64) -> impl FnMut() -> f64 {
    let mut s = seed;
    move || {
        s = s.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = s;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[test]
fn without_errors_every_frame_goes_once() {
    let came = wire(params(&[]), 2000, 1_000_000_000, |_, _| Fate::Good);
    assert_eq!((came.delivered.len(), came.sent, came.at), (2000, 2000, 2000 * 80_000 + 200_000));
}

/// Every pattern of good, bad and vanished among the first ten frames, and of lost answers among
/// the first four: all arrive, once, in order.
#[test]
fn no_pattern_of_losses_loses_repeats_or_reorders() {
    let p = params(&[("frames", "4"), ("replays", "255")]);
    for nack_again in [false, true] {
        let p = Params { nack_again, ..p };
        for pattern in 0..3u64.pow(8) * 16 {
            let (answers, frames) = (pattern % 16, pattern / 16);
            let came = wire(p, 6, 200_000_000, |forward, n| match (forward, n) {
                (true, 0..8) => {
                    [Fate::Good, Fate::Bad, Fate::Gone][(frames / 3u64.pow(n as u32) % 3) as usize]
                }
                (false, 0..4) if answers >> n & 1 == 1 => Fate::Gone,
                _ => Fate::Good,
            });
            assert_eq!(came.delivered, (0..6).collect::<Vec<u64>>(), "{pattern}: {came:?}");
        }
    }
}

/// Thousands of frames under heavy loss, past several wraps of the numbers in the long run.
#[test]
fn random_losses_lose_nothing() {
    for (seed, p) in [(1, 0.01), (2, 0.1), (3, 0.4)] {
        let mut draw = dice(seed);
        let fate = |_, _| match draw() {
            x if x < p / 2.0 => Fate::Bad,
            x if x < p => Fate::Gone,
            _ => Fate::Good,
        };
        let came = wire(params(&[("replays", "255"), ("frames", "40")]), 5000, u64::MAX, fate);
        assert_eq!(came.delivered, (0..5000).collect::<Vec<u64>>());
        assert_eq!(came.flushes, 0);
    }
}

/// A canary: the same without the rule that a frame behind a gap is discarded.
#[test]
fn a_receiver_that_accepts_what_comes_is_found_out() {
    let p = params(&[]);
    let (mut tx, mut rx) = (RetrySender::new(p), RetryReceiver::new(p));
    let numbers: Vec<u32> = (0..3).map(|_| tx.on_sent(Time(0), 1000).unwrap()).collect();
    assert_eq!(numbers.iter().map(|&n| rx.on_frame(n)).collect::<Vec<_>>(), [true, true, true]);
    let mut rx = RetryReceiver::new(p);
    assert_eq!(
        [rx.on_frame(0), rx.on_frame(2), rx.on_frame(1), rx.on_frame(1)],
        [true, false, true, false]
    );
}

/// The trace of a frame that the link corrupts, and of one that vanishes at the end of a burst.
#[test]
fn a_corrupted_frame_is_sent_again_with_all_behind_it() {
    let p = params(&[("frames", "8")]);
    let (mut tx, mut rx) = (RetrySender::new(p), RetryReceiver::new(p));
    let sent: Vec<u32> = (0..5).map(|n| tx.on_sent(Time(n), 1000).unwrap()).collect();
    assert!(rx.on_frame(sent[0]));
    rx.on_bad();
    assert_eq!(rx.due(Time(10)), Some(Signal::Nack(0)), "one Nack, with the last good one");
    assert_eq!([rx.on_frame(sent[2]), rx.on_frame(sent[3])], [false, false]);
    rx.on_bad();
    assert_eq!((rx.due(Time(11)), rx.next_wake()), (None, Time::NEVER), "and no other");
    assert_eq!(tx.on_signal(Time(20), Signal::Nack(0)), Change { freed: 1, flushed: false });
    assert!(!tx.has_room(), "new frames wait behind the replay");
    let again: Vec<(usize, u32)> = std::iter::from_fn(|| tx.replay()).collect();
    assert_eq!(again, [(0, 1), (1, 2), (2, 3), (3, 4)]);
    assert!(again.iter().all(|&(_, n)| rx.on_frame(n)) && tx.has_room());
    assert_eq!(rx.due(Time(30)), Some(Signal::Ack(4)));
    assert_eq!(tx.on_signal(Time(40), Signal::Ack(4)).freed, 4);
    assert_eq!(tx.next_wake(), Time::NEVER);
    // Tail: the last frame vanishes, and only the timer knows.
    let n = tx.on_sent(Time(50), 1000).unwrap();
    assert_eq!(tx.on_wake(Time(49 + p.timer.0)), (false, Change::default()));
    assert_eq!(tx.on_wake(Time(50) + p.timer), (true, Change::default()));
    assert_eq!(tx.replay(), Some((0, n)));
}

#[test]
fn acknowledgements_keep_their_distance() {
    let p = params(&[("ack_spacing", "1250B")]);
    let mut rx = RetryReceiver::new(p);
    assert!(rx.on_frame(0));
    assert_eq!(rx.due(Time(0)), Some(Signal::Ack(0)));
    assert!(rx.on_frame(1) && rx.on_frame(2));
    assert_eq!((rx.due(Time(99_999)), rx.next_wake()), (None, Time(100_000)));
    assert_eq!(rx.due(Time(100_000)), Some(Signal::Ack(2)));
    assert_eq!((rx.due(Time(500_000)), rx.next_wake()), (None, Time::NEVER));
    assert!(!rx.on_frame(1));
    assert_eq!(
        rx.due(Time(500_000)),
        Some(Signal::Ack(2)),
        "what came before is acknowledged again"
    );
}

#[test]
fn a_link_that_makes_no_progress_is_flushed_and_begins_anew() {
    let p = params(&[("replays", "2"), ("timer", "10us")]);
    let (mut tx, mut rx) = (RetrySender::new(p), RetryReceiver::new(p));
    let us = Time::from_us;
    (0..3).for_each(|_| _ = tx.on_sent(us(0), 1000));
    assert_eq!([tx.on_wake(us(10)).1, tx.on_wake(us(20)).1], [Change::default(); 2]);
    assert_eq!(tx.on_wake(us(30)).1, Change { freed: 0, flushed: true });
    assert_eq!((tx.state(), tx.has_room(), tx.outstanding()), (State::Init, false, 0));
    assert_eq!(
        (tx.handshake(), tx.on_wake(us(40)).0),
        (Some(Signal::Init(3)), true),
        "again, until it is answered"
    );
    let echo = rx.on_signal(Signal::Init(3)).unwrap();
    _ = tx.on_signal(us(41), Signal::InitEcho(2));
    assert_eq!(tx.state(), State::Init, "of an earlier handshake");
    _ = tx.on_signal(us(41), echo);
    assert_eq!((tx.state(), tx.next_wake()), (State::Advance, Time::NEVER));
    assert!(rx.on_frame(tx.on_sent(us(42), 1000).unwrap()));
    // Without a handshake frames go without numbers.
    let mut tx = RetrySender::new(Params { re_init: false, replays: Some(1), ..p });
    _ = tx.on_sent(us(0), 1000);
    _ = tx.on_wake(us(10));
    assert!(tx.on_wake(us(20)).1.flushed);
    assert_eq!(
        (tx.state(), tx.has_room(), tx.on_sent(us(21), 1000), tx.next_wake()),
        (State::Flush, true, None, Time::NEVER)
    );
}

/// A correct peer acknowledges only sent frames. An acknowledgement of others is ignored as a
/// whole, or frames would be freed that have not arrived.
#[test]
fn an_acknowledgement_of_what_was_not_sent_frees_nothing() {
    let mut tx = RetrySender::new(params(&[]));
    (0..3).for_each(|_| _ = tx.on_sent(Time(0), 1000));
    for beyond in [3, 4, 1 << 19] {
        assert_eq!(tx.on_signal(Time(1), Signal::Ack(beyond)).freed, 0, "{beyond}");
    }
    assert_eq!(tx.outstanding(), 3);
    assert_eq!(tx.on_signal(Time(1), Signal::Ack(2)).freed, 3);
}

#[test]
fn numbers_wrap() {
    let p = params(&[("frames", "524288"), ("buffer", "1GB")]);
    let (mut tx, mut rx) = (RetrySender::new(p), RetryReceiver::new(p));
    for n in 0..3_000_000u64 {
        let number = tx.on_sent(Time(n), 1000).unwrap();
        assert!(rx.on_frame(number) && u64::from(number) == n % (1 << 20));
        if n % 400_000 == 399_999 {
            assert_eq!(tx.on_signal(Time(n), Signal::Ack(number)).freed, 400_000);
            assert_eq!(
                tx.on_signal(Time(n), Signal::Ack(number)).freed,
                0,
                "an acknowledgement of before"
            );
        }
    }
}

#[test]
fn what_cannot_work_is_refused_and_what_starves_is_named() {
    let refused =
        |given: &[(&str, &str)], key: &str| assert_eq!(config(given).unwrap_err().key, key);
    refused(&[("frames", "0")], "frames");
    refused(&[("frames", "524289")], "frames");
    refused(&[("timer", "0us")], "timer");
    refused(&[("replays", "0")], "replays");
    refused(&[("replays", "256")], "replays");
    assert_eq!(
        config(&[("buffer", "999B")]).unwrap().on(C, Span::from_ns(200), MTU).unwrap_err().key,
        "buffer"
    );
    let unmet = |given: &[(&str, &str)]| -> Vec<String> {
        config(given)
            .unwrap()
            .unmet(C, Span::from_us(1), MTU)
            .into_iter()
            .map(|e| format!("{}: {}", e.key, e.what))
            .collect()
    };
    assert!(unmet(&[]).is_empty(), "{:?}", unmet(&[]));
    assert!(
        unmet(&[("buffer", "10KB")])[0].starts_with("buffer: replay buffer 10 KB < "),
        "{:?}",
        unmet(&[("buffer", "10KB")])
    );
    assert!(unmet(&[("frames", "3")])[0].starts_with("frames: frames 3 < "));
    assert!(unmet(&[("timer", "1us")])[0].starts_with("timer: timer 1 us < "));
}
