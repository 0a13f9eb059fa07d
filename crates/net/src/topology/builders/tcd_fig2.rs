//! Two racks that share a leaf switch with a third: head-of-line blocking in the smallest network
//! (TCD, SIGCOMM'21, Fig. 2).
//!
//! ```text
//!   S0 S1      S2          B0 ..      R0 R1 A0 .. A14        P0 = T0->L0     P2 = L0->T2
//!     T0       T1           |             T2                 P1 = T1->L0     P3 = T2->R1
//!       \P0     \P1         |            /
//!        +-------+--------- L0 ---P2----+
//! ```
//!
//! The figure does not say where the senders of bursts are. They must not cross P2, which is never
//! congested in the paper's first scenario, so they are on T2 with the receivers; then F1's share
//! of P3 is 40 Gb/s / 16 = 2.5 Gb/s, as section 3.1.2 says.

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::{DELAY, NO_RACK, PORTS_MAX, RATE, Wire, count, positive};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str = "senders S0, S1 on T0 and S2 on T1, receivers R0, R1 and bursts A0.. on T2, all three on L0 (TCD Fig. 2)";

const SOURCE: &str = "TCD section 3.1.1";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("burst_hosts", Kind::Count, "15", "hosts A0.. on T2", SOURCE),
    ParamSpec::optional(
        "leaf_hosts",
        Kind::Count,
        "hosts B0.. on L0; none when absent",
        "TCD section 5.2.4: 4",
    ),
    ParamSpec { default: Some("40Gbps"), source: SOURCE, ..RATE },
    ParamSpec::optional(
        "sender_rate",
        Kind::Rate,
        "rate of the links S0-T0 and S1-T0; `rate` when absent",
        "TCD section 5.1.3: 20 Gb/s",
    ),
    ParamSpec { default: Some("4us"), source: SOURCE, ..DELAY },
];

/// Builds it. Nodes are numbered S, R, A, B, then T0, T1, T2, L0; port 0 of T0, T1 and T2 leads to
/// L0, port `i` of L0 to T`i`.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let bursts = count(v, "burst_hosts", 1, PORTS_MAX - 3)?;
    let leaf_hosts = match v.count_opt("leaf_hosts")? {
        Some(_) => count(v, "leaf_hosts", 1, PORTS_MAX - 3)?,
        None => 0,
    };
    let wire = Wire::read(v)?;
    let sender_wire = match v.rate_opt("sender_rate")? {
        Some(rate) => Wire { rate: positive("sender_rate", rate)?, ..wire },
        None => wire,
    };
    let mut t = Topology::default();
    let mut hosts = |prefix: &str, n: u32, rack: &dyn Fn(u32) -> u32| -> Vec<NodeId> {
        (0..n).map(|i| t.add_node(format!("{prefix}{i}"), NodeKind::Host, 0, rack(i))).collect()
    };
    let s = hosts("S", 3, &|i| u32::from(i == 2));
    let r = hosts("R", 2, &|_| 2);
    let a = hosts("A", bursts, &|_| 2);
    let b = hosts("B", leaf_hosts, &|_| 3);
    let tor: Vec<NodeId> =
        (0..3).map(|i| t.add_node(format!("T{i}"), NodeKind::Switch, 1, i)).collect();
    let leaf = t.add_node("L0", NodeKind::Switch, 2, if leaf_hosts > 0 { 3 } else { NO_RACK });
    for &tor in &tor {
        wire.join(&mut t, tor, leaf);
    }
    sender_wire.join(&mut t, s[0], tor[0]);
    sender_wire.join(&mut t, s[1], tor[0]);
    wire.join(&mut t, s[2], tor[1]);
    for host in r.into_iter().chain(a) {
        wire.join(&mut t, host, tor[2]);
    }
    for host in b {
        wire.join(&mut t, host, leaf);
    }
    Ok(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    fn port(t: &Topology, from: &str, to: &str) -> u16 {
        let (from, to) = (t.find(from).unwrap(), t.find(to).unwrap());
        t.nodes[from.index()].ports.iter().position(|p| p.peer == to).unwrap() as u16
    }

    #[test]
    fn hosts_and_links_are_those_of_the_figure() {
        let t = build(&mut Defaults::of(PARAMS)).unwrap();
        assert_eq!((t.hosts().count(), t.switches().count(), t.links.len()), (20, 4, 23));
        let below = |switch: &str| -> Vec<&str> {
            let ports = &t.nodes[t.find(switch).unwrap().index()].ports;
            ports.iter().map(|p| t.name(p.peer)).collect()
        };
        assert_eq!(below("T0"), ["L0", "S0", "S1"]);
        assert_eq!(below("T1"), ["L0", "S2"]);
        assert_eq!(below("L0"), ["T0", "T1", "T2"]);
        assert_eq!((below("T2").len(), &below("T2")[..4]), (18, &["L0", "R0", "R1", "A0"][..]));
        assert!(t.links.iter().all(|l| l.rate.0 == 40_000_000_000 && l.delay.0 == 4_000_000));
        let rack = |n: &str| t.nodes[t.find(n).unwrap().index()].rack;
        assert_eq!(["S0", "S1", "S2", "R0", "A14"].map(rack), [0, 0, 1, 2, 2]);
    }

    #[test]
    fn two_senders_may_be_slower_and_the_leaf_may_have_hosts() {
        let t = build(
            &mut Defaults::of(PARAMS)
                .with("sender_rate", "20Gbps")
                .with("leaf_hosts", "4")
                .with("burst_hosts", "2"),
        )
        .unwrap();
        let slow: Vec<String> = t
            .links
            .iter()
            .filter(|l| l.rate.0 == 20_000_000_000)
            .map(|l| t.port_name(l.a, l.a_port))
            .collect();
        assert_eq!(slow, ["S0->T0", "S1->T0"]);
        assert_eq!(t.port_name(t.find("L0").unwrap(), port(&t, "L0", "B3")), "L0->B3");
        assert_eq!((t.find("A1").is_some(), t.find("A2"), t.find("B4")), (true, None, None));
        let e = build(&mut Defaults::of(PARAMS).with("sender_rate", "0Gbps")).unwrap_err();
        assert_eq!(e.key, "sender_rate");
    }
}
