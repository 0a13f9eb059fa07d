//! The papers' experiments with real Ethernet frames, in namespaces of this process's own.
//!
//! ```text
//!   Cell (scenario, settings) --repeat--> Runs: Observed as of a simulation, RealReport, what tcpdump and tshark saw
//!                                           |
//!                       gfc, tcd, pffc -----+--> Findings, as any entry's: shares of runs with their intervals
//! ```
//!
//! Whoever calls this has put the process into namespaces before it had a second thread (`xoff_testbed::bed::isolate`).

mod gfc;
mod pffc;
mod repeat;
mod tcd;

use crate::Item;

/// An entry with its text from the folder of the paper's testbed.
macro_rules! item {
    ($paper:literal, $id:literal, $run:path) => {
        Item {
            id: $id,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/", $paper, "/testbed/", $id, ".entry.toml")),
            run: $run,
        }
    };
}

/// A scenario of a paper's testbed: its name and its text.
macro_rules! scenario {
    ($paper:literal, $file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/", $paper, "/testbed/", $file)))
    };
}
use scenario;

/// Gentle flow control: what its testbed showed.
pub const GFC: &[Item] = &[item!("gfc", "fig09", gfc::run_fig09), item!("gfc", "fig10", gfc::run_fig10)];

/// Ternary congestion detection: what its testbed showed.
pub const TCD: &[Item] = &[item!("tcd", "fig11", tcd::run)];

/// Per-hop per-flow flow control.
pub const PFFC: &[Item] = &[
    item!("pffc", "hops", pffc::run_hops),
    item!("pffc", "loss", pffc::run_loss),
    item!("pffc", "spreading", pffc::run_spreading),
    item!("pffc", "deadlock", pffc::run_ring),
    item!("pffc", "table3", pffc::run_overhead),
];
