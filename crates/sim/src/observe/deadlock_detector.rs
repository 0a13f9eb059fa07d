//! The deadlock detector: a cycle of ports that each hold frames and wait for each other,
//! distinguished from slow progress.
//!
//! A port waits when a frame is at the head of its queue and the peer's flow control holds it (not
//! its own pacing). It waits for the peer's ingress buffer. That buffer releases the port when
//! enough of it drains, and it drains through the egress queues of the peer. So, from all waiting
//! ports:
//!
//! ```text
//!   repeat: strike out a port if the bytes of its peer's ingress in egress queues that are not stuck suffice,
//!           once it has left, for the peer to let the port go
//! ```
//!
//! The remaining ports wait forever: every one of them needs another one of them. Following each
//! port to the egress that holds most of its bytes closes a cycle. A rate-based flow control holds
//! no port and never appears here, however slow it gets.

use std::collections::{BTreeMap, BTreeSet};

use xoff_units::state::State;
use xoff_units::{At, Bytes, NodeId, Time};

/// A port of a deadlock cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct StuckPort {
    /// Number of the node.
    pub node: NodeId,
    /// Port that cannot send.
    pub port: u16,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// Frames waiting for it.
    pub frames: u32,
    /// Bytes waiting for it.
    pub bytes: Bytes,
    /// Since when.
    pub since: Time,
}

/// A deadlock.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Deadlock {
    /// The time the cycle closed: when the last of its ports was stopped for good.
    pub closed: Time,
    /// Time at which the detector found the deadlock.
    pub seen: Time,
    /// The cycle; each port waits for the next, the last for the first.
    pub cycle: Vec<StuckPort>,
    /// All ports that can never send again because of it, the cycle included, at the time it was
    /// seen.
    pub stuck_ports: usize,
}

/// A waiting egress queue as the world describes it.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub since: Time,
    pub frames: u32,
    pub bytes: u64,
    /// Bytes of the buffer that the port waits for, by egress of the peer.
    pub blockers: BTreeMap<At, u64>,
}

/// Finds ports that wait forever. `held(egress, stuck)` returns whether `egress` stays held when
/// `stuck` bytes of the buffer it waits for never leave; `all` joins what is free as others find,
/// who have some of the buffers.
pub(crate) fn stuck(
    waiting: &BTreeMap<At, Waiting>,
    held: impl Fn(At, u64) -> bool,
    mut all: impl FnMut(Vec<At>) -> Vec<At>,
) -> BTreeSet<At> {
    let mut set: BTreeSet<At> = waiting.keys().copied().collect();
    loop {
        let free = set.iter().copied().filter(|e| {
            let stuck = waiting[e]
                .blockers
                .iter()
                .filter(|(b, _)| set.contains(*b))
                .map(|(_, bytes)| bytes)
                .sum();
            stuck == 0 || !held(*e, stuck)
        });
        let free = all(free.collect());
        if free.is_empty() {
            return set;
        }
        free.iter().for_each(|e| {
            set.remove(e);
        });
    }
}

/// The cycles among stuck queues, each once, starting at its smallest member.
pub(crate) fn cycles(waiting: &BTreeMap<At, Waiting>, stuck: &BTreeSet<At>) -> Vec<Vec<At>> {
    let next = |e: &At| -> Option<At> {
        // Most bytes first; among equals the smallest, so that the answer does not depend on
        // iteration order.
        let b = waiting[e].blockers.iter().filter(|(b, _)| stuck.contains(*b));
        b.max_by_key(|(b, bytes)| (**bytes, std::cmp::Reverse(**b))).map(|(b, _)| *b)
    };
    let mut done = BTreeSet::new();
    let mut found = Vec::new();
    for start in stuck {
        let mut path = Vec::new();
        let mut at = Some(*start);
        while let Some(e) = at.filter(|e| !done.contains(e)) {
            done.insert(e);
            path.push(e);
            at = next(&e);
        }
        if let Some(from) = at.and_then(|e| path.iter().position(|p| *p == e)) {
            let mut cycle = path.split_off(from);
            let smallest = (0..cycle.len()).min_by_key(|&i| cycle[i]).unwrap_or(0);
            cycle.rotate_left(smallest);
            found.push(cycle);
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::Class;

    fn waits(blockers: &[(At, u64)]) -> Waiting {
        Waiting {
            since: Time::ZERO,
            frames: 1,
            bytes: 1,
            blockers: blockers.iter().copied().collect(),
        }
    }

    fn alone(free: Vec<At>) -> Vec<At> {
        free
    }

    const A: At = At { node: NodeId(1), port: 0, class: Class(0) };
    const B: At = At { node: NodeId(2), port: 0, class: Class(0) };
    const C: At = At { node: NodeId(3), port: 0, class: Class(0) };
    const HOST: At = At { node: NodeId(9), port: 0, class: Class(0) };

    #[test]
    fn a_ring_of_three_is_stuck_and_so_is_who_waits_for_it() {
        let w = BTreeMap::from([
            (A, waits(&[(B, 10)])),
            (B, waits(&[(C, 10)])),
            (C, waits(&[(A, 10)])),
            (HOST, waits(&[(A, 5)])),
        ]);
        let s = stuck(&w, |_, stuck| stuck >= 5, alone);
        assert_eq!(s.len(), 4);
        assert_eq!(cycles(&w, &s), [vec![A, B, C]]);
    }

    #[test]
    fn slow_progress_is_no_deadlock() {
        // B's buffer drains through a port that is not held: everything behind it then drains, too.
        let w = BTreeMap::from([
            (A, waits(&[(B, 10)])),
            (B, waits(&[(At { node: NodeId(7), port: 1, class: Class(0) }, 10)])),
        ]);
        assert!(stuck(&w, |_, stuck| stuck >= 5, alone).is_empty());
    }

    #[test]
    fn a_cycle_that_drains_enough_opens() {
        // 6 of 10 bytes leave through a free port; the rest is below the hold threshold.
        let w = BTreeMap::from([
            (A, waits(&[(B, 4), (At { node: NodeId(7), port: 1, class: Class(0) }, 6)])),
            (B, waits(&[(A, 10)])),
        ]);
        assert!(stuck(&w, |_, stuck| stuck >= 5, alone).is_empty());
        let s = stuck(&w, |_, stuck| stuck >= 4, alone);
        assert_eq!(cycles(&w, &s), [vec![A, B]]);
    }
}
