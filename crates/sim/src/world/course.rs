//! A look at every port between two stretches of events, for those who draw the course of a run. It
//! reads and changes nothing: no event, no row, no result depends on it.

use xoff_rows::Port;
use xoff_units::state::State;
use xoff_units::{Class, NodeId};

use super::*;

/// A port at a time: counters since the start of the run, and the bytes in its buffers. All
/// priorities together.
#[derive(Clone, Copy, Debug, Default, PartialEq, State)]
pub struct PortSample {
    /// Bytes put on the wire, control frames not counted.
    pub tx_bytes: u64,
    /// Time during which flow control kept it from sending, counted like the columns `paused_ps`
    /// and `blocked_ps` of the table of ports: the larger of both [ps].
    pub paused_ps: u64,
    /// Waits in the node to leave through it; 0 at a host, whose queue has no bound [bytes].
    pub egress_bytes: u32,
    /// Bytes of its frames in the buffer at its far end.
    pub ingress_bytes: u32,
    /// Frames marked when leaving.
    pub marked: u32,
    /// The rate that flow control allows now, as a part of the link's; that of the priority that
    /// may send least.
    pub allowed: f32,
}

/// A port that flow control keeps from sending at full rate while its far end holds frames of it,
/// or stops although that holds none.
#[derive(Clone, Debug, PartialEq, State)]
pub struct Waiter {
    /// Port number.
    pub port: Port,
    /// The priority that waits.
    pub priority: u8,
    /// Since when it is stopped; `None`: it is not stopped, but slowed down [time of the run].
    pub since: Option<Time>,
    /// Contents of the buffer at the far end: the egress that the frames wait for, their flow,
    /// bytes; most first. Empty: the far end itself is the cause, for instance a host that pauses
    /// its switch.
    pub behind: Vec<(Port, u32, u64)>,
}

/// The half of a port that transmits; `None`: another process has the node.
fn transmitter(node: &Node, port: u16) -> Option<&xoff_node::Port> {
    match node {
        Node::Switch(s) => Some(s.port(port)),
        Node::Nic(n) => Some(n.port(port)),
        Node::Remote => None,
    }
}

impl World {
    /// Every port, in the order of their numbers.
    pub fn sample_ports(&self) -> Vec<PortSample> {
        let (layout, classes) = (&self.layout, &self.layout.classes);
        let mut all = vec![PortSample::default(); layout.ports.len()];
        for (at, &PortId { node, port }) in layout.ports.places().iter().enumerate() {
            let home = &self.partitions[layout.partition_of[node.index()] as usize];
            let (line, monitor) = (&home.core.lines[at], &home.core.monitor);
            let totals = &monitor.ports[at];
            let (mut paused, mut held) = (totals.paused_ps, totals.blocked_ps);
            for class_at in at * classes.len()..(at + 1) * classes.len() {
                let (pause, hold) = monitor.open_stops(class_at, self.now);
                (paused, held) = (paused + pause, held + hold);
            }
            let state = &home.nodes[node.index()];
            if let Node::Switch(s) = state {
                let (mut egress, mut ingress) = (0, 0);
                for class in classes.all() {
                    egress += s.waiting(port, class);
                    ingress += s.occupancy(port, class).bytes.0;
                }
                all[at].egress_bytes = u32::try_from(egress).unwrap_or(u32::MAX);
                all[layout.ports.peer(at as u32) as usize].ingress_bytes =
                    u32::try_from(ingress).unwrap_or(u32::MAX);
            }
            let part = |out: &xoff_node::Port, class| {
                out.allowed_rate(self.now, class).0 as f64 / out.rate.0.max(1) as f64
            };
            let sample = &mut all[at];
            if let Some(out) = transmitter(state, port) {
                sample.allowed =
                    classes.all().map(|class| part(out, class)).fold(1.0, f64::min) as f32;
            }
            (sample.tx_bytes, sample.paused_ps) = (line.tx_bytes, paused.max(held));
            sample.marked = u32::try_from(totals.marked.total()).unwrap_or(u32::MAX);
        }
        all
    }

    /// Ports that flow control stops, and ports that it slows down while the far end holds their
    /// frames; with the buffers that they wait for.
    pub fn waiters(&self) -> Vec<Waiter> {
        let (layout, classes) = (&self.layout, &self.layout.classes);
        let mut all = Vec::new();
        // By switch: the ingress and class of those who wait, and their place in the list.
        let mut asked: BTreeMap<NodeId, BTreeMap<(u16, Class), usize>> = BTreeMap::new();
        for (at, &PortId { node, port }) in layout.ports.places().iter().enumerate() {
            let home = &self.partitions[layout.partition_of[node.index()] as usize];
            for class in classes.all() {
                let stopped = home.core.monitor.stopped_since(at * classes.len() + class.index());
                let out = transmitter(&home.nodes[node.index()], port);
                let slowed = || out.is_some_and(|out| out.allowed_rate(self.now, class) < out.rate);
                if stopped.is_some() || slowed() {
                    let far = layout.ports.place(layout.ports.peer(at as u32));
                    asked.entry(far.node).or_default().insert((far.port, class), all.len());
                    let since = stopped.map(|t| t + self.skipped);
                    all.push(Waiter {
                        port: Port(at as u32),
                        priority: classes.priority(class),
                        since,
                        behind: Vec::new(),
                    });
                }
            }
        }
        for (node, wanted) in asked {
            let home = &self.partitions[layout.partition_of[node.index()] as usize];
            let Node::Switch(s) = &home.nodes[node.index()] else { continue };
            let mut behind: BTreeMap<(usize, u16, u32), u64> = BTreeMap::new();
            s.occupants(&home.core.frames, |ingress, class, o| {
                let Some(&waiter) = wanted.get(&(ingress, class)) else { return };
                *behind.entry((waiter, o.out_port, o.flow.0)).or_default() += o.bytes;
            });
            for ((waiter, out, flow), bytes) in behind {
                all[waiter].behind.push((Port(layout.ports.of(node, out)), flow, bytes));
            }
        }
        all.iter_mut().for_each(|w| {
            w.behind.sort_by_key(|&(port, flow, bytes)| (Reverse(bytes), port.0, flow))
        });
        all.retain(|w| !w.behind.is_empty() || w.since.is_some());
        all
    }

    /// The ports that flow control stops or slows down, each with its priority and the rate that it
    /// allows; 0: none.
    pub fn restrained(&self) -> Vec<(PortId, u8, Rate)> {
        let (layout, classes) = (&self.layout, &self.layout.classes);
        let mut all = Vec::new();
        for (at, &PortId { node, port }) in layout.ports.places().iter().enumerate() {
            let home = &self.partitions[layout.partition_of[node.index()] as usize];
            let Some(out) = transmitter(&home.nodes[node.index()], port) else { continue };
            for class in classes.all() {
                let stopped =
                    home.core.monitor.stopped_since(at * classes.len() + class.index()).is_some();
                let rate = if stopped { Rate::ZERO } else { out.allowed_rate(self.now, class) };
                if rate < out.rate {
                    all.push((PortId { node, port }, classes.priority(class), rate));
                }
            }
        }
        all
    }

    /// Data frames under way, in buffers and on wires.
    pub fn frames_under_way(&self) -> u64 {
        self.partitions.iter().map(|p| p.core.frames.live_data()).sum()
    }
}
