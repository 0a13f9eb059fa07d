//! The rules of a check (docs/papers/README.md), for every check of every entry: the published pages hold them all, as the full runs
//! made them. Every band has a source and a value that fails it; a verdict follows from its checks; a changed band has its reason.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use support::SOURCES;
use xoff_lab::{CANNOT_FAIL, Entry, Paper};
use xoff_papers::{PAPERS, TESTBEDS};
use xxhash_rust::xxh3::xxh3_64;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A check as a page has it.
struct Row {
    what: String,
    here: String,
    expected: String,
    source: String,
    fails_at: String,
    holds: bool,
}

/// An entry as a page has it.
struct Shown {
    paper: &'static Paper,
    entry: Entry,
    verdict: String,
    changes: Vec<String>,
    rows: Vec<Row>,
    /// Name of the table of checks.
    called: String,
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').replace("\\|", "\u{1}");
    line.split('|').map(|c| c.trim().replace('\u{1}', "|").replace("\\_", "_").replace("\\*", "*")).collect()
}

fn shown(paper: &'static Paper, entry: Entry, section: &str) -> Shown {
    let verdict = section.lines().find_map(|l| l.strip_prefix("**")?.strip_suffix("**")).unwrap_or_default().to_owned();
    let list = |name: &str| -> Vec<String> {
        let at = section.lines().skip_while(|l| *l != format!("{name}:")).skip(2);
        at.map_while(|l| l.strip_prefix("- ")).map(str::to_owned).collect()
    };
    let (called, table) = ["Checks", "Findings"]
        .iter()
        .find_map(|n| section.split_once(&format!("\n{n}:\n\n")).map(|(_, t)| ((*n).to_owned(), t)))
        .unwrap_or_default();
    let mut lines = table.lines();
    let heading = cells(lines.next().unwrap_or_default());
    assert_eq!(
        heading[..7],
        ["Check", "Measured", "Expected", "Paper", "Range from", "Would fail at", "Holds"],
        "{} {}: write its page again",
        paper.id,
        entry.id
    );
    let rows = lines.skip(1).take_while(|l| l.starts_with('|')).map(cells).map(|c| Row {
        what: c[0].clone(),
        here: c[1].clone(),
        expected: c[2].clone(),
        source: c[4].clone(),
        fails_at: c[5].clone(),
        holds: c[6] == "yes",
    });
    Shown { paper, verdict, changes: list("Bands changed after the data were seen"), rows: rows.collect(), called, entry }
}

/// Every entry of every page.
fn all() -> Vec<Shown> {
    let mut all = Vec::new();
    for paper in PAPERS.iter().chain(TESTBEDS) {
        let page = std::fs::read_to_string(root().join(format!("docs/papers/{}.md", paper.id))).unwrap();
        for (item, section) in paper.items.iter().zip(page.split("\n## ").skip(1)) {
            assert!(section.starts_with(&format!("{}: ", item.id)), "{}: {}", paper.id, item.id);
            all.push(shown(paper, item.entry().unwrap_or_else(|e| panic!("{e}")), section));
        }
    }
    all
}

/// A number with its unit in base units: "12.5 KB" is 12,500.
fn number(text: &str) -> Option<f64> {
    let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
    let value: f64 = digits.replace(',', "").parse().ok()?;
    let times = match unit {
        "%" => 0.01,
        "ns" | "KB" | "kb/s" => 1e3,
        "us" | "MB" | "Mb/s" => 1e6,
        "ms" | "GB" | "Gb/s" => 1e9,
        "s" | "TB" | "Tb/s" => 1e12,
        _ => 1.0,
    };
    Some(value * times)
}

/// The ends of an expected range.
fn band(text: &str) -> (f64, f64) {
    let read = |t: &str| number(t).unwrap_or_else(|| panic!("'{t}' of '{text}'"));
    if let Some(low) = text.strip_suffix(" or more") {
        (read(low), f64::INFINITY)
    } else if let Some(high) = text.strip_suffix(" or less") {
        (f64::NEG_INFINITY, read(high))
    } else if let Some((low, high)) = text.split_once(" to ") {
        (read(low), read(high))
    } else {
        (read(text), read(text))
    }
}

#[test]
fn bands_are_read_as_pages_write_them() {
    assert_eq!(band("1 frames or more"), (1.0, f64::INFINITY));
    assert_eq!(band("0 cases or less"), (f64::NEG_INFINITY, 0.0));
    assert_eq!(band("0 ps to 1 ms"), (0.0, 1e9));
    assert_eq!(band("2.5 Gb/s"), (2.5e9, 2.5e9));
    assert_eq!(band("-1 to 12,345.5"), (-1.0, 12_345.5));
}

/// For each check the page names a value that lies outside of its band, and the source of the band.
#[test]
fn every_check_of_every_entry_has_a_source_and_a_value_that_fails_it() {
    let mut checks = 0;
    for s in all() {
        for row in &s.rows {
            let at = format!("{} {}: {}", s.paper.id, s.entry.id, row.what);
            assert!(!row.fails_at.is_empty() && row.fails_at != CANNOT_FAIL, "{at}: no value fails it, expected {}", row.expected);
            let (low, high) = band(&row.expected);
            let value = number(&row.fails_at).unwrap_or_else(|| panic!("{at}: '{}'", row.fails_at));
            assert!(value < low || high < value, "{at}: {} is within {}", row.fails_at, row.expected);
            let source = row.source.split(", assuming: ").next().unwrap_or_default();
            assert!(SOURCES.contains(&source), "{at}: its band comes from '{source}'");
            checks += 1;
        }
    }
    assert!(checks > 500, "{checks}");
}

/// The text of each call of `what` in a source, whose parentheses close.
fn calls<'a>(source: &'a str, what: &'a str) -> impl Iterator<Item = &'a str> {
    source.match_indices(what).filter_map(move |(at, _)| {
        let rest = &source[at..];
        let mut depth = 0;
        let end = rest.char_indices().find_map(|(i, c)| {
            depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            (depth == 0 && c == ')').then_some(i)
        })?;
        // What follows may give it its interval.
        let after: String = rest[end + 1..].chars().filter(|c| !c.is_whitespace()).take(10).collect();
        (!after.starts_with(".of(") && !after.starts_with(".interval(")).then_some(&rest[..=end])
    })
}

/// Calls that judge a mean by its middle.
fn by_the_middle(source: &str) -> Vec<&str> {
    let all = ["Check::new(", "Check::near(", "Check::exact("].into_iter().flat_map(|what| calls(source, what).collect::<Vec<_>>());
    // `.mean()` is that of a population, such as all ports, which has no seeds.
    all.filter(|c| c.match_indices(".mean").any(|(at, _)| !c[at + 5..].starts_with('('))).collect()
}

#[test]
fn a_mean_is_judged_by_its_interval() {
    let canary = "f(Check::new(\n  \"(a)\", unit, mean(x).mean / 2.0, 0.0, 1.0).claimed()); Check::new(a, b.mean()); Check::near(w, m.mean, 1.0).of(m)";
    assert_eq!(by_the_middle(canary), ["Check::new(\n  \"(a)\", unit, mean(x).mean / 2.0, 0.0, 1.0)"]);
    let mut folders = vec![root().join("crates/papers/src")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            seen += source.matches("Check::").count();
            let found = by_the_middle(&source);
            assert!(found.is_empty(), "{}: {found:?}", path.display());
        }
    }
    assert!(seen > 300, "{seen}");
    // And as pages show it: with more than one run a mean has an interval.
    for s in all() {
        for r in s.rows.iter().filter(|r| r.what.contains("mean of the ") || r.what.contains("mean of 10 seeds")) {
            assert!(r.here.contains(" to "), "{} {}: {}: {}", s.paper.id, s.entry.id, r.what, r.here);
        }
    }
}

/// A verdict is nowhere written down: not on a page either.
#[test]
fn verdicts_on_pages_follow_from_their_checks() {
    for s in all() {
        let expected = if s.entry.is_extension {
            "extension"
        } else if s.rows.is_empty() || s.rows.iter().any(|r| !r.holds) {
            "not reproduced"
        } else if s.rows.iter().any(|r| r.source.contains("assuming: ")) {
            "reproduced under assumption"
        } else {
            "reproduced"
        };
        assert_eq!(s.verdict, expected, "{} {}", s.paper.id, s.entry.id);
        assert_eq!(s.called, if s.entry.is_extension { "Findings" } else { "Checks" }, "{} {}", s.paper.id, s.entry.id);
        for r in s.rows.iter().filter(|r| r.holds) {
            // As far as four digits go.
            let ((low, high), here) = (band(&r.expected), number(r.here.split(" (").next().unwrap_or_default()));
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-3 * a.abs().max(b.abs());
            assert!(
                here.is_some_and(|v| low <= v && v <= high || close(v, low) || close(v, high)),
                "{} {}: {}",
                s.paper.id,
                s.entry.id,
                r.what
            );
        }
        // Chosen bands alone judge no claim of a paper.
        assert!(
            s.entry.is_extension || s.rows.iter().any(|r| !(r.source == "chosen" || r.source.starts_with("chosen, assuming"))),
            "{} {}: an extension",
            s.paper.id,
            s.entry.id
        );
    }
}

#[test]
fn what_is_beyond_the_paper_is_an_extension() {
    for s in all() {
        let beyond = s.entry.title.starts_with("Beyond the paper") || s.entry.paper.starts_with("Not in the slides");
        assert!(!beyond || s.entry.is_extension, "{} {}", s.paper.id, s.entry.id);
    }
}

/// What an entry is judged by: its band in words, and the ranges of its checks. A range that follows from what was measured is left out
/// by its number: names and ranges without digits.
fn judged_by(s: &Shown) -> String {
    let plain = |t: &str| t.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect::<String>();
    let mut text = s.entry.band.clone();
    for r in &s.rows {
        let _ = write!(text, "\n{}: {}", plain(&r.what), r.expected);
    }
    text
}

/// The file of bands holds, for each entry, what it is judged by and how many changes it lists. Another band needs another line of
/// `changes` in the entry, with date and reason; only then is the file written again.
#[test]
fn a_band_changes_only_with_its_reason_and_date() {
    let file = root().join("scenarios/papers/bands.txt");
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    let known: BTreeMap<&str, (&str, usize)> = known
        .lines()
        .filter(|l| !l.starts_with('#'))
        .filter_map(|l| l.split_once(": ").and_then(|(id, rest)| rest.split_once(' ').map(|(h, n)| (id, (h, n.parse().unwrap())))))
        .collect();
    let mut text =
        "# Hash of the band and the ranges of each entry, and the number of changes that it lists; see docs/papers/README.md.\n".to_owned();
    for s in all() {
        let id = format!("{}/{}", s.paper.id, s.entry.id);
        for change in &s.entry.changes {
            let date: Vec<&str> = change.split(": ").next().unwrap_or_default().split('-').collect();
            let is_date = date.len() == 3 && date.iter().zip([4, 2, 2]).all(|(d, n)| d.len() == n && d.bytes().all(|b| b.is_ascii_digit()));
            assert!(is_date && change.len() > 30, "{id}: a change is its date, a colon, what changed and why: '{change}'");
        }
        assert_eq!(s.changes.len(), s.entry.changes.len(), "{id}: the page lacks a change");
        let (now, changes) = (format!("{:016x}", xxh3_64(judged_by(&s).as_bytes())), s.entry.changes.len());
        if let Some((before, n)) = known.get(id.as_str()) {
            assert!(
                *before == now || changes > *n,
                "{id}: its band changed; add a line to `changes` of its entry, with date and reason, then bless"
            );
        }
        let _ = writeln!(text, "{id}: {now} {changes}");
    }
    xoff_testing::golden(&file, &text);
}

/// Two tests write parts of docs/papers/README.md again when they are blessed, one after the other.
static README: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// The count of docs/papers/README.md is that of the pages.
#[test]
fn the_count_is_that_of_the_pages() {
    const VERDICTS: [&str; 4] = ["reproduced", "reproduced under assumption", "not reproduced", "extension"];
    let (begin, end) = ("<!-- count: written by a test -->\n", "<!-- end of the count -->");
    let mut table =
        "| Paper | Reproduced | Under assumption | Not reproduced | Extension |\n| --- | ---: | ---: | ---: | ---: |\n".to_owned();
    let all = all();
    let count =
        |of: &dyn Fn(&Shown) -> bool| VERDICTS.map(|v| all.iter().filter(|s| of(s) && s.verdict == v).count().to_string()).join(" | ");
    for paper in PAPERS.iter().chain(TESTBEDS) {
        let _ = writeln!(table, "| [{0}]({0}.md) | {1} |", paper.id, count(&|s| s.paper.id == paper.id));
    }
    let _ = writeln!(table, "| all | {} |", count(&|_| true));
    let file = root().join("docs/papers/README.md");
    let _alone = README.lock();
    let page = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(begin).expect("where the count begins");
    let (_, after) = rest.split_once(end).expect("where it ends");
    xoff_testing::golden(&file, &format!("{before}{begin}{table}{end}{after}"));
}

/// The numbers of a text: digits with their separators, as they stand there.
fn numbers(text: &str) -> Vec<String> {
    let all = text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','));
    all.map(|n| n.trim_matches(['.', ',']).to_owned()).filter(|n| n.contains(|c: char| c.is_ascii_digit())).collect()
}

/// The anchor of a heading, as the site makes it: letters, digits and `_`, and one hyphen for what lies between words.
fn anchor(heading: &str) -> String {
    let plain: String = heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect();
    plain.split([' ', '-']).filter(|w| !w.is_empty()).collect::<Vec<_>>().join("-")
}

#[test]
fn numbers_and_anchors_are_those_of_a_text() {
    assert_eq!(numbers("Of 10,000 networks 39.5 % do (at k = 4, 2.0x); none."), ["10,000", "39.5", "4", "2.0"]);
    assert_eq!(anchor("sec4.2-steady: T\\_on, \"(section 4.2)\", N = 64"), "sec42-steady-t_on-section-42-n-64");
}

/// Sections of a page by their anchors.
fn sections(page: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("docs/papers").join(page)).unwrap_or_else(|e| panic!("{page}: {e}"));
    text.split("\n## ").skip(1).map(|s| (anchor(s.lines().next().unwrap_or_default()), s.to_owned())).collect()
}

/// Every number of a sentence stands in one of these sections.
fn numbers_stand_in(sentence: &str, sections: &[&str]) {
    let known: BTreeSet<String> = sections.iter().flat_map(|s| numbers(s)).collect();
    let missing: Vec<String> = numbers(sentence).into_iter().filter(|n| !known.contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?} is not on the page that this links to: {sentence}");
}

/// The top of docs/papers/README.md: every claim in a sentence (scenarios/papers/sentences.txt), under the verdict that its page has, with a
/// link to its section, which has every number of the sentence.
#[test]
fn the_summary_has_the_numbers_of_the_pages() {
    const LISTS: [(&str, &str); 3] =
        [("Holds", "reproduced"), ("Holds under a condition", "reproduced under assumption"), ("Does not hold", "not reproduced")];
    let (begin, end) = ("<!-- claims: written by a test from scenarios/papers/sentences.txt -->\n", "<!-- end of the claims -->");
    let sentences = std::fs::read_to_string(root().join("scenarios/papers/sentences.txt")).unwrap();
    let sentences: BTreeMap<&str, &str> = sentences.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(": ")).collect();
    let all = all();
    let claims: BTreeSet<String> = all.iter().filter(|s| !s.entry.is_extension).map(|s| format!("{}/{}", s.paper.id, s.entry.id)).collect();
    for id in sentences.keys() {
        assert!(claims.contains(*id), "scenarios/papers/sentences.txt: '{id}' is no claim");
    }
    let mut text = String::new();
    for paper in PAPERS.iter().chain(TESTBEDS) {
        let page = format!("{}.md", paper.id);
        let sections = sections(&page);
        let _ = writeln!(text, "\n### {}\n", paper.title);
        for (list, verdict) in LISTS {
            let of: Vec<&Shown> = all.iter().filter(|s| s.paper.id == paper.id && s.verdict == verdict).collect();
            if of.is_empty() {
                continue;
            }
            let _ = writeln!(text, "{list}:\n");
            for s in of {
                let id = format!("{}/{}", paper.id, s.entry.id);
                let sentence =
                    sentences.get(id.as_str()).unwrap_or_else(|| panic!("scenarios/papers/sentences.txt has no sentence for '{id}'"));
                let at = anchor(&format!("{}: {}", s.entry.id, s.entry.title));
                let section = sections.get(&at).unwrap_or_else(|| panic!("{page} has no section '{at}'"));
                numbers_stand_in(sentence, &[section]);
                let _ = writeln!(text, "- [{}]({page}#{at}): {}", s.entry.id, sentence.replace('_', "\\_"));
            }
            text.push('\n');
        }
    }
    let file = root().join("docs/papers/README.md");
    let _alone = README.lock();
    let page = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(begin).expect("where the claims begin");
    let (_, after) = rest.split_once(end).expect("where they end");
    xoff_testing::golden(&file, &format!("{before}{begin}{}\n{end}{after}", text.trim_end()));
}

/// What we learnt: each item has links, and its numbers stand in the sections that it links to.
#[test]
fn what_we_learnt_has_its_numbers_from_the_pages() {
    let page = std::fs::read_to_string(root().join("docs/papers/README.md")).unwrap();
    let (_, rest) = page.split_once("\n## What we learnt\n").expect("what we learnt");
    let items: Vec<&str> = rest.split("\n## ").next().unwrap_or_default().split("\n- ").skip(1).collect();
    assert!(items.len() >= 5, "{}", items.len());
    for item in items {
        let links: Vec<(&str, &str)> = item.split("](").skip(1).filter_map(|l| l.split(')').next()?.split_once(".md#")).collect();
        assert!(!links.is_empty(), "no link: {item}");
        let of: Vec<String> = links
            .iter()
            .map(|(page, at)| sections(&format!("{page}.md")).remove(*at).unwrap_or_else(|| panic!("{page}.md has no section '{at}'")))
            .collect();
        // Without the links, whose anchors have numbers of their own.
        let plain: String =
            item.split("](").enumerate().map(|(n, p)| if n == 0 { p } else { p.split_once(')').map_or("", |x| x.1) }).collect();
        numbers_stand_in(&plain, &of.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
