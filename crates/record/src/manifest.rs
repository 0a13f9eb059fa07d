//! The manifest of a run: what was asked, where each parameter came from, what happened.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::RecordError;
use crate::file::partial;

/// File name of the manifest.
pub const MANIFEST: &str = "manifest.json";

/// One resolved parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Where it belongs: `flow_control.xoff`.
    pub path: String,
    /// Its value in text form, with its unit.
    pub value: String,
    /// Who set it: `default`, `scenario file line 12`, `command line`, `derived`.
    pub origin: String,
    /// Where a default or a rule comes from: paper section, equation, clause.
    pub source: String,
}

/// All about a run but its tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of xoff.
    pub xoff_version: String,
    /// Text of the scenario.
    pub scenario: String,
    /// Folder in which files named by the scenario are looked up.
    #[serde(default)]
    pub scenario_folder: String,
    /// Every parameter as resolved.
    pub parameters: Vec<Parameter>,
    /// Seed of the run.
    pub seed: u64,
    /// Threads used; never changes a result.
    pub threads: u32,
    /// Hash of the results, 32 hexadecimal digits; no clock enters it.
    pub result_hash: String,
    /// When the run was started, as text for people.
    pub started: String,
    /// Time it took on the clock [s].
    pub wall_seconds: f64,
    /// Time it took on the processors [s].
    pub cpu_seconds: f64,
    /// Simulated time reached [s].
    pub simulated_seconds: f64,
    /// Events handled.
    pub events: u64,
    /// Frames that crossed a link, counted per link.
    pub frame_hops: u64,
    /// Data frames among them.
    pub data_frame_hops: u64,
    /// Frames lost.
    pub dropped_frames: u64,
    /// Flows that ended.
    pub flows_completed: u64,
    /// Flows that started.
    pub flows_total: u64,
    /// Ports of the first deadlock's cycle, each waiting for the next; `None`: no deadlock.
    pub deadlock: Option<Vec<String>>,
    /// Why the run ended.
    pub ended_because: String,
    /// What took effect, one sentence each.
    pub took_effect: Vec<String>,
    /// What was configured and never triggered, one sentence each.
    pub never_triggered: Vec<String>,
    /// Warnings, one sentence each.
    pub warnings: Vec<String>,
    /// The user stopped the run; tables hold what was computed until then.
    pub interrupted: bool,
}

impl Manifest {
    /// Writes `manifest.json` into `dir`, complete or not at all.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, RecordError> {
        let path = dir.join(MANIFEST);
        let temporary = partial(&path);
        let text = serde_json::to_string_pretty(self).map_err(|e| RecordError::new("write", &path, e))?;
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")))
            .and_then(|()| fs::rename(&temporary, &path));
        if let Err(e) = written {
            let _ = fs::remove_file(&temporary);
            return Err(RecordError::new("write", &path, e));
        }
        Ok(path)
    }

    /// Reads the manifest of the run in `dir`.
    pub fn read(dir: &Path) -> Result<Manifest, RecordError> {
        let path = dir.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|e| RecordError::new("read", &path, e))?;
        serde_json::from_str(&text).map_err(|e| RecordError::new("read", &path, e))
    }
}
