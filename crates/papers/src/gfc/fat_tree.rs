//! Figs. 12 to 14: what they share, the fat-tree with three failed links.

use xoff_analysis::cbd::gfc_fig11;
use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_sim::RateSource;
use xoff_units::Span;

use super::schemes::{FIFO, ROUND_ROBIN, SLACK, STANDSTILL, Scheme, standstill};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("gfc", "fat-tree.toml");
/// B_m + 2 MTU of that scenario.
const SLACK_BUFFER: &str = "303KB";
/// Stretch at the end of a run over which rates are taken.
pub const END: Span = Span::from_ms(10);

/// Runs the case under a scheme and a discipline.
pub fn observe(cx: &Context, scheme: Scheme, discipline: &str, scenario: (&str, &str)) -> Result<Observed, ReproduceError> {
    let mut settings = scheme.settings(discipline, SLACK_BUFFER);
    settings.push(format!("run.seed={}", cx.seed));
    lab::run(cx, scenario.0, scenario.1, &settings)
}

/// Fig. 12 or 13: a scheme that deadlocks next to one that does not.
pub fn pair(cx: &Context, title: &str, stops: Scheme, gentle: Scheme, queue: (f64, f64)) -> Result<Findings, ReproduceError> {
    let jobs = [(stops, "fifo"), (gentle, "round-robin"), (stops, "round-robin"), (gentle, "fifo")];
    let runs = cx.parallel(&jobs, |(scheme, discipline)| observe(cx, *scheme, discipline, SCENARIO))?;
    let (dead, alive) = (&runs[0], &runs[1]);
    let closed = dead.deadlock().map_or(f64::NAN, |d| lab::ps(d.closed));
    let fastest = dead.rates_at_end(END).into_iter().fold(0.0, f64::max);
    let mut checks = vec![
        Check::some(format!("{}: deadlocks", stops.title), "deadlocks", dead.outcome.deadlocks.len() as u64).claimed().assuming(FIFO),
        Check::new(format!("{}: the cycle closed at", stops.title), Unit::Picoseconds, closed, 0.0, lab::ms(50.0)).assuming(FIFO),
        Check::exact(
            format!("{}: ports of the stated cycle among those of the deadlock", stops.title),
            Unit::Other("ports".into()),
            on_cycle(dead) as f64,
            4.0,
        )
        .claimed()
        .assuming(FIFO),
        Check::exact(format!("{}: fastest flow in the last 10 ms", stops.title), Unit::BitsPerSecond, fastest, 0.0)
            .claimed()
            .assuming(FIFO),
    ];
    let rates = alive.rates_at_end(END);
    for (flow, rate) in rates.iter().enumerate() {
        checks.push(
            Check::near(format!("{}: rate of F{}", gentle.title, flow + 1), Unit::BitsPerSecond, *rate, 5e9, 0.02)
                .paper(5e9)
                .assuming(ROUND_ROBIN),
        );
    }
    let end = lab::ps(alive.outcome.now);
    let level = lab::mean(&alive.ingress("C1->A3"), end - END.0 as f64, end);
    let host = lab::mean(&alive.ingress("H0->E1"), end - END.0 as f64, end);
    checks.extend([
        Check::new(format!("{}: steady-state queue behind H0", gentle.title), Unit::Bytes, host, queue.0, queue.1).assuming(ROUND_ROBIN),
        standstill(&format!("{}, round robin", gentle.title), &[alive]).assuming(ROUND_ROBIN),
        standstill(&format!("{}, FIFO", gentle.title), &[&runs[3]]).assuming(FIFO),
        Check::none("frames lost", "frames", runs.iter().map(Observed::lost).sum()).assuming(SLACK),
    ]);
    let mean = |r: &[f64]| lab::rate(r.iter().sum::<f64>() / r.len() as f64);
    let measured = format!(
        "{} (FIFO) deadlocks at {} through {}. {} (round robin): {} per flow, with a steady-state queue of {} behind H0 and {} behind \
         C1.",
        stops.title,
        lab::time(closed),
        dead.deadlock().map(|d| dead.cycle(d)).unwrap_or_default(),
        gentle.title,
        rates.iter().map(|r| lab::rate(*r)).collect::<Vec<_>>().join(", "),
        lab::bytes(host),
        lab::bytes(level)
    );
    let why = vec![format!(
        "As on the ring, no single discipline gives both results. {} under round robin: {} deadlocks, {} per flow. {} under FIFO: {} of \
         4 flows stop at the end of 60 ms. Each has {} in the last 10 ms.",
        stops.title,
        runs[2].outcome.deadlocks.len(),
        mean(&runs[2].rates_at_end(END)),
        gentle.title,
        runs[3].standing_still(STANDSTILL),
        mean(&runs[3].rates_at_end(END))
    )];
    let runs = [(format!("{}, FIFO", stops.title), dead), (format!("{}, round robin", gentle.title), alive)];
    Ok(Findings { measured, checks, figures: vec![figure(title, &runs, 4)], why, ..Findings::default() })
}

/// Number of ports of the paper's cycle that are in the deadlock.
fn on_cycle(run: &Observed) -> usize {
    let stuck: Vec<String> =
        run.deadlock().map(|d| d.cycle.iter().map(|p| run.topology.port_name(p.node, p.port)).collect()).unwrap_or_default();
    gfc_fig11::CYCLE.iter().filter(|c| stuck.iter().any(|s| s == *c)).count()
}

/// Throughput of the flows, one column a run; queue of two ports below.
pub fn figure(title: &str, runs: &[(String, &Observed)], flows: u32) -> Figure {
    let until = lab::ms(20.0);
    let first = |points: lab::Points| points.into_iter().filter(move |p| p.0 <= until);
    let time = || Axis::new("Time", Unit::Picoseconds).range(0.0, until);
    let mut figure = Figure::new(title)
        .caption("The paper: PFC and CBFC stop all flows permanently; with GFC each flow has 5 Gb/s.")
        .columns(runs.len());
    for (name, run) in runs {
        let mut panel = Panel::new(name.as_str(), time(), Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, 10.5e9));
        for f in 0..flows {
            panel = panel.mark(Mark::line(format!("F{}", f + 1), first(run.flow_rate(f, RateSource::Measured))));
        }
        figure = figure.panel(panel.mark(Mark::hline(5e9, "paper, GFC: 5 Gb/s")));
    }
    for (_, run) in runs {
        let mut panel = Panel::new("", time(), Axis::new("Ingress queue", Unit::Bytes).range(0.0, 310e3));
        for port in ["H0->E1", "C1->A3"] {
            panel = panel.mark(Mark::line(port, first(run.ingress(port))));
        }
        figure = figure.panel(panel);
    }
    figure
}
