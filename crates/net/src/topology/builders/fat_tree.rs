//! Three-level fat-tree of k-port switches, named as in GFC Fig. 11.
//!
//! ```text
//!   level 3   C1   C2   C3   C4        core  C(m k/2 + c + 1) is joined to the m-th aggregation switch of each pod
//!   level 2   A1  A2 | A3  A4 | ...    pod p: A(p k/2 + 1) ... A((p + 1) k/2)
//!   level 1   E1  E2 | E3  E4 | ...    pod p: E(p k/2 + 1) ... E((p + 1) k/2)
//!   level 0   H0..H3 | H4..H7 | ...    k/2 hosts per edge switch
//! ```

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::{DELAY, HOST_DELAY, HOST_RATE, NO_RACK, RATE, Wire, count};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str = "three-level fat-tree of k-port switches: hosts H0.., edge E1.., aggregation A1.., core C1.. (GFC Fig. 11)";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "k",
        Kind::Count,
        "4",
        "ports per switch, even; k^3/4 hosts, 5k^2/4 switches",
        "GFC section 6.2.2",
    ),
    RATE,
    HOST_RATE,
    DELAY,
    HOST_DELAY,
];

/// Builds it. Nodes are numbered hosts, edge, aggregation, core. Ports 0..k/2 lead down and k/2..k
/// up, both from left to right; port `p` of a core switch leads to pod `p`.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let k = count(v, "k", 2, 128)?;
    if k % 2 == 1 {
        return Err(ParamError::new(
            "k",
            format!("{k} is odd"),
            "a fat-tree needs an even k: half of the ports lead down, half up",
        ));
    }
    let wire = Wire::read(v)?;
    let host_wire = wire.or(v, "host_rate", "host_delay")?;
    let half = k / 2;
    let (hosts, edges) = (half * half * k, half * k);
    let mut t = Topology::default();
    for i in 0..hosts {
        t.add_node(format!("H{i}"), NodeKind::Host, 0, i / half);
    }
    let mut level = |prefix: &str, n: u32, level: u8| -> NodeId {
        let first = NodeId(t.nodes.len() as u32);
        for i in 0..n {
            t.add_node(
                format!("{prefix}{}", i + 1),
                NodeKind::Switch,
                level,
                if level == 1 { i } else { NO_RACK },
            );
        }
        first
    };
    let edge = level("E", edges, 1);
    let aggregation = level("A", edges, 2);
    let core = level("C", half * half, 3);
    for host in 0..hosts {
        host_wire.join(&mut t, NodeId(host), edge + host / half);
    }
    for pod in 0..k {
        for e in pod * half..(pod + 1) * half {
            for a in pod * half..(pod + 1) * half {
                wire.join(&mut t, edge + e, aggregation + a);
            }
        }
    }
    for a in 0..edges {
        for c in 0..half {
            wire.join(&mut t, aggregation + a, core + a % half * half + c);
        }
    }
    Ok(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    fn fat_tree(k: &str) -> Topology {
        build(&mut Defaults::of(PARAMS).with("k", k)).unwrap()
    }

    #[test]
    fn sizes_are_those_of_the_closed_form() {
        for k in [2u64, 4, 8, 10, 16] {
            let t = fat_tree(&k.to_string());
            assert_eq!(t.hosts().count() as u64, k * k * k / 4);
            assert_eq!(t.switches().count() as u64, 5 * k * k / 4);
            assert_eq!(t.links.len() as u64, 3 * k * k * k / 4);
            assert!(t.switches().all(|s| t.nodes[s.index()].ports.len() as u64 == k));
        }
    }

    #[test]
    fn names_are_those_of_gfc_fig_11() {
        let t = fat_tree("4");
        let ports = |name: &str| -> Vec<String> {
            (0..4).map(|p| t.port_name(t.find(name).unwrap(), p)).collect()
        };
        assert_eq!(ports("E1"), ["E1->H0", "E1->H1", "E1->A1", "E1->A2"]);
        assert_eq!(ports("A3"), ["A3->E3", "A3->E4", "A3->C1", "A3->C2"]);
        assert_eq!(ports("A8"), ["A8->E7", "A8->E8", "A8->C3", "A8->C4"]);
        assert_eq!(ports("C1"), ["C1->A1", "C1->A3", "C1->A5", "C1->A7"]);
        assert_eq!(t.nodes[t.find("H13").unwrap().index()].rack, 6);
        let levels: Vec<u8> = ["H0", "E1", "A1", "C1"]
            .iter()
            .map(|n| t.nodes[t.find(n).unwrap().index()].level)
            .collect();
        assert_eq!(levels, [0, 1, 2, 3]);
    }

    #[test]
    fn an_odd_k_is_refused() {
        let e = build(&mut Defaults::of(PARAMS).with("k", "5")).unwrap_err();
        assert_eq!((e.key.as_str(), e.what.as_str()), ("k", "5 is odd"));
        assert!(e.hint.contains("even"));
    }
}
