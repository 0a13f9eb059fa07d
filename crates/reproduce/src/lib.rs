//! The papers' figures and tables: run, judged, shown.
//!
//! ```text
//!   <id>.entry.toml (what the paper says, band, assumptions) --+
//!   scenario files --run--> measured values --checks--> Findings +--> Judged --> DIR/index.html
//!                                                                        --> DIR/figures/<id>.svg
//!                                                                        --> DIR/entries.json, DIR/<paper>.md
//! ```
//!
//! A verdict is never written down: it follows from the checks of [`Findings`]. Every entry is written as soon as it
//! is done, and a second run into the same folder goes on where the first one stopped.

mod bench;
mod context;
mod entry;
mod error;
mod findings;
pub mod gfc;
mod judged;
pub mod lab;
mod output;
pub mod pffc;
pub mod request_grant;
mod runner;
mod stats;
pub mod tcd;
pub mod testbed;
pub mod unbiased_qcn;

pub use context::{Context, Mode, Progress, Silent};
pub use entry::{Entry, Item};
pub use error::ReproduceError;
pub use findings::{Check, Findings, Source, Verdict};
pub use judged::{Judged, JudgedCheck, Picture};
pub use output::{write_docs, write_json};
pub use runner::{PAPERS, Paper, Report, TESTBEDS, entries, reproduce, testbed_entries};
