//! Real frames through the command: testbeds, and switches and hosts as processes of their own.
//! Those run again in a child process that owns its namespaces.
//!
//! Where the machine cannot do that, a test is skipped (`xoff_testing::skip`).

mod neighbours;
mod processes;
mod refusals;
#[path = "../support/mod.rs"]
mod support;
mod testbeds;

use xoff_real::netio::sandbox::{self, Capability, Missing};

fn skip(missing: &Missing) {
    xoff_testing::skip(
        missing.capability.name(),
        format_args!("{}; {}", missing.error, missing.remedy()),
    );
}

/// Whether there are namespaces with veth pairs, and these programs. Records a skip if not.
pub fn possible(programs: &[&str]) -> bool {
    if let Err(missing) = sandbox::probe() {
        skip(&missing);
        return false;
    }
    let missing = programs.iter().find(|p| !installed(p));
    missing.inspect(|p| xoff_testing::skip(p, "not installed")).is_none()
}

/// Whether taps can be created. Records a skip if not.
pub fn taps() -> bool {
    sandbox::check(Capability::Tun).inspect_err(skip).is_ok()
}

fn installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Runs `body` in fresh namespaces, by running the test of this name again in a child process.
pub fn in_namespaces(test: &str, body: fn()) {
    if xoff_testing::inside(test) {
        return body();
    }
    if possible(&[]) {
        xoff_testing::again(&mut sandbox::command(std::env::current_exe().unwrap()), test);
    }
}

/// The incast scenario: H1, H2 and H3 send to H0 through S1.
pub const INCAST: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/testbed/incast.toml");
