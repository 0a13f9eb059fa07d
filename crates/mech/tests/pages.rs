//! Every mechanism of the registries has its page and its example, and the page states the
//! parameters as the code declares them.
//!
//! A page lists its parameters as rows `| key | default | takes | meaning | source |`. The meaning
//! is prose; key, default, what it takes and the source must be those of the `ParamSpec`. A failure
//! prints the row to paste.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use xoff_mech::{balancing, detection, flow_control, rate_control, transport, watchdog};
use xoff_units::params::{Kind, ParamSpec};

/// Names with their parameters. One name may represent two halves, of detection and of rate
/// control: they share a page.
fn mechanisms() -> BTreeMap<&'static str, Vec<ParamSpec>> {
    let flow_control = flow_control::REGISTRY.iter().map(|e| (e.name, e.params));
    let detection = detection::REGISTRY.iter().map(|e| (e.name, e.params));
    let rate_control = rate_control::REGISTRY.iter().map(|e| (e.name, e.params));
    let mut all: BTreeMap<_, Vec<ParamSpec>> = BTreeMap::new();
    for (name, params) in
        flow_control.chain(detection).chain(rate_control).filter(|(name, _)| *name != "none")
    {
        all.entry(name).or_default().extend(params);
    }
    for e in balancing::REGISTRY.iter().filter(|e| e.name != "ecmp") {
        all.entry(e.name).or_default().extend(e.params.concat());
    }
    all
}

/// Parts that have a page with parameters: mechanisms of the registries, the watchdog and the
/// transport.
fn parametrized() -> BTreeMap<&'static str, Vec<ParamSpec>> {
    let watchdog = [watchdog::PARAMS, watchdog::DURATION].concat();
    mechanisms()
        .into_iter()
        .chain([("watchdog", watchdog), ("tcp", transport::tcp::PARAMS.to_vec())])
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    let path = root().join("docs/mechanisms").join(format!("{name}.md"));
    std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("every mechanism has a page; docs/mechanisms/{name}.md: {e}"))
}

fn takes(kind: Kind) -> String {
    match kind {
        Kind::Rate => "rate".into(),
        Kind::Bytes => "bytes".into(),
        Kind::Span => "time".into(),
        Kind::Length => "length".into(),
        Kind::Count => "count".into(),
        Kind::Integer => "whole number".into(),
        Kind::Float => "number".into(),
        Kind::Flag => "true, false".into(),
        Kind::Choice(words) => words.join(", "),
        Kind::Text => "text".into(),
        Kind::Texts => "list of texts".into(),
    }
}

fn default(spec: &ParamSpec) -> String {
    match spec.default {
        Some(text) => format!("`{text}`"),
        None if spec.optional => "derived".into(),
        None => "required".into(),
    }
}

fn row(spec: &ParamSpec) -> String {
    format!(
        "| `{}` | {} | {} | {} | {} |",
        spec.key,
        default(spec),
        takes(spec.kind),
        spec.doc,
        spec.source
    )
}

/// The parameter rows of a page as cells, one table per half. A `|` inside a cell is not supported:
/// nothing needs one.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let head = "| key | default |";
    let tables = page
        .match_indices(head)
        .map(|(at, _)| page[at..].lines().skip(2).take_while(|l| l.starts_with('|')));
    tables.flatten().map(|l| l.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn every_mechanism_has_a_page_with_its_parameters() {
    let mut wrong = Vec::new();
    for (name, params) in parametrized() {
        let text = page(name);
        assert!(text.starts_with(&format!("# {name}")), "{name}.md starts with its name");
        let rows = rows(&text);
        for spec in &params {
            let key = format!("`{}`", spec.key);
            let wanted = [key.clone(), default(spec), takes(spec.kind), spec.source.to_owned()];
            let found =
                rows.iter().find(|r| r.first() == Some(&key.as_str())).filter(|r| r.len() == 5);
            if found
                .is_none_or(|r| [r[0], r[1], r[2], r[4]] != wanted.each_ref().map(String::as_str))
            {
                wrong.push(format!("{name}.md wants\n{}", row(spec)));
            }
        }
        for r in &rows {
            let declared =
                params.iter().any(|s| r.first() == Some(&format!("`{}`", s.key).as_str()));
            if !declared {
                wrong.push(format!(
                    "{name}.md lists {}, which the code does not declare",
                    r.first().unwrap_or(&"nothing")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The parts a reader looks for, in every page of the folder: also those of parts that are no
/// mechanism of a registry.
#[test]
fn every_page_has_the_same_parts() {
    let parts = [
        "## What it does",
        "## Source",
        "## Parameters",
        "## State",
        "## Deviations",
        "## Traps",
        "## Proof",
    ];
    for entry in std::fs::read_dir(root().join("docs/mechanisms")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut from = 0;
        for part in parts {
            match text[from..].find(&format!("\n{part}\n")) {
                Some(at) => from += at + 1,
                None => panic!("{}: no '{part}', or not in this order: {parts:?}", path.display()),
            }
        }
        assert!(
            text[..from].contains("```text"),
            "{}: a figure under 'What it does'",
            path.display()
        );
    }
}

/// A page names tests as `crates/.../file.rs`, `name_of_test`: both must exist.
#[test]
fn the_tests_that_pages_name_exist() {
    let mut missing = Vec::new();
    for entry in std::fs::read_dir(root().join("docs/mechanisms")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let proof = text.split("\n## Proof\n").nth(1).unwrap_or_default();
        let mut source = String::new();
        for quoted in proof.split('`').skip(1).step_by(2) {
            if quoted.ends_with(".rs") {
                source = std::fs::read_to_string(root().join(quoted)).unwrap_or_default();
                if source.is_empty() {
                    missing.push(format!("{}: no file {quoted}", path.display()));
                }
            } else if !source.contains(&format!("fn {quoted}(")) {
                missing.push(format!(
                    "{}: no test {quoted} in the file named before it",
                    path.display()
                ));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}\n", missing.join("\n"));
}

#[test]
fn every_mechanism_has_an_example_with_its_golden_summary() {
    let folder = root().join("scenarios/mechanisms");
    // Laws of load balancing may share their scenario.
    let shared = |name: &str| xoff_mech::balancing::REGISTRY.iter().any(|law| law.name == name);
    let example = |name: &str| (!shared(name)).then(|| format!("{name}.toml"));
    let files = mechanisms()
        .into_keys()
        .flat_map(|name| example(name).into_iter().chain([format!("{name}.golden.txt")]));
    let missing: Vec<_> = files.filter(|file| !folder.join(file).exists()).collect();
    assert!(missing.is_empty(), "not in scenarios/mechanisms: {missing:?}");
}
