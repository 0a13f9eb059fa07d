//! Common parts of runs of networks and of fabrics: progress, errors, and the manifest.

use std::fmt;
use std::time::{Instant, SystemTime};

use xoff_record::{
    Closed, Folder, Manifest, Parameter, RecordError, ResultFile, ResultHash, RunInfo, TableHasher,
};
use xoff_scenario::Problems;
use xoff_scenario::document::Resolved;
use xoff_units::Time;
use xoff_units::params::ParamError;

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time reached.
    pub now: Time,
    /// Simulated time to reach.
    pub until: Time,
    /// Events handled.
    pub events: u64,
    /// Deadlocks found.
    pub deadlocks: usize,
}

/// Reason for a missing result.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// The scenario cannot be built.
    Build(ParamError),
    /// Tables or manifest cannot be written.
    Record(RecordError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Build(e) => fmt::Display::fmt(e, f),
            RunError::Record(e) => fmt::Display::fmt(e, f),
        }
    }
}
impl std::error::Error for RunError {}

/// Name of the scenario next to the tables: not a name that users choose.
pub const RESOLVED: &str = "resolved.toml";

/// Processor time of this process; WebAssembly has no such clock, and one thread.
#[cfg(not(target_family = "wasm"))]
pub use cpu_time::ProcessTime;
#[cfg(target_family = "wasm")]
pub use std::time::Instant as ProcessTime;

/// The clocks of a run, for its manifest only.
pub(crate) struct Clocks {
    /// Start of the run, as text.
    begun: String,
    started: Instant,
    cpu: ProcessTime,
    /// Time that the run had taken before this process continued it, on the clock and on the
    /// processors [s].
    before: (f64, f64),
}

impl Clocks {
    /// Clocks that start now.
    pub fn start() -> Clocks {
        let begun = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Clocks { begun, started: Instant::now(), cpu: ProcessTime::now(), before: (0.0, 0.0) }
    }

    /// Continues the clocks of a run that started at `begun` and had taken this time [s].
    pub fn go_on(&mut self, begun: &str, wall: f64, cpu: f64) {
        (self.begun, self.before) = (begun.to_owned(), (wall, cpu));
    }

    /// Start of the run, as text.
    pub fn started(&self) -> String {
        self.begun.clone()
    }

    /// Time that the run has taken so far, on the clock and on the processors [s].
    pub fn elapsed(&self) -> (f64, f64) {
        (
            self.before.0 + self.started.elapsed().as_secs_f64(),
            self.before.1 + self.cpu.elapsed().as_secs_f64(),
        )
    }
}

/// Parts of a scenario that enter a manifest.
pub(crate) struct Source<'s> {
    pub resolved: &'s str,
    pub parameters: &'s [Parameter],
    pub warnings: &'s Problems,
    pub seed: u64,
}

/// The manifest of a run that ends now, as far as both kinds of run fill it in.
pub(crate) fn manifest(of: &Source<'_>, clocks: &Clocks, tables: &Closed) -> Manifest {
    let (wall_seconds, cpu_seconds) = clocks.elapsed();
    Manifest {
        xoff_version: crate::VERSION.into(),
        xoff_commit: xoff_record::commit(),
        fingerprint: crate::FINGERPRINT.into(),
        schema_version: xoff_record::SCHEMA_VERSION,
        scenario: of.resolved.to_owned(),
        parameters: of.parameters.to_vec(),
        seed: of.seed,
        threads: 1,
        processes: 1,
        result_hash: tables.hash.to_string(),
        started: clocks.started(),
        wall_seconds,
        cpu_seconds,
        warnings: of.warnings.iter().map(|p| p.line()).collect(),
        files: tables.files.clone(),
        ..Manifest::default()
    }
}

/// Every parameter with its origin.
pub(crate) fn parameters(resolved: &Resolved) -> Vec<Parameter> {
    let parameter = |r: &xoff_scenario::document::Row| Parameter {
        path: r.path(),
        value: r.value.clone(),
        origin: r.origin.to_string(),
        source: r.source.clone(),
    };
    resolved.rows().iter().map(parameter).collect()
}

/// Information about the run in every table.
pub(crate) fn run_info(resolved: &str) -> RunInfo {
    let mut hasher = TableHasher::new();
    hasher.text(resolved);
    RunInfo {
        xoff_version: crate::VERSION.into(),
        scenario_hash: ResultHash::of([("scenario", &hasher)]).to_string(),
    }
}

/// A further file next to the tables of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraFile {
    /// Name of the file.
    pub name: &'static str,
    /// Contents of the file.
    pub bytes: Vec<u8>,
}

/// Puts a further file among those of a run, which the manifest lists. Without room for it the run
/// keeps its results, and the manifest a warning: the file can be made from them again.
pub(crate) fn add_file(folder: &Folder, file: &ExtraFile, manifest: &mut Manifest) {
    match folder.stage_bytes(file.name, &file.bytes) {
        Ok(staged) => {
            let lines = file.bytes.iter().filter(|b| **b == b'\n').count() as u64;
            manifest.files.push(ResultFile { name: staged.name, rows: lines, bytes: staged.bytes });
        }
        Err(e) => manifest.warnings.push(format!("{} was not written: {}", file.name, e.what)),
    }
}

/// Writes the resolved scenario and the manifest, and puts the tables in place.
pub(crate) fn write_last(
    folder: &Folder,
    resolved: &str,
    manifest: &mut Manifest,
) -> Result<(), RecordError> {
    let staged = folder.stage_bytes(RESOLVED, resolved.as_bytes())?;
    manifest.files.push(ResultFile {
        name: staged.name,
        rows: resolved.lines().count() as u64,
        bytes: staged.bytes,
    });
    manifest.write(folder).map(drop)
}
