//! A plan for another process: all that a worker needs besides the program, as one text.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xoff_scenario::{Problem, Problems, Source};

use crate::sweep::Plan;
use crate::sweep::work::Input;

/// A plan with its scenario. Workers read no files but those that the scenario names itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frozen {
    version: String,
    /// Name and text of the plan.
    plan: (String, String),
    /// Name and text of the scenario, and where it looks up files.
    scenario: (String, String, PathBuf),
    inputs: Vec<Input>,
    /// Further text of the caller in the basis.
    more: String,
}

impl Plan {
    /// The plan for another process. `more` is the argument of [`Plan::add_basis`].
    pub fn freeze(&self, more: &str) -> String {
        let work = self.work();
        // A worker has another present folder.
        let absolute =
            |p: &Path| std::path::absolute(Path::new(".").join(p)).unwrap_or_else(|_| p.to_owned());
        let frozen = Frozen {
            version: xoff_run::ENGINE.into(),
            plan: (self.source.name().into(), self.source.text().into()),
            scenario: (
                work.source.name().into(),
                work.source.text().into(),
                absolute(&work.folder),
            ),
            inputs: work
                .inputs
                .iter()
                .map(|i| Input { path: absolute(&i.path), hash: i.hash.clone() })
                .collect(),
            more: more.into(),
        };
        serde_json::to_string(&frozen).expect("texts")
    }

    /// The plan out of the text of [`Plan::freeze`].
    ///
    /// # Errors
    /// A text of another version of the program.
    pub fn thaw(text: &str) -> Result<Plan, Problems> {
        let refused = |what: String| {
            Problems::from(Problem::new(what, "install the same build of xoff on every machine"))
        };
        let frozen: Frozen = serde_json::from_str(text)
            .map_err(|e| refused(format!("the plan cannot be read: {e}")))?;
        if frozen.version != xoff_run::ENGINE {
            return Err(refused(format!(
                "the plan is from xoff {}, this worker has {}",
                frozen.version,
                xoff_run::ENGINE
            )));
        }
        let (name, text, folder) = frozen.scenario;
        let given = Some((Source::file(name, text), folder, frozen.inputs));
        let mut plan =
            Plan::read(Source::file(frozen.plan.0, frozen.plan.1), Path::new(""), given)?;
        if !frozen.more.is_empty() {
            plan.add_basis(&frozen.more);
        }
        Ok(plan)
    }
}
