//! What is wrong, as Python exceptions with the text of the command line.

use pyo3::prelude::*;
use xoff_record::OutputError;
use xoff_run::RunError;
use xoff_scenario::Problems;

mod python {
    pyo3::import_exception!(xoff._errors, ScenarioError);
    pyo3::import_exception!(xoff._errors, ScenarioNotFoundError);
    pyo3::import_exception!(xoff._errors, RunError);
}

/// Why there is no run; made without the GIL.
pub enum Failure {
    /// The scenario file does not exist.
    NotFound(Problems),
    /// The scenario or a setting is wrong.
    Input(Problems),
    /// It cannot be built or recorded.
    Run(RunError),
}

impl From<OutputError> for Failure {
    fn from(e: OutputError) -> Failure {
        Failure::Run(RunError::Record(e.into()))
    }
}

impl From<Failure> for PyErr {
    fn from(f: Failure) -> PyErr {
        match f {
            Failure::NotFound(p) => python::ScenarioNotFoundError::new_err(p.to_string()),
            Failure::Input(p) => python::ScenarioError::new_err(p.to_string()),
            // The document was right; its values do not go together.
            Failure::Run(RunError::Build(e)) => python::ScenarioError::new_err(e.to_string()),
            Failure::Run(RunError::Record(e)) if !e.hint.is_empty() => python::RunError::new_err(format!("{e} ({})", e.hint)),
            Failure::Run(e @ RunError::Record(_)) => python::RunError::new_err(e.to_string()),
        }
    }
}
