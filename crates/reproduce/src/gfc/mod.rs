//! Gentle Flow Control (SIGCOMM'19), figure by figure.

mod ring;
mod schemes;

use crate::Item;

/// An entry with its text from the folder of the paper's scenarios.
macro_rules! item {
    ($id:literal, $run:path) => {
        Item { id: $id, text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/gfc/", $id, ".entry.toml")), run: $run }
    };
}

/// A scenario of the paper's folder: its name and its text.
macro_rules! scenario {
    ($file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/gfc/", $file)))
    };
}
use scenario;

/// The entries in the order of the paper.
pub const GFC: &[Item] = &[
    item!("ring", ring::run),
];
