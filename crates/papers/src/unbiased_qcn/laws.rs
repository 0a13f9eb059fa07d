//! The laws by themselves: which flow a congestion point notifies, six bits of feedback, a rate limiter after a cut.

use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::{FEEDBACK_MAX, Params, Placement, Qcn, Sampler, quantise};
use xoff_mech::rate_control::{Feedback, RateControl as _, Wakes, qcn as reaction};
use xoff_net::workload::random;
use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};
use xoff_units::{Bytes, Rate, Span, Time};

use super::scenes::G10;
use crate::lab::Points;
use crate::{Check, Context, Findings, ReproduceError, lab};

/// Purpose of a random stream; see `xoff_net::workload::random`.
const SAMPLES: u64 = 3_002;
/// Samples of a law.
const DRAWS: u64 = 20_000;
/// Chi-square with one and three degrees of freedom: a fair law exceeds it once in a thousand times.
const ONCE_IN_A_THOUSAND: [f64; 4] = [0.0, 10.83, 13.82, 16.27];
const FRAME: Bytes = Bytes(1_522);

/// Sum of (seen - expected)^2/expected.
fn chi_square(seen: &[u64], weights: &[f64]) -> f64 {
    let (n, total) = (seen.iter().sum::<u64>() as f64, weights.iter().sum::<f64>());
    seen.iter().zip(weights).map(|(&s, w)| (s as f64 - n * w / total).powi(2) / (n * w / total)).sum()
}

/// A congestion point that samples every frame and always finds congestion.
fn point(sampling: Sampling) -> Qcn {
    let p = Params {
        sample_base: Bytes(1),
        setpoint: Bytes(1_000),
        weight: 0,
        jitter: false,
        ..Params::unbiased_qcn(Placement::Input, sampling)
    };
    Qcn::new(&p, G10, Bytes::from_kb(150))
}

/// Who is notified how often, over `DRAWS` arrivals: each of a flow with probability `arrivals[f]`, into a buffer that holds
/// `frames[f]` frames of each flow. What arrives leaves again at once.
fn draw(cx: &Context, sampling: Sampling, arrivals: &[f64], frames: &[u64]) -> Vec<u64> {
    let mut rng = random::stream(cx.seed, sampling as u64, SAMPLES);
    let mut qcn = point(sampling);
    let mut random = {
        let mut own = random::stream(cx.seed, 9, SAMPLES);
        move || random::uniform(&mut own)
    };
    let queue = Bytes(140_000);
    // Frames lie mixed, as they came.
    let mut order: Vec<u32> = frames.iter().enumerate().flat_map(|(f, &n)| (0..n).map(move |_| f as u32)).collect();
    random::shuffle(&mut rng, &mut order);
    for &flow in &order {
        qcn.on_enqueue(Time::ZERO, flow, FRAME, queue, &mut random);
    }
    let mut seen = vec![0; arrivals.len()];
    for _ in 0..DRAWS {
        let mut at = random::uniform(&mut rng);
        let flow = arrivals.iter().position(|p| {
            at -= p;
            at < 0.0
        });
        let flow = flow.unwrap_or(arrivals.len() - 1) as u32;
        // A frame of the same flow leaves for it before: the shares stay as they are.
        qcn.on_dequeue(flow, FRAME);
        if let Some(cnm) = qcn.on_enqueue(Time::ZERO, flow, FRAME, queue, &mut random) {
            seen[cnm.flow as usize] += 1;
        }
    }
    seen
}

/// Sampling laws.
pub fn sampling(cx: &Context) -> Result<Findings, ReproduceError> {
    let (arrivals, frames) = ([0.1, 0.2, 0.3, 0.4], [40u64, 30, 20, 10]);
    let by_frames: Vec<f64> = frames.iter().map(|&n| n as f64).collect();
    let none = Unit::None;
    let mut checks = Vec::new();
    let mut table = Table::new(["Sampling", "Flow", "Share of arrivals", "Share of the buffer", "Share of CNMs"])
        .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption(format!("{DRAWS} samples of a buffer of 100 frames, with the arrivals in reverse proportion."));
    let mut groups = Vec::new();
    let mut sentences = Vec::new();
    for (name, sampling, weights) in [("arrival", Sampling::Arrival, &arrivals[..]), ("random", Sampling::Random, &by_frames)] {
        let seen = draw(cx, sampling, &arrivals, &frames);
        let chi = chi_square(&seen, weights);
        checks.push(Check::new(format!("{name}: chi-square of four flows"), none.clone(), chi, 0.0, ONCE_IN_A_THOUSAND[3]).claimed());
        checks.push(Check::exact(format!("{name}: samples"), Unit::Other("CNMs".into()), seen.iter().sum::<u64>() as f64, DRAWS as f64));
        sentences.push(format!("{name} {chi:.2}"));
        let share = |n: u64| n as f64 / DRAWS as f64;
        for (f, &n) in seen.iter().enumerate() {
            let percent = |v: f64| Unit::Fraction.format(v);
            table.push([name.to_owned(), (f + 1).to_string(), percent(arrivals[f]), percent(by_frames[f] / 100.0), percent(share(n))]);
        }
        groups.push(BarGroup::new(
            format!("{name} sampling"),
            seen.iter().zip(weights).map(|(&n, w)| Bar::new(share(n)).reference(w / weights.iter().sum::<f64>())),
        ));
    }
    // Frames of different lengths: whole units of 256 B.
    let mut qcn = point(Sampling::Random);
    let mut own = random::stream(cx.seed, 10, SAMPLES);
    let mut random = || random::uniform(&mut own);
    let mut seen = [0u64; 2];
    (0..60).for_each(|_| _ = qcn.on_enqueue(Time::ZERO, 0, Bytes(64), Bytes(140_000), &mut random));
    (0..10).for_each(|_| _ = qcn.on_enqueue(Time::ZERO, 1, FRAME, Bytes(140_000), &mut random));
    for _ in 0..DRAWS {
        qcn.on_dequeue(1, FRAME);
        if let Some(n) = qcn.on_enqueue(Time::ZERO, 1, FRAME, Bytes(140_000), &mut random) {
            seen[n.flow as usize] += 1;
        }
    }
    let chi = chi_square(&seen, &[60.0, 60.0]);
    checks.push(Check::new(
        "random: chi-square of 60 frames of 64 B and 10 of 1522 B, 60 units each",
        none,
        chi,
        0.0,
        ONCE_IN_A_THOUSAND[1],
    ));
    let largest = draw(cx, Sampling::Largest, &arrivals, &frames);
    checks.push(Check::exact("largest: CNMs to the flow with most", Unit::Other("CNMs".into()), largest[0] as f64, DRAWS as f64).claimed());
    let measured = format!(
        "Chi-square, three degrees of freedom: {}; limit {}. Largest: {} of {DRAWS} to the flow with most.",
        sentences.join(", "),
        ONCE_IN_A_THOUSAND[3],
        largest[0]
    );
    let panel = Panel::new("", Axis::new("", Unit::None), Axis::new("Share of CNMs", Unit::Fraction).range(0.0, 0.5))
        .mark(Mark::bars(["flow 1", "flow 2", "flow 3", "flow 4"], groups).bar_reference("share of arrivals, or of the buffer"));
    let figure = Figure::new("Which source receives the CNM of a congestion point?")
        .caption("Arrivals 10, 20, 30, 40 %; occupancies 40, 30, 20, 10 %.")
        .panel(panel);
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], ..Findings::default() })
}

/// Feedback in six bits.
#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
pub fn feedback(_: &Context) -> Result<Findings, ReproduceError> {
    let p = Params::unbiased_qcn(Placement::Output, Sampling::Arrival);
    let range = p.feedback_range();
    let levels: std::collections::BTreeSet<u8> = (-400_000..=400_000i64).step_by(100).map(|fb| quantise(fb, range)).collect();
    let none = Unit::None;
    let mut checks = vec![
        Check::exact("(2w + 1) Q_eq", Unit::Bytes, range.0 as f64, 300e3),
        Check::exact("levels", none.clone(), levels.len() as f64, 64.0),
        Check::exact("feedback just below (2w + 1) Q_eq", none.clone(), f64::from(quantise(299_999, range)), 62.0),
        Check::exact("feedback from (2w + 1) Q_eq on", none.clone(), f64::from(quantise(300_000, range)), f64::from(FEEDBACK_MAX)),
        Check::exact("largest feedback", none.clone(), f64::from(quantise(i64::MAX / 2, range)), f64::from(FEEDBACK_MAX)),
        Check::exact("feedback of values that are not positive", none, f64::from(quantise(0, range).max(quantise(-1, range))), 0.0),
    ];
    let falls = (0..300_000i64).filter(|&fb| quantise(fb + 1, range) < quantise(fb, range)).count();
    checks.push(Check::none("steps at which the feedback falls", "steps", falls as u64));
    // A full buffer that has just filled: Q_off = 90 KB, Q_delta = 150 KB; one that stays full.
    let full = quantise(90_000 + 2 * 150_000, range);
    let stays = quantise(90_000, range);
    checks.push(Check::exact("a buffer of 150 KB that has filled between two samples", Unit::None, f64::from(full), 63.0));
    checks.push(Check::exact("a buffer of 150 KB that stays full", Unit::None, f64::from(stays), 18.0));
    // A congestion point that samples each frame: F_b = Q_off + w Q_delta of queues of 80, 100 and 90 KB, each sampled once.
    let mut sampler = Sampler::new(&Params { sample_base: Bytes(1), jitter: false, ..p.clone() }, G10);
    let mut before = 0;
    for queue in [80, 100, 90] {
        let f_b = (queue - 60) * 1_000 + 2 * (queue - before) * 1_000;
        before = queue;
        let seen = sampler.on_arrival(Time::ZERO, FRAME, Bytes::from_kb(queue as u64), &mut || 0.5).map_or(0, |c| c.degree);
        let what = format!("feedback of a queue of {queue} KB, sampled in this order, w = 2");
        checks.push(Check::exact(what, Unit::None, f64::from(seen), f64::from(quantise(f_b, range))).closed_form());
    }
    let cut = |feedback: u8| {
        let params = reaction::Params { jitter: false, reaction: Span::ZERO, ..reaction::Params::unbiased_qcn_10g() };
        let mut q = reaction::Qcn::new(&params, G10, 0);
        q.on_feedback(Time::ZERO, Feedback::Quantized(feedback), &mut Wakes::default());
        1.0 - q.rate().as_f64() / G10.as_f64()
    };
    checks.push(Check::exact("largest cut by a CNM", Unit::Fraction, cut(63), 63.0 / 128.0));
    checks.push(Check::exact("smallest cut by a CNM", Unit::Fraction, cut(1), 1.0 / 128.0));
    checks.push(Check::exact(
        "cuts of 63 from 10 to below 1 Gb/s",
        Unit::Other("CNMs".into()),
        (1..).find(|&n| 10.0 * (1.0 - cut(63)).powi(n) < 1.0).map_or(0.0, f64::from),
        4.0,
    ));
    let intervals: Vec<f64> = (0..8).map(|k| p.interval(8 * k).0 as f64).collect();
    for (k, bytes) in intervals.iter().enumerate() {
        checks.push(Check::exact(
            format!("interval after feedback {} to {}", 8 * k, 8 * k + 7),
            Unit::Bytes,
            *bytes,
            (150_000 / (k as u64 + 1)) as f64,
        ));
    }
    let mut table = Table::new(["Feedback", "F_b from", "Cut", "Next sample after"]).align([Align::Right; 4]);
    for q in [0u8, 1, 8, 16, 18, 24, 32, 40, 48, 56, 63] {
        let from = (0..=300_000i64).find(|&fb| quantise(fb, range) == q).map_or(f64::NAN, |fb| fb as f64);
        table.push([
            q.to_string(),
            lab::bytes(from),
            Unit::Fraction.format(if q == 0 { 0.0 } else { cut(q) }),
            lab::bytes(p.interval(q).0 as f64),
        ]);
    }
    let fbs = || (0..=400).map(|k| f64::from(k) * 1e3);
    let x = || Axis::new("F_b", Unit::Bytes).range(0.0, 400e3);
    let figure = Figure::new("Feedback in six bits")
        .caption("63 from 300 KB on; the interval to the next sample shrinks with every eight steps.")
        .panel(
            Panel::new("Feedback", x(), Axis::new("Feedback", Unit::None))
                .mark(Mark::steps("feedback", fbs().map(|fb| (fb, f64::from(quantise(fb as i64, range))))))
                .height(160),
        )
        .panel(
            Panel::new("Next sample after", x(), Axis::new("Interval", Unit::Bytes).range(0.0, 155e3))
                .mark(Mark::steps("interval", fbs().map(|fb| (fb, p.interval(quantise(fb as i64, range)).0 as f64))))
                .height(160),
        );
    let measured = format!(
        "64 levels, 63 from {} on; cuts of {} to {}; intervals of {}.",
        lab::bytes(range.0 as f64),
        Unit::Fraction.format(cut(1)),
        Unit::Fraction.format(cut(63)),
        intervals.iter().map(|b| lab::bytes(*b)).collect::<Vec<_>>().join(", ")
    );
    let notes = vec!["The pseudo-code prints the last two intervals as 21.5 and 18.5 KB; 150/7 and 150/8 are 21.43 and 18.75 KB.".into()];
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes, ..Findings::default() })
}

/// A limiter on its own, without jitter: sends at its rate, or not at all.
struct Limiter {
    q: reaction::Qcn,
    now: Time,
    timer: Option<Time>,
}

impl Limiter {
    fn new() -> Limiter {
        let params = reaction::Params { jitter: false, reaction: Span::ZERO, ..reaction::Params::unbiased_qcn_10g() };
        Limiter { q: reaction::Qcn::new(&params, G10, 0), now: Time::ZERO, timer: None }
    }
    fn arm(&mut self, wakes: &Wakes) {
        self.timer = wakes.iter().map(|(_, at)| at).last().or(self.timer);
    }
    fn cnm(&mut self, feedback: u8) {
        let mut wakes = Wakes::default();
        self.q.on_feedback(self.now, Feedback::Quantized(feedback), &mut wakes);
        self.arm(&wakes);
    }
    /// A byte cycle of so many bytes, at once.
    fn sends(&mut self, bytes: u64) {
        let mut wakes = Wakes::default();
        (0..bytes / 1_500).for_each(|_| self.q.on_sent(self.now, Bytes(1_500), &mut wakes));
    }
    /// Until the timer has run out once. Returns how long that took [ms].
    fn waits(&mut self) -> f64 {
        let Some(at) = self.timer.take() else { return f64::NAN };
        let took = at.since(self.now).0 as f64 / 1e9;
        self.now = at;
        let mut wakes = Wakes::default();
        self.q.on_wake(at, 0, &mut wakes);
        self.arm(&wakes);
        took
    }
    fn rate(&self) -> f64 {
        self.q.rate().as_f64()
    }
}

/// A rate limiter after a cut.
pub fn reaction_point(_: &Context) -> Result<Findings, ReproduceError> {
    let mut checks = Vec::new();
    let (trace, of_half) = byte_cycles(&mut checks);
    let took = timer_cycles(&mut checks);
    increases(&mut checks);
    let (fast, slow) = two_limiters(&mut checks);
    let figure = Figure::new("A rate limiter after a cut")
        .caption(
            "With the byte counter alone five cycles each halve the gap. Below: two limiters, of which the faster takes faster and \
            larger steps.",
        )
        .panel(
            Panel::new("Byte cycles after one CNM", Axis::new("Byte cycle", Unit::None), Axis::new("Rate", Unit::BitsPerSecond))
                .mark(Mark::steps("limiter", trace)),
        )
        .panel(
            Panel::new(
                "Two limiters after a cut",
                Axis::new("Time", Unit::Picoseconds).range(0.0, lab::ms(20.0)),
                Axis::new("Rate", Unit::BitsPerSecond),
            )
            .mark(Mark::steps("the faster", fast))
            .mark(Mark::steps("the slower", slow)),
        );
    let measured = format!(
        "{} of the old rate after a cut to half; cycles of 150 KB and {} ms, {} ms after fast recovery; target +5 Mb/s, +50 Mb/s.",
        of_half.iter().map(|v| format!("{v:.6}")).collect::<Vec<_>>().join(", "),
        took[0],
        took[5]
    );
    let notes = vec![
        "A CNM of 63 takes 49.2 %, not half. The gap to the old rate is nevertheless halved by every cycle, and is scaled \
        to a cut to half here."
            .into(),
    ];
    Ok(Findings { measured, checks, figures: vec![figure], notes, ..Findings::default() })
}

/// Five byte cycles after a cut: the rate by cycle, and what it would be of a rate cut to half.
fn byte_cycles(checks: &mut Vec<Check>) -> (Points, Vec<f64>) {
    // 64/128 is beyond six bits: a cut to half takes two CNMs that multiply to it, so the cycles are checked against the cut rate.
    let mut l = Limiter::new();
    l.cnm(63);
    let cut = l.rate();
    let mut trace = vec![(0.0, G10.as_f64()), (0.0, cut)];
    let mut halves = Vec::new();
    for cycle in 1..=5u32 {
        l.sends(150_000);
        let gap = (G10.as_f64() - l.rate()) / (G10.as_f64() - cut);
        checks.push(Check::near(
            format!("gap to the old rate after byte cycle {cycle}"),
            Unit::Fraction,
            gap,
            0.5f64.powi(cycle as i32),
            1e-8,
        ));
        halves.push(l.rate());
        trace.push((f64::from(cycle), l.rate()));
    }
    // From half of a rate the five cycles give .75 to .984375 of it.
    let of_half: Vec<f64> = halves.iter().map(|r| 1.0 - (1.0 - (r - cut) / (G10.as_f64() - cut)) / 2.0).collect();
    for (value, expected) in of_half.iter().zip([0.75, 0.875, 0.9375, 0.96875, 0.984375]) {
        checks.push(Check::near(format!("after a cut to half: {expected} of the old rate"), Unit::None, *value, expected, 1e-8));
    }
    // One frame less than a cycle raises nothing.
    let mut l = Limiter::new();
    l.cnm(63);
    l.sends(150_000 - 1_500);
    checks.push(Check::exact("rate one frame before the first byte cycle ends", Unit::BitsPerSecond, l.rate(), cut));
    (trace, of_half)
}

/// The timer alone: how long its six cycles take [ms].
fn timer_cycles(checks: &mut Vec<Check>) -> Vec<f64> {
    // The timer alone: cycles of 10 ms, of 5 ms after fast recovery; then additive increase.
    let mut l = Limiter::new();
    l.cnm(63);
    let mut took = Vec::new();
    for _ in 0..6 {
        took.push(l.waits());
    }
    let ms = |what: &str, value: f64, expected: f64| Check::exact(what, Unit::Picoseconds, lab::ms(value), lab::ms(expected));
    checks.push(ms("first cycle of the timer", took[0], 10.0));
    checks.push(ms("its cycle after fast recovery", took[5], 5.0));
    checks.push(Check::exact("target after six cycles of the timer alone", Unit::BitsPerSecond, l.q.target().as_f64(), 10e9 + 5e6));
    took
}

/// Active and hyper increase, and extra fast recovery.
fn increases(checks: &mut Vec<Check>) {
    // Both counters beyond fast recovery: hyper increase.
    let mut l = Limiter::new();
    l.cnm(63);
    l.sends(150_000); // a cycle, so that the next cut begins from here and the target stays below the line
    l.cnm(63);
    (0..5).for_each(|_| _ = l.waits());
    l.sends(150_000 * 5);
    let before = l.q.target().as_f64();
    l.waits();
    let active = l.q.target().as_f64();
    l.sends(75_000);
    let hyper = l.q.target().as_f64();
    checks.push(Check::exact("active increase: one counter beyond five cycles", Unit::BitsPerSecond, active - before, 5e6));
    checks.push(Check::exact("hyper increase: both counters beyond", Unit::BitsPerSecond, hyper - active, 50e6));
    // Extra fast recovery: more than ten times below the target.
    let mut l = Limiter::new();
    (0..4).for_each(|_| l.cnm(63));
    let low = l.rate();
    l.sends(150_000);
    checks.push(Check::exact(
        "target after the first cycle more than ten times below it: an eighth",
        Unit::BitsPerSecond,
        l.q.target().as_f64(),
        10e9 / 8.0,
    ));
    checks.push(Check::near("rate then: half way", Unit::BitsPerSecond, l.rate(), (low + 1.25e9) / 2.0, 1e-9));
}

/// The rates of two limiters after the same cut, the first from twice the rate.
fn two_limiters(checks: &mut Vec<Check>) -> (Points, Points) {
    // Two limiters after the same cut, one from twice the rate: both counters of bytes run by what each sends.
    let steps = |from: Rate| {
        let mut l = Limiter::new();
        while l.rate() > from.as_f64() {
            l.cnm(20);
            l.sends(150_000); // a cycle, so that the next cut begins from here
        }
        l.cnm(20);
        let (mut t, mut points) = (0.0, vec![(0.0, l.rate())]);
        while t < 20.0 {
            t += 150e3 * 8e3 / l.rate();
            l.sends(if points.len() > 5 { 75_000 } else { 150_000 });
            points.push((lab::ms(t), l.rate()));
        }
        points
    };
    let (fast, slow) = (steps(Rate::from_gbps(4)), steps(Rate::from_gbps(2)));
    let gain = |p: &[(f64, f64)]| p.last().map_or(0.0, |l| l.1) - p[0].1;
    checks.push(
        Check::new(
            "gain in 20 ms of a limiter with about twice the rate, relative to the other",
            Unit::Other("times".into()),
            gain(&fast) / gain(&slow),
            1.2,
            f64::INFINITY,
        )
        .claimed(),
    );
    (fast, slow)
}
