//! Computing times of a stream, in order, in pages where the operations of its rank are.

use xoff_net::jobs::Pages;
use xoff_units::paged::Items;

use crate::network::sorted::Sorted;

/// Stretches of time that do not overlap, in order; those that touch are one [ps].
pub(super) struct Computed {
    all: Items<(u64, u64)>,
    /// The place that was asked about last: questions go back step by step, so that the next one is
    /// not far.
    at: usize,
}

impl Computed {
    /// From stretches in any order, without an overlap: a stream does one thing at a time.
    pub fn new(stretches: impl Iterator<Item = (u64, u64)>, pages: Option<&Pages>) -> Computed {
        let (mut begins, mut ends) = (Sorted::new(pages), Sorted::new(pages));
        stretches.filter(|x| x.1 > x.0).for_each(|(from, to)| {
            begins.push(from);
            ends.push(to);
        });
        let mut all = pages.map_or_else(Items::default, |p| p.list(|_| (0, 0)));
        // As none overlap, the n-th to begin is the n-th to end.
        let mut last: Option<(u64, u64)> = None;
        for (from, to) in begins.into_sorted().zip(ends.into_sorted()) {
            match &mut last {
                Some(last) if last.1 == from => last.1 = to,
                _ => last.replace((from, to)).into_iter().for_each(|x| all.push(x)),
            }
        }
        last.into_iter().for_each(|x| all.push(x));
        Computed { all, at: 0 }
    }

    /// Parts of them between two times.
    pub fn between(&mut self, from: u64, to: u64) -> Vec<(u64, u64)> {
        while self.at > 0 && self.all.get(self.at - 1).1 > from {
            self.at -= 1;
        }
        while self.at < self.all.len() && self.all.get(self.at).1 <= from {
            self.at += 1;
        }
        let found = (self.at..self.all.len()).map(|n| self.all.get(n)).take_while(|x| x.0 < to);
        found.map(|x| (x.0.max(from), x.1.min(to))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::paged::PageFile;

    #[test]
    fn stretches_are_found_in_any_order_of_questions() {
        let stretches = [(40, 50), (10, 20), (20, 25), (30, 30), (60, 70)];
        let pages = Pages::new(PageFile::new(tempfile::tempfile().unwrap()), 1);
        for pages in [None, Some(&pages)] {
            let mut c = Computed::new(stretches.into_iter(), pages);
            assert_eq!(c.between(45, 65), [(45, 50), (60, 65)]);
            assert_eq!(c.between(0, 100), [(10, 25), (40, 50), (60, 70)]);
            assert_eq!(c.between(70, 100), []);
            assert_eq!(c.between(25, 40), []);
            assert_eq!(c.between(19, 41), [(19, 25), (40, 41)]);
        }
    }
}
