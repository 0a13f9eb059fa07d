//! Runs entries one after the other, keeps each as soon as it is judged.

use std::path::PathBuf;

use xoff_record::output::Folder;

use crate::output::{self, Store};
use crate::{Context, Item, Judged, ReproduceError, Verdict};

/// A paper with its entries.
pub struct Paper {
    /// Short name, `gfc`.
    pub id: &'static str,
    /// Authors, title, place.
    pub title: &'static str,
    /// The entries in the order of the paper.
    pub items: &'static [Item],
}

impl Paper {
    /// Are its frames real?
    pub fn is_testbed(&self) -> bool {
        self.id.ends_with(TESTBED_SUFFIX)
    }

    /// Short name of the same paper, simulated instead of with real frames or the other way round; there need be none.
    pub fn other(&self) -> String {
        self.id.strip_suffix(TESTBED_SUFFIX).map_or_else(|| format!("{}{TESTBED_SUFFIX}", self.id), str::to_owned)
    }

    /// Arguments of `xoff reproduce` for the paper.
    pub fn command(&self) -> String {
        self.id.strip_suffix(TESTBED_SUFFIX).map_or_else(|| self.id.to_owned(), |paper| format!("{paper} --testbed"))
    }
}

/// Suffix of the short name of a paper with real frames.
pub const TESTBED_SUFFIX: &str = "-testbed";

/// A reproduction: complete, or as far as it came.
pub struct Report {
    /// The paper.
    pub paper: &'static Paper,
    /// The entries that are judged, in the order of the paper.
    pub entries: Vec<Judged>,
    /// The user stopped it before all entries were judged.
    pub interrupted: bool,
    /// The page to open.
    pub page: PathBuf,
}

impl Report {
    /// True if all entries are judged and none is "not reproduced".
    pub fn is_reproduced(&self) -> bool {
        !self.interrupted && self.entries.iter().all(|e| e.verdict != Verdict::NotReproduced)
    }
}

/// Runs the entries `items` of a paper (none: all) and writes the results to `cx.out`. Entries that an earlier run of
/// the same program, mode and seed has judged there are kept as they are.
///
/// # Errors
/// No such entry; a scenario that is rejected; a file that cannot be written.
pub fn run_entries(paper: &'static Paper, items: &[String], cx: &Context) -> Result<Report, ReproduceError> {
    if let Some(unknown) = items.iter().find(|i| !paper.items.iter().any(|p| p.id == i.as_str())) {
        let known: Vec<&str> = paper.items.iter().map(|i| i.id).collect();
        return Err(ReproduceError::Unknown {
            what: format!("'{}' has no claim '{unknown}'", paper.id),
            hint: format!("known: {}", known.join(", ")),
        });
    }
    let wanted: Vec<&Item> = paper.items.iter().filter(|p| items.is_empty() || items.iter().any(|i| i == p.id)).collect();
    let folder = Folder::claim(cx.out, &format!("reproduce {}", paper.command()), cx.force)?;
    let cx = &Context { folder: Some(&folder), ..*cx };
    let store = Store::open(paper, cx, &folder)?;
    let mut report = Report { paper, entries: Vec::new(), interrupted: false, page: cx.out.join(output::PAGE) };
    for (nth, item) in wanted.iter().enumerate() {
        let entry = item.entry()?;
        let kept = store.load(&entry);
        let was_kept = kept.is_some();
        let judged = match kept {
            Some(judged) => judged,
            // Stored results are still shown.
            None if report.interrupted => continue,
            None => {
                cx.progress.started(&entry, nth, wanted.len());
                match (item.run)(&Context { entry: item.id, ..*cx }) {
                    Ok(found) => store.save(&entry, &found)?,
                    Err(ReproduceError::Interrupted) => {
                        report.interrupted = true;
                        continue;
                    }
                    Err(e) => return Err(e),
                }
            }
        };
        cx.progress.finished(&judged, was_kept);
        report.entries.push(judged);
        output::write(&report, cx, &folder)?;
    }
    output::write(&report, cx, &folder)?;
    Ok(report)
}
