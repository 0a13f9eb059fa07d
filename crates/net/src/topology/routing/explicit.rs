//! Paths given node by node, for flows that must go a certain way, and for routing loops.

use xoff_units::NodeId;
use xoff_units::params::ParamError;

use super::groups::{is_switch, up_ports};
use crate::topology::graph::Topology;

/// Index of an explicit path.
pub type PathId = u32;

/// A path as a fixed map from node to egress port, in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    nodes: Vec<NodeId>,
    /// (node, egress port) towards the destination, in path order.
    forward: Vec<(NodeId, u16)>,
    /// (node, egress port) towards the source, for ACKs, CNMs and CNPs, from the destination on.
    /// Empty for a loop.
    reverse: Vec<(NodeId, u16)>,
    is_loop: bool,
}

/// All explicit paths of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplicitPaths {
    paths: Vec<Path>,
}

impl ExplicitPaths {
    /// Adds a path from host to host. Consecutive nodes must be joined by a link that is up (of
    /// parallel links the one of the lowest port is taken), no node may occur twice, and hosts
    /// occur only at the ends. The error's key is `path`.
    ///
    /// # Errors
    /// A path that breaks one of these rules: the step, and the problem.
    pub fn add<S: AsRef<str>>(&mut self, t: &Topology, names: &[S]) -> Result<PathId, ParamError> {
        let nodes = resolve(t, names)?;
        for (i, &node) in nodes.iter().enumerate() {
            if nodes[..i].contains(&node) {
                return Err(refuse(
                    format!("'{}' occurs twice", t.name(node)),
                    "list each node once; for a routing loop, set loop = true",
                ));
            }
            let at_end = i == 0 || i + 1 == nodes.len();
            if at_end == is_switch(t, node) {
                let what = format!(
                    "'{}' is {}",
                    t.name(node),
                    if at_end { "a switch" } else { "a host, but hosts do not forward" }
                );
                return Err(refuse(what, "expected a path from a host over switches to a host"));
            }
        }
        let forward =
            nodes.windows(2).map(|w| hop(t, w[0], w[1])).collect::<Result<Vec<_>, _>>()?;
        let port_back = |&(node, port): &(NodeId, u16)| {
            let p = t.nodes[node.index()].ports[port as usize];
            (p.peer, p.peer_port)
        };
        let reverse = forward.iter().rev().map(port_back).collect();
        Ok(self.push(Path { nodes, forward, reverse, is_loop: false }))
    }

    /// Adds a routing loop (GFC section 7): a path from a host whose last node is a switch it has
    /// visited before. A frame on it circles forever, and nothing ever comes back.
    ///
    /// # Errors
    /// A path that is no such loop: the step, and the problem.
    pub fn add_loop<S: AsRef<str>>(
        &mut self,
        t: &Topology,
        names: &[S],
    ) -> Result<PathId, ParamError> {
        let nodes = resolve(t, names)?;
        let (last, before) = nodes.split_last().expect("resolve gives two nodes or more");
        if !before.contains(last) || !is_switch(t, *last) {
            return Err(refuse(
                format!("'{}' does not close a loop", t.name(*last)),
                "end the loop at a switch that the path already \
                                                                                     contains",
            ));
        }
        for (i, &node) in before.iter().enumerate() {
            if before[..i].contains(&node) {
                return Err(refuse(
                    format!("'{}' occurs twice before the end of the loop", t.name(node)),
                    "close the loop at its last node only",
                ));
            }
            if (i == 0) == is_switch(t, node) {
                return Err(refuse(
                    format!("'{}' is out of place", t.name(node)),
                    "expected a loop from a host over switches",
                ));
            }
        }
        let forward =
            nodes.windows(2).map(|w| hop(t, w[0], w[1])).collect::<Result<Vec<_>, _>>()?;
        Ok(self.push(Path { nodes, forward, reverse: Vec::new(), is_loop: true }))
    }

    fn push(&mut self, path: Path) -> PathId {
        self.paths.push(path);
        self.paths.len() as PathId - 1
    }

    /// The egress port at `node` towards the destination; `None` off the path and at its end.
    #[inline]
    pub fn port(&self, path: PathId, node: NodeId) -> Option<u16> {
        // A path has a handful of nodes: a scan beats a map.
        self.paths[path as usize].forward.iter().find(|(n, _)| *n == node).map(|(_, port)| *port)
    }

    /// The egress port at `node` back towards the source; `None` off the path, at the source, and
    /// on a loop.
    #[inline]
    pub fn port_back(&self, path: PathId, node: NodeId) -> Option<u16> {
        self.paths[path as usize].reverse.iter().find(|(n, _)| *n == node).map(|(_, port)| *port)
    }

    /// The nodes of a path, as given.
    pub fn nodes(&self, path: PathId) -> &[NodeId] {
        &self.paths[path as usize].nodes
    }

    /// The hops of a path as (node, egress port), in order.
    pub fn hops(&self, path: PathId) -> &[(NodeId, u16)] {
        &self.paths[path as usize].forward
    }

    /// True if the path never arrives.
    pub fn is_loop(&self, path: PathId) -> bool {
        self.paths[path as usize].is_loop
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }
}

fn refuse(what: String, hint: &str) -> ParamError {
    ParamError::new("path", what, hint)
}

fn resolve<S: AsRef<str>>(t: &Topology, names: &[S]) -> Result<Vec<NodeId>, ParamError> {
    if names.len() < 2 {
        return Err(refuse(
            format!("a path of {} nodes", names.len()),
            "expected at least two nodes, such as [\"H1\", \"S1\", \"H2\"]",
        ));
    }
    let find = |name: &S| {
        t.find(name.as_ref()).ok_or_else(|| {
            refuse(format!("there is no node '{}'", name.as_ref()), "expected a list of node names")
        })
    };
    names.iter().map(find).collect()
}

fn hop(t: &Topology, a: NodeId, b: NodeId) -> Result<(NodeId, u16), ParamError> {
    if let Some((port, _)) = up_ports(t, a).find(|&(_, peer)| peer == b) {
        return Ok((a, port));
    }
    let linked = t.nodes[a.index()].ports.iter().any(|p| p.peer == b);
    Err(if linked {
        refuse(
            format!("the link {}-{} has failed", t.name(a), t.name(b)),
            "choose a path over links that are up",
        )
    } else {
        refuse(
            format!("'{}' and '{}' are not linked", t.name(a), t.name(b)),
            "list nodes that are linked",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::builders::ring;
    use crate::topology::failures::fail_links;
    use xoff_units::params::Defaults;

    fn ring3() -> Topology {
        ring::build(&mut Defaults::of(ring::PARAMS)).unwrap()
    }

    #[test]
    fn a_path_gives_the_port_of_each_node_in_both_directions() {
        let t = ring3();
        let mut paths = ExplicitPaths::default();
        let id = paths.add(&t, &["H1", "S1", "S2", "S3", "H3"]).unwrap();
        let name = |(n, p): (NodeId, u16)| t.port_name(n, p);
        let there: Vec<_> = paths.hops(id).iter().map(|&h| name(h)).collect();
        assert_eq!(there, ["H1->S1", "S1->S2", "S2->S3", "S3->H3"]);
        let at = |n: &str| t.find(n).unwrap();
        assert_eq!(
            paths.port(id, at("S2")).map(|p| t.port_name(at("S2"), p)),
            Some("S2->S3".into())
        );
        assert_eq!(
            paths.port_back(id, at("S2")).map(|p| t.port_name(at("S2"), p)),
            Some("S2->S1".into())
        );
        assert_eq!(
            paths.port_back(id, at("S1")).map(|p| t.port_name(at("S1"), p)),
            Some("S1->H1".into())
        );
        assert_eq!(
            (paths.port(id, at("H3")), paths.port_back(id, at("H1")), paths.port(id, at("H2"))),
            (None, None, None)
        );
    }

    #[test]
    fn refusals_name_which_step_is_wrong() {
        let mut t = ring3();
        let mut paths = ExplicitPaths::default();
        let mut what = |t: &Topology, names: &[&str]| paths.add(t, names).unwrap_err().what;
        assert_eq!(what(&t, &["H1", "S1", "S9"]), "there is no node 'S9'");
        assert_eq!(what(&t, &["H1", "S2", "H2"]), "'H1' and 'S2' are not linked");
        assert_eq!(what(&t, &["H1", "S1", "S2"]), "'S2' is a switch");
        assert_eq!(what(&t, &["H1", "S1", "H1"]), "'H1' occurs twice");
        assert_eq!(what(&t, &["H1"]), "a path of 1 nodes");
        fail_links(&mut t, &["S1-S2"]).unwrap();
        assert_eq!(what(&t, &["H1", "S1", "S2", "H2"]), "the link S1-S2 has failed");
    }

    #[test]
    fn a_loop_is_a_static_map_and_must_be_declared() {
        let t = ring3();
        let mut paths = ExplicitPaths::default();
        let names = ["H1", "S1", "S2", "S3", "S1"];
        assert_eq!(paths.add(&t, &names).unwrap_err().what, "'S1' occurs twice");
        let id = paths.add_loop(&t, &names).unwrap();
        assert!(paths.is_loop(id));
        let mut node = t.find("H1").unwrap();
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(t.name(node).to_owned());
            let port = paths.port(id, node).unwrap();
            node = t.nodes[node.index()].ports[port as usize].peer;
        }
        assert_eq!(seen, ["H1", "S1", "S2", "S3", "S1", "S2"]);
        assert!(paths.add_loop(&t, &["H1", "S1", "S2", "H2"]).is_err());
    }
}
