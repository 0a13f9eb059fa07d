//! Section 7: a routing loop. GFC's rates go to zero, PFC stops for good.

use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_sim::RateSource;

use super::schemes::{GFC_BUFFER, GFC_TIME, PFC, SCHEMES};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("gfc", "sec7-loop.toml");
const PORT: &str = "H1->S1";

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let runs = cx.parallel(&SCHEMES, |s| {
        let mut settings = vec![format!("flow_control={}", s.kind)];
        if s.gentle {
            settings.push("switch.buffer=303KB".into());
        }
        lab::run(cx, SCENARIO.0, SCENARIO.1, &settings)
    })?;
    let of = |kind: &str| &runs[SCHEMES.iter().position(|s| s.kind == kind).expect("a scheme")];
    let pfc = of(PFC.kind);
    let mut checks = vec![Check::some("PFC: deadlocks", "deadlocks", pfc.outcome.deadlocks.len() as u64).claimed()];
    let mut words = vec![format!("PFC deadlocks at {}", pfc.deadlock().map_or("never".into(), |d| lab::time(lab::ps(d.closed))))];
    for scheme in [GFC_BUFFER, GFC_TIME] {
        let run = of(scheme.kind);
        let rates = run.port_rate(PORT, RateSource::FlowControl);
        let end = lab::ps(run.outcome.now);
        let last = lab::mean(&rates, end - lab::ms(1.0), end);
        // How often a later sample allows more than the one before.
        let rises = rates.windows(2).filter(|w| w[1].1 > w[0].1 && w[0].0 > lab::ms(5.0)).count();
        checks.push(
            Check::new(
                format!("{}: rate of the source in the last ms, as a share of the line", scheme.title),
                Unit::Fraction,
                last / 10e9,
                0.0,
                0.01,
            )
            .claimed(),
        );
        checks.push(
            Check::new(
                format!("{}: rises of the rate after 5 ms", scheme.title),
                Unit::Other("rises".into()),
                rises as f64,
                0.0,
                0.05 * rates.len() as f64,
            )
            .claimed(),
        );
        words.push(format!("{}: {} after {}", scheme.title, lab::rate(last), lab::time(end)));
    }
    checks.push(Check::none("frames lost", "frames", runs.iter().map(Observed::lost).sum()));
    checks.push(Check::none("bytes delivered", "bytes", runs.iter().flat_map(|r| &r.outcome.flows).map(|f| f.delivered).sum()));
    let mut panel = Panel::new("", Axis::new("Time", Unit::Picoseconds), Axis::new("Rate of the source's port", Unit::BitsPerSecond).log());
    for (scheme, run) in SCHEMES.iter().zip(&runs).filter(|(s, _)| s.gentle) {
        panel = panel
            .mark(Mark::steps(format!("{}, allowed", scheme.title), run.port_rate(PORT, RateSource::FlowControl)).colour(scheme.colour));
    }
    if let Some(d) = pfc.deadlock() {
        panel = panel.mark(Mark::vline(lab::ps(d.closed), "PFC: deadlock"));
    }
    let figure = Figure::new("A routing loop (section 7)")
        .caption("Frames circulate through S1, S2, S3 forever. PFC stops permanently; GFC admits less and less.")
        .panel(panel);
    Ok(Findings { measured: words.join("; "), checks, figures: vec![figure], ..Findings::default() })
}
