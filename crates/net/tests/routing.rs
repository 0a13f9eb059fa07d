//! Routes of the usual fabrics, against closed forms and against a plain search per host.

use std::collections::VecDeque;

use xoff_net::topology::builders::custom::{LinkSpec, NodeSpec, graph};
use xoff_net::topology::builders::{NO_RACK, fat_tree, find};
use xoff_net::topology::failures::{fail_links, fail_random};
use xoff_net::topology::routing::up_down_ranks;
use xoff_net::topology::{
    Choice, EcmpHash, FlowKey, NodeKind, Order, Paths, Routes, Routing, Topology, trace_path,
};
use xoff_units::params::Defaults;
use xoff_units::{NodeId, Rate, Span};

fn fabric(name: &str, given: &[(&str, &str)]) -> Topology {
    let b = find(name).unwrap();
    let v = given.iter().fold(Defaults::of(b.params), |v, (k, x)| v.with(k, x));
    (b.build)(&mut { v }).unwrap()
}

fn at(t: &Topology, name: &str) -> NodeId {
    t.find(name).unwrap_or_else(|| panic!("no node {name}"))
}

/// Names of the next hops from one node to another.
fn hops(t: &Topology, r: &Routes, from: &str, to: &str) -> Vec<String> {
    let node = at(t, from);
    r.candidates(node, at(t, to))
        .iter()
        .map(|&p| t.name(t.nodes[node.index()].ports[p as usize].peer).to_owned())
        .collect()
}

fn shortest(t: &Topology) -> Routes {
    Routes::build(t, Paths::Shortest, Order::AscendingPort)
}

/// Candidates by a search from one host, written as plainly as possible.
fn plain(t: &Topology, dst: NodeId) -> Vec<Vec<u16>> {
    let mut distance = vec![u32::MAX; t.nodes.len()];
    distance[dst.index()] = 0;
    let mut queue = VecDeque::from([dst]);
    let up = |n: NodeId| {
        t.nodes[n.index()].ports.iter().enumerate().filter(|(_, p)| t.links[p.link as usize].up)
    };
    while let Some(n) = queue.pop_front() {
        for (_, p) in up(n) {
            if distance[p.peer.index()] == u32::MAX {
                distance[p.peer.index()] = distance[n.index()] + 1;
                if t.nodes[p.peer.index()].kind == NodeKind::Switch {
                    queue.push_back(p.peer);
                }
            }
        }
    }
    let is_switch = |n: NodeId| t.nodes[n.index()].kind == NodeKind::Switch;
    let forwards = |p: NodeId| p == dst || is_switch(p);
    let is_scale_up = |p: NodeId| is_switch(p) && t.nodes[p.index()].level == 0;
    t.node_ids()
        .map(|n| {
            let d = distance[n.index()];
            let nearer = |p: NodeId| {
                d != u32::MAX
                    && forwards(p)
                    && distance[p.index()] != u32::MAX
                    && distance[p.index()] + 1 == d
            };
            let mut ports: Vec<_> = up(n).filter(|(_, p)| nearer(p.peer)).collect();
            if !is_switch(n) && ports.iter().any(|(_, p)| is_scale_up(p.peer)) {
                ports.retain(|(_, p)| is_scale_up(p.peer));
            }
            ports.into_iter().map(|(i, _)| i as u16).collect()
        })
        .collect()
}

#[test]
fn an_intact_fat_tree_has_the_known_number_of_paths() {
    let t = fabric("fat-tree", &[]);
    let r = shortest(&t);
    assert_eq!(hops(&t, &r, "H0", "H8"), ["E1"]);
    assert_eq!(hops(&t, &r, "E1", "H8"), ["A1", "A2"]);
    assert_eq!(hops(&t, &r, "A1", "H8"), ["C1", "C2"]);
    assert_eq!(hops(&t, &r, "C2", "H8"), ["A5"]);
    assert_eq!(hops(&t, &r, "A5", "H8"), ["E5"]);
    assert_eq!(hops(&t, &r, "E5", "H8"), ["H8"]);
    assert_eq!(hops(&t, &r, "E5", "H9"), ["H9"]);
    assert_eq!(hops(&t, &r, "E1", "H1"), ["H1"]);
    assert_eq!(hops(&t, &r, "E1", "H2"), ["A1", "A2"]);
    assert_eq!(r.groups(), 8);
    assert_eq!(r.members(r.group_of(at(&t, "H5")).unwrap()), [at(&t, "H4"), at(&t, "H5")]);
    assert_eq!(r.group_of(at(&t, "C1")), None);
}

#[test]
fn the_table_agrees_with_a_search_per_host() {
    let mut nets: Vec<Topology> = ["star", "dumbbell", "ring", "chain", "leaf-spine"]
        .iter()
        .map(|n| fabric(n, &[]))
        .collect();
    for seed in 0..40 {
        for k in ["4", "6"] {
            let mut t = fabric("fat-tree", &[("k", k)]);
            fail_random(&mut t, 0.15, seed, true).unwrap();
            nets.push(t);
        }
    }
    for seed in 0..20 {
        for name in ["dual-tor", "hpn", "multi-plane", "nvl", "rail"] {
            let mut t = fabric(name, &[]);
            fail_random(&mut t, 0.01 * seed as f64, seed, true).unwrap();
            nets.push(t);
        }
    }
    // Hosts on two switches, on one switch twice, and joined to each other; a broken host link.
    let node = |n: &str, kind| NodeSpec::new(n, kind);
    let link = |a: &str, b: &str| LinkSpec {
        a: a.into(),
        b: b.into(),
        rate: Rate::from_gbps(10),
        delay: Span::from_ns(1),
    };
    let nodes: Vec<NodeSpec> = (0..6)
        .map(|i| node(&format!("H{i}"), NodeKind::Host))
        .chain((1..5).map(|i| node(&format!("S{i}"), NodeKind::Switch)))
        .collect();
    let pairs = "S1-S2 S2-S3 S3-S4 S4-S1 S1-S3 S1-S2 H0-S1 H0-S2 H1-S3 H1-S3 H2-H3 H2-S4 H3-S4 H4-S4 H5-S2 H5-S1";
    let links: Vec<LinkSpec> =
        pairs.split(' ').map(|p| p.split_once('-').unwrap()).map(|(a, b)| link(a, b)).collect();
    let mut odd = graph(&nodes, &links).unwrap();
    nets.push(odd.clone());
    fail_links(&mut odd, &["H4-S4", "H0-S1", "S3-S4"]).unwrap();
    nets.push(odd);
    for t in &nets {
        let r = shortest(t);
        for dst in t.hosts() {
            let want = plain(t, dst);
            for n in t.node_ids().filter(|&n| n != dst) {
                assert_eq!(
                    r.candidates(n, dst),
                    want[n.index()],
                    "{} -> {}",
                    t.name(n),
                    t.name(dst)
                );
            }
        }
    }
}

#[test]
fn orders_of_candidates() {
    let t = fabric("fat-tree", &[]);
    let list = |order| hops(&t, &Routes::build(&t, Paths::Shortest, order), "A1", "H8");
    assert_eq!(list(Order::AscendingPeerId), ["C1", "C2"]);
    assert_eq!(list(Order::DescendingPeerId), ["C2", "C1"]);
    // Port order and number order differ when links are listed the other way round.
    let nodes = [
        ("H0", NodeKind::Host),
        ("H1", NodeKind::Host),
        ("A", NodeKind::Switch),
        ("B", NodeKind::Switch),
        ("C", NodeKind::Switch),
        ("D", NodeKind::Switch),
    ];
    let nodes: Vec<_> = nodes.iter().map(|&(n, k)| NodeSpec::new(n, k)).collect();
    let pairs =
        [("H0", "A"), ("A", "C"), ("A", "B"), ("C", "D"), ("B", "D"), ("D", "H1"), ("A", "C")];
    let links: Vec<_> = pairs
        .iter()
        .map(|&(a, b)| LinkSpec {
            a: a.into(),
            b: b.into(),
            rate: Rate::from_gbps(1),
            delay: Span::ZERO,
        })
        .collect();
    let t = graph(&nodes, &links).unwrap();
    let list = |order| {
        Routes::build(&t, Paths::Shortest, order).candidates(at(&t, "A"), at(&t, "H1")).to_vec()
    };
    assert_eq!(list(Order::AscendingPort), [1, 2, 3]);
    assert_eq!(list(Order::AscendingPeerId), [2, 1, 3]);
    // One interface per pair of nodes there, the last one listed.
    assert_eq!(list(Order::DescendingPeerId), [3, 2]);
}

/// The search order of the HPCC simulator is not the falling order of the next hops themselves when
/// the fabric is irregular: X sees P (lower) before Q (higher) when P hangs on the higher of the
/// two switches next to the host.
#[test]
fn hpcc_order_is_the_order_of_discovery() {
    let names = [
        ("h", NodeKind::Host),
        ("g", NodeKind::Host),
        ("d", NodeKind::Switch),
        ("m", NodeKind::Switch),
        ("n", NodeKind::Switch),
        ("p", NodeKind::Switch),
        ("q", NodeKind::Switch),
        ("x", NodeKind::Switch),
    ];
    let nodes: Vec<_> = names.iter().map(|&(n, k)| NodeSpec::new(n, k)).collect();
    let pairs = [
        ("h", "d"),
        ("d", "m"),
        ("d", "n"),
        ("n", "p"),
        ("m", "q"),
        ("p", "x"),
        ("q", "x"),
        ("x", "g"),
    ];
    let links: Vec<_> = pairs
        .iter()
        .map(|&(a, b)| LinkSpec {
            a: a.into(),
            b: b.into(),
            rate: Rate::from_gbps(1),
            delay: Span::ZERO,
        })
        .collect();
    let t = graph(&nodes, &links).unwrap();
    let r = Routing::HPCC.routes(&t);
    assert_eq!(hops(&t, &r, "x", "h"), ["p", "q"]);
}

#[test]
fn failed_links_are_not_candidates_and_paths_go_round() {
    let mut t = fabric("ring", &[]);
    fail_links(&mut t, &["S1-S2"]).unwrap();
    let r = shortest(&t);
    assert_eq!(hops(&t, &r, "S1", "H2"), ["S3"]);
    fail_links(&mut t, &["S2-S3"]).unwrap();
    let r = shortest(&t);
    assert!(hops(&t, &r, "S1", "H2").is_empty() && hops(&t, &r, "H1", "H2").is_empty());
    assert_eq!(hops(&t, &r, "S2", "H2"), ["H2"]);
    let key = FlowKey { src: at(&t, "H1"), dst: at(&t, "H2"), src_port: 1, dst_port: 2 };
    assert_eq!(trace_path(&t, &r, &Choice::First, &key), None);
}

#[test]
fn up_down_never_turns_up_again() {
    for (k, p) in [("4", 0.0), ("4", 0.1), ("6", 0.1), ("6", 0.25)] {
        for seed in 0..20 {
            let mut t = fabric("fat-tree", &[("k", k)]);
            fail_random(&mut t, p, seed, false).unwrap();
            let rule = Routing::named("up-down", seed).unwrap();
            let r = rule.routes(&t);
            let hosts: Vec<NodeId> = t.hosts().collect();
            for (src, dst) in hosts
                .iter()
                .flat_map(|&s| hosts.iter().map(move |&d| (s, d)))
                .filter(|(s, d)| s != d)
            {
                let Some(path) = trace_path(
                    &t,
                    &r,
                    &rule.choice,
                    &FlowKey { src, dst, src_port: 1, dst_port: 2 },
                ) else {
                    continue;
                };
                let levels: Vec<u8> = path.iter().map(|&(n, _)| t.nodes[n.index()].level).collect();
                let peak = levels.iter().position(|l| l == levels.iter().max().unwrap()).unwrap();
                assert!(
                    levels[..=peak].is_sorted() && levels[peak..].iter().rev().is_sorted(),
                    "{levels:?}"
                );
            }
        }
    }
    // Intact, it is what the shortest paths are.
    let t = fabric("fat-tree", &[]);
    let (a, b) = (shortest(&t), Routes::build(&t, Paths::UpDown, Order::AscendingPort));
    for (n, d) in t.node_ids().flat_map(|n| t.hosts().map(move |d| (n, d))).filter(|(n, d)| n != d)
    {
        assert_eq!(a.candidates(n, d), b.candidates(n, d));
    }
}

#[test]
fn up_down_in_a_ring_passes_no_switch_downwards_and_up_again() {
    // All levels are equal, so S1 is the root and the others follow by their distance from it:
    // nothing passes S3 on the way from S2 to S4.
    let t = fabric("ring", &[("switches", "4")]);
    let r = Routes::build(&t, Paths::UpDown, Order::AscendingPort);
    assert_eq!(hops(&t, &r, "S1", "H3"), ["S2", "S4"]);
    assert_eq!(hops(&t, &r, "S3", "H1"), ["S2", "S4"]);
    assert_eq!(hops(&t, &r, "S4", "H2"), ["S1"]);
    assert_eq!(hops(&t, &r, "S2", "H4"), ["S1"]);
}

/// Before: a chain of three switches had no route over its middle one if that was declared last.
#[test]
fn up_down_does_not_depend_on_the_order_of_nodes() {
    let links = [("H0", "S0"), ("H1", "S1"), ("H2", "S2"), ("S0", "S1"), ("S1", "S2")];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut t = Topology::default();
        for i in order {
            t.add_node(format!("H{i}"), NodeKind::Host, 0, NO_RACK);
            t.add_node(format!("S{i}"), NodeKind::Switch, 1, NO_RACK);
        }
        for (a, b) in links {
            let (a, b) = (at(&t, a), at(&t, b));
            t.add_link(a, b, Rate::from_gbps(10), Span::from_ns(500));
        }
        let r = Routes::build(&t, Paths::UpDown, Order::AscendingPort);
        assert_eq!(hops(&t, &r, "S0", "H2"), ["S1"], "{order:?}");
        assert_eq!(hops(&t, &r, "S1", "H2"), ["S2"], "{order:?}");
        assert_eq!(hops(&t, &r, "S2", "H0"), ["S1"], "{order:?}");
        let by_rank = |names: [&str; 3]| names.map(|n| up_down_ranks(&t)[at(&t, n).index()]);
        assert!(by_rank(["S2", "S0", "S1"]).is_sorted(), "{order:?}");
    }
}

#[test]
fn named_rules() {
    let t = fabric("fat-tree", &[]);
    let key = FlowKey { src: at(&t, "H0"), dst: at(&t, "H8"), src_port: 10_000, dst_port: 100 };
    let rule = Routing::named("lowest-id", 1).unwrap();
    let path = trace_path(&t, &rule.routes(&t), &rule.choice, &key).unwrap();
    let names: Vec<_> = path.iter().map(|&(n, p)| t.port_name(n, p)).collect();
    assert_eq!(names, ["H0->E1", "E1->A1", "A1->C1", "C1->A5", "A5->E5", "E5->H8"]);
    for name in Routing::NAMES {
        let rule = Routing::named(name, 1).unwrap();
        assert_eq!(
            trace_path(&t, &rule.routes(&t), &rule.choice, &key).unwrap().len(),
            6,
            "{name}"
        );
    }
    assert_eq!(Routing::named("ospf", 1).unwrap_err().key, "routing");
    assert_eq!(Routing::HPCC.choice, Choice::Hashed(EcmpHash::Hpcc));
}

/// In a fat-tree of k = 6 there are 9 core switches and 3 next hops at every turn. A hash that is
/// the same everywhere takes the n-th core link of the n-th aggregation switch: 3 core switches and
/// a third of the 54 links up to the core.
#[test]
fn a_polarised_hash_leaves_most_core_links_idle() {
    let t = fabric("fat-tree", &[("k", "6")]);
    let used = |name: &str| {
        let rule = Routing::named(name, 1).unwrap();
        let routes = rule.routes(&t);
        let (mut links, mut cores) =
            (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        for (src, dst) in
            (0..54).flat_map(|a| (0..54).map(move |b| (a, b))).filter(|(a, b)| a / 9 != b / 9)
        {
            let key = FlowKey {
                src: at(&t, &format!("H{src}")),
                dst: at(&t, &format!("H{dst}")),
                src_port: 10_000,
                dst_port: 100,
            };
            let path = trace_path(&t, &routes, &rule.choice, &key).unwrap();
            assert_eq!(path.len(), 6);
            links.insert(path[2]);
            cores.insert(path[3].0);
        }
        (links.len(), cores.len())
    };
    assert_eq!((used("ecmp"), used("ecmp-polarised")), ((54, 9), (18, 3)));
    assert_eq!(used("ecmp-ns3-rdma"), (18, 3));
}

/// ns3-rdma's rule on paper: addresses as dotted quads, then the candidate of every switch on the
/// way. Each flow takes the same at both turns, as under any hash that leaves out the switch.
#[test]
fn every_switch_takes_the_next_hop_of_ns3_rdma() {
    let t = fabric("fat-tree", &[("k", "6")]);
    let rule = Routing::named("ecmp-ns3-rdma", 1).unwrap();
    let routes = rule.routes(&t);
    let address = |host: u32| {
        let link = host as u8; // fewer than 254
        u32::from(std::net::Ipv4Addr::new(10, 1, link + 1, 2))
    };
    let mut cores = std::collections::BTreeSet::new();
    for (src, dst) in
        (0..54u32).flat_map(|a| (0..54).map(move |b| (a, b))).filter(|(a, b)| a / 9 != b / 9)
    {
        let (src_port, dst_port) = (10_000 + src as u16, 40_000 - 700 * dst as u16);
        let [from, to] = [src, dst].map(|h| at(&t, &format!("H{h}")));
        assert_eq!((from.0, to.0), (src, dst));
        let key = FlowKey { src: from, dst: to, src_port, dst_port };
        let source = u64::from(address(src)) * 59 % (1 << 32);
        let tuple = source
            ^ u64::from(address(dst))
            ^ 17
            ^ u64::from(src_port) << 16
            ^ u64::from(dst_port)
            ^ 3;
        let path = trace_path(&t, &routes, &rule.choice, &key).unwrap();
        for &(switch, port) in &path[1..3] {
            let up = routes.candidates(switch, to);
            assert_eq!(up.len(), 3);
            assert_eq!(port, up[(tuple % 3) as usize], "{src} to {dst}");
        }
        cores.insert(path[3].0);
    }
    assert_eq!(cores.len(), 3, "of 9");
}

/// 65,536 hosts and 5,120 switches, as issue 3 asks; intact and with 1 % of the links failed.
#[test]
#[ignore = "seconds, and about 100 MB"]
fn a_64_port_fat_tree_is_routed_in_seconds_and_little_memory() {
    let clock = std::time::Instant::now();
    let mut t = fat_tree::build(&mut Defaults::of(fat_tree::PARAMS).with("k", "64")).unwrap();
    println!("k=64 built in {:?}", clock.elapsed());
    for p in [0.0, 0.01] {
        fail_random(&mut t, p, 1, false).unwrap();
        let clock = std::time::Instant::now();
        let r = shortest(&t);
        println!("p={p}: routed in {:?}, {} MB", clock.elapsed(), r.size_bytes() / 1_000_000);
        assert_eq!(r.groups(), 2048);
        assert!((1..=32).contains(&r.candidates(at(&t, "E1"), at(&t, "H65535")).len()));
        assert!(r.size_bytes() < 100_000_000);
    }
}
