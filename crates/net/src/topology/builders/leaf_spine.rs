//! Leaf switches `L1..` with hosts, each joined to every spine switch `S1..`.
//!
//! ```text
//!        S1    S2
//!       /| \  /| \
//!      L1  L2  L3
//!     H0.. ..  ..
//! ```

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::{
    DELAY, HOST_DELAY, HOST_RATE, NO_RACK, PORTS_MAX, RATE, UPLINK_DELAY, UPLINK_RATE, Wire, count,
    host_limit, link_limit,
};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str = "leaves L1.. with hosts H0.., each leaf joined to every spine S1..";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("leaves", Kind::Count, "4", "number of leaf switches", ""),
    ParamSpec::new("spines", Kind::Count, "2", "number of spine switches", ""),
    ParamSpec::new("hosts_per_leaf", Kind::Count, "4", "hosts on each leaf", ""),
    RATE,
    HOST_RATE,
    UPLINK_RATE,
    DELAY,
    HOST_DELAY,
    UPLINK_DELAY,
];

/// Builds it. On a leaf the hosts come first (ports 0..), then the spines; on a spine port `i`
/// leads to leaf `i`.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let leaves = count(v, "leaves", 1, PORTS_MAX)?;
    let spines = count(v, "spines", 1, PORTS_MAX / 2)?;
    let hosts = count(v, "hosts_per_leaf", 1, PORTS_MAX / 2)?;
    host_limit("hosts_per_leaf", leaves as u64 * hosts as u64)?;
    link_limit("spines", leaves as u64 * (spines as u64 + hosts as u64))?;
    let wire = Wire::read(v)?;
    let host_wire = wire.or(v, "host_rate", "host_delay")?;
    let uplink = wire.or(v, "uplink_rate", "uplink_delay")?;
    let mut t = Topology::default();
    for i in 0..leaves * hosts {
        t.add_node(format!("H{i}"), NodeKind::Host, 0, i / hosts);
    }
    let leaf: Vec<_> =
        (0..leaves).map(|i| t.add_node(format!("L{}", i + 1), NodeKind::Switch, 1, i)).collect();
    let spine: Vec<_> = (0..spines)
        .map(|i| t.add_node(format!("S{}", i + 1), NodeKind::Switch, 2, NO_RACK))
        .collect();
    for host in 0..leaves * hosts {
        host_wire.join(&mut t, NodeId(host), leaf[(host / hosts) as usize]);
    }
    for &l in &leaf {
        for &s in &spine {
            uplink.join(&mut t, l, s);
        }
    }
    Ok(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    #[test]
    fn uplinks_have_their_own_rate() {
        let v = Defaults::of(PARAMS)
            .with("leaves", "3")
            .with("hosts_per_leaf", "2")
            .with("rate", "100Gbps");
        let t = build(&mut v.with("uplink_rate", "400Gbps")).unwrap();
        let (l2, s2) = (t.find("L2").unwrap(), t.find("S2").unwrap());
        let ports: Vec<_> = (0..4).map(|p| t.port_name(l2, p)).collect();
        assert_eq!(ports, ["L2->H2", "L2->H3", "L2->S1", "L2->S2"]);
        assert_eq!(t.port_name(s2, 1), "S2->L2");
        assert_eq!(
            (t.link_at(l2, 0).rate.0, t.link_at(l2, 2).rate.0),
            (100_000_000_000, 400_000_000_000)
        );
    }
}
