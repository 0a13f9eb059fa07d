//! Runs with real frames, each cell several times: no such run is like the other, and none is judged alone.

use std::path::Path;

use serde::Serialize;
use xoff_real::switchd::Tap;
use xoff_real::testbed::{RealReport, Run, observe, packet_capture, stood_still};
use xoff_report::{Align, Cell as TableCell, Table, Unit};
use xoff_run::NetworkScenario;

use crate::lab::{self, Observed};
use crate::stats::{Mean, Share};
use crate::{Check, Context, ReproduceError};

/// A run in which the processor was elsewhere for more than this share of the time proves nothing: next to work that kept both processors
/// busy for 25 to 28 % of it TCD marked a flow CE under credits, while its queue drained, in ten of ten runs, and below 1 % in none.
pub const LEFT_OUT: f64 = 0.1;
/// Number of tries until the process was not descheduled.
const TRIES: usize = 3;
/// Folder of the captures of runs that are not kept.
const RUNNING: &str = ".running";
/// Assumption where there is no packet capture.
const OWN: &str = "tcpdump and dumpcap, or tshark, are missing: xoff's own capture of the link is counted, by its own parsers";

/// A cell: a scenario that runs several times.
pub struct Cell {
    /// Name in tables.
    pub name: String,
    /// Name and text of the scenario.
    pub scenario: (&'static str, &'static str),
    /// Settings over the scenario.
    pub settings: Vec<String>,
    /// The packet capture is of this link.
    pub captured: Option<&'static str>,
}

impl Cell {
    /// A cell without a packet capture.
    pub fn new(name: impl Into<String>, scenario: (&'static str, &'static str), settings: &[&str]) -> Cell {
        Cell { name: name.into(), scenario, settings: settings.iter().map(|s| (*s).to_owned()).collect(), captured: None }
    }

    /// Scenario.
    pub fn load(&self, cx: &Context) -> Result<NetworkScenario, ReproduceError> {
        let mut settings = vec![format!("run.seed={}", cx.seed)];
        settings.extend_from_slice(&self.settings);
        lab::load(self.scenario.0, self.scenario.1, &settings)
    }

    /// Prediction of the simulator.
    pub fn simulate(&self, cx: &Context) -> Result<Observed, ReproduceError> {
        lab::observe(cx, &self.load(cx)?)
    }

    /// A name that files can have.
    fn file(&self) -> String {
        self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
    }
}

/// A run that counts.
pub struct Real {
    /// Rows and counters, as those of a simulation.
    pub seen: Observed,
    /// Counters that only real frames have.
    pub real: RealReport,
    /// The tool that captured.
    pub by: Option<packet_capture::By>,
    /// Frames of the capture in the last second.
    pub last: Option<packet_capture::Seen>,
    /// Frames of the capture in the whole run.
    pub whole: Option<packet_capture::Seen>,
    /// Frames that the capture missed, by its own count.
    pub missed: u64,
    /// Packet capture: the link was idle in the last second.
    pub still: bool,
}

impl Real {
    /// Frames that did not arrive: dropped by nodes, lost on wires or in the kernel, refused.
    pub fn lost(&self) -> u64 {
        self.seen.lost() + self.real.losses().total()
    }

    /// Share of the time in which the processor was elsewhere.
    pub fn left_out(&self) -> f64 {
        left_out(&self.real)
    }
}

fn left_out(r: &RealReport) -> f64 {
    r.left_out_seconds / r.wall_seconds.max(1e-9)
}

/// The runs of a cell.
pub struct Runs {
    /// Name of the cell.
    pub name: String,
    /// The runs that count.
    pub runs: Vec<Real>,
    /// Runs that prove nothing, although they were tried again: what they left out.
    pub inconclusive: Vec<f64>,
    /// Tries, all runs.
    pub tries: usize,
    /// Indices of the tries that became `runs`.
    pub tries_that_count: Vec<usize>,
}

impl Runs {
    /// Share of the runs for which something is true.
    pub fn share(&self, of: impl Fn(&Real) -> bool) -> Share {
        Share { of: self.runs.iter().filter(|r| of(r)).count(), n: self.runs.len() }
    }

    /// Mean over the runs, with its interval; NaN without any.
    pub fn mean(&self, of: impl Fn(&Real) -> f64) -> Mean {
        Mean::of(self.runs.iter().map(of))
    }

    /// How many of the runs do something: nearly all of them, that is, all but one of ten, which may have been disturbed.
    pub fn nearly_all(&self, what: impl Into<String>, of: impl Fn(&Real) -> bool) -> Check {
        let n = self.runs.len();
        self.count(what, of, n - n / 10, n)
    }

    /// How many of the runs do something: none of them.
    pub fn none(&self, what: impl Into<String>, of: impl Fn(&Real) -> bool) -> Check {
        self.count(what, of, 0, 0)
    }

    fn count(&self, what: impl Into<String>, of: impl Fn(&Real) -> bool, low: usize, high: usize) -> Check {
        let what = format!("{}, of {}", what.into(), self.runs.len());
        Check::new(what, Unit::Other("runs".into()), self.share(of).of as f64, low as f64, high as f64)
            .possible(0.0, self.runs.len() as f64)
            .claimed()
    }

    /// Frames lost in all runs.
    pub fn lost(&self) -> u64 {
        self.runs.iter().map(Real::lost).sum()
    }

    /// Enough runs prove something: two of three.
    pub fn enough(&self) -> Check {
        let n = self.runs.len() + self.inconclusive.len();
        let what = format!("{}: runs that count, of {n}", self.name);
        Check::new(what, Unit::Other("runs".into()), self.runs.len() as f64, (n as f64 * 2.0 / 3.0).round(), n as f64)
    }
}

/// Number of runs of a cell.
pub fn repetitions(cx: &Context) -> usize {
    cx.mode.pick(3, 10)
}

/// Sees frames of one run.
pub type Tapping<'a> = &'a mut dyn FnMut(usize) -> Option<Tap<'static>>;

/// Runs the cells, each so many times.
pub fn all(cx: &Context, cells: &[&Cell]) -> Result<Vec<Runs>, ReproduceError> {
    all_with(cx, cells, &mut |_| None)
}

/// [`all`]; `tap` makes what sees the frames of a run of a cell, by its number. It is made again for every try.
pub fn all_with(cx: &Context, cells: &[&Cell], tap: Tapping) -> Result<Vec<Runs>, ReproduceError> {
    let folder = cx.below("evidence")?.join(cx.entry);
    std::fs::create_dir_all(&folder).map_err(|e| ReproduceError::file(&folder, e))?;
    for at in cells.iter().map(|c| folder.join(c.file())).chain([folder.join(RUNNING)]) {
        clear(&at);
    }
    let (n, mut done) = (repetitions(cx), 0);
    let mut found = Vec::new();
    let mut evidence = Vec::new();
    for (which, cell) in cells.iter().enumerate() {
        let scenario = cell.load(cx)?;
        let mut runs = Runs { name: cell.name.clone(), runs: Vec::new(), inconclusive: Vec::new(), tries: 0, tries_that_count: Vec::new() };
        for nth in 0..n {
            // The captures of the first run are kept.
            let at = if nth == 0 { folder.join(cell.file()) } else { folder.join(RUNNING) };
            let mut worst = f64::INFINITY;
            for _ in 0..TRIES {
                cx.go_on()?;
                cx.progress.note(cx.entry, &format!("{}, run {} of {n}", cell.name, nth + 1));
                runs.tries += 1;
                let real = once(cx, cell, &scenario, &at, tap(which))?;
                evidence.push(Evidence::of(cell, nth, &real));
                worst = worst.min(real.left_out());
                if real.left_out() <= LEFT_OUT {
                    runs.tries_that_count.push(runs.tries - 1);
                    runs.runs.push(real);
                    break;
                }
            }
            if worst > LEFT_OUT {
                runs.inconclusive.push(worst);
            }
            clear(&folder.join(RUNNING));
            done += 1;
            cx.fraction(done as f64 / (n * cells.len()) as f64);
        }
        found.push(runs);
    }
    keep(&folder.join("runs.json"), &evidence)?;
    Ok(found)
}

/// Takes captures away, and their folder if nothing else is in it.
fn clear(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|e| e == "pcap" || e == "pcapng") {
            // What stays is overwritten.
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_dir(folder);
}

fn once(cx: &Context, cell: &Cell, s: &NetworkScenario, folder: &Path, tap: Option<Tap<'static>>) -> Result<Real, ReproduceError> {
    let run = Run { capture: cell.captured.map(|port| (port, folder)), tap, stop: Some(cx.interrupted) };
    let o = observe(s, run).map_err(|e| ReproduceError::Testbed(e.to_string()))?;
    cx.go_on()?;
    let kind = s.links().first().map(|(_, fc)| fc.clone());
    let still = o.seen.zip(kind).is_some_and(|(seen, kind)| stood_still(&seen, &kind) && o.missed == 0);
    let warnings = s.warnings.iter().map(|p| p.line()).collect();
    let seen = Observed { topology: s.topology.clone(), outcome: o.outcome, rows: o.rows, warnings };
    Ok(Real { seen, real: o.real, by: o.by, last: o.seen, whole: o.whole, missed: o.missed, still })
}

/// Kept result of a run.
#[derive(Serialize)]
struct Evidence {
    cell: String,
    settings: Vec<String>,
    run: usize,
    counts: bool,
    left_out: f64,
    packet_capture: Option<packet_capture::By>,
    last_second: Option<packet_capture::Seen>,
    whole: Option<packet_capture::Seen>,
    frames_the_capture_missed: u64,
    stood_still: bool,
    deadlocks_found_by_the_nodes: usize,
    delivered_bytes: Vec<u64>,
    dropped_frames: u64,
    real: RealReport,
}

impl Evidence {
    fn of(cell: &Cell, nth: usize, r: &Real) -> Evidence {
        Evidence {
            cell: cell.name.clone(),
            settings: cell.settings.clone(),
            run: nth + 1,
            counts: r.left_out() <= LEFT_OUT,
            left_out: r.left_out(),
            packet_capture: r.by,
            last_second: r.last,
            whole: r.whole,
            frames_the_capture_missed: r.missed,
            stood_still: r.still,
            deadlocks_found_by_the_nodes: r.seen.outcome.deadlocks.len(),
            delivered_bytes: r.seen.outcome.flows.iter().map(|f| f.delivered).collect(),
            dropped_frames: r.seen.lost(),
            real: r.real.clone(),
        }
    }
}

fn keep(file: &Path, evidence: &[Evidence]) -> Result<(), ReproduceError> {
    let text = serde_json::to_string_pretty(evidence).expect("plain values") + "\n";
    Ok(xoff_record::output::write(file, text.as_bytes())?)
}

/// A check decided by the capture: under an assumption if it is not an outside one.
pub fn captured(runs: &Runs, check: Check) -> Check {
    if runs.runs.iter().any(|r| r.by == Some(packet_capture::By::Own)) { check.assuming(OWN) } else { check }
}

/// Note on disturbances of the runs by the machine.
pub fn machine(all: &[Runs]) -> String {
    let tries: usize = all.iter().map(|r| r.tries).sum();
    let kept: usize = all.iter().map(|r| r.runs.len()).sum();
    let worst = all.iter().flat_map(|r| &r.runs).map(Real::left_out).fold(0.0, f64::max);
    let gap = all.iter().flat_map(|r| &r.runs).map(|r| r.real.gap_longest_us).fold(0.0, f64::max);
    let silent: usize = all.iter().map(|r| r.inconclusive.len()).sum();
    format!(
        "{tries} runs were made, and {kept} count. If the loop of a run did not serve the ports for more than {} of the time, the run is \
         repeated, at most {TRIES} times. In runs that count, the virtual clock stopped for up to {} of the time, and the longest interruption of \
         the loop was {}. {silent} runs stayed inconclusive.",
        Unit::Fraction.format(LEFT_OUT),
        Unit::Fraction.format(worst),
        lab::time(lab::us(gap)),
    )
}

/// Line per run: the frames of the capture.
pub fn capture_table(all: &[Runs]) -> Table {
    use Align::{Centre, Left, Right};
    let mut table = Table::new([
        "Cell",
        "Run",
        "Stops",
        "Data frames, last second",
        "PFC frames",
        "Other control",
        "Other frames",
        "Data frames, whole run",
        "Missed by the capture",
        "Frames lost",
        "Clock stopped",
    ])
    .align([Left, Right, Centre, Right, Right, Right, Right, Right, Right, Right, Right]);
    for runs in all {
        for (nth, r) in runs.runs.iter().enumerate() {
            let (last, whole) = (r.last.unwrap_or_default(), r.whole.unwrap_or_default());
            table.push([
                TableCell::from(runs.name.as_str()),
                (nth + 1).to_string().into(),
                if r.still { "yes" } else { "no" }.into(),
                last.data.to_string().into(),
                last.pfc.to_string().into(),
                last.local.to_string().into(),
                last.other.to_string().into(),
                whole.data.to_string().into(),
                r.missed.to_string().into(),
                r.lost().to_string().into(),
                Unit::Fraction.format(r.left_out()).into(),
            ]);
        }
    }
    let by = all.iter().flat_map(|r| &r.runs).find_map(|r| r.by).map_or("none", |by| by.name());
    table.caption(format!("Frames on the ring link S1-S2 in the last second of each run, both directions, by {by}."))
}
