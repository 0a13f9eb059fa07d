//! Work of a run: a scenario, or a piece of a study.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use xoff_record::{Manifest, MemoryTable};
use xoff_report::{Section, Unit};
use xoff_scenario::Problems;
use xoff_units::params::ParamError;

use crate::sweep::cell::Cell;
use crate::sweep::{Shard, Value};

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
    /// Further data that a study keeps.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub more: serde_json::Value,
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

/// Parts of a scenario that a worker receives.
pub struct Sent<'a> {
    /// Text.
    pub source: &'a xoff_scenario::Source,
    /// Folder in which files that it names are looked up.
    pub folder: &'a std::path::Path,
    /// Files that it names.
    pub inputs: &'a [Input],
}

/// Work of the runs of a plan.
pub trait Work: Send + Sync {
    /// Measures, in the order of the columns.
    fn columns(&self) -> Vec<Column>;
    /// All that results depend on, but for the version, the values and the seed.
    fn basis(&self) -> String;
    /// The columns that a figure shows where the plan names none; those without a value are left out.
    fn shown(&self) -> Vec<&'static str>;
    /// Runs one cell. `stop` is polled now and then; `run` receives the run, where the caller wants it and there is one.
    fn run(&self, cell: &Cell, stop: &(dyn Fn() -> bool + Sync), run: Option<&mut Option<Ran>>) -> Done;
    /// Warnings about the first run; each with its place.
    fn warnings(&self) -> Problems {
        Problems::default()
    }
    /// The tables that are kept of each run.
    fn tables(&self) -> &[String] {
        &[]
    }
    /// The scenario, if there is one.
    #[doc(hidden)]
    fn scenario(&self) -> Option<Sent<'_>> {
        None
    }
    /// Further sections of the report.
    fn sections(&self, _cells: &[(Cell, Option<Shard>)]) -> Vec<Section> {
        Vec::new()
    }
}

/// Work that no scenario describes, such as a table of a paper over ten thousand networks.
pub trait Study: Work {
    /// Name in `study = "..."`.
    fn name(&self) -> &'static str;
    /// Description, one sentence.
    fn about(&self) -> &'static str;
    /// Parameters: the keys of `[grid]`.
    fn parameters(&self) -> &'static [&'static str];
    /// Refuses a value.
    ///
    /// # Errors
    /// The value does not fit the parameter.
    fn check(&self, parameter: &str, value: &Value) -> Result<(), ParamError>;
}
