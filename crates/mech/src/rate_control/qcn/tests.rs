//! The reaction point as traces, with steps computed by hand.

use super::*;
use xoff_units::params::Defaults;

const C: Rate = Rate::from_gbps(10);
const LEN: Bytes = Bytes(1_500);

fn read(given: &[(&str, &str)]) -> Result<Params, ParamError> {
    Params::read(&mut given.iter().fold(Defaults::of(PARAMS), |v, (key, value)| v.with(key, value)))
}

/// T = 10 ms, no jitter, CNMs in force at once.
fn steady() -> Params {
    Params { jitter: false, reaction: Span::ZERO, ..Params::unbiased_qcn_10g() }
}

fn ms(ms: u64) -> Time {
    Time::from_us(ms * 1_000)
}

fn cnm(q: &mut Qcn, at: Time, feedback: u8) -> Vec<(u8, Time)> {
    let mut w = Wakes::default();
    q.on_feedback(at, Feedback::Quantized(feedback), &mut w);
    w.iter().collect()
}

fn wake(q: &mut Qcn, at: Time, which: u8) {
    q.on_wake(at, which, &mut Wakes::default());
}

/// Frames of 1500 B.
fn sends(q: &mut Qcn, frames: u64) {
    (0..frames).for_each(|_| q.on_sent(Time::ZERO, LEN, &mut Wakes::default()));
}

#[test]
fn defaults_are_those_of_the_standard() {
    assert_eq!(read(&[]), Ok(Params::standard()));
}

/// 63/128 = 49.2 % is the most that a CNM takes; 64 does not fit the field. With a larger gain the
/// floor of 50 % holds.
#[test]
fn a_cut_follows_the_feedback() {
    for (feedback, left) in [(1, 9_921_875_000), (32, 7_500_000_000), (63, 5_078_125_000)] {
        let mut q = Qcn::new(&steady(), C, 0);
        cnm(&mut q, Time::ZERO, feedback);
        assert_eq!((q.rate(), q.target(), q.limited()), (Rate(left), C, true), "{feedback}");
    }
    let mut q = Qcn::new(&Params { gd: 6, ..steady() }, C, 0);
    cnm(&mut q, Time::ZERO, 63);
    assert_eq!(q.rate(), C / 2);
    let mut q = Qcn::new(&steady(), C, 0);
    cnm(&mut q, Time::ZERO, 0);
    assert!(!q.limited(), "0 is no feedback");
    (0..20).for_each(|_| _ = cnm(&mut q, Time::ZERO, 63));
    assert_eq!(q.rate(), Rate(5_000_000), "the floor");
    let mut q = Qcn::new(&steady(), C, 0);
    (0..4).for_each(|_| _ = cnm(&mut q, Time::ZERO, 63));
    assert!(
        q.rate() < Rate::from_gbps(1),
        "four full cuts from 10 to 1 Gb/s: log 0.1/log(65/128) = 3.4"
    );
}

/// Five cycles of fast recovery after a cut by half: .75 .875 .9375 .96875 .984375 of the old rate.
/// Then active increase with cycles of half the length.
#[test]
fn five_cycles_of_fast_recovery_by_bytes() {
    let mut q = Qcn::new(&Params { gd: 6, ..steady() }, C, 0);
    cnm(&mut q, Time::ZERO, 32);
    assert_eq!(q.rate(), C / 2);
    for want in [7_500_000_000, 8_750_000_000, 9_375_000_000, 9_687_500_000, 9_843_750_000] {
        let before = q.rate();
        sends(&mut q, 99);
        assert_eq!(q.rate(), before, "149 of 150 KB");
        sends(&mut q, 1);
        assert_eq!((q.rate(), q.target()), (Rate(want), C));
    }
    sends(&mut q, 49);
    assert_eq!(q.byte_stage, 5);
    sends(&mut q, 1);
    assert_eq!(
        (q.target(), q.rate()),
        (Rate(10_005_000_000), Rate(9_924_375_000)),
        "75 KB, R_AI = 5 Mb/s"
    );
}

/// Cycles by time: 10 ms each, then 5 ms. The timer starts with the CNM; a CNM restarts it.
#[test]
fn five_cycles_of_fast_recovery_by_time() {
    let mut q = Qcn::new(&Params { gd: 6, ..steady() }, C, 0);
    assert_eq!(cnm(&mut q, ms(1), 32), [(TIMER, ms(11))]);
    wake(&mut q, ms(10), TIMER);
    assert_eq!(q.rate(), C / 2, "early");
    for (at, want) in [(11, 7_500), (21, 8_750), (31, 9_375), (41, 9_687)] {
        wake(&mut q, ms(at), TIMER);
        assert_eq!((q.rate().0 / 1_000_000, q.target()), (want, C));
    }
    let mut w = Wakes::default();
    q.on_wake(ms(51), TIMER, &mut w);
    assert_eq!(w.iter().collect::<Vec<_>>(), [(TIMER, ms(56))], "half of T from here on");
    wake(&mut q, ms(56), TIMER);
    assert_eq!((q.time_stage, q.target()), (6, Rate(10_005_000_000)));
    assert_eq!(cnm(&mut q, ms(57), 1), [(TIMER, ms(67))]);
    wake(&mut q, ms(61), TIMER);
    assert_eq!(q.time_stage, 0, "the old timer is stale");
}

/// Hyper increase: both counters beyond 5, i = the smaller minus 5. A second cut has set TR to 5
/// Gb/s.
#[test]
fn hyper_increase_grows_with_the_cycles() {
    let mut q = Qcn::new(&Params { gd: 6, ..steady() }, C, 0);
    cnm(&mut q, Time::ZERO, 32);
    sends(&mut q, 100);
    cnm(&mut q, Time::ZERO, 32);
    assert_eq!(
        (q.target(), q.rate()),
        (Rate(7_500_000_000), Rate(3_750_000_000)),
        "TR = CR: a byte cycle was complete"
    );
    let mut at = 0;
    for cycle in 1..=7 {
        at += if cycle <= 5 { 10 } else { 5 };
        wake(&mut q, ms(at), TIMER);
    }
    assert_eq!(q.target(), Rate(7_510_000_000), "two steps of R_AI");
    sends(&mut q, 500);
    assert_eq!(
        (q.byte_stage, q.target()),
        (5, Rate(7_535_000_000)),
        "five more: time alone is beyond 5"
    );
    sends(&mut q, 50);
    assert_eq!(q.target(), Rate(7_585_000_000), "R_HAI x 1");
    sends(&mut q, 50);
    assert_eq!(q.target(), Rate(7_685_000_000), "R_HAI x 2");
    sends(&mut q, 50);
    assert_eq!(q.target(), Rate(7_785_000_000), "R_HAI x 2: seven time cycles");
}

/// TR follows a cut only after a completed byte cycle: two CNMs in a row leave TR where it was, and
/// the byte counter runs on.
#[test]
fn the_target_follows_after_a_byte_cycle() {
    let mut q = Qcn::new(&steady(), C, 0);
    cnm(&mut q, ms(0), 32);
    sends(&mut q, 40);
    wake(&mut q, ms(10), TIMER);
    cnm(&mut q, ms(11), 32);
    assert_eq!((q.target(), q.bytes_left), (C, 90_000), "a time cycle does not count");
    sends(&mut q, 60);
    let rate = q.rate();
    cnm(&mut q, ms(12), 32);
    assert_eq!((q.target(), q.bytes_left, q.byte_stage, q.time_stage), (rate, 150_000, 0, 0));
}

/// Extra fast recovery: in the first cycle, where TR > 10 CR, TR becomes an eighth. 10 Gb/s and 0.7
/// become 1.25 and 0.97.
#[test]
fn extra_fast_recovery_in_the_first_cycle() {
    let mut q = Qcn::new(&steady(), C, 0);
    (0..4).for_each(|_| _ = cnm(&mut q, Time::ZERO, 63));
    let low = q.rate();
    assert_eq!(low, Rate(664_987_602));
    sends(&mut q, 100);
    assert_eq!((q.target(), q.rate()), (C / 8, Rate((664_987_602 + 1_250_000_000) / 2)));
    sends(&mut q, 100);
    assert_eq!(q.target(), C / 8, "in the second cycle TR stays");
    let mut q = Qcn::new(&steady(), C, 0);
    (0..3).for_each(|_| _ = cnm(&mut q, Time::ZERO, 63));
    sends(&mut q, 100);
    assert_eq!(q.target(), C, "10 Gb/s are not ten times 1.3");
}

/// RZ 3880, Fig. 5(d): a limiter at line rate is removed. Active increase carries TR beyond the
/// line, so it gets there.
#[test]
fn the_limiter_is_removed_at_line_rate() {
    let mut q = Qcn::new(&steady(), C, 0);
    cnm(&mut q, ms(0), 1);
    let cycles = (1..100).find(|_| {
        sends(&mut q, 100);
        !q.limited()
    });
    assert!(cycles.is_some_and(|n| n < 15), "{cycles:?}");
    assert_eq!((q.rate(), q.target(), q.timer_due), (C, C, Time::NEVER));
    sends(&mut q, 1_000);
    wake(&mut q, ms(10), TIMER);
    assert_eq!((q.byte_stage, q.time_stage, q.limited()), (0, 0, false));
    cnm(&mut q, ms(20), 32);
    assert_eq!((q.rate(), q.target(), q.bytes_left), (Rate(7_500_000_000), C, 150_000), "as new");
}

/// RZ 3880, Table I: 2.4 us from a CNM to the new rate. Two within that time are in force one after
/// the other.
#[test]
fn a_cut_takes_its_time() {
    let mut q = Qcn::new(&Params { reaction: Span::from_ns(2_400), ..steady() }, C, 0);
    let at = Time::from_ns;
    assert_eq!(cnm(&mut q, at(1_000), 32), [(REACTION, at(3_400))]);
    assert_eq!(cnm(&mut q, at(2_000), 32), [(REACTION, at(4_400))]);
    wake(&mut q, at(3_399), REACTION);
    assert_eq!((q.rate(), q.limited()), (C, false));
    wake(&mut q, at(3_400), REACTION);
    assert_eq!((q.rate(), q.timer_due), (Rate(7_500_000_000), at(10_003_400)));
    wake(&mut q, at(4_400), REACTION);
    assert_eq!((q.rate(), q.timer_due), (Rate(5_625_000_000), at(10_004_400)));
    (0..6).for_each(|_| _ = cnm(&mut q, at(5_000), 1));
    wake(&mut q, at(9_000), REACTION);
    assert_eq!(q.pending.len(), 0, "late, and all at once");
}

/// Cycles are stretched by 0.85 to 1.15, by each flow's own generator.
#[test]
fn cycles_are_jittered() {
    let mut q = Qcn::new(&Params::standard(), C, 1);
    let drawn: Vec<u64> = (0..10_000).map(|_| q.jittered(1_000)).collect();
    assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&850), Some(&1_150)));
    let mean = drawn.iter().sum::<u64>() as f64 / 10_000.0;
    assert!((mean - 1_000.0).abs() < 3.5, "{mean}: four standard errors of 87/100");
    let mut other = Qcn::new(&Params::standard(), C, 2);
    assert_ne!(drawn[..20], (0..20).map(|_| other.jittered(1_000)).collect::<Vec<_>>());
}

#[test]
fn impossible_parameters_are_refused() {
    for (key, value) in [
        ("timer", "0us"),
        ("byte_limit", "0KB"),
        ("min_rate", "0bps"),
        ("fast_recovery", "0"),
        ("gd", "5"),
        ("min_dec_fac", "101"),
    ] {
        let e = read(&[(key, value)]).unwrap_err();
        assert!(e.key == key && !e.hint.is_empty(), "{e}");
    }
}
