//! Congestion spreading: a flow over a slow link, and one next to it.

use xoff_report::{Align, Axis, Figure, Mark, Panel, Table, Unit};
use xoff_sim::RateSource;

use super::run::{END, PFC, PFFC, broken, run};
use crate::lab;
use crate::{Check, Context, Findings, ReproduceError};

/// The scenario; another entry lets its flows collide.
pub(super) const SCENARIO: (&str, &str) = scenario!("pffc", "victim.toml");
/// Assumption about the slides.
const SLOW: &str = "the slow link carries 1 Gb/s";

/// The entry.
pub fn run_spreading(cx: &Context) -> Result<Findings, ReproduceError> {
    let schemes = [PFC, PFFC];
    let runs = cx.parallel(&schemes, |s| run(cx, SCENARIO, *s, &[""; 0]))?;
    let rates: Vec<Vec<f64>> = runs.iter().map(|r| r.rates_at_end(END)).collect();
    let rate = |what: &str, value: f64, expected: f64| Check::near(what, Unit::BitsPerSecond, value, expected, 0.01);
    let checks = vec![
        Check::new("PFC: rate of flow 2", Unit::BitsPerSecond, rates[0][1], 0.0, 1.5e9).claimed().assuming(SLOW),
        rate("PFFC: rate of flow 2", rates[1][1], 3e9).paper(3e9),
        rate("PFFC: rate of flow 1", rates[1][0], 1e9).assuming(SLOW),
        Check::none("frames lost or out of order, both runs", "frames", runs.iter().map(broken).sum()),
    ];
    let mut table = Table::new(["Flow control", "Flow 1", "Flow 2", "Largest fill of S2 behind S1", "Stops of S1->S2", "Control frames"])
        .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right]);
    let mut figure = Figure::new("Two flows of 3 Gb/s over one link; flow 1 continues over a link of 1 Gb/s")
        .caption("The slides: PFC needlessly slows flow 2, PFFC does not.")
        .columns(2);
    for ((scheme, run), rates) in schemes.iter().zip(&runs).zip(&rates) {
        table.push([
            scheme.title.to_owned(),
            lab::rate(rates[0]),
            lab::rate(rates[1]),
            lab::bytes(run.ingress_peak("S1->S2")),
            run.totals("S1->S2").blocks.to_string(),
            run.messages().to_string(),
        ]);
        let axis = Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, 3.5e9);
        let mut panel = Panel::new(scheme.title, Axis::new("Time", Unit::Picoseconds), axis);
        for flow in 0..2 {
            panel = panel.mark(Mark::line(format!("flow {}", flow + 1), run.flow_rate(flow, RateSource::Measured)));
        }
        figure = figure.panel(panel.mark(Mark::hline(3e9, "offered: 3 Gb/s")));
    }
    let measured = format!(
        "PFC: flow 1 {}, flow 2 {}. PFFC: flow 1 {}, flow 2 {}.",
        lab::rate(rates[0][0]),
        lab::rate(rates[0][1]),
        lab::rate(rates[1][0]),
        lab::rate(rates[1][1])
    );
    Ok(Findings {
        measured,
        checks,
        figures: vec![figure],
        tables: vec![table.caption("Rates cover the last 10 ms of 20 ms.")],
        ..Findings::default()
    })
}
