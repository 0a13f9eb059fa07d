//! Switches in a row, with hosts on each.
//!
//! ```text
//!   S1 ---- S2 ---- S3
//!   |       |       |
//!   H1      H2      H3
//! ```

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::{DELAY, HOST_DELAY, HOST_RATE, PORTS_MAX, RATE, Wire, count, host_limit};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str = "switches S1, S2, ... in a row, hosts H1, H2, ... numbered along it";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("switches", Kind::Count, "3", "number of switches", ""),
    ParamSpec::new("hosts_per_switch", Kind::Count, "1", "hosts on each switch", ""),
    RATE,
    HOST_RATE,
    DELAY,
    HOST_DELAY,
];

/// Builds it. Links between switches come first, so that ports 0 and 1 of an inner switch lead left
/// and right.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let mut row = Row::read(v, 1)?;
    for pair in row.switches.windows(2) {
        row.wire.join(&mut row.topology, pair[0], pair[1]);
    }
    Ok(row.with_hosts())
}

/// Hosts `H1..` and switches `S1..`, not yet linked; with `m` hosts per switch, S1 has H1..Hm, S2
/// H(m+1)..H(2m).
pub(super) struct Row {
    pub topology: Topology,
    pub switches: Vec<NodeId>,
    /// Between switches.
    pub wire: Wire,
    host_wire: Wire,
}

impl Row {
    /// Reads the keys of a row of at least `switches_min` switches.
    ///
    /// # Errors
    /// An invalid value: its key, and the expected form.
    pub fn read(v: &mut dyn Values, switches_min: u64) -> Result<Row, ParamError> {
        let n = count(v, "switches", switches_min, PORTS_MAX)?;
        let m = count(v, "hosts_per_switch", 1, PORTS_MAX - 2)?;
        host_limit("hosts_per_switch", n as u64 * m as u64)?;
        let wire = Wire::read(v)?;
        let host_wire = wire.or(v, "host_rate", "host_delay")?;
        let mut topology = Topology::default();
        for i in 0..n * m {
            topology.add_node(format!("H{}", i + 1), NodeKind::Host, 0, i / m);
        }
        let switches = (0..n)
            .map(|i| topology.add_node(format!("S{}", i + 1), NodeKind::Switch, 1, i))
            .collect();
        Ok(Row { topology, switches, wire, host_wire })
    }

    /// Joins every host to the switch of its rack, after the links between switches.
    pub fn with_hosts(mut self) -> Topology {
        for host in (0..self.switches[0].0).map(NodeId) {
            let rack = self.topology.nodes[host.index()].rack as usize;
            self.host_wire.join(&mut self.topology, host, self.switches[rack]);
        }
        self.topology
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    #[test]
    fn hosts_are_numbered_along_the_chain() {
        let t =
            build(&mut Defaults::of(PARAMS).with("switches", "2").with("hosts_per_switch", "2"))
                .unwrap();
        let s2 = t.find("S2").unwrap();
        let ports: Vec<_> = (0..3).map(|p| t.port_name(s2, p)).collect();
        assert_eq!(ports, ["S2->S1", "S2->H3", "S2->H4"]);
    }
}
