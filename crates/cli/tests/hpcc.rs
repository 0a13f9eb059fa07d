//! `xoff hpcc`: results, refusals, interruption.

mod support;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use support::{case, command, files, folder, has_every_number, limited, path, xoff};

const TWO_TO_ONE: &str = "1 3 3 100 1000000 2\n2 3 3 100 1000000 2\n";

#[test]
fn reference_cases_come_out_byte_for_byte() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/tests/hpcc");
    for name in files(&cases).into_iter().filter(|name| cases.join(name).is_dir()) {
        let (dir, out) = (cases.join(&name), folder(&format!("hpcc-{name}")));
        let ran = xoff(&[
            "hpcc",
            &path(&dir, "config.txt"),
            "--out",
            &out.display().to_string(),
            "--json",
            "--allow",
            "loss",
        ]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        assert_eq!(
            ran.json()["verdict"]["answer"] == "no",
            ran.json()["lost_frames"] != 0,
            "{name}: {}",
            ran.out
        );
        for (got, want) in [("fct.txt", "expected-fct.txt"), ("pfc.txt", "expected-pfc.txt")] {
            assert_eq!(
                std::fs::read(out.join(got)).unwrap(),
                std::fs::read(dir.join(want)).unwrap(),
                "{name} {got}"
            );
        }
        // conweave-ns3 has a file of uplinks in the place of that of queues.
        let config = std::fs::read_to_string(dir.join("config.txt")).unwrap();
        let queues = config.contains("QLEN_MON_FILE").then_some("qlen.txt");
        let expected = ["fct.txt", "manifest.json", "pfc.txt"].into_iter().chain(queues);
        assert_eq!(files(&out), expected.collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn the_answer_has_every_key_and_repeats_itself() {
    let dir = folder("hpcc-answer");
    let config = case(&dir, 3, TWO_TO_ONE, "FCT_OUTPUT_FILE mix/flows.txt\n");
    let run = |name: &[&str], out: &str| {
        xoff(&[name, &[&config, "--out", &path(&dir, out), "--json"]].concat()).json()
    };
    // Both names are the same command.
    let (one, two) = (run(&["hpcc"], "one"), run(&["import", "hpcc"], "two"));
    has_every_number(&one);
    assert_eq!(one["result_hash"].as_str().unwrap().len(), 32);
    assert_eq!((&one["result_hash"], &one["events"]), (&two["result_hash"], &two["events"]));
    assert_eq!((one["flows_completed"].as_u64(), one["flows_total"].as_u64()), (Some(2), Some(2)));
    assert!(one["deadlock"].is_null() && one.as_object().unwrap().contains_key("deadlock"));
    assert_eq!(files(&dir.join("one")), ["flows.txt", "manifest.json", "pfc.txt"]);
    let manifest: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(dir.join("one/manifest.json")).unwrap())
            .unwrap();
    assert_eq!(manifest["result_hash"], one["result_hash"]);
    assert_eq!(manifest["interrupted"], false);
}

#[test]
fn ignored_keys_and_warnings_are_named() {
    let dir = folder("hpcc-ignored");
    let config = case(&dir, 3, TWO_TO_ONE, "U_TARGET 0.95\nQLEN_MON_FILE qlen.txt\nCC_MODE 0\n");
    let ran = xoff(&["hpcc", &config, "--out", &path(&dir, "out")]);
    assert_eq!(ran.code, 0);
    ran.complains(&["U_TARGET", "CC_MODE: given twice", "config.txt:10:1"]);
    assert!(ran.out.contains("2 of 2 flows completed: no deadlock, 0 frames lost"), "{}", ran.out);
    // The command that leads on runs as it is.
    let next = ran
        .out
        .lines()
        .last()
        .unwrap()
        .strip_prefix("Next: xoff ")
        .unwrap_or_else(|| panic!("{}", ran.out))
        .to_owned();
    assert!(
        next.contains("topology.txt --flows ") && next.ends_with("flow.txt --routing hashed"),
        "{next}"
    );
    let checked = xoff(&next.split(' ').collect::<Vec<_>>());
    assert!(
        checked.code == 0 && checked.out.starts_with("No cycle"),
        "{}{}",
        checked.out,
        checked.err
    );
}

#[test]
fn bad_input_names_file_line_and_column() {
    let dir = folder("hpcc-bad");
    let out = path(&dir, "out");
    let refused = |config: &str, texts: &[&str]| {
        let ran = xoff(&["hpcc", config, "--out", &out, "--json"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        ran.complains(texts);
    };
    refused(
        &case(&dir, 3, TWO_TO_ONE, "CC_MOD 1\n"),
        &["unknown key 'CC_MOD'", "did you mean 'CC_MODE'?", "config.txt:8:1"],
    );
    refused(&case(&dir, 3, TWO_TO_ONE, "CC_MODE 8\n"), &["CC_MODE", "config.txt:8:9"]);
    refused(
        &case(&dir, 3, "1 1 3 100 1000 2\n", ""),
        &["the source is the destination", "flow.txt:2:3"],
    );
    refused(&case(&dir, 3, "1 9 3 100 1000 2\n", ""), &["there is no node 9", "flow.txt:2:3"]);
    refused(
        &case(&dir, 3, TWO_TO_ONE, "LINK_DOWN 10 1 2\n"),
        &["LINK_DOWN", "no link between 1 and 2", "config.txt:8:1"],
    );
    refused(
        &case(&dir, 3, TWO_TO_ONE, "FCT_OUTPUT_FILE pfc.txt\n"),
        &["two outputs are named 'pfc.txt'"],
    );
    refused(
        &case(&dir, 3, TWO_TO_ONE, "FCT_OUTPUT_FILE mix/topology.txt\n"),
        &["another file of this run has the name 'topology.txt'"],
    );
    refused(&path(&dir, "absent.txt"), &["cannot read", "absent.txt"]);
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let dir = folder("hpcc-unwritable");
    let config = case(&dir, 3, TWO_TO_ONE, "");
    let ran = xoff(&["hpcc", &config, "--out", &path(&dir, "flow.txt/out")]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    ran.complains(&["cannot create", "flow.txt/out"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_the_run_and_leaves_no_half_file() {
    let dir = folder("hpcc-full");
    // Enough pauses to fill the writer's buffer; the record of the folder fits into 1 KiB.
    let config = case(
        &dir,
        9,
        &"1 9 3 100 40000000 2\n2 9 3 100 40000000 2\n3 9 3 100 40000000 2\n".repeat(2),
        "",
    );
    let out = dir.join("out");
    let ran = limited(2, &["hpcc", &config, "--out", &out.display().to_string()]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    ran.complains(&["cannot write", "pfc.txt", "File too large"]);
    assert!(!out.exists());
}

#[cfg(unix)]
#[test]
fn ctrl_c_closes_the_files_and_exits_with_130() {
    let dir = folder("hpcc-interrupt");
    // 5 GiB each: minutes of work.
    let long: String = (1..=8).map(|h| format!("{h} 9 3 100 5368709120 2\n")).collect();
    let config = case(&dir, 10, &format!("10 9 3 100 1000 2\n{long}"), "");
    let out = dir.join("out");
    let child = command(["hpcc", &config, "--out", &out.display().to_string(), "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !out.join("pfc.txt.partial").exists() {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    assert!(
        std::process::Command::new("sh")
            .args(["-c", &format!("kill -INT {}", child.id())])
            .status()
            .unwrap()
            .success()
    );
    let o = child.wait_with_output().unwrap();
    assert_eq!(o.status.code(), Some(130), "{}", String::from_utf8_lossy(&o.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
    assert_eq!((&answer["interrupted"], &answer["flows_total"]), (&true.into(), &9.into()));
    assert_eq!(files(&out), ["fct.txt", "manifest.json", "pfc.txt"]);
    let pfc = std::fs::read_to_string(out.join("pfc.txt")).unwrap();
    assert!(pfc.ends_with('\n') && pfc.lines().all(|l| l.split(' ').count() == 5));
    assert_eq!(
        std::fs::read_to_string(out.join("fct.txt")).unwrap().lines().count() as u64,
        answer["flows_completed"].as_u64().unwrap()
    );
}
