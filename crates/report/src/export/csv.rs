//! The tables of a run as text: a file a table, and `columns.csv`, which describes their columns.

use std::collections::BTreeSet;
use std::path::Path;

use xoff_record::export::Header;
use xoff_record::rows::{ColumnSpec, Kind, TableSpec};
use xoff_record::{Folder, Format, RecordError, read};

use crate::export::error::ExportError;

/// The file that describes the others; it comes last, so that its presence means that all is there.
pub const COLUMNS: &str = "columns.csv";

/// Whole numbers of more than 15 digits: a spreadsheet keeps no more.
const DIGITS_MAX: u64 = 999_999_999_999_999;

/// Written files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows by table.
    pub rows: Vec<(&'static str, u64)>,
    /// Columns that hold numbers beyond 15 digits.
    pub large: Vec<(&'static str, &'static str)>,
}

/// Writes these tables of the run in `dir` into a folder. `look(table, rows)` is called now and
/// then; when it returns false, writing ends.
///
/// # Errors
/// A table that cannot be read, and a file that cannot be written.
pub fn write(
    dir: &Path,
    tables: &[&'static TableSpec],
    to: &Folder,
    look: &mut dyn FnMut(&'static str, u64) -> bool,
) -> Result<Summary, ExportError> {
    let format = Format::find("csv").expect("it is a format of tables");
    let mut summary = Summary::default();
    for table in tables {
        let (schema, name) = (read::schema(table), format.file(table.name));
        let draft = to.draft(&name)?;
        let failed = |e: std::io::Error| RecordError::new("write", &to.path().join(&name), e);
        let mut file =
            (format.create)(draft, &Header { schema: &schema, metadata: &[] }).map_err(failed)?;
        let (mut rows, mut large) = (0, BTreeSet::new());
        for batch in read::stream(dir, table.name)? {
            let batch = batch?;
            file.write(&batch).map_err(failed)?;
            rows += batch.num_rows() as u64;
            for (at, column) in
                table.columns.iter().enumerate().filter(|(_, c)| c.kind == Kind::U64)
            {
                if read::numbers(&batch, column.name).into_iter().flatten().any(|n| n > DIGITS_MAX)
                {
                    large.insert(at);
                }
            }
            if !look(table.name, rows) {
                return Err(ExportError::Stopped);
            }
        }
        to.stage(file.finish().map_err(failed)?)?;
        summary.rows.push((table.name, rows));
        summary.large.extend(large.into_iter().map(|at| (table.name, table.columns[at].name)));
    }
    to.commit(COLUMNS, columns(tables).as_bytes())?;
    Ok(summary)
}

/// Description of the columns, one per line.
fn columns(tables: &[&TableSpec]) -> String {
    let mut text = String::from("table,column,type,pandas,unit,meaning\n");
    for table in tables {
        for c in table.columns {
            let (name, pandas) = types(c);
            let cells = [table.name, c.name, name, pandas, c.unit, c.about.trim()].map(quoted);
            text += &(cells.join(",") + "\n");
        }
    }
    text
}

/// A cell, in quotes where it contains a separator (RFC 4180).
fn quoted(cell: &str) -> String {
    let one_line = cell.split_whitespace().collect::<Vec<_>>().join(" ");
    if one_line.contains([',', '"']) {
        format!("\"{}\"", one_line.replace('"', "\"\""))
    } else {
        one_line
    }
}

/// The type of a column, and the one with which pandas keeps every digit although values may be
/// missing.
fn types(c: &ColumnSpec) -> (&'static str, &'static str) {
    match c.kind {
        Kind::U8 => ("u8", "UInt8"),
        Kind::U16 => ("u16", "UInt16"),
        Kind::U32 => ("u32", "UInt32"),
        Kind::U64 => ("u64", "UInt64"),
        Kind::I64 => ("i64", "Int64"),
        Kind::F64 => ("f64", "Float64"),
        Kind::Node | Kind::Port | Kind::Label | Kind::Word(_) | Kind::Message => {
            ("text", "category")
        }
    }
}
