//! Reading tables back, for reports, explanations and tests.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use xoff_rows::TableSpec;

use crate::column;
use crate::error::RecordError;
use crate::export;

/// All rows of table `name` of the run in `dir`, in whichever format it is there.
///
/// # Errors
/// There is no table of that name, it has no file in `dir`, or the file is damaged.
pub fn batches(dir: &Path, name: &str) -> Result<Vec<RecordBatch>, RecordError> {
    stream(dir, name)?.collect()
}

/// The rows of table `name` of the run in `dir`, in whichever format it is there, some at a time: a
/// table need not fit into memory.
///
/// # Errors
/// There is no table of that name, it has no file in `dir`, or the file is damaged.
pub fn stream(
    dir: &Path,
    name: &str,
) -> Result<impl Iterator<Item = Result<RecordBatch, RecordError>> + use<>, RecordError> {
    let Some(table) = xoff_rows::tables().find(|t| t.name == name) else {
        return Err(RecordError::new("read", &dir.join(name), "there is no such table"));
    };
    export::read(dir, table)
}

/// The columns of a table, without metadata.
pub fn schema(table: &TableSpec) -> SchemaRef {
    column::schema(table, &[])
}

/// Whether `dir` has a file of table `name`, in any format.
pub fn exists(dir: &Path, name: &str) -> bool {
    export::FORMATS.iter().any(|f| dir.join(f.file(name)).is_file())
}

/// The key-value metadata of the Parquet file of table `name` of the run in `dir`.
pub fn metadata(dir: &Path, name: &str) -> Result<Vec<(String, String)>, RecordError> {
    let path = dir.join(format!("{name}.parquet"));
    let file = File::open(&path).map_err(|e| RecordError::new("read", &path, e))?;
    let builder = export::parquet::reader(file).map_err(|e| RecordError::new("read", &path, e))?;
    let pairs = builder.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    Ok(pairs.map(|kv| (kv.key.clone(), kv.value.clone().unwrap_or_default())).collect())
}

/// Column `column` of a batch as whole numbers; a null, a float, text or an absent column gives
/// `None`.
pub fn numbers(batch: &RecordBatch, column: &str) -> Vec<Option<u64>> {
    let none = || vec![None; batch.num_rows()];
    let Some(array) = batch.column_by_name(column) else { return none() };
    match array.data_type() {
        DataType::UInt8 => {
            array.as_primitive::<UInt8Type>().iter().map(|v| v.map(u64::from)).collect()
        }
        DataType::UInt16 => {
            array.as_primitive::<UInt16Type>().iter().map(|v| v.map(u64::from)).collect()
        }
        DataType::UInt32 => {
            array.as_primitive::<UInt32Type>().iter().map(|v| v.map(u64::from)).collect()
        }
        DataType::UInt64 => array.as_primitive::<UInt64Type>().iter().collect(),
        _ => none(),
    }
}

/// Column `column` of a batch as floats; likewise.
pub fn floats(batch: &RecordBatch, column: &str) -> Vec<Option<f64>> {
    match batch.column_by_name(column).map(|a| a.as_primitive_opt::<Float64Type>()) {
        Some(Some(array)) => array.iter().collect(),
        _ => vec![None; batch.num_rows()],
    }
}

/// Column `column` of a batch as text; likewise.
pub fn texts<'a>(batch: &'a RecordBatch, column: &str) -> Vec<Option<&'a str>> {
    let dictionary = batch.column_by_name(column).and_then(|a| a.as_dictionary_opt::<Int32Type>());
    match dictionary.and_then(|d| d.values().as_string_opt::<i32>().map(|words| (d.keys(), words)))
    {
        Some((keys, words)) => keys.iter().map(|k| k.map(|k| words.value(k as usize))).collect(),
        None => vec![None; batch.num_rows()],
    }
}
