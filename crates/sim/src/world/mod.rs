//! The world: the partitions of a network, built from a model, run event by event.
//!
//! ```text
//!   global events: link failures, samples, checks; each waits until every partition has reached its time
//!      |
//!      v bound
//!   partition 0 | partition 1 | ...          events before the bound, in their order
//!      +- rows and completions, put in order across the partitions -> recorder
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use xoff_net::jobs::Jobs;
use xoff_net::topology::routing::{Routes, Routing};
use xoff_net::topology::{LinkId, Topology};
use xoff_net::workload::generators::closed_loop::ClosedLoop;
use xoff_net::workload::{Flow, Flows};
use xoff_node::{Classes, EventKey, LEN_MAX, PoolUse};
use xoff_units::params::ParamError;
use xoff_units::state::State;
use xoff_units::{At, Bytes, FlowId, NodeId, PortId, Rate, Span, Time};

use crate::engine::calendar::Calendar;
use crate::engine::event::{Event, EventOrder, FLOWS_MAX, Kind};
use crate::engine::queue::{Pending, QueueTrace};
use crate::observe::checks::{Checks, ViolationKind};
use crate::observe::deadlock_detector::{self, Deadlock, StuckPort, Waiting};
use crate::observe::flows::FlowRecord;
use crate::observe::outcome::{Ended, FastForwarded};
use crate::observe::probe::{OnWire, Probes, Recorder, Row};
use crate::observe::storms::Storm;
use crate::processes::{Others, Share};
use crate::wire::errors::Direction;
use crate::wire::layout::Layout;
use crate::wire::routing::{NO_PORT, UNKNOWN_SOURCE};
use crate::world::advance::{Advance, Load};
use crate::world::core::Core;
use crate::world::handed_in::{Calls, First};
use crate::world::leaps::Leapt;
use crate::world::model::{Model, PathFacts};
use crate::world::partition::{Node, Partition, Starts};

pub(crate) mod advance;
mod build;
#[cfg(test)]
mod canaries;
pub(crate) mod core;
mod course;
mod division;
mod drive;
mod finish;
pub(crate) mod handed_in;
mod hardware;
mod inspect;
pub(crate) mod jobs;
pub(crate) mod leaps;
mod loops;
mod meeting;
pub(crate) mod memory;
pub(crate) mod model;
mod on_processes;
mod outside;
pub(crate) mod partition;
mod sample;
mod saved;
pub(crate) mod split;
pub(crate) mod threads;
pub(crate) mod window_run;

pub use course::{PortSample, Waiter};
pub use drive::SLICE;
pub use hardware::classes_in_use;
pub use inspect::PortNow;
use meeting::{Lookahead, Task};
use on_processes::MEETINGS;
pub use outside::Leaving;
use sample::Sampled;

/// A network in motion.
pub struct World {
    pub(crate) partitions: Vec<Partition>,
    pub(crate) layout: Arc<Layout>,
    pub(crate) probes: Arc<Probes>,
    /// Lookahead of the partitions.
    lookahead: Lookahead,
    /// State of the other processes, if each has a share of the network, and their handled events.
    others: Others,
    elsewhere: u64,
    share: Option<Share>,
    /// Meetings with them since this run last returned to who drives it.
    met: u64,
    /// Partitions of the network, those of other processes included.
    busy: usize,
    /// Threads of the run, and cores that this process may use.
    threads: usize,
    cores: usize,
    /// The last stretch had enough work in each window for all threads. Never changes a result.
    threads_pay: bool,
    /// Reason why the run is not split although this was requested.
    unsplit: Option<String>,
    /// Reason for one global order of events; `None`: nodes act window by window.
    by_events: Option<String>,
    /// Events of the whole network, by time.
    pub(crate) global_events: BinaryHeap<Reverse<Event>>,
    /// Time of the nodes: without skipped time.
    pub(crate) now: Time,
    /// Global events handled.
    events: u64,
    /// Last run of the detector, in local time, that found no new deadlock.
    pub(crate) looked: Option<Time>,
    /// Time of the last event of the whole network.
    acted: Time,
    /// Time of the run at which the last flow so far, or the last rank of a job, was complete.
    complete_at: Time,
    /// Number of such events.
    pub(crate) disturbed: u64,
    /// Rows since an episode began that may be remembered.
    pub(crate) noted: Option<Vec<Row>>,
    /// Time and events skipped by fast-forward.
    pub(crate) skipped: Span,
    pub(crate) events_skipped: u64,
    forward: Option<Box<dyn Advance>>,
    /// Something was skipped since who drives the run has last looked.
    pub(crate) paused: bool,
    /// Links that have failed.
    pub(crate) failures: u64,
    pub(crate) recorder: Option<Box<dyn Recorder>>,
    /// Flows that are complete, in that order.
    completions: Vec<FlowId>,
    /// Messages of streamed jobs that are complete: they are counted and not listed.
    messages_complete: usize,
    /// The first of them.
    streamed_from: Option<u32>,
    /// Flows of the list and of recorded calls; closed loops have no end.
    pub(crate) listed: usize,
    /// Recorded calls of a driver.
    pub(crate) calls: Calls,
    /// Ranks of jobs that have not ended.
    ranks_left: usize,
    pub(crate) jobs: Option<Arc<Jobs>>,
    /// Rounds that jobs skipped.
    pub(crate) leaps: Vec<Leapt>,
    pub(crate) deadlock_interval: Span,
    stop_on_deadlock: bool,
    deadlocks: Vec<Deadlock>,
    samples: Samples,
    /// Rows of samples since which perhaps nothing has happened: if nothing does, the run had ended
    /// before them.
    held: Vec<Sampled>,
    /// Only if the run is to stop when its flows are complete.
    pub(crate) looks: Option<DoneLooks>,
    checks: Checks,
    /// Ports that have overdrawn their credits, as the checks know already.
    overdrawn: BTreeSet<At>,
    /// Every link leads out of this world.
    outside: bool,
    /// Errors of links that lead outside, by receiving port; none: they neither corrupt nor repeat.
    over: Vec<Vec<Direction>>,
    /// Routes at the start.
    routes: Arc<Routes>,
    /// Graph and rule for new routes; only if links fail.
    rerouting: Option<Box<(Topology, Routing)>>,
}

/// Counters at the last sample, to turn totals into rates.
#[derive(Default, State)]
struct Samples {
    at: Time,
    tx_bytes: Vec<u64>,
    flow_bytes: Vec<u64>,
}

/// Events per thread from which on threads of their own gain more than they cost: for a meeting
/// after each window some 50 us of work, and for starting them.
pub const PAYS_WINDOW: u64 = 500;
const PAYS_START: u64 = 2_000;

/// The earlier of two times. Either may be absent.
fn earlier<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.into_iter().chain(b).min()
}

/// A run that stops when its flows are complete checks them at whole microseconds: times that every
/// partition can reach without knowledge of the others.
#[derive(Clone, Copy, Debug, Default, State)]
pub(crate) struct DoneLooks {
    /// The next poll.
    at: Time,
    /// Time skipped by fast-forward: the microseconds are those of the run.
    skipped: Span,
}

impl DoneLooks {
    const EVERY: Span = Span::from_us(1);

    /// True if a sample is due. `next` is the time of the next event: everything before it has
    /// happened.
    fn due(&self, next: Time) -> bool {
        next >= self.at
    }

    /// The time of the next poll, if the next event happens at `next`.
    fn move_on(&mut self, next: Time) -> EventKey {
        if self.due(next) {
            let of_run = (next.0 + self.skipped.0) / Self::EVERY.0 + 1;
            self.at = Time(of_run * Self::EVERY.0 - self.skipped.0);
        }
        EventKey { time: self.at, rank: 0 }
    }

    /// Simulated time was skipped: the time of the next poll is computed again.
    pub fn skip(&mut self, by: Span) {
        self.skipped += by;
        self.at = Time::ZERO;
    }
}

impl World {
    /// Sends rows to `recorder` from now on.
    pub fn record_to(&mut self, recorder: Box<dyn Recorder>) {
        self.recorder = Some(recorder);
        self.partitions.iter_mut().for_each(|p| p.core.monitor.rows.recording = true);
    }

    /// Takes the recorder back.
    pub fn take_recorder(&mut self) -> Option<Box<dyn Recorder>> {
        self.partitions.iter_mut().for_each(|p| p.core.monitor.rows.recording = false);
        self.recorder.take()
    }

    /// Simulated time reached.
    pub fn now(&self) -> Time {
        self.now + self.skipped
    }
    /// Events of the run so far, those that fast-forward has skipped included.
    pub fn events(&self) -> u64 {
        self.events_handled() + self.events_skipped
    }
    /// Events handled.
    pub fn events_handled(&self) -> u64 {
        self.events + self.elsewhere + self.partitions.iter().map(|p| p.core.events).sum::<u64>()
    }
    /// Effect of fast-forward so far.
    pub fn fast_forwarded(&self) -> FastForwarded {
        self.forward.as_ref().map_or_else(FastForwarded::default, |f| f.done().clone())
    }
    /// Flows that are complete.
    pub fn completed(&self) -> usize {
        self.completions.len() + self.messages_complete
    }
    /// Deadlocks found so far.
    pub fn deadlocks(&self) -> &[Deadlock] {
        &self.deadlocks
    }
    /// Findings of watchdogs so far, in the order of each partition.
    pub fn storms(&self) -> impl Iterator<Item = &Storm> {
        self.partitions.iter().flat_map(|p| p.core.monitor.storms.all())
    }
    /// Threads of the run, of which only as many run as there are cores; never changes a result.
    pub fn threads(&self) -> usize {
        self.threads
    }
    /// Reason for one thread although the model requested more.
    pub fn unsplit(&self) -> Option<&str> {
        self.unsplit.as_deref()
    }

    /// Reason for one global order of events instead of windows; `None`: there are windows. Never
    /// changes a result.
    pub fn by_events(&self) -> Option<&str> {
        self.by_events.as_deref()
    }

    /// Notes a number of operations of the run on its event queue from now on; for a run on one
    /// thread with events in one global order.
    pub fn trace_queue(&mut self, operations_max: usize) {
        if let Calendar::Global(queue) = &mut self.partitions[0].core.pending {
            queue.trace(operations_max);
        }
    }
    /// The operations noted.
    pub fn take_queue_trace(&mut self) -> Option<QueueTrace> {
        match &mut self.partitions[0].core.pending {
            Calendar::Global(queue) => queue.take_trace(),
            Calendar::ByWindow(_) => None,
        }
    }

    /// Skips time if it can, see [`Advance::advance`].
    pub(crate) fn look_ahead(&mut self, until: Time) -> Option<(EventKey, u64)> {
        let mut forward = self.forward.take()?;
        let pause = forward.advance(self, until);
        self.forward = Some(forward);
        pause
    }

    fn plan(&mut self, after: Span, kind: Kind) {
        self.plan_at(self.now + after, kind, 0, 0);
    }

    fn plan_at(&mut self, time: Time, kind: Kind, entity: u32, nth: u32) {
        let rank = self.partitions[0].core.ranks.of(kind, entity, 0, nth);
        self.global_events.push(Reverse(Event::new(EventKey { time, rank }, kind, 0, entity)));
    }

    /// Runs until `until` (events at that very time included) or for about `events` events. `None`:
    /// there is more to do, call again.
    pub fn run(&mut self, until: Time, events: u64) -> Option<Ended> {
        assert!(
            self.share.is_none() || self.others.exist(),
            "a share of a network runs with the others"
        );
        let stop = self.events_handled().saturating_add(events);
        let until_of_run = until;
        let known = self.deadlocks.len();
        loop {
            let pause = self.look_ahead(until_of_run);
            if std::mem::take(&mut self.paused) && events < u64::MAX {
                return None;
            }
            let until = Time(until_of_run.0.saturating_sub(self.skipped.0));
            let to_call = match self.first(until) {
                First::Events(n) => n,
                First::Global => {
                    self.run_global_event();
                    if self.stop_on_deadlock && !self.deadlocks.is_empty() {
                        return Some(Ended::Deadlock);
                    }
                    self.put_in_order();
                    continue;
                }
                First::Call => {
                    self.call();
                    self.put_in_order();
                    continue;
                }
                First::End => {
                    self.now = until;
                    return Some(Ended::TimeUp);
                }
            };
            let next = self.next_time();
            let left = self.left();
            if left == 0 && self.looks.is_some_and(|l| l.due(next.unwrap_or(Time::NEVER))) {
                return self.ended(Ended::FlowsDone);
            }
            let Some(next) = next else { return self.ended(Ended::Quiet) };
            // An event beyond the end of time never comes.
            if next > until || next == Time::NEVER {
                self.now = until;
                return Some(Ended::TimeUp);
            }
            let events = stop.saturating_sub(self.events_handled());
            if events == 0 {
                return None;
            }
            let first = self.partitions.iter_mut().filter_map(|p| p.peek()).min();
            let first = self.others.joined(first, earlier);
            match self.global_events.peek().map(|Reverse(e)| e.event_key()) {
                Some(planned) if first.is_none_or(|f| planned <= f) => {
                    self.run_global_event();
                    if self.stop_on_deadlock && !self.deadlocks.is_empty() {
                        return Some(Ended::Deadlock);
                    }
                }
                planned => {
                    let end = EventKey { time: Time(until.0.saturating_add(1)), rank: 0 };
                    let mut bound = planned.map_or(end, |p| p.min(end));
                    let mut events = events.min(self.slice()).min(to_call);
                    if let Some((place, at_most)) = pause {
                        (bound, events) = (bound.min(place), events.min(at_most));
                        if first.is_none_or(|f| f >= bound) {
                            continue;
                        }
                    }
                    let looks = self.looks.map(|l| (l, left));
                    self.advance(
                        next,
                        Task { bound, events, windows: u64::MAX, lookahead: self.lookahead, looks },
                    );
                }
            }
            self.put_in_order();
            let is_driven = self.partitions[0].news.is_some();
            if self.has_news() || is_driven && self.deadlocks.len() > known {
                return None;
            }
            let failed = self.recorder.as_ref().is_some_and(|r| r.failed());
            if self.others.joined(failed, |a, b| a | b) {
                return Some(Ended::RecorderFailed);
            }
            if self.met >= MEETINGS {
                self.met = 0;
                return None;
            }
        }
    }

    /// Flows and ranks of jobs that are not complete.
    fn left(&self) -> usize {
        self.listed.saturating_sub(self.completed()) + self.ranks_left
    }

    /// Time of the run at which it is over, as far as this is known: the polls that end a run come
    /// later than that.
    fn over(&self) -> Option<Time> {
        (self.looks.is_some() && self.left() == 0).then_some(self.complete_at)
    }

    /// Ends the run where its last flow or rank was complete, or at the time of the last event.
    fn ended(&mut self, why: Ended) -> Option<Ended> {
        let is_driven = self.partitions[0].news.is_some();
        if !self.outside && !is_driven {
            let acted = self.partitions.iter().map(|p| p.acted).fold(self.acted, Time::max);
            let acted = self.others.joined(acted, Time::max);
            self.now = self.over().map_or(acted, |end| Time(end.0.saturating_sub(self.skipped.0)));
            let end = self.now().0;
            self.held.retain(|sample| sample.row().time() <= end);
        }
        Some(why)
    }

    /// Lets all partitions handle events before a bound, beginning with an event at `next`, or some
    /// of them.
    fn advance(&mut self, next: Time, task: Task) {
        match &mut self.partitions[..] {
            [_] if self.others.exist() => self.advance_together(next, task),
            [only] => {
                let stop = only.core.events.saturating_add(task.events);
                let forward = self.forward.as_ref().is_some_and(|f| !f.is_off());
                // All may have been complete before this stretch: then the next poll ends the run.
                let complete = task.looks.is_some_and(|(_, left)| left == 0);
                let mut next = next;
                loop {
                    let look = self.looks.as_mut().map(|l| l.move_on(next));
                    let bound = look.map_or(task.bound, |l| l.min(task.bound));
                    only.run(bound, stop - only.core.events);
                    // A poll that would find nothing is passed over.
                    let polls = bound < task.bound && only.core.events < stop;
                    if !polls || forward || complete || only.reports() || only.rests() {
                        break;
                    }
                    match only.peek().filter(|first| *first < task.bound) {
                        Some(first) => next = first.time,
                        None => break,
                    }
                }
            }
            partitions if partitions[0].stops_at_news => self.step(task.bound, task.events),
            partitions => {
                let before = partitions.iter().map(|p| p.core.events).sum::<u64>();
                let n = self.threads as u64;
                // As one partition does: the network may rest until something concerns all of it.
                let looks = task.looks.map(|(mut look, left)| {
                    look.move_on(next);
                    (look, left)
                });
                let task = Task { events: task.events.saturating_mul(n), looks, ..task };
                let threads = if self.threads_pay { self.cores.min(self.threads) } else { 1 };
                let stretch = match threads {
                    1 => meeting::run_in_turn(partitions, task),
                    _ => threads::run(partitions, threads, task),
                };
                let handled = stretch.standing.events - before;
                self.threads_pay = handled >= n * (stretch.windows * PAYS_WINDOW + PAYS_START);
                self.looks = stretch.looks;
            }
        }
        self.now = self.partitions.iter().map(|p| p.core.clock.now).fold(self.now, Time::max);
    }

    /// Hands over the frames that are on their way between partitions.
    fn exchange(&mut self) {
        match self.others.exist() {
            true => self.exchange_with_others(),
            false => meeting::exchange(&mut self.partitions),
        }
    }

    /// Notes the stops that expire before a time up to which everything has happened.
    pub(crate) fn expire_stops(&mut self, bound: Time) {
        self.partitions.iter_mut().for_each(|p| p.core.monitor.expire_stops(bound));
    }

    /// Rows and completions of the partitions since the last time, in the order of the network.
    pub(crate) fn put_in_order(&mut self) {
        let reached = Time(self.now.0.saturating_add(1));
        let expires = self.partitions.iter().any(|p| p.core.monitor.stop_expires_before(reached));
        if self.others.joined(expires, |a, b| a | b) {
            // The next event may still concern a stop that ends at its very time.
            let next = self
                .partitions
                .iter_mut()
                .filter_map(|p| p.peek())
                .map(|m| m.time)
                .min()
                .unwrap_or(Time::NEVER);
            let next = self.others.joined(next, Time::min);
            self.expire_stops(next.min(reached));
        }
        let (windows, together) = (self.by_events.is_none(), self.others.exist());
        let partitions = &mut self.partitions;
        if !together && !partitions.iter().any(Partition::reports) {
            return;
        }
        let mut completions: Vec<_> = partitions
            .iter_mut()
            .flat_map(|p| p.core.monitor.flows.completions.drain(..))
            .collect();
        let mut rows: Vec<_> =
            partitions.iter_mut().flat_map(|p| p.core.monitor.rows.rows.drain(..)).collect();
        let late = partitions
            .iter_mut()
            .fold(false, |late, p| late | std::mem::take(&mut p.core.monitor.rows.out_of_order));
        if together {
            completions = self.others.gathered(completions);
            rows = self.others.at_first(rows);
        }
        let several = partitions.len() > 1 || windows || together;
        // Stable: what happened in one event stays in its order.
        if several {
            completions.sort_by_key(|c| c.0);
        }
        if several || late {
            rows.sort_by_key(|r| r.0);
        }
        if let Some((last, _)) = completions.last() {
            self.note_complete(last.time + self.skipped);
        }
        self.ranks_left -= completions.iter().filter(|c| c.1.is_none()).count();
        let mut complete: Vec<FlowId> = completions.into_iter().filter_map(|c| c.1).collect();
        if let Some(first) = self.streamed_from {
            let all = complete.len();
            complete.retain(|&flow| flow < FlowId(first));
            self.messages_complete += all - complete.len();
        }
        complete.iter_mut().for_each(|flow| *flow = self.of_run(*flow));
        self.completions.extend(complete);
        if let Some(f) = &mut self.forward {
            f.note_rows(&rows);
        }
        let skipped = self.skipped;
        for (key, row) in rows {
            let row = self.numbered_as_in_run(row);
            self.record(if skipped == Span::ZERO { row } else { row.at(key.time.0 + skipped.0) });
        }
        if !self.probes.frames.is_none() {
            self.put_frames_in_order();
        }
    }

    /// A row that names a flow by its number in the run.
    pub(crate) fn numbered_as_in_run(&self, row: Row) -> Row {
        if self.leaps.is_empty() {
            return row;
        }
        row.with_flow(|flow| Some(u64::from(self.of_run(FlowId(flow as u32))))).unwrap_or(row)
    }

    /// Frames on recorded wires since the last time.
    fn put_frames_in_order(&mut self) {
        let mut frames: Vec<_> =
            self.partitions.iter_mut().flat_map(|p| p.core.monitor.rows.frames.drain(..)).collect();
        // Stable: frames of one port and instant stay in their order.
        frames.sort_by_key(OnWire::order);
        let over = self.over();
        if let Some(r) = &mut self.recorder {
            let end = over.unwrap_or(Time::NEVER);
            frames.iter().filter(|f| f.order().0 <= end).for_each(|f| r.frame(f));
        }
    }

    /// The next event of the whole network.
    pub(crate) fn next_global(&self) -> Option<EventKey> {
        self.global_events.peek().map(|Reverse(e)| e.event_key())
    }

    /// A node, where it lives.
    pub(crate) fn node(&self, node: NodeId) -> &Node {
        &self.partitions[self.layout.partition_of[node.index()] as usize].nodes[node.index()]
    }

    /// A node, to change its state.
    pub(crate) fn node_mut(&mut self, node: NodeId) -> &mut Node {
        &mut self.partitions[self.layout.partition_of[node.index()] as usize].nodes[node.index()]
    }

    /// Records a row, unless the run was over before it.
    pub(crate) fn record(&mut self, row: Row) {
        if self.over().is_some_and(|end| row.time() > end.0) {
            return;
        }
        if !self.held.is_empty() {
            std::mem::take(&mut self.held).into_iter().for_each(|sample| self.record(sample.row()));
        }
        if let Some(r) = &mut self.recorder {
            r.row(&row);
            if let Some(noted) = &mut self.noted {
                noted.push(row);
            }
        }
    }

    /// Adds completed flows, in this order.
    pub(crate) fn add_completions(&mut self, flows: impl Iterator<Item = FlowId>) {
        self.completions.extend(flows);
    }

    /// A flow or rank was complete at this time of the run.
    pub(crate) fn note_complete(&mut self, at: Time) {
        self.complete_at = self.complete_at.max(at);
    }

    /// The flows that were completed, from the `n`-th one on.
    pub(crate) fn completions_from(&self, n: usize) -> &[FlowId] {
        &self.completions[n..]
    }

    /// Time of the next event; `None` if only the simulator's own polls are left.
    fn next_time(&mut self) -> Option<Time> {
        // Calls that will find nothing due are no reason to continue. Frames outside are not known
        // here.
        let rests =
            !self.outside && !self.owes_events() && self.partitions.iter().all(Partition::rests);
        let rests = self.others.joined(rests, |a, b| a & b);
        let next = if rests {
            None
        } else {
            self.partitions.iter_mut().filter_map(|p| p.peek()).map(|m| m.time).min()
        };
        let next = self.others.joined(next, earlier);
        let planned = self.global_events.peek().map(|Reverse(e)| e.event_key().time);
        let other = self
            .global_events
            .iter()
            .any(|Reverse(e)| !matches!(e.kind(), Kind::Sample | Kind::DeadlockDetector));
        if next.is_none() && !other {
            return None;
        }
        next.into_iter().chain(planned).min()
    }

    /// True if only wake-ups are left, which may or may not find work.
    fn only_calls(&mut self) -> bool {
        let calls = |p: &Partition| {
            p.next_start().is_none() && p.core.pending.events().all(|e| e.kind().is_timer())
        };
        let other = self
            .global_events
            .iter()
            .any(|Reverse(e)| !matches!(e.kind(), Kind::Sample | Kind::DeadlockDetector));
        let only = !self.outside && !other && self.partitions.iter().all(calls);
        self.others.joined(only, |a, b| a & b)
    }

    /// Handles the first of the global events; every partition has reached its time.
    fn run_global_event(&mut self) {
        let Some(Reverse(e)) = self.global_events.pop() else { return };
        self.now = e.event_key().time;
        self.events += 1;
        self.partitions.iter_mut().for_each(|p| p.core.clock.reach(e.event_key()));
        self.expire_stops(self.now);
        let late = self.partitions.iter().any(|p| p.core.monitor.rows.out_of_order);
        if self.others.joined(late, |a, b| a | b) {
            self.put_in_order(); // before what this time records
        }
        let mut happened = true;
        match e.kind() {
            Kind::LinkFails => self.fail_link(e.arg),
            Kind::Look => self.look_at_queues(),
            Kind::Sample => happened = self.sample(),
            Kind::DeadlockDetector => {
                // A look that finds nothing is not something that happens.
                let known = self.deadlocks.len();
                self.look_for_deadlocks();
                happened = self.deadlocks.len() > known;
                self.looked = (!happened).then_some(self.now);
            }
            _ => unreachable!("not an event of the whole network"),
        }
        if happened {
            self.acted = self.now;
        }
        if happened || e.kind() == Kind::Sample {
            self.disturbed += 1;
        }
        self.exchange();
    }

    fn look_at_queues(&mut self) {
        let (now, layout, skipped) = (self.now + self.skipped, self.layout.clone(), self.skipped);
        let core = &mut self.partitions[0].core;
        let until = core.pending.peek().map_or(Time::NEVER, |m| m.time);
        let until =
            self.global_events.peek().map_or(until, |Reverse(e)| until.min(e.event_key().time));
        let until = Time(until.0.saturating_add(skipped.0));
        match core.monitor.histogram.as_mut().and_then(|h| h.look(now, until, layout.ports.first()))
        {
            Some(next) => self.plan_at(Time(next.0 - skipped.0), Kind::Look, 0, 0),
            // That was the last poll: lengths count no longer.
            None => core.monitor.records_queues = !core.monitor.probes.queue_changes.is_none(),
        }
    }

    /// A link fails: its ends drop waiting frames, new routes are found.
    fn fail_link(&mut self, link: LinkId) {
        let Some((topology, routing)) = self.rerouting.as_deref_mut() else { return };
        let l = &mut topology.links[link as usize];
        if !std::mem::replace(&mut l.up, false) {
            return;
        }
        self.failures += 1;
        let ends = [(l.a, l.a_port), (l.b, l.b_port)].map(PortId::from);
        let routes = Arc::new(routing.routes(topology));
        self.partitions.iter_mut().for_each(|p| p.core.reroute(routes.clone(), ends));
        for PortId { node, port } in ends {
            let partition = &mut self.partitions[self.layout.partition_of[node.index()] as usize];
            match &mut partition.nodes[node.index()] {
                Node::Switch(s) => s.on_link_failed(port, &mut partition.core),
                Node::Nic(n) => n.on_link_failed(port, &mut partition.core),
                Node::Remote => {} // another process has it
            }
            self.put_in_order(); // both ends act at the same time: one end's rows after the other's
        }
        self.flows_leave_by_other_ports();
        for partition in &mut self.partitions {
            let Some(round_robin) = &mut partition.starts.round_robin else { continue };
            for (host, node) in partition.nodes.iter_mut().enumerate() {
                if let Node::Nic(n) = node {
                    n.replace_round_robin_order(
                        &round_robin.order(NodeId(host as u32)),
                        &mut partition.core,
                    );
                }
            }
        }
    }

    /// Hosts with several ports take routes that have changed into account.
    fn flows_leave_by_other_ports(&mut self) {
        let Some((topology, _)) = self.rerouting.as_deref() else { return };
        let hosts: Vec<NodeId> =
            topology.hosts().filter(|h| topology.nodes[h.index()].ports.len() > 1).collect();
        for host in hosts {
            let home = self.layout.partition_of[host.index()];
            let partition = &mut self.partitions[home as usize];
            if let Node::Nic(nic) = &mut partition.nodes[host.index()] {
                nic.on_routes_changed(&mut partition.core);
            }
            // One host's rows after the other's, in all processes.
            self.put_in_order();
        }
    }
}
