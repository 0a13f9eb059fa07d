//! Ports that go down and come back.
//!
//! ```text
//!   up --down--> no message received counts any more; its departures are dropped, and counted unless link retry repeats them; other ports continue
//!     <---up---- sender halves restart, and the last messages of this port are repeated
//! ```

use xoff_sim::World;
use xoff_units::{Class, Time};

use super::Machine;

/// Outages of a port that are kept one by one; later ones are only counted.
const OUTAGES_MAX: usize = 1000;

/// A time in which a port was down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Start of the outage.
    pub from: Time,
    /// End of the outage; `None`: not yet.
    pub until: Option<Time>,
}

impl Machine {
    /// A port went down, `now` being a time that the world has reached: messages of its neighbour
    /// no longer count, and every frame that leaves by it is dropped, at line rate, so that it
    /// delays no other. `unsent`: frames that left before and never got onto the wire. Frames that
    /// link retry sends again are not lost; those that it gives up are counted there.
    pub fn link_down(&mut self, world: &mut World, now: Time, link: usize, unsent: u64) {
        let a = &mut self.at[link];
        if std::mem::replace(&mut a.down, true) {
            return;
        }
        a.counters.downs += 1;
        if self.c.frames_kept.is_none() {
            a.counters.port_down += unsent;
        }
        a.counters.departed = a.counters.departed.saturating_sub(unsent);
        if a.outages.len() < OUTAGES_MAX {
            a.outages.push(Outage { from: now, until: None });
        }
        world.reset_watchdog(now, a.link.at());
        for (class, class_state) in a.class_states.iter_mut().enumerate() {
            class_state.inbound = Default::default();
            world.release(now, a.link.at().class(Class(class as u8)), true);
        }
    }

    /// Handles a returning link: the neighbour may be another one, or have lost its state.
    pub fn link_up(&mut self, world: &mut World, now: Time, link: usize) {
        let a = &mut self.at[link];
        if !std::mem::replace(&mut a.down, false) {
            return;
        }
        if let Some(last @ Outage { until: None, .. }) = a.outages.last_mut() {
            last.until = Some(now);
        }
        world.restart(now, a.link.at());
        for class in 0..self.at[link].class_states.len() {
            let a = &self.at[link];
            world.release(now, a.link.at().class(Class(class as u8)), false);
            if let Some((f, _)) = a.class_states[class].last_sent {
                self.leave(world, link, now, &f, 0);
            }
        }
    }

    /// Is a port down?
    pub fn is_down(&self, link: usize) -> bool {
        self.at[link].down
    }

    /// Adds a line to the log.
    pub fn log_line(&mut self, line: String) {
        self.log.push(line);
    }
}
