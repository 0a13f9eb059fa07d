//! Exploration of Xoff_s and Xon_s: how much a flow must be allowed to leave in a switch for its link to be used.

use xoff_report::{Align, Axis, Colour, Figure, Mark, Panel, Table, Unit};

use super::run::{PFFC, SHAPE, SOURCES, broken, hop_bytes, run, total};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// Two flows into a link; also that of Table 3.
pub(super) const TWO: (&str, &str) = scenario!("pffc", "thresholds.toml");

/// Who sends: name, scenario, link of the receiver [bit/s]. What is checked is the first; two flows fill each other's gaps.
const SCENES: [(&str, (&str, &str), f64); 2] = [("one flow", scenario!("pffc", "one-flow.toml"), 5e9), ("two flows", TWO, 10e9)];
/// Xoff_s of the first exploration [bytes].
const XOFF: [u64; 13] = [1_500, 3_000, 4_500, 6_000, 9_000, 12_000, 15_000, 18_500, 25_000, 37_000, 74_000, 120_000, 200_000];
/// Xoff_s of the second, and its Xon_s.
const XOFF_OF_XON: u64 = 37_000;
const XON: [u64; 12] = [0, 1_500, 3_000, 4_500, 6_000, 9_250, 12_000, 18_500, 27_750, 34_000, 35_500, 37_000];
const COLOURS: [Colour; 2] = [Colour::Blue, Colour::Green];

/// A run: scene, kind of sources, both thresholds.
type Job = (usize, usize, u64, u64);

/// Result of a run.
struct Seen {
    /// Throughput at the receiver, as a share of its link.
    share: f64,
    /// Highest fill of the ingress of S2 behind S1 [bytes].
    peak: f64,
    /// Control frames a second, from S2 to S1.
    frames: f64,
    broken: u64,
}

fn observe(cx: &Context, jobs: &[Job]) -> Result<Vec<Seen>, ReproduceError> {
    cx.parallel(jobs, |&(scene, source, xoff, xon)| {
        let mut settings = vec![format!("flow_control.pffc.xoff_s={xoff}B"), format!("flow_control.pffc.xon_s={xon}B")];
        settings.extend(SOURCES[source].1.iter().map(|s| (*s).to_owned()));
        let (_, scenario, link) = SCENES[scene];
        let o: Observed = run(cx, scenario, PFFC, &settings)?;
        Ok(Seen {
            share: total(&o) / link,
            peak: o.ingress_peak("S1->S2"),
            frames: o.totals("S2->S1").messages_sent as f64 / o.outcome.now.as_secs_f64(),
            broken: broken(&o),
        })
    })
}

/// Every scene and kind of sources with these thresholds.
fn jobs(thresholds: &[(u64, u64)]) -> Vec<Job> {
    let pairs = (0..SCENES.len()).flat_map(|scene| (0..SOURCES.len()).map(move |source| (scene, source)));
    pairs.flat_map(|(scene, source)| thresholds.iter().map(move |&(xoff, xon)| (scene, source, xoff, xon))).collect()
}

fn table(jobs: &[Job], seen: &[Seen]) -> Table {
    let columns = ["", "Sources", "Xoff_s", "Xon_s", "Share of the link", "Largest fill of S2 behind S1", "Control frames per second"];
    let mut t = Table::new(columns).align([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right]);
    for (&(scene, source, xoff, xon), s) in jobs.iter().zip(seen) {
        t.push([
            SCENES[scene].0.to_owned(),
            SOURCES[source].0.to_owned(),
            lab::bytes(xoff as f64),
            lab::bytes(xon as f64),
            Unit::Fraction.format(s.share),
            lab::bytes(s.peak),
            format!("{:.0}", s.frames),
        ]);
    }
    t.caption("Throughput over the last 10 ms of 12 ms. One flow: into a link of 5 Gb/s; two flows: into one of 10 Gb/s.")
}

/// Something else than the share of the link: its name, unit and value.
type Other<'a> = (&'a str, Unit, fn(&Seen) -> f64);

/// Share of the link, and something else next to it, over a threshold.
fn figure(title: &str, (axis, x, log): (&str, fn(&Job) -> u64, bool), jobs: &[Job], seen: &[Seen], other: Other) -> Figure {
    let mark = || Mark::vline(hop_bytes().0 as f64, "C tau");
    let mut figure = Figure::new(title).columns(2);
    let share: Other = ("Share of the link", Unit::Fraction, |s| s.share);
    for (what, unit, y) in [share, other] {
        let scale = |a: Axis| if log { a.log() } else { a };
        let y_axis = Axis::new(what, unit.clone());
        let y_axis = if unit == Unit::Fraction { y_axis.range(0.8, 1.01) } else { scale(y_axis) };
        let mut panel = Panel::new(what, scale(Axis::new(axis, Unit::Bytes)), y_axis).mark(mark());
        for (scene, (name, ..)) in SCENES.iter().enumerate() {
            for (source, (kind, _)) in SOURCES.iter().enumerate() {
                let of = jobs.iter().zip(seen).filter(|(j, _)| (j.0, j.1) == (scene, source)).map(|(j, s)| (x(j) as f64, y(s)));
                let name = format!("{name}, {kind}");
                // Where both kinds of sources give the same, the points lie on the line.
                let mark = if source == 0 { Mark::line(name, of) } else { Mark::points(name, of) };
                panel = panel.mark(mark.colour(COLOURS[scene]));
            }
        }
        figure = figure.panel(panel);
    }
    figure
}

/// The runs of the scene that is checked, by kind of sources.
fn checked<'a>(jobs: &'a [Job], seen: &'a [Seen], source: usize) -> Vec<(&'a Job, &'a Seen)> {
    jobs.iter().zip(seen).filter(|(j, _)| (j.0, j.1) == (0, source)).collect()
}

fn least<'a>(of: impl Iterator<Item = &'a Seen>) -> f64 {
    of.map(|s| s.share).fold(f64::INFINITY, f64::min)
}

/// The entry `xoff`.
pub fn run_xoff(cx: &Context) -> Result<Findings, ReproduceError> {
    let sweep: Vec<u64> = cx.mode.pick(XOFF.into_iter().step_by(3).collect(), XOFF.to_vec());
    let jobs = jobs(&sweep.iter().map(|&x| (x, x / 2)).collect::<Vec<_>>());
    let seen = observe(cx, &jobs)?;
    let mut checks = Vec::new();
    let mut words = Vec::new();
    for (source, (name, _)) in SOURCES.iter().enumerate() {
        let of = checked(&jobs, &seen, source);
        let (first, last) = (of[0], of[of.len() - 1]);
        let what = format!("{name}: share of the link at Xoff_s = {}", lab::bytes(first.0.2 as f64));
        checks.push(Check::new(what, Unit::Fraction, first.1.share, 0.0, 0.9).assuming(SHAPE));
        let wide: Vec<_> = of.iter().filter(|(j, _)| j.2 >= 2 * hop_bytes().0).collect();
        let what = format!("{name}: smallest share of the link from Xoff_s = 2 C tau on");
        checks.push(Check::new(what, Unit::Fraction, least(wide.iter().map(|(_, s)| *s)), 0.99, 1.01).assuming(SHAPE));
        let (a, b) = (wide[0], wide[wide.len() - 1]);
        let slope = (b.1.peak - a.1.peak) / (b.0.2 - a.0.2) as f64;
        checks.push(
            Check::near(format!("{name}: growth of the largest fill, relative to Xoff_s"), Unit::None, slope, 1.0, 0.05).assuming(SHAPE),
        );
        let full = of.iter().find(|(_, s)| s.share >= 0.99).map_or("nowhere".into(), |(j, _)| lab::bytes(j.2 as f64));
        words.push(format!(
            "{name}, one flow: {} of the link at {}, the full rate (99 %) from {full} on; fill {} at {}",
            Unit::Fraction.format(first.1.share),
            lab::bytes(first.0.2 as f64),
            lab::bytes(last.1.peak),
            lab::bytes(last.0.2 as f64)
        ));
    }
    checks.push(Check::none("frames lost or out of order, all runs", "frames", seen.iter().map(|s| s.broken).sum()));
    let two = least(jobs.iter().zip(&seen).filter(|(j, _)| j.0 == 1).map(|(_, s)| s));
    let notes = vec![format!(
        "Two flows into one link fill each other's gaps: together they have {} of it or more at any Xoff_s of the exploration. Only a \
         single flow loses throughput with a threshold below C tau.",
        Unit::Fraction.format(two)
    )];
    let figure = figure("Exploration of Xoff_s", ("Xoff_s", |j| j.2, true), &jobs, &seen, ("Largest fill", Unit::Bytes, |s| s.peak))
        .caption(
            "Xon_s is half of Xoff_s. If Xoff_s is too small, the flow has drained before it resumes. Above that only the fill \
            grows.",
        );
    let tables = vec![table(&jobs, &seen)];
    Ok(Findings { measured: words.join(". ") + ".", checks, figures: vec![figure], tables, notes, ..Findings::default() })
}

/// The entry `xon`.
pub fn run_xon(cx: &Context) -> Result<Findings, ReproduceError> {
    let sweep: Vec<u64> = cx.mode.pick(vec![0, 3_000, 9_250, 18_500, 35_500, 37_000], XON.to_vec());
    let jobs = jobs(&sweep.iter().map(|&x| (XOFF_OF_XON, x)).collect::<Vec<_>>());
    let seen = observe(cx, &jobs)?;
    let mut checks = Vec::new();
    let mut words = Vec::new();
    for (source, (name, _)) in SOURCES.iter().enumerate() {
        let of = checked(&jobs, &seen, source);
        let at = |xon: u64| of.iter().find(|(j, _)| j.3 == xon).expect("of every sweep").1;
        checks.push(Check::new(format!("{name}: share of the link at Xon_s = 0"), Unit::Fraction, at(0).share, 0.0, 0.99).assuming(SHAPE));
        let plateau = least(of.iter().filter(|(j, _)| 2 * j.3 >= hop_bytes().0).map(|(_, s)| *s));
        let what = format!("{name}: smallest share of the link from Xon_s = C tau / 2 on");
        checks.push(Check::new(what, Unit::Fraction, plateau, 0.99, 1.01).assuming(SHAPE));
        let (middle, end) = (at(XOFF_OF_XON / 2), at(XOFF_OF_XON));
        let what = format!("{name}: control frames at Xon_s = Xoff_s, relative to half of Xoff_s");
        checks.push(Check::new(what, Unit::None, end.frames / middle.frames, 1.5, f64::INFINITY).assuming(SHAPE));
        words.push(format!(
            "{name}, one flow: {} of the link at Xon_s = 0, {} or more on the plateau; {:.0} control frames per second at half of \
             Xoff_s, {:.0} at Xoff_s",
            Unit::Fraction.format(at(0).share),
            Unit::Fraction.format(plateau),
            middle.frames,
            end.frames
        ));
    }
    checks.push(Check::none("frames lost or out of order, all runs", "frames", seen.iter().map(|s| s.broken).sum()));
    let frames = ("Control frames", Unit::Other("frames/s".into()), (|s: &Seen| s.frames) as fn(&Seen) -> f64);
    let figure = figure("Exploration of Xon_s", ("Xon_s", |j| j.3, false), &jobs, &seen, frames)
        .caption("Xoff_s is 37 KB. Control frames are those from S2 to S1.");
    let tables = vec![table(&jobs, &seen)];
    Ok(Findings { measured: words.join(". ") + ".", checks, figures: vec![figure], tables, ..Findings::default() })
}
