//! In which order a host there serves its flows after a link has failed.
//!
//! The list of flows is rebuilt by walking a hash map whose order is that of the C++ library it was
//! compiled with: one chain of elements, those of a bucket side by side. Keys are whole numbers
//! that hash to themselves.

use std::collections::HashMap;
use xoff_units::{FlowId, NodeId};

use xoff_net::topology::routing::hpcc_ip;
use xoff_net::workload::Flow;
use xoff_sim::StartOrder;

/// Numbers of buckets the map grows through.
const PRIMES: [u64; 14] =
    [13, 29, 59, 127, 257, 541, 1_109, 2_357, 5_087, 10_273, 20_753, 42_043, 85_229, 172_933];

/// The order of a map's elements.
#[derive(Default)]
struct Chain {
    keys: Vec<u64>,
    /// Number of buckets; 0 before the first element.
    buckets: u64,
}

impl Chain {
    /// A new key goes before the others of its bucket, or to the front.
    fn insert(&mut self, key: u64) {
        if self.keys.contains(&key) {
            return;
        }
        let needed = self.keys.len() as u64 + 1;
        if needed > self.buckets {
            let least = if self.buckets == 0 { 12 } else { (needed + 1).max(2 * self.buckets) };
            self.buckets = PRIMES.into_iter().find(|&p| p >= least).unwrap_or(least | 1);
            for key in std::mem::take(&mut self.keys) {
                self.put(key);
            }
        }
        self.put(key);
    }

    fn put(&mut self, key: u64) {
        let bucket = key % self.buckets;
        let at = self.keys.iter().position(|k| k % self.buckets == bucket).unwrap_or(0);
        self.keys.insert(at, key);
    }

    fn remove(&mut self, key: u64) {
        self.keys.retain(|&k| k != key);
    }
}

/// The maps of all hosts.
#[derive(Default)]
pub(crate) struct RoundRobin {
    chains: HashMap<NodeId, Chain>,
    /// By flow: its host and key.
    keys: HashMap<FlowId, (NodeId, u64)>,
    flows: HashMap<(NodeId, u64), FlowId>,
}

impl StartOrder for RoundRobin {
    fn started(&mut self, flow: FlowId, f: &Flow) {
        let key = (hpcc_ip(f.dst) as u64) << 32 | (f.src_port as u64) << 16 | f.priority as u64;
        self.chains.entry(f.src).or_default().insert(key);
        self.keys.insert(flow, (f.src, key));
        self.flows.insert((f.src, key), flow);
    }

    fn ended(&mut self, flow: FlowId) {
        let Some((host, key)) = self.keys.remove(&flow) else { return };
        self.flows.remove(&(host, key));
        if let Some(chain) = self.chains.get_mut(&host) {
            chain.remove(key);
        }
    }

    fn order(&mut self, host: NodeId) -> Vec<FlowId> {
        let Some(chain) = self.chains.get(&host) else { return Vec::new() };
        chain.keys.iter().filter_map(|&key| self.flows.get(&(host, key)).copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 13 buckets, so 14 falls next to 1 and goes before it, 2 opens a bucket at the
    /// front.
    #[test]
    fn a_bucket_grows_at_its_front_and_so_does_the_chain() {
        let mut c = Chain::default();
        [1, 2, 14].into_iter().for_each(|k| c.insert(k));
        assert_eq!(c.keys, [2, 14, 1]);
        c.remove(14);
        c.insert(27);
        assert_eq!(c.keys, [2, 27, 1]);
    }

    /// The 14th element makes 29 buckets of 13; the old elements are put in again in the order they
    /// had.
    #[test]
    fn growing_puts_all_in_again() {
        let mut c = Chain::default();
        (0..13).for_each(|k| c.insert(k));
        assert_eq!((c.buckets, c.keys[0]), (13, 12));
        c.insert(13);
        assert_eq!(c.buckets, 29);
        assert_eq!(c.keys, [13, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }
}
