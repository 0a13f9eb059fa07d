//! The results as a page of the documentation.

use std::fmt::Write;
use std::path::Path;

use xoff_output::Kind;
use xoff_report::{Cell, Table};

use crate::{Context, Judged, Mode, Report, ReproduceError};

/// The page; figures are looked for in the folder `figures` beside it.
pub(crate) fn page(report: &Report, mode: Mode, seed: u64, figures: &str, beside: Option<&str>) -> String {
    let mut out = format!("# {}\n\n", report.paper.title);
    let _ = writeln!(
        out,
        "{}{} --{}` (seed {seed}); do not edit. Verdicts follow from the checks of each entry.\n",
        xoff_output::PAGE_BEGINS,
        report.paper.command(),
        mode.name()
    );
    if let Some(other) = beside {
        let what = if report.paper.is_testbed() { "Simulated" } else { "With real Ethernet frames" };
        let _ = writeln!(out, "{what}: [{other}]({other}).\n");
    }
    let mut table = Table::new(["Entry", "What", "Paper", "Here", "Verdict"]);
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
    let mut out = format!("\n## {}: {}\n\n**{}**\n", e.id, plain(&e.title), e.verdict.name());
    list(
        &mut out,
        "Paper, here, expected",
        &[format!("paper: {}", e.paper), format!("here: {}", e.measured), format!("expected: {}", e.band)],
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
    list(&mut out, "What the paper leaves open, and how it is filled here", &e.assumptions);
    let _ = write!(out, "\nChecks:\n\n{}", e.checks_table().to_markdown());
    out
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

/// Refuses a page that could not be written, before the work begins; and one that would take the place of a file of another origin, or a
/// drawing of it that would, unless `force`.
pub fn check_docs(page_file: &Path, force: bool) -> Result<(), ReproduceError> {
    xoff_output::refuse_others(page_file, Kind::Page, force)?;
    drop(xoff_output::Draft::to(page_file)?);
    let folder = page_file.with_extension("");
    if folder.exists() && !folder.is_dir() {
        let what = format!("cannot write figures into {}: it is a file, not a folder", folder.display());
        return Err(xoff_output::OutputError::new(&folder, what, "name another page").into());
    }
    for file in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|e| e.path()) {
        if file.extension().is_some_and(|e| e == "svg") {
            xoff_output::refuse_others(&file, Kind::Svg, force)?;
        }
    }
    Ok(())
}

/// Writes the page of the documentation, `docs/papers/gfc.md`, and its figures to a folder `gfc` beside it.
pub fn write_docs(report: &Report, cx: &Context, page_file: &Path) -> Result<(), ReproduceError> {
    let folder = page_file.with_extension("");
    std::fs::create_dir_all(&folder).map_err(|e| ReproduceError::file(&folder, e))?;
    for picture in report.entries.iter().flat_map(|e| &e.figures) {
        let from = cx.out.join(&picture.file);
        let to = folder.join(picture.file.rsplit('/').next().unwrap_or(&picture.file));
        let svg = std::fs::read_to_string(&from).map_err(|e| ReproduceError::file(&from, e))?;
        xoff_output::write(&to, svg.as_bytes())?;
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = format!("{}.md", report.paper.other());
    let beside = page_file.with_file_name(&beside).is_file().then_some(beside);
    Ok(xoff_output::write(page_file, page(report, cx.mode, cx.seed, &name, beside.as_deref()).as_bytes())?)
}
