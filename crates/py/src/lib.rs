//! The Python extension `xoff._core`: as thin as it can be. Users see the package around it,
//! `python/xoff`.
//!
//! ```text
//!   xoff.run(...) -> _core.run -> Scenario -> World -> Finished
//!                       |  GIL released; every 50 ms: signals, progress         manifest (JSON)
//!                       +-----------------------------------------------------> Table --__arrow_c_stream__--> Polars
//! ```

mod ask;
mod compare;
mod errors;
mod folder;
mod laws;
mod network;
mod run;
mod stats;
mod sweep;
mod table;
mod theory;
mod theory_qcn;

use std::ffi::OsString;

use pyo3::prelude::*;
use serde_json::{Map, json};
use xoff_report::mechanism::{FLOW_CONTROLS, Mechanism, RATE_CONTROLS};
use xoff_report::{Colour, DEADLOCK};

/// The command `xoff` with these arguments, the program's name first; returns its exit code.
/// `started_by` starts a further process of it.
#[pyfunction]
fn command(py: Python<'_>, args: Vec<OsString>, started_by: Vec<OsString>) -> u8 {
    xoff::started_by(started_by);
    py.detach(|| xoff::main_with_args(args))
}

/// The colours of figures, as JSON: those of lines in their order, of mechanisms by kind, of a
/// deadlock.
#[pyfunction]
fn palette() -> String {
    let of = |all: &[Mechanism]| {
        all.iter()
            .map(|m| (m.kind.to_owned(), json!([m.name, m.colour.hex()])))
            .collect::<Map<_, _>>()
    };
    let lines = Colour::ALL.map(Colour::hex);
    json!({ "lines": lines, "flow_control": of(&FLOW_CONTROLS), "rate_control": of(&RATE_CONTROLS), "deadlock": DEADLOCK.0 }).to_string()
}

/// The module.
#[pymodule(name = "_core")]
mod core_module {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::ask::{Caller, ask};
    #[pymodule_export]
    use crate::command;
    #[pymodule_export]
    use crate::compare::compare;
    #[pymodule_export]
    use crate::folder::Folder;
    #[pymodule_export]
    use crate::laws::{Ack, Arrival, FlowFacts, Link, NextHops, Occupancy, Pause, Timers};
    #[pymodule_export]
    use crate::network::Network;
    #[pymodule_export]
    use crate::palette;
    #[pymodule_export]
    use crate::run::{Finished, manifest, read_table, run, tables};
    #[pymodule_export]
    use crate::stats::{mean_of, quantile, share_interval};
    #[pymodule_export]
    use crate::sweep::{Sweep, sweep_cell};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::theory::{
        fat_tree_failures, fat_trees_with_cycles, flow_sizes, gfc_fig_5, gfc_limit_cycle,
        gfc_limited_rate, gfc_onset, gfc_overshoot, gfc_smallest_gap, gfc_time_bounds,
        gfc_time_critical, gfc_time_critical_ratio, gfc_time_overshoot, gfc_time_smallest_gap,
        granters_in_slots, lemma_1_figures, lemma_1_random, lemma_1_sharing, random_below,
        theorem_1_example, theorem_1_trial,
    };
    #[pymodule_export]
    use crate::theory::{pffc_meets_another, pffc_share_a_slot, pffc_slot};
    #[pymodule_export]
    use crate::theory_qcn::{
        QcnLimiter, culprit_counters, culprit_reads, culprit_units, qcn_feedback,
        qcn_feedback_range, qcn_interval, qcn_notified, qcn_sampled,
    };
    #[pymodule_export]
    const CULPRIT_ROW: usize = xoff_mech::detection::culprit::ROW;
    #[pymodule_export]
    const CULPRIT_TRIES: u32 = xoff_mech::detection::culprit::TRIES;
    #[pymodule_export]
    const CULPRIT_UNIT: u64 = xoff_mech::detection::culprit::UNIT;
    #[pymodule_export]
    const VERSION: &str = xoff_run::VERSION;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) {
        xoff::identify();
    }
}
