//! `.xoff`, the ownership record of a folder: a line about the owner, then one line for each name that was ever written.
//!
//! The lock is on this file, so it is never replaced. A name is in it before its file is made: whatever a killed process leaves
//! can be told from files of others. The first line has a fixed length and is overwritten in place.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use crate::OutputError;

/// File name of the record.
pub const RECORD: &str = ".xoff";
/// Length of the first line with its end [bytes].
const FIRST: usize = 256;
/// What the first line begins with.
const BEGINS: &str = "{\"command\":";
/// How often a lock is tried again.
const TRIES: u32 = 3;
/// Time between two tries.
const BETWEEN: Duration = Duration::from_millis(20);

/// Who owns a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The command, such as `run` or `reproduce gfc`.
    pub command: String,
    /// Its last process.
    pub process: u32,
}

/// An open record, locked.
#[derive(Debug)]
pub struct Record {
    file: File,
    /// Where the next line goes [bytes].
    end: u64,
    /// Who owned the folder before; `None`: nobody.
    pub before: Option<Owner>,
    /// Every name that was written here.
    pub names: BTreeSet<String>,
}

/// What came of trying to lock a record.
pub enum Locked {
    /// It is ours.
    Ours(Record),
    /// Another process holds it.
    Held(Option<Owner>),
}

impl Record {
    /// Opens the record of a folder or makes one, and locks it.
    pub fn open(folder: &Path) -> Result<Locked, OutputError> {
        let path = folder.join(RECORD);
        let failed = |e: io::Error| OutputError::io("write", &path, &e);
        let mut tries = 0;
        loop {
            let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).custom_flags(flags).open(&path);
            let mut file = file.map_err(failed)?;
            let about = file.metadata().map_err(failed)?;
            if !about.is_file() {
                let what = format!("cannot write {}: it is {}", path.display(), crate::kind::named(about.file_type()));
                return Err(OutputError::new(&path, what, "name another folder"));
            }
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                // A reader looks for a moment only.
                Err(rustix::io::Errno::WOULDBLOCK) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(BETWEEN);
                    continue;
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(Locked::Held(read(&mut file).map_err(failed)?.0)),
                Err(e) => return Err(OutputError::io("lock", &path, &e.into())),
            }
            // Whoever held it before may have taken it away.
            if fs::symlink_metadata(&path).is_ok_and(|m| (m.dev(), m.ino()) == (about.dev(), about.ino())) {
                let (before, names, end) = read(&mut file).map_err(failed)?;
                if before.is_none() && about.len() > 0 && !begins_like_ours(&file).map_err(failed)? {
                    let what = format!("cannot write {}: it is not a record of xoff", path.display());
                    return Err(OutputError::new(&path, what, "name another folder"));
                }
                return Ok(Locked::Ours(Record { file, end, before, names }));
            }
        }
    }

    /// Notes the owner.
    pub fn own(&mut self, owner: &Owner) -> io::Result<()> {
        let mut line = serde_json::to_string(owner).expect("plain values");
        if line.len() >= FIRST {
            return Err(io::Error::other("the name of the command is too long"));
        }
        line.extend(std::iter::repeat_n(' ', FIRST - 1 - line.len()));
        line.push('\n');
        self.file.write_all_at(line.as_bytes(), 0)?;
        self.end = self.end.max(FIRST as u64);
        Ok(())
    }

    /// Notes a name that is going to be written.
    pub fn add(&mut self, name: &str) -> io::Result<()> {
        if self.names.contains(name) {
            return Ok(());
        }
        let line = serde_json::to_string(name).expect("a text") + "\n";
        self.file.write_all_at(line.as_bytes(), self.end)?;
        self.end += line.len() as u64;
        self.names.insert(name.to_owned());
        Ok(())
    }
}

/// Somebody's own file of that name is not overwritten; a first line that was cut off is.
fn begins_like_ours(file: &File) -> io::Result<bool> {
    let mut first = [0; BEGINS.len()];
    let n = file.read_at(&mut first, 0)?;
    Ok(BEGINS.as_bytes().starts_with(&first[..n]))
}

/// Owner, names, and the end of the last whole line. A line that was cut off is overwritten by the next one.
fn read(file: &mut File) -> io::Result<(Option<Owner>, BTreeSet<String>, u64)> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let owner = bytes.get(..FIRST).and_then(|first| serde_json::from_slice(first).ok());
    let mut names = BTreeSet::new();
    let mut end = FIRST.min(bytes.len());
    for line in bytes[end..].split_inclusive(|&b| b == b'\n') {
        let Ok(name) = serde_json::from_slice::<String>(line) else { break };
        if !line.ends_with(b"\n") {
            break;
        }
        end += line.len();
        names.insert(name);
    }
    Ok((owner, names, end as u64))
}

/// Who owns a folder, and whether a process is at work in it right now; `None`: there is no record.
pub fn look(folder: &Path) -> Option<(Option<Owner>, bool)> {
    let mut file = OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(folder.join(RECORD)).ok()?;
    let owner = read(&mut file).ok()?.0;
    let held = flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK);
    Some((owner, held))
}
