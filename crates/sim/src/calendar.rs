//! The pending events of a partition of the network: in one global order, or by window and unit.

use xoff_node::EventKey;

use crate::event::Event;
use crate::queue::EventQueue;
use crate::windows::Windows;

/// How events are handled. The result, hash included, is the same.
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

    /// When the next event happens; by window, only between two passes.
    pub fn peek(&mut self) -> Option<EventKey> {
        match self {
            Calendar::Global(q) => q.peek(),
            Calendar::ByWindow(w) => w.peek(),
        }
    }
}
