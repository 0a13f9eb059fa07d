//! The same question about forwarding tables as they are installed, with virtual lanes where service levels are known.
//!
//! ```text
//!   destination, service level --> walk from every source --+-- [u->v, lane] depends on [v->w, lane']
//!                                                           +-- a table without an entry: a hole
//!                                                           +-- a state that is reached again: a forwarding loop
//! ```
//!
//! A state is a directed link with a virtual lane. Where a frame goes next depends on the state, the destination and the service level, not
//! on its source, so that each state is visited once for each destination and level.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use xoff_topology::routing::{Lanes, Tables};
use xoff_topology::{NodeId, NodeKind, Topology};

use super::cycle::{self, Graph};
use super::remedy::{Remedy, turns, up_down};
use super::{Closing, Cycle, Report, Traffic, Verdict};

/// Holes and loops that are named; the rest is counted.
const NAMED_MAX: usize = 20;

/// A switch that drops what goes to a destination, though frames for it arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hole {
    /// The switch.
    pub switch: String,
    /// The destination, `host6 (lid 0xb)`.
    pub destination: String,
}

/// A cycle of links that frames for a destination go round for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loop {
    /// The destination.
    pub destination: String,
    /// The links, in order.
    pub links: Vec<String>,
}

/// The answer about installed tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// As for a rule; `unrouted` counts pairs of a source and a destination's address.
    #[serde(flatten)]
    pub report: Report,
    /// Whether service levels separated the virtual lanes; else all traffic is taken to share one.
    pub virtual_lanes: bool,
    /// Tables without an entry that is used, the first of them.
    pub holes: Vec<Hole>,
    /// How many there are.
    pub holes_total: u64,
    /// Forwarding loops, the first of them.
    pub loops: Vec<Loop>,
    /// Destinations with one.
    pub loops_total: u64,
    /// What would take a cycle away.
    #[serde(skip)]
    pub remedies: Vec<Remedy>,
}

/// Searches for cyclic buffer dependencies among the routes that the tables give from every host to every destination.
pub fn check_installed(t: &Topology, tables: &Tables) -> Installed {
    let mut walk = Walk::new(t, tables);
    for destination in 0..tables.destinations.len() as u32 {
        walk.destination(destination);
    }
    let graph = walk.graph();
    let components = cycle::components(&graph);
    let found = cycle::shortest(&graph, &components).map(|states| walk.explain(&states));
    let fabric = |l: &xoff_topology::Link| l.up && walk.is_switch(l.a) && walk.is_switch(l.b);
    let report = Report {
        verdict: if found.is_some() { Verdict::Cyclic } else { Verdict::CycleFree },
        buffers: t.links.iter().filter(|l| fabric(l)).count() * 2 * walk.lanes as usize,
        dependencies: graph.edge_count(),
        cyclic_components: components.len(),
        cyclic_buffers: components.iter().map(Vec::len).sum(),
        unrouted: walk.unrouted,
        cycle: found,
    };
    let mut remedies = Vec::new();
    if report.verdict == Verdict::Cyclic {
        remedies.extend(up_down(t, Traffic::AllPairs, 0));
        remedies.extend(walk.second_class(&graph));
    }
    let (holes, holes_total, loops, loops_total) = (walk.holes, walk.holes_total, walk.loops, walk.loops_total);
    Installed { report, virtual_lanes: tables.lanes.is_some(), holes, holes_total, loops, loops_total, remedies }
}

/// A directed link with a virtual lane.
type State = u32;

/// Where frames of a level enter the network, and how many hosts send there.
struct Entry {
    host: NodeId,
    switch: NodeId,
    ingress: u16,
    hosts: u64,
}

/// How a state looks during a walk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Open,
    Arrives,
    Lost,
}

struct Walk<'a> {
    t: &'a Topology,
    tables: &'a Tables,
    lanes: u32,
    /// Entries that stand for all hosts: one for each switch, or each host where virtual lanes distinguish them.
    entries: Vec<Entry>,
    /// Mark of each state and the walk it belongs to.
    marks: Vec<(u32, Mark)>,
    round: u32,
    /// For each dependency the walk and the host that showed it first.
    dependencies: BTreeMap<(State, State), (u32, u8, NodeId)>,
    unrouted: u64,
    holes: Vec<Hole>,
    holes_total: u64,
    hole_at: HashMap<NodeId, u32>,
    loops: Vec<Loop>,
    loops_total: u64,
}

impl<'a> Walk<'a> {
    fn new(t: &'a Topology, tables: &'a Tables) -> Walk<'a> {
        let lanes = if tables.lanes.is_some() { 16 } else { 1 };
        let mut entries: Vec<Entry> = Vec::new();
        let mut of_switch: HashMap<NodeId, usize> = HashMap::new();
        for host in t.hosts() {
            for port in &t.nodes[host as usize].ports {
                let up = t.links[port.link as usize].up && t.nodes[port.peer as usize].kind == NodeKind::Switch;
                match of_switch.get(&port.peer) {
                    _ if !up => {}
                    Some(&i) if lanes == 1 => entries[i].hosts += 1,
                    _ => {
                        of_switch.insert(port.peer, entries.len());
                        entries.push(Entry { host, switch: port.peer, ingress: port.peer_port, hosts: 1 });
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
        }
    }

    fn is_switch(&self, node: NodeId) -> bool {
        self.t.nodes[node as usize].kind == NodeKind::Switch
    }

    fn level(&self, host: NodeId, destination: u32) -> u8 {
        self.tables.lanes.as_ref().and_then(|l| l.level.get(&(host, destination)).copied()).unwrap_or(0)
    }

    /// The state of a frame that leaves a node by a port.
    fn state(&self, node: NodeId, ingress: u16, egress: u16, level: u8) -> State {
        let port = self.t.nodes[node as usize].ports[egress as usize];
        let link = &self.t.links[port.link as usize];
        let lane = self.tables.lanes.as_ref().map_or(0, |l| u32::from(l.of(node, ingress, egress, level) & 15));
        (port.link * 2 + u32::from((link.a, link.a_port) != (node, egress))) * self.lanes + lane
    }

    /// The port by which a state leaves.
    fn egress(&self, state: State) -> (NodeId, u16) {
        let (link, lane) = (&self.t.links[(state / self.lanes / 2) as usize], state / self.lanes % 2);
        if lane == 0 { (link.a, link.a_port) } else { (link.b, link.b_port) }
    }

    /// The port at which a state arrives.
    fn ingress(&self, state: State) -> (NodeId, u16) {
        let (node, port) = self.egress(state);
        let port = self.t.nodes[node as usize].ports[port as usize];
        (port.peer, port.peer_port)
    }

    /// Whether a state fills a buffer between switches.
    fn is_between(&self, state: State) -> bool {
        self.is_switch(self.egress(state).0) && self.is_switch(self.ingress(state).0)
    }

    /// The states that follow one that arrives at a switch; `None`: they are dropped.
    fn next(&self, (switch, ingress): (NodeId, u16), destination: u32, level: u8) -> Option<Vec<State>> {
        let ports = self.tables.ports(switch, destination);
        let up = |&&p: &&u16| self.t.link_at(switch, p).up;
        let states: Vec<State> = ports.iter().filter(up).map(|&p| self.state(switch, ingress, p, level)).collect();
        (!states.is_empty()).then_some(states)
    }

    fn name(&self, destination: u32) -> String {
        let d = &self.tables.destinations[destination as usize];
        format!("{} ({})", self.t.name(d.host), d.address)
    }

    /// Walks from every source to one destination.
    fn destination(&mut self, destination: u32) {
        let to = self.tables.destinations[destination as usize].host;
        let mut levels: Vec<u8> = self.entries.iter().map(|e| self.level(e.host, destination)).collect();
        levels.sort_unstable();
        levels.dedup();
        let mut looped = false;
        for level in levels {
            self.round += 1;
            for i in 0..self.entries.len() {
                let Entry { host, switch, ingress, hosts } = self.entries[i];
                let own = self.t.nodes[to as usize].ports.iter().any(|p| p.peer == switch);
                if (self.lanes > 1 && host == to) || self.level(host, destination) != level {
                    continue;
                }
                // Where virtual lanes do not matter, the destination itself is among those that enter at its switch.
                let senders = if self.lanes == 1 && own { hosts - 1 } else { hosts };
                if senders > 0 && !self.from((switch, ingress), (destination, level, host), &mut looped) {
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
                        // What was entered reports by itself at its end; what was not entered reports now.
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

    /// Goes into a state, unless it is known; true if what goes there is lost.
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

    /// Notes a table without an entry, once for each destination.
    fn hole(&mut self, switch: NodeId, destination: u32) {
        if self.hole_at.insert(switch, destination) == Some(destination) {
            return;
        }
        self.holes_total += 1;
        if self.holes.len() < NAMED_MAX {
            self.holes.push(Hole { switch: self.t.name(switch).into(), destination: self.name(destination) });
        }
    }

    /// The dependencies in rows.
    fn graph(&self) -> Graph {
        let mut graph = Graph { first: vec![0], next: Vec::new() };
        let mut row = 0;
        for &(from, to) in self.dependencies.keys() {
            while row < from {
                graph.first.push(graph.next.len() as u32);
                row += 1;
            }
            graph.next.push(to);
        }
        graph.first.resize(self.marks.len() + 1, graph.next.len() as u32);
        graph
    }

    /// A higher priority from a turn on, where all traffic shares a lane and nothing goes round.
    fn second_class(&self, graph: &Graph) -> Option<Remedy> {
        if self.lanes > 1 || self.loops_total > 0 {
            return None;
        }
        let cut = turns(self.t, graph)?;
        let mut most = 0;
        for destination in 0..self.tables.destinations.len() as u32 {
            let mut known = HashMap::new();
            for entry in &self.entries {
                for state in self.next((entry.switch, entry.ingress), destination, 0).unwrap_or_default() {
                    most = most.max(self.turns_onward(state, destination, &cut, &mut known));
                }
            }
        }
        let mut list: Vec<(State, State)> = cut.into_iter().collect();
        list.sort_unstable();
        let names: Vec<[String; 2]> = list.iter().map(|&(a, b)| [self.link_name(a), self.link_name(b)]).collect();
        Some(Remedy::second_class(names, most))
    }

    /// The most turns on a way that goes on from a state.
    fn turns_onward(&self, at: State, destination: u32, cut: &HashSet<(State, State)>, known: &mut HashMap<State, u32>) -> u32 {
        if let Some(&n) = known.get(&at) {
            return n;
        }
        let end = self.ingress(at);
        let mut most = 0;
        if self.is_switch(end.0) {
            for next in self.next(end, destination, 0).unwrap_or_default() {
                most = most.max(u32::from(cut.contains(&(at, next))) + self.turns_onward(next, destination, cut, known));
            }
        }
        known.insert(at, most);
        most
    }

    fn link_name(&self, state: State) -> String {
        let (node, port) = self.egress(state);
        let name = self.t.port_name(node, port);
        if self.lanes > 1 { format!("{name} VL{}", state % self.lanes) } else { name }
    }

    /// A cycle in words.
    fn explain(&self, states: &[State]) -> Cycle {
        let closing = |(i, &from): (usize, &State)| {
            let to = states[(i + 1) % states.len()];
            let (destination, level, host) = self.dependencies[&(from, to)];
            let path = self.path(destination, level, host, from, to);
            let flow = format!("{}->{}", self.t.name(host), self.t.name(self.tables.destinations[destination as usize].host));
            Closing { from: self.link_name(from), to: self.link_name(to), flow, path }
        };
        Cycle { links: states.iter().map(|&s| self.link_name(s)).collect(), closed_by: states.iter().enumerate().map(closing).collect() }
    }

    /// The nodes on a way from a host over both links, and on from there by the first port of each table.
    fn path(&self, destination: u32, level: u8, host: NodeId, from: State, to: State) -> Vec<String> {
        // Breadth first from the host's switch, until the first of the two links.
        let mut before: HashMap<State, Option<State>> = HashMap::new();
        let mut queue = std::collections::VecDeque::new();
        for port in &self.t.nodes[host as usize].ports {
            for state in self.next((port.peer, port.peer_port), destination, level).unwrap_or_default() {
                before.entry(state).or_insert_with(|| {
                    queue.push_back(state);
                    None
                });
            }
        }
        while let Some(state) = queue.pop_front().filter(|&s| s != from) {
            for next in self.next(self.ingress(state), destination, level).unwrap_or_default() {
                before.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    Some(state)
                });
            }
        }
        let mut way = vec![to, from];
        while let Some(Some(state)) = before.get(&way[way.len() - 1]) {
            way.push(*state);
        }
        way.reverse();
        let mut nodes: Vec<NodeId> = std::iter::once(host).chain(way.iter().map(|&s| self.egress(s).0)).collect();
        let mut state = to;
        for _ in 0..self.t.nodes.len() {
            let at = self.ingress(state);
            nodes.push(at.0);
            match self.next(at, destination, level).filter(|_| self.is_switch(at.0)) {
                Some(next) => state = next[0],
                None => break,
            }
        }
        // A forwarding loop has no end: once round is enough.
        nodes.truncate(2 + way.len() + self.t.nodes.len().min(64));
        nodes.into_iter().map(|n| self.t.name(n).to_owned()).collect()
    }
}

/// The ingress of frames that begin at a host is not a port of a switch.
const _: () = assert!(Lanes::LOCAL == u16::MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_params::Defaults;
    use xoff_topology::builders::ring;
    use xoff_topology::routing::Destination;

    /// A ring of three switches with a host each, and every table clockwise.
    fn clockwise() -> (Topology, Tables) {
        let t = ring::build(&mut Defaults::of(ring::PARAMS)).unwrap();
        let hosts: Vec<NodeId> = t.hosts().collect();
        let to = |&host: &NodeId| Destination { host, address: format!("lid {host}") };
        let mut tables = Tables::new(hosts.iter().map(to).collect());
        for s in t.switches() {
            let port = |peer: NodeId| t.nodes[s as usize].ports.iter().position(|p| p.peer == peer).map(|p| p as u16);
            let next = t.switches().find(|&n| n == s + 1).unwrap_or(t.switches().next().unwrap());
            for (d, &host) in hosts.iter().enumerate() {
                tables.set(s, d as u32, vec![port(host).or(port(next)).unwrap()]);
            }
        }
        (t, tables)
    }

    #[test]
    fn a_clockwise_ring_is_cyclic_and_two_virtual_lanes_break_it() {
        let (t, mut tables) = clockwise();
        let found = check_installed(&t, &tables);
        assert_eq!((found.report.verdict, found.report.unrouted, found.loops_total), (Verdict::Cyclic, 0, 0));
        let cycle = found.report.cycle.unwrap();
        assert_eq!(cycle.links.len(), 3);
        assert_eq!(cycle.closed_by[0].path.len(), 5, "host, three switches, host: {:?}", cycle.closed_by);
        // What crosses from the last switch to the first goes on virtual lane 1.
        let (hosts, switches): (Vec<_>, Vec<_>) = (t.hosts().collect(), t.switches().collect());
        let mut lanes = Lanes::default();
        for (i, &host) in hosts.iter().enumerate() {
            for d in 0..i as u32 {
                lanes.level.insert((host, d), 1);
            }
        }
        assert_eq!(switches.len(), 3);
        tables.lanes = Some(lanes);
        let found = check_installed(&t, &tables);
        assert_eq!((found.report.verdict, found.virtual_lanes, found.report.unrouted), (Verdict::CycleFree, true, 0));
    }

    #[test]
    fn holes_and_loops_are_counted_and_named() {
        let (t, mut tables) = clockwise();
        let (s, last) = (t.switches().next().unwrap(), 2);
        tables.set(s, last, Vec::new());
        let found = check_installed(&t, &tables);
        assert_eq!((found.holes_total, found.report.unrouted), (1, 1), "{:?}", found.holes);
        // Switch 3 gives what is for its own host back to the ring.
        let (t, mut tables) = clockwise();
        let third = t.switches().nth(2).unwrap();
        let onward = tables.ports(third, 0).to_vec();
        tables.set(third, last, onward);
        let found = check_installed(&t, &tables);
        assert_eq!((found.loops_total, found.loops[0].links.len(), found.report.unrouted), (1, 3, 2), "{:?}", found.loops);
    }
}
