//! Where a switch sends a frame of unknown origin: a table of addresses (802.1Q, clause 8.8), known
//! beforehand or learned.

use std::collections::HashMap;

use crate::wire::ethernet::Mac;
use xoff_units::{Span, Time};

/// After this time without a frame an address is dropped: 802.1Q, clause 8.8.3, recommends 300 s.
const AGEING: Span = Span(300 * 1_000_000_000_000);
/// Addresses that are learned at most; unknown sources cannot fill the memory.
const LEARNED_MAX: usize = 8192;

/// Destination of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// By one port.
    Port(u16),
    /// By every port but the one it came in by.
    Everywhere,
    /// The frame is dropped.
    Nowhere,
}

/// The table of one switch.
#[derive(Clone, Debug, Default)]
pub struct Forwarding {
    known: HashMap<Mac, Vec<u16>>,
    learned: HashMap<Mac, (u16, Time)>,
    learns: bool,
    /// Of a shim: the port of its stack, which comes after those into the network.
    stack: Option<u16>,
}

impl Forwarding {
    /// Only these addresses, each with the ports that lead there; a frame to another one has no
    /// route.
    pub fn fixed(known: impl IntoIterator<Item = (Mac, Vec<u16>)>) -> Forwarding {
        Forwarding { known: known.into_iter().collect(), ..Forwarding::default() }
    }

    /// A learning bridge: frames to unknown addresses and to groups go everywhere. In a network
    /// with a circle they would go round forever: there is no spanning tree here.
    pub fn learning(known: impl IntoIterator<Item = (Mac, Vec<u16>)>) -> Forwarding {
        Forwarding { learns: true, ..Forwarding::fixed(known) }
    }

    /// A shim whose ports up to `stack` lead into the network. Frames of the network go to the
    /// stack. Frames of the stack go by one port into the network, to unknown addresses and groups
    /// too, so that no circle closes through a shim of several ports.
    pub fn shim(stack: u16, known: impl IntoIterator<Item = (Mac, Vec<u16>)>) -> Forwarding {
        Forwarding { stack: Some(stack), ..Forwarding::fixed(known) }
    }

    /// The way of a frame that came in by `port`. Of several ports that lead to its destination it
    /// takes one by the `hash` of its flow.
    pub fn forward(
        &mut self,
        now: Time,
        port: u16,
        source: Mac,
        destination: Mac,
        hash: u64,
    ) -> Forward {
        if self.learns && !source.is_group() && !self.known.contains_key(&source) {
            self.learn(now, port, source);
        }
        // 802.1Q, table 8-1: frames for the bridge itself are never forwarded.
        if destination.0[..5] == [0x01, 0x80, 0xC2, 0, 0] && destination.0[5] < 16 {
            return Forward::Nowhere;
        }
        let fresh = |&(port, seen): &(u16, Time)| (now.since(seen) < AGEING).then_some(port);
        let known = self.known.get(&destination);
        let one =
            |ports: &Vec<u16>| ports.get((hash % ports.len().max(1) as u64) as usize).copied();
        if let Some(stack) = self.stack {
            return match known.and_then(one) {
                _ if port != stack => Forward::Port(stack),
                Some(out) if out == stack => Forward::Nowhere,
                out => Forward::Port(out.unwrap_or((hash % u64::from(stack.max(1))) as u16)),
            };
        }
        match known.and_then(one).or_else(|| self.learned.get(&destination).and_then(fresh)) {
            Some(out) if out == port => Forward::Nowhere,
            Some(out) => Forward::Port(out),
            None if self.learns => Forward::Everywhere,
            None => Forward::Nowhere,
        }
    }

    fn learn(&mut self, now: Time, port: u16, source: Mac) {
        if self.learned.len() >= LEARNED_MAX && !self.learned.contains_key(&source) {
            self.learned.retain(|_, &mut (_, seen)| now.since(seen) < AGEING);
            if self.learned.len() >= LEARNED_MAX {
                return;
            }
        }
        self.learned.insert(source, (port, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const B: Mac = Mac([2, 0, 0, 0, 0, 2]);
    const EVERYBODY: Mac = Mac([0xFF; 6]);

    #[test]
    fn a_bridge_learns_and_ages() {
        let mut f = Forwarding::learning([]);
        assert_eq!(f.forward(Time(0), 0, A, B, 0), Forward::Everywhere);
        assert_eq!(f.forward(Time(1), 1, B, A, 0), Forward::Port(0));
        assert_eq!(f.forward(Time(2), 0, A, B, 0), Forward::Port(1));
        assert_eq!(f.forward(Time(2), 1, A, B, 0), Forward::Nowhere, "it moved to where B is");
        assert_eq!(f.forward(Time(2 + AGEING.0), 0, A, B, 0), Forward::Everywhere);
        assert_eq!(f.forward(Time(3), 0, A, Mac::FLOW_CONTROL, 0), Forward::Nowhere);
    }

    #[test]
    fn unknown_sources_cannot_fill_the_table() {
        let mut f = Forwarding::learning([(B, vec![7])]);
        for n in 0..2 * LEARNED_MAX as u32 {
            let [a, b, c, d] = n.to_be_bytes();
            f.forward(Time(5), 0, Mac([2, 1, a, b, c, d]), B, 0);
        }
        assert_eq!(f.learned.len(), LEARNED_MAX);
        f.forward(Time(5), 3, B, A, 0);
        assert_eq!(
            f.forward(Time(6), 0, A, B, 0),
            Forward::Port(7),
            "what is known is not moved by a frame"
        );
    }

    #[test]
    fn a_fixed_table_sends_nothing_astray() {
        let mut f = Forwarding::fixed([(B, vec![1])]);
        assert_eq!(
            [f.forward(Time(0), 0, A, B, 0), f.forward(Time(0), 1, B, A, 0)],
            [Forward::Port(1), Forward::Nowhere]
        );
    }

    /// Two ports into the network, 0 and 1, and the stack of A behind port 2.
    #[test]
    fn a_shim_closes_no_circle() {
        let mut f = Forwarding::shim(2, [(A, vec![2]), (B, vec![0, 1])]);
        let mut to = |port, destination, hash| f.forward(Time(0), port, A, destination, hash);
        for port in [0, 1] {
            assert_eq!(to(port, A, 7), Forward::Port(2));
            assert_eq!(to(port, EVERYBODY, 7), Forward::Port(2));
            assert_eq!(to(port, Mac::FLOW_CONTROL, 7), Forward::Nowhere);
        }
        assert_eq!([to(2, B, 6), to(2, B, 7)], [Forward::Port(0), Forward::Port(1)]);
        assert_eq!([to(2, A, 0), to(2, EVERYBODY, 1)], [Forward::Nowhere, Forward::Port(1)]);
    }
}
