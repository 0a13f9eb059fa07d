//! A sweep: its plan, its folder, its runs.
//!
//! ```text
//!   Sweep(plan) --claim(folder)--+-- run(threads): all cores of this machine                                 --+--> collect()
//!                                +-- freeze() -> text -> any executor: sweep_cell(text, number) -> put(...)  --+
//! ```

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use xoff_lab::sweep::{Collected, Plan, Progress, Shard, Store, run_local};
use xoff_record::MemoryTable;
use xoff_scenario::Problems;

use crate::errors::{Failure, Fields, fields};
use crate::run::Finished;
use crate::table::Table;

/// A sweep.
#[pyclass(frozen)]
pub struct Sweep {
    plan: Plan,
    more: String,
    store: Mutex<Option<Arc<Store>>>,
    stop: AtomicBool,
    progress: Mutex<Progress>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sweep {
    fn store(&self) -> PyResult<Arc<Store>> {
        held(&self.store).clone().ok_or_else(|| PyValueError::new_err("the folder is not claimed"))
    }
}

#[pymethods]
impl Sweep {
    /// `plan`: a file, or name and text with the folder in which the scenario is looked up. `more`:
    /// further inputs that decide results.
    #[new]
    #[pyo3(signature = (path, text, more))]
    fn new(py: Python<'_>, path: PathBuf, text: Option<String>, more: String) -> PyResult<Sweep> {
        let plan = py.detach(|| match &text {
            Some(text) => Plan::from_text("plan", text, &path),
            None => Plan::load(&path),
        });
        let missing = |p: Problems| {
            if text.is_some() || path.exists() { Failure::Input(p) } else { Failure::NotFound(p) }
        };
        let mut plan = plan.map_err(missing)?;
        if !more.is_empty() {
            plan.add_basis(&more);
        }
        Ok(Sweep {
            plan,
            more,
            store: Mutex::default(),
            stop: AtomicBool::new(false),
            progress: Mutex::default(),
        })
    }

    /// Runs of the plan.
    fn __len__(&self) -> usize {
        self.plan.len()
    }

    /// Warnings of the scenario under the first run.
    fn warnings(&self) -> Vec<Fields> {
        self.plan.work().warnings().iter().map(fields).collect()
    }

    /// A run in words.
    fn words(&self, index: usize) -> PyResult<String> {
        if index >= self.plan.len() {
            return Err(PyValueError::new_err(format!(
                "there is no run {index}: the plan has {}",
                self.plan.len()
            )));
        }
        Ok(self.plan.cell(index).words())
    }

    /// Claims the folder.
    fn claim(&self, py: Python<'_>, folder: PathBuf, force: bool) -> PyResult<()> {
        let store = py.detach(|| Store::claim(&folder, force)).map_err(Failure::from)?;
        *held(&self.store) = Some(Arc::new(store));
        Ok(())
    }

    /// Gives the folder free.
    fn release(&self) {
        *held(&self.store) = None;
    }

    /// Runs without a result.
    fn unfinished(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        let store = self.store()?;
        Ok(py.detach(|| store.unfinished(&self.plan)))
    }

    /// All that a worker needs.
    fn freeze(&self) -> String {
        self.plan.freeze(&self.more)
    }

    /// Executes the runs without a result on this machine; false: it was stopped.
    fn run(&self, py: Python<'_>, threads: Option<usize>) -> PyResult<bool> {
        let store = self.store()?;
        let ended = py.detach(|| {
            let cells = store.unfinished(&self.plan);
            let threads = threads.unwrap_or_else(xoff_run::cores);
            run_local(
                &self.plan,
                &store,
                &cells,
                threads,
                &|| self.stop.load(Ordering::Relaxed),
                &|p| *held(&self.progress) = p,
            )
        });
        Ok(ended.map_err(Failure::from)? == xoff_lab::sweep::Ended::Tried)
    }

    /// The work is to stop.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Progress of the work: part done, 0 to 1, in words, and seconds left.
    fn step(&self) -> (f64, String, Option<f64>) {
        let p = *held(&self.progress);
        (p.part(), p.words(), p.left.map(|d| d.as_secs_f64()))
    }

    /// Stores the return value of a worker; false: the run failed.
    fn put(
        &self,
        py: Python<'_>,
        index: usize,
        shard: &str,
        tables: Vec<(String, Vec<u8>)>,
    ) -> PyResult<bool> {
        let store = self.store()?;
        let shard: Shard = serde_json::from_str(shard)
            .map_err(|e| PyValueError::new_err(format!("run {index}: {e}")))?;
        let cell = self.plan.cell(index);
        if shard.key != cell.key {
            let what = format!(
                "run {index}: the worker ran another plan or another version (xoff {}) than this process",
                shard.xoff_version
            );
            return Err(PyValueError::new_err(what));
        }
        py.detach(|| store.put(&cell, &shard, &tables)).map_err(Failure::from)?;
        Ok(shard.status == xoff_lab::sweep::Status::Done)
    }

    /// Executes a run in this process: as [`sweep_cell`].
    fn cell<'py>(&self, py: Python<'py>, index: usize, wants_run: bool) -> PyResult<Returned<'py>> {
        cell_of(py, &self.plan, index, wants_run)
    }

    /// What is kept of a run, as JSON; `None`: nothing.
    fn kept(&self, py: Python<'_>, index: usize) -> PyResult<Option<String>> {
        let store = self.store()?;
        Ok(py.detach(|| store.get(&self.plan.cell(index))).map(|shard| shard.text()))
    }

    /// A kept table of a finished run, as Parquet.
    fn kept_table<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        name: &str,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let store = self.store()?;
        Ok(py
            .detach(|| store.table(&self.plan.cell(index), name))
            .map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Writes the results: the answer as JSON, and the runs.
    fn collect(&self, py: Python<'_>) -> PyResult<(String, Table)> {
        let store = self.store()?;
        let collected: Collected =
            py.detach(|| store.collect(&self.plan)).map_err(Failure::from)?;
        let json = serde_json::to_string(&collected.json(store.path())).expect("plain data");
        Ok((
            json,
            Table(MemoryTable {
                name: "runs",
                schema: collected.runs.schema(),
                batches: vec![collected.runs],
            }),
        ))
    }
}

/// Value that a worker returns: the text to keep, tables as Parquet, and the run if it is wanted.
type Returned<'py> = (String, Vec<(String, Bound<'py, PyBytes>)>, Option<Finished>);

/// Executes a run of a frozen plan.
#[pyfunction]
pub fn sweep_cell<'py>(
    py: Python<'py>,
    plan: &str,
    index: usize,
    wants_run: bool,
) -> PyResult<Returned<'py>> {
    let plan = py.detach(|| Plan::thaw(plan)).map_err(Failure::Input)?;
    if index >= plan.len() {
        return Err(PyValueError::new_err(format!(
            "there is no run {index}: the plan has {}",
            plan.len()
        )));
    }
    cell_of(py, &plan, index, wants_run)
}

fn cell_of<'py>(
    py: Python<'py>,
    plan: &Plan,
    index: usize,
    wants_run: bool,
) -> PyResult<Returned<'py>> {
    let mut ran = None;
    let ended = py.detach(|| plan.run(&plan.cell(index), &|| false, wants_run.then_some(&mut ran)));
    let (shard, tables) = ended.ok_or_else(|| PyValueError::new_err("the run was stopped"))?;
    let tables = tables.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect();
    let run = ran.map(|r| {
        serde_json::to_string(&r.manifest).map(|manifest| Finished::ended(manifest, r.tables))
    });
    let run = run.transpose().map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok((shard.text(), tables, run))
}
