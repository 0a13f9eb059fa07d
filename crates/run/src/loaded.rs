//! A scenario file of either kind, read once: a pipe can be read no second time.

use std::path::Path;

use xoff_scenario::Problems;
use xoff_scenario::document::{Document, Override};

use crate::fabric::{self, FabricScenario};
use crate::load::{self, Scenario};

/// What a scenario file describes.
pub enum Loaded {
    /// A network of switches and hosts.
    Network(Box<Scenario>),
    /// A scheduled fabric.
    Fabric(Box<FabricScenario>),
}

impl Loaded {
    /// Reads a file; `settings` replace or add values.
    ///
    /// # Errors
    /// Everything wrong with it, each with its place.
    pub fn load(path: &Path, settings: &[Override]) -> Result<Loaded, Problems> {
        let doc = Document::load(path, settings)?;
        if doc.has(&fabric::sections::fabric()) {
            return fabric::read(doc).map(|s| Loaded::Fabric(Box::new(s)));
        }
        load::read(doc, path.parent().unwrap_or(Path::new(""))).map(|s| Loaded::Network(Box::new(s)))
    }
}
