//! Uniform choice of a destination: any other host, or any host of another rack.

use rand_core::Rng;
use xoff_params::ParamError;
use xoff_topology::{NodeId, Topology};

use crate::random::below;

/// Whom each of a set of hosts may send to, with constant-time choice.
///
/// Hosts are kept in order of their group (rack, or the host alone), so those a host may not choose are one
/// contiguous stretch to step over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Destinations {
    /// Participants by group.
    order: Vec<NodeId>,
    /// First and one past the last index in `order` of the group of a node; empty for those that do not take part.
    group: Vec<(u32, u32)>,
}

impl Destinations {
    /// Among `hosts`, at least two and distinct; `other_rack` forbids destinations in the same rack.
    pub(crate) fn new(topo: &Topology, hosts: &[NodeId], other_rack: bool) -> Result<Destinations, ParamError> {
        let key = |h: NodeId| if other_rack { topo.nodes[h as usize].rack } else { h };
        let mut order = hosts.to_vec();
        order.sort_unstable_by_key(|&h| (key(h), h));
        let mut group = vec![(0, 0); topo.nodes.len()];
        let mut first = 0;
        for stretch in order.chunk_by(|&a, &b| key(a) == key(b)) {
            let past = first + stretch.len() as u32;
            for &h in stretch {
                group[h as usize] = (first, past);
            }
            first = past;
        }
        if group[order[0] as usize].1 as usize == order.len() {
            return Err(one_rack());
        }
        Ok(Destinations { order, group })
    }

    /// Whether `host` takes part.
    pub(crate) fn has(&self, host: NodeId) -> bool {
        self.group.get(host as usize).is_some_and(|&(first, past)| past > first)
    }

    /// A destination for `host`, each permitted one equally likely.
    pub(crate) fn pick(&self, host: NodeId, rng: &mut impl Rng) -> NodeId {
        let (first, past) = self.group[host as usize];
        let own = (past - first) as u64;
        let k = below(rng, self.order.len() as u64 - own);
        self.order[(if k < first as u64 { k } else { k + own }) as usize]
    }
}

/// The refusal when racks leave nobody to send to.
pub(crate) fn one_rack() -> ParamError {
    ParamError::new(
        "different_rack",
        "too many of the hosts share one rack",
        "set different_rack = false, or use a topology with several racks",
    )
}
