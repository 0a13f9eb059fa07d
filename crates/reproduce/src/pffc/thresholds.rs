//! Exploration of Xoff_s and Xon_s: how much a flow must be allowed to leave in a switch for its link to be used.

use xoff_report::{Align, Axis, Colour, Figure, Mark, Panel, Table, Unit};

use super::run::{LINE, PFFC, SHAPE, SOURCES, broken, hop_bytes, run, total};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

pub(super) const SCENARIO: (&str, &str) = super::scenario!("thresholds.toml");

/// Xoff_s of the first exploration [bytes].
const XOFF: [u64; 13] = [1_500, 3_000, 4_500, 6_000, 9_000, 12_000, 15_000, 18_500, 25_000, 37_000, 74_000, 120_000, 200_000];
/// Xoff_s of the second, and its Xon_s.
const XOFF_OF_XON: u64 = 37_000;
const XON: [u64; 12] = [0, 1_500, 3_000, 4_500, 6_000, 9_250, 12_000, 18_500, 27_750, 34_000, 35_500, 37_000];
const COLOURS: [Colour; 2] = [Colour::Blue, Colour::Green];

/// A run: index of the kind of sources, both thresholds.
type Job = (usize, u64, u64);

/// What a run gave.
struct Seen {
    /// Throughput at the receiver [bit/s].
    goodput: f64,
    /// Highest fill of the ingress of S2 behind S1 [bytes].
    peak: f64,
    /// Control frames a second, from S2 to S1.
    frames: f64,
    broken: u64,
}

fn observe(cx: &Context, jobs: &[Job]) -> Result<Vec<Seen>, ReproduceError> {
    cx.parallel(jobs, |&(source, xoff, xon)| {
        let mut settings = vec![format!("flow_control.pffc.xoff_s={xoff}B"), format!("flow_control.pffc.xon_s={xon}B")];
        settings.extend(SOURCES[source].1.iter().map(|s| (*s).to_owned()));
        let o: Observed = run(cx, SCENARIO, PFFC, &settings)?;
        Ok(Seen {
            goodput: total(&o),
            peak: o.ingress_peak("S1->S2"),
            frames: o.totals("S2->S1").messages_sent as f64 / o.outcome.now.as_secs_f64(),
            broken: broken(&o),
        })
    })
}

fn table(jobs: &[Job], seen: &[Seen]) -> Table {
    let mut t = Table::new(["Sources", "Xoff_s", "Xon_s", "Throughput", "Largest fill of S2 behind S1", "Control frames a second"])
        .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right]);
    for (&(source, xoff, xon), s) in jobs.iter().zip(seen) {
        let bytes = |v| lab::bytes(v as f64);
        t.push([
            SOURCES[source].0.to_owned(),
            bytes(xoff),
            bytes(xon),
            lab::rate(s.goodput),
            lab::bytes(s.peak),
            format!("{:.0}", s.frames),
        ]);
    }
    t.caption("Throughput over the last 10 ms of 12 ms.")
}

/// One curve of a kind of sources.
fn curve(jobs: &[Job], seen: &[Seen], source: usize, x: fn(&Job) -> u64, y: fn(&Seen) -> f64) -> Mark {
    let of = jobs.iter().zip(seen).filter(|(j, _)| j.0 == source);
    Mark::line(SOURCES[source].0, of.map(|(j, s)| (x(j) as f64, y(s)))).colour(COLOURS[source])
}

fn figure(title: &str, axis: &str, jobs: &[Job], seen: &[Seen], x: fn(&Job) -> u64, third: (&str, Unit, fn(&Seen) -> f64)) -> Figure {
    let x_axis = || Axis::new(axis, Unit::Bytes);
    let mark = || Mark::vline(hop_bytes().0 as f64, "C tau");
    let mut upper =
        Panel::new("Throughput at the receiver", x_axis(), Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, 10.5e9)).mark(mark());
    let mut lower = Panel::new(third.0, x_axis(), Axis::new(third.0, third.1)).mark(mark());
    for source in 0..SOURCES.len() {
        upper = upper.mark(curve(jobs, seen, source, x, |s| s.goodput));
        lower = lower.mark(curve(jobs, seen, source, x, third.2));
    }
    Figure::new(title).panel(upper).panel(lower)
}

/// The entry `xoff`.
pub fn run_xoff(cx: &Context) -> Result<Findings, ReproduceError> {
    let sweep = cx.mode.pick(XOFF.into_iter().step_by(3).collect::<Vec<_>>(), XOFF.to_vec());
    let jobs: Vec<Job> = (0..SOURCES.len()).flat_map(|s| sweep.iter().map(move |&x| (s, x, x / 2))).collect();
    let seen = observe(cx, &jobs)?;
    let mut checks = Vec::new();
    let mut words = Vec::new();
    let line = LINE.as_f64();
    for (source, (name, _)) in SOURCES.iter().enumerate() {
        let of: Vec<(&Job, &Seen)> = jobs.iter().zip(&seen).filter(|(j, _)| j.0 == source).collect();
        let (first, last) = (of[0], of[of.len() - 1]);
        let what = format!("{name}: share of the line at Xoff_s = {}", lab::bytes(first.0.1 as f64));
        checks.push(Check::new(what, Unit::Fraction, first.1.goodput / line, 0.0, 0.9).assuming(SHAPE));
        let wide: Vec<_> = of.iter().filter(|(j, _)| j.1 >= 2 * hop_bytes().0).collect();
        let least = wide.iter().map(|(_, s)| s.goodput).fold(f64::INFINITY, f64::min);
        let what = format!("{name}: least share of the line from Xoff_s = 2 C tau on");
        checks.push(Check::new(what, Unit::Fraction, least / line, 0.99, 1.0).assuming(SHAPE));
        let (a, b) = (wide[0], wide[wide.len() - 1]);
        // TCP holds no more than its window, UDP as much as it may.
        let slope = (b.1.peak - a.1.peak) / (b.0.1 - a.0.1) as f64;
        checks.push(
            Check::near(format!("{name}: growth of the largest fill over that of Xoff_s"), Unit::None, slope, 1.0, 0.05).assuming(SHAPE),
        );
        let full = of.iter().find(|(_, s)| s.goodput >= 0.99 * line).map_or("nowhere".into(), |(j, _)| lab::bytes(j.1 as f64));
        words.push(format!(
            "{name}: {} at {}, that of the line (99 %) from {full} on; fill {} at {}",
            lab::rate(first.1.goodput),
            lab::bytes(first.0.1 as f64),
            lab::bytes(last.1.peak),
            lab::bytes(last.0.1 as f64)
        ));
    }
    checks.push(Check::none("frames lost or out of order, all runs", "frames", seen.iter().map(|s| s.broken).sum()));
    let fig = figure("Exploration of Xoff_s", "Xoff_s", &jobs, &seen, |j| j.1, ("Largest fill", Unit::Bytes, |s| s.peak))
        .caption("Xon_s is half of Xoff_s. Below C tau a flow has drained before it goes on; above it only the fill grows.");
    Ok(Findings { measured: words.join(". ") + ".", checks, figures: vec![fig], tables: vec![table(&jobs, &seen)], ..Findings::default() })
}

/// The entry `xon`.
pub fn run_xon(cx: &Context) -> Result<Findings, ReproduceError> {
    let sweep: Vec<u64> = cx.mode.pick(vec![0, 3_000, 9_250, 18_500, 35_500, 37_000], XON.to_vec());
    let jobs: Vec<Job> = (0..SOURCES.len()).flat_map(|s| sweep.iter().map(move |&x| (s, XOFF_OF_XON, x))).collect();
    let seen = observe(cx, &jobs)?;
    let mut checks = Vec::new();
    let mut words = Vec::new();
    let line = LINE.as_f64();
    for (source, (name, _)) in SOURCES.iter().enumerate() {
        let at = |xon: u64| &seen[jobs.iter().position(|j| *j == (source, XOFF_OF_XON, xon)).expect("of every sweep")];
        let share = |s: &Seen| s.goodput / line;
        checks.push(Check::new(format!("{name}: share of the line at Xon_s = 0"), Unit::Fraction, share(at(0)), 0.0, 0.99).assuming(SHAPE));
        let of = || jobs.iter().zip(&seen).filter(|(j, _)| j.0 == source);
        let plateau = of().filter(|(j, _)| 2 * j.2 >= hop_bytes().0).map(|(_, s)| share(s)).fold(f64::INFINITY, f64::min);
        let what = format!("{name}: least share of the line from Xon_s = C tau / 2 on");
        checks.push(Check::new(what, Unit::Fraction, plateau, 0.99, 1.0).assuming(SHAPE));
        let (middle, end) = (at(XOFF_OF_XON / 2), at(XOFF_OF_XON));
        let what = format!("{name}: control frames at Xon_s = Xoff_s over those at half of it");
        checks.push(Check::new(what, Unit::None, end.frames / middle.frames, 1.5, f64::INFINITY).assuming(SHAPE));
        words.push(format!(
            "{name}: {} at Xon_s = 0, {} or more on the plateau; {:.0} control frames a second at half of Xoff_s, {:.0} at Xoff_s",
            lab::rate(at(0).goodput),
            lab::rate(plateau * line),
            middle.frames,
            end.frames
        ));
    }
    checks.push(Check::none("frames lost or out of order, all runs", "frames", seen.iter().map(|s| s.broken).sum()));
    let frames = ("Control frames", Unit::Other("frames/s".into()), (|s: &Seen| s.frames) as fn(&Seen) -> f64);
    let fig = figure("Exploration of Xon_s", "Xon_s", &jobs, &seen, |j| j.2, frames)
        .caption("Xoff_s is 37 KB. Control frames are those from S2 to S1.");
    Ok(Findings { measured: words.join(". ") + ".", checks, figures: vec![fig], tables: vec![table(&jobs, &seen)], ..Findings::default() })
}
