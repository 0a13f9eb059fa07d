//! D-mod-k: on the way up every destination has its own port at every switch (Gomez et al.,
//! IPDPS'07).
//!
//! ```text
//!   port upwards at level l = floor(number / (u_0 u_1 ... u_(l-1))) mod u_l      u_l: links upwards of a node of level l
//!
//!   fat-tree of k-port switches, u_1 = u_2 = k/2, hosts with one link:
//!     edge:         number mod k/2                 the aggregation switch
//!     aggregation:  floor(number / (k/2)) mod k/2  the core switch below it in the list
//! ```
//!
//! The number is the destination's place among the hosts, from 0. A destination's digits name one
//! switch of the top level, so all that is sent to it meets there at the latest and comes down one
//! way, and every switch of the top level gets equally many destinations. No hash and no seed. The
//! divisor is the product of the links *upwards* (Zahavi, D-Mod-K of parallel-ports generalized
//! fat-trees); with k-ary trees it is a power of k.
//!
//! Scale-up switches (level 0) are next to the tree, not part of it. A host with several of them
//! takes the destination's number modulo theirs. Failed links count in the divisors. Where some of a switch's ports are down, the digit counts
//! modulo those left.

use xoff_units::NodeId;
use xoff_units::params::ParamError;

use super::groups::is_switch;
use crate::topology::graph::Topology;

/// Facts about every node that the rule needs.
#[derive(Clone, Debug)]
pub(super) struct Digits {
    /// Place of each host among the hosts; 0 for switches.
    number: Vec<u32>,
    /// Divisor of each node.
    divisor: Vec<u32>,
}

impl Digits {
    /// For a network that [`check`] accepts; any other gets some ports or other, and no promise.
    pub fn new(t: &Topology) -> Digits {
        let mut hosts = 0;
        let number = t
            .node_ids()
            .map(|n| {
                let own = hosts;
                hosts += u32::from(!is_switch(t, n));
                if is_switch(t, n) { 0 } else { own }
            })
            .collect();
        let levels = t.nodes.iter().map(|n| n.level as usize + 1).max().unwrap_or(0);
        let mut upwards = vec![1u32; levels];
        for n in t.node_ids() {
            let up = &mut upwards[t.nodes[n.index()].level as usize];
            *up = (*up).max(links_upwards(t, n));
        }
        // A product beyond 32 bits is above every number: the digit is 0.
        let divisors: Vec<u32> = (0..levels)
            .map(|l| upwards[..l].iter().fold(1, |d: u32, &u| d.saturating_mul(u)))
            .collect();
        Digits { number, divisor: t.nodes.iter().map(|n| divisors[n.level as usize]).collect() }
    }

    /// The index, below `n`, of the candidate at `node` towards the host `dst`.
    #[inline]
    pub fn index(&self, node: NodeId, dst: NodeId, n: usize) -> usize {
        (self.number[dst.index()] / self.divisor[node.index()]) as usize % n.max(1)
    }

    /// Memory held [bytes].
    pub fn size_bytes(&self) -> usize {
        4 * (self.number.len() + self.divisor.len())
    }
}

/// Checks that the rule applies: every link leads from one level to the next, and the nodes of a
/// level have equally many links upwards. The error's key is `routing`.
pub(super) fn check(t: &Topology) -> Result<(), ParamError> {
    let refuse = |what: String| {
        let hint = "d-mod-k needs a tree of levels, such as a fat-tree or leaf-spine; elsewhere use ecmp, lowest-id or per-destination";
        Err(ParamError::new("routing", what, hint))
    };
    let is_beside = |n: NodeId| is_switch(t, n) && t.nodes[n.index()].level == 0;
    for link in t.links.iter().filter(|l| !is_beside(l.a) && !is_beside(l.b)) {
        let level = |n: NodeId| t.nodes[n.index()].level;
        if level(link.a).abs_diff(level(link.b)) != 1 {
            let (a, b) = (t.name(link.a), t.name(link.b));
            return refuse(format!(
                "the link {a}-{b} joins levels {} and {}",
                level(link.a),
                level(link.b)
            ));
        }
    }
    // The first node of each level, with its number of links upwards.
    let mut first: [Option<(NodeId, u32)>; 256] = [None; 256];
    for n in t.node_ids().filter(|&n| !is_beside(n)) {
        let up = links_upwards(t, n);
        let (other, expected) = *first[t.nodes[n.index()].level as usize].get_or_insert((n, up));
        if up != expected {
            return refuse(format!(
                "links upwards: {} has {expected}, {} has {up}",
                t.name(other),
                t.name(n)
            ));
        }
    }
    Ok(())
}

/// Links of a node to higher levels, failed ones too.
fn links_upwards(t: &Topology, node: NodeId) -> u32 {
    let n = &t.nodes[node.index()];
    n.ports.iter().filter(|p| t.nodes[p.peer.index()].level > n.level).count() as u32
}
