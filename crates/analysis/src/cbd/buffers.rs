//! Buffers and which depends on which, as bits: one per buffer and egress port of its switch.

use xoff_net::topology::failures::is_fabric_link;
use xoff_net::topology::{LinkId, Topology};
use xoff_units::NodeId;

use super::cycle::Graph;

/// An ingress buffer of a switch, as the directed link that fills it: twice the link's number, plus
/// 1 for b to a.
pub(super) type Buffer = u32;

/// The buffer that a port fills.
pub(super) fn behind(t: &Topology, node: NodeId, port: u16) -> Buffer {
    let link = t.nodes[node.index()].ports[port as usize].link;
    let l = &t.links[link as usize];
    2 * link + u32::from((l.a, l.a_port) != (node, port))
}

/// The port that fills a buffer.
pub(super) fn filled_by(t: &Topology, buffer: Buffer) -> (NodeId, u16) {
    let l = &t.links[buffer as usize / 2];
    if buffer.is_multiple_of(2) { (l.a, l.a_port) } else { (l.b, l.b_port) }
}

/// The switch of a buffer.
pub(super) fn switch_of(t: &Topology, buffer: Buffer) -> NodeId {
    let l = &t.links[buffer as usize / 2];
    if buffer.is_multiple_of(2) { l.b } else { l.a }
}

/// The dependencies found so far.
pub(super) struct Dependencies<'a> {
    t: &'a Topology,
    /// Start of the bits of each buffer, and one beyond the last; none for links that are not
    /// between switches.
    first: Vec<u32>,
    /// Bit p of a buffer: it depends on the buffer behind port p of its switch.
    bits: Vec<u64>,
}

impl<'a> Dependencies<'a> {
    pub fn none(t: &'a Topology) -> Self {
        let mut first = Vec::with_capacity(2 * t.links.len() + 1);
        let mut words = 0;
        for buffer in 0..2 * t.links.len() as Buffer {
            first.push(words);
            if is_fabric_link(t, buffer as LinkId / 2) {
                words += words_for(t, switch_of(t, buffer)) as u32;
            }
        }
        first.push(words);
        Dependencies { t, first, bits: vec![0; words as usize] }
    }

    /// Adds the dependencies of `buffer` on every port of `mask`, a set of fabric ports of its
    /// switch.
    #[inline]
    pub fn add(&mut self, buffer: Buffer, mask: &[u64]) {
        let first = self.first[buffer as usize] as usize;
        for (to, from) in self.bits[first..].iter_mut().zip(mask) {
            *to |= from;
        }
    }

    /// Adds the dependency of `buffer` on the one behind `port` of its switch.
    #[inline]
    pub fn add_port(&mut self, buffer: Buffer, port: u16) {
        self.bits[self.first[buffer as usize] as usize + port as usize / 64] |= 1 << (port % 64);
    }

    /// The dependencies as a graph over buffers.
    pub fn graph(&self) -> Graph {
        let n = self.first.len() - 1;
        let mut graph = Graph { first: Vec::with_capacity(n + 1), next: Vec::new() };
        for buffer in 0..n as Buffer {
            graph.first.push(graph.next.len() as u32);
            let words =
                self.first[buffer as usize] as usize..self.first[buffer as usize + 1] as usize;
            let switch = switch_of(self.t, buffer);
            for (i, mut word) in self.bits[words].iter().copied().enumerate() {
                while word != 0 {
                    let port = 64 * i as u16 + word.trailing_zeros() as u16;
                    word &= word - 1;
                    graph.next.push(behind(self.t, switch, port));
                }
            }
        }
        graph.first.push(graph.next.len() as u32);
        graph
    }
}

/// Words of a set of ports of this node.
pub(super) fn words_for(t: &Topology, node: NodeId) -> usize {
    t.nodes[node.index()].ports.len().div_ceil(64)
}
