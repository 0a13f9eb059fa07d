//! What can go wrong: only files.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that could not be written, with its path.
#[derive(Debug)]
pub struct ReportError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// What the operating system said.
    pub source: io::Error,
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for ReportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Writes a whole file or none: a reader never sees half a report, and an interrupted run leaves the old one.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), ReportError> {
    let failed = |source| ReportError { path: path.to_path_buf(), source };
    let mut name = path.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?.to_os_string();
    // The process id keeps two runs that share a folder from writing into one another's temporary file.
    name.push(format!(".{}.partial", std::process::id()));
    let partial = path.with_file_name(name);
    let written = std::fs::File::create(&partial)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&partial, path));
    written.map_err(|source| {
        // Best effort: the error that matters is the first one.
        let _ = std::fs::remove_file(&partial);
        failed(source)
    })
}
