//! Columns of a run, and how it ends.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use xoff_record::{Manifest, MemoryTable};
use xoff_report::Unit;

use crate::sweep::Value;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Flag,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// A text.
    Text,
}

/// A column of the results.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name, unit last.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Description, with the unit.
    pub doc: &'static str,
    /// Base unit in figures and tables.
    pub unit: fn() -> Unit,
}

/// Outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The columns by name; a missing one is null.
    pub values: Vec<(String, Value)>,
}

/// End of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    /// Ended, with these tables: name and bytes of a Parquet file.
    Measured(Measured, Vec<(String, Vec<u8>)>),
    /// Failed, and would fail again.
    Failed(String),
    /// Interrupted.
    Stopped,
}

/// A run of a scenario, for a measure of the caller.
pub struct Ran {
    /// Manifest.
    pub manifest: Manifest,
    /// Tables.
    pub tables: Vec<MemoryTable>,
}

/// A file that results depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Path, as its reader named it.
    pub path: PathBuf,
    /// Hash of its bytes, 32 hexadecimal digits.
    pub hash: String,
}
