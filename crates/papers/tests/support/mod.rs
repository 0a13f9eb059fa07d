//! What the tests of the papers share.
#![allow(dead_code)] // each test program uses a part of it

use std::path::PathBuf;

use xoff_lab::{CANNOT_FAIL, Context, Judged, JudgedCheck, Mode, Source, Verdict};
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
    for e in &report.entries {
        judged_by_the_rules(e);
    }
    report.entries
}

/// The rules of a check, for what an entry has judged: a value fails it, and its band has a source.
pub fn judged_by_the_rules(e: &Judged) {
    for c in &e.checks {
        assert!(!c.fails_at.is_empty() && c.fails_at != CANNOT_FAIL, "{}: no value fails '{}', expected {}", e.id, c.what, c.expected);
        assert!(SOURCES.contains(&c.source.as_str()), "{}: '{}' has its band from '{}'", e.id, c.what, c.source);
    }
    if e.verdict != Verdict::Extension {
        // A claim has a check whose range comes from the paper, its formulas or a closed form.
        let stated = |c: &&JudgedCheck| c.source != Source::Ours.name();
        assert!(e.checks.iter().any(|c| stated(&c)), "{}: all bands are chosen and judge no claim: this is an extension", e.id);
    }
}

/// Where bands may come from.
pub const SOURCES: [&str; 6] = [
    Source::Paper.name(),
    Source::Around.name(),
    Source::Recomputed.name(),
    Source::ClosedForm.name(),
    Source::Words.name(),
    Source::Ours.name(),
];

/// Does this check of the entry hold?
pub fn holds(e: &Judged, what: &str) -> bool {
    let c = e.checks.iter().find(|c| c.what == what).unwrap_or_else(|| panic!("no check '{what}' in {:?}", e.checks));
    c.holds
}
