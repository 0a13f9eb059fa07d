//! Positions of nodes: tiers for a network with levels, otherwise a circle of switches with their
//! hosts around it.
//!
//! ```text
//!   tiers   C0   C1   C2   C3            circle        H2
//!           A0 A1    A2 A3                          S2
//!           E0 E1    E2 E3                        /    \
//!           hhh hhh  hhh hhh                H1--S1 ---- S3--H3
//! ```

use std::f64::consts::TAU;

use xoff_net::topology::{NodeKind, Topology};
use xoff_units::NodeId;

/// Positions of all nodes; the page scales them to the room that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// To the right.
    pub x: Vec<f64>,
    /// Downwards.
    pub y: Vec<f64>,
    /// In tiers: width and height may be scaled apart.
    pub tiers: bool,
}

/// Passes over the tiers in which each is ordered by the one below it, then by the one above it.
const PASSES: usize = 4;
/// A circle of switches has this radius; their hosts are beyond it.
const RADIUS: f64 = 1.0;
const HOST_RADIUS: f64 = 1.55;

/// Places the nodes of a network.
pub fn layout(t: &Topology) -> Layout {
    let mut levels: Vec<u8> = t.switches().map(|s| t.nodes[s.index()].level).collect();
    levels.sort_unstable();
    levels.dedup();
    // A path of switches reads best as a row.
    let switch_ports = |n: NodeId| {
        t.nodes[n.index()]
            .ports
            .iter()
            .filter(|p| t.nodes[p.peer.index()].kind == NodeKind::Switch)
            .count()
    };
    let path =
        t.switches().all(|s| switch_ports(s) <= 2) && t.switches().any(|s| switch_ports(s) <= 1);
    if levels.len() > 1 || path { tiers(t) } else { circle(t) }
}

/// The tier of each node: scale-up switches below the hosts, the others above them by level.
fn tier_of(t: &Topology) -> Vec<usize> {
    let mut levels: Vec<u8> = t.switches().map(|s| t.nodes[s.index()].level).collect();
    levels.sort_unstable();
    levels.dedup();
    let hosts = usize::from(levels.first() == Some(&0));
    let of = |n: &xoff_net::topology::Node| match n.kind {
        NodeKind::Host => hosts,
        NodeKind::Switch if n.level == 0 => 0,
        NodeKind::Switch => 1 + levels.binary_search(&n.level).unwrap_or(0),
    };
    t.nodes.iter().map(of).collect()
}

fn tiers(t: &Topology) -> Layout {
    let tier = tier_of(t);
    let count = tier.iter().max().map_or(1, |m| m + 1);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); count];
    tier.iter().enumerate().for_each(|(n, &r)| rows[r].push(n));
    let mut x = vec![0.0; t.nodes.len()];
    let spread = |row: &[usize], x: &mut [f64]| {
        let room = row.len().max(1) as f64;
        row.iter().enumerate().for_each(|(i, &n)| x[n] = (i as f64 + 0.5) / room);
    };
    // The tier with the most nodes is as wide as the drawing; switches next to hosts begin in their
    // own order.
    rows.iter().for_each(|row| spread(row, &mut x));
    let mean = |n: usize, wanted: &dyn Fn(usize) -> bool, x: &[f64]| {
        let near =
            t.nodes[n].ports.iter().map(|p| p.peer.index()).filter(|&p| wanted(p)).map(|p| x[p]);
        let (sum, many) = near.fold((0.0, 0.0), |(s, m), v| (s + v, m + 1.0));
        if many > 0.0 { sum / many } else { x[n] }
    };
    for pass in 0..PASSES {
        // Hosts follow their switches, then each tier the one below it.
        let upwards = pass % 2 == 1;
        for r in 0..count {
            let r = if upwards { r } else { count - 1 - r };
            let wanted = |p: usize| if upwards { tier[p] < r } else { tier[p] > r };
            let mut row = std::mem::take(&mut rows[r]);
            let at: Vec<f64> = row.iter().map(|&n| mean(n, &wanted, &x)).collect();
            let mut order: Vec<usize> = (0..row.len()).collect();
            // Stable: equal items stay in the order of the network.
            order.sort_by(|&a, &b| at[a].total_cmp(&at[b]));
            row = order.into_iter().map(|i| row[i]).collect();
            spread(&row, &mut x);
            rows[r] = row;
        }
    }
    // Switches are above their neighbours if there is room.
    for (r, row) in rows.iter().enumerate().skip(1) {
        let wanted = |p: usize| tier[p] < r;
        let at: Vec<f64> = row.iter().map(|&n| mean(n, &wanted, &x)).collect();
        let gap = 0.6 / row.len().max(1) as f64;
        if at.windows(2).all(|w| w[1] - w[0] >= gap) {
            row.iter().zip(&at).for_each(|(&n, &v)| x[n] = v);
        }
    }
    let y = tier.iter().map(|&r| (count - 1 - r) as f64 / (count.max(2) - 1) as f64).collect();
    Layout { x, y, tiers: true }
}

fn circle(t: &Topology) -> Layout {
    let switches = walk(t);
    let (mut x, mut y) = (vec![0.0; t.nodes.len()], vec![0.0; t.nodes.len()]);
    let many = switches.len().max(1) as f64;
    let put = |n: usize, turn: f64, radius: f64, x: &mut [f64], y: &mut [f64]| {
        // The first at the top, then clockwise.
        (x[n], y[n]) = (radius * (TAU * turn).sin(), -radius * (TAU * turn).cos());
    };
    if switches.len() == 1 {
        let hosts: Vec<usize> = t.hosts().map(|h| h.index()).collect();
        for (i, &h) in hosts.iter().enumerate() {
            put(h, i as f64 / hosts.len() as f64, RADIUS, &mut x, &mut y);
        }
        return Layout { x, y, tiers: false };
    }
    for (i, &s) in switches.iter().enumerate() {
        let turn = i as f64 / many;
        put(s, turn, RADIUS, &mut x, &mut y);
        let is_own = |p: &&xoff_net::topology::Port| t.nodes[p.peer.index()].kind == NodeKind::Host;
        let hosts: Vec<usize> =
            t.nodes[s].ports.iter().filter(is_own).map(|p| p.peer.index()).collect();
        for (k, &h) in hosts.iter().enumerate() {
            let off = (k as f64 - (hosts.len() - 1) as f64 / 2.0) / hosts.len() as f64;
            put(h, turn + 0.8 * off / many, HOST_RADIUS, &mut x, &mut y);
        }
    }
    Layout { x, y, tiers: false }
}

/// The switches, each next to one that it is connected with where that is possible: from the first
/// one on along links.
fn walk(t: &Topology) -> Vec<usize> {
    let mut seen = vec![false; t.nodes.len()];
    let mut order = Vec::new();
    for start in t.switches() {
        let mut stack = vec![start.index()];
        while let Some(n) = stack.pop() {
            if std::mem::replace(&mut seen[n], true) {
                continue;
            }
            order.push(n);
            let near = t.nodes[n].ports.iter().map(|p| p.peer.index());
            stack.extend(near.filter(|&p| t.nodes[p].kind == NodeKind::Switch && !seen[p]).rev());
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::{Rate, Span};

    fn link(t: &mut Topology, a: NodeId, b: NodeId) {
        t.add_link(a, b, Rate::from_gbps(10), Span::ZERO);
    }

    #[test]
    fn levels_are_tiers_and_hosts_stand_below_their_switch() {
        let mut t = Topology::default();
        let spine = t.add_node("C", NodeKind::Switch, 2, 0);
        let leaves: Vec<NodeId> =
            (0..2).map(|i| t.add_node(format!("L{i}"), NodeKind::Switch, 1, i)).collect();
        // Alternating, so that their own order would cross links.
        let hosts: Vec<NodeId> =
            (0..4).map(|i| t.add_node(format!("H{i}"), NodeKind::Host, 0, i)).collect();
        leaves.iter().for_each(|&l| link(&mut t, spine, l));
        hosts.iter().enumerate().for_each(|(i, &h)| link(&mut t, leaves[i % 2], h));
        let l = layout(&t);
        assert!(l.tiers);
        assert_eq!([spine, leaves[0], hosts[0]].map(|n| l.y[n.index()]), [0.0, 0.5, 1.0]);
        let at = |n: NodeId| l.x[n.index()];
        assert!(
            at(hosts[0]) < at(hosts[1])
                && at(hosts[2]) < at(hosts[1])
                && at(hosts[0]) < at(hosts[3]),
            "{:?}",
            l.x
        );
        assert!(
            (at(leaves[0]) - (at(hosts[0]) + at(hosts[2])) / 2.0).abs() < 1e-9,
            "a leaf stands above its hosts: {:?}",
            l.x
        );
    }

    #[test]
    fn scale_up_switches_are_below_their_hosts() {
        let rail = xoff_net::topology::builders::find("rail").unwrap();
        let mut v = xoff_units::params::Defaults::of(rail.params).with("servers", "2");
        let t = (rail.build)(&mut v).unwrap();
        let l = layout(&t);
        let at = |n: &str| t.find(n).map(|n| (l.x[n.index()], l.y[n.index()])).unwrap();
        let y = ["S1", "R0.0", "G0.0", "NV0.0"].map(|n| at(n).1);
        assert!(y.is_sorted_by(|a, b| a < b), "{y:?}");
        assert_eq!((at("NV0.0").0, at("NV1.0").0), (0.25, 0.75));
        assert!((0..8).all(|g| (at(&format!("G0.{g}")).0 < 0.5) == (at("G0.0").0 < 0.5)));
    }

    #[test]
    fn a_ring_is_a_circle_with_hosts_outside() {
        let mut t = Topology::default();
        let s: Vec<NodeId> =
            (0..3).map(|i| t.add_node(format!("S{i}"), NodeKind::Switch, 1, i)).collect();
        let h: Vec<NodeId> =
            (0..3).map(|i| t.add_node(format!("H{i}"), NodeKind::Host, 0, i)).collect();
        for i in 0..3 {
            link(&mut t, s[i], s[(i + 1) % 3]);
            link(&mut t, s[i], h[i]);
        }
        let l = layout(&t);
        let radius = |n: NodeId| l.x[n.index()].hypot(l.y[n.index()]);
        assert!(!l.tiers);
        assert!(
            s.iter().all(|&n| (radius(n) - RADIUS).abs() < 1e-9)
                && h.iter().all(|&n| (radius(n) - HOST_RADIUS).abs() < 1e-9)
        );
    }

    #[test]
    fn a_network_without_nodes_has_a_layout() {
        assert_eq!(layout(&Topology::default()).x, Vec::<f64>::new());
    }
}
