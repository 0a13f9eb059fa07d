//! The routes under analysis, seen as "where may a frame at this node, for this destination, go
//! next".

use xoff_net::topology::{Choice, ExplicitPaths, FlowKey, NodeKind, Routes, Topology, trace_path};
use xoff_units::NodeId;

use super::{Flow, Rule, Spread, Traffic};

/// Ports of the flows between all pairs of hosts, where a hash asks for them: those of the HPCC
/// simulator's first flow.
const SRC_PORT: u16 = 10_000;
const DST_PORT: u16 = 100;

/// Everything that decides where frames go.
pub(super) struct Forwarding<'a> {
    pub t: &'a Topology,
    pub routes: Routes,
    pub spread: Spread,
    pub traffic: Traffic<'a>,
}

impl<'a> Forwarding<'a> {
    pub fn new(t: &'a Topology, rule: &Rule, traffic: Traffic<'a>) -> Self {
        Forwarding {
            t,
            routes: Routes::build(t, rule.paths, rule.order),
            spread: rule.spread,
            traffic,
        }
    }

    /// The key of the flow between a pair of hosts.
    pub fn key(src: NodeId, dst: NodeId) -> FlowKey {
        FlowKey { src, dst, src_port: SRC_PORT, dst_port: DST_PORT }
    }

    /// The ports a frame for `dst` may take at `node`. Not for hashed choices, which ask for the
    /// source too.
    pub fn ports(&self, node: NodeId, dst: NodeId) -> &[u16] {
        let all = self.routes.candidates(node, dst);
        match &self.spread {
            Spread::All => all,
            Spread::Chosen(choice) if all.len() > 1 => {
                debug_assert!(choice.is_per_destination());
                let i = choice.index(&Self::key(node, dst), node, all.len());
                &all[i..=i]
            }
            Spread::Chosen(_) => all,
        }
    }

    /// True if the path of a frame depends on its source.
    pub fn is_hashed(&self) -> bool {
        matches!(&self.spread, Spread::Chosen(c) if !c.is_per_destination())
    }

    /// Representative destinations: one host per group if its members cannot be distinguished, else
    /// every host.
    pub fn destinations(&self) -> Vec<NodeId> {
        let each = self.routes.is_per_host()
            || matches!(
                self.spread,
                Spread::Chosen(Choice::PerDestination { .. } | Choice::Hashed(_))
            );
        (0..self.routes.groups())
            .flat_map(|g| {
                self.routes.members(g).iter().copied().take(if each { usize::MAX } else { 1 })
            })
            .collect()
    }

    /// Hosts that represent all sources of flows to `dst`, lowest first. Within a group of
    /// destinations frames stay next to the group and cross no link between switches.
    pub fn sources(&self, dst: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let own = self.routes.group_of(dst);
        (0..self.routes.groups()).filter(move |&g| Some(g) != own).flat_map(move |g| {
            let members = self.routes.members(g);
            // Members of a group are next to the same switches; a choice among several may differ
            // from host to host.
            let alike =
                self.spread == Spread::All || self.routes.candidates(members[0], dst).len() < 2;
            members.iter().copied().take(if alike { 1 } else { usize::MAX })
        })
    }

    /// The hops of a given flow; `None` without a route. Under [`Spread::All`] only for flows with
    /// a path of their own.
    pub fn hops(&self, flow: &Flow, paths: &ExplicitPaths) -> Option<Vec<(NodeId, u16)>> {
        match (flow.path, &self.spread) {
            (Some(path), _) => {
                let mut hops = paths.hops(path).to_vec();
                if paths.is_loop(path) {
                    // Once more round the corner, so that the last buffer of the loop depends on
                    // its first.
                    let again = *paths.nodes(path).last().expect("a loop has nodes");
                    hops.extend(paths.port(path, again).map(|port| (again, port)));
                }
                Some(hops)
            }
            (None, Spread::Chosen(choice)) => trace_path(self.t, &self.routes, choice, &flow.key),
            (None, Spread::All) => None,
        }
    }

    /// True if the node behind a port is a switch.
    pub fn leads_to_switch(&self, node: NodeId, port: u16) -> bool {
        self.t.nodes[self.peer(node, port).index()].kind == NodeKind::Switch
    }

    /// The node behind a port.
    pub fn peer(&self, node: NodeId, port: u16) -> NodeId {
        self.t.nodes[node.index()].ports[port as usize].peer
    }

    /// Ordered pairs of hosts, or given flows, without a route.
    pub fn unrouted(&self) -> u64 {
        let routed = |src, dst| !self.routes.candidates(src, dst).is_empty();
        match self.traffic {
            Traffic::Flows { flows, .. } => {
                flows.iter().filter(|f| f.path.is_none() && !routed(f.key.src, f.key.dst)).count()
                    as u64
            }
            Traffic::AllPairs => {
                let hosts = self.t.hosts().count() as u64;
                let size = |g: usize| self.routes.members(g).len() as u64;
                let groups = 0..self.routes.groups();
                let first = |g: usize| self.routes.members(g)[0];
                // Within a group there is always a way, unless its only neighbours are hosts, which
                // do not forward.
                let within = |g: usize| size(g) < 2 || routed(first(g), self.routes.members(g)[1]);
                let reached: u64 = groups
                    .clone()
                    .flat_map(|a| groups.clone().map(move |b| (a, b)))
                    .filter(|&(a, b)| if a == b { within(a) } else { routed(first(a), first(b)) })
                    .map(|(a, b)| size(a) * (size(b) - u64::from(a == b)))
                    .sum();
                hosts * hosts.saturating_sub(1) - reached
            }
        }
    }
}
