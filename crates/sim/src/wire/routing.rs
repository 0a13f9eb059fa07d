//! The egress port of a frame: an explicit path, or a choice among the routes to its destination,
//! remembered by flow.

use std::sync::Arc;

use xoff_net::topology::routing::{FlowKey, Routes};
use xoff_net::workload::Flow;
use xoff_node::{Frame, FrameKind};
use xoff_units::{FlowId, NodeId, PortId, Rate};

use crate::wire::capacity::Capacities;
use crate::wire::layout::Layout;
use crate::wire::route_cache::RouteCache;

/// Flows from this number on are unknown to the world. Their frames go where [`Frame::out_port`]
/// points at the time they enter.
pub const UNKNOWN_SOURCE: FlowId = FlowId(1 << 31);

/// In [`Frame::out_port`] of a frame of a flow of an unknown source: there is no route.
pub const NO_PORT: u16 = u16::MAX;

/// The routes of a partition of the network.
pub(crate) struct Router {
    routes: Arc<Routes>,
    cache: RouteCache,
    capacities: Capacities,
}

impl Router {
    /// Largest number of flows whose routes are cached at a time.
    pub fn new(routes: Arc<Routes>, flows_max: Option<u32>) -> Router {
        Router { routes, cache: RouteCache::new(flows_max), capacities: Capacities::default() }
    }

    /// The port of a frame at a node, if a frame of its flow and direction has been there.
    #[inline]
    pub fn known(&self, node: NodeId, f: &Frame) -> Option<u16> {
        self.cache.get(f.flow, is_back(f), node, f.hops())
    }

    /// The port of a frame at a node that no frame of its flow and direction has been to. `flow`:
    /// the frame's flow; `is_up`: the link of a port, counted over the whole network, has not
    /// failed.
    #[cold]
    pub fn find(
        &mut self,
        node: NodeId,
        f: &Frame,
        layout: &Layout,
        flow: impl FnOnce() -> Option<Flow>,
        is_up: impl Fn(usize) -> bool,
    ) -> Option<u16> {
        if f.flow >= UNKNOWN_SOURCE {
            // Frames that a switch itself sends about such a flow have no destination.
            return (f.kind() == FrameKind::Data && f.out_port != NO_PORT).then_some(f.out_port);
        }
        let (flow, back) = (flow()?, is_back(f));
        let port = if let Some(path) = flow.path {
            let port = if back {
                layout.paths.port_back(path, node)
            } else {
                layout.paths.port(path, node)
            };
            port.filter(|&p| is_up(layout.port_index(PortId { node, port: p })))
        } else {
            let candidates = self.routes.candidates(node, if back { flow.src } else { flow.dst });
            match candidates.len() {
                0 => None,
                1 => Some(candidates[0]),
                n => {
                    let key = FlowKey::from(&flow);
                    let key = if back { key.reversed() } else { key };
                    Some(candidates[layout.choice.index(&key, node, n)])
                }
            }
        }?;
        self.cache.put(f.flow, back, node, port);
        Some(port)
    }

    /// All ports that lead towards a destination, and the number of their set.
    pub fn next_hops(&self, node: NodeId, dst: NodeId) -> (&[u16], u32) {
        (self.routes.candidates(node, dst), self.routes.set_number(node, dst))
    }

    /// Capacity of the network through a port towards a destination.
    pub fn capacity(&mut self, at: PortId, dst: NodeId, layout: &Layout) -> Rate {
        self.capacities.through(at, dst, &self.routes, layout)
    }

    /// The port of a frame at a node will be asked for soon.
    #[inline]
    pub fn prefetch(&self, f: &Frame) {
        self.cache.prefetch(f.flow, is_back(f));
    }

    /// The routes have changed.
    pub fn replace(&mut self, routes: Arc<Routes>) {
        self.routes = routes;
        self.cache.clear();
        self.capacities.clear();
    }
}

/// True if it leads from the destination of its flow to the source.
#[inline]
fn is_back(f: &Frame) -> bool {
    f.kind() != FrameKind::Data
}
