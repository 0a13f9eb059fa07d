//! The flows of a run: their parameters and results.

use xoff_mech::detection::MarkCounts;
use xoff_net::workload::Flow;
use xoff_node::EventKey;
use xoff_units::state::{Broken, Reader, State, Value, Walk};
use xoff_units::{FlowId, Span, Time, flat, prefetch};

use crate::engine::clock::Clock;
use crate::observe::records::Records;

/// Progress of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub(crate) enum Stage {
    /// The last frame has left the source.
    Sent,
    /// The last frame has arrived, without a report.
    Delivered,
    /// The last frame has arrived and is to be acknowledged.
    Arrived,
    /// The news that all has arrived is at its source.
    Acknowledged,
}

/// Frames of a flow that arrived ahead of a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
#[state(counted)]
pub struct Ahead {
    /// Number of frames.
    pub frames: u64,
    /// Most bytes beyond the first gap: what a reorder buffer holds [bytes].
    #[state(saved)]
    pub peak: u64,
    /// Longest time for which a frame was ahead [ps].
    #[state(saved)]
    pub hold: u64,
}
flat!(Ahead { frames: u64, peak: u64, hold: u64 });

impl Ahead {
    fn add(&mut self, o: Ahead) {
        self.frames += o.frames;
        self.peak = self.peak.max(o.peak);
        self.hold = self.hold.max(o.hold);
    }
}

/// A flow and its fate. Its times, and the pauses of its last frame, come with its end, which no
/// skipped period contains.
#[derive(Clone, Debug, PartialEq, State)]
#[state(counted)]
pub struct FlowRecord {
    /// The flow as it was started.
    #[state(saved)]
    pub flow: Flow,
    /// Number of flows that its host had started before it (closed loops number by it).
    #[state(saved)]
    pub nth: u64,
    /// Payload put on the wire by the source, repetitions included [bytes].
    pub sent: u64,
    /// Payload delivered in order, without a gap from the first byte on [bytes].
    pub delivered: u64,
    /// Payload that arrived out of order, beyond a gap or a second time, and was not delivered later
    /// [bytes].
    pub out_of_order: u64,
    /// Frames ahead of a gap.
    pub ahead: Ahead,
    /// Data frames of it that arrived marked.
    pub marked: MarkCounts,
    /// CNMs of congested buffers that its source has had while it sent.
    pub cnms: u64,
    /// Time that the last frame of a job's message waited in switches for paused ports [ps].
    #[state(saved)]
    pub stopped: u64,
    /// Time at which the source put the last frame on the wire.
    #[state(saved)]
    pub all_sent: Option<Time>,
    /// Time at which the last byte had arrived in order.
    #[state(saved)]
    pub received: Option<Time>,
    /// Completion: last acknowledgement at the source, or without acknowledgements last byte at the
    /// destination.
    #[state(saved)]
    pub end: Option<Time>,
}

impl FlowRecord {
    pub(crate) fn new(flow: Flow, nth: u64) -> Self {
        FlowRecord {
            flow,
            nth,
            sent: 0,
            delivered: 0,
            out_of_order: 0,
            ahead: Ahead::default(),
            marked: MarkCounts::default(),
            cnms: 0,
            stopped: 0,
            all_sent: None,
            received: None,
            end: None,
        }
    }

    /// Prefetches the counters of the flow.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.sent);
    }

    /// Adds another partition's record of the same flow.
    pub(crate) fn add(&mut self, o: &FlowRecord) {
        self.flow.start = self.flow.start.min(o.flow.start); // a message of a job begins where its source is
        self.nth += o.nth;
        self.sent += o.sent;
        self.delivered += o.delivered;
        self.out_of_order += o.out_of_order;
        self.ahead.add(o.ahead);
        self.marked.add(o.marked);
        self.cnms += o.cnms;
        self.stopped += o.stopped;
        self.all_sent = self.all_sent.or(o.all_sent);
        self.received = self.received.or(o.received);
        self.end = self.end.or(o.end);
    }

    /// Time of the last acknowledgement at the source. None without acknowledgements, where the
    /// flow is complete with its delivery; an acknowledgement takes time, so it is always later
    /// than that.
    pub fn acked(&self) -> Option<Time> {
        self.end.filter(|_| self.end != self.received)
    }

    /// Payload that arrived, in any order, repetitions included [bytes].
    pub fn arrived(&self) -> u64 {
        self.delivered.saturating_add(self.out_of_order)
    }

    /// Completion time: from the start to the last byte at the destination.
    pub fn fct(&self) -> Option<Span> {
        self.received.map(|t| t.since(self.flow.start))
    }
}

/// Part of a flow's record that a process has seen, without the flow, which all processes know.
#[derive(Clone, Default, PartialEq, State)]
pub(crate) struct Seen {
    nth: u64,
    sent: u64,
    delivered: u64,
    out_of_order: u64,
    ahead: Ahead,
    marked: MarkCounts,
    cnms: u64,
    stopped: u64,
    all_sent: Option<Time>,
    received: Option<Time>,
    end: Option<Time>,
}
flat!(Seen {
    nth: u64,
    sent: u64,
    delivered: u64,
    out_of_order: u64,
    ahead: Ahead,
    marked: MarkCounts,
    cnms: u64,
    stopped: u64,
    all_sent: Option<Time>,
    received: Option<Time>,
    end: Option<Time>
});

impl Seen {
    /// State of a flow with this record.
    pub fn of(record: &FlowRecord) -> Seen {
        let &FlowRecord {
            flow: _,
            nth,
            sent,
            delivered,
            out_of_order,
            ahead,
            marked,
            cnms,
            stopped,
            all_sent,
            received,
            end,
        } = record;
        Seen {
            nth,
            sent,
            delivered,
            out_of_order,
            ahead,
            marked,
            cnms,
            stopped,
            all_sent,
            received,
            end,
        }
    }
    /// True if nothing of the flow was seen.
    pub fn is_nothing(&self) -> bool {
        *self == Seen::default()
    }
    /// The record of this flow.
    pub fn record(self, flow: Flow) -> FlowRecord {
        let Seen {
            nth,
            sent,
            delivered,
            out_of_order,
            ahead,
            marked,
            cnms,
            stopped,
            all_sent,
            received,
            end,
        } = self;
        FlowRecord {
            flow,
            nth,
            sent,
            delivered,
            out_of_order,
            ahead,
            marked,
            cnms,
            stopped,
            all_sent,
            received,
            end,
        }
    }
}

/// The flows of one partition of the network.
#[derive(Default)]
pub(crate) struct FlowTable {
    /// By number.
    pub records: Records,
    /// Ended flows that may start another one at their source, in a closed loop.
    pub ended: Vec<(FlowId, Stage)>,
    /// Flows that are acknowledged: the receiver may drop them.
    pub acknowledged: Vec<FlowId>,
    /// Flows that are complete, in that order; `None`: a rank of a job is at its end.
    pub completions: Vec<(EventKey, Option<FlowId>)>,
    /// From this one on they are others than in the state that was restored.
    pub others_from: u32,
}

/// True if both are the same flow. Only the run knows when a message of a job starts.
fn same(built: &Flow, saved: &Flow) -> bool {
    built == saved
        || (built.start == Time::NEVER && *built == Flow { start: Time::NEVER, ..saved.clone() })
}

/// Flows of the list are there already; those of closed loops began during the run. Of a message of
/// a job, only its rank knows when it begins.
impl State for FlowTable {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let FlowTable { records, ended, acknowledged, completions, others_from: _ } = self;
        records.len().walk(w)?;
        for record in records.iter() {
            record.walk(w)?;
        }
        if W::COMPARES && records.are_paged() {
            w.refuse("a streamed job")?;
        }
        records.walk_messages(w)?;
        ended.walk(w)?;
        acknowledged.walk(w)?;
        completions.walk(w)
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        let (n, listed) = (from.count()?, !self.records.is_empty());
        self.others_from = u32::MAX;
        for at in 0..n {
            let saved = FlowRecord::read(from)?;
            match self.records.get_mut(at) {
                None if !listed => self.records.push(saved),
                Some(built) if same(&built.flow, &saved.flow) => *built = saved,
                _ if !Seen::of(&saved).is_nothing() => {
                    return Err(Broken("a flow has begun that is another one here"));
                }
                _ => self.others_from = self.others_from.min(at as u32),
            }
        }
        self.others_from = if listed && self.records.len() > n {
            self.others_from.min(n as u32)
        } else {
            self.others_from
        };
        self.records.restore_messages(from)?;
        self.ended.restore(from)?;
        self.acknowledged.restore(from)?;
        self.completions.restore(from)
    }
}

impl FlowTable {
    pub fn complete(&mut self, clock: &Clock, flow: FlowId) {
        self.records.at(flow).end = Some(clock.of_run());
        self.completions.push((clock.place(), Some(flow)));
    }
}
