//! Record of finished work, in a folder: a farm that is stopped continues from it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use xoff_record::output::{Folder, OutputError};

/// File of the ledger.
const LEDGER: &str = "ledger.json";

/// Finished work with one family or one reader.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Cases from 0 to this one are done.
    pub cases: u64,
    /// Inputs rejected as bad.
    pub refused: u64,
    /// Inputs that failed.
    pub failed: u64,
    /// Time that they took together, all cores [s].
    pub seconds: f64,
    /// Edges of the program that they have reached, where that is counted.
    #[serde(default)]
    pub edges: u64,
}

/// Everything that has been done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// The version that did the work; another version starts over.
    pub xoff_version: String,
    /// By name.
    pub done: BTreeMap<String, Done>,
}

/// The folder of a farm.
pub struct Farm {
    folder: Folder,
    /// Ledger.
    pub ledger: Ledger,
}

impl Farm {
    /// Claims the folder, with earlier work of the same version there.
    ///
    /// # Errors
    /// A folder that holds something else, or that another process writes.
    pub fn open(path: &Path, version: &str) -> Result<Farm, OutputError> {
        let before = std::fs::read_to_string(path.join(LEDGER))
            .ok()
            .and_then(|t| serde_json::from_str::<Ledger>(&t).ok());
        let folder = Folder::claim(path, "farm", false)?;
        let ledger = before.filter(|l| l.xoff_version == version).unwrap_or_default();
        Ok(Farm { folder, ledger: Ledger { xoff_version: version.into(), ..ledger } })
    }

    /// Writes the ledger down.
    ///
    /// # Errors
    /// A full disk, and other reasons of the operating system.
    pub fn keep(&self) -> Result<(), OutputError> {
        let text = serde_json::to_string_pretty(&self.ledger).unwrap_or_default();
        self.folder.write(LEDGER, (text + "\n").as_bytes()).map(drop)
    }

    /// Keeps a failure.
    ///
    /// # Errors
    /// As [`Farm::keep`].
    pub fn failed(&self, name: &str, bytes: &[u8]) -> Result<std::path::PathBuf, OutputError> {
        self.folder.write(name, bytes)
    }
}
