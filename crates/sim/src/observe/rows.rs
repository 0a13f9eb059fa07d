//! Rows of events: the probe that records an event, and the row that it becomes.
//!
//! ```text
//!   NodeEvent -- Monitor::note --+-- counters
//!                                +-- record_*: a probe is set? -- Row --> RowBuffer -- put in order --> Recorder
//! ```

use rustc_hash::FxHashMap;
use xoff_mech::detection::Congestion;
use xoff_mech::flow_control::Message;
use xoff_node::{EventKey, NodeEvent};
use xoff_rows as rows;
use xoff_rows::{
    CauseRow, CnmRow, ControlRow, Direction, Mark, MarkRow, Port, PortState, QueueRow, RateRow,
    RateSource, Side, StateRow, StoppedBy,
};
use xoff_units::state::State;
use xoff_units::{At, Class, FlowId, NodeId, PortId, Rate, Time};

use crate::engine::clock::Clock;
use crate::observe::monitor::Monitor;
use crate::observe::probe::{HoldChange, OnWire, PauseChange, Row};

/// Rows of one partition of the network, until those of all partitions are put in order.
#[derive(Default, State)]
pub(crate) struct RowBuffer {
    /// True if there is a recorder; without one no row is kept.
    #[state(built)]
    pub recording: bool,
    /// Each row with its place in the order of events.
    #[state(built)]
    pub rows: Vec<(EventKey, Row)>,
    /// Transmissions on the wires of recorded ports.
    #[state(built)]
    pub frames: Vec<OnWire>,
    /// A row was recorded after its time.
    pub out_of_order: bool,
    /// Classes of ports that were just held or slowed down and whose reason is to be recorded.
    pub ask_why: Vec<At>,
    /// The last state of each port and class that is not the first one.
    states: FxHashMap<usize, PortState>,
}

impl RowBuffer {
    /// Keeps a row of an event that may have passed.
    fn record(&mut self, at: EventKey, row: Row) {
        if self.recording {
            self.rows.push((at, row));
        }
    }

    /// Stores the frames on a wire.
    pub fn record_frame(&mut self, frame: OnWire) {
        if self.recording {
            self.frames.push(frame);
        }
    }
}

impl Monitor {
    fn priority(&self, class: Class) -> u8 {
        self.layout.classes.priority(class)
    }

    fn port(&self, at: PortId) -> Port {
        Port(self.layout.ports.of(at.node, at.port))
    }

    /// The port whose frames arrive at this one: by its name go the ingress buffer and the messages
    /// sent to it.
    fn feeder(&self, at: PortId) -> Port {
        Port(self.layout.ports.peer(self.layout.ports.of(at.node, at.port)))
    }

    /// The name by which a buffer of a port goes.
    fn buffer(&self, at: PortId, side: Side) -> Port {
        match side {
            Side::Ingress => self.feeder(at),
            Side::Egress => self.port(at),
        }
    }

    /// The rows of an event, where a probe is set for it. Stops and holds record theirs as they
    /// find out what has changed.
    pub(crate) fn record_event(&mut self, clock: &Clock, node: NodeId, event: NodeEvent) {
        let at = |port, class| At { node, port, class };
        match event {
            NodeEvent::Queue { in_port, out_port, class, ingress, egress } => self
                .record_queue_change(clock, (node, class), (in_port, ingress), (out_port, egress)),
            NodeEvent::MessageSent { port, class, message } => {
                self.record_control(clock, at(port, class), Direction::Sent, message)
            }
            NodeEvent::MessageReceived { port, class, message } => {
                self.record_control(clock, at(port, class), Direction::Received, message)
            }
            NodeEvent::FlowRate { flow, rate } => {
                self.record_flow_rate(clock, (node, flow.0), rate)
            }
            NodeEvent::Marked { port, class, flow, mark } => {
                self.record_mark(clock, at(port, class), flow, mark)
            }
            NodeEvent::CnmSent { port, class, side, flow, congestion } => {
                self.record_cnm(clock, at(port, class), side, flow, congestion)
            }
            NodeEvent::State { port, class, state } => {
                self.record_state(clock, at(port, class), state)
            }
            _ => {}
        }
    }

    fn record_control(&mut self, clock: &Clock, at: At, direction: Direction, message: Message) {
        if self.probes.control.has(at.port_id()) {
            let (kind, value) = message.describe();
            let port = match direction {
                Direction::Sent => self.feeder(at.port_id()),
                Direction::Received => self.port(at.port_id()),
            };
            let (time_ps, priority, message) =
                (clock.now.0, self.priority(at.class), rows::Message(kind));
            self.rows.record(
                clock.place(),
                Row::Control(ControlRow { time_ps, port, priority, direction, message, value }),
            );
        }
    }

    fn record_cnm(
        &mut self,
        clock: &Clock,
        at: At,
        kind: Side,
        flow: FlowId,
        congestion: Congestion,
    ) {
        if self.probes.cnms.has(at.port_id()) {
            let (time_ps, port, priority, flow) = (
                clock.now.0,
                self.buffer(at.port_id(), kind),
                self.priority(at.class),
                u64::from(flow),
            );
            let Congestion { degree: feedback, above: q_off, growth: q_delta } = congestion;
            let row = CnmRow { time_ps, port, kind, priority, flow, feedback, q_off, q_delta };
            self.rows.record(clock.place(), Row::Cnm(row));
        }
    }

    fn record_state(&mut self, clock: &Clock, at: At, state: PortState) {
        let class_at = self.layout.class_index(at);
        // Everything begins without congestion.
        let before = self.rows.states.insert(class_at, state).unwrap_or(PortState::NonCongestion);
        if state != before && self.probes.states.has(at.port_id()) {
            let (time_ps, port, priority) =
                (clock.now.0, self.port(at.port_id()), self.priority(at.class));
            self.rows
                .record(clock.place(), Row::State(StateRow { time_ps, port, priority, state }));
        }
    }

    /// An ingress buffer and an egress queue of a switch hold other lengths now [bytes].
    fn record_queue_change(
        &mut self,
        clock: &Clock,
        (node, class): (NodeId, Class),
        ingress: (u16, u64),
        egress: (u16, u64),
    ) {
        if self.probes.queue_changes.is_none() {
            return;
        }
        let (time_ps, priority) = (clock.now.0, self.priority(class));
        for ((port, bytes), kind) in [(ingress, Side::Ingress), (egress, Side::Egress)] {
            let at = PortId { node, port };
            if self.probes.queue_changes.has(at) {
                let port = self.buffer(at, kind);
                self.rows.record(
                    clock.place(),
                    Row::Queue(QueueRow { time_ps, port, kind, priority, bytes }),
                );
            }
        }
    }

    fn record_flow_rate(&mut self, clock: &Clock, (node, flow): (NodeId, u32), rate: Rate) {
        if self.probes.flow_rates {
            let port = self.port(PortId { node, port: 0 });
            self.rows.record(
                clock.place(),
                flow_rate(clock.now, port, FlowId(flow), rate, RateSource::RateControl),
            );
        }
    }

    fn record_mark(&mut self, clock: &Clock, at: At, flow: FlowId, mark: Mark) {
        if self.probes.marks.has(at.port_id()) {
            let (time_ps, port, priority, flow) =
                (clock.now.0, self.port(at.port_id()), self.priority(at.class), u64::from(flow));
            self.rows
                .record(clock.place(), Row::Mark(MarkRow { time_ps, port, priority, flow, mark }));
        }
    }

    /// The rate that flow control allows a port has changed, and with it perhaps whether the port
    /// is stopped.
    pub(crate) fn record_allowed_rate(
        &mut self,
        key: EventKey,
        at: At,
        rate: Rate,
        stopped: Option<bool>,
    ) {
        let (number, priority) = (self.port(at.port_id()), self.priority(at.class));
        if self.probes.rate_changes.has(at.port_id()) {
            self.rows.record(
                key,
                port_rate(key.time, number, Some(priority), rate, RateSource::FlowControl),
            );
        }
        if let Some(stopped) = stopped.filter(|_| self.probes.pauses.has(at.port_id())) {
            let by = StoppedBy::Pause;
            self.rows.record(
                key,
                Row::Pause(PauseChange {
                    time_ps: key.time.0,
                    port: number,
                    priority,
                    stopped,
                    by,
                }),
            );
        }
    }

    /// Flow control began to hold a frame that waits, or let it go.
    pub(crate) fn record_hold(&mut self, clock: &Clock, at: At, on: bool, by: StoppedBy) {
        if !self.layout.detecting {
            return;
        }
        let (time_ps, number, priority) =
            (clock.now.0, self.port(at.port_id()), self.priority(at.class));
        // A message stops a port whether something waits or not; a lack of credits stops only
        // waiting frames.
        if by != StoppedBy::Pause && self.probes.pauses.has(at.port_id()) {
            self.rows.record(
                clock.place(),
                Row::Pause(PauseChange { time_ps, port: number, priority, stopped: on, by }),
            );
        }
        if self.probes.causes {
            self.rows.record(
                clock.place(),
                Row::Hold(HoldChange { time_ps, port: number, priority, on }),
            );
            if on {
                self.rows.ask_why.push(at);
            }
        }
    }

    /// A flow's share of the buffer for which a held port waits.
    pub(crate) fn record_cause(
        &mut self,
        clock: &Clock,
        at: At,
        next: PortId,
        flow: FlowId,
        bytes: u64,
    ) {
        let (port, next_port) = (self.port(at.port_id()), self.port(next));
        let (time_ps, priority, flow) = (clock.now.0, self.priority(at.class), u64::from(flow));
        self.rows.record(
            clock.place(),
            Row::Cause(CauseRow { time_ps, port, priority, flow, next_port, bytes }),
        );
    }
}

/// Lengths of the two buffers of a port and class [bytes].
pub(crate) fn queues(
    time: Time,
    (port, feeder): (Port, Port),
    priority: u8,
    ingress: u64,
    egress: u64,
) -> [Row; 2] {
    let row =
        |port, kind, bytes| Row::Queue(QueueRow { time_ps: time.0, port, kind, priority, bytes });
    [row(feeder, Side::Ingress, ingress), row(port, Side::Egress, egress)]
}

/// A rate of a port; without a priority that of all together.
pub(crate) fn port_rate(
    time: Time,
    port: Port,
    priority: Option<u8>,
    rate: Rate,
    source: RateSource,
) -> Row {
    Row::Rate(RateRow { time_ps: time.0, port, priority, flow: None, rate_bps: rate.0, source })
}

/// A rate of a flow, at the port of its source.
pub(crate) fn flow_rate(
    time: Time,
    port: Port,
    flow: FlowId,
    rate: Rate,
    source: RateSource,
) -> Row {
    Row::Rate(RateRow {
        time_ps: time.0,
        port,
        priority: None,
        flow: Some(u64::from(flow)),
        rate_bps: rate.0,
        source,
    })
}
