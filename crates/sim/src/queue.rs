//! The pending-event set: a wheel of buckets for the near future, a heap for the rest.
//!
//! ```text
//!   now |current|  bucket  |  bucket  | ... 4096 buckets ... |   far: heap
//!        sorted    unsorted   unsorted
//! ```
//!
//! A bucket is sorted when its turn comes, so that an event costs O(1) to insert and a share of one small sort; an
//! event that falls into the current bucket goes to a small heap beside it. Order: time, then the given key; equal
//! keys leave in no particular order, so callers make keys unique where order matters.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use xoff_node::Moment;

use crate::event::Event;

mod trace;

pub use trace::{QueueTrace, Replayed};

const BUCKETS: u64 = 4096;

/// The pending events.
pub struct EventQueue {
    /// log2 of the bucket width [ps].
    shift: u32,
    /// Number of the current bucket (time >> shift).
    at: u64,
    /// Events of the current bucket, latest first.
    current: Vec<Event>,
    /// Events that were added to the current bucket after it was sorted.
    added: BinaryHeap<Reverse<Event>>,
    buckets: Vec<Vec<Event>>,
    /// Memory of buckets that are empty again. Only some buckets hold anything at a time; passing their memory round keeps
    /// it in the cache.
    spare: Vec<Vec<Event>>,
    /// One bit per bucket that holds something.
    occupied: Vec<u64>,
    far: BinaryHeap<Reverse<Event>>,
    len: usize,
    trace: Option<Box<QueueTrace>>,
}

impl EventQueue {
    /// An empty queue whose buckets are about `bucket_ps` wide.
    pub fn new(bucket_ps: u64) -> Self {
        EventQueue {
            shift: bucket_ps.max(1).ilog2(),
            at: 0,
            current: Vec::new(),
            added: BinaryHeap::new(),
            buckets: vec![Vec::new(); BUCKETS as usize],
            spare: Vec::new(),
            occupied: vec![0; BUCKETS as usize / 64],
            far: BinaryHeap::new(),
            len: 0,
            trace: None,
        }
    }

    /// Notes the next operations, so many of them.
    pub(crate) fn trace(&mut self, operations_max: usize) {
        self.trace = Some(Box::new(QueueTrace::new(self, operations_max)));
    }

    /// The operations noted.
    pub(crate) fn take_trace(&mut self) -> Option<QueueTrace> {
        self.trace.take().map(|t| *t)
    }

    /// All that is pending, in no particular order.
    fn pending(&self) -> impl Iterator<Item = &Event> {
        let heaps = self.added.iter().chain(&self.far).map(|Reverse(e)| e);
        self.current.iter().chain(self.buckets.iter().flatten()).chain(heaps)
    }

    /// Events pending.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Nothing pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn push(&mut self, e: Event) {
        if let Some(t) = &mut self.trace {
            t.note(Some(e));
        }
        self.len += 1;
        let bucket = e.time() >> self.shift;
        if bucket <= self.at {
            self.added.push(Reverse(e));
        } else if bucket - self.at < BUCKETS {
            self.put(bucket, e);
        } else {
            self.far.push(Reverse(e));
        }
    }

    #[inline]
    fn put(&mut self, bucket: u64, e: Event) {
        let slot = (bucket % BUCKETS) as usize;
        let events = &mut self.buckets[slot];
        if events.is_empty() {
            self.occupied[slot / 64] |= 1 << (slot % 64);
            if let Some(spare) = self.spare.pop() {
                *events = spare;
            }
        }
        events.push(e);
    }

    /// The next event.
    #[inline]
    fn first(&mut self) -> Option<&Event> {
        if self.current.is_empty() && self.added.is_empty() && !self.advance() {
            return None;
        }
        match (self.current.last(), self.added.peek()) {
            (Some(a), Some(Reverse(b))) => Some(if b < a { b } else { a }),
            (Some(a), None) => Some(a),
            (None, b) => b.map(|Reverse(b)| b),
        }
    }

    /// The event that comes about `distance` events after the next one, as far as it is known: what is added to the
    /// current bucket meanwhile is not counted.
    #[inline]
    pub(crate) fn ahead(&self, distance: usize) -> Option<&Event> {
        let at = self.current.len().checked_sub(distance + 1)?;
        Some(&self.current[at])
    }

    /// When the next event happens.
    pub(crate) fn peek(&mut self) -> Option<Moment> {
        self.first().map(Event::moment)
    }

    /// Takes the next event if it happens before `bound`.
    #[inline]
    pub(crate) fn pop_before(&mut self, bound: Moment) -> Option<Event> {
        let next = *self.first()?;
        if next.moment() >= bound {
            return None;
        }
        if let Some(t) = &mut self.trace {
            t.note(None);
        }
        self.len -= 1;
        if self.current.last().is_some_and(|e| e.key() == next.key()) {
            self.current.pop();
        } else {
            self.added.pop();
        }
        Some(next)
    }

    /// Moves to the next bucket that holds something.
    fn advance(&mut self) -> bool {
        if self.len == 0 {
            return false;
        }
        let near = self.next_occupied();
        let far = self.far.peek().map(|Reverse(e)| e.time() >> self.shift);
        self.at = match (near, far) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).expect("len counts an event that is in no bucket"),
        };
        while let Some(Reverse(e)) = self.far.peek() {
            let bucket = e.time() >> self.shift;
            if bucket - self.at >= BUCKETS {
                break;
            }
            let Some(Reverse(e)) = self.far.pop() else { break };
            self.put(bucket, e);
        }
        let slot = (self.at % BUCKETS) as usize;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        self.spare.push(std::mem::replace(&mut self.current, std::mem::take(&mut self.buckets[slot])));
        self.current.sort_unstable_by(|a, b| b.cmp(a));
        true
    }

    /// Number of the first occupied bucket after the current one.
    fn next_occupied(&self) -> Option<u64> {
        let start = ((self.at + 1) % BUCKETS) as usize;
        let words = self.occupied.len();
        // One word more than there are: the first word is looked at in two halves.
        for i in 0..=words {
            let w = (start / 64 + i) % words;
            let mut bits = self.occupied[w];
            if i == 0 {
                bits &= !0 << (start % 64);
            } else if i == words {
                bits &= !(!0 << (start % 64));
            }
            if bits != 0 {
                let slot = (w * 64) as u64 + bits.trailing_zeros() as u64;
                return Some(self.at + 1 + (slot + BUCKETS - start as u64) % BUCKETS);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;

    const NEVER: Moment = Moment { time: Time::NEVER, rank: u64::MAX };

    fn event(time: u64, rank: u64) -> Event {
        Event::new(Moment { time: Time(time), rank }, Kind::Wake, 0, 0)
    }

    /// Against a sorted list: random times over every distance, pushes between pops.
    #[test]
    fn leaves_in_order_of_time_then_key() {
        let mut state = 12345u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        let mut q = EventQueue::new(1 << 10);
        let mut reference = std::collections::BTreeSet::new();
        let mut now = 0;
        for order in 0..20_000u64 {
            let distance = match random() % 4 {
                0 => 0,
                1 => random() % 1000,
                2 => random() % 4_000_000,
                _ => random() % 40_000_000,
            };
            q.push(event(now + distance, order));
            reference.insert((now + distance, order));
            if random() % 3 != 0 {
                let got = q.pop_before(NEVER).unwrap().key();
                assert_eq!(Some(got), reference.pop_first());
                now = got.0;
            }
        }
        while let Some(want) = reference.pop_first() {
            assert_eq!(q.peek().map(|m| (m.time.0, m.rank)), Some(want));
            assert!(q.pop_before(Moment { time: Time(want.0), rank: want.1 }).is_none(), "not before itself");
            assert_eq!(q.pop_before(NEVER).unwrap().key(), want);
        }
        assert!(q.pop_before(NEVER).is_none() && q.is_empty());
    }
}
