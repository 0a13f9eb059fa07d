//! Fabrics whose hosts have several ports, in closed form: sizes, capacities, paths, and the port
//! that a message leaves by.

use std::collections::{BTreeSet, VecDeque};

use xoff_net::topology::builders::find;
use xoff_net::topology::failures::{fail_links, fail_random, is_connected_hosts};
use xoff_net::topology::{NodeKind, Order, Paths, Routes, Routing, Topology};
use xoff_units::NodeId;
use xoff_units::params::{Defaults, ParamError};

fn try_fabric(name: &str, given: &[(&str, u64)]) -> Result<Topology, ParamError> {
    let b = find(name).unwrap();
    let v = given.iter().fold(Defaults::of(b.params), |v, (k, x)| v.with(k, &x.to_string()));
    (b.build)(&mut { v })
}

fn fabric(name: &str, given: &[(&str, u64)]) -> Topology {
    try_fabric(name, given).unwrap()
}

fn at(t: &Topology, name: &str) -> NodeId {
    t.find(name).unwrap_or_else(|| panic!("no node {name}"))
}

fn is_switch(t: &Topology, n: NodeId) -> bool {
    t.nodes[n.index()].kind == NodeKind::Switch
}

/// Hosts, switches, links.
fn sizes(t: &Topology) -> [u64; 3] {
    [t.hosts().count() as u64, t.switches().count() as u64, t.links.len() as u64]
}

/// Numbers of ports of the nodes whose names begin so.
fn degrees(t: &Topology, prefix: &str) -> BTreeSet<u64> {
    let named = t.nodes.iter().filter(|n| n.name.starts_with(prefix));
    named.map(|n| n.ports.len() as u64).collect()
}

/// Names of the ports of a node, in their order.
fn ports(t: &Topology, name: &str) -> Vec<String> {
    let node = at(t, name);
    (0..t.nodes[node.index()].ports.len() as u16).map(|p| t.port_name(node, p)).collect()
}

fn shortest(t: &Topology) -> Routes {
    Routes::build(t, Paths::Shortest, Order::AscendingPort)
}

/// Number of paths from a node to a host, and the links of each, which are equally many.
fn paths(t: &Topology, r: &Routes, from: NodeId, to: NodeId) -> (u64, u64) {
    if from == to {
        return (1, 0);
    }
    let next = |&p: &u16| paths(t, r, t.nodes[from.index()].ports[p as usize].peer, to);
    let all: Vec<_> = r.candidates(from, to).iter().map(next).collect();
    assert!(all.iter().all(|p| p.1 == all[0].1));
    (all.iter().map(|p| p.0).sum(), all.first().map_or(0, |p| p.1 + 1))
}

fn between(t: &Topology, r: &Routes, from: &str, to: &str) -> (u64, u64) {
    paths(t, r, at(t, from), at(t, to))
}

/// Largest rate from some hosts to others [bit/s] over the scale-out network: Edmonds and Karp.
/// Hosts do not forward.
fn capacity(t: &Topology, from: &[NodeId], to: &[NodeId]) -> u64 {
    let mut left: Vec<[u64; 2]> = t.links.iter().map(|l| [l.rate.0; 2]).collect();
    let scales_up = |n: NodeId| is_switch(t, n) && t.nodes[n.index()].level == 0;
    let mut total = 0;
    loop {
        let mut came: Vec<Option<(NodeId, usize, usize)>> = vec![None; t.nodes.len()];
        let mut queue: VecDeque<NodeId> = from.iter().copied().collect();
        let mut end = None;
        while let (Some(n), None) = (queue.pop_front(), end) {
            for p in &t.nodes[n.index()].ports {
                let (link, way) = (p.link as usize, usize::from(t.links[p.link as usize].a != n));
                let seen = came[p.peer.index()].is_some() || from.contains(&p.peer);
                if seen || left[link][way] == 0 || scales_up(p.peer) {
                    continue;
                }
                if is_switch(t, p.peer) || to.contains(&p.peer) {
                    came[p.peer.index()] = Some((n, link, way));
                }
                if to.contains(&p.peer) {
                    end = Some(p.peer);
                } else if is_switch(t, p.peer) {
                    queue.push_back(p.peer);
                }
            }
        }
        let Some(mut n) = end else { return total };
        let hops: Vec<(NodeId, usize, usize)> =
            std::iter::from_fn(|| came[n.index()].inspect(|&(before, ..)| n = before)).collect();
        let rate = hops.iter().map(|&(_, link, way)| left[link][way]).min().unwrap();
        for (_, link, way) in hops {
            left[link][way] -= rate;
            left[link][1 - way] += rate;
        }
        total += rate;
    }
}

/// Rate from the first half of the hosts to the second [Gb/s].
fn bisection(t: &Topology) -> u64 {
    let hosts: Vec<NodeId> = t.hosts().collect();
    let (from, to) = hosts.split_at(hosts.len() / 2);
    capacity(t, from, to) / 1_000_000_000
}

#[test]
fn a_rail_fabric_has_a_switch_for_each_rail() {
    for (s, g, spines, nv) in [(4, 8, 4, 1), (2, 4, 3, 2), (6, 2, 1, 0)] {
        let t =
            fabric("rail", &[("servers", s), ("gpus", g), ("spines", spines), ("nvswitches", nv)]);
        assert_eq!(sizes(&t), [s * g, g + spines + s * nv, s * g + g * spines + s * g * nv]);
        assert_eq!((degrees(&t, "G"), degrees(&t, "R")), ([1 + nv].into(), [s + spines].into()));
        assert_eq!(degrees(&t, "S"), [g].into());
        // Half of the GPUs send at 400 Gb/s each, and their rails have receivers for all of it.
        assert_eq!(bisection(&t), 400 * s / 2 * g);
        let r = shortest(&t);
        assert_eq!(between(&t, &r, "G0.0", "G1.0"), (1, 2), "other server, same rail");
        assert_eq!(between(&t, &r, "G0.0", "G1.1"), (spines, 4), "other rail");
        let inside = if nv > 0 { (nv, 2) } else { (spines, 4) };
        assert_eq!(between(&t, &r, "G0.0", "G0.1"), inside, "same server");
    }
    let t = fabric("rail", &[("servers", 3), ("servers_per_leaf", 2), ("nvswitches", 2)]);
    assert_eq!(sizes(&t), [24, 8 * 2 + 4 + 3 * 2, 24 + 16 * 4 + 24 * 2]);
    assert_eq!(ports(&t, "G2.1"), ["G2.1->R1.1", "G2.1->NV2.0", "G2.1->NV2.1"]);
    assert_eq!(ports(&t, "R1.0")[..3], ["R1.0->G0.1", "R1.0->G1.1", "R1.0->S1"]);
    assert_eq!(ports(&t, "NV2.0")[..2], ["NV2.0->G2.0", "NV2.0->G2.1"]);
    assert_eq!(between(&t, &shortest(&t), "G0.0", "G2.0"), (4, 4), "two leaves of a rail");
}

#[test]
fn a_message_leaves_by_the_port_of_its_network() {
    let mut t = fabric("rail", &[("nvswitches", 2)]);
    let port = |r: &Routes, to: &str| r.candidates(at(&t, "G0.3"), at(&t, to)).to_vec();
    for paths in [Paths::Shortest, Paths::UpDown] {
        let r = Routes::build(&t, paths, Order::AscendingPort);
        assert_eq!(port(&r, "G0.7"), [1, 2], "same server: both NVSwitches");
        assert_eq!(port(&r, "G2.3"), [0], "same rail: the NIC");
        assert_eq!(port(&r, "G2.5"), [0], "other rail: the NIC, then a spine");
    }
    // Without a working NVLink the NIC is left.
    fail_links(&mut t, &["G0.3-NV0.0", "G0.3-NV0.1"]).unwrap();
    assert_eq!(between(&t, &shortest(&t), "G0.3", "G0.7"), (4, 4));
}

#[test]
fn rail_only_has_no_route_between_rails_of_different_servers() {
    let t = fabric("rail", &[("spines", 0)]);
    let r = shortest(&t);
    assert_eq!(between(&t, &r, "G0.0", "G3.0"), (1, 2));
    assert_eq!(between(&t, &r, "G0.0", "G0.5"), (1, 2));
    assert_eq!(between(&t, &r, "G0.0", "G3.5"), (0, 0), "PXN is the program's, not a route");
    assert!(!is_connected_hosts(&t));
    let apart = try_fabric("rail", &[("spines", 0), ("servers_per_leaf", 2)]).unwrap_err();
    assert_eq!(
        (apart.key.as_str(), apart.what.as_str()),
        ("spines", "0 leaves the 2 switches of a rail apart")
    );
}

#[test]
fn dual_tor_doubles_the_choices_at_both_ends() {
    for (racks, h, s) in [(4, 4, 4), (2, 8, 3), (5, 1, 1)] {
        let t = fabric("dual-tor", &[("racks", racks), ("hosts_per_rack", h), ("spines", s)]);
        assert_eq!(sizes(&t), [racks * h, 2 * racks + s, 2 * racks * (h + s)]);
        assert_eq!((degrees(&t, "H"), degrees(&t, "T")), ([2].into(), [h + s].into()));
        assert_eq!(degrees(&t, "S"), [2 * racks].into());
        if racks % 2 == 0 {
            assert_eq!(bisection(&t), 10 * racks * h.min(s));
        }
        let r = shortest(&t);
        assert_eq!(between(&t, &r, "H0", &format!("H{h}")), (2 * s * 2, 4));
        if h > 1 {
            assert_eq!(between(&t, &r, "H0", "H1"), (2, 2));
        }
        assert_eq!(r.groups() as u64, racks, "the hosts of a rack look the same");
    }
    let mut t = fabric("dual-tor", &[]);
    assert_eq!(ports(&t, "H5"), ["H5->T1a", "H5->T1b"]);
    // With a ToR cut off from its spines the other one is left for other racks.
    fail_links(&mut t, &["T0a-S1", "T0a-S2", "T0a-S3", "T0a-S4"]).unwrap();
    let r = shortest(&t);
    assert_eq!(between(&t, &r, "H0", "H4"), (4 * 2, 4));
    assert_eq!(between(&t, &r, "H0", "H1"), (2, 2));
}

#[test]
fn planes_have_no_link_between_them() {
    for (p, l, s, h) in [(2, 4, 2, 4), (4, 2, 3, 2), (8, 3, 1, 1)] {
        let given = [("planes", p), ("leaves", l), ("spines", s), ("hosts_per_leaf", h)];
        let t = fabric("multi-plane", &given);
        assert_eq!(sizes(&t), [l * h, p * (l + s), p * l * (h + s)]);
        assert_eq!((degrees(&t, "H"), degrees(&t, "L")), ([p].into(), [h + s].into()));
        assert_eq!(degrees(&t, "S"), [l].into());
        if l % 2 == 0 {
            assert_eq!(bisection(&t), 10 * p * l / 2 * h.min(s));
        }
        let plane = |n: NodeId| t.name(n)[1..].split_once('.').unwrap().0.to_owned();
        let mut fabric_links = t.links.iter().filter(|l| is_switch(&t, l.a) && is_switch(&t, l.b));
        assert!(fabric_links.all(|l| plane(l.a) == plane(l.b)));
        let host = at(&t, "H0");
        let of_port = |p: u16| plane(t.nodes[host.index()].ports[p as usize].peer);
        assert!((0..p as u16).all(|p| of_port(p) == p.to_string()));
        let r = shortest(&t);
        assert_eq!(between(&t, &r, "H0", &format!("H{h}")), (p * s, 4));
        if h > 1 {
            assert_eq!(between(&t, &r, "H0", "H1"), (p, 2));
        }
    }
    // A plane that lost the way to one leaf is no candidate towards it.
    let mut t = fabric("multi-plane", &[]);
    fail_links(&mut t, &["L1.3-S1.0", "L1.3-S1.1"]).unwrap();
    let r = shortest(&t);
    let port = |to: &str| r.candidates(at(&t, "H0"), at(&t, to)).to_vec();
    assert_eq!((port("H12"), port("H8")), (vec![0], vec![0, 1]));
}

#[test]
fn hpn_has_two_planes_of_rails() {
    for (seg, s, g, a, nv) in [(2, 4, 4, 4, 1), (3, 2, 2, 5, 2), (1, 3, 8, 2, 0)] {
        let given = [
            ("segments", seg),
            ("servers_per_segment", s),
            ("gpus", g),
            ("aggs_per_plane", a),
            ("nvswitches", nv),
        ];
        let t = fabric("hpn", &given);
        let (gpus, tors) = (seg * s * g, 2 * seg * g);
        assert_eq!(sizes(&t), [gpus, tors + 2 * a + seg * s * nv, gpus * (2 + nv) + tors * a]);
        assert_eq!((degrees(&t, "G"), degrees(&t, "T")), ([2 + nv].into(), [s + a].into()));
        assert_eq!(degrees(&t, "A"), [seg * g].into());
        if seg % 2 == 0 {
            assert_eq!(bisection(&t), seg / 2 * 2 * g * (200 * s).min(400 * a));
        }
        // No path leads from one plane into the other.
        let plane = |n: NodeId| t.name(n).chars().last();
        let mut fabric_links = t.links.iter().filter(|l| is_switch(&t, l.a) && is_switch(&t, l.b));
        assert!(fabric_links.all(|l| plane(l.a) == plane(l.b)));
        let r = shortest(&t);
        assert_eq!(between(&t, &r, "G0.0", "G1.0"), (2, 2), "same segment, same rail");
        assert_eq!(between(&t, &r, "G0.0", "G1.1"), (2 * a, 4), "same segment, other rail");
        if nv > 0 {
            assert_eq!(between(&t, &r, "G0.0", "G0.1"), (nv, 2), "same server");
        }
        if seg > 1 {
            assert_eq!(between(&t, &r, "G0.0", &format!("G{s}.0")), (2 * a, 4), "other segment");
        }
    }
    let t = fabric("hpn", &[]);
    assert_eq!(ports(&t, "G5.2"), ["G5.2->T1.2a", "G5.2->T1.2b", "G5.2->NV5.0"]);
    assert_eq!(ports(&t, "T1.2b")[3..5], ["T1.2b->G7.2", "T1.2b->A0b"]);
}

/// 15,360 GPUs, 240 ToRs and 120 aggregation switches, as in the paper's abstract ("15K GPUs within
/// one Pod") and in SimAI's template of the same name.
#[test]
fn hpn_of_the_published_size() {
    let published = [
        ("segments", 15),
        ("servers_per_segment", 128),
        ("gpus", 8),
        ("aggs_per_plane", 60),
        ("nvswitches", 0),
    ];
    let t = fabric("hpn", &published);
    assert_eq!(sizes(&t), [15_360, 240 + 120, 2 * 15_360 + 240 * 60]);
    let r = shortest(&t);
    assert_eq!(between(&t, &r, "G0.0", "G1919.7"), (120, 4));
    assert_eq!(r.groups(), 15 * 8);
}

#[test]
fn a_rack_of_gpus_is_joined_by_its_nvswitches() {
    for (racks, g, nv, leaves, s) in [(2, 8, 4, 4, 2), (3, 6, 2, 4, 1), (1, 72, 18, 1, 1)] {
        let given =
            [("racks", racks), ("gpus", g), ("nvswitches", nv), ("leaves", leaves), ("spines", s)];
        let t = fabric("nvl", &given);
        let gpus = racks * g;
        assert_eq!(sizes(&t), [gpus, racks * nv + leaves + s, gpus * (nv + 1) + leaves * s]);
        assert_eq!((degrees(&t, "G"), degrees(&t, "NV")), ([nv + 1].into(), [g].into()));
        assert_eq!(degrees(&t, "S"), [leaves].into());
        let r = shortest(&t);
        // GPUs 0 and `leaves` share a leaf, and yet the NVSwitches carry their frames.
        assert_eq!(between(&t, &r, "G0.0", &format!("G0.{leaves}")), (nv, 2));
        if racks > 1 {
            assert_eq!(between(&t, &r, "G0.0", "G1.0"), (1, 2), "one leaf");
            assert_eq!(between(&t, &r, "G0.0", "G1.1"), (s, 4), "two leaves");
            assert_eq!(between(&t, &r, "G0.0", &format!("G1.{leaves}")), (1, 2), "one leaf");
        }
    }
    let alone = fabric("nvl", &[("racks", 1), ("leaves", 0)]);
    assert_eq!(sizes(&alone), [8, 4, 32]);
    assert_eq!(ports(&alone, "G0.1")[..2], ["G0.1->NV0.0", "G0.1->NV0.1"]);
    assert_eq!(try_fabric("nvl", &[("leaves", 0)]).unwrap_err().what, "0 leaves 2 racks apart");
}

/// After any failures, every hop leads over switches to the host, under every rule.
#[test]
fn no_path_passes_through_a_host() {
    for name in ["dual-tor", "hpn", "multi-plane", "nvl", "rail"] {
        for seed in 0..8 {
            let mut t = fabric(name, &[]);
            fail_random(&mut t, 0.05 * seed as f64, seed, true).unwrap();
            for rule in Routing::NAMES.iter().map(|n| Routing::named(n, seed).unwrap()) {
                rule.fits(&t).unwrap();
                let r = rule.routes(&t);
                for (src, dst) in t.hosts().flat_map(|s| t.hosts().map(move |d| (s, d))) {
                    let mut reached = BTreeSet::new();
                    let mut next = if src == dst { vec![] } else { vec![src] };
                    while let Some(n) = next.pop() {
                        let peers = r.candidates(n, dst).iter();
                        for peer in peers.map(|&p| t.nodes[n.index()].ports[p as usize].peer) {
                            assert!(peer == dst || is_switch(&t, peer), "{name}");
                            if peer != dst && reached.insert(peer) {
                                next.push(peer);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// D-mod-k: the destination's number is the port at the host, its next digit the spine.
#[test]
fn digits_name_the_port_of_the_host_and_then_the_spine() {
    let rule = Routing::named("d-mod-k", 1).unwrap();
    let names = |t: &Topology, from: &str, to: &str| -> Vec<String> {
        let (r, to) = (rule.routes(t), at(t, to));
        let mut path = vec![at(t, from)];
        while path[path.len() - 1] != to {
            let n = path[path.len() - 1];
            let [port] = r.candidates(n, to) else { panic!("one port for a destination") };
            path.push(t.nodes[n.index()].ports[*port as usize].peer);
        }
        path.iter().map(|&n| t.name(n).to_owned()).collect()
    };
    // H13 = 1 + 2 (0 + 2 * 3): plane 1, first spine of two.
    let t = fabric("multi-plane", &[]);
    assert_eq!(names(&t, "H0", "H13"), ["H0", "L1.0", "S1.0", "L1.3", "H13"]);
    assert_eq!(names(&t, "H0", "H14"), ["H0", "L0.0", "S0.1", "L0.3", "H14"]);
    // G1.3 is number 11: spine 11 mod 4; within the server NVSwitch 3 mod 2.
    let t = fabric("rail", &[("nvswitches", 2)]);
    assert_eq!(names(&t, "G0.0", "G1.3"), ["G0.0", "R0.0", "S4", "R3.0", "G1.3"]);
    assert_eq!(names(&t, "G0.0", "G0.3"), ["G0.0", "NV0.1", "G0.3"]);
}
