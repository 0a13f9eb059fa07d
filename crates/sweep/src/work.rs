//! Work of a run: a scenario, or a piece of a study.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use xoff_record::{Manifest, MemoryTable};
use xoff_report::{Section, Unit};
use xoff_scenario::Problems;
use xoff_units::params::ParamError;

use crate::cell::Cell;
use crate::{Shard, Value};

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
    /// Its name, unit last.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// What it is, with its unit.
    pub doc: &'static str,
    /// Base unit in figures and tables.
    pub unit: fn() -> Unit,
}

/// Outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The columns by name; what is not there is null.
    pub values: Vec<(String, Value)>,
    /// What a study keeps besides.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub more: serde_json::Value,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    /// It ended, with these tables: name and bytes of a Parquet file.
    Measured(Measured, Vec<(String, Vec<u8>)>),
    /// It failed, and would fail again.
    Failed(String),
    /// It was stopped.
    Stopped,
}

/// A run of a scenario, for a measure of the caller.
pub struct Ran {
    /// Its manifest.
    pub manifest: Manifest,
    /// Its tables.
    pub tables: Vec<MemoryTable>,
}

/// A file that results depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its path, as whoever read it named it.
    pub path: PathBuf,
    /// Hash of its bytes, 32 hexadecimal digits.
    pub hash: String,
}

/// What a worker gets of a scenario.
pub struct Sent<'a> {
    /// Its text.
    pub source: &'a xoff_scenario::Source,
    /// Where files that it names are looked up.
    pub folder: &'a std::path::Path,
    /// Those files.
    pub inputs: &'a [Input],
}

/// What the runs of a plan do.
pub trait Work: Send + Sync {
    /// What it measures, in the order of the columns.
    fn columns(&self) -> Vec<Column>;
    /// All that results depend on, but for the version, the values and the seed.
    fn basis(&self) -> String;
    /// The columns that a figure shows where the plan names none; those without a value are left out.
    fn shown(&self) -> Vec<&'static str>;
    /// Does the work. `stop` is asked now and then; `run` receives the run, where the caller wants it and there is one.
    fn run(&self, cell: &Cell, stop: &(dyn Fn() -> bool + Sync), run: Option<&mut Option<Ran>>) -> Done;
    /// What the user should know of the first run; each with its place.
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
    /// What the report shows besides.
    fn sections(&self, _cells: &[(Cell, Option<Shard>)]) -> Vec<Section> {
        Vec::new()
    }
}

/// Work that no scenario describes, such as a table of a paper over ten thousand networks.
pub trait Study: Work {
    /// Its name in `study = "..."`.
    fn name(&self) -> &'static str;
    /// What it is, one sentence.
    fn about(&self) -> &'static str;
    /// Its parameters: the keys of `[grid]`.
    fn parameters(&self) -> &'static [&'static str];
    /// Refuses a value.
    ///
    /// # Errors
    /// The value does not fit the parameter.
    fn check(&self, parameter: &str, value: &Value) -> Result<(), ParamError>;
}
