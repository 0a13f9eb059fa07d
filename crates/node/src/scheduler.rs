//! Choice of the priority class that a port serves next.

use crate::Classes;
use crate::vl_arbitration::{VlArbitration, VlState};
use xoff_units::Class;
use xoff_units::state::State;

/// The rule between classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulerKind {
    /// The highest priority that may send (802.1Q strict priority).
    Strict,
    /// One frame each, round robin.
    RoundRobin,
    /// Deficit round robin; the quantum of each class in bytes, class order.
    Drr(Vec<u32>),
    /// The tables of InfiniBand; in a box, so that the others stay small.
    VlArbitration(Box<VlArbitration>),
}

impl SchedulerKind {
    /// A priority in use that would never be served.
    pub fn passes_over(&self, classes: &Classes) -> Option<u8> {
        let SchedulerKind::VlArbitration(rule) = self else { return None };
        classes.priorities().iter().copied().find(|&p| !rule.serves(p))
    }

    /// Rule with classes instead of priorities.
    pub fn in_classes(&self, classes: &Classes) -> SchedulerKind {
        match self {
            SchedulerKind::VlArbitration(rule) => {
                SchedulerKind::VlArbitration(Box::new(rule.in_classes(classes)))
            }
            other => other.clone(),
        }
    }
}

/// State of the rule at one port; the rule itself is the same for the whole switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
pub struct Scheduler {
    /// Class served last.
    last: usize,
    account: Account,
}

/// State of some rules for each turn; made at the first pick.
#[derive(Clone, Debug, PartialEq, Eq, State)]
enum Account {
    /// Bytes a class may still send in its turn; only under deficit round robin, otherwise empty.
    Deficit(Vec<u64>),
    /// In a box, so that ports stay small.
    Vl(Box<VlState>),
}

impl Default for Account {
    fn default() -> Self {
        Account::Deficit(Vec::new())
    }
}

impl Account {
    fn deficit(&mut self, classes: usize) -> &mut [u64] {
        if !matches!(self, Account::Deficit(d) if d.len() == classes) {
            *self = Account::Deficit(vec![0; classes]);
        }
        let Account::Deficit(deficit) = self else { unreachable!("it has just been made one") };
        deficit
    }

    fn vl(&mut self, rule: &VlArbitration) -> &mut VlState {
        if !matches!(self, Account::Vl(_)) {
            *self = Account::Vl(Box::new(VlState::new(rule)));
        }
        let Account::Vl(state) = self else { unreachable!("it has just been made one") };
        state
    }
}

impl Scheduler {
    /// Picks among the classes that may send; `ready(c)` is the length of the frame at the head of
    /// class `c` if it may go now. The pick counts as served.
    #[inline]
    pub fn pick(
        &mut self,
        kind: &SchedulerKind,
        classes: usize,
        mut ready: impl FnMut(Class) -> Option<u32>,
    ) -> Option<Class> {
        let mut ready = |c: usize| ready(Class(c as u8));
        if classes == 1 {
            return ready(0).map(|_| Class(0)); // nothing to choose, whatever the rule
        }
        let picked = match kind {
            SchedulerKind::Strict => (0..classes).rev().find(|&c| ready(c).is_some()),
            SchedulerKind::RoundRobin => {
                (1..=classes).map(|i| (self.last + i) % classes).find(|&c| ready(c).is_some())
            }
            SchedulerKind::Drr(quanta) => {
                let deficit = self.account.deficit(classes);
                let heads: Vec<Option<u32>> = (0..classes).map(&mut ready).collect();
                if heads.iter().all(Option::is_none) {
                    None
                } else {
                    // The class served last continues while its deficit lasts; the others gain a
                    // quantum when their turn comes.
                    let mut c = self.last;
                    loop {
                        match heads[c] {
                            Some(len) if deficit[c] >= len as u64 => {
                                deficit[c] -= len as u64;
                                break Some(c);
                            }
                            Some(_) => {}
                            // A class with nothing to send keeps no credit for later.
                            None => deficit[c] = 0,
                        }
                        c = (c + 1) % classes;
                        if heads[c].is_some() {
                            deficit[c] += quanta[c] as u64;
                        }
                    }
                }
            }
            SchedulerKind::VlArbitration(rule) => {
                let mut heads = [None; 8];
                (0..classes).for_each(|c| heads[c] = ready(c));
                self.account.vl(rule).pick(rule, &heads)
            }
        };
        self.last = picked?;
        Some(Class(self.last as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(kind: SchedulerKind, heads: &[Option<u32>], times: usize) -> Vec<usize> {
        let mut s = Scheduler::default();
        let pick = |_| s.pick(&kind, heads.len(), |c| heads[c.index()]);
        (0..times).filter_map(pick).map(Class::index).collect()
    }

    #[test]
    fn strict_serves_the_highest_priority() {
        assert_eq!(serve(SchedulerKind::Strict, &[Some(1), Some(1), None], 2), [1, 1]);
    }

    #[test]
    fn round_robin_goes_on_after_the_last_served() {
        assert_eq!(serve(SchedulerKind::RoundRobin, &[Some(1), None, Some(1)], 4), [2, 0, 2, 0]);
    }

    #[test]
    fn drr_shares_bytes_by_quantum() {
        let served = serve(SchedulerKind::Drr(vec![1500, 3000]), &[Some(500), Some(1500)], 5000);
        let bytes = |c| served.iter().filter(|&&s| s == c).count() as f64 * [500.0, 1500.0][c];
        assert!((bytes(1) / bytes(0) - 2.0).abs() < 0.01);
        assert_eq!(serve(SchedulerKind::Drr(vec![1500, 1500]), &[None, None], 1), [0usize; 0]);
    }
}
