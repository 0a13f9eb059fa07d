//! A run for other programs.
//!
//! ```text
//!   tables of a run ------------------------------> perfetto   queues, pauses, flows on tracks: ui.perfetto.dev
//!                   ------------------------------> csv        all tables as text, and the meaning of their columns
//!   scenario of a run --run again, with a tap-----> capture    frames of chosen links: Wireshark, tshark
//! ```
//!
//! All of them are written while they are made: none needs as much memory as it writes. docs/exports.md is the page for users.

pub mod capture;
pub mod csv;
mod error;
pub mod perfetto;

pub use error::ExportError;
