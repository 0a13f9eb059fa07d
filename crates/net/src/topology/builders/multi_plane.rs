//! Planes, each a leaf-spine of its own: every host has a port in each, and no link joins two.
//!
//! ```text
//!      S0.0  S0.1        S1.0  S1.1      spines S<plane>.<spine>
//!       |  \/  |          |  \/  |
//!      L0.0  L0.1        L1.0  L1.1      leaves L<plane>.<leaf>
//!       |      |__________|____  |
//!       |  ____|__________|    | |
//!       H0     H2 ..                     port p of a host leads into plane p
//! ```

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::{
    DELAY, HOST_DELAY, HOST_RATE, NO_RACK, PORTS_MAX, RATE, UPLINK_DELAY, UPLINK_RATE, Wire, count,
    host_limit, link_limit,
};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str =
    "hosts H0.. with a port in each plane p, a leaf-spine of its own: leaves Lp.0.., spines Sp.0..";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("planes", Kind::Count, "2", "number of planes, and ports of each host", ""),
    ParamSpec::new("leaves", Kind::Count, "4", "leaf switches of each plane", ""),
    ParamSpec::new("spines", Kind::Count, "2", "spine switches of each plane", ""),
    ParamSpec::new("hosts_per_leaf", Kind::Count, "4", "hosts on each leaf", ""),
    RATE,
    HOST_RATE,
    UPLINK_RATE,
    DELAY,
    HOST_DELAY,
    UPLINK_DELAY,
];

/// Builds it. A host is on the leaf of the same number in every plane. On a leaf the hosts come
/// first (ports 0..), then the spines.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let planes = count(v, "planes", 1, 256)?;
    let leaves = count(v, "leaves", 1, PORTS_MAX)?;
    let spines = count(v, "spines", 1, PORTS_MAX / 2)?;
    let hosts = count(v, "hosts_per_leaf", 1, PORTS_MAX / 2)?;
    host_limit("hosts_per_leaf", leaves as u64 * hosts as u64)?;
    link_limit("planes", planes as u64 * leaves as u64 * (spines as u64 + hosts as u64))?;
    let wire = Wire::read(v)?;
    let host_wire = wire.or(v, "host_rate", "host_delay")?;
    let uplink = wire.or(v, "uplink_rate", "uplink_delay")?;
    let mut t = Topology::default();
    for i in 0..leaves * hosts {
        t.add_node(format!("H{i}"), NodeKind::Host, 0, i / hosts);
    }
    let leaf = NodeId(t.nodes.len() as u32);
    for i in 0..planes * leaves {
        t.add_node(format!("L{}.{}", i / leaves, i % leaves), NodeKind::Switch, 1, i % leaves);
    }
    let spine = NodeId(t.nodes.len() as u32);
    for i in 0..planes * spines {
        t.add_node(format!("S{}.{}", i / spines, i % spines), NodeKind::Switch, 2, NO_RACK);
    }
    for host in 0..leaves * hosts {
        for plane in 0..planes {
            host_wire.join(&mut t, NodeId(host), leaf + plane * leaves + host / hosts);
        }
    }
    for i in 0..planes * leaves {
        (0..spines).for_each(|s| uplink.join(&mut t, leaf + i, spine + i / leaves * spines + s));
    }
    Ok(t)
}
