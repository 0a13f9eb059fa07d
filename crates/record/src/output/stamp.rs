//! Stamp that distinguishes a file that xoff wrote from one that was changed since: its length and
//! a hash. A copy is as good as the original.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::output::system::{carefully, read_exact_at};

/// So much of a file's begin and of its end is hashed: all of a small one, the footer of a table,
/// never a gigabyte [bytes].
const PART: u64 = 1 << 20;

/// Length of a file [bytes], and a hash of its begin and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp(u64, u64);

impl Stamp {
    /// Stamp of the file at `path`.
    pub(crate) fn of(path: &Path) -> io::Result<Stamp> {
        let file = carefully(OpenOptions::new().read(true)).open(path)?;
        let bytes = file.metadata()?.len();
        let mut hash = Xxh3::new();
        hash_part(&file, 0..bytes.min(PART), &mut hash)?;
        hash_part(&file, bytes.saturating_sub(PART).max(PART)..bytes, &mut hash)?;
        Ok(Stamp(bytes, hash.digest()))
    }
}

fn hash_part(file: &File, part: std::ops::Range<u64>, hash: &mut Xxh3) -> io::Result<()> {
    if !part.is_empty() {
        let mut bytes = vec![0; (part.end - part.start) as usize];
        read_exact_at(file, &mut bytes, part.start)?;
        hash.update(&bytes);
    }
    Ok(())
}
