//! A job: a graph, its hosts, and the numbers of its messages.

use std::sync::Arc;

use xoff_units::paged::Items;
use xoff_units::{Bytes, NodeId, Rate, Span, Time, flat};

use crate::jobs::graph::{Graph, NONE, Pages, Work};
use crate::jobs::machine::SPAN_MAX;

/// Cost of messages at a host besides the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overheads {
    /// Time for which a send keeps its stream busy before the message is handed over (`o` of
    /// LogGP).
    pub send: Span,
    /// Time for which a receive keeps its stream busy once the message is there (`o` of LogGP).
    pub receive: Span,
    /// Shortest time between two messages of a rank that are handed over to the network, and
    /// between two that it takes from it (`g` of LogP).
    pub gap: Span,
}

/// Exchange of messages between ranks of one node, without the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner {
    /// Ranks of a node; 1: every message goes through the network.
    pub ranks: u32,
    /// Rate at which a rank sends to the others of its node, one message at a time.
    pub rate: Rate,
    /// From the last byte of a message to its arrival.
    pub latency: Span,
}

/// A message of an iteration that goes through the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// The send.
    pub op: u32,
    /// Payload [bytes].
    pub bytes: u64,
    /// Tag by which the receiver distinguishes messages.
    pub tag: u64,
    /// Queue pair among those of the peer.
    pub pair: u16,
}

flat!(Message { from: u32, to: u32, op: u32, bytes: u64, tag: u64, pair: u16 });

/// Size of the wire counts at the start and at the end of a message: in a map during its life, in a
/// list then [bytes].
const WIRE: u64 = 64;

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Name.
    pub name: String,
    /// Index of its name among the workloads.
    pub label: u32,
    /// Host of each rank.
    pub hosts: Vec<NodeId>,
    /// Operations of the ranks in an iteration.
    pub graph: Arc<Graph>,
    /// Number of iterations; each rank has its own pace.
    pub iterations: u32,
    /// Start of the first iteration.
    pub start: Time,
    /// Queue pairs of a rank for each peer.
    pub queue_pairs: u16,
    /// Source port of its first queue pairs; 0: by its place among the jobs.
    pub src_port: u16,
    /// Priority of its messages.
    pub priority: u8,
    /// Cost of messages at hosts.
    pub overheads: Overheads,
    /// Exchange of messages between ranks of one node.
    pub inner: Option<Inner>,
    /// The messages of an iteration.
    pub messages: Items<Message>,
    /// Number of the flow of its first message.
    pub first_flow: u32,
    /// By rank: computing takes this many thousandths.
    pub pace: Vec<u32>,
    /// By rank: its first message; then their number.
    pub sends: Vec<u32>,
}

impl Job {
    /// Numbers the messages that go through the network.
    pub fn number(&mut self) {
        let mut graph = Arc::unwrap_or_clone(std::mem::take(&mut self.graph));
        let ranks = graph.programs.len();
        self.messages = match graph.pages() {
            // Every rank stands somewhere else in it.
            Some(pages) => pages.list_of(4 * ranks + 16, |_| Message {
                from: 0,
                to: 0,
                op: 0,
                bytes: 0,
                tag: 0,
                pair: 0,
            }),
            None => Items::default(),
        };
        self.sends.clear();
        for (from, program) in (0..).zip(&mut graph.programs) {
            self.sends.push(self.messages.len() as u32);
            for op in 0..program.len() {
                let Work::Send { to, bytes, tag, channel } = program.op(op).work else { continue };
                if self.within_node(from, to) {
                    continue;
                }
                program.set_message(op, self.messages.len() as u32);
                let pair = channel % self.queue_pairs.max(1);
                self.messages.push(Message { from, to, op, bytes, tag, pair });
            }
        }
        self.sends.push(self.messages.len() as u32);
        self.graph = Arc::new(graph);
    }

    /// Whether its operations and messages are in a file, and not in memory.
    pub fn is_streamed(&self) -> bool {
        self.graph.pages().is_some()
    }

    /// The place of a flow among those of its sender.
    pub fn nth_of_rank(&self, rank: u32, flow: u32) -> u64 {
        let (iteration, message) = self.of_flow(flow);
        let (first, end) = (self.sends[rank as usize], self.sends[rank as usize + 1]);
        u64::from(iteration) * u64::from(end - first) + u64::from(message - first)
    }

    /// A message of an iteration.
    #[inline]
    pub fn message(&self, message: u32) -> Message {
        self.messages.get(message as usize)
    }

    /// Whether both ranks are in one node.
    pub fn within_node(&self, a: u32, b: u32) -> bool {
        self.inner.is_some_and(|i| i.ranks > 1 && a / i.ranks == b / i.ranks)
    }

    /// Whether anything is sent inside of nodes.
    pub fn sends_inside(&self) -> bool {
        let inside = |from: u32| move |o: crate::jobs::Op| matches!(o.work, Work::Send { to, .. } if self.within_node(from, to));
        self.inner.is_some()
            && (0..).zip(&self.graph.programs).any(|(from, p)| p.ops().any(inside(from)))
    }

    /// Memory of a job in a run, besides its flows [bytes]: operations, messages, and the wire
    /// count of a host at each.
    pub fn bytes(&self) -> u64 {
        if self.is_streamed() {
            return 0;
        }
        let message = size_of::<Message>() as u64;
        self.graph.bytes(self.iterations.into())
            + self.messages.len() as u64 * message
            + self.flows() * WIRE
    }

    /// Flows of all its iterations.
    pub fn flows(&self) -> u64 {
        self.messages.len() as u64 * self.iterations as u64
    }

    /// Iteration and message of a flow.
    pub fn of_flow(&self, flow: u32) -> (u32, u32) {
        let (nth, per) = (flow - self.first_flow, self.messages.len() as u32);
        (nth / per, nth % per)
    }

    /// The flow of a message.
    pub fn flow(&self, iteration: u32, message: u32) -> u32 {
        debug_assert!(message != NONE);
        self.first_flow + iteration * self.messages.len() as u32 + message
    }

    /// Time that a message inside a node keeps its sender's way busy.
    pub fn inner_time(&self, bytes: u64) -> Span {
        self.inner.map_or(Span::ZERO, |i| i.rate.time_for(Bytes(bytes)).min(SPAN_MAX))
    }
}

/// All jobs of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jobs {
    /// In the order of the scenario, and of their flows.
    pub jobs: Vec<Arc<Job>>,
}

impl Jobs {
    /// The job of a flow; `None`: the flow is of another workload.
    pub fn of_flow(&self, flow: u32) -> Option<usize> {
        let at = self.jobs.partition_point(|j| j.first_flow <= flow).checked_sub(1)?;
        ((flow - self.jobs[at].first_flow) as u64 <= self.jobs[at].flows().saturating_sub(1)
            && self.jobs[at].flows() > 0)
            .then_some(at)
    }

    /// The file in which their operations and messages are, if not in memory. Those of all or of
    /// none are.
    pub fn pages(&self) -> Option<&Pages> {
        self.jobs.iter().find_map(|j| j.graph.pages())
    }

    /// Whether their operations and messages are in a file.
    pub fn are_streamed(&self) -> bool {
        self.pages().is_some()
    }

    /// Messages of all jobs and iterations.
    pub fn flows(&self) -> u64 {
        self.jobs.iter().map(|j| j.flows()).sum()
    }

    /// Ranks of all jobs.
    pub fn ranks(&self) -> usize {
        self.jobs.iter().map(|j| j.hosts.len()).sum()
    }
}
