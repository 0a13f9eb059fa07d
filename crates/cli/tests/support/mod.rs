//! Runs the command as a user does.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Result of a command.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// The answer as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", self.out, self.err))
    }
    /// The messages on one line: they are wrapped, with a bar before each further line.
    pub fn flat(&self) -> String {
        let lines: Vec<&str> =
            self.err.lines().map(|l| l.trim().trim_start_matches('│').trim()).collect();
        lines.join(" ")
    }

    /// Fails unless stderr holds every one of these texts.
    pub fn complains(&self, texts: &[&str]) -> &Ran {
        let flat = self.flat();
        for text in texts {
            assert!(
                self.err.contains(text) || flat.contains(text),
                "'{text}' is not in:\n{}",
                self.err
            );
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }
}

pub fn command<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_xoff"));
    c.args(args).env_remove("COLUMNS").stdin(Stdio::null());
    c
}

pub fn xoff(args: &[&str]) -> Ran {
    let o = command(args).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    Ran { code: o.status.code().unwrap_or(-1), out: text(o.stdout), err: text(o.stderr) }
}

/// Names of the subcommands, as the help lists them in groups.
pub fn subcommands() -> Vec<String> {
    let help = xoff(&["--help"]).out;
    let listed = help.split("Options:").next().unwrap_or_default();
    let names = listed.lines().filter_map(|l| {
        l.strip_prefix("  ").filter(|l| !l.starts_with(' '))?.split_whitespace().next()
    });
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.len() > 15 && names.iter().any(|n| n == "replay"), "{names:?}");
    names
}

/// The command where no file may grow beyond so many blocks of 512 or 1024 bytes: as on a full
/// disk, with another word for it.
pub fn limited<S: AsRef<std::ffi::OsStr>>(blocks: u64, args: &[S]) -> Ran {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let mut c = Command::new("sh");
    c.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_xoff")]).args(args).stdin(Stdio::null());
    let o = c.output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
    Ran { code: o.status.code().unwrap_or(-1), out: text(o.stdout), err: text(o.stderr) }
}

/// An empty folder of this test's own.
pub fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// A case in HPCC's format: hosts on one switch (node 0) with links of 100 Gb/s, and these flows.
pub fn case(dir: &Path, hosts: usize, flows: &str, more: &str) -> String {
    let links: String = (1..=hosts).map(|h| format!("0 {h} 100Gbps 1000ns 0\n")).collect();
    let count = flows.lines().count();
    let config = format!(
        "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nCC_MODE 0\nENABLE_QCN 0\nHAS_WIN 0\nENABLE_TRACE 0\nSIMULATOR_STOP_TIME 30 L2_ACK_INTERVAL 1\n{more}"
    );
    for (name, text) in [
        ("topology.txt", format!("{} 1 {hosts}\n0\n{links}", hosts + 1)),
        ("flow.txt", format!("{count}\n{flows}")),
        ("config.txt", config),
    ] {
        std::fs::write(dir.join(name), text).unwrap();
    }
    path(dir, "config.txt")
}

pub fn path(dir: &Path, name: &str) -> String {
    dir.join(name).display().to_string()
}

/// Names of the files in a folder but for its ownership record.
pub fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|n| n != ".xoff");
    names.sort();
    names
}

/// Fails unless the answer of a simulation holds every number that both `run` and `hpcc` promise.
pub fn has_every_number(answer: &serde_json::Value) {
    for key in [
        "frame_hops",
        "data_frame_hops",
        "events",
        "cpu_seconds",
        "wall_seconds",
        "simulated_seconds",
        "dropped_frames",
        "lost_frames",
        "flows_completed",
        "flows_total",
    ] {
        assert!(answer[key].is_number(), "{key}: {answer:#}");
    }
}
