//! Figures, reports and tables: plain data in, text out.
//!
//! ```text
//!   Figure { panels: [Panel { axes, marks }] } --to_svg--> SVG text ---+
//!                                                                      v
//!   Report { lead, cards, sections, details, provenance } --to_html--> one HTML file, no script, no network
//!                                                                      ^
//!   Table { columns, rows of Cell } ----------------------------------+--to_markdown--> Markdown
//! ```
//!
//! [`view`] alone knows runs: it makes the interactive report. The rest is independent of the
//! simulator: numbers come in base units (ps, bytes, bit/s, see [`Unit`]) and are scaled when they
//! are drawn. The same data give the same bytes on every machine: nothing is hashed, nothing is
//! measured with a system font, and logarithms are computed in Rust.
//!
//! ```
//! use xoff_report::{Axis, Card, Colour, Figure, Mark, Panel, Report, Section, Table, Tone, Unit};
//!
//! let queue = [(0.0, 0.0), (80e6, 50_000.0), (400e6, 75_000.0)]; // [ps], [bytes]
//! let figure = Figure::new("Queue of S1").caption("It settles at 75 KB.").panel(
//!     Panel::new("", Axis::new("Time", Unit::Picoseconds), Axis::new("Queue", Unit::Bytes))
//!         .mark(Mark::line("GFC", queue).colour(Colour::Blue))
//!         .mark(Mark::hline(75_000.0, "paper: 75 KB")),
//! );
//! let html = Report::new("GFC")
//!     .cards([Card::new("Frames lost", "0").tone(Tone::Good)])
//!     .section(Section::new("Queue").text("Set-up as in `fig5.toml`.").figure(&figure))
//!     .section(Section::new("Parameters").table(Table::new(["key", "value"]).row(["flow_control", "gfc-buffer"])))
//!     .provenance("seed", "1")
//!     .to_html();
//! assert!(html.contains("</svg>") && html.ends_with("</html>"));
//! ```
//!
//! Both SVG and HTML are written through `maud` templates, so that every text is escaped by
//! construction.

pub mod export;
pub mod figure;
pub mod html;
pub mod markdown;
pub mod mechanism;
mod table;
mod tone;
mod tree;
pub mod view;

pub use figure::{Axis, Bar, BarGroup, Colour, DEADLOCK, Figure, Mark, Panel, Unit};
pub use html::{Card, Report, Section};
use mechanism::mechanism;
pub use table::{Align, Cell, Column, Table};
pub use tone::Tone;
pub use tree::{TreeBox, TreeFigure};

/// Drops the characters that neither XML 1.0 nor HTML may contain, from any text.
fn printable(text: String) -> String {
    let bad = |c: char| {
        (c < ' ' && !matches!(c, '\n' | '\t' | '\r'))
            || matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
    };
    if text.contains(bad) { text.replace(bad, "\u{fffd}") } else { text }
}
