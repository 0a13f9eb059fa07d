//! The graph itself. Nodes, ports and links are plain columns, addressed by index.

use std::collections::BTreeMap;

use xoff_units::{NodeId, Rate, Span};

/// Index of a link (both directions).
pub type LinkId = u32;

/// Host or switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// An end system; its ports are NIC ports.
    Host,
    /// A switch.
    Switch,
}

/// One end of a link, on its node. Its index within the node is the port number, from 0, in the
/// order in which the links were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Node at the other end.
    pub peer: NodeId,
    /// Port number at the other end.
    pub peer_port: u16,
    /// The link.
    pub link: LinkId,
}

/// A node with its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Unique name, as users write it (`H0`, `S1`, `C3`).
    pub name: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// Level for up-down routing: 0 for hosts, growing towards the spine. A switch of level 0 is a
    /// scale-up switch, such as an NVSwitch: a host takes it before other switches that are as
    /// near to the destination.
    pub level: u8,
    /// Group of the node (pod, rack); hosts below one edge switch share a rack. Free use by
    /// builders.
    pub rack: u32,
    /// Ports in the order of their links.
    pub ports: Vec<Port>,
    /// False for a switch that forwards only frames from and to its own hosts: no path between
    /// other switches leads through it.
    pub transit: bool,
}

/// A full-duplex link. A failed link keeps its place (and its port numbers) but carries nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// First end: node.
    pub a: NodeId,
    /// First end: port number.
    pub a_port: u16,
    /// Second end: node.
    pub b: NodeId,
    /// Second end: port number.
    pub b_port: u16,
    /// Rate of each direction [bit/s].
    pub rate: Rate,
    /// Propagation delay [ps].
    pub delay: Span,
    /// False when failed.
    pub up: bool,
}

/// A network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// All links.
    pub links: Vec<Link>,
    /// Names of ports, as an operator knows them (`Ethernet8`), by node and port number; ports
    /// without one are absent.
    pub port_labels: BTreeMap<(NodeId, u16), String>,
}

impl Topology {
    /// Adds a node and returns its index. Names must be unique; [`Topology::find`] relies on it.
    pub fn add_node(
        &mut self,
        name: impl Into<String>,
        kind: NodeKind,
        level: u8,
        rack: u32,
    ) -> NodeId {
        self.nodes.push(Node {
            name: name.into(),
            kind,
            level,
            rack,
            ports: Vec::new(),
            transit: true,
        });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a link and the two ports it ends in.
    pub fn add_link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Span) -> LinkId {
        let link = self.links.len() as LinkId;
        let a_port = self.nodes[a.index()].ports.len() as u16;
        let b_port = self.nodes[b.index()].ports.len() as u16 + u16::from(a == b);
        self.nodes[a.index()].ports.push(Port { peer: b, peer_port: b_port, link });
        self.nodes[b.index()].ports.push(Port { peer: a, peer_port: a_port, link });
        self.links.push(Link { a, a_port, b, b_port, rate, delay, up: true });
        link
    }

    /// Links between each node and its nearest host, by node, failed ones included: the design of a
    /// network does not change with a failure. `u32::MAX` where there is no host.
    pub fn distances_to_hosts(&self) -> Vec<u32> {
        let mut distances = vec![u32::MAX; self.nodes.len()];
        let mut next: std::collections::VecDeque<NodeId> = self.hosts().collect();
        next.iter().for_each(|&h| distances[h.index()] = 0);
        while let Some(n) = next.pop_front() {
            for p in &self.nodes[n.index()].ports {
                if distances[p.peer.index()] == u32::MAX {
                    distances[p.peer.index()] = distances[n.index()] + 1;
                    next.push_back(p.peer);
                }
            }
        }
        distances
    }

    /// All nodes, in index order.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// The hosts, in index order.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.of_kind(NodeKind::Host)
    }

    /// The switches, in index order.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.of_kind(NodeKind::Switch)
    }

    fn of_kind(&self, kind: NodeKind) -> impl Iterator<Item = NodeId> + '_ {
        self.node_ids().filter(move |&n| self.nodes[n.index()].kind == kind)
    }

    /// The node of this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|n| n.name == name).map(|i| NodeId(i as u32))
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.index()].name
    }

    /// Names both ports of a link, `None` leaves one without a name. A node's names must be unique;
    /// [`Topology::labelled`] relies on it.
    pub fn label(&mut self, link: LinkId, a: Option<&str>, b: Option<&str>) {
        let Link { a: a_node, a_port, b: b_node, b_port, .. } = self.links[link as usize];
        for (node, port, name) in [(a_node, a_port, a), (b_node, b_port, b)] {
            self.port_labels.extend(name.map(|name| ((node, port), name.to_owned())));
        }
    }

    /// The port of this name at a node.
    pub fn labelled(&self, node: NodeId, name: &str) -> Option<u16> {
        self.port_labels
            .range((node, 0)..=(node, u16::MAX))
            .find(|(_, label)| *label == name)
            .map(|(&(_, port), _)| port)
    }

    /// The link behind a port.
    pub fn link_at(&self, node: NodeId, port: u16) -> &Link {
        &self.links[self.nodes[node.index()].ports[port as usize].link as usize]
    }

    /// The links behind the ports of a node.
    pub fn links_at(&self, node: NodeId) -> impl Iterator<Item = &Link> {
        self.nodes[node.index()].ports.iter().map(|p| &self.links[p.link as usize])
    }

    /// True if some host has more than one link.
    pub fn has_hosts_of_several_ports(&self) -> bool {
        self.nodes.iter().any(|n| n.kind == NodeKind::Host && n.ports.len() > 1)
    }

    /// A directed port as users write it: `S1->S2`; with parallel links, `S1->S2#3` where 3 is the
    /// port number.
    pub fn port_name(&self, node: NodeId, port: u16) -> String {
        let n = &self.nodes[node.index()];
        let peer = n.ports[port as usize].peer;
        let parallel = n.ports.iter().filter(|p| p.peer == peer).count() > 1;
        let base = format!("{}->{}", n.name, self.name(peer));
        if parallel { format!("{base}#{port}") } else { base }
    }
}
