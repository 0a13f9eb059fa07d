//! Flows that another program adds during the run. That program, such as another simulator above
//! this network, chooses the next message by the arrivals.
//!
//! ```text
//!   driver --World::hand_in--> flow begins now     World::run --returns--> World::news: sent, delivered, acknowledged --> driver
//! ```
//!
//! The run stops right after an event that is news, before anything else happens, so a flow that is
//! added then begins as if its host had decided so itself: the ranks of a job do the same. On several
//! partitions the next event is then the first one of all of them ([`World::step`]).
//!
//! A driver that adds nothing before a time runs until then without stops ([`World::run_ahead`]), as
//! any other run does, on threads too. It gets the same news in the same order.

use std::cmp::Reverse;
use std::sync::Arc;

use xoff_net::topology::routing::Routes;
use xoff_net::topology::{LinkId, Topology};
use xoff_net::workload::{Act, Call, Flow};
use xoff_node::EventKey;
use xoff_units::paged::PageFile;
use xoff_units::state::State;
use xoff_units::{FlowId, PortId, Rate, Span, Time};

use crate::engine::calendar::Calendar;
use crate::engine::clock::Clock;
use crate::engine::event::{Event, FLOWS_MAX, Kind};
use crate::engine::queue::Pending;
use crate::observe::flows::{FlowRecord, Stage};
use crate::observe::outcome::Ended;
use crate::observe::records::Records;
use crate::world::World;
use crate::world::model::PathFacts;
use crate::world::partition::Partition;

/// Clocks of idle nodes are made up for after such a wait at most: a node that is called later sends
/// one message, not the missed ones.
const MADE_UP_MAX: Span = Span::from_ms(10);

/// How far a flow has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub enum Reached {
    /// Its last frame has left its source.
    Sent,
    /// Its last byte has arrived, and all before it.
    Delivered,
    /// Its source knows that.
    Acknowledged,
}

/// News of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct News {
    /// Time of the news.
    pub at: Time,
    /// Number of the flow.
    pub flow: FlowId,
    /// How far it has come.
    pub reached: Reached,
    /// Place of the event.
    pub(crate) place: EventKey,
}

/// Recorded calls, and how many of them have been made.
#[derive(Default)]
pub(crate) struct Calls {
    list: Arc<Vec<Call>>,
    pub made: usize,
    /// The first call that came at another time than the recorded one.
    astray: Option<(Time, Time)>,
}

impl Calls {
    pub fn new(list: Option<&Arc<Vec<Call>>>) -> Calls {
        Calls { list: list.cloned().unwrap_or_default(), made: 0, astray: None }
    }

    fn next(&self) -> Option<&Call> {
        self.list.get(self.made)
    }
}

/// The next step of a run that repeats calls.
pub(crate) enum First {
    /// Nothing: the next call is so many events away, if there is one.
    Events(u64),
    /// An event of the whole network is earlier than the next call.
    Global,
    /// The next call.
    Call,
    /// The next call is after the end of the run.
    End,
}

impl Partition {
    /// [`Self::run`] that stops at news; `stop`: events handled by then at most.
    pub(crate) fn run_to_news(&mut self, bound: EventKey, stop: u64) {
        while self.core.events < stop
            && !self.has_many_rows()
            && self.news.as_ref().is_some_and(Vec::is_empty)
        {
            let Some(e) = self.core.next(bound) else { return };
            self.handle(e);
        }
    }

    /// Flows have come further.
    #[cold]
    pub(crate) fn note_news(&mut self) {
        let (at, place) = (self.core.clock.now, self.core.clock.place());
        for (flow, stage) in std::mem::take(&mut self.core.monitor.flows.ended) {
            let reached = match stage {
                Stage::Sent => Reached::Sent,
                Stage::Delivered | Stage::Arrived => Reached::Delivered,
                Stage::Acknowledged => Reached::Acknowledged,
            };
            self.news.get_or_insert_default().push(News { at, flow, reached, place });
        }
    }
}

impl World {
    /// A flow begins now. Flows of one queue pair, counted from 0 at their source, share their
    /// congestion state; `None`: it has its own. Returns its number. Only of a world whose flows
    /// may be handed in ([`xoff_net::workload::Flows::handed_in`]), of a priority named there,
    /// between hosts that have a route.
    pub fn hand_in(&mut self, mut flow: Flow, facts: PathFacts, queue_pair: Option<u32>) -> FlowId {
        flow.start = self.now();
        self.stand_together();
        let mut number = FlowId(0);
        for p in &mut self.partitions {
            number = p.core.monitor.flows.records.append(FlowRecord::new(flow.clone(), 0));
        }
        let home = self.layout.partition_of[flow.src.index()];
        let home = &mut self.partitions[home as usize];
        home.begin_in(number, facts, queue_pair, None);
        if home.news.is_some() {
            home.note_news();
            // In the order of the calls, wherever their sources are.
            let begun = home.news.as_mut().map(std::mem::take).unwrap_or_default();
            self.partitions[0].news.get_or_insert_default().extend(begun);
        }
        self.exchange();
        number
    }

    /// All partitions stand at the latest event.
    fn stand_together(&mut self) {
        let Some(latest) = self.partitions.iter().map(|p| p.core.clock).max_by_key(Clock::place)
        else {
            return;
        };
        self.partitions.iter_mut().for_each(|p| p.core.clock = latest);
    }

    /// Events of the nodes so far: the place of the next call of a driver.
    pub fn node_events(&self) -> u64 {
        self.partitions.iter().map(|p| p.core.events).sum()
    }

    /// [`World::run`] of a driver that adds nothing before `until`: it does not stop at news.
    pub fn run_ahead(&mut self, until: Time, events: u64) -> Option<Ended> {
        self.partitions.iter_mut().for_each(|p| p.stops_at_news = false);
        let ended = self.run(until, events);
        self.partitions.iter_mut().for_each(|p| p.stops_at_news = true);
        ended
    }

    /// Handles events one after the other, in the order of the network, before `bound` and to the
    /// first news; about `events` of them.
    pub(super) fn step(&mut self, bound: EventKey, events: u64) {
        let stop = self.node_events().saturating_add(events);
        while !self.has_news() && self.node_events() < stop {
            let (mut first, mut second) = ((EventKey::NEVER, 0), bound);
            for (nth, p) in self.partitions.iter_mut().enumerate() {
                let next = (p.peek().unwrap_or(EventKey::NEVER), nth);
                second = second.min(next.0.max(first.0));
                first = first.min(next);
            }
            if first.0 >= bound {
                return;
            }
            let left = stop - self.node_events();
            let p = &mut self.partitions[first.1];
            let stop = p.core.events + left;
            // Its frames may arrive elsewhere before the next event there.
            while p.core.events < stop && p.news.as_ref().is_some_and(Vec::is_empty) {
                let Some(e) = p.core.next(second.min(p.core.first_outgoing)) else { break };
                p.handle(e);
            }
            self.exchange();
        }
    }

    /// The first recorded call that did not come at its time: that time, and the one at which its
    /// place came; `None` there: its place never came.
    pub fn astray(&self, ended: Ended) -> Option<(Time, Option<Time>)> {
        let never = self.calls.next().filter(|_| ended == Ended::Quiet).map(|call| (call.at, None));
        self.calls.astray.map(|(at, came)| (at, Some(came))).or(never)
    }

    /// The next step: a recorded call, or events.
    pub(super) fn first(&self, until: Time) -> First {
        let Some(call) = self.calls.next() else { return First::Events(u64::MAX) };
        let core = &self.partitions[0].core;
        if core.events < call.after {
            return First::Events(call.after - core.events);
        }
        if call.at > until {
            return First::End;
        }
        let reached = match call.act {
            Act::Wait => EventKey { time: call.at, rank: u64::MAX },
            _ => core.clock.event_key(),
        };
        match self.global_events.peek() {
            Some(Reverse(e)) if e.event_key() <= reached => First::Global,
            _ => First::Call,
        }
    }

    /// True if the next recorded call came after events that have not happened yet: also those that
    /// found nothing due count.
    pub(super) fn owes_events(&self) -> bool {
        self.calls.next().is_some_and(|call| self.partitions[0].core.events < call.after)
    }

    /// Makes the next recorded call.
    pub(super) fn call(&mut self) {
        let Some(call) = self.calls.next().cloned() else { return };
        self.calls.made += 1;
        match call.act {
            Act::Wait if call.at >= self.now() => self.wait_until(call.at),
            _ if call.at != self.now() => {
                self.calls.astray.get_or_insert((call.at, self.now()));
            }
            Act::Wait => {}
            Act::Send { flow, queue_pair } => {
                let facts = &self.partitions[0].starts.facts_of_ends;
                let facts = facts.get(&(flow.src, flow.dst)).copied().unwrap_or_default();
                self.hand_in(flow, facts, queue_pair);
            }
            Act::Fail(link) => self.fail_now(link),
            Act::SetRate(link, rate) => {
                let ends = self.topology().map(|t| {
                    let link = &t.links[link as usize];
                    [(link.a, link.a_port), (link.b, link.b_port)].map(PortId::from)
                });
                ends.into_iter().for_each(|ends| self.set_rate(ends, rate));
            }
        }
    }

    /// Keeps the records of flows in pages of this file. Before the first flow begins.
    pub fn keep_records_in(&mut self, file: &PageFile) {
        for p in &mut self.partitions {
            p.core.monitor.flows.records = Records::paged(file);
        }
    }

    /// As many flows can be handed in: more could not be distinguished.
    pub fn flows_max(&self) -> u64 {
        (FLOWS_MAX - self.listed) as u64
    }

    /// News of flows since the last call, in order; also of flows of the scenario.
    pub fn news(&mut self) -> Vec<News> {
        let of_all = self.partitions.iter_mut().filter_map(|p| p.news.as_mut());
        let mut news: Vec<News> = of_all.flat_map(std::mem::take).collect();
        // Stable: news of one event stay in their order.
        news.sort_by_key(|n| n.place);
        news
    }

    /// True if results of flows have not been fetched.
    pub(crate) fn has_news(&self) -> bool {
        self.partitions.iter().any(|p| p.news.as_ref().is_some_and(|n| !n.is_empty()))
    }

    /// A link fails now, in both directions, for the rest of the run.
    pub fn fail_now(&mut self, link: LinkId) {
        self.stand_together();
        self.fail_link(link);
        self.exchange();
        self.put_in_order();
    }

    /// Routes at the start of the run.
    pub fn routes(&self) -> &Arc<Routes> {
        &self.routes
    }

    /// The network with the links that have failed so far; `None`: none can fail during the run.
    pub fn topology(&self) -> Option<&Topology> {
        self.rerouting.as_deref().map(|(topology, _)| topology)
    }

    /// Sets the rate of both directions of a link, from their next frame on.
    pub fn set_rate(&mut self, ends: [PortId; 2], rate: Rate) {
        ends.into_iter().for_each(|end| self.with_port(end, |p, _| p.rate = rate));
    }

    /// Nothing happens until then: the next added flow begins at that time. Everything that is due
    /// by then must have been handled, by [`World::run`]. Messages that idle nodes send by the clock
    /// are made up for, but not those of a long wait.
    pub fn wait_until(&mut self, time: Time) {
        debug_assert!(time >= self.now());
        self.now = time;
        // Samples and looks of the detector would have found a network at rest.
        let (looks, samples) = (self.deadlock_interval, self.probes.interval);
        let later = |Reverse(e): Reverse<Event>| {
            let key = e.event_key();
            let every = match e.kind() {
                Kind::DeadlockDetector => looks.0,
                Kind::Sample => samples.0,
                _ => return Reverse(e),
            };
            let missed = time.0.saturating_sub(key.time.0).div_ceil(every.max(1));
            let time = Time(key.time.0.saturating_add(missed.saturating_mul(every)));
            Reverse(Event::new(EventKey { time, ..key }, e.kind(), e.port(), e.arg))
        };
        self.global_events =
            std::mem::take(&mut self.global_events).into_iter().map(later).collect();
        for p in &mut self.partitions {
            p.core.clock.reach(EventKey { time, rank: u64::MAX });
            let Calendar::Global(queue) = &mut p.core.pending else { continue };
            let missed =
                |e: &Event| e.kind().is_timer() && time.since(Time(e.time())) > MADE_UP_MAX;
            if queue.pending().any(missed) {
                let later = |e: &Event| match missed(e) {
                    true => {
                        Event::new(EventKey { time, ..e.event_key() }, e.kind(), e.port(), e.arg)
                    }
                    false => *e,
                };
                let events = queue.pending().map(later).collect();
                queue.refill(events);
            }
        }
    }

    /// Frames that were lost until now, of every kind: dropped by nodes or lost on links.
    pub fn lost_frames(&self) -> u64 {
        let lost = |p: &Partition| {
            p.core.monitor.counts.lost.dropped().total()
                + p.core.monitor.counts.lost.on_links().total()
        };
        self.partitions.iter().map(lost).sum()
    }
}
