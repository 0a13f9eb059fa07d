//! A run for other programs: its tables in their formats.
//!
//! ```text
//!   tables of a run ------------------------------> perfetto   queues, pauses, flows on tracks: ui.perfetto.dev
//!                   ------------------------------> csv        all tables as text, and the meaning of their columns
//! ```
//!
//! Both are written while they are made: neither needs as much memory as it writes. Captures need
//! bytes of frames, so `xoff_real::export` makes them. docs/exports.md is the page for users.

pub mod csv;
mod error;
pub mod perfetto;

pub use error::ExportError;
