//! A table, independent of where it is shown.

/// Alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Align {
    /// Text.
    #[default]
    Left,
    /// Numbers, so that their digits line up.
    Right,
}

/// A column's heading and alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading, with the unit written out where there is one.
    pub name: String,
    /// Alignment of heading and cells.
    pub align: Align,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Plain text; text between backticks is set as code.
    Text(String),
    /// A name or value to be read to the letter: a key, a hash, a path.
    Code(String),
}

impl Cell {
    /// A name or value to be read to the letter.
    pub fn code(text: impl Into<String>) -> Self {
        Cell::Code(text.into())
    }

    /// Plain text of the cell.
    pub fn text(&self) -> &str {
        match self {
            Cell::Text(t) | Cell::Code(t) => t,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

/// Columns, rows and an optional caption.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Table {
    /// Headings and alignments.
    pub columns: Vec<Column>,
    /// Rows; a short row is filled with empty cells, surplus cells are not shown.
    pub rows: Vec<Vec<Cell>>,
    /// A sentence above the table.
    pub caption: Option<String>,
}

impl Table {
    /// A table with left-aligned columns of these names.
    pub fn new<N: Into<String>>(columns: impl IntoIterator<Item = N>) -> Self {
        let columns = columns
            .into_iter()
            .map(|name| Column { name: name.into(), align: Align::Left })
            .collect();
        Table { columns, ..Table::default() }
    }

    /// Sets the alignment column by column, from the left.
    #[must_use]
    pub fn align(mut self, align: impl IntoIterator<Item = Align>) -> Self {
        for (column, align) in self.columns.iter_mut().zip(align) {
            column.align = align;
        }
        self
    }

    /// Appends a row.
    #[must_use]
    pub fn row<C: Into<Cell>>(mut self, cells: impl IntoIterator<Item = C>) -> Self {
        self.push(cells);
        self
    }

    /// Appends a row in place.
    pub fn push<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Sets the sentence above the table.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = Some(caption.into());
        self
    }
}
