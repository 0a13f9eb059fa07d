//! Studies: many independent runs, on several threads, kept in a file, so that a stopped study goes on.
//!
//! ```text
//!   Job --key--> done.jsonl: is it done?  yes: its result    no: run it, keep the result
//!   Plan: series of jobs that differ in the seed alone --run--> Results: series of results, means with intervals
//! ```

mod kept;
mod pieces;
mod plan;

pub use pieces::Pieces;
pub use plan::{Job, Plan, Results, Series};
