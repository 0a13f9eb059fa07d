//! The pending events of a partition of the network: in one global order, or by window and unit.

use xoff_node::EventKey;
use xoff_units::state::{Broken, Reader, State, Value, Walk};

use crate::engine::event::Event;
use crate::engine::queue::{EventQueue, Pending};
use crate::engine::windows::Windows;

/// Engine for events. The result, including the hash, is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Window by window where that is possible and pays.
    #[default]
    Auto,
    /// Window by window where that is possible.
    Windows,
    /// All of them in one global order: the reference.
    Events,
}

/// The pending events.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each partition of the network, and the reference has no indirection to pay for"
)]
pub(crate) enum Calendar {
    /// In one global order.
    Global(EventQueue),
    /// By window and unit.
    ByWindow(Box<Windows>),
}

impl Calendar {
    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, e: Event) {
        match self {
            Calendar::Global(q) => q.push(e),
            Calendar::ByWindow(w) => w.push(e),
        }
    }

    /// All that is pending, in no particular order; by window, only between two passes.
    pub fn events(&self) -> Box<dyn Iterator<Item = &Event> + '_> {
        match self {
            Calendar::Global(q) => Box::new(q.pending()),
            Calendar::ByWindow(w) => Box::new(w.events()),
        }
    }

    /// Time of the next event; by window, only between two passes.
    pub fn peek(&mut self) -> Option<EventKey> {
        match self {
            Calendar::Global(q) => q.peek(),
            Calendar::ByWindow(w) => w.peek(),
        }
    }
}

/// The events, in either structure, and the start of the present window.
impl State for Calendar {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let mut events: Vec<&Event> = self.events().collect();
        events.sort_by_key(|e| (e.event_key(), e.kind(), e.port(), e.arg));
        w.list(events.into_iter())?;
        let start = match self {
            Calendar::Global(_) => None,
            Calendar::ByWindow(windows) => Some(windows.start()),
        };
        start.walk(w)
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        let (events, start): (Vec<Event>, Option<u64>) = Value::read(from)?;
        match (self, start) {
            (Calendar::Global(q), None) => q.refill(events),
            (Calendar::ByWindow(w), Some(start)) => w.refill(start, events),
            _ => return Err(Broken("events of the other engine")),
        }
        Ok(())
    }
}
