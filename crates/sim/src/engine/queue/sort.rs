//! Sorts a bucket of the queue: few events, whose keys are close to each other.

use super::Pending;

/// Puts `events` in order, latest first. They are left in no particular order themselves.
pub(crate) fn sort<E: Pending>(events: &mut [E], into: &mut [E]) {
    match events.len() {
        n if n <= FEW => return sort_few(events, into),
        n if n <= SOME => return sort_some(events, into),
        n if n <= MANY => {}
        _ => {
            into.copy_from_slice(events);
            return into.sort_unstable_by(|a, b| b.cmp(a));
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
    sort(a, into_a);
    sort(b, into_b);
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

/// Up to here comparing each with each is faster than anything that branches on the outcome, which
/// cannot be predicted.
const SOME: usize = 32;
/// Up to here splitting is faster than the sort of the standard library; at 65,536 hosts, where
/// buckets are far larger, it is slower.
const MANY: usize = 128;
/// Up to here one comparison at a time is faster than several.
const FEW: usize = 8;

/// Sorts at most [`FEW`] events by counting for each how many are later.
#[inline(always)]
fn sort_few<E: Pending>(events: &[E], into: &mut [E]) {
    let mut places = [0u8; FEW];
    for (i, e) in events.iter().enumerate() {
        let (key, mut place) = (e.key(), 0);
        for (other, place_of_other) in events[..i].iter().zip(&mut places) {
            let earlier = (other.key() < key) as u8;
            *place_of_other += earlier;
            place += 1 - earlier;
        }
        places[i] = place;
    }
    for (e, place) in events.iter().zip(places) {
        into[place as usize] = *e;
    }
}

/// Sorts at most [`SOME`] events, several comparisons at a time.
#[inline(always)]
fn sort_some<E: Pending>(events: &[E], into: &mut [E]) {
    /// Comparisons side by side.
    const LANES: usize = 4;
    /// Bits of time in a key. The bit above them stays clear: an exponent of ones only would be no
    /// number, and compare with nothing.
    const TIME: u32 = 24;
    let (mut first, mut ranks) = (u64::MAX, 0);
    for e in events {
        first = first.min(e.time());
        ranks |= e.rank();
    }
    // Counted ranks are in their lower half, those by entity mostly in their upper half.
    let half = if ranks >> 32 == 0 { 0 } else { 32 };
    // Time, half of the rank, place in the bucket. As floating-point numbers, which are ordered
    // like their bits (the uppermost one set here keeps off those that are not), because any x86-64
    // compares two of them at once, but no integers of 64 bits.
    let mut keys = [[0f64; LANES]; SOME / LANES];
    let mut span = 0;
    for (i, (key, e)) in keys.as_flattened_mut().iter_mut().zip(events).enumerate() {
        let since = e.time() - first;
        span |= since;
        *key = f64::from_bits(
            1 << 62 | since << (61 - TIME) | (e.rank() >> half & 0xffff_ffff) << 5 | i as u64,
        );
    }
    for (block, few) in events.chunks(LANES).zip(&keys) {
        let mut later = [0u64; LANES];
        for &other in &keys.as_flattened()[..events.len()] {
            for (later, &key) in later.iter_mut().zip(few) {
                *later += (other > key) as u64;
            }
        }
        for (e, later) in block.iter().zip(later) {
            into[later as usize] = *e;
        }
    }
    // Events that differ only in the other half of the rank are usually in order too, because they
    // were pushed in that order.
    let sorted =
        into.windows(2).fold(true, |sorted, pair| sorted & (pair[1].key() <= pair[0].key()));
    if span >> TIME != 0 || !sorted {
        into.copy_from_slice(events);
        into.sort_unstable_by(|a, b| b.cmp(a));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{event, random};
    use super::*;
    use crate::engine::event::Event;

    /// Keys whose bits are no floating-point number would compare with nothing, and leave events
    /// out.
    #[test]
    fn no_distance_of_times_leaves_an_event_out() {
        for n in [9, 20, 32] {
            for bits in 1..40 {
                for last in [(1u64 << bits) - 1, (1 << bits) - (1 << bits >> 11) - 1, 1 << bits] {
                    let mut events: Vec<Event> =
                        (1..n).map(|i| event(1_000_000 + i % 7, i)).collect();
                    events.push(event(1_000_001 + last, 0));
                    events.push(event(1_000_001 + last, 1));
                    let mut sorted = vec![Event::NONE; events.len()];
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
                    let mut sorted = vec![Event::NONE; n];
                    sort(&mut events, &mut sorted);
                    events.sort_by(|a, b| b.cmp(a));
                    assert_eq!(sorted, events, "{n} events, {times} times");
                }
            }
        }
    }
}
