//! Dimensioning: which buffers, thresholds and periods a lossless link needs, with formula and
//! source.
//!
//! ```text
//!   PlanInput -plan()-> Plan { answer, evidence, rows, tables, warnings }    Parameters -conditions()-> warnings
//!    (rate, length, MTU, buffer, ...)                                         (values that a scenario really uses)
//! ```
//!
//! With `detection` the detector is planned instead, on a link with that flow control.
//!
//! [`plan`] answers "what do I need?"; [`conditions`] answers "does what I have satisfy the
//! theorems?", and the plan asks it about itself. Both are arithmetic on integers, except for the
//! square root of Theorem 5.1 and the congestion degree of TCD.

pub mod cbfc;
mod conditions;
mod entry;
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
mod read;
mod registry;
pub mod sonic;
pub mod tcd;

pub use conditions::{Configured, Parameters, Pool};
pub use entry::{Entry, OnOff};
pub use input::{HEADROOMS, PlanInput};
pub use output::{Answer, Column, Evidence, Exact, Plan, PlanRow, Table, Warning};
pub use registry::{
    DETECTION_PLANS, DETECTIONS, FLOW_CONTROL_PLANS, FLOW_CONTROLS, PARAMS, conditions, configured,
    derived, that_stop_ports, unplanned,
};

use xoff_units::params::ParamError;

/// Plans one link direction and priority. An input for which no plan exists (a buffer below the
/// minimum, XON above XOFF) is an error that names the key and the value needed.
///
/// # Errors
/// An input for which no plan exists: the key, and the value that is needed.
pub fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    input.validate()?;
    let (key, name, planned) = match &input.detection {
        Some(detection) => ("detection", detection, registry::DETECTIONS),
        None => ("flow_control", &input.flow_control, registry::FLOW_CONTROLS),
    };
    let entry = registry::find(name)
        .filter(|e| planned.contains(&e.name))
        .ok_or_else(|| registry::refused(key, name, planned))?;
    let mut plan = (entry.plan)(input)?;
    plan.answer.check.splice(0..0, link::checks(input));
    Ok(plan)
}
