//! The search for a state that recurs: anchors, and Brent's algorithm over them.

use std::sync::Arc;

use xoff_node::{EventKey, FrameKind};
use xoff_units::{FlowId, NodeId, Span, Time};

use super::words::{Group, Growth, Out, Stop, Words, Writer};
use super::{FastForward, Inputs, Period, Progress, totals};
use crate::engine::event::{Event, Kind};
use crate::engine::queue::Pending;
use crate::observe::probe::Row;
use crate::world::World;
use crate::world::partition::{HOPS, Node};

/// Events without a start or an end of a flow or a random draw, after which a search begins at the
/// earliest.
pub(super) const QUIET: u64 = 1024;
/// Looks in a row that found a change make the wait twice as long each, up to so many times: short
/// stretches of events do not pay for threads. In a small network, whose states are searched sooner,
/// the wait stays short.
const RESTLESS_MAX: u32 = 7;
/// And for each word that the state is likely to have: writing it may be in vain.
const QUIET_EACH: u64 = 6;
/// Events that a search may take at least: periods of paused trees have some thousand.
const SEARCH_MIN: u64 = 1 << 14;
/// Number of pending events skipped for each event between two anchors.
const SPACING: u64 = 8;
/// Least number of events, per word of a state, for which it is compared: writing it takes longer
/// the larger it is.
const WORDS_EACH: u64 = 4;
/// Words of the largest state that is compared.
const WORDS_MAX: usize = 1 << 24;
/// States that are compared with at a time: a period of any length.
const LEVELS_MAX: usize = 40;
/// Rows from which on those are dropped that no state can need.
const ROWS_KEPT: usize = 1 << 16;
/// Rows of a period that are kept to be repeated.
const ROWS_MAX: usize = 1 << 20;

pub(super) const NO_END: EventKey = EventKey { time: Time::NEVER, rank: u64::MAX };

/// A state that may come again, and more that is remembered with it.
#[derive(Clone)]
pub(super) struct Earlier<M> {
    pub at: EventKey,
    /// Events handled before it.
    handled: u64,
    pub words: Arc<Words>,
    pub counts: Arc<Vec<u64>>,
    pub more: M,
}

/// Earlier states to compare with, each kept twice as long as the previous one: a period of any
/// length is found soon after what precedes it has passed.
pub(super) struct Levels<M>(pub Vec<Earlier<M>>);

impl<M> Default for Levels<M> {
    fn default() -> Self {
        Levels(Vec::new())
    }
}

/// A state that has come again.
struct Recurrence {
    from: Earlier<()>,
    to: EventKey,
    growth: Growth,
}

/// Drops rows that no state can need, once there are `at` of them. Returns how many there may be
/// until the next time: twice those that are left, so that a row is passed over twice at most.
fn trim<M, R>(rows: &mut Vec<(EventKey, R)>, at: usize, levels: &Levels<M>) -> usize {
    if rows.len() < at.max(ROWS_KEPT) {
        return at;
    }
    if let Some(first) = levels.0.iter().map(|e| e.at).min() {
        rows.retain(|(key, _)| *key >= first);
    }
    2 * rows.len()
}

/// A search.
pub(super) struct Search {
    /// An arrival of this flow at this port, counted over the whole network, is an anchor.
    port: u32,
    flow: FlowId,
    /// Delay of the line that leads there.
    delay: Span,
    /// The next anchor, or the time up to which there is none.
    pub next: EventKey,
    next_is_anchor: bool,
    /// Number of handled events before the next anchor: looking for one visits all pending events.
    not_before: u64,
    earlier: Levels<()>,
    /// Events handled at which it ends without success.
    ends: u64,
}

impl World {
    /// The place before which everything has happened and from which on nothing has; `None`:
    /// nothing will.
    pub(super) fn boundary(&mut self) -> Option<EventKey> {
        let first = self.partitions.iter_mut().filter_map(|p| p.peek()).min();
        first.into_iter().chain(self.next_global()).min()
    }

    pub(super) fn inputs(&self) -> Inputs {
        let sum = |of: fn(&crate::world::partition::Partition) -> u64| {
            self.partitions.iter().map(of).sum::<u64>()
        };
        Inputs {
            begun: self.partitions.iter().map(|p| p.starts.begun).sum(),
            completed: self.completed(),
            drawn: sum(|p| p.core.draws.drawn),
            broken: sum(|p| p.core.monitor.checks.count())
                + sum(|p| p.core.monitor.counts.lost.total().total()),
            failures: self.failures,
            deadlocks: self.deadlocks().len(),
        }
    }

    /// Between two stretches of events, `until` being the end of the run: skips remembered
    /// episodes, jumps if a period is known, otherwise continues with the search for one. Returns
    /// the place where the next stretch has to end, and after how many events.
    pub(super) fn fast_forward(
        &mut self,
        f: &mut FastForward,
        until: Time,
    ) -> Option<(EventKey, u64)> {
        if matches!(f.progress, Progress::Off) {
            return None;
        }
        let place = self.recall(f, until);
        let local = Time(until.0.saturating_sub(self.skipped.0));
        let pause = self.go_on_forward(f, local);
        let (at, events) = pause.unwrap_or((NO_END, u64::MAX));
        (place.is_some() || pause.is_some()).then(|| (place.map_or(at, |p| p.min(at)), events))
    }

    fn go_on_forward(&mut self, f: &mut FastForward, until: Time) -> Option<(EventKey, u64)> {
        if let Progress::Iterates(search) = &mut f.progress {
            if f.rows.len() > ROWS_MAX {
                search.start_anew(&mut f.rows);
            }
            f.trim_at = trim(&mut f.rows, f.trim_at, search.levels());
            match self.iterate(search, &mut f.rows, &mut f.done, until) {
                Ok(Some(next)) => return Some(next),
                Ok(None) => f.progress = Progress::Off,
                Err(Stop::Unwritten(what)) => {
                    f.give_up(&format!("no run returns to a state with {what}"))
                }
                Err(Stop::Differs) => unreachable!("a search continues after a state that differs"),
            }
            f.rows = Vec::new();
            return None;
        }
        let (handled, inputs) = (self.events_handled(), self.inputs());
        if inputs != f.inputs {
            (f.inputs, f.quiet_from, f.failed) = (inputs, handled, 0);
            // A search needs so much quiet that none begins before the second bound.
            let wait = (QUIET << f.restless).min(QUIET.max(QUIET_EACH * self.words_likely()));
            f.progress = Progress::Waits { until: handled + wait };
            f.restless = (f.restless + 1).min(RESTLESS_MAX);
            f.rows.clear();
        }
        if let Progress::Waits { until: waits } = f.progress {
            if handled < waits {
                return Some((NO_END, waits - handled));
            }
            f.restless = 0;
            let quiet = QUIET_EACH * self.words_likely();
            if handled - f.quiet_from < quiet {
                f.progress = Progress::Waits { until: f.quiet_from + quiet };
                return None;
            }
            f.progress = match self.begin_search(handled, f.quiet_from) {
                Some(search) => Progress::Searches(Box::new(search)),
                None => Progress::Waits { until: handled + QUIET },
            };
        }
        if let Progress::Searches(search) = &mut f.progress {
            let over = handled > search.ends || f.rows.len() > ROWS_MAX;
            match self.search(search) {
                Ok(Some(recurrence)) => {
                    let rows = std::mem::take(&mut f.rows);
                    match self.period(&recurrence, rows) {
                        Ok(period) => {
                            f.done.periods += 1;
                            f.done.longest = f.done.longest.max(period.length);
                            f.progress = Progress::Knows(Box::new(period));
                        }
                        Err(because) => f.give_up(because),
                    }
                }
                Ok(None) if over => {
                    f.rows = Vec::new();
                    f.failed += 1;
                    f.progress =
                        Progress::Waits { until: handled + (handled - f.quiet_from) * f.failed };
                    if f.done.periods == 0 {
                        f.done.because = Some("no state came again".into());
                    }
                }
                Ok(None) => {}
                Err(Stop::Unwritten(what)) => {
                    f.give_up(&format!("no run returns to a state with {what}"))
                }
                Err(Stop::Differs) => unreachable!("a search continues after a state that differs"),
            }
        }
        if let Progress::Searches(search) = &mut f.progress {
            f.trim_at = trim(&mut f.rows, f.trim_at, &search.earlier);
            return match search.not_before.saturating_sub(handled) {
                0 => Some((search.next, u64::MAX)),
                rest => Some((NO_END, rest)),
            };
        }
        if let Progress::Knows(period) = &f.progress
            && !self.jump(period, until, &mut f.done)
        {
            // A flow is about to run out of full frames.
            f.progress = Progress::Waits { until: self.events_handled() + QUIET };
        }
        None
    }

    /// About how many words the state has.
    pub(super) fn words_likely(&self) -> u64 {
        let frames = self.partitions.iter().map(|p| p.core.frames.live_data()).sum::<u64>();
        32 * self.layout.ports.len() as u64 + 8 * frames
    }

    /// Begins a search at an arrival that is on its way; `None`: there is none now.
    fn begin_search(&mut self, handled: u64, quiet_from: u64) -> Option<Search> {
        let at = self.boundary()?;
        let mut first: Option<(EventKey, u32, u32)> = None;
        for p in &self.partitions {
            for e in
                p.core.pending.events().filter(|e| e.kind() == Kind::Arrive && e.event_key() >= at)
            {
                let frame = &p.core.frames[e.arg];
                let node = self.layout.ports.places()[e.port() as usize].node;
                let ends = frame.kind() == FrameKind::Data
                    && matches!(p.nodes[node.index()], Node::Nic(_));
                if ends && first.is_none_or(|f| e.event_key() < f.0) {
                    first = Some((e.event_key(), e.port(), frame.flow.0));
                }
            }
        }
        let (_, port, flow) = first?;
        let feeder = self.layout.ports.peer(port) as usize;
        let node = self.layout.ports.places()[feeder].node;
        let delay = self.partitions[self.layout.partition_of[node.index()] as usize].core.lines
            [feeder]
            .delay;
        let ends = handled + (handled - quiet_from).max(SEARCH_MIN);
        let mut search = Search {
            port,
            flow: FlowId(flow),
            delay,
            next: at,
            next_is_anchor: false,
            not_before: 0,
            earlier: Levels::default(),
            ends,
        };
        self.find_next(&mut search, at, at.time + Span(1));
        Some(search)
    }

    /// The next anchor from a time on, where the network stands at `at`.
    fn find_next(&mut self, s: &mut Search, at: EventKey, from: Time) {
        let frames = |p: &crate::world::partition::Partition, e: &&Event| {
            e.kind() == Kind::Arrive && e.port() == s.port && p.core.frames[e.arg].flow == s.flow
        };
        let arrivals = self
            .partitions
            .iter()
            .flat_map(|p| p.core.pending.events().filter(move |e| frames(p, e)));
        let first = arrivals.map(|e| Time(e.time())).filter(|t| *t >= from).min();
        s.next_is_anchor = first.is_some();
        // A frame that is not sent yet takes longer than the cable.
        s.next = EventKey { time: first.unwrap_or(at.time + s.delay.max(Span(1))), rank: 0 };
    }

    /// Continues a search if its next place has been reached.
    fn search(&mut self, s: &mut Search) -> Result<Option<Recurrence>, Stop> {
        let handled = self.events_handled();
        if handled < s.not_before {
            return Ok(None);
        }
        let Some(reached) = self.boundary() else { return Ok(None) };
        if s.not_before > 0 {
            s.not_before = 0;
            self.find_next(s, reached, reached.time + Span(1));
        }
        if reached < s.next {
            return Ok(None);
        }
        let to = s.next;
        if !s.next_is_anchor {
            self.find_next(s, reached, to.time);
            return Ok(None);
        }
        for from in &s.earlier.0 {
            let growth = Growth::from_iter([(Group::Time, to.time.since(from.at.time).0)]);
            match self.write(to.time, Out::Compare { with: &from.words, at: 0, growth }) {
                Ok(Out::Compare { growth, .. }) => {
                    return Ok(Some(Recurrence { from: from.clone(), to, growth }));
                }
                Ok(Out::Keep(_)) | Err(Stop::Differs) => {}
                Err(e) => return Err(e),
            }
        }
        let unit = s.earlier.0.first().map_or(0, |e| WORDS_EACH * e.words.len() as u64);
        self.keep(&mut s.earlier, |e| handled - e.handled, unit, to, true, ())?;
        let pending: u64 =
            self.partitions.iter().map(|p| p.core.pending.events().count() as u64).sum();
        s.not_before = handled + pending / SPACING;
        Ok(None)
    }

    /// Keeps the state at a place instead of those that have been compared with for long enough:
    /// for a unit, for two, for four. With the counters of `flows` or without. Returns how many
    /// words it took.
    pub(super) fn keep<M: Clone>(
        &mut self,
        levels: &mut Levels<M>,
        age: impl Fn(&Earlier<M>) -> u64,
        unit: u64,
        at: EventKey,
        flows: bool,
        more: M,
    ) -> Result<usize, Stop> {
        let (earlier, handled) = (&mut levels.0, self.events_handled());
        let old = |(level, e): (usize, &Earlier<M>)| age(e) >= unit << level;
        // The first is the youngest. Another level begins when the oldest has been kept for long
        // enough.
        let levels = earlier.iter().enumerate().take_while(|e| old(*e)).count();
        if levels == 0 && !earlier.is_empty() {
            return Ok(0);
        }
        let mut words = Words::new();
        match self.write(at.time, Out::Keep(&mut words)) {
            Ok(_) => {}
            // Something in it belongs to no state that could recur, such as a flow that is about to
            // begin.
            Err(Stop::Differs) => return Ok(0),
            Err(e) => return Err(e),
        }
        self.expire_stops(at.time);
        let (written, counts) = (
            words.len(),
            if flows { self.totals(at.time) } else { self.totals_but_flows(at.time) },
        );
        let new = Earlier { at, handled, words: Arc::new(words), counts: Arc::new(counts), more };
        let all_old = levels == earlier.len();
        earlier[..levels].fill(new.clone());
        if all_old && earlier.len() < LEVELS_MAX {
            earlier.push(new);
        }
        Ok(written)
    }

    /// The period that has been found.
    fn period(
        &mut self,
        recurrence: &Recurrence,
        mut rows: Vec<(EventKey, Row)>,
    ) -> Result<Period, &'static str> {
        let Recurrence { from, to, growth } = recurrence;
        self.expire_stops(to.time);
        let counts = totals::per_period(&from.counts, &self.totals(to.time))
            .ok_or("frames of different flows are taken for each other's")?;
        let counters = growth
            .iter()
            .any(|(g, &by)| matches!(g, Group::Counter(..) | Group::Number(..)) && by > 0);
        if counters && !self.probes.control.is_none() {
            return Err("the control messages that are recorded hold counters");
        }
        let advances = growth.iter().filter_map(|(g, &by)| {
            if let Group::Flow(flow) = g { Some((*flow, by)) } else { None }
        });
        rows.retain(|(key, _)| *key >= from.at);
        let (length, advances) =
            (to.time.since(from.at.time), advances.filter(|a| a.1 > 0).collect());
        Ok(Period { length, start: from.at, advances, counts, rows })
    }

    /// Writes the whole state at a time before which everything has happened.
    pub(super) fn write<'w>(&'w self, at: Time, out: Out<'w>) -> Result<Out<'w>, Stop> {
        let mut w = Writer::new(
            out,
            &self.partitions[0].core.frames,
            &self.layout,
            self.jobs.as_deref(),
            at,
        );
        w.put(Group::Plain, self.partitions.iter().map(|p| p.core.frames.live_data()).sum())?;
        for (n, &home) in self.layout.partition_of.iter().enumerate() {
            let partition = &self.partitions[home as usize];
            w.frames = &partition.core.frames;
            match &partition.nodes[n] {
                Node::Switch(s) => w.node(NodeId(n as u32), &**s)?,
                Node::Nic(nic) => w.node(NodeId(n as u32), &**nic)?,
                Node::Remote => {}
            }
        }
        for partition in &self.partitions {
            w.frames = &partition.core.frames;
            let mut events: Vec<&Event> = partition.core.pending.events().collect();
            events.sort_unstable();
            for e in events {
                match e.kind() {
                    Kind::FlowStart if e.arg % HOPS == 0 => continue, // the next of the list, which ends a period
                    Kind::FlowStart => return Err(Stop::Differs),
                    // Timers: nodes know from their state whether anything is due, and a call that
                    // finds nothing due does nothing. So only that state counts, not when the next
                    // call comes.
                    kind if kind.is_timer() => continue,
                    _ => {}
                }
                w.put(Group::Plain, e.kind() as u64)?;
                w.put(Group::Plain, e.port() as u64)?;
                w.put(Group::Time, e.time())?;
                w.put(Group::Plain, e.rank())?;
                match e.kind() {
                    Kind::Arrive => w.arriving(e.port(), e.arg)?,
                    _ => w.put(Group::Plain, e.arg as u64)?,
                }
            }
        }
        self.write_ranks(&mut w)?;
        if w.count > WORDS_MAX {
            return Err(Stop::Unwritten(format!("more than {WORDS_MAX} words")));
        }
        match w.out {
            Out::Compare { with, at, .. } if at < with.len() => Err(Stop::Differs),
            out => Ok(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use xoff_mech::flow_control::FlowControl;
    use xoff_net::topology::{NodeKind, Topology};
    use xoff_net::workload::{Flow, Flows};
    use xoff_units::{Bytes, NodeId, Rate};

    use super::*;
    use crate::world::model::Model;

    /// Events between the first looks for a state that comes again, where flows begin all the time.
    fn waits(hosts: usize) -> Vec<u64> {
        let rate = Rate::from_gbps(100);
        let mut t = Topology::default();
        let names = (0..hosts).map(|n| format!("H{n}"));
        let of: Vec<NodeId> = names.map(|n| t.add_node(n, NodeKind::Host, 0, 0)).collect();
        let switch = t.add_node("S1".to_owned(), NodeKind::Switch, 1, 0);
        of.iter().for_each(|&h| _ = t.add_link(h, switch, rate, Span::from_us(1)));
        let flow = |n: usize| Flow {
            src: of[n % hosts],
            dst: of[(n + 1 + n / hosts % (hosts - 1)) % hosts],
            priority: 0,
            size: 1000 + 7 * (n as u64 % 101),
            start: Time::from_ns(50 * n as u64),
            rate: None,
            controlled: true,
            src_port: 1,
            dst_port: 1,
            path: None,
            label: 0,
        };
        let flows = Flows {
            flows: (0..400_000).map(flow).collect::<Vec<_>>().into(),
            labels: vec!["all".into()],
            ..Flows::default()
        };
        let m = Model::plain(Bytes::from_kb(300), |_| Ok(FlowControl::None));
        let (mut w, until) = (World::build(&t, flows, &m).unwrap(), Time::from_us(100_000));
        let mut wait = || {
            let (_, events) = w.look_ahead(until).expect("it waits");
            assert_eq!(w.run(until, events), None);
            events
        };
        (0..10).map(|_| wait()).collect()
    }

    /// The stretches between two looks become so long that threads pay, but not longer than the
    /// quiet that a search needs.
    #[test]
    fn looks_that_always_find_a_change_become_rare_in_a_large_network() {
        let (small, large) = (waits(4), waits(200));
        assert!(small.iter().all(|&wait| wait <= 8 * QUIET), "{small:?}");
        assert!(large[0] <= QUIET && *large.last().unwrap() > 50 * QUIET, "{large:?}");
    }

    #[test]
    fn rows_that_are_kept_are_seldom_passed_over() {
        let at = |ps: u64| EventKey { time: Time(ps), rank: 0 };
        let earlier = Earlier {
            at: at(0),
            handled: 0,
            words: Arc::default(),
            counts: Arc::default(),
            more: (),
        };
        let levels = Levels(vec![earlier]);
        let (mut rows, mut limit, mut passed) = (Vec::new(), 0, 0);
        for n in 0..1_000_000 {
            rows.push((at(n), ()));
            let before = limit;
            limit = trim(&mut rows, limit, &levels);
            passed += if limit == before { 0 } else { rows.len() };
        }
        assert_eq!(rows.len(), 1_000_000, "all are as young as the state that is kept");
        assert!(passed < 2 * rows.len(), "{passed}");
        let old = Levels(vec![Earlier { at: at(999_990), ..levels.0[0].clone() }]);
        trim(&mut rows, 0, &old);
        assert_eq!(rows.len(), 10);
    }
}
