//! Load balancing: closed forms, equal results of laws that coincide, and an independent model.

mod support;

use std::path::Path;

use xoff_farm::fabrics::{Came, examine};
use xoff_mech::detection::Mark;
use xoff_net::workload::random;
use xoff_record::{LoadBalance, Sink};
use xoff_run::{Finished, NetworkScenario};
use xoff_units::{Rate, Span};

use support::uplinks;

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("balance.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

fn run(text: &str) -> Finished {
    let f = load(text).run(Sink::Nothing).unwrap();
    assert_eq!((f.outcome.dropped_frames, f.outcome.violations_total), (0, 0), "{text}");
    f
}

/// Two leaves of `hosts`, and `spines`; links of 100 Gb/s and 1 us.
fn leaf_spine(hosts: u32, spines: u32, law: &str, rest: &str) -> String {
    format!(
        "[run]\nduration = \"5ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = {spines}\nhosts_per_leaf = {hosts}\n\
         rate = \"100Gbps\"\ndelay = \"1us\"\n[switch]\nbuffer = \"1MB\"\n[flow_control]\nkind = \"pfc\"\n\
         [load_balancing]\nkind = {law}\n{rest}"
    )
}

/// A flow from each host of the first leaf to its partner on the second one.
fn pairs(hosts: u32, size: &str) -> String {
    let flow =
        |h| format!("[[flow]]\nsrc = \"H{h}\"\ndst = \"H{}\"\nsize = \"{size}\"\n", h + hosts);
    (0..hosts).map(flow).collect()
}

/// n flows that a hash puts on n uplinks leave (1 - 1/n)^n of them idle: 400 seeds of 8 flows, mean
/// within three standard errors.
#[test]
fn the_idle_share_of_uplinks_under_ecmp() {
    let n = 8u32;
    let idle: Vec<f64> = (0..400)
        .map(|seed| {
            let text = leaf_spine(n, n, "\"ecmp\"", &pairs(n, "1500B"));
            let s = load(&text.replace("[run]\n", &format!("[run]\nseed = {seed}\n")));
            let up = uplinks(&s, &s.run(Sink::Nothing).unwrap());
            up.iter().filter(|&&bytes| bytes == 0).count() as f64 / f64::from(n)
        })
        .collect();
    let mean = idle.iter().sum::<f64>() / idle.len() as f64;
    let variance = idle.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (idle.len() - 1) as f64;
    let error = (variance / idle.len() as f64).sqrt();
    let expected = (1.0 - 1.0 / f64::from(n)).powi(n as i32);
    assert!((mean - expected).abs() < 3.0 * error, "{mean} +- {error}, expected {expected}");
    assert!(error < 0.01, "{error}");
}

/// A flowlet with an endless gap keeps the hash of ECMP; with a gap of zero each frame is a flowlet;
/// weights of one rate are no weights.
#[test]
fn laws_that_coincide_give_the_same_result() {
    let hash = |law: &str| {
        let flows = "[[workload]]\nkind = \"poisson\"\ncdf = \"websearch\"\nload = 0.6\nduration = \"200us\"\nsize_max = \"300KB\"\n";
        let s = load(&leaf_spine(4, 4, law, flows));
        s.run(Sink::Nothing).unwrap().manifest.result_hash.clone()
    };
    let ecmp = hash("\"ecmp\"");
    assert_eq!(hash("\"flowlet\"\ngap = \"never\""), ecmp);
    assert_eq!(hash("\"wcmp\""), ecmp);
    let spray = hash("\"spray-random\"");
    assert_eq!(hash("\"flowlet\"\ngap = \"0s\""), spray);
    assert_ne!(spray, ecmp);
    // Links that are never congested: a flow keeps its first uplink, which is drawn.
    let flowlet = hash("\"flowlet\"\ngap = \"9ms\"");
    for gap in ["0s", "9ms"] {
        let conga = format!("\"conga\"\ngap = \"{gap}\"\ntau = \"1000s\"\ninterval = \"1s\"");
        assert_eq!(hash(&conga), flowlet);
    }
    assert_ne!(hash("\"conga\"\ngap = \"0s\"\ntau = \"10us\"\ninterval = \"1us\""), flowlet);
}

/// CONGA, Fig. 2: 100 Gb/s from one leaf to another over links of 80 Gb/s, one of them half as fast.
/// Ten hosts send a message after the other. ECMP sends a half over each spine, and the slower
/// link needs 50/40 of the time. CONGA makes the links equally full: 66.7 of 80 and 33.3 of 40.
#[test]
fn conga_splits_by_the_capacity_of_the_far_link_and_ecmp_does_not() {
    let split = |law: &str| {
        let hosts = (1..=20).map(|h| format!("{{ name = \"H{h}\", kind = \"host\" }},"));
        let link = |h| format!("{{ a = \"H{h}\", b = \"L{}\", rate = \"10Gbps\" }},", (h + 9) / 10);
        let (hosts, links): (String, String) = (hosts.collect(), (1..=20).map(link).collect());
        let mut text = format!(
            "[run]\nduration = \"20ms\"\n[topology]\nkind = \"custom\"\nrate = \"80Gbps\"\ndelay = \"1us\"\nnode = [{hosts}\n\
             {{ name = \"L1\", kind = \"switch\" }}, {{ name = \"L2\", kind = \"switch\" }},\n\
             {{ name = \"S1\", kind = \"switch\" }}, {{ name = \"S2\", kind = \"switch\" }}]\nlink = [{links}\n\
             {{ a = \"L1\", b = \"S1\" }}, {{ a = \"L1\", b = \"S2\" }}, {{ a = \"S1\", b = \"L2\" }},\n\
             {{ a = \"S2\", b = \"L2\", rate = \"40Gbps\" }}]\n[switch]\nbuffer = \"1MB\"\n[flow_control]\nkind = \"pfc\"\n\
             [host]\nacks = \"per-frame\"\n[load_balancing]\nkind = {law}\n"
        );
        // A message of 30 KB is 24 us long.
        for (host, nth) in (1..=10).flat_map(|host| (0..200).map(move |nth| (host, nth))) {
            text += &format!(
                "[[flow]]\nsrc = \"H{host}\"\ndst = \"H{}\"\nsize = \"30KB\"\nstart = \"{}ns\"\n",
                host + 10,
                24_000 * nth + 2_400 * host
            );
        }
        let (s, f) = (load(&text), run(&text));
        let bytes = uplinks(&s, &f);
        let last = f.outcome.flows.iter().filter_map(|f| f.received).max().expect("complete");
        (bytes[1] as f64 / bytes.iter().sum::<u64>() as f64, last)
    };
    let sent = xoff_units::Time::from_us(4_824).0 as f64; // by the tenth host
    let (share, last) = split("\"ecmp\"");
    assert!((share - 0.5).abs() < 0.02, "{share}");
    assert!(last.0 as f64 > sent * 1.25, "{last}");
    for bits in [3, 6] {
        let (share, last) = split(&format!("\"conga\"\nbits = {bits}"));
        assert!((share - 1.0 / 3.0).abs() < 0.03, "{bits} bits: {share}");
        assert!((last.0 as f64) < sent * 1.06, "{bits} bits: {last}");
    }
}

/// A law that needs two tiers says which part of another network is none.
#[test]
fn conga_refuses_networks_without_two_tiers() {
    for (kind, why) in [
        ("ring", "S1 and S2 are switches with hosts and have a link"),
        ("fat-tree", "A1 and C1 are switches without hosts and have a link"),
        ("dual-tor", "host H0 has 2 links"),
    ] {
        let text = format!(
            "[run]\nduration = \"1us\"\n[topology]\nkind = \"{kind}\"\n[load_balancing]\nkind = \"conga\"\n\
             [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1KB\"\n"
        );
        let e = NetworkScenario::from_text("a.toml", &text, &[], Path::new("")).err().expect(kind);
        let e = e.render(false);
        assert!(e.contains(why) && e.contains("conga needs two tiers"), "{e}");
    }
}

/// The permutation of eight hosts over eight spines takes the wire's time under spraying, and a
/// collision of two flows takes twice as long under ECMP.
#[test]
fn spraying_takes_the_time_of_the_wire() {
    let last = |law: &str, order: &str| {
        let f = run(&leaf_spine(8, 8, law, &(order.to_owned() + &pairs(8, "2MB"))));
        f.outcome.flows.iter().map(|f| f.fct().expect("complete")).max().unwrap()
    };
    // 1,334 frames, three more stages of the last one, four links.
    let wire = Rate::from_gbps(100).time_for(xoff_units::Bytes(2_000_000)) + Span::from_ns(4_360);
    for law in ["\"spray-random\"", "\"spray-round-robin\"", "\"drill\"", "\"adaptive\""] {
        for order in ["[host]\norder = \"buffer\"\n", "[host]\norder = \"count\"\n"] {
            let time = last(law, order);
            assert!(time >= wire && time.0 <= wire.0 * 103 / 100, "{law}, {order}: {time}");
        }
    }
    assert!(last("\"ecmp\"", "").0 > wire.0 * 19 / 10);
}

fn balance(f: &Finished) -> &LoadBalance {
    f.manifest.load_balance.as_ref().expect("leaves have uplinks")
}

/// Eight flows on eight uplinks, l on each: Jain's index is 8^2 / (8 sum l^2), the largest load over
/// the mean is the largest l, and a flow collides that shares its uplink, since another one is idle.
/// Two flows: k distinct uplinks of equal load give k/8, also in each sample.
#[test]
fn the_balance_of_a_permutation_under_ecmp() {
    let mut seen = [0, 0];
    for seed in 0..40 {
        let of = |flows: usize| {
            let all = pairs(8, "150KB");
            let some: String = all.split_inclusive("KB\"\n").take(flows).collect();
            let text = leaf_spine(8, 8, "\"ecmp\"", &some);
            let probes = "[probes]\ninterval = \"3us\"\nrates = [\"uplinks\"]\n";
            let s = load(&text.replace("[run]\n", &format!("{probes}[run]\nseed = {seed}\n")));
            let f = s.run(Sink::Nothing).unwrap();
            let loads: Vec<u64> = uplinks(&s, &f).iter().map(|bytes| bytes / 150_000).collect();
            (f, loads)
        };
        let (f, loads) = of(8);
        assert_eq!(loads.iter().sum::<u64>(), 8);
        let squares: u64 = loads.iter().map(|l| l * l).sum();
        let shared: u64 = loads.iter().filter(|l| **l > 1).sum();
        let b = balance(&f);
        assert_eq!(b.jain, Some(64.0 / (8.0 * squares as f64)), "{loads:?}");
        assert_eq!(b.max_over_mean, Some(*loads.iter().max().unwrap() as f64));
        assert_eq!((b.groups, b.flows, b.collided, b.paths_mean), (2, 8, shared, Some(1.0)));
        let (f, loads) = of(2);
        let distinct = loads.iter().filter(|l| **l > 0).count();
        seen[distinct - 1] += 1;
        let (b, share) = (balance(&f), distinct as f64 / 8.0);
        assert_eq!((b.jain, b.jain_sampled), (Some(share), Some(share)));
        let peak = Some(1.0 / share);
        assert_eq!((b.max_over_mean, b.max_over_mean_sampled), (peak, peak));
        assert_eq!(b.collided, if distinct == 1 { 2 } else { 0 });
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
}

/// Round robin loads all uplinks alike, each message takes all of them, and none collides.
#[test]
fn the_balance_of_spraying() {
    let f = run(&leaf_spine(3, 8, "\"spray-round-robin\"", &pairs(3, "1.2MB")));
    let b = balance(&f);
    assert_eq!((b.jain, b.max_over_mean, b.paths_mean), (Some(1.0), Some(1.0), Some(8.0)));
    assert_eq!((b.flows, b.collided, b.jain_sampled), (3, 0, None));
    assert_eq!(b.frames_ahead, f.outcome.flows.iter().map(|f| f.ahead.frames).sum::<u64>());
}

/// Two uplinks, one of half the rate: equal bytes are loads of 1 and 2.
#[test]
fn a_load_is_relative_to_the_rate_of_its_port() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/mechanisms/wcmp.toml");
    let text = std::fs::read_to_string(file).unwrap().replace("\"wcmp\"", "\"spray-round-robin\"");
    let network = &text[..text.find("[[workload]]").unwrap()];
    let f = run(&format!("{network}[[flow]]\nsrc = \"H1\"\ndst = \"H5\"\nsize = \"300KB\"\n"));
    let b = balance(&f);
    assert_eq!((b.jain, b.max_over_mean), (Some(9.0 / 10.0), Some(2.0 / 1.5)));
}

/// One flow over equal paths is never reordered. Two flows are, by no more than the time in which
/// the longest queue drains.
#[test]
fn spraying_reorders_by_no_more_than_queues_differ() {
    let one = run(&leaf_spine(2, 4, "\"spray-round-robin\"", &pairs(1, "3MB").replace("H1", "H2")));
    assert_eq!(one.outcome.flows[0].ahead.frames, 0);
    for law in ["\"spray-round-robin\"", "\"spray-random\"", "\"drill\""] {
        let text = leaf_spine(2, 4, law, &pairs(2, "3MB"));
        let (s, f) = (load(&text), run(&text));
        let queues = f.outcome.ports.iter().flatten().map(|p| p.egress_bytes_max);
        // Of the leaf and of the spine: a frame may wait at both, another one at neither.
        let longest = Rate::from_gbps(100).time_for(xoff_units::Bytes(2 * queues.max().unwrap()));
        for flow in &f.outcome.flows {
            assert!(flow.ahead.hold <= longest.0, "{law}: {:?}, {longest}", flow.ahead);
            assert_eq!(flow.delivered, 3_000_000);
        }
        assert_eq!(uplinks(&s, &f).iter().sum::<u64>(), 6_000_000);
    }
}

/// A switch with four uplinks under DRILL(d, 0), written from the paper alone: queues of whole
/// frames, one sample of d different ports a frame. The first leaf is the switch: its eight hosts
/// send at the same time, and each uplink carries as many bytes as here.
#[test]
fn drill_without_memory_is_that_of_an_independent_model() {
    const FRAME_PS: u64 = 120_000; // 1500 B at 100 Gb/s
    for (d, seed) in [(1, 1), (2, 2), (3, 3), (4, 4), (2, 5)] {
        let law = format!("\"drill\"\nchoices = {d}\nmemory = 0");
        let text = leaf_spine(8, 4, &law, &pairs(8, "150KB"))
            .replace("[run]\n", &format!("[run]\nseed = {seed}\n"))
            .replace("buffer = \"1MB\"", "buffer = \"10MB\"");
        let s = load(&text);
        let got = uplinks(&s, &run(&text));
        let leaf = s.topology.find("L1").unwrap();
        let mut draws = random::stream(seed, u64::from(leaf), 2001);
        // Departures of the frames that an uplink has been given.
        let mut given: Vec<Vec<u64>> = vec![Vec::new(); 4];
        for frame in 0..100u64 {
            let now = 1_000_000 + (frame + 1) * FRAME_PS;
            for _host in 0..8 {
                // Waiting: has not started. The frame on the wire does not count.
                let waiting: Vec<usize> = given
                    .iter()
                    .map(|all| all.iter().filter(|&&end| end - FRAME_PS > now).count())
                    .collect();
                let mut drawn: Vec<usize> = Vec::new();
                for last in 4 - d..4 {
                    let at = (random::uniform(&mut draws) * (last + 1) as f64) as usize;
                    drawn.push(if drawn.contains(&at) { last } else { at });
                }
                let mut best = drawn[0];
                for &port in &drawn {
                    if waiting[port] < waiting[best] {
                        best = port;
                    }
                }
                let free = given[best].last().copied().unwrap_or(0).max(now);
                given[best].push(free + FRAME_PS);
            }
        }
        let expected: Vec<u64> = given.iter().map(|all| all.len() as u64 * 1500).collect();
        assert_eq!(got, expected, "d = {d}, seed {seed}");
    }
}

/// Order of delivery is a choice for every law and transport: all bytes arrive once.
#[test]
fn every_law_delivers_under_every_order_and_transport() {
    let laws = xoff_mech::balancing::REGISTRY.iter().map(|e| e.name);
    for law in laws {
        let acks = "acks = \"per-frame\"\n";
        let again = "acks = \"per-frame\"\nrto = \"500us\"\nrecovery =";
        let tcp = "header = \"40B\"\n[transport]\nkind = \"tcp\"\nrto_min = \"1ms\"\nrto_initial = \"1ms\"\n";
        let transports = [
            String::new(),
            acks.to_owned(),
            format!("{acks}window = \"60KB\"\n"),
            format!("{again} \"go-back-n\"\n"),
            format!("{again} \"selective\"\n"),
            tcp.to_owned(),
            format!("{tcp}delayed_ack = \"100us\"\n"),
        ];
        let orders = ["", "order = \"strict\"\n", "order = \"buffer\"\n", "order = \"count\"\n"];
        for (host, order) in transports.iter().flat_map(|t| orders.map(|o| (t, o))) {
            let repeats = !host.is_empty() || law == "ecmp" || law == "wcmp";
            if order.contains("strict") && (host.contains("selective") || !repeats) {
                continue; // nothing repeats what is discarded, or nothing is discarded
            }
            let host = format!("[host]\n{order}{host}");
            let rest = host.clone() + &pairs(4, "300KB");
            let text = leaf_spine(4, 4, &format!("\"{law}\""), &rest);
            let f = load(&text.replace("5ms", "50ms")).run(Sink::Nothing).unwrap();
            for flow in &f.outcome.flows {
                let all = (flow.delivered, flow.received.is_some());
                assert_eq!(all, (300_000, true), "{law}, {host}: {flow:?}");
            }
        }
    }
}

/// After a failure the next hops are those that are left.
#[test]
fn a_failed_uplink_carries_nothing_more() {
    for e in xoff_mech::balancing::REGISTRY {
        let fails = "[[failure]]\nlink = \"L1-S2\"\nat = \"10us\"\n";
        let acks = "[host]\nacks = \"per-frame\"\nrecovery = \"selective\"\nrto = \"100us\"\n";
        let text = leaf_spine(4, 4, &format!("\"{}\"", e.name), &(pairs(4, "1MB") + fails + acks));
        let s = load(&text);
        let f = s.run(Sink::Nothing).unwrap();
        assert!(f.outcome.flows.iter().all(|f| f.delivered == 1_000_000), "{}", e.name);
        let up = uplinks(&s, &f);
        // 10 us of a link carry 125 KB.
        assert!(up[1] <= 125_000 && up.iter().sum::<u64>() >= 4_000_000, "{}: {up:?}", e.name);
    }
}

/// Frames that are ahead of a gap count as arrived and with their mark, whether the gap is filled or
/// not. Before: those that were kept counted once they were in order, without their mark.
#[test]
fn frames_ahead_of_a_gap_count_when_they_arrive() {
    let marks = "[detection]\nkind = \"red\"\nkmin = \"3KB\"\nkmax = \"3KB\"\npmax = 1.0\n";
    for order in ["strict", "buffer", "count"] {
        let rest = format!("[host]\norder = \"{order}\"\n{marks}{}", pairs(1, "300KB"));
        let slow = leaf_spine(1, 2, "\"spray-random\"", &rest)
            .replace("rate = \"100Gbps\"", "rate = \"10Gbps\"\nhost_rate = \"100Gbps\"");
        let f = load(&slow).run(Sink::Nothing).unwrap();
        let flow = &f.outcome.flows[0];
        let at_ports: u64 = f.outcome.ports.iter().flatten().map(|p| p.marked.of(Mark::Ce)).sum();
        assert!(
            at_ports > 100 && flow.ahead.frames > 0 || order == "strict",
            "{order}: {at_ports}"
        );
        assert_eq!((flow.marked.of(Mark::Ce), flow.arrived()), (at_ports, 300_000), "{order}");
    }
    for (order, delivered) in [("buffer", 13_500), ("count", 28_500)] {
        let lost = "[[link_errors]]\nkind = \"nth\"\nports = [\"H0->L1\"]\nnumbers = [\"10\"]\n";
        let rest = format!("[host]\norder = \"{order}\"\n{lost}{}", pairs(1, "30KB"));
        let f = load(&leaf_spine(1, 2, "\"spray-round-robin\"", &rest)).run(Sink::Nothing).unwrap();
        let flow = &f.outcome.flows[0];
        assert_eq!((flow.delivered, flow.arrived()), (delivered, 28_500), "{order}");
    }
}

/// Flows with ports of their own, and their acknowledgements, take the uplinks of ns3-rdma's rule:
/// source * 59 ^ destination ^ protocol, and for data ^ source port << 16 ^ destination port ^ 3,
/// modulo the uplinks. Nothing else changes the result; threads and checkpoints do not.
#[test]
fn flows_and_answers_take_the_uplinks_of_ns3_rdma() {
    let address = |host: u32| u32::from(std::net::Ipv4Addr::new(10, 1, host as u8 + 1, 2));
    let ends = |a, b| address(a).wrapping_mul(59) ^ address(b);
    let (mut flows, mut data, mut answers) = (String::new(), [0; 3], [0; 3]);
    for n in 0..24u32 {
        let (src, dst, port) = (n % 4, 4 + n % 3, 1_000 + 777 * n);
        flows += &format!(
            "[[flow]]\nsrc = \"H{src}\"\ndst = \"H{dst}\"\nsize = \"{}B\"\nsrc_port = {}\ndst_port = {port}\n",
            1500 * (n + 1),
            10_000 + n
        );
        let tuple = ends(src, dst) ^ 17 ^ (10_000 + n) << 16 ^ port ^ 3;
        data[tuple as usize % 3] += 1500 * u64::from(n + 1);
    }
    // Flows without a port of their own, all of one pair: their answers take one path.
    for _ in 0..8 {
        flows += "[[flow]]\nsrc = \"H7\"\ndst = \"H3\"\nsize = \"15000B\"\n";
        answers[(ends(3, 7) ^ 252) as usize % 3] += 10 * 64;
    }
    let text = |rule: &str| {
        let t = leaf_spine(4, 3, "\"ecmp\"", &flows);
        t + &format!(
            "[routing]\nkind = \"{rule}\"\n[host]\nframe_max = \"1500B\"\nacks = \"per-frame\"\n"
        )
    };
    let up = |rule: &str| {
        let s = load(&text(rule));
        uplinks(&s, &s.run(Sink::Nothing).unwrap())
    };
    let expected: Vec<u64> = data.iter().zip(answers).map(|(d, a)| d + a).collect();
    assert_eq!(up("ecmp-ns3-rdma"), expected);
    for other in ["ecmp", "ecmp-polarised"] {
        assert_ne!(up(other), expected, "{other}");
    }
    let checkers = ["promises", "engines", "resumed"];
    assert_eq!(examine(&text("ecmp-ns3-rdma"), &checkers), Came::Fine);
    let weighted = text("ecmp-ns3-rdma").replace("kind = \"ecmp\"", "kind = \"wcmp\"");
    let e = NetworkScenario::from_text("w.toml", &weighted, &[], Path::new("")).err().unwrap();
    assert!(e.render(false).contains("32 bits"), "{}", e.render(false));
}
