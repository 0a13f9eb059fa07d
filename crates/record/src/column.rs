//! The cells of a table on their way to Arrow: one buffer per declared column.

use std::sync::Arc;

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use xoff_rows::{ColumnSpec, Kind, TableSpec, Value, Word};

/// The names that rows refer to by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Hosts and switches: `H0`, `S1`.
    pub nodes: Vec<String>,
    /// Directed ports: `H1->S1` is the port of H1 that sends, and the link into S1.
    pub ports: Vec<String>,
    /// Names of the workloads.
    pub labels: Vec<String>,
}

/// The names as Arrow arrays, shared by every table.
#[derive(Debug)]
pub(crate) struct Dictionaries {
    nodes: ArrayRef,
    ports: ArrayRef,
    labels: ArrayRef,
}

impl Dictionaries {
    pub(crate) fn new(names: &Names) -> Dictionaries {
        let array = |names: &[String]| Arc::new(StringArray::from_iter_values(names)) as ArrayRef;
        Dictionaries {
            nodes: array(&names.nodes),
            ports: array(&names.ports),
            labels: array(&names.labels),
        }
    }
}

/// The columns of a table, with `metadata`.
pub(crate) fn schema(t: &TableSpec, metadata: &[(String, String)]) -> SchemaRef {
    let fields: Fields = t.columns.iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, metadata.iter().cloned().collect()))
}

/// The column in the schema.
fn field(c: &ColumnSpec) -> Field {
    let data_type = match c.kind {
        Kind::U8 => UInt8Type::DATA_TYPE,
        Kind::U16 => UInt16Type::DATA_TYPE,
        Kind::U32 => UInt32Type::DATA_TYPE,
        Kind::U64 => UInt64Type::DATA_TYPE,
        Kind::I64 => Int64Type::DATA_TYPE,
        Kind::F64 => Float64Type::DATA_TYPE,
        // Text columns are dictionaries with 32-bit keys: what every reader of Arrow understands.
        Kind::Node | Kind::Port | Kind::Label | Kind::Word(_) | Kind::Message => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
    };
    Field::new(c.name, data_type, c.nullable)
}

/// Values of one column.
#[derive(Debug)]
pub(crate) enum Column {
    U8(PrimitiveBuilder<UInt8Type>),
    U16(PrimitiveBuilder<UInt16Type>),
    U32(PrimitiveBuilder<UInt32Type>),
    U64(PrimitiveBuilder<UInt64Type>),
    I64(PrimitiveBuilder<Int64Type>),
    F64(PrimitiveBuilder<Float64Type>),
    /// Indices of names or of the words of a fixed vocabulary.
    Text {
        keys: Vec<i32>,
        words: ArrayRef,
    },
    /// Indices of the words met so far; a word keeps its key for the whole table.
    Message {
        keys: Vec<i32>,
        words: Vec<&'static str>,
    },
}

impl Column {
    /// An empty column.
    pub fn new(c: &ColumnSpec, names: &Dictionaries) -> Column {
        let text = |words: &ArrayRef| Column::Text { keys: Vec::new(), words: words.clone() };
        match c.kind {
            Kind::U8 => Column::U8(PrimitiveBuilder::new()),
            Kind::U16 => Column::U16(PrimitiveBuilder::new()),
            Kind::U32 => Column::U32(PrimitiveBuilder::new()),
            Kind::U64 => Column::U64(PrimitiveBuilder::new()),
            Kind::I64 => Column::I64(PrimitiveBuilder::new()),
            Kind::F64 => Column::F64(PrimitiveBuilder::new()),
            Kind::Node => text(&names.nodes),
            Kind::Port => text(&names.ports),
            Kind::Label => text(&names.labels),
            Kind::Word(words) => text(&dictionary_of(words)),
            Kind::Message => Column::Message { keys: Vec::new(), words: Vec::new() },
        }
    }

    /// Appends a value of the column's kind.
    #[inline]
    pub fn push(&mut self, value: Value) {
        match (self, value) {
            (Column::U8(b), Value::U8(v)) => b.append_value(v),
            (Column::U16(b), Value::U16(v)) => b.append_value(v),
            (Column::U32(b), Value::U32(v)) => b.append_value(v),
            (Column::U64(b), Value::U64(v)) => b.append_value(v),
            (Column::I64(b), Value::I64(v)) => b.append_value(v),
            (Column::F64(b), Value::F64(v)) => b.append_value(v),
            // An index above 2^31 turns negative and is rejected like any other index without a
            // name.
            (Column::Text { keys, .. }, Value::Name(v)) => keys.push(v as i32),
            (Column::Text { keys, .. }, Value::Word(v)) => keys.push(v as i32),
            (Column::Message { keys, words }, Value::Message(v)) => {
                // A handful of words: a search is cheaper than a hash.
                let key = words.iter().position(|w| *w == v).unwrap_or_else(|| {
                    words.push(v);
                    words.len() - 1
                });
                keys.push(key as i32);
            }
            (Column::U8(b), Value::Null) => b.append_null(),
            (Column::U16(b), Value::Null) => b.append_null(),
            (Column::U32(b), Value::Null) => b.append_null(),
            (Column::U64(b), Value::Null) => b.append_null(),
            (Column::I64(b), Value::Null) => b.append_null(),
            (Column::F64(b), Value::Null) => b.append_null(),
            (column, value) => unreachable!(
                "a cell gives values of its own kind, and only numbers can be null: {value:?} for {column:?}"
            ),
        }
    }

    /// Takes the values out as an array; an index beyond its names is an error.
    pub fn take(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Column::U8(b) => Arc::new(b.finish()),
            Column::U16(b) => Arc::new(b.finish()),
            Column::U32(b) => Arc::new(b.finish()),
            Column::U64(b) => Arc::new(b.finish()),
            Column::I64(b) => Arc::new(b.finish()),
            Column::F64(b) => Arc::new(b.finish()),
            Column::Text { keys, words } => dictionary(keys, words.clone())?,
            Column::Message { keys, words } => {
                dictionary(keys, Arc::new(StringArray::from_iter_values(words)))?
            }
        })
    }
}

fn dictionary_of(words: &[Word]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(words.iter().map(|w| w.word)))
}

fn dictionary(keys: &mut Vec<i32>, words: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let keys = Int32Array::from(std::mem::take(keys));
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, words)?))
}
