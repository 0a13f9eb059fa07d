//! Section 7: GFC with several priorities needs a scheduler that leaves each of them something.

use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_sim::RateSource;
use xoff_units::Span;

use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("gfc", "sec7-priorities.toml");
/// Flows of the scenario: high, low.
const NAMES: [&str; 2] = ["high priority", "low priority"];

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let kinds = ["gfc-buffer", "gfc-time"];
    let schedulers = ["drr", "strict"];
    let jobs: Vec<(&str, &str)> = kinds.iter().flat_map(|k| schedulers.map(|s| (*k, s))).collect();
    let runs = cx.parallel(&jobs, |(kind, scheduler)| {
        lab::run(cx, SCENARIO.0, SCENARIO.1, &[format!("flow_control={kind}"), format!("switch.scheduler={scheduler}")])
    })?;
    let mut checks = Vec::new();
    let mut words = Vec::new();
    for ((kind, scheduler), run) in jobs.iter().zip(&runs) {
        let rates = run.rates_at_end(Span::from_ms(5));
        let what = |f: usize| format!("{kind}, {scheduler}: rate of the {} flow", NAMES[f]);
        // Weights 3 to 1; strict priority leaves nothing.
        let expected = if *scheduler == "drr" { [7.5e9, 2.5e9] } else { [10e9, 0.0] };
        for f in 0..2 {
            let c = if expected[f] == 0.0 {
                Check::exact(what(f), Unit::BitsPerSecond, rates[f], 0.0)
            } else {
                Check::near(what(f), Unit::BitsPerSecond, rates[f], expected[f], 0.02)
            };
            checks.push(c.claimed());
        }
        let end = lab::ps(run.outcome.now);
        let sent = lab::mean(&run.port_rate("H1->S1", RateSource::Measured), end - lab::ms(5.0), end);
        if *scheduler == "drr" {
            checks.push(
                Check::near(
                    format!("{kind}, {scheduler}: input of the low flow matches its drain"),
                    Unit::BitsPerSecond,
                    sent,
                    2.5e9,
                    0.02,
                )
                .claimed(),
            );
        }
        words.push(format!("{kind}, {scheduler}: {} and {}", lab::rate(rates[0]), lab::rate(rates[1])));
    }
    checks.push(Check::none("frames lost", "frames", runs.iter().map(Observed::lost).sum()));
    let mut figure = Figure::new("Two priorities on one output (section 7)")
        .caption(
            "With weights of 3 to 1 GFC matches each input to its share. Under strict priority the low priority gets nothing, and \
            GFC stops its sender.",
        )
        .columns(2);
    for ((kind, scheduler), run) in jobs.iter().zip(&runs) {
        let name = if *scheduler == "drr" { "weights 3:1" } else { "strict" };
        let mut panel = Panel::new(
            format!("{kind}, {name}"),
            Axis::new("Time", Unit::Picoseconds),
            Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, 10.5e9),
        );
        for (f, name) in NAMES.iter().enumerate() {
            panel = panel.mark(Mark::line(*name, run.flow_rate(f as u32, RateSource::Measured)));
        }
        figure = figure.panel(panel);
    }
    Ok(Findings { measured: words.join("; "), checks, figures: vec![figure], ..Findings::default() })
}
