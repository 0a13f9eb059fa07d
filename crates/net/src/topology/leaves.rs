//! Networks of two tiers: leaves with hosts, and spines that join them.

use super::{NodeKind, Topology};
use xoff_units::NodeId;

impl Topology {
    /// Leaf of each host, by node; a switch is its own.
    ///
    /// # Errors
    /// The network has not two tiers: a host with several links, or a link between two leaves or
    /// two spines.
    pub fn leaves(&self) -> Result<Vec<NodeId>, String> {
        let is_host = |n: NodeId| self.nodes[n.index()].kind == NodeKind::Host;
        let mut leaves: Vec<NodeId> = self.node_ids().collect();
        for host in self.hosts() {
            let node = &self.nodes[host.index()];
            match &node.ports[..] {
                [port] if !is_host(port.peer) => leaves[host.index()] = port.peer,
                [_] => return Err(format!("host {} is not at a switch", node.name)),
                ports => return Err(format!("host {} has {} links", node.name, ports.len())),
            }
        }
        let is_leaf = |n: NodeId| self.nodes[n.index()].ports.iter().any(|p| is_host(p.peer));
        for link in self.links.iter().filter(|l| !is_host(l.a) && !is_host(l.b)) {
            let tier = match [link.a, link.b].map(is_leaf) {
                [true, true] => "with hosts",
                [false, false] => "without hosts",
                _ => continue,
            };
            let [a, b] = [link.a, link.b].map(|n| self.name(n));
            return Err(format!("{a} and {b} are switches {tier} and have a link"));
        }
        Ok(leaves)
    }
}
