//! One run, without the GIL.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use xoff_record::{FORMATS, Folder, Format, MemoryTable, Sink, read};
use xoff_run::{Engine, Progress, RunError, Scenario};
use xoff_scenario::document::Override;
use xoff_scenario::{Problem, Problems};

use crate::errors::Failure;
use crate::laws::Laws;
use crate::table::Table;

/// Between two looks at signals and progress: short for a finger on Ctrl-C, long for the run.
const LOOK: Duration = Duration::from_millis(50);

/// A run that has ended.
#[pyclass(frozen)]
pub struct Finished {
    /// All about the run but its tables, as JSON.
    #[pyo3(get)]
    manifest: String,
    /// The exception that stopped it, from a signal or from the progress callback.
    #[pyo3(get)]
    stopped_by: Option<Py<PyAny>>,
    tables: Vec<MemoryTable>,
}

impl Finished {
    /// A run that ended by itself.
    pub(crate) fn ended(manifest: String, tables: Vec<MemoryTable>) -> Finished {
        Finished { manifest, stopped_by: None, tables }
    }
}

#[pymethods]
impl Finished {
    /// The tables that were kept in memory, by name.
    fn tables(&self) -> Vec<(&'static str, Table)> {
        self.tables.iter().map(|t| (t.name, Table(t.clone()))).collect()
    }
}

/// Runs the scenario at `path`. `out`: folder for files of the format; else tables stay in memory,
/// or are not kept at all. `force`: use a folder that holds something else.
#[pyfunction]
#[pyo3(signature = (path, settings, *, out, force, format, keep, threads, engine, progress, flow_control = None, rate_control = None, load_balancing = None))]
#[allow(clippy::too_many_arguments)] // the keywords of Python's `run`
pub fn run(
    py: Python<'_>,
    path: PathBuf,
    settings: Vec<(String, String)>,
    out: Option<PathBuf>,
    force: bool,
    format: &str,
    keep: bool,
    threads: Option<usize>,
    engine: &str,
    progress: Option<Py<PyAny>>,
    flow_control: Option<(String, Py<PyAny>)>,
    rate_control: Option<(String, Py<PyAny>)>,
    load_balancing: Option<(String, Py<PyAny>)>,
) -> PyResult<Finished> {
    let laws = Laws { flow_control, rate_control, load_balancing, ..Laws::default() };
    if threads == Some(0) {
        return Err(PyValueError::new_err("threads: expected 1 or more"));
    }
    let Some(format) = Format::find(format) else {
        let names: Vec<String> = FORMATS.iter().map(|f| format!("'{}'", f.name)).collect();
        return Err(PyValueError::new_err(format!(
            "format: there is no '{format}' (expected one of {})",
            names.join(", ")
        )));
    };
    let engine = match engine {
        "auto" => Engine::Auto,
        "windows" => Engine::Windows,
        "events" => Engine::Events,
        other => {
            return Err(PyValueError::new_err(format!(
                "engine: there is no '{other}' (expected 'auto', 'windows' or 'events')"
            )));
        }
    };
    let sink = || match (out, keep) {
        (Some(dir), _) => Folder::claim(&dir, "run", force)
            .map(|folder| Sink::Files(folder, format))
            .map_err(Failure::from),
        (None, true) => Ok(Sink::Memory),
        (None, false) => Ok(Sink::Nothing),
    };
    let mut looker = Looker::new(progress);
    let (manifest, tables) = py.detach(|| match load_for(path, settings, &laws)? {
        Scenario::Network(mut scenario) => {
            scenario.engine = engine;
            if !laws.is_empty() {
                let entered =
                    Python::attach(|py| laws.enter(py, &mut scenario)).map_err(Failure::Raised)?;
                entered.map_err(|e| Failure::Run(RunError::Build(e)))?;
            }
            let mut running = scenario.start(sink()?, threads).map_err(Failure::Run)?;
            let ended = running.drive(|at| !laws.fault.failed() && looker.look(at));
            // A law that raised leaves no result: later events are not those of the law.
            if let Some(e) = laws.fault.take() {
                return Err(Failure::Raised(e));
            }
            let finished = running.finish(ended).map_err(Failure::Run)?;
            // Its last hooks were called while the rows of the end were made.
            if let Some(e) = laws.fault.take() {
                return Err(Failure::Raised(e));
            }
            Ok((finished.manifest, finished.tables))
        }
        Scenario::Fabric(scenario) => {
            let threads = threads.unwrap_or(1);
            let finished = scenario
                .start(sink()?, threads)
                .and_then(|running| running.run(|p| looker.look(p)))
                .map_err(Failure::Run)?;
            Ok::<_, Failure>((finished.manifest, finished.tables))
        }
    })?;
    let manifest =
        serde_json::to_string(&manifest).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let stopped_by = looker.stopped_by.map(|e| e.into_value(py).into_any());
    Ok(Finished { manifest, stopped_by, tables: tables.memory })
}

/// The manifest of the run in a folder, as its JSON, if the files that it lists are there.
#[pyfunction]
pub fn manifest(folder: PathBuf) -> PyResult<String> {
    Ok(xoff_record::manifest::text(&folder).map_err(|e| Failure::Run(RunError::Record(e)))?)
}

/// Names of the tables of a run: of a network, then of a scheduled fabric.
#[pyfunction]
pub fn tables() -> Vec<&'static str> {
    xoff_record::tables().map(|t| t.name).collect()
}

/// A table of the run in a folder, in whichever format it is there.
#[pyfunction]
pub fn read_table(folder: PathBuf, name: &str) -> PyResult<Table> {
    let unread = |e| Failure::Run(RunError::Record(e));
    let Some(spec) = xoff_record::tables().find(|t| t.name == name) else {
        return Err(PyValueError::new_err(format!("there is no table '{name}'")));
    };
    let batches = read::batches(&folder, name).map_err(unread)?;
    Ok(Table(MemoryTable { name: spec.name, schema: read::schema(spec), batches }))
}

/// As [`load`], with the kinds that the laws replace left out.
fn load_for(
    path: PathBuf,
    mut settings: Vec<(String, String)>,
    laws: &Laws,
) -> Result<Scenario, Failure> {
    let without = settings.len();
    let sections = laws.sections().map_err(Failure::Raised)?;
    settings.extend(sections.into_iter().map(|(path, kind)| (path.to_owned(), kind.to_owned())));
    let failed = match load(path.clone(), &settings) {
        Err(failed) if !laws.is_empty() => failed,
        loaded => return loaded,
    };
    if let Ok(Scenario::Fabric(_)) = load(path, &settings[..without]) {
        let what =
            "a scheduled fabric has no flow control, rate control or load balancing of its own";
        return Err(Failure::Input(
            Problem::new(
                what,
                "a law written in Python needs a network: [topology] instead of [scheduled_fabric]",
            )
            .into(),
        ));
    }
    Err(failed)
}

fn load(path: PathBuf, settings: &[(String, String)]) -> Result<Scenario, Failure> {
    let mut problems = Problems::default();
    let mut overrides = Vec::new();
    for (name, value) in settings {
        match Override::keyword(&path_of(name), value) {
            Ok(o) => overrides.push(o),
            Err(p) => problems.push(p),
        }
    }
    let scenario = problems.or(()).and_then(|()| Scenario::load(&path, &overrides));
    scenario.map_err(|p| if path.exists() { Failure::Input(p) } else { Failure::NotFound(p) })
}

/// `rate_control` means its kind, also where the file has no such section.
fn path_of(name: &str) -> Cow<'_, str> {
    let (network, fabric) = (xoff_run::sections(), xoff_run::fabric_sections());
    match network
        .iter()
        .chain(&fabric)
        .find(|s| s.path == name && !s.repeat)
        .and_then(|s| s.kinds.as_ref())
    {
        Some(kinds) => format!("{name}.{}", kinds.key).into(),
        None => name.into(),
    }
}

/// Work of a run for Python now and then.
pub(crate) struct Looker {
    progress: Option<Py<PyAny>>,
    last: Instant,
    pub stopped_by: Option<PyErr>,
}

impl Looker {
    pub fn new(progress: Option<Py<PyAny>>) -> Looker {
        Looker { progress, last: Instant::now(), stopped_by: None }
    }

    /// Whether to go on.
    fn look(&mut self, p: &Progress) -> bool {
        self.goes_on(Some(p))
    }

    /// Whether to go on; without progress only signals are looked for.
    pub fn goes_on(&mut self, progress: Option<&Progress>) -> bool {
        if self.last.elapsed() < LOOK {
            return true;
        }
        let looked = Python::attach(|py| {
            py.check_signals()?;
            let Some((f, p)) = self.progress.as_ref().zip(progress) else { return Ok(()) };
            f.call1(py, (p.now.0, p.until.0, p.events, p.deadlocks)).map(drop)
        });
        self.last = Instant::now();
        self.stopped_by = looked.err();
        self.stopped_by.is_none()
    }
}
