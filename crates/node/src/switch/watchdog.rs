//! The watchdog of a switch: it looks at every egress queue by a clock, and at a sender half
//! whenever that may have changed its mind.
//!
//! ```text
//!   message takes effect, frame leaves --> Meter      how often and for how long the peer has stopped the queue
//!   clock --> Look --> Queue --> Change --> drop: queue emptied, on_frame discards | forward: sender half released | alert: nothing
//! ```
//!
//! Switches without one pay a look at an `Option`.

use xoff_mech::watchdog::{Action, Change, Config, Meter, Queue};
use xoff_units::Class;
use xoff_units::state::State;

use super::*;

/// A class of a port.
#[derive(Default, State)]
struct Observed {
    meter: Meter,
    queue: Queue,
}

/// All of them, by port, then by class.
#[derive(State)]
pub(super) struct Watchdog {
    #[state(built)] // constant
    config: Config,
    /// Length of the frame that has to pass: a full frame [bytes].
    #[state(built)] // constant
    len: Bytes,
    queues: Vec<Observed>,
}

impl Watchdog {
    pub fn new(config: Config, len: Bytes, queues: usize) -> Box<Watchdog> {
        Box::new(Watchdog {
            config,
            len,
            queues: (0..queues).map(|_| Observed::default()).collect(),
        })
    }

    /// True if no queue waits for the end of a storm.
    pub fn rest(&self) -> bool {
        self.queues.iter().all(|q| !q.queue.is_stormed())
    }
}

impl Switch {
    /// The clock of the watchdog.
    const WATCHDOG: u8 = 0;

    /// Requests the first poll.
    pub(super) fn start_watchdog(&mut self, env: &mut impl Env) {
        self.plan_look(env);
    }

    fn plan_look(&self, env: &mut impl Env) {
        let now = env.now();
        if let Some(w) = &self.watchdog {
            env.call_at(self.node, now + w.config.poll, Call::Clock { which: Self::WATCHDOG });
        }
    }

    /// Time until which the peer keeps a full frame of a class, if it does.
    fn stopped_until(&self, now: Time, port: u16, class: Class) -> Option<Time> {
        let w = self.watchdog.as_ref()?;
        self.ports[port as usize].class_state(class).tx.stopped_until(now, w.len, w.config.detect)
    }

    fn observed(&mut self, port: u16, class: Class) -> Option<&mut Observed> {
        let at = port as usize * self.classes + class.index();
        self.watchdog.as_mut()?.queues.get_mut(at)
    }

    /// A message for a class has taken effect.
    #[cold]
    pub(super) fn note_message(&mut self, now: Time, port: u16, class: Class) {
        let stopped = self.stopped_until(now, port, class);
        if let Some(q) = self.observed(port, class) {
            q.meter.note_message(now, stopped);
        }
    }

    /// A frame of a class has left.
    #[cold]
    pub(super) fn note_sent(&mut self, now: Time, port: u16, class: Class) {
        let stopped = self.stopped_until(now, port, class);
        if let Some(q) = self.observed(port, class) {
            q.meter.note_sent(now, stopped);
        }
    }

    /// True if frames for the queue of a port and class are discarded.
    pub(super) fn discards(&self, port: u16, class: Class) -> bool {
        let at = port as usize * self.classes + class.index();
        let stormed =
            |w: &Watchdog| w.config.action == Action::Drop && w.queues[at].queue.is_stormed();
        self.watchdog.as_ref().is_some_and(|w| stormed(w))
    }

    /// Reason to discard a frame that arrived through a port, for the queue of another one; `None`:
    /// the frame is kept.
    #[cold]
    pub(super) fn discarded(&self, port: u16, out: u16, class: Class) -> Option<Drop> {
        [out, port]
            .into_iter()
            .find(|&p| self.discards(p, class))
            .map(|p| Drop { cause: Loss::Watchdog, queue: Some(p) })
    }

    /// A clock of the switch. Returns whether that changed anything.
    pub fn on_clock(&mut self, which: u8, env: &mut impl Env) -> bool {
        let now = env.now();
        if which == Self::RELEASE {
            return self.release_held(env);
        }
        debug_assert_eq!(which, Self::WATCHDOG);
        let mut changed = false;
        for port in 0..self.ports.len() as u16 {
            if self.ports[port as usize].failed() {
                continue;
            }
            for class in Class::up_to(self.classes) {
                let stopped = self.stopped_until(now, port, class);
                let waiting = Bytes(self.waiting(port, class));
                let Some(config) = self.watchdog.as_ref().map(|w| w.config) else { return false };
                let Some(q) = self.observed(port, class) else { continue };
                q.meter.note(now, stopped);
                let look = q.meter.look(now, waiting);
                if let Some(change) = q.queue.look(look, &config) {
                    changed = true;
                    self.act(port, class, change, config.action, env);
                }
            }
        }
        self.plan_look(env);
        changed
    }

    fn act(&mut self, port: u16, class: Class, change: Change, action: Action, env: &mut impl Env) {
        env.emit(self.node, NodeEvent::Watchdog { port, class, change });
        let begins = matches!(change, Change::Began(_));
        match action {
            Action::Alert => {}
            Action::Forward => self.ports[port as usize].release(class, begins, env),
            Action::Drop => {
                self.ports[port as usize].release(class, begins, env);
                if begins {
                    self.throw_away(
                        port,
                        class,
                        Drop { cause: Loss::Watchdog, queue: Some(port) },
                        env,
                    );
                }
            }
        }
    }

    /// The link of a port has been down: the watchdog forgets its state, and its storms are over.
    pub fn reset_watchdog(&mut self, port: u16, env: &mut impl Env) {
        let now = env.now();
        let action = self.watchdog.as_ref().map(|w| w.config.action);
        for class in Class::up_to(self.classes) {
            let before = self.observed(port, class).map(std::mem::take);
            if let (Some(q), Some(action)) = (before.filter(|q| q.queue.is_stormed()), action) {
                self.act(
                    port,
                    class,
                    Change::Ended(q.meter.look(now, Bytes::ZERO).at),
                    action,
                    env,
                );
            }
        }
    }

    /// True if the watchdog has let a class of a port send more than the peer allowed.
    pub fn was_freed(&self, port: u16, class: Class) -> bool {
        let at = port as usize * self.classes + class.index();
        self.watchdog
            .as_ref()
            .is_some_and(|w| w.config.action == Action::Forward && w.queues[at].queue.was_stormed())
    }
}
