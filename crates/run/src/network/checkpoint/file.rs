//! Checkpoint as a file.
//!
//! ```text
//!   "xoff checkpoint\n" | format u32 | length of the whole file u64 | length of the header u64 | header, JSON | state, zstd | XXH3-128 of
//!   all before it
//! ```
//!
//! It gets its name when it is complete and on the disk, so that a process that is killed while it
//! writes leaves the previous one.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use xoff_scenario::Source;
use xoff_scenario::document::Override;

use super::packed::{pack, unpack};
use crate::manifest::Clocks;

/// The first bytes of a checkpoint.
const MAGIC: &[u8; 16] = b"xoff checkpoint\n";
/// Grows when the file or a state in it means something else.
pub(super) const FORMAT: u32 = 2;
/// Bytes before the header.
const HEAD: usize = 16 + 4 + 8 + 8;
/// Bytes after the state.
const CHECKSUM: usize = 16;
/// The longest header that is read [bytes]: it repeats a scenario, whose reader takes 16 MB.
const HEADER_MAX: u64 = 64 << 20;

/// The scenario of a run as it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Given {
    /// Name in messages: the path of the file.
    pub name: String,
    /// Text of the file.
    pub text: String,
    /// Settings laid over the text: the origin of each, and the setting.
    pub settings: Vec<(String, String)>,
    /// Folder in which the files that it names are looked up.
    pub folder: PathBuf,
}

/// Extent of the recorded rows of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// Rows.
    pub rows: u64,
    /// Bytes of the rows in their file.
    pub bytes: u64,
    /// Hash of these bytes, block by block.
    pub hash: u64,
}

impl Given {
    /// A scenario that was read from a source.
    pub(super) fn of(source: &Source, settings: &[Override], folder: &Path) -> Given {
        let words = |s: &Override| {
            let (name, text) = s.origin();
            (name.to_owned(), text.to_owned())
        };
        Given {
            name: source.name().into(),
            text: source.text().into(),
            settings: settings.iter().map(words).collect(),
            folder: folder.to_owned(),
        }
    }
}

/// Header of a checkpoint, before the state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of xoff.
    pub xoff: String,
    /// Hash of the program that wrote it, 32 hexadecimal digits: another build may count otherwise.
    pub build: String,
    /// The scenario as it was given, and as it was resolved.
    pub given: Given,
    pub resolved: String,
    /// Digest of the network and the flows, input files included.
    pub digest: u64,
    /// Start of the run, as in its manifest.
    pub started: String,
    /// Simulated time [ps].
    pub time_ps: u64,
    /// Events so far.
    pub events: u64,
    /// Time taken so far on the clock and on the processors [s].
    pub wall_seconds: f64,
    pub cpu_seconds: f64,
    /// Extent of the rows.
    pub rows: Mark,
    /// Threads, and how events are handled.
    pub threads: usize,
    pub engine: String,
    /// The format of the tables.
    pub format: String,
    /// The run ends with a page.
    pub page: bool,
    /// Note of the command that started the run, for itself.
    pub note: String,
}

impl Header {
    /// Header of a run that begins, in a format of tables and on threads.
    pub(super) fn begin(
        given: Given,
        resolved: &str,
        (format, threads): (&str, usize),
        clocks: &Clocks,
    ) -> Header {
        Header {
            xoff: crate::VERSION.into(),
            given,
            resolved: resolved.to_owned(),
            started: clocks.started(),
            threads,
            format: format.into(),
            ..Header::default()
        }
    }
}

/// Reason why a file is no usable checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    Io(String),
    NoCheckpoint,
    Format(u32),
    CutOff { bytes: u64, of: u64 },
    Damaged,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Io(e) => f.write_str(e),
            Unusable::NoCheckpoint => f.write_str("the file is not a checkpoint of xoff"),
            Unusable::Format(n) => {
                write!(f, "the file has format {n}, but this version of xoff reads format {FORMAT}")
            }
            Unusable::CutOff { bytes, of } => {
                write!(f, "the file is truncated: it has {bytes} of {of} bytes")
            }
            Unusable::Damaged => f.write_str("the file is damaged: its checksum does not match"),
        }
    }
}

impl From<io::Error> for Unusable {
    fn from(e: io::Error) -> Unusable {
        Unusable::Io(e.to_string())
    }
}

/// The bytes of a checkpoint.
pub(super) fn encode(header: &Header, state: &[u8]) -> io::Result<Vec<u8>> {
    let header = serde_json::to_vec(header)?;
    let state = pack(state)?;
    let length = HEAD + header.len() + state.len() + CHECKSUM;
    let mut all = Vec::with_capacity(length);
    all.extend_from_slice(MAGIC);
    all.extend_from_slice(&FORMAT.to_le_bytes());
    all.extend_from_slice(&(length as u64).to_le_bytes());
    all.extend_from_slice(&(header.len() as u64).to_le_bytes());
    all.extend_from_slice(&header);
    all.extend_from_slice(&state);
    let checksum = xxh3_128(&all);
    all.extend_from_slice(&checksum.to_le_bytes());
    Ok(all)
}

/// Length of the whole file and of its header, from the bytes before the header.
fn lengths(head: &[u8]) -> Result<(u64, u64), Unusable> {
    let number =
        |at: usize| head.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    let cut = Unusable::CutOff { bytes: head.len() as u64, of: HEAD as u64 };
    if head.get(..16).ok_or(cut.clone())? != MAGIC {
        return Err(Unusable::NoCheckpoint);
    }
    let format = head
        .get(16..20)
        .and_then(|b| b.try_into().ok())
        .map(u32::from_le_bytes)
        .ok_or(cut.clone())?;
    if format != FORMAT {
        return Err(Unusable::Format(format));
    }
    let (all, header) = (number(20).ok_or(cut.clone())?, number(28).ok_or(cut)?);
    if header > HEADER_MAX || header.saturating_add((HEAD + CHECKSUM) as u64) > all {
        return Err(Unusable::Damaged);
    }
    Ok((all, header))
}

/// The header of a checkpoint; whether the file is whole is seen when all of it is read.
pub(super) fn header(path: &Path) -> Result<Header, Unusable> {
    // Opening a pipe would block forever.
    if !fs::metadata(path)?.is_file() {
        return Err(Unusable::NoCheckpoint);
    }
    let mut file = File::open(path)?;
    let mut head = Vec::with_capacity(HEAD);
    (&mut file).take(HEAD as u64).read_to_end(&mut head)?;
    let (all, header) = lengths(&head)?;
    let mut text = Vec::new();
    file.take(header).read_to_end(&mut text)?;
    if (text.len() as u64) < header {
        return Err(Unusable::CutOff { bytes: (HEAD + text.len()) as u64, of: all });
    }
    serde_json::from_slice(&text).map_err(|_| Unusable::Damaged)
}

/// Header and state of a checkpoint that is whole.
pub(super) fn read(path: &Path) -> Result<(Header, Vec<u8>), Unusable> {
    decode(&fs::read(path)?)
}

/// Header and state, if these are the bytes of a whole checkpoint.
pub(super) fn decode(bytes: &[u8]) -> Result<(Header, Vec<u8>), Unusable> {
    let (all, header) = lengths(&bytes[..bytes.len().min(HEAD)])?;
    if (bytes.len() as u64) < all {
        return Err(Unusable::CutOff { bytes: bytes.len() as u64, of: all });
    }
    let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
    if bytes.len() as u64 > all || xxh3_128(body).to_le_bytes() != checksum {
        return Err(Unusable::Damaged);
    }
    let (text, state) = body[HEAD..].split_at(header as usize);
    let header = serde_json::from_slice(text).map_err(|_| Unusable::Damaged)?;
    Ok((header, unpack(state)?))
}

/// The bytes with the length and the checksum that they would have as a checkpoint; `None`: they
/// are too short for one.
pub(super) fn seal(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let body = bytes.len().checked_sub(CHECKSUM).filter(|body| *body >= HEAD)?;
    let length = bytes.len() as u64;
    bytes[20..28].copy_from_slice(&length.to_le_bytes());
    let checksum = xxh3_128(&bytes[..body]);
    bytes[body..].copy_from_slice(&checksum.to_le_bytes());
    Some(bytes)
}

/// Writes a file so that it is either there as a whole, after a loss of power too, or not at all.
pub(super) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = path.with_extension("partial");
    let written = File::create(&partial).and_then(|mut f| {
        f.write_all(bytes)?;
        f.sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&partial, path));
    if placed.is_err() {
        let _ = fs::remove_file(&partial);
    }
    placed?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Hash of the program that runs: of the file from which this function was loaded, which is a
/// library within Python.
pub(super) fn build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(hash_of_program)
}

fn hash_of_program() -> String {
    let here = hash_of_program as fn() -> String as usize;
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let holds = |line: &&str| {
        let range = line.split(' ').next().and_then(|r| r.split_once('-'));
        let hex = |s: &str| usize::from_str_radix(s, 16).ok();
        range.and_then(|(from, to)| Some((hex(from)?..hex(to)?).contains(&here))).unwrap_or(false)
    };
    let file = maps
        .lines()
        .find(holds)
        .and_then(|line| line.find('/').map(|at| PathBuf::from(&line[at..])));
    let bytes = file
        .or_else(|| std::env::current_exe().ok())
        .and_then(|f| fs::read(f).ok())
        .unwrap_or_default();
    format!("{:032x}", xxh3_128(&bytes))
}
