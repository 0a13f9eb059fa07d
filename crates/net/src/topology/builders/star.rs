//! One switch, `S1`, with hosts `H0`, `H1`, ... on ports 0, 1, ...
//!
//! ```text
//!   H0 --\   /-- H2
//!         S1
//!   H1 --/   \-- H3
//! ```

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::{DELAY, PORTS_MAX, RATE, Wire, count};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str = "one switch S1 with hosts H0, H1, ...";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] =
    &[ParamSpec::new("hosts", Kind::Count, "3", "number of hosts", ""), RATE, DELAY];

/// Builds it.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let hosts = count(v, "hosts", 1, PORTS_MAX)?;
    let wire = Wire::read(v)?;
    let mut t = Topology::default();
    let first = (0..hosts)
        .map(|i| t.add_node(format!("H{i}"), NodeKind::Host, 0, 0))
        .min()
        .unwrap_or_default();
    let switch = t.add_node("S1", NodeKind::Switch, 1, 0);
    for host in 0..hosts {
        wire.join(&mut t, first + host, switch);
    }
    Ok(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    #[test]
    fn hosts_take_the_ports_in_order() {
        let t = build(&mut Defaults::of(PARAMS).with("hosts", "4").with("rate", "40Gbps")).unwrap();
        assert_eq!((t.nodes.len(), t.links.len()), (5, 4));
        let s1 = t.find("S1").unwrap();
        assert_eq!(t.port_name(s1, 2), "S1->H2");
        assert_eq!(t.link_at(s1, 2).rate.0, 40_000_000_000);
        assert_eq!(t.link_at(s1, 2).delay.0, 1_000_000);
    }
}
