//! Trees: binomial ones, and NCCL's two binary trees. No rank is an inner node of both.
//!
//! ```text
//!   tree 1 of 8 ranks:  0 -- 4 -- { 2 -- {1, 3}, 6 -- {5, 7} }        rank r hangs where the lowest bit of r says
//!   tree 2: the same, mirrored (N even) or shifted by one (N odd), so that the leaves of one are inside the other
//! ```

use super::{Piece, part};

/// The rank above in the first tree; `None`: it is the root.
fn up(r: u32, n: u32) -> Option<u32> {
    if r == 0 {
        return None;
    }
    let bit = r & r.wrapping_neg();
    let up = (r ^ bit) | bit << 1;
    Some(if up >= n { r ^ bit } else { up })
}

/// The rank above in the first or the second tree.
pub(super) fn above(r: u32, n: u32, second: bool) -> Option<u32> {
    match second {
        false => up(r, n),
        true if n.is_multiple_of(2) => up(n - 1 - r, n).map(|u| n - 1 - u),
        true => up((r + n - 1) % n, n).map(|u| (u + 1) % n),
    }
}

/// Sums go up and results down, each of the trees with its half.
pub(super) fn double_binary(p: &mut Piece) {
    let n = p.n();
    for second in [false, true] {
        let bytes = part(p.bytes, 2, second as u64);
        if bytes == 0 {
            continue;
        }
        let tag = 2 * second as u64;
        for r in 0..n {
            let parent = above(r, n, second);
            let children: Vec<u32> = (0..n).filter(|&c| above(c, n, second) == Some(r)).collect();
            let summed: Vec<u32> = children.iter().map(|&c| p.receive(r, c, bytes, tag)).collect();
            summed.iter().for_each(|&s| p.first(r, s));
            let mut result = summed.clone();
            if let Some(parent) = parent {
                let send = p.send(r, parent, bytes, tag);
                p.first(r, send);
                summed.iter().for_each(|&s| p.after(r, send, s));
                p.last(r, send);
                let down = p.receive(r, parent, bytes, tag + 1);
                p.first(r, down);
                p.last(r, down);
                result = vec![down];
            }
            summed.iter().for_each(|&s| p.last(r, s));
            for &c in &children {
                let send = p.send(r, c, bytes, tag + 1);
                result.iter().for_each(|&s| p.after(r, send, s));
                p.last(r, send);
            }
        }
    }
}

/// From the root, at distances that halve.
pub(super) fn binomial_broadcast(p: &mut Piece, root: u32) {
    let n = p.n();
    for place in 0..n {
        let r = (root + place) % n;
        let low = if place == 0 { n.next_power_of_two() } else { place & place.wrapping_neg() };
        let had = (place > 0).then(|| p.receive(r, (root + (place ^ low)) % n, p.bytes, 0));
        if let Some(had) = had {
            p.first(r, had);
            p.last(r, had);
        }
        let mut distance = low / 2;
        while distance > 0 {
            if place + distance < n {
                let send = p.send(r, (root + place + distance) % n, p.bytes, 0);
                match had {
                    Some(had) => p.after(r, send, had),
                    None => p.first(r, send),
                }
                p.last(r, send);
            }
            distance /= 2;
        }
    }
}

/// To the root, at distances that double.
pub(super) fn binomial_reduce(p: &mut Piece, root: u32) {
    let n = p.n();
    for place in 0..n {
        let r = (root + place) % n;
        let mut summed = Vec::new();
        let mut distance = 1;
        while distance < n {
            if place & distance != 0 {
                let send = p.send(r, (root + (place ^ distance)) % n, p.bytes, 0);
                if summed.is_empty() {
                    p.first(r, send);
                }
                summed.iter().for_each(|&s| p.after(r, send, s));
                p.last(r, send);
                break;
            }
            if place + distance < n {
                let receive = p.receive(r, (root + place + distance) % n, p.bytes, 0);
                p.first(r, receive);
                p.last(r, receive);
                summed.push(receive);
            }
            distance *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two trees use every rank's link in both directions: an inner rank of one is a leaf of the
    /// other, and each is a tree.
    #[test]
    fn no_rank_is_inside_both_trees() {
        for n in 2..200 {
            let mut inside = vec![0; n as usize];
            for second in [false, true] {
                let roots = (0..n).filter(|&r| above(r, n, second).is_none()).count();
                assert_eq!(roots, 1, "{n}");
                for r in 0..n {
                    let (mut at, mut steps) = (r, 0);
                    while let Some(up) = above(at, n, second) {
                        (at, steps) = (up, steps + 1);
                        assert!(up < n && steps <= n, "{n}: {r}");
                    }
                }
                let children = |r: u32| (0..n).filter(|&c| above(c, n, second) == Some(r)).count();
                for r in 0..n {
                    assert!(children(r) <= 2, "{n}: {r}");
                    inside[r as usize] += (children(r) > 0 && above(r, n, second).is_some()) as u32;
                }
            }
            assert!(inside.iter().all(|&i| i <= 1), "{n}: {inside:?}");
        }
    }
}
