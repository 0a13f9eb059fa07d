//! Checkpoints of a run: now and then its state is written next to its tables, so that it can
//! resume from there.
//!
//! ```text
//!   DIR/checkpoints/rows              every row so far, appended                                        rows.rs
//!   DIR/checkpoints/00.checkpoint     header, state of the world, course of the page                    file.rs
//!   DIR/checkpoints/01.checkpoint     ...; of many some are kept, spread over the run
//!
//!   Running::run -- periodically --> Checkpoints::write
//!   resume: the newest one -- rows --> tables, -- state --> world --> Running                           go_on.rs
//!   fork: the newest one before a time, into another folder, with settings that may change              fork.rs
//! ```

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use xoff_record::{Folder, Manifest, OutputError, RecordError, Sink};
use xoff_sim::{Engine, World};
use xoff_units::Time;
use xoff_units::params::ParamError;
use xoff_units::state::{Walk, Writer};

use super::{Course, NetworkScenario};
use crate::fabric::FabricScenario;
use crate::manifest::{Clocks, RunError};
use file::Given;
pub(crate) use file::Header;
pub(crate) use rows::RowLog;

mod file;
mod fork;
mod go_on;
mod packed;
mod rows;

/// The format of tables of a driven network: it has none.
const DRIVEN: &str = "driven";

/// Writes the state of a driven network into a file: whole, or not at all.
pub(super) fn write_driven(
    path: &Path,
    (s, digest): (&NetworkScenario, u64),
    world: &World,
    state: &[u8],
) -> std::io::Result<()> {
    let header = Header {
        build: file::build().into(),
        digest,
        time_ps: world.now().0,
        events: world.events(),
        ..s.header(DRIVEN, world.threads(), &Clocks::start())
    };
    // A link stays, and what it leads to is written.
    let path = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path))?;
    if std::fs::metadata(&path).is_ok_and(|m| !m.is_file()) {
        return Err(std::io::Error::other("it is there, and no regular file"));
    }
    file::put(&path, &file::encode(&header, state)?)
}

/// Header and state of such a file, if this build of xoff can use it.
pub(super) fn read_driven(path: &Path) -> Result<(Header, Vec<u8>), String> {
    let header = file::header(path).map_err(|e| e.to_string())?;
    if header.format != DRIVEN {
        return Err("it is a checkpoint of a run, not of a driven network".into());
    }
    go_on::usable(header, path)
}

/// Free room of the disk of a file [bytes]; `None`: the system does not say.
#[cfg(not(target_family = "wasm"))]
fn room_left(path: &Path) -> Option<u64> {
    rustix::fs::statvfs(path).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(target_family = "wasm")]
fn room_left(_: &Path) -> Option<u64> {
    None
}

/// The bytes of checkpoints, for tests that search for input that breaks their reader
/// (`xoff-farm`).
pub mod bytes {
    use super::file::{self, Header};
    use xoff_units::Time;

    /// Simulated time and events of a checkpoint that is whole.
    ///
    /// # Errors
    /// Why these are not the bytes of one.
    pub fn inspect(bytes: &[u8]) -> Result<(Time, u64), String> {
        file::decode(bytes)
            .map(|(header, _)| (Time(header.time_ps), header.events))
            .map_err(|why| why.to_string())
    }

    /// The bytes with the length and the checksum of a whole one, as a forger would give them;
    /// `None`: they are too short.
    pub fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
        file::seal(bytes.to_vec())
    }

    /// A checkpoint with this state, of no run: the same on every machine.
    pub fn sample(state: &[u8]) -> Vec<u8> {
        file::encode(&Header::default(), state).unwrap_or_default()
    }
}

pub use fork::Fork;
pub use go_on::Saved;
pub(crate) use go_on::problems;

/// Warning of a run that should write checkpoints and has no folder.
pub(crate) const NO_FOLDER: &str =
    "no checkpoints were written: the results have no folder (run.checkpoint)";

/// The folder of checkpoints within that of a run.
const FOLDER: &str = "checkpoints";
/// The file of rows in it.
const ROWS: &str = "rows";
/// Checkpoints of a run that are kept: each is one more place from which it can be forked or
/// explained.
const KEPT_MAX: usize = 12;
/// Room on the disk that is left to the tables, at least [bytes]. With less only the newest
/// checkpoint is kept.
const ROOM_MIN: u64 = 1 << 20;
/// Number of checkpoints that must fit on the disk next to the tables: the rest of the tables grows
/// with the network, as checkpoints do.
const ROOM_FOR: u64 = 4;
/// The shortest interval: one writes the whole state.
const EVERY_MIN: Duration = Duration::from_millis(10);

/// Reads the key `run.checkpoint`.
pub(crate) fn read_interval(text: &str) -> Result<Duration, ParamError> {
    let refuse = |what: String| {
        Err(ParamError::new(
            "checkpoint",
            what,
            "expected a time on the clock, such as \"10min\", \"30s\" or \"2h\"",
        ))
    };
    match humantime::parse_duration(text.trim()) {
        Ok(every) if every >= EVERY_MIN => Ok(every),
        Ok(_) => refuse(format!("'{text}' is shorter than 10 ms")),
        Err(e) => refuse(format!("'{text}' is not a time: {e}")),
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A checkpoint that is kept, and its place in the folder.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    slot: usize,
    events: u64,
}

/// Writes the checkpoints of a run.
pub(crate) struct Checkpoints {
    every: Duration,
    last: Instant,
    folder: Folder,
    /// The constant part of the header.
    header: Header,
    log: Arc<Mutex<RowLog>>,
    kept: Vec<Kept>,
    /// Problems, each once.
    warnings: BTreeSet<String>,
    /// Number of checkpoints that were not written.
    missed: u64,
}

impl Checkpoints {
    /// Checkpoints of a run that begins, or resumes with rows that are logged already, from a
    /// checkpoint in one of these places.
    fn new(
        every: Duration,
        folder: Folder,
        header: Header,
        log: RowLog,
        kept: Vec<Kept>,
    ) -> Checkpoints {
        let log = Arc::new(Mutex::new(log));
        Checkpoints {
            every,
            last: Instant::now(),
            folder,
            header,
            log,
            kept,
            warnings: BTreeSet::new(),
            missed: 0,
        }
    }

    /// Checkpoints of a run that begins, in the folder of its results. Existing checkpoints there
    /// belong to earlier results.
    pub fn begin(
        every: Option<Duration>,
        sink: &Sink,
        header: impl FnOnce(&str) -> Header,
    ) -> Result<Option<Checkpoints>, RunError> {
        let (Some(every), Sink::Files(folder, format)) = (every, sink) else { return Ok(None) };
        let folder = folder.sub(FOLDER).map_err(|e| RunError::Record(e.into()))?;
        for (path, _) in go_on::list(&folder.path()) {
            let _ = std::fs::remove_file(path);
        }
        let log = owned(&folder, ROWS).and_then(|path| {
            RowLog::create(&path).map_err(|e| RecordError::new("create", &path, e))
        });
        Ok(Some(Checkpoints::new(
            every,
            folder,
            header(format.name),
            log.map_err(RunError::Record)?,
            Vec::new(),
        )))
    }

    /// The log, for who records rows.
    pub fn log(&self) -> Arc<Mutex<RowLog>> {
        self.log.clone()
    }

    /// Stores a note of the command that started the run, for its return with a checkpoint.
    pub fn note(&mut self, note: &str) {
        self.header.note = note.to_owned();
    }

    /// The run ends with a page.
    pub fn with_page(&mut self) {
        self.header.page = true;
    }

    /// True if a checkpoint is due.
    pub fn are_due(&self) -> bool {
        self.last.elapsed() >= self.every
    }

    /// Writes a checkpoint now. If that fails, the run continues, and the previous checkpoint is
    /// kept.
    pub fn write(&mut self, world: &World, course: Option<&Course>, clocks: &Clocks) {
        let state = world.save().and_then(|state| {
            let mut to = Writer::default();
            let Ok(()) = to.bytes(&state);
            to.put(&course.cloned());
            to.end()
        });
        self.write_state(state, (world.now(), world.events(), world.threads()), clocks);
    }

    /// As [`Checkpoints::write`], of a state at a time, after a number of events, on threads.
    pub fn write_state(
        &mut self,
        state: Result<Vec<u8>, String>,
        at: (Time, u64, usize),
        clocks: &Clocks,
    ) {
        if let Err(what) = state.and_then(|state| self.try_write(&state, at, clocks)) {
            self.missed += 1;
            self.warnings.insert(what);
            self.keep_the_newest();
        }
        self.last = Instant::now();
    }

    fn try_write(
        &mut self,
        state: &[u8],
        (now, events, threads): (Time, u64, usize),
        clocks: &Clocks,
    ) -> Result<(), String> {
        let rows = held(&self.log).mark()?;
        let (wall_seconds, cpu_seconds) = clocks.elapsed();
        if self.header.build.is_empty() {
            self.header.build = file::build().into(); // reads the program, so not before it is needed
        }
        self.header = Header {
            time_ps: now.0,
            events,
            rows,
            wall_seconds,
            cpu_seconds,
            threads,
            ..self.header.clone()
        };
        let bytes = file::encode(&self.header, state).map_err(|e| e.to_string())?;
        let slot = (0..).find(|slot| self.kept.iter().all(|k| k.slot != *slot)).unwrap_or_default();
        let path = owned(&self.folder, &name(slot)).map_err(|e| e.to_string())?;
        file::put(&path, &bytes).map_err(|e| e.to_string())?;
        self.kept.push(Kept { slot, events });
        self.thin_out();
        let needed = ROOM_MIN.max(ROOM_FOR * bytes.len() as u64);
        if room_left(&path).is_some_and(|left| left < needed) {
            self.keep_the_newest();
        }
        Ok(())
    }

    /// Gives up all but the newest: results come first.
    fn keep_the_newest(&mut self) {
        let newest = self.kept.pop();
        self.kept
            .drain(..)
            .for_each(|gone| drop(std::fs::remove_file(self.folder.path().join(name(gone.slot)))));
        self.kept.extend(newest);
    }

    /// Takes the checkpoint away that leaves the smallest gap; never the newest, from which the run
    /// resumes, nor the oldest.
    fn thin_out(&mut self) {
        if self.kept.len() <= KEPT_MAX {
            return;
        }
        let gap = |at: &usize| self.kept[at + 1].events - self.kept[at - 1].events;
        let Some(at) = (1..self.kept.len() - 1).min_by_key(gap) else { return };
        let gone = self.kept.remove(at);
        let _ = std::fs::remove_file(self.folder.path().join(name(gone.slot)));
    }

    /// Warning about them for the user.
    pub fn warning(&self) -> Option<String> {
        let why = self.warnings.iter().next()?;
        let last = match self.kept.last() {
            Some(k) => format!(
                "the last checkpoint is the one after {} events",
                xoff_units::grouped(k.events)
            ),
            None => "the run has no checkpoint".into(),
        };
        Some(format!("{}: {why}; {last}", self.missed_words()?))
    }

    /// Number of missing checkpoints, for the headline; `None`: none is missing.
    pub fn missed_words(&self) -> Option<String> {
        let n = self.missed;
        (n > 0).then(|| {
            format!("{n} checkpoint{} could not be written", if n == 1 { "" } else { "s" })
        })
    }
}

/// Name of the file in a place.
fn name(slot: usize) -> String {
    format!("{slot:02}.checkpoint")
}

/// A file that this run writes on its own.
fn owned(folder: &Folder, name: &str) -> Result<PathBuf, RecordError> {
    folder.own(name).map_err(|e: OutputError| e.into())
}

/// Rejects a folder with an unfinished run that can resume.
pub(crate) fn refuse_unfinished(folder: &Folder) -> Result<(), RecordError> {
    let root = folder.path();
    let Some((path, header)) =
        go_on::newest(&root.join(FOLDER)).filter(|_| !folder.may_replace_all())
    else {
        return Ok(());
    };
    if is_finished(&root, &header) {
        return Ok(());
    }
    let mut e = RecordError::new(
        "",
        &path,
        format!(
            "{} contains a run that stopped at {} and can continue",
            root.display(),
            Time(header.time_ps)
        ),
    );
    e.hint = format!(
        "continue it with xoff run --resume {}, or replace it with --force",
        root.display()
    );
    Err(e)
}

/// True if the run of this checkpoint is complete.
fn is_finished(root: &Path, header: &Header) -> bool {
    Manifest::read(root).is_ok_and(|m| {
        m.started == header.started && m.scenario == header.resolved && !m.interrupted
    })
}

fn engine_word(engine: Engine) -> &'static str {
    match engine {
        Engine::Auto => "auto",
        Engine::Windows => "windows",
        Engine::Events => "events",
    }
}

impl NetworkScenario {
    /// The header of the checkpoints of a run that begins.
    pub(super) fn header(&self, format: &str, threads: usize, clocks: &Clocks) -> Header {
        let given = Given::of(&self.source, &self.settings, &self.folder);
        Header {
            digest: self.digest(),
            engine: engine_word(self.engine).into(),
            ..Header::begin(given, &self.resolved, (format, threads), clocks)
        }
    }
}

impl FabricScenario {
    /// The header of the checkpoints of a run that begins.
    pub(crate) fn header(&self, format: &str, threads: usize, clocks: &Clocks) -> Header {
        let given = Given::of(&self.source, &self.settings, &self.folder);
        Header {
            digest: self.digest(),
            ..Header::begin(given, &self.resolved, (format, threads), clocks)
        }
    }

    /// Digest of the fabric and its workload, input files included.
    fn digest(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(format!("{:?}", self.config).as_bytes())
    }
}
