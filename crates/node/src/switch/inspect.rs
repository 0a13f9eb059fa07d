//! Readings of a switch from outside, between two events.

use super::*;
use crate::pools::PoolUse;
use xoff_units::Class;

impl Switch {
    /// A port.
    pub fn port(&self, port: u16) -> &Port {
        &self.ports[port as usize]
    }

    /// Occupancy of an ingress and class, as flow control sees it.
    pub fn occupancy(&self, port: u16, class: Class) -> Occupancy {
        self.buffer.occupancy(&self.ports[port as usize].class_state(class).ingress, port, class)
    }

    /// Bytes waiting for an egress and class.
    pub fn waiting(&self, port: u16, class: Class) -> u64 {
        self.ports[port as usize].class_state(class).egress.bytes()
    }

    /// State of an egress and class by its detector.
    pub fn state(&self, now: Time, port: u16, class: Class) -> Option<PortState> {
        self.ports[port as usize].class_state(class).detector.state(now)
    }

    /// The most that was ever held from an ingress, and the most that ever waited for the same port
    /// as an egress, of one class [bytes].
    pub fn highest(&self, port: u16, class: Class) -> (u64, u64) {
        let class_state = self.ports[port as usize].class_state(class);
        (class_state.ingress.highest(), class_state.egress.highest())
    }

    /// Frames that the receivers of all ports have taken for those of another flow.
    pub fn collisions(&self) -> u64 {
        self.ports.iter().flat_map(Port::class_states).map(|l| l.rx.collisions()).sum()
    }

    /// All bytes that wait for some egress, or are held for it; [`Switch::held`] counts the same
    /// bytes by ingress.
    pub fn queued(&self) -> u64 {
        let queues = self.ports.iter().flat_map(Port::class_states).map(|l| l.egress.bytes());
        queues.sum::<u64>() + self.balancing.as_ref().map_or(0, |b| b.held_bytes())
    }

    /// The most that was held in each of its pools, in the order of its configuration.
    pub fn pool_uses(&self) -> Vec<PoolUse> {
        self.buffer.pool_uses()
    }

    /// All bytes in the switch.
    pub fn held(&self) -> Bytes {
        self.buffer.held()
    }

    /// True if it neither contains nor expects anything, so that only wake-ups without work are
    /// left.
    pub fn rests(&self) -> bool {
        self.held().0 == 0
            && self.congestion_points.as_ref().is_none_or(|c| c.rest())
            && self.watchdog.as_ref().is_none_or(|w| w.rest())
            && self.ports.iter().all(Port::rests)
    }

    /// A port, to change its state from outside.
    pub fn port_mut(&mut self, port: u16) -> &mut Port {
        &mut self.ports[port as usize]
    }

    /// The queue of a port and class if the peer's flow control holds it.
    pub fn hold(&self, now: Time, port: u16, class: Class, frames: &FrameStore) -> Option<Hold> {
        let p = &self.ports[port as usize];
        let len = self.queues.head_of(now, p.class_state(class), port, class, frames)?;
        p.hold(now, class, len)
    }

    /// Occupants of the buffer of each ingress and class, by egress and flow:
    /// `f(ingress, class, occupant)`. One call per frame run; callers add up.
    pub fn occupants(&self, frames: &FrameStore, mut f: impl FnMut(u16, Class, Occupant)) {
        let held = self.balancing.iter().flat_map(|b| b.held(frames));
        let mut note = |frame: &Frame, out_port: u16| {
            f(
                frame.in_port,
                frame.class(),
                Occupant { out_port, flow: frame.flow, frames: 1, bytes: frame.len() as u64 },
            );
        };
        self.queues.for_each(self.ports.iter().flat_map(Port::class_states), frames, &mut note);
        held.for_each(|frame| note(frame, frame.out_port));
    }
}
