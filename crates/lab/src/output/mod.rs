//! Results as files.

mod markdown;
mod page;
mod store;

pub use markdown::{check_docs, write_docs};
pub(crate) use store::Store;
use xoff_output::Folder;

use crate::{Context, Report, ReproduceError};

/// The page to open.
pub(crate) const PAGE: &str = "index.html";

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
pub(crate) fn write(report: &Report, cx: &Context, folder: &Folder) -> Result<(), ReproduceError> {
    folder.write("entries.json", write_json(report, cx).as_bytes())?;
    let page = markdown::page(report, cx.mode, cx.seed, "figures", None);
    folder.write(&format!("{}.md", report.paper.id), page.as_bytes())?;
    folder.write(PAGE, page::draw(report, cx)?.to_html().as_bytes())?;
    Ok(())
}
