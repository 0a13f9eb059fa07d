//! Figs. 9 and 10: what both share, the port of S1 behind H1.

use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_sim::RateSource;
use xoff_units::Span;

use super::ring;
use super::schemes::Scheme;
use crate::lab::{self, Observed};
use crate::{Context, ReproduceError};

/// The port whose queue and input rate both figures show.
pub const PORT: &str = "H1->S1";
/// Stretch at the end of a run over which it is steady.
pub const END: Span = Span::from_ms(10);
/// Assumption behind the paper's transient.
pub const LATER: &str =
    "H3 starts 3 ms after H1 and H2; the paper's servers \"start together\", but nothing synchronises them to the millisecond";
/// The setting of it.
pub const LATER_SETTING: &str = "flow[2].start=3ms";

/// The port in one run.
pub struct Seen {
    /// Highest fill [bytes].
    pub peak: f64,
    /// Mean fill over the last 10 ms [bytes].
    pub rest: f64,
    /// Largest minus smallest fill over the last 10 ms [bytes].
    pub swing: f64,
    /// Smallest rate that flow control allowed H1 [bit/s].
    pub slowest: f64,
    /// Rate of every flow over the last 10 ms [bit/s].
    pub rates: Vec<f64>,
}

/// Looks at the port.
pub fn look(run: &Observed) -> Seen {
    let queue = run.ingress(PORT);
    let end = lab::ps(run.outcome.now);
    let from = end - END.0 as f64;
    let (low, high) = lab::range(&queue, from, end);
    Seen {
        peak: run.ingress_peak(PORT),
        rest: lab::mean(&queue, from, end),
        swing: high - low,
        slowest: run.allowed_min(PORT).map_or(f64::NAN, |r| r.as_f64()),
        rates: run.rates_at_end(END),
    }
}

/// A run of the ring: scheme, discipline, more settings.
pub type Job<'a> = (Scheme, &'a str, Vec<String>);

/// Runs the jobs for as long as the figures last.
pub fn observe(cx: &Context, jobs: &[Job]) -> Result<Vec<Observed>, ReproduceError> {
    cx.parallel(jobs, |(scheme, discipline, more)| ring::observe(cx, *scheme, discipline, more))
}

/// Settings in words for a job.
pub fn settings<S: Into<String>>(all: impl IntoIterator<Item = S>) -> Vec<String> {
    all.into_iter().map(Into::into).collect()
}

/// Queue above, input rate below, one column a run; `levels` are the paper's queue lengths in each.
pub fn figure(title: &str, caption: &str, runs: &[(&str, Scheme, &Observed, &[f64])], until: f64) -> Figure {
    let mut figure = Figure::new(title).caption(caption).columns(runs.len());
    let time = || Axis::new("Time", Unit::Picoseconds).range(0.0, until);
    let first = |points: lab::Points| points.into_iter().filter(move |p| p.0 <= until);
    for (name, scheme, run, levels) in runs {
        let mut panel = Panel::new(*name, time(), Axis::new("Queue length", Unit::Bytes).range(0.0, 1e6));
        panel = panel.mark(Mark::line(scheme.title, first(run.ingress(PORT))).colour(scheme.colour));
        for level in *levels {
            panel = panel.mark(Mark::hline(*level, format!("paper: {}", lab::bytes(*level))));
        }
        if let Some(d) = run.deadlock() {
            panel = panel.mark(Mark::vline(lab::ps(d.closed), "deadlock"));
        }
        figure = figure.panel(panel);
    }
    for (_, scheme, run, _) in runs {
        let panel = Panel::new("", time(), Axis::new("Input rate", Unit::BitsPerSecond).range(0.0, 10.5e9));
        figure = figure.panel(panel.mark(Mark::line(scheme.title, first(run.port_rate(PORT, RateSource::Measured))).colour(scheme.colour)));
    }
    figure
}
