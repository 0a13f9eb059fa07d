//! From the counters of a world to its report.

use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::UNLIMITED;
use xoff_record::verdict::{Deadlock, Losses, Parts, Promises, Work};
use xoff_sim::{Ended, Outcome};
use xoff_units::{NodeId, Time};

use crate::network::NetworkScenario;

/// All frames that did not arrive.
pub fn losses(o: &Outcome) -> Losses {
    let mut all = Losses::default();
    o.lost.iter().for_each(|(why, frames)| all.add_both(why, frames.data, frames.control));
    all
}

/// The first deadlock; `unchecked`: why nothing searched for one.
pub fn deadlock(topology: &Topology, o: &Outcome, unchecked: Option<String>) -> Deadlock {
    match (o.deadlocks.first(), unchecked) {
        (Some(d), _) => Deadlock::Found {
            what: format!("deadlock at {}", d.closed),
            ports: d.cycle.iter().map(|p| topology.port_name(p.node, p.port)).collect(),
        },
        (None, Some(why)) => Deadlock::NotChecked { why },
        (None, None) => Deadlock::None,
    }
}

/// Verdict about a scenario's run; `here`: the nodes that this process runs, if some are elsewhere.
pub(crate) fn judge(s: &NetworkScenario, o: &Outcome, here: Option<&[bool]>) -> Parts {
    let is_here = |node: NodeId| here.is_none_or(|h| h[node.index()]);
    let elsewhere = s
        .topology
        .node_ids()
        .any(|n| s.topology.nodes[n.index()].kind == NodeKind::Switch && !is_here(n));
    let unchecked = match () {
        _ if s.model.deadlock_interval.0 == 0 => Some("run.deadlock_interval is 0us".to_owned()),
        _ if elsewhere => Some("the other switches run in other processes".to_owned()),
        _ => None,
    };
    let (mut total, mut complete, mut incomplete) = (0, 0, 0);
    for f in o.all_flows().filter(|f| is_here(f.flow.dst)) {
        total += 1;
        complete += u64::from(f.received.is_some());
        incomplete += u64::from(f.received.is_none() && f.flow.size != UNLIMITED);
    }
    Parts {
        interrupted: o.ended == Ended::Interrupted,
        deadlock: deadlock(&s.topology, o, unchecked),
        losses: losses(o),
        promises: promises(s, o),
        work: Work { unit: "flows".into(), total, complete, incomplete },
        nothing_ran: nothing_ran(s, o),
        not_kept: None,
        failures: Vec::new(),
        unfinished: Vec::new(),
    }
}

fn promises(s: &NetworkScenario, o: &Outcome) -> Promises {
    if !s.model.checks {
        return Promises::NotChecked { why: "run.checks is false".into() };
    }
    if o.violations_total == 0 {
        return Promises::Kept;
    }
    Promises::Violated {
        violations: o.violations_total,
        of_loss: if o.lossless { o.lost.unexcused().total() } else { 0 },
        first: o.violations.first().map_or(String::new(), |v| v.what.clone()),
    }
}

fn nothing_ran(s: &NetworkScenario, o: &Outcome) -> Option<String> {
    let planned = s.flows.len();
    // A job may compute only.
    let computed =
        o.ranks.iter().flatten().any(|r| r.log.ops.iter().any(|t| t.ended < Time::NEVER));
    match () {
        _ if computed => None,
        _ if o.now.0 == 0 => Some("the run simulated no time".into()),
        _ if o.flows_total() == 0 => Some(format!("none of {planned} flows started in {}", o.now)),
        // A node on real ports may only receive.
        _ if o.frame_hops == 0
            && o.lost.total().total() == 0
            && o.all_flows().all(|f| f.arrived() == 0) =>
        {
            Some(format!("no frame was transmitted in {}", o.now))
        }
        _ => None,
    }
}
