//! Errors of a comparison.

use std::fmt;

/// Reason why runs cannot be compared, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompareError {
    /// The problem.
    pub what: String,
    /// The expected form.
    pub hint: String,
    /// A folder or a file could not be read, rather than something asked that makes no sense.
    pub of_files: bool,
}

impl CompareError {
    /// Something that was asked and makes no sense.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> CompareError {
        CompareError { what: what.into(), hint: hint.into(), of_files: false }
    }
    /// A folder or file that cannot be read.
    pub fn of_files(what: impl Into<String>, hint: impl Into<String>) -> CompareError {
        CompareError { of_files: true, ..CompareError::new(what, hint) }
    }
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)
    }
}
impl std::error::Error for CompareError {}
