//! Real frames through the command: testbeds, and switches and hosts as processes of their own. Those run again in a child process that
//! owns its namespaces.
//!
//! Where the machine cannot do that, a test prints `SKIPPED: <what>: <why>`; with XOFF_NO_SKIPS=1 it fails instead.

mod neighbours;
mod processes;
mod refusals;
#[path = "../support/mod.rs"]
mod support;
mod testbeds;

use std::process::{Command, Stdio};

use xoff_netio::sandbox::{self, Capability};

/// Set in the child to the name of its test.
const INSIDE: &str = "XOFF_REAL_TEST_INSIDE";

/// Says what is missing; fails where nothing may be.
fn skip(what: &str) {
    println!("SKIPPED: {what}");
    assert!(std::env::var_os("XOFF_NO_SKIPS").is_none_or(|v| v == "0"), "XOFF_NO_SKIPS is set, and this is missing: {what}");
}

/// Can namespaces with veth pairs, and these programs, be had?
pub fn possible(programs: &[&str]) -> bool {
    let missing = sandbox::probe().err().map(|m| format!("{m}; {}", m.remedy()));
    let missing = missing.or_else(|| programs.iter().find(|p| !installed(p)).map(|p| format!("{p}: not installed")));
    missing.as_deref().map(skip).is_none()
}

/// Can taps be made?
pub fn taps() -> bool {
    sandbox::check(Capability::Tun).inspect_err(|m| skip(&format!("{m}; {}", m.remedy()))).is_ok()
}

fn installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Runs `body` in fresh namespaces, by running the test of this name again in a child process.
pub fn in_namespaces(test: &str, body: fn()) {
    if std::env::var(INSIDE).is_ok_and(|inside| inside == test) {
        return body();
    }
    if !possible(&[]) {
        return;
    }
    let mut child = sandbox::command(std::env::current_exe().unwrap());
    let child: &mut Command = child.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(INSIDE, test).stdin(Stdio::null());
    let output = child.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "in its namespaces:\n{text}");
    // A name that matches no test would pass without running anything.
    assert!(text.contains("test result: ok. 1 passed"), "{text}");
    text.lines().filter(|line| line.contains("SKIPPED")).for_each(|line| println!("{line}"));
}

/// The incast scenario: H1, H2 and H3 send to H0 through S1.
pub const INCAST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/testbed/incast.toml");
