//! What the tests of the papers share.
#![allow(dead_code)] // each test program uses a part of it

use std::path::PathBuf;

use xoff_lab::{Context, Judged, Mode};
use xoff_papers::reproduce;

/// A folder of its own, taken away at the end.
pub struct Folder(pub PathBuf);
impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("xoff-reproduce-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Entries of a paper in quick mode.
pub fn judge_of(paper: &str, out: &Folder, items: &[&str], threads: usize) -> Vec<Judged> {
    let cx = Context { threads, ..Context::new(Mode::Quick, &out.0) };
    let items: Vec<String> = items.iter().map(|i| (*i).to_owned()).collect();
    let report = reproduce(paper, &items, &cx).unwrap_or_else(|e| panic!("{e}"));
    assert!(!report.interrupted);
    report.entries
}

/// Does this check of the entry hold?
pub fn holds(e: &Judged, what: &str) -> bool {
    let c = e.checks.iter().find(|c| c.what == what).unwrap_or_else(|| panic!("no check '{what}' in {:?}", e.checks));
    c.holds
}
