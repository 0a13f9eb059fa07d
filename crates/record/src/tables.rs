//! All tables of a run: those of a network, and those of a scheduled fabric.

use crate::output::Folder;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::SchemaRef;

use xoff_rows::{
    CauseRow, CnmRow, CollectiveRow, ControlRow, DeadlockRow, FlowRow, MarkRow, OperationRow,
    PathRow, PauseRow, PoolRow, PortRow, QueueRow, RankRow, RateRow, StateRow, StormRow, TableRow,
    UplinkRow,
};
use xoff_rows::{FabricPortRow, HostFlowRow, WindowRow, fabric_tables, network_tables};

use crate::column::{Dictionaries, Names};
use crate::error::RecordError;
use crate::export::{Format, Header, TableFile};
use crate::hash::{ResultHash, TableHasher};
use crate::manifest::ResultFile;
use crate::table::{Output, Table};

/// Version of the tables' columns; grows when a column changes its name, type or meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Rows in a chunk by default [rows].
const CHUNK_ROWS: usize = 1 << 16;

/// Destination of the tables.
#[derive(Clone, Debug)]
pub enum Sink {
    /// Files of this format in this folder; they get their names when the manifest is written.
    Files(Folder, &'static Format),
    /// Arrow batches, returned when the tables are closed.
    Memory,
    /// Nowhere; the result hash is still computed.
    Nothing,
}

/// Facts of the run in the metadata of every table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunInfo {
    /// Version of xoff.
    pub xoff_version: String,
    /// Hash of the scenario.
    pub scenario_hash: String,
}

/// A table in memory.
#[derive(Clone, Debug)]
pub struct MemoryTable {
    /// Name of the table.
    pub name: &'static str,
    /// Columns; metadata as in the files.
    pub schema: SchemaRef,
    /// Rows; there may be no batch at all.
    pub batches: Vec<RecordBatch>,
}

impl MemoryTable {
    /// The batches as a stream, for Arrow's C stream interface without copying.
    pub fn into_reader(self) -> impl RecordBatchReader + Send {
        RecordBatchIterator::new(self.batches.into_iter().map(Ok), self.schema)
    }
}

/// Files and rows after the run.
#[derive(Debug)]
pub struct Closed {
    /// Hash of all rows and names.
    pub hash: ResultHash,
    /// Rows of each table.
    pub rows: Vec<(&'static str, u64)>,
    /// Files written ([`Sink::Files`]), for the manifest.
    pub files: Vec<ResultFile>,
    /// Tables kept ([`Sink::Memory`]).
    pub memory: Vec<MemoryTable>,
    /// The first table that could not be finished; the others are there nevertheless.
    pub error: Option<RecordError>,
}

macro_rules! tables {
    ($(#[$doc:meta])* $name:ident: $($field:ident: $row:ty),*) => {
        $(#[$doc])*
        pub struct $name {
            $(
                #[doc = concat!("Table `", stringify!($field), "`.")]
                pub $field: Table<$row>,
            )*
            names: TableHasher,
        }

        impl $name {
            /// Opens every table. Names are fixed from here on: rows refer to them.
            pub fn create(sink: &Sink, info: &RunInfo, names: &Names) -> Result<$name, RecordError> {
                $name::with_chunks(sink, info, names, CHUNK_ROWS)
            }

            /// [`Self::create`] with another size of chunks [rows]; it changes memory and speed,
            /// never a result.
            pub fn with_chunks(sink: &Sink, info: &RunInfo, names: &Names, rows: usize) -> Result<$name, RecordError> {
                let dictionaries = Dictionaries::new(names);
                Ok($name { $($field: open(sink, info, &dictionaries, rows)?,)* names: hash_names(names) })
            }

            /// Hash of all rows so far and of the names.
            pub fn hash(&self) -> ResultHash {
                ResultHash::of([("names", &self.names) $(, (<$row>::SPEC.name, self.$field.hasher()))*])
            }

            /// Finishes every table: files are complete, and get their names with the manifest.
            /// Also after an interruption or an error elsewhere.
            pub fn close(self) -> Closed {
                let mut closed =
                    Closed { hash: self.hash(), rows: Vec::new(), files: Vec::new(), memory: Vec::new(), error: None };
                $(close(self.$field, &mut closed);)*
                closed
            }
        }
    };
}

macro_rules! of_a_network {
    ($($field:ident: $row:ty),*) => {
        tables! {
            /// All tables of a run of a network, open for rows. Each exists, with or without rows.
            Tables: $($field: $row),*
        }
    };
}
network_tables!(of_a_network);

macro_rules! of_a_fabric {
    ($($field:ident: $row:ty),*) => {
        tables! {
            /// All tables of a run of a scheduled fabric, open for rows. Each exists, with or
            /// without rows.
            FabricTables: $($field: $row),*
        }
    };
}
fabric_tables!(of_a_fabric);

fn open<R: TableRow>(
    sink: &Sink,
    info: &RunInfo,
    names: &Dictionaries,
    rows: usize,
) -> Result<Table<R>, RecordError> {
    let metadata = [
        ("xoff.table", R::SPEC.name.to_owned()),
        ("xoff.schema_version", SCHEMA_VERSION.to_string()),
        ("xoff.version", info.xoff_version.clone()),
        ("xoff.scenario_hash", info.scenario_hash.clone()),
    ]
    .map(|(k, v)| (k.to_owned(), v));
    let (schema, output) = match sink {
        Sink::Nothing => (Table::<R>::schema_of(&[]), Output::Nothing),
        Sink::Memory => (Table::<R>::schema_of(&metadata), Output::Memory(Vec::new())),
        Sink::Files(folder, format) => {
            // Metadata goes to the file's list, which keeps its order; a schema's map would make
            // files differ by chance.
            let schema = Table::<R>::schema_of(&[]);
            let file = TableFile::create(
                folder,
                format,
                R::SPEC.name,
                &Header { schema: &schema, metadata: &metadata },
            )?;
            (schema, Output::File(file))
        }
    };
    Ok(Table::new(schema, names, rows.max(1), output))
}

fn close<R: TableRow>(table: Table<R>, closed: &mut Closed) {
    let rows = table.rows();
    closed.rows.push((R::SPEC.name, rows));
    let finished = table.finish().and_then(|(schema, output)| {
        match output {
            Output::Memory(batches) => {
                closed.memory.push(MemoryTable { name: R::SPEC.name, schema, batches })
            }
            Output::File(file) => closed.files.extend(file.finish()?.map(|s| ResultFile {
                name: s.name,
                rows,
                bytes: s.bytes,
            })),
            Output::Nothing | Output::Failed(_) => {}
        }
        Ok(())
    });
    if let Err(e) = finished {
        closed.error.get_or_insert(e);
    }
}

fn hash_names(names: &Names) -> TableHasher {
    let mut hasher = TableHasher::new();
    for list in [&names.nodes, &names.ports, &names.labels] {
        hasher.text(&list.len().to_string());
        list.iter().for_each(|n| hasher.text(n));
    }
    hasher
}
