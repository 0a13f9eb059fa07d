//! Base round-trip times, bandwidths and windows as that simulator computes them
//! (`scratch/third.cc:223-268, 907-930`).

use xoff_net::topology::{NodeKind, Topology};
use xoff_sim::LinkFailure;
use xoff_units::{NodeId, Time};

/// Per destination host and node: values along the first path that a breadth-first search from the
/// destination finds.
pub struct PairTable {
    /// By destination node; empty for switches.
    towards: Vec<Vec<Entry>>,
    /// After a link failure only the bandwidths are computed again.
    after: Option<(Time, Vec<Vec<Entry>>)>,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    reached: bool,
    delay_ns: u64,
    tx_ns: u64,
    rate: u64,
}

impl PairTable {
    /// The table of a network for full payloads of `payload` bytes.
    pub fn new(t: &Topology, payload: u32) -> Self {
        PairTable { towards: towards(t, payload), after: None }
    }

    /// From the failure on, the bandwidths are those of the links that are left.
    pub fn fail(&mut self, t: &Topology, failure: LinkFailure) {
        let mut t = t.clone();
        t.links[failure.link as usize].up = false;
        self.after = Some((failure.at, towards(&t, 1)));
    }

    fn entry(&self, src: NodeId, dst: NodeId) -> Entry {
        self.towards[dst.index()].get(src.index()).copied().unwrap_or_default()
    }

    /// Base round-trip time [ns]: twice the delays plus one payload per link; headers and the way
    /// back do not count.
    pub fn rtt_ns(&self, src: NodeId, dst: NodeId) -> u64 {
        let e = self.entry(src, dst);
        e.delay_ns * 2 + e.tx_ns
    }

    /// Slowest link of the path [bit/s].
    pub fn rate(&self, src: NodeId, dst: NodeId) -> u64 {
        self.entry(src, dst).rate
    }

    /// Slowest link of the path at this time [bit/s]; a pair that a failure has separated keeps its
    /// value.
    pub fn rate_at(&self, src: NodeId, dst: NodeId, now: Time) -> u64 {
        let after = self.after.as_ref().filter(|(at, _)| now >= *at);
        let found =
            after.and_then(|(_, table)| table[dst.index()].get(src.index())).filter(|e| e.reached);
        found.map_or_else(|| self.rate(src, dst), |e| e.rate)
    }

    /// Bandwidth-delay product [bytes], each division cut off.
    pub fn bdp(&self, src: NodeId, dst: NodeId) -> u64 {
        let e = self.entry(src, dst);
        if !e.reached || src == dst {
            return 0;
        }
        (self.rtt_ns(src, dst) as u128 * e.rate as u128) as u64 / 1_000_000_000 / 8
    }

    /// Largest bandwidth-delay product of any pair of hosts [bytes].
    pub fn bdp_max(&self) -> u64 {
        self.pairs().map(|(s, d)| self.bdp(s, d)).max().unwrap_or(0)
    }

    /// Largest base round-trip time of any pair of hosts [ns].
    pub fn rtt_max_ns(&self) -> u64 {
        self.pairs().map(|(s, d)| self.rtt_ns(s, d)).max().unwrap_or(0)
    }

    fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let hosts = || {
            self.towards
                .iter()
                .enumerate()
                .filter(|(_, t)| !t.is_empty())
                .map(|(i, _)| NodeId(i as u32))
        };
        hosts().flat_map(move |s| hosts().map(move |d| (s, d)))
    }
}

fn towards(t: &Topology, payload: u32) -> Vec<Vec<Entry>> {
    let of = |dst: NodeId| {
        if t.nodes[dst.index()].kind == NodeKind::Host {
            search(t, dst, payload)
        } else {
            Vec::new()
        }
    };
    t.node_ids().map(of).collect()
}

fn search(t: &Topology, dst: NodeId, payload: u32) -> Vec<Entry> {
    let mut table = vec![Entry::default(); t.nodes.len()];
    table[dst.index()] = Entry { reached: true, delay_ns: 0, tx_ns: 0, rate: u64::MAX };
    let mut queue = vec![dst];
    let mut at = 0;
    while let Some(&node) = queue.get(at) {
        at += 1;
        let here = table[node.index()];
        // Neighbours by falling number; of parallel links the last one counts.
        let mut ports: Vec<(NodeId, usize)> =
            t.nodes[node.index()].ports.iter().enumerate().map(|(i, p)| (p.peer, i)).collect();
        ports.sort_by(|a, b| b.cmp(a));
        ports.dedup_by_key(|p| p.0);
        for (peer, port) in ports {
            let next = &mut table[peer.index()];
            if next.reached {
                continue;
            }
            let link = t.link_at(node, port as u16);
            if !link.up {
                continue;
            }
            *next = Entry {
                reached: true,
                delay_ns: here.delay_ns + link.delay.as_ns(),
                tx_ns: here.tx_ns + payload as u64 * 1_000_000_000 * 8 / link.rate.0,
                rate: here.rate.min(link.rate.0),
            };
            if t.nodes[peer.index()].kind == NodeKind::Switch {
                queue.push(peer);
            }
        }
    }
    table
}
