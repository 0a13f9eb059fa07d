//! Looks at everything: deadlocks, causes, promises.

use super::*;

/// What a switch holds, by ingress and class, then by the egress it waits for: bytes and frames.
type Inside = BTreeMap<(u16, u8), BTreeMap<u16, (u64, u32)>>;

impl World {
    /// Who fills the buffers for which ports have just begun to wait.
    pub(super) fn record_causes(&mut self) {
        let time = self.core.now;
        for (node, port, class) in std::mem::take(&mut self.core.ask_why) {
            let wire = self.core.wires[self.core.port_index(node, port)];
            let Node::Switch(s) = &self.nodes[wire.peer as usize] else { continue };
            let mut parts: BTreeMap<(u16, u32), u64> = BTreeMap::new();
            s.occupants(&self.core.frames, |ingress, c, o| {
                if (ingress, c) == (wire.peer_port, class) {
                    let out = s.input_head(ingress, c, &self.core.frames).unwrap_or(o.out_port);
                    *parts.entry((out, o.flow)).or_default() += o.bytes;
                }
            });
            let priority = self.core.classes.priority(class as usize);
            for ((next_port, flow), bytes) in parts {
                self.core.record(Row::Cause { time, node, port, priority, flow, next_node: wire.peer, next_port, bytes: Bytes(bytes) });
            }
        }
    }

    /// Every queue that its peer's flow control holds, and what it waits for.
    pub(super) fn waiting(&mut self) -> BTreeMap<Egress, Waiting> {
        let now = self.core.now;
        let classes = self.core.classes.len() as u8;
        let mut held = BTreeMap::new();
        let mut occupied: BTreeMap<u32, Inside> = BTreeMap::new();
        for node in 0..self.nodes.len() as u32 {
            match &mut self.nodes[node as usize] {
                Node::Nic(n) => {
                    for class in 0..classes {
                        if let Some(h) = n.hold(now, class, &self.core.frames) {
                            held.insert(
                                (node, 0, class),
                                Waiting { since: h.since, frames: 1, bytes: h.len as u64, blockers: BTreeMap::new() },
                            );
                        }
                    }
                }
                Node::Switch(s) => {
                    for port in 0..s.port_count() as u16 {
                        for class in 0..classes {
                            if let Some(h) = s.hold(now, port, class, &self.core.frames) {
                                let bytes = s.waiting(port, class);
                                held.insert((node, port, class), Waiting { since: h.since, frames: 0, bytes, blockers: BTreeMap::new() });
                            }
                        }
                    }
                }
            }
        }
        // Only switches behind a held queue need a look inside.
        let peers: Vec<u32> = held.keys().map(|&(n, p, _)| self.core.wires[self.core.port_index(n, p)].peer).collect();
        for node in peers.into_iter().chain(held.keys().map(|k| k.0)) {
            let Node::Switch(s) = &self.nodes[node as usize] else { continue };
            occupied.entry(node).or_insert_with(|| {
                let mut by_ingress = Inside::new();
                s.occupants(&self.core.frames, |ingress, class, o| {
                    // Behind the head of an input queue everything waits for the head's egress.
                    let out = s.input_head(ingress, class, &self.core.frames).unwrap_or(o.out_port);
                    let e = by_ingress.entry((ingress, class)).or_default().entry(out).or_default();
                    e.0 += o.bytes;
                    e.1 += o.frames;
                });
                by_ingress
            });
        }
        for (&(node, port, class), w) in held.iter_mut() {
            if let Some(inside) = occupied.get(&node) {
                w.frames = inside.iter().filter(|((_, c), _)| *c == class).filter_map(|(_, by_out)| by_out.get(&port)).map(|o| o.1).sum();
            }
            let wire = self.core.wires[self.core.port_index(node, port)];
            if let Some(by_out) = occupied.get(&wire.peer).and_then(|o| o.get(&(wire.peer_port, class))) {
                w.blockers = by_out.iter().map(|(&out, &(bytes, _))| ((wire.peer, out, class), bytes)).collect();
            }
        }
        held
    }

    pub(super) fn look_for_deadlocks(&mut self) {
        let waiting = self.waiting();
        let (nodes, core) = (&mut self.nodes, &self.core);
        let mut head_len = BTreeMap::new();
        for &(node, port, class) in waiting.keys() {
            let len = match &mut nodes[node as usize] {
                Node::Switch(s) => s.hold(core.now, port, class, &core.frames).map_or(0, |h| h.len),
                Node::Nic(n) => n.hold(core.now, class, &core.frames).map_or(0, |h| h.len),
            };
            head_len.insert((node, port, class), len);
        }
        let stuck = watch::stuck(&waiting, |e, stuck| {
            let wire = core.wires[core.port_index(e.0, e.1)];
            match &nodes[wire.peer as usize] {
                Node::Switch(s) => s.port(wire.peer_port).would_hold(e.2, &s.fill(wire.peer_port, e.2), stuck, head_len[&e]),
                Node::Nic(_) => false, // a host takes everything in
            }
        });
        for cycle in watch::cycles(&waiting, &stuck) {
            let priority = |class: u8| self.core.classes.priority(class as usize);
            let members = || cycle.iter().map(|e| (e.0, e.1, priority(e.2)));
            let known = |d: &Deadlock| d.cycle.iter().map(|p| (p.node, p.port, p.priority)).eq(members());
            if self.deadlocks.iter().any(known) {
                continue;
            }
            let cycle: Vec<StuckPort> = cycle
                .iter()
                .map(|e| {
                    let w = &waiting[e];
                    StuckPort { node: e.0, port: e.1, priority: priority(e.2), frames: w.frames, bytes: Bytes(w.bytes), since: w.since }
                })
                .collect();
            let closed = cycle.iter().map(|p| p.since).max().unwrap_or(self.core.now);
            self.deadlocks.push(Deadlock { closed, seen: self.core.now, cycle, stuck_ports: stuck.len() });
        }
        self.audit();
        self.plan(self.watch, Kind::Watch);
    }

    /// The promises that need a look at everything: conservation and accounting.
    pub(super) fn audit(&mut self) {
        if !self.core.checks.on {
            return;
        }
        let now = self.core.now;
        for (n, node) in self.nodes.iter().enumerate() {
            let Node::Switch(s) = node else { continue };
            let mut queued = 0;
            s.occupants(&self.core.frames, |_, _, o| queued += o.bytes);
            let held = s.held().0;
            if queued != held {
                self.core
                    .checks
                    .broken(now, ViolationKind::Accounting, || format!("switch {n} accounts for {held} B, its queues hold {queued} B"));
            }
        }
        let gone = self.core.delivered + self.core.dropped_data;
        let (injected, live) = (self.core.injected, self.core.frames.live() as u64);
        // Feedback and control frames live too, so live frames bound the data frames that are under way.
        if injected < self.core.delivered || injected > gone + live {
            self.core.checks.broken(now, ViolationKind::Conservation, || {
                format!("{injected} data frames sent, {gone} delivered or dropped, {live} frames alive")
            });
        }
    }
}
