//! Ours: buffer-based GFC whose entry ports slow down before the others (docs/theory/gfc-repair.md), where the paper's rule decays.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_sim::RateSource;
use xoff_units::Span;

use super::large_scale::{LargeScale, Parts, Scheme as Searched, Sizes};
use super::matrix::{DISCIPLINES, INPUT_FIFO, OFFSETS, SETS};
use super::ring::{RING, SLACK_BUFFER};
use super::schemes::{GFC_BUFFER, GFC_TIME, REPAIRED, Scheme, standstill};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

const HOSTS: (&str, &str) = scenario!("gfc", "ring-hosts.toml");
/// Stretch at the end of a run over which rates are taken.
const END: Span = Span::from_ms(20);
/// Required rate of a flow of the ring [bit/s].
const KEPT: f64 = 4.5e9;
/// Rate of a link [bit/s], length of a message [bit] and tau of the links of section 6.2.2 [s].
const LINE: f64 = 10e9;
const MESSAGE_BITS: f64 = 512.0;
const TAU: f64 = 7.4e-6;

/// One run: its name, hosts per switch, flow control, settings.
struct Job {
    name: String,
    hosts: usize,
    scheme: Scheme,
    settings: Vec<String>,
}

fn job(name: &str, hosts: usize, scheme: Scheme, discipline: &str, ms: u64, more: &[&str]) -> Job {
    let mut settings = scheme.settings(discipline, SLACK_BUFFER);
    if scheme == REPAIRED {
        settings.push(format!("flow_control.gfc-buffer.entry_ports={hosts}"));
    }
    settings.extend(more.iter().map(|s| (*s).to_owned()));
    settings.extend([format!("run.duration={ms}ms"), "probes.interval=500us".into()]);
    Job { name: format!("{name}, {}", scheme.title), hosts, scheme, settings }
}

fn observe(cx: &Context, j: &Job) -> Result<Observed, ReproduceError> {
    let (name, text) = if j.hosts == 1 { RING } else { HOSTS };
    lab::run(cx, name, text, &j.settings)
}

/// The largest share of a link that messages of a port take.
fn messages(run: &Observed) -> f64 {
    let most = run.outcome.ports.iter().flatten().map(|p| p.messages_sent).max().unwrap_or(0);
    most as f64 * MESSAGE_BITS / run.outcome.now.as_secs_f64() / LINE
}

fn slowest(run: &Observed) -> f64 {
    run.rates_at_end(END).into_iter().fold(f64::INFINITY, f64::min)
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let second = cx.mode.pick(200, 1_000);
    let simulations = SETS[1].settings;
    let two = |discipline| [GFC_BUFFER, REPAIRED].map(|s| job(&format!("two hosts, {discipline}"), 2, s, discipline, second / 5, &[]));
    let mut jobs: Vec<Job> = [GFC_BUFFER, GFC_TIME, REPAIRED].map(|s| job("ring, fifo", 1, s, "fifo", second, &[])).into();
    jobs.extend([GFC_BUFFER, REPAIRED].map(|s| job("ring, fifo, thresholds of the simulations", 1, s, "fifo", second / 5, simulations)));
    jobs.extend(two("fifo").into_iter().chain(two("round-robin")));
    let runs = cx.parallel(&jobs, |j| observe(cx, j))?;
    let mut found = Findings::default();
    for (j, run) in jobs.iter().zip(&runs).filter(|(j, _)| j.scheme == REPAIRED) {
        let (what, kept) = (&j.name, KEPT / j.hosts as f64);
        found.checks.push(standstill(what, &[run]).ours());
        found.checks.push(Check::new(
            format!("{what}: slowest flow in the last 20 ms of {}", lab::time(lab::ps(run.outcome.now))),
            Unit::BitsPerSecond,
            slowest(run),
            kept,
            f64::INFINITY,
        ));
        found.checks.push(Check::none(
            format!("{what}: deadlocks and frames lost"),
            "of them",
            run.lost() + run.outcome.deadlocks.len() as u64,
        ));
        let bound = MESSAGE_BITS / TAU / LINE;
        found.checks.push(Check::new(
            format!("{what}: most messages of a port, share of the link"),
            Unit::Fraction,
            messages(run),
            0.0,
            bound,
        ));
    }
    let grid = grid(cx)?;
    for (what, by_arrival) in [("FIFO, round robin and deficit round robin", true), ("input FIFO", false)] {
        let cells: Vec<&Tried> = grid.iter().filter(|t| (t.discipline != INPUT_FIFO) == by_arrival).collect();
        let kept = cells.iter().filter(|t| t.slowest >= KEPT).count() as f64 / cells.len() as f64;
        let check = Check::new(
            format!("settings of the matrix, {what}: share of settings in which every flow keeps 4.5 Gb/s"),
            Unit::Fraction,
            kept,
            1.0,
            1.0,
        );
        if by_arrival {
            found.checks.push(check);
        } else {
            found.why.push(format!(
                "If a switch reads one frame at a time from an input ({what}), {} of these settings keep their rate as well, but \
                 nothing is proved. There an ingress holds frames for other egresses in front of those for this one. Fewer bytes then \
                 wait at the egress than slow down the link, and the theorem's first step fails (docs/theory/gfc-repair.md has a \
                 setting that it does not fix).",
                Unit::Fraction.format(kept)
            ));
        }
    }
    let large = LargeScale::run(cx, Sizes::of(cx.mode), Parts { headline: true, further: true, stuck: true, ..Parts::default() })?;
    networks(&large, &mut found);
    let of = |scheme: Scheme| jobs.iter().position(|j| j.scheme == scheme).map(|i| lab::rate(slowest(&runs[i]))).unwrap_or_default();
    found.measured = format!(
        "Ring under FIFO after {second} ms, slowest flow: {} by the paper's rule ({} time-based), {} with entry ports. Two hosts per \
         switch: {}.",
        of(GFC_BUFFER),
        of(GFC_TIME),
        of(REPAIRED),
        jobs.iter()
            .zip(&runs)
            .filter(|(j, _)| j.hosts == 2)
            .map(|(j, r)| format!("{} in {}", lab::rate(slowest(r)), j.name))
            .collect::<Vec<_>>()
            .join("; ")
    );
    found.tables = vec![table(&jobs, &runs), matrix(&grid)];
    found.figures.push(figure(&jobs, &runs));
    Ok(found)
}

/// Table 1's networks, with the traffic that deadlocks PFC.
fn networks(large: &LargeScale, found: &mut Findings) {
    for search in &large.headline {
        let cases = |s: Searched| search.cases.iter().filter_map(|c| c.of(s)).collect::<Vec<_>>();
        let count = |s: Searched| cases(s).iter().filter(|r| r.stands_still()).count() as u64;
        let for_good = |s: Searched| cases(s).iter().filter(|r| r.for_good()).count() as u64;
        let (k, all) = (search.effort.k, cases(Searched::Repaired).len());
        if all == 0 {
            continue;
        }
        found.checks.push(Check::none(
            format!(
                "Table 1, k = {k}: of {all} networks with a cycle, those in which flows stop with entry ports, no byte for 5 ms ({} \
                 without)",
                count(Searched::GfcBuffer)
            ),
            "networks",
            count(Searched::Repaired),
        ));
        found.checks.push(Check::none(
            format!(
                "Table 1, k = {k}: of these, networks in which such flows also receive no byte until 60 ms ({} without)",
                for_good(Searched::GfcBuffer)
            ),
            "networks",
            for_good(Searched::Repaired),
        ));
        let lost = cases(Searched::Repaired).iter().flat_map(|r| &r.runs).map(|r| r.dropped).sum();
        found.checks.push(Check::none(format!("Table 1, k = {k}: frames lost with entry ports"), "frames", lost));
    }
    let rate = |s: Searched| {
        let all: Vec<f64> = large.stuck.iter().filter_map(|c| c.of(s)?.runs.first()).map(|r| r.tail(50)).collect();
        (all.len(), all.iter().sum::<f64>() / all.len() as f64)
    };
    let still = |s: Searched| large.stuck.iter().filter_map(|c| c.of(s)?.runs.first()).filter(|r| r.still > 0).count();
    found.why.push(format!(
        "With the traffic that deadlocks PFC, {} networks of k = 4, 60 ms: a server receives {} in the last 5 ms under GFC and {} with \
         entry ports. Flows are stopped at the end in {} and {}.",
        rate(Searched::GfcBuffer).0,
        lab::rate(rate(Searched::GfcBuffer).1),
        lab::rate(rate(Searched::Repaired).1),
        still(Searched::GfcBuffer),
        still(Searched::Repaired)
    ));
}

/// A setting of the matrix with entry ports.
struct Tried {
    set: usize,
    discipline: usize,
    jitter: u64,
    offset: u64,
    slowest: f64,
    lost: u64,
}

fn grid(cx: &Context) -> Result<Vec<Tried>, ReproduceError> {
    let mut all = Vec::new();
    // The third set differs in PFC's thresholds alone.
    for set in 0..2 {
        for discipline in 0..DISCIPLINES.len() {
            for jitter in [0, 40] {
                // With the simulations' thresholds a jitter of 40 us is more than 20 KB absorb.
                all.extend(OFFSETS.iter().filter(|_| set == 0 || jitter == 0).map(|&offset| (set, discipline, jitter, offset)));
            }
        }
    }
    cx.parallel(&all, |&(set, discipline, jitter, offset)| {
        let mut settings: Vec<String> = SETS[set].settings.iter().map(|s| (*s).to_owned()).collect();
        settings.extend(REPAIRED.settings(DISCIPLINES[discipline], SETS[set].slack));
        settings.extend([
            "flow_control.gfc-buffer.entry_ports=1".into(),
            format!("control_delay.processing_jitter={jitter}us"),
            format!("flow[1].start={offset}us"),
            format!("flow[2].start={}us", 2 * offset),
            format!("run.seed={}", cx.seed),
            "run.duration=60ms".into(),
            "probes.interval=1ms".into(),
        ]);
        let run = lab::run(cx, RING.0, RING.1, &settings)?;
        Ok(Tried { set, discipline, jitter, offset, slowest: slowest(&run), lost: run.lost() })
    })
}

fn table(jobs: &[Job], runs: &[Observed]) -> Table {
    use Align::{Left, Right};
    let mut t =
        Table::new(["Run", "Length", "Slowest flow", "Fastest flow", "Highest ingress queue", "Messages of a port, most", "Frames lost"])
            .align([Left, Right, Right, Right, Right, Right, Right])
            .caption("Rates cover the last 20 ms; messages are a share of the link over the whole run.");
    for (j, run) in jobs.iter().zip(runs) {
        let rates = run.rates_at_end(END);
        t.push([
            Cell::from(j.name.as_str()),
            lab::time(lab::ps(run.outcome.now)).into(),
            lab::rate(slowest(run)).into(),
            lab::rate(rates.into_iter().fold(0.0, f64::max)).into(),
            lab::bytes(run.peak()).into(),
            Unit::Fraction.format(messages(run)).into(),
            run.lost().into(),
        ]);
    }
    t
}

fn matrix(grid: &[Tried]) -> Table {
    let mut t = Table::new(["Thresholds", "Egress", "Jitter", "Offset", "Slowest flow", "Frames lost"])
        .align([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption("The settings of matrix, with entry ports: slowest flow of the last 20 ms of 60 ms.");
    for g in grid {
        t.push([
            Cell::from(SETS[g.set].name),
            Cell::code(DISCIPLINES[g.discipline]),
            format!("{} us", g.jitter).into(),
            format!("{} us", g.offset).into(),
            lab::rate(g.slowest).into(),
            g.lost.into(),
        ]);
    }
    t
}

fn figure(jobs: &[Job], runs: &[Observed]) -> Figure {
    let mut figure = Figure::new("Buffer-based GFC by the paper's rule and with entry ports")
        .caption("Rate of flow 1, logarithmic: one host per switch under FIFO; two hosts per switch under FIFO and under round robin.")
        .columns(2);
    for (title, start) in [
        ("Ring, FIFO", "ring, fifo, "),
        ("Two hosts per switch, FIFO", "two hosts, fifo"),
        ("Two hosts per switch, round robin", "two hosts, round-robin"),
    ] {
        let of = || jobs.iter().zip(runs).filter(|(j, _)| j.name.starts_with(start) && !j.name.contains("thresholds"));
        let until = of().map(|(_, run)| lab::ps(run.outcome.now)).fold(0.0, f64::max);
        let time = Axis::new("Time", Unit::Picoseconds).range(0.0, until);
        let mut panel = Panel::new(title, time, Axis::new("Rate of flow 1", Unit::BitsPerSecond).log());
        for (j, run) in of() {
            let points: lab::Points = run.flow_rate(0, RateSource::Measured).into_iter().filter(|p| p.1 > 0.0).collect();
            panel = panel.mark(Mark::line(j.scheme.title, points).colour(j.scheme.colour));
        }
        figure = figure.panel(panel);
    }
    figure
}
