//! Virtual cut-through: a frame is forwarded as soon as its head has arrived.
//!
//! ```text
//!   wire in    |HH==============|              the head H arrives, the way is found
//!   wire out     |HH==============|            the rest follows bit by bit; store and forward would begin here: |
//! ```
//!
//! A switch admits a whole frame or none of it. So a frame never occupies two buffers, as it does
//! under wormhole switching (Kermani and Kleinrock, 1979).

use xoff_net::topology::{Node, NodeKind, Topology};
use xoff_units::{Bytes, NodeId, Span, WireClock};

/// The far end cannot forward a frame before its last bit has arrived.
pub(crate) const NO_HEAD: Span = Span(u64::MAX);

/// After how much time on the wire of this port the head of a frame, `cut_through` bytes, has left
/// it, if the far end may go on with it then; else [`NO_HEAD`].
///
/// The far end is a switch, and none of its links is faster than this one: bits that leave faster
/// than they come in would run out in the middle of a frame. So a slower link is stored and
/// forwarded, whichever way a frame takes.
pub(crate) fn head_time(
    t: &Topology,
    node: NodeId,
    port: u16,
    cut_through: Option<Bytes>,
    clock: WireClock,
) -> Span {
    match cut_through {
        Some(head) if leads_to_a_switch(t, node, port) && !starves(t, node, port) => {
            clock.time_for(t.link_at(node, port).rate, head)
        }
        _ => NO_HEAD,
    }
}

fn far_end(t: &Topology, node: NodeId, port: u16) -> &Node {
    &t.nodes[(t.nodes[node.index()].ports[port as usize].peer).index()]
}

fn leads_to_a_switch(t: &Topology, node: NodeId, port: u16) -> bool {
    far_end(t, node, port).kind == NodeKind::Switch
}

/// Could the far end send on faster than bits come in?
fn starves(t: &Topology, node: NodeId, port: u16) -> bool {
    let rate = t.link_at(node, port).rate;
    far_end(t, node, port).ports.iter().any(|p| t.links[p.link as usize].rate > rate)
}

/// Link directions into switches: those that cut-through leaves as they are, because they are
/// slower than another link of their switch, and all.
pub fn stored_and_forwarded(t: &Topology) -> (usize, usize) {
    let all =
        t.node_ids().flat_map(|n| (0..t.nodes[n.index()].ports.len() as u16).map(move |p| (n, p)));
    let into: Vec<(NodeId, u16)> = all.filter(|&(n, p)| leads_to_a_switch(t, n, p)).collect();
    (into.iter().filter(|&&(n, p)| starves(t, n, p)).count(), into.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::Rate;

    #[test]
    fn only_switches_without_faster_links_go_on_with_a_head() {
        let mut t = Topology::default();
        let a = t.add_node("a", NodeKind::Host, 0, 0);
        let s = t.add_node("s", NodeKind::Switch, 1, 0);
        let r = t.add_node("r", NodeKind::Switch, 1, 1);
        let b = t.add_node("b", NodeKind::Host, 0, 1);
        t.add_link(a, s, Rate::from_gbps(40), Span::from_us(1));
        t.add_link(s, r, Rate::from_gbps(40), Span::from_us(1));
        t.add_link(r, b, Rate::from_gbps(100), Span::from_us(1));
        let head = |node, port| head_time(&t, node, port, Some(Bytes(40)), WireClock::Picoseconds);
        assert_eq!(head(a, 0), Span(8_000), "40 B at 40 Gb/s");
        assert_eq!(head(s, 1), NO_HEAD, "r could send on at 100 Gb/s");
        assert_eq!(head(r, 0), Span(8_000), "s sends no faster than it receives");
        assert_eq!(head(r, 1), NO_HEAD, "a host waits for all of it");
        assert_eq!(head_time(&t, a, 0, None, WireClock::Picoseconds), NO_HEAD);
        assert_eq!(stored_and_forwarded(&t), (1, 4), "that from s to r");
    }
}
