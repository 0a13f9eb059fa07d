//! Fig. 5: f1 and a victim share an input; arrival sampling, PAUSE only, occupancy sampling.

use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::Placement;
use xoff_report::{Align, Axis, Figure, Mark, Panel, Table, Unit};
use xoff_units::{Bytes, Rate};

use super::fig2::{fair, seeds, throughput, time};
use super::run::{Plan, Run, soundness};
use super::scenes::{self, F6, PHASES, RACK, SETTING, SETTLED, Signal};
use crate::stats::Mean;
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError, lab};

const F1: usize = 0;
/// Offered rate of the victim [bit/s].
const OFFERED: f64 = 7e9;

/// The runs of the scene with a victim.
pub fn plan(plan: &mut Plan, cx: &Context, seeds: u64, name: &str, signal: impl Fn() -> Signal) -> Series {
    plan.series(cx, seeds, &format!("victim, {name}"), |seed| scenes::fan_in(signal(), true, seed))
}

/// QCN at inputs.
pub fn at_inputs(sampling: Sampling) -> Signal {
    scenes::at_10g(Placement::Input, sampling)
}

/// Rate of a flow in a phase, once it has settled [bit/s].
pub fn settled(run: &Run, flow: usize, phase: usize) -> f64 {
    let (from, to, _) = PHASES[phase];
    run.rate(flow, from + SETTLED, to)
}

fn claimed(what: impl Into<String>, unit: Unit, value: f64, low: f64, high: f64) -> Check {
    Check::new(what, unit, value, low, high).claimed().assuming(SETTING)
}

fn phase(p: usize) -> String {
    format!("{} to {} ms", PHASES[p].0 + SETTLED, PHASES[p].1)
}

/// Rate of a flow that is farthest from its expected value, over all seeds and phases.
fn farthest(runs: &[Run], flow: usize, expected: impl Fn(usize) -> f64) -> (f64, f64) {
    let all = runs.iter().flat_map(|r| (0..PHASES.len()).map(move |p| (settled(r, flow, p), p)));
    all.map(|(r, p)| (r, expected(p)))
        .fold((1.0, 1.0), |worst, x| if (x.0 / x.1 - 1.0).abs() > (worst.0 / worst.1 - 1.0f64).abs() { x } else { worst })
}

fn rows(first: &str, names: &[&str], all: &[&[Run]]) -> Table {
    let mut table = Table::new([first, "Phase", "f1", "f6", "f6/f1", "CNMs to f1", "to f6", "STOPs of the input"])
        .align([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption("Means over the seeds from 30 ms after each change on; STOPs over the whole run.");
    for (name, runs) in names.iter().zip(all) {
        for (p, (from, to, _)) in PHASES.into_iter().enumerate() {
            let mean = |of: &dyn Fn(&Run) -> f64| Mean::of(runs.iter().map(of)).mean;
            let (f1, f6) = (mean(&|r| settled(r, F1, p)), mean(&|r| settled(r, F6, p)));
            let cnm = |f: usize| format!("{:.1}", mean(&|r| r.cnms(f, from + SETTLED, to) as f64));
            let stops = if p == 0 { format!("{:.0}", mean(&|r| r.flows[F1].stops as f64)) } else { String::new() };
            table.push([(*name).to_owned(), phase(p), lab::rate(f1), lab::rate(f6), format!("{:.2}", f6 / f1), cnm(F1), cnm(F6), stops]);
        }
    }
    table
}

fn limits(title: &str, run: &Run) -> Panel {
    let panel = Panel::new(title, time(), Axis::new("Rate limit", Unit::BitsPerSecond).range(0.0, 10.5e9));
    panel.mark(Mark::steps("f1", run.limits(F1))).mark(Mark::steps("f6", run.limits(F6)))
}

/// A variant of the scene under arrival sampling, to find what the victim's rate depends on.
struct Variant {
    name: String,
    series: Series,
}

fn variants(
    plan: &mut Plan,
    cx: &Context,
    fabric: fn(xoff_sim::scheduled::Config) -> xoff_sim::scheduled::Config,
    called: &str,
) -> Vec<Variant> {
    let mut all = Vec::new();
    let n = cx.mode.pick(5, 10);
    let on_rack = !called.is_empty();
    let mut add = |name: String, change: &dyn Fn(&mut xoff_sim::scheduled::Hosts)| {
        let config = |seed| {
            let mut hosts = scenes::fan_in_hosts(at_inputs(Sampling::Arrival), true, seed);
            change(&mut hosts);
            fabric(scenes::on_ideal(hosts))
        };
        let n = if on_rack { cx.mode.pick(2, 5) } else { n };
        let series = plan.series(cx, n, &format!("victim, arrival, {called}{name}"), config);
        all.push(Variant { name, series });
    };
    for len in [200, 500, 1_000, 1_522, 4_000] {
        add(format!("frames of {len} B"), &|h| h.frame = Bytes(len));
    }
    add("gaps of 0 to twice their length, at random".into(), &|h| h.gap_jitter = 1_000);
    add("the same, and frames of 200 B".into(), &|h| (h.gap_jitter, h.frame) = (1_000, Bytes(200)));
    add("f1 and f6 offer 10 Gb/s each".into(), &|h| {
        h.flows[F1].rate = scenes::G10;
        h.flows[F6].rate = scenes::G10;
    });
    add("f1 and f6 offer 5 Gb/s each".into(), &|h| {
        h.flows[F1].rate = Rate::from_gbps(5);
        h.flows[F6].rate = Rate::from_gbps(5);
    });
    add("intervals that do not shrink".into(), &|h| h.qcn = scenes::with(h.qcn.take(), |p| p.shrinking = false));
    add("T = 15 ms".into(), &|h| {
        if let Some((_, r)) = &mut h.qcn {
            r.timer = xoff_units::Span::from_ms(15);
        }
    });
    all
}

/// CNMs per frame of f6 over those of f1, once settled: 1 if they go by arrivals.
fn bias(runs: &[Run]) -> f64 {
    let mut sums = [[0.0; 2]; 2];
    for r in runs {
        for (from, to, _) in PHASES {
            for (sum, f) in sums.iter_mut().zip([F1, F6]) {
                sum[0] += r.cnms(f, from + SETTLED, to) as f64;
                sum[1] += r.rate(f, from + SETTLED, to) * (to - from - SETTLED);
            }
        }
    }
    (sums[1][0] / sums[1][1]) / (sums[0][0] / sums[0][1])
}

/// Cases of Fig. 5 on the fabric of Fig. 1: name and congestion signal.
const ON_RACK: [scenes::Scheme; 4] = [
    ("fabric of Fig. 1, arrival", || at_inputs(Sampling::Arrival)),
    ("fabric of Fig. 1, PAUSE only", || None),
    ("fabric of Fig. 1, random", || at_inputs(Sampling::Random)),
    ("fabric of Fig. 1, largest", || at_inputs(Sampling::Largest)),
];

/// Ratio of f6 to f1 in a phase.
fn ratio(runs: &[Run], p: usize) -> Mean {
    Mean::of(runs.iter().map(|r| settled(r, F6, p) / settled(r, F1, p)))
}

/// Fig. 5(a), judged on the fabric of Fig. 1; the ideal switch next to it.
pub fn run_a(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all = Plan::default();
    let ideal = plan(&mut all, cx, seeds(cx), "arrival", || at_inputs(Sampling::Arrival));
    let rack = ON_RACK.map(|(name, signal)| {
        let n = if name.ends_with("arrival") { cx.mode.pick(5, 15) } else { cx.mode.pick(2, 5) };
        all.series(cx, n, name, |seed| scenes::on_rack(scenes::fan_in(signal(), true, seed)))
    });
    let on_ideal = variants(&mut all, cx, |c| c, "");
    let on_rack = variants(&mut all, cx, scenes::on_rack, "fabric of Fig. 1, ");
    let results = all.run(cx)?;
    let (ideal, runs) = (results.of(ideal), results.of(rack[0]));
    let mut checks = soundness(&results);
    for p in 0..PHASES.len() {
        let most = runs.iter().map(|r| settled(r, F6, p)).fold(0.0, f64::max);
        let what = format!("{}: f6, largest of all seeds", phase(p));
        checks.push(Check::new(what, Unit::BitsPerSecond, most, 0.0, OFFERED / 2.0).claimed().assuming(RACK));
    }
    for p in 0..PHASES.len() {
        let what = format!("{}: f6/f1, mean of the seeds", phase(p));
        checks.push(Check::mean(what, Unit::Other("times".into()), ratio(runs, p), 0.85, 1.15).paper(1.0).assuming(RACK));
    }
    let words = |runs: &[Run]| {
        let one = |p: usize| {
            let of = |f| lab::rate(Mean::of(runs.iter().map(|r| settled(r, f, p))).mean);
            format!("f1 {}, f6 {} ({})", of(F1), of(F6), ratio(runs, p).words(|v| format!("{v:.2}")))
        };
        (0..PHASES.len()).map(one).collect::<Vec<_>>().join("; ")
    };
    let measured = format!(
        "Phase by phase, on the fabric of Fig. 1: {}. On one ideal switch: {}. In brackets f6/f1 with its 95 % interval, {} and {} seeds.",
        words(runs),
        words(ideal),
        runs.len(),
        ideal.len()
    );
    let heading = ["Fabric", "Variant", "f6/f1, first phase", "second", "third", "CNMs per byte of f6, relative to f1"];
    let mut table = Table::new(heading)
        .align([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption("Dependence of f6's rate: means over seeds with 95 % intervals.");
    let of = |v: &Variant| results.of(v.series);
    for (fabric, variants) in [("ideal switch", &on_ideal), ("Fig. 1", &on_rack)] {
        for v in variants {
            let [a, b, c] = [0, 1, 2].map(|p| ratio(of(v), p).words(|x| format!("{x:.2}")));
            table.push([fabric.to_owned(), v.name.clone(), a, b, c, format!("{:.2}", bias(of(v)))]);
        }
    }
    let figure = Figure::new("A victim under arrival sampling at inputs (paper: Fig. 5a)")
        .caption("f6 offers 7 Gb/s to an output that no other flow uses. It is throttled together with f1, because both share an input.")
        .panel(throughput("Fabric of Fig. 1, the first seed", &runs[0], 6, 2))
        .panel(throughput("Ideal switch, the first seed", &ideal[0], 6, 2))
        .panel(limits("Rate limits, fabric of Fig. 1, the first seed", &runs[0]));
    let kinds: Vec<&[Run]> = std::iter::once(ideal).chain(rack.iter().map(|s| results.of(*s))).collect();
    let names: Vec<&str> = std::iter::once("ideal switch, arrival").chain(ON_RACK.iter().map(|k| k.0)).collect();
    let tables = vec![rows("Fabric, sampling", &names, &kinds), table];
    let why = why_a(ideal, runs, &on_ideal, &on_rack, &|v| results.of(v.series));
    Ok(Findings { measured, checks, figures: vec![figure], tables, why, ..Findings::default() })
}

/// Dependence of f6's rate on both fabrics.
fn why_a<'a>(ideal: &[Run], rack: &[Run], on_ideal: &[Variant], on_rack: &[Variant], of: &dyn Fn(&Variant) -> &'a [Run]) -> Vec<String> {
    let second = |v: &Variant| format!("{:.2} ({:.2})", ratio(of(v), 1).mean, bias(of(v)));
    let both = |nth: usize| format!("{}: {} and {}", on_ideal[nth].name, second(&on_ideal[nth]), second(&on_rack[nth]));
    let spread = |runs: &[Run], p: usize| {
        let all: Vec<f64> = runs.iter().map(|r| settled(r, F6, p)).collect();
        format!("{} to {}", lab::rate(all.iter().copied().fold(f64::MAX, f64::min)), lab::rate(all.iter().copied().fold(0.0, f64::max)))
    };
    vec![
        format!(
            "f6 gets {:.2} times as many CNMs per byte as f1 on the ideal switch and {:.2} times on the fabric of Fig. 1, although each \
             is notified when one of its own frames fills the interval. Around Q_eq one frame decides whether a sample is positive: F_b \
             moves by (1 + w) 1522 B = 4566 B per frame, and a step of the feedback is 4762 B. An evenly paced frame of f1 finds the \
             queue, which consists of f1's own frames, at its lowest; a frame of f6 arrives at any time. The two fabrics agree within \
             the scatter of seeds. f6/f1 in the second phase, and in brackets the ratio of CNMs per byte, ideal switch and Fig. 1: {}; \
             {}; {}; {}.",
            bias(ideal),
            bias(rack),
            both(0),
            both(2),
            both(5),
            both(6)
        ),
        format!(
            "A limiter starts at line rate. f1's limit must fall from 10 to 2.5 Gb/s although f1 offers 3 Gb/s. Meanwhile f6, which \
             arrives faster, is cut. {}.",
            both(7)
        ),
        format!(
            "Nothing draws f6 to one rate. The output sets f1's rate, f6 follows the CNMs that f1 needs, and byte counters let both \
             recover in proportion to their own rates. Over the seeds f6 is between {} in the first phase and {} in the third on the \
             ideal switch, {} and {} on the fabric of Fig. 1.",
            spread(ideal, 0),
            spread(ideal, 2),
            spread(rack, 0),
            spread(rack, 2)
        ),
        "The paper shows one run, and does not state how evenly its adapters pace frames.".into(),
    ]
}

/// Fig. 5(b).
pub fn run_b(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all = Plan::default();
    let series = plan(&mut all, cx, seeds(cx), "PAUSE only", || None);
    let results = all.run(cx)?;
    let runs = results.of(series);
    let mut checks = soundness(&results);
    for p in 0..PHASES.len() {
        let expected = fair(p) * 7.0 / 3.0;
        let mean = Mean::of(runs.iter().map(|r| settled(r, F6, p)));
        let check = Check::near(format!("{}: f6", phase(p)), Unit::BitsPerSecond, mean.mean, expected, 0.1).of(mean);
        checks.push(check.paper(expected).assuming(SETTING));
    }
    let (rate, expected) = farthest(runs, F6, |p| fair(p) * 7.0 / 3.0);
    checks.push(claimed(
        "f6 over 7/3 of the fair share, farthest of all seeds and phases",
        Unit::Other("times".into()),
        rate / expected,
        0.9,
        1.1,
    ));
    let of = |f, p| lab::rate(Mean::of(runs.iter().map(|r| settled(r, f, p))).mean);
    let measured = format!("f6 {}, {} and {}; f1 {}, {} and {}.", of(F6, 0), of(F6, 1), of(F6, 2), of(F1, 0), of(F1, 1), of(F1, 2));
    let figure = Figure::new("A victim under PAUSE only (paper: Fig. 5b)")
        .caption("PAUSE keeps the ratio of 7 to 3 in which f6 and f1 arrive. Rates over intervals of 2 ms.")
        .panel(throughput("The first seed", &runs[0], 6, 4));
    Ok(Findings {
        measured,
        checks,
        figures: vec![figure],
        tables: vec![rows("Sampling", &["PAUSE only"], &[runs])],
        ..Findings::default()
    })
}

/// Runs with random and with deterministic sampling, and whether they are sound.
type Occupancy = (Vec<Run>, Vec<Run>, Vec<Check>);

fn occupancy(cx: &Context) -> Result<Occupancy, ReproduceError> {
    let mut all = Plan::default();
    let [random, largest] = [("random", Sampling::Random), ("largest", Sampling::Largest)]
        .map(|(name, s)| plan(&mut all, cx, seeds(cx), name, || at_inputs(s)));
    let results = all.run(cx)?;
    Ok((results.of(random).to_vec(), results.of(largest).to_vec(), soundness(&results)))
}

/// Fig. 5(c).
pub fn run_c(cx: &Context) -> Result<Findings, ReproduceError> {
    let (random, largest, mut checks) = occupancy(cx)?;
    let mut sentences = Vec::new();
    for (name, runs) in [("random", &random), ("deterministic", &largest)] {
        let (victim, _) = farthest(runs, F6, |_| OFFERED);
        checks.push(
            Check::near(format!("{name}: f6, farthest of all seeds and phases"), Unit::BitsPerSecond, victim, OFFERED, 0.02)
                .paper(OFFERED)
                .assuming(SETTING),
        );
        let (culprit, expected) = farthest(runs, F1, fair);
        checks.push(claimed(
            format!("{name}: f1 over its fair share, farthest"),
            Unit::Other("times".into()),
            culprit / expected,
            0.95,
            1.05,
        ));
        let of = |f, p| lab::rate(Mean::of(runs.iter().map(|r| settled(r, f, p))).mean);
        sentences.push(format!("{name}: f6 {}, {}, {}, f1 {}, {}, {}", of(F6, 0), of(F6, 1), of(F6, 2), of(F1, 0), of(F1, 1), of(F1, 2)));
    }
    let measured = format!("{} ({} seeds each).", sentences.join("; "), random.len());
    let figure = Figure::new("A victim under occupancy sampling at inputs (paper: Fig. 5c)")
        .caption("f6 keeps its 7 Gb/s; f1 to f5 have their fair shares.")
        .panel(throughput("Random", &random[0], 6, 2))
        .panel(throughput("Deterministic", &largest[0], 6, 2));
    let tables = vec![rows("Sampling", &["random", "largest"], &[&random, &largest])];
    Ok(Findings { measured, checks, figures: vec![figure], tables, ..Findings::default() })
}

/// Fig. 5(d).
pub fn run_d(cx: &Context) -> Result<Findings, ReproduceError> {
    let (random, largest, mut checks) = occupancy(cx)?;
    let sum = |runs: &[Run], f: usize| runs.iter().map(|r| r.cnms(f, 0.0, 300.0)).sum::<u64>();
    let limited = |runs: &[Run]| runs.iter().flat_map(|r| &r.flows[F6].limit).filter(|l| **l > 0).count() as u64;
    let frames = Unit::Other("CNMs".into());
    checks.push(
        Check::exact("deterministic: CNMs to f6, all seeds", frames.clone(), sum(&largest, F6) as f64, 0.0).paper(0.0).assuming(SETTING),
    );
    checks.push(
        Check::none("deterministic: windows at whose end f6 has a limiter", "windows", limited(&largest)).claimed().assuming(SETTING),
    );
    checks.push(Check::some("random: CNMs to f6, all seeds", "CNMs", sum(&random, F6)).claimed().assuming(SETTING));
    let part = sum(&random, F6) as f64 / (sum(&random, F1) + sum(&random, F6)) as f64;
    checks.push(claimed("random: f6's share of the CNMs of its input", Unit::Fraction, part, 0.0, 0.05));
    let lowest = random.iter().flat_map(|r| &r.flows[F6].limit).filter(|l| **l > 0).min().map_or(f64::NAN, |l| *l as f64);
    let windows: usize = random.iter().map(|r| r.flows[F6].limit.len()).sum();
    let measured = format!(
        "Random: {} CNMs to f6 and {} to f1 in {} seeds ({}). f6 has a limiter {} of the time, at {} or more. Deterministic: {} to f6, \
         {} to f1.",
        sum(&random, F6),
        sum(&random, F1),
        random.len(),
        Unit::Fraction.format(part),
        Unit::Fraction.format(limited(&random) as f64 / windows as f64),
        lab::rate(lowest),
        sum(&largest, F6),
        sum(&largest, F1)
    );
    let figure = Figure::new("Rate limits of culprit and victim (paper: Fig. 5d)")
        .caption("A gap means no limiter: it is removed at line rate.")
        .panel(limits("Random", &random[0]))
        .panel(limits("Deterministic", &largest[0]));
    let tables = vec![rows("Sampling", &["random", "largest"], &[&random, &largest])];
    Ok(Findings { measured, checks, figures: vec![figure], tables, ..Findings::default() })
}
