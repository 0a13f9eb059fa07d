//! Uniform choice of a destination: any other host, or any host of another rack, of all that take
//! part or of a list.

use std::collections::HashMap;

use crate::topology::Topology;
use rand_core::Rng;
use xoff_units::NodeId;
use xoff_units::params::ParamError;

use crate::workload::random::below;

/// Possible destinations of each of a set of hosts, with constant-time choice.
///
/// Hosts are kept in order of their group (rack, or the host alone), so those a host may not choose
/// are one contiguous stretch to step over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Destinations {
    /// Possible destinations, by group.
    order: Vec<NodeId>,
    /// First and one past the last index in `order` of those of a source's own group; empty for all
    /// other nodes, and for a source none of whose group can be chosen.
    group: Vec<(u32, u32)>,
}

impl Destinations {
    /// Among `hosts`, at least two and distinct; `other_rack` forbids destinations in the same
    /// rack.
    pub(crate) fn new(
        topo: &Topology,
        hosts: &[NodeId],
        other_rack: bool,
    ) -> Result<Destinations, ParamError> {
        Destinations::among(topo, hosts, hosts, other_rack).map_err(|_| one_rack())
    }

    /// `receivers`, distinct, for each of `sources`; `other_rack` forbids destinations in the same
    /// rack. The error is a source that may send to none.
    pub(crate) fn among(
        topo: &Topology,
        sources: &[NodeId],
        receivers: &[NodeId],
        other_rack: bool,
    ) -> Result<Destinations, NodeId> {
        let key = |h: NodeId| if other_rack { topo.nodes[h.index()].rack } else { h.0 };
        let mut order = receivers.to_vec();
        order.sort_unstable_by_key(|&h| (key(h), h));
        let mut stretches = HashMap::new();
        let mut first = 0;
        for stretch in order.chunk_by(|&a, &b| key(a) == key(b)) {
            let past = first + stretch.len() as u32;
            stretches.insert(key(stretch[0]), (first, past));
            first = past;
        }
        let mut group = vec![(0, 0); topo.nodes.len()];
        for &h in sources {
            let (first, past) = stretches.get(&key(h)).copied().unwrap_or((0, 0));
            if (past - first) as usize == order.len() {
                return Err(h);
            }
            group[h.index()] = (first, past);
        }
        Ok(Destinations { order, group })
    }

    /// True if `host` may send, and be chosen by others.
    pub(crate) fn has(&self, host: NodeId) -> bool {
        self.group.get(host.index()).is_some_and(|&(first, past)| past > first)
    }

    /// A destination for `host`, each permitted one equally likely.
    pub(crate) fn pick(&self, host: NodeId, rng: &mut impl Rng) -> NodeId {
        let (first, past) = self.group[host.index()];
        let own = (past - first) as u64;
        let k = below(rng, self.order.len() as u64 - own);
        self.order[(if k < first as u64 { k } else { k + own }) as usize]
    }
}

/// The refusal when racks leave no host to send to.
pub(crate) fn one_rack() -> ParamError {
    ParamError::new(
        "different_rack",
        "too many of the hosts share one rack",
        "set different_rack = false, or use a topology with several racks",
    )
}
