//! Uplinks: ports of a switch that are alternatives of one another.
//!
//! ```text
//!   next hops of L1   to H5  S1 S2        group 0 of L1   S1 S2 S3: S1 and S2 are alternatives, and so are S2 and S3
//!                     to H9  S2 S3
//!                     to H1  H1           no alternative
//! ```

use std::collections::{BTreeMap, BTreeSet};
use xoff_units::NodeId;

use super::Routes;
use crate::topology::{NodeKind, Topology};

/// Ports of a switch that are alternatives of one another: next hops of equal length to at least one
/// destination, directly or through others of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uplinks {
    /// The switch.
    pub switch: NodeId,
    /// Two ports or more, ascending.
    pub ports: Vec<u16>,
}

/// The groups of all switches, in the order of the switches and of their first ports.
pub fn uplinks(t: &Topology, routes: &Routes) -> Vec<Uplinks> {
    let mut all = Vec::new();
    for switch in t.switches() {
        let ports = &t.nodes[switch.index()].ports;
        // Hosts of a group differ at their own switches only.
        let own =
            ports.iter().map(|p| p.peer).filter(|&n| t.nodes[n.index()].kind == NodeKind::Host);
        let others = (0..routes.groups()).map(|g| routes.members(g)[0]);
        let mut sets: Vec<u32> =
            own.chain(others).map(|dst| routes.set_number(switch, dst)).collect();
        sets.sort_unstable();
        sets.dedup();
        // By port: the lowest port of its group.
        let mut first: Vec<u16> = (0..ports.len() as u16).collect();
        for set in sets.into_iter().map(|number| routes.set(number)).filter(|set| set.len() > 1) {
            let joined: BTreeSet<u16> = set.iter().map(|&port| first[usize::from(port)]).collect();
            let least = *joined.first().expect("a set of ports is not empty");
            first.iter_mut().filter(|f| joined.contains(f)).for_each(|f| *f = least);
        }
        let mut groups: BTreeMap<u16, Vec<u16>> = BTreeMap::new();
        for (port, &least) in (0..).zip(&first) {
            groups.entry(least).or_default().push(port);
        }
        let groups = groups.into_values().filter(|ports| ports.len() > 1);
        all.extend(groups.map(|ports| Uplinks { switch, ports }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::builders;
    use crate::topology::routing::{Order, Paths};
    use xoff_units::params::Defaults;
    use xoff_units::{Rate, Span};

    fn of(t: &Topology) -> Vec<(&str, Vec<&str>)> {
        let groups = uplinks(t, &Routes::build(t, Paths::Shortest, Order::AscendingPeerId));
        let named = |u: &Uplinks| {
            let peer = |&p: &u16| t.name(t.nodes[u.switch.index()].ports[usize::from(p)].peer);
            (t.name(u.switch), u.ports.iter().map(peer).collect())
        };
        groups.iter().map(named).collect()
    }

    #[test]
    fn leaves_have_a_group_and_spines_have_none() {
        let b = builders::find("leaf-spine").unwrap();
        let mut v = Defaults::of(b.params).with("leaves", "2").with("spines", "3");
        let t = (b.build)(&mut v).unwrap();
        let spines = vec!["S1", "S2", "S3"];
        assert_eq!(of(&t), [("L1", spines.clone()), ("L2", spines)]);
    }

    #[test]
    fn groups_are_joined_through_a_common_port() {
        let mut t = Topology::default();
        let s: Vec<NodeId> =
            (0..6).map(|i| t.add_node(format!("S{i}"), NodeKind::Switch, 1, i)).collect();
        let h: Vec<NodeId> =
            (0..4).map(|i| t.add_node(format!("H{i}"), NodeKind::Host, 0, i)).collect();
        let mut link = |a: NodeId, b: NodeId| {
            t.add_link(a, b, Rate::from_gbps(10), Span::ZERO);
        };
        // S0 reaches S4 by S1 or S2, S5 by S2 or S3, and H3 by itself.
        for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (2, 5), (3, 5)] {
            link(s[a], s[b]);
        }
        for (host, switch) in [(0, 0), (1, 4), (2, 5), (3, 0)] {
            link(h[host], s[switch]);
        }
        let two = |at, a, b| (at, vec![a, b]);
        let expected = [
            ("S0", vec!["S1", "S2", "S3"]),
            two("S1", "S0", "S4"),
            two("S3", "S0", "S5"),
            two("S4", "S1", "S2"),
            two("S5", "S2", "S3"),
        ];
        assert_eq!(of(&t), expected);
    }

    /// Two cables to one host are a choice, whoever the other hosts of the switch are.
    #[test]
    fn two_cables_to_a_host_are_a_group() {
        let mut t = Topology::default();
        let s = t.add_node("S", NodeKind::Switch, 1, 0);
        for (i, cables) in [(0, 1), (1, 2)] {
            let h = t.add_node(format!("H{i}"), NodeKind::Host, 0, i);
            for _ in 0..cables {
                t.add_link(s, h, Rate::from_gbps(10), Span::ZERO);
            }
        }
        assert_eq!(of(&t), [("S", vec!["H1", "H1"])]);
    }
}
