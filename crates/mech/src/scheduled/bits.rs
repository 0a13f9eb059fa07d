//! A set of small numbers that is scanned in a circle.
//!
//! Not `fixedbitset`: a round robin asks for the first member at or after a number, and at every
//! segment whether there is any; that set finds members from its beginning only and counts them by
//! scanning.

use xoff_units::state::State;

/// A set of numbers below a bound, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
pub struct Bits {
    words: Vec<u64>,
    len: u32,
}

impl Bits {
    /// The empty set of numbers below `bound`.
    pub fn new(bound: usize) -> Bits {
        Bits { words: vec![0; bound.div_ceil(64)], len: 0 }
    }

    /// Number of elements in the set.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if `n` is in the set.
    #[inline]
    pub fn contains(&self, n: usize) -> bool {
        self.words[n / 64] >> (n % 64) & 1 == 1
    }

    /// Puts `n` into the set, or takes it out.
    #[inline]
    pub fn set(&mut self, n: usize, member: bool) {
        let (word, bit) = (&mut self.words[n / 64], 1u64 << (n % 64));
        let was = *word & bit != 0;
        if was != member {
            *word ^= bit;
            self.len = if member { self.len + 1 } else { self.len - 1 };
        }
    }

    /// The first member at or after `from`, beginning again at zero: the step of a round robin.
    #[inline]
    pub fn next_from(&self, from: usize) -> Option<usize> {
        self.first_in(from).or_else(|| self.first_in(0))
    }

    /// The first member at or after `from`.
    #[inline]
    pub fn first_in(&self, from: usize) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let mut word = from / 64;
        let mut bits = *self.words.get(word)? & (!0 << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.words.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.first_in(0), |n| self.first_in(n + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_set_on_every_step_of_a_circle() {
        let mut state = 7u64;
        for bound in [1, 63, 64, 65, 200] {
            let (mut bits, mut set) = (Bits::new(bound), BTreeSet::new());
            for _ in 0..2_000 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (n, member) = ((state >> 33) as usize % bound, state >> 20 & 1 == 1);
                bits.set(n, member);
                if member {
                    set.insert(n)
                } else {
                    set.remove(&n)
                };
                let from = (state >> 40) as usize % bound;
                assert_eq!(bits.next_from(from), set.range(from..).next().or(set.first()).copied());
                assert_eq!(
                    (bits.len(), bits.is_empty(), bits.contains(n)),
                    (set.len(), set.is_empty(), set.contains(&n))
                );
            }
            assert!(bits.iter().eq(set.iter().copied()));
        }
    }
}
