//! Dimensioning: which buffers, thresholds and periods a lossless link needs, with formula and source.
//!
//! ```text
//!   PlanInput -plan()-> Plan { answer, evidence, rows, tables, warnings }    Parameters -conditions()-> warnings
//!    (rate, length, MTU, buffer, ...)                                         (what a scenario really uses)
//! ```
//!
//! With `detection` the detector is planned instead, on a link with that flow control.
//!
//! [`plan`] answers "what do I need?"; [`conditions`] answers "does what I have satisfy the theorems?", and the plan
//! asks it about itself. Both are arithmetic on integers, but for the
//! square root of Theorem 5.1 and the congestion degree of TCD.

pub mod cbfc;
mod conditions;
mod evidence;
pub mod gfc_buffer;
pub mod gfc_conceptual;
pub mod gfc_time;
pub mod headroom;
mod input;
pub mod link;
mod output;
pub mod pfc;
pub mod pffc;
pub mod sonic;
pub mod tcd;

pub use conditions::{Parameters, Pool, conditions};
pub use input::{DETECTIONS, FLOW_CONTROLS, HEADROOMS, PARAMS, PlanInput};
pub use output::{Answer, Column, Evidence, Exact, Plan, PlanRow, Table, Warning};

use xoff_params::ParamError;

/// Plans one link direction and priority. An input for which no plan exists (a buffer below the minimum, XON above
/// XOFF) is an error that names the key and the value needed.
pub fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    input.validate()?;
    let mut plan = match input.detection.as_deref() {
        None => flow_control(input)?,
        Some("tcd") => tcd::plan(input)?,
        Some(other) => return Err(input::unknown("detection", other, DETECTIONS)),
    };
    plan.answer.check.extend(link::checks(input));
    Ok(plan)
}

fn flow_control(input: &PlanInput) -> Result<Plan, ParamError> {
    match input.flow_control.as_str() {
        "pfc" => pfc::plan(input),
        "cbfc" => cbfc::plan(input),
        "gfc-conceptual" => gfc_conceptual::plan(input),
        "gfc-buffer" => gfc_buffer::plan(input),
        "gfc-time" => gfc_time::plan(input),
        "pffc" => pffc::plan(input),
        other => Err(ParamError::new(
            "flow_control",
            format!("unknown flow control '{other}'"),
            format!("expected one of {}", FLOW_CONTROLS.join(", ")),
        )),
    }
}
