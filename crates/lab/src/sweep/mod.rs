//! Sweeps: many runs that differ in parameters and seed, on one machine or many, killed and resumed
//! without loss.
//!
//! ```text
//!   PLAN.toml --Plan--> runs (number, values, seed) --+-- local: threads ------------------------+
//!                                                      +-- job array: one process a run ---------+--> Shard: finished/ab/KEY.json
//!                                                      +-- any executor: Frozen -> worker -> row --+        |
//!                                                                                                          v collect
//!                                            runs.parquet, runs/NAME=VALUE/.../runs.parquet, table.csv, index.html, manifest.json
//! ```
//!
//! A finished run is a file of its own, named by the hash of all that decides its result: the
//! version of the program, the texts that it reads, its values and its seed. So it does not matter
//! who ran it, when, or in which order. A killed run starts again, and a plan that grows keeps its
//! results. `runs.parquet` is made of these files in the order of the runs, without any clock: its
//! bytes are the same whatever ran them.

mod cell;
mod collect;
mod error;
mod folder;
mod frozen;
mod hive;
mod local;
mod plan;
mod report;
mod scenario;
mod summary;
mod table;
mod value;
mod work;

pub use cell::{Cell, Shard, Status};
pub use collect::{Collected, Counts, Manifest, Swept};
pub use error::SweepError;
pub use folder::{COMMAND, Store};
pub use frozen::Frozen;
pub use local::{Ended, Progress, run_local};
pub(crate) use local::{Todo, run_each};
pub use plan::{Parameter, Plan, is_plan};
pub(crate) use scenario::hash;
pub use scenario::{SHOWN, Work};
pub use summary::{Combination, Interval, Summary};
pub use value::{Setting, Value};
pub use work::{Column, Done, Input, Kind, Measured, Ran};
