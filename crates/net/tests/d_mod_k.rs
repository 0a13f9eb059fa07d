//! D-mod-k (Gomez et al., IPDPS'07) in closed form: who goes where, how many share a link, where
//! paths meet.

use std::collections::{BTreeMap, BTreeSet};

use xoff_net::topology::builders::custom::{LinkSpec, NodeSpec, graph};
use xoff_net::topology::builders::find;
use xoff_net::topology::failures::fail_links;
use xoff_net::topology::{FlowKey, NodeKind, Routing, Topology, trace_path};
use xoff_units::params::Defaults;
use xoff_units::{NodeId, Rate, Span};

fn fabric(name: &str, given: &[(&str, &str)]) -> Topology {
    let b = find(name).unwrap();
    let v = given.iter().fold(Defaults::of(b.params), |v, (k, x)| v.with(k, x));
    (b.build)(&mut { v }).unwrap()
}

fn rule() -> Routing {
    Routing::named("d-mod-k", 1).unwrap()
}

/// The ports of the way of every ordered pair of hosts, as names.
fn paths(t: &Topology) -> BTreeMap<(NodeId, NodeId), Vec<String>> {
    let (rule, hosts) = (rule(), t.hosts().collect::<Vec<_>>());
    rule.fits(t).unwrap();
    let routes = rule.routes(t);
    let pairs =
        hosts.iter().flat_map(|&s| hosts.iter().map(move |&d| (s, d))).filter(|(s, d)| s != d);
    pairs
        .map(|(src, dst)| {
            // Ports differ from flow to flow; they must not matter.
            let key = FlowKey { src, dst, src_port: (src.0 * 31) as u16, dst_port: dst.0 as u16 };
            let hops = trace_path(t, &routes, &rule.choice, &key).unwrap();
            ((src, dst), hops.into_iter().map(|(n, p)| t.port_name(n, p)).collect())
        })
        .collect()
}

/// For every port, the destinations of the frames that pass it.
fn destinations(t: &Topology) -> BTreeMap<String, BTreeSet<NodeId>> {
    let mut by_port: BTreeMap<String, BTreeSet<NodeId>> = BTreeMap::new();
    for ((_, dst), path) in paths(t) {
        for port in path {
            by_port.entry(port).or_default().insert(dst);
        }
    }
    by_port
}

#[test]
fn the_digits_of_the_destination_name_the_path_up() {
    let t = fabric("fat-tree", &[("k", "8")]);
    let paths = paths(&t);
    // H90 = 1 * 64 + 1 * 16 + 2 * 4 + 2: digits 2 and 2, edge E23 in pod 5. Up to the third
    // aggregation switch and its third core.
    let at = |n: &str| t.find(n).unwrap();
    assert_eq!(
        paths[&(at("H0"), at("H90"))],
        ["H0->E1", "E1->A3", "A3->C11", "C11->A23", "A23->E23", "E23->H90"]
    );
    assert_eq!(
        paths[&(at("H127"), at("H90"))],
        ["H127->E32", "E32->A31", "A31->C11", "C11->A23", "A23->E23", "E23->H90"]
    );
    // Within the pod and within the rack.
    assert_eq!(paths[&(at("H80"), at("H90"))], ["H80->E21", "E21->A23", "A23->E23", "E23->H90"]);
    assert_eq!(paths[&(at("H91"), at("H90"))], ["H91->E23", "E23->H90"]);
}

/// With h = k/2: a host's digits are (number mod h, number / h mod h), so k hosts, one of each pod,
/// share both.
#[test]
fn every_link_of_a_tier_carries_equally_many_destinations() {
    for k in [4usize, 8, 10] {
        let t = fabric("fat-tree", &[("k", &k.to_string())]);
        let by_port = destinations(&t);
        let count = |from: &str, to: &str| -> BTreeSet<usize> {
            let tier = by_port
                .iter()
                .filter(|(port, _)| port.starts_with(from) && port.contains(&format!("->{to}")));
            tier.map(|(_, dsts)| dsts.len()).collect()
        };
        let used = |from: &str, to: &str| {
            by_port.keys().filter(|p| p.starts_with(from) && p.contains(&format!("->{to}"))).count()
        };
        // Up from an edge: the hosts with one first digit, one in each of k^2/2 racks, but not in
        // its own.
        assert_eq!(
            (used("E", "A"), count("E", "A")),
            (k * k * k / 4, BTreeSet::from([k * k / 2 - 1])),
            "k = {k}"
        );
        // Up to a core: one host of every other pod. Down from it: the one of this pod.
        assert_eq!(
            (used("A", "C"), count("A", "C")),
            (k * k * k / 4, BTreeSet::from([k - 1])),
            "k = {k}"
        );
        assert_eq!(
            (used("C", "A"), count("C", "A")),
            (k * k * k / 4, BTreeSet::from([1])),
            "k = {k}"
        );
        // Down to an edge: its one host with this first digit.
        assert_eq!(
            (used("A", "E"), count("A", "E")),
            (k * k * k / 4, BTreeSet::from([1])),
            "k = {k}"
        );
    }
}

#[test]
fn all_that_goes_to_one_host_comes_down_one_path() {
    for (name, given) in
        [("fat-tree", [("k", "4")]), ("fat-tree", [("k", "8")]), ("leaf-spine", [("spines", "3")])]
    {
        let t = fabric(name, &given);
        let mut down: BTreeMap<NodeId, BTreeSet<String>> = BTreeMap::new();
        for ((_, dst), path) in paths(&t) {
            let level = |node: &str| t.nodes[t.find(node).unwrap().index()].level;
            down.entry(dst).or_default().extend(path.into_iter().filter(|port| {
                let (from, to) = port.split_once("->").unwrap();
                level(from) > level(to)
            }));
        }
        // One port downwards from each level above the host: a single chain.
        let top = t.nodes.iter().map(|n| n.level).max().unwrap() as usize;
        assert!(down.values().all(|ports| ports.len() == top), "{name} {down:?}");
    }
}

#[test]
fn on_a_leaf_spine_the_spine_is_the_number_modulo_the_spines() {
    let t = fabric("leaf-spine", &[("leaves", "3"), ("hosts_per_leaf", "5"), ("spines", "4")]);
    for ((src, dst), path) in paths(&t) {
        if src.0 / 5 != dst.0 / 5 {
            assert_eq!(path[1], format!("L{}->S{}", src.0 / 5 + 1, dst.0 % 4 + 1));
        }
    }
}

#[test]
fn neither_the_seed_nor_the_flow_enters() {
    let t = fabric("fat-tree", &[("k", "6")]);
    let (a, b) = (Routing::named("d-mod-k", 1).unwrap(), Routing::named("d-mod-k", 999).unwrap());
    assert_eq!(a, b);
    let routes = a.routes(&t);
    for dst in t.hosts() {
        assert!(t.node_ids().filter(|&n| n != dst).all(|n| routes.candidates(n, dst).len() == 1));
    }
}

/// Numbers count hosts, wherever they stand in the list, and parallel links count as links.
#[test]
fn a_custom_tree_is_routed_by_the_place_among_the_hosts() {
    let node = |n: &str, kind| NodeSpec::new(n, kind);
    let nodes = [
        node("top", NodeKind::Switch),
        node("x", NodeKind::Switch),
        node("a", NodeKind::Host),
        node("y", NodeKind::Switch),
        node("b", NodeKind::Host),
        node("c", NodeKind::Host),
    ];
    let pairs = [
        ("a", "x"),
        ("x", "top"),
        ("x", "top"),
        ("y", "top"),
        ("y", "top"),
        ("b", "y"),
        ("c", "y"),
    ];
    let links = pairs.map(|(a, b)| LinkSpec {
        a: a.into(),
        b: b.into(),
        rate: Rate::from_gbps(1),
        delay: Span::ZERO,
    });
    let t = graph(&nodes, &links).unwrap();
    let paths = paths(&t);
    let path = |a: &str, b: &str| paths[&(t.find(a).unwrap(), t.find(b).unwrap())].clone();
    // Numbers: a 0, b 1, c 2. The divisor of top is 2 (links upwards of x and y): c goes down its
    // second link, 2 / 2 mod 2.
    assert_eq!(path("a", "b"), ["a->x", "x->top#2", "top->y#2", "y->b"]);
    assert_eq!(path("a", "c"), ["a->x", "x->top#1", "top->y#3", "y->c"]);
    assert_eq!(path("b", "a"), ["b->y", "y->top#0", "top->x#0", "x->a"]);
}

#[test]
fn a_failed_link_is_gone_round_and_the_other_destinations_keep_their_path() {
    let mut t = fabric("fat-tree", &[]);
    let before = paths(&t);
    fail_links(&mut t, &["A1-C2"]).unwrap();
    let after = paths(&t);
    // Upwards A1->C2 carried three destinations (H2 of its digits (0, 1) is in its own pod),
    // downwards C2->A1 one: H2.
    let changed: BTreeSet<NodeId> = before
        .iter()
        .filter(|(pair, path)| after[pair] != **path)
        .map(|(pair, _)| pair.1)
        .collect();
    let names: Vec<&str> = changed.iter().map(|&h| t.name(h)).collect();
    assert_eq!(names, ["H2", "H6", "H10", "H14"]);
    assert!(after.values().flatten().all(|port| port != "A1->C2" && port != "C2->A1"));
}

#[test]
fn other_networks_are_refused_with_what_disturbs() {
    let refused = |t: &Topology| rule().fits(t).unwrap_err();
    for name in ["ring", "chain", "dumbbell"] {
        let e = refused(&fabric(name, &[]));
        assert_eq!(
            (e.key.as_str(), e.what.as_str()),
            ("routing", "the link S1-S2 joins levels 1 and 1"),
            "{name}"
        );
        assert!(e.hint.contains("fat-tree or leaf-spine") && e.hint.contains("use ecmp"), "{e}");
    }
    // A leaf with a link less than the other one.
    let kinds = [
        ("h", NodeKind::Host),
        ("i", NodeKind::Host),
        ("l", NodeKind::Switch),
        ("m", NodeKind::Switch),
    ];
    let tops = [("s", NodeKind::Switch), ("t", NodeKind::Switch)];
    let nodes: Vec<_> = kinds.iter().chain(&tops).map(|&(n, k)| NodeSpec::new(n, k)).collect();
    let pairs = [("h", "l"), ("i", "m"), ("l", "s"), ("l", "t"), ("m", "s")];
    let links = pairs.map(|(a, b)| LinkSpec {
        a: a.into(),
        b: b.into(),
        rate: Rate::from_gbps(1),
        delay: Span::ZERO,
    });
    assert_eq!(refused(&graph(&nodes, &links).unwrap()).what, "links upwards: l has 2, m has 1");
    // A failed link does not change what the network is.
    let mut t = fabric("fat-tree", &[]);
    fail_links(&mut t, &["A1-C2", "E3-A3"]).unwrap();
    rule().fits(&t).unwrap();
    for name in ["star", "fat-tree", "leaf-spine"] {
        rule().fits(&fabric(name, &[])).unwrap();
    }
}
