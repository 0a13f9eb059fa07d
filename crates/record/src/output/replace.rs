//! Rules for replacing a single file: another output of its kind, never an input, a result in a
//! folder, or a user's file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::output::OutputError;
use crate::output::draft::parent;
use crate::output::record::{self, RECORD};

/// A file is recognised by so much of its beginning [bytes].
const HEAD: u64 = 4096;
/// The first bytes of a pcapng file: the type of its first block.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// The fonts of every drawing of xoff.
pub const FONTS: &str =
    "Inter, Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif";
/// Text by which a page for a browser names its origin.
pub const GENERATOR: &str = "name=\"generator\" content=\"xoff\"";
/// The first words of a generated page.
pub const PAGE_BEGINS: &str = "Written by `xoff reproduce ";

/// The schema of a file of `--ready`, up to its version.
pub const READY_SCHEMA: &str = "xoff-ready-";

/// Start of the text next to a figure.
pub const CAPTION_BEGINS: &str = "Figure by xoff ";

/// Kinds of single files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A drawing.
    Svg,
    /// A page of the documentation.
    Page,
    /// A page for a browser.
    Html,
    /// A capture of frames.
    Capture,
    /// Caption and provenance of a figure.
    Caption,
    /// A line which reports that the ports of a node are open.
    Ready,
}

impl Kind {
    fn begins(self, head: &[u8]) -> bool {
        let has = |text: &str| String::from_utf8_lossy(head).contains(text);
        match self {
            Kind::Svg => head.starts_with(b"<svg ") && has(FONTS),
            Kind::Html => head.starts_with(b"<!DOCTYPE html>") && has(GENERATOR),
            Kind::Page => head.starts_with(b"# ") && has(PAGE_BEGINS),
            Kind::Caption => head.starts_with(CAPTION_BEGINS.as_bytes()),
            Kind::Capture => head.starts_with(&PCAPNG),
            Kind::Ready => head.starts_with(b"{") && has(&format!("\"schema\":\"{READY_SCHEMA}")),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Svg => "a drawing of xoff",
            Kind::Page | Kind::Html => "a page of xoff",
            Kind::Caption => "a caption of xoff",
            Kind::Capture => "a capture",
            Kind::Ready => "a file of --ready",
        }
    }
}

/// Refuses to replace a result in a folder, and what [`refuse_unlike`] does.
///
/// # Errors
/// A file that is rejected, and why; what would help is in the hint.
pub fn refuse_others(path: &Path, kind: Kind, force: bool) -> Result<(), OutputError> {
    if let Some(real) = regular(path) {
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        if name == RECORD || record::lists(parent(&real), &name) {
            return Err(refused(path, "it is a file in a folder of results", "name another file"));
        }
    }
    refuse_unlike(path, kind, force)
}

/// Refuses to replace a file that is neither empty nor of this kind, unless `force`.
///
/// # Errors
/// A file that is rejected, and why; what would help is in the hint.
pub fn refuse_unlike(path: &Path, kind: Kind, force: bool) -> Result<(), OutputError> {
    let Some(real) = regular(path).filter(|_| !force) else { return Ok(()) };
    let mut head = Vec::new();
    // One that cannot be read is not known either.
    match File::open(&real).and_then(|f| f.take(HEAD).read_to_end(&mut head)) {
        Ok(n) if n == 0 || kind.begins(&head) => Ok(()),
        _ => {
            let what = format!("the existing file is not {}", kind.name());
            Err(refused(path, &what, "name another file, or replace it with --force"))
        }
    }
}

/// Target of the links, if it is a regular file: nothing else loses anything.
fn regular(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().filter(|real| real.is_file())
}

fn refused(path: &Path, what: &str, hint: &str) -> OutputError {
    OutputError::new(path, format!("cannot write {}: {what}", path.display()), hint)
}
