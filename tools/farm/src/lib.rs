//! Random fabrics under checkers, and broken inputs for every reader: for hours, on all cores,
//! resumed where they were stopped.
//!
//! ```text
//!   number -> draw -> scenario text -> run -> checkers -> fine, or a failure
//!                                                            |
//!   failed/FAMILY-NUMBER.toml <- the smallest text that still fails <- shrink
//!
//!   number -> sample of a reader, broken by some edits -> reader -> accepts, refuses, or a panic: failed/READER-NUMBER
//! ```
//!
//! A case is nothing but its number: the same number draws the same text on every machine. The
//! short form runs in `make test` (the swarms of `crates/run/tests`), the long one is `make farm`.
//!
//! [`fabrics`] lists the families, [`checkers`] the checks, [`shrink`] makes a failure small,
//! [`readers`] lists readers with their samples, [`ledger`] records finished work. [`soak`] runs
//! real frames for hours.

pub mod checkers;
pub mod cores;
pub mod draw;
pub mod fabrics;
pub mod frames;
pub mod ledger;
pub mod memory;
pub mod networks;
pub mod operation;
pub mod outcome;
pub mod parsers;
pub mod promises;
pub mod readers;
pub mod shrink;
pub mod soak;
