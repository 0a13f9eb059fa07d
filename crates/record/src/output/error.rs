//! One kind of error: a sentence and a hint.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An output that is rejected, or that could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputError {
    /// The file or folder.
    pub path: PathBuf,
    /// The problem, one sentence with the path in it.
    pub what: String,
    /// The remedy; may be empty.
    pub hint: String,
}

impl OutputError {
    /// A refusal.
    pub fn new(path: &Path, what: impl Into<String>, hint: impl Into<String>) -> OutputError {
        OutputError { path: path.to_owned(), what: what.into(), hint: hint.into() }
    }

    /// Something that the system refused.
    pub(crate) fn io(doing: &str, path: &Path, e: &io::Error) -> OutputError {
        let hint = match e.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "choose a location where you may write"
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space, or choose another disk"
            }
            _ => "",
        };
        OutputError::new(path, format!("cannot {doing} {}: {e}", path.display()), hint)
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
impl std::error::Error for OutputError {}
