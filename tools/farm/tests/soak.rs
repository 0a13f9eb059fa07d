//! `xoff-farm soak`, short: faults that lossless links tolerate lose no frame, and planted errors
//! are found.

use std::path::{Path, PathBuf};
use std::process::Command;

use xoff_farm::soak::{Round, report};
use xoff_real::netio::sandbox;

/// A folder of this test, new.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// Whether soaks may run here. Else the test is skipped.
fn runs_here() -> bool {
    if let Err(missing) = sandbox::probe() {
        xoff_testing::skip(
            missing.capability.name(),
            format_args!("{}; {}", missing.error, missing.remedy()),
        );
        return false;
    }
    // Next to it: tests of the workspace build both.
    let xoff = Path::new(env!("CARGO_BIN_EXE_xoff-farm")).with_file_name("xoff");
    if !xoff.exists() {
        xoff_testing::skip("xoff", "target/release/xoff is not built");
    }
    xoff.exists()
}

/// A soak under way, with its temporary files in `scratch`; `None`: it cannot run here.
fn started(args: &[&str], name: &str, scratch: &Path) -> Option<std::process::Child> {
    let mut c = Command::new(env!("CARGO_BIN_EXE_xoff-farm"));
    c.args(args).arg(folder(name)).env("TMPDIR", scratch).stdout(std::process::Stdio::null());
    runs_here().then(|| c.spawn().unwrap())
}

/// The soak's page and exit code; `None`: it cannot run here.
fn soak(name: &str, args: &[&str]) -> Option<(String, i32)> {
    if !runs_here() {
        return None;
    }
    let mut c = Command::new(env!("CARGO_BIN_EXE_xoff-farm"));
    c.args(["soak", "--lasting", "1s", "--traffic", "2s", "--only", "pfc", "--out"])
        .arg(folder(name))
        .args(args);
    let out = c.output().unwrap();
    let (page, err) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Some((format!("{page}\n{err}"), out.status.code().unwrap_or(-1)))
}

#[test]
fn lost_messages_dead_cables_and_killed_switches_are_stood() {
    let faults = ["--fault", "lost", "--fault", "silent", "--fault", "killed"];
    let Some((page, code)) = soak("soak-stood", &faults) else { return };
    assert_eq!(code, 0, "{page}");
    assert!(
        page.contains("Left over at the end: nothing") && page.contains("## Problems\n\nNone."),
        "{page}"
    );
}

#[test]
fn loss_is_found_where_nothing_holds_frames_back() {
    let faults = ["--fault", "none", "--set", "flow_control=none", "--set", "switch.buffer=20KB"];
    let Some((page, code)) = soak("soak-canary", &faults) else { return };
    assert_eq!(code, 1, "{page}");
    assert!(
        page.contains("bytes are lost, and none may be") && page.contains("S2 memory "),
        "{page}"
    );
}

/// Asked to end it ends after its round, and says that it did; what a killed soak has left is gone.
#[test]
fn an_interrupted_soak_is_none_that_lasted() {
    let scratch = tempfile::tempdir().unwrap();
    // No process has this number: it is above the kernel's largest.
    let left = scratch.path().join("xoff-soak-4194305-left");
    std::fs::create_dir(&left).unwrap();
    let args = ["soak", "--lasting", "1h", "--traffic", "1s", "--only", "pfc", "--out"];
    let Some(mut child) = started(&args, "soak-interrupted", scratch.path()) else { return };
    let ledger = Path::new(env!("CARGO_TARGET_TMPDIR")).join("soak-interrupted/rounds.jsonl");
    while !ledger.metadata().is_ok_and(|m| m.len() > 0) {
        assert!(child.try_wait().unwrap().is_none(), "it has ended before its first round");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "files are left over");
}

/// So is a farm.
#[test]
fn an_interrupted_farm_ends_with_130() {
    let out = folder("farm-interrupted");
    let mut c = Command::new(env!("CARGO_BIN_EXE_xoff-farm"));
    let mut child = c
        .args(["readers", "--only", "sweep", "--lasting", "1h", "--out"])
        .arg(&out)
        .spawn()
        .unwrap();
    while !out.exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let ledger = std::fs::read_to_string(out.join("ledger.json")).unwrap();
    assert!(ledger.contains("sweep"), "what was under way is kept: {ledger}");
}

#[test]
fn memory_that_grows_is_found() {
    let round = |age: u32, memory: u64| Round {
        kind: "cbfc".into(),
        fault: "none".into(),
        seconds: 20.0,
        sent: [10; 2],
        delivered: [10; 2],
        lossless: true,
        cables: Default::default(),
        age: age as f64,
        memory,
        dropped: Default::default(),
        stood: 0.0,
        still: 0.0,
        problems: vec![],
    };
    let steady: Vec<Round> = (0..9).map(|n| round(n, 30_000 + n as u64)).collect();
    assert_eq!(report::problems(&steady), Vec::<String>::new());
    let grows: Vec<Round> = (0..9).map(|n| round(n, 30_000 + 400 * n as u64)).collect();
    assert!(report::problems(&grows)[0].contains("grew"));
    // A new process starts over.
    let two: Vec<Round> = steady.iter().cloned().chain((0..9).map(|n| round(n, 40_000))).collect();
    assert_eq!(report::problems(&two), Vec::<String>::new());
}
