//! Events and their order.

use std::cmp::Ordering;

use xoff_node::EventKey;
use xoff_units::state::State;

use crate::engine::queue::Pending;

/// Subject of an event. Among equal times lower kinds go first (see [`EventOrder::Entity`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A link fails; `arg` is the link.
    LinkFails,
    /// The next flow of the list begins.
    FlowStart,
    /// Control messages leave their generator.
    Emit,
    /// Control messages take effect.
    Apply,
    /// A timer of a receiver half expires; `arg` is the class.
    Receiver,
    /// The timer of a congestion point expires; `arg` is the class.
    CongestionPoint,
    /// The wire of a port is free.
    WireFree,
    /// An input buffer has been read to the end of a frame.
    InputRead,
    /// A frame arrives; `arg` is its handle.
    Arrive,
    /// A port tries to send.
    Wake,
    /// A timer of a flow; `arg` is its place in the NIC and the timer.
    FlowTimer,
    /// A clock of a node itself; `arg` is which one.
    Clock,
    /// A look at the length of every queue.
    Look,
    /// A sample is taken.
    Sample,
    /// A round of the deadlock detector.
    DeadlockDetector,
}

impl Kind {
    /// True for a wake-up at a time at which something was due. Often nothing is due any more.
    pub fn is_timer(self) -> bool {
        matches!(
            self,
            Kind::Wake | Kind::Receiver | Kind::CongestionPoint | Kind::FlowTimer | Kind::Clock
        )
    }

    /// By number, as far as four bits reach; a larger number counts as the last one.
    const BY_NUMBER: [Kind; 16] = {
        use Kind::*;
        [
            LinkFails,
            FlowStart,
            Emit,
            Apply,
            Receiver,
            CongestionPoint,
            WireFree,
            InputRead,
            Arrive,
            Wake,
            FlowTimer,
            Clock,
            Look,
            Sample,
            DeadlockDetector,
            DeadlockDetector,
        ]
    };
}

/// Ports that can be distinguished: their numbers share 32 bits with the kind of an event.
pub(crate) const PORTS_MAX: usize = 1 << 28;
/// Flows of a list that can be distinguished: their numbers share 64 bits with the kind of an
/// event, and a count.
pub(crate) const FLOWS_MAX: usize = 1 << 28;

/// 24 bytes, so that a frame in flight (an event and 32 bytes of frame) stays within a cache line.
#[derive(Clone, Copy, Debug, State)]
pub struct Event {
    time: u64,
    rank: u64,
    /// Kind in the upper 4 bits, port (counted over the whole network) in the lower 28.
    what: u32,
    pub(crate) arg: u32,
}

impl Event {
    #[inline]
    pub(crate) fn new(at: EventKey, kind: Kind, port: u32, arg: u32) -> Event {
        Event { time: at.time.0, rank: at.rank, what: (kind as u32) << 28 | port, arg }
    }
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        Kind::BY_NUMBER[(self.what >> 28) as usize]
    }
    #[inline]
    pub(crate) fn port(&self) -> u32 {
        self.what & (PORTS_MAX as u32 - 1)
    }
}

impl Pending for Event {
    const NONE: Event = Event { time: 0, rank: 0, what: 0, arg: 0 };
    #[inline(always)]
    fn time(&self) -> u64 {
        self.time
    }
    #[inline(always)]
    fn rank(&self) -> u64 {
        self.rank
    }
}
impl PartialEq for Event {
    fn eq(&self, o: &Self) -> bool {
        self.key() == o.key()
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, o: &Self) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for Event {
    #[inline]
    fn cmp(&self, o: &Self) -> Ordering {
        self.key().cmp(&o.key())
    }
}

/// In which order events of equal time happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventOrder {
    /// By kind, then by the entity that caused the event (the transmitting port, the flow), then by
    /// a per-entity count: independent of how a run is split, and documented rather than
    /// accidental.
    #[default]
    Entity,
    /// First scheduled, first served, over the whole network: the rule of ns-3. Only for replaying
    /// it.
    Insertion,
}

/// Gives events their rank among equal times.
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct Ranks {
    #[state(built)]
    pub order: EventOrder,
    inserted: u64,
}

impl Ranks {
    pub fn new(order: EventOrder) -> Ranks {
        Ranks { order, inserted: 0 }
    }

    /// `entity`, `sub` and `nth` make the place of an event among equal times unique and
    /// independent of how the run is split: the transmitting port of an arrival, the port of a
    /// wake-up, the flow of a start. They have 28, 4 and 28 bits: ports ([`PORTS_MAX`]) and flows
    /// ([`FLOWS_MAX`]); classes and timers of a flow; flows of a host, and messages of a port in
    /// one instant, of which memory holds fewer.
    #[inline]
    pub fn of(&mut self, kind: Kind, entity: u32, sub: u8, nth: u32) -> u64 {
        match self.order {
            EventOrder::Entity => {
                debug_assert!(entity < 1 << 28 && sub < 16 && nth < 1 << 28);
                (kind as u64) << 60 | (entity as u64) << 32 | (sub as u64) << 28 | nth as u64
            }
            EventOrder::Insertion => {
                self.inserted += 1;
                self.inserted
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_node::FLOW_TIMERS;
    use xoff_units::Time;

    #[test]
    fn an_event_is_small_and_keeps_what_it_is_about() {
        assert_eq!(size_of::<Event>(), 24);
        for (number, kind) in Kind::BY_NUMBER.into_iter().enumerate().take(15) {
            assert_eq!(kind as usize, number);
            let e = Event::new(EventKey { time: Time(5), rank: 6 }, kind, PORTS_MAX as u32 - 1, 7);
            assert_eq!(
                (e.kind(), e.port(), e.arg, e.key()),
                (kind, PORTS_MAX as u32 - 1, 7, 5 << 64 | 6)
            );
        }
    }

    #[test]
    fn ranks_go_by_kind_then_entity_then_count() {
        let mut r = Ranks::new(EventOrder::Entity);
        let in_order = [
            r.of(Kind::FlowStart, 9, 0, 0),
            r.of(Kind::Arrive, 3, 0, 1),
            r.of(Kind::Arrive, 3, 0, 2),
            r.of(Kind::Arrive, 4, 0, 0),
        ];
        assert!(in_order.is_sorted());
        // The last timer of a flow, for repetitions of its source, precedes every timer of the next
        // host.
        assert!(
            r.of(Kind::FlowTimer, 4, FLOW_TIMERS - 1, FLOWS_MAX as u32 - 1)
                < r.of(Kind::FlowTimer, 5, 0, 0)
        );
        let last =
            r.of(Kind::FlowTimer, PORTS_MAX as u32 - 1, FLOW_TIMERS - 1, FLOWS_MAX as u32 - 1);
        assert!(
            r.of(Kind::FlowTimer, PORTS_MAX as u32 - 1, FLOW_TIMERS - 1, 0) < last
                && last < r.of(Kind::Look, 0, 0, 0),
            "no field reaches into the next"
        );
        assert!(r.of(Kind::FlowStart, FLOWS_MAX as u32 - 1, 0, 0) < r.of(Kind::Emit, 0, 0, 0));
        let mut r = Ranks::new(EventOrder::Insertion);
        assert!(r.of(Kind::DeadlockDetector, 0, 0, 0) < r.of(Kind::FlowStart, 0, 0, 0));
    }
}
