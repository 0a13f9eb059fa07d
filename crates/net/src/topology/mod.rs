//! Network graphs: nodes, ports and links; builders for the usual fabrics; failures; routing.
//!
//! ```text
//!   builders -> Topology -> failures -> Routes ------+-> candidate ports of (node, destination)
//!                                       ExplicitPaths +-> the port of (path, node)
//!                                       Choice ------+-> one port for a flow
//! ```

pub mod builders;
pub mod clocks;
pub mod failures;
pub mod graph;
mod leaves;
pub mod names;
mod port_numbers;
pub mod routing;

pub use graph::{Link, LinkId, Node, NodeKind, Port, Topology};
pub use port_numbers::PortNumbers;
pub use routing::{
    Choice, EcmpHash, ExplicitPaths, FlowKey, Order, Paths, Routes, Routing, trace_path,
};
