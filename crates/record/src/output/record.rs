//! `.xoff`, the ownership record of a folder: a line about the owner, then one line for each name
//! that was ever written, with [stamps](Stamp) of what was written unless that is not recorded.
//!
//! The lock is on this file, so it is never replaced. A name is in it before its file is made:
//! whatever a killed process leaves can be distinguished from files of others. The first line and
//! those with stamps have a fixed length and are overwritten in place.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::output::OutputError;
use crate::output::stamp::Stamp;
use crate::output::system::{self, carefully, same, write_all_at};

/// File name of the record.
pub const RECORD: &str = ".xoff";
/// Length of the first line with its end [bytes].
const FIRST: usize = 256;
/// Length of a line with stamps, beyond its name [bytes].
const ROOM: usize = 128;
/// Stamps kept of a name: of the file there, and of the one that is about to replace it.
const STAMPS: usize = 2;
/// Beginning of the first line.
const BEGINS: &str = "{\"command\":";
/// Number of attempts to lock.
const TRIES: u32 = 3;
/// Time between two tries.
const BETWEEN: Duration = Duration::from_millis(20);

/// Owner of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The command, such as `run` or `reproduce gfc`.
    pub command: String,
    /// Last process.
    pub process: u32,
}

/// An open record, locked.
#[derive(Debug)]
pub struct Record {
    file: File,
    /// Position of the next line [bytes].
    end: u64,
    /// Previous owner of the folder; `None`: it is new.
    pub before: Option<Owner>,
    /// Every name that was written here.
    pub names: BTreeMap<String, Entry>,
}

/// Record of a name.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Position of its line with stamps [bytes]; `None`: its contents are not recorded.
    line: Option<u64>,
    stamps: Vec<Stamp>,
}

/// A line with stamps.
#[derive(Serialize, Deserialize)]
struct Stamped {
    name: String,
    stamps: Vec<Stamp>,
}

/// Result of an attempt to lock a record.
pub enum Locked {
    /// Locked by this process.
    Ours(Record),
    /// Another process holds it.
    Held(Option<Owner>),
}

impl Record {
    /// Opens the record of a folder or makes one, and locks it; messages show the folder under the
    /// second name.
    ///
    /// # Errors
    /// A record that cannot be read or written, or that another process holds.
    pub fn open(folder: &Path, shown: &Path) -> Result<Locked, OutputError> {
        let (at, path) = (folder.join(RECORD), shown.join(RECORD));
        let failed = |e: io::Error| OutputError::io("write", &path, &e);
        let mut tries = 0;
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = carefully(&mut options).open(&at).map_err(failed)?;
            let about = file.metadata().map_err(failed)?;
            if !about.is_file() {
                let what = format!(
                    "cannot write {}: it is {}",
                    path.display(),
                    crate::output::kind::named(about.file_type())
                );
                return Err(OutputError::new(&path, what, "name another folder"));
            }
            match system::lock(&file) {
                Ok(true) => {}
                // Readers hold it only briefly.
                Ok(false) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(BETWEEN);
                    continue;
                }
                Ok(false) => {
                    return Ok(Locked::Held(read(&mut file).map_err(failed)?.0));
                }
                Err(e) => return Err(OutputError::io("lock", &path, &e)),
            }
            // Whoever held it before may have taken it away.
            if fs::symlink_metadata(&at).is_ok_and(|m| same(&m, &about)) {
                let (before, names, end) = read(&mut file).map_err(failed)?;
                if before.is_none()
                    && about.len() > 0
                    && !begins_like_ours(&file).map_err(failed)?
                {
                    let what =
                        format!("cannot write {}: it is not a record of xoff", path.display());
                    return Err(OutputError::new(&path, what, "name another folder"));
                }
                return Ok(Locked::Ours(Record { file, end, before, names }));
            }
        }
    }

    /// Notes the owner.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub fn own(&mut self, owner: &Owner) -> io::Result<()> {
        let mut line = serde_json::to_string(owner).expect("plain values");
        if line.len() >= FIRST {
            return Err(io::Error::other("the name of the command is too long"));
        }
        line.extend(std::iter::repeat_n(' ', FIRST - 1 - line.len()));
        line.push('\n');
        write_all_at(&self.file, line.as_bytes(), 0)?;
        self.end = self.end.max(FIRST as u64);
        Ok(())
    }

    /// Notes a name whose content is not recorded.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub fn add(&mut self, name: &str) -> io::Result<()> {
        if !self.names.contains_key(name) {
            let line = serde_json::to_string(name).expect("a text") + "\n";
            self.append(&line)?;
            self.names.insert(name.to_owned(), Entry::default());
        }
        Ok(())
    }

    /// Notes a name that a file with a stamp is going to have.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub fn expect(&mut self, name: &str) -> io::Result<()> {
        if !self.names.contains_key(name) {
            let line = self.append(&stamped(name, &[]))?;
            self.names.insert(name.to_owned(), Entry { line: Some(line), stamps: Vec::new() });
        }
        Ok(())
    }

    /// Notes what a name is going to hold, before it does.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub fn stamp(&mut self, name: &str, stamp: Stamp) -> io::Result<()> {
        let mut entry = self.names.get(name).cloned().unwrap_or_default();
        entry.stamps.push(stamp);
        let first = entry.stamps.len().saturating_sub(STAMPS);
        entry.stamps.drain(..first);
        let line = stamped(name, &entry.stamps);
        match entry.line {
            Some(at) => write_all_at(&self.file, line.as_bytes(), at)?,
            None => entry.line = Some(self.append(&line)?),
        }
        self.names.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Brings it to the disk.
    ///
    /// # Errors
    /// A disk that is full, and any other reason of the operating system.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// The file at `path` is not what was written under this name.
    pub fn changed(&self, name: &str, path: &Path) -> bool {
        let Some(entry) = self.names.get(name).filter(|e| e.line.is_some()) else { return false };
        path.is_file() && !Stamp::of(path).is_ok_and(|now| entry.stamps.contains(&now))
    }

    /// Whether this record is still the one at `path`.
    pub fn is_at(&self, path: &Path) -> bool {
        self.file
            .metadata()
            .is_ok_and(|own| fs::symlink_metadata(path).is_ok_and(|there| same(&own, &there)))
    }

    /// Position at which the line begins.
    fn append(&mut self, line: &str) -> io::Result<u64> {
        let at = self.end;
        write_all_at(&self.file, line.as_bytes(), at)?;
        self.end += line.len() as u64;
        Ok(at)
    }
}

/// A line that has room for every stamp of its name.
fn stamped(name: &str, stamps: &[Stamp]) -> String {
    let length = serde_json::to_string(name).expect("a text").len() + ROOM;
    let line = serde_json::to_string(&Stamped { name: name.to_owned(), stamps: stamps.to_vec() })
        .expect("plain values");
    format!("{line:<width$}\n", width = length + line.chars().count() - line.len())
}

/// A user's own file of that name is not overwritten; a first line that was cut off is.
fn begins_like_ours(file: &File) -> io::Result<bool> {
    let mut first = [0; BEGINS.len()];
    let n = system::read_at(file, &mut first, 0)?;
    Ok(BEGINS.as_bytes().starts_with(&first[..n]))
}

/// Contents of a record: the owner, every name, and the end of the last whole line.
type Stated = (Option<Owner>, BTreeMap<String, Entry>, u64);

/// Reads it. A line that was cut off is overwritten by the next one.
fn read(file: &mut File) -> io::Result<Stated> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let owner = bytes.get(..FIRST).and_then(|first| serde_json::from_slice(first).ok());
    let mut names = BTreeMap::new();
    let mut end = FIRST.min(bytes.len());
    for line in bytes[end..].split_inclusive(|&b| b == b'\n') {
        if !line.ends_with(b"\n") {
            break;
        }
        if let Ok(name) = serde_json::from_slice::<String>(line) {
            names.insert(name, Entry::default());
        } else if let Ok(Stamped { name, stamps }) = serde_json::from_slice(line) {
            names.insert(name, Entry { line: Some(end as u64), stamps });
        } else {
            break;
        }
        end += line.len();
    }
    Ok((owner, names, end as u64))
}

/// The record in `folder`, if there is one.
fn opened(folder: &Path) -> Option<File> {
    carefully(OpenOptions::new().read(true))
        .open(folder.join(RECORD))
        .ok()
        .filter(|f| f.metadata().is_ok_and(|m| m.is_file()))
}

/// The record of `folder` lists this name, or its draft.
pub fn lists(folder: &Path, name: &str) -> bool {
    let names = opened(folder).and_then(|mut f| read(&mut f).ok()).map(|stated| stated.1);
    names.is_some_and(|n| n.contains_key(name.strip_suffix(".partial").unwrap_or(name)))
}

/// Names of files in `folder` that are not what was written there.
pub fn changed(folder: &Path) -> Vec<String> {
    let stated = opened(folder).and_then(|mut f| Some((read(&mut f).ok()?, f)));
    let Some(((before, names, end), file)) = stated else { return Vec::new() };
    let record = Record { file, end, before, names };
    record.names.keys().filter(|n| record.changed(n, &folder.join(n))).cloned().collect()
}

/// Owner of a folder, and whether a process is at work in it right now; `None`: there is no record.
pub fn look(folder: &Path) -> Option<(Option<Owner>, bool)> {
    let mut file = opened(folder)?;
    let owner = read(&mut file).ok()?.0;
    Some((owner, system::is_locked(&file)))
}
