//! Entries that are judged, one file each, so that a stopped run can continue.
//!
//! A file is kept only if program, mode and seed are the same: `stamp` in it says so.

use serde::{Deserialize, Serialize};
use xoff_record::output::Folder;

use crate::{Context, Entry, Findings, Judged, Paper, Picture, ReproduceError};

/// Folder of the figures.
const FIGURES: &str = "figures";
/// Folder of the judged entries.
const ENTRIES: &str = "entries";

#[derive(Serialize, Deserialize)]
struct Kept {
    stamp: String,
    judged: Judged,
}

/// The folder of the results.
pub(crate) struct Store {
    folder: Folder,
    stamp: String,
}

impl Store {
    /// Makes the folders.
    pub fn open(paper: &Paper, cx: &Context, folder: &Folder) -> Result<Store, ReproduceError> {
        for name in [FIGURES, ENTRIES] {
            folder.sub(name)?;
        }
        let stamp = format!("{} {} {} seed {} {}", xoff_run::VERSION, paper.id, cx.mode.name(), cx.seed, program());
        Ok(Store { folder: folder.clone(), stamp })
    }

    fn file(id: &str) -> String {
        format!("{ENTRIES}/{id}.json")
    }

    /// Result of an earlier run of the same program, if its figures still exist.
    pub fn load(&self, entry: &Entry) -> Option<Judged> {
        let out = self.folder.path();
        let kept: Kept = serde_json::from_str(&std::fs::read_to_string(out.join(Store::file(entry.id))).ok()?).ok()?;
        let whole = kept.stamp == self.stamp
            && kept.judged.figures.iter().all(|f| [&f.file, &f.narrow].iter().all(|file| out.join(file).is_file()));
        whole.then_some(kept.judged)
    }

    /// Draws the figures, judges, writes.
    pub fn save(&self, entry: &Entry, found: &Findings) -> Result<Judged, ReproduceError> {
        let mut pictures = Vec::new();
        for (nth, figure) in found.figures.iter().enumerate() {
            let file = if nth == 0 { format!("{FIGURES}/{}.svg", entry.id) } else { format!("{FIGURES}/{}-{}.svg", entry.id, nth + 1) };
            self.folder.write(&file, figure.to_svg().as_bytes())?;
            let narrow = format!("{ENTRIES}/{}-{}.narrow.svg", entry.id, nth + 1);
            self.folder.write(&narrow, figure.to_narrow_svg().as_bytes())?;
            pictures.push(Picture { file, narrow, title: figure.title.clone(), caption: figure.caption.clone() });
        }
        let judged = Judged::new(entry, found, pictures);
        let kept = Kept { stamp: self.stamp.clone(), judged };
        self.folder.write(&Store::file(entry.id), serde_json::to_string_pretty(&kept).expect("plain values").as_bytes())?;
        Ok(kept.judged)
    }
}

/// Identity of a build: size and time of the program's file.
fn program() -> String {
    let of = || {
        let m = std::env::current_exe().ok()?.metadata().ok()?;
        let changed = m.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(format!("{}-{}", m.len(), changed.as_nanos()))
    };
    of().unwrap_or_default()
}
