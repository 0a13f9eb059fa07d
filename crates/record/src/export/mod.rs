//! Formats of table files: the description of a format, and a table on its way to a file.
//!
//! A format is one file here, its `mod` line and its place in [`FORMATS`]; the command line, Python
//! and `docs/tables.md` follow.

pub(crate) mod csv;
pub(crate) mod parquet;

pub use parquet::compression;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::output::{Draft, Folder, Staged};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use xoff_rows::TableSpec;

use crate::error::RecordError;

/// Writes one table in a format, batch by batch.
pub trait Exporter: Send {
    /// Appends rows.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()>;
    /// Writes the end and hands the file back.
    ///
    /// # Errors
    /// The file cannot be written.
    fn finish(self: Box<Self>) -> io::Result<Draft>;
}

/// A table to be written.
pub struct Header<'a> {
    /// Columns.
    pub schema: &'a SchemaRef,
    /// Metadata of the run, if the format has a place for it.
    pub metadata: &'a [(String, String)],
}

/// A format of tables.
pub struct Format {
    /// Name, which is also the extension of its files.
    pub name: &'static str,
    /// Description, in one sentence.
    pub about: &'static str,
    /// Begins a file.
    pub create: fn(Draft, &Header<'_>) -> io::Result<Box<dyn Exporter>>,
    /// Reads a file back, with the types of the table, some rows at a time.
    pub read: fn(File, &'static TableSpec) -> io::Result<Batches>,
}

/// Rows of a table as they are read.
pub type Batches = Box<dyn Iterator<Item = io::Result<RecordBatch>>>;

/// Every format. The first is the one used unless another is asked for.
pub static FORMATS: &[Format] = &[parquet::FORMAT, csv::FORMAT];

impl Format {
    /// Format of this name.
    pub fn find(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|f| f.name == name)
    }

    /// Name of a table's file.
    pub fn file(&self, table: &str) -> String {
        format!("{table}.{}", self.name)
    }
}

impl Default for &'static Format {
    fn default() -> Self {
        &FORMATS[0]
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A table on its way to a file. Dropped unfinished, it leaves nothing.
pub(crate) struct TableFile {
    folder: Folder,
    path: PathBuf,
    /// Gone once finished or failed.
    exporter: Option<Box<dyn Exporter>>,
}

impl TableFile {
    /// Opens a draft; an earlier file of the name stays until the folder is committed.
    pub fn create(
        folder: &Folder,
        format: &Format,
        table: &str,
        header: &Header<'_>,
    ) -> Result<TableFile, RecordError> {
        let draft = folder.draft(&format.file(table))?;
        let path = draft.path().to_owned();
        let exporter =
            (format.create)(draft, header).map_err(|e| RecordError::new("create", &path, e))?;
        Ok(TableFile { folder: folder.clone(), path, exporter: Some(exporter) })
    }

    /// Appends rows. After an error nothing of the table is left.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordError> {
        match self.exporter.as_mut().map(|e| e.write(batch)) {
            Some(Err(e)) => {
                // Dropping the draft also gives a full disk its space back.
                self.exporter = None;
                Err(RecordError::new("write", &self.path, e))
            }
            _ => Ok(()),
        }
    }

    /// Writes the end; the file gets its name when the folder is committed.
    pub fn finish(mut self) -> Result<Option<Staged>, RecordError> {
        let Some(exporter) = self.exporter.take() else { return Ok(None) };
        let draft = exporter.finish().map_err(|e| RecordError::new("write", &self.path, e))?;
        Ok(Some(self.folder.stage(draft)?))
    }
}

/// The rows of a table of the run in `dir`, in whichever format it is there, some at a time.
pub(crate) fn read(
    dir: &Path,
    table: &'static TableSpec,
) -> Result<impl Iterator<Item = Result<RecordBatch, RecordError>> + use<>, RecordError> {
    let format =
        FORMATS.iter().find(|f| dir.join(f.file(table.name)).is_file()).unwrap_or_default();
    let path = dir.join(format.file(table.name));
    let failed = move |e: io::Error| RecordError::new("read", &path, e);
    let batches = File::open(dir.join(format.file(table.name)))
        .and_then(|file| (format.read)(file, table))
        .map_err(&failed)?;
    Ok(batches.map(move |b| b.map_err(&failed)))
}
