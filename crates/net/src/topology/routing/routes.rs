//! The table of candidate ports, and how it is kept small.
//!
//! ```text
//!   (node, destination host)
//!      |           +-- group of the host -------------- column
//!      +-- row (equal rows are stored once)                |
//!                 +------------------------------> table[row][column] -> arena: [n, port, port, ...]
//! ```
//!
//! Sets of ports are stored once each. In an intact fat-tree all core switches share one row and
//! all aggregation switches of a pod another; after failures rows differ where the failures are
//! felt.

use std::collections::HashMap;

use super::digits::{self, Digits};
use super::groups::{Groups, up_ports};
use super::hash::index_towards;
use super::search::{Search, sort_neighbours};
use super::twins::Twins;
use crate::topology::graph::Topology;
use xoff_units::NodeId;
use xoff_units::params::ParamError;

/// Paths that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paths {
    /// All paths of the fewest hops.
    Shortest,
    /// Of the shortest paths one to each group of hosts with the same neighbours (the hosts of an
    /// edge switch), which together form a tree: every switch takes the candidate at the same
    /// place, given by a hash of the destination's lowest-numbered neighbour.
    ShortestTree {
        /// Enters the hash.
        seed: u64,
    },
    /// Of the shortest paths one to each host, by the digits of the host's number (D-mod-k): no
    /// hash, and every switch of the top level carries equally many destinations. For trees of
    /// levels, see [`Paths::fits`].
    DModK,
    /// Paths that go up, then down, and never up again (Autonet's up*/down*); among those the
    /// shortest, see the module.
    UpDown,
}

impl Paths {
    /// Refuses a network on which these paths mean nothing; the error's key is `routing`.
    ///
    /// # Errors
    /// A network without the levels or the shape that the rule needs.
    pub fn fits(self, t: &Topology) -> Result<(), ParamError> {
        match self {
            Paths::DModK => digits::check(t),
            _ => Ok(()),
        }
    }
}

/// Order of the candidates of a node; it decides the meaning of an index, or of a hash modulo their
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// By port number.
    AscendingPort,
    /// By the neighbour's node number, then port.
    AscendingPeerId,
    /// As the HPCC simulator lists them: in the order in which a breadth-first search from the
    /// destination, visiting neighbours by falling node number, finds them. In a regular fabric
    /// that is by falling number. Of parallel links only the last counts, as there.
    DescendingPeerId,
}

/// An entry of the table that represents "the node is next to the host".
const LOCAL: u32 = u32::MAX;

/// Candidate egress ports for every node and destination host.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Row of each node.
    rows: Vec<u32>,
    /// Column of each node as a destination.
    columns: Vec<u32>,
    /// Columns in a row: one per group, and an empty one for nodes that are no destination.
    width: usize,
    /// Per row and column, where the set starts in `arena`, or `LOCAL`.
    table: Vec<u32>,
    /// Sets of ports, each preceded by its size; the empty set is first.
    arena: Vec<u16>,
    /// Per node, where its entries start in `local`, and one beyond the last.
    local_first: Vec<u32>,
    /// For each host: a neighbour, and the set of the ports there that lead to the host.
    local: Vec<(NodeId, u32)>,
    /// Hosts of each group, ascending.
    members: Vec<Vec<NodeId>>,
    /// D-mod-k: which port of a set is a host's.
    digits: Option<Digits>,
}

impl Routes {
    /// The routes over the links that are up.
    pub fn build(t: &Topology, paths: Paths, order: Order) -> Routes {
        Routes::build_by(t, paths, order, Twins::new)
    }

    fn build_by(
        t: &Topology,
        paths: Paths,
        order: Order,
        twins: impl FnOnce(&Groups, &Search, Paths) -> Twins,
    ) -> Routes {
        let groups = Groups::new(t);
        let n = t.nodes.len();
        let width = groups.neighbours.len() + 1;
        // Rows while building: one per switch, then one per class of hosts.
        let switches: Vec<NodeId> = t.switches().collect();
        let mut rows: Vec<u32> = groups
            .source_of
            .iter()
            .map(|&class| class.wrapping_add(switches.len() as u32))
            .collect();
        for (row, &switch) in switches.iter().enumerate() {
            rows[switch.index()] = row as u32;
        }
        let mut sets = Sets::new();
        let mut full = vec![0u32; (switches.len() + groups.sources.len()) * width];
        let mut latest = vec![0u32; switches.len() + groups.sources.len()];
        let mut search = Search::new(t, paths, order);
        let (mut ports, mut scratch) = (Vec::new(), Vec::new());
        let twins = twins(&groups, &search, paths);
        for (column, others) in &twins.columns {
            let (column, neighbours) = (*column, &groups.neighbours[*column]);
            search.run(t, neighbours);
            for &switch in &search.queue {
                let row = rows[switch.index()] as usize;
                full[row * width + column] = if search.distance[switch.index()] == 1 {
                    LOCAL
                } else {
                    search.candidates(switch, &mut ports, &mut scratch);
                    narrow(paths, neighbours, &mut ports);
                    latest[row] = sets.intern_like(&ports, latest[row]);
                    latest[row]
                };
            }
            for (class, own) in groups.sources.iter().enumerate() {
                search.source_candidates(own, &mut ports);
                narrow(paths, neighbours, &mut ports);
                let row = switches.len() + class;
                latest[row] = sets.intern_like(&ports, latest[row]);
                full[row * width + column] = latest[row];
            }
            for &host in
                neighbours.iter().filter(|&&node| groups.source_of[node.index()] != u32::MAX)
            {
                full[rows[host.index()] as usize * width + column] = LOCAL;
            }
            if others.is_empty() {
                continue;
            }
            full.chunks_exact_mut(width)
                .for_each(|row| others.iter().for_each(|&other| row[other] = row[column]));
            let first = neighbours[0];
            for &other in others {
                let twin = groups.neighbours[other][0];
                let mut set = |row: usize, entry: u32| full[row * width + other] = entry;
                set(rows[twin.index()] as usize, LOCAL);
                // From one twin to the other: through all that is next to both.
                set(rows[first.index()] as usize, sets.intern(&search.ports(first)));
                for between in search.peers(twin) {
                    set(
                        rows[between.index()] as usize,
                        sets.intern(&search.ports_to(between, twin)),
                    );
                }
                for &class in twins.classes_at(first).iter().chain(twins.classes_at(twin)) {
                    search.source_candidates_of_twin(
                        &groups.sources[class as usize],
                        (first, twin),
                        &mut ports,
                    );
                    set(switches.len() + class as usize, sets.intern(&ports));
                }
            }
        }
        let (local_first, local) = last_hops(t, order, &mut sets);
        let (table, place) = without_repeats(&full, width);
        rows.iter_mut().for_each(|row| *row = place[*row as usize]);
        debug_assert_eq!(rows.len(), n);
        let digits = (paths == Paths::DModK).then(|| Digits::new(t));
        Routes {
            rows,
            columns: groups.of,
            width,
            table,
            arena: sets.arena,
            local_first,
            local,
            members: groups.members,
            digits,
        }
    }

    /// Memory that building the routes of a network needs [bytes]: a full table. Equal rows are
    /// then stored once.
    pub fn bytes_while_built(t: &Topology) -> u64 {
        let groups = Groups::new(t);
        let rows = t.switches().count() + groups.sources.len();
        (rows * (groups.neighbours.len() + 1) * size_of::<u32>()) as u64
    }

    /// The candidate ports at `node` towards `dst`, which must be a host other than `node`; empty
    /// when there is no route.
    #[inline]
    pub fn candidates(&self, node: NodeId, dst: NodeId) -> &[u16] {
        let ports = self.set(self.set_number(node, dst));
        match &self.digits {
            Some(digits) if ports.len() > 1 => {
                let i = digits.index(node, dst, ports.len());
                &ports[i..=i]
            }
            _ => ports,
        }
    }

    /// Number of the set of [`Routes::candidates`]: destinations with the same candidates at a node
    /// share it.
    #[inline]
    pub fn set_number(&self, node: NodeId, dst: NodeId) -> u32 {
        let entry = self.table
            [self.rows[node.index()] as usize * self.width + self.columns[dst.index()] as usize];
        if entry == LOCAL { self.last_hop(node, dst) } else { entry }
    }

    /// True if the hosts of a group may have different candidates at one node.
    pub fn is_per_host(&self) -> bool {
        self.digits.is_some()
    }

    /// The set of ports from `node`, a neighbour, to `dst`.
    fn last_hop(&self, node: NodeId, dst: NodeId) -> u32 {
        let own =
            self.local_first[dst.index()] as usize..self.local_first[dst.index() + 1] as usize;
        self.local[own].iter().find(|(neighbour, _)| *neighbour == node).map_or(0, |(_, set)| *set)
    }

    /// All ports at `node` on the paths that count towards `dst`, whichever of them the rule takes.
    pub fn alternatives(&self, node: NodeId, dst: NodeId) -> &[u16] {
        self.set(self.set_number(node, dst))
    }

    #[inline]
    pub(super) fn set(&self, start: u32) -> &[u16] {
        let start = start as usize;
        &self.arena[start + 1..start + 1 + self.arena[start] as usize]
    }

    /// Number of destination groups: hosts with the same neighbours, which no other node can
    /// distinguish.
    pub fn groups(&self) -> usize {
        self.members.len()
    }

    /// The hosts of a group, ascending.
    pub fn members(&self, group: usize) -> &[NodeId] {
        &self.members[group]
    }

    /// The group of a host; `None` for a switch and for a host without a working link.
    pub fn group_of(&self, host: NodeId) -> Option<usize> {
        let column = self.columns[host.index()] as usize;
        (column < self.members.len()).then_some(column)
    }

    /// Memory held [bytes].
    pub fn size_bytes(&self) -> usize {
        4 * (self.rows.len() + self.columns.len() + self.table.len() + self.local_first.len())
            + 2 * self.arena.len()
            + 8 * self.local.len()
            + self.members.iter().map(|m| 24 + 4 * m.len()).sum::<usize>()
            + self.digits.as_ref().map_or(0, Digits::size_bytes)
    }
}

/// Keeps one port where the rule wants one per destination group.
fn narrow(paths: Paths, neighbours: &[NodeId], ports: &mut Vec<u16>) {
    if let (Paths::ShortestTree { seed }, 2..) = (paths, ports.len()) {
        *ports = vec![ports[index_towards(seed, neighbours[0], ports.len())]];
    }
}

/// For each host its neighbours with the ports that lead from them to it.
fn last_hops(t: &Topology, order: Order, sets: &mut Sets) -> (Vec<u32>, Vec<(NodeId, u32)>) {
    let (mut first, mut local) = (Vec::with_capacity(t.nodes.len() + 1), Vec::new());
    for (i, node) in t.nodes.iter().enumerate() {
        first.push(local.len() as u32);
        if node.kind == crate::topology::NodeKind::Host {
            let mut ends: Vec<(NodeId, u16)> = up_ports(t, NodeId(i as u32))
                .map(|(port, peer)| (peer, node.ports[port as usize].peer_port))
                .collect();
            ends.sort_unstable();
            for end in ends.chunk_by(|a, b| a.0 == b.0) {
                let mut end = end.to_vec();
                sort_neighbours(&mut end, order);
                let ports: Vec<u16> = end.iter().map(|&(_, port)| port).collect();
                local.push((end[0].0, sets.intern(&ports)));
            }
        }
    }
    first.push(local.len() as u32);
    (first, local)
}

/// Keeps the first of equal rows; returns the new table and the new place of each old row.
fn without_repeats(full: &[u32], width: usize) -> (Vec<u32>, Vec<u32>) {
    let mut seen: HashMap<&[u32], u32> = HashMap::new();
    let (mut table, mut place) = (Vec::new(), Vec::new());
    for row in full.chunks_exact(width) {
        let next = seen.len() as u32;
        let at = *seen.entry(row).or_insert(next);
        if at == next {
            table.extend_from_slice(row);
        }
        place.push(at);
    }
    table.shrink_to_fit();
    (table, place)
}

/// Sets of ports, each stored once.
struct Sets {
    arena: Vec<u16>,
    known: HashMap<Box<[u16]>, u32>,
}

impl Sets {
    fn new() -> Sets {
        Sets { arena: vec![0], known: HashMap::from([(Box::default(), 0)]) }
    }

    /// Start of this set.
    fn intern(&mut self, ports: &[u16]) -> u32 {
        if let Some(&start) = self.known.get(ports) {
            return start;
        }
        let start = self.arena.len() as u32;
        self.arena.push(ports.len() as u16);
        self.arena.extend_from_slice(ports);
        self.known.insert(ports.into(), start);
        start
    }

    /// Index of a set, with a guess that is nearly always right: a switch tends to use one set for
    /// many destinations.
    fn intern_like(&mut self, ports: &[u16], guess: u32) -> u32 {
        let at = guess as usize;
        if self.arena[at] as usize == ports.len()
            && self.arena[at + 1..at + 1 + ports.len()] == *ports
        {
            return guess;
        }
        self.intern(ports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::builders;
    use crate::topology::failures::fail_random;
    use xoff_units::params::Defaults;

    /// One search for all twins finds what a search for each finds, in the same order, with failed
    /// links too.
    #[test]
    fn twins_have_the_routes_of_a_search_for_each() {
        let builder = builders::find("fat-tree").unwrap();
        let mut searches = (0, 0);
        for seed in 0..30 {
            let mut t = (builder.build)(&mut Defaults::of(builder.params).with("k", "6")).unwrap();
            // A second link, parallel to the first one.
            let (a, b, rate, delay) =
                (t.links[60].a, t.links[60].b, t.links[60].rate, t.links[60].delay);
            t.add_link(a, b, rate, delay);
            fail_random(&mut t, 0.01 * (seed % 5) as f64, seed, true).unwrap();
            for paths in [Paths::Shortest, Paths::DModK] {
                for order in [Order::AscendingPort, Order::AscendingPeerId, Order::DescendingPeerId]
                {
                    let one = Routes::build(&t, paths, order);
                    let each = Routes::build_by(&t, paths, order, |groups, search, paths| {
                        let twins = Twins::new(groups, search, paths);
                        searches = (
                            searches.0 + twins.columns.len(),
                            searches.1 + groups.neighbours.len(),
                        );
                        twins.apart()
                    });
                    for dst in t.hosts() {
                        for n in t.node_ids().filter(|&n| n != dst) {
                            assert_eq!(
                                one.candidates(n, dst),
                                each.candidates(n, dst),
                                "{paths:?} {order:?} {} -> {}",
                                t.name(n),
                                t.name(dst)
                            );
                        }
                    }
                }
            }
        }
        assert!(searches.0 * 3 < searches.1 * 2, "{searches:?}: too few twins to prove anything");
    }
}
