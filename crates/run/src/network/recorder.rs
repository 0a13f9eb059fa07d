//! Rows of the simulator into tables.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::checkpoint::RowLog;
use super::jobs::Pauses;
use super::uplinks::Samples;
use xoff_net::jobs::{Jobs, Pages};
use xoff_record::{PauseRow, Port, StoppedBy, Tables};
use xoff_sim::{OnWire, PauseChange, Recorder, Row};
use xoff_units::paged::Items;

/// Writes rows to tables. The first error stops the run.
pub(crate) struct TableRecorder {
    pub tables: Tables,
    /// Start of each pause that has not ended, by port and priority, and its cause.
    open: HashMap<(u32, u8), (u64, StoppedBy)>,
    failed: bool,
    /// Pauses that have ended, where jobs are accounted for.
    pub kept: Option<Pauses>,
    /// Pages of the rows, if jobs are streamed.
    pages: Option<Pages>,
    /// Takes the frames of recorded ports; false: it failed, and the run stops.
    tap: Option<FrameTap>,
    /// Balance of load over time, where rates are sampled.
    pub samples: Option<Samples>,
    /// Keeps the rows next to the checkpoints of the run, if it writes any.
    log: Option<Arc<Mutex<RowLog>>>,
}

/// Takes frames of a run as they are transmitted, in the order of time; returns false when the run
/// should stop.
pub type FrameTap = Box<dyn FnMut(&OnWire) -> bool + Send>;

impl TableRecorder {
    /// Recorder into these tables.
    pub fn new(tables: Tables) -> Self {
        TableRecorder {
            tables,
            open: HashMap::default(),
            failed: false,
            kept: None,
            pages: None,
            tap: None,
            samples: None,
            log: None,
        }
    }

    /// Frames go to `tap`.
    pub fn with_tap(self, tap: Option<FrameTap>) -> Self {
        TableRecorder { tap, ..self }
    }

    /// Sampled rates count for the balance of load.
    pub fn sampling(self, samples: Option<Samples>) -> Self {
        TableRecorder { samples, ..self }
    }

    /// Rows go to this log too, from now on.
    pub fn log_to(&mut self, log: Arc<Mutex<RowLog>>) {
        self.log = Some(log);
    }

    /// Pauses that never ended, in port order.
    pub fn close_pauses(&mut self) {
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_unstable_by_key(|(at, _)| *at);
        for ((port, priority), (start_ps, cause)) in open {
            let row = PauseRow { port: Port(port), priority, start_ps, end_ps: None, cause };
            self.keep(&row);
            self.failed |= self.tables.pauses.push(row).is_err();
        }
    }

    /// The pause that ends with this change, if one does.
    fn pause(&mut self, change: PauseChange) -> Option<PauseRow> {
        let PauseChange { time_ps, port, priority, stopped, by } = change;
        let at = (port.0, priority);
        if stopped {
            self.open.entry(at).or_insert((time_ps, by));
            return None;
        }
        let row = self.open.remove(&at).map(|(start_ps, cause)| PauseRow {
            port,
            priority,
            start_ps,
            end_ps: Some(time_ps),
            cause,
        })?;
        self.keep(&row);
        Some(row)
    }

    fn keep(&mut self, row: &PauseRow) {
        if let Some(kept) = &mut self.kept {
            let list =
                || self.pages.as_ref().map_or_else(Items::default, |p| p.list_of(2, |_| (0, 0)));
            kept.entry((row.port.0, row.priority))
                .or_insert_with(list)
                .push((row.start_ps, row.end_ps.unwrap_or(u64::MAX)));
        }
    }

    /// Pauses are kept from now on, if there are jobs.
    pub fn keeping_pauses(mut self, jobs: Option<&Jobs>) -> Self {
        self.kept = jobs.map(|_| Pauses::default());
        // There are more ports than ranks.
        self.pages = jobs.and_then(Jobs::pages).map(|p| Pages { page: 64, ..p.clone() });
        self
    }
}

impl Recorder for TableRecorder {
    fn row(&mut self, row: &Row) {
        if let Some(log) = &self.log {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(row);
        }
        let t = &mut self.tables;
        let pushed = match *row {
            Row::Queue(r) => t.queues.push(r),
            Row::Rate(r) => {
                self.samples.iter_mut().for_each(|samples| samples.note(&r));
                t.rates.push(r)
            }
            Row::Control(r) => t.control.push(r),
            Row::Cause(r) => t.causes.push(r),
            Row::Mark(r) => t.marks.push(r),
            Row::Cnm(r) => t.cnms.push(r),
            Row::State(r) => t.states.push(r),
            Row::Pause(change) => self.pause(change).map_or(Ok(()), |r| self.tables.pauses.push(r)),
            Row::Hold(_) => Ok(()), // of use to explanations only; the table of pauses says when
        };
        self.failed |= pushed.is_err();
    }

    fn frame(&mut self, frame: &OnWire) {
        if let Some(tap) = self.tap.as_mut().filter(|_| !self.failed) {
            self.failed = !tap(frame);
        }
    }

    fn failed(&self) -> bool {
        self.failed
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
