//! Sorts a bucket of the queue: few events, whose keys are close to each other.

use super::Pending;

/// Fills `into` with `events` in order, latest first. `events` are left in no particular order.
pub(crate) fn sort<E: Pending>(events: &mut [E], into: &mut Vec<E>) {
    into.clear();
    match events {
        _ if events.len() <= FEW => {
            // They mostly come in order, earliest first.
            for e in events.iter().rev() {
                let mut at = into.len();
                into.push(*e);
                while at > 0 && into[at - 1] < *e {
                    into[at] = into[at - 1];
                    at -= 1;
                }
                into[at] = *e;
            }
        }
        _ if events.len() <= SOME => {
            let mut keys = [0; SOME];
            match sort_keys(events, &mut keys) {
                Some(keys) => into.extend(keys.iter().rev().map(|key| events[place(*key)])),
                None => {
                    into.extend_from_slice(events);
                    sort_whole(into);
                }
            }
        }
        _ => {
            into.resize(events.len(), E::NONE);
            sort_many(events, into);
        }
    }
}

fn sort_many<E: Pending>(events: &mut [E], into: &mut [E]) {
    match events.len() {
        n if n <= SOME => {
            let mut keys = [0; SOME];
            return match sort_keys(events, &mut keys) {
                Some(keys) => {
                    for (to, key) in into.iter_mut().zip(keys.iter().rev()) {
                        *to = events[place(*key)];
                    }
                }
                None => {
                    into.copy_from_slice(events);
                    sort_whole(into);
                }
            };
        }
        n if n <= MANY => {}
        _ => {
            into.copy_from_slice(events);
            return sort_whole(into);
        }
    }
    let times = range(events, E::time);
    let later = if times.0 < times.1 {
        split(events, times, E::time)
    } else {
        split(events, range(events, E::rank), E::rank)
    };
    if later == events.len() {
        return into.copy_from_slice(events); // they are all alike
    }
    let (a, b) = events.split_at_mut(later);
    let (into_a, into_b) = into.split_at_mut(later);
    sort_many(a, into_a);
    sort_many(b, into_b);
}

#[cold]
fn sort_whole<E: Pending>(events: &mut [E]) {
    events.sort_unstable_by(|a, b| b.cmp(a));
}

/// The smallest and the largest.
fn range<E: Pending>(events: &[E], of: impl Fn(&E) -> u64) -> (u64, u64) {
    events.iter().map(of).fold((u64::MAX, 0), |(least, most), x| (least.min(x), most.max(x)))
}

/// Moves events of the upper half of a range before the rest, without a branch that cannot be
/// predicted. Returns their number.
fn split<E: Pending>(events: &mut [E], (least, most): (u64, u64), of: impl Fn(&E) -> u64) -> usize {
    let middle = least + (most - least).div_ceil(2);
    let mut upper = 0;
    for i in 0..events.len() {
        let is_upper = of(&events[i]) >= middle;
        events.swap(i, upper);
        upper += is_upper as usize;
    }
    upper
}

/// Up to here keys are not worth their making.
const FEW: usize = 6;
/// Up to here one integer holds what decides about the order of an event.
const SOME: usize = 32;
/// Up to here splitting is faster than the sort of the standard library; at 65,536 hosts, where
/// buckets are far larger, it is slower.
const MANY: usize = 128;
/// Bits of a key below its time: half of the rank, and the place in the bucket.
const BELOW_TIME: u32 = 32 + SOME.ilog2();

/// Place of an event in its bucket, from its key.
#[inline(always)]
fn place(key: u64) -> usize {
    key as usize % SOME
}

/// Keys of at most [`SOME`] events in order, earliest first; `None`: a key is too short for them.
#[inline(always)]
fn sort_keys<'k, E: Pending>(events: &[E], keys: &'k mut [u64; SOME]) -> Option<&'k [u64]> {
    let (mut first, mut last, mut ranks) = (u64::MAX, 0, 0);
    for e in events {
        (first, last) = (first.min(e.time()), last.max(e.time()));
        ranks |= e.rank();
    }
    if (last - first) >> (u64::BITS - BELOW_TIME) != 0 {
        return None;
    }
    // Counted ranks are in their lower half, those by entity mostly in their upper half.
    let half = if ranks >> 32 == 0 { 0 } else { 32 };
    for (at, (key, e)) in keys.iter_mut().zip(events).enumerate() {
        *key = (e.time() - first) << BELOW_TIME
            | (e.rank() >> half & 0xffff_ffff) << SOME.ilog2()
            | at as u64;
    }
    let keys = &mut keys[..events.len()];
    keys.sort_unstable();
    // Events that differ only in the other half of the rank are usually in order too, because they
    // were pushed in that order.
    let whole = half == 0 || ranks as u32 == 0;
    let in_order = |pair: &[u64]| {
        pair[0] / SOME as u64 != pair[1] / SOME as u64
            || events[place(pair[0])].key() <= events[place(pair[1])].key()
    };
    (whole || keys.windows(2).all(in_order)).then_some(keys)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{event, random};
    use super::*;
    use crate::engine::event::Event;

    /// Distances of times that a key can hold, and longer ones.
    #[test]
    fn no_distance_of_times_leaves_an_event_out() {
        for n in [9, 20, 32] {
            for bits in 1..40 {
                for last in [(1u64 << bits) - 1, (1 << bits) - (1 << bits >> 11) - 1, 1 << bits] {
                    let mut events: Vec<Event> =
                        (1..n).map(|i| event(1_000_000 + i % 7, i)).collect();
                    events.push(event(1_000_001 + last, 0));
                    events.push(event(1_000_001 + last, 1));
                    let mut sorted = Vec::new();
                    sort(&mut events.clone(), &mut sorted);
                    events.sort_unstable_by(|a, b| b.cmp(a));
                    assert_eq!(
                        sorted.iter().map(Event::key).collect::<Vec<_>>(),
                        events.iter().map(Event::key).collect::<Vec<_>>(),
                        "{last}"
                    );
                }
            }
        }
    }

    /// Every number of events up to some hundreds; times far apart, close, and equal; ranks that
    /// differ in either half or nowhere.
    #[test]
    fn a_bucket_is_sorted_like_the_standard_library_does() {
        let mut state = 1;
        for n in (0..=80).chain([200, 500]) {
            for times in [1, 3, 1000, 1 << 31] {
                for rank in [|x| x % 50, |x| x << 32, |x| (x << 32) | (x % 7), |_| 9] {
                    let mut events: Vec<Event> = (0..n)
                        .map(|_| {
                            event(
                                (5 << 40) | (random(&mut state) % times),
                                rank(random(&mut state) % 1000),
                            )
                        })
                        .collect();
                    let mut sorted = Vec::new();
                    sort(&mut events, &mut sorted);
                    events.sort_by(|a, b| b.cmp(a));
                    assert_eq!(sorted, events, "{n} events, {times} times");
                }
            }
        }
    }
}
