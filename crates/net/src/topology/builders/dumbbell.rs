//! Senders on one switch, receivers on another, one link between.
//!
//! ```text
//!   H0 --\             /-- H(s)
//!         S1 -------- S2
//!   H(s-1)/            \-- H(s+r-1)
//! ```

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::{DELAY, HOST_DELAY, HOST_RATE, PORTS_MAX, RATE, Wire, count};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str =
    "senders H0.. on switch S1, receivers numbered after them on S2, one link S1-S2";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("senders", Kind::Count, "2", "hosts on S1", ""),
    ParamSpec::new("receivers", Kind::Count, "1", "hosts on S2", ""),
    RATE,
    HOST_RATE,
    DELAY,
    HOST_DELAY,
];

/// Builds it. Port 0 of both switches is the link between them.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let senders = count(v, "senders", 1, PORTS_MAX - 1)?;
    let receivers = count(v, "receivers", 1, PORTS_MAX - 1)?;
    let wire = Wire::read(v)?;
    let host_wire = wire.or(v, "host_rate", "host_delay")?;
    let mut t = Topology::default();
    for i in 0..senders + receivers {
        t.add_node(format!("H{i}"), NodeKind::Host, 0, u32::from(i >= senders));
    }
    let s1 = t.add_node("S1", NodeKind::Switch, 1, 0);
    let s2 = t.add_node("S2", NodeKind::Switch, 1, 1);
    wire.join(&mut t, s1, s2);
    for host in 0..senders + receivers {
        host_wire.join(&mut t, NodeId(host), if host < senders { s1 } else { s2 });
    }
    Ok(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    #[test]
    fn receivers_follow_senders_and_host_links_may_be_slower() {
        let t = build(
            &mut Defaults::of(PARAMS)
                .with("senders", "8")
                .with("rate", "40Gbps")
                .with("host_rate", "10Gbps"),
        )
        .unwrap();
        let (s1, s2) = (t.find("S1").unwrap(), t.find("S2").unwrap());
        assert_eq!(t.port_name(s1, 0), "S1->S2");
        assert_eq!(t.port_name(s1, 8), "S1->H7");
        assert_eq!(t.port_name(s2, 1), "S2->H8");
        assert_eq!(
            (t.link_at(s1, 0).rate.0, t.link_at(s2, 1).rate.0),
            (40_000_000_000, 10_000_000_000)
        );
        assert_eq!((t.nodes[7].rack, t.nodes[8].rack), (0, 1));
    }
}
