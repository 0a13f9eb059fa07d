//! Studies: many independent runs, on several threads, kept in a file, so that a stopped study can continue.
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

/// Inputs that decide results in addition to the key of a piece of work: the engine, and `texts`, such as the source of a stored result, or
/// a scenario.
pub fn basis<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().fold(xoff_run::ENGINE.to_owned(), |all, text| format!("{all} {}", fingerprint(text)))
}

/// A fingerprint of a text: FNV-1a of 64 bits.
pub fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}
