//! The network, shared by its partitions.

use xoff_mech::transport::Transport;
use xoff_net::topology::PortNumbers;
use xoff_net::topology::routing::{Choice, ExplicitPaths};
use xoff_net::workload::Flow;
use xoff_node::{ClassSet, Classes};
use xoff_units::{At, Class, NodeId, PortId, Rate, WireClock};

/// Data that all partitions of a network share and that a run does not change.
pub(crate) struct Layout {
    /// Position of each port in the columns by port.
    pub ports: PortNumbers,
    /// Partition of each node.
    pub partition_of: Vec<u16>,
    pub classes: Classes,
    /// Rounding of transmission times.
    pub clock: WireClock,
    pub seed: u64,
    /// Plain switches may take the short way: not with `--engine events`, the reference.
    pub plain: bool,
    pub choice: Choice,
    /// Rate of each port's link, by [`Layout::port_index`], where switches balance load.
    pub rates: Vec<Rate>,
    /// Switch of each host, by node, where frames between leaves have headers.
    pub leaves: Vec<NodeId>,
    /// Frames of a flow may overtake each other on their paths.
    pub reorders: bool,
    pub paths: ExplicitPaths,
    pub transport: Transport,
    /// Every link has a flow control that promises to lose nothing.
    pub lossless: bool,
    /// Classes without any promise of flow control.
    pub lossy: ClassSet,
    /// Any on-change probe is set: notes are examined for rows.
    pub detecting: bool,
    /// The receiver drops a flow when all is acknowledged at its source, whatever may still come.
    pub frees_receiver_state: bool,
    /// Messages of one source for one receiver and priority share a connection.
    pub shared_connections: bool,
    /// Flows that end may have successors.
    pub loops: bool,
    /// Flows may be messages of jobs.
    pub jobs: bool,
    /// True if messages that are over are cleared from memory.
    pub streamed: bool,
    /// Names of the nodes.
    pub names: Vec<Box<str>>,
}

impl Layout {
    #[inline]
    pub fn port_index(&self, at: PortId) -> usize {
        self.ports.of(at.node, at.port) as usize
    }

    /// True if the destination of a flow acknowledges data.
    pub fn acknowledges(&self, flow: &Flow) -> bool {
        self.transport.acknowledges() && (flow.controlled || !self.transport.facts().connections)
    }

    /// True if the class is lossless.
    pub fn is_lossless(&self, class: Class) -> bool {
        self.lossless && !self.lossy.has(class)
    }

    /// The index of a port and class in the columns by both.
    #[inline]
    pub fn class_index(&self, at: At) -> usize {
        self.port_index(at.port_id()) * self.classes.len() + at.class.index()
    }
}
