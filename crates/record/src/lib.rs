//! Results of a run: tables, a manifest, a result hash.
//!
//! ```text
//!   probes -> FlowRow, QueueRow, ... -> Table -+-> row bytes -> TableHasher -> ResultHash
//!                                              +-> column buffers -> RecordBatch -+-> Exporter, NAME.partial +
//!                                                                                 +-> memory (Python, zero copy)
//!   Verdict -> Manifest, with the name, rows and length of each file --------------------- Folder::commit -> files, manifest.json
//! ```
//!
//! [`output`] has the folders: one command owns each, and their files are complete or absent.
//!
//! The crate is independent of the simulator: rows and their columns are those that the crate
//! `rows` declares, plain integers [ps, bytes, bit/s] and indices into the names given at the
//! start. A folder with a manifest is complete: [`Manifest::write`] puts all files in place and the
//! manifest last. A run that is interrupted calls [`Tables::close`] and keeps the rows so far.

mod column;
mod error;
pub mod export;
pub mod hash;
mod jobs;
mod load_balance;
pub mod manifest;
pub mod output;
pub mod page;
pub mod read;
mod slowdown;
mod table;
mod tables;
pub mod verdict;

pub use column::Names;
pub use error::RecordError;
pub use export::csv::cell;
pub use export::{Exporter, FORMATS, Format};
pub use hash::{ResultHash, TableHasher};
pub use jobs::{
    IterationAnswer, JobAnswer, MismatchAnswer, PathAnswer, StragglerAnswer, StuckAnswer,
};
pub use load_balance::LoadBalance;
pub use manifest::{
    FabricDelays, FabricHosts, FabricJob, FabricTotals, FastForward, Manifest, PAGE, Parameter,
    ResultFile, built_from, commit,
};
pub use slowdown::{Slowdown, quantile};
pub use table::Table;
pub use tables::{Closed, FabricTables, MemoryTable, RunInfo, SCHEMA_VERSION, Sink, Tables};
pub use verdict::Verdict;

/// Folders of the files.
pub use crate::output::{Folder, OutputError, owner};
/// The Arrow types that appear in this crate's interface.
pub use arrow_array::RecordBatch;
/// The Arrow types that appear in this crate's interface.
pub use arrow_schema::SchemaRef;
/// Rows and columns of the tables.
pub use xoff_rows as rows;
pub use xoff_rows::*;
