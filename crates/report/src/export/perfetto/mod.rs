//! The tables of a run as a Perfetto trace.
//!
//! ```text
//!   ports          -> tracks, in their order
//!   flows          -> slices, in rows of their source           queues, rates  -> counters
//!   pauses, states -> slices                                    control        -> instants, an arrow from each sending to its arrival
//!   causes         -> arrows from pause to pause                deadlocks, marks, cnms -> instants
//!   ranks, operations, critical_path -> slices, arrows from sends to receives
//! ```
//!
//! Perfetto's times are nanoseconds: picoseconds are cut off, so that order stays, and the exact
//! times stand next to each event. A file need not be in the order of time, so one table is written
//! behind the other, a batch of rows at a time.

mod arrows;
pub mod encode;
mod events;
mod ranks;
mod tracks;

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use xoff_record::{Manifest, RecordBatch, read};
use xoff_units::Time;

use crate::export::error::ExportError;
use arrows::Arrows;
use encode::{Annotation, Event, EventKind, Packets};
use tracks::{PortId, Tracks};

/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1000;

/// Selection to write.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Start of the selection: earlier events are omitted.
    pub from: Time,
    /// End of the selection: later events are omitted.
    pub until: Time,
}

impl Window {
    /// The whole run.
    pub const ALL: Window = Window { from: Time::ZERO, until: Time::NEVER };

    /// Does it hold something from one time to another one [ps]?
    fn holds(&self, start_ps: u64, end_ps: u64) -> bool {
        end_ps >= self.from.0 && start_ps <= self.until.0
    }
}

/// Result of the export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Tracks.
    pub tracks: u64,
    /// Values of counters.
    pub counts: u64,
    /// Slices.
    pub slices: u64,
    /// Instants.
    pub instants: u64,
    /// Arrows.
    pub arrows: u64,
    /// Rows read, by table; tables without rows are not among them.
    pub rows: Vec<(&'static str, u64)>,
    /// Notes for the reader: recordings that are missing, and omitted parts.
    pub notes: Vec<String>,
}

/// A trace in progress, and the rows read so far.
struct Trace<'a, W> {
    out: Packets<W>,
    tracks: Tracks,
    arrows: Arrows,
    window: Window,
    summary: Summary,
    /// Number of the last arrow.
    arrow: u64,
    /// The last value of each counter that is not written yet: a later one of the same ns replaces
    /// it.
    pending: HashMap<u64, (u64, i64)>,
    /// The last value of each counter that is written.
    written: HashMap<u64, i64>,
    look: &'a mut dyn FnMut(&'static str, u64) -> bool,
}

/// Writes the run in `dir` as a trace. `look(table, rows)` is called now and then; when it returns
/// false, writing ends.
///
/// # Errors
/// A table that cannot be read, and a file that cannot be written.
pub fn write<W: Write>(
    dir: &Path,
    manifest: &Manifest,
    window: Window,
    to: W,
    look: &mut dyn FnMut(&'static str, u64) -> bool,
) -> Result<(W, Summary), ExportError> {
    let mut trace = Trace {
        out: Packets::new(BufWriter::with_capacity(1 << 18, to)),
        tracks: Tracks::default(),
        arrows: Arrows::default(),
        window,
        summary: Summary::default(),
        arrow: 0,
        pending: HashMap::new(),
        written: HashMap::new(),
        look,
    };
    trace.about(manifest)?;
    trace.ports(dir)?;
    trace.arrows = Arrows::read(dir, &mut trace.tracks, &mut trace.arrow, &mut trace.summary)?;
    trace.summary.arrows += trace.arrows.count;
    events::all(&mut trace, dir)?;
    trace.settle()?;
    trace.missing(manifest);
    trace.summary.tracks = trace.tracks.len();
    let to = trace.out.into_inner().into_inner().map_err(|e| ExportError::Write(e.into_error()))?;
    Ok((to, trace.summary))
}

impl<W: Write> Trace<'_, W> {
    /// The run itself: its begin, its end, and where it comes from.
    fn about(&mut self, m: &Manifest) -> Result<(), ExportError> {
        let track = self.tracks.below(&mut self.out, "run", "run", encode::TrackKind::Slices)?;
        let headline = m.verdict.as_ref().map_or(String::new(), |v| v.headline().to_string());
        let end_ns = (m.simulated_seconds * 1e12).round() as u64 / PS_PER_NS;
        let annotations = [
            ("headline", Annotation::Text(&headline)),
            ("result_hash", Annotation::Text(&m.result_hash)),
            ("xoff_version", Annotation::Text(&m.xoff_version)),
            ("ended_because", Annotation::Text(&m.ended_because)),
            (
                "times",
                Annotation::Text("ns; ps are cut off, exact times stand beside each event as *_ps"),
            ),
        ];
        let slice = |ns, kind, annotations| Event {
            ns,
            track,
            kind,
            name: "run",
            category: "run",
            begins: &[],
            ends: &[],
            annotations,
        };
        self.out.event(&slice(0, EventKind::Begin, &annotations))?;
        self.out.event(&slice(end_ns, EventKind::End, &[]))?;
        self.summary.slices += 1;
        Ok(())
    }

    /// The nodes and ports of the run, in their order.
    fn ports(&mut self, dir: &Path) -> Result<(), ExportError> {
        if !read::exists(dir, "ports") {
            return Ok(());
        }
        for batch in read::stream(dir, "ports")? {
            let b = batch?;
            for port in read::texts(&b, "port").into_iter().flatten() {
                self.tracks.port(port);
                self.tracks.node(&mut self.out, tracks::ends(port).0)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with the rows of a table, if the run has it.
    fn table(
        &mut self,
        dir: &Path,
        name: &'static str,
        mut each: impl FnMut(&mut Self, &RecordBatch) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        if !read::exists(dir, name) {
            return Ok(());
        }
        let mut rows = 0;
        for batch in read::stream(dir, name)? {
            let b = batch?;
            each(self, &b)?;
            rows += b.num_rows() as u64;
            if !(self.look)(name, rows) {
                return Err(ExportError::Stopped);
            }
        }
        if rows > 0 {
            self.summary.rows.push((name, rows));
        }
        Ok(())
    }

    /// A counter has this value from a time [ps] on.
    fn count(&mut self, time_ps: u64, track: u64, value: u64) -> Result<(), ExportError> {
        if !self.window.holds(time_ps, time_ps) {
            return Ok(());
        }
        let (ns, value) = (time_ps / PS_PER_NS, i64::try_from(value).unwrap_or(i64::MAX));
        match self.pending.insert(track, (ns, value)) {
            Some((before, last)) if before != ns => self.write_count(before, track, last),
            _ => Ok(()),
        }
    }

    fn write_count(&mut self, ns: u64, track: u64, value: i64) -> Result<(), ExportError> {
        if self.written.insert(track, value) != Some(value) {
            self.summary.counts += 1;
            self.out.count(ns, track, value)?;
        }
        Ok(())
    }

    /// Writes the last values of counters.
    fn settle(&mut self) -> Result<(), ExportError> {
        let mut rest: Vec<(u64, (u64, i64))> = self.pending.drain().collect();
        rest.sort_unstable();
        rest.into_iter().try_for_each(|(track, (ns, value))| self.write_count(ns, track, value))
    }

    /// Something happens at a time [ps].
    fn instant(&mut self, time_ps: u64, event: Event<'_>) -> Result<(), ExportError> {
        if self.window.holds(time_ps, time_ps) {
            self.summary.instants += 1;
            self.out.event(&Event {
                ns: time_ps / PS_PER_NS,
                kind: EventKind::Instant,
                ..event
            })?;
        }
        Ok(())
    }

    /// Something lasts from a time [ps] to another one, or until the run ends.
    fn slice(
        &mut self,
        start_ps: u64,
        end_ps: Option<u64>,
        event: Event<'_>,
    ) -> Result<(), ExportError> {
        if !self.window.holds(start_ps, end_ps.unwrap_or(u64::MAX)) {
            return Ok(());
        }
        self.summary.slices += 1;
        self.out.event(&Event { ns: start_ps / PS_PER_NS, kind: EventKind::Begin, ..event })?;
        if let Some(to) = end_ps {
            let end = Event {
                ns: to / PS_PER_NS,
                kind: EventKind::End,
                name: "",
                begins: &[],
                ends: &[],
                annotations: &[],
                ..event
            };
            self.out.event(&end)?;
        }
        Ok(())
    }

    fn leaf(&mut self, port: PortId, leaf: tracks::Leaf) -> Result<u64, ExportError> {
        Ok(self.tracks.leaf(&mut self.out, port, leaf)?)
    }

    /// Notes about tables that the run did not record.
    fn missing(&mut self, m: &Manifest) {
        let has = |names: &[&str]| self.summary.rows.iter().any(|(name, _)| names.contains(name));
        if has(&["windows", "fabric_ports", "host_flows"]) || m.scenario.is_empty() {
            return;
        }
        // A probe that was set and met nothing has no rows either.
        let set = |probe: &str| {
            m.parameters
                .iter()
                .any(|p| p.path.strip_prefix("probes.") == Some(probe) && p.value != "false")
        };
        let mut wanted = Vec::new();
        if !has(&["queues"]) && !set("queues") && !set("queue_changes") {
            wanted.push("queue_changes (or queues)");
        }
        wanted.extend(
            ["pauses", "control"].into_iter().filter(|probe| !has(&[probe]) && !set(probe)),
        );
        if has(&["pauses"]) && !has(&["causes"]) && !set("causes") {
            wanted.push("causes (how pauses spread)");
        }
        if !wanted.is_empty() {
            let text = format!("[probes] would show more in another run: {}", wanted.join(", "));
            self.summary.notes.push(text);
        }
    }
}

/// An event on a track, for the fields that matter.
fn on<'a>(
    track: u64,
    name: &'a str,
    category: &'a str,
    annotations: &'a [(&'a str, Annotation<'a>)],
) -> Event<'a> {
    Event {
        ns: 0,
        track,
        kind: EventKind::Instant,
        name,
        category,
        begins: &[],
        ends: &[],
        annotations,
    }
}
