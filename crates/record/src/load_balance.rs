//! Balance of load over the uplinks of a run, and its cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Balance of load of a whole run. A value of all groups of uplinks is the mean of the column of this
/// name in the table `uplinks`, each group weighted with its load. Each measure is defined there and
/// in the table `flows`.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LoadBalance {
    /// Groups of uplinks in the network: rows of the table `uplinks`.
    pub groups: u64,
    /// Jain's index of the loads of a group over the whole run; null: no load.
    pub jain: Option<f64>,
    /// Largest load of a group divided by the mean load, over the whole run; null: no load.
    pub max_over_mean: Option<f64>,
    /// Jain's index over time; null: no rates of uplinks were sampled.
    pub jain_sampled: Option<f64>,
    /// Largest load divided by the mean load over time; null: no rates of uplinks were sampled.
    pub max_over_mean_sampled: Option<f64>,
    /// Flows that had a choice at the first switch of their path.
    pub flows: u64,
    /// Flows among them that collided.
    pub collided: u64,
    /// Mean number of paths of a flow with a choice, counted at its first switch; null: there is
    /// none.
    pub paths_mean: Option<f64>,
    /// Frames of data that arrived ahead of a gap.
    pub frames_ahead: u64,
    /// Largest reorder buffer of a flow [bytes].
    pub ahead_bytes_max: u64,
    /// Longest time for which a frame was ahead of a gap [ps].
    pub ahead_ps_max: u64,
}
