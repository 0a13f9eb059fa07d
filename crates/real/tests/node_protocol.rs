//! The testbed with one process per node, against a program from outside this project. Its output
//! for people has no fixed form.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use xoff_real::testbed::processes::{self, Spawn};
use xoff_real::testbed::wiring;
use xoff_record::Verdict;
use xoff_record::verdict::{Deadlock, Losses, Parts, Promises, Work};
use xoff_run::NetworkScenario;

/// A node in a few lines. It keeps to the protocol, and prints for people what no node of ours
/// prints.
const NODE: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in
        --node) node=$2; shift ;;
        --ready) ready=$2; shift ;;
    esac
    shift
done
echo "Los geht's an den Ports von $node" >&2
if [ -n "$ready" ]; then
    printf '{"schema":"xoff-ready-1","node":"%s","interfaces":["eth0"]}\n' "$node" >"$ready.partial"
    mv "$ready.partial" "$ready"
fi
cat >/dev/null
cat <<END
ANSWER
END
"#;

/// The answer of a node, key by key: a key that is renamed or goes needs another version of the
/// schema.
const ANSWER: &str = r#"{
  "schema": "xoff-node-1", "node": "$node", "interfaces": ["eth0"],
  "clock_seconds": 0.5, "interrupted": false, "dropped_frames": 0, "lost_frames": 0, "violations": 0,
  "verdict": VERDICT,
  "real": {
    "wall_seconds": 0.5, "left_out_seconds": 0.0, "gap_longest_us": 900.0, "gap_p99_us": 300.0, "lost_on_wire": null,
    "ports": [{
      "port": "$node->?", "received": 7, "sent": 5, "control_received": 0, "control_sent": 0, "refused": 0, "malformed": 0,
      "unexpected": 0, "no_route": 0, "kernel_drops": 0, "send_errors": 0, "unsent": 0, "checksums_completed": 0, "too_long": 0,
      "storms": 0, "thrown_away": 0, "stale": 0, "impossible": 0, "port_down": 0, "downs": 0, "outages": []
    }],
    "log": []
  },
  "flows": [{"flow": 0, "src": "H1", "dst": "H0", "size": null, "sent": 0, "delivered": 0, "complete": false, "rate": 0}]
}"#;

#[test]
fn the_text_for_people_is_not_read() {
    let incast = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/testbed/incast.toml");
    let s = NetworkScenario::load(Path::new(incast), &[]).unwrap();
    let parts = Parts {
        interrupted: false,
        deadlock: Deadlock::None,
        losses: Losses::default(),
        promises: Promises::Kept,
        work: Work { unit: "flows".into(), total: 0, complete: 0, incomplete: 0 },
        nothing_ran: None,
        not_kept: None,
        failures: Vec::new(),
        unfinished: Vec::new(),
    };
    let verdict = serde_json::to_string(&Verdict::from(parts)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("node");
    std::fs::write(&program, NODE.replace("ANSWER", &ANSWER.replace("VERDICT", &verdict))).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let links = wiring::links(&s, &vec![true; s.topology.nodes.len()], |_, _| false);
    let spawn = Spawn {
        program: vec![program.into()],
        scenario: Path::new(incast),
        settings: Vec::new(),
        out: dir.path(),
    };
    let began = Instant::now();
    let nodes = processes::run(&s, &links, &spawn, || true).unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "it waited for {:?} for something that was never written",
        began.elapsed()
    );
    assert_eq!(nodes.len(), s.topology.nodes.len());
    for n in &nodes {
        assert_eq!(n.exit_code, Some(0), "{}: {}", n.node, n.stderr);
        let json = serde_json::to_value(n).unwrap();
        assert_eq!(json["answer"]["node"], n.node.as_str(), "{}", n.stderr);
        assert_eq!(json["answer"]["real"]["ports"][0]["received"], 7);
        assert!(n.stderr.starts_with("Los geht's"), "{}", n.stderr);
    }
}
