//! Helpers for tests of several crates: skips that are counted, goldens that are written again,
//! tests that run again in a child process.
//!
//! The variables that change how tests run are one family:
//!
//! | variable | what it does |
//! |---|---|
//! | `XOFF_TEST_NO_SKIPS=1` | a test fails where it would be skipped (CI sets it) |
//! | `XOFF_TEST_MAY_SKIP=a,b` | what may be missing all the same, by the name that [`skip`] is given |
//! | `XOFF_TEST_INSTALL=0` | `make test` installs no program |
//! | `XOFF_TEST_SKIPS=FILE` | each skip is appended to this file as a line (`make test` prints it at its end) |
//! | `XOFF_TEST_BLESS=1` | goldens are written instead of compared |
//! | `XOFF_TEST_HPCC_CASES=FOLDER` | further reference cases of the HPCC simulator are compared |
//! | `XOFF_TEST_SAMPLES=FOLDER` | where samples of other programs' files are; `../shared/data/formats` next to the project without it |
//! | `XOFF_TEST_SWARM_CASE=N`, `XOFF_TEST_DIM_CASE=NAME:N` | one random case alone |
//! | `XOFF_TEST_INSIDE=TEST` | set by [`again`] for its child process, by nothing else |

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const INSIDE: &str = "XOFF_TEST_INSIDE";

/// Whether this variable is set, to something else than `0`.
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|v| v != "0" && !v.is_empty())
}

/// Records that the test which calls this ends without having tested: `what` is missing, a short
/// name, because of `why`.
///
/// # Panics
/// With `XOFF_TEST_NO_SKIPS`, if `XOFF_TEST_MAY_SKIP` does not name `what`.
pub fn skip(what: &str, why: impl Display) {
    let test = std::env::var(INSIDE)
        .ok()
        .or_else(|| std::thread::current().name().map(str::to_owned))
        .unwrap_or_default();
    skip_as(&test, what, why);
}

/// Skips a check that is no test of the harness: `test` names it.
///
/// # Panics
/// As [`skip`].
pub fn skip_as(test: &str, what: &str, why: impl Display) {
    let line = format!("skipped: {test}: {what}: {why}\n");
    let may = std::env::var("XOFF_TEST_MAY_SKIP").unwrap_or_default();
    let refused = is_set("XOFF_TEST_NO_SKIPS") && !may.split(',').any(|m| m.trim() == what);
    assert!(!refused, "XOFF_TEST_NO_SKIPS is set, and something is missing: {line}");
    if let Some(file) = std::env::var_os("XOFF_TEST_SKIPS") {
        append(Path::new(&file), &line);
    }
    show(&line);
}

/// Appends a line in one write, so that lines of several processes do not mix.
fn append(file: &Path, line: &str) {
    let open = std::fs::OpenOptions::new().append(true).create(true).open(file);
    open.and_then(|mut f| f.write_all(line.as_bytes()))
        .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
}

/// Past the harness, which keeps what a test prints that passes.
fn show(line: &str) {
    // A test does not fail because its output is read by a program that has ended.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Whether goldens are written instead of compared.
pub fn bless() -> bool {
    is_set("XOFF_TEST_BLESS")
}

/// Compares a text with the file that holds what it should be; with `XOFF_TEST_BLESS` writes the
/// file.
///
/// # Panics
/// The text and the file differ.
#[track_caller]
pub fn golden(path: &Path, got: &str) {
    if bless() {
        std::fs::write(path, got).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    let want = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        want == got,
        "{} differs; if the change is right, run this test with XOFF_TEST_BLESS=1 and read the difference:\n{}",
        path.display(),
        changed_lines(&want, got)
    );
}

/// Checks that a page contains a computed text, such as a table. People keep the page.
///
/// # Panics
/// It does not.
#[track_caller]
pub fn page_has(page: &Path, computed: &str) {
    let text = std::fs::read_to_string(page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
    assert!(
        text.contains(computed),
        "{} does not contain this; if the change is right, replace the old text there:\n{computed}",
        page.display()
    );
}

/// Lines that only one of two texts has, forty at most.
fn changed_lines(want: &str, got: &str) -> String {
    let only = |a: &str, b: &str, mark: char| {
        let others: std::collections::BTreeSet<&str> = b.lines().collect();
        a.lines()
            .filter(|l| !others.contains(l))
            .take(20)
            .map(|l| format!("{mark} {l}\n"))
            .collect::<String>()
    };
    let lines = only(want, got, '-') + &only(got, want, '+');
    if lines.is_empty() { "the same lines in another order, or another end".into() } else { lines }
}

/// The same for a long text in sections that begin with `## `: the file holds a hash for each
/// section. A difference names the sections, and the folder `goldens` of the build folder has the
/// text as it is now next to that of the last test that passed.
///
/// # Panics
/// A section differs, is missing or is new.
#[track_caller]
pub fn golden_sections(path: &Path, got: &str) {
    let hashes: String =
        sections(got).map(|(name, text)| format!("{:016x} {name}\n", hash(text))).collect();
    let kept = target().join("goldens").join(path.file_name().unwrap_or_default());
    let now = kept.with_extension("now.txt");
    let write = |to: &Path, text: &str| {
        std::fs::create_dir_all(to.parent().unwrap_or(to))
            .and_then(|()| std::fs::write(to, text))
            .unwrap_or_else(|e| panic!("{}: {e}", to.display()));
    };
    if bless() {
        write(path, &hashes);
    }
    let want = std::fs::read_to_string(path).unwrap_or_default();
    if want == hashes {
        return write(&kept, got);
    }
    write(&now, got);
    let differ: Vec<&str> =
        hashes.lines().filter(|l| !want.lines().any(|w| w == *l)).map(|l| &l[17..]).collect();
    let names: Vec<&str> = hashes.lines().map(|l| &l[17..]).collect();
    let gone: Vec<&str> =
        want.lines().filter_map(|l| l.get(17..)).filter(|n| !names.contains(n)).collect();
    panic!(
        "{} differs in {differ:?}, and lacks {gone:?}.\nThe text is in {}; {} has that of the last test that passed here, to compare.\n\
         If the change is right, run this test with XOFF_TEST_BLESS=1.",
        path.display(),
        now.display(),
        kept.display()
    );
}

/// Sections with their names. Text before the first one is no section.
fn sections(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n## ").skip(1).map(|s| (s.lines().next().unwrap_or_default(), s))
}

/// FNV-1a of 64 bits.
pub fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The build folder.
fn target() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(own, PathBuf::from)
}

/// A file or folder among the samples of other programs' files, which are no part of the project;
/// where it is absent, a skip is recorded.
pub fn sample(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/formats");
    let path = std::env::var_os("XOFF_TEST_SAMPLES").map_or(beside, PathBuf::from).join(name);
    let found = path.exists();
    if !found {
        skip("samples", format!("there is no {}", path.display()));
    }
    found.then_some(path)
}

/// Whether this process is the child in which the test of this name runs again.
pub fn inside(test: &str) -> bool {
    std::env::var_os(INSIDE).is_some_and(|inside| inside == OsStr::new(test))
}

/// Runs the test of this name again, by `child`, a command that runs this test program; returns
/// what it printed.
///
/// # Panics
/// The test fails there, or no test has this name.
pub fn again(child: &mut Command, test: &str) -> String {
    let child = child
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(INSIDE, test)
        .stdin(Stdio::null());
    let output = child.output().unwrap_or_else(|e| panic!("{test} cannot run again: {e}"));
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{test}, in a process of its own:\n{text}");
    // A name that matches no test would pass without running anything.
    assert!(text.contains("test result: ok. 1 passed"), "{test}, in a process of its own:\n{text}");
    text.lines()
        .filter(|line| line.starts_with("skipped: "))
        .for_each(|line| show(&format!("{line}\n")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_program() -> Command {
        Command::new(std::env::current_exe().unwrap())
    }

    fn recorded(test: &str, variables: &[(&str, &str)]) -> (bool, String, String) {
        let file = std::env::temp_dir().join(format!("xoff-testing-{test}-{}", std::process::id()));
        let mut child = this_program();
        child
            .args(["tests::child", "--exact", "--ignored", "--nocapture"])
            .env("XOFF_TEST_SKIPS", &file);
        child.env_remove("XOFF_TEST_NO_SKIPS").env_remove("XOFF_TEST_MAY_SKIP").env_remove(INSIDE);
        let output = child.envs(variables.iter().copied()).output().unwrap();
        let lines = std::fs::read_to_string(&file).unwrap_or_default();
        let _ = std::fs::remove_file(file);
        (output.status.success(), lines, String::from_utf8_lossy(&output.stderr).into_owned())
    }

    #[test]
    #[ignore = "the child of the two tests below"]
    fn child() {
        skip("moon", "not above the horizon");
    }

    #[test]
    fn a_skip_is_printed_and_appended() {
        let line = "skipped: tests::child: moon: not above the horizon\n";
        let (passed, lines, printed) = recorded("appended", &[]);
        assert_eq!((passed, lines.as_str()), (true, line));
        assert!(printed.contains(line), "{printed}");
    }

    #[test]
    fn a_skip_fails_where_none_may_be_unless_it_is_named() {
        let no = ("XOFF_TEST_NO_SKIPS", "1");
        let (passed, lines, printed) = recorded("fails", &[no]);
        assert_eq!((passed, lines.as_str()), (false, ""), "{printed}");
        assert!(!recorded("other", &[no, ("XOFF_TEST_MAY_SKIP", "sun, moonlight")]).0);
        let (passed, lines, _) = recorded("named", &[no, ("XOFF_TEST_MAY_SKIP", "sun, moon")]);
        assert!(passed && lines.contains("moon"), "{lines}");
        assert!(recorded("off", &[("XOFF_TEST_NO_SKIPS", "0")]).0);
    }

    #[test]
    fn a_golden_names_the_lines_that_differ() {
        assert_eq!(changed_lines("a\nb\nc\n", "a\nd\nc\n"), "- b\n+ d\n");
        assert_eq!(
            changed_lines("a\nb\n", "b\na\n"),
            "the same lines in another order, or another end"
        );
    }

    #[test]
    fn a_golden_names_the_section_that_differs() {
        let path =
            std::env::temp_dir().join(format!("xoff-testing-sections-{}.txt", std::process::id()));
        let text = "about\n\n## a\n1\n\n## b on c\n2\n";
        let lines: String =
            sections(text).map(|(name, s)| format!("{:016x} {name}\n", hash(s))).collect();
        assert!(lines.ends_with(" b on c\n") && lines.lines().count() == 2, "{lines}");
        std::fs::write(&path, &lines).unwrap();
        golden_sections(&path, text);
        let why = |text: &str| {
            let failed = std::panic::catch_unwind(|| golden_sections(&path, text)).unwrap_err();
            failed.downcast_ref::<String>().unwrap().clone()
        };
        let other = why("about\n\n## a\n1\n\n## b on c\n3\n");
        assert!(other.contains(r#"differs in ["b on c"], and lacks []"#), "{other}");
        let fewer = why("about\n\n## b on c\n2\n");
        assert!(fewer.contains(r#"differs in [], and lacks ["a"]"#), "{fewer}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_test_runs_again_in_a_child() {
        let name = "tests::a_test_runs_again_in_a_child";
        if inside(name) {
            println!("in the child");
            return;
        }
        assert!(again(&mut this_program(), name).contains("in the child"));
        let none = std::panic::catch_unwind(|| again(&mut this_program(), "tests::no_such_test"));
        assert!(none.is_err());
    }
}
