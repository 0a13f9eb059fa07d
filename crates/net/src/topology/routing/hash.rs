//! Choice of a flow among several equal candidates.

use xoff_units::NodeId;

use crate::workload::DST_PORT;

/// Fields of a frame that routing reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Source port of the transport.
    pub src_port: u16,
    /// Destination port of the transport.
    pub dst_port: u16,
}

impl FlowKey {
    /// The key of the frames that answer this flow.
    pub fn reversed(self) -> FlowKey {
        FlowKey { src: self.dst, dst: self.src, src_port: self.dst_port, dst_port: self.src_port }
    }
}

/// Distribution of flows over equal-cost candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcmpHash {
    /// Our own: [`native_hash`], scaled to the number of candidates without a division.
    Native {
        /// Changes every decision; from the scenario's seed.
        seed: u64,
    },
    /// [`native_hash`] of the flow alone, modulo the candidates: every switch with as many of them
    /// decides alike, so that flows which one switch has sent the same way are not spread by the
    /// next one (polarisation).
    Polarised {
        /// Changes every decision; from the scenario's seed.
        seed: u64,
    },
    /// That of ns3-rdma (`ipv4-global-routing.cc`, `GetTupleValue`): source * 59, destination,
    /// protocol, ports and priority under exclusive or, modulo the candidates, alike at every
    /// switch. See [`ns3_rdma_tuple`].
    Ns3Rdma {
        /// Destination ports, which `third.cc` draws; from the scenario's seed.
        seed: u64,
    },
    /// The HPCC simulator's (`switch-node.cc:62-89`): MurmurHash3 over addresses and ports, modulo
    /// the candidates.
    Hpcc,
}

impl EcmpHash {
    /// The index of the candidate, below `n`, that `key` takes at `node`.
    #[inline]
    pub fn index(&self, key: &FlowKey, node: NodeId, n: usize) -> usize {
        self.below(key, node, n as u64) as usize
    }

    /// [`Self::index`] among more than a machine's word may count, such as bits per second.
    #[inline]
    fn below(&self, key: &FlowKey, node: NodeId, n: u64) -> u64 {
        match *self {
            EcmpHash::Native { seed } => scale(native_hash(seed, key, node), n),
            EcmpHash::Polarised { seed } => native_hash(seed, key, NodeId(0)) % n.max(1),
            EcmpHash::Ns3Rdma { seed } => u64::from(ns3_rdma_tuple(seed, key)) % n.max(1),
            EcmpHash::Hpcc => {
                let ports = key.src_port as u32 | (key.dst_port as u32) << 16;
                let hash = murmur3(&[hpcc_ip(key.src), hpcc_ip(key.dst), ports], node.0);
                u64::from(hash) % n.max(1)
            }
        }
    }
}

/// The rule by which one candidate is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Spread flows by a hash.
    Hashed(EcmpHash),
    /// The first candidate; with [`Order::AscendingPeerId`](super::Order) the next hop of the
    /// lowest number.
    First,
    /// One candidate for each node and destination host, from a hash of the two; for one per
    /// destination edge switch see [`Paths::ShortestTree`](super::Paths::ShortestTree).
    PerDestination {
        /// Changes every decision; from the scenario's seed.
        seed: u64,
    },
}

impl Choice {
    /// The index of the candidate, below `n`, that `key` takes at `node`.
    #[inline]
    pub fn index(&self, key: &FlowKey, node: NodeId, n: usize) -> usize {
        self.below(key, node, n as u64) as usize
    }

    /// [`Self::index`] among more than a machine's word may count, such as bits per second.
    #[inline]
    pub fn below(&self, key: &FlowKey, node: NodeId, n: u64) -> u64 {
        match self {
            _ if n <= 1 => 0,
            Choice::Hashed(hash) => hash.below(key, node, n),
            Choice::First => 0,
            Choice::PerDestination { seed } => {
                scale(mix(mix(*seed ^ u64::from(key.dst)) ^ u64::from(node)), n)
            }
        }
    }

    /// True if the choice depends only on the node and the destination.
    pub fn is_per_destination(&self) -> bool {
        !matches!(self, Choice::Hashed(_))
    }
}

/// Our ECMP hash: seed, then source and destination, then ports and switch, each followed by the
/// 64-bit finalizer of SplitMix64 (Stafford's variant 13), whose every input bit moves every output
/// bit with probability near 1/2. The switch enters, so that consecutive switches decide
/// independently (no polarization).
#[inline]
pub fn native_hash(seed: u64, key: &FlowKey, node: NodeId) -> u64 {
    let ends = u64::from(key.src) << 32 | u64::from(key.dst);
    let rest = u64::from(node) << 32 | (key.src_port as u64) << 16 | key.dst_port as u64;
    mix(mix(mix(seed) ^ ends) ^ rest)
}

#[inline]
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The index, below `n`, that every switch takes towards the hosts next to the switch `edge`.
pub(super) fn index_towards(seed: u64, edge: NodeId, n: usize) -> usize {
    scale(mix(mix(seed ^ u64::from(edge))), n as u64) as usize
}

/// Maps 64 bits evenly onto 0..n.
#[inline]
fn scale(hash: u64, n: u64) -> u64 {
    ((hash as u128 * n as u128) >> 64) as u64
}

/// The address of a node in the HPCC simulator (`scratch/third.cc:155`).
pub fn hpcc_ip(node: NodeId) -> u32 {
    0x0b00_0001u32
        .wrapping_add((node.0 / 256).wrapping_mul(0x1_0000))
        .wrapping_add(node.0 % 256 * 0x100)
}

/// Address of a host in ns3-rdma (`third.cc`): link l has the network 10.(l / 254 + 1).(l % 254 +
/// 1).0. Host n is the second end of link n, as in the `topology.txt` that ns3-rdma contains.
fn ns3_rdma_ip(host: NodeId) -> u32 {
    0x0a00_0002u32.wrapping_add((host.0 / 254 + 1) << 16).wrapping_add((host.0 % 254 + 1) << 8)
}

/// Number that ns3-rdma divides by the number of next hops.
///
/// A frame of data is UDP (17) of priority 3. In place of xoff's constant destination port it has a
/// port below 40,000, drawn for each flow. What answers has no ports, and protocol 252:
/// its source port is that constant.
pub fn ns3_rdma_tuple(seed: u64, key: &FlowKey) -> u32 {
    let ends = ns3_rdma_ip(key.src).wrapping_mul(59) ^ ns3_rdma_ip(key.dst);
    if key.src_port == DST_PORT {
        return ends ^ 252;
    }
    let port = match key.dst_port {
        DST_PORT => scale(native_hash(seed, key, NodeId(0)), 40_000) as u32,
        given => u32::from(given),
    };
    ends ^ 17 ^ u32::from(key.src_port) << 16 ^ port ^ 3
}

/// MurmurHash3, x86, 32 bits, over whole words.
fn murmur3(words: &[u32], seed: u32) -> u32 {
    let mut h = seed;
    for &word in words {
        h ^= word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    h ^= 4 * words.len() as u32;
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(src: NodeId, dst: NodeId, src_port: u16) -> FlowKey {
        FlowKey { src, dst, src_port, dst_port: 100 }
    }

    /// Published test values of MurmurHash3_x86_32: 21 43 65 87 with two seeds, and text whose
    /// length is a multiple of 4.
    #[test]
    fn murmur3_is_murmur3() {
        assert_eq!(murmur3(&[0x8765_4321], 0), 0xf55b_516b);
        assert_eq!(murmur3(&[0x8765_4321], 0x5082_edee), 0x2362_f9de);
        assert_eq!(murmur3(&[u32::from_le_bytes(*b"aaaa")], 0x9747_b28c), 0x5a97_808a);
        assert_eq!(murmur3(&[u32::from_le_bytes(*b"abcd")], 0x9747_b28c), 0xf047_8627);
    }

    #[test]
    fn hpcc_addresses() {
        assert_eq!(hpcc_ip(NodeId(0)), 0x0b00_0001);
        assert_eq!(hpcc_ip(NodeId(255)), 0x0b00_ff01);
        assert_eq!(hpcc_ip(NodeId(319)), 0x0b01_3f01);
    }

    /// Values of an independent MurmurHash3 (the `mmh3` package) over the same 12 bytes: 0x014c6fd4
    /// and 0x41824de9.
    #[test]
    fn hpcc_hashes_addresses_and_ports_with_the_switch_as_seed() {
        let up = key(NodeId(0), NodeId(5), 10_000);
        assert_eq!(
            (
                EcmpHash::Hpcc.index(&up, NodeId(320), 4),
                EcmpHash::Hpcc.index(&up, NodeId(320), 1_000_000)
            ),
            (0x014c_6fd4 % 4, 0x014c_6fd4 % 1_000_000)
        );
        let ack = key(NodeId(1), NodeId(300), 10_003).reversed();
        assert_eq!(EcmpHash::Hpcc.index(&ack, NodeId(17), 1_000_000), 0x4182_4de9 % 1_000_000);
    }

    /// Values of a calculation with whole numbers in Python: addresses 10.1.1.2 and 10.2.47.2, then
    /// 10.1.6.2 and 10.1.1.2.
    #[test]
    fn ns3_rdma_hashes_addresses_protocol_ports_and_priority() {
        let given = FlowKey { dst_port: 31_234, ..key(NodeId(0), NodeId(300), 10_000) };
        let ack = key(NodeId(0), NodeId(5), 10_000).reversed();
        for (key, tuple) in [(given, 0x6329_6e64), (ack, 0x443d_6388)] {
            for seed in 0..3 {
                assert_eq!(ns3_rdma_tuple(seed, &key), tuple);
            }
            for n in 1..9 {
                let hash = EcmpHash::Ns3Rdma { seed: 1 };
                assert_eq!(hash.index(&key, NodeId(7), n), tuple as usize % n);
            }
        }
    }

    /// Two flows of a pair differ in the port that is drawn: 40,000 flows over 4 candidates, 10,000
    /// each, standard deviation 87.
    #[test]
    fn ns3_rdma_draws_the_destination_port_of_a_flow() {
        let fixed = FlowKey { dst_port: 0, ..key(NodeId(1), NodeId(2), 0) };
        let mut seen = [0u32; 4];
        for flow in 10_000..50_000 {
            let key = key(NodeId(1), NodeId(2), flow);
            let port = ns3_rdma_tuple(9, &key) ^ ns3_rdma_tuple(9, &fixed) ^ u32::from(flow) << 16;
            assert!(port < 40_000);
            seen[EcmpHash::Ns3Rdma { seed: 9 }.index(&key, NodeId(0), 4)] += 1;
        }
        assert!(seen.iter().all(|n| (9_650..10_350).contains(n)), "{seen:?}");
    }

    #[test]
    fn native_hash_spreads_evenly_and_independently_of_the_switch() {
        // 40,000 flows over 4 candidates: 10,000 each, standard deviation 87; the same flows at a
        // second switch.
        let mut seen = [[0u32; 4]; 4];
        let hash = EcmpHash::Native { seed: 1 };
        for i in 0..40_000 {
            let k = key(NodeId(i % 200), NodeId(200 + i / 200), 10_000);
            seen[hash.index(&k, NodeId(400), 4)][hash.index(&k, NodeId(401), 4)] += 1;
        }
        for row in seen {
            assert!((9_600..10_400).contains(&row.iter().sum::<u32>()), "{seen:?}");
            assert!(row.iter().all(|n| (2_280..2_720).contains(n)), "{seen:?}");
        }
    }

    #[test]
    fn a_polarised_hash_is_the_same_at_every_switch() {
        // 40,000 flows over 5 candidates: 8,000 each, standard deviation 80; at a second switch
        // each takes the same.
        let mut seen = [0u32; 5];
        let hash = EcmpHash::Polarised { seed: 1 };
        for i in 0..40_000 {
            let k = key(NodeId(i % 200), NodeId(200 + i / 200), 10_000);
            let at = hash.index(&k, NodeId(400), 5);
            assert_eq!(hash.index(&k, NodeId(401), 5), at);
            seen[at] += 1;
        }
        assert!(seen.iter().all(|n| (7_600..8_400).contains(n)), "{seen:?}");
        let other = EcmpHash::Polarised { seed: 2 };
        assert!(
            (0..100).any(|i| other.index(&key(NodeId(i), NodeId(200), 1), NodeId(0), 5)
                != hash.index(&key(NodeId(i), NodeId(200), 1), NodeId(0), 5)),
            "the seed decides"
        );
    }

    #[test]
    fn per_destination_ignores_the_source() {
        let c = Choice::PerDestination { seed: 3 };
        for dst in 0..64 {
            assert_eq!(
                c.index(&key(NodeId(1), NodeId(dst), 7), NodeId(90), 5),
                c.index(&key(NodeId(2), NodeId(dst), 8), NodeId(90), 5)
            );
        }
        assert!((0..64).any(|d| c.index(&key(NodeId(1), NodeId(d), 7), NodeId(90), 5)
            != c.index(&key(NodeId(1), NodeId(d), 7), NodeId(91), 5)));
        assert!(c.is_per_destination() && Choice::First.is_per_destination());
        assert!(!Choice::Hashed(EcmpHash::Hpcc).is_per_destination());
    }
}
