//! What a run records, and to whom.
//!
//! Rows go to a [`Recorder`] as they happen, in event order. Without a recorder a run keeps counters only.

use std::any::Any;

use crate::histogram::Looks;
use xoff_rows::{CauseRow, CnmRow, ControlRow, MarkRow, Port, QueueRow, RateRow, StateRow, StoppedBy};
use xoff_units::Span;

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
    pub cnms: Selection,
    /// Histograms of the egress queues of switches.
    pub histogram: Option<Looks>,
    /// Whenever a port is held or slowed down: who fills the buffer it waits for; and every hold.
    pub causes: bool,
}

impl Probes {
    /// Is anything recorded when it happens, besides what is sampled?
    pub(crate) fn any_on_change(&self) -> bool {
        let ports = [&self.queue_changes, &self.rate_changes, &self.control, &self.pauses, &self.states, &self.marks, &self.cnms];
        self.flow_rates || self.causes || !ports.iter().all(|s| s.is_none())
    }
}

/// Something recorded: a row of a table, or a change from which others make rows. What a row holds is declared in the crate `rows`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Row {
    /// A queue length.
    Queue(QueueRow),
    /// A rate of a port or of a flow.
    Rate(RateRow),
    /// A control message.
    Control(ControlRow),
    /// A part of the buffer for which a port waits, at the moment it was stopped or slowed down.
    Cause(CauseRow),
    /// A marked frame.
    Mark(MarkRow),
    /// A notice of a congested buffer to a source.
    Cnm(CnmRow),
    /// A detector finds another state of its port.
    State(StateRow),
    /// A stretch in which a port may not transmit begins or ends: two of them are a row of the table of pauses.
    Pause(PauseChange),
    /// Flow control begins or ends to hold a class in which a frame waits. Explanations use it; no table has it.
    Hold(HoldChange),
}

/// Flow control of the peer stops a port or lets it go: by a message, from the moment it takes effect; or a frame waits without credits,
/// or frames of paused flows only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PauseChange {
    /// When [ps].
    pub time_ps: u64,
    /// Which port.
    pub port: Port,
    /// Priority.
    pub priority: u8,
    /// True when it stops, false when it ends.
    pub stopped: bool,
    /// What stops it.
    pub by: StoppedBy,
}

/// Flow control of the peer begins to hold a class in which a frame waits, or lets it go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HoldChange {
    /// When [ps].
    pub time_ps: u64,
    /// Which port.
    pub port: Port,
    /// Priority.
    pub priority: u8,
    /// It began.
    pub on: bool,
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
