//! A node and the simulator name no mechanism: no name of the registries, no type or module of a
//! mechanism, not in a comment either.
//!
//! [`ALLOWED`] has the exceptions, each with its reason. An exception that is not needed fails too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use xoff_mech::{detection, flow_control, rate_control};

/// A file below `crates`, a word in it, and why it may stand there.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "node/src/compat.rs",
        "hpcc",
        "the parameters of the replay are those of the HPCC simulator, and only this file has them",
    ),
    (
        "node/src/vl_arbitration.rs",
        "infiniband",
        "the source of the arbitration between virtual lanes: a scheduler, no mechanism of `mech`",
    ),
    (
        "node/src/vl_arbitration.rs",
        "iba",
        "sections of that source, in the descriptions of its keys",
    ),
    ("node/src/scheduler.rs", "infiniband", "the scheduler that goes by those tables"),
    (
        "sim/src/wire/lone.rs",
        "gfc",
        "the source of the definition of the ideal completion time, by its abbreviation",
    ),
    (
        "sim/src/world/canaries.rs",
        "pfc",
        "tests only: a real flow control under which a check has to fail",
    ),
];

/// Papers, simulators and messages that are no name of a registry or of a module.
const MORE: &[&str] = &["gfc", "infiniband", "iba", "ue", "rz3880", "unbiased"];

/// Names written out, which are no description of a registry: those count up to their first comma
/// or colon.
const WRITTEN_OUT: &[&str] = &[
    "backpressure flow control",
    "gentle flow control",
    "non-PAUSE ECN",
    "quantized congestion notification",
    "random early detection",
    "ternary congestion detection",
];

/// Names that are also within English words, and therefore count as whole words only.
const WHOLE: &[&str] = &["red", "ue", "iba"];

/// Variants of `Message` that every node may name.
const OF_EVERY_NODE: &[&str] = &["Custom"];

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

/// Names of mechanisms, in one word and written out.
struct Names {
    words: BTreeSet<String>,
    phrases: Vec<Vec<String>>,
}

/// Names of the registries, and of the public types in their files and folders.
fn names() -> Names {
    let registered = (flow_control::REGISTRY.iter().map(|e| (e.name, e.about)))
        .chain(detection::REGISTRY.iter().map(|e| (e.name, e.about)))
        .chain(rate_control::REGISTRY.iter().map(|e| (e.name, e.about)));
    let registered: Vec<(&str, &str)> = registered.filter(|(n, _)| !GENERAL.contains(n)).collect();
    let mut words: BTreeSet<String> =
        registered.iter().map(|r| r.0).chain(MORE.iter().copied()).map(plain).collect();
    for family in ["flow_control", "detection", "rate_control"] {
        for (name, _) in &registered {
            let module = crates().join("mech/src").join(family).join(name.replace('-', "_"));
            let mut paths =
                Vec::from_iter(Some(module.with_extension("rs")).filter(|p| p.exists()));
            if module.is_dir() {
                files(&module, &mut paths);
            }
            for text in paths.iter().map(|p| fs::read_to_string(p).unwrap()) {
                let kinds = ["pub struct ", "pub enum ", "pub trait ", "pub type ", "pub union "];
                let types =
                    text.lines().filter_map(|l| kinds.iter().find_map(|k| l.strip_prefix(k)));
                let types = types.map(|t| t.split(|c: char| !c.is_alphanumeric()).next().unwrap());
                // Of one word are `Order`, `Stage`, `Pause`: English.
                words.extend(
                    types.filter(|t| t.chars().filter(|c| c.is_uppercase()).count() > 1).map(plain),
                );
            }
        }
    }
    let described = registered.iter().map(|r| r.1.split([',', ':']).next().unwrap());
    let phrases = described
        .chain(WRITTEN_OUT.iter().copied())
        .map(|p| separate(p).map(plain).collect::<Vec<_>>());
    Names {
        words,
        phrases: phrases.filter(|p| p.len() > 1).collect::<BTreeSet<_>>().into_iter().collect(),
    }
}

fn separate(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty())
}

/// The words of a name, with acronyms: `IfREDOn` has `If`, `RED`, `On`; and, for a plural, without:
/// `IfREDs` has `If`, `REDs`.
fn humps(name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for acronyms in [true, false] {
        let mut hump = String::new();
        let mut chars = name.chars().peekable();
        while let Some(c) = chars.next() {
            let ends = |before: char| {
                !before.is_uppercase()
                    || (acronyms && chars.peek().is_some_and(|c| c.is_lowercase()))
            };
            if c.is_uppercase() && hump.chars().last().is_some_and(ends) {
                all.push(std::mem::take(&mut hump));
            }
            hump.push(c);
        }
        all.push(hump);
    }
    all
}

impl Names {
    /// Names in single words: anywhere in them (`PfcReceiver`, `pfcs`, `XPFC`, `pfc2`,
    /// `gfc_buffer`), or as a whole ([`WHOLE`]).
    fn in_words(&self, line: &str) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for joined in line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')) {
            let whole = plain(joined);
            for part in joined.split(['_', '-']) {
                let lower = plain(part);
                let humps: Vec<String> = humps(part)
                    .iter()
                    .map(|h| plain(h.trim_end_matches(|c: char| c.is_ascii_digit())))
                    .collect();
                let equal =
                    |n: &str| humps.iter().any(|h| h == n || h.strip_suffix('s') == Some(n));
                let within = |n: &str| match WHOLE.contains(&n) {
                    true => equal(n),
                    // Where two words meet (`top_fcs`) may be an acronym of three letters, but no
                    // longer name.
                    false => lower.contains(n) || whole == n || (n.len() > 3 && whole.contains(n)),
                };
                all.extend(self.words.iter().filter(|n| within(n)).cloned());
            }
        }
        all
    }

    /// (line, name) of names in words, of those written out, also over several lines, and of
    /// variants of `Message`.
    fn find(&self, path: &str, text: &str) -> Vec<(usize, String)> {
        // The file's path counts as its line 0.
        let lines = || std::iter::once(path).chain(text.lines()).enumerate();
        let mut all: Vec<_> = lines()
            .flat_map(|(n, line)| self.in_words(line).into_iter().map(move |w| (n, w)))
            .collect();
        let words: Vec<(usize, String)> =
            lines().flat_map(|(n, line)| separate(line).map(move |w| (n, plain(w)))).collect();
        for phrase in &self.phrases {
            let at = words.windows(phrase.len()).filter(|at| at.iter().map(|w| &w.1).eq(phrase));
            all.extend(at.map(|at| (at[0].0, phrase.join(" "))));
        }
        // Imported or renamed variants cannot be followed: `use Message::*`, `Message as M`.
        for (at, _) in text.match_indices("Message") {
            let line = 1 + text[..at].matches('\n').count();
            let rest = text[at + "Message".len()..].trim_start();
            let Some(variants) = rest.strip_prefix("::").map(str::trim_start) else {
                all.extend(rest.starts_with("as ").then(|| (line, "Message as".to_owned())));
                continue;
            };
            let end = if variants.starts_with('{') { '}' } else { ' ' };
            let list = variants
                .split(|c: char| c == end || (end == ' ' && !(c.is_alphanumeric() || c == '*')))
                .next()
                .unwrap();
            for variant in list.split(|c: char| !(c.is_alphanumeric() || c == '*')) {
                let named = variant.starts_with(|c: char| c == '*' || c.is_uppercase())
                    && !OF_EVERY_NODE.contains(&variant);
                all.extend(named.then(|| (line, format!("Message::{variant}"))));
            }
        }
        all
    }
}

/// (file below `crates`, line, word) of every name in these crates.
fn found_in(of: &[&str]) -> Vec<(String, usize, String)> {
    let names = names();
    let mut paths = Vec::new();
    of.iter().for_each(|c| files(&crates().join(c).join("src"), &mut paths));
    // A scheduled fabric is one mechanism with its own world: no node and no part of the packet
    // simulator is in it.
    paths.retain(|p| !p.starts_with(crates().join("sim/src/scheduled")));
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(crates()).unwrap().to_str().unwrap().replace('\\', "/");
        let below = name.split_once("/src/").unwrap().1;
        all.extend(names.find(below, &text).into_iter().map(|(n, w)| (name.clone(), n, w)));
    }
    all
}

#[test]
fn a_node_and_the_simulator_name_no_mechanism() {
    let all = found_in(&["node", "sim"]);
    let allowed = |file: &str, word: &str| ALLOWED.iter().any(|(f, w, _)| (*f, *w) == (file, word));
    let wrong: Vec<String> = all
        .iter()
        .filter(|(f, _, w)| !allowed(f, w))
        .map(|(f, n, w)| format!("crates/{f}:{n}: {w}"))
        .collect();
    assert!(
        wrong.is_empty(),
        "ask it of a trait of `mech`, or use the general term:\n{}",
        wrong.join("\n")
    );
    let unused: Vec<_> = ALLOWED
        .iter()
        .filter(|(f, w, _)| {
            !all.iter().any(|(file, _, word)| (file, word) == (&f.to_string(), &w.to_string()))
        })
        .collect();
    assert!(unused.is_empty(), "allowed and not needed: {unused:?}");
}

/// The search finds what it looks for: in names of types, in comments, written out, in paths, and
/// in the crate of the mechanisms.
#[test]
fn the_search_finds_a_name() {
    let names = names();
    let hits = |line: &str| Vec::from_iter(names.in_words(line));
    assert_eq!(hits("    tx: PfcSender, // obeys"), ["pfc", "pfcsender"]);
    assert_eq!(hits("/// As TCD has it."), ["tcd"]);
    assert_eq!(hits("let marked_ue = 1;"), ["ue"]);
    assert_eq!(hits("as_hpcc_simulator gfc-buffer Mark::Ue"), ["gfc", "gfcbuffer", "hpcc", "ue"]);
    assert_eq!(hits("the redirected value continues, as ever"), Vec::<String>::new());
    for (smuggled, name) in [
        ("PFCs", "pfc"),
        ("pfcs", "pfc"),
        ("CBFCs", "cbfc"),
        ("HPCCs", "hpcc"),
        ("DCQCNs", "dcqcn"),
        ("pfc2", "pfc"),
        ("QCNv2", "qcn"),
        ("IfPFCOn", "pfc"),
        ("XPFC", "pfc"),
        ("REDs", "red"),
        ("red2", "red"),
        ("IfREDOn", "red"),
        ("IfREDs", "red"),
        ("UEs", "ue"),
        ("FilterPart", "filterpart"),
        ("filter_part", "filterpart"),
        ("MyFilterParts", "filterpart"),
    ] {
        assert!(hits(smuggled).contains(&name.to_owned()), "{smuggled}: {:?}", hits(smuggled));
    }
    for path in ["pfc/mod.rs", "pfc.rs", "switch/as_pfc/a.rs"] {
        assert_eq!(names.find(path, ""), [(0, "pfc".to_owned())], "{path}");
    }
    let found = |text: &str| names.find("a.rs", text);
    for written in WRITTEN_OUT.iter().chain(&[
        "Priority-based flow control",
        "Backpressure Flow Control",
        "Random Early\n    /// Detection",
    ]) {
        assert!(
            found(&format!("/// As in {written}.")).iter().any(|(n, w)| *n == 1 && w.contains(' ')),
            "{written}"
        );
    }
    for variant in ["Stage", "Filter", "Credit", "Flow", "Level", "Pfc"] {
        let hit = (1, format!("Message::{variant}"));
        assert!(found(&format!("Message::{variant}(x) => 1,")).contains(&hit), "{variant}");
        assert!(
            found(&format!("use xoff_mech::Message::{{Custom, {variant}}};")).contains(&hit),
            "{variant}"
        );
    }
    assert_eq!(
        found("use Message::*;\nuse a::Message as M;"),
        [(1, "Message::*".to_owned()), (2, "Message as".to_owned())]
    );
    assert_eq!(
        found("Message::Custom(1), Message::from_words(0, 0, 0), m: Message, has a flow"),
        []
    );
    let all = found_in(&["mech"]);
    for entry in flow_control::REGISTRY.iter().filter(|e| e.name != "none") {
        assert!(
            all.iter().any(|(f, _, w)| *w == plain(entry.name) && f.starts_with("mech/")),
            "{}",
            entry.name
        );
    }
}
