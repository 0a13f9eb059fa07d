//! Racks of GPUs that NVSwitches join, as in an NVL72, each GPU with a NIC on a leaf-spine.
//!
//! ```text
//!           S1     S2            spines
//!          / \ \  / / \
//!        L0    L1    ..          leaves: GPU g of every rack is on leaf g mod leaves
//!        |     |
//!      G0.0  G0.1  G0.2  ..      GPUs G<rack>.<gpu>
//!        |  X  |  X  |           each GPU is joined to each NVSwitch of its rack
//!      NV0.0 NV0.1 ..            NVSwitches NV<rack>.<switch>
//! ```
//!
//! Within a rack the scale-up network is taken, also where both GPUs are on one leaf.

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::scale_up::{NIC_DELAY, NIC_RATE, SCALE_UP_DELAY, ScaleUp, add_gpus};
use super::{
    NO_RACK, PORTS_MAX, UPLINK_DELAY, UPLINK_RATE, Wire, count, count_or_none, host_limit,
    link_limit, port_limit,
};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str = "racks of GPUs G0.0.. with NVSwitches NV0.0.. between, leaves L0.. and spines S1.. between racks";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("racks", Kind::Count, "2", "number of racks", ""),
    ParamSpec::new("gpus", Kind::Count, "8", "GPUs of each rack; 72 in an NVL72", ""),
    ParamSpec::new(
        "nvswitches",
        Kind::Count,
        "4",
        "NVSwitches of each rack, each joined to all of its GPUs; 18 in an NVL72",
        "",
    ),
    ParamSpec::new(
        "leaves",
        Kind::Count,
        "4",
        "leaf switches for the NICs of all racks; 0: the GPUs have no NIC",
        "",
    ),
    ParamSpec::new("spines", Kind::Count, "2", "spine switches, each joined to every leaf", ""),
    NIC_RATE,
    UPLINK_RATE,
    NIC_DELAY,
    UPLINK_DELAY,
    ParamSpec::new(
        "scale_up_rate",
        Kind::Rate,
        "400Gbps",
        "rate of each link between a GPU and an NVSwitch",
        "NVIDIA NVLink 5: 18 links of 50 GB/s per direction",
    ),
    SCALE_UP_DELAY,
];

/// Builds it. A GPU's port 0 is its NIC, if there are leaves, and its last ports lead to the
/// NVSwitches. On a leaf the GPUs come first, by rack, then the spines.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let racks = count(v, "racks", 1, PORTS_MAX / 2)?;
    let gpus = count(v, "gpus", 2, PORTS_MAX / 2)?;
    count(v, "nvswitches", 1, 256)?;
    let leaves = count_or_none(v, "leaves", PORTS_MAX / 2)?;
    let spines = count(v, "spines", 1, PORTS_MAX / 2)?;
    let all = racks as u64 * gpus as u64;
    host_limit("gpus", all)?;
    if leaves == 0 && racks > 1 {
        return Err(ParamError::new(
            "leaves",
            format!("0 leaves {racks} racks apart"),
            "expected leaves, or one rack",
        ));
    }
    port_limit("gpus", racks as u64 * gpus.div_ceil(leaves.max(1)) as u64)?;
    link_limit("leaves", leaves as u64 * spines as u64 + all)?;
    let wire = Wire::read(v)?;
    let uplink = wire.or(v, "uplink_rate", "uplink_delay")?;
    let scale_up = ScaleUp::read(v, all)?;
    let mut t = Topology::default();
    add_gpus(&mut t, racks, gpus);
    let leaf = NodeId(t.nodes.len() as u32);
    for i in 0..leaves {
        t.add_node(format!("L{i}"), NodeKind::Switch, 1, NO_RACK);
    }
    if leaves > 0 {
        for i in 0..spines {
            t.add_node(format!("S{}", i + 1), NodeKind::Switch, 2, NO_RACK);
        }
        for gpu in 0..leaf.0 {
            wire.join(&mut t, NodeId(gpu), leaf + gpu % gpus % leaves);
        }
    }
    for i in 0..leaves {
        (0..spines).for_each(|s| uplink.join(&mut t, leaf + i, leaf + leaves + s));
    }
    scale_up.join(&mut t, racks, gpus);
    Ok(t)
}
