//! Observations of a partition of the network: counters of ports, flows, violated invariants, rows.
//!
//! ```text
//!   switches, NICs -- NodeEvent --> Env::emit --> Monitor::note --+-- ports, counts, flows, stops --> Outcome
//!                                                                 +-- checks --> Violation
//!                                                                 +-- rows --> Recorder
//! ```
//!
//! It needs to know when something happens, not how events are kept: any engine that has a
//! [`Clock`] can feed it.

use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_mech::detection::Side;
use xoff_node::{EventKey, NodeEvent};
use xoff_units::state::State;
use xoff_units::{At, Class, FlowId, NodeId, PortId};

use crate::engine::clock::Clock;
use crate::observe::checks::Checks;
use crate::observe::flows::{FlowTable, Stage};
use crate::observe::given_up::GivenUp;
use crate::observe::histogram::Histogram;
use crate::observe::last_frames::LastFrames;
use crate::observe::lost::{Dropped, LostFrames, RetryCounts};
use crate::observe::outcome::PortCnms;
use crate::observe::port_counters::PortCounters;
use crate::observe::probe::Probes;
use crate::observe::rows::RowBuffer;
use crate::observe::stops::{Allowed, Stops};
use crate::observe::storms::Storms;
use crate::observe::taken::Taken;
use crate::wire::layout::Layout;

/// Sums over a partition of the network.
#[derive(Default, State)]
#[state(counted)]
pub(crate) struct Counts {
    /// Links passed by frames, control frames not counted.
    pub frame_hops: u64,
    /// Frame-hops of data frames.
    pub data_frame_hops: u64,
    /// Data frames sent by sources.
    pub injected: u64,
    /// Data frames that reached their destination, in order or not.
    pub delivered: u64,
    /// Changes of a flow's rate.
    pub rate_changes: u64,
    /// Frames lost.
    pub lost: LostFrames,
    /// Repeats of links.
    #[state(saved)] // a run whose links repeat frames skips nothing
    pub retry: RetryCounts,
    /// Times that the retransmission timer of a flow expired.
    pub retransmission_timeouts: u64,
}

impl Counts {
    /// Adds those of another partition of the network.
    pub fn add(&mut self, o: &Counts) {
        self.frame_hops += o.frame_hops;
        self.data_frame_hops += o.data_frame_hops;
        self.injected += o.injected;
        self.delivered += o.delivered;
        self.rate_changes += o.rate_changes;
        self.lost.add(&o.lost);
        self.retry.add(&o.retry);
        self.retransmission_timeouts += o.retransmission_timeouts;
    }
}

/// The observations.
#[derive(State)]
pub(crate) struct Monitor {
    #[state(built)]
    pub layout: Arc<Layout>,
    #[state(built)]
    pub probes: Arc<Probes>,
    pub counts: Counts,
    pub flows: FlowTable,
    /// Counters by port; those of transmissions are with its [`Line`](crate::wire::line::Line).
    pub ports: PortCounters,
    /// Queue lengths are recorded or counted.
    #[state(built)]
    pub records_queues: bool,
    /// States of ports are recorded.
    #[state(built)]
    pub records_states: bool,
    /// A link has failed: frames may find no route, or arrive out of order over a new one.
    pub link_failed: bool,
    /// Links lose frames to errors.
    pub links_lose: bool,
    /// Stops and blocked times by peers.
    pub stops: Stops,
    /// Last frames of messages in switches, where jobs are accounted for.
    #[state(each)]
    pub last_frames: Option<Box<LastFrames>>,
    /// Frames that repeating links gave up.
    pub given_up: GivenUp,
    /// Findings of watchdogs.
    pub storms: Storms,
    /// By port, where there are any.
    pub cnms: BTreeMap<PortId, PortCnms>,
    pub taken: Taken,
    pub checks: Checks,
    pub rows: RowBuffer,
    #[state(each)]
    pub histogram: Option<Box<Histogram>>,
}

impl Monitor {
    /// Nothing has happened at any port of the network.
    pub fn new(layout: Arc<Layout>, probes: Arc<Probes>, checks: Checks) -> Monitor {
        let ports = layout.ports.len();
        Monitor {
            counts: Counts::default(),
            flows: FlowTable::default(),
            ports: PortCounters::new(ports),
            records_queues: !probes.queue_changes.is_none(),
            records_states: !probes.states.is_none(),
            link_failed: false,
            links_lose: false,
            stops: Stops::new(ports * layout.classes.len()),
            last_frames: layout.jobs.then(Box::default),
            given_up: GivenUp::default(),
            storms: Storms::default(),
            cnms: BTreeMap::new(),
            taken: Taken::default(),
            checks,
            rows: RowBuffer::default(),
            histogram: None,
            layout,
            probes,
        }
    }

    /// Something happens at a node.
    pub fn note(&mut self, clock: &Clock, node: NodeId, event: NodeEvent) {
        if self.layout.detecting {
            self.record_event(clock, node, event);
        }
        match event {
            NodeEvent::Queue { out_port, class, egress, .. } => {
                if let Some(h) = &mut self.histogram {
                    h.set(self.layout.port_index(PortId { node, port: out_port }), class, egress);
                }
            }
            NodeEvent::MessageSent { port, message, .. } => {
                self.ports[self.layout.port_index(PortId { node, port })].messages_sent +=
                    u64::from(!message.is_part());
            }
            NodeEvent::MessageReceived { port, message, .. } => {
                self.ports[self.layout.port_index(PortId { node, port })].messages_received +=
                    u64::from(!message.is_part());
            }
            NodeEvent::AllowedRate { port, class, rate, by, expires } => {
                self.note_rate(clock, Allowed { at: At { node, port, class }, rate, by, expires })
            }
            NodeEvent::Hold { port, class, on, by } => {
                self.note_hold(clock, At { node, port, class }, on, by)
            }
            NodeEvent::FlowRate { .. } => self.counts.rate_changes += 1,
            NodeEvent::Marked { port, mark, .. } => {
                self.ports[self.layout.port_index(PortId { node, port })].marked.count(mark);
            }
            NodeEvent::CnmSent { port, side, .. } => {
                let sent = self.cnms.entry(PortId { node, port }).or_default();
                match side {
                    Side::Ingress => sent.ingress += 1,
                    Side::Egress => sent.egress += 1,
                }
            }
            NodeEvent::CongestionNotificationReceived { flow } => {
                self.flows.records.at(flow).cnms += 1
            }
            NodeEvent::State { .. } => {} // for rows only
            NodeEvent::LinkRetry { port, what } => self.note_retry(PortId { node, port }, what),
            NodeEvent::TimedOut { .. } => self.counts.retransmission_timeouts += 1,
            NodeEvent::Watchdog { port, class, change } => {
                self.note_watchdog(clock, At { node, port, class }, change)
            }
            NodeEvent::Dropped { port, class, flow, len, kind, why } => {
                let at = self.layout.port_index(PortId { node, port });
                self.note_dropped(
                    clock,
                    &Dropped {
                        at,
                        from: self.layout.ports.peer(at as u32),
                        class,
                        flow,
                        len,
                        kind,
                        why,
                    },
                );
            }
            NodeEvent::Balanced { flow, port, len } => {
                // There may be more messages of streamed jobs than memory.
                if !self.layout.streamed {
                    let port = self.layout.port_index(PortId { node, port });
                    self.taken.add(flow, port as u32, len.into());
                }
            }
            NodeEvent::Sent { flow, payload } => {
                self.counts.injected += 1;
                self.flows.records.at(flow).sent += payload as u64;
            }
            NodeEvent::AllSent { flow } => {
                // Again, if it went back: only the first time counts.
                if self.flows.records.at(flow).all_sent.replace(clock.of_run()).is_none() {
                    self.comes_to(flow, Stage::Sent);
                }
            }
            NodeEvent::Delivered { flow, payload, mark, complete } => {
                self.counts.delivered += 1;
                let f = self.flows.records.at(flow);
                f.delivered += payload as u64;
                f.marked.count(mark);
                if complete {
                    f.received = Some(clock.of_run());
                }
                if complete && !self.layout.acknowledges(&f.flow) {
                    self.flows.complete(clock, flow);
                    self.comes_to(flow, Stage::Delivered);
                } else if complete {
                    self.comes_to(flow, Stage::Arrived);
                }
            }
            NodeEvent::Ahead { flow, held } => {
                let ahead = &mut self.flows.records.at(flow).ahead;
                ahead.frames += 1;
                ahead.peak = ahead.peak.max(held);
            }
            NodeEvent::GapFilled { flow, hold, released } => {
                let f = self.flows.records.at(flow);
                f.ahead.hold = f.ahead.hold.max(hold.0);
                f.out_of_order -= u64::from(released);
            }
            NodeEvent::OutOfOrder { flow, expected, got, payload, mark } => {
                self.flows.records.at(flow).marked.count(mark);
                self.note_out_of_order(clock, flow, (expected, got), payload)
            }
            NodeEvent::Acknowledged { flow } => {
                self.flows.complete(clock, flow);
                self.comes_to(flow, Stage::Acknowledged);
                if self.layout.frees_receiver_state {
                    self.flows.acknowledged.push(flow);
                }
            }
        }
    }

    fn note_out_of_order(
        &mut self,
        clock: &Clock,
        flow: FlowId,
        (expected, got): (u64, u64),
        payload: u32,
    ) {
        self.counts.delivered += 1;
        let record = self.flows.records.at(flow);
        record.out_of_order += payload as u64;
        let class = self.layout.classes.class(record.flow.priority).unwrap_or(Class(0));
        // A frame that arrives twice was sent twice: sources with a timer repeat frames that are
        // only late.
        let twice = self.layout.transport.has_timer() && got < expected;
        let promised = self.layout.is_lossless(class) && !self.layout.reorders;
        if promised && !twice && !self.link_failed && !self.links_lose {
            let (layout, flow_of) = (&self.layout, &record.flow);
            let describe = || layout.describe_out_of_order(flow, flow_of, (expected, got));
            let at = EventKey { time: clock.of_run(), rank: clock.place().rank };
            self.checks.out_of_order(at, flow, (expected, got), describe);
        }
    }

    fn comes_to(&mut self, flow: FlowId, stage: Stage) {
        if self.layout.loops || self.layout.jobs {
            self.flows.ended.push((flow, stage));
        }
    }
}
