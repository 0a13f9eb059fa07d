//! Tables as comma-separated text: names of the columns first, then a record a line.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::suggest::{self, clip};
use crate::{Problem, Problems, Source};

/// Problem, and remedy.
pub type Refusal = (String, String);

/// The fields of one record, by the name of their column; `None`: empty, or no such column.
pub struct Fields<'r> {
    columns: &'r HashMap<&'static str, usize>,
    record: &'r csv::StringRecord,
}

impl<'r> Fields<'r> {
    /// A field.
    pub fn get(&self, name: &str) -> Option<&'r str> {
        let at = *self.columns.get(name)?;
        self.record.get(at).filter(|text| !text.is_empty())
    }
}

/// Reads a table whose columns are some of `columns`, in any order, and at least `required`. Each
/// record comes with its bytes.
///
/// # Errors
/// Everything wrong with it, each with its place.
pub fn read<R>(
    source: &Arc<Source>,
    columns: &[&'static str],
    required: &[&str],
    mut row: impl FnMut(&Fields<'_>) -> Result<R, Refusal>,
) -> Result<Vec<(R, Range<usize>)>, Problems> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(source.text().as_bytes());
    let bad = |e: &csv::Error| {
        let at = e.position().map_or(source.text().len(), |p| record_start(source.text(), p));
        let what = match e.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("{len} fields, but the first line names {expected_len} columns")
            }
            _ => format!("not a table: {e}"),
        };
        let hint =
            format!("expected comma-separated columns from this list: {}", columns.join(", "));
        Problem::new(what, hint).at(source.place(at..at + 1))
    };
    let headers = reader.headers().map_err(|e| bad(&e))?.clone();
    let header = headers.position().map_or(0, |p| record_start(source.text(), p));
    let header = source.place(header..line_end(source.text(), header));
    let (mut problems, mut places) = (Problems::default(), HashMap::new());
    let mut refuse = |what: String, hint: String| {
        problems.push(Problem::new(what, hint).at(header.clone()));
    };
    for (i, name) in headers.iter().enumerate() {
        match columns.iter().find(|c| **c == name) {
            None => refuse(
                format!("unknown column '{}'", clip(name)),
                suggest::hint(name, "columns", columns),
            ),
            Some(known) if places.insert(*known, i).is_some() => {
                refuse(format!("column '{name}' is defined twice"), "keep one of the two".into());
            }
            Some(_) => {}
        }
    }
    for name in required.iter().filter(|name| !places.contains_key(**name)) {
        let few = &columns[..columns.len().min(4)];
        let hint = format!(
            "expected the names of the columns on the first line, such as {}",
            few.join(",")
        );
        refuse(format!("there is no column '{name}'"), hint);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(e) => {
                problems.push(bad(&e));
                continue;
            }
        };
        let start = record.position().map_or(0, |p| record_start(source.text(), p));
        let bytes = start..line_end(source.text(), start);
        match row(&Fields { columns: &places, record: &record }) {
            Ok(row) => rows.push((row, bytes)),
            Err((what, hint)) => problems.push(Problem::new(what, hint).at(source.place(bytes))),
        }
    }
    problems.or(rows)
}

/// Start of the record read from `position`: the reader adds the line feed of the previous line,
/// empty lines and comments to it.
fn record_start(text: &str, position: &csv::Position) -> usize {
    let mut at = (position.byte() as usize).min(text.len());
    loop {
        at += text[at..].len() - text[at..].trim_start_matches(['\n', '\r']).len();
        if !text[at..].starts_with('#') {
            return at;
        }
        at = text[at..].find('\n').map_or(text.len(), |n| at + n);
    }
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find(['\n', '\r']).map_or(text.len(), |n| at + n)
}
