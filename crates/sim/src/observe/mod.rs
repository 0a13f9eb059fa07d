//! Observations of a run: counters, losses, pauses, records of flows, rows, checks, deadlocks, the
//! outcome.

pub(crate) mod checks;
pub(crate) mod deadlock_detector;
pub(crate) mod flows;
pub(crate) mod given_up;
pub(crate) mod histogram;
pub(crate) mod last_frames;
pub(crate) mod lost;
pub(crate) mod monitor;
pub(crate) mod outcome;
pub(crate) mod port_counters;
pub(crate) mod probe;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod stops;
pub(crate) mod storms;
pub(crate) mod taken;
