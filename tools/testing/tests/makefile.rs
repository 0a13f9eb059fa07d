//! `make test` on a machine without the programs that only tests use: it chooses every test, and
//! names each program that is missing.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that are missing, by the name and the package that `make` reports.
const MISSING: [(&str, &str); 7] = [
    ("tshark", "tshark"),
    ("tcpdump", "tcpdump"),
    ("iperf3", "iperf3"),
    ("valgrind", "valgrind"),
    ("chromium", "chromium"),
    ("mpirun", "openmpi-bin"),
    ("mpicc", "libopenmpi-dev"),
];

/// A program of the folder.
fn script(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o755)).unwrap();
}

/// A folder with links to all programs of this machine, but not to [`MISSING`], nor to those that
/// tests replace. Cargo itself has the PATH of this test: with another one it would compile pyo3
/// again.
fn bare(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let programs = std::env::split_paths(&path)
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .flatten()
        .flatten();
    for program in programs {
        let name = program.file_name();
        let missing = MISSING.iter().any(|&(program, _)| name == program);
        let replaced = ["chromium-browser", "google-chrome", "apt-get", "sudo", "cargo"]
            .iter()
            .any(|&r| name == r);
        // The first of a name is the one that counts.
        if !missing && !replaced {
            let _ = symlink(program.path(), folder.join(name));
        }
    }
    script(&folder, "cargo", &format!("PATH='{}' exec '{}' \"$@\"", path.display(), env!("CARGO")));
    folder
}

/// `make` with this PATH: its exit code, and what it printed.
fn make(path: &Path, install: &str, target: &str) -> (Option<i32>, String) {
    let mut c = Command::new("make");
    c.args(["--no-print-directory", "SBIN=/nowhere", target])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    c.env("PATH", path)
        .env("XOFF_TEST_INSTALL", install)
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL");
    let out = c.output().unwrap();
    let (text, err) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    (out.status.code(), format!("{text}{err}"))
}

/// The tests of such a list.
fn tests(list: &str) -> Vec<&str> {
    let mut tests: Vec<&str> = list.lines().filter(|line| line.ends_with(": test")).collect();
    tests.sort_unstable();
    tests
}

#[test]
fn all_tests_are_chosen_on_a_bare_machine() {
    let (code, chosen) = make(&bare("bare-list"), "0", "test-list");
    assert_eq!(code, Some(0), "{chosen}");
    let all = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--release", "--workspace", "--tests", "--", "--list"])
        .output()
        .unwrap();
    let all = String::from_utf8_lossy(&all.stdout);
    assert!(
        tests(&all).len() > 1000 && tests(&all).contains(&"a_full_disk_ends_the_run_of_all: test"),
        "{all}"
    );
    assert!(
        tests(&chosen) == tests(&all),
        "{} chosen of {}",
        tests(&chosen).len(),
        tests(&all).len()
    );
}

#[test]
fn a_missing_program_is_named_where_nothing_may_be_installed() {
    let (code, printed) = make(&bare("bare-named"), "0", "test-programs");
    assert_eq!(code, Some(0), "{printed}");
    for (program, package) in MISSING {
        assert!(
            printed
                .contains(&format!("lacks {program} (Debian, Ubuntu: apt-get install {package})")),
            "{program}: {printed}"
        );
    }
}

#[test]
fn a_missing_program_is_installed_where_that_is_possible() {
    let folder = bare("bare-installed");
    // Knows no package: `make test` continues without.
    script(&folder, "apt-get", "echo \"called: $*\"; exit 100");
    script(&folder, "sudo", "shift; exec \"$@\"");
    let (code, printed) = make(&folder, "1", "test-programs");
    assert_eq!(code, Some(0), "{printed}");
    let called: BTreeSet<&str> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("called: ")?.split(' ').next_back())
        .collect();
    assert!(MISSING.iter().all(|(_, package)| called.contains(package)), "{printed}");
    assert!(printed.contains("this machine lacks mpirun"), "{printed}");
}
