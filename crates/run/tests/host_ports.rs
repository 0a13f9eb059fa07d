//! Hosts with several links: which port a flow takes, closed forms, and a port that fails.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_sim::Engine;
use xoff_units::Time;

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("ports.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

fn run(text: &str) -> Finished {
    let f = load(text).run(Sink::Nothing).unwrap();
    assert_eq!(f.outcome.violations, [], "{text}");
    f
}

/// A frame of 1048 B at 100 Gb/s, and a cable [ps].
const TX: u64 = 83_840;
const D: u64 = 1_000_000;

/// Planes of two leaves and as many spines as hosts on a leaf; frames of 1000 B and 48 B of header.
fn planes(planes: u32, hosts: u32, port: &str, rest: &str) -> String {
    format!(
        "[run]\nduration = \"5ms\"\n[topology]\nkind = \"multi-plane\"\nplanes = {planes}\nleaves = 2\nspines = {hosts}\n\
         hosts_per_leaf = {hosts}\nrate = \"100Gbps\"\ndelay = \"1us\"\n[switch]\nbuffer = \"1MB\"\n\
         [host]\nframe_max = \"1048B\"\nheader = \"48B\"\nport = \"{port}\"\n[flow_control]\nkind = \"pfc\"\n{rest}"
    )
}

fn flow(src: &str, dst: &str, size: &str) -> String {
    format!("[[flow]]\nsrc = \"{src}\"\ndst = \"{dst}\"\nsize = \"{size}\"\n")
}

/// Bytes that each port of a host has sent.
fn sent(text: &str, f: &Finished, host: &str) -> Vec<u64> {
    let host = load(text).topology.find(host).expect("a host").index();
    f.outcome.ports[host].iter().map(|p| p.tx_bytes).collect()
}

/// Completion times of all flows [ps].
fn times(f: &Finished) -> Vec<u64> {
    f.outcome.flows.iter().map(|f| f.fct().expect("complete").0).collect()
}

/// A lone flow of 100 frames over four links. One port sends them one after the other. Two ports
/// take turns, half a frame apart.
#[test]
fn a_lone_flow_takes_what_the_closed_form_gives() {
    let lone = |port| planes(2, 1, port, &flow("H0", "H1", "100KB"));
    for port in ["hash", "least-loaded", "round-robin", "destination", "rail"] {
        let (text, f) = (lone(port), run(&lone(port)));
        assert_eq!(times(&f), [(99 + 4) * TX + 4 * D], "{port}");
        let mut bytes = sent(&text, &f, "H0");
        bytes.sort_unstable();
        assert_eq!(bytes, [0, 104_800], "{port}");
    }
    let f = run(&lone("spray"));
    assert_eq!(times(&f), [99 * TX / 2 + 4 * TX + 4 * D]);
    assert_eq!(sent(&lone("spray"), &f, "H0"), [52_400, 52_400]);
    let s = load(&lone("spray"));
    let routes = s.routing().routes(&s.topology);
    assert_eq!(s.ideal_time(&routes, &s.flows.flows[0]).unwrap().0, times(&f)[0], "the ideal");
}

/// Eight flows of one host: two planes carry four each, or as the law says.
#[test]
fn laws_choose_the_port_of_a_flow() {
    let to_all: String = (8..16).map(|h| flow("H0", &format!("H{h}"), "50KB")).collect();
    let to_one = flow("H0", "H9", "50KB").repeat(8);
    let bytes = |port: &str, flows: &str| {
        let text = planes(2, 8, port, flows);
        sent(&text, &run(&text), "H0")
    };
    let half = 4 * 50 * 1048;
    for port in ["round-robin", "least-loaded"] {
        assert_eq!(bytes(port, &to_all), [half, half], "{port}");
        assert_eq!(bytes(port, &to_one), [half, half], "{port}");
    }
    // H8 to H15: numbers 8 to 15.
    assert_eq!(bytes("destination", &to_all), [half, half]);
    assert_eq!(bytes("destination", &to_one), [0, 2 * half], "H9 is odd");
    // A large one keeps the small ones away.
    let uneven = flow("H0", "H8", "400KB") + &flow("H0", "H9", "50KB").repeat(4);
    assert_eq!(bytes("least-loaded", &uneven), [400 * 1048, 4 * 50 * 1048]);
    assert_eq!(bytes("rail", &to_all), [2 * half, 0], "H0 is even");
    let hashed = bytes("hash", &to_all);
    assert!(hashed.iter().all(|&b| b > 0) && hashed.iter().sum::<u64>() == 2 * half, "{hashed:?}");
}

/// Flows of one host collide if they share an uplink of the leaf behind the port that they left by,
/// which is observed: eight flows over two planes of four uplinks each.
#[test]
fn flows_collide_by_the_port_that_they_left_by() {
    for port in ["hash", "least-loaded", "round-robin", "destination", "rail"] {
        let flows: String = (4..8).map(|h| flow("H0", &format!("H{h}"), "300KB")).collect();
        let text = planes(2, 4, port, &flows.repeat(2));
        let (s, f) = (load(&text), run(&text));
        let b = f.manifest.load_balance.expect("uplinks");
        let mut shared = 0;
        for plane in 0..2 {
            let leaf = s.topology.find(&format!("L{plane}.0")).expect("a leaf").index();
            let ports = s.topology.nodes[leaf].ports.iter().zip(&f.outcome.ports[leaf]);
            let up = ports.filter(|(p, _)| s.topology.name(p.peer).starts_with('S'));
            let flows: Vec<u64> = up.map(|(_, t)| t.tx_bytes / 314_400).collect();
            // A collision needs another uplink that is free.
            let free = flows.contains(&0);
            shared += flows.iter().filter(|&&n| free && n > 1).sum::<u64>();
        }
        assert_eq!((b.flows, b.paths_mean), (8, Some(1.0)), "{port}");
        // Later an uplink becomes free when a flow on it ends.
        assert!(b.collided >= shared, "{port}: {} of {shared}", b.collided);
    }
}

/// In a job `rail` is that of the rank that sends, wherever its host is and wherever it sends to.
#[test]
fn messages_of_a_rank_stay_on_its_rail() {
    let ranks = ["H3", "H0", "H2", "H1", "H5", "H4"];
    let hosts = ranks.map(|h| format!("\"{h}\"")).join(", ");
    for kind in ["all-to-all", "all-reduce"] {
        let job = format!(
            "[[job]]\nhosts = [{hosts}]\n[[collective]]\nkind = \"{kind}\"\nsize = \"60KB\"\n"
        );
        let text = planes(3, 3, "rail", &job);
        let f = run(&text);
        for (rank, host) in ranks.iter().enumerate() {
            let bytes = sent(&text, &f, host);
            let used: Vec<usize> = (0..3).filter(|&p| bytes[p] > 0).collect();
            assert_eq!(used, [rank % 3], "{kind}: rank {rank} on {host}: {bytes:?}");
        }
    }
}

/// Two servers of eight GPUs with an NVSwitch each, and NICs on rails: traffic within a server takes
/// the scale-up network, traffic between servers the rail.
#[test]
fn a_rack_uses_its_scale_up_network() {
    let text = |more: &str| {
        format!(
            "[run]\nduration = \"50ms\"\n[topology]\nkind = \"rail\"\nservers = 2\ngpus = 8\nnvswitches = 1\nspines = 0\n\
             rate = \"100Gbps\"\ndelay = \"1us\"\nscale_up_rate = \"400Gbps\"\nscale_up_delay = \"100ns\"\n\
             [host]\nframe_max = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"pfc\"\n{more}"
        )
    };
    let both = text(&(flow("G0.0", "G0.5", "100KB") + &flow("G0.0", "G1.0", "100KB")));
    let f = run(&both);
    let message = |frames: u64, tx: u64, d: u64| (frames + 1) * tx + 2 * d;
    assert_eq!(times(&f), [message(100, TX / 4, 100_000), message(100, TX, D)]);
    assert_eq!(sent(&both, &f, "G0.0"), [104_800, 104_800]);

    // A ring all-reduce of 800 KB among the eight of a server: 14 steps of 100 frames.
    let job = |hosts: &str| {
        text(&format!(
            "[[job]]\nhosts = [{hosts}]\n[[collective]]\nkind = \"all-reduce\"\nsize = \"800KB\"\n"
        ))
    };
    let of = |server: u32| (0..8).map(move |g| format!("\"G{server}.{g}\""));
    let inside = job(&of(0).collect::<Vec<_>>().join(","));
    let end = |f: &Finished| {
        let ends = f.outcome.ranks[0].iter().map(|r| r.log.iterations[0].1.expect("an end"));
        ends.max().expect("a rank").0
    };
    assert_eq!(end(&run(&inside)), 14 * message(100, TX / 4, 100_000));
    // Without the scale-up network the same ranks have no way to each other but rails.
    let rails = job("\"G0.0\",\"G1.0\"");
    assert_eq!(end(&run(&rails)), 2 * message(400, TX, D));
}

/// A plane is cut while queue pairs of a job are idle: their next messages leave by the other plane.
/// Before: they followed the ports of the latest message, and the job stood still.
#[test]
fn messages_of_an_idle_queue_pair_leave_a_plane_that_is_cut() {
    for port in ["hash", "round-robin", "least-loaded", "destination", "rail", "spray"] {
        for recovery in ["go-back-n", "selective"] {
            let text = format!(
                "[run]\nduration = \"3ms\"\n[topology]\nkind = \"multi-plane\"\nplanes = 2\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\n\
                 rate = \"100Gbps\"\n[host]\nacks = \"per-frame\"\nrecovery = \"{recovery}\"\nrto = \"100us\"\nport = \"{port}\"\n\
                 [[failure]]\nlink = \"L0.0-S0.0\"\nat = \"200us\"\n[[job]]\nhosts = [\"H0\", \"H1\"]\niterations = 4\ncompute = \"150us\"\n\
                 [[collective]]\nkind = \"all-reduce\"\nsize = \"100KB\"\n"
            );
            let f = load(&text).run(Sink::Nothing).unwrap();
            let all = f.outcome.flows.iter().all(|f| f.received.is_some());
            assert_eq!((all, f.outcome.dropped_frames), (true, 0), "{port}, {recovery}");
        }
    }
}

/// One plane of two fails at a host while its flows are under way: frames on the dead link are
/// lost, sources repeat them through the other plane, and everything arrives.
#[test]
fn flows_leave_a_plane_that_fails() {
    for (port, recovery) in [
        ("hash", "go-back-n"),
        ("round-robin", "go-back-n"),
        ("least-loaded", "selective"),
        ("destination", "go-back-n"),
        ("rail", "go-back-n"),
        ("spray", "selective"),
    ] {
        let rest = format!(
            "[[failure]]\nlink = \"H0-L0.0\"\nat = \"20us\"\n[[failure]]\nlink = \"H3-L1.1\"\nat = \"30us\"\n{}{}",
            flow("H0", "H2", "1MB").repeat(2),
            flow("H1", "H3", "1MB").repeat(2)
        );
        let text = planes(2, 2, port, &rest).replace(
            "[host]\n",
            &format!("[host]\nacks = \"per-frame\"\nrecovery = \"{recovery}\"\nrto = \"100us\"\n"),
        );
        let s = load(&text);
        let f = s.run(Sink::Nothing).unwrap();
        assert_eq!(f.outcome.violations, [], "{port}");
        assert!(f.outcome.flows.iter().all(|f| f.received.is_some()), "{port}");
        let (h0, h3) = (s.topology.find("H0").unwrap(), s.topology.find("H3").unwrap());
        // 20 us at 100 Gb/s are 250 KB at most; after that H0 uses plane 1 only, H3 plane 0.
        assert!(f.outcome.ports[h0.index()][0].tx_bytes <= 251_000, "{port}");
        let (l00, h3_port) = (s.topology.find("L0.1").unwrap(), h3);
        let to_h3 = s.topology.nodes[l00.index()].ports.iter().position(|p| p.peer == h3_port);
        assert!(f.outcome.ports[l00.index()][to_h3.unwrap()].tx_bytes > 1_000_000, "{port}");
        assert!(f.outcome.dropped_frames > 0, "{port}: the link took frames with it");
    }
}

/// Every law, also while a link fails: equal for both engines and any number of threads.
#[test]
fn results_are_equal_on_both_engines_and_any_number_of_threads() {
    for port in ["hash", "least-loaded", "round-robin", "destination", "rail", "spray"] {
        for law in ["ecmp", "drill", "spray-round-robin"] {
            let rest = format!(
                "[load_balancing]\nkind = \"{law}\"\n[[failure]]\nlink = \"H0-L0.0\"\nat = \"40us\"\n[[failure]]\nlink = \"L1.1-S1.2\"\nat = \"50us\"\n\
                 [[workload]]\nkind = \"poisson\"\ncdf = \"websearch\"\nload = 0.5\nduration = \"100us\"\nsize_max = \"300KB\"\n"
            );
            let text = planes(2, 4, port, &rest).replace(
                "[host]\n",
                "[host]\nacks = \"per-frame\"\nrecovery = \"go-back-n\"\nrto = \"100us\"\n",
            );
            let hash = |engine, threads| {
                let mut s = load(&text);
                s.engine = engine;
                let f = s.start(Sink::Nothing, Some(threads)).unwrap().run(|_| true).unwrap();
                assert_eq!(f.outcome.violations, [], "{port} {law}");
                f.manifest.result_hash.clone()
            };
            let one = hash(Engine::Events, 1);
            for threads in [1, 2, 3, 4] {
                assert_eq!(hash(Engine::Windows, threads), one, "{port} {law} {threads}");
            }
        }
    }
}

/// A broken NIC pauses its switch at each of its ports, and a slow receiver has a memory at each.
#[test]
fn faults_of_a_host_reach_each_of_its_ports() {
    let flows = flow("H0", "H2", "2MB") + &flow("H1", "H2", "2MB");
    let storm =
        "[[pause_storm]]\nhost = \"H2\"\nstart = \"10us\"\nstop = \"100us\"\ninterval = \"5us\"\n";
    let slow = "[[slow_receiver]]\nhost = \"H2\"\nrate = \"20Gbps\"\n";
    for fault in [storm, slow] {
        let s = load(&planes(2, 2, "round-robin", &format!("{flows}{fault}")));
        let f = s.run(Sink::Nothing).unwrap();
        assert_eq!((f.outcome.violations_total, f.outcome.dropped_frames), (0, 0));
        for plane in 0..2 {
            let leaf = (s.topology.find(&format!("L{plane}.1")).unwrap()).index();
            let h2 = s.topology.find("H2").unwrap();
            let port = s.topology.nodes[leaf].ports.iter().position(|p| p.peer == h2).unwrap();
            assert!(f.outcome.ports[leaf][port].paused_ps > 0, "plane {plane}: {fault}");
        }
        assert!(f.outcome.flows.iter().all(|f| f.received.is_some_and(|t| t > Time::from_us(50))));
    }
}

/// Hosts without a meaning.
#[test]
fn hosts_that_cannot_be_are_refused() {
    let e = |text: &str| {
        NetworkScenario::from_text("ports.toml", text, &[], Path::new(""))
            .err()
            .map(|e| e.to_string())
    };
    let ring = "[run]\nduration = \"1us\"\n[topology]\nkind = \"ring\"\n[host]\nport = \"spray\"\n[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"1KB\"\n";
    let s = load(ring);
    assert!(s.warnings.iter().any(|w| w.to_string().contains("every host has one link")));
    let many = planes(33, 1, "hash", &flow("H0", "H1", "1KB"));
    let refused = e(&many).or_else(|| load(&many).run(Sink::Nothing).err().map(|e| e.to_string()));
    assert!(refused.is_some_and(|e| e.contains("33 links")), "33 ports");
}
