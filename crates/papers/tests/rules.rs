//! The rules of a check (docs/papers/README.md), for every check of every entry: the published pages hold them all, as the full runs
//! made them. Every band has a source and a value that fails it; a verdict follows from its checks; a changed band has its reason.

mod support;

use std::collections::BTreeMap;
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
        ["Checked", "Here", "Expected", "Paper", "Range from", "Would fail at", "Holds"],
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
    Shown { paper, verdict, changes: list("Changes of bands after data were seen"), rows: rows.collect(), called, entry }
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
        "µs" | "MB" | "Mb/s" => 1e6,
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

/// A verdict is nowhere written down: not on a page either.
#[test]
fn verdicts_on_pages_follow_from_their_checks() {
    for s in all() {
        let expected = if s.entry.is_study {
            "study"
        } else if s.rows.is_empty() || s.rows.iter().any(|r| !r.holds) {
            "not reproduced"
        } else if s.rows.iter().any(|r| r.source.contains("assuming: ")) {
            "reproduced under assumption"
        } else {
            "reproduced"
        };
        assert_eq!(s.verdict, expected, "{} {}", s.paper.id, s.entry.id);
        assert_eq!(s.called, if s.entry.is_study { "Findings" } else { "Checks" }, "{} {}", s.paper.id, s.entry.id);
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
        // What ours alone judges is no claim of a paper.
        assert!(
            s.entry.is_study || s.rows.iter().any(|r| !(r.source == "ours" || r.source.starts_with("ours, assuming"))),
            "{} {}: a study",
            s.paper.id,
            s.entry.id
        );
    }
}

#[test]
fn what_is_beyond_the_paper_is_a_study() {
    for s in all() {
        let beyond = s.entry.title.starts_with("Beyond the paper") || s.entry.paper.starts_with("Not in the slides");
        assert!(!beyond || s.entry.is_study, "{} {}", s.paper.id, s.entry.id);
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
/// `changes` in the entry, with date and reason; only then is the file written anew.
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
        "# What each entry is judged by (a hash of its band and ranges) and how many changes it lists; see docs/papers/README.md.\n"
            .to_owned();
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

/// The count of docs/papers/README.md is that of the pages.
#[test]
fn the_count_is_that_of_the_pages() {
    const VERDICTS: [&str; 4] = ["reproduced", "reproduced under assumption", "not reproduced", "study"];
    let (begin, end) = ("<!-- count: written by a test -->\n", "<!-- end of the count -->");
    let mut table = "| Paper | Reproduced | Under assumption | Not reproduced | Study |\n| --- | ---: | ---: | ---: | ---: |\n".to_owned();
    let all = all();
    let count =
        |of: &dyn Fn(&Shown) -> bool| VERDICTS.map(|v| all.iter().filter(|s| of(s) && s.verdict == v).count().to_string()).join(" | ");
    for paper in PAPERS.iter().chain(TESTBEDS) {
        let _ = writeln!(table, "| [{0}]({0}.md) | {1} |", paper.id, count(&|s| s.paper.id == paper.id));
    }
    let _ = writeln!(table, "| all | {} |", count(&|_| true));
    let file = root().join("docs/papers/README.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(begin).expect("where the count begins");
    let (_, after) = rest.split_once(end).expect("where it ends");
    xoff_testing::golden(&file, &format!("{before}{begin}{table}{end}{after}"));
}
