//! The papers that are reproduced: a folder a paper, a file a figure, table or claim.
//!
//! How an entry is run, judged and shown is the `lab` crate's; here is what each one measures. Its text (what the paper says, the
//! band, the assumptions) and its scenarios are in `scenarios/papers/<paper>`.

use xoff_lab::observe as lab;
use xoff_lab::{Check, Context, Findings, Item, Mode, ReproduceError, stats, study};

/// An entry with its text: folder below `scenarios/papers`, short name, what runs it.
macro_rules! item {
    ($folder:literal, $id:literal, $run:path) => {
        Item {
            id: $id,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/", $folder, "/", $id, ".entry.toml")),
            run: $run,
        }
    };
}

/// A scenario below `scenarios/papers`: its name and its text.
macro_rules! scenario {
    ($folder:literal, $file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/", $folder, "/", $file)))
    };
}

pub mod gfc;
pub mod pffc;
mod registry;
pub mod request_grant;
pub mod tcd;
pub mod testbed;
pub mod unbiased_qcn;

pub use registry::{PAPERS, TESTBEDS, entries, reproduce, studies, testbed_entries};
