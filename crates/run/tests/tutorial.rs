//! The tutorial scenario from file to tables.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_scenario::document::Override;

fn ring(settings: &[&str]) -> NetworkScenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/tutorial/ring.toml");
    let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    NetworkScenario::load(&path, &settings).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn pfc_deadlocks_and_reports_it() {
    let f = ring(&[]).run(Sink::Memory).unwrap();
    assert_eq!(f.outcome.dropped_frames, 0);
    assert_eq!(f.manifest.deadlock.as_ref().unwrap().len(), 3);
    assert!(f.summary.active.iter().any(|s| s.starts_with("deadlock: ")), "{:?}", f.summary);
}

#[test]
fn the_same_scenario_gives_the_same_hash() {
    let hash = |settings: &[&str]| ring(settings).run(Sink::Nothing).unwrap().manifest.result_hash;
    assert_eq!(hash(&[]), hash(&[]));
    assert_ne!(hash(&[]), hash(&["switch.discipline=round-robin"]));
}

#[test]
fn the_resolved_scenario_gives_the_same_run() {
    let s = ring(&["flow_control=gfc-buffer", "switch.discipline=round-robin"]);
    let b1 = s.parameters.iter().find(|p| p.path == "flow_control.b1").unwrap();
    assert_eq!(b1.value, "750KB");
    let again = NetworkScenario::from_text("resolved.toml", &s.resolved, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}\n{}", s.resolved));
    assert_eq!(
        s.run(Sink::Nothing).unwrap().manifest.result_hash,
        again.run(Sink::Nothing).unwrap().manifest.result_hash
    );
}

/// A detection that cannot work with the buffers and the flow control of the run is rejected at its
/// key.
#[test]
fn a_detection_is_refused_where_it_cannot_work() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/tutorial/ring.toml");
    for (setting, words) in [
        ("detection.kmax=3001KB", "the memory of an egress, 3 MB"), // three ports with 1 MB each
        ("detection.max_ton=1us", "a frame of 1.5 KB"),
        ("detection.epsilon=0", "congestion degree"),
    ] {
        let settings = ["detection.kind=tcd", setting].map(|s| Override::set(s).unwrap());
        let refused = NetworkScenario::load(&path, &settings).err().unwrap().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    ring(&["detection.kind=tcd", "detection.kmax=3MB", "detection.max_ton=2us"]);
}

/// The chain of a deadlock bites its tail; that of an incast ends at the receiver's link.
#[test]
fn explanations_find_the_root() {
    let s = ring(&[]);
    let e =
        xoff_run::explain(&s, "H1->S1", xoff_units::Time::from_us(15_000), None, |_| true).unwrap();
    assert!(
        matches!(e.root, xoff_run::Root::Cycle { circle: xoff_run::Circle::Deadlock, .. }),
        "{e}"
    );
    let ports: Vec<&str> = e.steps.iter().map(|s| s.port.as_str()).collect();
    assert_eq!(ports, ["H1->S1", "S1->S2", "S2->S3", "S3->S1"]);

    // Before the cycle has closed for good it is no deadlock, however often ports wait for each
    // other. With GFC they slow each other down.
    let gfc = ring(&["flow_control=gfc-buffer"]);
    for us in [9_000, 17_650] {
        let e = xoff_run::explain(&gfc, "S1->S2", xoff_units::Time::from_us(us), None, |_| true)
            .unwrap();
        if let xoff_run::Root::Cycle { circle, .. } = e.root {
            assert_eq!(circle, xoff_run::Circle::Slowed, "{e}");
            assert!(
                e.to_string().contains("still send") && !e.to_string().contains("deadlock"),
                "{e}"
            );
        } else {
            assert_ne!(us, 17_650, "{e}");
        }
    }

    let text = r#"
        [topology]
        kind = "star"
        hosts = 5
        [[workload]]
        kind = "incast"
        receiver = "H4"
        size = "1MB"
    "#;
    let s = NetworkScenario::from_text("incast.toml", text, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"));
    let switch = s.topology.name(s.topology.switches().next().unwrap()).to_owned();
    let e = xoff_run::explain(
        &s,
        &format!("H0->{switch}"),
        xoff_units::Time::from_us(1_000),
        None,
        |_| true,
    )
    .unwrap();
    assert!(
        matches!(&e.root, xoff_run::Root::Bottleneck { port, .. } if *port == format!("{switch}->H4")),
        "{e}"
    );
}

/// Classes are numbered densely inside; tables have priorities.
#[test]
fn the_deadlock_table_names_the_priority() {
    let s = ring(&["flow[0].priority=3", "flow[1].priority=3", "flow[2].priority=3"]);
    let f = s.run(Sink::Memory).unwrap();
    let table = f.tables.memory.iter().find(|t| t.name == "deadlocks").unwrap();
    let priorities: Vec<_> =
        table.batches.iter().flat_map(|b| xoff_record::read::numbers(b, "priority")).collect();
    assert_eq!(priorities, [Some(3); 3]);
}
