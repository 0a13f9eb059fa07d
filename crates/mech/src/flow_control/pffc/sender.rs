//! The sender half of PFFC: which queue a frame goes into, and which queue goes next.
//!
//! A flow's frames leave in the order in which they came, whatever the messages. Two rules see to it, and both are needed
//! because messages come at any time:
//!
//! - MIGRATE leaves frames of the flow behind in the default queue. Should RESUME come before they have left, they go before
//!   the pause queue: a pause queue has the right of way over default frames that came after its last MIGRATE only.
//! - MIGRATE-BACK takes effect when the pause queue is empty. Until then the flow's frames go on joining it, but have no right
//!   of way: they leave in the order of their arrival among the default ones, as if they stood there. Should PAUSE come again
//!   in between, all of the flow stops, and the default queue need not.

use std::collections::VecDeque;

use xoff_units::{Rate, Time};

use super::super::{FlowSender, Message};
use super::{Order, Params};

/// Where the frames of a slot go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Default,
    /// Into its pause queue.
    Away,
    /// Into its pause queue until that has been empty; it had been that many times when MIGRATE-BACK came.
    Returning(u32),
}

/// A frame that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    handle: u32,
    /// Its number in the order of arrival.
    nth: u64,
}

/// A pause queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    frames: VecDeque<Waiting>,
    /// Default frames with smaller numbers may be those that a guest has left behind.
    behind: u64,
    /// Frames with smaller numbers have the right of way since the last RESUME.
    first: u64,
    /// How often it has become empty.
    emptied: u32,
}

/// The sender half, for one egress and priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PffcSender {
    p: Params,
    line: Rate,
    /// By slot; empty until the first message.
    places: Vec<Place>,
    default: VecDeque<Waiting>,
    queues: Vec<Queue>,
    /// Pause queues in which frames wait, one bit each.
    filled: u64,
    /// Pause queues that are paused, one bit each.
    paused: u64,
    /// Frames that have come.
    count: u64,
}

impl PffcSender {
    /// A sender with empty queues.
    pub fn new(p: &Params, line: Rate) -> Self {
        let queues = vec![Queue::default(); p.queues as usize];
        PffcSender { p: p.clone(), line, places: Vec::new(), default: VecDeque::new(), queues, filled: 0, paused: 0, count: 0 }
    }

    /// The pause queue into which a frame of this flow would go now; `None`: the default queue.
    pub fn queue_of(&self, flow: u32) -> Option<u16> {
        if self.places.is_empty() {
            return None;
        }
        let slot = self.p.slot(flow);
        let queue = slot % self.p.queues;
        match self.places[slot as usize] {
            Place::Default => None,
            Place::Away => Some(queue),
            Place::Returning(emptied) => (self.queues[queue as usize].emptied == emptied).then_some(queue),
        }
    }

    fn is_paused(&self, queue: u16) -> bool {
        self.paused & 1 << queue != 0
    }

    /// Which queue goes next: `Some(None)` the default one, `None` none.
    fn next(&self) -> Option<Option<usize>> {
        let default = self.default.front().map_or(u64::MAX, |f| f.nth);
        let (mut first, mut oldest) = ((u64::MAX, None), (default, None));
        let mut open = self.filled & !self.paused;
        while open != 0 {
            let at = open.trailing_zeros() as usize;
            open &= open - 1;
            let q = &self.queues[at];
            let head = (q.frames[0].nth, Some(at));
            if head.0 < q.first && default >= q.behind {
                first = first.min(head);
            }
            oldest = oldest.min(head);
        }
        [first, oldest].into_iter().find(|(nth, _)| *nth != u64::MAX).map(|(_, queue)| queue)
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Pause(q) if q < self.p.queues => self.paused |= 1 << q,
            Order::Resume(q) if q < self.p.queues && self.is_paused(q) => {
                self.paused &= !(1 << q);
                self.queues[q as usize].first = self.count;
            }
            Order::Pause(_) | Order::Resume(_) => {}
            Order::Migrate(slot) => self.migrate(slot, true),
            Order::MigrateBack(slot) => self.migrate(slot, false),
        }
    }

    fn migrate(&mut self, slot: u16, away: bool) {
        if self.places.is_empty() {
            self.places = vec![Place::default(); self.p.slots as usize];
        }
        let queue = &mut self.queues[(slot % self.p.queues) as usize];
        let Some(place) = self.places.get_mut(slot as usize) else { return };
        let detour = match *place {
            Place::Default => false,
            Place::Away => true,
            Place::Returning(emptied) => emptied == queue.emptied,
        };
        *place = match (away, detour) {
            (true, true) => Place::Away,
            (true, false) => {
                queue.behind = self.count;
                Place::Away
            }
            (false, true) if !queue.frames.is_empty() => Place::Returning(queue.emptied),
            (false, _) => Place::Default,
        };
    }
}

impl FlowSender for PffcSender {
    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn push(&mut self, handle: u32, flow: u32) {
        let frame = Waiting { handle, nth: self.count };
        self.count += 1;
        match self.queue_of(flow) {
            None => self.default.push_back(frame),
            Some(q) => {
                self.queues[q as usize].frames.push_back(frame);
                self.filled |= 1 << q;
            }
        }
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn head(&self) -> Option<(u32, bool)> {
        match self.next() {
            Some(None) => self.default.front().map(|f| (f.handle, true)),
            Some(Some(q)) => self.queues[q].frames.front().map(|f| (f.handle, true)),
            None => {
                let held = self.queues.iter().filter_map(|q| q.frames.front());
                held.min_by_key(|f| f.nth).map(|f| (f.handle, false))
            }
        }
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn pop(&mut self) -> Option<u32> {
        let frame = match self.next()? {
            None => self.default.pop_front()?,
            Some(at) => self.take(at)?,
        };
        Some(frame.handle)
    }

    fn discard(&mut self) -> Option<u32> {
        let frame = self.default.pop_front().or_else(|| (0..self.queues.len()).find_map(|at| self.take(at)))?;
        Some(frame.handle)
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn holds_flow(&self, flow: u32) -> bool {
        self.queue_of(flow).is_some_and(|q| self.is_paused(q))
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn on_message(&mut self, _now: Time, message: Message) {
        if let Message::Flow(order) = message {
            self.obey(order);
        }
    }

    fn rate(&self) -> Rate {
        self.line
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn can_go(&self) -> bool {
        self.next().is_some() || self.filled == 0
    }

    fn for_each(&self, f: &mut dyn FnMut(u32)) {
        self.default.iter().chain(self.queues.iter().flat_map(|q| &q.frames)).for_each(|w| f(w.handle));
    }
}

impl PffcSender {
    /// Takes the head of a pause queue, whatever holds it.
    fn take(&mut self, at: usize) -> Option<Waiting> {
        let queue = &mut self.queues[at];
        let frame = queue.frames.pop_front()?;
        if queue.frames.is_empty() {
            queue.emptied = queue.emptied.wrapping_add(1);
            self.filled &= !(1 << at);
        }
        Some(frame)
    }
}
