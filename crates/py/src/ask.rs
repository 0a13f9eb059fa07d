//! Other subcommands: their answer as JSON, from which the package makes its objects.
//!
//! ```text
//!   xoff.check(...) -- a thread of the package --> _core.ask(["xoff", "check", ...], caller)
//!        every 50 ms: signals, caller.step(), caller.stop()
//! ```

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::errors::{Failure, Fields, fields};

/// A caller of a subcommand, which another thread may ask and stop.
#[pyclass(frozen)]
pub struct Caller(Arc<xoff::Caller>);

#[pymethods]
impl Caller {
    /// `scenario`: text and folder of a run that is in memory only.
    #[new]
    #[pyo3(signature = (scenario = None))]
    fn new(scenario: Option<(String, PathBuf)>) -> Caller {
        Caller(xoff::Caller::new(scenario))
    }
    /// The work is to stop.
    fn stop(&self) {
        self.0.stop();
    }
    /// Progress of the work: part done, 0 to 1, and the present activity.
    fn step(&self) -> (f64, String) {
        let step = self.0.step();
        (step.done, step.what)
    }
    /// The warnings since the last call.
    fn warnings(&self) -> Vec<Fields> {
        self.0.warnings().iter().map(fields).collect()
    }
}

/// The answer of a subcommand: text, JSON and exit code. It runs on this thread, without the GIL.
#[pyfunction]
pub fn ask(py: Python<'_>, args: Vec<OsString>, caller: &Caller) -> PyResult<(String, String, u8)> {
    let failed = |p| if caller.0.output_failed() { Failure::Results(p) } else { Failure::Input(p) };
    let given = py.detach(|| xoff::ask(args, &caller.0)).map_err(failed)?;
    Ok((given.text, given.json, given.exit))
}
