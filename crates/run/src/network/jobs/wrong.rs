//! Errors of an application that only its run shows: ranks that wait for each other, and receives
//! that take a message of another size.

use xoff_net::jobs::{Job, NONE, OpTimes, Work};
use xoff_record::{MismatchAnswer, StuckAnswer};
use xoff_sim::Outcome;
use xoff_units::FlowId;
use xoff_units::Time;

use crate::network::NetworkScenario;

/// Finds a job that waits for itself, and not for the network: every sent message has arrived, no
/// rank computes or sends, and one waits for a message. Before a run this is known for all jobs
/// except those whose receives take any source or tag.
pub(super) fn stuck(
    s: &NetworkScenario,
    o: &Outcome,
    (at, job): (usize, &Job),
) -> Option<StuckAnswer> {
    let mut mine = job.first_flow as usize..job.first_flow as usize + job.flows() as usize;
    let under_way = mine.any(|flow| {
        let f = o.flow(FlowId(flow as u32));
        f.flow.start < Time::NEVER && f.received.is_none()
    });
    // A message within a node that has left may be on its way.
    let inside = job.sends_inside() && o.now >= s.until;
    if under_way || inside {
        return None;
    }
    let (mut first, mut ranks) = (None, 0);
    for (rank, log) in (0u32..).zip(&o.ranks[at]) {
        let (iteration, (_, end)) = log.log.iterations.iter().enumerate().next_back()?;
        if end.is_some() {
            continue;
        }
        ranks += 1;
        let program = &job.graph.programs[rank as usize];
        let ops = program.len() as usize;
        let times = log.log.ops.range(iteration * ops, (iteration + 1) * ops);
        let open = (0u32..)
            .zip(program.ops().zip(times))
            .filter(|(_, (_, t))| t.begun < Time::NEVER && t.ended == Time::NEVER);
        for (operation, (x, t)) in open {
            match x.work {
                Work::Receive { from, tag, .. } if t.from == NONE => {
                    first.get_or_insert(StuckAnswer {
                        ranks: 0,
                        rank,
                        iteration: iteration as u32,
                        operation,
                        from_rank: from,
                        tag,
                    });
                }
                // It continues without help.
                _ => return None,
            }
        }
    }
    first.map(|f| StuckAnswer { ranks, ..f })
}

/// Receives that took a message of another size than they expect: how many, and the first.
pub(super) fn mismatches(o: &Outcome, (at, job): (usize, &Job)) -> (u64, Option<MismatchAnswer>) {
    let (mut count, mut first) = (0, None::<(Time, MismatchAnswer)>);
    for (rank, log) in (0u32..).zip(&o.ranks[at]) {
        let program = &job.graph.programs[rank as usize];
        let ops = program.len() as usize;
        for (nth, iteration) in (0..log.log.iterations.len()).zip(0u32..) {
            let times = log.log.ops.range(nth * ops, (nth + 1) * ops);
            for (operation, (x, t)) in (0u32..).zip(program.ops().zip(times)) {
                let OpTimes { handed, from, from_op, .. } = t;
                let Work::Receive { bytes, .. } = x.work else { continue };
                if from == NONE {
                    continue;
                }
                let Work::Send { bytes: sent_bytes, .. } =
                    job.graph.programs[from as usize].op(from_op).work
                else {
                    continue;
                };
                if sent_bytes != bytes {
                    count += 1;
                    if first.as_ref().is_none_or(|f| handed < f.0) {
                        let m = MismatchAnswer {
                            iteration,
                            rank,
                            operation,
                            bytes,
                            from_rank: from,
                            from_operation: from_op,
                            sent_bytes,
                        };
                        first = Some((handed, m));
                    }
                }
            }
        }
    }
    (count, first.map(|f| f.1))
}
