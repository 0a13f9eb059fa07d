//! Why there is no result.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use xoff_record::output::OutputError;
use xoff_scenario::Problems;
use xoff_units::params::ParamError;

/// Errors that end a reproduction, or one of its entries.
#[derive(Debug)]
pub enum ReproduceError {
    /// The caller asked to stop.
    Interrupted,
    /// No such paper or entry.
    Unknown {
        /// Requested name.
        what: String,
        /// Known names.
        hint: String,
    },
    /// A scenario of the entry was refused.
    Scenario(Problems),
    /// A run with real frames did not come about.
    Testbed(String),
    /// A scenario cannot be built.
    Build(ParamError),
    /// A file or folder is rejected, or cannot be written.
    Output(OutputError),
    /// A file cannot be written or read.
    File {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl ReproduceError {
    /// An error about a file.
    pub fn file(path: impl AsRef<Path>, source: io::Error) -> Self {
        ReproduceError::File { path: path.as_ref().to_path_buf(), source }
    }
}

impl fmt::Display for ReproduceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReproduceError::Interrupted => f.write_str("interrupted"),
            ReproduceError::Unknown { what, hint } => write!(f, "{what} ({hint})"),
            ReproduceError::Scenario(p) => fmt::Display::fmt(p, f),
            ReproduceError::Testbed(what) => f.write_str(what),
            ReproduceError::Build(e) => fmt::Display::fmt(e, f),
            ReproduceError::Output(e) => fmt::Display::fmt(e, f),
            ReproduceError::File { path, source } => write!(f, "cannot write {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for ReproduceError {}

impl From<Problems> for ReproduceError {
    fn from(p: Problems) -> Self {
        ReproduceError::Scenario(p)
    }
}
impl From<ParamError> for ReproduceError {
    fn from(e: ParamError) -> Self {
        ReproduceError::Build(e)
    }
}
impl From<OutputError> for ReproduceError {
    fn from(e: OutputError) -> Self {
        ReproduceError::Output(e)
    }
}
