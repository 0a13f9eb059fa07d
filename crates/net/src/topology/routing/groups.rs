//! Destination groups: hosts that look the same from everywhere else.
//!
//! All hosts with the same set of neighbours (over links that are up) form one group: normally the
//! hosts below one edge switch. Every node that is not such a neighbour has the same candidates
//! towards all of them, so the table has one column per group instead of one per host. At a
//! neighbour the candidates are the ports to the very host.
//!
//! In the same way hosts with the same neighbours at the same ports share a row.

use std::collections::HashMap;

use xoff_units::NodeId;

use crate::topology::graph::{NodeKind, Topology};

/// The partition of the hosts.
pub(super) struct Groups {
    /// Group of each node; for switches and hosts without a working link, the last column,
    /// `neighbours.len()`.
    pub of: Vec<u32>,
    /// Members of each group, ascending.
    pub members: Vec<Vec<NodeId>>,
    /// The nodes next to each group, ascending.
    pub neighbours: Vec<Vec<NodeId>>,
    /// For each class of hosts with the same row: its ports with their peers, by port.
    pub sources: Vec<Vec<(u16, NodeId)>>,
    /// Class of each node; `u32::MAX` for switches.
    pub source_of: Vec<u32>,
}

impl Groups {
    pub fn new(t: &Topology) -> Groups {
        let n = t.nodes.len();
        let mut g = Groups {
            of: vec![u32::MAX; n],
            members: Vec::new(),
            neighbours: Vec::new(),
            sources: Vec::new(),
            source_of: vec![u32::MAX; n],
        };
        let mut by_neighbours: HashMap<Vec<NodeId>, u32> = HashMap::new();
        let mut by_ports: HashMap<Vec<(u16, NodeId)>, u32> = HashMap::new();
        for host in t.hosts() {
            let ports: Vec<(u16, NodeId)> = up_ports(t, host).collect();
            let mut peers: Vec<NodeId> = ports.iter().map(|&(_, peer)| peer).collect();
            peers.sort_unstable();
            peers.dedup();
            if !peers.is_empty() {
                let group = *by_neighbours.entry(peers).or_insert_with_key(|peers| {
                    g.neighbours.push(peers.clone());
                    g.members.push(Vec::new());
                    g.neighbours.len() as u32 - 1
                });
                g.members[group as usize].push(host);
                g.of[host.index()] = group;
            }
            g.source_of[host.index()] = *by_ports.entry(ports).or_insert_with_key(|ports| {
                g.sources.push(ports.clone());
                g.sources.len() as u32 - 1
            });
        }
        let nowhere = g.neighbours.len() as u32;
        g.of.iter_mut().filter(|group| **group == u32::MAX).for_each(|group| *group = nowhere);
        g
    }
}

/// The ports of a node whose links are up, with their peers.
pub(super) fn up_ports(t: &Topology, node: NodeId) -> impl Iterator<Item = (u16, NodeId)> + '_ {
    let ports = t.nodes[node.index()].ports.iter().enumerate();
    ports.filter(|(_, p)| t.links[p.link as usize].up).map(|(i, p)| (i as u16, p.peer))
}

/// True for a switch.
pub(super) fn is_switch(t: &Topology, node: NodeId) -> bool {
    t.nodes[node.index()].kind == NodeKind::Switch
}
