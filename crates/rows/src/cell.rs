//! One value of a row: what its column holds, and its bytes in the result hash.

use std::fmt::Debug;

use crate::spec::Kind;

/// Index of a host or switch, whose name the column shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);
/// Index of a directed port, counted over the whole network, whose name the column shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, xoff_units::save::Value)]
pub struct Port(pub u32);
/// Index of a workload, whose name the column shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u32);
/// A word from the small vocabulary of a mechanism: `pause`, `resume`, `credit`, `stage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message(pub &'static str);

/// A value on its way to a column; the variant is that of the column's [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// Of [`Kind::U8`].
    U8(u8),
    /// Of [`Kind::U16`].
    U16(u16),
    /// Of [`Kind::U32`].
    U32(u32),
    /// Of [`Kind::U64`].
    U64(u64),
    /// Of [`Kind::I64`].
    I64(i64),
    /// Of [`Kind::F64`].
    F64(f64),
    /// Of [`Kind::Node`], [`Kind::Port`] and [`Kind::Label`]: index of a name.
    Name(u32),
    /// Of [`Kind::Word`]: place of the word in the list.
    Word(u8),
    /// Of [`Kind::Message`].
    Message(&'static str),
}

/// A type that a column can have.
pub trait Cell: Copy + Debug {
    /// What the column holds.
    const KIND: Kind;
    /// Whether the column has nulls.
    const NULLABLE: bool = false;
    /// The value.
    fn value(self) -> Value;
    /// Appends the bytes that enter the hash: little-endian; a null is one zero byte, a nullable value has a one before it.
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

/// A value in a column that its table has not always had: what every row had in effect before (zero, for a counter) adds nothing to
/// the hash, so that results from before keep theirs. No tag precedes it: two `Late` columns of one row of which only one is set have the same
/// bytes whichever it is. The first ones stay so, for the hashes of before; a row that has one takes no other, but a type with a tag of its
/// own ([`ADDED`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Late<T = u64>(pub T);

impl<T: Cell + Default + PartialEq> Cell for Late<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = T::NULLABLE;
    fn value(self) -> Value {
        self.0.value()
    }
    fn feed(self, bytes: &mut Vec<u8>) {
        if self.0 != T::default() {
            self.0.feed(bytes);
        }
    }
}

/// What precedes a value of a column that was added later in the hash, so that two of them are distinguished.
const ADDED: [u8; 2] = [0xa1, 0xa2];

/// A time in a column that its table has not always had: null adds nothing to the hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known(pub Option<u64>);

impl Cell for Known {
    const KIND: Kind = Kind::U64;
    const NULLABLE: bool = true;
    fn value(self) -> Value {
        self.0.value()
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
    const KIND: Kind = Kind::U64;
    fn value(self) -> Value {
        Value::U64(self.value)
    }
    fn feed(self, bytes: &mut Vec<u8>) {
        if self.value != self.usual {
            bytes.push(ADDED[1]);
            self.value.feed(bytes);
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
