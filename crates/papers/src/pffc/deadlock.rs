//! Three flows around a ring: PFC stops, PFFC does not.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Tone, Unit};
use xoff_sim::RateSource;

use super::run::{END, PFC, PFFC, broken, run};
use crate::lab;
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("pffc", "ring.toml");
/// Assumption behind a deadlock.
const FIFO: &str = "the egress is FIFO across ingresses (the slides name no discipline)";

/// The entry.
pub fn run_ring(cx: &Context) -> Result<Findings, ReproduceError> {
    let schemes = [PFC, PFFC];
    let runs = cx.parallel(&schemes, |s| run(cx, SCENARIO, *s, &[""; 0]))?;
    let rates: Vec<Vec<f64>> = runs.iter().map(|r| r.rates_at_end(END)).collect();
    let found = |i: usize| runs[i].outcome.deadlocks.len() as u64;
    let mut checks = vec![
        Check::some("PFC: deadlocks", "deadlocks", found(0)).claimed().assuming(FIFO),
        Check::exact("PFC: rate of all flows in the last 10 ms", Unit::BitsPerSecond, rates[0].iter().sum(), 0.0).claimed().assuming(FIFO),
        Check::none("PFFC: deadlocks", "deadlocks", found(1)).claimed(),
    ];
    for (flow, rate) in rates[1].iter().enumerate() {
        checks.push(Check::new(format!("PFFC: rate of flow {}", flow + 1), Unit::BitsPerSecond, *rate, 4.5e9, 5.05e9));
    }
    checks.push(Check::none("frames lost or out of order, both runs", "frames", runs.iter().map(broken).sum()));
    let mut table = Table::new(["Flow control", "Deadlock", "Closed at", "Flow 1", "Flow 2", "Flow 3", "Largest ingress"]).align([
        Align::Left,
        Align::Centre,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    let mut figure =
        Figure::new("Three flows around a ring").caption("The slides: a deadlock may occur under PFC, but not under PFFC.").columns(2);
    for ((scheme, run), rates) in schemes.iter().zip(&runs).zip(&rates) {
        let mut row = vec![Cell::from(scheme.title)];
        row.extend(match run.deadlock() {
            Some(d) => [Cell::badge(Tone::Bad, "deadlock"), lab::time(lab::ps(d.closed)).into()],
            None => [Cell::badge(Tone::Good, "none"), "".into()],
        });
        row.extend(rates.iter().map(|r| Cell::from(lab::rate(*r))));
        row.push(lab::bytes(run.peak()).into());
        table.push(row);
        let axis = Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, 10.5e9);
        let until = lab::ms(5.0);
        let mut panel = Panel::new(scheme.title, Axis::new("Time", Unit::Picoseconds).range(0.0, until), axis);
        for flow in 0..3 {
            let points = run.flow_rate(flow, RateSource::Measured).into_iter().filter(|p| p.0 <= until);
            panel = panel.mark(Mark::line(format!("flow {}", flow + 1), points));
        }
        if let Some(d) = run.deadlock() {
            panel = panel.mark(Mark::vline(lab::ps(d.closed), "deadlock"));
        }
        figure = figure.panel(panel);
    }
    let closed = runs[0].deadlock().map_or("never".to_owned(), |d| lab::time(lab::ps(d.closed)));
    let measured = format!(
        "PFC: the deadlock closes at {closed}. PFFC: no deadlock, {} per flow in the last 10 ms.",
        rates[1].iter().map(|r| lab::rate(*r)).collect::<Vec<_>>().join(", ")
    );
    Ok(Findings {
        measured,
        checks,
        figures: vec![figure],
        tables: vec![table.caption("Rates cover the last 10 ms of 40 ms.")],
        ..Findings::default()
    })
}
