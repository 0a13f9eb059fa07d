//! The virtual clock of a partition of the network: the present event and its place in the order of
//! the network.

use xoff_node::EventKey;
use xoff_units::state::State;
use xoff_units::{Span, Time};

/// The present event.
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct Clock {
    /// Time of the event.
    pub now: Time,
    /// Rank among equal times.
    rank: u64,
    /// The latest event that has asked for one of its own instant and a lower rank, which then
    /// still came after it.
    floor: EventKey,
    /// Time skipped by fast-forward: the time of the run is later than the nodes' time by this
    /// span.
    pub skipped: Span,
}

impl Clock {
    /// Before the first event.
    pub fn new() -> Clock {
        Clock { now: Time::ZERO, rank: 0, floor: EventKey::START, skipped: Span::ZERO }
    }

    /// The present event.
    #[inline]
    pub fn event_key(&self) -> EventKey {
        EventKey { time: self.now, rank: self.rank }
    }

    /// The time of the run.
    pub fn of_run(&self) -> Time {
        self.now + self.skipped
    }

    /// The place of the present event among all events of the network: the sort key of rows.
    /// That is its time, unless an event of the same instant and a higher rank asked for it.
    pub fn place(&self) -> EventKey {
        self.event_key().max(self.floor)
    }

    /// An event happens: everything before it is past.
    #[inline(always)]
    pub fn reach(&mut self, at: EventKey) {
        (self.now, self.rank) = (at.time, at.rank);
    }

    /// Another unit of nodes has its turn, whose time is its own.
    #[inline(always)]
    pub fn take_turn(&mut self) {
        self.floor = EventKey::START;
    }

    /// The present event requests another one of its own instant.
    pub fn stay(&mut self) {
        self.floor = self.place();
    }
}
