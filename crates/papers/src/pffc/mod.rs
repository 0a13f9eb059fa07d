//! Per-hop per-flow flow control (PFFC, IEEE Access 2021): the experiments of the slides, and five extensions.

mod collisions;
mod deadlock;
mod hops;
pub(crate) mod loss;
pub(crate) mod mice;
mod order;
mod priorities;
pub(crate) mod run;
mod shared_queues;
mod spreading;
pub(crate) mod table3;
mod thresholds;

use crate::Item;

/// The entries in the order of the slides, then the extensions.
pub const PFFC: &[Item] = &[
    item!("pffc", "xoff", thresholds::run_xoff),
    item!("pffc", "xon", thresholds::run_xon),
    item!("pffc", "hops", hops::run_all),
    item!("pffc", "loss", loss::run_loss),
    item!("pffc", "mice-udp", mice::run_udp),
    item!("pffc", "mice-tcp", mice::run_tcp),
    item!("pffc", "spreading", spreading::run_spreading),
    item!("pffc", "deadlock", deadlock::run_ring),
    item!("pffc", "table3", table3::run_table),
    item!("pffc", "table3-bytes", table3::run_bytes),
    item!("pffc", "order", order::run_order),
    item!("pffc", "shared-queues", shared_queues::run_ring),
    item!("pffc", "collisions", collisions::run_all),
    item!("pffc", "mice-held", mice::run_held),
    item!("pffc", "hosts", priorities::run_hosts),
];
