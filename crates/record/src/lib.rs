//! What a run leaves behind: tables, a manifest, a result hash.
//!
//! ```text
//!   probes -> FlowRow, QueueRow, ... -> Table -+-> row bytes -> TableHasher -> ResultHash
//!                                              +-> column buffers -> RecordBatch -+-> name.parquet.partial -> name.parquet
//!                                                                                 +-> memory (Python, zero copy)
//!   Manifest -> manifest.json.partial -> manifest.json
//! ```
//!
//! The crate knows nothing of the simulator: rows are plain integers [ps, bytes, bit/s] and indices into the names
//! given at the start. A file under its final name is complete; a run that is interrupted calls [`Tables::close`] and
//! keeps what there is.

mod cell;
mod error;
mod file;
pub mod hash;
pub mod manifest;
pub mod read;
pub mod rows;
mod table;
mod tables;

pub use cell::{Label, Late, Message, Names, Node, Port};
pub use error::RecordError;
pub use hash::{ResultHash, TableHasher};
pub use manifest::{Manifest, Parameter};
pub use rows::*;
pub use table::Table;
pub use tables::{Closed, FabricTables, MemoryTable, RunInfo, SCHEMA_VERSION, Sink, Tables};

/// The Arrow types that appear in this crate's interface.
pub use arrow_array::RecordBatch;
/// The Arrow types that appear in this crate's interface.
pub use arrow_schema::SchemaRef;
