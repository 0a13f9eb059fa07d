//! Beyond the paper: the ring of Fig. 1(a) with two hosts per switch. GFC does not deadlock, but its rates collapse.
//!
//! Let a ring link carry R, and let n hosts send into the ring at each switch. A fair egress gives each of its n + 1
//! ingresses R/(n + 1); of what the link carries, n/(n + 1) is local and continues at the next switch, where the transit
//! share is again R/(n + 1). The transit queue is stable only if n/(n + 1) R' <= R/(n + 1), so that flow control slows
//! the link down to R' = R/n. With one host R' = R: any rate is an equilibrium. With two or more each round divides it.

use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_sim::RateSource;
use xoff_units::Span;

use super::schemes::{SCHEMES, STANDSTILL, standstill};
use crate::lab;
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("gfc", "ring-hosts.toml");
const PORT: &str = "S1->S2";

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let runs = cx.parallel(&SCHEMES, |s| lab::run(cx, SCENARIO.0, SCENARIO.1, &[format!("flow_control={}", s.kind)]))?;
    let mut found = Findings::default();
    let mut words = Vec::new();
    let mut panel = Panel::new("", Axis::new("Time", Unit::Picoseconds), Axis::new("Rate allowed to S1->S2", Unit::BitsPerSecond).log());
    for (scheme, run) in SCHEMES.iter().zip(&runs) {
        let rates = run.rates_at_end(Span::from_ms(10));
        let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        if scheme.gentle {
            found.checks.push(standstill(scheme.title, &[run]));
            let share = slowest / 10e9;
            found.checks.push(
                Check::new(
                    format!("{}: slowest flow in the last 10 ms, share of the line", scheme.title),
                    Unit::Fraction,
                    share,
                    0.01,
                    1.0,
                )
                .claimed(),
            );
            panel = panel.mark(Mark::steps(scheme.title, run.port_rate(PORT, RateSource::FlowControl)).colour(scheme.colour));
            words.push(format!(
                "{}: {} of {} flows stop, and the slowest has {} in the last 10 ms",
                scheme.title,
                run.standing_still(STANDSTILL),
                rates.len(),
                lab::rate(slowest)
            ));
        } else {
            let at = run.deadlock().map_or("none".into(), |d| lab::time(lab::ps(d.closed)));
            found
                .checks
                .push(Check::some(format!("{}: deadlocks", scheme.title), "deadlocks", run.outcome.deadlocks.len() as u64).claimed());
            words.push(format!("{}: deadlock at {at}", scheme.title));
        }
    }
    found.checks.push(Check::none("frames lost", "frames", runs.iter().map(|r| r.lost()).sum()));
    if found.failed().next().is_some() {
        found.why.push(
            "A fair egress gives transit traffic 1/(n+1) of a ring link, while n/(n+1) of the traffic on the link must continue at the \
             next switch. Flow control therefore slows the link from R to R/n. With n = 1 any rate is an equilibrium; with n = 2 the \
             rate halves from hop to hop until the last stage."
                .into(),
        );
        found.why.push(
            "Hold and wait is avoided in form only: a port that is allowed a few kb/s holds its frames and waits as long as a paused \
             port."
                .into(),
        );
    }
    found
        .figures
        .push(Figure::new("The ring with two hosts per switch").caption("Rate that GFC allows on a ring link; logarithmic.").panel(panel));
    found.measured = words.join("; ");
    Ok(found)
}
