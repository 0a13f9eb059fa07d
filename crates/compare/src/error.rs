//! Why runs cannot be compared.

use std::fmt;

/// Why runs cannot be compared, and what would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompareError {
    /// What is wrong.
    pub what: String,
    /// What would be right.
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
