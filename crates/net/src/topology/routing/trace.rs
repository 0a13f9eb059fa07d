//! The path a flow takes.

use super::{Choice, FlowKey, Routes};
use crate::topology::graph::{NodeId, Topology};

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
        node = t.nodes[node as usize].ports[port as usize].peer;
    }
    Some(path)
}
