//! Number of flows that are active at once, where flow control limits each flow but not their sum.
//!
//! ```text
//!   flows over a link share it equally          a flow ends when the slowest link of its path has served it
//!   sum of min(size, limit of one flow) > B     their frames may be lost where they wait, be every link without errors
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::FlowControl;
use xoff_net::topology::routing::{FlowKey, Routing, trace_path};
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Flow, Flows, UNLIMITED};
use xoff_scenario::{Problem, Problems};
use xoff_units::{Bytes, NodeId, Rate, Time};

/// The most that is under way at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Peak {
    /// Bytes that the flows may hold together.
    held: u64,
    flows: u64,
}

/// Times at which flows end that share nothing but a link, in the order of their starts.
fn ends(flows: &[&Flow], rate: Rate) -> Vec<Time> {
    let per_ps = rate.0 as f64 / 8e12;
    // Service of each flow since the beginning [bytes]; the ends of flows under way, by service.
    let (mut served, mut now) = (0.0f64, Time::ZERO);
    let mut under_way: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut all = vec![Time::NEVER; flows.len()];
    let starts = flows.iter().map(|f| f.start).chain([Time::NEVER]);
    for (next, start) in starts.enumerate() {
        while let Some(&Reverse((end, flow))) = under_way.peek() {
            let share = per_ps / under_way.len() as f64;
            let left = (end as f64 - served).max(0.0) / share;
            if end == u64::MAX || left > start.since(now).0 as f64 {
                served += start.since(now).0 as f64 * share;
                break;
            }
            (served, now) = (end as f64, Time(now.0 + left as u64));
            under_way.pop();
            all[flow] = now;
        }
        let Some(f) = flows.get(next) else { break };
        now = now.max(start);
        let end = match f.size {
            UNLIMITED => u64::MAX,
            size => (served as u64).saturating_add(size),
        };
        under_way.push(Reverse((end, next)));
    }
    all
}

/// Peak of flows with their ends, in the order of their starts; `each`: limit of a flow [bytes].
fn peak<'f>(flows: impl Iterator<Item = (&'f Flow, Time)>, each: u64) -> Peak {
    let (mut at, mut most) = (Peak::default(), Peak::default());
    let mut under_way: BinaryHeap<Reverse<(Time, u64)>> = BinaryHeap::new();
    for (f, end) in flows {
        while let Some(&Reverse((_, held))) = under_way.peek().filter(|u| u.0.0 <= f.start) {
            under_way.pop();
            at = Peak { held: at.held - held, flows: at.flows - 1 };
        }
        let held = f.size.min(each);
        under_way.push(Reverse((end, held)));
        at = Peak { held: at.held + held, flows: at.flows + 1 };
        most = most.max(at);
    }
    most
}

/// A link by which flows of a priority leave a node.
type Hop = (u32, u16, u8);

/// The flows that may wait behind each link, with the times at which their paths have served them:
/// all that come from a host, and beyond a switch those that a later link holds back.
fn waiting<'f>(
    topology: &Topology,
    routing: &Routing,
    flows: &'f Flows,
) -> BTreeMap<Hop, Vec<(&'f Flow, Time)>> {
    let routes = routing.routes(topology);
    let begun = flows.flows.iter().filter(|f| f.start != Time::NEVER);
    let paths: Vec<(&Flow, Vec<(NodeId, u16)>)> = begun
        .map(|f| {
            let path = match f.path {
                Some(p) if flows.paths.is_loop(p) => None,
                Some(p) => Some(flows.paths.hops(p).to_vec()),
                None => trace_path(topology, &routes, &routing.choice, &FlowKey::from(f)),
            };
            (f, path.unwrap_or_else(|| vec![(f.src, 0)]))
        })
        .collect();
    let mut over: BTreeMap<Hop, Vec<(usize, usize)>> = BTreeMap::new();
    for (n, (f, path)) in paths.iter().enumerate() {
        for (at, &(node, port)) in path.iter().enumerate() {
            over.entry((node.0, port, f.priority)).or_default().push((n, at));
        }
    }
    let mut served: Vec<Vec<Time>> =
        paths.iter().map(|(_, p)| vec![Time::NEVER; p.len()]).collect();
    for (&(node, port, _), here) in &over {
        let sharing: Vec<&Flow> = here.iter().map(|&(n, _)| paths[n].0).collect();
        let ends = ends(&sharing, topology.link_at(NodeId(node), port).rate);
        here.iter().zip(ends).for_each(|(&(n, at), end)| served[n][at] = end);
    }
    let is_switch = |node: NodeId, port: u16| {
        let peer = topology.nodes[node.index()].ports[port as usize].peer;
        topology.nodes[peer.index()].kind == NodeKind::Switch
    };
    over.retain(|&(node, port, _), _| is_switch(NodeId(node), port));
    let held = |&(n, at): &(usize, usize)| {
        let (before, behind) = served[n].split_at(at + 1);
        let last = |times: &[Time]| times.iter().copied().max().unwrap_or_default();
        (at == 0 || last(behind) > last(before)).then(|| (paths[n].0, last(&served[n])))
    };
    over.into_iter().map(|(hop, here)| (hop, here.iter().filter_map(held).collect())).collect()
}

/// Warns of a link whose flows may hold more at once than the buffer behind it has.
pub(super) fn warn(
    name: &str,
    (topology, routing): (&Topology, &Routing),
    flows: &Flows,
    links: &[(LinkFacts, FlowControl)],
    warnings: &mut Problems,
) {
    if !links.iter().any(|(_, fc)| fc.per_flow()) {
        return;
    }
    let planned = xoff_analysis::plan::unplanned().all(|(n, _)| n != name);
    let of = |(hop, flows): (Hop, Vec<(&Flow, Time)>)| {
        let link = topology.link_at(NodeId(hop.0), hop.1);
        let (facts, fc) =
            links.iter().find(|(facts, _)| (facts.rate, facts.delay) == (link.rate, link.delay))?;
        let each = fc.flow_bytes(facts)?;
        // For flows that never end, the plan of the mechanism warns, if there is one, and states
        // the requirement.
        let endless = flows.iter().filter(|(f, _)| f.size == UNLIMITED).count() as u64;
        let most = peak(flows.into_iter(), each.0);
        let stated = planned && endless.saturating_mul(each.0) > facts.buffer.0;
        (most.held > facts.buffer.0 && !stated).then_some((most, Reverse(hop), each, facts.buffer))
    };
    let Some((most, Reverse((node, port, priority)), each, buffer)) =
        waiting(topology, routing, flows).into_iter().filter_map(of).max_by_key(|f| (f.0, f.1))
    else {
        return;
    };
    let from = match topology.nodes[node as usize].kind {
        NodeKind::Host => format!("of {}", topology.name(NodeId(node))),
        NodeKind::Switch => format!("over {}", topology.port_name(NodeId(node), port)),
    };
    let what = format!(
        "{name} limits each flow, not their sum: {} flows {from}, priority {priority}, are active at once and may queue {} (at most \
         {each} each), more than a buffer of {buffer}: frames may be lost",
        most.flows,
        Bytes(most.held)
    );
    warnings.push(
        Problem::new(what, "enlarge switch.buffer, use fewer or shorter flows at once, or choose a flow control that pauses priorities")
            .warning(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(start_us: u64, size: u64) -> Flow {
        let start = Time::from_us(start_us);
        Flow {
            src: NodeId(0),
            dst: NodeId(1),
            priority: 0,
            size,
            start,
            rate: None,
            controlled: true,
            src_port: 0,
            dst_port: 0,
            path: None,
            label: 0,
        }
    }

    /// 10 Gb/s are 1250 B in a microsecond: two flows of 12.5 KB that begin together take 20 us,
    /// and a third of 1250 B in the middle 3 us.
    #[test]
    fn flows_share_a_link_and_leave_it() {
        let all = |flows: &[Flow], each| {
            let flows: Vec<&Flow> = flows.iter().collect();
            let ends = ends(&flows, Rate::from_gbps(10));
            peak(flows.into_iter().zip(ends), each)
        };
        assert_eq!(
            all(&[flow(0, 12_500), flow(0, 12_500), flow(25, 12_500)], 5_000),
            Peak { held: 10_000, flows: 2 }
        );
        assert_eq!(
            all(&[flow(0, 12_500), flow(0, 12_500), flow(19, 1_250)], 5_000),
            Peak { held: 11_250, flows: 3 }
        );
        assert_eq!(
            all(&[flow(0, UNLIMITED), flow(0, 1_250), flow(3, 1_250)], 5_000),
            Peak { held: 6_250, flows: 2 }
        );
        assert_eq!(
            all(&[flow(0, UNLIMITED), flow(0, 1_250), flow(1, 1_250)], 5_000),
            Peak { held: 7_500, flows: 3 }
        );
    }

    /// Two flows of 12.5 KB, alone, together and one after the other [us].
    #[test]
    fn a_shared_link_serves_flows_later() {
        let ends = |flows: &[Flow]| {
            let all: Vec<&Flow> = flows.iter().collect();
            ends(&all, Rate::from_gbps(10)).iter().map(|t| t.0 / 1_000_000).collect::<Vec<_>>()
        };
        assert_eq!(ends(&[flow(3, 12_500)]), [13]);
        assert_eq!(ends(&[flow(0, 12_500), flow(0, 12_500)]), [20, 20]);
        assert_eq!(ends(&[flow(0, 12_500), flow(5, 12_500)]), [15, 20]);
        assert_eq!(ends(&[flow(0, UNLIMITED), flow(5, 12_500)])[1], 25);
    }
}
