//! Looks at everything: deadlocks, promises.

use xoff_mech::detection::PortState;
use xoff_mech::flow_control::QueueState;
use xoff_node::Hold;
use xoff_units::{Class, NodeId};

use super::*;

/// An egress port and priority at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortNow {
    /// Number of the node.
    pub node: NodeId,
    /// Number of the port at its node, from 0.
    pub port: u16,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// State of its detector; `None`: a host, or a detector without states.
    pub state: Option<PortState>,
    /// Queue at a switch [bytes].
    pub queue: Bytes,
    /// True if the far end's flow control blocks a waiting frame.
    pub held: bool,
    /// Frames of this port at the far end, by the egress that they wait for there.
    pub behind: Vec<(PortId, Bytes)>,
}

/// Position of a frame in a switch: ingress, class, egress.
type Kept = (u16, Class, u16);

/// Contents of a switch, by ingress and class, then by the awaited egress: bytes and frames.
type Inside = BTreeMap<(u16, Class), BTreeMap<u16, (u64, u32)>>;

impl World {
    /// The partition in which a node lives.
    pub(super) fn home(&self, node: NodeId) -> &Partition {
        &self.partitions[self.layout.partition_of[node.index()] as usize]
    }

    /// The hold on an egress queue, if the peer's flow control holds it now.
    pub(super) fn hold(&self, At { node, port, class }: At) -> Option<Hold> {
        let (now, partition) = (self.now, self.home(node));
        match &partition.nodes[node.index()] {
            Node::Switch(s) => s.hold(now, port, class, &partition.core.frames),
            Node::Nic(n) => n.hold(now, port, class, &partition.core.frames),
            Node::Remote => None,
        }
    }

    /// Contents of a switch; `None` for a NIC.
    fn inside(&self, node: NodeId) -> Option<Inside> {
        let partition = self.home(node);
        let Node::Switch(s) = &partition.nodes[node.index()] else { return None };
        let mut by_ingress = Inside::new();
        let mut add = |(ingress, class, out): Kept, (bytes, frames): (u64, u32)| {
            let e = by_ingress.entry((ingress, class)).or_default().entry(out).or_default();
            e.0 += bytes;
            e.1 += frames;
        };
        // Frames of one kind mostly stand together: looked up once.
        let mut run: Option<(Kept, (u64, u32))> = None;
        s.occupants(&partition.core.frames, |ingress, class, o| {
            let out = o.out_port;
            match &mut run {
                Some((at, sum)) if *at == (ingress, class, out) => {
                    *sum = (sum.0 + o.bytes, sum.1 + o.frames)
                }
                _ => {
                    if let Some((at, sum)) =
                        run.replace(((ingress, class, out), (o.bytes, o.frames)))
                    {
                        add(at, sum);
                    }
                }
            }
        });
        if let Some((at, sum)) = run {
            add(at, sum);
        }
        Some(by_ingress)
    }

    /// Every queue that its peer's flow control holds, the buffer that it waits for, and the length
    /// of the frame at its head.
    fn waiting(&mut self) -> (BTreeMap<At, Waiting>, BTreeMap<At, u32>) {
        let layout = self.layout.clone();
        // Only switches behind a held queue need a look inside.
        let mut occupied: BTreeMap<NodeId, Option<Inside>> = BTreeMap::new();
        let mut held = Vec::new();
        for &PortId { node, port } in layout.ports.places() {
            for class in layout.classes.all() {
                let Some(h) = self.hold(At { node, port, class }) else { continue };
                let (frames, bytes) = match &self.home(node).nodes[node.index()] {
                    Node::Switch(s) => {
                        let inside = occupied
                            .entry(node)
                            .or_insert_with(|| self.inside(node))
                            .iter()
                            .flatten();
                        let frames = inside
                            .filter(|((_, c), _)| *c == class)
                            .filter_map(|(_, by_out)| by_out.get(&port))
                            .map(|o| o.1);
                        (frames.sum(), s.waiting(port, class))
                    }
                    _ => (1, h.len as u64),
                };
                held.push((At { node, port, class }, h.since, (frames, bytes), h.len));
            }
        }
        // A process has the held queues of its nodes, and knows the ports that block the buffers of
        // its nodes.
        let held = self.others.gathered(held);
        let mut blockers = Vec::new();
        for &(At { node, port, class }, ..) in &held {
            let PortId { node: peer, port: peer_port } =
                self.home(node).core.peer(PortId { node, port });
            let inside = occupied.entry(peer).or_insert_with(|| self.inside(peer));
            if let Some(by_out) = inside.as_ref().and_then(|o| o.get(&(peer_port, class))) {
                let by_out = by_out
                    .iter()
                    .map(|(&out, &(bytes, _))| (At { node: peer, port: out, class }, bytes));
                blockers.push((At { node, port, class }, by_out.collect::<Vec<(At, u64)>>()));
            }
        }
        let blockers = self.others.gathered(blockers);
        let head_len = held.iter().map(|h| (h.0, h.3)).collect();
        let waiting =
            |since, (frames, bytes)| Waiting { since, frames, bytes, blockers: BTreeMap::new() };
        let mut held: BTreeMap<At, Waiting> =
            held.into_iter().map(|(e, since, what, _)| (e, waiting(since, what))).collect();
        for (e, by_out) in blockers {
            held.entry(e).and_modify(|w| w.blockers = by_out.into_iter().collect());
        }
        (held, head_len)
    }

    /// The egress ports that are not at ease now: undetermined, congested, or held. In order of
    /// node, port and class.
    pub fn congested_ports(&mut self) -> Vec<PortNow> {
        let layout = self.layout.clone();
        let mut insides: BTreeMap<NodeId, Option<Inside>> = BTreeMap::new();
        let mut all = Vec::new();
        for &PortId { node, port } in layout.ports.places() {
            for class in layout.classes.all() {
                let held = self.hold(At { node, port, class }).is_some();
                let (state, queue) = match &self.home(node).nodes[node.index()] {
                    Node::Switch(s) => (s.state(self.now, port, class), s.waiting(port, class)),
                    _ => (None, 0),
                };
                if !held && matches!(state, None | Some(PortState::NonCongestion)) {
                    continue;
                }
                let PortId { node: peer, port: peer_port } =
                    self.home(node).core.peer(PortId { node, port });
                let inside = insides.entry(peer).or_insert_with(|| self.inside(peer));
                let by_out = inside.as_ref().and_then(|i| i.get(&(peer_port, class)));
                let behind = by_out.map_or(Vec::new(), |by_out| {
                    by_out
                        .iter()
                        .map(|(&out, &(bytes, _))| (PortId { node: peer, port: out }, Bytes(bytes)))
                        .collect()
                });
                let priority = layout.classes.priority(class);
                all.push(PortNow {
                    node,
                    port,
                    priority,
                    state,
                    queue: Bytes(queue),
                    held,
                    behind,
                });
            }
        }
        all
    }

    /// The queue at an egress of a switch that a frame of this flow joins, if it comes now; `None`
    /// where flow control keeps no queues by flow.
    pub fn flow_queue(
        &self,
        PortId { node, port }: PortId,
        priority: u8,
        flow: FlowId,
    ) -> Option<QueueState> {
        let Node::Switch(s) = &self.home(node).nodes[node.index()] else { return None };
        s.port(port).flows(self.layout.classes.class(priority)?)?.queue(self.now, flow)
    }

    /// The flows as they stand now, but for messages of streamed jobs, in order of their number;
    /// those that have not begun are there too, unless closed loops give out the numbers.
    pub fn flows_now(&self) -> Vec<FlowRecord> {
        let mut partitions = self.partitions.iter().map(|p| &p.core.monitor.flows.records);
        let mut flows = partitions.next().map(|p| p.to_vec()).unwrap_or_default();
        partitions.for_each(|other| flows.iter_mut().zip(other.iter()).for_each(|(f, o)| f.add(o)));
        flows
    }

    pub(super) fn look_for_deadlocks(&mut self) {
        let (waiting, head_len) = self.waiting();
        let mut others = std::mem::take(&mut self.others);
        let together = others.exist();
        let held = |e: At, stuck| {
            let PortId { node: peer, port: peer_port } = self.home(e.node).core.peer(e.port_id());
            match &self.home(peer).nodes[peer.index()] {
                Node::Switch(s) => s.port(peer_port).would_hold(
                    e.class,
                    &s.occupancy(peer_port, e.class),
                    stuck,
                    head_len[&e],
                ),
                Node::Nic(_) => false,    // a host takes everything in
                Node::Remote => together, // as far as is known here
            }
        };
        let stuck = deadlock_detector::stuck(&waiting, held, |free| others.gathered(free));
        self.others = others;
        for cycle in deadlock_detector::cycles(&waiting, &stuck) {
            let priority = |class: Class| self.layout.classes.priority(class);
            let members = || cycle.iter().map(|e| (e.node, e.port, priority(e.class)));
            let known =
                |d: &Deadlock| d.cycle.iter().map(|p| (p.node, p.port, p.priority)).eq(members());
            if self.deadlocks.iter().any(known) {
                continue;
            }
            let cycle: Vec<StuckPort> = cycle
                .iter()
                .map(|e| {
                    let w = &waiting[e];
                    StuckPort {
                        node: e.node,
                        port: e.port,
                        priority: priority(e.class),
                        frames: w.frames,
                        bytes: Bytes(w.bytes),
                        since: w.since + self.skipped,
                    }
                })
                .collect();
            let closed = cycle.iter().map(|p| p.since).max().unwrap_or(self.now());
            let end = self.over().unwrap_or(Time::NEVER);
            if closed > end {
                continue;
            }
            self.deadlocks.push(Deadlock {
                closed,
                seen: self.now().min(end),
                cycle,
                stuck_ports: stuck.len(),
            });
        }
        self.audit();
        self.plan(self.deadlock_interval, Kind::DeadlockDetector);
    }

    /// Credits never go negative: each port that has sent more than its peer had room for, once.
    fn audit_credits(&mut self) {
        let layout = self.layout.clone();
        for &PortId { node, port } in layout.ports.places() {
            let home = self.home(node);
            let out = match &home.nodes[node.index()] {
                Node::Switch(s) => s.port(port),
                Node::Nic(n) => n.port(port),
                Node::Remote => continue,
            };
            let freed = |class| matches!(&home.nodes[node.index()], Node::Switch(s) if s.was_freed(port, class));
            let over: Vec<Class> = layout
                .classes
                .all()
                .filter(|&class| out.overdrawn(class) && !freed(class))
                .collect();
            let to = home.core.peer(PortId { node, port }).node;
            for class in over {
                if self.overdrawn.insert(At { node, port, class }) {
                    self.checks.broken(
                        self.now + self.skipped,
                        u64::MAX,
                        ViolationKind::Credit,
                        || layout.describe_overdrawn((node, to), class),
                    );
                }
            }
        }
    }

    /// The promises that need a look at everything: conservation, accounting, credits.
    pub(super) fn audit(&mut self) {
        if !self.checks.on {
            return;
        }
        let now = self.now();
        for partition in &self.partitions {
            for (n, node) in partition.nodes.iter().enumerate() {
                let Node::Switch(s) = node else { continue };
                let queued = s.queued();
                let held = s.held().0;
                if queued != held {
                    self.checks.broken(now, u64::MAX, ViolationKind::Accounting, || {
                        format!(
                            "{} accounts for {held} B, its queues hold {queued} B",
                            self.layout.name(NodeId(n as u32))
                        )
                    });
                }
            }
        }
        if self.outside {
            return; // frames outside are not counted here
        }
        self.audit_credits();
        let sum = |of: fn(&Core) -> u64| self.partitions.iter().map(|p| of(&p.core)).sum::<u64>();
        // A frame that a link repeats is sent once more, and a frame that it discards is gone.
        let sent_or_repeated =
            |c: &Core| c.monitor.counts.injected.wrapping_add(c.monitor.counts.retry.copies());
        let sent =
            self.partitions.iter().map(|p| sent_or_repeated(&p.core)).fold(0, u64::wrapping_add);
        let (delivered, lost) =
            (sum(|c| c.monitor.counts.delivered), sum(|c| c.monitor.counts.lost.total().data));
        let here = [sent, delivered, lost, sum(|c| c.frames.live_data())];
        let [sent, delivered, lost, under_way] =
            self.others.joined(here, |a, b| std::array::from_fn(|n| a[n].wrapping_add(b[n])));
        if sent != delivered + lost + under_way && self.others.is_first() {
            self.checks.broken(now, u64::MAX, ViolationKind::Conservation, || {
                format!("{sent} data frames were sent, {delivered} are delivered, {lost} lost and {under_way} under way")
            });
        }
    }
}
