//! From what happens to rows: which probe wants it, and what it becomes.
//!
//! ```text
//!   NodeEvent -- Monitor::note --+-- counters
//!                                +-- record_*: a probe is set? -- Row --> RowBuffer -- put in order --> Recorder
//! ```

use rustc_hash::FxHashMap;
use xoff_mech::detection::{Congestion, Mark, PortState, Side};
use xoff_mech::flow_control::{Message, StoppedBy};
use xoff_node::EventKey;
use xoff_units::{Bytes, Rate};

use crate::clock::Clock;
use crate::monitor::Monitor;
use crate::probe::{RateSource, Row};

/// Rows of one part of the network, until those of all parts are put in order.
#[derive(Default)]
pub(crate) struct RowBuffer {
    /// There is a recorder; without one no row is kept.
    pub recording: bool,
    /// Each row with its place in the order of events.
    pub rows: Vec<(EventKey, Row)>,
    /// A row was recorded after its time.
    pub out_of_order: bool,
    /// Ports that were just held or slowed down and whose reason is to be recorded: node, port, class.
    pub ask_why: Vec<(u32, u16, u8)>,
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
}

impl Monitor {
    fn priority(&self, class: u8) -> u8 {
        self.layout.classes.priority(class as usize)
    }

    pub(crate) fn record_control(&mut self, clock: &Clock, (node, port, class): (u32, u16, u8), sent: bool, message: Message) {
        if self.layout.detecting && self.layout.probes.control.has(node, port) {
            let (kind, value) = message.describe();
            let priority = self.priority(class);
            self.rows.record(clock.place(), Row::Control { time: clock.now, node, port, priority, sent, kind, value });
        }
    }

    pub(crate) fn record_notice(
        &mut self,
        clock: &Clock,
        (node, port, class): (u32, u16, u8),
        side: Side,
        flow: u32,
        congestion: Congestion,
    ) {
        if self.layout.detecting && self.layout.probes.notices.has(node, port) {
            let (time, priority) = (clock.now, self.priority(class));
            self.rows.record(clock.place(), Row::Notice { time, node, port, ingress: side == Side::Ingress, priority, flow, congestion });
        }
    }

    pub(crate) fn record_state(&mut self, clock: &Clock, (node, port, class): (u32, u16, u8), state: PortState) {
        let at = self.layout.lane(node, port, class);
        // Everything begins without congestion.
        let before = self.rows.states.insert(at, state).unwrap_or(PortState::NonCongestion);
        if state != before && self.layout.probes.states.has(node, port) {
            let priority = self.priority(class);
            self.rows.record(clock.place(), Row::State { time: clock.now, node, port, priority, state });
        }
    }

    /// An ingress buffer and an egress queue of a switch hold other lengths now [bytes].
    pub(crate) fn record_queue_change(&mut self, clock: &Clock, (node, class): (u32, u8), ingress: (u16, u64), egress: (u16, u64)) {
        if self.layout.probes.queue_changes.is_none() {
            return;
        }
        let (time, priority) = (clock.now, self.priority(class));
        for ((port, bytes), ingress) in [(ingress, true), (egress, false)] {
            if self.layout.probes.queue_changes.has(node, port) {
                self.rows.record(clock.place(), Row::Queue { time, node, port, ingress, priority, bytes: Bytes(bytes) });
            }
        }
    }

    pub(crate) fn record_flow_rate(&mut self, clock: &Clock, (node, flow): (u32, u32), rate: Rate) {
        if self.layout.detecting && self.layout.probes.flow_rates {
            self.rows.record(clock.place(), Row::FlowRate { time: clock.now, node, flow, rate, source: RateSource::RateControl });
        }
    }

    pub(crate) fn record_mark(&mut self, clock: &Clock, (node, port, class): (u32, u16, u8), flow: u32, mark: Mark) {
        if self.layout.detecting && self.layout.probes.marks.has(node, port) {
            let priority = self.priority(class);
            self.rows.record(clock.place(), Row::Mark { time: clock.now, node, port, priority, flow, mark });
        }
    }

    /// The rate that flow control allows a port has changed, and with it perhaps whether the port is stopped.
    pub(crate) fn record_allowed_rate(&mut self, at: EventKey, (node, port, class): (u32, u16, u8), rate: Rate, stopped: Option<bool>) {
        let (time, priority) = (at.time, self.priority(class));
        if self.layout.probes.rate_changes.has(node, port) {
            self.rows.record(at, Row::PortRate { time, node, port, priority: Some(priority), rate, source: RateSource::FlowControl });
        }
        if let Some(stopped) = stopped.filter(|_| self.layout.probes.pauses.has(node, port)) {
            self.rows.record(at, Row::Pause { time, node, port, priority, stopped, by: StoppedBy::Pause });
        }
    }

    /// Flow control began to hold a frame that waits, or let it go.
    pub(crate) fn record_hold(&mut self, clock: &Clock, (node, port, class): (u32, u16, u8), on: bool, by: StoppedBy) {
        if !self.layout.detecting {
            return;
        }
        let (time, priority) = (clock.now, self.priority(class));
        // A message stops a port whether something waits or not; want of credits stops only what waits.
        if by != StoppedBy::Pause && self.layout.probes.pauses.has(node, port) {
            self.rows.record(clock.place(), Row::Pause { time, node, port, priority, stopped: on, by });
        }
        if self.layout.probes.causes {
            self.rows.record(clock.place(), Row::Hold { time, node, port, priority, on });
            if on {
                self.rows.ask_why.push((node, port, class));
            }
        }
    }

    /// A flow's share of the buffer for which a held port waits.
    pub(crate) fn record_cause(
        &mut self,
        clock: &Clock,
        (node, port, class): (u32, u16, u8),
        (next_node, next_port): (u32, u16),
        flow: u32,
        bytes: u64,
    ) {
        let (time, priority) = (clock.now, self.priority(class));
        self.rows.record(clock.place(), Row::Cause { time, node, port, priority, flow, next_node, next_port, bytes: Bytes(bytes) });
    }
}
