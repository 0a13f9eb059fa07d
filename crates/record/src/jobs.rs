//! What the jobs of a run came to, as the manifest and JSON answers have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A job: ranks that compute and exchange messages, iteration by iteration.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct JobAnswer {
    /// Its name.
    pub name: String,
    /// Its ranks.
    pub ranks: u32,
    /// Iterations that it was to do.
    pub iterations_planned: u32,
    /// Those that all ranks have done.
    pub iterations: Vec<IterationAnswer>,
}

/// An iteration of a job.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IterationAnswer {
    /// From the first beginning of a rank to the last end [ps].
    pub time_ps: u64,
    /// Exposed communication of the rank with the most: time in which messages are under way for it and it does not compute [ps].
    pub exposed_ps: u64,
    /// The rank that ended last.
    pub last_rank: u32,
    /// The message of the critical path that lost most time to pauses, rate control and queues; null: no message is on the path.
    pub straggler: Option<StragglerAnswer>,
    /// The critical path, by cause.
    pub critical_path: PathAnswer,
}

/// The message that an iteration waited for longest.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StragglerAnswer {
    /// Its flow.
    pub flow: u64,
    /// Rank that sent it.
    pub from_rank: u32,
    /// Rank that received it.
    pub to_rank: u32,
    /// Host of the sender.
    pub from_host: String,
    /// Host of the receiver.
    pub to_host: String,
    /// When its sender took it up [ps].
    pub from_ps: u64,
    /// When it was there [ps].
    pub to_ps: u64,
    /// Of that, ports on its path were not allowed to transmit [ps].
    pub pause_ps: u64,
    /// Rate control, or a window, held it back at its source [ps].
    pub rate_limit_ps: u64,
    /// It stood behind other frames [ps].
    pub queueing_ps: u64,
    /// The port of its path that was not allowed to transmit longest meanwhile; null: all were, all the time.
    pub paused_port: Option<String>,
    /// For how long that port was not [ps].
    pub paused_port_ps: u64,
}

/// A critical path by cause; all together are its length.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PathAnswer {
    /// A rank computed [ps].
    pub compute_ps: u64,
    /// A rank was busy with a message itself [ps].
    pub overhead_ps: u64,
    /// Bytes of a message were on the wire, and nothing else was in its way [ps].
    pub serialisation_ps: u64,
    /// A message went through the cables [ps].
    pub propagation_ps: u64,
    /// A port was not allowed to transmit [ps].
    pub pause_ps: u64,
    /// Rate control, or a window, held a message back at its source [ps].
    pub rate_limit_ps: u64,
    /// A message stood behind other frames [ps].
    pub queueing_ps: u64,
}
