//! The ways of flows, remembered.
//!
//! A flow takes the same port at the same node as long as the routes stand. Finding it takes a hash over its addresses and
//! four dependent look-ups in the routing table; remembering it takes one cache line per flow and direction.

use xoff_node::NIL;
use xoff_units::prefetch;

/// Nodes remembered per flow and direction: a path through three tiers has five switches. On a longer path the oldest
/// entry makes room, and is found anew when it is needed.
const REMEMBERED: usize = 8;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // one cache line, not two halves
struct Way {
    nodes: [u32; REMEMBERED],
    ports: [u16; REMEMBERED],
    next: u8,
}

/// Memory of both directions of a flow [bytes].
pub(crate) const BYTES_PER_FLOW: u64 = 2 * size_of::<Way>() as u64;

const UNKNOWN: Way = Way { nodes: [NIL; REMEMBERED], ports: [0; REMEMBERED], next: 0 };

/// Egress ports by flow, direction and node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    /// By flow and direction.
    ways: Vec<Way>,
}

impl Ways {
    #[inline]
    fn at(flow: u32, back: bool) -> usize {
        flow as usize * 2 + back as usize
    }

    /// The port of a flow at a node, if it is known. `hops` is below [`REMEMBERED`]: nodes that the frame has been through.
    #[inline]
    pub fn get(&self, flow: u32, back: bool, node: u32, hops: usize) -> Option<u16> {
        let way = self.ways.get(Self::at(flow, back))?;
        // Nodes are remembered in the order of the first frame; only after a failure is it another one.
        if way.nodes[hops] == node {
            return Some(way.ports[hops]);
        }
        (0..REMEMBERED).find(|&i| way.nodes[i] == node).map(|i| way.ports[i])
    }

    /// A way will be asked for soon.
    #[inline]
    pub fn prefetch(&self, flow: u32, back: bool) {
        if let Some(way) = self.ways.get(Self::at(flow, back)) {
            prefetch(way);
        }
    }

    /// Remembers a port.
    pub fn put(&mut self, flow: u32, back: bool, node: u32, port: u16) {
        let at = Self::at(flow, back);
        if self.ways.len() <= at {
            self.ways.resize(at + 1, UNKNOWN);
        }
        let way = &mut self.ways[at];
        let next = way.next as usize % REMEMBERED;
        (way.nodes[next], way.ports[next]) = (node, port);
        way.next = (next + 1) as u8;
    }

    /// Routes have changed.
    pub fn forget(&mut self) {
        self.ways.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_kept_apart_and_the_oldest_makes_room() {
        let mut w = Ways::default();
        assert_eq!(w.get(3, false, 0, 0), None);
        for node in 0..=REMEMBERED as u32 {
            w.put(3, false, node, node as u16 + 10);
        }
        w.put(3, true, 1, 99);
        assert_eq!(
            (w.get(3, false, 0, 0), w.get(3, false, 1, 1), w.get(3, false, 1, 5), w.get(3, false, 8, 0)),
            (None, Some(11), Some(11), Some(18))
        );
        assert_eq!((w.get(3, true, 1, 1), w.get(2, false, 1, 1)), (Some(99), None));
        w.forget();
        assert_eq!(w.get(3, true, 1, 1), None);
    }
}
