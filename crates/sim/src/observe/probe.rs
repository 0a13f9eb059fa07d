//! Recordings of a run, and their destination.
//!
//! Rows go to a [`Recorder`] as they happen, in event order. Without a recorder a run keeps
//! counters only.

use std::any::Any;

use crate::observe::histogram::Looks;
use xoff_node::Frame;
use xoff_rows::{
    CauseRow, CnmRow, ControlRow, MarkRow, Port, QueueRow, RateRow, StateRow, StoppedBy,
};
use xoff_units::state::State;
use xoff_units::{NodeId, PortId, Span, Time};

/// Selection of recorded ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// No port.
    #[default]
    None,
    /// Every port.
    All,
    /// Listed ports.
    Some(Vec<PortId>),
}

impl Selection {
    /// True if it contains this port.
    pub fn has(&self, port: PortId) -> bool {
        match self {
            Selection::None => false,
            Selection::All => true,
            Selection::Some(ports) => ports.contains(&port),
        }
    }
    /// True if it is empty.
    pub fn is_none(&self) -> bool {
        matches!(self, Selection::None) || matches!(self, Selection::Some(p) if p.is_empty())
    }
}

/// A probe of ports: a key of `[probes]` whose value names ports.
pub struct PortProbe {
    /// Key in a scenario.
    pub key: &'static str,
    /// Description of the recording, for help and documentation.
    pub about: &'static str,
    /// Key in earlier versions.
    pub renamed_from: &'static [&'static str],
    /// True for samples; other probes record changes.
    pub sampled: bool,
    /// True if the recording also belongs to the ingress, at the far end of the link direction that
    /// names a port.
    pub ingress_too: bool,
    /// Ports of the probe.
    pub of: fn(&Probes) -> &Selection,
    /// Mutable access to the selection.
    pub of_mut: fn(&mut Probes) -> &mut Selection,
}

/// Declares the probes of ports: fields of [`Probes`], and [`PORT_PROBES`] from which the keys of
/// scenarios and their documentation are.
macro_rules! port_probes {
    ($($key:ident: $about:literal, sampled $sampled:literal, ingress too $ingress:literal, earlier $renamed_from:expr;)+) => {
        /// Recordings.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Probes {
            /// Distance between samples; zero: no samples [ps].
            pub interval: Span,
            $(#[doc = $about] pub $key: Selection,)+
            /// Sampled: measured rate and rate control's rate of every flow.
            pub flow_rates: bool,
            /// Histograms of the egress queues of switches.
            pub histogram: Option<Looks>,
            /// Every frame on the wires that begin at these ports: goes to [`Recorder::frame`], no
            /// table has it.
            pub frames: Selection,
            /// Whenever a port is held or slowed down: who fills the buffer it waits for; and every
            /// hold.
            pub causes: bool,
        }

        /// Every probe of ports.
        pub const PORT_PROBES: &[PortProbe] = &[$(PortProbe {
            key: stringify!($key),
            about: $about,
            renamed_from: $renamed_from,
            sampled: $sampled,
            ingress_too: $ingress,
            of: |p| &p.$key,
            of_mut: |p| &mut p.$key,
        }),+];
    };
}

port_probes! {
    queues: "sampled: ingress and egress queues of these ports", sampled true, ingress too true, earlier &[];
    rates: "sampled: measured and allowed rates of these ports", sampled true, ingress too false, earlier &[];
    queue_changes: "on change: queues of these ports", sampled false, ingress too true, earlier &[];
    rate_changes: "on change: allowed rates of these ports", sampled false, ingress too false, earlier &[];
    control: "every control message at these ports", sampled false, ingress too true, earlier &[];
    pauses: "every stretch in which these ports may not send: pauses, and frames that wait without credits",
        sampled false, ingress too false, earlier &[];
    states: "on change: state of these ports, where their detection has states", sampled false, ingress too false, earlier &[];
    marks: "every congestion mark these ports put on a frame", sampled false, ingress too false, earlier &[];
    cnms: "every CNM that buffers of these ports send to a source", sampled false, ingress too false, earlier &["notices"];
}

impl Probes {
    /// True if events are recorded in addition to samples.
    pub(crate) fn any_on_change(&self) -> bool {
        self.flow_rates
            || self.causes
            || PORT_PROBES.iter().any(|p| !p.sampled && !(p.of)(self).is_none())
    }
}

/// Something recorded: a row of a table, or a change from which others make rows. What a row holds
/// is declared in the crate `rows`.
#[derive(Clone, Copy, Debug, PartialEq, State)]
pub enum Row {
    /// A queue length.
    Queue(QueueRow),
    /// A rate of a port or of a flow.
    Rate(RateRow),
    /// A control message.
    Control(ControlRow),
    /// A part of the buffer for which a port waits, at the time it was stopped or slowed down.
    Cause(CauseRow),
    /// A marked frame.
    Mark(MarkRow),
    /// A CNM of a congested buffer to a source.
    Cnm(CnmRow),
    /// A detector finds another state of its port.
    State(StateRow),
    /// A stretch in which a port may not transmit begins or ends: two of them are a row of the
    /// table of pauses.
    Pause(PauseChange),
    /// Flow control begins or ends to hold a class in which a frame waits. Explanations use it; no
    /// table has it.
    Hold(HoldChange),
}

impl Row {
    /// Time of the row [ps].
    pub fn time(mut self) -> u64 {
        *self.time_mut()
    }

    /// Row at another time [ps].
    pub(crate) fn at(mut self, ps: u64) -> Row {
        *self.time_mut() = ps;
        self
    }

    /// Row with the flow that `of` makes of the row's flow; `None`: it makes none.
    pub(crate) fn with_flow(mut self, of: impl Fn(u64) -> Option<u64>) -> Option<Row> {
        match &mut self {
            Row::Rate(r) => {
                if let Some(flow) = &mut r.flow {
                    *flow = of(*flow)?;
                }
            }
            Row::Cause(r) => r.flow = of(r.flow)?,
            Row::Mark(r) => r.flow = of(r.flow)?,
            Row::Cnm(r) => r.flow = of(r.flow)?,
            Row::Queue(_) | Row::Control(_) | Row::State(_) | Row::Pause(_) | Row::Hold(_) => {}
        }
        Some(self)
    }

    /// True if its ports exist in a network with `ports` ports, and its priority is one of eight.
    /// Rows of a file may be wrong.
    pub fn fits(&self, ports: u32) -> bool {
        let (port, priority) = match self {
            Row::Queue(r) => (r.port, r.priority),
            Row::Rate(r) => (r.port, r.priority.unwrap_or_default()),
            Row::Control(r) => (r.port, r.priority),
            Row::Cause(r) => (r.port.max(r.next_port), r.priority),
            Row::Mark(r) => (r.port, r.priority),
            Row::Cnm(r) => (r.port, r.priority),
            Row::State(r) => (r.port, r.priority),
            Row::Pause(r) => (r.port, r.priority),
            Row::Hold(r) => (r.port, r.priority),
        };
        port.0 < ports && priority < 8
    }

    fn time_mut(&mut self) -> &mut u64 {
        match self {
            Row::Queue(r) => &mut r.time_ps,
            Row::Rate(r) => &mut r.time_ps,
            Row::Control(r) => &mut r.time_ps,
            Row::Cause(r) => &mut r.time_ps,
            Row::Mark(r) => &mut r.time_ps,
            Row::Cnm(r) => &mut r.time_ps,
            Row::State(r) => &mut r.time_ps,
            Row::Pause(r) => &mut r.time_ps,
            Row::Hold(r) => &mut r.time_ps,
        }
    }
}

/// Flow control of the peer stops a port or lets it go: by a message, from the time it takes
/// effect; or a frame waits without credits, or frames of paused flows only.
#[derive(Clone, Copy, Debug, PartialEq, State)]
pub struct PauseChange {
    /// Simulated time [ps].
    pub time_ps: u64,
    /// Port.
    pub port: Port,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// True when it stops, false when it ends.
    pub stopped: bool,
    /// Cause of the stop.
    pub by: StoppedBy,
}

/// Flow control of the peer begins to hold a class in which a frame waits, or lets it go.
#[derive(Clone, Copy, Debug, PartialEq, State)]
pub struct HoldChange {
    /// Simulated time [ps].
    pub time_ps: u64,
    /// Port.
    pub port: Port,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// True at the start.
    pub on: bool,
}

/// A frame on the wire of a recorded port.
#[derive(Clone, Copy, Debug)]
pub enum OnWire {
    /// A node transmits it.
    Sent {
        /// Time at which its first bit leaves.
        at: Time,
        /// Time at which the far end has it: its last bit, or its head where switches cut through.
        arrives: Time,
        /// Node that transmits.
        node: NodeId,
        /// Port of that node.
        port: u16,
        /// The frame.
        frame: Frame,
        /// Source and destination of its flow; `None`: a control frame.
        ends: Option<(NodeId, NodeId)>,
    },
    /// The frame that was to arrive at this time is lost on its link.
    Lost {
        /// Time at which it would have arrived.
        at: Time,
        /// Node at which it would have arrived.
        node: NodeId,
        /// Port of that node.
        port: u16,
    },
}

impl OnWire {
    /// Time and port, by which frames are put in order.
    pub fn order(&self) -> (Time, NodeId, u16) {
        match *self {
            OnWire::Sent { at, node, port, .. } | OnWire::Lost { at, node, port } => {
                (at, node, port)
            }
        }
    }
}

/// Takes rows.
pub trait Recorder: Send {
    /// A row happened. Errors are kept by the recorder and reported when it is closed.
    fn row(&mut self, row: &Row);
    /// A frame is on the wire of a port of [`Probes::frames`], or is lost; in the order of time.
    fn frame(&mut self, _frame: &OnWire) {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_rows::{Direction, Message};
    use xoff_units::state::{Reader, Writer};

    /// Bytes that no process saved, such as those of a file: every prefix, and every other byte in
    /// every place.
    #[test]
    fn other_bytes_are_no_row() {
        let control = ControlRow {
            message: Message("pause"),
            direction: Direction::Sent,
            ..ControlRow::default()
        };
        let pause = PauseChange {
            time_ps: 1,
            port: Port(2),
            priority: 3,
            stopped: true,
            by: StoppedBy::Flows,
        };
        let rows = [
            Row::Control(control),
            Row::Rate(RateRow { flow: Some(1), ..RateRow::default() }),
            Row::Pause(pause),
        ];
        for row in rows {
            let mut to = Writer::default();
            to.put(&row);
            let bytes = to.end().unwrap();
            assert_eq!(Reader::new(&bytes).take(), Ok(row));
            assert!((0..bytes.len()).all(|cut| Reader::new(&bytes[..cut]).take::<Row>().is_err()));
            for at in 0..bytes.len() {
                for other in 0..=255 {
                    let mut broken = bytes.clone();
                    broken[at] = other;
                    let _ = Reader::new(&broken).take::<Row>();
                }
            }
        }
        assert!(Reader::new(&[9]).take::<Row>().is_err());
    }
}
