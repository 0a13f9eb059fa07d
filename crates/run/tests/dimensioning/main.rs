//! Dimensioning proved by simulation: links are drawn, the thresholds are those that a run derives
//! (and `xoff plan` answers), and no frame may be lost; with less, frames are.
//!
//! `cargo test --release -p xoff-run --test dimensioning -- --nocapture` prints the figures; with
//! `--include-ignored` the full number of draws. `XOFF_TEST_DIM_CASE=pfc:17` runs one draw and
//! prints its scenario.

mod agree;
mod credits;
mod gfc;
mod harness;
mod model;
mod pfc;
mod pffc;
mod refused;
mod shared;
