//! The generators on small networks: exact flows, shapes, statistics, independence and refusals.

mod generated;

use std::collections::{BTreeMap, BTreeSet};

use generated::{flows, network, refused, run};
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Flow, Flows, GivenPath, UNLIMITED, generators};
use xoff_units::{NodeId, Rate, Span, Time};

#[test]
fn an_explicit_flow_with_everything() {
    let t = network(2, 2);
    let g = run(
        "flows",
        &t,
        1,
        4,
        &[
            ("src", "H0"),
            ("dst", "H3"),
            ("size", "5GiB"),
            ("start", "3us"),
            ("rate", "1Gbps"),
            ("rate_control", "false"),
            ("priority", "3"),
            ("path", "H0\nE0\nS\nE1\nH3"),
            ("src_port", "7"),
            ("dst_port", "9"),
        ],
    )
    .unwrap();
    let path: Vec<_> = ["H0", "E0", "S", "E1", "H3"].map(|n| t.find(n).unwrap()).into();
    assert_eq!(g.paths, [GivenPath { nodes: path, is_loop: false }]);
    let expected = Flow {
        src: NodeId(0),
        dst: NodeId(3),
        priority: 3,
        size: 5 << 30,
        start: Time::from_us(3),
        rate: Some(Rate::from_gbps(1)),
        controlled: false,
        src_port: 7,
        dst_port: 9,
        path: Some(0),
        label: 4,
    };
    assert_eq!(g.flows, [expected]);
    let circle = run(
        "flows",
        &t,
        1,
        0,
        &[("src", "H0"), ("dst", "H3"), ("path", "H0\nE0\nS\nE0"), ("loop", "true")],
    )
    .unwrap();
    assert!(circle.paths[0].is_loop && circle.paths[0].nodes.len() == 4);
    let plain = flows("flows", &t, &[("src", "H0"), ("dst", "H3")]);
    assert_eq!(
        (plain[0].size, plain[0].rate, plain[0].start, plain[0].path),
        (UNLIMITED, None, Time::ZERO, None)
    );
    assert!(plain[0].controlled);
}

#[test]
fn bad_flows_are_refused_at_their_key() {
    let mut t = network(2, 2);
    let with =
        |extra: &[(&'static str, &'static str)]| [&[("src", "H0"), ("dst", "H3")], extra].concat();
    refused("flows", &t, &[("src", "H0"), ("dst", "h33")], "dst", "did you mean 'H3'");
    refused("flows", &t, &[("src", "gateway"), ("dst", "H3")], "src", "there is no host 'gateway'");
    refused("flows", &t, &[("src", "H0"), ("dst", "H0")], "dst", "from 'H0' to 'H0'");
    refused("flows", &t, &[("src", "S"), ("dst", "H0")], "src", "is a switch");
    refused("flows", &t, &[("dst", "H0")], "src", "missing");
    refused("flows", &t, &with(&[("size", "0B")]), "size", "0 bytes");
    refused("flows", &t, &with(&[("rate", "0Gbps")]), "rate", "rate 0");
    refused("flows", &t, &with(&[("priority", "8")]), "priority", "0 to 7");
    refused("flows", &t, &with(&[("src_port", "65536")]), "src_port", "1 to 65535");
    refused(
        "flows",
        &t,
        &with(&[("path", "H0\nE0\nE1\nH3")]),
        "path",
        "'E0' and 'E1' are not linked",
    );
    refused("flows", &t, &with(&[("path", "E0\nS\nE1")]), "path", "'E0' is a switch");
    refused("flows", &t, &with(&[("path", "H1\nE0\nS\nE1\nH3")]), "path", "from 'H0' to 'H3'");
    refused("flows", &t, &with(&[("path", "H0\nE0\nH1")]), "path", "from 'H0' to 'H3'");
    refused("flows", &t, &with(&[("loop", "true")]), "loop", "there is no path");
    refused(
        "flows",
        &t,
        &with(&[("loop", "true"), ("path", "H0\nE0\nS")]),
        "path",
        "does not close a loop",
    );
    refused("flows", &t, &with(&[("path", "H0\nE0\nSS\nE1\nH3")]), "path", "did you mean 'S'");
    refused(
        "flows",
        &t,
        &with(&[("path", "H0\nE0\nH1\nE0\nS\nE1\nH3")]),
        "path",
        "'H1' is a host, but hosts do not forward",
    );
    let uplink = t.links.iter().position(|l| l.a == t.find("E0").unwrap()).unwrap();
    t.links[uplink].up = false;
    refused("flows", &t, &with(&[("path", "H0\nE0\nS\nE1\nH3")]), "path", "has failed");
    let e = generators::find("poison").unwrap_err();
    assert!(e.to_string().contains("did you mean 'poisson'"), "{e}");
}

#[test]
fn constant_rate_counts_bytes_from_the_duration() {
    let t = network(2, 2);
    let f = flows(
        "constant-rate",
        &t,
        &[("destinations", "H3"), ("rate", "2Gbps"), ("duration", "1ms")],
    );
    assert_eq!(
        f.iter().map(|f| (f.src.0, f.dst.0, f.size, f.rate)).collect::<Vec<_>>(),
        [0, 1, 2].map(|h| (h, 3, 250_000, Some(Rate::from_gbps(2))))
    );
    let pairs = flows(
        "constant-rate",
        &t,
        &[("sources", "H0\nH1"), ("destinations", "H1\nH0"), ("rate", "8kbps")],
    );
    assert_eq!(
        pairs.iter().map(|f| (f.src.0, f.dst.0, f.size)).collect::<Vec<_>>(),
        [(0, 1, UNLIMITED), (1, 0, UNLIMITED)]
    );
    refused("constant-rate", &t, &[("destinations", "H3"), ("rate", "0bps")], "rate", "rate 0");
    refused(
        "constant-rate",
        &t,
        &[("sources", "H0\nH3"), ("destinations", "H3"), ("rate", "1Gbps")],
        "destinations",
        "'H3' would send to 'H3'",
    );
    refused(
        "constant-rate",
        &t,
        &[("destinations", "H3\nH2\nH1"), ("rate", "1Gbps")],
        "destinations",
        "3 destinations for 1 sources",
    );
    refused(
        "constant-rate",
        &t,
        &[("destinations", "H3"), ("rate", "8kbps"), ("duration", "1us")],
        "duration",
        "nothing is sent",
    );
    refused(
        "constant-rate",
        &t,
        &[("destinations", "H3"), ("rate", "8kbps"), ("duration", "1s"), ("size", "1KB")],
        "duration",
        "together with size",
    );
}

#[test]
fn incast_staggers_and_jitters() {
    let t = network(4, 2);
    let f = flows(
        "incast",
        &t,
        &[
            ("receiver", "H1"),
            ("fan_in", "3"),
            ("size", "64KB"),
            ("start", "1us"),
            ("stagger", "10ns"),
        ],
    );
    let expected = [(0, 1_000_000), (2, 1_010_000), (3, 1_020_000)]
        .map(|(src, ps)| (src, 1, 64_000, Time(ps)));
    assert_eq!(f.iter().map(|f| (f.src.0, f.dst.0, f.size, f.start)).collect::<Vec<_>>(), expected);
    let f = flows("incast", &t, &[("receiver", "H1"), ("jitter", "1us")]);
    assert!(f.len() == 7 && f.iter().all(|f| f.start < Time::from_us(1)));
    assert_eq!(f.iter().map(|f| f.start).collect::<BTreeSet<_>>().len(), 7);
    // A host's jitter is its own: with fewer senders the others keep theirs.
    let fewer =
        flows("incast", &t, &[("receiver", "H1"), ("senders", "H7\nH2"), ("jitter", "1us")]);
    assert_eq!((&fewer[0], &fewer[1]), (&f[6], &f[1]));

    let choose = |seed| {
        run("incast", &t, seed, 0, &[("receiver", "H1"), ("fan_in", "3"), ("choice", "random")])
            .unwrap()
            .flows
    };
    let sets: BTreeSet<Vec<NodeId>> =
        (0..200).map(|s| choose(s).iter().map(|f| f.src).collect()).collect();
    assert!(sets.iter().all(|s| s.len() == 3 && !s.contains(&NodeId(1))));
    // 35 sets of 3 out of 7; 200 draws miss a given one with (34/35)^200 = 0.3 %, so fewer than 30
    // seen is out of reach.
    assert!(sets.len() > 30, "{}", sets.len());
    refused(
        "incast",
        &t,
        &[("receiver", "H1"), ("senders", "H0\nH1")],
        "senders",
        "'H1' is among the senders",
    );
    refused("incast", &t, &[("receiver", "H1"), ("senders", "H0\nH0")], "senders", "listed twice");
    refused("incast", &t, &[("receiver", "H1"), ("fan_in", "8")], "fan_in", "7 other hosts");
    refused("incast", &t, &[("receiver", "H1"), ("fan_in", "0")], "fan_in", "0 senders");
}

#[test]
fn permutation_is_a_derangement() {
    for (racks, per_rack) in [(1, 2), (1, 3), (2, 1), (3, 5), (8, 4)] {
        let t = network(racks, per_rack);
        let n = racks * per_rack;
        for seed in 0..20 {
            let f = run("permutation", &t, seed, 0, &[("size", "1MB")]).unwrap().flows;
            assert_eq!(
                f.iter().map(|f| f.src).collect::<Vec<_>>(),
                (0..n).map(NodeId).collect::<Vec<_>>()
            );
            assert_eq!(f.iter().map(|f| f.dst).collect::<BTreeSet<_>>().len() as u32, n);
            assert!(f.iter().all(|f| f.src != f.dst));
            if racks > 1 {
                let f =
                    run("permutation", &t, seed, 0, &[("different_rack", "true")]).unwrap().flows;
                assert_eq!(f.iter().map(|f| f.dst).collect::<BTreeSet<_>>().len() as u32, n);
                assert!(f.iter().all(|f| f.src.0 / per_rack != f.dst.0 / per_rack));
            }
        }
    }
    refused(
        "permutation",
        &network(1, 4),
        &[("different_rack", "true")],
        "different_rack",
        "one rack",
    );
    refused(
        "permutation",
        &network(2, 4),
        &[("different_rack", "true"), ("hosts", "H0\nH1\nH4")],
        "different_rack",
        "one rack",
    );
    refused("permutation", &network(2, 4), &[("hosts", "H0")], "hosts", "fewer than two");
}

#[test]
fn permutation_destinations_are_about_equally_likely() {
    // Destination of H0 over 3,000 seeds, 12 candidates of other racks, 250 each: chi-squared with
    // 11 degrees of freedom exceeds 31.26 once in 1,000 choices of the seeds.
    let t = network(4, 4);
    let mut seen = BTreeMap::new();
    for seed in 0..3000 {
        let f = run("permutation", &t, seed, 0, &[("different_rack", "true")]).unwrap().flows;
        *seen.entry(f[0].dst).or_insert(0.0) += 1.0;
    }
    let chi2: f64 = seen.values().map(|s: &f64| (s - 250.0) * (s - 250.0) / 250.0).sum();
    assert!(seen.len() == 12 && chi2 < 31.26, "{chi2} {seen:?}");
}

#[test]
fn poisson_offers_the_load() {
    let t = network(2, 4);
    let given = [("load", "0.4"), ("duration", "2s"), ("size", "100KB")];
    let f = flows("poisson", &t, &given);
    // 0.4 x 10 Gb/s / 800 kbit = 5,000 flows/s and host: 80,000 expected, standard deviation 283; 4
    // of them.
    assert!((f.len() as f64 - 80_000.0).abs() < 4.0 * 283.0, "{}", f.len());
    // Destination of H0: 7 others, about 1,430 each; chi-squared, 6 degrees of freedom, 22.46 once
    // in 1,000 seeds.
    let mut to = [0.0; 8];
    let of_h0: Vec<_> = f.iter().filter(|f| f.src == NodeId(0)).collect();
    of_h0.iter().for_each(|f| to[f.dst.index()] += 1.0);
    let each = of_h0.len() as f64 / 7.0;
    let chi2: f64 = to[1..].iter().map(|s| (s - each) * (s - each) / each).sum();
    assert!(to[0] == 0.0 && chi2 < 22.46, "{chi2} {to:?}");
    // Gaps of H0 are exponential: the share above the mean is 1/e, standard deviation sqrt(p (1-p)
    // / n) = 0.0048.
    let long = of_h0.windows(2).filter(|w| w[1].start - w[0].start > Span::from_us(200)).count()
        as f64
        / of_h0.len() as f64;
    assert!((long - (-1f64).exp()).abs() < 4.0 * 0.0048, "{long}");
    assert!(f.iter().all(|f| f.start < Time(2_000_000_000_000) && f.size == 100_000));
}

#[test]
fn poisson_draws_are_pinned() {
    let f = flows(
        "poisson",
        &network(2, 2),
        &[("load", "0.5"), ("duration", "20ms"), ("cdf", "websearch"), ("start", "2s")],
    );
    let first: Vec<_> = f.iter().take(3).map(|f| (f.src.0, f.dst.0, f.size, f.start.0)).collect();
    // Computed independently of this crate, from the documented streams.
    let expected = vec![
        (0, 2, 4_855_525, 2_000_431_575_055),
        (0, 3, 375_549, 2_001_788_112_782),
        (0, 3, 3_089_474, 2_005_492_040_347),
    ];
    assert_eq!((f.len(), first), (38, expected));
}

#[test]
fn a_cap_or_another_load_moves_only_what_it_must() {
    let t = network(2, 4);
    let base =
        flows("poisson", &t, &[("load", "0.5"), ("duration", "100ms"), ("cdf", "websearch")]);
    let other = flows(
        "poisson",
        &t,
        &[("load", "0.25"), ("duration", "200ms"), ("cdf", "websearch"), ("start", "1ms")],
    );
    let key = |f: &Flow| (f.src, f.dst, f.size);
    assert_eq!(base.iter().map(key).collect::<Vec<_>>(), other.iter().map(key).collect::<Vec<_>>());
    // Half the load is exactly twice the gap, up to the rounding of each gap to a picosecond.
    let twice = base
        .iter()
        .zip(&other)
        .all(|(a, b)| (2 * a.start.0).abs_diff(b.start.0 - 1_000_000_000) <= 2 * base.len() as u64);
    assert!(twice);
}

#[test]
fn adding_a_host_changes_no_others_draws() {
    let (small, large) = (network(2, 4), network(3, 4));
    // Arrivals and sizes of H0 to H7 stay; destinations must change, for there are more of them.
    let own = |t: &Topology| {
        let f = flows("poisson", t, &[("load", "0.5"), ("duration", "50ms"), ("cdf", "websearch")]);
        f.into_iter()
            .filter(|f| f.src < NodeId(8))
            .map(|f| (f.src, f.size, f.start))
            .collect::<Vec<_>>()
    };
    assert_eq!(own(&small), own(&large));
    let to = |t: &Topology| {
        let f = flows("poisson", t, &[("load", "0.5"), ("duration", "50ms"), ("cdf", "websearch")]);
        f.into_iter()
            .filter(|f| f.src < NodeId(8))
            .map(|f| t.name(f.dst).to_owned())
            .collect::<Vec<_>>()
    };
    let moved = to(&small).iter().zip(to(&large)).filter(|(a, b)| *a != b).count() as f64
        / to(&small).len() as f64;
    assert!(moved > 0.3, "{moved}: each comes of the same draw, among more");
    // Where the receivers are named, adding a host moves none of them.
    let receivers = [
        ("load", "0.5"),
        ("duration", "50ms"),
        ("cdf", "websearch"),
        ("different_rack", "false"),
        ("destinations", "H1\nH2\nH3"),
    ];
    let to_named = |t: &Topology| {
        let f = flows("poisson", t, &receivers);
        f.into_iter()
            .filter(|f| f.src < NodeId(8))
            .map(|f| (f.src, f.dst, f.size, f.start))
            .collect::<Vec<_>>()
    };
    assert_eq!(to_named(&small), to_named(&large));
    // With the same participants nothing changes at all, even when nodes are renumbered.
    let hosts = ("hosts", "H0\nH1\nH2\nH3\nH4");
    let mut renumbered = Topology::default();
    renumbered.add_node("X", NodeKind::Switch, 1, 0);
    for i in 0..5 {
        let h = renumbered.add_node(format!("H{i}"), NodeKind::Host, 0, 0);
        renumbered.add_link(NodeId(0), h, Rate::from_gbps(10), Span::from_us(1));
    }
    let named = |t: &Topology| {
        let f = flows(
            "poisson",
            t,
            &[("load", "0.5"), ("duration", "50ms"), ("cdf", "websearch"), hosts],
        );
        f.into_iter()
            .map(|f| (t.name(f.src).to_owned(), t.name(f.dst).to_owned(), f.size, f.start))
            .collect::<Vec<_>>()
    };
    assert_eq!(named(&small), named(&large));
    assert_eq!(named(&small), named(&renumbered));
}

#[test]
fn poisson_refusals_and_notes() {
    let mut t = network(2, 2);
    let base = [("load", "0.5"), ("duration", "1ms")];
    let with = |extra: &[(&'static str, &'static str)]| [&base[..], extra].concat();
    refused("poisson", &t, &base, "cdf", "missing");
    refused(
        "poisson",
        &t,
        &with(&[("cdf", "websearch"), ("size", "1KB")]),
        "size",
        "together with cdf",
    );
    refused("poisson", &t, &with(&[("cdf", "nosuch")]), "cdf", "unknown distribution");
    refused("poisson", &t, &with(&[("size", "0B")]), "size", "0 bytes");
    refused("poisson", &t, &with(&[("size", "1KB"), ("size_max", "0B")]), "size_max", "0 bytes");
    refused("poisson", &t, &with(&[("size", "1KB"), ("load", "0")]), "load", "above 0");
    refused("poisson", &t, &with(&[("size", "1KB"), ("duration", "0s")]), "duration", "above 0");
    refused(
        "poisson",
        &t,
        &with(&[("size", "1B"), ("duration", "100s")]),
        "duration",
        "million flows",
    );
    let notes = run("poisson", &t, 1, 0, &with(&[("size", "1MB"), ("load", "1.5")])).unwrap().notes;
    assert!(notes.len() == 1 && notes[0].contains("load 1.5"), "{notes:?}");
    t.links[0].up = false;
    let g = run("poisson", &t, 1, 0, &with(&[("size", "10KB")])).unwrap();
    assert_eq!(g.notes, ["xoff leaves out hosts without a working link: H0"]);
    assert!(g.flows.iter().all(|f| f.src != NodeId(0) && f.dst != NodeId(0)));
    refused(
        "poisson",
        &t,
        &with(&[("size", "10KB"), ("hosts", "H0\nH1")]),
        "hosts",
        "'H0' has no working link",
    );
}

#[test]
fn closed_loop_is_a_pure_function() {
    let t = network(2, 2);
    let g = run(
        "closed-loop",
        &t,
        7,
        0,
        &[("cdf", "websearch"), ("concurrency", "2"), ("stop", "1ms")],
    )
    .unwrap();
    let c = g.closed_loop.unwrap();
    assert!(g.flows.is_empty() && c.has(NodeId(3)) && !c.has(NodeId(4)));
    // From the independent ChaCha8: the destination is the second draw of the block, H2 or H3.
    let expected = [(0, (2, 60_355)), (1, (3, 10_683)), (2, (3, 23_498)), (1000, (3, 33_552))];
    for (nth, flow) in expected.into_iter().rev() {
        let (to, size) = c.next(NodeId(0), nth);
        assert_eq!((to.0, size), flow);
    }
    let first: Vec<_> = c.initial().map(|f| (f.src.0, f.src_port, f.start)).collect();
    assert_eq!(
        first,
        (0..4).flat_map(|h| [(h, 10_000, Time::ZERO), (h, 10_001, Time::ZERO)]).collect::<Vec<_>>()
    );
    let next = c.flow(NodeId(0), 2, Time::from_us(5)).unwrap();
    assert_eq!((next.dst.0, next.size, next.start, next.label), (3, 23_498, Time::from_us(5), 0));
    assert_eq!(c.flow(NodeId(0), 3, Time::from_us(1000)), None);
}

#[test]
fn closed_loop_destinations_are_uniform_over_other_racks() {
    let t = network(4, 4);
    let c = run("closed-loop", &t, 3, 0, &[("size", "1KB")]).unwrap().closed_loop.unwrap();
    // 12 candidates, 1,000 each: chi-squared with 11 degrees of freedom exceeds 31.26 once in 1,000
    // seeds.
    let mut to = [0.0; 16];
    (0..12_000).for_each(|nth| to[(c.next(NodeId(6), nth).0).index()] += 1.0);
    assert_eq!(to[4..8], [0.0; 4]);
    let chi2: f64 = to.iter().filter(|s| **s > 0.0).map(|s| (s - 1e3) * (s - 1e3) / 1e3).sum();
    assert!(chi2 < 31.26, "{chi2} {to:?}");
    refused(
        "closed-loop",
        &network(1, 4),
        &[("size", "1KB")],
        "different_rack",
        "different_rack = false",
    );
    refused("closed-loop", &t, &[("size", "1KB"), ("concurrency", "0")], "concurrency", "1 to");
    refused("closed-loop", &t, &[("size", "1KB"), ("stop", "0s")], "stop", "not after the start");
    let any =
        run("closed-loop", &network(1, 4), 3, 0, &[("size", "1KB"), ("different_rack", "false")])
            .unwrap()
            .closed_loop
            .unwrap();
    let to: BTreeSet<_> = (0..100).map(|nth| any.next(NodeId(2), nth).0).collect();
    assert_eq!(to, BTreeSet::from([0, 1, 3].map(NodeId)));
}

#[test]
fn flows_of_a_run_are_sorted_and_numbered() {
    let t = network(2, 2);
    let one = |start: &str, path: &str| {
        run("flows", &t, 1, 0, &[("src", "H0"), ("dst", "H1"), ("start", start), ("path", path)])
            .unwrap()
    };
    let mut noted = one("1us", "H0\nE0\nH1");
    noted.notes.push("careful".into());
    let all = Flows::new(
        &t,
        vec!["a".into(), "b".into(), "c".into()],
        vec![one("2us", "H0\nE0\nH1"), noted, one("1us", "")],
    )
    .unwrap();
    let got: Vec<_> = all.flows.iter().map(|f| (f.start.0, f.src_port, f.path)).collect();
    // Ports count in the order given, flows are in order of time and, within a time, as given.
    assert_eq!(
        got,
        [(1_000_000, 10_001, Some(1)), (1_000_000, 10_002, None), (2_000_000, 10_000, Some(0))]
    );
    assert_eq!(
        (all.paths.len(), all.paths.hops(1).len(), all.notes),
        (2, 2, vec!["b: careful".to_owned()])
    );
}
