//! Halving-doubling: partners at distances 1, 2, 4, ... exchange halves of the rest, then the same
//! in reverse.
//!
//! ```text
//!   reduce-scatter   distance 1: S/2 each, 2: S/4, ... N/2: S/N
//!   all-gather       distance N/2: S/N, ... 2: S/4, 1: S/2
//! ```
//!
//! As astra-sim's `HalvingDoubling.cc` orders the distances. What a rank keeps in a round is the
//! half with the bit of its own number.

use super::{Piece, part};
use crate::jobs::graph::NONE;

pub(super) fn steps(p: &mut Piece, reduce: bool, gather: bool) {
    let (n, bytes) = (p.n(), p.bytes);
    let rounds = n.trailing_zeros();
    // Parts whose numbers share the lowest bits with `r`: the parts of the rank once those rounds
    // are over.
    let held = |r: u32, bits: u32| -> u64 {
        let mask = (1u32 << bits) - 1;
        (0..n).filter(|i| (i ^ r) & mask == 0).map(|i| part(bytes, n as u64, i as u64)).sum()
    };
    for r in 0..n {
        let mut before = NONE;
        let forward = (0..rounds).filter(|_| reduce).map(|k| (k, false));
        let back = (0..rounds).rev().filter(|_| gather).map(|k| (k, true));
        for (step, (k, gathers)) in (0u64..).zip(forward.chain(back)) {
            let partner = r ^ (1 << k);
            // When reducing, a rank sends the parts that the partner keeps; when gathering, it
            // sends its own parts.
            let (gives, takes) = if gathers {
                (held(r, k + 1), held(partner, k + 1))
            } else {
                (held(partner, k + 1), held(r, k + 1))
            };
            let send = p.send(r, partner, gives, step);
            let receive = p.receive(r, partner, takes, step);
            before = p.round(r, send, receive, before);
        }
    }
}
