//! Errors as Python exceptions, with the text of the command line and the place of each problem.

use pyo3::prelude::*;
use xoff_lab::sweep::SweepError;
use xoff_record::OutputError;
use xoff_run::RunError;
use xoff_scenario::{Problem, Problems};
use xoff_units::params::ParamError;

mod python {
    pyo3::import_exception!(xoff._errors, ScenarioError);
    pyo3::import_exception!(xoff._errors, ScenarioNotFoundError);
    pyo3::import_exception!(xoff._errors, RunError);
}

/// Reason why there is no run; made without the GIL.
pub enum Failure {
    /// The scenario file does not exist.
    NotFound(Problems),
    /// The scenario or a setting is wrong.
    Input(Problems),
    /// Files or folders of results cannot be written or read.
    Results(Problems),
    /// Error while it is built or recorded.
    Run(RunError),
    /// A folder that is rejected, a file that cannot be written.
    Output(OutputError),
    /// A law written in Python raised this.
    Raised(PyErr),
}

impl From<SweepError> for Failure {
    fn from(e: SweepError) -> Failure {
        match e {
            SweepError::Plan(problems) => Failure::Input(problems),
            SweepError::Output(e) => Failure::Output(e),
        }
    }
}

impl From<OutputError> for Failure {
    fn from(e: OutputError) -> Failure {
        Failure::Run(RunError::Record(e.into()))
    }
}

/// A problem as `xoff.Problem` takes it: message, hint, file, line, column, setting. A place is in
/// a file, or it is a setting.
pub type Fields = (String, String, Option<String>, Option<usize>, Option<usize>, Option<String>);

/// Fields.
pub fn fields(p: &Problem) -> Fields {
    let (message, hint) = (p.message.clone(), p.hint.clone());
    match &p.place {
        Some(place) if place.source.is_setting() => {
            (message, hint, None, None, None, Some(place.to_string()))
        }
        Some(place) => {
            let (line, column) = place.source.position(place.span.start);
            (message, hint, Some(place.source.name().to_owned()), Some(line), Some(column), None)
        }
        None => (message, hint, None, None, None, None),
    }
}

/// The exception with the problems as its attribute.
fn with_problems(exception: PyErr, problems: &Problems) -> PyErr {
    let all: Vec<Fields> = problems.iter().map(fields).collect();
    // An exception takes any attribute; without it the text remains.
    Python::attach(|py| drop(exception.value(py).setattr("_fields", all)));
    exception
}

fn refused(e: &ParamError) -> Problems {
    Problem::new(format!("{}: {}", e.key, e.what), e.hint.clone()).into()
}

impl From<Failure> for PyErr {
    fn from(f: Failure) -> PyErr {
        match f {
            Failure::Raised(e) => e,
            Failure::Results(p) => python::RunError::new_err(p.to_string()),
            Failure::NotFound(p) => {
                with_problems(python::ScenarioNotFoundError::new_err(p.to_string()), &p)
            }
            Failure::Input(p) => with_problems(python::ScenarioError::new_err(p.to_string()), &p),
            // The document was right; its values do not go together.
            Failure::Run(RunError::Build(e)) => {
                with_problems(python::ScenarioError::new_err(e.to_string()), &refused(&e))
            }
            Failure::Output(e) if e.hint.is_empty() => python::RunError::new_err(e.what),
            Failure::Output(e) => python::RunError::new_err(format!("{} ({})", e.what, e.hint)),
            Failure::Run(RunError::Record(e)) if !e.hint.is_empty() => {
                python::RunError::new_err(format!("{e} ({})", e.hint))
            }
            Failure::Run(e @ RunError::Record(_)) => python::RunError::new_err(e.to_string()),
        }
    }
}
