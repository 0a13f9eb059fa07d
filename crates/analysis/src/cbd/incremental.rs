//! Changes by a set of failed links, without rerouting the whole network. All single failures of a
//! large Clos take minutes this way.
//!
//! ```text
//!   distance of every switch to every group of hosts, number of its candidates     kept, from the network without failures
//!     a failed link was one of several candidates     routes only lose: no dependency is new
//!     it was the only one                             the switch is affected, and switches with only affected candidates
//!     no host sends into an affected switch           nothing enters it any more: no dependency is new
//!     else                                            walk from these hosts alone, and look at the dependencies found
//! ```
//!
//! A switch that is not affected never takes an affected one as its next hop: a neighbour on a
//! shortest path is one hop nearer, and an affected switch has only moved away. So new dependencies
//! are on paths that begin at hosts whose distance grew. A new dependency that leads forward in a
//! topological order of the old ones closes no cycle; where one leads back, the whole network is
//! checked.
//!
//! This holds for all pairs of hosts over any of the shortest paths. Other rules are checked set by
//! set.

use std::collections::{BTreeMap, HashMap, HashSet};

use xoff_net::topology::{LinkId, NodeKind, Paths, Topology};
use xoff_units::NodeId;

use super::buffers::{Buffer, behind};
use super::forwarding::Forwarding;
use super::{Rule, Spread, Traffic};

/// Further than any switch.
const FAR: u16 = u16::MAX;

/// Effect of a set of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// No dependency closes a cycle.
    Safe {
        /// Some hosts cannot reach each other any more.
        disconnects: bool,
    },
    /// Dependencies lead back: the network has to be checked as a whole.
    Unknown,
}

/// The network without failures.
pub(super) struct Incremental<'a> {
    t: &'a Topology,
    /// Working links between switches: peer, port, link, from `first` of a switch on.
    first: Vec<u32>,
    edges: Vec<(NodeId, u16, LinkId)>,
    groups: usize,
    /// Switches next to each group of hosts.
    neighbours: Vec<Vec<NodeId>>,
    /// Groups next to each switch.
    groups_at: Vec<Vec<u32>>,
    /// By node and group: hops of a switch to the group, 1 next to it.
    distance: Vec<u16>,
    /// By node and group: ports that lead nearer.
    candidates: Vec<u16>,
    /// Place of each buffer in a topological order of the dependencies.
    place: Vec<u32>,
}

/// True if sets of failures are examined by their changes.
pub fn is_incremental(rule: &Rule, traffic: Traffic<'_>) -> bool {
    rule.paths == Paths::Shortest
        && rule.spread == Spread::All
        && matches!(traffic, Traffic::AllPairs)
}

impl<'a> Incremental<'a> {
    /// `None`: the rule is another, a pair of hosts has no route, there is a cycle already, or
    /// hosts are linked to hosts.
    pub fn new(t: &'a Topology, rule: &Rule, traffic: Traffic<'_>) -> Option<Incremental<'a>> {
        if !is_incremental(rule, traffic) {
            return None;
        }
        let forwarding = Forwarding::new(t, rule, traffic);
        if forwarding.unrouted() > 0 {
            return None;
        }
        let place = topological(&forwarding.dependencies().graph())?;
        let mut known: HashMap<Vec<NodeId>, u32> = HashMap::new();
        let (mut neighbours, mut groups_at) = (Vec::new(), vec![Vec::new(); t.nodes.len()]);
        for host in t.hosts() {
            let up = t.nodes[host.index()].ports.iter().filter(|p| t.links[p.link as usize].up);
            let mut own: Vec<NodeId> = up.map(|p| p.peer).collect();
            own.sort_unstable();
            own.dedup();
            if own.is_empty() || own.iter().any(|&n| t.nodes[n.index()].kind == NodeKind::Host) {
                return None;
            }
            let next = neighbours.len() as u32;
            if *known.entry(own.clone()).or_insert(next) == next {
                own.iter().for_each(|&n| groups_at[n.index()].push(next));
                neighbours.push(own);
            }
        }
        let (mut first, mut edges) = (vec![0], Vec::new());
        for node in &t.nodes {
            if node.kind == NodeKind::Switch {
                let fabric = |p: &xoff_net::topology::Port| {
                    t.links[p.link as usize].up && t.nodes[p.peer.index()].kind == NodeKind::Switch
                };
                edges.extend(
                    node.ports
                        .iter()
                        .enumerate()
                        .filter(|(_, p)| fabric(p))
                        .map(|(i, p)| (p.peer, i as u16, p.link)),
                );
            }
            first.push(edges.len() as u32);
        }
        let groups = neighbours.len();
        let (distance, candidates) =
            (vec![FAR; groups * t.nodes.len()], vec![0; groups * t.nodes.len()]);
        let mut all = Incremental {
            t,
            first,
            edges,
            groups,
            neighbours,
            groups_at,
            distance,
            candidates,
            place,
        };
        (0..groups).for_each(|g| all.measure(g));
        Some(all)
    }

    fn edges(&self, node: NodeId) -> &[(NodeId, u16, LinkId)] {
        &self.edges[self.first[node.index()] as usize..self.first[node.index() + 1] as usize]
    }

    fn at(&self, node: NodeId, group: usize) -> usize {
        node.index() * self.groups + group
    }

    fn distance(&self, node: NodeId, group: usize) -> u16 {
        self.distance[self.at(node, group)]
    }

    /// Distances and candidates of one group, breadth first.
    fn measure(&mut self, group: usize) {
        let mut queue = self.neighbours[group].clone();
        for &n in &queue {
            let at = self.at(n, group);
            self.distance[at] = 1;
        }
        let mut head = 0;
        while head < queue.len() {
            let node = queue[head];
            head += 1;
            let next = self.distance(node, group) + 1;
            for e in self.first[node.index()] as usize..self.first[node.index() + 1] as usize {
                let peer = self.edges[e].0;
                let at = self.at(peer, group);
                if self.distance[at] == FAR {
                    self.distance[at] = next;
                    queue.push(peer);
                }
                self.candidates[at] += u16::from(self.distance[at] == next);
            }
        }
    }

    /// Effect of these failed links; ascending.
    pub fn examine(&self, set: &[LinkId]) -> Effect {
        let mut disconnects = false;
        let mut alone: Vec<(usize, NodeId)> = Vec::new();
        for &link in set {
            let l = &self.t.links[link as usize];
            for (from, to) in [(l.a, l.b), (l.b, l.a)] {
                let row =
                    |node: NodeId| node.index() * self.groups..(node.index() + 1) * self.groups;
                let (far, near) = (&self.distance[row(from)], &self.distance[row(to)]);
                let left = &self.candidates[row(from)];
                // With one failure a switch is affected when the link was all it had; with several
                // it may be.
                let spare = set.len() as u16;
                let hit =
                    |g: &usize| near[*g] != FAR && far[*g] == near[*g] + 1 && left[*g] <= spare;
                alone.extend((0..self.groups).filter(hit).map(|g| (g, from)));
            }
        }
        alone.sort_unstable();
        alone.dedup();
        for of_group in alone.chunk_by(|a, b| a.0 == b.0) {
            let group = of_group[0].0;
            let affected = self.affected(set, group, of_group);
            let sends = |n: &NodeId| self.groups_at[n.index()].iter().any(|&g| g as usize != group);
            if !affected.keys().any(sends) {
                continue;
            }
            match self.walk(set, group, &affected) {
                Effect::Safe { disconnects: cut } => disconnects |= cut,
                Effect::Unknown => return Effect::Unknown,
            }
        }
        Effect::Safe { disconnects }
    }

    /// The switches whose distance to a group grows, with their new one.
    fn affected(
        &self,
        set: &[LinkId],
        group: usize,
        alone: &[(usize, NodeId)],
    ) -> BTreeMap<NodeId, u16> {
        let mut levels: BTreeMap<u16, Vec<NodeId>> = BTreeMap::new();
        alone.iter().for_each(|&(_, n)| levels.entry(self.distance(n, group)).or_default().push(n));
        let mut moved: BTreeMap<NodeId, u16> = BTreeMap::new();
        while let Some((level, nodes)) = levels.pop_first() {
            for node in nodes {
                let keeps = |&&(peer, _, link): &&(NodeId, u16, LinkId)| {
                    self.distance(peer, group) + 1 == level
                        && !moved.contains_key(&peer)
                        && !set.contains(&link)
                };
                if level == 1
                    || moved.contains_key(&node)
                    || self.edges(node).iter().any(|e| keeps(&e))
                {
                    continue;
                }
                moved.insert(node, FAR);
                let above = self
                    .edges(node)
                    .iter()
                    .filter(|(peer, ..)| self.distance(*peer, group) == level + 1)
                    .map(|e| e.0);
                levels.entry(level + 1).or_default().extend(above);
            }
        }
        // Their new distances, nearest first.
        let mut open: BTreeMap<u16, Vec<NodeId>> = BTreeMap::new();
        for &node in moved.keys() {
            let outside = self
                .edges(node)
                .iter()
                .filter(|(peer, _, link)| !moved.contains_key(peer) && !set.contains(link));
            if let Some(nearest) =
                outside.map(|e| self.distance(e.0, group)).min().filter(|d| *d != FAR)
            {
                open.entry(nearest + 1).or_default().push(node);
            }
        }
        while let Some((level, nodes)) = open.pop_first() {
            for node in nodes {
                if moved[&node] <= level {
                    continue;
                }
                moved.insert(node, level);
                let inside = self
                    .edges(node)
                    .iter()
                    .filter(|(peer, _, link)| moved.contains_key(peer) && !set.contains(link));
                open.entry(level + 1).or_default().extend(inside.map(|e| e.0));
            }
        }
        moved
    }

    /// Walks from the hosts whose distance grew, over the new routes.
    fn walk(&self, set: &[LinkId], group: usize, moved: &BTreeMap<NodeId, u16>) -> Effect {
        let now =
            |node: NodeId| moved.get(&node).copied().unwrap_or_else(|| self.distance(node, group));
        let mut sources: Vec<u32> =
            moved.keys().flat_map(|&n| self.groups_at[n.index()].iter().copied()).collect();
        sources.sort_unstable();
        sources.dedup();
        let (mut disconnects, mut queue, mut seen) = (false, Vec::new(), HashSet::new());
        for source in sources.into_iter().filter(|&s| s as usize != group) {
            let own = &self.neighbours[source as usize];
            // Of equally near switches, those of level 0 come first.
            let near = |n: NodeId, hops: u16| (hops, self.t.nodes[n.index()].level > 0);
            let before = own.iter().map(|&n| near(n, self.distance(n, group))).min();
            let after = own.iter().map(|&n| near(n, now(n))).min();
            let is_routed = after.is_some_and(|(hops, _)| hops != FAR);
            disconnects |= !is_routed;
            if after > before && is_routed {
                let nearest = |&n: &NodeId| Some(near(n, now(n))) == after && seen.insert(n);
                queue.extend(own.iter().copied().filter(nearest));
            }
        }
        let next = |node: NodeId| {
            let nearer = now(node) - 1;
            self.edges(node)
                .iter()
                .filter(move |(peer, _, link)| now(*peer) == nearer && !set.contains(link))
        };
        while let Some(node) = queue.pop() {
            for &(peer, port, _) in next(node) {
                let waits: Buffer = behind(self.t, node, port);
                for &(_, out, _) in next(peer) {
                    if self.place[waits as usize] >= self.place[behind(self.t, peer, out) as usize]
                    {
                        return Effect::Unknown;
                    }
                }
                if seen.insert(peer) {
                    queue.push(peer);
                }
            }
        }
        Effect::Safe { disconnects }
    }
}

/// A place of each vertex so that every edge leads forward; `None`: there is a cycle.
fn topological(graph: &super::cycle::Graph) -> Option<Vec<u32>> {
    let n = graph.first.len() - 1;
    let mut entering = vec![0u32; n];
    graph.next.iter().for_each(|&v| entering[v as usize] += 1);
    let mut order: Vec<u32> = (0..n as u32).filter(|&v| entering[v as usize] == 0).collect();
    let mut head = 0;
    while head < order.len() {
        let v = order[head] as usize;
        head += 1;
        for &w in &graph.next[graph.first[v] as usize..graph.first[v + 1] as usize] {
            entering[w as usize] -= 1;
            if entering[w as usize] == 0 {
                order.push(w);
            }
        }
    }
    (order.len() == n).then(|| {
        let mut place = vec![0; n];
        order.iter().enumerate().for_each(|(i, &v)| place[v as usize] = i as u32);
        place
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbd::is_cyclic;
    use xoff_net::topology::builders;
    use xoff_net::topology::failures::{is_connected_hosts, is_fabric_link};
    use xoff_units::params::Defaults;

    fn build(name: &str, keys: &[(&'static str, &str)]) -> Topology {
        let builder = builders::find(name).unwrap();
        let values = keys.iter().fold(Defaults::of(builder.params), |d, (k, v)| d.with(k, v));
        (builder.build)(&mut { values }).unwrap()
    }

    /// Every set of one, two and some of three links, against a complete rerouting.
    #[test]
    fn as_the_whole_network_routed_anew() {
        let rule = Rule::named("all-paths", 1).unwrap();
        let (mut safe, mut unknown, mut cut) = (0, 0, 0);
        for (name, keys) in [
            ("leaf-spine", &[("leaves", "4"), ("spines", "2"), ("hosts_per_leaf", "1")][..]),
            ("leaf-spine", &[("leaves", "3"), ("spines", "3"), ("hosts_per_leaf", "2")]),
            ("fat-tree", &[("k", "4")]),
            ("chain", &[]),
            ("dual-tor", &[("racks", "2"), ("hosts_per_rack", "1"), ("spines", "2")]),
            ("multi-plane", &[("leaves", "3"), ("hosts_per_leaf", "1")]),
            ("hpn", &[("servers_per_segment", "1"), ("gpus", "2"), ("aggs_per_plane", "2")]),
            ("rail", &[("servers", "2"), ("gpus", "4"), ("spines", "3")]),
            ("nvl", &[("gpus", "3"), ("nvswitches", "2"), ("leaves", "3"), ("spines", "3")]),
        ] {
            let mut t = build(name, keys);
            if name == "nvl" {
                // Scale-up networks of two tiers, as far as the leaf-spine.
                let top = t.add_node("NVT", NodeKind::Switch, 0, 0);
                for nvswitch in ["NV0.0", "NV1.0"].map(|n| t.find(n).unwrap()) {
                    t.add_link(nvswitch, top, t.links[0].rate, t.links[0].delay);
                }
            }
            let intact = t.clone();
            let Some(of) = Incremental::new(&intact, &rule, Traffic::AllPairs) else {
                panic!("{name}")
            };
            let links: Vec<LinkId> =
                (0..t.links.len() as LinkId).filter(|&l| is_fabric_link(&t, l)).collect();
            let mut sets: Vec<Vec<LinkId>> = links.iter().map(|&l| vec![l]).collect();
            for (i, &a) in links.iter().enumerate() {
                for (j, &b) in links[..i].iter().enumerate() {
                    sets.push(vec![b, a]);
                    sets.extend(links[..j].iter().step_by(3).map(|&c| vec![c, b, a]));
                }
            }
            for set in sets {
                set.iter().for_each(|&l| t.links[l as usize].up = false);
                let cyclic = is_cyclic(&t, &rule, Traffic::AllPairs);
                match of.examine(&set) {
                    Effect::Safe { disconnects } => {
                        assert!(!cyclic, "{name} {set:?}");
                        assert_eq!(disconnects, !is_connected_hosts(&t), "{name} {set:?}");
                        safe += 1;
                        cut += u32::from(disconnects);
                    }
                    Effect::Unknown => unknown += 1,
                }
                set.iter().for_each(|&l| t.links[l as usize].up = true);
            }
        }
        assert!(safe > 1_000 && unknown > 10 && cut > 10, "{safe} {unknown} {cut}");
    }

    #[test]
    fn other_rules_and_networks_are_checked_set_by_set() {
        let ring = build("ring", &[("switches", "5")]);
        let named = |name| Rule::named(name, 1).unwrap();
        assert!(
            Incremental::new(&ring, &named("all-paths"), Traffic::AllPairs).is_none(),
            "a cycle already"
        );
        assert!(
            Incremental::new(&build("fat-tree", &[]), &named("up-down"), Traffic::AllPairs)
                .is_none()
        );
    }
}
