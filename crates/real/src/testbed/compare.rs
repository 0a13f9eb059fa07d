//! Simulation and real frames in one figure, from the tables that both wrote.
//!
//! ```text
//!   DIR/*.parquet              real frames --+
//!   DIR/simulated/*.parquet    simulation  --+--> DIR/compare.svg, DIR/compare.html, DIR/compare.md
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::output::{Folder, OutputError};
use xoff_record::{RecordError, read};
use xoff_report::{Align, Axis, Colour, Figure, Mark, Panel, Report, Section, Table, Unit};
use xoff_run::{Finished, NetworkScenario};

use crate::testbed::drive::RealReport;

/// Panels of flows and of queues at most; more cannot be read.
const SHOWN: usize = 6;

/// Reason for a missing comparison.
#[derive(Debug)]
pub enum CompareError {
    /// Tables could not be read.
    Tables(RecordError),
    /// Files could not be written.
    Files(OutputError),
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompareError::Tables(e) => fmt::Display::fmt(e, f),
            CompareError::Files(e) => fmt::Display::fmt(e, f),
        }
    }
}
impl std::error::Error for CompareError {}

/// A run with the folder of its tables.
pub struct Side<'a> {
    /// Outcome.
    pub finished: &'a Finished,
    /// Folder of its tables.
    pub folder: &'a Path,
}

/// Results of both runs.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "TestbedComparison")]
pub struct Comparison {
    /// Differences, one line each.
    #[serde(skip)]
    pub table: Table,
    /// By flow: payload that arrived with real frames and in the simulation [bytes].
    pub delivered_bytes: Vec<[u64; 2]>,
    /// Time at which the first deadlock closed, with real frames and in the simulation [ps].
    pub deadlock_ps: [Option<u64>; 2],
    /// Whether anything looked for one.
    pub deadlock_checked: [bool; 2],
    /// Control frames sent, with real frames and in the simulation.
    pub control_frames: [u64; 2],
    /// Fullest ingress buffer, with real frames and in the simulation [bytes].
    pub highest_queue_bytes: [u64; 2],
    /// Frames that did not arrive: dropped by nodes, and for real frames lost on wires and in the
    /// kernel, or refused.
    pub lost_frames: [u64; 2],
    /// The page to open.
    pub page: PathBuf,
}

/// A value over time.
type Series = Vec<(f64, f64)>;

fn checked(side: &Side) -> bool {
    let verdict = side.finished.manifest.verdict.as_ref();
    verdict.is_some_and(|v| {
        !matches!(v.parts().deadlock, xoff_record::verdict::Deadlock::NotChecked { .. })
    })
}

/// Compares two runs of a scenario and writes figure, page and Markdown into `out`.
pub fn compare(
    s: &NetworkScenario,
    real: Side,
    report: &RealReport,
    simulated: Side,
    out: &Folder,
) -> Result<Comparison, CompareError> {
    let sides = [&real, &simulated];
    let mut c = Comparison {
        table: Table::default(),
        delivered_bytes: flows(sides),
        deadlock_ps: sides.map(|x| x.finished.outcome.deadlocks.first().map(|d| d.closed.0)),
        deadlock_checked: sides.map(checked),
        control_frames: sides
            .map(|x| x.finished.outcome.ports.iter().flatten().map(|p| p.messages_sent).sum()),
        highest_queue_bytes: sides.map(|x| {
            x.finished
                .outcome
                .ports
                .iter()
                .flatten()
                .map(|p| p.ingress_bytes_max)
                .max()
                .unwrap_or(0)
        }),
        lost_frames: sides.map(|x| x.finished.manifest.lost_frames),
        page: out.path().join("compare.html"),
    };
    c.table = table(s, &c);
    let figure = figure(s, [read_all(real.folder)?, read_all(simulated.folder)?], c.deadlock_ps);
    out.write("compare.svg", figure.to_svg().as_bytes()).map_err(CompareError::Files)?;
    let stated = machine(report);
    let page = Report::new(title(s))
        .lead(stated.clone())
        .section(Section::new("Differences").table(c.table.clone()))
        .section(Section::new("Over time").figure(&figure))
        .provenance("xoff", xoff_run::VERSION);
    out.write("compare.html", page.to_html().as_bytes()).map_err(CompareError::Files)?;
    let text = format!(
        "# {}\n\n{stated}\n\n{}\n![{}](compare.svg)\n\n{}\n",
        title(s),
        c.table.to_markdown(),
        figure.title,
        figure.caption
    );
    out.write("compare.md", text.as_bytes()).map_err(CompareError::Files)?;
    Ok(c)
}

fn title(s: &NetworkScenario) -> String {
    let name = if s.title.is_empty() { "Scenario" } else { &s.title };
    format!("{name}: real frames and simulation")
}

fn machine(r: &RealReport) -> String {
    format!(
        "Of {:.3} s of real time, the clock of the testbed was stopped for {:.3} s while the processor was busy elsewhere. The longest \
         gap of the loop was {:.0} us. All times are those of this clock.",
        r.wall_seconds, r.left_out_seconds, r.gap_longest_us
    )
}

fn flows(sides: [&Side; 2]) -> Vec<[u64; 2]> {
    let of = |x: &Side| x.finished.outcome.flows.iter().map(|f| f.delivered).collect::<Vec<_>>();
    let [real, simulated] = sides.map(of);
    real.into_iter().zip(simulated).map(|(a, b)| [a, b]).collect()
}

/// Difference of the first from the second, in words.
fn difference(v: [u64; 2]) -> String {
    match v {
        [a, b] if a == b => "none".into(),
        [_, 0] => "n/a".into(),
        [a, b] => format!("{:+.1} %", (a as f64 / b as f64 - 1.0) * 100.0),
    }
}

fn table(s: &NetworkScenario, c: &Comparison) -> Table {
    use Align::{Left, Right};
    let mut t = Table::new(["", "Real frames", "Simulation", "Difference"])
        .align([Left, Right, Right, Right]);
    let bytes = |v: u64| Unit::Bytes.format(v as f64);
    for (i, (v, f)) in c.delivered_bytes.iter().zip(s.flows.flows.iter()).enumerate().take(40) {
        let name = format!(
            "Delivered, flow {}, {} to {}",
            i,
            s.topology.name(f.src),
            s.topology.name(f.dst)
        );
        t.push([name, bytes(v[0]), bytes(v[1]), difference(*v)]);
    }
    let closed = [0, 1].map(|side| match (c.deadlock_ps[side], c.deadlock_checked[side]) {
        (Some(ps), _) => Unit::Picoseconds.format(ps as f64),
        (None, true) => "none".to_owned(),
        (None, false) => "not checked".to_owned(),
    });
    let apart = match c.deadlock_ps {
        [None, None] => "none".to_owned(),
        [Some(a), Some(b)] => difference([a, b]),
        _ => "only one of them".to_owned(),
    };
    let [a, b] = closed;
    t.push(["Deadlock at".to_owned(), a, b, apart]);
    let mut count = |name: &str, v: [u64; 2], words: &dyn Fn(u64) -> String| {
        t.push([name.to_owned(), words(v[0]), words(v[1]), difference(v)]);
    };
    count("Control frames", c.control_frames, &|v| v.to_string());
    count("Highest ingress queue", c.highest_queue_bytes, &bytes);
    count("Frames lost", c.lost_frames, &|v| v.to_string());
    t
}

/// Sampled rates by flow and fill of ingress buffers by port.
struct Curves {
    rates: BTreeMap<u64, Series>,
    queues: BTreeMap<String, Series>,
}

fn read_all(folder: &Path) -> Result<Curves, CompareError> {
    let mut c = Curves { rates: BTreeMap::new(), queues: BTreeMap::new() };
    // A table without rows is not written.
    let tables = |name: &str| {
        if read::exists(folder, name) { read::batches(folder, name) } else { Ok(Vec::new()) }
    };
    for b in tables("rates").map_err(CompareError::Tables)? {
        let (time, flow, rate) = (
            read::numbers(&b, "time_ps"),
            read::numbers(&b, "flow"),
            read::numbers(&b, "rate_bps"),
        );
        let source = read::texts(&b, "source");
        for i in 0..b.num_rows() {
            if let (Some(t), Some(f), Some(r), Some("measured")) =
                (time[i], flow[i], rate[i], source[i])
            {
                c.rates.entry(f).or_default().push((t as f64, r as f64));
            }
        }
    }
    for b in tables("queues").map_err(CompareError::Tables)? {
        let (time, bytes) = (read::numbers(&b, "time_ps"), read::numbers(&b, "bytes"));
        let (port, kind) = (read::texts(&b, "port"), read::texts(&b, "kind"));
        for i in 0..b.num_rows() {
            if let (Some(t), Some(p), Some(n), Some("ingress")) =
                (time[i], port[i], bytes[i], kind[i])
            {
                c.queues.entry(p.to_owned()).or_default().push((t as f64, n as f64));
            }
        }
    }
    Ok(c)
}

/// Rates of flows, then the fullest queues; solid: real frames, dashed: simulation.
///
/// A deadlock is an instant in a run of seconds: the time shown is that around it.
fn figure(
    s: &NetworkScenario,
    [real, simulated]: [Curves; 2],
    deadlock_ps: [Option<u64>; 2],
) -> Figure {
    let mut figure = Figure::new(title(s))
        .caption(
            "Payload delivered by each flow, and the fullest ingress buffers. Solid: real frames. Dashed: simulation of the same \
                  scenario.",
        )
        .columns(3);
    // From zero: what is a line and a half of it shall look so.
    let from_zero = |label: &str, unit: Unit, all: &[&Series]| {
        let high = all.iter().flat_map(|p| p.iter()).map(|p| p.1).fold(0.0, f64::max);
        Axis::new(label, unit).range(0.0, if high > 0.0 { high * 1.05 } else { 1.0 })
    };
    let rates: Vec<&Series> = real.rates.values().chain(simulated.rates.values()).collect();
    let queues: Vec<&Series> = real.queues.values().chain(simulated.queues.values()).collect();
    let last =
        rates.iter().chain(&queues).filter_map(|p| p.last()).map(|p| p.0).fold(1.0, f64::max);
    let (from, to) = around(deadlock_ps, last);
    if to < last {
        let (to, last) = (Unit::Picoseconds.format(to), Unit::Picoseconds.format(last));
        figure = figure.note(format!("The time around the deadlock, up to {to}. The runs continued to {last} without a change."));
    }
    let time = || Axis::new("Time", Unit::Picoseconds).range(from, to);
    let both = |panel: Panel, real: Option<&Series>, simulated: Option<&Series>| {
        let curve = |name: &str, points: Option<&Series>| {
            Mark::line(name, points.cloned().unwrap_or_default())
        };
        let panel = panel
            .mark(curve("real frames", real).colour(Colour::Blue))
            .mark(curve("simulation", simulated).colour(Colour::Vermilion).dashed());
        let labels = ["deadlock with real frames", "deadlock in the simulation"];
        panel.marks(
            deadlock_ps
                .into_iter()
                .zip(labels)
                .filter_map(|(at, label)| Some(Mark::vline(at? as f64, label))),
        )
    };
    for (&flow, points) in simulated.rates.iter().take(SHOWN) {
        let panel = Panel::new(
            format!("Flow {flow}"),
            time(),
            from_zero("Delivered", Unit::BitsPerSecond, &rates),
        );
        figure = figure.panel(both(panel, real.rates.get(&flow), Some(points)));
    }
    let peak =
        |points: Option<&Series>| points.map_or(0.0, |p| p.iter().map(|p| p.1).fold(0.0, f64::max));
    let mut ports: Vec<&String> = simulated.queues.keys().collect();
    ports.sort_by(|a, b| {
        let of = |p: &str| peak(simulated.queues.get(p)).max(peak(real.queues.get(p)));
        of(b).total_cmp(&of(a)).then(a.cmp(b))
    });
    for port in ports.into_iter().take(SHOWN) {
        let panel = Panel::new(
            format!("Ingress {port}"),
            time(),
            from_zero("Queue length", Unit::Bytes, &queues),
        );
        figure = figure.panel(both(panel, real.queues.get(port), simulated.queues.get(port)));
    }
    figure
}

/// The stretch of time [ps] that a figure of a run up to `last` shows: around the deadlocks, or all
/// of it.
fn around(deadlock_ps: [Option<u64>; 2], last: f64) -> (f64, f64) {
    // As much before the first as the figure needs to show what led to it, as much after the last
    // to show that nothing follows.
    const PART: f64 = 0.6;
    let at = || deadlock_ps.into_iter().flatten().map(|ps| ps as f64);
    let Some(first) = at().reduce(f64::min) else { return (0.0, last) };
    let latest = at().fold(first, f64::max);
    let to = latest + PART * latest;
    // Where that is most of the run, all of it.
    if to > 0.7 * last { (0.0, last) } else { ((1.0 - PART) * first, to) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_shows_the_time_around_the_deadlock() {
        assert_eq!(around([None, None], 2e12), (0.0, 2e12));
        assert_eq!(around([Some(100), Some(200)], 1e6), (40.0, 320.0));
        assert_eq!(around([None, Some(100)], 1e6), (40.0, 160.0));
        assert_eq!(around([Some(100), None], 200.0), (0.0, 200.0), "most of the run: all of it");
    }

    #[test]
    fn differences_are_those_of_the_real_run() {
        assert_eq!(difference([110, 100]), "+10.0 %");
        assert_eq!(difference([50, 100]), "-50.0 %");
        assert_eq!([difference([3, 3]), difference([1, 0])], ["none", "n/a"]);
    }
}
