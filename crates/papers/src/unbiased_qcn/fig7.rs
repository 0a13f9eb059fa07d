//! Fig. 7: an input-generated hotspot at 100 Gb/s.

use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::Placement;
use xoff_report::{Align, Axis, Figure, Mark, Panel, Table, Unit};

use super::run::{Plan, Run, soundness};
use super::scenes::{self, RACK, Scheme};
use crate::stats::Mean;
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError, lab};

/// Flows to the hotspot in the text: 100/6 = 16.6. The victim is the flow after them.
pub const HOT: u32 = 6;
const VICTIM: usize = HOT as usize;
/// End of a run, and from when on it is settled [ms].
const END: f64 = 60.0;
/// See [`END`].
const SETTLED: f64 = 30.0;

/// The configurations.
const KINDS: [Scheme; 6] = [
    ("PAUSE only", || None),
    ("arrival at inputs", || scenes::at_100g(Placement::Input, Sampling::Arrival)),
    ("random at inputs", || scenes::at_100g(Placement::Input, Sampling::Random)),
    ("random at inputs, keep-alive", || scenes::with(scenes::at_100g(Placement::Input, Sampling::Random), |p| p.keep_alive = true)),
    ("largest at inputs", || scenes::at_100g(Placement::Input, Sampling::Largest)),
    ("arrival at outputs", || scenes::at_100g(Placement::Output, Sampling::Arrival)),
];
const PAUSE: usize = 0;
const ARRIVAL: usize = 1;
const RANDOM: usize = 2;
const KEEP_ALIVE: usize = 3;
const LARGEST: usize = 4;
const OUTPUT: usize = 5;

fn plan(plan: &mut Plan, cx: &Context, kind: usize, hot: u32, on_rack: bool) -> Series {
    let (name, signal) = KINDS[kind];
    let (seeds, fabric) =
        if on_rack { (cx.mode.pick(3, if kind == ARRIVAL { 10 } else { 4 }), "fabric of Fig. 1, ") } else { (cx.mode.pick(5, 20), "") };
    plan.series(cx, seeds, &format!("hotspot of {hot}, {fabric}{name}"), |seed| {
        let scene = scenes::input_hotspot(signal(), hot, END, seed);
        if on_rack { scenes::on_rack(scene) } else { scene }
    })
}

/// Rate of a flow once settled, over all seeds [bit/s].
fn rate(runs: &[Run], flow: usize) -> Mean {
    Mean::of(runs.iter().map(|r| r.rate(flow, SETTLED, END)))
}

/// From the smallest to the largest rate of the victim over the seeds.
fn range(runs: &[Run]) -> String {
    let all: Vec<f64> = runs.iter().map(|r| r.rate(VICTIM, SETTLED, END)).collect();
    format!("{} to {}", lab::rate(all.iter().copied().fold(f64::MAX, f64::min)), lab::rate(all.iter().copied().fold(0.0, f64::max)))
}

/// Mean of a buffer of the first flow, once settled [bytes].
fn held(runs: &[Run], at_input: bool) -> f64 {
    Mean::of(runs.iter().map(|r| r.mean(if at_input { &r.flows[0].input } else { &r.flows[0].output }, SETTLED, END))).mean
}

fn throughput(title: &str, run: &Run) -> Panel {
    let time = Axis::new("Time", Unit::Picoseconds).range(0.0, lab::ms(END));
    let mut panel = Panel::new(title, time, Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, 105e9));
    for f in 0..=VICTIM {
        panel = panel.mark(Mark::line(format!("f{}", f + 1), run.rates(f, 10)));
    }
    panel
}

fn buffers(title: &str, runs: &[(&str, &Run)], at_input: bool) -> Panel {
    let time = Axis::new("Time", Unit::Picoseconds).range(0.0, lab::ms(END));
    let mut panel = Panel::new(title, time, Axis::new("Buffer", Unit::Bytes).range(0.0, 155e3));
    for (name, r) in runs {
        panel = panel.mark(Mark::line(*name, r.points(if at_input { &r.flows[0].input } else { &r.flows[0].output })));
    }
    panel.mark(Mark::hline(60e3, "Q_eq"))
}

/// The entry.
#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all = Plan::default();
    let kinds = [PAUSE, ARRIVAL, RANDOM, KEEP_ALIVE, LARGEST, OUTPUT];
    let rack = kinds.map(|k| plan(&mut all, cx, k, HOT, true));
    let switch = kinds.map(|k| plan(&mut all, cx, k, HOT, false));
    let caption = plan(&mut all, cx, PAUSE, HOT - 1, false);
    let results = all.run(cx)?;
    let runs = |k: usize| results.of(rack[k]);
    let ideal = |k: usize| results.of(switch[k]);
    let mut checks = soundness(&results);
    let share = 100e9 / f64::from(HOT);
    let near = |what: &str, value: Mean, expected: f64, paper: f64| {
        Check::mean(what, Unit::BitsPerSecond, value, expected * 0.95, expected * 1.05).paper(paper).assuming(RACK)
    };
    checks.push(near("PAUSE only: victim f7", rate(runs(PAUSE), VICTIM), share, 16.6e9));
    checks.push(near("arrival sampling at inputs: victim f7, mean of the seeds", rate(runs(ARRIVAL), VICTIM), share, 16.6e9));
    for (k, name) in [(RANDOM, "random"), (LARGEST, "largest")] {
        checks.push(near(&format!("{name} occupancy sampling: victim f7"), rate(runs(k), VICTIM), 50e9, 50e9));
    }
    let farthest = (0..VICTIM)
        .map(|f| rate(runs(RANDOM), f))
        .max_by(|a, b| (a.mean - share).abs().total_cmp(&(b.mean - share).abs()))
        .expect("a hotspot has flows");
    checks.push(near("random occupancy sampling: f1 to f6, farthest", farthest, share, share));
    let bytes = |what: &str, value: f64, low: f64, high: f64| Check::new(what, Unit::Bytes, value, low, high).claimed().assuming(RACK);
    checks.push(bytes("(c) input of f1 and f7, occupancy sampling at inputs", held(runs(RANDOM), true), 42e3, 78e3).beside(60e3));
    checks.push(bytes("(c) input of f1 and f7, QCN at outputs", held(runs(OUTPUT), true), 0.0, 10e3));
    checks.push(bytes("(d) congested output, occupancy sampling at inputs", held(runs(RANDOM), false), 120e3, 150e3));
    checks.push(bytes("(d) congested output, QCN at outputs", held(runs(OUTPUT), false), 42e3, 78e3).beside(60e3));
    let mut table = Table::new(["Fabric", "QCN", "f7", "Slowest of f1 to f6", "Fastest", "Input of f1", "Output", "STOPs", "CNMs to f7"])
        .align([Align::Left, Align::Left].into_iter().chain([Align::Right; 7]))
        .caption(format!("Means over the seeds from {SETTLED} ms on; STOPs and CNMs over {END} ms. The interval is that of 95 %."));
    let both = KINDS.iter().enumerate().flat_map(|(k, (name, _))| [("Fig. 1", name, runs(k)), ("ideal switch", name, ideal(k))]);
    for (fabric, name, runs) in both {
        let ends: Vec<(f64, f64)> = runs
            .iter()
            .map(|r| (0..VICTIM).map(|f| r.rate(f, SETTLED, END)).fold((f64::MAX, 0.0f64), |(l, h), v| (l.min(v), h.max(v))))
            .collect();
        table.push([
            fabric.to_owned(),
            (*name).to_owned(),
            rate(runs, VICTIM).words(lab::rate),
            lab::rate(Mean::of(ends.iter().map(|e| e.0)).mean),
            lab::rate(Mean::of(ends.iter().map(|e| e.1)).mean),
            lab::bytes(held(runs, true)),
            lab::bytes(held(runs, false)),
            format!("{:.0}", Mean::of(runs.iter().map(|r| r.stops as f64)).mean),
            format!("{:.1}", Mean::of(runs.iter().map(|r| r.cnms(VICTIM, 0.0, END) as f64)).mean),
        ]);
    }
    let of = |k: usize| rate(runs(k), VICTIM).words(lab::rate);
    let measured = format!(
        "Fabric of Fig. 1, victim f7: PAUSE only {}, arrival sampling {} (ideal switch {}), random {}, largest {}. Occupancy sampling \
         at inputs: input {}, output {}. QCN at outputs: input {}, output {}.",
        of(PAUSE),
        of(ARRIVAL),
        rate(ideal(ARRIVAL), VICTIM).words(lab::rate),
        of(RANDOM),
        of(LARGEST),
        lab::bytes(held(runs(RANDOM), true)),
        lab::bytes(held(runs(RANDOM), false)),
        lab::bytes(held(runs(OUTPUT), true)),
        lab::bytes(held(runs(OUTPUT), false))
    );
    let more = |runs: &[Run]| Unit::Fraction.format(rate(runs, VICTIM).mean / share - 1.0);
    let why = vec![format!(
        "Arrival sampling gives the victim {} more than a sixth of the line rate on the fabric of Fig. 1 and {} more on the ideal \
         switch. CNMs go to f1 and f7 in proportion to their arrivals, and f7 is cut less as its rate falls. The effect depends on the \
         seed, and f7 has {} and {}. Single runs of the two fabrics differ by as much, but their means differ no more than the scatter \
         of seeds.",
        more(runs(ARRIVAL)),
        more(ideal(ARRIVAL)),
        range(runs(ARRIVAL)),
        range(ideal(ARRIVAL))
    )];
    let notes = vec![
        format!(
            "With five flows at the hotspot, as in the caption, PAUSE would give the victim {}: the text's six flows are meant.",
            lab::rate(rate(results.of(caption), HOT as usize - 1).mean)
        ),
        "QCN at outputs also leaves the victim its 50 Gb/s, because an output never samples it. But f1 to f6 have no fair shares.".into(),
    ];
    let figure = figure(|k| &runs(k)[0]);
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], why, notes })
}

/// Draws the first run of each kind.
fn figure<'a>(first: impl Fn(usize) -> &'a Run) -> Figure {
    Figure::new("Input-generated hotspot at 100 Gb/s (paper: Fig. 7)")
        .caption(
            "The fabric of Fig. 1; f2 to f6 start at 10 ms. PAUSE drags the victim f7 down to the share of f1; occupancy sampling \
            does not affect it.",
        )
        .panel(throughput("(a) PAUSE only", first(PAUSE)))
        .panel(throughput("(a) Arrival sampling at inputs", first(ARRIVAL)))
        .panel(throughput("(b) Random occupancy sampling at inputs, keep-alive", first(KEEP_ALIVE)))
        .panel(buffers(
            "(c) Input of f1 and f7",
            &[("random at inputs, keep-alive", first(KEEP_ALIVE)), ("QCN at outputs", first(OUTPUT))],
            true,
        ))
        .panel(buffers(
            "(d) Congested output",
            &[("random at inputs, keep-alive", first(KEEP_ALIVE)), ("QCN at outputs", first(OUTPUT))],
            false,
        ))
}
