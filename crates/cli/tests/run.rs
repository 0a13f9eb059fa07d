//! `xoff run` and `xoff explain`: tables, answers, refusals, interruption.

mod support;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use support::{Ran, command, files, folder, has_every_number, path, xoff};
use xoff_record::rows::NETWORK;

fn ring() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios/tutorial/ring.toml")
        .display()
        .to_string()
}

#[test]
fn a_run_leaves_tables_a_manifest_and_an_answer() {
    let out = folder("run-ring").display().to_string();
    let ran = xoff(&["run", &ring(), "--out", &out, "--json"]);
    assert_eq!(ran.code, 1, "a deadlock: {}", ran.err);
    let json = ran.json();
    has_every_number(&json);
    assert_eq!(json["deadlock"].as_array().unwrap().len(), 3);
    let mut want: Vec<String> = NETWORK.iter().map(|t| format!("{}.parquet", t.name)).collect();
    want.extend(["manifest.json".into(), "report.html".into(), "resolved.toml".into()]);
    want.sort();
    assert_eq!(files(Path::new(&out)), want);

    let explained = xoff(&["explain", &out, "H1->S1", "15ms", "--json"]).json();
    assert_eq!(explained["root"], "deadlock");
    assert_eq!(
        xoff(&["explain", &out, "H1->S9", "15ms"])
            .complains(&["there is no node 'S9'", "S1:S2"])
            .code,
        2
    );
    assert_eq!(xoff(&["explain", &out, "H1->S1", "15"]).complains(&["has no unit"]).code, 2);
    assert_eq!(
        xoff(&["explain", "no/such/run", "H1->S1", "1ms"]).complains(&["no/such/run"]).code,
        2
    );
}

/// A table as text, without Parquet; what it is does not change the results.
#[test]
fn tables_can_be_csv() {
    let out = folder("run-csv");
    let run = |format: &str| {
        let settings = ["--set", "run.duration=1ms", "--format", format, "--json"];
        xoff(
            &[["run", &ring(), "--out", &out.display().to_string()].as_slice(), &settings].concat(),
        )
    };
    let hash = |ran: &Ran| ran.json()["result_hash"].as_str().unwrap().to_owned();
    let csv = run("csv");
    assert_eq!(csv.code, 0, "{}", csv.err);
    let flows = std::fs::read_to_string(out.join("flows.csv")).unwrap();
    assert!(flows.starts_with("flow,src,dst,src_port,") && flows.contains("\n0,H1,"), "{flows}");
    assert!(!out.join("flows.parquet").exists());
    assert_eq!(hash(&run("parquet")), hash(&csv));
    assert!(
        out.join("flows.parquet").exists() && !out.join("flows.csv").exists(),
        "results of one run"
    );
    assert_eq!(run("xml").complains(&["xml", "parquet", "csv"]).code, 2);
}

#[test]
fn a_congestion_tree_is_printed_and_drawn() {
    let dir = folder("tree");
    std::fs::create_dir_all(&dir).unwrap();
    let scenario = |name: &str| {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../scenarios/mechanisms")
            .join(name)
            .display()
            .to_string()
    };
    let svg = dir.join("tree.svg").display().to_string();
    let ran = xoff(&["tree", &scenario("tcd.toml"), "500us", "--svg", &svg, "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let json = ran.json();
    let root =
        json["branches"].as_array().unwrap().iter().find(|b| b["role"] == "congested").unwrap();
    assert_eq!(root["port"], "S2->H6");
    assert!(std::fs::read_to_string(&svg).unwrap().contains("S2-&gt;H6"));
    assert_eq!(xoff(&["tree", &scenario("tcd.toml"), "5"]).complains(&["has no unit"]).code, 2);
    assert_eq!(
        xoff(&["tree", &scenario("tcd.toml"), "5s"]).complains(&["after the end of the run"]).code,
        2
    );
}

/// A detector without states: the tree shows the pauses, as the report does. A ring has a circle
/// instead of a root.
#[test]
fn a_tree_without_states_shows_the_pauses() {
    let dir = folder("tree-pauses");
    let svg = dir.join("tree.svg").display().to_string();
    let ran = xoff(&["tree", &ring(), "15ms", "--svg", &svg]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let line = |port: &str| {
        ran.out
            .lines()
            .find(|l| l.contains(&format!("{port} (priority 0): paused, ")))
            .unwrap_or_else(|| panic!("{}", ran.out))
    };
    assert!(
        !line("S1->S2").contains("─ ")
            && line("S3->S1").contains("─ ")
            && line("H1->S1").contains("─ "),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("\nCycle: S1->S2 waits for S2->S3 waits for S3->S1 waits for S1->S2\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("Pauses only: detection \"none\""), "{}", ran.out);
    assert!(
        ran.out.contains("\nNext: xoff explain ") && ran.out.contains(" S1:S2 15ms"),
        "{}",
        ran.out
    );
    assert!(std::fs::read_to_string(&svg).unwrap().contains("S1-&gt;S2"));
    let json = xoff(&["tree", &ring(), "15ms", "--json"]).json();
    assert_eq!(
        (&json["pauses_only"], json["branches"].as_array().unwrap().len()),
        (&"none".into(), 6)
    );
    // An incast has a root: the port to the receiver, which is free to send.
    let incast = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios/mechanisms/pfc.toml")
        .display()
        .to_string();
    let json = xoff(&["tree", &incast, "1ms", "--json"]).json();
    let branches = json["branches"].as_array().unwrap();
    let root = branches
        .iter()
        .position(|b| b["role"] == "free to send")
        .unwrap_or_else(|| panic!("{json:#}"));
    assert!(branches[root]["parent"].is_null() && branches[root]["port"] == "S1->H4", "{json:#}");
    assert_eq!(
        branches.iter().filter(|b| b["role"] == "paused host" && b["parent"] == root).count(),
        4,
        "{json:#}"
    );
    let quiet = xoff(&["tree", &ring(), "0us"]);
    assert!(quiet.code == 0 && quiet.out.starts_with("At 0"), "{}", quiet.out);
}

/// Without --out the folder has the name of the scenario; the verdict comes first, the network is
/// six rows, and the printed commands work.
#[test]
fn a_run_needs_no_option() {
    let dir = folder("run-default");
    std::fs::copy(ring(), dir.join("ring.toml")).unwrap();
    let here = |args: &[&str]| {
        let o = command(args).current_dir(&dir).output().unwrap();
        (
            o.status.code(),
            String::from_utf8(o.stdout).unwrap(),
            String::from_utf8(o.stderr).unwrap(),
        )
    };
    let (code, out, err) = here(&["run", "ring.toml"]);
    assert_eq!((code, err.as_str()), (Some(1), ""));
    assert!(files(&dir.join("out/ring")).contains(&"report.html".to_owned()));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("Three-switch ring: deadlock at "), "{out}");
    assert_eq!(lines[1], "Cycle: S1->S2 waits for S2->S3 waits for S3->S1 waits for S1->S2");
    let at = |text: &str| {
        lines
            .iter()
            .position(|l| l.trim_start().starts_with(text))
            .unwrap_or_else(|| panic!("{text}:\n{out}"))
    };
    assert!(at("Flow ") < at("Run ") && at("Run ") < at("Next:"), "{out}");
    let rows =
        lines[at("Run ")..].iter().take_while(|l| !l.is_empty()).filter(|l| !l.starts_with("   "));
    assert!(rows.count() <= 6 && !out.contains("Result hash") && !out.contains("Engine"), "{out}");
    let next: Vec<&str> =
        lines[at("Next:")..].iter().map(|l| l.trim_start_matches("Next:").trim()).collect();
    assert!(
        next.len() == 2
            && next[0].starts_with("xoff explain out/ring S1:S2 ")
            && next[1] == "xoff view out/ring",
        "{out}"
    );
    let (code, why, _) = here(&next[0].split(' ').skip(1).collect::<Vec<_>>());
    assert!(
        code == Some(0)
            && why.starts_with(
                "Deadlock: S1->S2 waits for S2->S3 waits for S3->S1 waits for S1->S2."
            ),
        "{why}"
    );
    let tree: Vec<&str> =
        why.lines().last().unwrap().trim_start_matches("Next: xoff ").split(' ').collect();
    assert_eq!((tree[0], here(&tree).0), ("tree", Some(0)), "{why}");
    // Again into its own folder, with the work of the engine.
    let (code, verbose, _) = here(&["run", "ring.toml", "--verbose"]);
    assert!(
        code == Some(1)
            && ["Result hash", "Engine", "Frame-hops", "Fast-forward"]
                .iter()
                .all(|t| verbose.contains(t)),
        "{verbose}"
    );
    // Another subcommand's folder is another one.
    assert_eq!(here(&["hpcc", "ring.toml"]).0, Some(2));
    assert!(here(&["run", "no.toml"]).2.contains("cannot read 'no.toml'"));
    // Nothing is wrong: the report.
    let (code, well, _) = here(&["run", "ring.toml", "--out", "a b", "--set", "run.duration=1ms"]);
    assert!(
        code == Some(0) && well.ends_with("\nNext: xoff view 'a b'\n") && !well.contains("Cycle:"),
        "{well}"
    );
}

#[test]
fn threads_and_repetition_change_no_hash() {
    let hash = |threads: &str| {
        let out = folder(&format!("run-threads-{threads}")).display().to_string();
        xoff(&[
            "run",
            &ring(),
            "--out",
            &out,
            "--threads",
            threads,
            "--set",
            "run.duration=3ms",
            "--json",
        ])
        .json()["result_hash"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let one = hash("1");
    assert_eq!(["2", "3", "8"].map(hash), [one.clone(), one.clone(), one]);
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let dir = folder("run-mistakes");
    let out = path(&dir, "out");
    let write = |text: &str| {
        std::fs::write(dir.join("s.toml"), text).unwrap();
        path(&dir, "s.toml")
    };
    let base = "[topology]\nkind = \"star\"\nhosts = 3\n";
    let flow = "[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\n";
    for (text, expected) in [
        (
            format!("{base}{flow}[switch]\nbufer = \"1KB\"\n"),
            &["s.toml:8:1", "unknown key 'bufer'", "did you mean 'buffer'?"][..],
        ),
        (
            format!("{base}[[flow]]\nsrc = \"H0\"\ndst = \"H0\"\n"),
            &["s.toml:6:7", "from 'H0' to 'H0'"],
        ),
        (format!("{base}[[flow]]\nsrc = \"H0\"\ndst = \"H7\"\n"), &["s.toml:6:7", "no host 'H7'"]),
        (format!("{base}{flow}rate = \"0Gbps\"\n"), &["s.toml:7:8", "rate 0"]),
        (
            format!(
                "{base}{flow}[flow_control]\nkind = \"pfc\"\nxoff = \"10KB\"\nxon = \"20KB\"\n"
            ),
            &["s.toml:10:7", "XON 20 KB is above XOFF 10 KB"],
        ),
        (format!("{base}rate = \"0bps\"\n{flow}"), &["s.toml:4:8", "rate"]),
        (format!("{base}{flow}[run]\nduration = 20\n"), &["s.toml:8:12", "no unit"]),
        (base.to_owned(), &["no flows"]),
        (
            format!(
                "{base}[[workload]]\nkind = \"poisson\"\ncdf = \"nowhere.txt\"\nload = 0.5\nduration = \"1ms\"\n"
            ),
            &["s.toml:6:7", "nowhere.txt"],
        ),
    ] {
        let ran = xoff(&["run", &write(&text), "--out", &out]);
        assert_eq!(ran.code, 2, "{text}\n{}", ran.err);
        ran.complains(expected);
    }
    assert_eq!(xoff(&["run", "no/such.toml", "--out", &out]).complains(&["no/such.toml"]).code, 2);
    assert_eq!(
        xoff(&["run", &ring(), "--out", "/proc/nowhere"]).complains(&["/proc/nowhere"]).code,
        2
    );
}

/// Fig. 5 violates Theorem 4.1: it runs, with a warning that names the condition.
#[test]
fn a_violated_condition_is_named() {
    let out = folder("run-condition").display().to_string();
    let set = ["flow_control=gfc-conceptual", "flow_control.b0=900KB", "run.duration=1ms"]
        .map(|s| ["--set", s])
        .concat();
    let ran = xoff(&[&["run", &ring(), "--out", &out], set.as_slice()].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.complains(&["B_0 <= B_m - 4 C tau", "Theorem 4.1"]);
}

/// Ctrl-C: exit code 130, complete tables of the results so far, no partial file.
#[test]
#[cfg(unix)]
fn an_interrupted_run_keeps_what_it_has() {
    interrupt("run-interrupted", &["--threads", "1"]);
}

/// Interrupted run with threads that meet every microsecond.
#[test]
#[cfg(unix)]
fn an_interrupted_run_on_three_threads_keeps_what_it_has() {
    interrupt("run-interrupted-threads", &["--threads", "3"]);
}

#[cfg(unix)]
fn interrupt(name: &str, more: &[&str]) {
    let out = folder(name);
    let dir = out.display().to_string();
    let ring = ring();
    let set = ["--set", "run.duration=1000s", "--set", "switch.discipline=round-robin"];
    let mut child = command([&["run", &ring, "--out", &dir], &set[..], more].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let partial = out.join("flows.parquet.partial");
    let start = Instant::now();
    while !partial.exists() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let left = files(&out);
    assert!(left.iter().all(|f| !f.ends_with(".partial")), "{left:?}");
    assert!(left.contains(&"manifest.json".to_owned()), "{left:?}");
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"interrupted\": true"));
}

/// Threads that cannot be had are named with the reason, and so are more than there are cores.
#[test]
fn threads_that_gain_nothing_are_named() {
    let out = folder("run-threads-named").display().to_string();
    let ran = |set: &[&str], threads: &str| {
        let set: Vec<&str> = set.iter().flat_map(|s| ["--set", s]).collect();
        let ran = xoff(
            &[
                &["run", &ring(), "--out", &out, "--threads", threads, "--set", "run.duration=1ms"],
                set.as_slice(),
            ]
            .concat(),
        );
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran
    };
    ran(&["topology.delay=0us"], "2").complains(&["one thread instead of 2", "0 s long"]);
    ran(&[], "8").complains(&["3 threads instead of 8"]);
}

/// Either engine gives the same result, and a run says which one it used, and why not the other.
#[test]
fn the_engine_of_a_run_is_named() {
    let out = folder("run-engine").display().to_string();
    let run = |more: &[&str]| {
        let args = ["run", &ring(), "--out", &out, "--json", "--set", "run.duration=3ms"];
        xoff(&[&args, more].concat()).json()
    };
    let (windows, events) = (run(&["--engine", "windows"]), run(&["--engine", "events"]));
    assert_eq!(
        (&windows["engine"], &windows["engine_because"]),
        (&"windows".into(), &serde_json::Value::Null)
    );
    assert_eq!(
        (&events["engine"], &events["engine_because"]),
        (&"events".into(), &"that was asked for".into())
    );
    assert_eq!(windows["result_hash"], events["result_hash"]);
    for (set, why) in [
        ("topology.delay=0us", "cables of 0 s to 0 s"),
        ("topology.rate=1Gbps", "in a window of 1 us an average node passes 0."),
    ] {
        let refused = run(&["--set", set]);
        assert_eq!(refused["engine"], "events");
        assert!(refused["engine_because"].as_str().unwrap().contains(why), "{refused:#}");
    }
    assert_eq!(run(&["--set", "topology.rate=400Gbps"])["engine"], "windows");
}

/// A network whose frames would not fit into any memory is rejected before it is built, with the
/// estimate.
#[test]
fn a_run_that_does_not_fit_into_memory_is_refused() {
    let out = folder("run-memory").display().to_string();
    let ran = xoff(&["run", &ring(), "--out", &out, "--set", "topology.delay=10000s"]);
    assert_eq!(ran.code, 2);
    ran.complains(&["the run needs at least", "are available", "shorter links"]);
}
