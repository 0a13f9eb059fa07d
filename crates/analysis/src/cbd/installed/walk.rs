//! All paths that tables give to a destination, followed from every host at once.
//!
//! A state is a directed link with a virtual lane. Where a frame goes next depends on the state,
//! the destination and the service level, not on its source, so that each state is visited once for
//! each destination and level.

use std::collections::{BTreeMap, HashMap};

use xoff_net::topology::routing::Tables;
use xoff_net::topology::{LinkId, NodeKind, Topology};
use xoff_units::NodeId;

use super::{Hole, Loop, NAMED_MAX};

/// A directed link with a virtual lane.
pub(super) type State = u32;

/// Entry of frames of a level into the network, and the number of hosts that send there.
pub(super) struct Entry {
    pub host: NodeId,
    pub switch: NodeId,
    pub ingress: u16,
    pub hosts: u64,
}

/// State of a node of the graph during a walk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Open,
    Arrives,
    Lost,
}

/// The paths found so far.
pub(super) struct Walk<'a> {
    pub t: &'a Topology,
    pub tables: &'a Tables,
    pub lanes: u32,
    /// Entries that represent all hosts: one for each switch, or each host where virtual lanes
    /// distinguish them.
    pub entries: Vec<Entry>,
    /// Mark of each state and the walk it belongs to.
    pub marks: Vec<(u32, Mark)>,
    round: u32,
    /// For each dependency the walk and the host that showed it first.
    pub dependencies: BTreeMap<(State, State), (u32, u8, NodeId)>,
    pub unrouted: u64,
    pub holes: Vec<Hole>,
    pub holes_total: u64,
    hole_at: HashMap<NodeId, u32>,
    pub loops: Vec<Loop>,
    pub loops_total: u64,
    /// Links that fail besides those that are down.
    pub failed: Vec<LinkId>,
    /// By link, the destinations whose paths lead over it; kept only where it is asked for.
    pub uses: Option<Vec<Vec<u32>>>,
}

impl<'a> Walk<'a> {
    pub fn new(t: &'a Topology, tables: &'a Tables) -> Walk<'a> {
        let lanes = if tables.lanes.is_some() { 16 } else { 1 };
        let mut entries: Vec<Entry> = Vec::new();
        let mut of_switch: HashMap<NodeId, usize> = HashMap::new();
        for host in t.hosts() {
            for port in &t.nodes[host.index()].ports {
                let up = t.links[port.link as usize].up
                    && t.nodes[port.peer.index()].kind == NodeKind::Switch;
                match of_switch.get(&port.peer) {
                    _ if !up => {}
                    Some(&i) if lanes == 1 => entries[i].hosts += 1,
                    _ => {
                        of_switch.insert(port.peer, entries.len());
                        entries.push(Entry {
                            host,
                            switch: port.peer,
                            ingress: port.peer_port,
                            hosts: 1,
                        });
                    }
                }
            }
        }
        let marks = vec![(0, Mark::Open); t.links.len() * 2 * lanes as usize];
        let (dependencies, hole_at) = (BTreeMap::new(), HashMap::new());
        let (holes, loops) = (Vec::new(), Vec::new());
        let totals = (0, 0, 0);
        Walk {
            t,
            tables,
            lanes,
            entries,
            marks,
            round: 0,
            dependencies,
            unrouted: totals.0,
            holes,
            holes_total: totals.1,
            hole_at,
            loops,
            loops_total: totals.2,
            failed: Vec::new(),
            uses: None,
        }
    }

    pub fn is_switch(&self, node: NodeId) -> bool {
        self.t.nodes[node.index()].kind == NodeKind::Switch
    }

    fn level(&self, host: NodeId, destination: u32) -> u8 {
        self.tables
            .lanes
            .as_ref()
            .and_then(|l| l.level.get(&(host, destination)).copied())
            .unwrap_or(0)
    }

    /// The state of a frame that leaves a node by a port.
    fn state(&self, node: NodeId, ingress: u16, egress: u16, level: u8) -> State {
        let port = self.t.nodes[node.index()].ports[egress as usize];
        let link = &self.t.links[port.link as usize];
        let lane = self
            .tables
            .lanes
            .as_ref()
            .map_or(0, |l| u32::from(l.of(node, ingress, egress, level) & 15));
        (port.link * 2 + u32::from((link.a, link.a_port) != (node, egress))) * self.lanes + lane
    }

    /// The port by which a state leaves.
    pub fn egress(&self, state: State) -> (NodeId, u16) {
        let (link, lane) =
            (&self.t.links[(state / self.lanes / 2) as usize], state / self.lanes % 2);
        if lane == 0 { (link.a, link.a_port) } else { (link.b, link.b_port) }
    }

    /// The port at which a state arrives.
    pub fn ingress(&self, state: State) -> (NodeId, u16) {
        let (node, port) = self.egress(state);
        let port = self.t.nodes[node.index()].ports[port as usize];
        (port.peer, port.peer_port)
    }

    /// True if a state fills a buffer between switches.
    fn is_between(&self, state: State) -> bool {
        self.is_switch(self.egress(state).0) && self.is_switch(self.ingress(state).0)
    }

    /// The states that follow one that arrives at a switch; `None`: they are dropped.
    pub fn next(
        &self,
        (switch, ingress): (NodeId, u16),
        destination: u32,
        level: u8,
    ) -> Option<Vec<State>> {
        let ports = self.tables.ports(switch, destination);
        let link = |p: u16| self.t.nodes[switch.index()].ports[p as usize].link;
        let up = |&&p: &&u16| self.t.link_at(switch, p).up && !self.failed.contains(&link(p));
        let states: Vec<State> =
            ports.iter().filter(up).map(|&p| self.state(switch, ingress, p, level)).collect();
        (!states.is_empty()).then_some(states)
    }

    fn name(&self, destination: u32) -> String {
        let d = &self.tables.destinations[destination as usize];
        format!("{} ({})", self.t.name(d.host), d.address)
    }

    /// Walks from every source to one destination.
    pub fn destination(&mut self, destination: u32) {
        let to = self.tables.destinations[destination as usize].host;
        let mut levels: Vec<u8> =
            self.entries.iter().map(|e| self.level(e.host, destination)).collect();
        levels.sort_unstable();
        levels.dedup();
        let mut looped = false;
        for level in levels {
            self.round += 1;
            for i in 0..self.entries.len() {
                let Entry { host, switch, ingress, hosts } = self.entries[i];
                let own = self.t.nodes[to.index()].ports.iter().any(|p| p.peer == switch);
                if (self.lanes > 1 && host == to) || self.level(host, destination) != level {
                    continue;
                }
                // Where virtual lanes do not matter, the destination itself is among those that
                // enter at its switch.
                let senders = if self.lanes == 1 && own { hosts - 1 } else { hosts };
                if senders > 0
                    && !self.from((switch, ingress), (destination, level, host), &mut looped)
                {
                    self.unrouted += senders;
                }
            }
        }
        self.loops_total += u64::from(looped);
    }

    /// Follows all paths from where a frame enters; false if one of them does not arrive.
    fn from(&mut self, at: (NodeId, u16), walk: (u32, u8, NodeId), looped: &mut bool) -> bool {
        let (destination, level, _) = walk;
        let to = self.tables.destinations[destination as usize].host;
        let Some(first) = self.next(at, destination, level) else {
            self.hole(at.0, destination);
            return false;
        };
        let mut arrives = true;
        for start in first {
            // The states on the way, each with those that follow it and are still to be visited.
            let mut way: Vec<(State, Vec<State>)> = Vec::new();
            let mut lost = self.enter(start, to, walk, &mut way, looped);
            while let Some((state, following)) = way.last_mut() {
                let state = *state;
                if lost {
                    self.marks[state as usize].1 = Mark::Lost;
                }
                match following.pop() {
                    Some(next) => {
                        if self.is_between(state) && self.is_between(next) {
                            self.dependencies.entry((state, next)).or_insert(walk);
                        }
                        lost = self.enter(next, to, walk, &mut way, looped);
                        // A state that was entered reports at its own end; one that was not entered
                        // reports now.
                        if way.last().is_some_and(|(top, _)| *top == next) {
                            lost = false;
                        }
                    }
                    None => {
                        way.pop();
                        let mark = &mut self.marks[state as usize].1;
                        if *mark == Mark::Open {
                            *mark = Mark::Arrives;
                        }
                        lost = *mark == Mark::Lost;
                    }
                }
            }
            arrives &= !lost && self.marks[start as usize].1 != Mark::Lost;
        }
        arrives
    }

    /// Enters a state, unless it is known; true if frames there are lost.
    fn enter(
        &mut self,
        state: State,
        to: NodeId,
        (destination, level, _): (u32, u8, NodeId),
        way: &mut Vec<(State, Vec<State>)>,
        looped: &mut bool,
    ) -> bool {
        if self.marks[state as usize].0 == self.round {
            return match self.marks[state as usize].1 {
                Mark::Arrives => false,
                Mark::Lost if !way.iter().any(|(s, _)| *s == state) => true,
                _ => {
                    if !*looped && self.loops.len() < NAMED_MAX {
                        let start = way.iter().position(|(s, _)| *s == state).unwrap_or(0);
                        let links = way[start..].iter().map(|(s, _)| self.link_name(*s)).collect();
                        self.loops.push(Loop { destination: self.name(destination), links });
                    }
                    *looped = true;
                    true
                }
            };
        }
        self.marks[state as usize] = (self.round, Mark::Open);
        if let Some(uses) = &mut self.uses {
            let of_link = &mut uses[(state / self.lanes / 2) as usize];
            if of_link.last() != Some(&destination) {
                of_link.push(destination);
            }
        }
        let at = self.ingress(state);
        if at.0 == to {
            self.marks[state as usize].1 = Mark::Arrives;
            return false;
        }
        let following = if self.is_switch(at.0) { self.next(at, destination, level) } else { None };
        match following {
            Some(following) => {
                way.push((state, following));
                false
            }
            None => {
                self.hole(at.0, destination);
                self.marks[state as usize].1 = Mark::Lost;
                true
            }
        }
    }

    /// Starts again with these failed links; earlier findings are dropped.
    pub fn fail(&mut self, links: &[LinkId]) {
        self.failed.clear();
        self.failed.extend_from_slice(links);
        (self.unrouted, self.holes_total) = (0, 0);
        self.holes.clear();
        self.hole_at.clear();
    }

    /// Notes a table without an entry, once for each destination.
    fn hole(&mut self, switch: NodeId, destination: u32) {
        if self.hole_at.insert(switch, destination) == Some(destination) {
            return;
        }
        self.holes_total += 1;
        if self.holes.len() < NAMED_MAX {
            self.holes.push(Hole {
                switch: self.t.name(switch).into(),
                destination: self.name(destination),
            });
        }
    }

    pub fn link_name(&self, state: State) -> String {
        let (node, port) = self.egress(state);
        let name = self.t.port_name(node, port);
        if self.lanes > 1 { format!("{name} VL{}", state % self.lanes) } else { name }
    }
}
