//! Switch and NIC as sans-IO state machines.
//!
//! ```text
//!  frame in -> ingress: buffer + Receiver -> route -> egress queue: Detector -> Gate(Sender) -> wire
//!                  +- control frame to the upstream peer
//! ```
//!
//! A node takes `(now, input)` and uses an [`Env`] for everything it cannot do itself: put a frame
//! on a wire, be called again later, look up a route, draw a random number. It owns no clock, no
//! socket and no file, and it names no mechanism: laws come as the traits of the mechanism crate.

use xoff_units::Class;

mod accounts;
mod buffer;
mod compat;
mod control;
mod discipline;
mod env;
mod frame;
mod nic;
mod pools;
mod port;
mod scheduler;
mod switch;
mod vl_arbitration;
mod wire_times;

pub use buffer::{BufferPolicy, SharedPool};
pub use compat::Compat;
pub use control::{ControlDelay, Delay};
pub use discipline::{DisciplineKind, PipelineConfig};
pub use env::{Call, Drop, Env, EventKey, FLOW_TIMERS, NodeEvent, RetryEvent, Surrender};
pub use frame::{
    Beside, Frame, FrameId, FrameKind, FrameList, FrameStore, LEN_MAX, NIL, Telemetry,
};
pub use nic::{
    Acks, Delivery, DrainConfig, FlowStart, Left, NIC_PORTS_MAX, Nic, NicConfig, Pacing,
    PausedWith, PortChoice, StormConfig,
};
pub use pools::{MemberConfig, PoolConfig, PoolUse, PoolsConfig};
pub use port::{Arrived, Hit, Hold, Port};
pub use scheduler::{Scheduler, SchedulerKind};
pub use switch::{Occupant, Switch, SwitchConfig};
pub use vl_arbitration::{VlArbitration, VlEntry};
pub use wire_times::WireTimes;

/// Some of the classes, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassSet(u8);

impl ClassSet {
    /// True if this class is among them. The number of the unpaused control class never is.
    #[inline]
    pub fn has(self, class: Class) -> bool {
        class.0 < 8 && self.0 & 1 << class.0 != 0
    }
    /// Number of classes in the set.
    pub fn count(self) -> u64 {
        self.0.count_ones().into()
    }
}

/// The priorities in use, as dense class numbers.
///
/// A run that uses priorities 3 and 5 has two classes; columns per class stay short. Class order is
/// priority order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes {
    priorities: Vec<u8>,
    /// A priority that travels with the control frames: it has a number after all classes, but no
    /// queue of its own.
    unpaused: Option<u8>,
}

impl Classes {
    /// From the priorities in use, each 0 to 7; duplicates are fine. No priority at all becomes
    /// priority 0.
    pub fn new(used: impl IntoIterator<Item = u8>) -> Self {
        Classes::with_unpaused_class(used, None)
    }
    /// From the priorities in use, where one travels with the control frames: first, never held,
    /// neither counted nor marked. That priority is no class. Its frames carry the number after the
    /// last class.
    pub fn with_unpaused_class(used: impl IntoIterator<Item = u8>, unpaused: Option<u8>) -> Self {
        let mut priorities: Vec<u8> =
            used.into_iter().filter(|&p| p < 8 && Some(p) != unpaused).collect();
        priorities.sort_unstable();
        priorities.dedup();
        if priorities.is_empty() {
            priorities.push(0);
        }
        Classes { priorities, unpaused }
    }
    /// Number of classes.
    pub fn len(&self) -> usize {
        self.priorities.len()
    }
    /// Never true; here for clippy's peace.
    pub fn is_empty(&self) -> bool {
        self.priorities.is_empty()
    }
    /// All classes.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = Class> + use<> {
        Class::up_to(self.len())
    }
    /// The priorities of all classes, in their order.
    pub fn priorities(&self) -> &[u8] {
        &self.priorities
    }
    /// The priority of a class, or of the number after the last one.
    pub fn priority(&self, class: Class) -> u8 {
        self.priorities.get(class.index()).copied().or(self.unpaused).unwrap_or(0)
    }
    /// The number that frames of the unpaused control class carry instead of a class.
    pub fn unpaused(&self) -> Option<Class> {
        self.unpaused.map(|_| Class(self.priorities.len() as u8))
    }
    /// The classes of these priorities; those that are not in use have none.
    pub fn set(&self, priorities: &[u8]) -> ClassSet {
        let of = |p: &u8| self.priorities.iter().position(|own| own == p);
        ClassSet(priorities.iter().filter_map(of).fold(0, |set, class| set | 1 << class))
    }
    /// The class of a priority in use.
    pub fn class(&self, priority: u8) -> Option<Class> {
        if self.unpaused == Some(priority) {
            return self.unpaused();
        }
        self.priorities.iter().position(|&p| p == priority).map(|c| Class(c as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Classes};

    #[test]
    fn the_unpaused_class_has_a_number_of_its_own() {
        let c = Classes::with_unpaused_class([3, 0, 3], Some(0));
        let class = |c: &Classes, priority| c.class(priority).map(|c| c.0);
        assert_eq!(
            (c.len(), class(&c, 3), class(&c, 0), class(&c, 5)),
            (1, Some(0), Some(1), None)
        );
        let named = (c.priority(Class(0)), c.priority(Class(1)), c.unpaused());
        assert_eq!(named, (3, 0, Some(Class(1))));
        let c = Classes::new([3, 0]);
        assert_eq!(
            (c.len(), class(&c, 0), class(&c, 3), c.unpaused()),
            (2, Some(0), Some(1), None)
        );
    }
}
