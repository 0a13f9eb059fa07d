//! `host.connections`: messages of a workload that share a connection, and with it the state of its
//! rate control.

use std::path::Path;

use xoff_farm::checkers::{How, PLAIN, Ran, ran};
use xoff_run::NetworkScenario;
use xoff_scenario::document::Override;
use xoff_sim::{Engine, Outcome, Row, World};

/// H0 sends two messages to H1, the second one while the first is under way; H2 sends to H1 as
/// well.
const STAR: &str = r#"
[run]
duration = "20ms"
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
[[flow]]
src = "H0"
dst = "H1"
size = "100KB"
[[flow]]
src = "H0"
dst = "H1"
size = "100KB"
start = "10us"
[probes]
flow_rates = true
"#;

/// Rate controls with what they need: detection, and for TIMELY acknowledgements.
const CONTROLS: [&[&str]; 3] = [
    &[
        "detection.kind=red",
        "detection.red.kmin=5KB",
        "detection.red.kmax=5KB",
        "rate_control.kind=dcqcn",
    ],
    &[
        "rate_control.kind=timely",
        "host.acks=per-frame",
        "rate_control.timely.t_low=10us",
        "rate_control.timely.t_high=20us",
    ],
    &["detection.kind=fecn", "detection.fecn.threshold=5KB", "rate_control.kind=ib-cc"],
];

fn load(text: &str, settings: &[&str]) -> NetworkScenario {
    let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    NetworkScenario::from_text("star.toml", text, &settings, Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"))
}

fn run(s: &NetworkScenario, engine: Engine, threads: usize) -> (Vec<Row>, Outcome) {
    let Ran { rows, outcome } = ran(s, How { engine, threads, ..PLAIN }).unwrap();
    assert_eq!((outcome.dropped_frames, outcome.violations_total), (0, 0));
    (rows, outcome)
}

/// The rows of a run whose state moves to another world again and again.
fn moved(s: &NetworkScenario) -> Vec<Row> {
    let build = || {
        let mut m = s.model();
        m.engine = Engine::Events;
        World::build(&s.topology, s.flows.clone(), &m).unwrap()
    };
    let mut w = build();
    w.record_to(Box::new(Vec::<Row>::new()));
    let ended = loop {
        if let Some(ended) = w.run(s.until, 777) {
            break ended;
        }
        let state = w.save().unwrap_or_else(|what| panic!("{what} cannot be saved"));
        let mut next = build();
        next.restore(&state).unwrap_or_else(|e| panic!("{e}"));
        next.record_to(w.take_recorder().expect("it was given"));
        w = next;
    };
    *w.finish(ended).1.unwrap().into_any().downcast::<Vec<Row>>().unwrap()
}

fn fcts(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|f| f.fct().expect("complete").0).collect()
}

/// A frame of 1000 B takes 800 ns on each of two links of 1 us. Of two messages of 100 frames each
/// the second, 10 us later, waits for the last byte of the first where they share a connection;
/// where they do not, they take turns. With the other host's turn nothing is shared.
#[test]
fn messages_of_one_connection_are_sent_one_after_the_other() {
    let way = 2 * 1_000_000 + 800_000;
    let [first, last] = [100, 200].map(|frames: u64| frames * 800_000 + way);
    assert_eq!(
        fcts(&run(&load(STAR, &["host.connections=per-pair"]), Engine::Auto, 1).1),
        [first, last - 10_000_000]
    );
    // 10 us are 12 or 13 frames; then they take turns, so that the first ends with the last frame
    // but 12.
    let alone = fcts(&run(&load(STAR, &[]), Engine::Auto, 1).1);
    assert!(
        alone[0] > last - 14 * 800_000 && alone[0] < last && alone[1] == last - 10_000_000,
        "{alone:?}"
    );
    // Another receiver, another priority, another connection.
    for other in ["flow[1].dst=H2", "flow[1].priority=3"] {
        let pair =
            fcts(&run(&load(STAR, &["host.connections=per-pair", other]), Engine::Auto, 1).1);
        assert_eq!(pair, fcts(&run(&load(STAR, &[other]), Engine::Auto, 1).1), "{other}");
    }
}

/// A message that begins when the network is empty again starts at the rate to which the previous
/// one was cut.
#[test]
fn a_message_has_the_congestion_state_of_the_one_before() {
    const THREE: &str = "[[flow]]\nsrc = \"H2\"\ndst = \"H1\"\nsize = \"400KB\"\n";
    let text = STAR
        .replacen("size = \"100KB\"", "size = \"400KB\"", 1)
        .replace("[probes]", &format!("{THREE}[probes]"));
    for control in CONTROLS {
        // When both large ones are over, and how long the small one takes.
        let of = |connections: &str, start: u64| {
            let start = format!("flow[1].start={start}ns");
            let (_, outcome) =
                run(&load(&text, &[control, &[connections, &start]].concat()), Engine::Auto, 1);
            let large = outcome
                .flows
                .iter()
                .filter(|f| f.flow.size == 400_000)
                .map(|f| f.received.expect("complete").0);
            let small = outcome
                .flows
                .iter()
                .find(|f| f.flow.size == 100_000)
                .and_then(|f| f.fct())
                .expect("complete");
            (large.max().expect("two") / 1_000, small.0)
        };
        let (end, _) = of("host.connections=per-message", 15_000_000);
        let [fresh, shared] = ["per-message", "per-pair"]
            .map(|c| of(&format!("host.connections={c}"), end + 1_000).1);
        assert!(shared as f64 > 1.2 * fresh as f64, "{control:?}: {shared} {fresh}");
    }
}

/// A flow without an end, with its own rate or without rate control keeps a separate connection:
/// nothing waits behind it.
#[test]
fn an_endless_flow_holds_up_no_message() {
    let text = STAR.replacen("size = \"100KB\"\n", "", 1);
    let of = |connections: &str| {
        let (_, outcome) = run(&load(&text, &["run.duration=1ms", connections]), Engine::Auto, 1);
        outcome.flows.iter().map(|f| f.delivered).collect::<Vec<_>>()
    };
    assert_eq!(of("host.connections=per-pair"), of("host.connections=per-message"));
    for more in ["flow[0].rate=1Gbps", "flow[0].rate_control=false"] {
        let of =
            |connections: &str| fcts(&run(&load(STAR, &[connections, more]), Engine::Auto, 1).1);
        assert_eq!(of("host.connections=per-pair"), of("host.connections=per-message"), "{more}");
    }
}

/// Messages in a fat tree, several between two hosts at once, under each rate control.
#[test]
fn both_engines_and_any_number_of_threads_give_the_same() {
    const TREE: &str = r#"
[run]
duration = "3ms"
[topology]
kind = "fat-tree"
k = 4
rate = "10Gbps"
delay = "1us"
[host]
frame_max = "1000B"
connections = "per-pair"
[switch]
buffer = "300KB"
[flow_control]
kind = "pfc"
[[workload]]
kind = "incast"
receiver = "H0"
senders = ["H4", "H8", "H12"]
size = "60KB"
[[workload]]
kind = "incast"
receiver = "H0"
senders = ["H4", "H8", "H12"]
size = "30KB"
start = "7us"
[[workload]]
kind = "incast"
receiver = "H5"
senders = ["H4", "H8", "H12"]
size = "90KB"
start = "11us"
[[workload]]
kind = "incast"
receiver = "H0"
senders = ["H4", "H8", "H12"]
size = "20KB"
start = "600us"
[probes]
flow_rates = true
"#;
    for control in CONTROLS {
        let s = load(TREE, control);
        let (rows, outcome) = run(&s, Engine::Events, 1);
        for (engine, threads) in [(Engine::Windows, 1), (Engine::Windows, 2), (Engine::Auto, 4)] {
            let (again, other) = run(&s, engine, threads);
            assert!(rows == again, "{control:?}, {engine:?}, {threads} threads");
            assert_eq!(fcts(&outcome), fcts(&other), "{control:?}, {engine:?}, {threads} threads");
        }
        assert!(
            rows == moved(&s),
            "{control:?}: another world continues with the state of this one"
        );
        let apart = load(&TREE.replace("per-pair", "per-message"), control);
        assert_ne!(
            fcts(&outcome),
            fcts(&run(&apart, Engine::Auto, 1).1),
            "{control:?}: sharing changes something"
        );
    }
}
