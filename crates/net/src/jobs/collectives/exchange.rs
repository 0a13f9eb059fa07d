//! Every rank with every other: all-to-all, the direct forms of the others, the barrier, and the
//! hierarchy of nodes.

use super::{Piece, part, ring};
use crate::jobs::graph::{Graph, NONE};

/// Rank r sends to r + 1, r + 2, ... in this order; at most `peers` of its messages are under way
/// (0: any number).
pub(super) fn all_to_all(p: &mut Piece, peers: u32, matrix: Option<&[u64]>) {
    let n = p.n();
    let size = |bytes: u64, from: u32, to: u32| match matrix {
        Some(m) => m[(from * n + to) as usize],
        None => part(bytes, n as u64, to as u64),
    };
    for r in 0..n {
        let mut sent: Vec<u32> = Vec::new();
        for i in 1..n {
            let to = (r + i) % n;
            let bytes = size(p.bytes, r, to);
            if bytes > 0 {
                let send = p.send(r, to, bytes, 0);
                match sent.len().checked_sub(peers as usize).filter(|_| peers > 0) {
                    Some(at) => p.after(r, send, sent[at]),
                    None => p.first(r, send),
                }
                p.last(r, send);
                sent.push(send);
            }
            let from = (r + n - i) % n;
            let bytes = size(p.bytes, from, r);
            if bytes > 0 {
                let receive = p.receive(r, from, bytes, 0);
                p.first(r, receive);
                p.last(r, receive);
            }
        }
    }
}

/// Reduce-scatter: each part to its owner; all-gather: each owner's part to all.
pub(super) fn every_part(p: &mut Piece, gather: bool) {
    let n = p.n();
    for r in 0..n {
        for i in 1..n {
            let (to, from) = ((r + i) % n, (r + n - i) % n);
            let of = |owner: u32| part(p.bytes, n as u64, owner as u64);
            let (out, into) = if gather { (of(r), of(from)) } else { (of(to), of(r)) };
            let send = p.send(r, to, out, 0);
            let receive = p.receive(r, from, into, 0);
            for op in [send, receive] {
                p.first(r, op);
                p.last(r, op);
            }
        }
    }
}

/// Reduce-scatter and all-gather, one after the other.
pub(super) fn all_reduce(p: &mut Piece) {
    let between: Vec<u32> = p.ranks.iter().map(|&r| p.graph.mark(r)).collect();
    for i in 0..p.n() {
        p.first(i, between[i as usize]);
    }
    let (bytes, channel, tag) = (p.bytes, p.channel, p.tag);
    every_part(
        &mut Piece {
            graph: p.graph,
            ranks: p.ranks,
            begin: p.begin,
            end: &between,
            bytes,
            channel,
            tag,
        },
        false,
    );
    every_part(
        &mut Piece {
            graph: p.graph,
            ranks: p.ranks,
            begin: &between,
            end: p.end,
            bytes,
            channel,
            tag: tag + 1,
        },
        true,
    );
}

/// A message of one byte at distances 1, 2, 4, ...: after the last round each rank has news of all.
pub(super) fn barrier(p: &mut Piece) {
    let n = p.n();
    for r in 0..n {
        let (mut distance, mut round, mut before) = (1, 0, NONE);
        while distance < n {
            let send = p.send(r, (r + distance) % n, 1, round);
            let receive = p.receive(r, (r + n - distance) % n, 1, round);
            before = p.round(r, send, receive, before);
            (distance, round) = (2 * distance, round + 1);
        }
    }
}

fn marks(graph: &mut Graph, ranks: &[u32]) -> Vec<u32> {
    ranks.iter().map(|&r| graph.mark(r)).collect()
}

/// Reduce-scatter in each node, a ring across nodes for each place in a node on its part,
/// all-gather in each node.
pub(super) fn hierarchical(p: &mut Piece, node: u32) {
    let (n, g) = (p.ranks.len(), node as usize);
    let (scattered, reduced) = (marks(p.graph, p.ranks), marks(p.graph, p.ranks));
    for i in 0..n as u32 {
        p.first(i, scattered[i as usize]);
        p.after(i, reduced[i as usize], scattered[i as usize]);
    }
    let (bytes, channel, tag) = (p.bytes, p.channel, p.tag);
    for at in (0..n).step_by(g) {
        let of = at..at + g;
        let (ranks, begin) = (&p.ranks[of.clone()], &p.begin[of.clone()]);
        every_part(
            &mut Piece {
                graph: p.graph,
                ranks,
                begin,
                end: &scattered[of.clone()],
                bytes,
                channel,
                tag: tag + (1 << 20),
            },
            false,
        );
        let (begin, end) = (&reduced[of.clone()], &p.end[of]);
        every_part(
            &mut Piece { graph: p.graph, ranks, begin, end, bytes, channel, tag: tag + (2 << 20) },
            true,
        );
    }
    for place in 0..g {
        let of = |all: &[u32]| all.iter().copied().skip(place).step_by(g).collect::<Vec<u32>>();
        let (ranks, begin, end) = (of(p.ranks), of(&scattered), of(&reduced));
        let bytes = part(bytes, g as u64, place as u64);
        let mut rail =
            Piece { graph: p.graph, ranks: &ranks, begin: &begin, end: &end, bytes, channel, tag };
        let steps = 2 * (rail.n() - 1);
        ring::steps(&mut rail, 0, steps);
    }
}
