//! States of a rank over an iteration: it computes, messages are under way for it, both, or
//! neither.

use xoff_net::jobs::{Job, Log, Work};
use xoff_units::Time;

use super::account::joined;

/// State of a rank; any other time is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankState {
    /// Computation without messages in transit for the rank.
    Compute,
    /// Computation with messages in transit for the rank.
    Overlap,
    /// Messages are under way for it, and it does not compute: exposed communication.
    Exposed,
}

/// The course of an iteration of a rank up to `now`, in order: begin, end [ps], state. Neighbours
/// differ in state or have a gap between them. `log` is the rank's own.
pub fn rank_states(
    job: &Job,
    log: &Log,
    rank: u32,
    iteration: u32,
    now: Time,
) -> Vec<(u64, u64, RankState)> {
    let program = &job.graph.programs[rank as usize];
    let (first, ops) = (iteration as usize * program.len() as usize, program.len() as usize);
    if log.ops.len() < first + ops {
        return Vec::new();
    }
    let of = |computes: bool| {
        let times = log.ops.range(first, first + ops);
        let mine = program
            .ops()
            .zip(times)
            .filter(|(op, t)| matches!(op.work, Work::Compute(_)) == computes && t.begun < now);
        joined(mine.map(|(_, t)| (t.begun.0, t.ended.min(now).0)).collect())
    };
    let (compute, comm) = (of(true), of(false));
    // Every begin and end, and how many of each are under way from there on.
    let mut edges: Vec<(u64, i8, i8)> = Vec::with_capacity(2 * (compute.len() + comm.len()));
    edges.extend(compute.iter().flat_map(|&(a, b)| [(a, 1, 0), (b, -1, 0)]));
    edges.extend(comm.iter().flat_map(|&(a, b)| [(a, 0, 1), (b, 0, -1)]));
    edges.sort_unstable_by_key(|e| e.0);
    let mut out: Vec<(u64, u64, RankState)> = Vec::new();
    let (mut computes, mut sends, mut since) = (0, 0, 0);
    for (at, compute, comm) in edges {
        let state = match (computes > 0, sends > 0) {
            (true, true) => Some(RankState::Overlap),
            (true, false) => Some(RankState::Compute),
            (false, true) => Some(RankState::Exposed),
            (false, false) => None,
        };
        if let Some(state) = state.filter(|_| at > since) {
            match out.last_mut() {
                Some(last) if last.1 == since && last.2 == state => last.1 = at,
                _ => out.push((since, at, state)),
            }
        }
        (computes, sends, since) = (computes + compute, sends + comm, at);
    }
    out
}

#[cfg(test)]
mod tests {
    use xoff_net::jobs::{Graph, OpTimes};
    use xoff_units::{NodeId, Span};

    use super::*;

    #[test]
    fn states_follow_each_other_and_add_up() {
        let mut graph = Graph::new(2);
        let spans = [(0, 10), (5, 8), (8, 15), (20, 24), (24, 30), (40, u64::MAX)];
        let receive = Work::Receive { from: Some(1), bytes: 1, tag: None };
        for work in [
            Work::Compute(Span(10)),
            receive,
            receive,
            Work::Compute(Span(4)),
            Work::Compute(Span(6)),
            receive,
        ] {
            graph.add(0, work, 0);
        }
        let job = Job {
            name: String::new(),
            label: 0,
            hosts: vec![NodeId(0), NodeId(1)],
            graph: std::sync::Arc::new(graph),
            iterations: 1,
            start: Time::ZERO,
            src_port: 0,
            queue_pairs: 1,
            priority: 0,
            overheads: xoff_net::jobs::Overheads::default(),
            inner: None,
            messages: Default::default(),
            sends: vec![],
            first_flow: 0,
            pace: vec![],
        };
        let none = xoff_net::jobs::NONE;
        let times = |&(a, b): &(u64, u64)| OpTimes {
            begun: Time(a),
            handed: Time(a),
            ended: Time(b),
            cause: none,
            from: none,
            from_op: none,
        };
        let log = Log {
            ops: xoff_units::paged::Items::Kept(spans.iter().map(times).collect()),
            iterations: vec![(Time::ZERO, None)],
        };
        let states = rank_states(&job, &log, 0, 0, Time(50));
        use RankState::{Compute, Exposed, Overlap};
        assert_eq!(
            states,
            [
                (0, 5, Compute),
                (5, 10, Overlap),
                (10, 15, Exposed),
                (20, 30, Compute),
                (40, 50, Exposed)
            ]
        );
        assert_eq!(rank_states(&job, &log, 0, 1, Time(50)), []);
    }
}
