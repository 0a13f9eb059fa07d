//! Exact fast-forward: a network whose state recurs is advanced by whole periods.
//!
//! ```text
//!   anchors   a data frame of one flow arrives at its end:  t0 ----- t1 ----- t2 ----- t3 ...     (search.rs)
//!   compare   the whole state at t1 with that at t0, word by word                                (words.rs)
//!   jump      counts and records of one period are added m times                                (jump.rs, totals.rs)
//! ```
//!
//! Ranks of jobs send when they have received, so whole iterations recur (iterations.rs).
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
mod memory;
mod plan;
mod recall;
mod search;
mod totals;
mod words;

use xoff_mech::rate_control::RateControlKind;
use xoff_net::topology::Topology;
use xoff_net::workload::Flows;
use xoff_node::EventKey;
use xoff_units::params::ParamError;
use xoff_units::{Span, Time};

use crate::engine::event::EventOrder;
use crate::observe::outcome::FastForwarded;
use crate::observe::probe::Row;
use crate::world::World;
use crate::world::advance::{Advance, Load};
use crate::world::model::Model;
use iterations::Iterations;
use memory::Memory;
use plan::Plan;
use search::Search;

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
struct FastForward {
    progress: Progress,
    inputs: Inputs,
    /// Events handled when the inputs last changed.
    quiet_from: u64,
    /// Looks in a row that found changed inputs.
    restless: u32,
    /// Searches that have found nothing since then. Each makes the wait for the next one longer in
    /// proportion.
    failed: u64,
    /// Rows that the present search or period may have to repeat.
    rows: Vec<(EventKey, Row)>,
    /// Number from which entries that are older than all states are dropped.
    trim_at: usize,
    memory: Memory,
    done: FastForwarded,
}

impl FastForward {
    /// Nothing is known yet.
    fn new(load: &Load) -> FastForward {
        let (off, jobs) = (obstacle(load.flows, load.model), load.flows.jobs.is_some());
        // Flow control by flow goes by the numbers of flows, which are others the next time.
        let plan = if off.is_some() || load.by_flow { Plan::default() } else { Plan::new(load) };
        let memory = Memory::new(plan);
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
            restless: 0,
            failed: 0,
            rows: Vec::new(),
            trim_at: 0,
            memory,
            done: FastForwarded { because, ..FastForwarded::default() },
        }
    }

    /// Nothing is searched any more.
    fn give_up(&mut self, because: &str) {
        self.done.note(because);
        self.progress = Progress::Off;
        self.memory.give_up();
        self.rows = Vec::new();
    }
}

impl Advance for FastForward {
    fn advance(&mut self, world: &mut World, until: Time) -> Option<(EventKey, u64)> {
        world.fast_forward(self, until)
    }

    fn is_off(&self) -> bool {
        matches!(self.progress, Progress::Off)
    }

    /// They are kept while a period is searched.
    fn note_rows(&mut self, rows: &[(EventKey, Row)]) {
        if matches!(self.progress, Progress::Searches(_) | Progress::Iterates(_)) {
            self.rows.extend_from_slice(rows);
        }
    }

    fn done(&self) -> &FastForwarded {
        &self.done
    }

    /// Remembered states are not kept.
    fn go_on_from(&mut self, done: FastForwarded, begun: usize) {
        self.done = done;
        self.memory.skip_to(begun);
    }
}

impl World {
    /// Builds a network at rest with its flows waiting to start.
    pub fn build(topology: &Topology, flows: Flows, m: &Model) -> Result<World, ParamError> {
        World::assemble(topology, flows, m, |load| Box::new(FastForward::new(load)))
    }
}

/// Reason why no recurring state is searched.
fn obstacle(flows: &Flows, m: &Model) -> Option<String> {
    let reasons = [
        (!m.fast_forward, "it was not asked for"),
        (
            m.order == EventOrder::Insertion,
            "simultaneous events follow the order of insertion, which never recurs",
        ),
        (m.draws.is_some() || m.faults.losses.is_some(), "random numbers decide about every frame"),
        (m.switches_choose(), "switches choose a next hop for each frame"),
        (!m.faults.errors.is_empty(), "links corrupt frames"),
        (m.faults.link_retry.is_some(), "links number their frames"),
        (m.faults.round_robin.is_some(), "the order of flows at a NIC is given from outside"),
        (!m.probes.frames.is_none(), "frames on wires are recorded one by one"),
        (
            m.nic.transport.facts().connections,
            "windows of connections grow with every acknowledgement",
        ),
        (m.outside.is_some(), "other nodes act in real time"),
        (m.share.is_some(), "the network is spread over several processes"),
        (
            !m.nic.transport.acknowledges() && !matches!(m.nic.rate_control, RateControlKind::None),
            "rate controls of flows without acknowledgements never end",
        ),
        (
            m.faults.slow_receivers.iter().any(|s| !s.drain.stalls.is_empty()),
            "a host stalls at times that were given",
        ),
        (!m.faults.storms.is_empty(), "hosts stop their peers by the clock"),
        (m.nic.shared_connections, "messages that share a connection wait for each other"),
        (m.watchdog.is_some(), "a watchdog polls the queues at fixed times"),
        (
            flows.jobs.as_ref().is_some_and(|j| j.are_streamed()),
            "operations of jobs are streamed, and no iteration is kept to be compared",
        ),
        (!flows.loops.is_empty(), "closed loops start flows that are not known before"),
        (
            flows.jobs.as_ref().is_some_and(|j| j.jobs.iter().all(|j| j.iterations < 3)),
            "no job has three iterations",
        ),
        (
            flows.jobs.is_some() && m.probes.flow_rates,
            "the rates of flows are sampled, and each message of a job is one",
        ),
        (!flows.handed_in.is_empty(), "another program adds flows during the run"),
    ];
    reasons.into_iter().find(|r| r.0).map(|r| r.1.to_owned())
}
