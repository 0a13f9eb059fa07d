//! A world whose links lead outside: its nodes are simulated, the links between them are real.
//!
//! ```text
//!   World   node --transmit--> leaving() --+
//!                                          |  bytes on a wire, in a file, in a test
//!   World   node <--arrival--- enter() <---+
//! ```
//!
//! Whoever drives such a world sets its time by [`World::run`] and keeps three promises: times
//! never go back, a frame enters no earlier than the world has reached, and departures are taken
//! after every run. The world keeps one in return: departures and their times depend only on
//! entries and their times.

use xoff_mech::flow_control::Sender as _;
use xoff_node::{Frame, FrameId, FrameKind, Port};
use xoff_units::{Class, NodeId};

use super::*;
use crate::wire::errors;
use crate::wire::line::RemoteArrival;

/// The partition of the network behind every link.
pub(crate) const OUTSIDE: u16 = 1;

/// A frame that a node has put on the wire of a port.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// Arrival at the far end: all of the frame has been sent by then, and the link's delay has
    /// passed.
    pub at: Time,
    /// Node that sends.
    pub node: NodeId,
    /// Port it leaves by.
    pub port: u16,
    /// The frame.
    pub frame: Frame,
    /// The handle that it had, as [`World::enter`] returned it for frames that came from outside.
    /// Free again by now.
    pub id: FrameId,
}

impl World {
    /// Transmissions since the last call, in order. Only for a world built with
    /// [`Model::outside`](crate::Model::outside).
    pub fn leaving(&mut self) -> impl Iterator<Item = Leaving> + use<> {
        let core = &mut self.partitions[0].core;
        let left = if self.outside {
            std::mem::take(&mut core.outgoing[OUTSIDE as usize])
        } else {
            Vec::new()
        };
        let layout = self.layout.clone();
        let from: Vec<u32> = left.iter().map(|c| core.lines[c.to as usize].to).collect();
        left.into_iter().zip(from).map(move |(RemoteArrival { at, frame, id, .. }, from)| {
            let PortId { node, port } = layout.ports.places()[from as usize];
            Leaving { at: at.time, node, port, frame, id }
        })
    }

    /// A frame arrives by a port at `at`, which this world has not reached yet; of two at one port
    /// the later one comes second. Rejects, with the reason, a frame that no node could receive: it
    /// may be of an unknown source.
    pub fn enter(&mut self, at: Time, port: PortId, frame: Frame) -> Result<FrameId, &'static str> {
        self.welcome(port.node, &frame)?;
        debug_assert!(at >= self.partitions[0].core.clock.now, "a frame enters the past");
        let core = &mut self.partitions[0].core;
        let to = self.layout.port_index(port) as u32;
        let from = core.lines[to as usize].to;
        let rank = core.ranks.of(Kind::Arrive, from, 0, 0);
        Ok(core.enter(RemoteArrival {
            at: EventKey { time: at, rank },
            to,
            frame,
            id: 0,
            beside: None,
        }))
    }

    /// A frame has come over the link of a port at `now`, a time up to which the world has run.
    /// Errors and retry of the link act on it at once. Returns whether its node takes it
    /// ([`World::enter`]).
    pub fn over_link(&mut self, now: Time, port: PortId, frame: Frame) -> bool {
        let at = self.layout.port_index(port);
        let Some(directions) = self.over.get_mut(at) else { return true };
        let hit = errors::hit(directions, &frame);
        let first = &mut self.partitions[0];
        first.core.reach_time(now);
        let id = first.core.frames.insert(frame);
        let goes = first.comes_over(at as u32, id, hit);
        if goes {
            first.core.frames.remove(id);
        }
        goes
    }

    /// True if a node may receive such a frame.
    fn welcome(&self, node: NodeId, f: &Frame) -> Result<(), &'static str> {
        let classes =
            self.layout.classes.len() as u8 + self.layout.classes.unpaused().is_some() as u8;
        let flows = &self.partitions[0].core.monitor.flows.records;
        let here = &self.partitions[0].nodes[node.index()];
        if f.class() >= Class(classes) {
            return Err("a class that is not in use");
        }
        if f.kind() == FrameKind::Control {
            return if matches!(here, Node::Remote) {
                Err("a node that is not here")
            } else {
                Ok(())
            };
        }
        if f.flow >= UNKNOWN_SOURCE {
            let ports = self
                .layout
                .ports
                .first()
                .get(node.index() + 1)
                .map_or(self.layout.ports.len(), |&n| n as usize)
                - self.layout.ports.first()[node.index()] as usize;
            return match here {
                Node::Switch(_) if f.out_port == NO_PORT || (f.out_port as usize) < ports => Ok(()),
                Node::Switch(_) => Err("an egress port that does not exist"),
                _ => Err("a frame of an unknown flow"),
            };
        }
        let Some(record) = flows.get(f.flow.index()) else {
            return Err("a flow that does not exist");
        };
        let flow = &record.flow;
        match (here, f.kind()) {
            (Node::Remote, _) => Err("a node that is not here"),
            (Node::Switch(_), _) => Ok(()),
            (Node::Nic(_), FrameKind::Data) if flow.dst != node => Err("data for another host"),
            (Node::Nic(n), FrameKind::Data) if f.len() <= n.header() => Err("data without payload"),
            (Node::Nic(n), FrameKind::Data)
                if f.seq.saturating_add((f.len() - n.header()).into()) > flow.size =>
            {
                Err("data beyond the end of its flow")
            }
            (Node::Nic(_), FrameKind::Data) => Ok(()),
            (Node::Nic(_), _) if flow.src != node => Err("feedback for another host"),
            (Node::Nic(_), FrameKind::Ack | FrameKind::Nack) if f.seq > record.sent => {
                Err("an acknowledgement of bytes that were never sent")
            }
            (Node::Nic(_), _) => Ok(()),
        }
    }

    /// Bytes that a switch holds from an ingress port, all classes; 0 at a host.
    pub fn held_from(&self, PortId { node, port }: PortId) -> u64 {
        match &self.partitions[0].nodes[node.index()] {
            Node::Switch(s) => {
                self.layout.classes.all().map(|class| s.occupancy(port, class).bytes.0).sum()
            }
            _ => 0,
        }
    }

    /// Bytes that wait in a switch to leave by a port, all classes; 0 at a host.
    pub fn waiting_at(&self, PortId { node, port }: PortId) -> u64 {
        match &self.partitions[0].nodes[node.index()] {
            Node::Switch(s) => self.layout.classes.all().map(|class| s.waiting(port, class)).sum(),
            _ => 0,
        }
    }

    /// Frames that a node dropped when they came in by a port.
    pub fn dropped_at(&self, port: PortId) -> u64 {
        self.partitions[0].core.totals_of(self.layout.port_index(port)).dropped
    }

    /// True if a control frame that arrives by a port now is plausible.
    pub fn is_possible(&self, port: PortId, f: &Frame) -> bool {
        self.port(port).is_none_or(|p| p.tx(f.class()).is_possible(f.message()))
    }

    /// The far end's flow control counts for a port and class no longer, or again; `now` is a time
    /// that the world has reached.
    pub fn release(&mut self, now: Time, at: At, on: bool) {
        self.with_port(at.port_id(), |p, core| {
            core.reach_time(now);
            p.release(at.class, on, core);
        });
    }

    /// The link of a port has been down: messages of its far end received before no longer count.
    pub fn restart(&mut self, now: Time, port: PortId) {
        self.with_port(port, |p, core| {
            core.reach_time(now);
            p.restart(core);
        });
    }

    /// The link of a port went down: the watchdog of its switch forgets its state, and its storms
    /// are over.
    pub fn reset_watchdog(&mut self, now: Time, PortId { node, port }: PortId) {
        let Partition { nodes, core, .. } = &mut self.partitions[0];
        if let Node::Switch(s) = &mut nodes[node.index()] {
            core.reach_time(now);
            s.reset_watchdog(port, core);
        }
    }

    /// The far end of a port reports how much it has sent in all, in a class.
    pub fn on_peer_total(&mut self, at: At, sent: u64) {
        self.with_port(at.port_id(), |p, _| p.on_peer_total(at.class, sent));
    }

    fn port(&self, PortId { node, port }: PortId) -> Option<&Port> {
        match &self.partitions[0].nodes[node.index()] {
            Node::Switch(s) => Some(s.port(port)),
            Node::Nic(n) => Some(n.port(port)),
            Node::Remote => None,
        }
    }

    pub(super) fn with_port(
        &mut self,
        PortId { node, port }: PortId,
        f: impl FnOnce(&mut Port, &mut Core),
    ) {
        let home = self.layout.partition_of[node.index()] as usize;
        let Partition { nodes, core, .. } = &mut self.partitions[home];
        match &mut nodes[node.index()] {
            Node::Switch(s) => f(s.port_mut(port), core),
            Node::Nic(n) => f(n.port_mut(port), core),
            Node::Remote => {}
        }
    }

    /// Source and destination of a flow; `None`: it does not exist.
    pub fn ends(&self, flow: FlowId) -> Option<(NodeId, NodeId)> {
        self.partitions[0]
            .core
            .monitor
            .flows
            .records
            .get(flow.index())
            .map(|r| (r.flow.src, r.flow.dst))
    }

    /// The classes in use.
    pub fn classes(&self) -> &Classes {
        &self.layout.classes
    }

    /// Time of the next event; `None`: nothing happens until a frame enters.
    pub fn next_event(&mut self) -> Option<Time> {
        self.next_time()
    }
}
