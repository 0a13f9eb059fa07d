//! The promises that every run is held to.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use xoff_net::workload::Flow;
use xoff_node::EventKey;
use xoff_units::state::State;
use xoff_units::{Class, FlowId, Loss, NodeId, Time};

use crate::observe::lost::Dropped;
use crate::wire::layout::Layout;

/// Kind of a violated check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub enum ViolationKind {
    /// A frame was lost in a network that promises not to.
    Loss,
    /// A flow's frames arrived out of order, although none of them was lost.
    Order,
    /// Data frames sent = delivered + lost + under way no longer holds.
    Conservation,
    /// A switch's accounting disagrees with the contents of its queues.
    Accounting,
    /// A port sent more than its credits allowed.
    Credit,
}

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Violation {
    /// Simulated time.
    pub time: Time,
    /// Rank among equal times, for putting those of several partitions in order.
    pub rank: u64,
    /// Kind of the check.
    pub kind: ViolationKind,
    /// Place and problem, one sentence.
    pub what: String,
}

/// Broken promises kept in words.
const IN_WORDS: usize = 100;

/// The broken promises of a run; only the first hundred are kept in words.
#[derive(Debug, Default, State)]
pub(crate) struct Checks {
    pub on: bool,
    /// The earliest of them, in order.
    broken: Vec<Violation>,
    count: u64,
    /// Flows that have lost a frame: the gap that it leaves breaks no other promise.
    bereft: BTreeSet<FlowId>,
    gaps: BTreeMap<FlowId, Gaps>,
}

/// Frames of one flow that arrived out of order.
#[derive(Debug, State)]
struct Gaps {
    /// Start of the last gap [bytes].
    expected: u64,
    count: u64,
    first: Violation,
}

impl Checks {
    pub fn new(on: bool) -> Checks {
        Checks { on, ..Checks::default() }
    }

    /// Broken promises so far, gaps included.
    pub fn count(&self) -> u64 {
        self.count + self.gaps.values().map(|g| g.count).sum::<u64>()
    }

    pub fn broken(
        &mut self,
        time: Time,
        rank: u64,
        kind: ViolationKind,
        what: impl FnOnce() -> String,
    ) {
        if !self.on {
            return;
        }
        self.count += 1;
        // Nodes that act window by window do not come in order of time.
        let at = self.broken.partition_point(|v| (v.time, v.rank) <= (time, rank));
        if at < IN_WORDS {
            self.broken.truncate(IN_WORDS - 1);
            self.broken.insert(at, Violation { time, rank, kind, what: what() });
        }
    }

    /// A frame of this flow is lost, which is a violation of its own.
    pub fn loses(&mut self, flow: FlowId) {
        if self.on {
            self.bereft.insert(flow);
        }
    }

    /// A frame came from where none was expected: one violation for each gap, however many frames
    /// come behind it. What comes again is no gap, unless nothing was ever missing.
    pub fn out_of_order(
        &mut self,
        at: EventKey,
        flow: FlowId,
        (expected, got): (u64, u64),
        what: impl FnOnce() -> String,
    ) {
        if !self.on {
            return;
        }
        match self.gaps.entry(flow) {
            Entry::Vacant(e) => {
                let first = Violation {
                    time: at.time,
                    rank: at.rank,
                    kind: ViolationKind::Order,
                    what: what(),
                };
                e.insert(Gaps { expected, count: 1, first });
            }
            Entry::Occupied(e) => {
                let gaps = e.into_mut();
                gaps.count += (got > expected && expected != gaps.expected) as u64;
                gaps.expected = expected;
            }
        }
    }

    /// Broken promises of all partitions: the stored ones in order of time, and the number of all.
    pub fn merged(partitions: impl IntoIterator<Item = Checks>) -> (Vec<Violation>, u64) {
        let mut all = Checks::default();
        for partition in partitions {
            all.count += partition.count;
            all.broken.extend(partition.broken);
            all.bereft.extend(partition.bereft);
            all.gaps.extend(partition.gaps); // a flow arrives in one partition
        }
        for (_, gaps) in all.gaps.into_iter().filter(|(flow, _)| !all.bereft.contains(flow)) {
            all.count += gaps.count;
            all.broken.push(gaps.first);
        }
        all.broken.sort_by_key(|v| (v.time, v.rank));
        all.broken.truncate(IN_WORDS);
        (all.broken, all.count)
    }
}

/// Broken promises in the user's words: nodes by name, ports by where they lead.
impl Layout {
    /// Name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.names[node.index()]
    }

    /// A dropped frame: its place, kind and cause.
    pub fn describe_dropped(&self, d: &Dropped) -> String {
        let &Dropped { at, from, class, flow, len, why, .. } = d;
        let (node, from) =
            (self.name(self.ports.place(at as u32).node), self.name(self.ports.place(from).node));
        let why = match (why.cause, why.queue) {
            (Loss::BufferFull, None) => "the ingress buffer had no room",
            (Loss::BufferFull, Some(_)) => "the egress queue had no room",
            (Loss::NoRoute, _) => "there is no route to its destination",
            (other, _) => other.words(),
        };
        format!(
            "{node} dropped a frame from {from}, priority {}, flow {flow}, {len} B: {why}",
            self.classes.priority(class)
        )
    }

    /// A port that sent more than its credits.
    pub fn describe_overdrawn(&self, (node, to): (NodeId, NodeId), class: Class) -> String {
        let priority = self.classes.priority(class);
        format!(
            "{} sent more to {}, priority {priority}, than its credits allowed",
            self.name(node),
            self.name(to)
        )
    }

    /// A frame out of order.
    pub fn describe_out_of_order(
        &self,
        flow: FlowId,
        f: &Flow,
        (expected, got): (u64, u64),
    ) -> String {
        let (src, dst) = (self.name(f.src), self.name(f.dst));
        format!(
            "{dst} expected byte {expected} of flow {flow} from {src}, but received byte {got}: frames are out of order"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> EventKey {
        EventKey { time: Time(ps), rank: 0 }
    }

    #[test]
    fn a_gap_is_one_violation_and_a_lost_frame_explains_it() {
        let mut c = Checks::new(true);
        // Flow 1 misses a frame and sixty come behind it; later it misses another one, and some
        // come again.
        (0..60).for_each(|k| {
            c.out_of_order(at(k), FlowId(1), (1500, 3000 + k * 1500), || "first".into())
        });
        c.out_of_order(at(100), FlowId(1), (9000, 12_000), || unreachable!());
        c.out_of_order(at(101), FlowId(1), (9000, 3000), || unreachable!());
        c.out_of_order(at(102), FlowId(1), (10_500, 3000), || unreachable!());
        // Flow 2 misses a frame that was dropped in another partition of the network.
        c.out_of_order(at(50), FlowId(2), (0, 1500), || "second".into());
        // A frame that comes twice without anything missing.
        c.out_of_order(at(70), FlowId(3), (3000, 1500), || "third".into());
        let mut other = Checks::new(true);
        other.loses(FlowId(2));
        other.broken(Time(40), 0, ViolationKind::Loss, || "lost".into());
        let (words, count) = Checks::merged([c, other]);
        assert_eq!(
            words.iter().map(|v| v.what.as_str()).collect::<Vec<_>>(),
            ["first", "lost", "third"]
        );
        assert_eq!(count, 2 + 1 + 1);
    }

    #[test]
    fn nothing_is_kept_when_checks_are_off() {
        let mut c = Checks::default();
        c.broken(Time(1), 0, ViolationKind::Loss, || unreachable!());
        c.out_of_order(at(1), FlowId(1), (0, 1), || unreachable!());
        c.loses(FlowId(1));
        assert_eq!(Checks::merged([c]), (vec![], 0));
    }
}
