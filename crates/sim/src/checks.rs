//! The promises that every run is held to.

use xoff_units::Time;

/// Which promise was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// A frame was lost in a network that promises not to.
    Loss,
    /// A flow's frames arrived out of order.
    Order,
    /// Frames made = delivered + dropped + held no longer holds.
    Conservation,
    /// A switch's accounting disagrees with what its queues hold.
    Accounting,
}

/// One broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub time: Time,
    /// Rank among equal times, for putting those of several parts in order.
    pub(crate) rank: u64,
    /// Which promise.
    pub kind: ViolationKind,
    /// Where and what, one sentence.
    pub what: String,
}

/// Broken promises kept in words.
const IN_WORDS: usize = 100;

/// The broken promises of a run; only the first hundred are kept in words.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub on: bool,
    pub violations: Vec<Violation>,
    pub count: u64,
}

impl Checks {
    pub fn broken(&mut self, time: Time, rank: u64, kind: ViolationKind, what: impl FnOnce() -> String) {
        if !self.on {
            return;
        }
        self.count += 1;
        if self.violations.len() < IN_WORDS {
            self.violations.push(Violation { time, rank, kind, what: what() });
        }
    }
}

impl Checks {
    /// Those of all parts of a network, in order of time.
    pub fn merged(parts: impl IntoIterator<Item = Checks>) -> Checks {
        let mut all = Checks::default();
        for part in parts {
            all.count += part.count;
            all.violations.extend(part.violations);
        }
        all.violations.sort_by_key(|v| (v.time, v.rank));
        all.violations.truncate(IN_WORDS);
        all
    }
}
