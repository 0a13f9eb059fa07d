//! What the watchdog of the nodes has found: lines of the log, and counters of ports.

use xoff_mech::watchdog::Action;
use xoff_sim::{Storm, World};

use super::Machine;

/// Reported part of a storm.
pub(super) struct Stated {
    over: bool,
    discarded: u64,
}

impl Machine {
    pub(super) fn note_storms(&mut self, world: &World) {
        let Some(action) = self.c.watchdog else { return };
        let action = match action {
            Action::Drop => "xoff ignores flow control and drops its queued frames",
            Action::Forward => "xoff ignores flow control and forwards its queued frames",
            Action::Alert => "xoff keeps obeying flow control",
        };
        for (n, storm) in world.storms().enumerate() {
            let Storm { node, port, priority, since, found, over, discarded } = *storm;
            let a = &mut self.at[self.by_place[node.index()][port as usize]];
            let name = format!("{} priority {priority}", a.link.name);
            if n == self.storms.len() {
                a.counters.storms += 1;
                self.storms.push(Stated { over: false, discarded: 0 });
                self.log.push(format!(
                    "watchdog: {name} was paused for {}; {action}",
                    found.since(since)
                ));
            }
            let stated = &mut self.storms[n];
            a.counters.thrown_away += discarded.total() - stated.discarded;
            stated.discarded = discarded.total();
            if let Some(over) = over.filter(|_| !stated.over) {
                stated.over = true;
                self.log.push(format!("watchdog: {name} was restored after {}", over.since(found)));
            }
        }
    }
}
