//! The search for iterations of jobs that come again.
//!
//! ```text
//!   rank 0   iteration 0 |  1  |  2  |  3  |  4  | ...  | 99 |
//!   compared             x     x = the previous one: 3 to 98 are as 2
//! ```
//!
//! A place to compare is some time after an iteration of the first rank began, always the same:
//! when it began is known only once the nodes have gone on. A message is the same in every
//! iteration, so is an operation; their numbers grow by iterations.
//!
//! The network and the ranks stay where they are, as in every jump: the ranks are that many
//! iterations further than they have gone through, and outputs of the world - rows, completion
//! times, the logs of the ranks - are numbered and timed as those of the run.

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use xoff_net::jobs::{Job, Jobs, Leap};
use xoff_node::EventKey;
use xoff_units::state::{Counters, State};
use xoff_units::{FlowId, NodeId, Span, Time};

use super::search::{Earlier, Levels, NO_END};
use super::words::{Group, Growth, Out, Stop, Writer};
use super::{Inputs, totals};
use crate::engine::event::{Event, Kind};
use crate::engine::queue::Pending;
use crate::observe::flows::{Ahead, FlowRecord};
use crate::observe::outcome::FastForwarded;
use crate::observe::probe::Row;
use crate::world::World;
use crate::world::leaps::Leapt;
use crate::world::partition::Node;

/// Events between two checks whether an iteration has begun, at first; later a part of the length
/// of an iteration.
const LOOK: u64 = 128;
const LOOKS_EACH: u64 = 32;

/// States that are written before anything is known to recur; later ones in proportion to the
/// simulated work.
const FREE_STATES: u64 = 16;

/// Rows that one leap records at most, unless a round has more: who drives the run looks at its
/// clock and at signals between two leaps.
const ROWS_AT_ONCE: u64 = 1 << 20;

/// Memory of a place.
#[derive(Clone)]
pub(super) struct Seen {
    /// Places before it.
    nth: u64,
    inputs: Inputs,
    /// Flows of the list that have begun.
    listed: usize,
    completions: usize,
    /// Bytes that each host has put on its wire.
    on_wire: Arc<Vec<u64>>,
}

/// A search for iterations that come again.
pub(super) struct Iterations {
    /// Job and rank whose iterations count.
    first: (usize, u32),
    /// Number of its iterations whose start was seen.
    begun: usize,
    /// After the beginning of an iteration.
    after: Span,
    /// The next place to compare.
    place: Option<EventKey>,
    levels: Levels<Seen>,
    /// Places so far, and words written there.
    places: u64,
    written: u64,
    /// Random draws of the network up to the last place.
    drawn: Option<u64>,
    handled: u64,
    look: u64,
}

impl Iterations {
    pub fn new() -> Iterations {
        let (levels, look) = (Levels::default(), LOOK);
        Iterations {
            first: (0, 0),
            begun: 0,
            after: Span::ZERO,
            place: None,
            levels,
            places: 0,
            written: 0,
            drawn: None,
            handled: 0,
            look,
        }
    }

    /// Drops the places that it has seen.
    pub fn start_anew(&mut self, rows: &mut Vec<(EventKey, Row)>) {
        self.levels = Levels::default();
        rows.clear();
    }

    /// Stored states for the comparison.
    pub fn levels(&self) -> &Levels<Seen> {
        &self.levels
    }

    /// End of the next stretch.
    fn next(&self) -> (EventKey, u64) {
        self.place.map_or((NO_END, self.look), |place| (place, u64::MAX))
    }
}

/// A message under way, and its record so far.
#[derive(State)]
struct UnderWay {
    #[state(flow)]
    flow: FlowId,
    start: Time,
    sent: u64,
    delivered: u64,
    out_of_order: u64,
    ahead: [u64; 3],
    marked: Vec<u64>,
    cnms: u64,
    all_sent: Option<Time>,
    received: Option<Time>,
    end: Option<Time>,
    /// Messages that its source has begun since.
    ago: u64,
    /// Bytes that its source has put on the wire since its start, and since its last frame.
    wire: Option<(u64, u64)>,
    stopped: u64,
    /// Switches with its last frame.
    stands: Vec<(NodeId, Time)>,
}

impl World {
    /// Continues the search; leaps if an iteration recurs. `until` is the end of the run, in local
    /// time.
    pub(super) fn iterate(
        &mut self,
        search: &mut Iterations,
        rows: &mut Vec<(EventKey, Row)>,
        done: &mut FastForwarded,
        until: Time,
    ) -> Result<Option<(EventKey, u64)>, Stop> {
        let Some(jobs) = self.jobs.clone() else { return Ok(None) };
        let Some(reached) = self.boundary() else { return Ok(None) };
        if let Some(place) = search.place {
            if reached < place {
                return Ok(Some(search.next()));
            }
            search.place = None;
            if self.compare(search, place, &jobs, rows, done, until)? {
                return Ok(None); // nothing is left to leap over
            }
        }
        let handled = self.events_handled();
        if handled == 0 {
            return Ok(Some(search.next())); // ranks that compute from the start on begin without an event
        }
        let Some((first, begun, last)) = self.first_begun() else { return Ok(None) };
        if first != search.first {
            (search.first, search.begun) = (first, 0);
        }
        if begun > search.begun {
            let iterations = (begun - search.begun) as u64;
            if search.begun > 0 {
                search.look = ((handled - search.handled) / iterations / LOOKS_EACH).max(LOOK / 4);
            }
            (search.begun, search.handled) = (begun, handled);
            if last + search.after < reached.time {
                // Known too late: later from now on, which makes other places of them.
                search.after = Span(reached.time.since(last).0 * 2 + 1);
                search.start_anew(rows);
            }
            search.place = Some(EventKey { time: last + search.after, rank: 0 });
        }
        Ok(Some(search.next()))
    }

    /// The first rank that may leap, the iterations that it has begun, and when the latest was;
    /// `None`: none may.
    fn first_begun(&self) -> Option<((usize, u32), usize, Time)> {
        let may = self.ranks().into_iter().filter(|(_, m)| m.may_leap() > 0);
        may.map(|(job, m)| {
            ((job, m.rank()), m.begun().len(), m.begun().last().map_or(Time::ZERO, |l| l.0))
        })
        .next()
    }

    /// Compares the state at a place with earlier ones. Returns whether the search is over.
    fn compare(
        &mut self,
        search: &mut Iterations,
        place: EventKey,
        jobs: &Arc<Jobs>,
        rows: &mut Vec<(EventKey, Row)>,
        done: &mut FastForwarded,
        until: Time,
    ) -> Result<bool, Stop> {
        let inputs = self.inputs();
        let drawn = search.drawn.replace(inputs.drawn);
        if drawn.is_some_and(|d| d != inputs.drawn) {
            done.note("iterations draw at random");
            search.start_anew(rows);
            return Ok(false);
        }
        // Writing a state takes as long as some events.
        if search.written > FREE_STATES * self.words_likely() + self.events_handled() {
            return Ok(false);
        }
        self.drop_received();
        let mut compared = None;
        for from in &search.levels.0 {
            // The same state may be the youngest and another one.
            if compared.replace(from.more.nth) == Some(from.more.nth) {
                continue;
            }
            let growth = Growth::from_iter([(Group::Time, place.time.since(from.at.time).0)]);
            match self.write(place.time, Out::Compare { with: &from.words, at: 0, growth }) {
                Ok(Out::Compare { growth, .. }) => {
                    let from = from.clone();
                    let left = self.leap(&from, place, &growth, jobs, rows, done, until);
                    search.start_anew(rows);
                    return Ok(!left);
                }
                Ok(Out::Keep(_)) | Err(Stop::Differs) => {}
                Err(e) => return Err(e),
            }
        }
        done.note("no iteration came again");
        let nth = search.places;
        let seen = Seen {
            nth,
            inputs,
            listed: self.partitions.iter().map(|p| p.starts.next).sum(),
            completions: self.completed(),
            on_wire: Arc::new(self.on_wire()),
        };
        search.places += 1;
        search.written +=
            self.keep(&mut search.levels, |e| nth - e.more.nth, 1, place, false, seen)? as u64;
        Ok(false)
    }

    /// Drops the receivers' state of complete messages without a repetition: no more frames of
    /// these messages arrive.
    fn drop_received(&mut self) {
        let over = |flow: FlowId| {
            let record = self.record_of(flow);
            record.end.is_some() && record.sent == record.flow.size
        };
        let received = |n: &Node| {
            if let Node::Nic(n) = n {
                n.received().filter(|&f| over(f)).collect()
            } else {
                FxHashSet::default()
            }
        };
        let over: Vec<Vec<FxHashSet<FlowId>>> =
            self.partitions.iter().map(|p| p.nodes.iter().map(received).collect()).collect();
        let nodes = self.partitions.iter_mut().flat_map(|p| &mut p.nodes);
        for (node, over) in nodes.zip(over.iter().flatten()) {
            if let Node::Nic(n) = node {
                n.drop_received(|flow| over.contains(&flow));
            }
        }
    }

    /// Writes the state of all ranks, and the records so far of their messages under way.
    pub(super) fn write_ranks(&self, w: &mut Writer) -> Result<(), Stop> {
        let Some(jobs) = &self.jobs else { return Ok(()) };
        self.ranks().into_iter().try_for_each(|(job, m)| w.rank(job as u32, m))?;
        let Some(complete) = self.complete(jobs) else { return Err(Stop::Differs) };
        let on_wire = self.on_wire();
        for (nth, job) in jobs.jobs.iter().enumerate() {
            for (message, &complete) in (0..).zip(&complete[nth]) {
                let host = job.hosts[job.message(message).from as usize];
                for flow in (complete..job.iterations).map(|i| job.flow(i, message)) {
                    let r = self.record_of(FlowId(flow));
                    if r.flow.start == Time::NEVER {
                        break;
                    }
                    let ago = self.started_by(host) - r.nth;
                    let wire = self.wire_of(nth, job.message(message).from, FlowId(flow));
                    let wire = wire.map(|(begun, sent)| {
                        (on_wire[host.index()] - begun, on_wire[host.index()] - sent)
                    });
                    let FlowRecord {
                        flow: f,
                        nth: _,
                        sent,
                        delivered,
                        out_of_order,
                        ahead: Ahead { frames, peak, hold },
                        marked: mut marks,
                        cnms,
                        stopped,
                        all_sent,
                        received,
                        end,
                    } = r;
                    let mut marked = Vec::new();
                    marks.counters(&mut |n: &mut u64| marked.push(*n));
                    let flow = FlowId(flow);
                    let stands = self.stands(flow);
                    #[rustfmt::skip]
                    let under_way = UnderWay {
                        flow, start: f.start, sent, delivered, out_of_order, ahead: [frames, peak, hold], marked, cnms, all_sent, received, end, ago, wire, stopped, stands,
                    };
                    w.rank(nth as u32, &under_way)?;
                }
            }
        }
        Ok(())
    }

    /// The switches in which last frames of a flow stand, each with when it arrived.
    fn stands(&self, flow: FlowId) -> Vec<(NodeId, Time)> {
        let last = self.partitions.iter().filter_map(|p| p.core.monitor.last_frames.as_deref());
        let mut all: Vec<(NodeId, Time)> = last.flat_map(|l| l.of(flow)).collect();
        all.sort_unstable();
        all
    }

    /// Record of a flow, from all partitions.
    fn record_of(&self, flow: FlowId) -> FlowRecord {
        let mut seen = self.partitions.iter().map(|p| &p.core.monitor.flows.records[flow.index()]);
        let mut record = seen.next().expect("a world has a partition").clone();
        seen.for_each(|r| record.add(r));
        record
    }

    /// Bytes that each node has put on its wires.
    fn on_wire(&self) -> Vec<u64> {
        let bytes = |(node, &home): (usize, &u16)| {
            self.partitions[home as usize].core.on_wires(NodeId(node as u32))
        };
        self.layout.partition_of.iter().enumerate().map(bytes).collect()
    }

    /// Leaps as often as the round fits before the last iteration and before something comes from
    /// outside. Returns whether more may follow.
    #[expect(clippy::too_many_arguments, reason = "what a leap is made of")]
    fn leap(
        &mut self,
        from: &Earlier<Seen>,
        at: EventKey,
        growth: &Growth,
        jobs: &Jobs,
        rows: &[(EventKey, Row)],
        done: &mut FastForwarded,
        until: Time,
    ) -> bool {
        let (seen, length) = (&from.more, at.time.since(from.at.time));
        let grown = |g: Group| growth.get(&g).copied().unwrap_or(0);
        let rounds: Vec<u32> =
            (0..jobs.jobs.len() as u32).map(|job| grown(Group::Iteration(job)) as u32).collect();
        // A byte offset of a message is the same in every iteration, and no flow of the list runs
        // at the same time.
        let others = growth
            .iter()
            .any(|(g, &by)| matches!(g, Group::Flow(_) | Group::Message(..)) && by > 0);
        let counters = growth
            .iter()
            .any(|(g, &by)| matches!(g, Group::Counter(..) | Group::Number(..)) && by > 0);
        let inputs = self.inputs();
        let same = |of: fn(&Inputs) -> (u64, u64, u64, usize)| of(&inputs) == of(&seen.inputs);
        let listed: usize = self.partitions.iter().map(|p| p.starts.next).sum();
        self.expire_stops(at.time);
        let counts = totals::per_period(&from.counts, &self.totals_but_flows(at.time));
        let complete = self.complete(jobs);
        let (Some(counts), Some(complete)) = (counts, complete) else {
            done.note("messages of different iterations were taken for each other's");
            return true;
        };
        if counters && !self.probes.control.is_none() {
            done.note("the control messages that are recorded hold counters");
            return false;
        }
        if others
            || listed != seen.listed
            || !same(|i| (i.drawn, i.broken, i.failures, i.deadlocks))
        {
            done.note("flows of other workloads were active during the iterations");
            return true;
        }
        let left = self
            .ranks()
            .into_iter()
            .filter(|(job, _)| rounds[*job] > 0)
            .map(|(job, m)| m.may_leap() / rounds[job])
            .min();
        let at_once = (ROWS_AT_ONCE / rows.len().max(1) as u64).clamp(1, u32::MAX as u64) as u32;
        let times =
            left.unwrap_or(0).min(self.rounds_until(from.at.time, at, length, until)).min(at_once);
        if times == 0 {
            return left.is_some_and(|l| l > 0);
        }
        done.periods += 1;
        done.longest = done.longest.max(length);
        let leap = |&round: &u32| (round > 0).then_some(Leap { round, times, length });
        let on_wire: Vec<u64> = self
            .on_wire()
            .iter()
            .zip(seen.on_wire.iter())
            .map(|(now, before)| now - before)
            .collect();
        let mut stood = vec![Vec::new(); jobs.jobs.len()];
        self.ranks().into_iter().for_each(|(job, m)| stood[job].push(m.stands()));
        let mut begins = vec![0; on_wire.len()];
        for (job, &round) in jobs.jobs.iter().zip(&rounds) {
            job.messages
                .iter()
                .for_each(|m| begins[job.hosts[m.from as usize].index()] += round as u64);
        }
        let leapt = Leapt {
            jobs: rounds.iter().map(leap).collect(),
            stood,
            complete,
            on_wire,
            begins,
            times,
        };
        self.repeat_round(&leapt, jobs, from, rows);
        let mut per_run = counts;
        per_run.iter_mut().for_each(|c| *c = c.wrapping_mul(times as u64));
        self.add_to_totals_but_flows(&per_run);
        self.move_on(&leapt, jobs);
        let skipped = Span(length.0 * times as u64);
        self.skip(skipped, at);
        self.leaps.push(leapt);
        self.paused = true;
        done.skipped += skipped;
        done.events_skipped = self.events_skipped;
        done.because = None;
        left.is_some_and(|l| l > times)
    }

    /// Number of rounds that fit before an external event.
    fn rounds_until(&self, from: Time, at: EventKey, length: Span, until: Time) -> u32 {
        let listed = self.partitions.iter().filter_map(|p| p.next_start()).map(|(_, time)| time);
        // As for every jump: a poll that found no deadlock in these states would find none in those
        // that follow.
        let looked = self.looked.is_some_and(|look| look >= from);
        let sees_nothing = |e: &Event| looked && e.kind() == Kind::DeadlockDetector;
        let planned = self
            .global_events
            .iter()
            .map(|Reverse(e)| e)
            .filter(|e| !sees_nothing(e))
            .map(|e| Time(e.time()));
        let limit = listed.chain(planned).fold(until, Time::min);
        (limit.since(at.time).0.saturating_sub(1) / length.0.max(1)).min(u32::MAX as u64) as u32
    }

    /// By job and message: how many iterations of it are complete; `None`: they were not in order.
    fn complete(&self, jobs: &Jobs) -> Option<Vec<Vec<u32>>> {
        let ended = |flow: FlowId| {
            self.partitions.iter().any(|p| p.core.monitor.flows.records[flow.index()].end.is_some())
        };
        let of_job = |job: &Arc<Job>| {
            let last = job.iterations;
            let of_message = |message: u32| {
                let complete =
                    (0..last).take_while(|&i| ended(FlowId(job.flow(i, message)))).count() as u32;
                // Iterations that no rank has reached have not begun.
                let beyond = (complete..last.min(complete + 64))
                    .any(|i| ended(FlowId(job.flow(i, message))));
                (!beyond).then_some(complete)
            };
            (0..job.messages.len() as u32).map(of_message).collect()
        };
        jobs.jobs.iter().map(of_job).collect()
    }

    /// Records the rows of the round for each time that it was leapt over, and the flows that were
    /// complete in it.
    fn repeat_round(
        &mut self,
        leapt: &Leapt,
        jobs: &Jobs,
        from: &Earlier<Seen>,
        rows: &[(EventKey, Row)],
    ) {
        let Some(length) = leapt.jobs.iter().flatten().map(|l| l.length).next() else { return };
        let complete = self.completions_from(from.more.completions).to_vec();
        let rows: Vec<&(EventKey, Row)> = rows.iter().filter(|(key, _)| *key >= from.at).collect();
        for time in 1..=leapt.times {
            let by = self.skipped + Span(length.0 * time as u64);
            for (key, row) in &rows {
                // Rows that are kept have the numbers of flows that were gone through.
                if let Some(row) = row.with_flow(|flow| {
                    Some(u64::from(leapt.later(jobs, self.of_run(FlowId(flow as u32)), time)))
                }) {
                    self.record(row.at(key.time.0 + by.0));
                }
            }
            self.add_completions(complete.iter().map(|&f| leapt.later(jobs, f, time)));
        }
    }
}
