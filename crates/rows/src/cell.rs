//! One value of a row: the kind of its column, and its bytes in the result hash.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use xoff_units::state::{Broken, Reader, State, Value as Saved, Walk};

use crate::spec::Kind;

/// Index of a host or switch, whose name the column shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);
/// Index of a directed port, counted over the whole network, whose name the column shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct Port(pub u32);
/// Index of a workload, whose name the column shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u32);
/// A word from the small vocabulary of a mechanism: `pause`, `resume`, `credit`, `stage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message(pub &'static str);

impl State for Message {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        w.bytes(self.0.as_bytes())
    }
    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        *self = from.take()?;
        Ok(())
    }
}

impl Saved for Message {
    /// The word lasts as long as the program. There are as many as mechanisms have messages.
    fn read(from: &mut Reader) -> Result<Message, Broken> {
        static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let word: String = from.take()?;
        let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = words.get(word.as_str()) {
            return Ok(Message(known));
        }
        let word: &'static str = word.leak();
        words.insert(word);
        Ok(Message(word))
    }
}

/// A value on its way to a column; the variant is that of the column's [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// Value of a [`Kind::U8`].
    U8(u8),
    /// Value of a [`Kind::U16`].
    U16(u16),
    /// Value of a [`Kind::U32`].
    U32(u32),
    /// Value of a [`Kind::U64`].
    U64(u64),
    /// Value of a [`Kind::I64`].
    I64(i64),
    /// Value of a [`Kind::F64`].
    F64(f64),
    /// Index of a name, for [`Kind::Node`], [`Kind::Port`] and [`Kind::Label`].
    Name(u32),
    /// Place of the word in the list of [`Kind::Word`].
    Word(u8),
    /// Text of a [`Kind::Message`].
    Message(&'static str),
}

/// A type that a column can have.
pub trait Cell: Copy + Debug {
    /// Kind of values in the column.
    const KIND: Kind;
    /// Whether the column has nulls.
    const NULLABLE: bool = false;
    /// The value.
    fn value(self) -> Value;
    /// Appends the bytes that enter the hash: little-endian; a null is one zero byte, a nullable
    /// value has a one before it.
    fn feed(self, bytes: &mut Vec<u8>);
}

macro_rules! number {
    ($($t:ty: $kind:ident),*) => {$(
        impl Cell for $t {
            const KIND: Kind = Kind::$kind;
            #[inline]
            fn value(self) -> Value {
                Value::$kind(self)
            }
            #[inline]
            fn feed(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
number!(u8: U8, u16: U16, u32: U32, u64: U64, i64: I64, f64: F64);

impl<T: Cell> Cell for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    #[inline]
    fn value(self) -> Value {
        self.map_or(Value::Null, T::value)
    }
    #[inline]
    fn feed(self, bytes: &mut Vec<u8>) {
        bytes.push(self.is_some() as u8);
        if let Some(v) = self {
            v.feed(bytes);
        }
    }
}

macro_rules! name {
    ($($t:ident),*) => {$(
        impl Cell for $t {
            const KIND: Kind = Kind::$t;
            #[inline]
            fn value(self) -> Value {
                Value::Name(self.0)
            }
            #[inline]
            fn feed(self, bytes: &mut Vec<u8>) {
                self.0.feed(bytes);
            }
        }
    )*};
}
name!(Node, Port, Label);

impl Cell for Message {
    const KIND: Kind = Kind::Message;
    fn value(self) -> Value {
        Value::Message(self.0)
    }
    fn feed(self, bytes: &mut Vec<u8>) {
        (self.0.len() as u32).feed(bytes);
        bytes.extend_from_slice(self.0.as_bytes());
    }
}
