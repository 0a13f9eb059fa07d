//! The pending-event set: a wheel of buckets for the near future, a heap for the rest.
//!
//! ```text
//!   now |current|  bucket  |  bucket  | ... thousands of buckets ... |   far: heap
//!        sorted    unsorted   unsorted
//! ```
//!
//! A bucket is sorted when its turn comes, so that an event costs O(1) to insert and a share of one
//! small sort; an event that falls into the current bucket goes to a small separate heap. Order:
//! time, then the given rank; equal keys leave in no particular order, so callers make ranks unique
//! where order matters. What an event is about is the caller's ([`Pending`]): the packet simulator
//! and the simulator of scheduled fabrics have one each.
//!
//! Width and number of the buckets follow the density of events, which differs by a factor of
//! thousands between a ring of three switches and a fabric of 65,536 hosts, and between the burst
//! and the tail of one run. They change no order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use xoff_node::EventKey;
use xoff_units::{Time, prefetch_whole};

use crate::engine::event::Event;

mod sort;
mod trace;

pub(crate) use sort::sort;
pub use trace::{QueueTrace, Replayed};

/// Pending item: a small value that knows its place in the order of events.
pub trait Pending: Copy + Ord {
    /// No event, for filling arrays.
    const NONE: Self;
    /// Time of the event [ps].
    fn time(&self) -> u64;
    /// Place among equal times.
    fn rank(&self) -> u64;
    /// Time and rank together.
    #[inline(always)]
    fn event_key(&self) -> EventKey {
        EventKey { time: Time(self.time()), rank: self.rank() }
    }
    /// Time, then rank, in one number: one comparison without a branch instead of two with. The
    /// order of [`Ord`].
    #[inline(always)]
    fn key(&self) -> u128 {
        (self.time() as u128) << 64 | self.rank() as u128
    }
}

/// Buckets at least: their heads fit the first-level cache. And at most.
const BUCKETS: usize = 1 << 12;
const BUCKETS_MAX: usize = 1 << 17;
/// Different times in a bucket from which on narrower ones pay, although there must be more of them
/// to reach as far.
const CROWDED: u64 = 64;
/// Events in a bucket below which wider ones pay.
const LONELY: u64 = 3;
/// Largest memory of an empty bucket that is passed on [events]; the memory of a burst would be
/// idle in the next one.
const SPARE_MAX: usize = 1 << 10;
/// Buckets, or events, after which the width is checked again.
const REVIEW_BUCKETS: u64 = 1 << 12;
const REVIEW_EVENTS: u64 = 1 << 16;
/// Number of buckets from one count of the times in a bucket to the next.
const COUNT_EVERY: u64 = 16;
/// Widest bucket, as a power of two [ps]: 1 ms.
const SHIFT_MAX: u32 = 30;

/// Activity since the last check of the width.
#[derive(Clone, Copy, Debug, Default)]
struct Review {
    /// Buckets whose turn came.
    buckets: u64,
    /// Events in them.
    events: u64,
    /// Different times in those buckets that were counted, and how many were.
    times: u64,
    counted: u64,
    /// Events that were pushed beyond the last bucket.
    far: u64,
}

/// The pending events.
pub struct EventQueue<E: Pending = Event> {
    /// log2 of the bucket width [ps].
    shift: u32,
    /// Number of the current bucket (time >> shift).
    at: u64,
    /// Events of the current bucket, latest first.
    current: Vec<E>,
    /// Events that were added to the current bucket after it was sorted.
    added: BinaryHeap<Reverse<E>>,
    buckets: Vec<Vec<E>>,
    /// Place of the bucket after the current one, as it was when the turn of the current one came.
    following: usize,
    /// Buckets whose turn has come.
    buckets_begun: u64,
    /// Memory of buckets that are empty again. Only some buckets hold anything at a time; passing
    /// their memory round keeps it in the cache.
    spare: Vec<Vec<E>>,
    /// For sorting a bucket ahead of its turn, and how many events it held then.
    scratch: Vec<E>,
    sorted_ahead: usize,
    /// Bit per bucket that is not empty.
    occupied: Vec<u64>,
    far: BinaryHeap<Reverse<E>>,
    review: Review,
    trace: Option<Box<QueueTrace<E>>>,
}

impl<E: Pending> EventQueue<E> {
    /// An empty queue whose buckets reach about `reach_ps` and are as wide as that needs, but about
    /// `bucket_ps` wide if that is narrower and not too many are needed.
    pub fn new(bucket_ps: u64, reach_ps: u64) -> Self {
        let shift_of = |ps: u64| ps.max(1).ilog2();
        let widest = (shift_of(reach_ps) + 1).saturating_sub(BUCKETS.ilog2());
        let narrowest = (shift_of(reach_ps) + 1).saturating_sub(BUCKETS_MAX.ilog2());
        let shift = shift_of(bucket_ps).clamp(narrowest, widest);
        EventQueue::sized(shift, BUCKETS << (widest - shift))
    }

    fn sized(shift: u32, buckets: usize) -> Self {
        EventQueue {
            shift,
            at: 0,
            current: Vec::new(),
            added: BinaryHeap::new(),
            buckets: vec![Vec::new(); buckets],
            following: 0,
            buckets_begun: 0,
            spare: Vec::new(),
            scratch: Vec::new(),
            sorted_ahead: 0,
            occupied: vec![0; buckets / 64],
            far: BinaryHeap::new(),
            review: Review::default(),
            trace: None,
        }
    }

    /// Holds these events and no others.
    pub(crate) fn refill(&mut self, events: Vec<E>) {
        let first = events.iter().map(|e| e.time()).min();
        *self = EventQueue::sized(self.shift, self.buckets.len());
        self.at = first.map_or(0, |time| time >> self.shift);
        events.into_iter().for_each(|e| self.place(e));
    }

    /// Notes a number of the next operations.
    pub(crate) fn trace(&mut self, operations_max: usize) {
        self.trace = Some(Box::new(QueueTrace::new(self, operations_max)));
    }

    /// The operations noted.
    pub(crate) fn take_trace(&mut self) -> Option<QueueTrace<E>> {
        self.trace.take().map(|t| *t)
    }

    /// All that is pending, in no particular order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &E> {
        let heaps = self.added.iter().chain(&self.far).map(|Reverse(e)| e);
        self.current.iter().chain(self.occupied().flat_map(|slot| &self.buckets[slot])).chain(heaps)
    }

    /// The places of buckets that hold something.
    fn occupied(&self) -> impl Iterator<Item = usize> {
        let words = self.occupied.iter().enumerate().filter(|w| *w.1 != 0);
        words.flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| at * 64 + bit)
        })
    }

    /// Keeps only some of the pending events.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&E) -> bool) {
        self.sorted_ahead = 0; // the sorted part may be shorter now
        self.current.retain(&keeps);
        self.added.retain(|Reverse(e)| keeps(e));
        self.far.retain(|Reverse(e)| keeps(e));
        for slot in 0..self.buckets.len() {
            let events = &mut self.buckets[slot];
            if !events.is_empty() {
                events.retain(&keeps);
                if events.is_empty() {
                    self.occupied[slot / 64] &= !(1 << (slot % 64));
                }
            }
        }
    }

    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, e: E) {
        if let Some(t) = &mut self.trace {
            t.emit(Some(e));
        }
        self.place(e);
    }

    #[inline(always)]
    fn place(&mut self, e: E) {
        let bucket = e.time() >> self.shift;
        if bucket <= self.at {
            self.added.push(Reverse(e));
        } else if bucket - self.at < self.buckets.len() as u64 {
            self.put(bucket, e);
        } else {
            self.review.far += 1;
            self.far.push(Reverse(e));
        }
    }

    /// Position of a bucket in the wheel.
    #[inline]
    fn slot(&self, bucket: u64) -> usize {
        bucket as usize & (self.buckets.len() - 1)
    }

    #[inline(always)]
    fn put(&mut self, bucket: u64, e: E) {
        let slot = self.slot(bucket);
        let events = &mut self.buckets[slot];
        if events.is_empty() {
            self.occupied[slot / 64] |= 1 << (slot % 64);
            if let Some(spare) = self.spare.pop() {
                *events = spare;
            }
        }
        events.push(e);
    }

    /// Time of the next event.
    pub fn peek(&mut self) -> Option<EventKey> {
        if self.current.is_empty() && self.added.is_empty() && !self.advance() {
            return None;
        }
        let added = self.added.peek().map(|Reverse(e)| e.event_key());
        self.current.last().map(E::event_key).into_iter().chain(added).min()
    }

    /// Takes the next event if it happens before `bound`.
    #[inline(always)]
    pub fn pop_before(&mut self, bound: EventKey) -> Option<E> {
        // By far the usual case: the bucket has not run out, and nothing was added to it after its
        // turn had come.
        match self.current.last() {
            Some(e) if self.added.is_empty() => {
                if e.event_key() >= bound {
                    return None;
                }
            }
            _ => return self.pop_slowly(bound),
        }
        self.note_pop();
        self.current.pop()
    }

    #[inline(never)]
    fn pop_slowly(&mut self, bound: EventKey) -> Option<E> {
        if self.current.is_empty() && self.added.is_empty() && !self.advance() {
            return None;
        }
        let added = self.added.peek().map(|Reverse(e)| *e);
        let first = self.current.last().copied();
        let added_first = match (&first, &added) {
            (Some(e), Some(a)) => a < e,
            (first, _) => first.is_none(),
        };
        let e = if added_first { added } else { first }.filter(|e| e.event_key() < bound)?;
        self.note_pop();
        if added_first {
            self.added.pop();
        } else {
            self.current.pop();
        }
        Some(e)
    }

    #[inline]
    fn note_pop(&mut self) {
        if let Some(t) = &mut self.trace {
            t.emit(None);
        }
    }

    /// The event that comes about `distance` events after the next one: a guess, for asking for its
    /// memory.
    #[inline]
    pub(crate) fn ahead(&self, distance: usize) -> Option<&E> {
        match self.current.len().checked_sub(distance + 1) {
            Some(at) => Some(&self.current[at]),
            None => {
                let following = &self.buckets[self.following];
                following.get((following.len() + self.current.len()).checked_sub(distance + 1)?)
            }
        }
    }

    /// Next event, as far as the current bucket reaches.
    #[inline]
    pub(crate) fn soon(&self, distance: usize) -> Option<&E> {
        self.current.get(self.current.len().wrapping_sub(distance + 1))
    }

    /// Buckets whose turn has come.
    #[inline]
    pub(crate) fn buckets_begun(&self) -> u64 {
        self.buckets_begun
    }

    /// The events of the bucket whose turn comes next, as far as they were known when the turn of
    /// the current one came, in no particular order unless they were sorted.
    #[inline]
    pub(crate) fn upcoming(&self) -> &[E] {
        &self.buckets[self.following]
    }

    /// Sorts the bucket whose turn comes next, so that [`EventQueue::ahead`] is right beyond the
    /// current one too: a small part of events that are not prefetched would cause most of the
    /// waiting in a large network. Few events come into it later.
    pub(crate) fn sort_upcoming(&mut self) {
        self.following = self.next_occupied(self.at).map_or(0, |b| self.slot(b));
        let bucket = &mut self.buckets[self.following];
        self.sorted_ahead = bucket.len();
        sort(bucket, &mut self.scratch);
        std::mem::swap(bucket, &mut self.scratch);
    }

    /// Prefetches the memory of the events of the bucket after the next one.
    pub(crate) fn prefetch_after_next(&self) {
        if let Some(after) = self.next_occupied(self.at).and_then(|next| self.next_occupied(next)) {
            prefetch_whole(&*self.buckets[self.slot(after)]);
        }
    }

    /// Moves to the next bucket that holds something.
    fn advance(&mut self) -> bool {
        if self.review.buckets >= REVIEW_BUCKETS || self.review.events >= REVIEW_EVENTS {
            self.adapt();
        }
        let near = self.next_occupied(self.at);
        let far = self.far.peek().map(|Reverse(e)| e.time() >> self.shift);
        // After a change of width, due events may already be in the heap next to the current
        // bucket.
        let Some(at) = near.into_iter().chain(far).min() else { return !self.added.is_empty() };
        if !self.added.is_empty() {
            return true;
        }
        self.at = at;
        while let Some(Reverse(e)) = self.far.peek() {
            let bucket = e.time() >> self.shift;
            if bucket - self.at >= self.buckets.len() as u64 {
                break;
            }
            let Some(Reverse(e)) = self.far.pop() else { break };
            self.put(bucket, e);
        }
        let slot = self.slot(self.at);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        let mut bucket = std::mem::take(&mut self.buckets[slot]);
        if bucket.len() == 1 || slot == self.following && bucket.len() == self.sorted_ahead {
            std::mem::swap(&mut self.current, &mut bucket);
        } else {
            sort(&mut bucket, &mut self.current);
        }
        self.sorted_ahead = 0;
        bucket.clear();
        if bucket.capacity() <= SPARE_MAX {
            self.spare.push(bucket);
        }
        self.buckets_begun += 1;
        self.review.buckets += 1;
        self.review.events += self.current.len() as u64;
        if self.review.buckets.is_multiple_of(COUNT_EVERY) {
            self.review.counted += 1;
            self.review.times += self.current.chunk_by(|a, b| a.time() == b.time()).count() as u64;
        }
        true
    }

    /// Chooses a new width and number of buckets. The current bucket is empty.
    fn adapt(&mut self) {
        let r = std::mem::take(&mut self.review);
        let (mut shift, mut buckets) = (self.shift, self.buckets.len());
        if r.far * 4 > r.events || r.events < LONELY * r.buckets {
            shift += 1;
            buckets = (buckets / 2).max(BUCKETS);
        } else if r.times > CROWDED * r.counted && buckets < BUCKETS_MAX && shift > 0 {
            shift -= 1;
            buckets *= 2;
        }
        let shift = shift.min(SHIFT_MAX);
        if (shift, buckets) == (self.shift, self.buckets.len()) {
            return;
        }
        let start = self.at << self.shift;
        let mut events: Vec<E> = self.far.drain().map(|Reverse(e)| e).collect();
        self.buckets.iter_mut().for_each(|b| events.append(b));
        self.shift = shift;
        self.at = start >> shift;
        self.buckets.resize(buckets, Vec::new());
        self.occupied = vec![0; buckets / 64];
        events.into_iter().for_each(|e| self.place(e));
        self.review = Review::default();
        // There may be fewer buckets now than the place that was kept, and the next event may be
        // elsewhere.
        self.following = self.next_occupied(self.at).map_or(0, |b| self.slot(b));
        self.sorted_ahead = 0;
    }

    /// Number of the first occupied bucket after this one.
    fn next_occupied(&self, after: u64) -> Option<u64> {
        let start = self.slot(after + 1);
        let words = self.occupied.len();
        // One word more than there are: the first word is examined in two halves.
        for i in 0..=words {
            let w = (start / 64 + i) & (words - 1);
            let mut bits = self.occupied[w];
            if i == 0 {
                bits &= !0 << (start % 64);
            } else if i == words {
                bits &= !(!0 << (start % 64));
            }
            if bits != 0 {
                let slot = (w * 64) as u64 + bits.trailing_zeros() as u64;
                let distance = slot.wrapping_sub(start as u64) & (self.buckets.len() as u64 - 1);
                return Some(after + 1 + distance);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::Kind;
    use std::collections::BTreeSet;

    pub(super) fn event(time: u64, rank: u64) -> Event {
        Event::new(EventKey { time: Time(time), rank }, Kind::Wake, 0, 0)
    }

    pub(super) fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *state >> 33
    }

    /// Against a sorted list, through densities that make the buckets narrower and wider: pushes
    /// between pops, random times over every distance, bursts of equal times.
    #[test]
    fn leaves_in_order_of_time_then_rank_whatever_the_width() {
        let mut state = 12345;
        let mut q = EventQueue::<Event>::sized(10, BUCKETS);
        let mut widths = BTreeSet::from([(q.shift, q.buckets.len())]);
        let mut reference = BTreeSet::new();
        let (mut now, mut rank) = (0u64, 0);
        for phase in 0..5 {
            // Mean distance of a push, and how many events are kept pending.
            let (spread, pending) = [
                (3_000_000, 2_000),
                (3_000_000, 60_000),
                (50_000_000, 300),
                (1_000, 1_000),
                (4_000_000_000, 50),
            ][phase];
            for _ in 0..200_000 {
                while reference.len() < pending {
                    let distance = match random(&mut state) % 8 {
                        0 => 0,
                        1 => spread / 3,
                        2 => random(&mut state) % (40 * spread),
                        _ => random(&mut state) % spread,
                    };
                    rank += 1;
                    q.push(event(now + distance, rank));
                    reference.insert(event(now + distance, rank).key());
                }
                let want = reference.pop_first().unwrap();
                let e = q.pop_before(EventKey::NEVER).unwrap();
                assert_eq!(e.key(), want);
                now = e.time();
                // A guess about what comes next may be wrong after a change of width, but there is
                // one.
                let _ = (q.ahead(0), q.ahead(7), q.upcoming().len());
            }
            widths.insert((q.shift, q.buckets.len()));
        }
        assert!(widths.len() > 3, "{widths:?}");
        while let Some(want) = reference.pop_first() {
            let at = q.peek().unwrap();
            assert_eq!((at.time.0 as u128) << 64 | at.rank as u128, want);
            assert!(q.pop_before(at).is_none(), "not before itself");
            assert_eq!(q.pop_before(EventKey::NEVER).unwrap().key(), want);
        }
        assert!(q.pop_before(EventKey::NEVER).is_none() && q.peek().is_none());
    }
}
