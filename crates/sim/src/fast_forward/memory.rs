//! Memory of episodes: periods that begin and end with a network without active flows.
//!
//! ```text
//!   run        | flows a b c d ..  at rest | flows a b c d ..  at rest | ...
//!   states     0                           1                           1       the same state again: one number
//!   episodes     kinds 0, from 0 to 1        kinds 0, from 1 to 1              its counts and records, ends of its flows
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::{FlowId, Span, Time};

use super::Inputs;
use super::plan::Plan;
use super::words::{Group, Words};
use crate::observe::flows::FlowRecord;
use crate::observe::probe::Row;

/// States that are kept.
const STATES_MAX: usize = 256;
/// Rows that all episodes together keep.
const ROWS_MAX: usize = 1 << 22;
/// Flows that all episodes together keep.
const FLOWS_MAX: usize = 1 << 20;

/// A state at rest, in words that are equal whenever it recurs: times as of now, every other number
/// that grows as of the first of its group.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Rest(Words);

impl Rest {
    /// Words written at `at`: growing numbers relative to the first of their group, and these first
    /// numbers.
    pub fn new(mut words: Words, at: Time) -> (Rest, FxHashMap<Group, u64>) {
        let mut first: FxHashMap<Group, u64> = FxHashMap::from_iter([(Group::Time, at.0)]);
        for (group, value) in words.iter_mut().filter(|w| w.0 != Group::Plain) {
            *value = value.wrapping_sub(*first.entry(*group).or_insert(*value));
        }
        first.remove(&Group::Time);
        (Rest(words), first)
    }

    /// True if the value contains no time: it then changes only by events from outside.
    fn is_settled(&self) -> bool {
        self.0.iter().all(|w| w.0 != Group::Time)
    }
}

/// Outcome of a flow. Times are relative to the start of the episode.
pub(super) struct Fate {
    /// Record without the flow itself.
    pub record: FlowRecord,
    pub all_sent: Option<Span>,
    pub received: Option<Span>,
    pub end: Option<Span>,
}

/// A stretch from the start of a group of flows in a network at rest to the next start at rest.
pub(super) struct Episode {
    /// The groups of flows that begin in it, each with how long after the first one.
    pub groups: Vec<(Span, u32)>,
    /// State in which it ends.
    pub to: usize,
    /// From the first start to the next one that is not in it.
    pub length: Span,
    /// From the first start to the last event.
    pub acted: Span,
    /// At its end nothing is left to do but calls that find nothing due.
    pub rests: bool,
    pub fates: Vec<Fate>,
    /// The flows in the order in which they were complete, counted from the first one.
    pub completions: Vec<FlowId>,
    /// Counters.
    pub counts: Vec<u64>,
    /// Rows, with the time since the start and with flows counted from the first one.
    pub rows: Vec<(Span, Row)>,
}

/// An episode that is under way.
pub(super) struct Open {
    pub state: usize,
    /// The first of its groups.
    pub group: usize,
    /// Start, in the time of the run.
    pub at: Time,
    pub inputs: Inputs,
    pub counts: Vec<u64>,
    /// Numbers that grow, at its beginning.
    pub first: FxHashMap<Group, u64>,
    /// Number of earlier events of the whole network.
    pub disturbed: u64,
}

/// Memory of a run.
#[derive(Default)]
pub(super) struct Memory {
    pub plan: Plan,
    /// The next group at whose start the network may be at rest.
    pub group: usize,
    states: HashMap<Arc<Rest>, usize>,
    settled: Vec<bool>,
    /// Episodes by the state in which they begin.
    episodes: Vec<Vec<Episode>>,
    pub open: Option<Open>,
    rows: usize,
    flows: usize,
    /// Words written so far.
    pub written: u64,
    /// Words of the longest state so far.
    pub longest: u64,
}

impl Memory {
    pub fn new(plan: Plan) -> Memory {
        Memory { plan, ..Memory::default() }
    }

    /// Nothing more can come of it: the groups are over, or there were none.
    pub fn is_over(&self) -> bool {
        self.group >= self.plan.groups.len()
    }

    /// Skips to the state after `begun` flows have begun.
    pub fn skip_to(&mut self, begun: usize) {
        while !self.is_over() && (self.first_flow(self.group) as usize) < begun {
            self.group += 1;
        }
    }

    /// Nothing is remembered any more.
    pub fn give_up(&mut self) {
        *self = Memory::default();
    }

    /// The number of a state; `None`: there are too many.
    pub fn number(&mut self, rest: Rest) -> Option<usize> {
        if let Some(&known) = self.states.get(&rest) {
            return Some(known);
        }
        if self.states.len() >= STATES_MAX {
            return None;
        }
        let number = self.settled.len();
        self.settled.push(rest.is_settled());
        self.episodes.push(Vec::new());
        self.states.insert(Arc::new(rest), number);
        Some(number)
    }

    /// A network in this state stays in it as long as nothing comes from outside.
    pub fn is_settled(&self, state: usize) -> bool {
        self.settled[state]
    }

    /// Keeps an episode, if there is room.
    pub fn keep(&mut self, from: usize, episode: Episode) {
        let (rows, flows) = (self.rows + episode.rows.len(), self.flows + episode.fates.len());
        if rows <= ROWS_MAX && flows <= FLOWS_MAX {
            (self.rows, self.flows) = (rows, flows);
            self.episodes[from].push(episode);
        }
    }

    /// The episode that begins in a state with the group of this number, `start` giving the start
    /// of a group.
    pub fn find(
        &self,
        from: usize,
        group: usize,
        start: impl Fn(usize) -> Option<Time>,
    ) -> Option<&Episode> {
        let base = start(group)?;
        self.episodes[from].iter().find(|e| {
            let kinds = self.plan.groups.get(group..group + e.groups.len());
            let same = kinds.is_some_and(|g| {
                let after = |nth| start(group + nth).map(|t: Time| t.since(base));
                g.iter()
                    .zip(&e.groups)
                    .enumerate()
                    .all(|(nth, (g, &(at, kind)))| g.kind == Some(kind) && after(nth) == Some(at))
            });
            // The next event has to come at the same time, or later if no other event precedes it.
            same && start(group + e.groups.len()).is_none_or(|next| {
                let length = next.since(base);
                length == e.length || length > e.length && self.settled[e.to]
            })
        })
    }

    /// The number of the first flow of a group; past the last group that of no flow.
    pub fn first_flow(&self, group: usize) -> u32 {
        self.plan.groups.get(group).map_or(self.plan.flows, |g| g.first)
    }
}
