//! The sender half of PFFC: which queue a frame goes into, and which queue goes next.
//!
//! A flow's frames leave in the order in which they came, whatever the messages. Two rules see to
//! it, and both are needed because messages come at any time:
//!
//! - MIGRATE leaves frames of the flow behind in the default queue. Should RESUME come before they
//!   have left, they go before the pause queue: a pause queue has the right of way over default
//!   frames that came after its last MIGRATE only.
//! - MIGRATE-BACK takes effect when the pause queue is empty. Until then the flow's frames keep
//!   joining it, but have no right of way: they leave in the order of their arrival among the
//!   default ones, as if they stood there. Should PAUSE come again in between, all of the flow
//!   stops, and the default queue need not.
//!
//! And a message that never arrives has no lasting effect:
//!
//! - A pause ends with its time. Its queue then continues in FIFO order: only RESUME gives the
//!   right of way.
//! - A detour ends when its queue is empty and not paused, MIGRATE-BACK or not.
//!
//! MIGRATE may come before its PAUSE, which came late or was lost and sent again: the detour then
//! begins with the PAUSE. RESUME of an empty queue, or the end of a pause, makes it void.

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use xoff_units::state::{Meaning, State, Walk};
use xoff_units::{Bytes, FlowId, Rate, Time};

use super::super::parked::Parked;
use super::super::{FlowSender, Gate, Message};
use super::{Order, Params};

/// Queue of the frames of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
enum Place {
    #[default]
    Default,
    /// Into its pause queue as soon as that is paused, until it is empty and not paused; its
    /// detours had ended that many times at the MIGRATE.
    Away(u32),
}

/// A frame that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
struct Waiting {
    #[state(frame)]
    handle: u32,
    /// Number in the order of arrival.
    #[state(counter)]
    nth: u64,
}

/// A pause queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
struct Queue {
    frames: VecDeque<Waiting>,
    /// End of its pause; zero: none, never: until resumed.
    paused_until: Time,
    /// Default frames with smaller numbers may be those that a guest has left behind.
    behind: u64,
    /// Frames with smaller numbers have the right of way since the last RESUME.
    first: u64,
    /// Number of ended detours: its last frame left, or the queue was empty when its pause ended.
    emptied: u32,
}

impl Queue {
    /// All detours through it are over: nothing waits in it and nothing has to.
    fn is_idle(&self, now: Time) -> bool {
        self.frames.is_empty() && now >= self.paused_until
    }

    /// All detours through it end, and no earlier MIGRATE counts.
    fn end(&mut self) {
        self.paused_until = Time::ZERO;
        self.emptied = self.emptied.wrapping_add(1);
    }

    /// Ends the pause of an empty queue whose time is over.
    fn settle(&mut self, now: Time) {
        if self.paused_until != Time::ZERO && self.is_idle(now) {
            self.end();
        }
    }
}

/// The sender half, for one egress and priority.
#[derive(Clone, Debug, PartialEq, Eq, State)]
#[state(canonical)]
pub struct PffcSender {
    #[state(built)]
    p: Params,
    line: Rate,
    /// By slot; empty until the first message.
    places: Vec<Place>,
    default: VecDeque<Waiting>,
    queues: Vec<Queue>,
    /// Pause queues in which frames wait, one bit each.
    filled: u64,
    /// Frames that have come.
    count: u64,
    /// Held flows of a source, by queue and slot.
    #[state(built)] // a source that is restored asks about all of its flows
    parked: Parked,
}

/// Keys of a pause queue's parked flows.
fn keys_of(queue: u16) -> RangeInclusive<u64> {
    u64::from(queue) << 16..=u64::from(queue) << 16 | 0xffff
}

impl PffcSender {
    /// A sender with empty queues.
    pub fn new(p: &Params, line: Rate) -> Self {
        let queues = vec![Queue::default(); p.queues as usize];
        PffcSender {
            p: p.clone(),
            line,
            places: Vec::new(),
            default: VecDeque::new(),
            queues,
            filled: 0,
            count: 0,
            parked: Parked::default(),
        }
    }

    /// The pause queue into which a frame of this flow would go now; `None`: the default queue.
    pub fn queue_of(&self, now: Time, flow: FlowId) -> Option<u16> {
        if self.places.is_empty() {
            return None;
        }
        let slot = self.p.slot(flow);
        let queue = slot % self.p.queues;
        self.is_away(now, slot).then_some(queue)
    }

    fn is_away(&self, now: Time, slot: u16) -> bool {
        let q = &self.queues[(slot % self.p.queues) as usize];
        self.places.get(slot as usize) == Some(&Place::Away(q.emptied)) && !q.is_idle(now)
    }

    /// Pause queues in which frames wait, whether they may go or not.
    fn filled(&self) -> impl Iterator<Item = usize> {
        let mut left = self.filled;
        std::iter::from_fn(move || {
            let at = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(at)
        })
    }

    /// Queue to serve next: `Some(None)` the default queue, `None` no queue.
    fn next(&self, now: Time) -> Option<Option<usize>> {
        let default = self.default.front().map_or(u64::MAX, |f| f.nth);
        let (mut first, mut oldest) = ((u64::MAX, None), (default, None));
        for at in self.filled() {
            let q = &self.queues[at];
            if now < q.paused_until {
                continue;
            }
            let head = (q.frames[0].nth, Some(at));
            if head.0 < q.first && default >= q.behind {
                first = first.min(head);
            }
            oldest = oldest.min(head);
        }
        [first, oldest].into_iter().find(|(nth, _)| *nth != u64::MAX).map(|(_, queue)| queue)
    }

    fn obey(&mut self, now: Time, order: Order) {
        let queue = match order {
            Order::Pause(queue, _) | Order::Resume(queue) => queue,
            Order::Migrate(slot) | Order::MigrateBack(slot) => slot % self.p.queues,
        };
        let ended = |s: &PffcSender| s.queues.get(queue as usize).map(|q| q.emptied);
        let before = ended(self);
        self.carry_out(now, order);
        if ended(self) != before {
            self.parked.free(keys_of(queue));
        } else if let Order::MigrateBack(slot) = order
            && !self.is_away(now, slot)
        {
            self.parked.free(self.key(slot)..=self.key(slot));
        }
    }

    /// Key of a slot's parked flows.
    fn key(&self, slot: u16) -> u64 {
        keys_of(slot % self.p.queues).start() | u64::from(slot)
    }

    fn carry_out(&mut self, now: Time, order: Order) {
        match order {
            Order::Pause(queue, pause) => {
                let Some(q) = self.queues.get_mut(queue as usize) else { return };
                q.settle(now);
                if q.is_idle(now) {
                    // Who is led here by a MIGRATE that came before it has frames in the default
                    // queue up to now.
                    q.behind = self.count;
                }
                q.paused_until = pause.ends(now, self.line);
            }
            Order::Resume(queue) => {
                let Some(q) = self.queues.get_mut(queue as usize) else { return };
                if q.frames.is_empty() {
                    q.end();
                } else if q.paused_until != Time::ZERO {
                    q.paused_until = Time::ZERO;
                    q.first = self.count;
                }
            }
            Order::Migrate(slot) => self.migrate(now, slot, true),
            Order::MigrateBack(slot) => self.migrate(now, slot, false),
        }
    }

    fn migrate(&mut self, now: Time, slot: u16, away: bool) {
        if self.places.is_empty() {
            self.places = vec![Place::default(); self.p.slots as usize];
        }
        let is_away = self.is_away(now, slot);
        let queue = &mut self.queues[(slot % self.p.queues) as usize];
        queue.settle(now);
        let Some(place) = self.places.get_mut(slot as usize) else { return };
        if away && !is_away {
            queue.behind = self.count;
            *place = Place::Away(queue.emptied);
        } else if !away && queue.frames.is_empty() {
            *place = Place::Default;
        }
    }
}

impl PffcSender {
    /// Numbers below those of all frames that wait, or come, mean nothing, and neither do detours
    /// that have ended.
    fn compare<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        fn limit<W: Walk>(w: &mut W, limit: u64, head: Option<&Waiting>) -> Result<(), W::Stop> {
            let counts = head.is_some_and(|h| h.nth < limit);
            counts.walk(w)?;
            if counts { w.number(Meaning::Counter, limit) } else { Ok(()) }
        }
        let PffcSender { p, line: _, places, default, queues, filled: _, count, parked: _ } = self;
        let away = |(slot, place): (usize, &Place)| {
            *place == Place::Away(queues[slot % p.queues as usize].emptied)
        };
        places.iter().enumerate().map(away).collect::<Vec<bool>>().walk(w)?;
        default.walk(w)?;
        queues.len().walk(w)?;
        for Queue { frames, paused_until, behind, first, emptied: _ } in queues {
            frames.walk(w)?;
            w.number(Meaning::Deadline, paused_until.0)?;
            // True if RESUME has an effect.
            (*paused_until != Time::ZERO).walk(w)?;
            limit(w, *behind, default.front())?;
            limit(w, *first, frames.front())?;
        }
        w.number(Meaning::Counter, *count)
    }
}

impl FlowSender for PffcSender {
    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn push(&mut self, now: Time, handle: u32, flow: FlowId, _len: Bytes) {
        let frame = Waiting { handle, nth: self.count };
        self.count += 1;
        match self.queue_of(now, flow) {
            None => self.default.push_back(frame),
            Some(q) => {
                self.queues[q as usize].frames.push_back(frame);
                self.filled |= 1 << q;
            }
        }
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn head(&self, now: Time) -> Option<(u32, bool)> {
        match self.next(now) {
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
    fn pop(&mut self, now: Time) -> Option<u32> {
        let frame = match self.next(now)? {
            None => self.default.pop_front()?,
            Some(at) => self.take(at)?,
        };
        Some(frame.handle)
    }

    fn discard(&mut self) -> Option<u32> {
        let frame = self
            .default
            .pop_front()
            .or_else(|| (0..self.queues.len()).find_map(|at| self.take(at)))?;
        Some(frame.handle)
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn flow_gate(&self, now: Time, flow: FlowId) -> Gate {
        let until =
            self.queue_of(now, flow).map_or(Time::ZERO, |q| self.queues[q as usize].paused_until);
        gate(now, until)
    }

    #[cold]
    fn whole_gate(&self, now: Time) -> Gate {
        gate(now, self.queues.iter().map(|q| q.paused_until).max().unwrap_or(Time::ZERO))
    }

    #[cold]
    fn park(&mut self, flow: FlowId, handle: u32) {
        self.parked.park(self.key(self.p.slot(flow)), handle);
    }

    #[cold]
    fn unpark(&mut self, flow: FlowId, handle: u32) -> bool {
        self.parked.unpark(self.key(self.p.slot(flow)), handle)
    }

    #[cold]
    fn freed(&mut self, now: Time) -> BTreeSet<u32> {
        if self.parked.is_unused() {
            return BTreeSet::new();
        }
        for (queue, q) in (0..).zip(&self.queues) {
            if q.paused_until != Time::ZERO && now >= q.paused_until {
                self.parked.free(keys_of(queue));
            }
        }
        self.parked.freed()
    }

    #[cold]
    fn parked_until(&self) -> Time {
        let pauses = (0..).zip(self.queues.iter().map(|q| q.paused_until));
        let held =
            |&(queue, until): &(u16, Time)| until != Time::NEVER && self.parked.has(keys_of(queue));
        pauses.filter(held).map(|(_, until)| until).min().unwrap_or(Time::NEVER)
    }

    #[cold]
    fn any_parked(&self, f: &mut dyn FnMut(u32) -> bool) -> bool {
        self.parked.handles().any(f)
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn on_message(&mut self, now: Time, message: Message) {
        if let Message::Flow(order) = message {
            self.obey(now, order);
        }
    }

    fn is_possible(&self, message: Message) -> bool {
        match message {
            Message::Flow(Order::Pause(queue, _) | Order::Resume(queue)) => queue < self.p.queues,
            Message::Flow(Order::Migrate(slot) | Order::MigrateBack(slot)) => {
                u32::from(slot) < self.p.slots
            }
            _ => true,
        }
    }

    #[cold]
    fn restart(&mut self, now: Time) {
        for queue in 0..self.p.queues {
            self.obey(now, Order::Resume(queue));
        }
    }

    fn rate(&self) -> Rate {
        self.line
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn gate(&self, now: Time) -> Gate {
        if !self.default.is_empty() {
            return Gate::Open;
        }
        let first = self.filled().map(|at| self.queues[at].paused_until).min();
        gate(now, first.unwrap_or(Time::ZERO))
    }

    fn for_each(&self, f: &mut dyn FnMut(u32)) {
        self.default
            .iter()
            .chain(self.queues.iter().flat_map(|q| &q.frames))
            .for_each(|w| f(w.handle));
    }
}

/// Gate of a queue that is paused until `until`.
fn gate(now: Time, until: Time) -> Gate {
    match until {
        _ if now >= until => Gate::Open,
        Time::NEVER => Gate::Blocked,
        _ => Gate::Until(until),
    }
}

impl PffcSender {
    /// Removes the head of a pause queue, paused or not.
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
