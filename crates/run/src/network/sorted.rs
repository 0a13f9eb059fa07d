//! Numbers in order, however many: where they do not fit into memory, stretches of them are put in
//! order and then merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use xoff_net::jobs::Pages;
use xoff_units::paged::Items;

/// Numbers of a stretch.
const STRETCH: usize = 1 << 20;

/// Numbers that are handed back in order.
pub(super) struct Sorted {
    pages: Option<Pages>,
    /// The stretch at hand, or all of them.
    here: Vec<u64>,
    /// Earlier values, in order.
    stretches: Vec<Items<u64>>,
    many: u64,
}

/// Bits that have the order of the numbers.
pub(super) fn key(n: f64) -> u64 {
    let bits = n.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The number of such bits.
pub(super) fn of_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

impl Sorted {
    /// None yet; with pages for numbers that do not fit into memory, if there are any.
    pub fn new(pages: Option<&Pages>) -> Sorted {
        Sorted { pages: pages.cloned(), here: Vec::new(), stretches: Vec::new(), many: 0 }
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        self.many
    }

    /// Adds a number.
    pub fn push(&mut self, number: u64) {
        self.here.push(number);
        self.many += 1;
        if let Some(pages) = self.pages.as_ref().filter(|_| self.here.len() == STRETCH) {
            self.here.sort_unstable();
            let mut stretch = pages.list_of(2, |_| 0);
            self.here.drain(..).for_each(|n| stretch.push(n));
            self.stretches.push(stretch);
        }
    }

    /// All of them, the smallest first.
    pub fn into_sorted(mut self) -> impl Iterator<Item = u64> {
        self.here.sort_unstable();
        self.stretches.push(Items::Kept(std::mem::take(&mut self.here)));
        let stretches = self.stretches;
        let mut next: BinaryHeap<Reverse<(u64, usize, usize)>> = BinaryHeap::new();
        for (nth, stretch) in stretches.iter().enumerate().filter(|s| !s.1.is_empty()) {
            next.push(Reverse((stretch.get(0), nth, 0)));
        }
        std::iter::from_fn(move || {
            let Reverse((number, nth, at)) = next.pop()?;
            if at + 1 < stretches[nth].len() {
                next.push(Reverse((stretches[nth].get(at + 1), nth, at + 1)));
            }
            Some(number)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_order_whether_or_not_they_fit() {
        let file = xoff_units::paged::PageFile::new(tempfile::tempfile().unwrap());
        let mut state = 5u64;
        let numbers: Vec<f64> = (0..2 * STRETCH + 1000)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f64 / 7.0 - 100_000.0
            })
            .collect();
        let sorted = |pages: Option<&Pages>| {
            let mut all = Sorted::new(pages);
            numbers.iter().for_each(|&n| all.push(key(n)));
            assert_eq!(all.len(), numbers.len() as u64);
            all.into_sorted().map(of_key).collect::<Vec<f64>>()
        };
        let (kept, paged) = (sorted(None), sorted(Some(&Pages::new(file.clone(), 1))));
        assert!(
            kept.is_sorted() && kept.len() == numbers.len() && file.bytes() > 8 * STRETCH as u64
        );
        assert_eq!(kept, paged);
    }
}
