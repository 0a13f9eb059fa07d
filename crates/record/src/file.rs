//! A Parquet file that exists under its final name only when it is complete.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::error::RecordError;

/// Rows per row group: what is held in memory, encoded, until it is written [rows].
const GROUP_ROWS: usize = 1 << 18;

/// `path` with `.partial` appended.
pub(crate) fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Takes a file away if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), RecordError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(RecordError::new("replace", path, e)),
        _ => Ok(()),
    }
}

/// A table on its way to a file. Dropped unfinished, it takes its partial file away.
pub(crate) struct ParquetFile {
    path: PathBuf,
    /// Gone once finished or failed.
    writer: Option<ArrowWriter<File>>,
}

impl ParquetFile {
    /// Takes an earlier file of the final name away, so that two runs never mix, and opens `<path>.partial`.
    pub(crate) fn create(path: PathBuf, schema: SchemaRef, metadata: &[(String, String)]) -> Result<ParquetFile, RecordError> {
        remove(&path)?;
        let partial = partial(&path);
        let file = File::create(&partial).map_err(|e| RecordError::new("create", &partial, e))?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(&schema, metadata)));
        match writer {
            Ok(writer) => Ok(ParquetFile { path, writer: Some(writer) }),
            Err(e) => Err(ParquetFile { path, writer: None }.fail("create", &e)),
        }
    }

    /// Appends rows. After an error nothing of the table is left.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordError> {
        match self.writer.as_mut().map(|w| w.write(batch)) {
            Some(Err(e)) => Err(self.fail("write", &e)),
            _ => Ok(()),
        }
    }

    /// Writes the end and gives the file its final name.
    pub(crate) fn finish(mut self) -> Result<PathBuf, RecordError> {
        if let Some(writer) = self.writer.take() {
            writer.into_inner().map_err(|e| self.fail("write", &e))?;
            let partial = partial(&self.path);
            fs::rename(&partial, &self.path).map_err(|e| {
                let _ = fs::remove_file(&partial);
                RecordError::new("finish", &self.path, e)
            })?;
        }
        Ok(std::mem::take(&mut self.path))
    }

    /// Gives up: closes and takes the partial file away, which also gives a full disk its space back.
    fn fail(&mut self, doing: &'static str, e: &ParquetError) -> RecordError {
        self.writer = None;
        let _ = fs::remove_file(partial(&self.path));
        RecordError::parquet(doing, &self.path, e)
    }
}

impl Drop for ParquetFile {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            let _ = fs::remove_file(partial(&self.path));
        }
    }
}

/// zstd; times as differences, because they grow; dictionaries for the rest.
fn properties(schema: &SchemaRef, metadata: &[(String, String)]) -> WriterProperties {
    let metadata = metadata.iter().map(|(k, v)| KeyValue::new(k.clone(), v.clone())).collect();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(metadata));
    for field in schema.fields().iter().filter(|f| f.name().ends_with("_ps")) {
        let column = ColumnPath::from(field.name().as_str());
        properties =
            properties.set_column_dictionary_enabled(column.clone(), false).set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}
