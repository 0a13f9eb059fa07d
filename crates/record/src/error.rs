//! One kind of error: the operation on a file, and the cause in the system's words.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::output::OutputError;

/// A table or the manifest could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// The operation: `create`, `write`, `finish`, `read`; empty: `cause` is the whole sentence.
    pub doing: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// The cause, such as `No space left on device (os error 28)`.
    pub cause: String,
    /// The remedy; may be empty.
    pub hint: String,
}

impl RecordError {
    /// From any cause.
    pub fn new(doing: &'static str, path: &Path, cause: impl fmt::Display) -> RecordError {
        RecordError { doing, path: path.to_owned(), cause: cause.to_string(), hint: String::new() }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.doing.is_empty() {
            return f.write_str(&self.cause);
        }
        write!(f, "cannot {} {}: {}", self.doing, self.path.display(), self.cause)
    }
}
impl std::error::Error for RecordError {}

impl From<OutputError> for RecordError {
    fn from(e: OutputError) -> RecordError {
        RecordError { doing: "", path: e.path, cause: e.what, hint: e.hint }
    }
}
