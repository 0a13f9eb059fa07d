//! The Python package of xoff, which draws figures for papers and runs claims: it is started as a
//! process.

use std::ffi::OsString;

use xoff_scenario::Problem;

/// The interpreter that this command runs in, or the one on the PATH.
pub fn interpreter() -> OsString {
    crate::STARTED_BY
        .get()
        .and_then(|words| words.first())
        .map_or_else(|| OsString::from("python3"), OsString::clone)
}

/// The package is not installed, or lacks something.
pub fn missing(what: &str) -> Problem {
    Problem::new(
        what,
        "install xoff's Python package for this interpreter: pip install . in its sources",
    )
}

/// An answer that this version does not know.
pub fn garbled(e: &dyn std::fmt::Display) -> Problem {
    Problem::new(
        format!("the Python package gave no answer that this program understands: {e}"),
        "install the Python package of the same version: pip install . in its sources",
    )
}
