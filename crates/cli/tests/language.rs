//! One concept has one name: the words that the field does not use stand nowhere, neither in code nor in comments, texts, pages or file names.
//!
//! [`GLOSSARY`] has the words and what to write instead, [`TERMS`] the field's own terms that contain one, [`ALLOWED`] the files in which
//! one may stand, each with its reason. What is allowed and not needed fails too.
//!
//! CHANGELOG is not searched: it says what a key was called before.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use Form::{Name, Type, Word};

/// Where a word is searched, and how.
#[derive(Clone, Copy)]
enum Form {
    /// Words, or phrases of several: in names, comments, texts and file names. `coin toss` is also in `CoinToss` and `coin_toss`.
    Word(&'static [&'static str]),
    /// Parts of names in code; in comments and texts they are English.
    Name(&'static [&'static str]),
    /// Whole names of types and variants, in code.
    Type(&'static [&'static str]),
}

/// Words, and what to write instead.
const GLOSSARY: &[(Form, &str)] = &[
    (Word(&["coin", "coins", "toss", "tosses", "tossed"]), "draw, random draw, RngSource"),
    (Name(&["say", "says", "said"]), "send_control; describe; for texts: stdout, stderr, the name of the text"),
    (Word(&["hear", "hears", "heard", "hearing"]), "receive, on_control"),
    (Word(&["tell", "tells", "told", "telling"]), "report, send, notify; distinguish"),
    (Word(&["deaf"]), "timers_cancelled"),
    (Word(&["forget", "forgets", "forgot", "forgotten"]), "drop, clear, frees_receiver_state"),
    (Word(&["looks at flows"]), "per_flow"),
    (Word(&["ways", "no way"]), "paths, routes, RouteCache, \"No route\""),
    (Word(&["express"]), "unpaused control class"),
    (Type(&["Part"]), "Partition"),
    (Type(&["Elsewhere"]), "Remote"),
    (Type(&["Crossing"]), "RemoteArrival"),
    (Word(&["appointment", "appointments", "agenda", "agendas"]), "global events, run_global_event"),
    (Word(&["restless"]), "congested_ports"),
    (Word(&["moment", "moments"]), "time, instant; EventKey"),
    (Type(&["Note"]), "NodeEvent"),
    (Word(&["lane", "lanes"]), "class, ClassState"),
    (Type(&["Fill"]), "Occupancy"),
    (Word(&["bare"]), "links_without_flow_control; alone"),
    (Word(&["surroundings"]), "Boundary, NetworkFacts"),
    (Word(&["the turns", "in turns"]), "round-robin order"),
    (Word(&["turning back overlaps"]), "hairpin_overlap"),
    (Word(&["notice", "notices", "notification", "notifications"]), "CNM (802.1Qau), CNP (RoCE), BECN (InfiniBand)"),
    (Word(&["notifier", "notifiers"]), "congestion point"),
    (Word(&["watch"]), "deadlock detector; sample, capture, observe"),
    (Word(&["soup"]), "fuzz"),
    (Word(&["witness", "witnesses"]), "packet capture; of a cycle: closing flows"),
    (Word(&["bed", "beds"]), "veth network"),
    (Word(&["rages"]), "is_active"),
    (Word(&["pardon", "pardons", "pardoned"]), "suppress"),
    (Type(&["Again"]), "Replay"),
    (Type(&["Keeping"]), "RecordingValues"),
    (Word(&["stranger", "strangers", "foreign"]), "unknown source; unknown"),
    (Word(&["uqcn", "rz3880"]), "unbiased-qcn"),
    (Word(&["nobody", "whom", "somebody", "everybody", "anybody"]), "the thing: no flow, which port, every host"),
];

/// Terms of the field and of its papers that contain such a word, and whose they are.
const TERMS: &[(&str, &str)] = &[
    ("congestion notification", "802.1Qau (CNM), RoCE (CNP), RFC 3168 (ECN)"),
    ("notification point", "DCQCN: the receiver that sends CNPs"),
    ("virtual lane", "InfiniBand"),
    ("virtual lanes", "InfiniBand"),
];

/// A file or folder, a word in it, and why it may stand there.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("crates/analysis/src/cbd/installed.rs", "lane", "virtual lanes of InfiniBand, in names"),
    ("crates/analysis/src/cbd/installed.rs", "lanes", "virtual lanes of InfiniBand, in names"),
    ("crates/import/src/formats/ibnetdiscover", "lane", "virtual lanes, in names; and the four lanes of a link 4X"),
    ("crates/import/src/formats/ibnetdiscover", "lanes", "virtual lanes, in names; and the four lanes of a link 4X"),
    ("crates/topology/src/routing/", "lane", "virtual lanes of InfiniBand, in names"),
    ("crates/topology/src/routing/", "lanes", "virtual lanes of InfiniBand, in names"),
    ("crates/analysis/src/plan/", "lane", "the electrical lanes of a link: InfiniBand's 4X"),
    ("crates/analysis/src/plan/", "lanes", "the electrical lanes of a link: InfiniBand's 4X, SONiC's ports of eight"),
    ("crates/analysis/tests/gfc_arithmetic.rs", "lane", "the electrical lanes of a link: InfiniBand's 4X"),
    ("docs/mechanisms/cbfc.md", "lane", "the electrical lanes of a link: InfiniBand's 4X"),
    ("crates/import/tests/data/sonic/", "lanes", "the electrical lanes of a port: a key of SONiC"),
    ("crates/analysis/src/cbd/remedy.rs", "the turns", "hops at which a route goes up again, as in the turn model of routing"),
    ("crates/report/src/", "lane", "a kind of figure: rows side by side, with coloured stretches"),
    ("crates/report/src/", "lanes", "a kind of figure: rows side by side, with coloured stretches"),
    ("crates/papers/src/", "lane", "that kind of figure"),
    ("crates/papers/src/", "lanes", "that kind of figure"),
    ("crates/sim/src/queue/sort.rs", "lanes", "the elements of a SIMD register"),
    ("crates/workload/src/random.rs", "moments", "mean and variance"),
    ("crates/sim/tests/names.rs", "rz3880", "the number of the report that has Unbiased QCN, as that search normalizes it"),
    ("docs/performance.md", "ways", "of a cache"),
    ("crates/rows/src/network.rs", "notices", "old names of columns and of a table, in the descriptions of the new ones"),
    ("docs/tables.md", "notices", "the same descriptions"),
    ("crates/sim/src/probe.rs", "notices", "an old key that goes on working"),
    ("crates/run/src/sections.rs", "watch", "an old key that goes on working"),
    ("docs/scenario.schema.json", "notices", "an old key that goes on working"),
    ("docs/scenario.schema.json", "watch", "an old key that goes on working"),
    ("python/xoff/_run.py", "notices", "old names of columns and of a table that go on working"),
    ("python/tests/test_run.py", "notices", "their test"),
    ("python/tests/test_run.py", "watch", "a test of the old key"),
];

/// Files and folders that are searched, from the root of the project.
const SEARCHED: &[&str] = &["crates", "docs", "python", "scenarios", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Not searched: figures, which are drawn from texts in `crates`, and what is built.
const SKIPPED: &[&str] = &["svg", "pyc", "so", "dump"];

/// At least so many files are searched: fewer are a sign of a search that has gone wrong.
const FILES_MIN: usize = 1_200;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files below `path`, which is relative to the root.
fn files(path: &str, found: &mut Vec<String>) {
    let full = root().join(path);
    if !full.is_dir() {
        return found.push(path.to_owned());
    }
    for entry in fs::read_dir(full).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let skipped = SKIPPED.iter().any(|x| name.rsplit_once('.').is_some_and(|(_, e)| e == *x));
        if !skipped && !name.starts_with('.') && name != "__pycache__" && name != "language.rs" {
            files(&format!("{path}/{name}"), found);
        }
    }
}

/// Words of a line in lower case: `CoinToss`, `coin_toss` and `coin toss` have two.
fn words(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    for joined in line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()) {
        let mut word = String::new();
        let mut chars = joined.chars().peekable();
        let mut before = ' ';
        while let Some(c) = chars.next() {
            let hump = c.is_ascii_uppercase() && (!before.is_ascii_uppercase() || chars.peek().is_some_and(char::is_ascii_lowercase));
            if hump && !word.is_empty() {
                all.push(std::mem::take(&mut word));
            }
            word.push(c.to_ascii_lowercase());
            before = c;
        }
        all.push(word);
    }
    all
}

/// Rust without its comments and texts, whose characters become spaces; the lines stay.
fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let blank = |s: &str, out: &mut String| out.extend(s.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let raw = rest.trim_start_matches('r').trim_start_matches('#');
        let hashes = rest.len() - raw.len();
        let named = out.chars().last().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if c == 'r' && !named && raw.starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes - 1));
            raw[1..].find(&end).map_or(rest.len(), |at| hashes + 1 + at + end.len())
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |at| at + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else if rest.starts_with("'\\\"'") {
            4
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        blank(&rest[..len], &mut out);
        rest = &rest[len..];
    }
    out
}

/// What is searched: phrases by their first word, names by part, types.
struct Search {
    phrases: HashMap<&'static str, Vec<Vec<&'static str>>>,
    terms: Vec<Vec<&'static str>>,
    names: Vec<&'static str>,
    types: Vec<&'static str>,
}

/// A word that was found.
#[derive(Debug, PartialEq)]
struct Hit {
    line: usize,
    word: String,
    /// The term of [`TERMS`] around it.
    term: Option<usize>,
}

impl Search {
    fn new() -> Search {
        let mut s = Search { phrases: HashMap::new(), terms: Vec::new(), names: Vec::new(), types: Vec::new() };
        for (form, _) in GLOSSARY {
            match form {
                Word(all) => {
                    for phrase in all.iter().map(|p| p.split(' ').collect::<Vec<_>>()) {
                        s.phrases.entry(phrase[0]).or_default().push(phrase);
                    }
                }
                Name(all) => s.names.extend(*all),
                Type(all) => s.types.extend(*all),
            }
        }
        s.terms = TERMS.iter().map(|t| t.0.split(' ').collect()).collect();
        s
    }

    /// All of a file; line 0 is its name.
    fn file(&self, name: &str, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (n, line) in std::iter::once(name).chain(text.lines()).enumerate() {
            self.line(n, &words(line), &mut hits);
        }
        if !name.ends_with(".rs") {
            return hits;
        }
        for (n, line) in code(text).lines().enumerate() {
            for found in line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty()) {
                let is_type = self.types.contains(&found);
                let part = || found.split('_').any(|p| self.names.contains(&p.to_ascii_lowercase().as_str()));
                if is_type || part() {
                    hits.push(Hit { line: n + 1, word: found.to_owned(), term: None });
                }
            }
        }
        hits
    }

    fn line(&self, line: usize, words: &[String], hits: &mut Vec<Hit>) {
        let at = |i: usize, phrase: &[&str]| words[i..].len() >= phrase.len() && phrase.iter().zip(&words[i..]).all(|(p, w)| p == w);
        for (i, word) in words.iter().enumerate() {
            let Some(phrases) = self.phrases.get(word.as_str()) else { continue };
            for phrase in phrases.iter().filter(|p| at(i, p)) {
                let around = |term: &Vec<&str>| (i.saturating_sub(term.len() - 1)..=i).any(|from| at(from, term));
                hits.push(Hit { line, word: phrase.join(" "), term: self.terms.iter().position(around) });
            }
        }
    }
}

fn right(word: &str) -> &'static str {
    let of = |form: &Form| match form {
        Word(all) | Type(all) => all.contains(&word),
        Name(all) => word.split('_').any(|p| all.contains(&p.to_ascii_lowercase().as_str())),
    };
    GLOSSARY.iter().find(|(form, _)| of(form)).map_or("", |g| g.1)
}

#[test]
fn words_that_are_not_the_fields_stand_nowhere() {
    let mut all = Vec::new();
    SEARCHED.iter().for_each(|path| files(path, &mut all));
    all.sort();
    assert!(all.len() >= FILES_MIN, "{} files were searched", all.len());
    let search = Search::new();
    let (mut wrong, mut used, mut terms) = (Vec::new(), vec![false; ALLOWED.len()], vec![false; TERMS.len()]);
    for file in &all {
        let Ok(text) = fs::read_to_string(root().join(file)) else { continue };
        for hit in search.file(file, &text) {
            let allowed = ALLOWED.iter().position(|(path, word, _)| file.starts_with(path) && hit.word == *word);
            match (hit.term, allowed) {
                (Some(t), _) => terms[t] = true,
                (None, Some(a)) => used[a] = true,
                (None, None) => wrong.push(format!("{file}:{}: {}: {}", hit.line, hit.word, right(&hit.word))),
            }
        }
    }
    assert!(wrong.is_empty(), "{} words, and what to write instead:\n{}", wrong.len(), wrong.join("\n"));
    let unused: Vec<_> = ALLOWED.iter().zip(&used).filter(|(_, used)| !**used).map(|(a, _)| a).collect();
    assert!(unused.is_empty(), "allowed and not needed: {unused:?}");
    let unused: Vec<_> = TERMS.iter().zip(&terms).filter(|(_, used)| !**used).map(|(t, _)| t.0).collect();
    assert!(unused.is_empty(), "terms that stand nowhere: {unused:?}");
    assert!(ALLOWED.iter().all(|a| !right(a.1).is_empty() && !a.2.is_empty()), "an allowance has a word of the glossary and a reason");
}

/// The search finds every word of the glossary in a made-up file: in names, comments, texts and the file's own name.
#[test]
fn the_search_finds_what_it_is_for() {
    let search = Search::new();
    let found = |name: &str, text: &str| -> Vec<(usize, String)> {
        search.file(name, text).into_iter().filter(|h| h.term.is_none()).map(|h| (h.line, h.word)).collect()
    };
    for (form, _) in GLOSSARY {
        let (all, text): (_, fn(&str) -> String) = match form {
            Word(all) => (all, |w| format!("// See {w}s, or {w}.\n")),
            Name(all) => (all, |w| format!("let {w}_once = 1;\n")),
            Type(all) => (all, |w| format!("let a = {w}::new();\n")),
        };
        for word in *all {
            assert!(found("a.rs", &text(word)).iter().any(|(line, w)| *line == 1 && w.contains(word)), "{word}");
            assert!(!right(word).is_empty(), "{word}");
        }
    }
    let hits = |text: &str| found("a.rs", text).into_iter().map(|h| h.1).collect::<Vec<_>>();
    assert_eq!(hits("let coin_toss = CoinSource::new(\"TheCoin\");"), ["coin", "toss", "coin", "coin"]);
    assert_eq!(hits("no_way(); // No way.\nfn looks_at_flows() {}"), ["no way", "no way", "looks at flows"]);
    assert_eq!(found("crates/sim/src/ways.rs", ""), [(0, "ways".to_owned())]);
    // Neither within a word, nor English where the glossary means a name, nor a term of the field.
    assert_eq!(hits("enlightened, always, bedrock, planes // Part of what says so\nlet text = \"Fill said\";"), Vec::<String>::new());
    assert_eq!(hits("NotificationPoint, a virtual lane, congestion notification"), Vec::<String>::new());
    assert_eq!(hits("a notification of a lane"), ["notification", "lane"]);
    let text = "let a = r#\"said \"Fill\" \"#; let b = '\"'; let said = \"\\\" Part\"; // Fill\nlet c: Fill;";
    assert_eq!(found("a.rs", text), [(1, "said".to_owned()), (2, "Fill".to_owned())]);
}
