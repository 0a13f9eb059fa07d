//! Figs. 9 and 10 with real frames: what stops and what moves, judged by an independent packet capture.

use xoff_report::{Align, Axis, Figure, Mark, Panel, Table, Unit};
use xoff_sim::RateSource;
use xoff_units::Span;

use super::repeat::{Cell, Real, Runs, all, capture_table, captured, machine};
use crate::gfc::schemes::{CBFC, FIFO, GFC_BUFFER, GFC_TIME, PARKED, PFC, REPAIRED, ROUND_ROBIN, SLACK, Scheme};
use crate::lab::{self, Observed};
use crate::stats::Mean;
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("gfc/testbed", "ring.toml");
/// The port whose queue and input rate the figures show.
const PORT: &str = "H1->S1";
/// The link that is captured.
const RING_LINK: &str = "S1->S2";
/// B_m + 2 MTU.
const SLACK_BUFFER: &str = "1003KB";
/// Stretch at the end of a run over which it is steady: a hundred times that of the simulation, within reason.
const END: Span = Span::from_ms(500);
/// Half the line [bit/s].
const HALF: f64 = 50e6;
/// Assumption behind all of it.
const SLOWER: &str =
    "a hundred times slower: rates are a hundredth of the paper's and times a hundred times as long, so that sizes are the same";
/// Assumption behind the transient.
const LATER: &str = "H3 starts 300 ms after H1 and H2, a hundred times the 3 ms of the simulation";

/// A scheme under a discipline.
struct Job {
    scheme: Scheme,
    fifo: bool,
    what: &'static str,
    cell: Cell,
}

fn job(scheme: Scheme, fifo: bool, what: &'static str, duration: &str, more: &[&str]) -> Job {
    let discipline = if fifo { "fifo" } else { "round-robin" };
    let mut cell = Cell::new(format!("{}, {what}", scheme.title), SCENARIO, more);
    cell.settings.extend(scheme.settings(discipline, SLACK_BUFFER));
    cell.settings.push(format!("run.duration={duration}"));
    cell.captured = Some(RING_LINK);
    Job { scheme, fifo, what, cell }
}

/// The entry `fig09`.
pub fn run_fig09(cx: &Context) -> Result<Findings, ReproduceError> {
    let jobs = [
        job(PFC, true, "FIFO", "2s", &[]),
        job(GFC_BUFFER, true, "FIFO", "3s", &[]),
        job(GFC_BUFFER, false, "round robin", "2s", &[]),
        job(GFC_BUFFER, false, "round robin, H3 later", "2s", &["flow[2].start=300ms"]),
        job(PFC, false, "round robin", "2s", &[]),
    ];
    let (all, simulated) = observe(cx, &jobs)?;
    let mut found = common(&jobs, &all);
    let rest = |r: &Real| at_rest(&r.seen);
    let peak = |r: &Real| r.seen.ingress_peak(PORT);
    let slowest = |r: &Real| r.seen.allowed_min(PORT).map_or(f64::NAN, |r| r.as_f64());
    found.checks.extend([
        Check::mean(
            "GFC, round robin: steady-state queue, mean of the runs",
            Unit::Bytes,
            all[2].mean(rest),
            PARKED - 4500.0,
            PARKED + 4500.0,
        )
        .beside(840e3)
        .assuming(ROUND_ROBIN),
        near("GFC, H3 later: highest queue, mean of the runs", Unit::Bytes, all[3].mean(peak), 884e3).paper(884e3).assuming(LATER),
        near("GFC, H3 later: steady-state queue, mean of the runs", Unit::Bytes, all[3].mean(rest), 840e3).paper(840e3).assuming(LATER),
        Check::mean("GFC, H3 later: smallest rate of H1, mean of the runs", Unit::BitsPerSecond, all[3].mean(slowest), 25e6, 25e6)
            .paper(25e6)
            .assuming(LATER),
    ]);
    found.measured = format!(
        "Stopped, by the packet capture: PFC under FIFO {}; GFC under FIFO {} and under round robin {}. GFC under round robin: {} per \
         flow, steady-state queue {}; with H3 later a peak of {}, then {}. GFC under FIFO: {} per flow in the last 500 ms of 3 s.",
        all[0].share(|r| r.still).words(),
        all[1].share(|r| r.still).words(),
        all[2].share(|r| r.still).words(),
        lab::rate(all[2].mean(mean_rate).mean),
        lab::bytes(all[2].mean(rest).mean),
        lab::bytes(all[3].mean(peak).mean),
        lab::bytes(all[3].mean(rest).mean),
        lab::rate(all[1].mean(mean_rate).mean),
    );
    found.notes.push(format!(
        "PFC under round robin stopped in {}. This is not judged, because the paper names no discipline.",
        all[4].share(|r| r.still).words()
    ));
    found.figures.push(figure(
        "Real frames: PFC and buffer-based GFC, the port of H1 (paper: Fig. 9)",
        "Solid: the first run that counts. Dashed: the simulation of the same scenario. The paper: under PFC the queue fills and the \
         rate drops to zero. Under GFC the queue climbs to 884 KB, H1 briefly sends at a quarter of the line rate, then 840 KB and half \
         the line rate.",
        &[(0, &[]), (3, &[884e3, 840e3]), (1, &[])],
        &jobs,
        &all,
        &simulated,
    ));
    Ok(found)
}

/// The entry `fig10`.
pub fn run_fig10(cx: &Context) -> Result<Findings, ReproduceError> {
    let jobs = [
        job(CBFC, true, "FIFO", "4s", &[]),
        job(GFC_TIME, true, "FIFO", "3s", &[]),
        job(GFC_TIME, false, "round robin", "2s", &[]),
        job(CBFC, false, "round robin", "2s", &[]),
    ];
    let (all, simulated) = observe(cx, &jobs)?;
    let mut found = common(&jobs, &all);
    let rest = |r: &Real| at_rest(&r.seen);
    found.checks.push(
        near("GFC, round robin: steady-state queue, mean of the runs", Unit::Bytes, all[2].mean(rest), 745e3)
            .paper(745e3)
            .assuming(ROUND_ROBIN),
    );
    found.measured = format!(
        "Stopped, by the packet capture: CBFC under FIFO {}; GFC under FIFO {} and under round robin {}. GFC under round robin: {} per \
         flow, steady-state queue {}. GFC under FIFO: {} per flow in the last 500 ms of 3 s.",
        all[0].share(|r| r.still).words(),
        all[1].share(|r| r.still).words(),
        all[2].share(|r| r.still).words(),
        lab::rate(all[2].mean(mean_rate).mean),
        lab::bytes(all[2].mean(rest).mean),
        lab::rate(all[1].mean(mean_rate).mean),
    );
    found.notes.push(format!(
        "CBFC under round robin stopped in {}. This is not judged, because the paper names no discipline.",
        all[3].share(|r| r.still).words()
    ));
    found.figures.push(figure(
        "Real frames: CBFC and time-based GFC, the port of H1 (paper: Fig. 10)",
        "Solid: the first run that counts. Dashed: the simulation of the same scenario. The paper: under CBFC the queue fills and the \
         rate drops to zero; under GFC, after an initial fluctuation, 745 KB and half the line rate.",
        &[(0, &[]), (2, &[745e3]), (1, &[])],
        &jobs,
        &all,
        &simulated,
    ));
    Ok(found)
}

/// The entry `repair`: entry ports of GFC under FIFO.
pub fn run_repair(cx: &Context) -> Result<Findings, ReproduceError> {
    let jobs = [job(GFC_BUFFER, true, "FIFO", "6s", &[]), job(REPAIRED, true, "FIFO", "6s", &["flow_control.gfc-buffer.entry_ports=1"])];
    let (all, simulated) = observe(cx, &jobs)?;
    let slowest = |r: &Real| r.seen.rates_at_end(END).into_iter().fold(f64::INFINITY, f64::min);
    let (paper, ours) = (all[0].mean(slowest), all[1].mean(slowest));
    let still = all[1].share(|r| r.still);
    let mut checks = vec![
        captured(&all[1], all[1].none("entry ports: runs that stopped", |r| r.still).ours()),
        Check::mean("entry ports: slowest flow, mean of the runs", Unit::BitsPerSecond, ours, 0.9 * HALF, f64::INFINITY),
        Check::mean(
            "slowest flow: rate under the paper's rule divided by rate with entry ports, means of the runs",
            Unit::None,
            paper.over(ours),
            0.0,
            0.2,
        ),
    ];
    checks.extend(all.iter().map(Runs::enough));
    let lost = all.iter().map(Runs::lost).sum();
    checks.push(Check::none("frames lost in all runs: in nodes, on wires, in the kernel's rings", "frames", lost));
    let measured = format!(
        "Slowest flow in the last 500 ms of 6 s, FIFO: {} by the paper's rule, {} with entry ports. Stopped, by the packet capture: {} \
         and {}.",
        lab::rate(paper.mean),
        lab::rate(ours.mean),
        all[0].share(|r| r.still).words(),
        still.words()
    );
    let figures = vec![figure(
        "Real frames: buffer-based GFC with and without entry ports, port of H1",
        "Under FIFO. Solid: the first run that counts. Dashed: the simulation of the same scenario.",
        &[(0, &[]), (1, &[])],
        &jobs,
        &all,
        &simulated,
    )];
    Ok(Findings {
        measured,
        checks,
        figures,
        tables: vec![table(&all), capture_table(&all)],
        notes: vec![machine(&all)],
        ..Findings::default()
    })
}

fn observe(cx: &Context, jobs: &[Job]) -> Result<(Vec<Runs>, Vec<Observed>), ReproduceError> {
    let simulated = jobs.iter().map(|j| j.cell.simulate(cx)).collect::<Result<_, _>>()?;
    let cells: Vec<&Cell> = jobs.iter().map(|j| &j.cell).collect();
    Ok((all(cx, &cells)?, simulated))
}

/// Claims of both figures: stopped flows, moving flows and their rates, and no loss.
fn common(jobs: &[Job], all: &[Runs]) -> Findings {
    let mut checks = Vec::new();
    for (job, runs) in jobs.iter().zip(all) {
        let what = format!("{}: runs that stopped", runs.name);
        match (job.scheme.gentle, job.fifo) {
            (false, true) => {
                checks.push(captured(runs, runs.nearly_all(what, |r| r.still).assuming(FIFO)));
                let disagree = runs.runs.iter().filter(|r| r.still == r.seen.outcome.deadlocks.is_empty()).count() as u64;
                checks.push(Check::none(
                    format!("{}: runs in which the nodes' own deadlock detector disagrees", runs.name),
                    "runs",
                    disagree,
                ));
            }
            (true, fifo) => {
                let assumption = if fifo { FIFO } else { ROUND_ROBIN };
                checks.push(captured(runs, runs.none(what, |r| r.still).assuming(assumption)));
                if !fifo && job.what == "round robin" {
                    let rate = |flow: usize| runs.mean(|r| r.seen.rates_at_end(END)[flow]);
                    checks.extend((0..3).map(|flow| {
                        let what = format!("{}: rate of flow {}, mean of the runs", runs.name, flow + 1);
                        near(what, Unit::BitsPerSecond, rate(flow), HALF).paper(HALF).assuming(SLOWER)
                    }));
                } else if fifo {
                    let slowest = runs.runs.iter().flat_map(|r| r.seen.rates_at_end(END)).fold(f64::INFINITY, f64::min);
                    let what = format!("{}: slowest flow of all runs in the last 500 ms", runs.name);
                    checks.push(Check::new(what, Unit::BitsPerSecond, slowest, 1.0, HALF).claimed().assuming(FIFO));
                }
            }
            // Stated in a note.
            (false, false) => continue,
        }
        checks.push(runs.enough());
    }
    let lost = all.iter().map(Runs::lost).sum();
    checks.push(Check::none("frames lost in all runs: in nodes, on wires, in the kernel's rings", "frames", lost).assuming(SLACK));
    Findings { checks, tables: vec![table(all), capture_table(all)], notes: vec![machine(all)], ..Findings::default() }
}

/// A mean that lies, with all of its interval, within 2 % of what was computed, as in the simulation.
fn near(what: impl Into<String>, unit: Unit, mean: Mean, expected: f64) -> Check {
    Check::near(what, unit, mean.mean, expected, 0.02).of(mean)
}

fn at_rest(run: &Observed) -> f64 {
    let end = lab::ps(run.outcome.now);
    lab::mean(&run.ingress(PORT), end - END.0 as f64, end)
}

fn mean_rate(r: &Real) -> f64 {
    r.seen.rates_at_end(END).iter().sum::<f64>() / 3.0
}

fn table(all: &[Runs]) -> Table {
    use Align::{Left, Right};
    let mut table =
        Table::new(["Cell", "Stopped", "Closed at", "Mean rate of a flow", "Steady-state queue", "Highest queue", "Control frames"])
            .align([Left, Left, Right, Right, Right, Right, Right])
            .caption(
                "Means over the runs that count, with their 95 % intervals. Rates and the steady-state queue cover the last 500 ms. \
            The time when a cycle closed is reported by the nodes' own deadlock detector.",
            );
    for runs in all {
        let closed = runs.runs.iter().filter_map(|r| r.seen.deadlock()).map(|d| lab::ps(d.closed)).collect::<Vec<_>>();
        let closed = if closed.is_empty() { String::new() } else { lab::time(closed.iter().sum::<f64>() / closed.len() as f64) };
        table.push([
            runs.name.clone(),
            runs.share(|r| r.still).words(),
            closed,
            runs.mean(mean_rate).words(lab::rate),
            runs.mean(|r| at_rest(&r.seen)).words(lab::bytes),
            runs.mean(|r| r.seen.ingress_peak(PORT)).words(lab::bytes),
            format!("{:.0}", runs.mean(|r| r.seen.messages() as f64).mean),
        ]);
    }
    table
}

/// Queue above, input rate below, one column a job: its number and the paper's levels.
fn figure(title: &str, caption: &str, shown: &[(usize, &[f64])], jobs: &[Job], all: &[Runs], simulated: &[Observed]) -> Figure {
    let mut figure = Figure::new(title).caption(caption).columns(shown.len());
    let time = |i: usize| Axis::new("Time", Unit::Picoseconds).range(0.0, lab::ps(simulated[i].outcome.now));
    let curves = |panel: Panel, i: usize, of: &dyn Fn(&Observed) -> lab::Points| {
        let colour = jobs[i].scheme.colour;
        let panel = all[i].runs.iter().take(1).fold(panel, |p, r| p.mark(Mark::line("real frames", of(&r.seen)).colour(colour)));
        panel.mark(Mark::line("simulated", of(&simulated[i])).colour(xoff_report::Colour::Grey).dashed())
    };
    for (i, levels) in shown {
        let scheme = jobs[*i].scheme;
        let name = format!("{}, {}", if scheme.gentle && scheme != REPAIRED { "GFC" } else { scheme.title }, jobs[*i].what);
        let panel = Panel::new(name, time(*i), Axis::new("Queue length", Unit::Bytes).range(0.0, 1.05e6));
        let mut panel = curves(panel, *i, &|o| o.ingress(PORT));
        for level in *levels {
            panel = panel.mark(Mark::hline(*level, format!("paper: {}", lab::bytes(*level))));
        }
        figure = figure.panel(panel);
    }
    for (i, _) in shown {
        let panel = Panel::new("", time(*i), Axis::new("Input rate", Unit::BitsPerSecond).range(0.0, 105e6));
        figure = figure.panel(curves(panel, *i, &|o| o.port_rate(PORT, RateSource::Measured)));
    }
    figure
}
