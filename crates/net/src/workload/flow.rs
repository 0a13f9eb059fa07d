//! Flows, and the flows of a whole run in their final order.

use std::collections::HashMap;
use std::sync::Arc;

use crate::jobs::{Job, Jobs, Pages};
use crate::topology::Topology;
use crate::topology::routing::{ExplicitPaths, FlowKey};
use xoff_units::params::ParamError;
use xoff_units::state::State;
use xoff_units::{NodeId, Rate, Time, flat};

use crate::workload::generators::closed_loop::ClosedLoop;
use crate::workload::{Act, Call, Repeat};

/// Size of a flow that never ends [bytes].
pub const UNLIMITED: u64 = u64::MAX;

/// Source port of the first flow of a pair of hosts, as in HPCC's simulator.
pub const FIRST_SRC_PORT: u16 = 10_000;
/// Destination port unless another is given, as in HPCC's flow files.
pub const DST_PORT: u16 = 100;

/// A message from one host to another.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Flow {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host, never `src`.
    pub dst: NodeId,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// Payload [bytes], at least 1; [`UNLIMITED`]: never ends.
    pub size: u64,
    /// Start at the application [ps].
    pub start: Time,
    /// Constant rate the application does not exceed [bit/s]; `None`: as fast as the NIC lets it.
    pub rate: Option<Rate>,
    /// True if the run's rate control applies to the flow.
    pub controlled: bool,
    /// Source port: it distinguishes the flows of a pair in an ECMP hash. From a generator, 0 means
    /// "the next free one of the pair", which [`Flows::new`] fills in.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Index into [`Flows::paths`] of the path it takes; `None`: as routed.
    pub path: Option<u32>,
    /// Index into [`Flows::labels`]: the workload it came from.
    pub label: u32,
}

flat!(Flow {
    src: NodeId,
    dst: NodeId,
    priority: u8,
    size: u64,
    start: Time,
    rate: Option<Rate>,
    controlled: bool,
    src_port: u16,
    dst_port: u16,
    path: Option<u32>,
    label: u32,
});

impl From<&Flow> for FlowKey {
    fn from(f: &Flow) -> FlowKey {
        FlowKey { src: f.src, dst: f.dst, src_port: f.src_port, dst_port: f.dst_port }
    }
}

/// A path given node by node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenPath {
    /// All nodes from the source on: to the destination, or to the switch that closes the loop.
    pub nodes: Vec<NodeId>,
    /// A routing loop: it never arrives.
    pub is_loop: bool,
}

impl GivenPath {
    /// Adds it to the paths of a run and returns its index; the error's key is `path`.
    pub(crate) fn add_to(
        &self,
        paths: &mut ExplicitPaths,
        topo: &Topology,
    ) -> Result<u32, ParamError> {
        let names: Vec<&str> = self.nodes.iter().map(|&n| topo.name(n)).collect();
        if self.is_loop { paths.add_loop(topo, &names) } else { paths.add(topo, &names) }
    }
}

/// Output of one generator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generated {
    /// Flows in the generator's order; `path` counts within `paths` of this part.
    pub flows: Vec<Flow>,
    /// Explicit paths.
    pub paths: Vec<GivenPath>,
    /// A source that is asked for flows during the run.
    pub closed_loop: Option<ClosedLoop>,
    /// All flows come so often; `None`: once.
    pub repeat: Option<Repeat>,
    /// Notes for the user: one sentence each.
    pub notes: Vec<String>,
}

/// All flows of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// Sorted by start; equal starts in the order in which they were given. A flow's number is its
    /// index here. Shared by a scenario and its runs, because there may be many.
    pub flows: Arc<Vec<Flow>>,
    /// Temporary file for the records of flows that are over; `None`: they stay in memory.
    pub pages: Option<Pages>,
    /// Explicit paths.
    pub paths: ExplicitPaths,
    /// Sources that are asked for flows during the run.
    pub loops: Vec<ClosedLoop>,
    /// Priorities of flows that the driver of the run adds during it; empty: it adds none.
    pub handed_in: Vec<u8>,
    /// Calls of such a driver, which the run repeats; `None`: it is driven now, or not at all.
    pub calls: Option<Arc<Vec<Call>>>,
    /// Jobs, whose messages are the last of the flows: they begin when their ranks send them,
    /// [`Time::NEVER`] until then. Those of streamed jobs are not in the list: [`message_flow`] has
    /// them.
    pub jobs: Option<Arc<Jobs>>,
    /// Names of the workloads.
    pub labels: Vec<String>,
    /// Notes for the user, with the workload's name in front.
    pub notes: Vec<String>,
}

impl Flows {
    /// Whether all flows of the run are in the list. Otherwise jobs, closed loops or the driver add
    /// flows during the run.
    pub fn all_listed(&self) -> bool {
        self.loops.is_empty() && self.handed_in.is_empty() && self.jobs.is_none()
    }

    /// Temporary file of a run that does not keep its flows or the messages of its jobs in memory.
    pub fn pages(&self) -> Option<&Pages> {
        self.pages.as_ref().or_else(|| self.jobs.as_ref()?.pages())
    }

    /// Label of messages that a driver hands in; the next one is that of messages of queue pairs.
    /// They are the last two.
    pub fn handed_in_label(&self) -> u32 {
        (self.labels.len() as u32).saturating_sub(2)
    }

    /// Messages that the run repeats from the calls of a driver.
    pub fn sends(&self) -> impl Iterator<Item = &Flow> {
        self.calls.iter().flat_map(|calls| calls.iter()).filter_map(|call| match &call.act {
            Act::Send { flow, .. } => Some(flow),
            _ => None,
        })
    }

    /// Puts the workloads of a run together. `labels[i]` names `parts[i]`.
    ///
    /// Source ports left open become 10000, 10001, ... per pair of hosts in the order given, as in
    /// HPCC's simulator: a workload added at the end changes no port before it. An error can only
    /// be a path that `topo` does not have.
    pub fn new(
        topo: &Topology,
        labels: Vec<String>,
        parts: Vec<Generated>,
    ) -> Result<Flows, ParamError> {
        let mut all = Flows { labels, ..Flows::default() };
        let mut listed: Vec<Flow> = Vec::new();
        let mut used: HashMap<(NodeId, NodeId), u16> = HashMap::new();
        for (i, part) in parts.into_iter().enumerate() {
            let first_path = all.paths.len() as u32;
            for path in &part.paths {
                path.add_to(&mut all.paths, topo)?;
            }
            all.loops.extend(part.closed_loop);
            let name = all.labels.get(i).map_or("", |s| s.as_str());
            all.notes.extend(part.notes.into_iter().map(|n| format!("{name}: {n}")));
            let once = part.flows.into_iter().map(|mut f| {
                f.path = f.path.map(|p| p + first_path);
                if f.src_port == 0 {
                    let next = used.entry((f.src, f.dst)).or_insert(0);
                    f.src_port = src_port(*next as u64);
                    *next = (*next + 1) % SRC_PORTS;
                }
                f
            });
            match part.repeat {
                Some(repeat) => listed.extend(repeat.of(once.collect())),
                // In the memory of the part.
                None if listed.is_empty() => listed = once.collect(),
                None => listed.extend(once),
            }
        }
        listed.sort_by_key(|f| f.start);
        all.flows = Arc::new(listed);
        Ok(all)
    }

    /// Adds jobs, whose hosts, graphs and labels are set: numbers their messages, which become
    /// flows after all others. Either all of them are streamed or none is.
    pub fn add_jobs(&mut self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut all = Jobs::default();
        let mut first = self.flows.len() as u32;
        for (nth, mut job) in jobs.into_iter().enumerate() {
            job.first_flow = first;
            if job.src_port == 0 {
                let place = nth % (SRC_PORTS as usize / PAIRS_MAX as usize);
                job.src_port = FIRST_SRC_PORT + place as u16 * PAIRS_MAX;
            }
            first += job.flows() as u32;
            if !job.is_streamed() {
                let of_an_iteration: Vec<Flow> =
                    job.messages.iter().map(|m| flow_of(&job, &m)).collect();
                let listed = Arc::make_mut(&mut self.flows);
                listed.reserve(job.flows() as usize);
                (0..job.iterations).for_each(|_| listed.extend_from_slice(&of_an_iteration));
            }
            all.jobs.push(Arc::new(job));
        }
        self.jobs = Some(Arc::new(all));
    }

    /// Number of flows, including messages of streamed jobs.
    pub fn len(&self) -> u64 {
        let streamed = self.jobs.as_ref().filter(|j| j.are_streamed());
        self.flows.len() as u64 + streamed.map_or(0, |j| j.flows())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Messages of streamed jobs: of an iteration of each, as they are before they begin.
    pub fn streamed(&self) -> impl Iterator<Item = Flow> + '_ {
        let jobs = self.jobs.iter().filter(|j| j.are_streamed()).flat_map(|j| j.jobs.iter());
        jobs.flat_map(|job| job.messages.iter().map(move |m| flow_of(job, &m)))
    }
}

/// The flow of a message, before it begins.
fn flow_of(job: &Job, m: &crate::jobs::Message) -> Flow {
    Flow {
        src: job.hosts[m.from as usize],
        dst: job.hosts[m.to as usize],
        priority: job.priority,
        size: m.bytes.max(1),
        start: Time::NEVER,
        rate: None,
        controlled: true,
        src_port: job.src_port + m.pair % PAIRS_MAX,
        dst_port: DST_PORT,
        path: None,
        label: job.label,
    }
}

/// The message of a number, before it begins.
pub fn message_flow(jobs: &Jobs, flow: u32) -> Flow {
    let job = &jobs.jobs[jobs.of_flow(flow).expect("the number is that of a message")];
    flow_of(job, &job.message(job.of_flow(flow).1))
}

/// Queue pairs that a job has for a peer at most.
pub const PAIRS_MAX: u16 = 256;

/// Source ports before they start again from the first.
const SRC_PORTS: u16 = u16::MAX - FIRST_SRC_PORT;

/// Source port of the `nth` flow of a series.
pub fn src_port(nth: u64) -> u16 {
    FIRST_SRC_PORT + (nth % SRC_PORTS as u64) as u16
}
