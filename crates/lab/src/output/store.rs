//! Entries that are judged, one file each, so that a stopped run goes on.
//!
//! A file is kept only if program, mode and seed are the same: `stamp` in it says so.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{make_folder, write_text};
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
    out: PathBuf,
    stamp: String,
}

impl Store {
    /// Makes the folders.
    pub fn open(paper: &Paper, cx: &Context) -> Result<Store, ReproduceError> {
        for folder in [FIGURES, ENTRIES] {
            make_folder(&cx.out.join(folder))?;
        }
        let stamp = format!("{} {} {} seed {} {}", xoff_run::VERSION, paper.id, cx.mode.name(), cx.seed, program());
        Ok(Store { out: cx.out.to_path_buf(), stamp })
    }

    fn path(&self, id: &str) -> PathBuf {
        self.out.join(ENTRIES).join(format!("{id}.json"))
    }

    /// What an earlier run of the same program has judged, if its figures are still there.
    pub fn load(&self, entry: &Entry) -> Option<Judged> {
        let kept: Kept = serde_json::from_str(&std::fs::read_to_string(self.path(entry.id)).ok()?).ok()?;
        let whole = kept.stamp == self.stamp && kept.judged.figures.iter().all(|f| self.out.join(&f.file).is_file());
        whole.then_some(kept.judged)
    }

    /// Draws the figures, judges, writes.
    pub fn save(&self, entry: &Entry, found: &Findings) -> Result<Judged, ReproduceError> {
        let mut pictures = Vec::new();
        for (nth, figure) in found.figures.iter().enumerate() {
            let file = if nth == 0 { format!("{FIGURES}/{}.svg", entry.id) } else { format!("{FIGURES}/{}-{}.svg", entry.id, nth + 1) };
            figure.write_svg(self.out.join(&file))?;
            pictures.push(Picture { file, title: figure.title.clone(), caption: figure.caption.clone() });
        }
        let judged = Judged::new(entry, found, pictures);
        let kept = Kept { stamp: self.stamp.clone(), judged };
        write_text(&self.path(entry.id), &serde_json::to_string_pretty(&kept).expect("plain values"))?;
        Ok(kept.judged)
    }
}

/// What tells one build from another: size and time of the program's file.
fn program() -> String {
    let of = || {
        let m = std::env::current_exe().ok()?.metadata().ok()?;
        let changed = m.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(format!("{}-{}", m.len(), changed.as_nanos()))
    };
    of().unwrap_or_default()
}
