//! A Parquet file on its way into a folder of results.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use xoff_output::{Draft, Folder, Staged};

use crate::error::RecordError;

/// Rows per row group: what is held in memory, encoded, until it is written [rows].
const GROUP_ROWS: usize = 1 << 18;

/// A table on its way to a file. Dropped unfinished, it leaves nothing.
pub(crate) struct ParquetFile {
    folder: Folder,
    path: PathBuf,
    /// Gone once finished or failed.
    writer: Option<ArrowWriter<Draft>>,
}

impl ParquetFile {
    /// Opens a draft; an earlier file of the name stays until the folder is committed.
    pub(crate) fn create(
        folder: &Folder,
        name: &str,
        schema: SchemaRef,
        metadata: &[(String, String)],
    ) -> Result<ParquetFile, RecordError> {
        let draft = folder.draft(name)?;
        let path = draft.path().to_owned();
        let writer = ArrowWriter::try_new(draft, schema.clone(), Some(properties(&schema, metadata)));
        let writer = writer.map_err(|e| RecordError::parquet("create", &path, &e))?;
        Ok(ParquetFile { folder: folder.clone(), path, writer: Some(writer) })
    }

    /// Appends rows. After an error nothing of the table is left.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordError> {
        match self.writer.as_mut().map(|w| w.write(batch)) {
            Some(Err(e)) => {
                // Dropping the draft also gives a full disk its space back.
                self.writer = None;
                Err(RecordError::parquet("write", &self.path, &e))
            }
            _ => Ok(()),
        }
    }

    /// Writes the end; the file gets its name when the folder is committed.
    pub(crate) fn finish(mut self) -> Result<Option<Staged>, RecordError> {
        let Some(writer) = self.writer.take() else { return Ok(None) };
        let draft = writer.into_inner().map_err(|e| RecordError::parquet("write", &self.path, &e))?;
        Ok(Some(self.folder.stage(draft)?))
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
