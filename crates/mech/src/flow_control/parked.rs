//! Held flows of a source that keeps its flows apart: it stops asking about them until they may
//! send.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Handles of held flows, by the key under which the sender half holds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parked {
    held: BTreeSet<(u64, u32)>,
    freed: BTreeSet<u32>,
}

impl Parked {
    /// True if nothing was held or freed since it was taken.
    pub fn is_unused(&self) -> bool {
        self.held.is_empty() && self.freed.is_empty()
    }
    pub fn park(&mut self, key: u64, handle: u32) {
        self.held.insert((key, handle));
    }
    /// True if the handle was parked.
    pub fn unpark(&mut self, key: u64, handle: u32) -> bool {
        self.held.remove(&(key, handle)) | self.freed.remove(&handle)
    }
    /// True if a handle is parked under one of these keys.
    pub fn has(&self, keys: RangeInclusive<u64>) -> bool {
        self.held.range((*keys.start(), 0)..=(*keys.end(), u32::MAX)).next().is_some()
    }
    /// Frees the handles under these keys.
    pub fn free(&mut self, keys: RangeInclusive<u64>) {
        while let Some(&held) = self.held.range((*keys.start(), 0)..=(*keys.end(), u32::MAX)).next()
        {
            self.held.remove(&held);
            self.freed.insert(held.1);
        }
    }
    pub fn freed(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.freed)
    }
    pub fn handles(&self) -> impl Iterator<Item = u32> {
        self.held.iter().map(|&(_, handle)| handle)
    }
}
