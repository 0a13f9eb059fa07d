//! Runs side by side: folders are read here, runs in memory come as columns.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use xoff_lab::compare::{
    Bins, CompareError, FlowFacts, PortFacts, Run, Sides, compare as compared,
};
use xoff_record::{Manifest, OutputError};

use crate::errors::Failure;

/// Columns of `flows`: number, ends, size, start, ideal time, slowdown, bytes delivered, frames
/// marked CE and UE.
type Flow = (u64, String, String, u64, u64, Option<u64>, Option<f64>, u64, u64, u64);
/// Columns of `ports`: name, pauses, time paused and blocked, fullest ingress, marked frames.
type Port = (String, u64, u64, u64, u64, u64);
/// A run in memory: manifest as JSON, and its rows; `None`: it has no such tables.
type InMemory = (String, Option<(Vec<Flow>, Vec<Port>)>);

/// A run of a side.
#[derive(FromPyObject)]
pub enum Given {
    /// Folder.
    Folder(PathBuf),
    /// Results in memory.
    Memory(InMemory),
}

/// Bins of flows, as given.
#[derive(FromPyObject)]
pub enum GivenBins {
    /// So many of them.
    Count(usize),
    /// Sizes at which they begin [bytes].
    Starts(Vec<u64>),
}

fn refused(e: CompareError) -> PyErr {
    if !e.of_files {
        return PyValueError::new_err(format!("compare: {} ({})", e.what, e.hint));
    }
    Failure::Output(OutputError::new(Path::new(""), e.what, e.hint)).into()
}

/// Compares sides; the answer as JSON.
#[pyfunction]
#[pyo3(signature = (sides, names, bins))]
pub fn compare(
    py: Python<'_>,
    sides: Vec<Vec<Given>>,
    names: Option<Vec<String>>,
    bins: Option<GivenBins>,
) -> PyResult<String> {
    let bins = match bins {
        None => Bins::default(),
        Some(GivenBins::Count(n)) => Bins::Equal(n),
        Some(GivenBins::Starts(starts)) => Bins::At(starts),
    };
    py.detach(|| {
        let runs = sides
            .into_iter()
            .map(|side| side.into_iter().map(run).collect())
            .collect::<PyResult<Vec<Vec<Run>>>>()?;
        let c = compared(&Sides { runs, names }, &bins).map_err(refused)?;
        serde_json::to_string(&c).map_err(|e| PyValueError::new_err(e.to_string()))
    })
}

fn run(given: Given) -> PyResult<Run> {
    let (manifest, rows) = match given {
        Given::Folder(folder) => return Run::read(&folder).map_err(refused),
        Given::Memory(run) => run,
    };
    let manifest: Manifest = serde_json::from_str(&manifest)
        .map_err(|e| PyValueError::new_err(format!("manifest: {e}")))?;
    let is_network = rows.is_some();
    let (flows, ports) = rows.unwrap_or_default();
    let flow = |(
        flow,
        src,
        dst,
        size_bytes,
        start_ps,
        ideal_fct_ps,
        slowdown,
        bytes_delivered,
        ce_frames,
        ue_frames,
    ): Flow| FlowFacts {
        flow,
        src,
        dst,
        size_bytes,
        start_ps,
        ideal_fct_ps,
        slowdown,
        bytes_delivered,
        ce_frames,
        ue_frames,
    };
    let port = |(port, pauses, paused_ps, blocked_ps, ingress_bytes_max, marked): Port| PortFacts {
        port,
        pauses,
        paused_ps,
        blocked_ps,
        ingress_bytes_max,
        marked,
    };
    Ok(Run {
        folder: String::new(),
        manifest,
        flows: flows.into_iter().map(flow).collect(),
        ports: ports.into_iter().map(port).collect(),
        is_network,
    })
}
