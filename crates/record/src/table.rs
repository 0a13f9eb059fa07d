//! One table being recorded: rows in, chunks out.

use std::marker::PhantomData;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use xoff_rows::TableRow;

use crate::column::{self, Column, Dictionaries};
use crate::error::RecordError;
use crate::export::TableFile;
use crate::hash::TableHasher;

/// Destination of the chunks of a table.
pub(crate) enum Output {
    /// Nowhere: only the hash is wanted.
    Nothing,
    /// Rows are kept in memory.
    Memory(Vec<RecordBatch>),
    /// Rows are written to a file.
    File(TableFile),
    /// A write failed: the error is repeated for every further row.
    Failed(RecordError),
}

/// A table being recorded.
pub struct Table<R> {
    columns: Vec<Column>,
    /// Rows in `columns`.
    pending: usize,
    /// Rows at which a chunk is passed on.
    chunk_rows: usize,
    hasher: TableHasher,
    schema: SchemaRef,
    output: Output,
    rows: PhantomData<R>,
}

impl<R: TableRow> Table<R> {
    pub(crate) fn new(
        schema: SchemaRef,
        names: &Dictionaries,
        chunk_rows: usize,
        output: Output,
    ) -> Table<R> {
        let columns = R::SPEC.columns.iter().map(|c| Column::new(c, names)).collect();
        Table {
            columns,
            pending: 0,
            chunk_rows,
            hasher: TableHasher::new(),
            schema,
            output,
            rows: PhantomData,
        }
    }

    /// The columns of this table, with `metadata`.
    pub(crate) fn schema_of(metadata: &[(String, String)]) -> SchemaRef {
        column::schema(&R::SPEC, metadata)
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: R) -> Result<(), RecordError> {
        self.hasher.row(&row);
        match &self.output {
            Output::Nothing => return Ok(()),
            Output::Failed(e) => return Err(e.clone()),
            Output::Memory(_) | Output::File(_) => {}
        }
        let mut columns = self.columns.iter_mut();
        row.values(|v| {
            columns
                .next()
                .expect("as many values as columns: both come from the declaration")
                .push(v)
        });
        self.pending += 1;
        if self.pending >= self.chunk_rows { self.flush() } else { Ok(()) }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.hasher.rows()
    }

    /// The hash so far.
    pub fn hasher(&self) -> &TableHasher {
        &self.hasher
    }

    /// Passes on buffered rows.
    fn flush(&mut self) -> Result<(), RecordError> {
        if self.pending == 0 {
            return Ok(());
        }
        self.pending = 0;
        let columns: Result<Vec<_>, ArrowError> =
            self.columns.iter_mut().map(Column::take).collect();
        let batch = columns.and_then(|columns| RecordBatch::try_new(self.schema.clone(), columns));
        let result = match (batch, &mut self.output) {
            (_, Output::Failed(e)) => Err(e.clone()),
            // Only an index without a name gets here.
            (Err(e), _) => Err(RecordError::new("write", R::SPEC.name.as_ref(), e)),
            (Ok(batch), Output::Memory(batches)) => {
                batches.push(batch);
                Ok(())
            }
            (Ok(batch), Output::File(file)) => file.write(&batch),
            (Ok(_), Output::Nothing) => Ok(()),
        };
        if let Err(e) = &result {
            self.output = Output::Failed(e.clone());
        }
        result
    }

    /// Passes on the rest and returns where it went, with the schema; the columns are empty
    /// afterwards.
    pub(crate) fn finish(mut self) -> Result<(SchemaRef, Output), RecordError> {
        self.flush()?;
        match self.output {
            Output::Failed(e) => Err(e),
            output => Ok((self.schema, output)),
        }
    }
}
