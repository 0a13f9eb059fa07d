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
    /// Which promise.
    pub kind: ViolationKind,
    /// Where and what, one sentence.
    pub what: String,
}

/// The broken promises of a run; only the first hundred are kept in words.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub on: bool,
    pub violations: Vec<Violation>,
    pub count: u64,
}

impl Checks {
    pub fn broken(&mut self, time: Time, kind: ViolationKind, what: impl FnOnce() -> String) {
        if !self.on {
            return;
        }
        self.count += 1;
        if self.violations.len() < 100 {
            self.violations.push(Violation { time, kind, what: what() });
        }
    }
}
