//! A run that is continued from a time with other settings, such as a link that fails there.
//!
//! It is the run of the scenario with these settings from its start. Only such settings may change
//! that change nothing before the time, so that a checkpoint of the other run before it is one of
//! this run too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use xoff_net::workload::Flow;
use xoff_record::{Folder, Format, Manifest, Sink};
use xoff_scenario::document::Override;
use xoff_scenario::{Problem, Problems};
use xoff_sim::classes_in_use;
use xoff_units::{NodeId, Time};

use super::go_on::{Saved, newest};
use super::{FOLDER, is_finished};
use crate::manifest::RunError;
use crate::network::NetworkScenario;
use crate::network::execute::Running;

/// Keys that may change in the middle of a run; those in brackets are about entries after the time.
const MAY_CHANGE: [&str; 4] = ["run.title", "run.duration", "run.checkpoint", "run.fast_forward"];
const LISTS: [&str; 3] = ["failure", "flow", "workload"];
const HINT: &str = "a fork may change failures, flows and workloads that start later, run.duration, run.title, run.checkpoint and \
                    run.fast_forward; for other changes, run the scenario from its start";

/// A run that continues another one from a time.
pub struct Fork {
    at: Time,
    scenario: NetworkScenario,
    saved: Option<Saved>,
    /// Reasons not to start at an existing checkpoint.
    notes: Vec<String>,
}

impl Fork {
    /// Fork of the run in a folder.
    ///
    /// # Errors
    /// There is no run, it never reached that time, or a setting cannot change then; each with the
    /// reason.
    pub fn of(root: &Path, at: Time, settings: &[Override]) -> Result<Fork, Problems> {
        let base = Base::of(root)?;
        if at > base.reached {
            let what = format!(
                "the run in {} never reached {at}: {} at {}",
                root.display(),
                base.stopped,
                base.reached
            );
            return Err(Problem::new(what, "choose an earlier time").into());
        }
        let name = root.join(crate::RESOLVED).display().to_string();
        let before = NetworkScenario::from_text(&name, &base.resolved, &[], &base.folder)?;
        if base.digest.as_ref().is_some_and(|d| *d != before.inputs_digest()) {
            let what = format!(
                "input files of the scenario in {} have changed since the run",
                root.display()
            );
            return Err(Problem::new(what, "restore the files, or run the scenario again").into());
        }
        let mut scenario =
            NetworkScenario::from_text(&name, &base.resolved, settings, &base.folder)?;
        refuse(&before, &scenario, at, settings)?;
        let (mut saved, mut notes) = (None, Vec::new());
        // Strictly before: events at the very time have not happened.
        match Saved::before(root, Time(at.0.saturating_sub(1))) {
            Ok(Some(s)) if s.resolved().0 == base.resolved => {
                notes.extend(s.passed_over().iter().cloned());
                scenario.engine = s.engine();
                saved = Some(s);
            }
            Ok(_) => {}
            Err(e) => {
                notes.push(format!("{}; the fork starts at 0 instead", e.place_and_message()))
            }
        }
        Ok(Fork { at, scenario, saved, notes })
    }

    /// The scenario with its settings.
    pub fn read(&self) -> &NetworkScenario {
        &self.scenario
    }

    /// True if it begins at a checkpoint, with the threads and the engine of the checkpoint.
    pub fn begins_at_a_checkpoint(&self) -> bool {
        self.saved.is_some()
    }

    /// The scenario with its settings, to choose how it is run.
    pub fn scenario(&mut self) -> &mut NetworkScenario {
        &mut self.scenario
    }

    /// Notes for the user about the starting point.
    pub fn notes(&self) -> Vec<String> {
        let begins = match &self.saved {
            Some(s) => format!("the fork continues from the checkpoint at {}", s.time()),
            None => format!("there is no checkpoint before {}: the fork starts at 0", self.at),
        };
        self.notes.iter().cloned().chain([begins]).collect()
    }

    /// Puts it in motion, its results in a folder of their own.
    ///
    /// # Errors
    /// The network cannot be built, or a table cannot be written.
    pub fn start(
        &self,
        folder: Folder,
        format: &'static Format,
        threads: Option<usize>,
    ) -> Result<Running<'_>, Problems> {
        if let Some(saved) = &self.saved {
            // Other flows may share the network out otherwise; the run is the same from its start.
            match saved.fork(&self.scenario, folder.clone(), format) {
                Ok(running) => return Ok(running),
                Err(problems) if self.is_like(saved) => return Err(problems),
                Err(_) => {}
            }
        }
        self.scenario.start(Sink::Files(folder, format), threads).map_err(|e| match e {
            RunError::Build(e) => Problem::new(format!("{}: {}", e.key, e.what), e.hint).into(),
            RunError::Record(e) => Problem::new(e.to_string(), e.hint).into(),
        })
    }

    /// True if its flows are those of the run.
    fn is_like(&self, saved: &Saved) -> bool {
        saved.digest() == self.scenario.digest()
    }
}

/// The run that is continued.
struct Base {
    resolved: String,
    folder: PathBuf,
    /// Digest of its inputs; `None`: a version without a digest, or another one.
    digest: Option<String>,
    reached: Time,
    /// Reason for the end of the search.
    stopped: &'static str,
}

impl Base {
    fn of(root: &Path) -> Result<Base, Problems> {
        let unfinished =
            newest(&root.join(FOLDER)).filter(|(_, header)| !is_finished(root, header));
        let manifest = Manifest::read(root);
        match (unfinished, manifest) {
            // An interrupted run has a manifest, which is that of its last checkpoint.
            (Some((_, h)), m) if !m.as_ref().is_ok_and(|m| m.started == h.started) => Ok(Base {
                reached: Time(h.time_ps),
                resolved: h.resolved,
                folder: h.given.folder,
                digest: Some(format!("{:016x}", h.digest)),
                stopped: "it was interrupted, and its last checkpoint is",
            }),
            (_, Ok(m)) => {
                let owner = xoff_record::owner(root).unwrap_or_default();
                if !owner.is_empty() && owner != "run" {
                    let what = format!("{} contains results of xoff {owner}", root.display());
                    return Err(Problem::new(what, "name a folder that xoff run wrote").into());
                }
                Ok(Base {
                    reached: Time((m.simulated_seconds * 1e12).round() as u64),
                    stopped: "it ended",
                    folder: m.scenario_folder.into(),
                    digest: Some(m.inputs_digest)
                        .filter(|d| !d.is_empty() && m.xoff_version == crate::VERSION),
                    resolved: m.scenario,
                })
            }
            (_, Err(e)) => Err(Problem::new(e.to_string(), e.hint).into()),
        }
    }
}

/// Refuses settings that change something before the time.
fn refuse(
    before: &NetworkScenario,
    now: &NetworkScenario,
    at: Time,
    settings: &[Override],
) -> Result<(), Problems> {
    let mut problems = Problems::default();
    let mut refuse = |key: &str, what: String| {
        let of = |s: &&Override| {
            key == s.path()
                || key.starts_with(&format!("{}.", s.path()))
                || key == without_kind(s.path())
        };
        let problem = Problem::new(what, HINT);
        problems.push(match settings.iter().rfind(of) {
            Some(s) => problem.at(s.place()),
            None => problem,
        });
    };
    let values = |s: &NetworkScenario| {
        s.parameters.iter().map(|p| (p.path.clone(), p.value.clone())).collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (values(before), values(now));
    let changed = |key: &&String| old.get(*key) != new.get(*key);
    let keys: Vec<&String> =
        old.keys().chain(new.keys().filter(|k| !old.contains_key(*k))).filter(changed).collect();
    for key in keys {
        let list = key.split(['[', '.']).next().unwrap_or_default();
        if !MAY_CHANGE.contains(&key.as_str()) && !LISTS.contains(&list) {
            refuse(
                key,
                format!(
                    "{key} cannot change at {at}: queued frames and frames in flight depend on the old value"
                ),
            );
        }
    }
    if now.until <= at {
        refuse("run.duration", format!("run.duration ends the run before {at}"));
    }
    if failures(before, at) != failures(now, at) {
        refuse("failure", format!("the settings change a failure before {at}"));
    }
    let (old, new) = (flows(before), flows(now));
    if old != new {
        if !before.flows.loops.is_empty()
            || before.flows.jobs.is_some()
            || !now.flows.loops.is_empty()
            || now.flows.jobs.is_some()
        {
            refuse(
                "flow",
                "flows cannot change in the middle of a run with closed loops or jobs".into(),
            );
        } else if begun(&old, at) != begun(&new, at) {
            refuse("flow", format!("the settings change a flow that starts before {at}"));
        }
        let classes = |s: &NetworkScenario| {
            let all = classes_in_use(&s.flows, s.model.nic.acks.class, s.model.unpaused);
            all.priorities().to_vec()
        };
        if classes(before) != classes(now) {
            refuse(
                "flow",
                format!(
                    "the settings change the priorities in use: at {at}, switches have no queues for the new ones"
                ),
            );
        }
    }
    problems.or(())
}

/// The key of `[section.kind]` where it is read: `watchdog.detect` for `watchdog.duration.detect`.
fn without_kind(path: &str) -> String {
    let around =
        path.rsplit_once('.').and_then(|(around, name)| Some((around.rsplit_once('.')?.0, name)));
    around.map_or(String::new(), |(section, name)| format!("{section}.{name}"))
}

/// Links that fail before a time.
fn failures(s: &NetworkScenario, at: Time) -> Vec<(Time, u32)> {
    let mut all: Vec<_> =
        s.model.faults.failures.iter().map(|f| (f.at, f.link)).filter(|f| f.0 < at).collect();
    all.sort_unstable();
    all
}

/// Path of a flow: node and port of each hop.
type Hops<'s> = &'s [(NodeId, u16)];

/// Flows in the order of a run, each with its path.
fn flows(s: &NetworkScenario) -> Vec<(&Flow, Option<Hops<'_>>)> {
    let mut all: Vec<&Flow> = s.flows.flows.iter().collect();
    all.sort_by_key(|f| f.start);
    all.into_iter().map(|f| (f, f.path.map(|p| s.flows.paths.hops(p)))).collect()
}

/// Flows that begin before a time.
fn begun<'f, P>(flows: &'f [(&'f Flow, P)], at: Time) -> &'f [(&'f Flow, P)] {
    &flows[..flows.partition_point(|(f, _)| f.start < at)]
}
