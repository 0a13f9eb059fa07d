//! Scenario files and the file formats of other simulators.
//!
//! ```text
//!   scenario.toml --+-> document::Document -> Section (one per table, checked against its ParamSpecs) -> owners
//!   --set a.b=c   --+                           |
//!                                               +-> Resolved: every value with its origin, as TOML and as JSON
//!   HPCC config, topology, flow files -> hpcc        size distribution -> cdf
//! ```
//!
//! Networks from the files of other programs are in [`import`].
//!
//! A reader takes text and returns either a typed value or [`Problems`]: each with file, line,
//! column, the problem and the expected form. No reader stops at the first problem if it can
//! continue, and none panics, whatever the bytes.

pub mod cdf;
pub mod document;
pub mod hpcc;
pub mod import;
pub mod links;
mod problem;
pub mod read;
pub mod table;
pub use xoff_units::params::suggest;
pub mod topology;
mod words;

pub use problem::{Canvas, Place, Problem, Problems, Severity, Source};
