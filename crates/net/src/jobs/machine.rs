//! One rank of a job in motion.
//!
//! ```text
//!   ready --+-- compute: its stream is free -> busy for its time -> ended
//!           +-- send:    overhead -> gap -> queue pair, one message after the other -> its last frame starts on the wire -> ended
//!           +-- receive: posted -> a message that fits is there -> gap -> overhead -> ended
//! ```
//!
//! Everything that it waits for happens at its own host. What equal times bring is taken in the
//! order in which it comes, and what becomes ready at once in the order of the operations' numbers.
//! A stream has one operation at a time, in the order in which they became ready: one that takes no
//! time waits for it too.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::paged::Items;
use xoff_units::state::State;
use xoff_units::{Span, Time, flat};

use crate::jobs::course::{Course, Shares};
use crate::jobs::graph::{NONE, Op, Work};
use crate::jobs::job::Job;

/// Input of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A time has come that it asked for.
    Due,
    /// Transmission of the last frame of an own message begins.
    Sent {
        /// The flow of the message.
        flow: u32,
    },
    /// A message for it has arrived, whole.
    Arrived {
        /// Iteration of its sender.
        iteration: u32,
        /// Sender.
        from: u32,
        /// The send.
        op: u32,
    },
}

/// Action that a rank requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A message begins.
    Begin {
        /// Flow.
        flow: u32,
        /// Queue pair, counted from 0 at this rank.
        pair: u32,
    },
    /// Call with [`Input::Due`] at this time.
    WakeAt(Time),
    /// A message arrives at a rank of the same node.
    Inside {
        /// Receiving rank.
        to: u32,
        /// Time.
        at: Time,
        /// Iteration of the sender.
        iteration: u32,
        /// The send.
        op: u32,
    },
    /// All its iterations are over.
    Done,
}

/// Times of an operation, and the operation that it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct OpTimes {
    /// Start: its stream was free, or a receive was posted.
    pub begun: Time,
    /// A send was handed over to its queue pair; a message for a receive had arrived.
    pub handed: Time,
    /// End.
    pub ended: Time,
    /// The operation whose end or start let it begin; [`NONE`]: the iteration did.
    pub cause: u32,
    /// The message that a receive took: its sender.
    pub from: u32,
    /// The message that a receive took: the send.
    pub from_op: u32,
}

flat!(OpTimes { begun: Time, handed: Time, ended: Time, cause: u32, from: u32, from_op: u32 });

impl OpTimes {
    pub(crate) const NOT_YET: OpTimes = OpTimes {
        begun: Time::NEVER,
        handed: Time::NEVER,
        ended: Time::NEVER,
        cause: NONE,
        from: NONE,
        from_op: NONE,
    };
}

/// Log of a rank.
#[derive(Clone, Debug, Default, PartialEq, State)]
pub struct Log {
    /// By iteration and operation, as far as it has come.
    pub ops: Items<OpTimes>,
    /// Start of each started iteration, and its end.
    pub iterations: Vec<(Time, Option<Time>)>,
}

/// State of a rank whose operations are in a file: facts that only its course shows.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    /// Operations that wait for others, with the number of operations still awaited; only once one
    /// has ended.
    waits: FxHashMap<u32, u32>,
    course: Course,
    /// By iteration that has ended.
    pub shares: Vec<Shares>,
}

/// Nothing takes longer: 11.6 days, so that sums of times stay far below the end of time.
pub const SPAN_MAX: Span = Span(1_000_000_000_000_000_000);

/// Event at a requested time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, State)]
pub(crate) enum Due {
    Starts,
    /// End of an operation that occupied a stream, or no stream.
    Over(u32),
    /// A message has left for its node.
    Left(u32),
    /// The gap after the message before it is over.
    Handed(u32),
    Taken(u32),
    Arrives {
        iteration: u32,
        from: u32,
        op: u32,
    },
}

#[derive(Default, State)]
pub(crate) struct Stream {
    pub busy: bool,
    /// Last operation that occupied the stream.
    pub last: u32,
    pub waits: VecDeque<(u32, u32)>,
}

#[derive(Default, State)]
pub(crate) struct Pair {
    pub busy: bool,
    pub waits: VecDeque<u32>,
}

/// A message that is there: its place among all that came, when it came, the send.
type There = (u64, Time, u32);

/// A rank.
#[derive(State)]
#[state(canonical)]
pub struct Machine {
    #[state(built)]
    pub(crate) job: Arc<Job>,
    #[state(built)]
    pub(crate) rank: u32,
    /// As it has gone through them.
    pub(crate) iteration: u32,
    /// Iterations that it has leapt over.
    pub(crate) skipped: u32,
    pub(crate) done: bool,
    /// Operations that have not ended in this iteration.
    pub(crate) left: u32,
    /// By operation, where they are in memory.
    pub(crate) waits: Vec<u32>,
    #[state(built)]
    pub(crate) streamed: Option<Box<Streamed>>,
    /// Operations from this one on have not been looked at: those that wait for nothing begin with
    /// the iteration.
    pub(crate) looked_at: u32,
    /// Operations that have become ready, and the cause.
    pub(crate) ready: VecDeque<(u32, u32)>,
    pub(crate) streams: FxHashMap<u16, Stream>,
    pub(crate) pair_of: FxHashMap<(u32, u16), u32>,
    pub(crate) pairs: Vec<Pair>,
    /// Receives that wait, by source and tag, with their place among all that were posted; then
    /// those for any.
    pub(crate) posted: FxHashMap<(u32, u64), VecDeque<(u64, u32)>>,
    pub(crate) posted_for_any: Vec<(u64, u32)>,
    /// By iteration, source and tag.
    pub(crate) there: BTreeMap<(u32, u32, u64), VecDeque<There>>,
    pub(crate) counter: u64,
    pub(crate) timers: BinaryHeap<Reverse<(Time, u64, Due)>>,
    pub(crate) asked_for: Time,
    /// Time at which the path to the other ranks of the node becomes free.
    pub(crate) inside_free: Time,
    /// End of the gap after the last sent message, and after the last received one.
    pub(crate) gap_over: [Time; 2],
    pub(crate) log: Log,
}

impl Machine {
    /// A rank that has not begun. It wants to be called at its start: see [`Self::begin`].
    pub fn new(job: Arc<Job>, rank: u32) -> Machine {
        let streamed = job.graph.pages().map(|_| Box::<Streamed>::default());
        let ops =
            job.graph.pages().map_or_else(Items::default, |pages| pages.list(|_| OpTimes::NOT_YET));
        Machine {
            job,
            rank,
            iteration: 0,
            skipped: 0,
            done: false,
            left: 0,
            waits: Vec::new(),
            streamed,
            looked_at: 0,
            ready: VecDeque::new(),
            streams: FxHashMap::default(),
            pair_of: FxHashMap::default(),
            pairs: Vec::new(),
            posted: FxHashMap::default(),
            posted_for_any: Vec::new(),
            there: BTreeMap::new(),
            counter: 0,
            timers: BinaryHeap::new(),
            asked_for: Time::NEVER,
            inside_free: Time::ZERO,
            gap_over: [Time::ZERO; 2],
            log: Log { ops, iterations: Vec::new() },
        }
    }

    /// Plans its start. Returns when that is.
    pub fn begin(&mut self) -> Time {
        let start = self.job.start;
        self.timers.push(Reverse((start, 0, Due::Starts)));
        self.asked_for = start;
        start
    }

    /// Whether the rank only computes and waits for messages at first, so that its start changes
    /// nothing at other hosts.
    pub fn computes_first(&self) -> bool {
        let program = &self.job.graph.programs[self.rank as usize];
        !program.is_empty()
            && (0u32..).zip(program.all_waits_for()).filter(|w| w.1 == 0).all(|(op, _)| {
                let waits = matches!(self.op(op).work, Work::Receive { .. });
                let computes =
                    matches!(self.op(op).work, Work::Compute(_)) && self.busy_for(op) > Span::ZERO;
                (waits || computes) && program.successors(op).iter().all(|&(_, on_start)| !on_start)
            })
    }

    /// Number of the rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Whether the rank waits for a time.
    pub fn waits_for_time(&self) -> bool {
        !self.timers.is_empty()
    }

    /// Log of the rank. If the operations are in a file, also the parts of its time, by iteration.
    pub fn into_log(self) -> (Log, Vec<Shares>) {
        (self.log, self.streamed.map_or_else(Vec::new, |s| s.shares))
    }

    /// Something has happened. What is to be done is added to `out`, in order.
    pub fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Action>) {
        match input {
            Input::Due => {
                if self.asked_for <= now {
                    self.asked_for = Time::NEVER;
                }
                while let Some(&Reverse((at, _, due))) = self.timers.peek()
                    && at <= now
                {
                    self.timers.pop();
                    self.on_due(now, due, out);
                    self.settle(now, out);
                }
            }
            Input::Sent { flow } => self.on_sent(now, flow, out),
            Input::Arrived { iteration, from, op } => {
                self.on_arrived(now, iteration, (from, op), out)
            }
        }
        self.settle(now, out);
        if let Some(&Reverse((at, ..))) = self.timers.peek()
            && at < self.asked_for
        {
            self.asked_for = at;
            out.push(Action::WakeAt(at));
        }
    }

    /// A message for it arrives at a time to come, from within its node. Returns the time at which
    /// it wants to be called, if that is new.
    pub fn expect(&mut self, at: Time, iteration: u32, from: u32, op: u32) -> Option<Time> {
        self.plan(at, Due::Arrives { iteration, from, op });
        let earlier = at < self.asked_for;
        if earlier {
            self.asked_for = at;
        }
        earlier.then_some(at)
    }

    fn plan(&mut self, at: Time, due: Due) {
        self.counter += 1;
        self.timers.push(Reverse((at, self.counter, due)));
    }

    fn on_due(&mut self, now: Time, due: Due, out: &mut Vec<Action>) {
        match due {
            Due::Starts => self.begin_iteration(now),
            Due::Over(op) => self.is_over(now, op, out),
            Due::Left(op) => self.end(now, op),
            Due::Handed(op) => self.hand_over(now, op, out),
            Due::Taken(op) => self.take_stream(now, op, NONE, out),
            Due::Arrives { iteration, from, op } => {
                self.on_arrived(now, iteration, (from, op), out)
            }
        }
    }

    fn begin_iteration(&mut self, now: Time) {
        let program = &self.job.graph.programs[self.rank as usize];
        if self.streamed.is_none() {
            self.waits.clear();
            self.waits.extend(program.all_waits_for());
        }
        self.left = program.len();
        self.looked_at = 0;
        self.log.iterations.push((now, None));
        self.log.ops.grow(self.log.ops.len() + program.len() as usize, OpTimes::NOT_YET);
    }

    /// The next operation that begins with the iteration, because it waits for nothing.
    fn next_first(&mut self) -> Option<u32> {
        let program = &self.job.graph.programs[self.rank as usize];
        while self.looked_at < program.len() {
            self.looked_at += 1;
            if program.waits_for(self.looked_at - 1) == 0 {
                return Some(self.looked_at - 1);
            }
        }
        None
    }

    /// Begins ready operations, until none is left.
    fn settle(&mut self, now: Time, out: &mut Vec<Action>) {
        loop {
            if self.log.iterations.is_empty() {
                return;
            }
            while let Some(op) = self.next_first() {
                self.is_ready(now, op, NONE, out);
            }
            while let Some((op, cause)) = self.ready.pop_front() {
                self.is_ready(now, op, cause, out);
            }
            if self.left > 0 || self.done {
                return;
            }
            if let Some(s) = &mut self.streamed {
                let shares = s.course.take(now);
                s.shares.push(shares);
            }
            if let Some(last) = self.log.iterations.last_mut() {
                last.1 = Some(now);
            }
            if self.iteration + self.skipped + 1 == self.job.iterations {
                self.done = true;
                return out.push(Action::Done);
            }
            self.iteration += 1;
            self.begin_iteration(now);
        }
    }

    #[inline]
    fn op(&self, op: u32) -> Op {
        self.job.graph.programs[self.rank as usize].op(op)
    }

    /// Notes something of an operation of this iteration.
    #[inline]
    fn note(&mut self, op: u32, change: impl FnOnce(&mut OpTimes)) {
        let ops = self.job.graph.programs[self.rank as usize].len();
        self.log.ops.update(self.iteration as usize * ops as usize + op as usize, change);
    }

    fn is_ready(&mut self, now: Time, op: u32, cause: u32, out: &mut Vec<Action>) {
        match self.op(op).work {
            Work::Receive { from, tag, .. } => {
                self.begins(now, op, cause);
                self.post(now, op, from, tag, out);
            }
            _ => self.take_stream(now, op, cause, out),
        }
    }

    fn begins(&mut self, now: Time, op: u32, cause: u32) {
        self.note(op, |t| (t.begun, t.cause) = (now, cause));
        let computes = self.computes(op);
        if let Some(s) = &mut self.streamed {
            s.course.begins(now, computes);
        }
        self.release(op, true);
    }

    /// Whether an operation computes. Called only where the course is recorded.
    fn computes(&self, op: u32) -> bool {
        self.streamed.is_some() && matches!(self.op(op).work, Work::Compute(_))
    }

    fn release(&mut self, op: u32, start: bool) {
        let Machine { job, rank, waits, streamed, ready, .. } = self;
        let program = &job.graph.programs[*rank as usize];
        program.each_successor(op, |later, on_start| {
            if on_start != start {
                return;
            }
            let left = match streamed {
                None => {
                    waits[later as usize] -= 1;
                    waits[later as usize]
                }
                Some(s) => {
                    let left = s.waits.entry(later).or_insert_with(|| program.waits_for(later));
                    *left -= 1;
                    let left = *left;
                    if left == 0 {
                        s.waits.remove(&later);
                    }
                    left
                }
            };
            if left == 0 {
                ready.push_back((later, op));
            }
        });
    }

    fn end(&mut self, now: Time, op: u32) {
        self.note(op, |t| t.ended = now);
        self.left -= 1;
        let computes = self.computes(op);
        if let Some(s) = &mut self.streamed {
            s.course.ends(now, computes);
        }
        self.release(op, false);
    }

    /// Time for which an operation occupies its stream.
    fn busy_for(&self, op: u32) -> Span {
        match self.op(op).work {
            Work::Compute(span) => {
                let pace = self.job.pace.get(self.rank as usize).copied().unwrap_or(1000);
                Span((span.0 as u128 * pace as u128 / 1000).min(SPAN_MAX.0 as u128) as u64)
            }
            Work::Send { .. } => self.job.overheads.send,
            Work::Receive { .. } => self.job.overheads.receive,
        }
    }

    fn take_stream(&mut self, now: Time, op: u32, cause: u32, out: &mut Vec<Action>) {
        let stream = self.op(op).stream;
        if stream != Op::FREE {
            let s = self.streams.entry(stream).or_default();
            if s.busy {
                return s.waits.push_back((op, cause));
            }
            s.busy = true;
            s.last = op;
        }
        self.goes(now, op, cause, out);
    }

    /// Nothing keeps an operation from its stream.
    fn goes(&mut self, now: Time, op: u32, cause: u32, out: &mut Vec<Action>) {
        if !matches!(self.op(op).work, Work::Receive { .. }) {
            self.begins(now, op, cause);
        }
        match self.busy_for(op) {
            Span::ZERO => self.is_over(now, op, out),
            span => self.plan(now + span, Due::Over(op)),
        }
    }

    /// Ends an operation that occupied its stream. Operations that wait for the stream continue, as
    /// long as they take no time.
    fn is_over(&mut self, now: Time, mut op: u32, out: &mut Vec<Action>) {
        loop {
            let Op { work, stream } = self.op(op);
            match work {
                Work::Compute(_) | Work::Receive { .. } => self.end(now, op),
                Work::Send { to, .. } => match self.gap(now, 0, to) {
                    at if at > now => self.plan(at, Due::Handed(op)),
                    _ => self.hand_over(now, op, out),
                },
            }
            let Some(s) = self.streams.get_mut(&stream) else { return };
            s.busy = false;
            let Some((next, _)) = s.waits.pop_front() else { return };
            s.busy = true;
            let before = std::mem::replace(&mut s.last, next);
            if !matches!(self.op(next).work, Work::Receive { .. }) {
                self.begins(now, next, before);
            }
            match self.busy_for(next) {
                Span::ZERO => op = next,
                span => return self.plan(now + span, Due::Over(next)),
            }
        }
    }

    /// Earliest time to send (0) or receive (1) the next message of a peer:
    /// [`crate::jobs::Overheads::gap`] after the previous one.
    fn gap(&mut self, now: Time, way: usize, peer: u32) -> Time {
        let gap = self.job.overheads.gap;
        if gap == Span::ZERO || self.job.within_node(self.rank, peer) {
            return now;
        }
        let at = self.gap_over[way].max(now);
        self.gap_over[way] = at + gap;
        at
    }

    fn hand_over(&mut self, now: Time, op: u32, out: &mut Vec<Action>) {
        let Work::Send { to, bytes, channel, .. } = self.op(op).work else { return };
        self.note(op, |t| t.handed = now);
        let message = self.job.graph.programs[self.rank as usize].message(op);
        if message == NONE {
            let left = self.inside_free.max(now) + self.job.inner_time(bytes);
            self.inside_free = left;
            let latency = self.job.inner.map_or(Span::ZERO, |i| i.latency);
            self.plan(left, Due::Left(op));
            return out.push(Action::Inside {
                to,
                at: left + latency,
                iteration: self.iteration,
                op,
            });
        }
        let flow = self.job.flow(self.iteration, message);
        let key = (to, channel % self.job.queue_pairs.max(1));
        let pairs = &mut self.pairs;
        let pair = *self.pair_of.entry(key).or_insert_with(|| {
            pairs.push(Pair::default());
            pairs.len() as u32 - 1
        });
        let p = &mut self.pairs[pair as usize];
        if p.busy {
            return p.waits.push_back(flow);
        }
        p.busy = true;
        out.push(Action::Begin { flow, pair });
    }

    fn on_sent(&mut self, now: Time, flow: u32, out: &mut Vec<Action>) {
        let (_, message) = self.job.of_flow(flow);
        let m = self.job.message(message);
        if let Some(&pair) = self.pair_of.get(&(m.to, m.pair)) {
            let p = &mut self.pairs[pair as usize];
            match p.waits.pop_front() {
                Some(flow) => out.push(Action::Begin { flow, pair }),
                None => p.busy = false,
            }
        }
        self.end(now, m.op);
    }

    fn on_arrived(
        &mut self,
        now: Time,
        iteration: u32,
        (from, op): (u32, u32),
        out: &mut Vec<Action>,
    ) {
        let Work::Send { tag, .. } = self.job.graph.programs[from as usize].op(op).work else {
            return;
        };
        self.counter += 1;
        self.there.entry((iteration, from, tag)).or_default().push_back((self.counter, now, op));
        if iteration != self.iteration || self.log.iterations.is_empty() {
            return; // its sender is ahead
        }
        let exact = self.posted.get(&(from, tag)).and_then(|q| q.front()).copied();
        let for_any = self.posted_for_any.iter().copied().find(|&(_, op)| match self.op(op).work {
            Work::Receive { from: f, tag: t, .. } => {
                f.is_none_or(|f| f == from) && t.is_none_or(|t| t == tag)
            }
            _ => false,
        });
        let Some(receive) = exact.into_iter().chain(for_any).min() else { return };
        if Some(receive) == exact {
            let left = self
                .posted
                .get_mut(&(from, tag))
                .is_some_and(|q| q.pop_front().is_some() && !q.is_empty());
            if !left && self.streamed.is_some() {
                self.posted.remove(&(from, tag)); // there may be as many tags as messages
            }
        } else {
            self.posted_for_any.retain(|&p| p != receive);
        }
        self.take(now, receive.1, (from, tag), out);
    }

    /// A receive is posted.
    fn post(
        &mut self,
        now: Time,
        op: u32,
        from: Option<u32>,
        tag: Option<u64>,
        out: &mut Vec<Action>,
    ) {
        self.counter += 1;
        let nth = self.counter;
        let iteration = self.iteration;
        if let (Some(from), Some(tag)) = (from, tag) {
            if self.there.get(&(iteration, from, tag)).is_some_and(|q| !q.is_empty()) {
                return self.take(now, op, (from, tag), out);
            }
            return self.posted.entry((from, tag)).or_default().push_back((nth, op));
        }
        let all = self.there.range((iteration, 0, 0)..=(iteration, u32::MAX, u64::MAX));
        let fits = all.filter(|((_, f, t), _)| {
            from.is_none_or(|from| from == *f) && tag.is_none_or(|tag| tag == *t)
        });
        let first = fits.filter_map(|(key, q)| Some((q.front()?.0, (key.1, key.2)))).min();
        match first {
            Some((_, key)) => self.take(now, op, key, out),
            None => self.posted_for_any.push((nth, op)),
        }
    }

    /// A receive takes the first message of a source and tag.
    fn take(&mut self, now: Time, op: u32, (from, tag): (u32, u64), out: &mut Vec<Action>) {
        let key = (self.iteration, from, tag);
        let Some(there) = self.there.get_mut(&key) else { return };
        let Some((_, at, send)) = there.pop_front() else { return };
        if there.is_empty() {
            self.there.remove(&key);
        }
        self.note(op, |t| (t.handed, t.from, t.from_op) = (at, from, send));
        match self.gap(now, 1, from) {
            at if at > now => self.plan(at, Due::Taken(op)),
            _ => self.take_stream(now, op, NONE, out),
        }
    }
}
