//! Rail-optimised servers of GPUs: GPU `g` of every server is joined to rail switch `g`.
//!
//! ```text
//!          S1      S2          spines; without: rail-only
//!         / \ \  / / \
//!      R0.0  R1.0  R2.0        rail switches R<rail>.<leaf>
//!       | \   | \   | \
//!     G0.0 G1.0 ..     G1.2    GPUs G<server>.<gpu>
//!        \__|__/   \__|__/
//!         NV0.0     NV1.0      NVSwitches NV<server>.<switch>
//! ```
//!
//! Within a server the scale-up network is nearer than the rail switches. Without spines GPUs of
//! different servers and rails have no route: a program forwards through a GPU of the right rail
//! (PXN in NCCL), the network does not.

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::scale_up::{
    NIC_DELAY, NIC_RATE, NVSWITCHES, SCALE_UP_DELAY, SCALE_UP_RATE, ScaleUp, add_gpus,
};
use super::{
    NO_RACK, PORTS_MAX, UPLINK_DELAY, UPLINK_RATE, Wire, count, count_or_none, host_limit,
    link_limit, port_limit,
};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str = "servers of GPUs G0.0.., GPU g of each on rail switch Rg.0, spines S1.., NVSwitches NV0.0.. in each server";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("servers", Kind::Count, "4", "number of servers", ""),
    ParamSpec::new("gpus", Kind::Count, "8", "GPUs of each server, and rails", "NVIDIA DGX H100"),
    ParamSpec::optional(
        "servers_per_leaf",
        Kind::Count,
        "servers on each switch of a rail; absent: a rail is one switch",
        "",
    ),
    ParamSpec::new(
        "spines",
        Kind::Count,
        "4",
        "spine switches, each joined to every rail switch; 0: rail-only",
        "",
    ),
    NVSWITCHES,
    NIC_RATE,
    UPLINK_RATE,
    NIC_DELAY,
    UPLINK_DELAY,
    SCALE_UP_RATE,
    SCALE_UP_DELAY,
];

/// Builds it. A GPU's port 0 is its NIC, ports 1.. lead to the NVSwitches. On a rail switch the
/// GPUs come first, by server, then the spines. Hosts are in the order of servers and their GPUs.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let servers = count(v, "servers", 1, PORTS_MAX / 2)?;
    let gpus = count(v, "gpus", 1, PORTS_MAX / 2)?;
    let of_leaf = match v.count_opt("servers_per_leaf")? {
        Some(_) => count(v, "servers_per_leaf", 1, PORTS_MAX / 2)?,
        None => servers,
    };
    let spines = count_or_none(v, "spines", PORTS_MAX / 2)?;
    let (all, leaves) = (servers as u64 * gpus as u64, servers.div_ceil(of_leaf));
    host_limit("gpus", all)?;
    port_limit("servers", leaves as u64 * gpus as u64)?;
    link_limit("spines", leaves as u64 * gpus as u64 * spines as u64 + all)?;
    if spines == 0 && leaves > 1 {
        return Err(ParamError::new(
            "spines",
            format!("0 leaves the {leaves} switches of a rail apart"),
            "expected spines, or a servers_per_leaf that puts all servers on one switch",
        ));
    }
    let wire = Wire::read(v)?;
    let uplink = wire.or(v, "uplink_rate", "uplink_delay")?;
    let scale_up = ScaleUp::read(v, all)?;
    let mut t = Topology::default();
    add_gpus(&mut t, servers, gpus);
    let first_leaf = NodeId(all as u32);
    for i in 0..gpus * leaves {
        t.add_node(format!("R{}.{}", i / leaves, i % leaves), NodeKind::Switch, 1, NO_RACK);
    }
    for i in 0..spines {
        t.add_node(format!("S{}", i + 1), NodeKind::Switch, 2, NO_RACK);
    }
    for gpu in 0..all as u32 {
        wire.join(&mut t, NodeId(gpu), first_leaf + gpu % gpus * leaves + gpu / gpus / of_leaf);
    }
    for leaf in 0..gpus * leaves {
        for spine in 0..spines {
            uplink.join(&mut t, first_leaf + leaf, first_leaf + gpus * leaves + spine);
        }
    }
    scale_up.join(&mut t, servers, gpus);
    Ok(t)
}
