//! Many runs: sweeps ([`sweep`]), runs side by side ([`compare`]), and a paper's figures and tables, run, judged and shown. The `papers`
//! crate has the papers.
//!
//! ```text
//!   <id>.entry.toml (what the paper says, band, assumptions) --+
//!   scenario files --run--> measured values --checks--> Findings +--> Judged --> DIR/index.html
//!                                                                        --> DIR/figures/<id>.svg
//!                                                                        --> DIR/entries.json, DIR/<paper>.md
//! ```
//!
//! A verdict is never written down: it follows from the checks of [`Findings`], and a check that no value fails is void. Every entry is written as soon as it
//! is done, and a second run into the same folder continues where the first one stopped.

mod check;
pub mod compare;
mod context;
mod entry;
mod error;
mod findings;
mod judged;
pub mod observe;
mod output;
mod runner;
pub mod stats;
pub mod study;
pub mod sweep;

pub use check::{CANNOT_FAIL, Check, Source};
pub use context::{Context, Mode, Progress, Silent};
pub use entry::{Entry, Item};
pub use error::ReproduceError;
pub use findings::{Findings, Verdict};
pub use judged::{Judged, JudgedCheck, Picture};
pub use output::{JudgedEntry, Reproduced, check_docs, write_docs};
pub use runner::{Paper, Report, TESTBED_SUFFIX, run_entries};
