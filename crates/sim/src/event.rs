//! Events and their order.

use std::cmp::Ordering;

/// What an event is about. Among equal times at one node lower kinds go first (see [`EventOrder::Entity`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A link fails; `arg` is the link.
    LinkFails,
    /// The next flows of the list begin.
    FlowStart,
    /// Control messages leave their generator.
    Emit,
    /// Control messages take effect.
    Apply,
    /// A receiver half looks at the clock.
    Receiver,
    /// The wire of a port is free.
    WireFree,
    /// A frame arrives; `arg` is its handle.
    Arrive,
    /// A port tries to send.
    Wake,
    /// A timer of a flow; `arg` is its place in the NIC, `sub` the timer.
    FlowTimer,
    /// A look at the length of every queue.
    Look,
    /// A sample is taken.
    Sample,
    /// The deadlock watch looks.
    Watch,
}

/// 32 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub time: u64,
    pub order: u64,
    pub node: u32,
    pub arg: u32,
    pub port: u16,
    pub kind: Kind,
    pub sub: u8,
}

impl Event {
    pub fn key(&self) -> (u64, u64) {
        (self.time, self.order)
    }
}
impl PartialEq for Event {
    fn eq(&self, o: &Self) -> bool {
        self.key() == o.key()
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, o: &Self) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for Event {
    fn cmp(&self, o: &Self) -> Ordering {
        self.key().cmp(&o.key())
    }
}

/// In which order events of equal time happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventOrder {
    /// By kind, then by the entity that caused the event (the transmitting port, the flow), then by a per-entity
    /// count: independent of how a run is split, and documented rather than accidental.
    #[default]
    Entity,
    /// First scheduled, first served, over the whole network: the rule of ns-3. Only for replaying it.
    Insertion,
}
