//! The promises that every run is held to.

use xoff_node::Drop;
use xoff_units::Time;

use crate::core::Layout;
use crate::lost::Dropped;

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

/// Broken promises in the user's words: nodes by name, ports by where they lead.
impl Layout {
    /// Name of a node.
    pub fn name(&self, node: u32) -> &str {
        &self.names[node as usize]
    }

    /// A dropped frame: where, what and why; `from` is the port at the far end of that which it came in by.
    pub fn say_dropped(&self, d: &Dropped, from: u32) -> String {
        let &Dropped { at, class, flow, len, why, .. } = d;
        let (node, from) = (self.name(self.places[at].0), self.name(self.places[from as usize].0));
        let why = match why {
            Drop::BufferFull => "the ingress buffer had no room",
            Drop::NoRoute => "there is no route to its destination",
            Drop::LinkFailed => "its link failed",
        };
        format!("{node} dropped a frame from {from}, priority {}, flow {flow}, {len} B: {why}", self.classes.priority(class as usize))
    }
}
