//! Rows of the simulator into tables.

use std::any::Any;

use xoff_mech::detection::Congestion;
use xoff_mech::flow_control::StoppedBy;
use xoff_record::{
    CauseRow, ControlRow, Direction, Late, MarkRow, Message, NotificationRow, PauseRow, Port, QueueRow, RateRow, Side, StateRow, Tables,
};
use xoff_sim::{Recorder, Row};
use xoff_topology::Topology;

/// Numbers of directed ports: `first[node] + port`.
#[derive(Clone)]
pub(crate) struct PortNumbers {
    first: Vec<u32>,
    /// The port at the other end of each.
    peer: Vec<u32>,
}

impl PortNumbers {
    pub fn new(t: &Topology) -> Self {
        let mut first = Vec::with_capacity(t.nodes.len());
        let mut count = 0;
        for n in &t.nodes {
            first.push(count);
            count += n.ports.len() as u32;
        }
        let peer = t.nodes.iter().flat_map(|n| n.ports.iter()).map(|p| first[p.peer as usize] + p.peer_port as u32).collect();
        PortNumbers { first, peer }
    }
    pub fn of(&self, node: u32, port: u16) -> Port {
        Port(self.first[node as usize] + port as u32)
    }
    /// The port that sends into this one.
    pub fn feeder(&self, node: u32, port: u16) -> Port {
        Port(self.peer[self.of(node, port).0 as usize])
    }
    pub fn len(&self) -> usize {
        self.peer.len()
    }
}

/// Writes rows to tables. The first error stops the run.
pub(crate) struct TableRecorder {
    pub tables: Tables,
    ports: PortNumbers,
    /// Start of the pause that runs at each port and priority, and its cause.
    open: Vec<Option<(u64, Late<StoppedBy>)>>,
    failed: bool,
}

impl TableRecorder {
    pub fn new(tables: Tables, ports: PortNumbers) -> Self {
        let open = vec![None; ports.len() * 8];
        TableRecorder { tables, ports, open, failed: false }
    }

    /// Pauses that never ended, in port order.
    pub fn close_pauses(&mut self) {
        for at in 0..self.open.len() {
            if let Some((from_ps, cause)) = self.open[at].take() {
                let row = PauseRow { port: Port(at as u32 / 8), priority: (at % 8) as u8, from_ps, to_ps: None, cause };
                self.failed |= self.tables.pauses.push(row).is_err();
            }
        }
    }
}

impl Recorder for TableRecorder {
    fn row(&mut self, row: &Row) {
        let t = &mut self.tables;
        let pushed = match *row {
            Row::Queue { time, node, port, ingress, priority, bytes } => {
                let (port, kind) =
                    if ingress { (self.ports.feeder(node, port), Side::Ingress) } else { (self.ports.of(node, port), Side::Egress) };
                t.queues.push(QueueRow { time_ps: time.0, port, kind, priority, bytes: bytes.0 })
            }
            Row::PortRate { time, node, port, priority, rate, source } => t.rates.push(RateRow {
                time_ps: time.0,
                port: self.ports.of(node, port),
                priority,
                flow: None,
                bits_per_second: rate.0,
                source: source,
            }),
            Row::FlowRate { time, node, flow, rate, source } => t.rates.push(RateRow {
                time_ps: time.0,
                port: self.ports.of(node, 0),
                priority: None,
                flow: Some(flow as u64),
                bits_per_second: rate.0,
                source: source,
            }),
            Row::Control { time, node, port, priority, sent, kind, value } => {
                let (port, direction) =
                    if sent { (self.ports.feeder(node, port), Direction::Sent) } else { (self.ports.of(node, port), Direction::Received) };
                t.control.push(ControlRow { time_ps: time.0, port, priority, direction, message: Message(kind), value })
            }
            Row::Hold { .. } => Ok(()), // of use to explanations only; the table of pauses says when
            Row::Cause { time, node, port, priority, flow, next_node, next_port, bytes } => t.causes.push(CauseRow {
                time_ps: time.0,
                port: self.ports.of(node, port),
                priority,
                flow: flow as u64,
                next_port: self.ports.of(next_node, next_port),
                bytes: bytes.0,
            }),
            Row::Mark { time, node, port, priority, flow, mark } => {
                let port = self.ports.of(node, port);
                t.marks.push(MarkRow { time_ps: time.0, port, priority, flow: flow as u64, mark })
            }
            Row::Notice { time, node, port, ingress, priority, flow, congestion } => {
                let (port, kind) =
                    if ingress { (self.ports.feeder(node, port), Side::Ingress) } else { (self.ports.of(node, port), Side::Egress) };
                let Congestion { feedback, q_off, q_delta } = congestion;
                t.notices.push(NotificationRow { time_ps: time.0, port, kind, priority, flow: flow as u64, feedback, q_off, q_delta })
            }
            Row::State { time, node, port, priority, state } => {
                t.states.push(StateRow { time_ps: time.0, port: self.ports.of(node, port), priority, state })
            }
            Row::Pause { time, node, port, priority, stopped, by } => {
                let port = self.ports.of(node, port);
                let open = &mut self.open[port.0 as usize * 8 + priority as usize];
                match (stopped, *open) {
                    (true, None) => {
                        *open = Some((time.0, Late(by)));
                        Ok(())
                    }
                    (false, Some((from_ps, cause))) => {
                        *open = None;
                        t.pauses.push(PauseRow { port, priority, from_ps, to_ps: Some(time.0), cause })
                    }
                    _ => Ok(()),
                }
            }
        };
        self.failed |= pushed.is_err();
    }

    fn failed(&self) -> bool {
        self.failed
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
