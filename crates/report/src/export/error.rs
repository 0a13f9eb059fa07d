//! Why an export came to nothing.

use std::fmt;
use std::io;

use xoff_record::{OutputError, RecordError};
use xoff_run::RunError;

/// Reason for a missing trace, capture or tables.
#[derive(Debug)]
pub enum ExportError {
    /// A table cannot be read.
    Read(RecordError),
    /// The run cannot be repeated.
    Run(RunError),
    /// The output cannot be written.
    Write(io::Error),
    /// A folder or its files cannot be written.
    Output(OutputError),
    /// The caller asked to stop.
    Stopped,
}

impl From<RecordError> for ExportError {
    fn from(e: RecordError) -> Self {
        ExportError::Read(e)
    }
}
impl From<RunError> for ExportError {
    fn from(e: RunError) -> Self {
        ExportError::Run(e)
    }
}
impl From<io::Error> for ExportError {
    fn from(e: io::Error) -> Self {
        ExportError::Write(e)
    }
}
impl From<OutputError> for ExportError {
    fn from(e: OutputError) -> Self {
        ExportError::Output(e)
    }
}
impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Read(e) => e.fmt(f),
            ExportError::Run(e) => e.fmt(f),
            ExportError::Write(e) => e.fmt(f),
            ExportError::Output(e) => f.write_str(&e.what),
            ExportError::Stopped => f.write_str("stopped"),
        }
    }
}
impl std::error::Error for ExportError {}
