//! The manifest of a run: its request, the origin of each parameter, its result.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::output::{Folder, holder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::RecordError;
use crate::jobs::JobAnswer;
use crate::load_balance::LoadBalance;
use crate::slowdown::Slowdown;
use crate::verdict::{Deadlock, Fate, Verdict};

/// File name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// File name of the page of a run. It is drawn from the results, which are whole without it.
pub const PAGE: &str = "report.html";

/// One resolved parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Parameter {
    /// Path of the key: `flow_control.xoff`.
    pub path: String,
    /// Value in text form, with its unit.
    pub value: String,
    /// Source of the value: `default`, `scenario file line 12`, `command line`, `derived`.
    pub origin: String,
    /// Source of a default or a rule: paper section, equation, clause.
    pub source: String,
}

/// A file of the results.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ResultFile {
    /// Name in the folder.
    pub name: String,
    /// Rows, or lines.
    pub rows: u64,
    /// Length [bytes].
    pub bytes: u64,
}

/// Result of fast-forward, which skips whole periods of a network whose state recurs. Never changes
/// a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FastForward {
    /// Periods that were found.
    pub periods: u64,
    /// The longest of them [ps].
    pub longest_ps: u64,
    /// Number of repeated episodes; an episode lasts from one idle network to the next.
    #[serde(default)]
    pub repeated: u64,
    /// Simulated time that was skipped [ps].
    pub skipped_ps: u64,
    /// Events of the skipped time; they count among the events of the run.
    pub events_skipped: u64,
    /// Reason why nothing was skipped; null: something was.
    pub because: Option<String>,
}

/// Delays of packets from the input adapter to the line; of quantiles three digits are exact.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FabricDelays {
    /// Number of packets; without any, all others are 0.
    pub packets: u64,
    /// Smallest [ps].
    pub min_ps: u64,
    /// Mean [ps].
    pub mean_ps: f64,
    /// 99th percentile [ps].
    pub p99_ps: u64,
    /// Largest [ps].
    pub max_ps: u64,
}

/// Hosts in front of a scheduled fabric.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FabricHosts {
    /// Largest occupancy of an input buffer [bytes].
    pub input_bytes_max: u64,
    /// Frames that arrived at a full input buffer.
    pub overflows: u64,
    /// Bytes of CNM and PAUSE frames.
    pub control_bytes: u64,
    /// Delays of the frames of each flow.
    pub delays: Vec<FabricDelays>,
    /// Delays of the packets of `[traffic]`.
    pub background: FabricDelays,
}

/// Totals of a run of a scheduled fabric that no table has, from the end of the warm-up on.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FabricTotals {
    /// Time from the end of the warm-up to the end [ps].
    pub measured_ps: u64,
    /// Delays of packets to outputs that are no hotspots.
    pub cold: FabricDelays,
    /// Delays of packets to hotspots.
    pub hot: FabricDelays,
    /// Bytes that left through hotspots, by input.
    pub hot_bytes_by_input: Vec<u64>,
    /// Largest output queue, by stage [bytes].
    pub queue_bytes_max: Vec<u32>,
    /// Number of times that an idle link had a segment and no room behind it, by stage; the links
    /// of the adapters first.
    pub waits: Vec<u64>,
    /// Largest reorder and reassembly buffer [bytes].
    pub reassembly_bytes_max: u64,
    /// Segments with payload.
    pub segments: u64,
    /// Unsolicited segments among them.
    pub unsolicited: u64,
    /// Segments that arrived before an earlier one of their flow.
    pub out_of_order: u64,
    /// Control segments that traveled alone, or control messages on separate wires.
    pub control: u64,
    /// Bytes of these.
    pub control_bytes: u64,
    /// Bytes of segments with payload.
    pub segment_bytes: u64,
    /// Number of times that a segment entered an element.
    pub hops: u64,
    /// A deadlock in words; null: none.
    pub stuck: Option<String>,
    /// Hosts; null: the scenario has none.
    pub hosts: Option<FabricHosts>,
    /// Jobs; absent: the scenario has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<FabricJob>,
}

/// A job over a scheduled fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FabricJob {
    /// Name.
    pub name: String,
    /// Its ranks.
    pub ranks: u64,
    /// Iterations that it should have.
    pub iterations: u64,
    /// Start and end of each iteration that all ranks have completed [ps].
    pub complete_ps: Vec<(u64, u64)>,
}

impl FabricJob {
    /// Words for people: iterations, their mean time and the longest.
    pub fn words(&self) -> String {
        let times: Vec<u64> = self.complete_ps.iter().map(|(start, end)| end - start).collect();
        let of = format!("{} of {} iterations complete", times.len(), self.iterations);
        let Some(longest) = times.iter().max() else { return of };
        let mean = xoff_units::Span(times.iter().sum::<u64>() / times.len() as u64);
        format!("{of}, mean {mean}, longest {}", xoff_units::Span(*longest))
    }
}

static COMMIT: OnceLock<&'static str> = OnceLock::new();

/// Sets the commit from which this program was built, for the manifests that it writes. The first
/// call counts.
pub fn built_from(commit: &'static str) {
    let _ = COMMIT.set(commit);
}

/// The commit from which this program was built; empty if unknown.
pub fn commit() -> String {
    COMMIT.get().copied().unwrap_or_default().to_owned()
}

/// Processes of versions that did not say.
fn one() -> u32 {
    1
}

/// All about a run but its tables.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of xoff.
    pub xoff_version: String,
    /// Commit that it was built from; empty: unknown.
    #[serde(default)]
    pub xoff_commit: String,
    /// Fingerprint of the sources that decide results, 16 hexadecimal digits. Two programs with the
    /// same fingerprint compute the same results. Empty: an earlier version.
    #[serde(default)]
    pub fingerprint: String,
    /// Version of the format of the folder, as in the metadata of its tables; 0: an earlier
    /// version.
    #[serde(default)]
    pub schema_version: u32,
    /// Text of the scenario.
    pub scenario: String,
    /// Folder of the files that the scenario names.
    #[serde(default)]
    pub scenario_folder: String,
    /// Digest of network, flows and operations of jobs, including files that the scenario names. A
    /// repeated run must have the same digest. Empty: an earlier version.
    #[serde(default)]
    pub inputs_digest: String,
    /// Every parameter as resolved.
    pub parameters: Vec<Parameter>,
    /// Seed of the run.
    pub seed: u64,
    /// Threads used, in each process; never changes a result.
    pub threads: u32,
    /// Processes that shared the network; never changes a result.
    #[serde(default = "one")]
    pub processes: u32,
    /// Order in which events were handled: `windows` (node after node, window by window) or
    /// `events` (in one order over all nodes); never changes a result. Empty: a version that did
    /// not say, or a scheduled fabric.
    #[serde(default)]
    pub engine: String,
    /// Reason why not window by window; null: it was, or nothing said so.
    #[serde(default)]
    pub engine_because: Option<String>,
    /// Result of fast-forward.
    #[serde(default)]
    pub fast_forward: FastForward,
    /// Hash of the results, 32 hexadecimal digits; independent of wall-clock times.
    pub result_hash: String,
    /// Start of the run, as text for people.
    pub started: String,
    /// Time it took on the clock [s].
    pub wall_seconds: f64,
    /// Time it took on the processors [s].
    pub cpu_seconds: f64,
    /// Simulated time at which the run ended [s]: of its last flow or rank of a job where those
    /// ended it, else of the last event, or `run.duration`. No row of a table is later.
    pub simulated_seconds: f64,
    /// Events that the engine processed. It depends on the engine and on skipped periods, and is
    /// not part of the result hash.
    pub events: u64,
    /// Frames that crossed a link, counted per link.
    pub frame_hops: u64,
    /// Data frames among them.
    pub data_frame_hops: u64,
    /// Frames dropped by nodes; among `lost_frames`.
    pub dropped_frames: u64,
    /// All frames that did not arrive: dropped by nodes, lost between them, or refused.
    #[serde(default)]
    pub lost_frames: u64,
    /// Frames of flows that arrived at their destination.
    #[serde(default)]
    pub delivered_frames: u64,
    /// Frames that flow control treated as those of another flow, because it tells flows apart by a
    /// hash.
    #[serde(default)]
    pub flow_collisions: u64,
    /// Flows that are complete.
    pub flows_completed: u64,
    /// Flows that started; of a job all messages, those too that it never sent.
    pub flows_total: u64,
    /// Ports of the first deadlock's cycle, each waiting for the next; null: no deadlock.
    pub deadlock: Option<Vec<String>>,
    /// Reason for the end of the run.
    pub ended_because: String,
    /// Active mechanisms and their effects, one sentence each.
    pub active: Vec<String>,
    /// Mechanisms that were configured and never triggered, one sentence each.
    pub inactive: Vec<String>,
    /// Warnings, one sentence each.
    pub warnings: Vec<String>,
    /// The user stopped the run; the tables have the results up to that time.
    pub interrupted: bool,
    /// Slowdown of the flows, unfinished ones counted; null: no flow has a size and a route.
    #[serde(default)]
    pub slowdown: Option<Slowdown>,
    /// Balance of load over uplinks; absent: no switch has ports that are alternatives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balance: Option<LoadBalance>,
    /// Outcomes of the jobs, in the order of the scenario; absent: the scenario has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobAnswer>,
    /// Totals of a scheduled fabric; absent: a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricTotals>,
    /// Outcome of the run; null only in manifests of earlier versions.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The files of the results next to it; empty: an earlier version, or a run without files.
    #[serde(default)]
    pub files: Vec<ResultFile>,
}

impl Manifest {
    /// Manifest with this verdict, and with everything that follows from it.
    #[must_use]
    pub fn judged(self, verdict: Verdict) -> Manifest {
        let p = verdict.parts();
        let deadlock = if let Deadlock::Found { ports, .. } = &p.deadlock {
            Some(ports.clone())
        } else {
            None
        };
        let (dropped_frames, lost_frames) = (p.losses.of_fate(Fate::Dropped), p.losses.total());
        Manifest {
            dropped_frames,
            lost_frames,
            deadlock,
            interrupted: p.interrupted,
            verdict: Some(verdict),
            ..self
        }
    }

    /// Writes `manifest.json` into the folder as the last file, and puts the others in place.
    pub fn write(&self, folder: &Folder) -> Result<PathBuf, RecordError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| RecordError::new("write", &folder.path().join(MANIFEST), e))?;
        Ok(folder.commit(MANIFEST, (text + "\n").as_bytes())?)
    }

    /// Reads the manifest of the run in `dir`, if the files that it lists are there.
    pub fn read(dir: &Path) -> Result<Manifest, RecordError> {
        let path = dir.join(MANIFEST);
        serde_json::from_str(&text(dir)?).map_err(|e| RecordError::new("read", &path, e))
    }
}

/// A part of the manifest that every version has in common.
#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    files: Vec<ResultFile>,
}

/// The manifest of the run in `dir` as it stands there, if the files that it lists are there: never
/// those of two runs.
pub fn text(dir: &Path) -> Result<String, RecordError> {
    // A manifest repeats its scenario, whose reader takes 16 MB, and every parameter of it.
    const SIZE_MAX: u64 = 256 << 20;
    let path = dir.join(MANIFEST);
    let meta = fs::metadata(&path).map_err(|e| absent(dir, &path, &e))?;
    if !meta.is_file() || meta.len() > SIZE_MAX {
        let what = if meta.is_file() {
            format!("it has {} bytes; expected at most {SIZE_MAX}", meta.len())
        } else {
            "not a regular file".into()
        };
        return Err(RecordError::new("read", &path, what));
    }
    let text = fs::read_to_string(&path).map_err(|e| absent(dir, &path, &e))?;
    let listed: Listed =
        serde_json::from_str(&text).map_err(|e| RecordError::new("read", &path, e))?;
    for file in &listed.files {
        let at = dir.join(&file.name);
        let found = match fs::metadata(&at) {
            Ok(m) if m.len() == file.bytes => continue,
            Err(e) if e.kind() == io::ErrorKind::NotFound && file.name == PAGE => continue,
            Ok(m) => format!("it has {} bytes", m.len()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => "the file is missing".into(),
            Err(e) => e.to_string(),
        };
        let mut e = RecordError::new(
            "read",
            &at,
            format!("{found}, and {MANIFEST} lists it with {} bytes", file.bytes),
        );
        e.hint = match holder(dir) {
            Some(what) => format!("{what}; run it again"),
            None => "the folder changed after the run: repeat the run".into(),
        };
        return Err(e);
    }
    Ok(text)
}

/// Reason why there is no manifest to read.
fn absent(dir: &Path, path: &Path, e: &io::Error) -> RecordError {
    let mut error = RecordError::new("read", path, e);
    if e.kind() == io::ErrorKind::NotFound {
        (error.cause, error.hint) = match holder(dir) {
            Some(what) => (
                format!("the folder has no complete results: {what}"),
                "wait until the run ends, or repeat it".into(),
            ),
            None if dir.exists() => (
                "the folder does not contain a run".into(),
                "expected a folder that a run wrote".into(),
            ),
            None => (e.to_string(), "no such folder; check the path".into()),
        };
    }
    error
}
