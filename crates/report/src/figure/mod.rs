//! A figure as plain data, and its drawing.
//!
//! ```text
//!   Figure -> colours by name, ranges shared by axes of the same name   (layout)
//!          -> per panel: title, legend above the data, axes, marks      (panel, series, bars)
//!          -> SVG text, at most about 200 KB: long series keep the first, least, greatest and last value per pixel column
//! ```
//!
//! Panels of one figure that have the same axis label and unit share their range: two schemes side
//! by side are compared by eye, and unequal scales would lie.

mod axes;
mod bars;
mod decimate;
mod layout;
mod legend;
mod mark;
pub(crate) mod palette;
mod panel;
mod scale;
mod series;
pub(crate) mod text;
mod unit;

pub use mark::{Bar, BarGroup, Mark};
pub use palette::{Colour, DEADLOCK};
pub use unit::Unit;

use std::path::Path;
use xoff_record::output::OutputError;

/// One axis. Values are given in the base unit; the drawing chooses the prefix and writes it out.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Quantity without its unit: "Queue length".
    pub label: String,
    /// Base unit of the values.
    pub unit: Unit,
    /// Range to show, base unit; none means: from the data.
    pub range: Option<(f64, f64)>,
    /// Logarithmic. Values <= 0 are gaps.
    pub log: bool,
}

impl Axis {
    /// A linear axis over the range of the data.
    pub fn new(label: impl Into<String>, unit: Unit) -> Self {
        Axis { label: label.into(), unit, range: None, log: false }
    }

    /// Shows exactly this range, in base units.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// Makes the axis logarithmic.
    #[must_use]
    pub fn log(mut self) -> Self {
        self.log = true;
        self
    }
}

/// One coordinate system with its marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Heading of the panel; may be empty.
    pub title: String,
    /// Horizontal axis. With bars, x counts the categories from 0.
    pub x: Axis,
    /// Left axis.
    pub y: Axis,
    /// Marks, first to last.
    pub marks: Vec<Mark>,
}

impl Panel {
    /// A panel without marks.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Panel { title: title.into(), x, y, marks: Vec::new() }
    }

    /// Adds a mark.
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// Adds several marks.
    #[must_use]
    pub fn marks(mut self, marks: impl IntoIterator<Item = Mark>) -> Self {
        self.marks.extend(marks);
        self
    }
}

/// Panels under one title.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Figure {
    /// Heading, drawn into the figure.
    pub title: String,
    /// Message of the figure. It is below the figure in a report, and the description inside an
    /// SVG.
    pub caption: String,
    /// Panels, row by row.
    pub panels: Vec<Panel>,
    /// Panels per row; 0 counts as 1.
    pub columns: usize,
    /// A small line at the foot of the drawing, e.g. where the data come from; it stays when the
    /// image is pasted elsewhere.
    pub note: Option<String>,
}

impl Figure {
    /// A figure without panels.
    pub fn new(title: impl Into<String>) -> Self {
        Figure { title: title.into(), columns: 1, ..Figure::default() }
    }

    /// Sets the caption.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Adds a panel.
    #[must_use]
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// Puts that many panels side by side.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns;
        self
    }

    /// Sets the small line at the foot of the drawing.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// The drawing as SVG text. Same data, same bytes.
    pub fn to_svg(&self) -> String {
        crate::printable(layout::draw(self, layout::WIDTH).into_string())
    }

    /// The drawing for a phone: one panel a row, letters that are readable there.
    pub fn to_narrow_svg(&self) -> String {
        crate::printable(layout::draw(&self.clone().columns(1), layout::NARROW).into_string())
    }

    /// Writes the SVG to a file: whole or not at all.
    pub fn write_svg(&self, path: impl AsRef<Path>) -> Result<(), OutputError> {
        xoff_record::output::write(path.as_ref(), self.to_svg().as_bytes())
    }
}
