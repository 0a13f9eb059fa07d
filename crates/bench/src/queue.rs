//! Share of the bare event queue: how much of a run's CPU time its event queue alone would take.

use crate::results::Stat;
use crate::runs::Bench;

/// Speed of the 128-host run as a share of the speed of its bare event queue, which is driven with the same mix of
/// operations in the same run; `None`: not measured.
pub fn bare_queue_share(_bench: &Bench) -> Option<Stat> {
    None
}
