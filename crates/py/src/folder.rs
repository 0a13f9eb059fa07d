//! A folder of results that Python code writes: claimed, recorded and protected as those of the
//! subcommands.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::Failure;

/// A claimed folder; no other process can write it until it is released.
#[pyclass(frozen)]
pub struct Folder(Mutex<Option<xoff_record::output::Folder>>);

impl Folder {
    fn claimed(&self) -> PyResult<xoff_record::output::Folder> {
        let claimed = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        claimed.ok_or_else(|| PyValueError::new_err("the folder is released"))
    }
}

#[pymethods]
impl Folder {
    /// Claims the folder for `command`, such as `reproduce gfc`. `force`: results of another
    /// command may be replaced.
    #[new]
    fn new(path: PathBuf, command: &str, force: bool) -> PyResult<Folder> {
        let folder =
            xoff_record::output::Folder::claim(&path, command, force).map_err(Failure::from)?;
        Ok(Folder(Mutex::new(Some(folder))))
    }
    /// Notes that something else writes `name`, which ends in `/` for a folder.
    fn own(&self, name: &str) -> PyResult<PathBuf> {
        Ok(self.claimed()?.own(name).map_err(Failure::from)?)
    }
    /// Writes a whole file at once. `name` may be below folders: `figures/fig05.svg`.
    fn write(&self, py: Python<'_>, name: &str, content: &[u8]) -> PyResult<PathBuf> {
        let folder = self.claimed()?;
        let written = py.detach(|| {
            let (above, file) = name.rsplit_once('/').unwrap_or(("", name));
            let place = above
                .split('/')
                .filter(|part| !part.is_empty())
                .try_fold(folder, |at, part| at.sub(part))?;
            place.write(file, content)
        });
        Ok(written.map_err(Failure::from)?)
    }
    /// Another process may write it from now on.
    fn release(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
