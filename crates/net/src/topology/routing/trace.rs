//! The path that a flow takes, or may take.

use std::collections::HashMap;
use std::ops::Range;

use xoff_units::{Bytes, NodeId, Span};

use super::{Choice, FlowKey, Routes};
use crate::topology::graph::Topology;

/// The egress ports a flow passes, from its host to the last switch, as (node, port); `None` when
/// there is no route.
pub fn trace_path(
    t: &Topology,
    routes: &Routes,
    choice: &Choice,
    key: &FlowKey,
) -> Option<Vec<(NodeId, u16)>> {
    let mut path = Vec::new();
    let mut node = key.src;
    while node != key.dst {
        let candidates = routes.candidates(node, key.dst);
        // Every hop leads nearer to the destination, so the loop ends.
        let port = *candidates.get(choice.index(key, node, candidates.len()))?;
        path.push((node, port));
        node = t.nodes[node.index()].ports[port as usize].peer;
    }
    Some(path)
}

/// Egress ports of all paths from a host to another one, hop by hop; empty when there is no route.
pub fn all_paths(
    t: &Topology,
    routes: &Routes,
    src: NodeId,
    dst: NodeId,
) -> Vec<Vec<(NodeId, u16)>> {
    let (mut nodes, mut hops) = (vec![src], Vec::new());
    while !nodes.is_empty() {
        let ports_of =
            |&node: &NodeId| routes.candidates(node, dst).iter().map(move |&port| (node, port));
        let ports: Vec<(NodeId, u16)> = nodes.iter().flat_map(ports_of).collect();
        let mut next: Vec<NodeId> = ports.iter().map(|&(n, p)| peer(t, n, p)).collect();
        next.sort_unstable();
        next.dedup();
        next.retain(|&n| n != dst);
        nodes = next;
        if !ports.is_empty() {
            hops.push(ports);
        }
    }
    hops
}

/// Egress ports of a path, its host's first, as (node, port), and the range of its hops from the
/// first to the last one to which there is an alternative.
pub type Way = (Vec<(NodeId, u16)>, Range<usize>);

/// The fastest of all paths from a host to another one for a single frame, and the range of its
/// hops from the first to the last one to which there is an alternative; `None` when there is no
/// route.
pub fn fastest_path(
    t: &Topology,
    routes: &Routes,
    (src, dst): (NodeId, NodeId),
    frame: Bytes,
) -> Option<Way> {
    let hops = all_paths(t, routes, src, dst);
    // From the destination back: time from a node on, and the port that it takes.
    let mut best: HashMap<NodeId, (Span, u16)> = HashMap::from([(dst, (Span::ZERO, 0))]);
    for ports in hops.iter().rev() {
        let mut here: HashMap<NodeId, (Span, u16)> = HashMap::from([(dst, (Span::ZERO, 0))]);
        for &(node, port) in ports {
            let link = t.link_at(node, port);
            let Some((rest, _)) = best.get(&peer(t, node, port)) else { continue };
            let through = (*rest + link.delay + link.rate.time_for(frame), port);
            here.entry(node).and_modify(|b| *b = (*b).min(through)).or_insert(through);
        }
        best.extend(here);
    }
    let (mut path, mut node) = (Vec::new(), src);
    while node != dst {
        let port = best.get(&node)?.1;
        path.push((node, port));
        node = peer(t, node, port);
    }
    let first = hops.iter().position(|ports| ports.len() > 1).unwrap_or(path.len());
    let last = hops.iter().rposition(|ports| ports.len() > 1).map_or(first, |hop| hop + 1);
    Some((path, first..last))
}

fn peer(t: &Topology, node: NodeId, port: u16) -> NodeId {
    t.nodes[node.index()].ports[port as usize].peer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::builders;
    use crate::topology::routing::Routing;
    use xoff_units::params::Defaults;

    /// Two leaves, four spines, the link to the second spine twice as fast as the others.
    #[test]
    fn all_paths_and_the_fastest_of_them() {
        let b = builders::find("leaf-spine").unwrap();
        let mut v = Defaults::of(b.params).with("leaves", "2").with("spines", "4");
        let mut t = (b.build)(&mut v).unwrap();
        let (h0, h4) = (t.find("H0").unwrap(), t.find("H4").unwrap());
        let (l1, s2) = (t.find("L1").unwrap(), t.find("S2").unwrap());
        let routes = Routing::named("ecmp", 1).unwrap().routes(&t);
        let counts: Vec<usize> = all_paths(&t, &routes, h0, h4).iter().map(Vec::len).collect();
        assert_eq!(counts, [1, 4, 4, 1]);
        assert_eq!(all_paths(&t, &routes, h0, NodeId(1)).len(), 2, "below one leaf");
        let up = t.nodes[l1.index()].ports.iter().position(|p| p.peer == s2).unwrap();
        let fastest = |t: &Topology| fastest_path(t, &routes, (h0, h4), Bytes(1500)).unwrap();
        assert_eq!(fastest(&t).0[1], (l1, up as u16 - 1), "of equal ones the first");
        let link = t.nodes[l1.index()].ports[up].link as usize;
        t.links[link].rate = t.links[link].rate * 2;
        let (path, spread) = fastest(&t);
        assert_eq!((path.len(), path[1], spread), (4, (l1, up as u16), 1..3));
    }
}
