//! Data of a flow that arrived ahead of a gap.

use std::collections::BTreeMap;

use xoff_units::state::State;
use xoff_units::{Span, Time};

/// Data of a flow beyond the first missing byte, kept by a receiver.
#[derive(Debug, Default, State)]
pub(super) struct Ahead {
    /// From, to and time of arrival.
    ranges: BTreeMap<u64, (u64, Time)>,
    /// Bytes of all of them.
    held: u64,
    /// End of the flow, if its last frame is among them.
    end: Option<u64>,
}

/// Data that a frame in order has joined.
pub(super) struct Joined {
    /// All before it has arrived.
    pub until: u64,
    /// It is the end of the flow.
    pub ends: bool,
    /// Longest time for which some of it was kept; `None`: none of it was.
    pub hold: Option<Span>,
}

impl Ahead {
    /// A frame is ahead. Returns the bytes kept if any of it is new.
    pub fn keep(&mut self, now: Time, from: u64, payload: u64, ends: bool) -> Option<u64> {
        if ends {
            self.end = Some(from + payload);
        }
        if self.ranges.insert(from, (from + payload, now)).is_some() {
            return None;
        }
        self.held += payload;
        Some(self.held)
    }

    /// All before `expected` has arrived.
    pub fn join(&mut self, now: Time, mut expected: u64) -> Joined {
        let mut hold = None;
        while let Some(first) = self.ranges.first_entry().filter(|e| *e.key() <= expected) {
            let (from, (to, since)) = first.remove_entry();
            self.held -= to - from;
            expected = expected.max(to);
            hold = hold.max(Some(now.since(since)));
        }
        Joined { until: expected, ends: self.end == Some(expected), hold }
    }

    /// Nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}
