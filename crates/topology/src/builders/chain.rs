//! Switches in a row, with hosts on each.
//!
//! ```text
//!   S1 ---- S2 ---- S3
//!   |       |       |
//!   H1      H2      H3
//! ```

use xoff_params::{Kind, ParamError, ParamSpec, Values};

use super::{DELAY, HOST_DELAY, HOST_RATE, PORTS_MAX, RATE, Wire, count, host_limit};
use crate::graph::{NodeKind, Topology};

/// What it is.
pub const DOC: &str = "switches S1, S2, ... in a row, hosts H1, H2, ... numbered along it";

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("switches", Kind::Count, "3", "number of switches", ""),
    ParamSpec::new("hosts_per_switch", Kind::Count, "1", "hosts on each switch", ""),
    RATE,
    HOST_RATE,
    DELAY,
    HOST_DELAY,
];

/// Builds it. Links between switches come first, so that ports 0 and 1 of an inner switch lead left and right.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let (mut t, switches, wires) = row(v, 1)?;
    for pair in switches.windows(2) {
        wires.0.join(&mut t, pair[0], pair[1]);
    }
    hang_hosts(&mut t, &switches, wires.1);
    Ok(t)
}

/// Hosts `H1..` and switches `S1..` without links; with `m` hosts per switch, S1 has H1..Hm, S2 H(m+1)..H(2m).
pub(super) fn row(v: &mut dyn Values, switches_min: u64) -> Result<(Topology, Vec<u32>, (Wire, Wire)), ParamError> {
    let n = count(v, "switches", switches_min, PORTS_MAX)?;
    let m = count(v, "hosts_per_switch", 1, PORTS_MAX - 2)?;
    host_limit("hosts_per_switch", n as u64 * m as u64)?;
    let wire = Wire::read(v)?;
    let host_wire = wire.or(v, "host_rate", "host_delay")?;
    let mut t = Topology::default();
    for i in 0..n * m {
        t.add_node(format!("H{}", i + 1), NodeKind::Host, 0, i / m);
    }
    let switches = (0..n).map(|i| t.add_node(format!("S{}", i + 1), NodeKind::Switch, 1, i)).collect();
    Ok((t, switches, (wire, host_wire)))
}

/// Joins every host to the switch of its rack.
pub(super) fn hang_hosts(t: &mut Topology, switches: &[u32], wire: Wire) {
    for host in 0..switches[0] {
        let rack = t.nodes[host as usize].rack as usize;
        wire.join(t, host, switches[rack]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_params::Defaults;

    #[test]
    fn hosts_are_numbered_along_the_chain() {
        let t = build(&mut Defaults::of(PARAMS).with("switches", "2").with("hosts_per_switch", "2")).unwrap();
        let s2 = t.find("S2").unwrap();
        let ports: Vec<_> = (0..3).map(|p| t.port_name(s2, p)).collect();
        assert_eq!(ports, ["S2->S1", "S2->H3", "S2->H4"]);
    }
}
