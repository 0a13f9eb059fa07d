//! Directed ports as numbers: those of node 0 first, then those of node 1, and so on.

use xoff_units::{NodeId, PortId};

use crate::topology::graph::Topology;

/// Numbers of the ports of a network. A row of a table names its port by this number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortNumbers {
    /// Number of the first port of each node.
    first: Vec<u32>,
    /// Node and port of each number.
    places: Vec<PortId>,
    /// Number of the port at the far end of each.
    peers: Vec<u32>,
}

impl PortNumbers {
    /// Numbers of the ports of this network.
    pub fn new(t: &Topology) -> PortNumbers {
        let mut all = PortNumbers::default();
        for (n, node) in t.nodes.iter().enumerate() {
            all.first.push(all.places.len() as u32);
            all.places.extend(
                (0..node.ports.len() as u16).map(|port| PortId { node: NodeId(n as u32), port }),
            );
        }
        all.peers =
            t.nodes.iter().flat_map(|n| &n.ports).map(|p| all.of(p.peer, p.peer_port)).collect();
        all
    }
    /// Number of a port.
    #[inline]
    pub fn of(&self, node: NodeId, port: u16) -> u32 {
        self.first[node.index()] + port as u32
    }
    /// Numbers of all ports of a node.
    pub fn all_of(&self, node: NodeId) -> std::ops::Range<u32> {
        let node = node.index();
        self.first[node]..self.first.get(node + 1).map_or(self.places.len() as u32, |&next| next)
    }
    /// Node and port of a number.
    #[inline]
    pub fn place(&self, number: u32) -> PortId {
        self.places[number as usize]
    }
    /// Number of the port at the far end of its link.
    #[inline]
    pub fn peer(&self, number: u32) -> u32 {
        self.peers[number as usize]
    }
    /// Node and port of each number.
    #[inline]
    pub fn places(&self) -> &[PortId] {
        &self.places
    }
    /// Number of the first port of each node.
    pub fn first(&self) -> &[u32] {
        &self.first
    }
    /// Number of ports.
    pub fn len(&self) -> usize {
        self.places.len()
    }
    /// Whether there is no port.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::NodeKind;
    use xoff_units::{Rate, Span};

    #[test]
    fn a_number_leads_back_to_its_port() {
        let mut t = Topology::default();
        let (a, b, c) = (
            t.add_node("A", NodeKind::Host, 0, 1),
            t.add_node("B", NodeKind::Switch, 1, 1),
            t.add_node("C", NodeKind::Host, 0, 2),
        );
        t.add_link(a, b, Rate::from_gbps(10), Span::ZERO);
        t.add_link(b, c, Rate::from_gbps(10), Span::ZERO);
        let n = PortNumbers::new(&t);
        assert_eq!(n.places(), [(a, 0), (b, 0), (b, 1), (c, 0)].map(PortId::from));
        assert_eq!(n.first(), [0, 1, 3]);
        assert_eq!([0, 1, 2, 3].map(|at| n.peer(at)), [1, 0, 3, 2]);
        assert!((0..n.len() as u32).all(|at| n.of(n.place(at).node, n.place(at).port) == at));
    }
}
