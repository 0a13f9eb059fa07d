//! Fig. 14: a flow that never meets the cycle, and stops all the same.

use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_sim::RateSource;

use super::fat_tree::{END, observe};
use super::schemes::{FIFO, ROUND_ROBIN, SCHEMES, SLACK};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("gfc", "fig14.toml");
/// F5 among the flows of the scenario.
const VICTIM: usize = 4;

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let runs = cx.parallel(&SCHEMES, |s| observe(cx, *s, if s.gentle { "round-robin" } else { "fifo" }, SCENARIO))?;
    let rates: Vec<f64> = runs.iter().map(|r| r.rates_at_end(END)[VICTIM]).collect();
    let mut checks = Vec::new();
    for ((scheme, run), rate) in SCHEMES.iter().zip(&runs).zip(&rates) {
        if scheme.gentle {
            checks.push(
                Check::near(format!("{}: rate of F5", scheme.title), Unit::BitsPerSecond, *rate, 5e9, 0.02)
                    .paper(5e9)
                    .assuming(ROUND_ROBIN),
            );
        } else {
            checks.push(
                Check::some(format!("{}: deadlocks", scheme.title), "deadlocks", run.outcome.deadlocks.len() as u64)
                    .claimed()
                    .assuming(FIFO),
            );
            checks.push(Check::exact(format!("{}: rate of F5", scheme.title), Unit::BitsPerSecond, *rate, 0.0).paper(0.0).assuming(FIFO));
        }
    }
    checks.push(Check::none("frames lost", "frames", runs.iter().map(Observed::lost).sum()).assuming(SLACK));
    let until = lab::ms(20.0);
    let mut panel = Panel::new(
        "",
        Axis::new("Time", Unit::Picoseconds).range(0.0, until),
        Axis::new("Throughput of F5", Unit::BitsPerSecond).range(0.0, 10.5e9),
    );
    for (scheme, run) in SCHEMES.iter().zip(&runs) {
        let points = run.flow_rate(VICTIM as u32, RateSource::Measured).into_iter().filter(|p| p.0 <= until);
        panel = panel.mark(Mark::line(scheme.title, points).colour(scheme.colour));
    }
    let figure = Figure::new("F5 as a victim of the deadlock (paper: Fig. 14)")
        .caption("F5 shares only its first two links with F1. The paper: F5 stops under PFC and CBFC and has 5 Gb/s under GFC.")
        .panel(panel.mark(Mark::hline(5e9, "paper, GFC: 5 Gb/s")));
    let all = SCHEMES.iter().zip(&rates).map(|(s, r)| format!("{} {}", s.title, lab::rate(*r))).collect::<Vec<_>>().join(", ");
    Ok(Findings { measured: format!("F5 over the last 10 ms of 60 ms: {all}"), checks, figures: vec![figure], ..Findings::default() })
}
