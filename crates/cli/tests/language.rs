//! One concept has one name: the words that the field does not use stand nowhere, neither in code nor in comments, texts, pages or file names.
//!
//! [`GLOSSARY`] has the words and what to write instead, [`TERMS`] the field's own terms that contain one, [`ALLOWED`] the files in which
//! one may stand, each with its reason. What is allowed and not needed fails too.
//!
//! Every file of the project is searched, but [`SKIPPED`].

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
    (Word(&["notice", "notices", "noticed", "noticing", "notification", "notifications"]), "CNM (802.1Qau), CNP (RoCE), BECN (InfiniBand)"),
    (Word(&["notifier", "notifiers"]), "congestion point"),
    (Word(&["watch", "watches", "watched", "watching", "watcher", "watchers", "unwatched"]), "deadlock detector; sample, capture, observe"),
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
    ("crates/analysis/src/cbd/installed", "lane", "virtual lanes of InfiniBand, in names"),
    ("crates/analysis/src/cbd/installed", "lanes", "virtual lanes of InfiniBand, in names"),
    ("crates/import/src/formats/ibnetdiscover", "lane", "virtual lanes, in names; and the four lanes of a link 4X"),
    ("crates/import/src/formats/ibnetdiscover", "lanes", "virtual lanes, in names; and the four lanes of a link 4X"),
    ("crates/topology/src/routing/", "lane", "virtual lanes of InfiniBand, in names"),
    ("crates/topology/src/routing/", "lanes", "virtual lanes of InfiniBand, in names"),
    ("crates/analysis/src/plan/", "lane", "the electrical lanes of a link: InfiniBand's 4X"),
    ("crates/analysis/src/plan/", "lanes", "the electrical lanes of a link: InfiniBand's 4X, SONiC's ports of eight"),
    ("crates/analysis/tests/gfc_arithmetic.rs", "lane", "the electrical lanes of a link: InfiniBand's 4X"),
    ("docs/mechanisms/cbfc.md", "lane", "the electrical lanes of a link: InfiniBand's 4X"),
    ("crates/import/tests/data/sonic/", "lanes", "the electrical lanes of a port: a key of SONiC"),
    ("crates/import/tests/samples.rs", "lanes", "that key"),
    ("crates/analysis/src/cbd/remedy.rs", "the turns", "hops at which a route goes up again, as in the turn model of routing"),
    ("crates/report/src/", "lane", "a kind of figure: rows side by side, with coloured stretches"),
    ("crates/report/src/", "lanes", "a kind of figure: rows side by side, with coloured stretches"),
    ("crates/papers/src/", "lane", "that kind of figure"),
    ("crates/papers/src/", "lanes", "that kind of figure"),
    ("Cargo.toml", "bare", "a check of rustdoc: bare_urls"),
    ("crates/mech/", "FilterPart", "a part of the filter that travels in a message"),
    ("crates/record/src/verdict/mod.rs", "watched", "`not-watched`, a published value of the verdict"),
    ("crates/cli/tests/verdict.rs", "watched", "its test"),
    ("docs/answers.schema.json", "watched", "the same value, in its schema"),
    ("docs/json-answers.md", "watched", "the same value, on its page"),
    ("python/", "watched", "the same value, and its tests"),
    ("crates/sim/src/queue/sort.rs", "lanes", "the elements of a SIMD register"),
    ("crates/workload/src/random.rs", "moments", "mean and variance"),
    ("crates/sim/tests/names.rs", "rz3880", "the number of the report that has Unbiased QCN, as that search normalizes it"),
    ("crates/rows/src/network.rs", "notices", "old names of columns and of a table, in the descriptions of the new ones"),
    ("docs/tables.md", "notices", "the same descriptions"),
    ("crates/sim/src/probe.rs", "notices", "an old key that goes on working"),
    ("crates/run/src/sections.rs", "watch", "an old key that goes on working"),
    ("docs/scenario-keys.md", "notices", "an old key that goes on working"),
    ("docs/scenario-keys.md", "watch", "an old key that goes on working"),
    ("scenarios/tutorial/roce/", "lanes", "the electrical lanes of a port: a key of SONiC"),
    ("docs/scenario.schema.json", "notices", "an old key that goes on working"),
    ("docs/scenario.schema.json", "watch", "an old key that goes on working"),
    ("python/xoff/_run.py", "notices", "old names of columns and of a table that go on working"),
    ("python/tests/test_run.py", "notices", "their test"),
    ("python/tests/test_run.py", "watch", "a test of the old key"),
];

/// Not searched below the root, beside what `.gitignore` names: what is no text of this project, or has to have the words.
const SKIPPED: &[(&str, &str)] = &[
    (".git", "the versions"),
    ("LICENSE-APACHE", "the words of others"),
    ("LICENSE-MIT", "the words of others"),
    (".cargo", "settings of one machine"),
    (".idea", "settings of one machine"),
    (".vscode", "settings of one machine"),
    ("Cargo.lock", "names of other projects"),
    ("CHANGELOG.md", "what a key was called before"),
    ("crates/cli/tests/language.rs", "the glossary itself"),
    ("crates/farm/samples", "files of other programs, some of them no text"),
    ("fuzz/corpus", "inputs that a fuzzer found"),
];

/// At least so many files are searched: fewer are a sign of a search that has gone wrong.
const FILES_MIN: usize = 1_200;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files below the root of the project, from there, without what is skipped and what is built.
fn files() -> Vec<String> {
    let built = fs::read_to_string(root().join(".gitignore")).unwrap();
    let mut found = Vec::new();
    below("", &built.lines().collect::<Vec<_>>(), &mut found);
    found.sort();
    found
}

fn below(folder: &str, built: &[&str], found: &mut Vec<String>) {
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let is_built = built.iter().any(|pattern| match pattern.strip_prefix('/') {
            Some(from_root) => from_root == path,
            None => pattern.strip_prefix('*').map_or(pattern.trim_end_matches('/') == name, |end| name.ends_with(end)),
        });
        if is_built || SKIPPED.iter().any(|(skipped, _)| *skipped == path) {
            continue;
        }
        match root().join(&path).is_dir() {
            true => below(&path, built, found),
            false => found.push(path),
        }
    }
}

/// Words of a name as they are written: `CoinToss` has `Coin` and `Toss`, `RNGSource` has `RNG` and `Source`.
fn humps(name: &str) -> Vec<&str> {
    let (mut all, mut from) = (Vec::new(), 0);
    let bytes = name.as_bytes();
    for at in 1..bytes.len() {
        let next_is_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        if bytes[at].is_ascii_uppercase() && (!bytes[at - 1].is_ascii_uppercase() || next_is_lower) {
            all.push(&name[from..at]);
            from = at;
        }
    }
    all.push(&name[from..]);
    all
}

/// Words of a text in lower case: `CoinToss`, `coin_toss` and `coin toss` have two.
fn words(text: &str) -> Vec<String> {
    let joined = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    joined.flat_map(humps).map(str::to_ascii_lowercase).collect()
}

/// What follows is a comment or a text.
enum Prose {
    Comment(usize),
    Text(usize),
}

/// Bytes up to the end of a text that begins with one quote; a backslash keeps a quote in it.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text[1..].find(|c| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |at| at + 2)
}

/// A comment or text of Rust at the beginning of `rest`; `named`: what stands before goes on with it.
fn rust_prose(rest: &str, named: bool) -> Option<Prose> {
    if rest.starts_with("//") {
        return Some(Prose::Comment(rest.find('\n').unwrap_or(rest.len())));
    }
    if rest.starts_with("/*") {
        let (mut depth, mut at) = (1, 2);
        while depth > 0 && at < rest.len() {
            let (step, by) = match &rest.as_bytes()[at..] {
                [b'/', b'*', ..] => (2, 1),
                [b'*', b'/', ..] => (2, -1),
                _ => (1, 0),
            };
            (at, depth) = (at + step, depth + by);
        }
        return Some(Prose::Comment(at));
    }
    if let Some(raw) = ["r", "br", "cr"].iter().find_map(|p| rest.strip_prefix(p)).filter(|_| !named) {
        let quote = raw.trim_start_matches('#');
        let end = format!("\"{}", "#".repeat(raw.len() - quote.len()));
        if let Some(text) = quote.strip_prefix('"') {
            return Some(Prose::Text(text.find(&end).map_or(rest.len(), |at| rest.len() - text.len() + at + end.len())));
        }
    }
    match rest {
        _ if rest.starts_with('"') => Some(Prose::Text(quoted(rest, '"'))),
        _ if rest.starts_with("'\"'") => Some(Prose::Text(3)),
        _ if rest.starts_with("'\\\"'") => Some(Prose::Text(4)),
        _ => None,
    }
}

/// The same of Python.
fn python_prose(rest: &str) -> Option<Prose> {
    let first = rest.chars().next().filter(|c| "#'\"".contains(*c))?;
    if first == '#' {
        return Some(Prose::Comment(rest.find('\n').unwrap_or(rest.len())));
    }
    let triple = first.to_string().repeat(3);
    Some(Prose::Text(match rest.strip_prefix(&triple) {
        Some(text) => text.find(&triple).map_or(rest.len(), |at| at + 6),
        None => quoted(rest, first),
    }))
}

/// Rust or Python without its comments and texts, whose characters become spaces; the lines stay, and links of comments to items.
fn code(text: &str, python: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let blank = |s: &str, out: &mut String| out.extend(s.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let named = out.chars().last().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let (len, mut prose) = match if python { python_prose(rest) } else { rust_prose(rest, named) } {
            Some(Prose::Text(len)) => (len, ""),
            Some(Prose::Comment(len)) => (len, &rest[..len]),
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        let comment = prose.len();
        while let Some((before, (link, after))) = prose.split_once("[`").and_then(|(b, l)| Some((b, l.split_once("`]")?))) {
            blank(before, &mut out);
            out.extend(["  ", link, "  "]);
            prose = after;
        }
        blank(&rest[comment - prose.len()..len], &mut out);
        rest = &rest[len..];
    }
    out
}

/// What is searched.
struct Search {
    /// By their first word.
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
        self.phrases(&words(name).into_iter().map(|w| (0, w)).collect::<Vec<_>>(), &mut hits);
        if name.ends_with(".svg") {
            self.phrases(&numbered(&without_tags(text)), &mut hits);
        }
        // In one piece, for a phrase may be broken over two lines.
        self.phrases(&numbered(text), &mut hits);
        let python = name.ends_with(".py") || name.ends_with(".pyi");
        if !python && !name.ends_with(".rs") {
            return hits;
        }
        for (n, line) in code(text, python).lines().enumerate() {
            for found in line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty()) {
                if has_type(found, &self.types) || has_name(found, &self.names) {
                    hits.push(Hit { line: n + 1, word: found.to_owned(), term: None });
                }
            }
        }
        hits
    }

    /// Of words with their lines.
    fn phrases(&self, words: &[(usize, String)], hits: &mut Vec<Hit>) {
        let at = |i: usize, phrase: &[&str]| words[i..].len() >= phrase.len() && phrase.iter().zip(&words[i..]).all(|(p, w)| *p == w.1);
        for (i, (line, word)) in words.iter().enumerate() {
            let Some(phrases) = self.phrases.get(word.as_str()) else { continue };
            for phrase in phrases.iter().filter(|p| at(i, p)) {
                let around = |term: &Vec<&str>| (i.saturating_sub(term.len() - 1)..=i).any(|from| at(from, term));
                hits.push(Hit { line: *line, word: phrase.join(" "), term: self.terms.iter().position(around) });
            }
        }
    }
}

/// Words with their lines, from 1.
fn numbered(text: &str) -> Vec<(usize, String)> {
    text.lines().zip(1..).flat_map(|(line, n)| words(line).into_iter().map(move |w| (n, w))).collect()
}

/// The texts of a figure: a phrase may be broken over two of its elements.
fn without_tags(text: &str) -> String {
    let mut within = false;
    let outside = text.chars().map(|c| {
        within = c == '<' || (within && c != '>');
        if c == '\n' || !(within || c == '>') { c } else { ' ' }
    });
    outside.collect()
}

/// A type is also found where it is a word of another one: `Part` in `PartOf`.
fn has_type(name: &str, types: &[&str]) -> bool {
    name.split('_').flat_map(humps).any(|h| types.contains(&h))
}

/// A name is also found in a name of several words: `say` in `say_once` and `SayOnce`.
fn has_name(name: &str, names: &[&str]) -> bool {
    name.split('_').flat_map(humps).any(|h| names.contains(&h.to_ascii_lowercase().as_str()))
}

fn right(word: &str) -> &'static str {
    let of = |form: &Form| match form {
        Word(all) => all.contains(&word),
        Type(all) => has_type(word, all),
        Name(all) => has_name(word, all),
    };
    GLOSSARY.iter().find(|(form, _)| of(form)).map_or("", |g| g.1)
}

#[test]
fn words_that_are_not_the_fields_stand_nowhere() {
    let all = files();
    assert!(all.len() >= FILES_MIN, "{} files were searched", all.len());
    let search = Search::new();
    let (mut wrong, mut used, mut terms) = (Vec::new(), vec![false; ALLOWED.len()], vec![false; TERMS.len()]);
    for file in &all {
        let text = fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file} cannot be searched: {e}"));
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
    // Phrases over two lines, types within names and in links, block comments with a quote, bytes.
    assert_eq!(found("a.rs", "// There is no\n    // way.\n"), [(1, "no way".to_owned())]);
    assert_eq!(found("a.svg", "<text>There is no</text>\n<text>way</text>"), [(1, "no way".to_owned())]);
    assert_eq!(hits("PartOf NoteKind CrossingTable Parts Notes Filled partition"), ["PartOf", "NoteKind", "CrossingTable"]);
    assert_eq!(hits("/// See [`Part`], [`a::Note::b`] and `Part`, a Part"), ["Part", "Note"]);
    assert_eq!(hits("/* \" /* Part */ Fill */ let a: Note = SayOnce;"), ["Note", "SayOnce"]);
    assert_eq!(hits("let a = br#\"\\\" Fill\"#; let b: Part;"), ["Part"]);
    assert_eq!(hits("it noticed, watched, watches, watching, a Watcher").len(), 5);
    let python = "class PartOf:  # Part, says\n    \"\"\"Fill '\n    says\"\"\"\n    said = 'Part' + \"Note\"\n";
    for name in ["a.py", "a.pyi"] {
        assert_eq!(found(name, python), [(1, "PartOf".to_owned()), (4, "said".to_owned())]);
    }
}

/// Files of every kind are searched, wherever they lie; of the files of this name only this one is not.
#[test]
fn every_file_is_searched() {
    let all = files();
    let paths =
        ["Makefile", "SECURITY.md", "CITATION.cff", ".ci/run", ".github/workflows/ci.yml", ".editorconfig", "crates/cli/Cargo.toml"];
    for path in paths {
        assert!(all.iter().any(|p| p == path), "{path}");
    }
    for end in [".rs", ".py", ".pyi", ".svg", ".md", ".toml", ".json", ".txt", ".yml", ".sh", ".dump"] {
        assert!(all.iter().any(|p| p.ends_with(end)), "{end}");
    }
    assert!(!all.iter().any(|p| p.starts_with("target/") || p.ends_with(".pyc")));
}
