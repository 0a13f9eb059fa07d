//! The results as a page of the documentation.

use std::fmt::Write;
use std::path::Path;

use xoff_record::output::Kind;
use xoff_report::{Cell, Table};

use crate::{Context, Judged, Mode, Paper, Report, ReproduceError};

/// The page; figures are looked for in the folder `figures` next to it.
pub(crate) fn page(report: &Report, mode: Mode, seed: u64, figures: &str, beside: Option<&str>) -> String {
    let mut out = format!("# {}\n\n", report.paper.title);
    let _ = writeln!(
        out,
        "{}{} --{}` (seed {seed}); do not edit. The verdict on each claim follows from its checks.\n",
        xoff_record::output::PAGE_BEGINS,
        report.paper.command(),
        mode.name()
    );
    if let Some(other) = beside {
        let what = if report.paper.is_testbed() { "Simulated" } else { "With real Ethernet frames" };
        let _ = writeln!(out, "{what}: [{other}]({other}).\n");
    }
    let mut table = Table::new(["Claim", "Title", "Paper", "Measured", "Verdict"]);
    for e in &report.entries {
        table.push([
            Cell::code(&e.id),
            Cell::from(e.title.as_str()),
            Cell::from(e.paper.as_str()),
            Cell::from(e.measured.as_str()),
            Cell::badge(e.tone(), e.verdict.name()),
        ]);
    }
    out += &table.to_markdown();
    for e in &report.entries {
        out += &section(e, figures);
    }
    out
}

fn section(e: &Judged, figures: &str) -> String {
    let mut out = format!("{SECTION}{}: {}\n\n**{}**\n", e.id, plain(&e.title), e.verdict.name());
    list(
        &mut out,
        "Paper, measured, expected",
        &[format!("paper: {}", e.paper), format!("measured: {}", e.measured), format!("expected: {}", e.band)],
    );
    list(&mut out, "Why", &e.why);
    for p in &e.figures {
        let file = p.file.rsplit('/').next().unwrap_or(&p.file);
        let _ = write!(out, "\n![{}]({figures}/{file})\n\n{}\n", plain(&p.title), plain(&p.caption));
    }
    for t in &e.tables {
        let _ = write!(out, "\n{}", t.to_markdown());
    }
    list(&mut out, "Notes", &e.notes);
    list(&mut out, "What the paper leaves open, and what xoff assumes", &e.assumptions);
    list(&mut out, "Bands changed after the data were seen", &e.changes);
    let _ = write!(out, "\n{}:\n\n{}", e.checks_name(), e.checks_table().to_markdown());
    out
}

/// Start of the section of an entry.
const SECTION: &str = "\n## ";
/// Start of the line of an entry in the table.
const ROW: &str = "| `";

/// A page in parts: what comes before the entries, and of each entry its line in the table and its section.
struct Parts<'a> {
    head: String,
    entries: Vec<(&'a str, &'a str)>,
}

impl<'a> Parts<'a> {
    fn of(page: &'a str) -> Parts<'a> {
        let mut pieces = page.split(SECTION);
        let first = pieces.next().unwrap_or_default();
        let (rows, head): (Vec<&str>, Vec<&str>) = first.lines().partition(|l| l.starts_with(ROW));
        Parts { head: head.join("\n") + "\n", entries: rows.into_iter().zip(pieces).collect() }
    }

    /// The line and the section of an entry, if both are of it.
    fn find(&self, id: &str) -> Option<(&'a str, &'a str)> {
        let of = |(row, section): &&(&str, &str)| row.starts_with(&format!("{ROW}{id}`")) && section.starts_with(&format!("{id}: "));
        self.entries.iter().find(of).copied()
    }
}

/// A page with some entries laid over one of the same command, mode and seed that has others; those keep what they say.
fn merged(paper: &Paper, old: &str, new: &str) -> Option<String> {
    let (old, new) = (Parts::of(old), Parts::of(new));
    if old.head.trim_end() != new.head.trim_end() {
        return None;
    }
    let entries: Vec<_> = paper.items.iter().filter_map(|i| new.find(i.id).or_else(|| old.find(i.id))).collect();
    let mut out = new.head.trim_end().to_owned() + "\n";
    entries.iter().for_each(|(row, _)| out.extend([row, "\n"]));
    entries.iter().for_each(|(_, section)| out.extend([SECTION, section.trim_end_matches('\n'), "\n"]));
    Some(out)
}

fn list(out: &mut String, name: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = write!(out, "\n{name}:\n\n");
        for item in items {
            let _ = writeln!(out, "- {}", plain(item));
        }
    }
}

/// Text in which Markdown and HTML see nothing to act upon.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '*' | '_' | '[' | ']' | '|' | '~' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// Refuses a page that could not be written, before the work begins; and one that would take the place of a file of another origin, of a
/// page of another paper, mode or seed, or a drawing of it that would, unless `force`.
pub fn check_docs(page_file: &Path, cx: &Context, paper: &str, force: bool) -> Result<(), ReproduceError> {
    xoff_record::output::refuse_others(page_file, Kind::Page, force)?;
    let old = std::fs::read_to_string(page_file).unwrap_or_default();
    if let Some(made) = old.lines().find_map(|l| l.strip_prefix(xoff_record::output::PAGE_BEGINS)).filter(|_| !force) {
        let testbed = if cx.testbed { " --testbed" } else { "" };
        let ours = format!("{paper}{testbed} --{}` (seed {})", cx.mode.name(), cx.seed);
        if !made.split_whitespace().collect::<Vec<_>>().join(" ").contains(&ours) {
            let made = made.split(';').next().unwrap_or_default();
            let what = format!("{} is a page of another run: {}{made}", page_file.display(), xoff_record::output::PAGE_BEGINS);
            let hint = "name another page, or replace this one with --force";
            return Err(xoff_record::output::OutputError::new(page_file, what, hint).into());
        }
    }
    drop(xoff_record::output::Draft::to(page_file)?);
    let folder = page_file.with_extension("");
    if folder.exists() && !folder.is_dir() {
        let what = format!("cannot write figures into {}: it is a file, not a folder", folder.display());
        return Err(xoff_record::output::OutputError::new(&folder, what, "name another page").into());
    }
    for file in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|e| e.path()) {
        if file.extension().is_some_and(|e| e == "svg") {
            xoff_record::output::refuse_others(&file, Kind::Svg, force)?;
        }
    }
    Ok(())
}

/// Writes the page of the documentation, `docs/papers/gfc.md`, and its figures to a folder `gfc` next to it. A run of some entries
/// replaces theirs in a page of the same mode and seed.
pub fn write_docs(report: &Report, cx: &Context, page_file: &Path) -> Result<(), ReproduceError> {
    let folder = page_file.with_extension("");
    std::fs::create_dir_all(&folder).map_err(|e| ReproduceError::file(&folder, e))?;
    for picture in report.entries.iter().flat_map(|e| &e.figures) {
        let from = cx.out.join(&picture.file);
        let to = folder.join(picture.file.rsplit('/').next().unwrap_or(&picture.file));
        let svg = std::fs::read_to_string(&from).map_err(|e| ReproduceError::file(&from, e))?;
        xoff_record::output::write(&to, svg.as_bytes())?;
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = format!("{}.md", report.paper.other());
    let beside = page_file.with_file_name(&beside).is_file().then_some(beside);
    let new = page(report, cx.mode, cx.seed, &name, beside.as_deref());
    let old = std::fs::read_to_string(page_file).unwrap_or_default();
    let whole = report.entries.len() == report.paper.items.len();
    let text = if whole { None } else { merged(report.paper, &old, &new) }.unwrap_or(new);
    Ok(xoff_record::output::write(page_file, text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Findings, Item};

    /// A quick run, which is the default, took the place of a page that had taken hours.
    #[test]
    fn a_page_of_another_run_is_kept() {
        let folder = std::env::temp_dir().join(format!("xoff-pages-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("p.md");
        let cx = |mode, seed| Context { seed, ..Context::new(mode, &folder) };
        let report = Report { paper: &PAPER, entries: vec![], interrupted: false, page: file.clone() };
        write_docs(&report, &cx(Mode::Full, 1), &file).unwrap();
        let check = |mode, seed, paper, force| check_docs(&file, &cx(mode, seed), paper, force);
        assert!(check(Mode::Full, 1, "p", false).is_ok());
        for refused in [check(Mode::Quick, 1, "p", false), check(Mode::Full, 2, "p", false), check(Mode::Full, 1, "q", false)] {
            let text = refused.unwrap_err().to_string();
            assert!(text.contains("another run"), "{text}");
        }
        assert!(check(Mode::Quick, 2, "q", true).is_ok());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    const PAPER: Paper = Paper {
        id: "p",
        title: "t",
        items: &[
            Item { id: "a", text: "", run: |_| Ok(Findings::default()) },
            Item { id: "b", text: "", run: |_| Ok(Findings::default()) },
        ],
    };
    fn page_of(entries: &[(&str, &str)], seed: u32) -> String {
        let rows: String = entries.iter().map(|(id, text)| format!("| `{id}` | {text} |\n")).collect();
        let sections: String = entries.iter().map(|(id, text)| format!("\n## {id}: {text}\n\n| x |\n")).collect();
        format!("# t\n\nseed {seed}\n\n| Entry |\n| --- |\n{rows}{sections}")
    }

    #[test]
    fn some_entries_replace_theirs_in_a_page_of_the_same_run() {
        let old = page_of(&[("a", "old"), ("b", "old")], 1);
        let both = |a, b| Some(page_of(&[("a", a), ("b", b)], 1));
        assert_eq!(merged(&PAPER, &old, &page_of(&[("b", "new")], 1)), both("old", "new"));
        assert_eq!(merged(&PAPER, &old, &page_of(&[("a", "new")], 1)), both("new", "old"));
        assert_eq!(merged(&PAPER, &page_of(&[("b", "old")], 1), &page_of(&[("a", "new")], 1)), both("new", "old"));
        assert_eq!(merged(&PAPER, &old, &page_of(&[("b", "new")], 2)), None, "another seed");
        assert_eq!(merged(&PAPER, "", &page_of(&[("b", "new")], 1)), None);
    }
}
