//! The analysis on fabrics whose answer is known, and against the counts of the reproduction notes.

mod gfc_fig11;
mod large;
mod shares;

use super::*;
use std::time::Instant;
use xoff_net::topology::NodeKind;
use xoff_net::topology::builders::find;
use xoff_net::topology::failures::{fail_links, fail_random, is_connected_hosts};
use xoff_units::NodeId;
use xoff_units::params::Defaults;

fn fabric(name: &str, given: &[(&str, &str)]) -> Topology {
    let b = find(name).unwrap();
    let v = given.iter().fold(Defaults::of(b.params), |v, (k, x)| v.with(k, x));
    (b.build)(&mut { v }).unwrap()
}

fn rule(name: &str) -> Rule {
    Rule::named(name, 1).unwrap()
}

fn report(t: &Topology, name: &str) -> Report {
    check(t, &rule(name), Traffic::AllPairs)
}

#[test]
fn trees_have_no_cycle() {
    for name in ["star", "dumbbell", "chain", "leaf-spine", "fat-tree"] {
        for r in Rule::NAMES {
            let report = report(&fabric(name, &[]), r);
            assert_eq!(
                (report.verdict, report.cyclic_buffers, report.unrouted),
                (Verdict::CycleFree, 0, 0),
                "{name} {r}"
            );
        }
    }
    // Of a fat-tree's 64 buffers: up to A 16, each on 2 cores and 1 edge; up to C 16, each on 3
    // pods; down to A 16, each on 2 edges.
    let report = report(&fabric("fat-tree", &[]), "all-paths");
    assert_eq!((report.buffers, report.dependencies), (64, 16 * 3 + 16 * 3 + 16 * 2));
}

/// GFC Fig. 1(a): flows of two links round a ring of three switches. By shortest paths alone no
/// flow of a three-switch ring crosses two links, so the cycle takes explicit paths.
#[test]
fn the_three_switch_ring_of_gfc_fig_1() {
    let t = fabric("ring", &[]);
    assert_eq!(report(&t, "all-paths").verdict, Verdict::CycleFree);
    let mut paths = ExplicitPaths::default();
    let flow = |paths: &mut ExplicitPaths, names: &[&str]| {
        let path = paths.add(&t, names).unwrap();
        let nodes = paths.nodes(path);
        Flow {
            key: FlowKey { src: nodes[0], dst: nodes[4], src_port: 1, dst_port: 1 },
            path: Some(path),
        }
    };
    let flows = [
        flow(&mut paths, &["H1", "S1", "S2", "S3", "H3"]),
        flow(&mut paths, &["H2", "S2", "S3", "S1", "H1"]),
        flow(&mut paths, &["H3", "S3", "S1", "S2", "H2"]),
    ];
    let r = check(&t, &rule("hashed"), Traffic::Flows { flows: &flows, paths: &paths });
    let cycle = r.cycle.unwrap();
    assert_eq!(cycle.links, ["S1->S2", "S2->S3", "S3->S1"]);
    let flows_named: Vec<_> = cycle.closed_by.iter().map(|c| c.flow.as_str()).collect();
    assert_eq!(flows_named, ["H1->H3", "H2->H1", "H3->H2"]);
    assert_eq!((r.cyclic_components, r.cyclic_buffers, r.dependencies), (1, 3, 3));
    assert_eq!(
        check(&t, &rule("hashed"), Traffic::Flows { flows: &flows[..2], paths: &paths }).verdict,
        Verdict::CycleFree
    );
}

#[test]
fn longer_rings_are_cyclic_under_shortest_paths_and_not_under_up_down() {
    for n in ["4", "5", "8"] {
        let t = fabric("ring", &[("switches", n)]);
        let r = report(&t, "all-paths");
        let length: usize = n.parse().unwrap();
        assert_eq!(r.cycle.as_ref().unwrap().links.len(), length);
        // One cycle each way round.
        assert_eq!((r.cyclic_components, r.cyclic_buffers), (2, 2 * length));
        assert_eq!(report(&t, "up-down").verdict, Verdict::CycleFree);
    }
}

#[test]
fn a_routing_loop_is_a_cycle_of_one_flow() {
    let t = fabric("ring", &[]);
    let mut paths = ExplicitPaths::default();
    let path = Some(paths.add_loop(&t, &["H1", "S1", "S2", "S3", "S1"]).unwrap());
    let key = FlowKey {
        src: t.find("H1").unwrap(),
        dst: t.find("H3").unwrap(),
        src_port: 1,
        dst_port: 1,
    };
    let r =
        check(&t, &rule("hashed"), Traffic::Flows { flows: &[Flow { key, path }], paths: &paths });
    let cycle = r.cycle.unwrap();
    assert_eq!(cycle.links, ["S1->S2", "S2->S3", "S3->S1"]);
    assert!(cycle.closed_by.iter().all(|c| c.flow == "H1->H3"));
}

#[test]
fn gfc_fig_11_has_exactly_the_cycle_of_the_paper() {
    let t = gfc_fig11::topology();
    let (flows, paths) = gfc_fig11::flows(&t);
    let r = check(&t, &rule("hashed"), Traffic::Flows { flows: &flows, paths: &paths });
    assert_eq!((r.cyclic_components, r.cyclic_buffers), (1, 4));
    let cycle = r.cycle.unwrap();
    let mut want = gfc_fig11::CYCLE.to_vec();
    let first = want.iter().position(|l| *l == cycle.links[0]).unwrap();
    want.rotate_left(first);
    assert_eq!(cycle.links, want);
    // Every path is a shortest one, hop by hop; the victim's is the only one.
    let routes = xoff_net::topology::Routes::build(&t, Paths::Shortest, Order::AscendingPort);
    let next = |from: NodeId, dst: NodeId| -> Vec<NodeId> {
        routes
            .candidates(from, dst)
            .iter()
            .map(|&p| t.nodes[from.index()].ports[p as usize].peer)
            .collect()
    };
    for names in gfc_fig11::PATHS.iter().chain([&gfc_fig11::VICTIM_PATH]) {
        let nodes: Vec<NodeId> = names.iter().map(|n| t.find(n).unwrap()).collect();
        for w in nodes.windows(2) {
            assert!(next(w[0], nodes[nodes.len() - 1]).contains(&w[1]), "{names:?}");
        }
    }
    let victim: Vec<NodeId> = gfc_fig11::VICTIM_PATH.iter().map(|n| t.find(n).unwrap()).collect();
    assert!(victim.windows(2).all(|w| next(w[0], victim[4]) == [w[1]]));
    assert_eq!(gfc_fig11::VICTIM_PATH[1..3], gfc_fig11::PATHS[0][1..3]);
    assert!(
        !gfc_fig11::CYCLE.iter().any(|l| gfc_fig11::VICTIM_PATH
            .windows(2)
            .any(|w| *l == format!("{}->{}", w[0], w[1])))
    );
    // Two flows on every link of the cycle.
    for link in gfc_fig11::CYCLE {
        assert_eq!(
            gfc_fig11::PATHS
                .iter()
                .filter(|p| p.windows(2).any(|w| link == format!("{}->{}", w[0], w[1])))
                .count(),
            2,
            "{link}"
        );
    }
}

/// All shortest paths from one host to another, as names.
fn all_shortest(
    t: &Topology,
    routes: &xoff_net::topology::Routes,
    from: NodeId,
    to: NodeId,
) -> Vec<Vec<NodeId>> {
    if from == to {
        return vec![vec![to]];
    }
    let peers =
        routes.candidates(from, to).iter().map(|&p| t.nodes[from.index()].ports[p as usize].peer);
    peers
        .flat_map(|p| all_shortest(t, routes, p, to))
        .map(|mut path| {
            path.insert(0, from);
            path
        })
        .collect()
}

#[test]
fn only_four_sets_of_three_failures_give_gfc_fig_11() {
    let mut t = fabric("fat-tree", &[]);
    let at: Vec<NodeId> = ["C1", "A3", "C2", "A7"].iter().map(|n| t.find(n).unwrap()).collect();
    let corners: Vec<[NodeId; 3]> =
        (0..4).map(|i| [at[i], at[(i + 1) % 4], at[(i + 2) % 4]]).collect();
    let ends: Vec<(NodeId, NodeId)> = gfc_fig11::PATHS
        .iter()
        .map(|p| (t.find(p[0]).unwrap(), t.find(p[p.len() - 1]).unwrap()))
        .collect();
    let fabric_links: Vec<LinkId> = (16..48).collect();
    let mut found = Vec::new();
    for (i, &a) in fabric_links.iter().enumerate() {
        for (j, &b) in fabric_links.iter().enumerate().skip(i + 1) {
            for &c in &fabric_links[j + 1..] {
                [a, b, c].iter().for_each(|&l| t.links[l as usize].up = false);
                let routes =
                    xoff_net::topology::Routes::build(&t, Paths::Shortest, Order::AscendingPort);
                let paths: Vec<_> =
                    ends.iter().map(|&(s, d)| all_shortest(&t, &routes, s, d)).collect();
                // Bits of the corners that a path turns; a combination of paths closes the cycle
                // when all four are set.
                let turned = |p: &Vec<NodeId>| {
                    (0..4)
                        .filter(|&i| p.windows(3).any(|w| w == corners[i]))
                        .fold(0u8, |m, i| m | 1 << i)
                };
                let masks: Vec<Vec<u8>> =
                    paths.iter().map(|ps| ps.iter().map(turned).collect()).collect();
                let mut sums = vec![0u8];
                for m in &masks {
                    sums = sums.iter().flat_map(|s| m.iter().map(move |x| s | x)).collect();
                }
                let closing = sums.iter().filter(|s| **s == 0b1111).count();
                if closing > 0 {
                    let mut names: Vec<String> =
                        [a, b, c].iter().map(|&l| link_name(&t, l)).collect();
                    names.sort();
                    found.push((names.join(" "), closing, sums.len()));
                }
                [a, b, c].iter().for_each(|&l| t.links[l as usize].up = true);
            }
        }
    }
    found.sort();
    let sets = ["A1-C1 A5-C2 E1-A2", "A1-C1 A5-C2 E5-A6", "A1-C2 A5-C1 E1-A2", "A1-C2 A5-C1 E5-A6"];
    assert_eq!(found, sets.map(|s| (s.to_owned(), 1, 256)));
}

#[test]
fn one_failure_in_a_leaf_spine() {
    // Two spines: when L1 loses S1, L1 and the others meet at S2 only; nothing turns up again, so
    // no cycle.
    let t = fabric("leaf-spine", &[]);
    let study = fail_any(&t, &rule("all-paths"), Traffic::AllPairs, 1, 1000, 1, &|| true);
    assert_eq!(
        (study.links, study.sets_total, study.sets_checked, study.cyclic_total),
        (8, 8, 8, 0)
    );
    assert!(!study.sampled && study.disconnecting.is_empty());
    // L1 without S1 and L2 without S2: L1-S2-Lx-S1-L2 turns up at L3 and L4. The way back does too,
    // and L3 waits for L4.
    let study = fail_any(&t, &rule("all-paths"), Traffic::AllPairs, 2, 1000, 1, &|| true);
    assert_eq!((study.sets_total, study.sets_checked), (36, 36));
    let sets: Vec<String> = study.cyclic.iter().map(|s| s.links.join(" ")).collect();
    assert_eq!(sets.len(), 12, "{sets:?}");
    assert_eq!(study.disconnecting.len(), 4);
    assert_eq!(study.cyclic[0].links, ["L1-S1", "L2-S2"]);
    assert_eq!(study.cyclic[0].cycle.links.len(), 4);
    assert!(
        fail_any(&t, &rule("up-down"), Traffic::AllPairs, 2, 1000, 1, &|| true).cyclic.is_empty()
    );
}

#[test]
fn failures_of_a_fat_tree_are_sampled_when_many() {
    let t = fabric("fat-tree", &[]);
    let all = fail_any(&t, &rule("all-paths"), Traffic::AllPairs, 2, 1000, 1, &|| true);
    assert_eq!((all.sets_total, all.sets_checked, all.sampled), (32 + 496, 528, false));
    println!(
        "k=4, two failures: {} cyclic sets, {} disconnecting",
        all.cyclic_total,
        all.disconnecting.len()
    );
    let some = fail_any(&t, &rule("all-paths"), Traffic::AllPairs, 2, 100, 1, &|| true);
    assert_eq!((some.sets_total, some.sets_checked, some.sampled), (528, 132, true));
    assert_eq!(some, fail_any(&t, &rule("all-paths"), Traffic::AllPairs, 2, 100, 1, &|| true));
}

#[test]
fn the_cycle_is_a_cycle_of_links_that_its_flows_use() {
    for seed in 0..200 {
        let mut t = fabric("fat-tree", &[]);
        fail_random(&mut t, 0.12, seed, false).unwrap();
        for name in Rule::NAMES {
            let r = report(&t, name);
            assert_eq!(r.verdict == Verdict::Cyclic, is_cyclic(&t, &rule(name), Traffic::AllPairs));
            // Up-down may leave pairs of a connected network without a route.
            assert!(r.unrouted > 0 || is_connected_hosts(&t));
            assert!(r.unrouted == 0 || !is_connected_hosts(&t) || *name == "up-down");
            let Some(cycle) = r.cycle else { continue };
            assert_ne!(*name, "up-down");
            assert_eq!(cycle.links.len(), cycle.closed_by.len());
            for (i, c) in cycle.closed_by.iter().enumerate() {
                assert_eq!(
                    (&c.from, &c.to),
                    (&cycle.links[i], &cycle.links[(i + 1) % cycle.links.len()])
                );
                let steps: Vec<String> =
                    c.path.windows(2).map(|w| format!("{}->{}", w[0], w[1])).collect();
                assert!(steps.windows(2).any(|w| w[0] == c.from && w[1] == c.to), "{c:?}");
                assert_eq!(c.flow, format!("{}->{}", c.path[0], c.path[c.path.len() - 1]));
                let kind = |n: &String| t.nodes[t.find(n).unwrap().index()].kind;
                assert!(
                    kind(&c.path[0]) == NodeKind::Host
                        && c.path[1..c.path.len() - 1].iter().all(|n| kind(n) == NodeKind::Switch)
                );
            }
        }
    }
}

#[test]
fn a_named_failure_changes_the_answer() {
    let mut t = fabric("ring", &[("switches", "4")]);
    assert_eq!(report(&t, "all-paths").verdict, Verdict::Cyclic);
    fail_links(&mut t, &["S1-S2"]).unwrap();
    assert_eq!(report(&t, "all-paths").verdict, Verdict::CycleFree);
    fail_links(&mut t, &["S3-S4"]).unwrap();
    assert_eq!(report(&t, "all-paths").unrouted, 8);
}
