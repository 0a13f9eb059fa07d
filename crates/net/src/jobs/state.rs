//! Saved state of a rank ([`xoff_units::state`]). It includes log entries that are not final: an
//! operation that ends later is logged with the time at which it started.

use xoff_units::Time;
use xoff_units::state::{State, Walk};

use crate::jobs::machine::{Due, Machine, OpTimes};

/// The number of a flow.
#[derive(State)]
struct Flow(#[state(flow)] u32);

/// The number of an iteration.
#[derive(Clone, Copy, State)]
struct Iteration(#[state(iteration)] u32);

/// Event at a time.
#[derive(State)]
enum Planned {
    Starts,
    Over(u32),
    Left(u32),
    Handed(u32),
    Taken(u32),
    Arrives(Iteration, u32, u32),
}

/// A stream: its last operation, whether it is busy, and the operations that wait for it.
type Stream = (u16, bool, u32, Vec<(u32, u32)>);
/// A queue pair by the peer and its number there: whether it is in use, and the flows that wait for
/// it.
type Pair = ((u32, u16), bool, Vec<Flow>);
/// Receives that wait for a source and tag, by how many things have happened at the rank since each
/// was posted.
type Posted = ((u32, u64), Vec<(u64, u32)>);
/// Messages of a source and tag that are there, the same.
type There = ((Iteration, u32, u64), Vec<(u64, Time, u32)>);

/// An operation that has not ended: its log so far.
#[derive(State)]
struct UnderWay {
    op: u32,
    begun: Time,
    handed: Time,
    cause: u32,
    from: u32,
    from_op: u32,
}

#[derive(State)]
struct Written {
    iteration: Iteration,
    /// True if the first one has begun.
    begun: bool,
    done: bool,
    /// Start of the iteration.
    since: Option<Time>,
    left: u32,
    under_way: Vec<UnderWay>,
    waits: Vec<u32>,
    ready: Vec<(u32, u32)>,
    streams: Vec<Stream>,
    pairs: Vec<Pair>,
    posted: Vec<Posted>,
    posted_for_any: Vec<(u64, u32)>,
    there: Vec<There>,
    timers: Vec<(Time, Planned)>,
    asked_for: Time,
    #[state(deadline)]
    inside_free: Time,
    #[state(deadline)]
    send_gap_over: Time,
    #[state(deadline)]
    receive_gap_over: Time,
}

impl Machine {
    pub(super) fn compare<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let Machine {
            job: _,       // does not change
            rank: _,      // the same
            streamed: _,  // such a rank is not looked at
            looked_at: _, // all of them, between events
            skipped: _, // where its log stands, and when it ends, which bounds how often a state may recur
            log,
            iteration,
            done,
            left,
            waits,
            ready,
            streams,
            pair_of,
            pairs,
            posted,
            posted_for_any,
            there,
            counter,
            timers,
            asked_for,
            inside_free,
            gap_over,
        } = self;
        // Only the order of the messages that arrived matters, and later ones do not change it.
        let ago = |nth: u64| counter - nth;
        let mut streams: Vec<Stream> = streams
            .iter()
            .map(|(&n, s)| (n, s.busy, s.last, s.waits.iter().copied().collect()))
            .collect();
        streams.sort_unstable_by_key(|s| s.0);
        let waiting = |pair: u32| pairs[pair as usize].waits.iter().map(|&f| Flow(f)).collect();
        let mut pairs: Vec<Pair> =
            pair_of.iter().map(|(&key, &p)| (key, pairs[p as usize].busy, waiting(p))).collect();
        pairs.sort_unstable_by_key(|p| p.0);
        // A queue that is empty is as none.
        let waiting = posted.iter().filter(|p| !p.1.is_empty());
        let mut posted: Vec<Posted> = waiting
            .map(|(&key, all)| (key, all.iter().map(|&(n, op)| (ago(n), op)).collect()))
            .collect();
        posted.sort_unstable_by_key(|p| p.0);
        let mut timers: Vec<_> = timers.iter().map(|t| t.0).collect();
        timers.sort_unstable();
        let planned = |due| match due {
            Due::Starts => Planned::Starts,
            Due::Over(op) => Planned::Over(op),
            Due::Left(op) => Planned::Left(op),
            Due::Handed(op) => Planned::Handed(op),
            Due::Taken(op) => Planned::Taken(op),
            Due::Arrives { iteration, from, op } => {
                Planned::Arrives(Iteration(iteration), from, op)
            }
        };
        let now = log.ops.range(log.ops.len().saturating_sub(waits.len()), log.ops.len());
        let under_way = |(op, t): (u32, OpTimes)| {
            let OpTimes { begun, handed, ended: _, cause, from, from_op } = t;
            UnderWay { op, begun, handed, cause, from, from_op }
        };
        let came = |&(nth, at, op): &(u64, Time, u32)| (ago(nth), at, op);
        let written = Written {
            iteration: Iteration(*iteration),
            begun: !log.iterations.is_empty(),
            done: *done,
            since: log.iterations.last().map(|i| i.0),
            left: *left,
            under_way: (0..)
                .zip(now)
                .filter(|(_, t)| t.ended == Time::NEVER)
                .map(under_way)
                .collect(),
            waits: waits.clone(),
            ready: ready.iter().copied().collect(),
            streams,
            pairs,
            posted,
            posted_for_any: posted_for_any.iter().map(|&(n, op)| (ago(n), op)).collect(),
            there: there
                .iter()
                .map(|(&(i, from, tag), all)| {
                    ((Iteration(i), from, tag), all.iter().map(came).collect())
                })
                .collect(),
            timers: timers.into_iter().map(|(at, _, due)| (at, planned(due))).collect(),
            asked_for: *asked_for,
            inside_free: *inside_free,
            send_gap_over: gap_over[0],
            receive_gap_over: gap_over[1],
        };
        written.walk(w)
    }
}
