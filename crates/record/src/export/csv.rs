//! Comma-separated text.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::output::Draft;
use arrow_array::builder::{PrimitiveBuilder, StringDictionaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use csv::{Reader, StringRecord, Writer};
use xoff_rows::{Kind, TableSpec};

use super::{Batches, Exporter, Format};
use crate::column;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    about: "Text: a line of names, then a line per row, separated by commas; null values are empty. For spreadsheets, awk and gnuplot. \
            Files are about ten times as large, and only `manifest.json` describes the run.",
    create: |draft, header| {
        let mut writer = Writer::from_writer(draft);
        writer.write_record(header.schema.fields().iter().map(|f| f.name()))?;
        Ok(Box::new(writer))
    },
    read,
};

/// Characters with which a spreadsheet begins a formula, and the mark of a text.
const MARKED: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\''];

/// A text as a cell: an apostrophe keeps a spreadsheet from reading a formula.
pub fn cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(MARKED) { format!("'{text}").into() } else { text.into() }
}

/// The text of such a cell.
fn text_of(cell: &str) -> &str {
    cell.strip_prefix('\'').unwrap_or(cell)
}

impl Exporter for Writer<Draft> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let columns: Vec<Vec<String>> =
            batch.columns().iter().map(texts).collect::<io::Result<_>>()?;
        for row in 0..batch.num_rows() {
            self.write_record(columns.iter().map(|c| &c[row]))?;
        }
        Ok(())
    }
    fn finish(self: Box<Self>) -> io::Result<Draft> {
        self.into_inner().map_err(|e| e.into_error())
    }
}

/// The values of a column as text; floats with as many digits as lead back to the same number.
fn texts(column: &ArrayRef) -> io::Result<Vec<String>> {
    fn numbers<T: ArrowPrimitiveType<Native: Display>>(column: &ArrayRef) -> Option<Vec<String>> {
        let values = column.as_primitive_opt::<T>()?;
        Some(values.iter().map(|v| v.map(|v| v.to_string()).unwrap_or_default()).collect())
    }
    fn words(column: &ArrayRef) -> Option<Vec<String>> {
        let column = column.as_dictionary_opt::<Int32Type>()?;
        let words = column.values().as_string_opt::<i32>()?;
        Some(
            column
                .keys()
                .iter()
                .map(|k| k.map(|k| cell(words.value(k as usize)).into_owned()).unwrap_or_default())
                .collect(),
        )
    }
    [
        words,
        numbers::<UInt64Type>,
        numbers::<UInt8Type>,
        numbers::<UInt16Type>,
        numbers::<UInt32Type>,
        numbers::<Int64Type>,
    ]
    .into_iter()
    .chain([numbers::<Float64Type> as fn(&ArrayRef) -> _])
    .find_map(|texts| texts(column))
    .ok_or_else(|| {
        io::Error::other(format!("a column of the type {} has no text", column.data_type()))
    })
}

/// Rows per batch when a file is read [rows].
const BATCH_ROWS: usize = 1 << 16;

fn read(file: File, table: &'static TableSpec) -> io::Result<Batches> {
    let mut reader = Reader::from_reader(file);
    let names = reader.headers()?;
    if !names.iter().eq(table.columns.iter().map(|c| c.name)) {
        return Err(io::Error::other("its columns differ from those of this version"));
    }
    let (mut records, mut row) = (reader.into_records(), 0);
    let mut next = move || -> io::Result<Option<RecordBatch>> {
        let rows: Vec<StringRecord> =
            records.by_ref().take(BATCH_ROWS).collect::<Result<_, _>>()?;
        let first = row;
        row += rows.len();
        if rows.is_empty() { Ok(None) } else { batch(&rows, first, table).map(Some) }
    };
    Ok(Box::new(std::iter::from_fn(move || next().transpose())))
}

/// Rows as columns. Types come from the declaration of the table: text alone does not show them.
fn batch(rows: &[StringRecord], first: usize, table: &TableSpec) -> io::Result<RecordBatch> {
    let columns = table.columns.iter().enumerate().map(|(at, c)| {
        let cells = rows.iter().enumerate().map(|(row, r)| (first + row, &r[at]));
        match c.kind {
            Kind::U8 => parsed::<UInt8Type>(c.name, cells),
            Kind::U16 => parsed::<UInt16Type>(c.name, cells),
            Kind::U32 => parsed::<UInt32Type>(c.name, cells),
            Kind::U64 => parsed::<UInt64Type>(c.name, cells),
            Kind::I64 => parsed::<Int64Type>(c.name, cells),
            Kind::F64 => parsed::<Float64Type>(c.name, cells),
            Kind::Node | Kind::Port | Kind::Label | Kind::Word(_) | Kind::Message => {
                let mut words = StringDictionaryBuilder::<Int32Type>::new();
                cells.for_each(|(_, cell)| words.append_value(text_of(cell)));
                Ok(Arc::new(words.finish()) as ArrayRef)
            }
        }
    });
    RecordBatch::try_new(column::schema(table, &[]), columns.collect::<io::Result<_>>()?)
        .map_err(io::Error::other)
}

fn parsed<'c, T>(name: &str, cells: impl Iterator<Item = (usize, &'c str)>) -> io::Result<ArrayRef>
where
    T: ArrowPrimitiveType<Native: std::str::FromStr>,
{
    let mut values = PrimitiveBuilder::<T>::new();
    for (row, cell) in cells {
        match (cell, cell.parse()) {
            ("", _) => values.append_null(),
            (_, Ok(v)) => values.append_value(v),
            (_, Err(_)) => {
                return Err(io::Error::other(format!(
                    "row {}, column {name}: '{cell}' is not a number of its type",
                    row + 1
                )));
            }
        }
    }
    Ok(Arc::new(values.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_each_reads_back() {
        for text in ["=1+1", "+A1", "-A1", "@A1", "\tx", "'=1", "H1->S1", "", "a=b"] {
            assert!(!cell(text).starts_with(['=', '+', '-', '@', '\t', '\r']), "{text}");
            assert_eq!(text_of(&cell(text)), text);
        }
        assert_eq!(cell("=1+1"), "'=1+1");
    }
}
