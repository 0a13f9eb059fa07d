//! The sending sides of a NIC's flows, by place: the place of a flow is how many the NIC had begun
//! before it.
//!
//! ```text
//!   place    0 1 2 3 4 5 6 7 8 9 ...
//!            . . 2 . . . | 6 7 8 9        cleared, except those on which something may still depend | all
//! ```
//!
//! Where a run keeps no flow that is over ([`NicConfig::clears_flows`](super::NicConfig)), those
//! before a place are gone. Places stay: the order of events goes by them.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use super::sending::Sending;

/// Flows before those that are over are looked for.
const MANY: usize = 64;

/// Sending sides by place.
#[derive(Default)]
pub(super) struct Senders {
    /// The first place of `all`.
    pub from: usize,
    pub all: Vec<Sending>,
    /// Before it, those that are not over.
    pub others: BTreeMap<usize, Sending>,
    /// Number of senders at which the next search for ended ones is due.
    pub look: usize,
}

impl Senders {
    /// Number of flows so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.from + self.all.len()
    }

    /// The next flow begins.
    #[inline]
    pub fn push(&mut self, sending: Sending) {
        self.all.push(sending);
    }

    /// Sender that began last.
    #[inline]
    pub fn last(&self) -> Option<&Sending> {
        self.all.last()
    }

    /// All that are there.
    pub fn iter(&self) -> impl Iterator<Item = &Sending> {
        self.others.values().chain(&self.all)
    }

    /// All that are there, each with its place.
    pub fn places(&self) -> impl Iterator<Item = (u32, &Sending)> {
        let others = self.others.iter().map(|(&place, s)| (place as u32, s));
        others.chain((self.from as u32..).zip(&self.all))
    }

    /// True if there are enough flows that completed ones should be removed.
    #[inline]
    pub fn are_many(&self) -> bool {
        self.all.len() >= self.look.max(MANY)
    }

    /// Clears those that are over: `over(place, flow)`. The latest one stays.
    pub fn clear_over(&mut self, over: impl Fn(u32, &Sending) -> bool) {
        self.others.retain(|&place, s| !over(place as u32, s));
        let go = self.all.len().saturating_sub(1);
        for (place, s) in (self.from..).zip(self.all.drain(..go)) {
            if !over(place as u32, &s) {
                self.others.insert(place, s);
            }
        }
        self.from += go;
        self.look = 2 * self.others.len();
    }
}

impl Index<usize> for Senders {
    type Output = Sending;
    #[inline(always)]
    fn index(&self, place: usize) -> &Sending {
        match self.all.get(place.wrapping_sub(self.from)) {
            Some(s) => s,
            None => &self.others[&place],
        }
    }
}

impl IndexMut<usize> for Senders {
    #[inline(always)]
    fn index_mut(&mut self, place: usize) -> &mut Sending {
        match self.all.get_mut(place.wrapping_sub(self.from)) {
            Some(s) => s,
            None => self.others.get_mut(&place).expect("a flow that is not over is there"),
        }
    }
}
