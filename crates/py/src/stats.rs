//! Means, shares and quantiles of `xoff_lab`, so that Python and the papers compute what sweeps and
//! comparisons do.

use pyo3::prelude::*;
use xoff_lab::stats::{self, Mean, Share};

/// Mean of the finite values, ends of its 95 % interval, and number of values.
#[pyfunction]
pub fn mean_of(values: Vec<f64>) -> (f64, f64, f64, usize) {
    let m = Mean::of(values);
    (m.mean, m.low, m.high, m.n)
}

/// Ends of the 95 % interval of a share.
#[pyfunction]
pub fn share_interval(of: usize, n: usize) -> (f64, f64) {
    Share { of, n }.interval()
}

/// The smallest value with at least `share` of the values up to it; NaN of nothing.
#[pyfunction]
pub fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    stats::quantile(&values, share)
}
