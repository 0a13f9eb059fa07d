//! Pause storms that the watchdogs of switches have found, and the frames that they dropped.

use std::collections::BTreeMap;

use xoff_mech::watchdog::Change;
use xoff_node::FrameKind;
use xoff_units::state::State;
use xoff_units::{At, NodeId, PortId, Time};

use crate::engine::clock::Clock;
use crate::observe::lost::{Dropped, FrameCount};
use crate::observe::monitor::Monitor;

/// A storm: a queue that its peer held for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Storm {
    /// Node of the queue.
    pub node: NodeId,
    /// Number of its port, from 0.
    pub port: u16,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// Since when the peer had held it.
    pub since: Time,
    /// Time of the detection.
    pub found: Time,
    /// End of the storm; `None`: not before the end of the run.
    pub over: Option<Time>,
    /// Frames that were discarded because of it.
    pub discarded: FrameCount,
}

/// The storms of a partition of the network, in the order in which they were found.
#[derive(Default, State)]
pub(crate) struct Storms {
    all: Vec<Storm>,
    /// Ongoing storms, by port and class.
    open: BTreeMap<usize, usize>,
}

impl Storms {
    /// In the order in which they were found.
    pub fn all(&self) -> &[Storm] {
        &self.all
    }

    /// Takes them.
    pub fn take(&mut self) -> Vec<Storm> {
        std::mem::take(&mut self.all)
    }
}

impl Storm {
    /// By which storms are put in order: when they were found, and where.
    pub(crate) fn order(&self) -> (Time, NodeId, u16, u8) {
        (self.found, self.node, self.port, self.priority)
    }
}

impl Monitor {
    /// The watchdog of a node has found that a storm began or is over.
    pub(crate) fn note_watchdog(
        &mut self,
        clock: &Clock,
        At { node, port, class }: At,
        change: Change,
    ) {
        let at = self.layout.class_index(At { node, port, class });
        let found = clock.of_run();
        match change {
            Change::Began(since) => {
                let priority = self.layout.classes.priority(class);
                let storm = Storm {
                    node,
                    port,
                    priority,
                    since,
                    found,
                    over: None,
                    discarded: FrameCount::default(),
                };
                self.storms.open.insert(at, self.storms.all.len());
                self.storms.all.push(storm);
            }
            Change::Ended(_) => {
                if let Some(n) = self.storms.open.remove(&at) {
                    self.storms.all[n].over = Some(found);
                }
            }
        }
    }

    /// A frame was discarded for a storm at a port of its node.
    pub(crate) fn note_discarded(&mut self, d: &Dropped, port: u16) {
        if d.kind == FrameKind::Data {
            self.checks.loses(d.flow);
        }
        let PortId { node, .. } = self.layout.ports.place(d.at as u32);
        let at = self.layout.class_index(At { node, port, class: d.class });
        if let Some(&n) = self.storms.open.get(&at) {
            self.storms.all[n].discarded.count(d.kind);
        }
    }
}
