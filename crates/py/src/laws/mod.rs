//! Laws written in Python: flow control, rate control and load balancing through the seam for
//! mechanisms from outside.
//!
//! ```text
//!   switch, NIC -> Receiver, Sender, RateControl, Balancer (Rust) -- hook --> the object's method, if its class has one of its own
//!                                                                       +--- exception --> Fault: no hook is called any more, the run stops
//! ```

mod flow_control;
mod load_balancing;
mod rate_control;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use xoff_run::NetworkScenario;
use xoff_units::params::ParamError;
use xoff_units::{Span, Time};

pub use flow_control::{Link, Occupancy, Pause};
pub use load_balancing::{Arrival, NextHops};
pub use rate_control::{Ack, FlowFacts, Timers};

/// The laws of a run, and the first exception of any.
#[derive(Default)]
pub struct Laws {
    pub flow_control: Option<(String, Py<PyAny>)>,
    pub rate_control: Option<(String, Py<PyAny>)>,
    pub load_balancing: Option<(String, Py<PyAny>)>,
    pub fault: Arc<Fault>,
}

impl Laws {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.flow_control.is_none() && self.rate_control.is_none() && self.load_balancing.is_none()
    }

    /// The sections of the scenario that they replace, each with the kind that the reader takes for
    /// the law: one under which it derives the same keys.
    ///
    /// # Errors
    /// A law is none.
    pub fn sections(&self) -> PyResult<Vec<(&'static str, &'static str)>> {
        let mut all = Vec::new();
        all.extend(self.flow_control.as_ref().map(|_| ("flow_control", "none")));
        all.extend(self.rate_control.as_ref().map(|_| ("rate_control", "none")));
        if let Some((name, law)) = &self.load_balancing {
            let reorders = Python::attach(|py| load_balancing::reorders(py, name, law))?;
            all.push(("load_balancing", if reorders { "spray-random" } else { "wcmp" }));
        }
        Ok(all)
    }

    /// Puts them in the place of those of the scenario.
    pub fn enter(
        &self,
        py: Python<'_>,
        scenario: &mut NetworkScenario,
    ) -> PyResult<Result<(), ParamError>> {
        if let Some((name, law)) = &self.flow_control {
            let law = flow_control::Law::new(py, name, law, &self.fault)?;
            scenario.use_flow_control(kept(name), Arc::new(law));
        }
        if let Some((name, law)) = &self.load_balancing {
            let law = load_balancing::Law::new(py, name, law, &self.fault, scenario)?;
            scenario.use_load_balancing(kept(name), Arc::new(law));
        }
        match &self.rate_control {
            Some((name, law)) => {
                let law = rate_control::Law::new(py, name, law, &self.fault)?;
                Ok(scenario.use_rate_control(kept(name), Arc::new(law)))
            }
            None => Ok(Ok(())),
        }
    }
}

/// Names of laws live as long as the process, each once: those of the registries are constants.
fn kept(name: &str) -> &'static str {
    static NAMES: OnceLock<Mutex<BTreeSet<&'static str>>> = OnceLock::new();
    let mut names =
        NAMES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = names.get(name) {
        return name;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}

/// The first exception of a law. After it no hook is called, and the run is over at the next poll.
#[derive(Debug, Default)]
pub struct Fault {
    failed: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Fault {
    /// Whether there was one.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// The exception.
    pub fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Result of `work`; `otherwise` from the first exception on. `of` and `now` are noted on it.
    fn call<T>(
        &self,
        of: &str,
        now: Option<Time>,
        otherwise: T,
        work: impl FnOnce(Python<'_>) -> PyResult<T>,
    ) -> T {
        if self.failed() {
            return otherwise;
        }
        Python::attach(|py| {
            work(py).unwrap_or_else(|e| {
                let at =
                    now.map_or_else(String::new, |now| format!(", at {now} of simulated time"));
                // Without a note the exception is still the right one.
                let _ = e.value(py).call_method1("add_note", (format!("in {of}{at}"),));
                self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
                self.failed.store(true, Ordering::Relaxed);
                otherwise
            })
        })
    }
}

/// A method of an object; `None`: its class has the one of the protocol `base`, which has the
/// effect of no call.
fn hook(
    object: &Bound<'_, PyAny>,
    base: &Bound<'_, PyAny>,
    name: &str,
) -> PyResult<Option<Py<PyAny>>> {
    let of_class = object.get_type().getattr_opt(name)?;
    let of_base = base.getattr(name)?;
    match of_class {
        Some(own) if own.is(&of_base) => Ok(None),
        _ => Ok(object.getattr_opt(name)?.map(Bound::unbind)),
    }
}

/// A class of the package that documents a protocol.
fn protocol<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("xoff._laws")?.getattr(name)
}

/// A whole number up to `most` that a law gives; a bool is none.
fn whole(what: &str, value: &Bound<'_, PyAny>, most: u64, expected: &str) -> PyResult<u64> {
    let number = value.extract::<u64>().ok().filter(|n| *n <= most);
    let number = number.filter(|_| !value.is_instance_of::<PyBool>());
    number.ok_or_else(|| wrong(what, value, expected))
}

/// A number in a range that a law gives, rounded down; a bool is none.
fn number(
    what: &str,
    value: &Bound<'_, PyAny>,
    range: std::ops::Range<f64>,
    expected: &str,
) -> PyResult<u64> {
    match value.extract::<f64>() {
        Ok(n) if range.contains(&n) && !value.is_instance_of::<PyBool>() => {
            Ok(value.extract::<u64>().unwrap_or(n as u64))
        }
        _ => Err(wrong(what, value, expected)),
    }
}

/// A time that a law gives, not before `now`.
fn time(what: &str, value: &Bound<'_, PyAny>, now: Time) -> PyResult<Time> {
    let at = Time(whole(what, value, u64::MAX, "a time in whole picoseconds")?);
    if at < now {
        return Err(PyValueError::new_err(format!(
            "{what}: {} ps lies before now, {} ps",
            at.0, now.0
        )));
    }
    Ok(at)
}

/// A value of the wrong type or range.
fn wrong(what: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    // Python does not write an int of thousands of digits.
    let shown = value.repr().map_or_else(|_| "this value".to_owned(), |r| r.to_string());
    let shown = xoff_units::params::suggest::clip(&shown);
    PyValueError::new_err(format!("{what}: {shown} is not {expected}"))
}

fn ps(span: Span) -> u64 {
    span.0
}
