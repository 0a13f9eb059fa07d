//! A node and the simulator name no mechanism: no name of the registries, no type or module of a mechanism, not in a comment either.
//!
//! What else must be named stands in [`ALLOWED`], each with its reason; what is no longer needed there fails too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use xoff_mech::{detection, flow_control, rate_control};

/// A file below `crates`, a word in it, and why it may stand there.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("node/src/compat.rs", "hpcc", "the knobs of the replay are those of the HPCC simulator, and stand here only"),
    (
        "node/src/vl_arbitration.rs",
        "infiniband",
        "the source of the arbitration between virtual lanes: a scheduler, no mechanism of `mech`",
    ),
    ("node/src/vl_arbitration.rs", "iba", "sections of that source, in the descriptions of its keys"),
    ("node/src/scheduler.rs", "infiniband", "the scheduler that goes by those tables"),
    ("sim/src/lone.rs", "gfc", "the source of the definition of the ideal completion time, by its abbreviation"),
    ("sim/src/world/canaries.rs", "pfc", "tests only: a real flow control under which a check has to fail"),
];

/// Papers, simulators and messages that are no name of a registry or of a module.
const MORE: &[&str] = &["gfc", "infiniband", "iba", "ue", "rz3880", "unbiased"];

/// Registered, and no mechanism.
const GENERAL: &[&str] = &["none"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for e in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        match e.is_dir() {
            true => files(&e, found),
            false if e.extension().is_some_and(|x| x == "rs") => found.push(e),
            false => {}
        }
    }
}

/// Letters and digits in lower case: `gfc-buffer`, `gfc_buffer` and `GfcBuffer` are one.
fn plain(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

/// Names of mechanisms: those of the registries, and of the public types in their files.
fn names() -> BTreeSet<String> {
    let registered = (flow_control::REGISTRY.iter().map(|e| e.name))
        .chain(detection::REGISTRY.iter().map(|e| e.name))
        .chain(rate_control::REGISTRY.iter().map(|e| e.name));
    let registered: Vec<&str> = registered.filter(|n| !GENERAL.contains(n)).collect();
    let mut all: BTreeSet<String> = registered.iter().chain(MORE).map(|n| plain(n)).collect();
    for family in ["flow_control", "detection", "rate_control"] {
        for name in &registered {
            let file = crates().join(format!("mech/src/{family}/{}.rs", name.replace('-', "_")));
            let Ok(text) = fs::read_to_string(file) else { continue };
            let types = text.lines().filter_map(|l| l.strip_prefix("pub struct ").or(l.strip_prefix("pub enum ")));
            let types = types.map(|t| t.split(|c: char| !c.is_alphanumeric()).next().unwrap());
            // Of one word are `Order`, `Stage`, `Pause`: English.
            all.extend(types.filter(|t| t.chars().filter(|c| c.is_uppercase()).count() > 1).map(plain));
        }
    }
    all
}

/// Words of a line: `PfcReceiver` is `pfcreceiver` and also `pfc`, `receiver`; `ue_frames` is also `ue`; `gfc-buffer` also `gfc`.
fn words(line: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for joined in line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')) {
        all.insert(plain(joined));
        for part in joined.split(['_', '-']) {
            all.insert(plain(part));
            let mut hump = String::new();
            for c in part.chars() {
                if c.is_uppercase() && !hump.chars().last().is_none_or(char::is_uppercase) {
                    all.insert(plain(&std::mem::take(&mut hump)));
                }
                hump.push(c);
            }
            all.insert(plain(&hump));
        }
    }
    all
}

/// (file below `crates`, line, word) of every name in these crates.
fn found(of: &[&str]) -> Vec<(String, usize, String)> {
    let names = names();
    let mut paths = Vec::new();
    of.iter().for_each(|c| files(&crates().join(c).join("src"), &mut paths));
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(crates()).unwrap().to_str().unwrap().replace('\\', "/");
        // The file's own name counts as its line 0.
        for (n, line) in std::iter::once(name.rsplit('/').next().unwrap()).chain(text.lines()).enumerate() {
            all.extend(words(line).intersection(&names).map(|w| (name.clone(), n, w.clone())));
        }
    }
    all
}

#[test]
fn a_node_and_the_simulator_name_no_mechanism() {
    let all = found(&["node", "sim"]);
    let allowed = |file: &str, word: &str| ALLOWED.iter().any(|(f, w, _)| (*f, *w) == (file, word));
    let wrong: Vec<String> = all.iter().filter(|(f, _, w)| !allowed(f, w)).map(|(f, n, w)| format!("crates/{f}:{n}: {w}")).collect();
    assert!(wrong.is_empty(), "ask it of a trait of `mech`, or use the general term:\n{}", wrong.join("\n"));
    let unused: Vec<_> =
        ALLOWED.iter().filter(|(f, w, _)| !all.iter().any(|(file, _, word)| (file, word) == (&f.to_string(), &w.to_string()))).collect();
    assert!(unused.is_empty(), "allowed and not needed: {unused:?}");
}

/// The search finds what it looks for: in names of types, in comments, and in the crate of the mechanisms.
#[test]
fn the_search_finds_a_name() {
    let names = names();
    let hits = |line: &str| words(line).intersection(&names).cloned().collect::<Vec<_>>();
    assert_eq!(hits("    tx: PfcSender, // obeys"), ["pfc", "pfcsender"]);
    assert_eq!(hits("/// As TCD has it."), ["tcd"]);
    assert_eq!(hits("let marked_ue = 1;"), ["ue"]);
    assert_eq!(hits("as_hpcc_simulator gfc-buffer Mark::Ue"), ["gfc", "gfcbuffer", "hpcc", "ue"]);
    assert_eq!(hits("the redirected value continues, as ever"), Vec::<String>::new());
    let all = found(&["mech"]);
    for entry in flow_control::REGISTRY.iter().filter(|e| e.name != "none") {
        assert!(all.iter().any(|(f, _, w)| *w == plain(entry.name) && f.starts_with("mech/")), "{}", entry.name);
    }
}
