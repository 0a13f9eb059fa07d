//! Outcome of a run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_mech::detection::MarkCounts;
use xoff_net::jobs::{Job, Log, Shares};
use xoff_net::topology::routing::Routes;
use xoff_node::PoolUse;
use xoff_units::paged::{Items, Paged};
use xoff_units::state::State;
use xoff_units::{FlowId, NodeId, PortId, Rate, Span, Time};

use crate::observe::checks::Violation;
use crate::observe::deadlock_detector::Deadlock;
use crate::observe::flows::FlowRecord;
use crate::observe::histogram::QueueCounts;
use crate::observe::lost::{LostFrames, RetryCounts};
use crate::observe::storms::Storm;

/// Effect of fast-forward on a run, or the reason for none.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
pub struct FastForwarded {
    /// Periods that were found.
    pub periods: u64,
    /// The longest of them [ps].
    pub longest: Span,
    /// Number of repeated episodes: stretches from an idle network to its next idle state.
    pub repeated: u64,
    /// Simulated time that was skipped [ps].
    pub skipped: Span,
    /// Events that the skipped periods would have taken.
    pub events_skipped: u64,
    /// Reason why nothing was skipped; `None`: something was.
    pub because: Option<String>,
}

impl FastForwarded {
    /// Notes why nothing has been skipped so far.
    pub(crate) fn note(&mut self, because: &str) {
        if self.periods == 0 {
            self.because = Some(because.into());
        }
    }
}

/// Log of a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankLog {
    /// Start and end of its operations.
    pub log: Log,
    /// Messages in order of their flows: bytes that the NIC had put on the wire at the start of
    /// each, and at its last frame.
    pub wire: Vec<(u32, u64, u64)>,
    /// Bytes that the NIC sent meanwhile, by message of the rank; for a streamed job instead.
    pub carried: Option<Items<u64>>,
    /// Uses of the rank's time by completed iteration, for a streamed job.
    pub shares: Vec<Shares>,
}

impl RankLog {
    /// Bytes that the rank's NIC put on its wire from the start of a message until its last frame.
    pub fn carried(&self, job: &Job, rank: u32, flow: FlowId) -> u64 {
        match &self.carried {
            Some(carried) => carried.get(job.nth_of_rank(rank, flow.0) as usize),
            None => self
                .wire
                .binary_search_by_key(&flow.0, |w| w.0)
                .map_or(0, |i| self.wire[i].2 - self.wire[i].1),
        }
    }
}

/// Reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The end time was reached.
    TimeUp,
    /// Nothing was left to happen.
    Quiet,
    /// All flows were complete and the scenario asked to stop there.
    FlowsDone,
    /// A deadlock was found and the scenario asked to stop there.
    Deadlock,
    /// The caller stopped it.
    Interrupted,
    /// The records could not be written.
    RecorderFailed,
}

/// Counters of one port over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
#[state(counted)]
pub struct PortTotals {
    /// Bytes put on the wire, control frames not counted.
    #[state(saved)] // of its line
    pub tx_bytes: u64,
    /// Frames put on the wire, control frames not counted.
    #[state(saved)] // of its line
    pub tx_frames: u64,
    /// Control messages sent; those that are parts of another one count with it.
    pub messages_sent: u64,
    /// Control messages received, counted in the same way.
    pub messages_received: u64,
    /// Frames marked when leaving.
    pub marked: MarkCounts,
    /// Frames dropped on arrival, or because the link that they waited for failed.
    pub dropped: u64,
    /// Frames for this port, of whatever ingress, that its egress queues had no room for. They are
    /// among those dropped on arrival, too.
    pub tail_dropped: u64,
    /// Frames lost on the way to this port, control frames included: errors, or a failed link.
    pub lost: u64,
    /// Largest fill of the ingress buffer, any one class [bytes].
    #[state(saved)] // the maximum of one period is that of all
    pub ingress_bytes_max: u64,
    /// Largest egress queue, any one class [bytes].
    #[state(saved)] // the same
    pub egress_bytes_max: u64,
    /// Number of stops of this port by its peer.
    pub pauses: u64,
    /// Time during which the peer stopped this port, any class, runs still open included [ps].
    pub paused_ps: u64,
    /// Number of waits of a frame at the head of a queue for a message of the peer: it was paused,
    /// or lacked credits.
    pub blocks: u64,
    /// Time during which such a frame waited, any class, holds still open included [ps].
    pub blocked_ps: u64,
    /// Smallest rate that flow control allowed, 0 when stopped; `None`: it never changed.
    #[state(saved)] // the same
    pub allowed_min: Option<Rate>,
}

/// CNMs to sources from the buffers of one port. Apart from the other counters: most ports of most
/// runs send none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
#[state(counted)]
pub struct PortCnms {
    /// From the buffer behind the port, as an ingress.
    pub ingress: u64,
    /// From its egress queue.
    pub egress: u64,
}

/// A finished run.
#[derive(Debug)]
pub struct Outcome {
    /// Reason for the end.
    pub ended: Ended,
    /// Simulated time reached.
    pub now: Time,
    /// Events, those that fast-forward has skipped included.
    pub events: u64,
    /// Effect of fast-forward, or the reason for none.
    pub fast_forwarded: FastForwarded,
    /// Link traversals of data and feedback frames.
    pub frame_hops: u64,
    /// Link traversals of data frames.
    pub data_frame_hops: u64,
    /// Frames dropped by nodes, for whatever reason: [`LostFrames::dropped`].
    pub dropped_frames: u64,
    /// Frames lost on links, control frames included: [`LostFrames::on_links`].
    pub lost_frames: u64,
    /// All frames that did not arrive, by cause; counted whether or not checks are on.
    pub lost: LostFrames,
    /// Activity of links that repeat corrupted frames.
    pub retry: RetryCounts,
    /// Times that the retransmission timer of a flow expired.
    pub retransmission_timeouts: u64,
    /// Every link has a flow control that promises to lose nothing in the classes that are not
    /// lossy.
    pub lossless: bool,
    /// Data frames delivered.
    pub delivered_frames: u64,
    /// Changes of a flow's rate by its rate control.
    pub rate_changes: u64,
    /// Flows in order of their number; messages of streamed jobs are not among them.
    pub flows: Vec<FlowRecord>,
    /// Messages of streamed jobs, whose numbers are those after the flows'.
    pub messages: Option<Box<Paged<FlowRecord>>>,
    /// By flow: the ports by which its frames left a host of several ports, and, where switches
    /// balance load, those that they took where the first switch of its path had a choice, with their
    /// bytes; flows without any at the end may be left out. Messages of streamed jobs have none.
    pub uplinks: Vec<Vec<(u32, u64)>>,
    /// Logs of the ranks of each job.
    pub ranks: Vec<Vec<RankLog>>,
    /// Flows in the order in which they were complete.
    pub completions: Vec<FlowId>,
    /// Histograms of queue lengths, in order of time.
    pub queue_counts: Vec<QueueCounts>,
    /// Deadlocks found, in order of time.
    pub deadlocks: Vec<Deadlock>,
    /// Findings of watchdogs, in order of time.
    pub storms: Vec<Storm>,
    /// Counters by node and port.
    pub ports: Vec<Vec<PortTotals>>,
    /// The most that was held in the pools of each switch that has any, in the order of its
    /// configuration.
    pub pools: BTreeMap<NodeId, Vec<PoolUse>>,
    /// CNMs to sources by node and port, where there were any.
    pub cnms: BTreeMap<PortId, PortCnms>,
    /// Frames that a flow control took for those of another flow, because it counts flows in a
    /// table of bounded size.
    pub flow_collisions: u64,
    /// Broken promises in words (the first hundred).
    pub violations: Vec<Violation>,
    /// Broken promises.
    pub violations_total: u64,
    /// Routes at the start of the run.
    pub routes: Arc<Routes>,
}

impl Outcome {
    /// Number of flows, including messages of streamed jobs.
    pub fn flows_total(&self) -> u64 {
        self.flows.len() as u64 + self.messages.as_ref().map_or(0, |m| m.len())
    }

    /// A flow, or a message of a streamed job. Panics where there is none.
    pub fn flow(&self, flow: FlowId) -> FlowRecord {
        match (self.flows.get(flow.index()), &self.messages) {
            (None, Some(messages)) => messages.get(u64::from(flow) - self.flows.len() as u64),
            (listed, _) => listed.expect("there is such a flow").clone(),
        }
    }

    /// All flows in order of their number, messages of streamed jobs too.
    pub fn all_flows(&self) -> impl Iterator<Item = Cow<'_, FlowRecord>> {
        let messages = self.messages.iter().flat_map(|m| m.range(0, m.len()));
        self.flows.iter().map(Cow::Borrowed).chain(messages.map(Cow::Owned))
    }

    /// CNMs from the buffers of all ports.
    pub fn cnms_total(&self) -> PortCnms {
        self.cnms.values().fold(PortCnms::default(), |a, n| PortCnms {
            ingress: a.ingress + n.ingress,
            egress: a.egress + n.egress,
        })
    }
}
