//! Facts of a table that are known before there is a row, and the macro that declares one.

use crate::cell::Value;
use crate::words::Word;

/// Kind of values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 8 bits without sign.
    U8,
    /// 16 bits without sign.
    U16,
    /// 32 bits without sign.
    U32,
    /// 64 bits without sign.
    U64,
    /// 64 bits with sign.
    I64,
    /// 64 bits, IEEE 754.
    F64,
    /// Name of a host or switch.
    Node,
    /// Name of a directed port.
    Port,
    /// Name of a workload.
    Label,
    /// One of these words.
    Word(&'static [Word]),
    /// A word of a mechanism's own.
    Message,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSpec {
    /// Name.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Whether it has nulls.
    pub nullable: bool,
    /// Unit of its numbers; empty: a count, a number or a name.
    pub unit: &'static str,
    /// Meaning: the lines of its declaration, each with a space before it.
    pub about: &'static str,
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// Name, which is that of its file.
    pub name: &'static str,
    /// Meaning of a row: the lines of its declaration, each with a space before it.
    pub about: &'static str,
    /// Columns, in order.
    pub columns: &'static [ColumnSpec],
}

/// One row of a table.
pub trait TableRow: Copy {
    /// The table.
    const SPEC: TableSpec;
    /// Hands out the cells, in the order of the columns.
    fn values(&self, to: impl FnMut(Value));
    /// Appends the row's bytes for the hash.
    fn feed(&self, bytes: &mut Vec<u8>);
}

/// Declares a table. Table and columns without a text do not compile; a unit follows the type, in
/// brackets.
macro_rules! table {
    ($(#[doc = $about:literal])+ $(#[derive($derive:ident)])? $name:ident in $table:literal {
        $($(#[doc = $doc:literal])+ $field:ident: $t:ty $([$unit:literal])?),* $(,)?
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        $(#[derive($derive)])?
        pub struct $name {
            $($(#[doc = $doc])+ $(#[doc = concat!("[", $unit, "]")])? pub $field: $t),*
        }

        impl $crate::spec::TableRow for $name {
            const SPEC: $crate::spec::TableSpec = $crate::spec::TableSpec {
                name: $table,
                about: concat!($($about),+),
                columns: &[$($crate::spec::ColumnSpec {
                    name: stringify!($field),
                    kind: <$t as $crate::cell::Cell>::KIND,
                    nullable: <$t as $crate::cell::Cell>::NULLABLE,
                    unit: concat!($($unit)?),
                    about: concat!($($doc),+),
                }),*],
            };
            #[inline]
            fn values(&self, mut to: impl FnMut($crate::cell::Value)) {
                $(to($crate::cell::Cell::value(self.$field));)*
            }
            #[inline]
            fn feed(&self, bytes: &mut Vec<u8>) {
                $($crate::cell::Cell::feed(self.$field, bytes);)*
            }
        }
    };
}
pub(crate) use table;
