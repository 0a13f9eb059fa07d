//! Parquet.

use std::fs::File;
use std::io;

use crate::output::Draft;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use xoff_rows::TableSpec;

use super::{Batches, Exporter, Format, Header};

/// Rows per row group: held in memory, encoded, until the group is written [rows].
const GROUP_ROWS: usize = 1 << 18;

/// Rows per batch when a file is read [rows].
const BATCH_ROWS: usize = 1 << 16;

pub(super) const FORMAT: Format = Format {
    name: "parquet",
    about: "Typed columns, compressed with zstd; the metadata describe the run. For Polars, pandas, DuckDB, R and Spark.",
    create: |draft, header| {
        let properties = properties(header);
        let writer =
            ArrowWriter::try_new(draft, header.schema.clone(), Some(properties)).map_err(cause)?;
        Ok(Box::new(writer))
    },
    read,
};

impl Exporter for ArrowWriter<Draft> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        ArrowWriter::write(self, batch).map_err(cause)
    }
    fn finish(self: Box<Self>) -> io::Result<Draft> {
        self.into_inner().map_err(cause)
    }
}

#[cfg(not(target_family = "wasm"))]
type Chunks = File;
/// Parquet's reader opens a file several times; WebAssembly has no `dup`.
#[cfg(target_family = "wasm")]
type Chunks = bytes::Bytes;

/// Reader of a file that is open.
pub fn reader(file: File) -> io::Result<ParquetRecordBatchReaderBuilder<Chunks>> {
    #[cfg(target_family = "wasm")]
    let file = {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut { file }, &mut bytes)?;
        Chunks::from(bytes)
    };
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(cause)
}

fn read(file: File, _: &'static TableSpec) -> io::Result<Batches> {
    let reader = reader(file)?.with_batch_size(BATCH_ROWS).build().map_err(cause)?;
    Ok(Box::new(reader.map(|batch| batch.map_err(io::Error::other))))
}

/// The system's error where Parquet's wraps one.
fn cause(e: ParquetError) -> io::Error {
    match e {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(e) => *e,
            Err(e) => io::Error::other(e),
        },
        e => io::Error::other(e),
    }
}

/// Compression of every Parquet file. WebAssembly has none: zstd's C sources are not compiled for it.
pub fn compression() -> Compression {
    if cfg!(target_family = "wasm") {
        Compression::UNCOMPRESSED
    } else {
        Compression::ZSTD(ZstdLevel::default())
    }
}

/// Times as differences, because they grow; dictionaries for the rest.
fn properties(header: &Header<'_>) -> WriterProperties {
    let schema: &SchemaRef = header.schema;
    let metadata =
        header.metadata.iter().map(|(k, v)| KeyValue::new(k.clone(), v.clone())).collect();
    let mut properties = WriterProperties::builder()
        .set_compression(compression())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(metadata));
    for field in schema.fields().iter().filter(|f| f.name().ends_with("_ps")) {
        let column = ColumnPath::from(field.name().as_str());
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}
