//! The routes of flows, cached.
//!
//! A flow takes the same port at the same node as long as the routes stand. Finding it takes a hash
//! over its addresses and four dependent look-ups in the routing table; remembering it takes one
//! cache line per flow and direction.

use xoff_node::NIL;
use xoff_units::{FlowId, NodeId, prefetch};

/// Nodes cached per flow and direction: a path through three tiers has five switches. On a longer
/// path the oldest entry is replaced, and looked up again when needed.
const REMEMBERED: usize = 8;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // one cache line, not two halves
struct Route {
    nodes: [NodeId; REMEMBERED],
    ports: [u16; REMEMBERED],
    next: u8,
    flow: FlowId,
}

/// Memory of both directions of a flow [bytes].
pub(crate) const BYTES_PER_FLOW: u64 = 2 * size_of::<Route>() as u64;

const UNKNOWN: Route =
    Route { nodes: [NodeId(NIL); REMEMBERED], ports: [0; REMEMBERED], next: 0, flow: FlowId(NIL) };

/// Egress ports by flow, direction and node.
#[derive(Clone, Debug)]
pub(crate) struct RouteCache {
    /// By flow and direction; where it does not hold all flows, by the last bits of a flow.
    route_cache: Vec<Route>,
    bits: u32,
}

impl Default for RouteCache {
    fn default() -> RouteCache {
        RouteCache::new(None)
    }
}

impl RouteCache {
    /// Cache of a limited number of flows; later flows replace others.
    pub fn new(flows_max: Option<u32>) -> RouteCache {
        let bits = flows_max.map_or(u32::MAX, |n| n.next_power_of_two() - 1);
        RouteCache { route_cache: Vec::new(), bits }
    }

    #[inline]
    fn at(&self, flow: FlowId, back: bool) -> usize {
        (flow.0 & self.bits) as usize * 2 + back as usize
    }

    /// The port of a flow at a node, if it is known. `hops` is below [`REMEMBERED`]: nodes that the
    /// frame has been through.
    #[inline]
    pub fn get(&self, flow: FlowId, back: bool, node: NodeId, hops: usize) -> Option<u16> {
        let route = self.route_cache.get(self.at(flow, back)).filter(|r| r.flow == flow)?;
        // Nodes are cached in the order of the first frame; only after a failure is it another one.
        if route.nodes[hops] == node {
            return Some(route.ports[hops]);
        }
        (0..REMEMBERED).find(|&i| route.nodes[i] == node).map(|i| route.ports[i])
    }

    /// A way will be asked for soon.
    #[inline]
    pub fn prefetch(&self, flow: FlowId, back: bool) {
        if let Some(route) = self.route_cache.get(self.at(flow, back)) {
            prefetch(route);
        }
    }

    /// Caches a port.
    pub fn put(&mut self, flow: FlowId, back: bool, node: NodeId, port: u16) {
        let at = self.at(flow, back);
        if self.route_cache.len() <= at {
            self.route_cache.resize(at + 1, UNKNOWN);
        }
        let route = &mut self.route_cache[at];
        if route.flow != flow {
            *route = Route { flow, ..UNKNOWN };
        }
        let next = route.next as usize % REMEMBERED;
        (route.nodes[next], route.ports[next]) = (node, port);
        route.next = (next + 1) as u8;
    }

    /// Routes have changed.
    pub fn clear(&mut self) {
        self.route_cache.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_kept_apart_and_the_oldest_makes_room() {
        let mut w = RouteCache::default();
        assert_eq!(w.get(FlowId(3), false, NodeId(0), 0), None);
        for node in 0..=REMEMBERED as u32 {
            w.put(FlowId(3), false, NodeId(node), node as u16 + 10);
        }
        w.put(FlowId(3), true, NodeId(1), 99);
        assert_eq!(
            (
                w.get(FlowId(3), false, NodeId(0), 0),
                w.get(FlowId(3), false, NodeId(1), 1),
                w.get(FlowId(3), false, NodeId(1), 5),
                w.get(FlowId(3), false, NodeId(8), 0)
            ),
            (None, Some(11), Some(11), Some(18))
        );
        assert_eq!(
            (w.get(FlowId(3), true, NodeId(1), 1), w.get(FlowId(2), false, NodeId(1), 1)),
            (Some(99), None)
        );
        w.clear();
        assert_eq!(w.get(FlowId(3), true, NodeId(1), 1), None);
    }

    #[test]
    fn a_cache_of_some_flows_never_takes_one_for_another() {
        let mut w = RouteCache::new(Some(4));
        (0..8).for_each(|flow| w.put(FlowId(flow), false, NodeId(5), flow as u16));
        assert_eq!(
            (0..8).map(|flow| w.get(FlowId(flow), false, NodeId(5), 0)).collect::<Vec<_>>(),
            [[None; 4], [4, 5, 6, 7].map(Some)].concat()
        );
        assert_eq!(w.route_cache.len(), 7);
    }
}
