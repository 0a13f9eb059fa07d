//! Results as files.

mod markdown;
mod page;
mod store;

use std::path::Path;

pub use markdown::write_docs;
pub(crate) use store::Store;

use crate::{Context, Report, ReproduceError};

/// Writes a text, whole or not at all.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), ReproduceError> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".partial");
    let partial = path.with_file_name(name);
    std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, path)).map_err(|e| {
        let _ = std::fs::remove_file(&partial);
        ReproduceError::file(path, e)
    })
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<(), ReproduceError> {
    std::fs::create_dir_all(path).map_err(|e| ReproduceError::file(path, e))
}

/// The answer as a program wants it: `{"paper", "mode", "seed", "complete", "entries": [...]}`.
pub fn write_json(report: &Report, cx: &Context) -> String {
    let entries: Vec<serde_json::Value> = report
        .entries
        .iter()
        .map(|e| {
            serde_json::json!({
                "id": e.id,
                "title": e.title,
                "paper": e.paper,
                "measured": e.measured,
                "band": e.band,
                "verdict": e.verdict,
                "assumptions": e.assumptions,
                "figure": e.figure,
                "checks": e.checks,
                "why": e.why,
                "notes": e.notes,
            })
        })
        .collect();
    let all = serde_json::json!({
        "paper": report.paper.id,
        "mode": cx.mode.name(),
        "seed": cx.seed,
        "complete": !report.interrupted,
        "entries": entries,
    });
    serde_json::to_string_pretty(&all).expect("plain values") + "\n"
}

/// Everything that shows the results so far.
pub(crate) fn write(report: &Report, cx: &Context) -> Result<(), ReproduceError> {
    write_text(&cx.out.join("entries.json"), &write_json(report, cx))?;
    write_text(&cx.out.join(format!("{}.md", report.paper.id)), &markdown::page(report, cx.mode, cx.seed, "figures", None))?;
    page::draw(report, cx)?.write(&report.page)?;
    Ok(())
}
