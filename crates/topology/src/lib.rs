//! Network graphs: nodes, ports and links; builders for the usual fabrics; routing.

pub mod graph;

pub use graph::{Link, LinkId, Node, NodeId, NodeKind, Port, Topology};
