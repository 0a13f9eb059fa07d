//! `host.cnp_priority`: CNPs in a class that nothing pauses.

use std::path::Path;

use xoff_farm::checkers::{How, PLAIN, Ran, ran};
use xoff_run::NetworkScenario;
use xoff_scenario::document::Override;
use xoff_sim::{Engine, Outcome, Row};

/// H0 and H2 send to H1, and H0's NIC holds the port towards it for the whole run, as one that is
/// broken does.
const HELD: &str = r#"
[run]
duration = "300us"
stop_when_done = false
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "1us"
[host]
frame_max = "1000B"
[switch]
buffer = "300KB"
[flow_control]
kind = "pfc"
[detection]
kind = "red"
kmin = "5KB"
kmax = "5KB"
[rate_control]
kind = "dcqcn"
[[flow]]
src = "H0"
dst = "H1"
size = "10MB"
[[flow]]
src = "H2"
dst = "H1"
size = "10MB"
[[pause_storm]]
host = "H0"
start = "0us"
interval = "100us"
[probes]
marks = ["S1->H1"]
flow_rates = true
"#;

fn load(settings: &[&str]) -> NetworkScenario {
    let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    NetworkScenario::from_text("held.toml", HELD, &settings, Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"))
}

fn run(s: &NetworkScenario, engine: Engine, threads: usize) -> (Vec<Row>, Outcome) {
    let Ran { rows, outcome } = ran(s, How { engine, threads, ..PLAIN }).unwrap();
    assert_eq!((outcome.dropped_frames, outcome.violations_total), (0, 0));
    (rows, outcome)
}

/// Time of the first frame of a flow that is marked, and of the first change of its rate, by flow
/// [ps].
fn first(rows: &[Row]) -> [(Option<u64>, Option<u64>); 2] {
    [0, 1].map(|flow| {
        let marked = rows.iter().find_map(|r| match r {
            Row::Mark(m) if m.flow == flow => Some(m.time_ps),
            _ => None,
        });
        let changed = rows.iter().find_map(|r| match r {
            Row::Rate(r) if r.flow == Some(flow) => Some(r.time_ps),
            _ => None,
        });
        (marked, changed)
    })
}

/// A frame of 1000 B takes 800 ns and a CNP of 64 B takes 51.2 ns on each link, which is 1 us long:
/// from the mark at the egress to the cut 1.8 us and 2 x 1.0512 us. Where CNPs ride with the data,
/// that of H0 never comes.
#[test]
fn a_cnp_reaches_a_host_whose_link_is_paused() {
    const WAY: u64 = 1_800_000 + 2 * 1_051_200;
    let (rows, _) = run(&load(&["host.cnp_priority=7"]), Engine::Auto, 1);
    for (flow, (marked, changed)) in first(&rows).into_iter().enumerate() {
        assert_eq!(changed.unwrap(), marked.unwrap() + WAY, "flow {flow}");
    }
    let (rows, _) = run(&load(&[]), Engine::Auto, 1);
    let [held, free] = first(&rows);
    assert_eq!((held.0.is_some(), held.1), (true, None), "the port towards H0 is stopped");
    assert_eq!(free.1.unwrap(), free.0.unwrap() + WAY, "nothing stops that of H2");
}

/// A separate class changes nothing without pauses, except that CNPs overtake data: none shares
/// their path here.
#[test]
fn without_pauses_a_class_of_their_own_changes_nothing() {
    let calm = ["pause_storm[0].start=1s", "run.duration=300us"];
    let of = |more: &[&str]| run(&load(&[&calm[..], more].concat()), Engine::Auto, 1).0;
    assert_eq!(of(&[]), of(&["host.cnp_priority=7"]));
}

/// `rate_control.cnp = "clock"`: a flow is cut at those ticks of 50 us, counted from the arrival of
/// its first frame, since whose predecessor a marked one has come. The first frames come to the
/// receiver after 2 x 1.8 us, that of H2 behind that of H0.
#[test]
fn cnps_leave_at_the_ticks_of_a_clock() {
    let cuts = |more: &[&str], flow: u64| {
        let calm = ["pause_storm[0].start=1s", "run.duration=3ms", "host.cnp_priority=7"];
        let rows = run(&load(&[&calm[..], more].concat()), Engine::Auto, 1).0;
        let (mut marks, mut cuts, mut rate) = (vec![], vec![], u64::MAX);
        for row in rows {
            match row {
                Row::Mark(m) if m.flow == flow => marks.push(m.time_ps + 1_800_000),
                Row::Rate(r) if r.flow == Some(flow) => {
                    if r.rate_bps < rate {
                        cuts.push(r.time_ps - 2 * 1_051_200);
                    }
                    rate = r.rate_bps;
                }
                _ => {}
            }
        }
        (marks, cuts)
    };
    const N: u64 = 50_000_000;
    for (flow, first) in [(0, 3_600_000), (1, 4_400_000)] {
        let (marks, by_clock) = cuts(&["rate_control.cnp=clock"], flow);
        let mut ticks: Vec<u64> = marks.iter().map(|m| first + ((m - first) / N + 1) * N).collect();
        ticks.dedup();
        ticks.retain(|&t| t < 2_990_000_000);
        assert!(ticks.len() > 3, "{ticks:?}");
        assert_eq!(by_clock, ticks);
        let (marks, at_once) = cuts(&[], flow);
        assert_eq!(at_once[0], marks[0]);
        assert_ne!(at_once, by_clock);
    }
}

#[test]
fn both_engines_and_any_number_of_threads_give_the_same() {
    for acks in [
        &[][..],
        &["host.acks=per-frame", "host.ack_priority=7"],
        &["host.acks=per-frame", "host.ack_priority=5"],
    ] {
        let s = load(&[&["host.cnp_priority=7"], acks].concat());
        let (rows, outcome) = run(&s, Engine::Events, 1);
        for (engine, threads) in [(Engine::Windows, 1), (Engine::Windows, 2), (Engine::Auto, 3)] {
            let (again, other) = run(&s, engine, threads);
            assert!(rows == again, "{acks:?}, {engine:?}, {threads} threads");
            let delivered = |o: &Outcome| o.flows.iter().map(|f| f.delivered).collect::<Vec<_>>();
            assert_eq!(delivered(&outcome), delivered(&other));
        }
    }
}

/// Acknowledgements of the same priority are held by nothing either: the flow of the paused host
/// continues to its end.
#[test]
fn acknowledgements_may_join_them() {
    let acknowledged = |ack_priority: &str| {
        let s = load(&[
            "host.cnp_priority=7",
            "host.acks=per-frame",
            ack_priority,
            "flow[0].size=20KB",
            "flow[1].size=20KB",
        ]);
        run(&s, Engine::Auto, 1).1.flows.iter().map(|f| f.acked().is_some()).collect::<Vec<_>>()
    };
    assert_eq!(acknowledged("host.ack_priority=7"), [true, true]);
    assert_eq!(acknowledged("host.ack_priority=0"), [false, true]);
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let refused = |settings: &[&str]| {
        let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
        NetworkScenario::from_text("held.toml", HELD, &settings, Path::new("."))
            .err()
            .expect("a refusal")
            .to_string()
    };
    let e = refused(&["host.cnp_priority=8"]);
    assert!(e.contains("cnp_priority") && e.contains("expected 0 to 7"), "{e}");
    let e = refused(&["host.cnp_priority=0"]);
    assert!(
        e.contains("flows use priority 0, but CNPs need a priority that is never paused"),
        "{e}"
    );
    let e = refused(&["host.cnp_priority=3", "flow[1].priority=3"]);
    assert!(e.contains("give CNPs a priority that no flow uses"), "{e}");
    let _ = load(&["host.cnp_priority=3", "flow[1].priority=4"]);
}
