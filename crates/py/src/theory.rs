//! Closed forms and solvers of `xoff-analysis`, for the metrics of a paper's claims.

use pyo3::prelude::*;
use xoff_analysis::theorems::theorem_4_1;

/// Conceptual GFC: smallest gap `B_m - q` in the worst case, in units of `C tau`; `l` is `(B_m - B_0) / (C tau)`, `drain` is `R_d / C`.
#[pyfunction]
pub fn gfc_smallest_gap(py: Python<'_>, l: f64, drain: f64) -> f64 {
    py.detach(|| theorem_4_1::smallest_gap(l, drain))
}

/// Conceptual GFC: largest queue beyond `B_m`, in the same units.
#[pyfunction]
pub fn gfc_overshoot(py: Python<'_>, l: f64, drain: f64) -> f64 {
    py.detach(|| theorem_4_1::overshoot(l, drain))
}

/// Conceptual GFC: largest `l` at which the queue still reaches `B_m` when the drain stops.
#[pyfunction]
pub fn gfc_onset(py: Python<'_>) -> f64 {
    py.detach(theorem_4_1::onset)
}
