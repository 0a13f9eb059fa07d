//! How the work of a run is divided: over threads, over processes, and in time.

use xoff_net::topology::Topology;
use xoff_net::workload::Flows;
use xoff_units::params::ParamError;
use xoff_units::{Bytes, NodeId, Span};

use crate::engine::calendar::Engine;
use crate::engine::event::EventOrder;
use crate::engine::windows::Units;
use crate::processes::Share;
use crate::world::model::Model;
use crate::world::split::Split;

/// A run splits only where a window between two meetings of the threads holds enough work to pay
/// for them.
const WORTH_A_WINDOW: Span = Span::from_ns(100);

/// Partitions for each thread in a large network. With two, a thread whose core also runs another
/// program holds up less of a window. In a smaller network they cost more than that saves.
pub(super) fn per_thread(ports: usize) -> usize {
    const LARGE: usize = 4096;
    1 + usize::from(ports > LARGE)
}

/// Reason why a run has to stay on one thread, if any.
fn obstacle(m: &Model, flows: &Flows) -> Option<&'static str> {
    let f = &m.faults;
    Some(match () {
        _ if m.outside.is_some() => "its frames go through real ports",
        _ if m.order == EventOrder::Insertion => {
            "simultaneous events need one order for the whole network"
        }
        _ if !flows.loops.is_empty() => {
            "a closed loop numbers its flows in the order in which flows of the whole network end"
        }
        _ if flows.calls.is_some() => "the calls of a driver have places in one order of events",
        _ if !flows.handed_in.is_empty() && !flows.flows.is_empty() => {
            "flows of the scenario are numbered as they begin, among those of another program"
        }
        _ if flows.jobs.as_ref().is_some_and(|j| j.jobs.iter().any(|j| j.sends_inside())) => {
            "ranks of one node exchange messages without a cable between them"
        }
        _ if m.probes.causes => "the cause of a pause is read from the next switch at once",
        _ if m.probes.histogram.is_some()
            || m.draws.is_some()
            || f.losses.is_some()
            || f.round_robin.is_some() =>
        {
            "another simulator's order of random numbers or timers is followed"
        }
        _ => return None,
    })
}

/// Reason for one order of events where partitions may run on threads: between two calls, each of
/// their events may be the last one.
fn driven(flows: &Flows) -> Option<&'static str> {
    (!flows.handed_in.is_empty()).then_some("another program adds flows during the run")
}

/// The shares of several processes. It is a refusal where threads would stay one: a process cannot
/// do the work of the others.
pub(super) fn shares(
    topology: &Topology,
    flows: &Flows,
    m: &Model,
    share: Share,
) -> Result<Split, ParamError> {
    let refused = |why: &str| {
        let what = format!("this run cannot be spread over {} processes: {why}", share.count);
        Err(ParamError::new("processes", what, "run it in one process, with xoff run"))
    };
    if let Some(why) = obstacle(m, flows).or(driven(flows)) {
        return refused(why);
    }
    if !m.probes.frames.is_none() {
        return refused("frames on wires are recorded one by one");
    }
    if flows.jobs.is_some() {
        return refused("what the ranks of a job did stays with their process");
    }
    let split = Split::new(topology, share.count);
    match split.lookahead {
        Span::ZERO => refused("a link between two of them has no delay"),
        _ => Ok(split),
    }
}

/// The partitions of a network, or why it stays whole.
pub(super) fn split(topology: &Topology, flows: &Flows, m: &Model) -> (Split, Option<String>) {
    if m.threads <= 1 {
        return (Split::whole(topology), None);
    }
    let whole = |why: String| (Split::whole(topology), Some(why));
    if let Some(why) = obstacle(m, flows) {
        return whole(why.into());
    }
    let each = per_thread(2 * topology.links.len());
    let [fine, coarse] = [each, 1].map(|n| Split::new(topology, m.threads * n));
    let split = if fine.lookahead < coarse.lookahead { coarse } else { fine };
    match split.partitions() {
        1 => whole("one switch does all the work".into()),
        _ if split.lookahead < WORTH_A_WINDOW => whole(format!(
            "the shortest link between two partitions is {} long; below {WORTH_A_WINDOW} threads meet too often to gain anything",
            split.lookahead
        )),
        _ => (split, None),
    }
}

/// The nodes that act together, window by window, or why events are handled in one global order.
pub(super) fn units(topology: &Topology, flows: &Flows, m: &Model) -> Result<Units, String> {
    if m.engine == Engine::Events {
        return Err("that was asked for".into());
    }
    if let Some(why) = obstacle(m, flows).or(driven(flows)) {
        return Err(why.into());
    }
    let units = Units::new(topology)?;
    let frame = Bytes((m.nic.payload_max + m.nic.header) as u64);
    match units.too_sparse(topology, frame).filter(|_| m.engine == Engine::Auto) {
        Some(why) => Err(why),
        None => Ok(units),
    }
}

/// True if this node is in the world. With links to the outside, or several processes, some nodes
/// are elsewhere.
pub(super) fn is_here(m: &Model, split: &Split, n: NodeId) -> bool {
    m.outside.as_ref().is_none_or(|here| here[n.index()])
        && m.share.is_none_or(|s| split.partition_of[n.index()] as usize == s.mine)
}
