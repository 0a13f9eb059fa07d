//! Flows that close a cycle: for each of its dependencies one flow, with its whole path.

use std::collections::VecDeque;

use xoff_net::topology::trace_path;
use xoff_units::NodeId;

use super::buffers::{Buffer, filled_by};
use super::forwarding::Forwarding;
use super::{Closing, Cycle, Spread, Traffic};

type Hops = Vec<(NodeId, u16)>;

/// A flow on its way: source, destination, hops.
struct FlowPath {
    src: NodeId,
    dst: NodeId,
    hops: Hops,
}

impl FlowPath {
    fn passes(&self, from: (NodeId, u16), to: (NodeId, u16)) -> bool {
        self.hops.windows(2).any(|w| w[0] == from && w[1] == to)
    }
}

/// The cycle in words. A flow that closes several dependencies is named for each, so that few flows
/// explain it.
pub(super) fn explain(f: &Forwarding<'_>, cycle: &[Buffer]) -> Cycle {
    let name = |(node, port)| f.t.port_name(node, port);
    let links: Vec<(NodeId, u16)> = cycle.iter().map(|&b| filled_by(f.t, b)).collect();
    let mut used: Vec<FlowPath> = Vec::new();
    let mut closed_by = Vec::new();
    for (i, &from) in links.iter().enumerate() {
        let to = links[(i + 1) % links.len()];
        if !used.iter().any(|flow| flow.passes(from, to)) {
            used.extend(flow_through(f, from, to));
        }
        let flow =
            used.iter().find(|flow| flow.passes(from, to)).expect("a dependency comes from a flow");
        let mut path: Vec<String> =
            flow.hops.iter().map(|&(node, _)| f.t.name(node).to_owned()).collect();
        let (last, port) = flow.hops[flow.hops.len() - 1];
        path.push(f.t.name(f.peer(last, port)).to_owned());
        let ends = format!("{}->{}", f.t.name(flow.src), f.t.name(flow.dst));
        closed_by.push(Closing { from: name(from), to: name(to), flow: ends, path });
    }
    Cycle { links: links.into_iter().map(name).collect(), closed_by }
}

/// The first flow, by destination and then source, that goes over both links.
fn flow_through(f: &Forwarding<'_>, from: (NodeId, u16), to: (NodeId, u16)) -> Option<FlowPath> {
    let pair =
        |src, dst, hops| Some(FlowPath { src, dst, hops }).filter(|flow| flow.passes(from, to));
    match f.traffic {
        Traffic::Flows { flows, paths } => flows.iter().find_map(|flow| {
            let (src, dst) = (flow.key.src, flow.key.dst);
            match f.hops(flow, paths) {
                Some(hops) => pair(src, dst, hops),
                None if f.spread == Spread::All => {
                    pair(src, dst, along(f, dst, std::iter::once(src), from, to)?)
                }
                None => None,
            }
        }),
        Traffic::AllPairs => f.destinations().into_iter().find_map(|dst| match &f.spread {
            Spread::Chosen(choice) if f.is_hashed() => {
                let walk = |src| trace_path(f.t, &f.routes, choice, &Forwarding::key(src, dst));
                f.t.hosts().filter(|&src| src != dst).find_map(|src| pair(src, dst, walk(src)?))
            }
            _ => {
                let hops = along(f, dst, f.sources(dst), from, to)?;
                pair(hops[0].0, dst, hops)
            }
        }),
    }
}

/// A path from one of the sources to `dst` that goes over both links, if the routes allow one.
fn along(
    f: &Forwarding<'_>,
    dst: NodeId,
    sources: impl Iterator<Item = NodeId>,
    from: (NodeId, u16),
    to: (NodeId, u16),
) -> Option<Hops> {
    if !f.ports(from.0, dst).contains(&from.1) || !f.ports(to.0, dst).contains(&to.1) {
        return None;
    }
    // Breadth first from the sources to the first link, remembering the hop by which a node was
    // reached.
    let mut reached_by: Vec<Option<(NodeId, u16)>> = vec![None; f.t.nodes.len()];
    let mut queue: VecDeque<NodeId> = sources.collect();
    let mut is_source = vec![false; f.t.nodes.len()];
    queue.iter().for_each(|&s| is_source[s.index()] = true);
    while let Some(node) = queue.pop_front() {
        if node == from.0 {
            break;
        }
        for &port in f.ports(node, dst) {
            let peer = f.peer(node, port);
            if peer != dst && reached_by[peer.index()].is_none() && !is_source[peer.index()] {
                reached_by[peer.index()] = Some((node, port));
                queue.push_back(peer);
            }
        }
    }
    let mut hops = vec![from];
    while !is_source[hops[hops.len() - 1].0.index()] {
        hops.push(reached_by[hops[hops.len() - 1].0.index()]?);
    }
    hops.reverse();
    hops.push(to);
    let mut node = f.peer(to.0, to.1);
    while node != dst {
        let port = *f.ports(node, dst).first()?;
        hops.push((node, port));
        node = f.peer(node, port);
    }
    Some(hops)
}
