//! What a run records, and to whom.
//!
//! Rows go to a [`Recorder`] as they happen, in event order. Without a recorder a run keeps counters only.

use std::any::Any;

use crate::histogram::Looks;
use xoff_mech::detection::{Congestion, Mark, PortState};
use xoff_mech::flow_control::StoppedBy;
pub use xoff_rows::RateSource;
use xoff_units::{Bytes, Rate, Span, Time};

/// Which ports are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// These (node, port).
    Some(Vec<(u32, u16)>),
}

impl Selection {
    /// Does it contain this port?
    pub fn has(&self, node: u32, port: u16) -> bool {
        match self {
            Selection::None => false,
            Selection::All => true,
            Selection::Some(ports) => ports.contains(&(node, port)),
        }
    }
    /// Does it contain nothing?
    pub fn is_none(&self) -> bool {
        matches!(self, Selection::None) || matches!(self, Selection::Some(p) if p.is_empty())
    }
}

/// What to record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// Distance between samples; zero: no samples [ps].
    pub interval: Span,
    /// Sampled: queue lengths of these ports.
    pub queues: Selection,
    /// Sampled: measured and allowed rate of these ports.
    pub rates: Selection,
    /// Sampled: measured rate and rate control's rate of every flow.
    pub flow_rates: bool,
    /// On change: queue lengths of these ports.
    pub queue_changes: Selection,
    /// On change: allowed rate of these ports.
    pub rate_changes: Selection,
    /// On change: control messages sent and received at these ports.
    pub control: Selection,
    /// On change: pauses of these ports, want of credits included.
    pub pauses: Selection,
    /// On change: state of these ports, as their detectors see it.
    pub states: Selection,
    /// Every mark that these ports put on a frame.
    pub marks: Selection,
    /// Every notice that the buffers of these ports send to a source.
    pub notices: Selection,
    /// Histograms of the egress queues of switches.
    pub histogram: Option<Looks>,
    /// Whenever a port is held or slowed down: who fills the buffer it waits for; and every hold.
    pub causes: bool,
}

impl Probes {
    /// Is anything recorded when it happens, besides what is sampled?
    pub(crate) fn any_on_change(&self) -> bool {
        let ports = [&self.queue_changes, &self.rate_changes, &self.control, &self.pauses, &self.states, &self.marks, &self.notices];
        self.flow_rates || self.causes || !ports.iter().all(|s| s.is_none())
    }
}

/// One recorded row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Row {
    /// A queue length. Ingress: bytes held from this port; egress: bytes waiting for it.
    Queue {
        /// When.
        time: Time,
        /// Node.
        node: u32,
        /// Port.
        port: u16,
        /// Ingress accounting, not the egress queue.
        ingress: bool,
        /// Priority.
        priority: u8,
        /// Length.
        bytes: Bytes,
    },
    /// A rate of a port.
    PortRate {
        /// When (end of the interval for measured rates).
        time: Time,
        /// Node.
        node: u32,
        /// Port.
        port: u16,
        /// Priority; `None`: all together.
        priority: Option<u8>,
        /// Rate.
        rate: Rate,
        /// Source.
        source: RateSource,
    },
    /// A rate of a flow.
    FlowRate {
        /// When.
        time: Time,
        /// Source host.
        node: u32,
        /// Flow.
        flow: u32,
        /// Rate.
        rate: Rate,
        /// Source.
        source: RateSource,
    },
    /// A control message.
    Control {
        /// When.
        time: Time,
        /// Node.
        node: u32,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// Sent by this node, not received.
        sent: bool,
        /// Kind of message.
        kind: &'static str,
        /// Its value: quanta, credit limit, stage, queue length.
        value: u64,
    },
    /// The peer's flow control began to hold a class in which a frame waits, or let it go.
    Hold {
        /// When.
        time: Time,
        /// Node.
        node: u32,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// It began.
        on: bool,
    },
    /// A part of the buffer for which a port waits, at the moment it was held or slowed down.
    Cause {
        /// When.
        time: Time,
        /// Node of the port that waits.
        node: u32,
        /// The port that waits.
        port: u16,
        /// Priority.
        priority: u8,
        /// Flow whose frames sit in the buffer.
        flow: u32,
        /// Node with the buffer.
        next_node: u32,
        /// Port for which these frames wait there.
        next_port: u16,
        /// How much of the buffer they fill.
        bytes: Bytes,
    },
    /// A frame was marked.
    Mark {
        /// When.
        time: Time,
        /// Node.
        node: u32,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// Flow of the frame.
        flow: u32,
        /// With what.
        mark: Mark,
    },
    /// A source was told that a buffer is congested.
    Notice {
        /// When.
        time: Time,
        /// Node.
        node: u32,
        /// Port of the buffer.
        port: u16,
        /// Its ingress buffer, not the egress queue.
        ingress: bool,
        /// Priority.
        priority: u8,
        /// Flow whose source was told.
        flow: u32,
        /// What it was told.
        congestion: Congestion,
    },
    /// A detector sees another state of its port.
    State {
        /// When.
        time: Time,
        /// Node.
        node: u32,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// The state from now on.
        state: PortState,
    },
    /// The peer stopped this port (or let it go): by a message, from the moment it takes effect; or a frame waits without credits, or
    /// frames of paused flows only.
    Pause {
        /// When.
        time: Time,
        /// Node.
        node: u32,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// True when it stops, false when it ends.
        stopped: bool,
        /// What stops it.
        by: StoppedBy,
    },
}

/// Takes rows.
pub trait Recorder: Send {
    /// A row happened. Errors are kept by the recorder and reported when it is closed.
    fn row(&mut self, row: &Row);
    /// Something is wrong with the recorder (a full disk): the run stops.
    fn failed(&self) -> bool {
        false
    }
    /// Gives the recorder back in its own type.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// Keeps rows in memory.
impl Recorder for Vec<Row> {
    fn row(&mut self, row: &Row) {
        self.push(*row);
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
