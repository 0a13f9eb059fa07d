//! A graph given node by node and link by link: a scenario's own lists, or another simulator's
//! topology file.
//!
//! Port numbers follow the order of the links. Levels and racks that are not given are derived: a
//! switch's level is its distance from the nearest host (1 for a switch with hosts), a rack is the
//! lowest-numbered switch of a host.

use std::collections::{HashMap, VecDeque};

use xoff_units::params::ParamError;
use xoff_units::params::suggest::{clip, is_name};
use xoff_units::{NodeId, Rate, Span};

use super::{HOSTS_MAX, NO_RACK, PORTS_MAX, positive};
use crate::topology::graph::{NodeKind, Topology};

/// A node as given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Unique name.
    pub name: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// Level for up-down routing; derived when absent. A host's is always 0.
    pub level: Option<u8>,
}

impl NodeSpec {
    /// A node whose level is derived.
    pub fn new(name: impl Into<String>, kind: NodeKind) -> NodeSpec {
        NodeSpec { name: name.into(), kind, level: None }
    }
}

/// A link as given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Name of the first end.
    pub a: String,
    /// Name of the second end.
    pub b: String,
    /// Rate of each direction [bit/s].
    pub rate: Rate,
    /// Propagation delay [ps].
    pub delay: Span,
}

/// Builds the graph. An error's key is `node[i].name`, `link[i].a` and so on, with `i` the place in
/// the list from 0.
///
/// # Errors
/// Too many nodes or links at one node, a name that is none or given twice, a link to itself or to
/// an unknown node, a rate of 0.
pub fn graph(nodes: &[NodeSpec], links: &[LinkSpec]) -> Result<Topology, ParamError> {
    if nodes.len() as u64 > 2 * HOSTS_MAX {
        return Err(ParamError::new(
            "node",
            format!("{} nodes", nodes.len()),
            format!("expected at most {} nodes", 2 * HOSTS_MAX),
        ));
    }
    let mut t = Topology::default();
    let mut ids: HashMap<&str, NodeId> = HashMap::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        let key = format!("node[{i}].name");
        if !is_name(&node.name) {
            return Err(ParamError::new(
                key,
                format!("'{}' is not a name", clip(&node.name)),
                "expected a name without spaces, such as \"S1\"",
            ));
        }
        let level = if node.kind == NodeKind::Host { 0 } else { node.level.unwrap_or(0) };
        let id = t.add_node(&node.name, node.kind, level, NO_RACK);
        if ids.insert(&node.name, id).is_some() {
            return Err(ParamError::new(
                key,
                format!("'{}' is already the name of another node", clip(&node.name)),
                "give each node its own name",
            ));
        }
    }
    for (i, link) in links.iter().enumerate() {
        let end = |end: &str, name: &str| {
            ids.get(name).copied().ok_or_else(|| {
                ParamError::new(
                    format!("link[{i}].{end}"),
                    format!("there is no node '{name}'"),
                    "list every node before linking it",
                )
            })
        };
        let (a, b) = (end("a", &link.a)?, end("b", &link.b)?);
        if a == b {
            return Err(ParamError::new(
                format!("link[{i}].b"),
                format!("'{}' is linked to itself", link.a),
                "expected two different nodes",
            ));
        }
        for (name, node) in [("a", a), ("b", b)] {
            if t.nodes[node.index()].ports.len() as u64 == PORTS_MAX {
                return Err(ParamError::new(
                    format!("link[{i}].{name}"),
                    format!("'{}' has too many links", t.name(node)),
                    format!("expected at most {PORTS_MAX} ports"),
                ));
            }
        }
        t.add_link(a, b, positive(&format!("link[{i}].rate"), link.rate)?, link.delay);
    }
    if let Some(i) =
        (0..nodes.len()).find(|&i| t.nodes[i].kind == NodeKind::Host && t.nodes[i].ports.is_empty())
    {
        return Err(ParamError::new(
            format!("node[{i}].name"),
            format!("host '{}' has no link", nodes[i].name),
            "link the host to a switch, or remove it",
        ));
    }
    derive_levels(&mut t, nodes);
    derive_racks(&mut t);
    Ok(t)
}

/// Gives every switch without a stated level its distance from the nearest host (255 at most; 1
/// without any host).
fn derive_levels(t: &mut Topology, specs: &[NodeSpec]) {
    let mut distance = vec![u8::MAX; t.nodes.len()];
    let mut queue: VecDeque<NodeId> = t.hosts().collect();
    for &host in &queue {
        distance[host.index()] = 0;
    }
    while let Some(node) = queue.pop_front() {
        let next = distance[node.index()].saturating_add(1);
        for port in &t.nodes[node.index()].ports {
            let d = &mut distance[port.peer.index()];
            if *d == u8::MAX && next < u8::MAX {
                *d = next;
                queue.push_back(port.peer);
            }
        }
    }
    let any_host = t.hosts().next().is_some();
    for (i, node) in t.nodes.iter_mut().enumerate() {
        if node.kind == NodeKind::Switch && specs[i].level.is_none() {
            node.level = if any_host { distance[i] } else { 1 };
        }
    }
}

/// Numbers the switches that have hosts, in index order, and gives each host the rack of its
/// lowest-numbered switch.
fn derive_racks(t: &mut Topology) {
    let mut racks = 0;
    for s in 0..t.nodes.len() {
        let node = &t.nodes[s];
        if node.kind == NodeKind::Switch
            && node.ports.iter().any(|p| t.nodes[p.peer.index()].kind == NodeKind::Host)
        {
            t.nodes[s].rack = racks;
            racks += 1;
        }
    }
    for h in 0..t.nodes.len() {
        let node = &t.nodes[h];
        if node.kind == NodeKind::Host {
            let switch = node
                .ports
                .iter()
                .map(|p| p.peer)
                .filter(|&p| t.nodes[p.index()].kind == NodeKind::Switch)
                .min();
            t.nodes[h].rack = switch.map_or(NO_RACK, |s| t.nodes[s.index()].rack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use NodeKind::{Host, Switch};

    fn link(a: &str, b: &str) -> LinkSpec {
        LinkSpec {
            a: a.into(),
            b: b.into(),
            rate: Rate::from_gbps(100),
            delay: Span::from_ns(1000),
        }
    }
    fn node(name: &str, kind: NodeKind) -> NodeSpec {
        NodeSpec::new(name, kind)
    }

    #[test]
    fn ports_follow_the_links_and_levels_the_distance_from_a_host() {
        let nodes = [
            node("0", Host),
            node("1", Host),
            node("a", Switch),
            node("b", Switch),
            node("c", Switch),
        ];
        let t = graph(
            &nodes,
            &[link("0", "a"), link("a", "c"), link("c", "b"), link("1", "b"), link("a", "c")],
        )
        .unwrap();
        let levels: Vec<u8> = t.nodes.iter().map(|n| n.level).collect();
        assert_eq!(levels, [0, 0, 1, 1, 2]);
        assert_eq!(t.nodes.iter().map(|n| n.rack).collect::<Vec<_>>(), [0, 1, 0, 1, NO_RACK]);
        assert_eq!(t.port_name(NodeId(2), 2), "a->c#2");
    }

    #[test]
    fn refusals_name_the_entry() {
        let two = [node("H0", Host), node("S1", Switch)];
        let refuse = |nodes: &[NodeSpec], links: &[LinkSpec]| graph(nodes, links).unwrap_err();
        assert_eq!(
            refuse(&two, &[link("H0", "S2")]).to_string(),
            "link[0].b: there is no node 'S2' (list every node before linking it)"
        );
        assert_eq!(refuse(&two, &[link("H0", "S1"), link("S1", "S1")]).key, "link[1].b");
        assert_eq!(refuse(&two, &[]).key, "node[0].name");
        assert_eq!(refuse(&[node("H0", Host), node("H0", Switch)], &[]).key, "node[1].name");
        assert_eq!(refuse(&[node("H 0", Host)], &[]).key, "node[0].name");
        let dead = LinkSpec { rate: Rate::ZERO, ..link("H0", "S1") };
        assert_eq!(refuse(&two, &[dead]).key, "link[0].rate");
    }
}
