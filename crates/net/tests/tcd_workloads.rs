//! Traffic of the TCD paper (SIGCOMM'21): synchronous bursts, a number of flows, MPI and I/O
//! messages.

mod generated;

use std::collections::{BTreeMap, BTreeSet};

use generated::{flows, network, refused, run};
use xoff_net::topology::builders::{fat_tree, tcd_fig2};
use xoff_net::workload::{Flow, Flows};
use xoff_units::params::Defaults;
use xoff_units::{NodeId, Rate, Span, Time};

/// Whether a binomial count of `n` draws of probability `p` is within 4 standard deviations, as all
/// but 1 in 16,000 do.
#[track_caller]
fn binomial(count: usize, n: usize, p: f64) {
    let (mean, deviation) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    assert!(
        (count as f64 - mean).abs() < 4.0 * deviation,
        "{count} of {n}, expected {mean} +- {deviation}"
    );
}

#[test]
fn sixteen_rounds_of_bursts_fill_three_milliseconds() {
    let t = tcd_fig2::build(&mut Defaults::of(tcd_fig2::PARAMS)).unwrap();
    let names: Vec<String> = (0..15).map(|i| format!("A{i}")).collect();
    let sources = names.join("\n");
    let base =
        [("sources", sources.as_str()), ("destinations", "R1"), ("size", "64KB"), ("gap", "192us")];
    let f = flows("bursts", &t, &[&base[..], &[("duration", "3ms"), ("start", "5us")]].concat());
    // Rounds begin at 0, 192, ..., 2880 us; the 17th would at 3072 us.
    assert_eq!(f.len(), 16 * 15);
    let (r1, a0) = (t.find("R1").unwrap(), t.find("A0").unwrap());
    for (i, flow) in f.iter().enumerate() {
        let (round, sender) = (i as u64 / 15, i as u32 % 15);
        assert_eq!(
            (flow.src, flow.dst, flow.size, flow.start),
            (a0 + sender, r1, 64_000, Time::from_us(5 + 192 * round))
        );
    }
    let count = |more: &[(&str, &str)]| flows("bursts", &t, &[&base[..], more].concat()).len() / 15;
    // A number of rounds, whichever end comes first, and an end that a round would begin at.
    assert_eq!(count(&[("rounds", "7")]), 7);
    assert_eq!(
        (
            count(&[("rounds", "7"), ("duration", "500us")]),
            count(&[("rounds", "2"), ("duration", "500us")])
        ),
        (3, 2)
    );
    assert_eq!((count(&[("duration", "384us")]), count(&[("duration", "384001ns")])), (2, 3));
}

#[test]
fn exponential_rounds_are_common_and_sizes_are_not() {
    let t = network(2, 4);
    let given = |sources: &'static str| {
        [
            ("sources", sources),
            ("destinations", "H7"),
            ("cdf", "websearch"),
            ("gap", "1ms"),
            ("gaps", "exponential"),
            ("rounds", "4000"),
        ]
    };
    let f = flows("bursts", &t, &given("H0\nH1\nH2"));
    assert_eq!(f.len(), 12_000);
    for round in f.chunks(3) {
        assert!(round.iter().all(|flow| flow.start == round[0].start));
    }
    // Mean of 4,000 gaps of 1 ms: standard deviation 1/sqrt(4000) ms; and the share above the mean
    // is 1/e.
    let starts: Vec<Time> = f.iter().step_by(3).map(|flow| flow.start).collect();
    let mean = starts[3999].0 as f64 / 4000.0 / 1e9;
    assert!((mean - 1.0).abs() < 4.0 / 4000f64.sqrt(), "{mean}");
    let long = starts.windows(2).filter(|w| w[1] - w[0] > Span::from_ms(1)).count();
    binomial(long, 3999, (-1f64).exp());
    // Sizes are drawn sender by sender: two agree in a few short flows only.
    let sizes = |f: &[Flow], src: NodeId| {
        f.iter().filter(|flow| flow.src == src).map(|flow| flow.size).collect::<Vec<_>>()
    };
    let same =
        sizes(&f, NodeId(0)).iter().zip(sizes(&f, NodeId(1))).filter(|(a, b)| **a == *b).count();
    assert!(same < 10, "{same}");
    // Another set of senders: those who stay keep sizes and times.
    let fewer = flows("bursts", &t, &given("H2\nH5"));
    assert_eq!(sizes(&fewer, NodeId(2)), sizes(&f, NodeId(2)));
    assert_eq!(fewer.iter().step_by(2).map(|flow| flow.start).collect::<Vec<_>>(), starts);
    // Another workload of the run draws apart.
    assert_ne!(run("bursts", &t, 1, 1, &given("H0\nH1\nH2")).unwrap().flows[0].start, f[0].start);
}

#[test]
fn every_source_of_bursts_may_have_its_own_destination() {
    let t = network(2, 2);
    let f = flows(
        "bursts",
        &t,
        &[
            ("sources", "H0\nH1"),
            ("destinations", "H3\nH2"),
            ("size", "1KB"),
            ("gap", "1us"),
            ("rounds", "2"),
        ],
    );
    let got: Vec<_> = f.iter().map(|f| (f.src.0, f.dst.0, f.start.0)).collect();
    assert_eq!(got, [(0, 3, 0), (1, 2, 0), (0, 3, 1_000_000), (1, 2, 1_000_000)]);
    // Without sources, all the others.
    let f = flows(
        "bursts",
        &t,
        &[("destinations", "H2"), ("size", "1KB"), ("gap", "1us"), ("rounds", "1")],
    );
    assert_eq!(f.iter().map(|f| f.src.0).collect::<Vec<_>>(), [0, 1, 3]);
}

#[test]
fn bad_bursts_are_refused_at_their_key() {
    let t = network(2, 2);
    let base = [("destinations", "H3"), ("size", "1KB"), ("gap", "1us"), ("rounds", "2")];
    let with = |extra: &[(&'static str, &'static str)]| [&base[..], extra].concat();
    refused("bursts", &t, &with(&[("gap", "0us")]), "gap", "above 0");
    refused("bursts", &t, &with(&[("rounds", "0")]), "rounds", "above 0");
    refused("bursts", &t, &with(&[("duration", "0us")]), "duration", "above 0");
    refused("bursts", &t, &base[..3], "duration", "give a duration, rounds, or both");
    refused("bursts", &t, &with(&[("rounds", "99999999")]), "rounds", "million flows");
    refused("bursts", &t, &with(&[("cdf", "websearch")]), "size", "together with cdf");
    refused(
        "bursts",
        &t,
        &with(&[("sources", "H0\nH3")]),
        "destinations",
        "'H3' would send to 'H3'",
    );
    refused("bursts", &t, &with(&[("sources", "H0\nH9")]), "sources", "there is no host 'H9'");
    refused(
        "bursts",
        &t,
        &with(&[("destinations", "H3\nH2\nH1")]),
        "destinations",
        "3 destinations for 1 sources",
    );
}

/// TCD section 5.2.1: 250 hosts, 60 % load, 40 thousand flows.
#[test]
fn a_number_of_flows_ends_poisson_arrivals() {
    let t =
        fat_tree::build(&mut Defaults::of(fat_tree::PARAMS).with("k", "10").with("rate", "40Gbps"))
            .unwrap();
    let base = [("load", "0.6"), ("cdf", "websearch")];
    let f = flows("poisson", &t, &[&base[..], &[("flows", "40000")]].concat());
    assert_eq!(f.len(), 40_000);
    // 250 hosts of 40 Gb/s at 60 %: the last of 40,000 starts after 40,000 x 1,711,250 x 8 bit / 6
    // Tb/s; standard deviation 1/sqrt(n).
    let last = f.iter().map(|f| f.start).max().unwrap().as_secs_f64();
    let expected = 40_000.0 * 1_711_250.0 * 8.0 / (250.0 * 40e9 * 0.6);
    assert!((last / expected - 1.0).abs() < 4.0 / 200.0, "{last} {expected}");
    // They are the first 40,000 of a longer run, nothing else has moved.
    let mut longer = flows("poisson", &t, &[&base[..], &[("duration", "150ms")]].concat());
    assert!(longer.len() > 60_000);
    longer.sort_by_key(|f| f.start);
    longer.truncate(40_000);
    let mut sorted = f.clone();
    sorted.sort_by_key(|f| f.start);
    assert!(longer == sorted);
    // Whichever end comes first.
    let both = |duration, n| {
        flows("poisson", &t, &[&base[..], &[("duration", duration), ("flows", n)]].concat())
    };
    assert_eq!(both("150ms", "40000"), f);
    assert_eq!(
        both("1ms", "40000"),
        flows("poisson", &t, &[&base[..], &[("duration", "1ms")]].concat())
    );
    refused("poisson", &t, &base, "duration", "give a duration, flows, or both");
    refused(
        "poisson",
        &t,
        &[("load", "0.6"), ("cdf", "websearch"), ("flows", "0")],
        "flows",
        "above 0",
    );
    refused(
        "poisson",
        &t,
        &[("load", "0.6"), ("cdf", "websearch"), ("flows", "100000001")],
        "flows",
        "million flows",
    );
}

#[test]
fn poisson_may_go_to_a_list_of_hosts() {
    let t = network(2, 4);
    let base = [("load", "0.5"), ("cdf", "websearch"), ("duration", "100ms")];
    let with = |extra: &[(&'static str, &'static str)]| [&base[..], extra].concat();
    // Times and sizes are the host's own.
    let key = |f: &Flow| (f.src, f.start, f.size);
    let all: Vec<_> =
        flows("poisson", &t, &base).iter().filter(|f| f.src < NodeId(2)).map(key).collect();
    let f = flows("poisson", &t, &with(&[("hosts", "H0\nH1"), ("destinations", "H6")]));
    assert!(f.iter().all(|f| f.dst == NodeId(6)));
    assert_eq!(f.iter().map(key).collect::<Vec<_>>(), all);
    // Several: equally likely; a sender among them leaves itself out. Without `hosts` all the
    // others send.
    let f = flows(
        "poisson",
        &t,
        &with(&[("hosts", "H0\nH6"), ("destinations", "H5\nH6\nH7"), ("duration", "2s")]),
    );
    let to = |src: NodeId, dst: NodeId| f.iter().filter(|f| f.src == src && f.dst == dst).count();
    binomial(
        to(NodeId(0), NodeId(6)),
        to(NodeId(0), NodeId(5)) + to(NodeId(0), NodeId(6)) + to(NodeId(0), NodeId(7)),
        1.0 / 3.0,
    );
    binomial(to(NodeId(6), NodeId(5)), to(NodeId(6), NodeId(5)) + to(NodeId(6), NodeId(7)), 0.5);
    assert_eq!(to(NodeId(6), NodeId(6)), 0);
    let sources: BTreeSet<NodeId> =
        flows("poisson", &t, &with(&[("destinations", "H5\nH6")])).iter().map(|f| f.src).collect();
    assert_eq!(sources, BTreeSet::from([0, 1, 2, 3, 4, 7].map(NodeId)));
    let racks = flows(
        "poisson",
        &t,
        &with(&[("hosts", "H0\nH4"), ("destinations", "H1\nH5"), ("different_rack", "true")]),
    );
    assert!(
        racks.iter().all(|f| (f.src, f.dst) == (NodeId(0), NodeId(5))
            || (f.src, f.dst) == (NodeId(4), NodeId(1)))
    );
    refused(
        "poisson",
        &t,
        &with(&[("hosts", "H6"), ("destinations", "H6")]),
        "destinations",
        "'H6' would have no destination",
    );
    let one = with(&[("hosts", "H0"), ("destinations", "H1"), ("different_rack", "true")]);
    refused("poisson", &t, &one, "destinations", "'H0' would have no destination");
    refused(
        "poisson",
        &t,
        &with(&[("destinations", "H0\nH1\nH2\nH3\nH4\nH5\nH6\nH7")]),
        "hosts",
        "no host can send",
    );
}

const KIB: u64 = 1024;

fn is_io(f: &Flow) -> bool {
    f.size >= 512 * KIB
}

/// TCD section 5.2.2: 128 racks of 8 hosts, 80 thousand messages.
#[test]
fn mpi_and_io_have_the_shares_of_the_paper() {
    let t = network(128, 8);
    let given = [("load", "0.6"), ("messages", "80000")];
    let f = flows("mpi-io", &t, &given);
    assert_eq!(f.len(), 80_000);
    let io: Vec<&Flow> = f.iter().filter(|f| is_io(f)).collect();
    let mpi: Vec<&Flow> = f.iter().filter(|f| !is_io(f)).collect();
    binomial(io.len(), f.len(), 0.1);
    // Four servers a rack; 8,000 messages to 512 servers miss one with 512 exp(-15.6) = 1e-4.
    let servers: BTreeSet<NodeId> = io.iter().map(|f| f.dst).collect();
    let mut per_rack = BTreeMap::new();
    servers.iter().for_each(|s| *per_rack.entry(s.0 / 8).or_insert(0) += 1);
    assert!(per_rack.len() == 128 && per_rack.values().all(|n| *n == 4), "{per_rack:?}");
    // A quarter of the hosts are clients, a quarter does MPI with itself.
    let clients: BTreeSet<NodeId> = io.iter().map(|f| f.src).collect();
    let (from, to): (BTreeSet<NodeId>, BTreeSet<NodeId>) =
        (mpi.iter().map(|f| f.src).collect(), mpi.iter().map(|f| f.dst).collect());
    assert_eq!((clients.len(), from.len(), from == to), (256, 256, true));
    assert!(
        clients.is_disjoint(&servers) && from.is_disjoint(&servers) && from.is_disjoint(&clients)
    );
    assert!(mpi.iter().all(|f| f.src != f.dst));
    // Sizes: each of four; powers of two with 16/31 for the smallest.
    for size in [512, 1024, 2048, 4096] {
        binomial(io.iter().filter(|f| f.size == size * KIB).count(), io.len(), 0.25);
    }
    for (i, size) in [2, 4, 8, 16, 32].into_iter().enumerate() {
        let count = mpi.iter().filter(|f| f.size == size * KIB).count();
        binomial(count, mpi.len(), 16.0 / 31.0 / f64::from(1 << i));
        assert!(i > 0 || count * 2 > mpi.len());
    }
    // The draws are those of the seed; another seed chooses others.
    assert!(f == flows("mpi-io", &t, &given));
    let other: BTreeSet<NodeId> = run("mpi-io", &t, 2, 0, &given)
        .unwrap()
        .flows
        .iter()
        .filter(|f| is_io(f))
        .map(|f| f.dst)
        .collect();
    assert_ne!(other, servers);
    // Messages of a pair share their ports.
    assert!(f.iter().all(|f| (f.src_port, f.dst_port) == (10_000, 100)));
}

#[test]
fn the_load_is_that_of_the_busiest_client() {
    // An I/O client sends 0.6 x 10 Gb/s in messages of 1,966,080 B on the average; there are 8 of
    // them, with one message in ten.
    let t = network(4, 8);
    let f = flows("mpi-io", &t, &[("load", "0.6"), ("duration", "2s")]);
    let expected = 0.6 * 10e9 / (8.0 * 1_966_080.0) * 8.0 / 0.1 * 2.0;
    assert!((f.len() as f64 - expected).abs() < 4.0 * expected.sqrt(), "{} {expected}", f.len());
    binomial(f.iter().filter(|f| is_io(f)).count(), f.len(), 0.1);
    // Without I/O it is that of every host: 10 Gb/s x 0.01 in messages of 160/31 KiB.
    let f = flows("mpi-io", &t, &[("load", "0.01"), ("duration", "100ms"), ("io_share", "0")]);
    let expected = 0.01 * 10e9 / (8.0 * 160.0 / 31.0 * 1024.0) * 32.0 * 0.1;
    assert!((f.len() as f64 - expected).abs() < 4.0 * expected.sqrt(), "{} {expected}", f.len());
    assert_eq!(f.iter().map(|f| f.src).collect::<BTreeSet<_>>().len(), 32);
}

/// On the network of Fig. 2: S0 sends both kinds to R0, by name.
#[test]
fn named_hosts_take_the_place_of_the_draw() {
    let t =
        tcd_fig2::build(&mut Defaults::of(tcd_fig2::PARAMS).with("sender_rate", "20Gbps")).unwrap();
    let base = [("load", "0.4"), ("messages", "20000"), ("io_servers", "R0"), ("io_clients", "S0")];
    let f =
        flows("mpi-io", &t, &[&base[..], &[("mpi_clients", "S0"), ("mpi_servers", "R0")]].concat());
    let (s0, r0) = (t.find("S0").unwrap(), t.find("R0").unwrap());
    assert!(f.len() == 20_000 && f.iter().all(|f| (f.src, f.dst) == (s0, r0)));
    binomial(f.iter().filter(|f| is_io(f)).count(), f.len(), 0.1);
    // The load counts both kinds on the one link of 20 Gb/s.
    let mean = 0.1 * 1_966_080.0 + 0.9 * 160.0 / 31.0 * 1024.0;
    let last = f.iter().map(|f| f.start).max().unwrap().as_secs_f64();
    let expected = 20_000.0 * mean * 8.0 / (0.4 * 20e9);
    assert!((last / expected - 1.0).abs() < 4.0 / 20_000f64.sqrt(), "{last} {expected}");
    // Only I/O by name: all others do MPI among themselves.
    let f = flows("mpi-io", &t, &base);
    let mpi: BTreeSet<NodeId> =
        f.iter().filter(|f| !is_io(f)).flat_map(|f| [f.src, f.dst]).collect();
    assert_eq!(mpi.len(), 18);
    assert!(!mpi.contains(&s0) && !mpi.contains(&r0));
}

#[test]
fn other_laws_of_sizes() {
    let t = network(2, 4);
    let base = [("load", "0.5"), ("messages", "3000"), ("io_servers_per_rack", "1")];
    let sizes = |more: &[(&str, &str)]| -> BTreeMap<u64, usize> {
        let mut seen = BTreeMap::new();
        flows("mpi-io", &t, &[&base[..], more].concat())
            .iter()
            .for_each(|f| *seen.entry(f.size).or_insert(0) += 1);
        seen
    };
    let one = sizes(&[("io_share", "1"), ("io_sizes", "1MB")]);
    assert_eq!(one, BTreeMap::from([(1_000_000, 3000)]));
    let smallest = sizes(&[("io_share", "0"), ("mpi_ratio", "0")]);
    assert_eq!(smallest, BTreeMap::from([(2048, 3000)]));
    let even = sizes(&[
        ("io_share", "0"),
        ("mpi_ratio", "1"),
        ("mpi_size_min", "1KB"),
        ("mpi_size_max", "5KB"),
    ]);
    assert_eq!(even.keys().copied().collect::<Vec<_>>(), [1000, 2000, 4000]);
    even.values().for_each(|n| binomial(*n, 3000, 1.0 / 3.0));
}

#[test]
fn bad_mpi_io_is_refused_at_its_key() {
    let mut t = network(2, 4);
    let base = [("load", "0.5"), ("messages", "100"), ("io_servers_per_rack", "1")];
    let with = |extra: &[(&'static str, &'static str)]| [&base[..], extra].concat();
    refused("mpi-io", &t, &with(&[("load", "0")]), "load", "above 0");
    refused("mpi-io", &t, &[("load", "0.5")], "duration", "messages, or both");
    refused("mpi-io", &t, &with(&[("messages", "0")]), "messages", "above 0");
    refused("mpi-io", &t, &with(&[("messages", "200000000")]), "messages", "million flows");
    refused("mpi-io", &t, &with(&[("io_share", "1.5")]), "io_share", "0 to 1");
    refused(
        "mpi-io",
        &t,
        &with(&[("io_servers_per_rack", "5")]),
        "io_servers_per_rack",
        "the rack of 'H0' has 4 hosts",
    );
    refused(
        "mpi-io",
        &t,
        &with(&[("io_servers_per_rack", "0")]),
        "io_servers_per_rack",
        "the number of I/O servers is 0",
    );
    refused(
        "mpi-io",
        &t,
        &with(&[("io_servers_per_rack", "4")]),
        "io_clients_share",
        "2 I/O clients, but 0 of 8 hosts",
    );
    refused("mpi-io", &t, &with(&[("io_clients_share", "0")]), "io_clients_share", "0 I/O clients");
    refused(
        "mpi-io",
        &t,
        &with(&[("io_clients_share", "0.75")]),
        "mpi_clients",
        "every host takes part in I/O",
    );
    refused("mpi-io", &t, &with(&[("io_sizes", "1MB\n0B")]), "io_sizes", "0 bytes");
    refused("mpi-io", &t, &with(&[("io_sizes", "1000")]), "io_sizes", "expected");
    refused("mpi-io", &t, &with(&[("io_sizes", "")]), "io_sizes", "at least one");
    refused("mpi-io", &t, &with(&[("mpi_size_min", "0B")]), "mpi_size_min", "0 bytes");
    refused("mpi-io", &t, &with(&[("mpi_size_max", "1KB")]), "mpi_size_max", "below the smallest");
    refused("mpi-io", &t, &with(&[("mpi_ratio", "2")]), "mpi_ratio", "0 to 1");
    refused("mpi-io", &t, &with(&[("io_servers", "H9")]), "io_servers", "there is no host 'H9'");
    refused(
        "mpi-io",
        &t,
        &with(&[("io_servers", "H1"), ("io_clients", "H1")]),
        "io_servers",
        "'H1' would have no destination",
    );
    refused(
        "mpi-io",
        &t,
        &with(&[("mpi_clients", "H1")]),
        "mpi_servers",
        "'H1' would have no destination",
    );
    let notes =
        run("mpi-io", &t, 1, 0, &with(&[("load", "1.5"), ("io_servers", "H1")])).unwrap().notes;
    // Two clients at 1.5, less what is MPI's: one server is sent three times its rate.
    assert!(
        notes.len() == 2 && notes[0].contains("load 1.5") && notes[1].contains("3.00 times"),
        "{notes:?}"
    );
    t.links[1].up = false;
    refused("mpi-io", &t, &with(&[("io_clients", "H1")]), "io_clients", "'H1' has no working link");
    let notes = run("mpi-io", &t, 1, 0, &base).unwrap().notes;
    assert_eq!(notes, ["xoff leaves out hosts without a working link: H1"]);
}

/// A run puts workloads together: the same times stay together, and the rate of a sender holds.
#[test]
fn bursts_in_a_run_keep_their_rounds() {
    let t = network(1, 4);
    let given = [
        ("sources", "H0\nH1"),
        ("destinations", "H3"),
        ("size", "64KB"),
        ("gap", "10us"),
        ("rounds", "2"),
        ("rate", "1Gbps"),
    ];
    let part = run("bursts", &t, 1, 0, &given).unwrap();
    let all = Flows::new(&t, vec!["bursts".into()], vec![part]).unwrap();
    let got: Vec<_> = all.flows.iter().map(|f| (f.src.0, f.src_port, f.start, f.rate)).collect();
    let rate = Some(Rate::from_gbps(1));
    let later = Time::from_us(10);
    assert_eq!(
        got,
        [
            (0, 10_000, Time::ZERO, rate),
            (1, 10_000, Time::ZERO, rate),
            (0, 10_001, later, rate),
            (1, 10_001, later, rate)
        ]
    );
}
