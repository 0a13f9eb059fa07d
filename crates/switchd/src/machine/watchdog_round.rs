//! The rounds of the watchdog, the same for every flow control: does a priority that waits make progress?

use xoff_sim::World;
use xoff_units::{Span, Time};

use super::Machine;
use crate::watchdog::{Action, Change, WatchdogConfig};

impl Machine {
    /// Time between two rounds.
    pub(super) const WATCHDOG_ROUND: Span = Span::from_us(500);

    pub(super) fn run_watchdog(&mut self, world: &mut World, now: Time) {
        let Some(w) = self.c.watchdog else { return };
        for link in 0..self.at.len() {
            if self.at[link].down {
                continue;
            }
            for class in 0..self.at[link].class_states.len() {
                if let Some(change) = self.inspect(world, now, link, class, &w) {
                    self.act(world, now, link, class, change, w.action);
                }
            }
        }
    }

    fn inspect(&mut self, world: &mut World, now: Time, link: usize, class: usize, w: &WatchdogConfig) -> Option<Change> {
        let a = &mut self.at[link];
        let (at, class_state) = ((a.link.node, a.link.port, class as u8), &mut a.class_states[class]);
        if class_state.storm.is_active() {
            if !world.would_let_go(now, at, self.c.frame_len, w.detect) {
                class_state.storm.hold(now);
            }
        } else if !world.keeps_back(now, at.0, at.1, at.2) {
            class_state.kept_back = None;
        } else if class_state.kept_back.is_none_or(|(_, left)| left != class_state.left) {
            class_state.kept_back = Some((now, class_state.left));
        }
        class_state.storm.look(now, class_state.kept_back.map(|(since, _)| since), w)
    }

    fn act(&mut self, world: &mut World, now: Time, link: usize, class: usize, change: Change, action: Action) {
        let a = &mut self.at[link];
        let name = format!("{} priority {}", a.link.name, world.classes().priority(class));
        a.class_states[class].kept_back = None;
        let begins = matches!(change, Change::Began(_));
        world.release(now, (a.link.node, a.link.port, class as u8), begins);
        self.log.push(match change {
            Change::Began(held) => {
                a.counters.storms += 1;
                let action = if action == Action::Drop { "drops" } else { "forwards" };
                format!("watchdog: {name} was held for {held}: ignores its flow control and {action} what waits")
            }
            Change::Ended(storm) => format!("watchdog: {name} is restored after {storm}"),
        });
    }
}
