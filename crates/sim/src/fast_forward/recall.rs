//! Remembers episodes between two idle times, and repeats them where the same flows begin in the
//! same state.
//!
//! ```text
//!   at rest before the flows of group g      state known, and an episode that begins in it with the kinds of g, g+1, ...?
//!     yes: go on from its end; back in the same state -> all of it is skipped: rows, counters and completions are repeated
//!     no:  simulate, and remember it when the network is at rest again
//! ```
//!
//! A recall leaves the nodes in their local time, as a jump does. So it skips only a period that
//! returns the network to its present state, or the rest of the run.

use xoff_node::EventKey;
use xoff_units::{FlowId, Span, Time};

use super::memory::{Episode, Fate, Memory, Open, Rest};
use super::words::{Group, Out, Stop, Words};
use super::{FastForward, totals};
use crate::engine::event::{Event, Kind};
use crate::engine::queue::Pending;
use crate::observe::flows::FlowRecord;
use crate::observe::probe::Row;
use crate::world::World;
use crate::world::partition::{Node, Partition};

/// States at rest that are written before anything is known to recur.
const FREE_STATES: u64 = 4;
/// Episodes that are skipped at once.
const CHAIN_MAX: usize = 1 << 12;
/// Rows that they record at most, unless one that leads back has more: who drives the run looks at
/// its clock and at signals in between.
const ROWS_AT_ONCE: usize = 1 << 18;

impl World {
    /// End of the next stretch, chosen so that an idle network can be detected; skips stored
    /// episodes. `until` is the end of the run, in its time.
    pub(super) fn recall(&mut self, f: &mut FastForward, until: Time) -> Option<EventKey> {
        if f.memory.is_over() {
            return None;
        }
        let mut m = std::mem::take(&mut f.memory);
        let place = self.go_on_recalling(&mut m, f, until);
        f.memory = m;
        place
    }

    fn go_on_recalling(
        &mut self,
        m: &mut Memory,
        f: &mut FastForward,
        until: Time,
    ) -> Option<EventKey> {
        while !m.is_over() {
            let first = m.first_flow(m.group);
            let start = self.start_of(FlowId(first))?;
            // Flows that begin at the very time have not begun yet.
            let place = EventKey { time: Time(start.0 - self.skipped.0), rank: 0 };
            let reached = self.boundary()?;
            let begun = self.inputs().begun;
            if reached < place && begun <= first as usize {
                return Some(place);
            }
            if begun != first as usize || self.failures > 0 {
                m.open = None;
            } else if self.completed() == begun
                && self.partitions.iter().all(|p| p.core.frames.live_data() == 0)
            {
                match self.at_rest(m, f, place.time, until) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(Stop::Differs) => m.open = None,
                    Err(Stop::Unwritten(_)) => m.give_up(),
                }
            }
            m.group += 1;
        }
        None
    }

    fn start_of(&self, flow: FlowId) -> Option<Time> {
        self.partitions[0].starts.flows.get(flow.index()).map(|f| f.start)
    }

    /// No flow is under way, and the next group is about to begin: ends the episode so far, and
    /// skips the known future. Returns whether anything was skipped; if not, another episode has
    /// begun.
    fn at_rest(
        &mut self,
        m: &mut Memory,
        f: &mut FastForward,
        at: Time,
        until: Time,
    ) -> Result<bool, Stop> {
        let known_before = m.open.is_some();
        let again = m.plan.groups[m.group].kind.is_some();
        if !again && !known_before {
            return Ok(false);
        }
        // Writing a state takes as long as some events: it has to be in proportion to the simulated
        // work.
        let likely = self.words_likely().max(m.longest);
        if m.written + likely > FREE_STATES * likely + self.events() / 2 {
            return Err(Stop::Differs);
        }
        self.expire_stops(at);
        self.put_in_order();
        // No source asks for news of a flow that is complete.
        for node in self.partitions.iter_mut().flat_map(|p| &mut p.nodes) {
            if let Node::Nic(n) = node {
                n.drop_complete_flows();
            }
        }
        let mut words = Words::new();
        self.write(at, Out::Keep(&mut words))?;
        m.written += words.len() as u64;
        m.longest = m.longest.max(words.len() as u64);
        let (rest, first) = Rest::new(words, at);
        let Some(state) = m.number(rest) else {
            m.give_up();
            return Ok(false);
        };
        let counts = self.totals_but_flows(at);
        let rows = self.noted.take().unwrap_or_default();
        if let Some(open) = m.open.take() {
            let from = open.state;
            if let Some(episode) = self.episode(open, m, state, &first, &counts, &rows) {
                m.keep(from, episode);
            }
        }
        if !again {
            return Ok(false);
        }
        if self.skip_known(m, f, state, until) {
            return Ok(true);
        }
        let at = at + self.skipped;
        m.open = Some(Open {
            state,
            group: m.group,
            at,
            inputs: self.inputs(),
            counts,
            first,
            disturbed: self.disturbed,
        });
        self.noted = Some(Vec::new());
        Ok(false)
    }

    /// Changes since the start of an episode; `None`: they would not repeat.
    fn episode(
        &self,
        open: Open,
        m: &Memory,
        to: usize,
        first: &rustc_hash::FxHashMap<Group, u64>,
        counts: &[u64],
        rows: &[Row],
    ) -> Option<Episode> {
        if self.disturbed != open.disturbed {
            return None;
        }
        let groups = &m.plan.groups[open.group..m.group];
        let groups = groups
            .iter()
            .map(|g| Some((self.start_of(FlowId(g.first))?.since(open.at), g.kind?)))
            .collect::<Option<Vec<_>>>()?;
        let inputs = self.inputs();
        let same =
            |of: fn(&super::Inputs) -> (u64, u64, u64, usize)| of(&inputs) == of(&open.inputs);
        if !same(|i| (i.drawn, i.broken, i.failures, i.deadlocks)) {
            return None;
        }
        let counters = |g: &Group| matches!(g, Group::Counter(..) | Group::Number(..));
        if !self.probes.control.is_none()
            && first.iter().any(|(g, v)| counters(g) && open.first.get(g) != Some(v))
        {
            return None; // the messages that are recorded hold counters
        }
        let counts = totals::per_period(&open.counts, counts)?;
        let (flow, end) = (m.first_flow(open.group), m.first_flow(m.group));
        let rows = rows.iter().map(|row| {
            let row =
                row.with_flow(|f| f.checked_sub(flow as u64).filter(|n| *n < (end - flow) as u64))?;
            Some((Time(row.time()).since(open.at), row))
        });
        let rows = rows.collect::<Option<Vec<_>>>()?;
        let length = self.start_of(FlowId(end))?.since(open.at);
        let acted = self.partitions.iter().map(|p| p.acted).max()? + self.skipped;
        let completions = self.completions_from(flow as usize);
        Some(Episode {
            groups,
            to,
            length,
            acted: acted.since(open.at),
            rests: self.partitions.iter().all(Partition::has_nothing_due),
            fates: (flow..end).map(|f| self.fate(FlowId(f), open.at)).collect(),
            completions: completions.iter().map(|c| FlowId(c.0 - flow)).collect(),
            counts,
            rows,
        })
    }

    fn fate(&self, flow: FlowId, from: Time) -> Fate {
        let mut seen = self.partitions.iter().map(|p| &p.core.monitor.flows.records[flow.index()]);
        let mut record = seen.next().expect("a world has a partition").clone();
        seen.for_each(|r| record.add(r));
        let after = |t: Option<Time>| t.map(|t| t.since(from));
        Fate {
            all_sent: after(record.all_sent),
            received: after(record.received),
            end: after(record.end),
            record,
        }
    }

    /// Skips the longest chain of episodes that are known, begins in a state at rest and comes back
    /// to it, or takes up the rest of the run.
    fn skip_known(
        &mut self,
        m: &mut Memory,
        f: &mut FastForward,
        state: usize,
        until: Time,
    ) -> bool {
        let begins = m.group;
        let limit = self.undisturbed_until(until);
        let start = |group: usize| self.start_of(FlowId(m.first_flow(group)));
        let (mut group, mut at, mut chain) = (begins, state, Vec::new());
        // Episodes of the chain, and how long it takes.
        let mut best = (0, Span::ZERO);
        let Some(from) = start(begins) else { return false };
        let mut rows = 0;
        while chain.len() < CHAIN_MAX
            && (rows < ROWS_AT_ONCE || best.0 == 0)
            && let Some(base) = start(group)
            && let Some(e) = m.find(at, group, start)
            && base + e.length <= limit
        {
            chain.push((group, e));
            rows += e.rows.len();
            (group, at) = (group + e.groups.len(), e.to);
            match start(group) {
                Some(next) if next > limit => break,
                Some(next) if at == state => best = (chain.len(), next.since(from)),
                Some(_) => {}
                // Nothing follows: the run ends when the last of its flows are over.
                None if e.rests && m.is_settled(at) && m.is_settled(state) => {
                    best = (chain.len(), (base + e.acted).since(from))
                }
                None => {}
            }
        }
        let (episodes, skipped) = best;
        if episodes == 0 {
            return false;
        }
        let Some(place) = self.boundary() else { return false };
        let before = self.events_skipped;
        for &(group, e) in &chain[..episodes] {
            self.repeat(e, m.first_flow(group));
        }
        let last = chain[episodes - 1];
        m.group = last.0 + last.1.groups.len();
        self.skip(skipped, place);
        if m.is_over() {
            // The last event happened at the place where the nodes are.
            let here = place.time;
            self.partitions.iter_mut().for_each(|p| p.acted = here);
        }
        f.done.repeated += episodes as u64;
        f.done.skipped += skipped;
        f.done.events_skipped = self.events_skipped;
        f.done.because = None;
        self.paused = true;
        debug_assert!(self.events_skipped > before);
        true
    }

    /// Up to when nothing concerns the whole network but looks of the deadlock detector, in the
    /// time of the run: a network that comes to rest has no deadlock.
    fn undisturbed_until(&self, until: Time) -> Time {
        let planned = self
            .global_events
            .iter()
            .map(|std::cmp::Reverse(e)| e)
            .filter(|e: &&Event| e.kind() != Kind::DeadlockDetector);
        planned.map(|e| Time(e.time()) + self.skipped).fold(until, Time::min)
    }

    /// Repeats the effects of an episode for the flows from `first` on.
    fn repeat(&mut self, e: &Episode, first: u32) {
        let Some(base) = self.start_of(FlowId(first)) else { return };
        self.add_to_totals_but_flows(&e.counts);
        for (nth, fate) in e.fates.iter().enumerate() {
            let flow = first + nth as u32;
            let src = self.flow_source(FlowId(flow));
            let home = self.layout.partition_of[src.index()] as usize;
            let home = &mut self.partitions[home];
            let nth = home.starts.pass_over(src);
            let record = &mut home.core.monitor.flows.records[flow as usize];
            let of_run = |t: Option<Span>| t.map(|t| base + t);
            let (all_sent, received, end) =
                (of_run(fate.all_sent), of_run(fate.received), of_run(fate.end));
            *record = FlowRecord {
                flow: record.flow.clone(),
                nth,
                all_sent,
                received,
                end,
                ..fate.record.clone()
            };
            end.into_iter().for_each(|end| self.note_complete(end));
        }
        self.add_completions(e.completions.iter().map(|&c| c + first));
        for (after, row) in &e.rows {
            if let Some(row) = row.with_flow(|f| Some(f + first as u64)) {
                self.record(row.at((base + *after).0));
            }
        }
    }
}
