//! Figures, reports and tables: plain data in, text out.
//!
//! ```text
//!   Figure { panels: [Panel { axes, marks }] } --to_svg--> SVG text ---+
//!                                                                      v
//!   Report { lead, cards, sections, details, provenance } --to_html--> one HTML file, no script, no network
//!                                                                      ^
//!   Table { columns, rows of Cell } ----------------------------------+--to_markdown--> docs pages
//! ```
//!
//! The crate knows nothing of the simulator: numbers come in base units (ps, bytes, bit/s, see [`Unit`]) and are scaled
//! when they are drawn. The same data give the same bytes on every machine: nothing is hashed, nothing is measured with
//! a system font, and logarithms are computed in Rust.
//!
//! Both SVG and HTML are written through `maud` templates, so that every text is escaped by construction. Scales and
//! layout are our own: a plotting crate that draws on integer pixels cannot clip a series, dash it in one element, or
//! keep its size within bounds, and a figure here has to do all three.

mod error;
pub mod figure;
pub mod html;
pub mod markdown;
mod table;
mod tone;

pub use error::ReportError;
pub use figure::{Axis, Bar, BarGroup, Colour, Figure, HeatCell, Mark, Panel, Unit};
pub use html::{Card, Report, Section};
pub use table::{Align, Cell, Column, Table};
pub use tone::Tone;

/// Drops the characters that neither XML 1.0 nor HTML may contain, whatever text brought them in.
fn printable(text: String) -> String {
    let bad = |c: char| (c < ' ' && !matches!(c, '\n' | '\t' | '\r')) || matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    if text.contains(bad) { text.replace(bad, "\u{fffd}") } else { text }
}
