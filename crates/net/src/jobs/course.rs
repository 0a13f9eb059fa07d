//! Time that a rank spends computing and communicating, measured during the run: afterwards the
//! operations may be discarded.

use xoff_units::{Span, Time};

/// Parts of the time of a rank's iteration: unions of times, as in the table `ranks`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Computation.
    pub compute: Span,
    /// A send or receive had begun and not ended.
    pub comm: Span,
    /// Part of `comm` without computation.
    pub exposed: Span,
}

/// Active operations of a rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    /// Operations that compute, and those that send or receive.
    under_way: [u32; 2],
    since: Time,
    shares: Shares,
}

impl Course {
    fn until(&mut self, now: Time) {
        let passed = now.since(self.since);
        let [computes, sends] = self.under_way.map(|n| n > 0);
        self.shares.compute += if computes { passed } else { Span::ZERO };
        self.shares.comm += if sends { passed } else { Span::ZERO };
        self.shares.exposed += if sends && !computes { passed } else { Span::ZERO };
        self.since = now;
    }

    /// An operation begins.
    pub fn begins(&mut self, now: Time, computes: bool) {
        self.until(now);
        self.under_way[usize::from(!computes)] += 1;
    }

    /// An operation ends.
    pub fn ends(&mut self, now: Time, computes: bool) {
        self.until(now);
        self.under_way[usize::from(!computes)] -= 1;
    }

    /// The iteration ends; another one may begin.
    pub fn take(&mut self, now: Time) -> Shares {
        self.until(now);
        std::mem::take(&mut self.shares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_overlap_count_once() {
        let mut c = Course::default();
        // Computes 10 to 20 and 15 to 30, sends 18 to 40 and 35 to 50.
        let all = [
            (10, true, true),
            (15, true, true),
            (18, true, false),
            (20, false, true),
            (30, false, true),
            (35, true, false),
        ];
        for (at, begins, computes) in
            all.into_iter().chain([(40, false, false), (50, false, false)])
        {
            if begins { c.begins(Time(at), computes) } else { c.ends(Time(at), computes) }
        }
        assert_eq!(
            c.take(Time(60)),
            Shares { compute: Span(20), comm: Span(32), exposed: Span(20) }
        );
        assert_eq!(c.take(Time(70)), Shares::default());
    }
}
