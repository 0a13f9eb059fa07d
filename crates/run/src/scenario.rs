//! A scenario file of either kind, parsed once: the parsed document chooses the kind, and a pipe cannot be read again.

use std::path::Path;

use xoff_scenario::Problems;
use xoff_scenario::document::{Document, Override};

use crate::fabric::{self, FabricScenario};
use crate::network::{self, NetworkScenario};

/// What a scenario file describes.
pub enum Scenario {
    /// A network of switches and hosts.
    Network(Box<NetworkScenario>),
    /// A scheduled fabric.
    Fabric(Box<FabricScenario>),
}

impl Scenario {
    /// Reads a file; `settings` replace or add values.
    ///
    /// # Errors
    /// Everything wrong with it, each with its place.
    pub fn load(path: &Path, settings: &[Override]) -> Result<Scenario, Problems> {
        let doc = Document::load(path, settings)?;
        if doc.has(&fabric::sections::fabric()) {
            return fabric::read(doc).map(|s| Scenario::Fabric(Box::new(s)));
        }
        network::read(doc, path.parent().unwrap_or(Path::new(""))).map(|s| Scenario::Network(Box::new(s)))
    }
}
