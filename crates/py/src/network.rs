//! A network that a Python program drives: `xoff_run::Driven` behind `xoff.Network`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use xoff_run::{Driven, Message, Receive, What};
use xoff_scenario::Source;
use xoff_scenario::document::Override;
use xoff_units::params::ParamError;
use xoff_units::{NodeId, Rate, Span, Time};

use crate::errors::Failure;
use crate::run::Looker;

/// Latest time of a wait or timer [ps], so that later times can still be told apart.
const LAST: u64 = i64::MAX as u64;

/// A network at rest.
#[pyclass(frozen)]
pub struct Network(Mutex<Driven>);

/// An argument that is not possible.
fn refused(e: ParamError) -> PyErr {
    PyValueError::new_err(format!("{}: {} ({})", e.key, e.what, e.hint))
}

impl Network {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Driven) -> Result<T, ParamError> + Send,
    ) -> PyResult<T> {
        let held = || act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        py.detach(held).map_err(refused)
    }
}

#[pymethods]
impl Network {
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        settings: Vec<(String, String)>,
        priorities: Vec<u8>,
        acknowledged: bool,
        threads: usize,
    ) -> PyResult<Network> {
        let made = py.detach(|| {
            let source = Source::read_document(&path)?;
            let settings = settings
                .iter()
                .map(|(key, value)| Override::keyword(key, value))
                .collect::<Result<Vec<_>, _>>()?;
            let folder = path.parent().map(PathBuf::from).unwrap_or_default();
            Driven::new(source.name(), source.text(), &settings, &folder, &priorities)
        });
        let mut driven = made.map_err(Failure::Input)?;
        if acknowledged {
            driven.report_acknowledged().map_err(refused)?;
        }
        driven.match_receives().map_err(refused)?;
        driven.set_threads(threads).map_err(refused)?;
        Ok(Network(Mutex::new(driven)))
    }

    /// The network in a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Network> {
        let loaded = py.detach(|| Driven::load(&path));
        Ok(Network(Mutex::new(loaded.map_err(Failure::Results)?)))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).save(&path));
        Ok(saved.map_err(|e| Failure::Results(e.into()))?)
    }

    fn threads(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |d| Ok(d.threads()))
    }

    /// Priority of messages without one.
    fn priority(&self, py: Python<'_>) -> PyResult<u8> {
        self.with(py, |d| Ok(d.priority()))
    }

    fn advance(&self, py: Python<'_>, until_ps: u64) -> PyResult<()> {
        let mut looker = Looker::new(None);
        _ = self.with(py, |d| {
            within_reach("until_ps", until_ps)?;
            Ok(d.advance_while(Time(until_ps), || looker.goes_on(None)))
        })?;
        looker.stopped_by.map_or(Ok(()), Err)
    }

    fn hosts(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |d| Ok(d.hosts().filter_map(|h| d.name(h)).map(str::to_owned).collect()))
    }

    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |d| Ok(d.now().0))
    }

    fn lost_frames(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |d| Ok(d.lost_frames()))
    }

    fn host_rate(&self, py: Python<'_>, host: &str) -> PyResult<u64> {
        self.with(py, |d| d.host_rate(named(d, "host", host)?).map(|rate| rate.0))
    }

    #[allow(clippy::too_many_arguments)] // the arguments of Python's `send`
    fn send(
        &self,
        py: Python<'_>,
        src: &str,
        dst: &str,
        bytes: u64,
        priority: u8,
        queue_pair: Option<u16>,
        tag: u64,
    ) -> PyResult<u64> {
        self.with(py, |d| {
            let (src, dst) = (named(d, "src", src)?, named(d, "dst", dst)?);
            d.send(&Message { src, dst, bytes, priority, queue_pair, tag })
        })
    }

    fn receive(
        &self,
        py: Python<'_>,
        dst: &str,
        src: &str,
        tag: u64,
        bytes: u64,
        token: u64,
    ) -> PyResult<u64> {
        self.with(py, |d| {
            let (src, dst) = (named(d, "src", src)?, named(d, "dst", dst)?);
            d.receive(&Receive { dst, src, tag, bytes, token })
        })
    }

    fn schedule(&self, py: Python<'_>, after_ps: u64, tag: u64) -> PyResult<u64> {
        self.with(py, |d| {
            within_reach("after_ps", d.now().0.saturating_add(after_ps))?;
            Ok(d.schedule(Span(after_ps), tag))
        })
    }

    fn fail_link(&self, py: Python<'_>, link: &str) -> PyResult<()> {
        self.with(py, |d| d.fail_link(link))
    }

    fn set_rate(&self, py: Python<'_>, link: &str, bits_per_second: u64) -> PyResult<()> {
        self.with(py, |d| d.set_rate(link, Rate(bits_per_second)))
    }

    /// Kind, time, number and tag of what happens next.
    fn next(
        &self,
        py: Python<'_>,
        until_ps: Option<u64>,
    ) -> PyResult<Option<(&'static str, u64, u64, u64)>> {
        let mut looker = Looker::new(None);
        let next = self.with(py, |d| {
            if let Some(at) = until_ps {
                within_reach("until_ps", at)?;
            }
            Ok(d.next_while(until_ps.map_or(Time::NEVER, Time), || looker.goes_on(None)))
        })?;
        looker.stopped_by.map_or(Ok(()), Err)?;
        Ok(next.unwrap_or_default().map(|h| {
            let what = match h.what {
                What::Sent => "sent",
                What::Delivered => "delivered",
                What::Acknowledged => "acknowledged",
                What::Received => "received",
                What::Timer => "timer",
                What::Deadlock => "deadlock",
            };
            (what, h.at.0, h.id, h.tag)
        }))
    }

    fn finish(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let name = folder.display().to_string();
        let mut looker = Looker::new(None);
        let finished = py.detach(|| {
            let driven = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let page = |s: &_, f: &_| Some(xoff_report::view::of_network(s, f, &name));
            driven.finish(&folder, page, |_| looker.goes_on(None)).map(drop)
        });
        looker.stopped_by.map_or(Ok(()), Err)?;
        Ok(finished.map_err(Failure::Results)?)
    }
}

/// The host with a name.
fn named(d: &Driven, key: &'static str, name: &str) -> Result<NodeId, ParamError> {
    let known = || d.hosts().filter_map(|h| d.name(h));
    d.host(name).ok_or_else(|| {
        let near = xoff_scenario::suggest::nearest(name, known());
        let hint =
            near.map_or("expected the name of a host".into(), |n| format!("did you mean '{n}'?"));
        ParamError::new(
            key,
            format!("there is no host '{}'", xoff_scenario::suggest::clip(name)),
            hint,
        )
    })
}

fn within_reach(key: &'static str, at: u64) -> Result<(), ParamError> {
    if at > LAST {
        let hint = "expected at most 2^63 - 1";
        return Err(ParamError::new(key, format!("the time is {at} ps"), hint));
    }
    Ok(())
}
