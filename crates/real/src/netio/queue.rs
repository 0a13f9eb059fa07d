//! Frames taken and not yet given to the kernel: a ring of fixed places, first in, first out.

use std::io::IoSlice;

/// Frames that a port takes before it has to be flushed.
pub(crate) const PLACES: usize = 64;
/// Frames given to the kernel in one call, at most.
pub(crate) const BATCH: usize = 32;

pub(crate) struct SendQueue {
    bytes: Vec<u8>,
    /// Length of a place: that of the longest frame [bytes].
    place: usize,
    lengths: [usize; PLACES],
    first: usize,
    count: usize,
}

impl SendQueue {
    pub(crate) fn new(longest: usize) -> SendQueue {
        SendQueue {
            bytes: vec![0; longest * PLACES],
            place: longest,
            lengths: [0; PLACES],
            first: 0,
            count: 0,
        }
    }

    /// Longest frame that has a place [bytes].
    pub(crate) fn longest(&self) -> usize {
        self.place
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes a frame of at most `longest` bytes; false if no place is free.
    pub(crate) fn push(&mut self, frame: &[u8]) -> bool {
        if self.count == PLACES {
            return false;
        }
        let at = (self.first + self.count) % PLACES;
        self.bytes[at * self.place..][..frame.len()].copy_from_slice(frame);
        self.lengths[at] = frame.len();
        self.count += 1;
        true
    }

    /// The oldest frame.
    pub(crate) fn front(&self) -> Option<&[u8]> {
        (self.count > 0).then(|| self.at(self.first))
    }

    /// The oldest frames, in order; returns how many.
    pub(crate) fn batch<'a>(&'a self, out: &mut [IoSlice<'a>; BATCH]) -> usize {
        let n = self.count.min(BATCH);
        for (i, slice) in out.iter_mut().enumerate().take(n) {
            *slice = IoSlice::new(self.at((self.first + i) % PLACES));
        }
        n
    }

    /// Drops the oldest `n` frames.
    pub(crate) fn pop(&mut self, n: usize) {
        debug_assert!(n <= self.count);
        self.first = (self.first + n) % PLACES;
        self.count -= n;
    }

    /// Drops all; returns how many frames.
    pub(crate) fn clear(&mut self) -> u64 {
        let frames = self.count as u64;
        self.pop(self.count);
        frames
    }

    fn at(&self, place: usize) -> &[u8] {
        &self.bytes[place * self.place..][..self.lengths[place]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_first_out_round_the_end() {
        let mut q = SendQueue::new(4);
        assert_eq!((q.front(), q.longest()), (None, 4));
        let (mut next_in, mut next_out) = (0u8, 0u8);
        for _ in 0..5 {
            while q.push(&[next_in, next_in, 1][..1 + usize::from(next_in % 3)]) {
                next_in = next_in.wrapping_add(1);
            }
            assert_eq!(next_in.wrapping_sub(next_out), PLACES as u8);
            let mut slices = [IoSlice::new(&[]); BATCH];
            assert_eq!(q.batch(&mut slices), BATCH);
            for (i, s) in slices.iter().enumerate() {
                let n = next_out.wrapping_add(i as u8);
                assert_eq!((s[0], s.len()), (n, 1 + usize::from(n % 3)));
            }
            assert_eq!(q.front().unwrap()[0], next_out);
            q.pop(27);
            next_out = next_out.wrapping_add(27);
        }
        assert_eq!(q.clear(), (PLACES - 27) as u64);
        assert!(q.is_empty() && q.clear() == 0 && q.push(&[1, 2]) && q.clear() == 1);
    }
}
