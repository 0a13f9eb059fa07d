//! Order of the switches for up-down routing: the higher rank is the upper end of a link.
//!
//! Switches are ranked by level. Linked switches of one level could not talk to each other without
//! an order among them, and an order by number leaves pairs without a route: in the chain A - B - C
//! with B last, B is a valley. So each set of such switches has a root, as in Autonet's up*/down*:
//! the one with the most links inside the set, of several the first by name. The nearer to the
//! root, the higher; names decide among equals. A switch then always has a way up to the root and
//! down again, in whatever order nodes are declared.

use std::cmp::Reverse;

use xoff_units::NodeId;

use super::groups::{is_switch, up_ports};
use crate::topology::graph::Topology;

/// Rank of each node by number: all are different.
pub fn up_down_ranks(t: &Topology) -> Vec<u32> {
    let level = |n: NodeId| t.nodes[n.index()].level;
    // S2 before S10.
    let name = |n: NodeId| (t.name(n).len(), t.name(n));
    let beside = |n: NodeId| {
        let switch = is_switch(t, n);
        up_ports(t, n)
            .map(|(_, peer)| peer)
            .filter(move |&p| switch && is_switch(t, p) && level(p) == level(n))
    };
    const UNKNOWN: u32 = u32::MAX;
    let (mut seen, mut distance) = (vec![false; t.nodes.len()], vec![UNKNOWN; t.nodes.len()]);
    for first in t.node_ids() {
        if std::mem::replace(&mut seen[first.index()], true) {
            continue;
        }
        let mut set = vec![first];
        let mut head = 0;
        while let Some(&node) = set.get(head) {
            head += 1;
            set.extend(beside(node).filter(|&p| !std::mem::replace(&mut seen[p.index()], true)));
        }
        let root = set.iter().copied().min_by_key(|&n| (Reverse(beside(n).count()), name(n)));
        let mut near: Vec<NodeId> = root.into_iter().collect();
        near.iter().for_each(|&n| distance[n.index()] = 0);
        head = 0;
        while let Some(&node) = near.get(head) {
            head += 1;
            for peer in beside(node) {
                if distance[peer.index()] == UNKNOWN {
                    distance[peer.index()] = distance[node.index()] + 1;
                    near.push(peer);
                }
            }
        }
    }
    let mut order: Vec<NodeId> = t.node_ids().collect();
    order.sort_by_cached_key(|&n| (level(n), Reverse(distance[n.index()]), Reverse(name(n))));
    let mut ranks = vec![0; order.len()];
    (0..).zip(order).for_each(|(rank, node)| ranks[node.index()] = rank);
    ranks
}
