//! `runs.parquet`: a row for each run, in the order of the plan, with nothing in it that a clock
//! made.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::sweep::cell::{Cell, Shard, Status};
use crate::sweep::scenario::COLUMNS;
use crate::sweep::{Kind, Plan, Value};

/// The table as a Parquet file.
pub(crate) fn parquet_bytes(
    schema: &SchemaRef,
    batches: &[&RecordBatch],
    metadata: &[(String, String)],
) -> Result<Vec<u8>, ParquetError> {
    let metadata = metadata.iter().map(|(k, v)| KeyValue::new(k.clone(), v.clone())).collect();
    let properties = WriterProperties::builder()
        .set_compression(xoff_record::export::compression())
        .set_key_value_metadata(Some(metadata))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties))?;
    for batch in batches {
        let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec())?;
        writer.write(&batch)?;
    }
    writer.into_inner()
}

/// The type of values that were found; `None`: there are none.
fn kind_of<'v>(values: impl Iterator<Item = &'v Value>) -> Option<Kind> {
    values
        .filter_map(|v| match v {
            Value::Null => None,
            Value::Flag(_) => Some(Kind::Flag),
            Value::Whole(_) => Some(Kind::Whole),
            Value::Number(_) => Some(Kind::Number),
            Value::Text(_) => Some(Kind::Text),
        })
        .reduce(|a, b| match (a, b) {
            (a, b) if a == b => a,
            (Kind::Whole | Kind::Number, Kind::Whole | Kind::Number) => Kind::Number,
            _ => Kind::Text,
        })
}

fn array<'v>(kind: Kind, values: impl Iterator<Item = &'v Value>) -> ArrayRef {
    match kind {
        Kind::Flag => Arc::new(
            values
                .map(|v| if let Value::Flag(b) = v { Some(*b) } else { None })
                .collect::<BooleanArray>(),
        ),
        Kind::Whole => Arc::new(
            values
                .map(|v| if let Value::Whole(n) = v { Some(*n) } else { None })
                .collect::<Int64Array>(),
        ),
        Kind::Number => Arc::new(
            values
                .map(|v| v.number().filter(|_| !matches!(v, Value::Flag(_))))
                .collect::<Float64Array>(),
        ),
        Kind::Text => Arc::new(
            values
                .map(|v| if *v == Value::Null { None } else { Some(v.to_string()) })
                .collect::<StringArray>(),
        ),
    }
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Flag => DataType::Boolean,
        Kind::Whole => DataType::Int64,
        Kind::Number => DataType::Float64,
        Kind::Text => DataType::Utf8,
    }
}

/// Names of the columns that a measure of the caller adds, in the order of their first row.
pub(crate) fn more_columns(rows: &[(Cell, Shard)]) -> Vec<String> {
    let mut seen: HashSet<String> = COLUMNS.iter().map(|c| c.name.to_owned()).collect();
    let mut more: Vec<String> = Vec::new();
    for (name, _) in rows.iter().flat_map(|(_, s)| &s.measured.values) {
        if !seen.contains(name) {
            seen.insert(name.clone());
            more.push(name.clone());
        }
    }
    more
}

/// The columns of a table, known once for all of its parts.
pub(crate) struct Columns {
    /// A parameter's type follows from the plan, not from the finished runs.
    parameters: Vec<(String, Kind)>,
    own: Vec<(String, Kind)>,
}

impl Columns {
    pub fn of(plan: &Plan, rows: &[(Cell, Shard)]) -> Columns {
        let parameter = |name: &str| kind_of(plan.values(name).into_iter()).unwrap_or(Kind::Text);
        let more = more_columns(rows).into_iter().map(|name| {
            let kind = kind_of(rows.iter().map(|(_, s)| s.value(&name))).unwrap_or(Kind::Text);
            (name, kind)
        });
        Columns {
            parameters: plan
                .parameters
                .iter()
                .map(|p| (p.name.clone(), parameter(&p.name)))
                .collect(),
            own: COLUMNS.iter().map(|c| (c.name.to_owned(), c.kind)).chain(more).collect(),
        }
    }

    /// The rows of finished runs. `parameters`: with their columns.
    pub fn batch(
        &self,
        rows: &[&(Cell, Shard)],
        parameters: bool,
    ) -> Result<RecordBatch, ArrowError> {
        let mut all: Vec<(String, DataType, ArrayRef)> = Vec::new();
        let mut add = |name: &str, kind: Kind, array: ArrayRef| {
            all.push((name.to_owned(), data_type(kind), array))
        };
        add(
            "run",
            Kind::Whole,
            Arc::new(rows.iter().map(|(c, _)| Some(c.index as i64)).collect::<Int64Array>()),
        );
        for (name, kind) in self.parameters.iter().filter(|_| parameters) {
            add(name, *kind, array(*kind, rows.iter().map(|(c, _)| c.value(name))));
        }
        let seeds: ArrayRef =
            Arc::new(rows.iter().map(|(c, _)| Some(c.seed)).collect::<UInt64Array>());
        all.push(("seed".into(), DataType::UInt64, seeds));
        let mut add = |name: &str, kind: Kind, array: ArrayRef| {
            all.push((name.to_owned(), data_type(kind), array))
        };
        let status: Vec<Value> = rows
            .iter()
            .map(|(_, s)| if s.status == Status::Done { "done" } else { "failed" }.into())
            .collect();
        add("status", Kind::Text, array(Kind::Text, status.iter()));
        for (name, kind) in &self.own {
            add(name, *kind, array(*kind, rows.iter().map(|(_, s)| s.value(name))));
        }
        let errors: Vec<Value> = rows.iter().map(|(_, s)| s.error.clone().into()).collect();
        add("error", Kind::Text, array(Kind::Text, errors.iter()));
        let schema = Schema::new(
            all.iter().map(|(name, t, _)| Field::new(name, t.clone(), true)).collect::<Vec<_>>(),
        );
        RecordBatch::try_new(Arc::new(schema), all.into_iter().map(|(.., array)| array).collect())
    }
}
