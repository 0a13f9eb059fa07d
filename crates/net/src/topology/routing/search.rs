//! The search behind the table: from one destination group outwards, over switches only.
//!
//! *Shortest*: breadth first; a node's candidates are its neighbours one step nearer.
//!
//! *Up-down*: switches have an order ([`up_down_ranks`]), by level first. A node from which the
//! destination can be reached by going down alone uses the shortest such paths and nothing else; every other node goes up, towards the nearest such node. Node and destination
//! suffice to keep the rule, the ingress port is not needed: a frame goes down for the first time
//! at a node with a way down, its next node then has one too, and so on, so it never turns up
//! again. Every buffer dependency therefore leads up-up, up-down or down-down along a strict order,
//! and no set of flows can close a cycle. On a graph whose levels are not those of a tree a pair
//! may be left without a route.

use xoff_units::NodeId;

use super::groups::{is_switch, up_ports};
use super::ranks::up_down_ranks;
use super::routes::{Order, Paths};
use crate::topology::graph::Topology;

/// Not reached.
pub(super) const FAR: u32 = u32::MAX;

/// Level of a node, and its rank for up-down.
type Rank = (u8, u32);

/// Working memory of the search, reused from group to group.
pub(super) struct Search {
    paths: Paths,
    order: Order,
    /// First entry of each node in `edges`, and one beyond the last.
    first: Vec<u32>,
    /// Working links between switches: peer and the port that leads there.
    edges: Vec<(NodeId, u16)>,
    /// Rank of each node for up-down.
    rank: Vec<Rank>,
    /// Nodes through which paths lead.
    transit: Vec<bool>,
    /// Hops to the group over the paths that count; 1 next to it.
    pub distance: Vec<u32>,
    /// Hops going down only.
    down: Vec<u32>,
    /// Place in the order of discovery.
    place: Vec<u32>,
    /// Nodes in the order of discovery.
    pub queue: Vec<NodeId>,
}

impl Search {
    pub fn new(t: &Topology, paths: Paths, order: Order) -> Search {
        let n = t.nodes.len();
        let (mut first, mut edges) = (Vec::with_capacity(n + 1), Vec::new());
        for node in t.node_ids() {
            first.push(edges.len() as u32);
            if is_switch(t, node) {
                edges.extend(
                    up_ports(t, node)
                        .filter(|&(_, peer)| is_switch(t, peer))
                        .map(|(port, peer)| (peer, port)),
                );
                sort_neighbours(&mut edges[first[node.index()] as usize..], order);
                if order == Order::DescendingPeerId {
                    // That simulator keeps one interface per pair of nodes, the one added last.
                    let mut own = edges.split_off(first[node.index()] as usize);
                    own.dedup_by(|next, kept| {
                        next.0 == kept.0 && {
                            *kept = *next;
                            true
                        }
                    });
                    edges.append(&mut own);
                }
            }
        }
        first.push(edges.len() as u32);
        let ranks = if paths == Paths::UpDown { up_down_ranks(t) } else { vec![0; n] };
        let rank = t.nodes.iter().map(|n| n.level).zip(ranks).collect();
        let (distance, down, place) = (vec![FAR; n], vec![FAR; n], vec![0; n]);
        Search {
            paths,
            order,
            first,
            edges,
            rank,
            transit: t.nodes.iter().map(|n| n.transit).collect(),
            distance,
            down,
            place,
            queue: Vec::with_capacity(n),
        }
    }

    /// Fills `distance` and `queue` for the group next to `neighbours`.
    pub fn run(&mut self, t: &Topology, neighbours: &[NodeId]) {
        for &node in &self.queue {
            self.distance[node.index()] = FAR;
            self.down[node.index()] = FAR;
        }
        self.queue.clear();
        self.queue.extend(neighbours.iter().filter(|&&n| is_switch(t, n)));
        if self.order == Order::DescendingPeerId {
            self.queue.reverse();
        }
        for (place, &node) in self.queue.iter().enumerate() {
            (self.distance[node.index()], self.place[node.index()]) = (1, place as u32);
        }
        match self.paths {
            Paths::Shortest | Paths::ShortestTree { .. } | Paths::DModK => self.spread(|_, _| true),
            Paths::UpDown => {
                // First the nodes with a way down, searched upwards from the destination...
                self.spread(|here, next| next > here);
                for &node in &self.queue {
                    self.down[node.index()] = self.distance[node.index()];
                }
                // ... then those that must go up first, the nearest ones first.
                self.climb();
            }
        }
    }

    /// Breadth-first search from the queue's nodes on, along links that `allowed` lets pass.
    fn spread(&mut self, allowed: impl Fn(Rank, Rank) -> bool) {
        let mut head = 0;
        while head < self.queue.len() {
            let node = self.queue[head].index();
            head += 1;
            if !self.transit[node] && self.distance[node] > 1 {
                continue;
            }
            for e in self.first[node] as usize..self.first[node + 1] as usize {
                let next = self.edges[e].0.index();
                if self.distance[next] == FAR && allowed(self.rank[node], self.rank[next]) {
                    self.distance[next] = self.distance[node] + 1;
                    self.place[next] = self.queue.len() as u32;
                    self.queue.push(NodeId(next as u32));
                }
            }
        }
    }

    /// Gives every node without a way down its distance through the nearest upper neighbour. Upper
    /// nodes are final before lower ones ask, so one pass in falling rank is enough.
    fn climb(&mut self) {
        let mut rest: Vec<NodeId> = (0..self.distance.len() as u32)
            .map(NodeId)
            .filter(|&n| {
                self.distance[n.index()] == FAR && self.first[n.index()] < self.first[n.index() + 1]
            })
            .collect();
        rest.sort_unstable_by_key(|&n| std::cmp::Reverse(self.rank[n.index()]));
        for node in rest {
            let upper = self
                .neighbours(node)
                .filter(|&(next, _)| self.rank[next.index()] > self.rank[node.index()]);
            let nearest = upper.map(|(next, _)| self.distance[next.index()]).min().unwrap_or(FAR);
            if nearest != FAR {
                self.distance[node.index()] = nearest + 1;
                self.place[node.index()] = self.queue.len() as u32;
                self.queue.push(node);
            }
        }
    }

    fn neighbours(&self, node: NodeId) -> impl Iterator<Item = (NodeId, u16)> + '_ {
        self.edges[self.first[node.index()] as usize..self.first[node.index() + 1] as usize]
            .iter()
            .copied()
    }

    /// Puts the candidate ports of a reached switch that is not next to the group into `ports`.
    pub fn candidates(&self, node: NodeId, ports: &mut Vec<u16>, peers: &mut Vec<(u32, u16)>) {
        ports.clear();
        let nearer = self.distance[node.index()] - 1;
        let leads_on = |p: NodeId| self.transit[p.index()] || nearer == 1;
        let lists = self.neighbours(node).filter(|&(p, _)| leads_on(p));
        match self.paths {
            Paths::Shortest | Paths::ShortestTree { .. } | Paths::DModK
                if self.order == Order::DescendingPeerId =>
            {
                // That simulator appends next hops as its search discovers them.
                peers.clear();
                peers.extend(
                    lists
                        .filter(|&(p, _)| self.distance[p.index()] == nearer)
                        .map(|(p, port)| (self.place[p.index()], port)),
                );
                peers.sort_unstable();
                ports.extend(peers.iter().map(|&(_, port)| port));
            }
            Paths::Shortest | Paths::ShortestTree { .. } | Paths::DModK => ports.extend(
                lists.filter(|&(p, _)| self.distance[p.index()] == nearer).map(|(_, port)| port),
            ),
            Paths::UpDown => {
                let rank = self.rank[node.index()];
                let goes_down = self.down[node.index()] != FAR;
                ports.extend(
                    lists
                        .filter(|&(p, _)| {
                            let (at, d) = (p.index(), self.distance[p.index()]);
                            if goes_down {
                                self.rank[at] < rank && self.down[at] == nearer
                            } else {
                                self.rank[at] > rank && d == nearer
                            }
                        })
                        .map(|(_, port)| port),
                );
            }
        }
    }

    /// The switches next to a switch, ascending.
    pub fn peers(&self, node: NodeId) -> Vec<NodeId> {
        let mut peers: Vec<NodeId> = self.neighbours(node).map(|(peer, _)| peer).collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    /// The ports of a switch that lead to other switches, as candidates are ordered that all are
    /// equally near.
    pub fn ports(&self, node: NodeId) -> Vec<u16> {
        self.neighbours(node).map(|(_, port)| port).collect()
    }

    /// Ports that lead to one switch.
    pub fn ports_to(&self, node: NodeId, peer: NodeId) -> Vec<u16> {
        self.neighbours(node).filter(|e| e.0 == peer).map(|(_, port)| port).collect()
    }

    /// Puts the candidate ports of a host with these ports into `ports`: those to its nearest
    /// switches. Of equally near ones a scale-up switch (level 0) comes before all others.
    pub fn source_candidates(&self, own: &[(u16, NodeId)], ports: &mut Vec<u16>) {
        self.nearest(own, |p| self.distance[p.index()], ports);
    }

    /// Candidates towards a twin of the switch that was searched from: all other switches are as
    /// far from either.
    pub fn source_candidates_of_twin(
        &self,
        own: &[(u16, NodeId)],
        (searched, twin): (NodeId, NodeId),
        ports: &mut Vec<u16>,
    ) {
        let swapped = |p| match p {
            p if p == searched => twin,
            p if p == twin => searched,
            p => p,
        };
        self.nearest(own, |p| self.distance[swapped(p).index()], ports);
    }

    fn nearest(
        &self,
        own: &[(u16, NodeId)],
        distance: impl Fn(NodeId) -> u32,
        ports: &mut Vec<u16>,
    ) {
        ports.clear();
        let near = |p: NodeId| (distance(p), self.rank[p.index()].0 > 0);
        let nearest = own.iter().map(|&(_, p)| near(p)).min();
        if let Some(nearest) = nearest.filter(|&(distance, _)| distance != FAR) {
            let mut at: Vec<(NodeId, u16)> = own
                .iter()
                .filter(|&&(_, p)| near(p) == nearest)
                .map(|&(port, p)| (p, port))
                .collect();
            sort_neighbours(&mut at, self.order);
            ports.extend(at.iter().map(|&(_, port)| port));
        }
    }
}

/// Sorts (peer, port) pairs, given by ascending port, into the wanted order.
pub(super) fn sort_neighbours(list: &mut [(NodeId, u16)], order: Order) {
    match order {
        Order::AscendingPort => {}
        Order::AscendingPeerId => list.sort_by_key(|&(peer, _)| peer),
        Order::DescendingPeerId => list.sort_by_key(|&(peer, _)| std::cmp::Reverse(peer)),
    }
}
