//! Fig. 5: PFC next to conceptual GFC at a 2-to-1 port, as a fluid and in packets.

use xoff_analysis::theorems::fig5::{Fig5, Point};
use xoff_net::topology::PortNumbers;
use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_sim::{RateSource, Row};
use xoff_units::Time;

use crate::lab::{self, Observed, Points};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("gfc", "fig05.toml");
const PORT: &str = "H0->S1";
/// Two frames of 1500 B: what packets may differ from the fluid.
const FRAMES: f64 = 3000.0;

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let kinds = ["pfc", "gfc-conceptual"];
    let runs = cx.parallel(&kinds, |kind| lab::run(cx, SCENARIO.0, SCENARIO.1, &[format!("flow_control={kind}")]))?;
    let [pfc, gfc] = &runs[..] else { unreachable!("two jobs, two answers") };
    let fluid = Fig5::default();
    let swing = fluid.pfc_swing();
    let (until, steady) = (lab::ms(1.0), lab::ms(0.4));

    let (low, high) = lab::range(&pfc.ingress(PORT), steady, lab::ms(5.0));
    let pauses = toggles(pfc);
    let spans = |stopped: bool| {
        let all: Vec<f64> = pauses.windows(2).filter(|w| w[0].1 == stopped && w[0].0 > steady).map(|w| w[1].0 - w[0].0).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let (off, on) = (spans(true), spans(false));
    let at_rest = gfc.ingress(PORT);
    let (rest_low, rest_high) = lab::range(&at_rest, steady, lab::ms(5.0));
    let top = lab::highest(&at_rest);
    let rate = lab::mean(&gfc.port_rate(PORT, RateSource::Measured), steady, lab::ms(5.0));
    let slowest = gfc.allowed_min(PORT).map_or(f64::NAN, |r| r.as_f64());
    let close = |what: &str, value: f64, expected: f64| Check::new(what, Unit::Bytes, value, expected - FRAMES, expected + FRAMES);
    let span = |what: &str, value: f64, expected: f64| Check::near(what, Unit::Picoseconds, value, expected, 0.05);
    let checks = vec![
        close("PFC, lowest queue in steady state", low, swing.queue_min.0 as f64),
        close("PFC, highest queue", high, swing.queue_max.0 as f64),
        span("PFC, OFF time per period", off, swing.off.0 as f64),
        span("PFC, full-rate time per period", on, swing.on.0 as f64),
        Check::near("PFC: ratio of these two times, which should be equal", Unit::None, on / off, 1.0, 0.05).claimed(),
        close("GFC, highest queue", top.1, 78_500.0),
        close("GFC, lowest queue from 0.4 ms on", rest_low, 75_000.0).paper(75e3),
        close("GFC, highest queue from 0.4 ms on", rest_high, 75_000.0).paper(75e3),
        Check::near("GFC, rate from 0.4 ms on", Unit::BitsPerSecond, rate, 5e9, 0.02).paper(5e9),
        Check::new("GFC, smallest rate allowed", Unit::BitsPerSecond, slowest, 1e9, 10e9).claimed(),
        Check::none("frames lost", "frames", pfc.lost() + gfc.lost()),
    ];
    let warned = gfc.warnings.iter().find(|w| w.contains("4.1")).cloned();
    let notes = vec![
        warned.unwrap_or_else(|| "The loader gave no warning about Theorem 4.1.".into()),
        "B_m - B_0 = 50 KB is 1.6 C tau: \
        outside Theorem 4.1, which demands 4 C tau = 125 KB. Here it is enough, because the drain of C/2 never stops."
            .into(),
    ];
    let measured = format!(
        "PFC swings between {} and {} ({} on, {} off). GFC peaks at {} and settles at {} to {}, {}",
        lab::bytes(low),
        lab::bytes(high),
        lab::time(on),
        lab::time(off),
        lab::bytes(top.1),
        lab::bytes(rest_low),
        lab::bytes(rest_high),
        lab::rate(rate)
    );

    let figure = figure(&fluid, pfc, gfc, until);
    Ok(Findings { measured, checks, figures: vec![figure], notes, ..Findings::default() })
}

/// Queues and allowed rates, packets next to the fluid model, up to `until` [ps].
fn figure(fluid: &Fig5, pfc: &Observed, gfc: &Observed, until: f64) -> Figure {
    let curve = |points: &[Point], f: fn(&Point) -> f64| -> Points { points.iter().map(|p| (p.time.0 as f64, f(p))).collect() };
    let queue = |p: &Point| p.queue.0 as f64;
    let speed = |p: &Point| p.rate.as_f64();
    let end = Time(until as u64);
    let (fluid_pfc, fluid_gfc) = (fluid.pfc(end), fluid.gfc(end));
    let first = |points: Points| -> Points { points.into_iter().filter(|p| p.0 <= until).collect() };
    let mut figure = Figure::new("Two flows into one port (paper: Fig. 5)")
        .caption(
            "Left PFC, right conceptual GFC. The paper's curves: PFC swings around XON and XOFF with equal times at zero and at \
            line rate; GFC settles at 75 KB and 5 Gb/s.",
        )
        .columns(2);
    for (name, run, points) in [("PFC", pfc, &fluid_pfc), ("Conceptual GFC", gfc, &fluid_gfc)] {
        let mut panel = Panel::new(
            format!("{name}: ingress queue"),
            Axis::new("Time", Unit::Picoseconds).range(0.0, until),
            Axis::new("Queue length", Unit::Bytes),
        );
        let fluid_line = Mark::line("fluid", curve(points, queue)).dashed();
        panel = panel.mark(Mark::line("packets", first(run.ingress(PORT)))).mark(fluid_line);
        panel = if name == "PFC" {
            panel.mark(Mark::hline(80e3, "XOFF")).mark(Mark::hline(77e3, "XON"))
        } else {
            panel.mark(Mark::hline(75e3, "paper: 75 KB"))
        };
        figure = figure.panel(panel);
    }
    for (name, run, points) in [("PFC", pfc, &fluid_pfc), ("Conceptual GFC", gfc, &fluid_gfc)] {
        let packets = if name == "PFC" { stops(run, until) } else { first(run.port_rate(PORT, RateSource::FlowControl)) };
        let panel = Panel::new(
            format!("{name}: allowed rate"),
            Axis::new("Time", Unit::Picoseconds).range(0.0, until),
            Axis::new("Rate", Unit::BitsPerSecond),
        );
        let fluid_line = if name == "PFC" { Mark::steps("fluid", curve(points, speed)) } else { Mark::line("fluid", curve(points, speed)) };
        figure = figure.panel(panel.mark(Mark::steps("packets", packets)).mark(fluid_line.dashed()));
    }
    figure
}

/// When the port was paused and released: time, stopped.
fn toggles(run: &Observed) -> Vec<(f64, bool)> {
    let node = run.topology.find("H0").unwrap_or(0);
    let ports = PortNumbers::new(&run.topology);
    let mut all: Vec<(f64, bool)> = Vec::new();
    for r in &run.rows {
        if let Row::Pause(p) = *r
            && ports.place(p.port.0).0 == node
            && all.last().is_none_or(|l| l.1 != p.stopped)
        {
            all.push((p.time_ps as f64, p.stopped));
        }
    }
    all
}

/// The rate that PFC allows over time.
fn stops(run: &Observed, until: f64) -> Points {
    let mut points = vec![(0.0, 10e9)];
    points.extend(toggles(run).into_iter().filter(|t| t.0 <= until).map(|(t, stopped)| (t, if stopped { 0.0 } else { 10e9 })));
    points
}
