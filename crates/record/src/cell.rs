//! One value of a row: its Arrow type, its column buffer, its bytes in the hash.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, PrimitiveArray, StringArray};
use arrow_schema::{ArrowError, DataType};

/// The names that rows refer to by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Hosts and switches: `H0`, `S1`.
    pub nodes: Vec<String>,
    /// Directed ports: `H1->S1` is what H1 sends through, and what S1 receives at its other end.
    pub ports: Vec<String>,
    /// Workloads.
    pub labels: Vec<String>,
}

/// Index into [`Names::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);
/// Index into [`Names::ports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u32);
/// Index into [`Names::labels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u32);
/// A word from a small, fixed vocabulary: `pause`, `resume`, `credit`, `stage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message(pub &'static str);

/// The names as Arrow arrays, shared by every batch.
#[derive(Debug)]
pub struct Dictionaries {
    nodes: ArrayRef,
    ports: ArrayRef,
    labels: ArrayRef,
}

impl Dictionaries {
    pub(crate) fn new(names: &Names) -> Dictionaries {
        let array = |names: &[String]| Arc::new(StringArray::from_iter_values(names)) as ArrayRef;
        Dictionaries { nodes: array(&names.nodes), ports: array(&names.ports), labels: array(&names.labels) }
    }
}

/// A type that a column can have.
pub trait Cell: Copy + Debug {
    /// Whether the column has nulls.
    const NULLABLE: bool = false;
    /// Values on their way to Arrow.
    type Buffer: Default + Send + Debug;
    /// Arrow type of the column.
    fn data_type() -> DataType;
    /// Appends the value.
    fn push(self, buffer: &mut Self::Buffer);
    /// Takes the values out as an array; an index beyond its names is an error.
    fn take(buffer: &mut Self::Buffer, names: &Dictionaries) -> Result<ArrayRef, ArrowError>;
    /// Appends the bytes that enter the hash: little-endian; a null is one zero byte, a nullable value has a one before it.
    fn feed(self, bytes: &mut Vec<u8>);
}

macro_rules! number {
    ($($t:ty: $arrow:ty),*) => {$(
        impl Cell for $t {
            type Buffer = Vec<$t>;
            fn data_type() -> DataType {
                <$arrow>::DATA_TYPE
            }
            fn push(self, buffer: &mut Vec<$t>) {
                buffer.push(self);
            }
            fn take(buffer: &mut Vec<$t>, _: &Dictionaries) -> Result<ArrayRef, ArrowError> {
                Ok(Arc::new(PrimitiveArray::<$arrow>::from(std::mem::take(buffer))))
            }
            fn feed(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
        impl Cell for Option<$t> {
            const NULLABLE: bool = true;
            type Buffer = PrimitiveBuilder<$arrow>;
            fn data_type() -> DataType {
                <$arrow>::DATA_TYPE
            }
            fn push(self, buffer: &mut Self::Buffer) {
                buffer.append_option(self);
            }
            fn take(buffer: &mut Self::Buffer, _: &Dictionaries) -> Result<ArrayRef, ArrowError> {
                Ok(Arc::new(buffer.finish()))
            }
            fn feed(self, bytes: &mut Vec<u8>) {
                bytes.push(self.is_some() as u8);
                if let Some(v) = self {
                    v.feed(bytes);
                }
            }
        }
    )*};
}
number!(u8: UInt8Type, u16: UInt16Type, u32: UInt32Type, u64: UInt64Type, i64: Int64Type, f64: Float64Type);

/// A value in a column that its table has not always had: what every row had in effect before (zero, for a counter) adds nothing to
/// the hash, so that results from before keep theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Late<T = u64>(pub T);

impl<T: Cell + Default + PartialEq> Cell for Late<T> {
    type Buffer = T::Buffer;
    fn data_type() -> DataType {
        T::data_type()
    }
    fn push(self, buffer: &mut T::Buffer) {
        self.0.push(buffer);
    }
    fn take(buffer: &mut T::Buffer, names: &Dictionaries) -> Result<ArrayRef, ArrowError> {
        T::take(buffer, names)
    }
    fn feed(self, bytes: &mut Vec<u8>) {
        if self.0 != T::default() {
            self.0.feed(bytes);
        }
    }
}

/// What precedes a value of a column that was added later in the hash, so that two of them are told apart.
const ADDED: [u8; 2] = [0xa1, 0xa2];

/// A time in a column that its table has not always had: null adds nothing to the hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known(pub Option<u64>);

impl Cell for Known {
    const NULLABLE: bool = true;
    type Buffer = <Option<u64> as Cell>::Buffer;
    fn data_type() -> DataType {
        u64::data_type()
    }
    fn push(self, buffer: &mut Self::Buffer) {
        self.0.push(buffer);
    }
    fn take(buffer: &mut Self::Buffer, names: &Dictionaries) -> Result<ArrayRef, ArrowError> {
        <Option<u64> as Cell>::take(buffer, names)
    }
    fn feed(self, bytes: &mut Vec<u8>) {
        if let Some(v) = self.0 {
            bytes.push(ADDED[0]);
            v.feed(bytes);
        }
    }
}

/// A counter in a column that its table has not always had, beside one that usually has the same value: only another value adds to
/// the hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// The other column's.
    pub usual: u64,
    /// This one's.
    pub value: u64,
}

impl Cell for Beside {
    type Buffer = Vec<u64>;
    fn data_type() -> DataType {
        u64::data_type()
    }
    fn push(self, buffer: &mut Vec<u64>) {
        self.value.push(buffer);
    }
    fn take(buffer: &mut Vec<u64>, names: &Dictionaries) -> Result<ArrayRef, ArrowError> {
        u64::take(buffer, names)
    }
    fn feed(self, bytes: &mut Vec<u8>) {
        if self.value != self.usual {
            bytes.push(ADDED[1]);
            self.value.feed(bytes);
        }
    }
}

/// Text columns are dictionaries with 32-bit keys: what every reader of Arrow understands.
pub(crate) fn dictionary_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

pub(crate) fn dictionary(keys: &mut Vec<i32>, values: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let keys = Int32Array::from(std::mem::take(keys));
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values)?))
}

macro_rules! name {
    ($($t:ident in $names:ident),*) => {$(
        impl Cell for $t {
            type Buffer = Vec<i32>;
            fn data_type() -> DataType {
                dictionary_type()
            }
            fn push(self, buffer: &mut Vec<i32>) {
                // An index above 2^31 turns negative and is refused like any other that has no name.
                buffer.push(self.0 as i32);
            }
            fn take(buffer: &mut Vec<i32>, names: &Dictionaries) -> Result<ArrayRef, ArrowError> {
                dictionary(buffer, names.$names.clone())
            }
            fn feed(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.0.to_le_bytes());
            }
        }
    )*};
}
name!(Node in nodes, Port in ports, Label in labels);

/// Keys and the vocabulary met so far; a word keeps its key for the whole table.
#[derive(Debug, Default)]
pub struct Words {
    keys: Vec<i32>,
    words: Vec<&'static str>,
}

impl Cell for Message {
    type Buffer = Words;
    fn data_type() -> DataType {
        dictionary_type()
    }
    fn push(self, buffer: &mut Words) {
        // A handful of words: a search is cheaper than a hash.
        let key = buffer.words.iter().position(|w| *w == self.0).unwrap_or_else(|| {
            buffer.words.push(self.0);
            buffer.words.len() - 1
        });
        buffer.keys.push(key as i32);
    }
    fn take(buffer: &mut Words, _: &Dictionaries) -> Result<ArrayRef, ArrowError> {
        dictionary(&mut buffer.keys, Arc::new(StringArray::from_iter_values(&buffer.words)))
    }
    fn feed(self, bytes: &mut Vec<u8>) {
        (self.0.len() as u32).feed(bytes);
        bytes.extend_from_slice(self.0.as_bytes());
    }
}

/// Declares an enumeration that is a text column.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $crate::cell::Cell for $name {
            type Buffer = Vec<i32>;
            fn data_type() -> arrow_schema::DataType {
                $crate::cell::dictionary_type()
            }
            fn push(self, buffer: &mut Vec<i32>) {
                buffer.push(self as i32);
            }
            fn take(
                buffer: &mut Vec<i32>,
                _: &$crate::cell::Dictionaries,
            ) -> Result<arrow_array::ArrayRef, arrow_schema::ArrowError> {
                let words = arrow_array::StringArray::from_iter_values([$($word),*]);
                $crate::cell::dictionary(buffer, std::sync::Arc::new(words))
            }
            fn feed(self, bytes: &mut Vec<u8>) {
                bytes.push(self as u8);
            }
        }
    };
}
pub(crate) use words;
