//! A scenario file of either kind, parsed once: the parsed document chooses the kind, and a pipe
//! cannot be read again.

use std::path::Path;

use xoff_scenario::Problems;
use xoff_scenario::document::{Document, Override};

use crate::fabric::{self, FabricScenario};
use crate::network::{self, NetworkScenario};

/// Contents of a scenario file.
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
        Scenario::of(Document::load(path, settings)?, path.parent().unwrap_or(Path::new("")))
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
    ) -> Result<Scenario, Problems> {
        Scenario::of(Document::from_text(name, text, settings)?, folder)
    }

    fn of(doc: Document, folder: &Path) -> Result<Scenario, Problems> {
        if doc.has(&fabric::sections::fabric()) {
            return fabric::read(doc, folder).map(|s| Scenario::Fabric(Box::new(s)));
        }
        network::read(doc, folder).map(|s| Scenario::Network(Box::new(s)))
    }
}
