//! Cycles in forwarding tables as they are installed, with virtual lanes where service levels are
//! known.
//!
//! ```text
//!   destination, service level --> walk from every source --+-- [u->v, lane] depends on [v->w, lane']
//!                                                           +-- a table without an entry: a hole
//!                                                           +-- a state that is reached again: a forwarding loop
//! ```
//!
//! The walk is in `walk.rs`; this file has its result. `failures.rs` repeats it for every set of
//! failed links.

mod failures;
mod walk;

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_net::topology::Topology;
use xoff_net::topology::routing::{Lanes, Tables};
use xoff_units::NodeId;

use super::cycle::{self, Graph};
use super::remedy::{Remedy, turns, up_down};
use super::{Closing, Cycle, Report, Traffic, Verdict};
pub use failures::{HoleSet, HoleStudy, HolesOfSize, fail_any_installed};
use walk::{State, Walk};

/// Holes and loops that are named; the rest is counted.
const NAMED_MAX: usize = 20;

/// A switch that drops the frames for a destination although such frames arrive.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Hole {
    /// The switch.
    pub switch: String,
    /// The destination, `host6 (lid 0xb)`.
    pub destination: String,
}

/// A cycle of links in which frames for a destination circulate forever.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Loop {
    /// The destination.
    pub destination: String,
    /// The links, in order.
    pub links: Vec<String>,
}

/// The answer about installed tables.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Installed {
    /// As for a rule; `unrouted` counts pairs of a source and a destination's address.
    #[serde(flatten)]
    pub report: Report,
    /// Whether service levels separated the virtual lanes; else all traffic is taken to share one.
    pub virtual_lanes: bool,
    /// Tables without an entry that is used, the first of them.
    pub holes: Vec<Hole>,
    /// Number of black holes in all.
    pub holes_total: u64,
    /// Forwarding loops, the first of them.
    pub loops: Vec<Loop>,
    /// Destinations with one.
    pub loops_total: u64,
    /// Changes that would remove a cycle.
    #[serde(skip)]
    pub remedies: Vec<Remedy>,
}

/// Searches for cyclic buffer dependencies among the routes that the tables give from every host to
/// every destination.
pub fn check_installed(t: &Topology, tables: &Tables) -> Installed {
    let mut walk = Walk::new(t, tables);
    for destination in 0..tables.destinations.len() as u32 {
        walk.destination(destination);
    }
    let graph = walk.graph();
    let components = cycle::components(&graph);
    let found = cycle::shortest(&graph, &components).map(|states| walk.explain(&states));
    let fabric = |l: &xoff_net::topology::Link| l.up && walk.is_switch(l.a) && walk.is_switch(l.b);
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
    let (holes, holes_total, loops, loops_total) =
        (walk.holes, walk.holes_total, walk.loops, walk.loops_total);
    Installed {
        report,
        virtual_lanes: tables.lanes.is_some(),
        holes,
        holes_total,
        loops,
        loops_total,
        remedies,
    }
}

impl Walk<'_> {
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
                for state in
                    self.next((entry.switch, entry.ingress), destination, 0).unwrap_or_default()
                {
                    most = most.max(self.turns_onward(state, destination, &cut, &mut known));
                }
            }
        }
        let mut list: Vec<(State, State)> = cut.into_iter().collect();
        list.sort_unstable();
        let names: Vec<[String; 2]> =
            list.iter().map(|&(a, b)| [self.link_name(a), self.link_name(b)]).collect();
        Some(Remedy::second_class(names, most))
    }

    /// Largest number of turns on a path that starts at a state.
    fn turns_onward(
        &self,
        at: State,
        destination: u32,
        cut: &HashSet<(State, State)>,
        known: &mut HashMap<State, u32>,
    ) -> u32 {
        if let Some(&n) = known.get(&at) {
            return n;
        }
        let end = self.ingress(at);
        let mut most = 0;
        if self.is_switch(end.0) {
            for next in self.next(end, destination, 0).unwrap_or_default() {
                most = most.max(
                    u32::from(cut.contains(&(at, next)))
                        + self.turns_onward(next, destination, cut, known),
                );
            }
        }
        known.insert(at, most);
        most
    }

    /// A cycle in words.
    fn explain(&self, states: &[State]) -> Cycle {
        let closing = |(i, &from): (usize, &State)| {
            let to = states[(i + 1) % states.len()];
            let (destination, level, host) = self.dependencies[&(from, to)];
            let path = self.path(destination, level, host, from, to);
            let flow = format!(
                "{}->{}",
                self.t.name(host),
                self.t.name(self.tables.destinations[destination as usize].host)
            );
            Closing { from: self.link_name(from), to: self.link_name(to), flow, path }
        };
        Cycle {
            links: states.iter().map(|&s| self.link_name(s)).collect(),
            closed_by: states.iter().enumerate().map(closing).collect(),
        }
    }

    /// The nodes on a way from a host over both links, and on from there by the first port of each
    /// table.
    fn path(
        &self,
        destination: u32,
        level: u8,
        host: NodeId,
        from: State,
        to: State,
    ) -> Vec<String> {
        // Breadth first from the host's switch, until the first of the two links.
        let mut before: HashMap<State, Option<State>> = HashMap::new();
        let mut queue = std::collections::VecDeque::new();
        for port in &self.t.nodes[host.index()].ports {
            for state in
                self.next((port.peer, port.peer_port), destination, level).unwrap_or_default()
            {
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
        let mut nodes: Vec<NodeId> =
            std::iter::once(host).chain(way.iter().map(|&s| self.egress(s).0)).collect();
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
    use xoff_net::topology::builders::ring;
    use xoff_net::topology::routing::Destination;
    use xoff_units::params::Defaults;

    /// A ring of three switches with a host each, and every table clockwise.
    fn clockwise() -> (Topology, Tables) {
        let t = ring::build(&mut Defaults::of(ring::PARAMS)).unwrap();
        let hosts: Vec<NodeId> = t.hosts().collect();
        let to = |&host: &NodeId| Destination { host, address: format!("lid {host}") };
        let mut tables = Tables::new(hosts.iter().map(to).collect());
        for s in t.switches() {
            let port = |peer: NodeId| {
                t.nodes[s.index()].ports.iter().position(|p| p.peer == peer).map(|p| p as u16)
            };
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
        assert_eq!(
            (found.report.verdict, found.report.unrouted, found.loops_total),
            (Verdict::Cyclic, 0, 0)
        );
        let cycle = found.report.cycle.unwrap();
        assert_eq!(cycle.links.len(), 3);
        assert_eq!(
            cycle.closed_by[0].path.len(),
            5,
            "host, three switches, host: {:?}",
            cycle.closed_by
        );
        // Traffic from the last switch to the first changes to virtual lane 1.
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
        assert_eq!(
            (found.report.verdict, found.virtual_lanes, found.report.unrouted),
            (Verdict::CycleFree, true, 0)
        );
    }

    #[test]
    fn holes_and_loops_are_counted_and_named() {
        let (t, mut tables) = clockwise();
        let (s, last) = (t.switches().next().unwrap(), 2);
        tables.set(s, last, Vec::new());
        let found = check_installed(&t, &tables);
        assert_eq!((found.holes_total, found.report.unrouted), (1, 1), "{:?}", found.holes);
        // Switch 3 sends frames for its own host back into the ring.
        let (t, mut tables) = clockwise();
        let third = t.switches().nth(2).unwrap();
        let onward = tables.ports(third, 0).to_vec();
        tables.set(third, last, onward);
        let found = check_installed(&t, &tables);
        assert_eq!(
            (found.loops_total, found.loops[0].links.len(), found.report.unrouted),
            (1, 3, 2),
            "{:?}",
            found.loops
        );
    }

    /// In a clockwise ring every link carries something that has no other way; with a second port
    /// in a table, that switch has one.
    #[test]
    fn failures_make_black_holes_where_a_table_has_no_other_port() {
        let (t, mut tables) = clockwise();
        let study = fail_any_installed(&t, &tables, 2, 100, 1, &|| true);
        assert_eq!(
            study.by_size.iter().map(|s| (s.sets_checked, s.holes)).collect::<Vec<_>>(),
            [(3, 3), (3, 3)],
            "{study:?}"
        );
        // Each ring link is on the way of its own switch to both others, and of the previous one to
        // the one behind.
        assert!(study.sets[..3].iter().all(|s| s.unrouted == 3 && s.first.is_some()), "{study:?}");
        let asked = std::cell::Cell::new(0);
        let stopped =
            fail_any_installed(&t, &tables, 1, 100, 1, &|| asked.replace(asked.get() + 1) < 1);
        assert_eq!((stopped.interrupted, stopped.by_size[0].sets_checked), (true, 1));
        // Two ports at the first switch: the one straight to the last switch is there when the
        // other fails.
        let switches: Vec<NodeId> = t.switches().collect();
        let port = |from: NodeId, to: NodeId| {
            t.nodes[from.index()].ports.iter().position(|p| p.peer == to).unwrap() as u16
        };
        for d in 1..3 {
            tables.set(
                switches[0],
                d,
                vec![port(switches[0], switches[1]), port(switches[0], switches[2])],
            );
        }
        tables.set(switches[2], 1, vec![port(switches[2], switches[1])]);
        let study = fail_any_installed(&t, &tables, 1, 100, 1, &|| true);
        let lost: Vec<u64> = study.sets.iter().map(|s| s.unrouted).collect();
        assert_eq!((study.by_size[0].holes, lost.len()), (study.holes_total, study.sets.len()));
        let first =
            study.sets.iter().find(|s| s.links[0].contains("S1") && s.links[0].contains("S2"));
        assert!(first.is_none_or(|s| s.unrouted < 3), "{study:?}");
    }
}
