//! The builds of `make test` share what they compile: a dependency has the same features in the tests, in the command and in the Python package.
//! Cargo's own remedy (feature-unification = "workspace") is not stable yet.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The features of every package, by what Cargo resolves for this selection.
fn features(selection: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--prefix", "none", "--format", "{p}|{f}"]).args(selection);
    let ran = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8(ran.stdout).unwrap().lines().filter(|l| !l.is_empty()) {
        let (package, features) = line.split_once('|').unwrap_or_else(|| panic!("no features in '{line}'"));
        all.entry(package.replace(" (proc-macro)", "")).or_default().insert(features.trim_end_matches(" (*)").to_owned());
    }
    all
}

/// Of the packages of one selection those that have other features in the tests of all.
fn built_twice(one: &[&str]) -> Vec<String> {
    let tests = features(&["--workspace", "--edges", "normal,build,dev"]);
    let differs = |(package, has): (&String, BTreeSet<String>)| {
        let known = tests.get(package).is_some_and(|t| has.is_subset(t));
        // The extension alone uses Python, and no test does.
        let own = package.starts_with("pyo3") || package.starts_with("target-lexicon");
        (!known && !own).then(|| format!("{package}: {has:?}, in tests {:?}", tests.get(package)))
    };
    let mut one = features(one);
    let packages: Vec<String> = one.keys().cloned().collect();
    packages.iter().filter_map(|p| differs((p, one.remove(p)?))).collect()
}

#[test]
fn the_command_compiles_no_dependency_again() {
    let twice = built_twice(&["--workspace", "--edges", "normal,build"]);
    assert!(twice.is_empty(), "add the features to crates/record/Cargo.toml\n{}", twice.join("\n"));
}

#[test]
fn the_python_package_compiles_no_dependency_again() {
    let twice = built_twice(&["-p", "xoff-py", "--edges", "normal,build"]);
    assert!(twice.is_empty(), "add the features to crates/record/Cargo.toml\n{}", twice.join("\n"));
}

/// A selection without `xoff-record`, which aligns them, has others: the comparison sees it.
#[test]
fn features_that_differ_are_found() {
    assert!(!built_twice(&["-p", "xoff-proof", "-p", "xoff-testing", "--edges", "normal,build"]).is_empty());
}
