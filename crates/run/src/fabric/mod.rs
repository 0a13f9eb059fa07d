//! A scenario of a scheduled fabric as a run.
//!
//! ```text
//!   scenario.toml with [scheduled_fabric] --load--> FabricScenario --run--> FabricFinished (report, tables, manifest)
//! ```

mod execute;
mod jobs;
mod read;
pub(crate) mod sections;
mod waits;
mod workload;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use xoff_scenario::document::{Document, Override};
use xoff_scenario::{Problems, Source};
use xoff_sim::scheduled::Config;

pub use execute::{FabricFinished, FabricRunning};
pub(crate) use read::read;

/// A fabric that can run.
#[derive(Debug)]
pub struct FabricScenario {
    /// Description in one line.
    pub title: String,
    /// Folder of the scenario file; empty: a text without a folder.
    pub folder: PathBuf,
    /// The fabric and its workload.
    pub config: Config,
    /// Time on the clock between two checkpoints; `None`: none are written.
    pub checkpoint: Option<Duration>,
    /// The file, and the settings laid over it.
    pub(crate) source: Arc<Source>,
    pub(crate) settings: Vec<Override>,
    /// Everything resolved, as a document that gives the same run.
    pub resolved: String,
    /// Every parameter with its origin.
    pub parameters: Vec<xoff_record::Parameter>,
    /// Warnings for the user, each with its place.
    pub warnings: Problems,
}

impl FabricScenario {
    /// Reads a file; `settings` replace or add values.
    ///
    /// # Errors
    /// Everything wrong with it, each with its place.
    pub fn load(path: &Path, settings: &[Override]) -> Result<FabricScenario, Problems> {
        read(Document::load(path, settings)?, path.parent().unwrap_or(Path::new("")))
    }

    /// From a text; `name` appears in messages, files are looked up in `folder`.
    ///
    /// # Errors
    /// Everything wrong with it, each with its place.
    pub fn from_text(
        name: &str,
        text: &str,
        settings: &[Override],
        folder: &Path,
    ) -> Result<FabricScenario, Problems> {
        read(Document::from_text(name, text, settings)?, folder)
    }
}
