//! `xoff-farm soak`, short: with faults that lossless links must stand nothing is lost, and what should not be is found where it is planted.

use std::path::{Path, PathBuf};
use std::process::Command;

use xoff_farm::soak::{Round, report};
use xoff_netio::sandbox;

/// A folder of this test, new.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// The soak's page and exit code; `None`: it cannot run here.
fn soak(name: &str, args: &[&str]) -> Option<(String, i32)> {
    if let Err(missing) = sandbox::probe() {
        xoff_testing::skip(missing.capability.name(), format_args!("{}; {}", missing.error, missing.remedy()));
        return None;
    }
    // Beside it: tests of the workspace build both.
    let xoff = Path::new(env!("CARGO_BIN_EXE_xoff-farm")).with_file_name("xoff");
    if !xoff.exists() {
        xoff_testing::skip("xoff", "target/release/xoff is not built");
        return None;
    }
    let mut c = Command::new(env!("CARGO_BIN_EXE_xoff-farm"));
    c.args(["soak", "--lasting", "1s", "--traffic", "2s", "--only", "pfc", "--out"]).arg(folder(name)).args(args);
    let out = c.output().unwrap();
    let (page, err) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Some((format!("{page}\n{err}"), out.status.code().unwrap_or(-1)))
}

#[test]
fn lost_messages_dead_cables_and_killed_switches_are_stood() {
    let faults = ["--fault", "lost", "--fault", "silent", "--fault", "killed"];
    let Some((page, code)) = soak("soak-stood", &faults) else { return };
    assert_eq!(code, 0, "{page}");
    assert!(page.contains("Left over at the end: nothing") && page.contains("## Problems\n\nNone."), "{page}");
}

#[test]
fn loss_is_found_where_nothing_holds_frames_back() {
    let faults = ["--fault", "none", "--set", "flow_control=none", "--set", "switch.buffer=20KB"];
    let Some((page, code)) = soak("soak-canary", &faults) else { return };
    assert_eq!(code, 1, "{page}");
    assert!(page.contains("bytes are lost, and none may be") && page.contains("S2 memory "), "{page}");
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
    // A new process begins anew.
    let two: Vec<Round> = steady.iter().cloned().chain((0..9).map(|n| round(n, 40_000))).collect();
    assert_eq!(report::problems(&two), Vec::<String>::new());
}
