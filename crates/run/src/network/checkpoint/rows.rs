//! The rows of a run so far, next to its checkpoints: tables are columns that are written at the
//! end of a chunk, so the tables of a killed run are of no use. A resumed run records these rows
//! first, and its tables and hash are those of a run that never stopped.
//!
//! ```text
//!   block: length of the compressed rows u32 | XXH3-64 of them u64 | rows, zstd        about a MiB of rows each
//! ```

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use xoff_sim::Row;
use xoff_units::state::{Reader, Writer};
use xxhash_rust::xxh3::xxh3_64;

use super::file::Mark;
use super::packed::{pack, unpack_at_most};

/// Rows of a block, before they are compressed [bytes].
const BLOCK: usize = 1 << 20;
/// The longest block that is read [bytes].
const BLOCK_MAX: u32 = 64 << 20;

/// The file that the rows go to.
pub(crate) struct RowLog {
    file: File,
    /// Rows that are not in the file yet.
    waiting: Vec<u8>,
    mark: Mark,
    failed: Option<String>,
}

impl RowLog {
    /// An empty one.
    pub(super) fn create(path: &Path) -> io::Result<RowLog> {
        let file = File::create(path)?;
        Ok(RowLog { file, waiting: Vec::new(), mark: Mark::default(), failed: None })
    }

    /// Log that continues from a mark; rows after the mark are lost.
    pub(super) fn go_on(path: &Path, mark: Mark) -> io::Result<RowLog> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(mark.bytes)?;
        file.seek(SeekFrom::End(0))?;
        Ok(RowLog { file, waiting: Vec::new(), mark, failed: None })
    }

    /// A row was recorded.
    pub fn push(&mut self, row: &Row) {
        if self.failed.is_some() {
            return;
        }
        let mut to = Writer::onto(std::mem::take(&mut self.waiting));
        to.put(row);
        self.waiting = to.end().unwrap_or_default(); // no row is refused
        self.mark.rows += 1;
        if self.waiting.len() >= BLOCK {
            self.pass_on();
        }
    }

    /// Writes waiting rows. Once that fails, nothing more is written.
    fn pass_on(&mut self) {
        if self.waiting.is_empty() || self.failed.is_some() {
            return;
        }
        let written = pack(&self.waiting).and_then(|rows| {
            let hash = xxh3_64(&rows);
            self.file.write_all(&(rows.len() as u32).to_le_bytes())?;
            self.file.write_all(&hash.to_le_bytes())?;
            self.file.write_all(&rows)?;
            Ok((rows.len() as u64, hash))
        });
        self.waiting.clear();
        match written {
            Ok((bytes, hash)) => {
                self.mark.bytes += 12 + bytes;
                self.mark.hash = chained(self.mark.hash, hash);
            }
            Err(e) => {
                // Room for the checkpoints that are there; the last one names earlier rows only.
                let _ = self.file.set_len(self.mark.bytes);
                self.failed = Some(e.to_string());
            }
        }
    }

    /// Everything so far is on the disk.
    pub(super) fn mark(&mut self) -> Result<Mark, String> {
        self.pass_on();
        if let Err(e) = self.file.sync_data() {
            self.failed.get_or_insert(e.to_string());
        }
        self.failed.clone().map_or(Ok(self.mark), Err)
    }
}

fn chained(before: u64, hash: u64) -> u64 {
    let mut both = [0; 16];
    both[..8].copy_from_slice(&before.to_le_bytes());
    both[8..].copy_from_slice(&hash.to_le_bytes());
    xxh3_64(&both)
}

/// Reads the rows up to a mark, of a network with this number of ports.
///
/// # Errors
/// They are not those that were marked: cut off, damaged, or none of this network.
pub(super) fn read(
    path: &Path,
    mark: Mark,
    ports: u32,
    mut to: impl FnMut(&Row),
) -> Result<(), String> {
    // Opening a pipe would block forever.
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return Err("not a regular file".into());
    }
    let mut file = BufReader::new(File::open(path).map_err(|e| e.to_string())?);
    let (mut bytes, mut hash, mut rows) = (0, 0, 0);
    let cut = |e: io::Error| {
        if e.kind() == io::ErrorKind::UnexpectedEof {
            "the file is truncated".to_owned()
        } else {
            e.to_string()
        }
    };
    let damaged = || "the file is damaged: its checksum does not match".to_owned();
    while bytes < mark.bytes {
        let mut head = [0; 12];
        file.read_exact(&mut head).map_err(cut)?;
        let (length, expected) = head.split_at(4);
        let length = u32::from_le_bytes(length.try_into().map_err(|_| damaged())?);
        if length > BLOCK_MAX {
            return Err(damaged());
        }
        let mut block = vec![0; length as usize];
        file.read_exact(&mut block).map_err(cut)?;
        if xxh3_64(&block).to_le_bytes() != expected {
            return Err(damaged());
        }
        (bytes, hash) = (bytes + 12 + u64::from(length), chained(hash, xxh3_64(&block)));
        if bytes == mark.bytes && hash != mark.hash {
            return Err("the file contains other rows than the checkpoint".into());
        }
        rows += of_block(&block, ports, &mut to)?;
    }
    if (bytes, rows) == (mark.bytes, mark.rows) {
        Ok(())
    } else {
        Err("the file contains other rows than the checkpoint".into())
    }
}

/// Reads the rows of a block, whose checksum is correct; its writer is not known.
fn of_block(block: &[u8], ports: u32, to: &mut impl FnMut(&Row)) -> Result<u64, String> {
    let all = unpack_at_most(block, 2 * BLOCK).map_err(|e| e.to_string())?;
    let (mut left, mut rows) = (Reader::new(&all), 0);
    while !left.is_over() {
        let row: Option<Row> = left.take().ok().filter(|row: &Row| row.fits(ports));
        let row = row.ok_or("the file does not contain rows of this network")?;
        to(&row);
        rows += 1;
    }
    Ok(rows)
}

/// Copies the rows up to a mark.
pub(super) fn copy(from: &Path, mark: Mark, to: &Path) -> io::Result<RowLog> {
    let mut file = File::create(to)?;
    io::copy(&mut File::open(from)?.take(mark.bytes), &mut file)?;
    Ok(RowLog { file, waiting: Vec::new(), mark, failed: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_record::{Port, QueueRow};

    /// A file whose checksums are right and whose content nothing of xoff wrote: refused, not
    /// trusted.
    #[test]
    fn a_forged_log_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let read_back = |rows: &[u8], count: u64| {
            let mut log = RowLog::create(&path).unwrap();
            log.waiting.extend_from_slice(rows);
            log.mark.rows = count;
            let mark = log.mark().unwrap();
            read(&path, mark, 4, |_| ())
        };
        let row = |port| {
            Row::Queue(QueueRow {
                time_ps: 1,
                port: Port(port),
                priority: 7,
                ..QueueRow::default()
            })
        };
        let bytes = |port| {
            let mut to = Writer::default();
            to.put(&row(port));
            to.end().unwrap()
        };
        assert_eq!(read_back(&bytes(3), 1), Ok(()));
        let refused = |came: Result<(), String>, why: &str| {
            assert!(came.as_ref().is_err_and(|e| e.contains(why)), "{came:?}, not {why}")
        };
        refused(read_back(&bytes(3), 2), "other rows");
        let none = "does not contain rows of this network";
        refused(read_back(&bytes(4), 1), none);
        refused(read_back(&bytes(3)[..5], 1), none);
        refused(read_back(&[77; 40], 1), none);
        // As many zeros as a block never has.
        refused(read_back(&vec![0; 2 * BLOCK + 1], 1), "");
    }
}
