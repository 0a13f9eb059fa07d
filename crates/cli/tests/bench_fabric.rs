//! The tests of the IETF draft as a user runs them: closed forms, a fat-tree, a leaf-spine, wrong
//! input, Ctrl-C.
#![cfg(unix)]

mod support;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{command, files, folder, path, xoff};

/// A fabric of 100 Gb/s; its traffic is replaced.
fn fabric(dir: &Path, topology: &str, more: &str) -> String {
    let text = format!(
        "[run]\ntitle = \"Fabric\"\nduration = \"1ms\"\n[topology]\n{topology}\nrate = \"100Gbps\"\ndelay = \"500ns\"\n\
         [flow_control]\nkind = \"pfc\"\n{more}\n[[workload]]\nkind = \"incast\"\nreceiver = \"H0\"\nsize = \"1MB\"\n"
    );
    std::fs::write(dir.join("fabric.toml"), text).unwrap();
    path(dir, "fabric.toml")
}

const STAR: &str = "kind = \"star\"\nhosts = 12";
const LEAF_SPINE: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 4";
const FAT_TREE: &str = "kind = \"fat-tree\"\nk = 4";

fn bench(scenario: &str, out: &str, more: &[&str]) -> Value {
    let args = [&["bench-fabric", scenario, "--out", out, "--json"], more].concat();
    let ran = xoff(&args);
    assert!(matches!(ran.code, 0 | 1), "{}", ran.err);
    ran.json()
}

fn test<'b>(found: &'b Value, name: &str) -> &'b Value {
    let tests = found["tests"].as_array().unwrap();
    tests.iter().find(|t| t["test"] == name).unwrap()
}

/// The mean of an indicator in a row.
fn value(test: &Value, row: usize, kpi: &str) -> f64 {
    let kpis = test["kpis"].as_array().unwrap();
    let at = kpis.iter().position(|k| k["name"] == kpi).unwrap();
    test["rows"][row]["values"][at]["mean"].as_f64().unwrap_or(f64::NAN)
}

#[test]
fn an_incast_around_a_switch_has_its_closed_form() {
    let dir = folder("bench-star");
    let scenario = fabric(&dir, STAR, "[switch]\ndiscipline = \"round-robin\"");
    let out = path(&dir, "out");
    let found = bench(&scenario, &out, &["--only", "incast", "--seeds", "1"]);
    let incast = test(&found, "incast");
    let n = [2.0, 4.0, 8.0];
    assert_eq!(incast["rows"].as_array().unwrap().len(), n.len());
    for (row, n) in n.into_iter().enumerate() {
        // N MB on the last link; before it a frame crosses the first link, and both cables: 667
        // frames a flow, the last of 1,000 B, are the same number of bytes.
        let frame = 1500.0 * 8.0 / 100e9;
        let ideal = n * 1e6 * 8.0 / 100e9 + frame + 2.0 * 500e-9;
        let measured = n * 1e6 * 8.0 / value(incast, row, "goodput_bps");
        assert!((measured - ideal).abs() < frame, "{n}: {measured} {ideal}");
        // Each sender gets C / N: the last frames of all are within a round.
        assert!(value(incast, row, "jfi") > 0.99999, "{n}");
        assert_eq!(value(incast, row, "lost_frames"), 0.0);
        // The victim shares no port with the incast.
        assert_eq!(value(incast, row, "victim"), 1.0);
        assert_eq!(value(incast, row, "hosts_paused"), n);
    }
    assert_eq!(found["answer"], "yes");
    for name in ["balancing", "tenants", "failure", "convergence"] {
        let found = bench(&scenario, &out, &["--only", name, "--seeds", "1"]);
        let test = test(&found, name);
        assert_eq!(test["state"], "not-applicable", "{name}");
        assert!(test["why"].as_str().is_some_and(|w| !w.contains('\n')), "{name}");
    }
}

#[test]
fn a_fat_tree_deadlocks_under_the_pattern_that_is_made_for_it() {
    let dir = folder("bench-fat-tree");
    let scenario = fabric(&dir, FAT_TREE, "");
    let out = path(&dir, "out");
    let found = bench(&scenario, &out, &["--only", "deadlock", "--seeds", "1"]);
    let deadlock = test(&found, "deadlock");
    // Two failed links, a cycle of four buffers, four flows.
    assert_eq!(deadlock["rows"][0]["case"][1], "E1-A1 E2-A2");
    assert_eq!((value(deadlock, 0, "flows"), value(deadlock, 0, "deadlock")), (4.0, 1.0));
    assert_eq!(
        (&found["answer"], &deadlock["findings"][0]["kind"]),
        (&"no".into(), &"deadlock".into())
    );
    // The scenario next to the results is that run.
    let file = path(Path::new(&out), "scenarios/deadlock-cycle.toml");
    let run = xoff(&["run", &file, "--no-report", "--out", &path(&dir, "run")]);
    assert_eq!(run.code, 1, "{}", run.err);
    let at = value(deadlock, 0, "deadlock_ps");
    let text = std::fs::read_to_string(dir.join("run/manifest.json")).unwrap();
    let headline = serde_json::from_str::<Value>(&text).unwrap()["verdict"]["headline"].to_string();
    assert!(headline.contains(&format!("deadlock at {} us", at / 1e6)), "{headline} {at}");
    // Per-input queues do not let the cycle fill.
    let out = path(&dir, "fair");
    let more = ["--only", "deadlock", "--seeds", "1", "--set", "switch.discipline=round-robin"];
    assert_eq!(bench(&scenario, &out, &more)["answer"], "yes");
    let allowed = xoff(&[
        "bench-fabric",
        &scenario,
        "--out",
        &path(&dir, "out"),
        "--only",
        "deadlock",
        "--seeds",
        "1",
        "--allow",
        "deadlock",
    ]);
    assert_eq!(allowed.code, 0, "{}", allowed.out);
    // Lines with a path of this machine are as long as it is.
    let fits = |l: &str| l.chars().count() <= 80 || l.contains(&*dir.to_string_lossy());
    assert!(allowed.out.lines().all(fits), "{}", allowed.out);
}

#[test]
fn a_leaf_spine_runs_every_test_and_is_continued() {
    let dir = folder("bench-leaf-spine");
    let more = "[detection]\nkind = \"red\"\n[rate_control]\nkind = \"dcqcn\"\n[host]\nacks = \"per-frame\"\nrecovery = \"go-back-n\"";
    let scenario = fabric(&dir, LEAF_SPINE, more);
    let out = path(&dir, "out");
    let found = bench(&scenario, &out, &["--seeds", "1"]);
    for t in found["tests"].as_array().unwrap() {
        assert_eq!(
            (&t["state"], t["rows"].as_array().unwrap().is_empty()),
            (&"done".into(), false),
            "{}",
            t["test"]
        );
    }
    // Two leaves: no failure of links makes a cycle, as a proof and not as a run.
    let note = test(&found, "deadlock")["notes"][0].as_str().unwrap();
    assert!(note.contains("no traffic can deadlock"), "{note}");
    // Spraying evens out the uplinks, and one queue pair does not.
    let balancing = test(&found, "balancing");
    let row = |label: &str| {
        balancing["rows"].as_array().unwrap().iter().position(|r| r["case"][0] == label).unwrap()
    };
    assert!(value(balancing, row("spray-random"), "jfi") > 0.99);
    assert!(value(balancing, row("ecmp"), "mmr") > value(balancing, row("spray-random"), "mmr"));
    // Jobs apart share no uplink, and no time.
    let tenants = test(&found, "tenants");
    assert_eq!((value(tenants, 0, "overlap"), value(tenants, 0, "interference")), (0.0, 1.0));
    // The same files again, from kept runs.
    let report = || std::fs::read(Path::new(&out).join("index.html")).unwrap();
    let (first, kept) = (report(), files(&Path::new(&out).join("finished")).len());
    assert_eq!(bench(&scenario, &out, &["--seeds", "1"]), found);
    assert_eq!((report() == first, files(&Path::new(&out).join("finished")).len()), (true, kept));
    for name in ["report.md", "results.csv", "bench.json"] {
        assert!(std::fs::metadata(Path::new(&out).join(name)).unwrap().len() > 1000, "{name}");
    }
}

/// Jobs on hosts of their own that share no link take as long alone, whatever their hashes choose.
/// Before: a job alone had other source ports than next to the other one.
#[test]
fn tenants_apart_on_two_planes_do_not_interfere() {
    let dir = folder("bench-tenants");
    let planes = "kind = \"multi-plane\"\nplanes = 2\nleaves = 2\nspines = 1\nhosts_per_leaf = 2";
    let scenario = fabric(&dir, planes, "[host]\nacks = \"per-frame\"");
    let found = bench(&scenario, &path(&dir, "out"), &["--only", "tenants", "--seeds", "4"]);
    let tenants = test(&found, "tenants");
    assert_eq!([0, 1].map(|row| value(tenants, row, "interference")), [1.0, 1.0]);
}

#[test]
fn an_interrupted_benchmark_keeps_its_runs() {
    let dir = folder("bench-interrupted");
    let scenario = fabric(&dir, LEAF_SPINE, "");
    let out = path(&dir, "out");
    let args =
        ["bench-fabric", &scenario, "--only", "jct", "--threads", "1", "--out", &out, "--json"];
    let child = command(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let kept = || {
        let below = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().count();
        let folders = std::fs::read_dir(Path::new(&out).join("finished"));
        folders.into_iter().flatten().flatten().map(|e| below(&e.path())).sum::<usize>()
    };
    let begun = Instant::now();
    while kept() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no run ended");
        std::thread::sleep(Duration::from_millis(2));
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let stopped: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((ended.status.code(), &stopped["answer"]), (Some(130), &"interrupted".into()));
    let done = stopped["runs"]["done"].as_u64().unwrap();
    assert!(done >= 2 && stopped["runs"]["missing"].as_u64() > Some(0), "{}", stopped["runs"]);
    assert_eq!(test(&stopped, "jct")["state"], "incomplete");
    // The same command computes the rest.
    let whole = bench(&scenario, &out, &["--only", "jct"]);
    assert_eq!((&whole["answer"], whole["runs"]["missing"].as_u64()), (&"yes".into(), Some(0)));
}

#[test]
fn wrong_input_is_refused_with_its_place() {
    let dir = folder("bench-wrong");
    let out = path(&dir, "out");
    let scenario = fabric(&dir, "kind = \"star\"\nhosts = 2", "");
    xoff(&["bench-fabric", &scenario, "--out", &out]).complains(&[
        "fabric.toml:1:1",
        "2 hosts",
        "at least three",
    ]);
    let scenario = fabric(&dir, STAR, "[switch]\nbufer = \"1MB\"");
    let ran = xoff(&["bench-fabric", &scenario, "--out", &out]);
    ran.complains(&["fabric.toml:12:1", "bufer", "did you mean 'buffer'?"]);
    assert_eq!(ran.code, 2);
    let ran = xoff(&["bench-fabric", &scenario, "--only", "incest"]);
    ran.complains(&["incest", "incast"]);
    let queues = "[scheduled_fabric]\nradix = 4\n";
    std::fs::write(dir.join("queues.toml"), queues).unwrap();
    xoff(&["bench-fabric", &path(&dir, "queues.toml"), "--out", &out])
        .complains(&["scheduled fabric"]);
    assert!(!dir.join("out").exists(), "nothing is made for input that is refused");
}
