//! Section III-A: a multicast frame can be sampled once at its input, and at each of its outputs.

use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::Placement;
use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::{Config, HostFlow, Hosts};
use xoff_units::{Bytes, Rate, Span};

use super::run::{Plan, Run, soundness};
use super::scenes::{self, G10, SETTING};
use crate::{Check, Context, Findings, ReproduceError};

/// Length of a run [ms]; the flows stop before, so that every frame comes out.
const END: f64 = 100.0;
const STOP: f64 = 95.0;

/// A flow to `fanout` outputs, and at each of them unicast flows from inputs of their own. Limiters obey no CNM.
fn scene(placement: Placement, fanout: u32, exact: bool, seed: u64) -> Config {
    let mut signal = scenes::at_10g(placement, Sampling::Arrival);
    if let Some((_, r)) = &mut signal {
        r.min_dec_fac = 100; // a cut leaves all of the rate
    }
    signal = scenes::with(signal, |p| {
        if exact {
            // Every frame is a sample, and every sample finds congestion.
            (p.sample_base, p.setpoint, p.weight, p.jitter) = (Bytes(1), Bytes(100), 0, false);
        }
    });
    let rate = Rate::from_gbps(if exact { 2 } else { 4 });
    let outputs: Vec<u32> = (8..8 + fanout).collect();
    let mut flows = vec![HostFlow { destinations: outputs.clone(), ..scenes::flow(0, 8, rate, 0.0, STOP) }];
    for (n, &output) in outputs.iter().enumerate() {
        flows.extend((0..2).map(|k| scenes::flow(1 + 2 * n as u32 + k, output, rate, 0.0, STOP)));
    }
    scenes::stagger(&mut flows, seed, Span::from_us(10));
    let mut c = Config::unbiased_qcn_ideal(16, G10, Hosts::unbiased_qcn(flows, signal));
    (c.window, c.until) = (Span::from_us(500), xoff_units::Time(Span::from_ms(END as u64).0));
    c
}

/// CNMs per frame of a flow.
fn per_frame(r: &Run, flow: usize) -> f64 {
    let frames = r.flows[flow].arrived.iter().sum::<u64>() / 1_542;
    r.cnms(flow, 0.0, END) as f64 / frames as f64
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all = Plan::default();
    let n = cx.mode.pick(3, 10);
    let mut cases = Vec::new();
    for fanout in [2, 3] {
        for (placement, name) in [(Placement::Input, "inputs"), (Placement::Output, "outputs")] {
            for exact in [true, false] {
                let what = format!("multicast to {fanout}, {name}{}", if exact { ", every frame" } else { "" });
                let series = all.series(cx, if exact { 1 } else { n }, &what, |seed| scene(placement, fanout, exact, seed));
                cases.push((fanout, placement, name, exact, series));
            }
        }
    }
    let results = all.run(cx)?;
    let mut checks = soundness(&results);
    let mut table = Table::new(["Fan-out", "QCN at", "Samples", "CNMs per multicast frame", "per unicast frame", "Ratio"]).align([
        Align::Right,
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    let mut bars = vec![Vec::new(); 2];
    let mut sentences = Vec::new();
    for (fanout, placement, name, exact, series) in cases {
        let runs = results.of(series);
        let unicast = 1..=(2 * fanout as usize);
        let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        let multi = mean(&|r| per_frame(r, 0));
        let single = mean(&|r| unicast.clone().map(|f| per_frame(r, f)).sum::<f64>() / (2 * fanout) as f64);
        let expected = if placement == Placement::Input { 1.0 } else { f64::from(fanout) };
        let ratio = multi / single;
        if exact {
            let unit = || Unit::Other("CNMs".into());
            checks.push(
                Check::exact(format!("fan-out {fanout}, {name}: CNMs per frame, every frame sampled"), unit(), multi, expected).claimed(),
            );
            checks.push(Check::exact(format!("fan-out {fanout}, {name}: CNMs per unicast frame"), unit(), single, 1.0));
        } else {
            checks.push(
                Check::near(
                    format!("fan-out {fanout}, {name}: CNMs per frame, ratio of multicast to unicast, I_s = 150 KB"),
                    Unit::Other("times".into()),
                    ratio,
                    expected,
                    0.15,
                )
                .claimed()
                .assuming(SETTING),
            );
            bars[usize::from(placement == Placement::Output)].push(Bar::new(ratio).reference(expected));
            sentences.push(format!("fan-out {fanout}, {name} {ratio:.2}"));
        }
        let samples = if exact { "every frame" } else { "every 150 KB and less" };
        table.push([
            fanout.to_string(),
            name.to_owned(),
            samples.to_owned(),
            format!("{multi:.4}"),
            format!("{single:.4}"),
            format!("{ratio:.2}"),
        ]);
    }
    let figure = figure(bars);
    let measured = format!(
        "Every frame sampled: 1 CNM per frame at inputs, 2 and 3 at outputs. With I_s = 150 KB, relative to unicast: {}.",
        sentences.join(", ")
    );
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], ..Findings::default() })
}

/// Bars of a placement: inputs, then outputs.
fn figure(bars: Vec<Vec<Bar>>) -> Figure {
    let mut groups = bars.into_iter();
    let panel = Panel::new("", Axis::new("", Unit::None), Axis::new("Multicast over unicast", Unit::Other("times".into())).range(0.0, 4.0))
        .mark(
            Mark::bars(
                ["fan-out 2", "fan-out 3"],
                [
                    BarGroup::new("QCN at inputs", groups.next().unwrap_or_default()),
                    BarGroup::new("QCN at outputs", groups.next().unwrap_or_default()),
                ],
            )
            .bar_reference("one per frame, or per copy"),
        );
    Figure::new("CNMs per multicast frame, relative to unicast frames")
        .caption("Section III-A of the paper. All flows send 4 Gb/s, three share each output, and no source obeys. At outputs a multicast flow is notified for each copy.")
        .panel(panel)
}
