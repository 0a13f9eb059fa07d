//! The congestion point as traces, with steps computed by hand.

use super::*;
use xoff_units::params::Defaults;
use xoff_units::{FlowId, Span};

const C: Rate = Rate::from_gbps(10);
const LEN: Bytes = Bytes(1_500);
const BUFFER: Bytes = Bytes(150_000);

fn no_draw() -> f64 {
    panic!("no draw")
}

fn read(given: &[(&str, &str)]) -> Result<Params, ParamError> {
    Params::read(&mut given.iter().fold(Defaults::of(PARAMS), |v, (key, value)| v.with(key, value)))
}

/// Table I without jitter.
fn steady(given: &[(&str, &str)]) -> Params {
    read(&[&[("setpoint", "60KB"), ("jitter", "false")], given].concat()).unwrap()
}

/// Frames of 1500 B until a sample is taken, at this queue: how many, and its feedback.
fn until_sample(cp: &mut Sampler, queue: u64) -> (u64, Option<Congestion>) {
    for n in 1.. {
        let due = cp.left <= LEN.0;
        let stated = cp.on_arrival(Time::ZERO, LEN, Bytes(queue), &mut no_draw);
        if due {
            return (n, stated);
        }
        assert_eq!(stated, None, "no sample, no news");
    }
    unreachable!()
}

/// RZ 3880, Table I: the range is (2 x 2 + 1) x 60 KB = 300 KB in 63 steps of 4761.9 B. Nothing
/// below a step, 63 at 300 KB.
#[test]
fn feedback_is_quantised_to_six_bits() {
    let range = Params::unbiased_qcn(Placement::Output, Sampling::Arrival).feedback_range();
    assert_eq!(range, Bytes::from_kb(300));
    let at = |fb| quantise(fb, range);
    assert_eq!([at(i64::MIN), at(-1), at(0), at(4_761)], [0; 4]);
    assert_eq!([at(4_762), at(9_523), at(9_524)], [1, 1, 2]);
    assert_eq!(
        [at(150_000), at(299_999), at(300_000), at(300_001), at(i64::MAX)],
        [31, 62, 63, 63, 63]
    );
    assert_eq!(quantise(130_000, read(&[]).unwrap().feedback_range()), 63, "MIB: 5 x 26 KB");
}

/// Hand-computed. Q 0 -> 100 KB: Q_off 40, Q_delta 100, Fb 240 KB = 50. 100 -> 100: Fb 40 KB = 8.
/// 100 -> 70: Fb 10 - 60 < 0: nothing, but Q_old moves. 70 -> 90: Fb 30 + 40 = 70 KB = 14.
#[test]
fn position_and_velocity() {
    let mut cp = Sampler::new(&steady(&[("shrinking", "false")]), C);
    let stated = |feedback, q_off, q_delta| {
        (100, Some(Congestion { degree: feedback, above: q_off, growth: q_delta }))
    };
    assert_eq!(until_sample(&mut cp, 100_000), stated(50, 40_000, 100_000));
    assert_eq!(until_sample(&mut cp, 100_000), stated(8, 40_000, 0));
    assert_eq!(until_sample(&mut cp, 70_000), (100, None));
    assert_eq!(until_sample(&mut cp, 90_000), stated(14, 30_000, 20_000));
}

/// QCN pseudo-code: the next interval is I_s/(1 + feedback/8). 13 frames of 1500 B are the first to
/// reach 18.75 KB.
#[test]
fn congestion_is_sampled_more_often() {
    let p = steady(&[]);
    let table: Vec<u64> = (0..8).map(|k| p.interval(8 * k + 7).0).collect();
    assert_eq!(table, [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_428, 18_750]);
    let mut cp = Sampler::new(&p, C);
    assert_eq!(until_sample(&mut cp, 150_000).1.map(|c| c.degree), Some(63));
    assert_eq!(until_sample(&mut cp, 60_000), (13, None), "after 63; Fb = -180 KB");
    assert_eq!(until_sample(&mut cp, 60_000), (100, None), "after none");
}

/// The interval is stretched by 0.85 to 1.15; one draw per sample.
#[test]
fn intervals_are_jittered() {
    let p = Params { jitter: true, ..steady(&[("shrinking", "false")]) };
    for (draw, frames) in [(0.0, 85), (0.5, 100), (0.999_999, 115)] {
        let mut cp = Sampler::new(&p, C);
        (0..100).for_each(|_| _ = cp.on_arrival(Time::ZERO, LEN, Bytes::ZERO, &mut || draw));
        assert_eq!(until_sample_with(&mut cp, draw), frames);
    }
    fn until_sample_with(cp: &mut Sampler, draw: f64) -> u64 {
        let mut drawn = 0;
        (1..)
            .find(|_| {
                cp.on_arrival(Time::ZERO, LEN, Bytes::ZERO, &mut || {
                    drawn += 1;
                    draw
                });
                drawn > 0
            })
            .unwrap()
    }
}

/// RZ 3880, section IV: during a pause the buffer is sampled with a period of I_s bytes, 120 us at
/// 10 Gb/s. Bytes that had arrived before the pause count. The clock's bytes count after the pause.
#[test]
fn keep_alive_samples_through_a_pause() {
    let p = Params {
        placement: Placement::Input,
        sampling: Sampling::Largest,
        keep_alive: true,
        ..steady(&[("shrinking", "false")])
    };
    let mut cp = Sampler::new(&p, C);
    let at = Time::from_us;
    (0..50).for_each(|_| assert_eq!(cp.on_arrival(at(0), LEN, Bytes(110_000), &mut no_draw), None));
    cp.on_pause(at(1_000));
    cp.on_pause(at(1_001));
    assert_eq!(cp.next_clock(), Some(at(1_060)), "75 of 150 KB were there");
    assert_eq!(cp.on_clock(at(1_059), Bytes(110_000), &mut no_draw), None, "early");
    assert_eq!(
        cp.on_clock(at(1_060), Bytes(110_000), &mut no_draw).map(|c| c.degree),
        Some(56),
        "50 + 2 x 110 KB"
    );
    assert_eq!(cp.next_clock(), Some(at(1_180)));
    assert_eq!(
        cp.on_arrival(at(1_070), LEN, Bytes(111_500), &mut no_draw),
        None,
        "on its way when the pause began"
    );
    assert_eq!(cp.next_clock(), Some(at(1_180)));
    assert_eq!(cp.on_clock(at(1_180), Bytes(80_000), &mut no_draw), None, "20 - 60 KB");
    cp.on_resume(at(1_204));
    assert_eq!((cp.next_clock(), cp.left), (None, 120_000), "a fifth of the period has gone by");
    assert_eq!(cp.on_clock(at(2_000), Bytes(80_000), &mut no_draw), None, "spurious");
    assert_eq!(until_sample(&mut cp, 80_000).0, 80);
    let mut off = Sampler::new(&Params { keep_alive: false, ..p }, C);
    off.on_pause(at(0));
    assert_eq!(off.next_clock(), None);
}

/// Sources that each sampling notifies, with a fast flow without a backlog and a slow flow with a
/// backlog (RZ 3880, Fig. 4).
#[test]
fn the_culprit_is_notified() {
    for (sampling, want) in [("arrival", 6), ("largest", 1), ("random", 1)] {
        let mut q = Qcn::new(&steady(&[("sampling", sampling)]), C, BUFFER);
        for n in 0..70 {
            let stated =
                q.on_enqueue(Time::ZERO, FlowId(1), LEN, Bytes(LEN.0 * (n + 1)), &mut no_draw);
            assert_eq!(stated, None);
        }
        for n in 1..=30 {
            let stated = q.on_enqueue(Time::ZERO, FlowId(6), LEN, Bytes(106_500), &mut || 0.0);
            assert_eq!(
                stated.map(|s| s.flow),
                (n == 30).then_some(FlowId(want)),
                "{sampling}, frame {n}"
            );
            q.on_dequeue(FlowId(6), LEN);
        }
    }
}

/// A clock that ticks at an empty or an uncongested buffer notifies no source.
#[test]
fn no_source_is_notified_of_nothing() {
    let p = Params {
        placement: Placement::Input,
        sampling: Sampling::Random,
        keep_alive: true,
        ..steady(&[])
    };
    let mut q = Qcn::new(&p, C, BUFFER);
    q.on_pause(Time::ZERO);
    assert_eq!(q.next_clock(), Some(Time::ZERO + Span::from_us(120)));
    assert_eq!(
        q.on_clock(Time::from_us(120), Bytes(150_000), &mut no_draw),
        None,
        "nothing is stored"
    );
}

#[test]
fn impossible_parameters_are_refused() {
    let refused = |given: &[(&str, &str)]| {
        let e = read(given).and_then(|p| p.validate(BUFFER, BUFFER * 5)).unwrap_err();
        assert!(!e.hint.is_empty(), "{e}");
        e.key
    };
    assert_eq!(refused(&[("sample_base", "0KB")]), "sample_base");
    assert_eq!(refused(&[("setpoint", "0KB")]), "setpoint");
    assert_eq!(refused(&[("setpoint", "751KB")]), "setpoint");
    assert_eq!(refused(&[("setpoint", "151KB"), ("placement", "input")]), "setpoint");
    assert_eq!(refused(&[("setpoint", "151KB"), ("placement", "both")]), "setpoint");
    assert_eq!(
        read(&[("setpoint", "151KB")]).unwrap().validate(BUFFER, BUFFER * 5),
        Ok(()),
        "five ingresses meet at an egress"
    );
    assert_eq!(refused(&[("weight", "1025")]), "weight");
    assert_eq!(refused(&[("keep_alive", "true"), ("sampling", "random")]), "keep_alive");
    assert_eq!(refused(&[("keep_alive", "true"), ("placement", "input")]), "keep_alive");
    assert_eq!(
        read(&[("keep_alive", "true"), ("placement", "both"), ("sampling", "random")])
            .map(|p| p.keep_alive),
        Ok(true)
    );
    let table = Params::unbiased_qcn(Placement::Output, Sampling::Arrival);
    assert_eq!(Params { jitter: true, ..steady(&[]) }, table);
}
