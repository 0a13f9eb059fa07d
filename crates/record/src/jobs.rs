//! Results of the jobs of a run, for the manifest and JSON answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A job: ranks that compute and exchange messages, iteration by iteration.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct JobAnswer {
    /// Name.
    pub name: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Iterations that it was to do.
    pub iterations_planned: u32,
    /// From its start to the end of the last iteration that all ranks have done [ps].
    pub time_ps: u64,
    /// Least time of these iterations in any network: for each the longest of a rank's computing and
    /// of the time that its bytes take on the link of its host, sent or received [ps].
    #[serde(default)]
    pub ideal_ps: u64,
    /// `time_ps` divided by `ideal_ps`; null: the ideal is 0.
    #[serde(default)]
    pub time_over_ideal: Option<f64>,
    /// Iterations that all ranks have done.
    pub iterations: Vec<IterationAnswer>,
    /// The application waits for itself: no message or computation of the job is left, and ranks
    /// wait for messages that nobody sends. The answer is then "no". Null: it does not.
    pub stuck: Option<StuckAnswer>,
    /// Receives that took a message of another size than they expect. The answer is then "no".
    pub mismatches: u64,
    /// The first of these; null: there is none.
    pub mismatch: Option<MismatchAnswer>,
}

/// Place where a job waits for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StuckAnswer {
    /// Ranks that have not finished their iteration.
    pub ranks: u32,
    /// The first of them that waits for a message.
    pub rank: u32,
    /// Iteration, from 0.
    pub iteration: u32,
    /// Receive, as in the table `operations`.
    pub operation: u32,
    /// The source that it names; null: any.
    pub from_rank: Option<u32>,
    /// The tag that it names; null: any.
    pub tag: Option<u64>,
}

/// A receive that took a message of another size.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct MismatchAnswer {
    /// Iteration, from 0.
    pub iteration: u32,
    /// Receiving rank.
    pub rank: u32,
    /// Receive, as in the table `operations`.
    pub operation: u32,
    /// Bytes that it expects [bytes].
    pub bytes: u64,
    /// Sending rank.
    pub from_rank: u32,
    /// Send, as in the table `operations`.
    pub from_operation: u32,
    /// Bytes that were sent [bytes].
    pub sent_bytes: u64,
}

impl StuckAnswer {
    /// `rank 1, operation 3, waits for a message from rank 0 with tag 7`.
    pub fn words(&self) -> String {
        let word = |v: Option<u64>| v.map_or("any".to_owned(), |v| v.to_string());
        let (from, tag) = (word(self.from_rank.map(u64::from)), word(self.tag));
        format!(
            "rank {}, operation {}, waits for a message from rank {from} with tag {tag}",
            self.rank, self.operation
        )
    }
}

impl MismatchAnswer {
    /// `rank 1, operation 3, expects 8 B and took the 5000 B of rank 0, operation 2`.
    pub fn words(&self) -> String {
        let MismatchAnswer {
            rank, operation, bytes, from_rank, from_operation, sent_bytes, ..
        } = self;
        format!(
            "rank {rank}, operation {operation}, expects {bytes} B and took the {sent_bytes} B of rank {from_rank}, operation {from_operation}"
        )
    }
}

/// An iteration of a job.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IterationAnswer {
    /// From the end of the iteration before to its own, each that of the rank that ends last; of
    /// the first one from the job's start. All of them add up to `time_ps` of the job [ps].
    pub time_ps: u64,
    /// Time at which the last rank ended [ps].
    pub end_ps: u64,
    /// Exposed communication of the rank with the most: time in which it has messages in flight and
    /// does not compute [ps].
    pub exposed_ps: u64,
    /// The rank that ended last.
    pub last_rank: u32,
    /// The message of the critical path that lost most time to pauses, rate control and queues;
    /// null: no message is on the path.
    pub straggler: Option<StragglerAnswer>,
    /// The critical path, by cause.
    pub critical_path: PathAnswer,
}

/// The message that an iteration waited for longest.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StragglerAnswer {
    /// Flow.
    pub flow: u64,
    /// Rank that sent it.
    pub from_rank: u32,
    /// Rank that received it.
    pub to_rank: u32,
    /// Host of the sender.
    pub from_host: String,
    /// Host of the receiver.
    pub to_host: String,
    /// Time at which its sender started it, or at which the previous iteration ended, whichever is
    /// later [ps].
    pub start_ps: u64,
    /// Arrival [ps].
    pub end_ps: u64,
    /// Part of that time in which ports on its path were paused [ps].
    pub pause_ps: u64,
    /// Rate control, or a window, held it back at its source [ps].
    pub rate_limit_ps: u64,
    /// Time behind other frames [ps].
    pub queueing_ps: u64,
    /// The port of its path that was paused longest during the message; null: none was paused.
    pub paused_port: Option<String>,
    /// Time that this port was paused [ps].
    pub paused_port_ps: u64,
}

/// A critical path by cause; all together are `time_ps` of the iteration.
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
    /// Time of a message behind other frames [ps].
    pub queueing_ps: u64,
}
