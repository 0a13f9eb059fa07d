//! Fig. 2: a fan-in with PAUSE only, with QCN at outputs, at inputs, and at both.

use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::Placement;
use xoff_report::{Align, Axis, Figure, Mark, Panel, Table, Unit};
use xoff_units::Span;

use super::run::{Plan, Results, Run, soundness};
use super::scenes::{self, F5, PHASES, SETTING, SETTLED, Signal};
use crate::stats::{Mean, Share};
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError, lab};

/// From here on an allocation counts as unfair: ratio of fastest to slowest flow. The paper's f2 has 1.5 times the rate of f3.
pub const UNFAIR: f64 = 1.3;

/// The four configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Pause,
    Outputs,
    Inputs,
    Both,
}

impl Kind {
    pub fn signal(self) -> Signal {
        let at = |placement| scenes::at_10g(placement, Sampling::Arrival);
        match self {
            Kind::Pause => None,
            Kind::Outputs => at(Placement::Output),
            Kind::Inputs => at(Placement::Input),
            Kind::Both => at(Placement::Both),
        }
    }
    pub fn name(self) -> &'static str {
        match self {
            Kind::Pause => "PAUSE only",
            Kind::Outputs => "QCN at outputs",
            Kind::Inputs => "QCN at inputs",
            Kind::Both => "QCN at inputs and outputs",
        }
    }
}

/// Seeds of Figs. 2 and 5.
pub fn seeds(cx: &Context) -> u64 {
    cx.mode.pick(10, 30)
}

/// The runs of a configuration.
pub fn plan(plan: &mut Plan, cx: &Context, kind: Kind) -> Series {
    plan.series(cx, seeds(cx), kind.name(), |seed| scenes::fan_in(kind.signal(), false, seed))
}

/// Within what time flows begin, for comparison; the entry's own is [`scenes::APART`].
const APART: [Span; 4] = [Span::from_ns(1), Span::from_ns(1_200), Span::from_us(10), Span::from_ms(1)];

/// The runs with QCN at outputs where flows begin within another time.
fn plan_apart(plan: &mut Plan, cx: &Context, within: Span) -> Series {
    let name = format!("{}, start within {within}", Kind::Outputs.name());
    plan.series(cx, cx.mode.pick(2, 30), &name, |seed| scenes::on_ideal(scenes::fan_in_within(Kind::Outputs.signal(), false, seed, within)))
}

/// Rates of the flows that share the output in a phase, once it has settled [bit/s].
pub fn shares(run: &Run, phase: usize) -> Vec<f64> {
    let (from, to, flows) = PHASES[phase];
    (0..flows).map(|f| run.rate(f, from + SETTLED, to)).collect()
}

/// The fair share in a phase [bit/s].
pub fn fair(phase: usize) -> f64 {
    scenes::G10.as_f64() / PHASES[phase].2 as f64
}

/// Ratio of fastest to slowest flow.
pub fn spread(shares: &[f64]) -> f64 {
    let (low, high) = shares.iter().fold((f64::MAX, 0.0f64), |(l, h), &r| (l.min(r), h.max(r)));
    high / low
}

/// Largest distance of a flow from the fair share, as a part of it, over all runs and phases.
pub fn off_fair(runs: &[Run]) -> f64 {
    let off = |r: &Run, p: usize| shares(r, p).iter().map(|s| (s / fair(p) - 1.0).abs()).fold(0.0, f64::max);
    runs.iter().flat_map(|r| (0..PHASES.len()).map(move |p| off(r, p))).fold(0.0, f64::max)
}

/// Throughputs over time, as the paper draws them.
pub fn throughput(title: &str, run: &Run, flows: usize, over: usize) -> Panel {
    let mut panel = Panel::new(title, time(), Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, 10.5e9));
    for f in 0..flows {
        let mut points = run.rates(f, over);
        // f5 is there for 100 ms only: no line along zero.
        let (from, to) = if f == F5 { (100.0, 200.0) } else { (0.0, 300.0) };
        points.retain(|p| lab::ms(from) < p.0 && p.0 <= lab::ms(to));
        panel = panel.mark(Mark::line(format!("f{}", f + 1), points));
    }
    panel
}

pub fn time() -> Axis {
    Axis::new("Time", Unit::Picoseconds).range(0.0, lab::ms(300.0))
}

/// Shares of each phase, one row a seed.
fn table(runs: &[Run], first_seed: u64) -> Table {
    let names = ["Seed", "Phase", "f1", "f2", "f3", "f4", "f5", "Fastest over slowest", "STOPs"];
    let mut table = Table::new(names).align([Align::Right; 9]).caption("Mean rates from 30 ms after each change on.");
    for (n, run) in runs.iter().enumerate().take(10) {
        for (p, (from, to, flows)) in PHASES.into_iter().enumerate() {
            let shares = shares(run, p);
            let cell = |f: usize| if f < flows { lab::rate(shares[f]) } else { String::new() };
            let mut row = vec![(first_seed + n as u64).to_string(), format!("{} to {to} ms", from + SETTLED)];
            row.extend((0..5).map(cell));
            row.extend([format!("{:.2}", spread(&shares)), if p == 0 { run.stops.to_string() } else { String::new() }]);
            table.push(row);
        }
    }
    table
}

fn ratio() -> Unit {
    Unit::Other("times".into())
}

/// Spreads of all seeds and phases.
pub fn spreads(runs: &[Run]) -> Vec<f64> {
    runs.iter().flat_map(|r| (0..PHASES.len()).map(move |p| spread(&shares(r, p)))).collect()
}

/// Number of seeds that are unfair in a phase.
pub fn unfair(runs: &[Run], phase: usize) -> Share {
    Share { of: runs.iter().filter(|r| spread(&shares(r, phase)) >= UNFAIR).count(), n: runs.len() }
}

fn observe(cx: &Context, kinds: &[Kind]) -> Result<(Results, Vec<Series>), ReproduceError> {
    let mut all = Plan::default();
    let series = kinds.iter().map(|&k| plan(&mut all, cx, k)).collect();
    Ok((all.run(cx)?, series))
}

fn figure(letter: char, kind: Kind, runs: &[Run], caption: &str) -> Figure {
    let mut figure = Figure::new(format!("Fan-in, {}: per-flow throughputs (paper: Fig. 2{letter})", kind.name())).caption(caption);
    figure = figure.panel(throughput("The first seed", &runs[0], 5, 2));
    if kind != Kind::Inputs && kind != Kind::Pause {
        figure = figure.panel(throughput("The second seed", &runs[1], 5, 2));
    }
    figure
}

fn claimed(what: impl Into<String>, unit: Unit, value: f64, low: f64, high: f64) -> Check {
    Check::new(what, unit, value, low, high).claimed().assuming(SETTING)
}

/// Fig. 2(a).
pub fn run_a(cx: &Context) -> Result<Findings, ReproduceError> {
    let (results, series) = observe(cx, &[Kind::Pause])?;
    let runs = results.of(series[0]);
    let mut checks = soundness(&results);
    let mut sentences = Vec::new();
    for (p, (from, to, flows)) in PHASES.into_iter().enumerate() {
        let all: Vec<f64> = runs.iter().flat_map(|r| shares(r, p)).collect();
        let worst =
            all.iter().map(|s| s / fair(p)).fold(1.0, |worst: f64, s| if (s - 1.0).abs() > (worst - 1.0f64).abs() { s } else { worst });
        checks.push(
            Check::near(
                format!("{from} to {to} ms: mean rate farthest from the fair share"),
                Unit::BitsPerSecond,
                worst * fair(p),
                fair(p),
                0.1,
            )
            .paper(fair(p))
            .assuming(SETTING),
        );
        // Standard deviation of the rate in windows of 0.5 ms, as a part of the mean.
        let vary = |run: &Run, f: usize| {
            let rates: Vec<f64> =
                run.rates(f, 1).into_iter().filter(|r| lab::ms(from + SETTLED) < r.0 && r.0 <= lab::ms(to)).map(|r| r.1).collect();
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            (rates.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / rates.len() as f64).sqrt() / mean
        };
        let least = runs.iter().flat_map(|r| (0..flows).map(move |f| vary(r, f))).fold(f64::MAX, f64::min);
        checks.push(claimed(
            format!("{from} to {to} ms: smallest variation of a flow in 0.5 ms"),
            Unit::Fraction,
            least,
            0.1,
            f64::INFINITY,
        ));
        let mean = Mean::of(all);
        sentences.push(format!("{} +- {} in 0.5 ms", lab::rate(mean.mean), Unit::Fraction.format(least)));
    }
    let stops = Mean::of(runs.iter().map(|r| r.stops as f64));
    let measured = format!("Mean rates {}; {:.0} STOPs in 300 ms.", sentences.join(", "), stops.mean);
    let caption = "Rates over intervals of 1 ms; below them those of f1 over intervals of 0.5 ms. PAUSE makes pulses of them around 2.5 \
        Gb/s, and 2 Gb/s while f5 is active.";
    let fine = Panel::new("f1, 0.5 ms", time(), Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, 10.5e9))
        .mark(Mark::line("f1", runs[0].rates(0, 1)));
    let figures = vec![figure('a', Kind::Pause, runs, caption).panel(fine)];
    Ok(Findings { measured, checks, figures, tables: vec![table(&runs[..1], cx.seed)], ..Findings::default() })
}

/// Checks of what is unfair, and what was measured.
fn unfairness(runs: &[Run]) -> (Vec<Check>, String) {
    let spreads = spreads(runs);
    let slowest: std::collections::BTreeSet<usize> = runs
        .iter()
        .map(|r| {
            let s = shares(r, 0);
            (0..s.len()).min_by(|&a, &b| s[a].total_cmp(&s[b])).unwrap_or(0)
        })
        .collect();
    // The paper has an unfair allocation in each of the phases, a new one after 200 ms.
    let mut checks: Vec<Check> = (0..PHASES.len())
        .map(|p| {
            let ((from, to, _), part) = (PHASES[p], unfair(runs, p));
            let what = format!("{} to {to} ms: seeds with a ratio of fastest to slowest flow >= {UNFAIR}", from + SETTLED);
            let (low, high) = part.interval();
            claimed(what, Unit::Fraction, part.value(), 0.8, 1.0).interval(low, high)
        })
        .collect();
    checks.push(claimed(
        "flows that are the slowest of the first phase in some seed",
        Unit::Other("flows".into()),
        slowest.len() as f64,
        2.0,
        4.0,
    ));
    let mean = Mean::of(spreads.iter().copied());
    let most = spreads.iter().fold(0.0f64, |a, b| a.max(*b));
    let text = format!(
        "Ratio of fastest to slowest flow {} on average over {} seeds and three phases, at most {most:.2}; {UNFAIR} or more in {}, {} and {} \
         of the seeds in the three phases",
        mean.words(|v| format!("{v:.2}")),
        runs.len(),
        unfair(runs, 0).of,
        unfair(runs, 1).of,
        unfair(runs, 2).of
    );
    (checks, text)
}

/// How unfair each phase is, where one of them is not as the paper has it.
fn why_fair(runs: &[Run]) -> Vec<String> {
    let of = |p: usize| {
        let (from, to, _) = PHASES[p];
        let mean = Mean::of(runs.iter().map(|r| spread(&shares(r, p))));
        format!("{} to {to} ms {} ({})", from + SETTLED, mean.words(|v| format!("{v:.2}")), unfair(runs, p).words())
    };
    let phases: Vec<String> = (0..PHASES.len()).map(of).collect();
    vec![format!(
        "Ratio of fastest to slowest flow by phase, mean over the seeds, and the seeds that reach {UNFAIR}: {}.",
        phases.join(", ")
    )]
}

/// Fig. 2(b).
pub fn run_b(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all = Plan::default();
    let series = plan(&mut all, cx, Kind::Outputs);
    let apart: Vec<(Span, Series)> = APART.iter().map(|&within| (within, plan_apart(&mut all, cx, within))).collect();
    let results = all.run(cx)?;
    let runs = results.of(series);
    let (mut checks, text) = unfairness(runs);
    checks.extend(soundness(&results));
    let soon = Mean::of(runs.iter().map(|r| r.rate(F5, 110.0, 120.0)));
    let mean_claimed =
        |what: &str, unit: Unit, mean: Mean, low: f64, high: f64| Check::mean(what, unit, mean, low, high).claimed().assuming(SETTING);
    checks.push(mean_claimed("f5 from 110 to 120 ms", Unit::BitsPerSecond, soon, 1.5e9, 4e9).beside(2.5e9));
    let over = |r: &Run| {
        let s = shares(r, 1);
        s[F5] / s[..F5].iter().fold(f64::MAX, |a, b| a.min(*b))
    };
    let ends: Vec<f64> = runs.iter().map(over).collect();
    let most = ends.iter().fold(0.0f64, |a, b| a.max(*b));
    let mean = Mean::of(ends);
    checks.push(mean_claimed("f5 over the slowest flow from 130 ms on, mean", ratio(), mean, 1.5, 4.0).beside(3.0));
    checks.push(claimed("f5 over the slowest flow, largest of the seeds", ratio(), most, 2.5, 5.0).beside(3.0));
    let measured = format!(
        "{text}. f5 starts at 10 Gb/s, has {} from 110 to 120 ms and ends with {} times the slowest flow (at most {most:.2}).",
        lab::rate(soon.mean),
        mean.words(|v| format!("{v:.2}"))
    );
    let caption = "One congestion point for all flows: the flow that is sampled first is cut first, and does not recover. The winner depends on \
         the seed.";
    let figures = vec![figure('b', Kind::Outputs, runs, caption)];
    let apart: Vec<String> = apart
        .iter()
        .map(|(within, s)| {
            let runs = results.of(*s);
            let of = spreads(runs).iter().filter(|s| **s >= UNFAIR).count();
            format!("within {within} {}", Share { of, n: runs.len() * PHASES.len() }.words())
        })
        .collect();
    let notes = vec![format!("Distance between the starts of flows, and seeds and phases that reach {UNFAIR}: {}.", apart.join(", "))];
    Ok(Findings { measured, checks, figures, tables: vec![table(runs, cx.seed)], why: why_fair(runs), notes })
}

/// Fig. 2(c).
pub fn run_c(cx: &Context) -> Result<Findings, ReproduceError> {
    let (results, series) = observe(cx, &[Kind::Inputs, Kind::Pause])?;
    let (runs, paused) = (results.of(series[0]), results.of(series[1]));
    let mut checks = soundness(&results);
    let worst = off_fair(runs);
    checks.push(claimed("largest distance of a flow from its fair share, any seed and phase", Unit::Fraction, worst, 0.0, 0.05));
    // How soon: the first stretch of 5 ms after a change from which on every flow stays within 5 %.
    let found = |r: &Run, p: usize| {
        let (from, to, flows) = PHASES[p];
        let bad = |at: f64| (0..flows).any(|f| (r.rate(f, at, at + 5.0) / fair(p) - 1.0).abs() > 0.05);
        let steps = ((to - from) / 5.0) as usize;
        (0..steps).rev().find(|&i| bad(from + 5.0 * i as f64)).map_or(0.0, |i| 5.0 * (i + 1) as f64)
    };
    let times: Vec<Mean> = (0..PHASES.len()).map(|p| Mean::of(runs.iter().map(|r| found(r, p)))).collect();
    let stops = |runs: &[Run]| Mean::of(runs.iter().map(|r| r.stops as f64)).mean;
    let stopped = |runs: &[Run]| Mean::of(runs.iter().map(|r| r.stopped_ps as f64)).mean;
    checks.push(claimed("pause time of hosts, relative to PAUSE only", Unit::Fraction, stopped(runs) / stopped(paused), 0.0, 0.5));
    let means: Vec<String> = (0..PHASES.len()).map(|p| lab::rate(Mean::of(runs.iter().flat_map(|r| shares(r, p))).mean)).collect();
    let measured = format!(
        "{} each, {} seeds; every flow within {} of its fair share. Rates stay within 5 % from {:.0}, {:.0} and {:.0} ms after each change. \
         {:.0} STOPs instead of {:.0}.",
        means.join(", "),
        runs.len(),
        Unit::Fraction.format(worst),
        times[0].mean,
        times[1].mean,
        times[2].mean,
        stops(runs),
        stops(paused)
    );
    let notes = vec![format!(
        "After the end of f5 the others can send more than they offer until their limits have grown: they are within 5 % {:.0} ms after \
         200 ms on average.",
        times[2].mean
    )];
    let caption = "A congestion point for each input: the flows of a phase have the same rates in every seed.";
    let figures = vec![figure('c', Kind::Inputs, runs, caption)];
    Ok(Findings { measured, checks, figures, tables: vec![table(runs, cx.seed)], notes, ..Findings::default() })
}

/// Fig. 2(d).
pub fn run_d(cx: &Context) -> Result<Findings, ReproduceError> {
    let (results, series) = observe(cx, &[Kind::Both, Kind::Outputs, Kind::Inputs])?;
    let [runs, outputs, inputs] = [0, 1, 2].map(|i| results.of(series[i]));
    let (mut checks, text) = unfairness(runs);
    checks.extend(soundness(&results));
    let mean = |runs: &[Run]| Mean::of(spreads(runs)).mean;
    checks.push(claimed("mean spread, above that with QCN at inputs alone by", ratio(), mean(runs) / mean(inputs), 1.1, f64::INFINITY));
    let measured = format!("{text} (outputs alone: {:.2}, inputs alone: {:.2}).", mean(outputs), mean(inputs));
    let cnms = |runs: &[Run]| Mean::of(runs.iter().map(|r| (0..5).map(|f| r.cnms(f, 0.0, 300.0)).sum::<u64>() as f64)).mean;
    let notes = vec![format!(
        "{:.0} CNMs on average over the seeds, {:.0} with outputs alone and {:.0} with inputs alone.",
        cnms(runs),
        cnms(outputs),
        cnms(inputs)
    )];
    let caption = "The congestion point of the output cancels the fairness of those at the inputs.";
    let figures = vec![figure('d', Kind::Both, runs, caption)];
    Ok(Findings { measured, checks, figures, tables: vec![table(runs, cx.seed)], why: why_fair(runs), notes })
}
