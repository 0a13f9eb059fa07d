//! The result hash: 128 bits over the rows of a run, the same on every machine and for every size
//! of chunks.
//!
//! Rows enter one by one as little-endian bytes, in the order in which they are recorded; bringing
//! them into an order that does not depend on threads is the recorder's duty. Hash function: XXH3,
//! 128 bits, seed 0.
//!
//! Every column of every table enters, so a new column changes every hash. [`VERSION`] enters first:
//! it is increased with such a change, so that equal rows of two versions are never taken for a
//! change of behaviour.

use std::fmt;

use serde::{Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

use xoff_rows::TableRow;

/// Version of what enters the hash.
const VERSION: u8 = 2;

/// Hash of a run's results; written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResultHash(pub u128);

impl ResultHash {
    /// Hash of tables, by name, in the given order.
    pub fn of<'a>(tables: impl IntoIterator<Item = (&'a str, &'a TableHasher)>) -> ResultHash {
        let mut all = Xxh3::new();
        all.update(&[VERSION]);
        for (name, table) in tables {
            all.update(&(name.len() as u64).to_le_bytes());
            all.update(name.as_bytes());
            all.update(&table.rows.to_le_bytes());
            all.update(&table.state.digest128().to_le_bytes());
        }
        ResultHash(all.digest128())
    }
}

impl fmt::Display for ResultHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
impl fmt::Debug for ResultHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl Serialize for ResultHash {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// Hash of one table so far.
#[derive(Clone, Default)]
pub struct TableHasher {
    state: Xxh3,
    rows: u64,
    /// Bytes of the row at hand.
    row: Vec<u8>,
}

impl TableHasher {
    /// Nothing yet.
    pub fn new() -> TableHasher {
        TableHasher::default()
    }

    /// Adds a row.
    pub fn row<R: TableRow>(&mut self, row: &R) {
        self.row.clear();
        row.feed(&mut self.row);
        self.state.update(&self.row);
        self.rows += 1;
    }

    /// Adds a row that is a text.
    pub fn text(&mut self, text: &str) {
        self.state.update(&(text.len() as u64).to_le_bytes());
        self.state.update(text.as_bytes());
        self.rows += 1;
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}
