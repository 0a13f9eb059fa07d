//! Errors that end a sweep, as opposed to one of its runs.

use std::fmt;
use std::path::Path;

use xoff_record::output::OutputError;
use xoff_scenario::{Problem, Problems};

/// Error that ends a sweep.
#[derive(Debug)]
pub enum SweepError {
    /// The plan or its scenario is wrong.
    Plan(Problems),
    /// A folder that is rejected, a file that cannot be written.
    Output(OutputError),
}

impl SweepError {
    /// A file that the system refused.
    pub(crate) fn file(doing: &str, path: &Path, e: &dyn fmt::Display) -> SweepError {
        SweepError::Output(OutputError::new(
            path,
            format!("cannot {doing} {}: {e}", path.display()),
            "",
        ))
    }

    /// As problems, for a terminal.
    pub fn problems(self) -> Problems {
        match self {
            SweepError::Plan(p) => p,
            SweepError::Output(e) => Problem::new(e.what, e.hint).into(),
        }
    }
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SweepError::Plan(p) => p.fmt(f),
            SweepError::Output(e) if e.hint.is_empty() => f.write_str(&e.what),
            SweepError::Output(e) => write!(f, "{} ({})", e.what, e.hint),
        }
    }
}
impl std::error::Error for SweepError {}

impl From<Problems> for SweepError {
    fn from(p: Problems) -> SweepError {
        SweepError::Plan(p)
    }
}
impl From<Problem> for SweepError {
    fn from(p: Problem) -> SweepError {
        SweepError::Plan(p.into())
    }
}
impl From<OutputError> for SweepError {
    fn from(e: OutputError) -> SweepError {
        SweepError::Output(e)
    }
}
