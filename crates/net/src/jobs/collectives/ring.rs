//! Ring: each rank sends to the next one and receives from the previous one.
//!
//! ```text
//!   step t: rank r sends part (r - t) mod N, which it received in step t - 1     steps 0 .. N-2 reduce, N-1 .. 2N-3 gather
//! ```

use super::{Piece, part};
use crate::jobs::graph::NONE;

/// The steps from `from` to before `to`.
pub(super) fn steps(p: &mut Piece, from: u32, to: u32) {
    let n = p.n();
    let size = |bytes: u64, owner: u32, step: u32| {
        part(bytes, n as u64, ((owner + 2 * n - step) % n) as u64)
    };
    for r in 0..n {
        let (next, before) = ((r + 1) % n, (r + n - 1) % n);
        let mut received = NONE;
        for step in from..to {
            let send = p.send(r, next, size(p.bytes, r, step), step as u64);
            let receive = p.receive(r, before, size(p.bytes, before, step), step as u64);
            received = p.round(r, send, receive, received);
        }
    }
}

/// A chain from the root on: broadcast in a ring that is not closed.
pub(super) fn chain(p: &mut Piece, root: u32) {
    let n = p.n();
    for place in 0..n {
        let r = (root + place) % n;
        let mut had = NONE;
        if place > 0 {
            had = p.receive(r, (r + n - 1) % n, p.bytes, 0);
            p.first(r, had);
            p.last(r, had);
        }
        if place + 1 < n {
            let send = p.send(r, (r + 1) % n, p.bytes, 0);
            if had == NONE {
                p.first(r, send);
            } else {
                p.after(r, send, had);
            }
            p.last(r, send);
        }
    }
}
