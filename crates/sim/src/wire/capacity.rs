//! Capacity of the network towards a destination, for weighted next hops.

use rustc_hash::FxHashMap;
use xoff_net::topology::routing::Routes;
use xoff_units::{NodeId, PortId, Rate};

use crate::wire::layout::Layout;

/// Capacities towards destinations that frames have asked for.
///
/// ```text
///   through a port = min(rate of its link, from the node behind it)
///   from a node    = sum over its next hops
/// ```
#[derive(Default)]
pub(crate) struct Capacities {
    /// By node and destination.
    by_node: FxHashMap<(NodeId, NodeId), u64>,
}

impl Capacities {
    /// Capacity through a port towards a destination.
    pub fn through(&mut self, at: PortId, dst: NodeId, routes: &Routes, layout: &Layout) -> Rate {
        let port = layout.port_index(at);
        let next = layout.ports.place(layout.ports.peer(port as u32)).node;
        Rate(layout.rates[port].0.min(self.of_node(next, dst, routes, layout)))
    }

    fn of_node(&mut self, node: NodeId, dst: NodeId, routes: &Routes, layout: &Layout) -> u64 {
        if node == dst {
            return u64::MAX;
        }
        if let Some(&known) = self.by_node.get(&(node, dst)) {
            return known;
        }
        // Every hop leads nearer to the destination, so the recursion ends.
        let ports = routes.candidates(node, dst).iter().map(|&port| PortId { node, port });
        let sum = ports.map(|at| self.through(at, dst, routes, layout).0).sum();
        self.by_node.insert((node, dst), sum);
        sum
    }

    /// The routes have changed.
    pub fn clear(&mut self) {
        self.by_node.clear();
    }
}
