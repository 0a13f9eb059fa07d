//! From routes to dependencies, without walking every pair of hosts where that can be avoided.

use xoff_net::topology::trace_path;
use xoff_units::NodeId;

use super::buffers::{Dependencies, behind, words_for};
use super::forwarding::Forwarding;
use super::{Spread, Traffic};

impl Forwarding<'_> {
    /// All dependencies of the traffic.
    pub fn dependencies(&self) -> Dependencies<'_> {
        let mut found = Dependencies::none(self.t);
        match self.traffic {
            Traffic::AllPairs if self.is_hashed() => self.add_pairs(&mut found),
            Traffic::AllPairs => {
                let mut sweep = Sweep::new(self);
                for dst in self.destinations() {
                    sweep.run(self, dst, self.sources(dst), &mut found);
                }
            }
            Traffic::Flows { flows, paths } => {
                let mut sweep = Sweep::new(self);
                for flow in flows {
                    match self.hops(flow, paths) {
                        Some(hops) => self.add_hops(&hops, &mut found),
                        None if self.spread == Spread::All => {
                            sweep.run(
                                self,
                                flow.key.dst,
                                std::iter::once(flow.key.src),
                                &mut found,
                            );
                        }
                        None => {}
                    }
                }
            }
        }
        found
    }

    /// One path per pair of hosts: all of them have to be walked.
    fn add_pairs(&self, found: &mut Dependencies<'_>) {
        let Spread::Chosen(choice) = &self.spread else { return };
        for dst in self.t.hosts() {
            for src in self.t.hosts().filter(|&src| src != dst) {
                // Pairs below one switch cross no link between switches.
                if self.routes.group_of(src) != self.routes.group_of(dst)
                    && let Some(hops) =
                        trace_path(self.t, &self.routes, choice, &Self::key(src, dst))
                {
                    self.add_hops(&hops, found);
                }
            }
        }
    }

    /// The dependencies along one path.
    fn add_hops(&self, hops: &[(NodeId, u16)], found: &mut Dependencies<'_>) {
        for pair in hops.windows(2) {
            let ((u, into), (v, out)) = (pair[0], pair[1]);
            let from_switch = self.t.nodes[u.index()].kind == xoff_net::topology::NodeKind::Switch;
            if from_switch && self.leads_to_switch(u, into) && self.leads_to_switch(v, out) {
                found.add_port(behind(self.t, u, into), out);
            }
        }
    }
}

/// Walks the routes to one destination from all its sources at once.
struct Sweep {
    /// Number of the walk that visited a node last.
    visited: Vec<u32>,
    walk: u32,
    /// Start of a node's ports in `masks`.
    first: Vec<u32>,
    /// Per node the ports towards the destination that lead to switches, as bits.
    masks: Vec<u64>,
    order: Vec<NodeId>,
}

impl Sweep {
    fn new(f: &Forwarding<'_>) -> Sweep {
        let mut words = 0;
        let first =
            f.t.node_ids()
                .map(|n| {
                    words += words_for(f.t, n) as u32;
                    words - words_for(f.t, n) as u32
                })
                .collect();
        Sweep {
            visited: vec![0; f.t.nodes.len()],
            walk: 0,
            first,
            masks: vec![0; words as usize],
            order: Vec::new(),
        }
    }

    fn run(
        &mut self,
        f: &Forwarding<'_>,
        dst: NodeId,
        sources: impl Iterator<Item = NodeId>,
        found: &mut Dependencies<'_>,
    ) {
        self.walk += 1;
        self.order.clear();
        for src in sources {
            for &port in f.ports(src, dst) {
                self.visit(f, f.peer(src, port));
            }
        }
        let mut head = 0;
        while head < self.order.len() {
            let node = self.order[head];
            head += 1;
            let first = self.first[node.index()] as usize;
            self.masks[first..first + words_for(f.t, node)].fill(0);
            for &port in f.ports(node, dst) {
                if f.leads_to_switch(node, port) {
                    self.masks[first + port as usize / 64] |= 1 << (port % 64);
                    self.visit(f, f.peer(node, port));
                }
            }
        }
        for &u in &self.order {
            for &port in f.ports(u, dst).iter().filter(|&&p| f.leads_to_switch(u, p)) {
                let v = f.peer(u, port);
                let first = self.first[v.index()] as usize;
                found.add(behind(f.t, u, port), &self.masks[first..first + words_for(f.t, v)]);
            }
        }
    }

    /// Notes a switch to be visited; the last node of a path is a host and needs no visit.
    fn visit(&mut self, f: &Forwarding<'_>, node: NodeId) {
        if self.visited[node.index()] != self.walk
            && f.t.nodes[node.index()].kind == xoff_net::topology::NodeKind::Switch
        {
            self.visited[node.index()] = self.walk;
            self.order.push(node);
        }
    }
}
