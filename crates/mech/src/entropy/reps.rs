//! REPS: recycled entropies (Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive
//! Load Balancing and Failure Mitigation", 2024).
//!
//! ```text
//!   acknowledgement without a mark: its value goes into a ring of 8
//!   next frame: the oldest value of the ring that was not used again; none: a random value
//!   timeout: for a while only values of the ring, used ones too (freezing), since these paths work
//!   first acknowledgement after that: the ring is empty again, and 16 random values follow
//! ```
//!
//! The paper leaves both numbers of freezing to the network; they are those of its artifact
//! (htsim, `buffer_reps.cpp` and `uec_mp.cpp`).

use xoff_units::state::State;
use xoff_units::{Span, Time};

use super::{Entropy, any};

/// Size of the ring.
const RING: usize = 8;
/// Shortest time of freezing.
const FROZEN: Span = Span::from_ms(10);
/// Random values after freezing.
const EXPLORED: u8 = 16;

/// The law of one flow.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Reps {
    paths: u16,
    /// Values of acknowledged frames without a mark; true: not used again.
    ring: Vec<(u16, bool)>,
    /// The place of the next value.
    head: u8,
    /// Only values of the ring are used.
    frozen: bool,
    /// Freezing ends with the first acknowledgement after that.
    #[state(deadline)]
    frozen_until: Time,
    /// So many random values come next.
    exploring: u8,
}

impl Reps {
    /// With values from 0 to `paths` - 1.
    pub fn new(paths: u16) -> Reps {
        Reps {
            paths,
            ring: Vec::new(),
            head: 0,
            frozen: false,
            frozen_until: Time::ZERO,
            exploring: 0,
        }
    }

    /// Places from the oldest to the newest.
    fn oldest_first(&self) -> impl Iterator<Item = usize> + use<> {
        let (n, head) = (self.ring.len(), usize::from(self.head));
        // A ring that is not full yet begins at 0.
        let first = if n == RING { head } else { 0 };
        (0..n).map(move |i| (first + i) % n)
    }
}

impl Entropy for Reps {
    fn next(&mut self, _: Time, draw: &mut dyn FnMut() -> f64) -> u16 {
        if self.exploring > 0 {
            self.exploring -= 1;
            return any(self.paths, draw);
        }
        if let Some(at) = self.oldest_first().find(|&at| self.ring[at].1) {
            self.ring[at].1 = false;
            return self.ring[at].0;
        }
        if self.frozen && !self.ring.is_empty() {
            let at = usize::from(self.head) % self.ring.len();
            self.head = ((at + 1) % RING) as u8;
            return self.ring[at].0;
        }
        any(self.paths, draw)
    }

    fn on_ack(&mut self, now: Time, value: u16, marked: bool) {
        if self.frozen && now > self.frozen_until {
            (self.frozen, self.exploring, self.head) = (false, EXPLORED, 0);
            self.ring.clear();
        }
        if marked {
            return;
        }
        let at = usize::from(self.head);
        if at < self.ring.len() {
            self.ring[at] = (value, true);
        } else {
            self.ring.push((value, true));
        }
        self.head = ((usize::from(self.head) + 1) % RING) as u8;
    }

    fn on_timeout(&mut self, now: Time) {
        if !self.frozen && self.exploring == 0 {
            (self.frozen, self.frozen_until) = (true, now + FROZEN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_a_mark_are_recycled_once() {
        let mut law = Reps::new(100);
        let us = Time::from_us;
        assert_eq!(law.next(us(0), &mut || 0.42), 42, "nothing is known: random");
        law.on_ack(us(1), 7, false);
        law.on_ack(us(1), 8, true);
        law.on_ack(us(1), 9, false);
        let mut next = |t| law.next(us(t), &mut || 0.5);
        assert_eq!([next(2), next(2), next(2)], [7, 9, 50]);
    }

    #[test]
    fn the_ring_has_eight_places() {
        let mut law = Reps::new(100);
        (0..10).for_each(|value| law.on_ack(Time::ZERO, value, false));
        let values: Vec<u16> = (0..9).map(|_| law.next(Time::ZERO, &mut || 0.99)).collect();
        assert_eq!(values, [2, 3, 4, 5, 6, 7, 8, 9, 99]);
    }

    #[test]
    fn after_a_timeout_known_values_are_used_again() {
        let mut law = Reps::new(100);
        let us = Time::from_us;
        [5, 6].into_iter().for_each(|value| law.on_ack(us(0), value, false));
        law.on_timeout(us(1));
        let values: Vec<u16> = (0..5).map(|_| law.next(us(2), &mut || 0.5)).collect();
        assert_eq!(values[..2], [5, 6]);
        assert!(values[2..].iter().all(|v| [5, 6].contains(v)), "{values:?}");
        // A second timeout does not prolong it; an acknowledgement after 10 ms ends it.
        law.on_timeout(us(5_000));
        law.on_ack(us(10_001), 6, false);
        assert_eq!(law.next(us(10_002), &mut || 0.5), 6);
        law.on_ack(us(10_003), 7, false);
        let values: Vec<u16> = (0..18).map(|_| law.next(us(10_004), &mut || 0.5)).collect();
        assert_eq!(values, [&[50; 16][..], &[7, 50]].concat());
    }
}
