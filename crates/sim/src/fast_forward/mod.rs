//! Exact fast-forward: a network whose state recurs is advanced by whole periods.
//!
//! ```text
//!   anchors   a data frame of one flow arrives at its end:  t0 ----- t1 ----- t2 ----- t3 ...     (search.rs)
//!   compare   the whole state at t1 with that at t0, word by word                                (words.rs)
//!   jump      counts and records of one period are added m times                                (jump.rs, totals.rs)
//! ```
//!
//! Ranks of jobs send when they have received, so whole iterations recur (iterations.rs, leaps.rs).
//!
//! A period that starts and ends with an idle network is remembered as a whole. If the same flows
//! start again in the same state, the period is not simulated again (plan.rs, memory.rs,
//! recall.rs).
//!
//! A network is a deterministic map on its state. If two states are equal except for the times,
//! byte offsets and counters that have grown together, and nothing random was drawn between them,
//! everything that follows repeats, until something comes from outside: the start of a flow, a link
//! that fails, a flow that runs out of full frames.
//!
//! A jump leaves the state where it is. Simulated time is the *local* time of the nodes plus the
//! skipped time. Outputs of the world - rows, completion times, deadlocks - are shifted outwards,
//! inputs - starts, failures, samples, the end of the run - inwards, and the flows that moved are
//! that much shorter. So only comparing needs to know every field, and the compiler counts them.

mod iterations;
mod jump;
pub(crate) mod leaps;
mod memory;
mod plan;
mod recall;
mod search;
mod totals;
mod words;

use xoff_node::EventKey;
use xoff_units::Span;
use xoff_units::state::State;

use crate::observe::probe::Row;
use iterations::Iterations;
pub(crate) use leaps::Leapt;
use memory::Memory;
pub(crate) use plan::{Plan, Routed};
use search::Search;

/// Effect of fast-forward on a run, or the reason for none.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
pub struct FastForwarded {
    /// Periods that were found.
    pub periods: u64,
    /// The longest of them [ps].
    pub longest: Span,
    /// Number of repeated episodes: stretches from an idle network to its next idle state.
    pub repeated: u64,
    /// Simulated time that was skipped [ps].
    pub skipped: Span,
    /// Events that the skipped periods would have taken.
    pub events_skipped: u64,
    /// Reason why nothing was skipped; `None`: something was.
    pub because: Option<String>,
}

impl FastForwarded {
    /// Notes why nothing has been skipped so far.
    fn note(&mut self, because: &str) {
        if self.periods == 0 {
            self.because = Some(because.into());
        }
    }
}

/// A period that was found.
struct Period {
    length: Span,
    /// Start, in local time.
    start: EventKey,
    /// Bytes that each flow sends in it.
    advances: Vec<(u32, u64)>,
    /// Counters.
    counts: Vec<u64>,
    /// Rows, with local times.
    rows: Vec<(EventKey, Row)>,
}

/// Conditions of a period besides the state: a change of any of them ends the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inputs {
    begun: usize,
    completed: usize,
    drawn: u64,
    broken: u64,
    failures: u64,
    deadlocks: usize,
}

/// Progress of the search in a run.
enum Progress {
    /// No search before a number of handled events.
    Waits {
        until: u64,
    },
    Searches(Box<Search>),
    /// Whole iterations of jobs.
    Iterates(Box<Iterations>),
    Knows(Box<Period>),
    /// Not in this run.
    Off,
}

/// Fast-forward of a run.
pub(crate) struct FastForward {
    progress: Progress,
    inputs: Inputs,
    /// Events handled when the inputs last changed.
    quiet_from: u64,
    /// Searches that have found nothing since then. Each makes the wait for the next one longer in
    /// proportion.
    failed: u64,
    /// Rows that the present search or period may have to repeat.
    rows: Vec<(EventKey, Row)>,
    /// Number from which entries that are older than all states are dropped.
    trim_at: usize,
    memory: Memory,
    pub done: FastForwarded,
}

impl FastForward {
    /// Nothing is known yet; `off`: reason why nothing will be searched. `plan`: planned inputs of
    /// the network; `jobs`: ranks of jobs ask for the most.
    pub fn new(off: Option<String>, plan: Plan, jobs: bool) -> FastForward {
        let memory = Memory::new(if off.is_some() { Plan::default() } else { plan });
        let progress = match off {
            Some(_) => Progress::Off,
            None if jobs => Progress::Iterates(Box::new(Iterations::new())),
            None => Progress::Waits { until: search::QUIET },
        };
        let because = Some(off.unwrap_or_else(|| {
            "no periodic behaviour found: starts, ends and random draws were too frequent".into()
        }));
        FastForward {
            progress,
            inputs: Inputs::default(),
            quiet_from: 0,
            failed: 0,
            rows: Vec::new(),
            trim_at: 0,
            memory,
            done: FastForwarded { because, ..FastForwarded::default() },
        }
    }

    /// Rows were recorded: they are kept while a period is searched.
    pub fn note_rows(&mut self, rows: &[(EventKey, Row)]) {
        if matches!(self.progress, Progress::Searches(_) | Progress::Iterates(_)) {
            self.rows.extend_from_slice(rows);
        }
    }

    /// Resumes after a state was restored in which `begun` flows have begun. Counts of skipped work
    /// are kept; remembered states are not.
    pub fn go_on_from(&mut self, done: FastForwarded, begun: usize) {
        self.done = done;
        self.memory.skip_to(begun);
    }

    /// Nothing is searched any more.
    fn give_up(&mut self, because: &str) {
        self.done.note(because);
        self.progress = Progress::Off;
        self.memory.give_up();
        self.rows = Vec::new();
    }
}
