//! Frames that the sender halves of a port permit, and the time since which a class is paused.

use super::*;
use xoff_units::Class;

impl Port {
    /// True if the first waiting frame of this class and length may leave. Records since when the
    /// peer blocks it, and reports the detector when the queue is kept back and when no longer.
    #[inline(always)]
    pub fn gate(&mut self, now: Time, class: Class, len: u32) -> Gate {
        let Some(class_state) = self.class_state_if_any(class) else { return Gate::Open };
        let gate = class_state.tx.gate(now, Bytes(len as u64));
        if gate != Gate::Open || self.off != 0 {
            self.note_gate(now, class, len, gate);
        }
        gate
    }

    /// Might a frame of this class and length go? Nothing is recorded.
    pub fn would_open(&self, now: Time, class: Class, len: u32) -> Gate {
        let class_state = if class == Class(0) {
            Some(&self.class_state)
        } else {
            self.more.get(class.index() - 1)
        };
        class_state.map_or(Gate::Open, |l| l.tx.gate(now, Bytes(len as u64)))
    }

    /// The sender half of a class if it is per-flow.
    pub fn flows(&self, class: Class) -> Option<&dyn FlowSender> {
        let class_state =
            if class == Class(0) { &self.class_state } else { self.more.get(class.index() - 1)? };
        class_state.tx.flows()
    }

    /// The same, to change it.
    pub fn flows_mut(&mut self, class: Class) -> Option<&mut dyn FlowSender> {
        self.class_state_if_any(class)?.tx.flows_mut()
    }

    /// All flows of a class that have something to send are held, or no longer: where the peer
    /// holds single flows, their source decides the consequence for the class.
    pub fn note_flows(&mut self, now: Time, class: Class, held: bool) {
        let bit = 1 << class.0;
        if held != (self.held & bit != 0) {
            self.held ^= bit;
            self.hold_changes |= bit;
            self.class_state_mut(class).held_since = if held { now } else { Time::NEVER };
        }
    }

    /// Since when a class is held, at most until now.
    pub fn held_since(&self, now: Time, class: Class) -> Time {
        if self.held & 1 << class.0 != 0 { self.class_state(class).held_since } else { now }
    }

    fn note_gate(&mut self, now: Time, class: Class, len: u32, gate: Gate) {
        let bit = 1 << class.0;
        let (off, held) = (self.off & bit != 0, self.held & bit != 0);
        let class_state = self.class_state_mut(class);
        let closed = gate != Gate::Open;
        let begins = closed && !held && class_state.tx.held(now, Bytes(len as u64));
        if begins {
            class_state.held_since = now;
        }
        if closed && !off {
            class_state.detector.on_off(now);
        } else if !closed && off {
            class_state.detector.on_on(now, Bytes(class_state.egress.bytes()));
        }
        self.off = if closed { self.off | bit } else { self.off & !bit };
        if begins || held && !closed {
            if !begins {
                self.class_state_mut(class).held_since = Time::NEVER;
            }
            self.held ^= bit;
            self.hold_changes |= bit;
        }
    }

    /// Reports which holds have begun or ended in the gates asked since the last time.
    #[inline(always)]
    pub fn report_holds(&mut self, env: &mut impl Env) {
        if self.hold_changes != 0 {
            self.report_hold_changes(env);
        }
    }

    fn report_hold_changes(&mut self, env: &mut impl Env) {
        let mut changes = std::mem::take(&mut self.hold_changes);
        while changes != 0 {
            let class = Class(changes.trailing_zeros() as u8);
            changes &= changes - 1;
            let by = self.class_state(class).tx.stopped_by();
            env.emit(
                self.node,
                NodeEvent::Hold { port: self.number, class, on: self.held & 1 << class.0 != 0, by },
            );
        }
    }

    /// The hold on a class whose head frame has this length, if the peer holds it now.
    pub fn hold(&self, now: Time, class: Class, len: u32) -> Option<Hold> {
        let class_state =
            if class == Class(0) { &self.class_state } else { self.more.get(class.index() - 1)? };
        let since = self.held_since(now, class);
        class_state.tx.held(now, Bytes(len as u64)).then_some(Hold {
            port: self.number,
            class,
            len,
            since,
        })
    }

    /// The sender half of a class.
    pub fn tx(&self, class: Class) -> &Tx {
        &self.class_state(class).tx
    }

    /// The flow control of the peer counts for a class no longer, or again ([`Tx::release`]). The
    /// port checks its queued frames at `now`.
    pub fn release(&mut self, class: Class, on: bool, env: &mut impl Env) {
        let now = env.now();
        let line = self.rate;
        self.class_state_mut(class).tx.release(now, line, on);
        self.note_allowed(class, env);
        self.wake_at(now, env);
    }

    /// Updates the shared resource of the sender halves after a change.
    #[cold] // out of line: ports without it pay for a look at a flag
    pub(super) fn note_shared_use(&mut self) {
        let of = |c: &ClassState| c.tx.shared_use();
        let (classes, all) = self
            .class_states()
            .filter_map(of)
            .fold((0, 0u64), |(n, sum), used| (n + 1, sum.saturating_add(used)));
        for c in std::iter::once(&mut self.class_state).chain(&mut self.more) {
            if let Some(own) = c.tx.shared_use() {
                c.tx.on_shared_use(all - own, classes);
            }
        }
    }

    /// The link of the port has been down: the sender halves forget the peer's messages
    /// ([`Sender::restart`]).
    pub fn restart(&mut self, env: &mut impl Env) {
        let now = env.now();
        for class in Class::up_to(1 + self.more.len()) {
            self.class_state_mut(class).tx.restart(now);
            self.note_shared_use();
            self.note_allowed(class, env);
        }
    }

    /// Notes the rate that the sender half of a class allows now, and the time at which a stop
    /// expires.
    #[inline]
    pub(super) fn note_allowed(&self, class: Class, env: &mut impl Env) -> Rate {
        let now = env.now();
        let tx = &self.class_state(class).tx;
        let (rate, by) = (tx.rate(now), tx.stopped_by());
        let expires = if rate.0 == 0 { expiry(now, tx) } else { None };
        env.emit(self.node, NodeEvent::AllowedRate { port: self.number, class, rate, by, expires });
        rate
    }

    /// If `stuck` bytes of an ingress never leave, does its peer stay unable to send a frame of
    /// `len`?
    pub fn would_hold(&self, class: Class, occupancy: &Occupancy, stuck: u64, len: u32) -> bool {
        self.class_state(class).rx.holds(occupancy, Bytes(stuck), Bytes(len as u64))
    }

    /// True if a class has ever sent more than its credits allowed.
    pub fn overdrawn(&self, class: Class) -> bool {
        self.class_state(class).tx.overdrawn()
    }

    /// The rate flow control allows a class now [bit/s].
    pub fn allowed_rate(&self, now: Time, class: Class) -> Rate {
        self.class_state(class).tx.rate(now)
    }
}

/// End of a stop without a message, and the rate after it; `None`: only a message ends it.
#[cold]
fn expiry(now: Time, tx: &Tx) -> Option<(Time, Rate)> {
    let Gate::Until(at) = tx.gate(now, Bytes(1)) else { return None };
    Some((at, tx.rate(at)))
}
