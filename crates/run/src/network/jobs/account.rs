//! Uses of the time of an iteration, from its ranks, its messages and the ports on their paths.
//!
//! ```text
//!   rank        |--compute--|------- waits for a message -------|--compute--|     back from the end, from cause to cause
//!   its sender        |--peer--|-overhead-|--------message--------|
//!   message                               |queue pair|source     |last frame through the network|
//!                                          queueing   pause, queueing, rate limit, serialisation | queueing, pause, serialisation, propagation
//! ```
//!
//! The two stretches of a message are exact; within one, the time of a lone message is
//! serialisation and propagation. Of the rest, pause is the time in which the port of the frame was
//! not allowed to transmit; at the source as much is queueing as the wire carried of others, and
//! what rate control then leaves is its own. So the parts add up to the picosecond.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use xoff_net::jobs::{Job, NONE, Op, OpTimes, Work};
use xoff_net::topology::PortNumbers;
use xoff_record::Cause;
use xoff_sim::{FlowRecord, Lone, Outcome, ideal_time};
use xoff_units::paged::{Flat, Items};
use xoff_units::{Bytes, FlowId, NodeId, Time};

use super::answer::CAUSES;
use super::computed::Computed;
use crate::network::NetworkScenario;
use crate::network::ideal::Ideals;

/// Stretches in which ports were not allowed to transmit, by port and priority, in order [ps].
pub(in crate::network) type Pauses = BTreeMap<(u32, u8), Items<(u64, u64)>>;

/// A stretch of time with one cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Begin [ps].
    pub from: u64,
    /// End [ps].
    pub to: u64,
    /// Cause of the time.
    pub cause: Cause,
    /// Rank at which it did.
    pub rank: u32,
    /// Operation.
    pub op: u32,
    /// The message; `None`: it is about none that goes through the network.
    pub flow: Option<u32>,
}

impl Stretch {
    /// None yet.
    pub(super) const NONE: Stretch =
        Stretch { from: 0, to: 0, cause: Cause::Compute, rank: 0, op: 0, flow: None };
}

impl Flat for Stretch {
    const BYTES: usize = 30;
    fn put(&self, to: &mut [u8]) {
        let cause = CAUSES.iter().position(|c| c.0 == self.cause).unwrap_or(0) as u8;
        (((self.from, self.to), (self.rank, self.op)), (cause, self.flow)).put(to);
    }
    fn take(from: &[u8]) -> Self {
        type Flattened = (((u64, u64), (u32, u32)), (u8, Option<u32>));
        let (((from, to), (rank, op)), (cause, flow)) = Flattened::take(from);
        Stretch { from, to, cause: CAUSES[cause as usize].0, rank, op, flow }
    }
}

/// Egress ports of a path, and its hops to which there are alternatives.
type Path = Option<(Vec<(NodeId, u16)>, Range<usize>)>;

/// Job and iteration, with the computation times by rank and stream.
type OfIteration = ((usize, u32), HashMap<(u32, u16), Computed>);

/// All that accounts are made from.
pub(super) struct Accounts<'s> {
    pub scenario: &'s NetworkScenario,
    pub outcome: &'s Outcome,
    pub ports: &'s PortNumbers,
    pub pauses: &'s Pauses,
    ideals: Ideals<'s>,
    /// By source, destination, source port and epoch of the routes.
    paths: RefCell<HashMap<(NodeId, NodeId, u16, usize), Path>>,
    /// Computation times of streams, by rank and stream, in the last requested iteration of a job
    /// [ps].
    computed: RefCell<OfIteration>,
    /// Rate control or a window may hold flows back.
    limited: bool,
}

/// Time that intervals cover together; they come in order of their beginnings.
pub(super) fn union(intervals: impl Iterator<Item = (u64, u64)>) -> u64 {
    let (mut sum, mut reached) = (0, 0);
    for (from, to) in intervals {
        let from = from.max(reached);
        if to > from {
            sum += to - from;
            reached = to;
        }
    }
    sum
}

/// Time of the first intervals that the second ones do not cover. Both are in order and without
/// overlaps.
pub(super) fn difference(all: &[(u64, u64)], without: &[(u64, u64)]) -> u64 {
    let (mut sum, mut next) = (0, 0);
    for &(from, to) in all {
        let mut at = from;
        while next < without.len() && without[next].1 <= from {
            next += 1;
        }
        for &(a, b) in &without[next..] {
            if a >= to {
                break;
            }
            sum += a.saturating_sub(at);
            at = at.max(b);
        }
        sum += to.saturating_sub(at);
    }
    sum
}

/// Puts intervals in order and joins those that touch.
pub(super) fn joined(mut all: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    all.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::with_capacity(all.len());
    for (from, to) in all.into_iter().filter(|i| i.1 > i.0) {
        match out.last_mut() {
            Some(last) if last.1 >= from => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

/// Cuts a stretch of time into parts, in order.
fn cut(from: u64, parts: &[(Cause, u64)], out: &mut Vec<(u64, u64, Cause)>) {
    let mut at = from;
    for &(cause, length) in parts {
        if length > 0 {
            out.push((at, at + length, cause));
            at += length;
        }
    }
}

impl<'s> Accounts<'s> {
    pub fn new(
        scenario: &'s NetworkScenario,
        outcome: &'s Outcome,
        ports: &'s PortNumbers,
        pauses: &'s Pauses,
    ) -> Accounts<'s> {
        let limited = scenario.rate_control != "none" || scenario.model.nic.window.is_some();
        let ideals = Ideals::new(scenario, outcome);
        Accounts {
            scenario,
            outcome,
            ports,
            pauses,
            ideals,
            paths: RefCell::default(),
            computed: RefCell::default(),
            limited,
        }
    }

    /// Start and end of an operation.
    pub fn times(&self, at: usize, job: &Job, rank: u32, iteration: u32, op: u32) -> OpTimes {
        let ops = job.graph.programs[rank as usize].len() as usize;
        self.outcome.ranks[at][rank as usize].log.ops.get(iteration as usize * ops + op as usize)
    }

    /// Time in which a port was not allowed to transmit between two times.
    pub fn paused(
        &self,
        ports: impl Iterator<Item = u32>,
        priority: u8,
        from: u64,
        to: u64,
    ) -> u64 {
        let mut all = Vec::new();
        for port in ports {
            let Some(pauses) = self.pauses.get(&(port, priority)) else { continue };
            // The first that ends later, by halving.
            let (mut first, mut end) = (0, pauses.len());
            while first < end {
                let middle = (first + end) / 2;
                if pauses.get(middle).1 <= from { first = middle + 1 } else { end = middle }
            }
            all.extend(
                pauses
                    .range(first, pauses.len())
                    .take_while(|p| p.0 < to)
                    .map(|(a, b)| (a.max(from), b.min(to))),
            );
        }
        all.sort_unstable();
        union(all.into_iter())
    }

    /// The egress ports that a flow may go through.
    pub fn ports_of(&self, f: &FlowRecord) -> Option<Vec<(NodeId, u16)>> {
        self.ideals.ports(self.ideals.epoch(f.flow.start), &f.flow)
    }

    /// The ports by which a flow left its host, or may have left it where that is not known.
    fn first_ports(&self, flow: u32, f: &FlowRecord) -> Vec<(NodeId, u16)> {
        let seen = self.outcome.uplinks.get(flow as usize).into_iter().flatten();
        let seen = seen.map(|&(port, _)| self.ports.place(port)).filter(|p| p.node == f.flow.src);
        let seen: Vec<_> = seen.map(|p| (p.node, p.port)).collect();
        if !seen.is_empty() {
            return seen;
        }
        let of_host = |&(n, _): &(NodeId, u16)| n == f.flow.src;
        let ports = self.ports_of(f).unwrap_or_else(|| vec![(f.flow.src, 0)]);
        ports.into_iter().filter(of_host).collect()
    }

    /// The path of its ideal time.
    fn path(&self, f: &FlowRecord) -> Path {
        let (epoch, w) = (self.ideals.epoch(f.flow.start), &f.flow);
        let find = || self.ideals.way(epoch, w);
        self.paths
            .borrow_mut()
            .entry((w.src, w.dst, w.src_port, epoch))
            .or_insert_with(find)
            .clone()
    }

    /// Time from its beginning until its last frame starts on the wire.
    fn at_source(
        &self,
        (at, job): (usize, &Job),
        rank: u32,
        flow: u32,
        out: &mut Vec<(u64, u64, Cause)>,
    ) {
        let f = &self.outcome.flow(FlowId(flow));
        let Some(sent) = f.all_sent else { return };
        let (payload, header) = self.scenario.frame();
        let frames = f.flow.size.div_ceil(payload as u64).max(1);
        let t = &self.scenario.topology;
        let nics = self.first_ports(flow, f);
        let rate = nics.iter().map(|&(n, p)| t.link_at(n, p).rate).max().unwrap_or_default();
        let (start, total) = (f.flow.start.0, sent.since(f.flow.start).0);
        let serialisation =
            rate.time_for(Bytes((payload + header) as u64)).0.saturating_mul(frames - 1).min(total);
        let nics = nics.iter().map(|&(n, p)| self.ports.of(n, p));
        let mut rest = total - serialisation;
        let pause = self.paused(nics, f.flow.priority, start, sent.0).min(rest);
        rest -= pause;
        let carried = self.outcome.ranks[at][rank as usize].carried(job, rank, FlowId(flow));
        let others = carried.saturating_sub(f.flow.size + frames * header as u64);
        let queueing = if self.limited { rate.time_for(Bytes(others)).0.min(rest) } else { rest };
        let parts = [
            (Cause::Pause, pause),
            (Cause::Queueing, queueing),
            (Cause::RateLimit, rest - queueing),
            (Cause::Serialisation, serialisation),
        ];
        cut(start, &parts, out);
    }

    /// From then until it has arrived.
    fn last_frame(&self, flow: u32, out: &mut Vec<(u64, u64, Cause)>) {
        let f = &self.outcome.flow(FlowId(flow));
        let (Some(sent), Some(received)) = (f.all_sent, f.received) else { return };
        let (payload, header) = self.scenario.frame();
        let total = received.since(sent).0;
        let size = (f.flow.size - 1) % payload as u64 + 1;
        let (mut propagation, mut serialisation, mut pause) = (0, 0, 0);
        if let Some((path, spread)) = self.path(f) {
            let t = &self.scenario.topology;
            let lone = Lone { size, rate: None, payload_max: payload, header };
            let ideal = ideal_time(t, (&path, spread), &lone, self.scenario.cut_through()).0;
            let delays: u64 = path.iter().map(|&(n, p)| t.link_at(n, p).delay.0).sum();
            propagation = delays.min(total);
            serialisation = ideal.saturating_sub(delays).min(total - propagation);
            pause = f.stopped.min(total - propagation - serialisation);
        }
        let queueing = total - propagation - serialisation - pause;
        let parts = [
            (Cause::Queueing, queueing),
            (Cause::Pause, pause),
            (Cause::Serialisation, serialisation),
            (Cause::Propagation, propagation),
        ];
        cut(sent.0, &parts, out);
    }

    /// A message from the time at which its sender takes it up until it is there.
    fn message(
        &self,
        (at, job): (usize, &Job),
        iteration: u32,
        (from, op): (u32, u32),
        there: u64,
    ) -> (Vec<(u64, u64, Cause)>, Option<u32>) {
        let send = self.times(at, job, from, iteration, op);
        let mut all = Vec::new();
        cut(send.begun.0, &[(Cause::Overhead, send.handed.0 - send.begun.0)], &mut all);
        let message = job.graph.programs[from as usize].message(op);
        if message == NONE {
            let left = send.ended.0;
            cut(
                send.handed.0,
                &[(Cause::Serialisation, left - send.handed.0), (Cause::Propagation, there - left)],
                &mut all,
            );
            return (all, None);
        }
        let flow = job.flow(iteration, message);
        let start = self.outcome.flow(FlowId(flow)).flow.start.0;
        cut(send.handed.0, &[(Cause::Queueing, start - send.handed.0)], &mut all);
        self.at_source((at, job), from, flow, &mut all);
        self.last_frame(flow, &mut all);
        (all, Some(flow))
    }

    /// From the arrival of a message, or the receive that waited for it, to the end of that
    /// receive: where its stream computed meanwhile that counts as computing, all else as overhead.
    /// In the order of time.
    fn taken(
        &self,
        (at, job): (usize, &Job),
        (rank, iteration, op): (u32, u32, u32),
        from: u64,
        to: u64,
    ) -> Vec<(u64, u64, Cause)> {
        let until = to.saturating_sub(job.overheads.receive.0).max(from);
        let program = &job.graph.programs[rank as usize];
        let stream = program.op(op).stream;
        let mut all = Vec::new();
        if until > from && stream != Op::FREE {
            let mut computed = self.computed.borrow_mut();
            if computed.0 != (at, iteration) {
                *computed = ((at, iteration), HashMap::new());
            }
            let of_stream = computed.1.entry((rank, stream)).or_insert_with(|| {
                let computing = (0..)
                    .zip(program.ops())
                    .filter(|(_, o)| o.stream == stream && matches!(o.work, Work::Compute(_)));
                let times = computing
                    .map(|(op, _)| self.times(at, job, rank, iteration, op))
                    .filter(|x| x.ended < Time::NEVER);
                Computed::new(times.map(|x| (x.begun.0, x.ended.0)), job.graph.pages())
            });
            all = of_stream.between(from, until);
        }
        let (mut pieces, mut t) = (Vec::new(), from);
        for (a, b) in all {
            pieces.extend([(t, a, Cause::Overhead), (a, b, Cause::Compute)]);
            t = b;
        }
        pieces.push((t, to, Cause::Overhead));
        pieces
    }

    /// Goes back from the end of a rank's iteration, from cause to cause, down to a time: the
    /// rank's own beginning, staying with the rank, or, where peers are followed, the end of the
    /// iteration before of all ranks, at which every rank had begun this one. Calls `met` for each
    /// stretch, the last one first; together they fill the time from `since` to the end.
    pub fn walk(
        &self,
        (at, job): (usize, &Job),
        rank: u32,
        iteration: u32,
        since: u64,
        follow: bool,
        met: &mut dyn FnMut(Stretch),
    ) {
        let ops = job.graph.programs[rank as usize].len();
        let first = iteration as usize * ops as usize;
        let ended = self.outcome.ranks[at][rank as usize]
            .log
            .ops
            .range(first, first + ops as usize)
            .map(|t| t.ended);
        let Some((mut op, _)) = (0..ops).zip(ended).max_by_key(|t| t.1) else { return };
        let (mut rank, mut t) = (rank, self.times(at, job, rank, iteration, op).ended.0);
        loop {
            let x = self.times(at, job, rank, iteration, op);
            let mut add = |from: u64, to: u64, cause, rank, op, flow| {
                let from = from.max(since);
                if to > from {
                    met(Stretch { from, to, cause, rank, op, flow });
                }
            };
            let mut next = (rank, op, x.begun.0);
            match job.graph.programs[rank as usize].op(op).work {
                // The message has begun only: look for operations that wait for that.
                _ if t < x.ended.0 && t == x.begun.0 => {}
                Work::Compute(_) => add(x.begun.0, t, Cause::Compute, rank, op, None),
                Work::Send { .. } => {
                    let (pieces, flow) = self.message((at, job), iteration, (rank, op), x.ended.0);
                    for &(from, to, cause) in pieces.iter().rev() {
                        add(from, to.min(t), cause, rank, op, flow);
                    }
                }
                Work::Receive { .. } => {
                    let there = x.handed.0;
                    for (from, to, cause) in self
                        .taken((at, job), (rank, iteration, op), there.max(x.begun.0), t)
                        .into_iter()
                        .rev()
                    {
                        add(from, to, cause, rank, op, None);
                    }
                    if there > x.begun.0 {
                        let (pieces, flow) =
                            self.message((at, job), iteration, (x.from, x.from_op), there);
                        let begun = self.times(at, job, x.from, iteration, x.from_op).begun.0;
                        let least = if follow { 0 } else { x.begun.0 };
                        for &(from, to, cause) in pieces.iter().rev() {
                            add(
                                from.max(least),
                                to,
                                cause,
                                if follow { x.from } else { rank },
                                if follow { x.from_op } else { op },
                                flow,
                            );
                        }
                        if follow {
                            next = (x.from, x.from_op, begun);
                        } else {
                            add(x.begun.0, begun, Cause::Peer, rank, op, flow);
                        }
                    }
                }
            }
            (rank, t) = (next.0, next.2);
            if t <= since {
                break;
            }
            let cause = self.times(at, job, rank, iteration, next.1).cause;
            if cause == NONE {
                break;
            }
            op = cause;
        }
    }

    /// Begin and end of an iteration of a rank; `None`: it has not ended.
    pub fn span(&self, at: usize, rank: u32, iteration: u32) -> Option<(Time, Time)> {
        let &(start, end) =
            self.outcome.ranks[at][rank as usize].log.iterations.get(iteration as usize)?;
        Some((start, end?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_and_differences_of_intervals() {
        assert_eq!(joined(vec![(5, 7), (1, 3), (3, 4), (6, 9), (9, 9)]), [(1, 4), (5, 9)]);
        assert_eq!(union([(1, 4), (2, 3), (3, 6), (8, 9)].into_iter()), 6);
        let cases: [(&[_], &[_], u64); 6] = [
            (&[(0, 10)], &[], 10),
            (&[(0, 10)], &[(2, 3), (5, 20)], 4),
            (&[(0, 2), (4, 6)], &[(1, 5)], 2),
            (&[(4, 6)], &[(0, 1), (2, 3), (5, 5)], 2),
            (&[(0, 3), (3, 6), (7, 9)], &[(2, 4), (8, 9)], 5),
            (&[(3, 5)], &[(0, 9)], 0),
        ];
        for (all, without, left) in cases {
            assert_eq!(difference(all, without), left, "{all:?} {without:?}");
            // By counting.
            let inside = |t: u64, x: &[(u64, u64)]| x.iter().any(|i| i.0 <= t && t < i.1);
            assert_eq!(
                (0..30).filter(|&t| inside(t, all) && !inside(t, without)).count() as u64,
                left
            );
        }
    }
}
