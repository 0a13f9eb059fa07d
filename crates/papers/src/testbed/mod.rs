//! The papers' experiments with real Ethernet frames, in namespaces of this process's own.
//!
//! ```text
//!   Cell (scenario, settings) --repeat--> Runs: Observed as of a simulation, RealReport, what tcpdump and tshark captured
//!                                           |
//!                       gfc, tcd, pffc -----+--> Findings, as any entry's: shares of runs with their intervals
//! ```
//!
//! Whoever calls this has put the process into namespaces before it had a second thread (`xoff_real::testbed::veth_network::isolate`).

mod gfc;
mod mice;
mod pffc;
mod repeat;
mod tcd;

use crate::Item;

/// Gentle flow control: what its testbed showed.
pub const GFC: &[Item] = &[
    item!("gfc/testbed", "fig09", gfc::run_fig09),
    item!("gfc/testbed", "fig10", gfc::run_fig10),
    item!("gfc/testbed", "repair", gfc::run_repair),
];

/// Ternary congestion detection: what its testbed showed.
pub const TCD: &[Item] = &[item!("tcd/testbed", "fig11", tcd::run)];

/// Per-hop per-flow flow control.
pub const PFFC: &[Item] = &[
    item!("pffc/testbed", "hops", pffc::run_hops),
    item!("pffc/testbed", "loss", pffc::run_loss),
    item!("pffc/testbed", "mice-udp", mice::run_udp),
    item!("pffc/testbed", "mice-tcp", mice::run_tcp),
    item!("pffc/testbed", "spreading", pffc::run_spreading),
    item!("pffc/testbed", "deadlock", pffc::run_ring),
    item!("pffc/testbed", "table3", pffc::run_overhead),
];
