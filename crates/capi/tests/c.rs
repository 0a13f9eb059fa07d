//! The header, the library and the examples fit each other: they are compiled and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The folder with the shared library, which is built next to the tests.
fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    assert!(folder.join("libxoff_c.so").is_file(), "no libxoff_c.so in {}", folder.display());
    folder
}

/// With the library that was built for these tests before any that Cargo's own path has.
fn run(c: &mut Command) -> Output {
    c.env("LD_LIBRARY_PATH", library());
    c.output().unwrap_or_else(|e| panic!("{c:?}: {e}"))
}

fn compile(source: &Path, to: &Path) {
    let folder = library();
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let (compiler, standard) = match source.extension().is_some_and(|e| e == "cpp") {
        true => ("c++", "-std=c++17"),
        false => ("cc", "-std=c99"),
    };
    let flags = [standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"];
    let include = here("include");
    let mut c = Command::new(compiler);
    c.args(flags)
        .arg("-I")
        .arg(include)
        .arg(source)
        .arg("-L")
        .arg(folder)
        .args(["-lxoff_c", "-pthread", &rpath, "-o"])
        .arg(to);
    let made = run(&mut c);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn printed(o: &Output) -> String {
    assert!(
        o.status.success(),
        "{}{}",
        String::from_utf8_lossy(&o.stdout),
        String::from_utf8_lossy(&o.stderr)
    );
    String::from_utf8_lossy(&o.stdout).into_owned()
}

/// 14 steps of 100 frames: 14 ((100 + 1) 83.84 ns + 2 us), as the collective of a scenario.
#[test]
fn the_examples_give_the_closed_form() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for source in ["examples/ring.c", "examples/ring.cpp"] {
        if source.ends_with("cpp") && Command::new("c++").arg("--version").output().is_err() {
            xoff_testing::skip("c++", "no compiler for the example in C++");
            continue;
        }
        let program = dir.path().join("ring");
        compile(&here(source), &program);
        let said = printed(&run(&mut Command::new(program)));
        assert_eq!(said, "14 steps, 146549760 ps, 0 frames lost\n", "{source}");
    }
    let python = run(Command::new("python3")
        .arg(here("examples/ring.py"))
        .arg(library().join("libxoff_c.so")));
    assert_eq!(printed(&python), "14 steps, 146549760 ps\n");
}

/// Sizes and places of what crosses the border, and what becomes of every mistake that a caller can
/// make.
#[test]
fn the_interface_is_that_of_the_header() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (source, program) = (dir.path().join("abi.c"), dir.path().join("abi"));
    std::fs::write(&source, include_str!("abi.c")).unwrap();
    compile(&source, &program);
    let results = dir.path().join("results");
    let state = dir.path().join("state");
    assert_eq!(printed(&run(Command::new(program).arg(&results).arg(state))), "ok\n");
    // One of two messages has arrived, and the results say so.
    let read = |name: &str| std::fs::read_to_string(results.join(name)).unwrap();
    assert!(read("manifest.json").contains("1 of 2 flows"), "{}", read("manifest.json"));
    assert!(read("report.html").contains("</html>") && read("messages.csv").lines().count() == 5);
}

/// Every failure is an exception in C++.
#[test]
fn errors_are_exceptions() {
    if Command::new("c++").arg("--version").output().is_err() {
        return xoff_testing::skip("c++", "no compiler for the errors in C++");
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (source, program) = (dir.path().join("errors.cpp"), dir.path().join("errors"));
    std::fs::write(&source, include_str!("errors.cpp")).unwrap();
    compile(&source, &program);
    assert_eq!(printed(&run(&mut Command::new(program))), "name: there is no host H9\n");
}

/// Every call of the header, mistakes included, and the examples, under valgrind's memory checker:
/// no invalid access, no use of an uninitialised value, no lost memory. Rust's sanitizers need a
/// nightly compiler.
#[test]
fn valgrind_finds_no_wrong_access() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return xoff_testing::skip(
            "valgrind",
            "the C programs were not checked for wrong accesses",
        );
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let abi = dir.path().join("abi.c");
    std::fs::write(&abi, include_str!("abi.c")).unwrap();
    for source in [abi, here("examples/ring.c")] {
        let program = dir.path().join("program");
        compile(&source, &program);
        let checked = run(Command::new("valgrind")
            .args(["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"])
            .arg(&program)
            .args([dir.path().join("results"), dir.path().join("state")]));
        printed(&checked);
    }
}
