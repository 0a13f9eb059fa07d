//! Per-hop per-flow flow control (PFFC, IEEE Access 2021): the experiments of the slides, and three of our own.

mod collisions;
mod deadlock;
mod hops;
mod loss;
mod mice;
mod order;
pub(crate) mod run;
mod shared_queues;
mod spreading;
mod table3;
mod thresholds;

use crate::Item;

/// An entry with its text from the folder of the paper's scenarios.
macro_rules! item {
    ($id:literal, $run:path) => {
        Item {
            id: $id,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/pffc/", $id, ".entry.toml")),
            run: $run,
        }
    };
}

/// A scenario of the paper's folder: its name and its text.
macro_rules! scenario {
    ($file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/pffc/", $file)))
    };
}
use scenario;

/// The entries in the order of the slides, then our own.
pub const PFFC: &[Item] = &[
    item!("xoff", thresholds::run_xoff),
    item!("xon", thresholds::run_xon),
    item!("hops", hops::run_all),
    item!("loss", loss::run_loss),
    item!("mice-udp", mice::run_udp),
    item!("mice-tcp", mice::run_tcp),
    item!("spreading", spreading::run_spreading),
    item!("deadlock", deadlock::run_ring),
    item!("table3", table3::run_table),
    item!("table3-bytes", table3::run_bytes),
    item!("order", order::run_order),
    item!("shared-queues", shared_queues::run_ring),
    item!("collisions", collisions::run_all),
];
