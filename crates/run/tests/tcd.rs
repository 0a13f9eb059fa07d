//! The scenarios of the TCD paper (SIGCOMM'21) run, and what their keys refuse has its place and a
//! hint.

use std::path::{Path, PathBuf};

use xoff_mech::detection::Mark;
use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_scenario::document::Override;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/tcd/examples")
}

fn load(file: &str, settings: &[&str]) -> NetworkScenario {
    let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    NetworkScenario::load(&folder().join(file), &settings).unwrap_or_else(|e| panic!("{e}"))
}

fn run(file: &str, settings: &[&str]) -> (NetworkScenario, Finished) {
    let s = load(file, settings);
    let f = s.run(Sink::Nothing).unwrap();
    assert_eq!((f.outcome.dropped_frames, f.outcome.violations_total), (0, 0), "{file}");
    (s, f)
}

/// The longest egress queue of a port [bytes].
fn queue_max(s: &NetworkScenario, f: &Finished, from: &str, to: &str) -> u64 {
    let (from, to) = (s.topology.find(from).unwrap(), s.topology.find(to).unwrap());
    let port = s.topology.nodes[from.index()].ports.iter().position(|p| p.peer == to).unwrap();
    f.outcome.ports[from.index()][port].egress_bytes_max
}

/// Section 3.1.2: P2 carries 12.5 Gb/s at most, and yet more than 500 KB wait there, because P3 is
/// congested.
#[test]
fn a_port_that_is_never_congested_has_a_long_queue() {
    let (s, f) = run("single-congestion-point.toml", &[]);
    assert!(queue_max(&s, &f, "L0", "T2") > 500_000, "{}", queue_max(&s, &f, "L0", "T2"));
    // F2 sends 5 Gb/s from 200 us to 6 ms, whatever is marked: 3.625 MB, less what is on the way
    // (four links of 4 us).
    let delivered = |src: &str| {
        f.outcome.flows.iter().find(|flow| s.topology.name(flow.flow.src) == src).unwrap().delivered
    };
    assert!((3_610_000..3_625_000).contains(&delivered("S2")), "{}", delivered("S2"));
    // F0 shares P0 with F1 and is held at its host for a while; what it could not send then is not
    // made up for.
    assert!((3_000_000..=delivered("S2")).contains(&delivered("S0")), "{}", delivered("S0"));
    // 16 rounds of 15 messages, all complete.
    assert_eq!(f.outcome.flows.iter().filter(|flow| flow.received.is_some()).count(), 16 * 15);
}

/// Section 3.1.2 for InfiniBand, Fig. 3b: P2 lacks credits and more than 500 KB wait there, and
/// FECN marks F0 and F2, which never cross the congested port. Where every marked packet is
/// notified, F1 backs off before the ingress of T2 is full.
#[test]
fn credits_hold_a_port_that_is_never_congested_and_fecn_marks_its_victims() {
    let marked = |settings: &[&str]| {
        let (s, f) = run("single-congestion-point-ib.toml", settings);
        let of = |src: &str| {
            f.outcome
                .flows
                .iter()
                .find(|flow| s.topology.name(flow.flow.src) == src)
                .unwrap()
                .marked
                .of(Mark::Ce)
        };
        (queue_max(&s, &f, "L0", "T2"), of("S0"), of("S2"))
    };
    let (queue, f0, f2) = marked(&[]);
    assert!(queue > 500_000 && f0 > 500 && f2 > 500, "{queue} {f0} {f2}");
    let (queue, f0, f2) = marked(&["rate_control.cnp_interval=0us"]);
    assert!(queue < 50_000 && (f0, f2) == (0, 0), "{queue} {f0} {f2}");
}

#[test]
fn every_scenario_of_the_folder_runs() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|n| n.ends_with(".toml"));
    names.sort();
    for name in names {
        // A fabric of a thousand hosts is not for every test; its loading is.
        if ["mpi-io.toml", "realistic-workloads.toml"].contains(&name.as_str()) {
            let s = load(&name, &[]);
            assert_eq!(s.flows.flows.len(), if name == "mpi-io.toml" { 80_000 } else { 40_000 });
        } else {
            run(&name, &["run.duration=2ms"]);
        }
    }
}

#[test]
fn routing_by_digits_is_refused_with_place_and_hint_where_there_are_no_levels() {
    let text = "[topology]\nkind = \"ring\"\n\n[routing]\nkind = \"d-mod-k\"\n\n[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"1KB\"\n";
    let Err(e) = NetworkScenario::from_text("ring.toml", text, &[], Path::new(".")) else {
        panic!("a ring has no levels")
    };
    let stated = e.to_string();
    assert!(
        stated.contains("ring.toml:5:8") && stated.contains("the link S1-S2 joins levels 1 and 1"),
        "{stated}"
    );
    assert!(stated.contains("fat-tree or leaf-spine"), "{stated}");
}

#[test]
fn workloads_are_refused_with_place_and_hint() {
    let stated = |workload: &str| {
        let text = format!("[topology]\nkind = \"tcd-fig2\"\n\n[[workload]]\n{workload}");
        match NetworkScenario::from_text("w.toml", &text, &[], Path::new(".")) {
            Ok(_) => panic!("{workload}"),
            Err(e) => e.to_string(),
        }
    };
    for (workload, place, texts) in [
        (
            "kind = \"bursts\"\ndestinations = [\"R1\"]\nsize = \"64KB\"\ngap = \"0us\"\nrounds = 1\n",
            "w.toml:8:7",
            ["gap: all rounds", "above 0"],
        ),
        (
            "kind = \"bursts\"\ndestinations = [\"R1\"]\nsize = \"64KB\"\n",
            "w.toml:4:1",
            ["missing key 'gap'", "starts of two rounds"],
        ),
        (
            "kind = \"bursts\"\ndestinations = [\"R1\"]\nsize = \"64KB\"\ngap = \"1us\"\n",
            "w.toml:4:1",
            ["duration", "rounds, or both"],
        ),
        (
            "kind = \"poisson\"\nload = 0.5\nsize = \"1KB\"\nflows = 3\ndestinations = [\"R2\"]\n",
            "w.toml:9:16",
            ["there is no host 'R2'", "did you mean 'A2'"],
        ),
        (
            "kind = \"mpi-io\"\nload = 0.5\nmessages = 10\n",
            "w.toml:4:1",
            ["the rack of 'S0' has 2 hosts", "name io_servers"],
        ),
        (
            "kind = \"mpi-io\"\nload = 0.5\nmessages = 10\nio_size = [\"1MB\"]\n",
            "w.toml:8:1",
            ["unknown key 'io_size'", "io_sizes"],
        ),
    ] {
        let stated = stated(workload);
        assert!(stated.contains(place) && texts.iter().all(|t| stated.contains(t)), "{stated}");
    }
}

/// The rate control of the run leaves alone who asks for it.
#[test]
fn a_flow_may_be_exempt_from_rate_control() {
    let delivered = |exempt: bool| {
        let text = format!(
            "[run]\nduration = \"2ms\"\n[topology]\nkind = \"star\"\nhosts = 3\n[flow_control]\nkind = \"none\"\n[switch]\nbuffer = \"10MB\"\n\
             [detection]\nkind = \"red\"\nkmin = \"5KB\"\nkmax = \"5KB\"\n[rate_control]\nkind = \"dcqcn\"\n\
             [[flow]]\nsrc = \"H0\"\ndst = \"H2\"\n[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nrate_control = {}\n",
            !exempt
        );
        let s = NetworkScenario::from_text("two.toml", &text, &[], Path::new("."))
            .unwrap_or_else(|e| panic!("{e}"));
        let f = s.run(Sink::Nothing).unwrap();
        [0, 1].map(|i| f.outcome.flows[i].delivered)
    };
    let ([a, b], [c, d]) = (delivered(false), delivered(true));
    // Alike, both give way; the exempt one takes what the other leaves, 10 Gb/s for 2 ms together.
    assert!(a.abs_diff(b) < 150_000, "{a} {b}");
    assert!(d > 3 * c && d > b && c + d <= 2_500_000, "{c} {d}");
}

/// Section 3.2.2, case 3 (covered): P3 is the root, P2 a leaf that is a root of its own to be, P0
/// and P1 are its leaves. F1 and the bursts cause it, F0 and F2 only suffer; none of their frames
/// is marked CE.
#[test]
fn the_congestion_tree_has_its_root_leaves_and_victims() {
    use xoff_run::{Role, congestion_tree};
    use xoff_units::Time;
    let s = load("multiple-congestion-points.toml", &["detection.kind=tcd"]);
    let tree = congestion_tree(&s, Time::from_us(1000), |_| true).unwrap();
    let at = |port: &str| {
        tree.branches
            .iter()
            .position(|b| b.port == port)
            .unwrap_or_else(|| panic!("no {port} in\n{tree}"))
    };
    let (p0, p1, p2, p3) = (at("T0->L0"), at("T1->L0"), at("L0->T2"), at("T2->R1"));
    let roles = [p0, p1, p2, p3].map(|i| tree.branches[i].role);
    assert_eq!(roles, [Role::Leaf, Role::Leaf, Role::Leaf, Role::Root]);
    assert_eq!([p0, p1, p2, p3].map(|i| tree.parent(i)), [Some(p2), Some(p2), Some(p3), None]);
    assert_eq!(tree.bases(), [p3]);
    let pairs = |m: &[xoff_run::Member]| {
        m.iter().map(|m| format!("{}-{}", m.src, m.dst)).collect::<Vec<_>>()
    };
    assert_eq!(pairs(&tree.victims), ["S0-R0", "S2-R0"]);
    assert!(tree.victims.iter().all(|m| m.ce_frames == 0), "{tree}");
    assert!(
        tree.culprits.iter().all(|m| m.dst == "R1")
            && pairs(&tree.culprits).contains(&"S1-R1".to_owned()),
        "{tree}"
    );
    // Before anything is sent but F1 there is no tree.
    assert!(congestion_tree(&s, Time::from_us(1), |_| true).unwrap().branches.is_empty());
    // A detection without states leaves the ports that are paused now, and the port for which they
    // wait.
    let tree =
        congestion_tree(&load("multiple-congestion-points.toml", &[]), Time::from_us(1000), |_| {
            true
        })
        .unwrap();
    assert_eq!(tree.stateless.as_deref(), Some("red"));
    let free: Vec<&str> =
        tree.branches.iter().filter(|b| b.role == Role::Free).map(|b| b.port.as_str()).collect();
    assert_eq!(free, ["T2->R1"], "{tree}");
}

/// Hosts that do not understand UE, rules for marks that never come, and a rate control that would
/// never get feedback.
#[test]
fn parts_that_do_not_fit_together_are_reported() {
    let warnings = |settings: &[&str]| {
        let s = load("single-congestion-point.toml", settings);
        s.warnings
            .iter()
            .map(|p| p.line())
            .filter(|l| l.contains("tcd") || l.contains("TCD"))
            .collect::<Vec<_>>()
    };
    assert_eq!(warnings(&[]), [] as [&str; 0]);
    assert_eq!(warnings(&["detection.kind=tcd", "rate_control.tcd=true"]), [] as [&str; 0]);
    assert!(
        warnings(&["detection.kind=tcd"])[0].contains("ECT(0)"),
        "{:?}",
        warnings(&["detection.kind=tcd"])
    );
    assert!(
        warnings(&["rate_control.tcd=true"])[0].contains("no port marks UE"),
        "{:?}",
        warnings(&["rate_control.tcd=true"])
    );
    let settings = [Override::set("rate_control=timely").unwrap()];
    let refused = NetworkScenario::load(&folder().join("single-congestion-point.toml"), &settings)
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("hosts send none") && refused.contains("host.acks"), "{refused}");
}
