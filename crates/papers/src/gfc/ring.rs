//! The demonstration: four flow controls on the three-switch ring, under both disciplines.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Tone, Unit};
use xoff_sim::RateSource;
use xoff_units::Span;

use super::schemes::{CBFC, FIFO, GFC_BUFFER, GFC_TIME, PFC, ROUND_ROBIN, SCHEMES, SLACK, STANDSTILL, Scheme, standstill};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// The scenario of the testbed.
pub(super) const RING: (&str, &str) = scenario!("gfc", "ring.toml");
/// B_m + 2 MTU of that scenario.
pub(super) const SLACK_BUFFER: &str = "1003KB";

const DISCIPLINES: [&str; 2] = ["fifo", "round-robin"];
/// Stretch at the end of a run over which rates are taken.
const END: Span = Span::from_ms(10);
/// Duration of GFC runs under FIFO, where the rate falls: at 60 ms flows still move.
const LONG: &str = "run.duration=1s";

/// Runs the ring once.
pub(super) fn observe(cx: &Context, scheme: Scheme, discipline: &str, more: &[String]) -> Result<Observed, ReproduceError> {
    let mut settings = scheme.settings(discipline, SLACK_BUFFER);
    // The last one of a setting counts: a job may have a seed of its own.
    settings.push(format!("run.seed={}", cx.seed));
    settings.extend_from_slice(more);
    lab::run(cx, RING.0, RING.1, &settings)
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let jobs: Vec<(Scheme, &str)> = DISCIPLINES.iter().flat_map(|d| SCHEMES.map(|s| (s, *d))).collect();
    let runs = cx.parallel(&jobs, |(scheme, discipline)| observe(cx, *scheme, discipline, &[]))?;
    let gentle = [GFC_BUFFER, GFC_TIME];
    let long = cx.parallel(&gentle, |scheme| observe(cx, *scheme, "fifo", &[LONG.to_owned(), "probes.interval=1ms".to_owned()]))?;
    let of = |scheme: Scheme, discipline: &str| {
        let at = jobs.iter().position(|j| *j == (scheme, discipline)).expect("a job");
        &runs[at]
    };

    let mut checks = Vec::new();
    for scheme in [PFC, CBFC] {
        let run = of(scheme, "fifo");
        let found = run.outcome.deadlocks.len() as u64;
        checks.push(Check::some(format!("{}, FIFO: deadlocks", scheme.title), "deadlocks", found).claimed().assuming(FIFO));
        let closed = run.deadlock().map_or(f64::NAN, |d| lab::ps(d.closed));
        let latest = if scheme == PFC { 20.0 } else { 60.0 };
        checks.push(
            Check::new(format!("{}, FIFO: the cycle closed at", scheme.title), Unit::Picoseconds, closed, 0.0, lab::ms(latest))
                .assuming(FIFO),
        );
    }
    for (scheme, long) in gentle.into_iter().zip(&long) {
        let run = of(scheme, "round-robin");
        checks.push(standstill(&format!("{}, round robin", scheme.title), &[run]).assuming(ROUND_ROBIN));
        for (flow, rate) in run.rates_at_end(END).into_iter().enumerate() {
            let what = format!("{}, round robin: rate of flow {}", scheme.title, flow + 1);
            checks.push(Check::near(what, Unit::BitsPerSecond, rate, 5e9, 0.02).paper(5e9).assuming(ROUND_ROBIN));
        }
        let run = of(scheme, "fifo");
        checks.push(standstill(&format!("{}, FIFO, 1 s", scheme.title), &[long]).assuming(FIFO));
        let window = slowest_window(run, Span::from_ms(2));
        checks.push(Check::new(
            format!("{}, FIFO: slowest flow in any 2 ms", scheme.title),
            Unit::BitsPerSecond,
            window,
            1.0,
            f64::INFINITY,
        ));
    }
    let lost: u64 = runs.iter().chain(&long).map(Observed::lost).sum();
    checks.push(Check::none("frames lost in all runs", "frames", lost).claimed().assuming(SLACK));

    let rate = |scheme, discipline| {
        let rates = of(scheme, discipline).rates_at_end(END);
        lab::rate(rates.iter().sum::<f64>() / rates.len() as f64)
    };
    let closed = |s| of(s, "fifo").deadlock().map_or("never".to_owned(), |d| lab::time(lab::ps(d.closed)));
    let measured = format!(
        "FIFO: PFC deadlocks at {}, CBFC at {}. GFC is at {} (buffer-based) and {} (time-based) per flow after 60 ms, and {} and {} of \
         its three flows stop before 1 s. Round robin: nothing deadlocks, and GFC gives {} and {} per flow. Frames lost: {lost}.",
        closed(PFC),
        closed(CBFC),
        rate(GFC_BUFFER, "fifo"),
        rate(GFC_TIME, "fifo"),
        long[0].standing_still(STANDSTILL),
        long[1].standing_still(STANDSTILL),
        rate(GFC_BUFFER, "round-robin"),
        rate(GFC_TIME, "round-robin"),
    );
    let table = table(&jobs, &runs);
    let why = vec![format!(
        "No single discipline gives both results of the paper in this noise-free ring. Under FIFO the ports of hosts and of ring links \
         hold equally much and are slowed down alike. A host needs half of a link's rate, so that the rate of GFC falls without end ({} \
         and {} per flow after 60 ms; docs/theory/gfc-repair.md). Round robin guarantees transit traffic its half. Then PFC and CBFC do \
         not deadlock either ({} and {}). See matrix.",
        rate(GFC_BUFFER, "fifo"),
        rate(GFC_TIME, "fifo"),
        deadlocks(of(PFC, "round-robin")),
        deadlocks(of(CBFC, "round-robin")),
    )];
    Ok(Findings { measured, checks, figures: vec![figure(&jobs, &runs)], tables: vec![table], why, ..Findings::default() })
}

fn deadlocks(run: &Observed) -> String {
    match run.outcome.deadlocks.len() {
        0 => "no deadlock".into(),
        n => format!("{n} deadlocks"),
    }
}

/// Rate of the slowest flow in the slowest window [bit/s].
fn slowest_window(run: &Observed, window: Span) -> f64 {
    let end = lab::ps(run.outcome.now);
    let mut slowest = f64::INFINITY;
    for flow in 0..run.outcome.flows.len() as u32 {
        let points = run.flow_rate(flow, RateSource::Measured);
        let mut from = 0.0;
        while from + window.0 as f64 <= end {
            slowest = slowest.min(lab::mean(&points, from, from + window.0 as f64));
            from += window.0 as f64;
        }
    }
    slowest
}

fn table(jobs: &[(Scheme, &str)], runs: &[Observed]) -> Table {
    use Align::{Centre, Left, Right};
    let heading = [
        "Flow control",
        "Egress",
        "Deadlock",
        "Closed at",
        "Through",
        "Flow 1",
        "Flow 2",
        "Flow 3",
        "Peak ingress queue",
        "Messages",
        "Frames lost",
    ];
    let mut table = Table::new(heading).align([Left, Left, Centre, Right, Left, Right, Right, Right, Right, Right, Right]);
    for ((scheme, discipline), run) in jobs.iter().zip(runs) {
        let mut row = vec![Cell::from(scheme.title), Cell::code(*discipline)];
        match run.deadlock() {
            Some(d) => row.extend([Cell::badge(Tone::Bad, "deadlock"), lab::time(lab::ps(d.closed)).into(), run.cycle(d).into()]),
            None => row.extend([Cell::badge(Tone::Good, "none"), "".into(), "".into()]),
        }
        row.extend(run.rates_at_end(END).into_iter().map(|r| Cell::from(lab::rate(r))));
        row.extend([lab::bytes(run.peak()).into(), run.messages().into(), run.lost().into()]);
        table.push(row);
    }
    table.caption("Rates cover the last 10 ms of 60 ms.")
}

fn figure(jobs: &[(Scheme, &str)], runs: &[Observed]) -> Figure {
    let mut figure = Figure::new("Three-switch ring, testbed parameters")
        .caption(
            "Left: FIFO egress; PFC and CBFC stop permanently, and GFC slows down. Right: egress with round robin over the \
            ingresses; every flow keeps half the line rate. Queue: the ingress buffer of S1 behind H1. Rate: what arrives of flow 1.",
        )
        .columns(2);
    for (what, y) in
        [("Ingress queue of H1's port", Axis::new("Queue length", Unit::Bytes)), ("Rate of flow 1", Axis::new("Rate", Unit::BitsPerSecond))]
    {
        for discipline in DISCIPLINES {
            let name = if discipline == "fifo" { "FIFO" } else { "round robin" };
            let mut panel = Panel::new(format!("{what}, {name}"), Axis::new("Time", Unit::Picoseconds), y.clone());
            for ((scheme, _), run) in jobs.iter().zip(runs).filter(|((_, d), _)| *d == discipline) {
                let points = if y.unit == Unit::Bytes { run.ingress("H1->S1") } else { run.flow_rate(0, RateSource::Measured) };
                panel = panel.mark(Mark::line(scheme.title, points).colour(scheme.colour));
            }
            figure = figure.panel(panel);
        }
    }
    figure
}
