//! Results as files.

mod markdown;
mod page;
mod reproduced;
mod store;

pub use markdown::{check_docs, write_docs};
pub use reproduced::{JudgedEntry, Reproduced};
pub(crate) use store::Store;
use xoff_record::output::Folder;

use crate::{Context, Report, ReproduceError};

/// The page to open.
pub(crate) const PAGE: &str = "index.html";

/// Everything that shows the results so far.
pub(crate) fn write(report: &Report, cx: &Context, folder: &Folder) -> Result<(), ReproduceError> {
    let entries = serde_json::to_string_pretty(&Reproduced::of(report, cx)).expect("plain values") + "\n";
    folder.write("entries.json", entries.as_bytes())?;
    let page = markdown::page(report, cx.mode, cx.seed, "figures", None);
    folder.write(&format!("{}.md", report.paper.id), page.as_bytes())?;
    folder.write(PAGE, page::draw(report, cx)?.to_html().as_bytes())?;
    Ok(())
}
