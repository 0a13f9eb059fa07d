//! One run of a sweep, and its stored result.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::sweep::plan::Plan;
use crate::sweep::scenario::hash;
use crate::sweep::work::{Done, Measured, Ran};
use crate::sweep::{Setting, Value};

/// One run: a combination of values, and a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Number in the plan, from 0.
    pub index: usize,
    /// Values by parameter, in the order of the plan's parameters; `None`: a listed point does not
    /// name the parameter.
    pub settings: Vec<(String, Option<Setting>)>,
    /// The values that hold for every run.
    pub set: Arc<[(String, Setting)]>,
    /// Seed.
    pub seed: u64,
    /// Hash of all that decides its result, 32 hexadecimal digits.
    pub key: String,
}

impl Cell {
    /// The run, with its key.
    pub(crate) fn of(
        plan: &Plan,
        index: usize,
        settings: Vec<(String, Option<Setting>)>,
        seed: u64,
    ) -> Cell {
        let set = plan.set.clone();
        let fixed: Vec<(&str, &str)> =
            set.iter().map(|(name, s)| (name.as_str(), s.toml.as_str())).collect();
        let own: Vec<(&str, &str)> = settings
            .iter()
            .filter_map(|(n, s)| Some((n.as_str(), s.as_ref()?.toml.as_str())))
            .collect();
        // A number of the form: it changes with the stored fields.
        let all = (1, xoff_run::ENGINE, plan.basis(), fixed, own, seed);
        let text = serde_json::to_string(&all).expect("texts and numbers");
        let key = format!("{:032x}", xxh3_128(text.as_bytes()));
        Cell { index, settings, set, seed, key }
    }

    /// The value of a parameter, or of a setting for every run.
    pub fn value(&self, parameter: &str) -> &Value {
        self.all().find(|(name, _)| *name == parameter).map_or(&Value::Null, |(_, s)| &s.value)
    }

    /// All of its settings, those for every run first.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Setting)> {
        let own = self.settings.iter().filter_map(|(name, s)| Some((name.as_str(), s.as_ref()?)));
        self.set.iter().map(|(name, s)| (name.as_str(), s)).chain(own)
    }

    /// Values in words: `flow_control=pfc, seed=3`.
    pub fn words(&self) -> String {
        let named =
            self.settings.iter().filter_map(|(n, s)| Some(format!("{n}={}", s.as_ref()?.value)));
        named.chain([format!("seed={}", self.seed)]).collect::<Vec<_>>().join(", ")
    }
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RunStatus")]
pub enum Status {
    /// Finished with a result.
    Done,
    /// Failed.
    Failed,
}

/// Stored result of a run, in a separate file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    /// The key of the run.
    pub key: String,
    /// The version that ran it.
    pub xoff_version: String,
    /// The run in words, for people.
    pub cell: String,
    /// State at the end.
    pub status: Status,
    /// Reason of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Time that it took [s]. It is in no table.
    pub wall_seconds: f64,
    /// Names of the stored tables, with the hash of their bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<(String, String)>,
    /// Measured values.
    #[serde(flatten)]
    pub measured: Measured,
}

/// Between the text of a kept run and its hash.
const HASH: &str = ",\"hash\":\"";

impl Shard {
    /// The value of a column.
    pub fn value(&self, column: &str) -> &Value {
        self.measured
            .values
            .iter()
            .find(|(name, _)| name == column)
            .map_or(&Value::Null, |(_, v)| v)
    }

    /// As text.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("a shard is plain data") + "\n"
    }

    /// As the text of its file, which ends with a hash of all before.
    pub(crate) fn file(&self) -> String {
        let text = self.text();
        let open = text.trim_end().strip_suffix('}').expect("a shard is an object");
        format!("{open}{HASH}{}\"}}\n", hash(open.as_bytes()))
    }

    /// From the bytes of its file; `None`: they are not as they were written.
    pub(crate) fn read(file: &[u8]) -> Option<Shard> {
        let text = std::str::from_utf8(file).ok()?;
        let (open, sum) = text.rsplit_once(HASH)?;
        (sum.strip_suffix("\"}\n")? == hash(open.as_bytes()))
            .then(|| serde_json::from_str(text).ok())?
    }
}

/// Tables by name, as the bytes of their files.
pub type Tables = Vec<(String, Vec<u8>)>;

impl Plan {
    /// Executes a run: its stored result, and its tables. `None`: it was stopped.
    pub fn run(
        &self,
        cell: &Cell,
        stop: &(dyn Fn() -> bool + Sync),
        run: Option<&mut Option<Ran>>,
    ) -> Option<(Shard, Tables)> {
        let begun = std::time::Instant::now();
        // A defect of xoff in one run does not take the others with it.
        let work = std::panic::AssertUnwindSafe(|| self.work().run(cell, stop, run));
        let done = std::panic::catch_unwind(work).unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or(panic.downcast_ref::<&str>().copied());
            Done::Failed(format!("a mistake in xoff: {}", text.unwrap_or("it panicked")))
        });
        let (status, error, measured, tables) = match done {
            Done::Measured(measured, tables) => (Status::Done, None, measured, tables),
            Done::Failed(why) => (Status::Failed, Some(why), Measured::default(), Vec::new()),
            Done::Stopped => return None,
        };
        let shard = Shard {
            key: cell.key.clone(),
            xoff_version: xoff_run::VERSION.into(),
            cell: cell.words(),
            status,
            error,
            wall_seconds: begun.elapsed().as_secs_f64(),
            tables: Vec::new(),
            measured,
        };
        Some((shard, tables))
    }
}
