//! Racks of hosts with two ToR switches: every host has a port to both, every ToR to all spines.
//!
//! ```text
//!       S1     S2
//!      / | \ / | \        every ToR is joined to every spine; ToRs of a rack are not joined
//!    T0a T0b T1a T1b
//!    |\ /|   |\ /|
//!    H0 H1   H2 H3        port 0 leads to ToR a, port 1 to ToR b
//! ```

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::{
    DELAY, HOST_DELAY, HOST_RATE, NO_RACK, PORTS_MAX, RATE, UPLINK_DELAY, UPLINK_RATE, Wire, count,
    host_limit, link_limit,
};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str = "racks of hosts H0.. with a port to each of two ToRs T0a, T0b, spines S1..";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("racks", Kind::Count, "4", "number of racks", ""),
    ParamSpec::new("hosts_per_rack", Kind::Count, "4", "hosts of each rack", ""),
    ParamSpec::new("spines", Kind::Count, "4", "spine switches, each joined to every ToR", ""),
    RATE,
    HOST_RATE,
    UPLINK_RATE,
    DELAY,
    HOST_DELAY,
    UPLINK_DELAY,
];

/// Builds it. On a ToR the hosts come first (ports 0..), then the spines.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let racks = count(v, "racks", 1, PORTS_MAX / 2)?;
    let hosts = count(v, "hosts_per_rack", 1, PORTS_MAX / 2)?;
    let spines = count(v, "spines", 1, PORTS_MAX / 2)?;
    host_limit("hosts_per_rack", racks as u64 * hosts as u64)?;
    link_limit("spines", 2 * racks as u64 * (spines as u64 + hosts as u64))?;
    let wire = Wire::read(v)?;
    let host_wire = wire.or(v, "host_rate", "host_delay")?;
    let uplink = wire.or(v, "uplink_rate", "uplink_delay")?;
    let mut t = Topology::default();
    for i in 0..racks * hosts {
        t.add_node(format!("H{i}"), NodeKind::Host, 0, i / hosts);
    }
    let tor = NodeId(t.nodes.len() as u32);
    for i in 0..2 * racks {
        let side = if i % 2 == 0 { 'a' } else { 'b' };
        t.add_node(format!("T{}{side}", i / 2), NodeKind::Switch, 1, i / 2);
    }
    let spine = NodeId(t.nodes.len() as u32);
    for i in 0..spines {
        t.add_node(format!("S{}", i + 1), NodeKind::Switch, 2, NO_RACK);
    }
    for host in 0..racks * hosts {
        host_wire.join(&mut t, NodeId(host), tor + host / hosts * 2);
        host_wire.join(&mut t, NodeId(host), tor + host / hosts * 2 + 1);
    }
    for i in 0..2 * racks {
        (0..spines).for_each(|s| uplink.join(&mut t, tor + i, spine + s));
    }
    Ok(t)
}
