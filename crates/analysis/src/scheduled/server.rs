//! One fluid queue: traffic of several destinations arrives at constant rates, waits and is served
//! at a given rate.
//!
//! ```text
//!   inflow a b -> [ a a b | a b b b | b ] -> capacity c
//!                   layers: each a fixed mix, served first in, first out; one such queue per rank
//! ```
//!
//! Between two events (a rate changes, a layer is used up, a queue runs empty) everything moves in
//! straight lines.

use std::collections::VecDeque;
use std::sync::Arc;

use super::rational::Q;

/// Rates by class of traffic, in order of class, without zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mix {
    pub(super) parts: Vec<(u32, Q)>,
    pub(super) total: Q,
}

impl Mix {
    pub(super) const EMPTY: Mix = Mix { parts: Vec::new(), total: Q::ZERO };

    /// Adds up rates of the same class.
    pub(super) fn gather(mut parts: Vec<(u32, Q)>) -> Mix {
        parts.sort_by_key(|p| p.0);
        let mut sums: Vec<(u32, Q)> = Vec::with_capacity(parts.len());
        for (class, rate) in parts.into_iter().filter(|p| !p.1.is_zero()) {
            match sums.last_mut() {
                Some(last) if last.0 == class => last.1 += rate,
                _ => sums.push((class, rate)),
            }
        }
        let total = sums.iter().map(|p| p.1).sum();
        Mix { parts: sums, total }
    }
}

/// Traffic of one mix that waits.
#[derive(Clone, Debug)]
struct Layer {
    mix: Arc<Mix>,
    volume: Q,
}

/// A first-in-first-out queue.
#[derive(Clone, Debug)]
struct Rank {
    inflow: Arc<Mix>,
    layers: VecDeque<Layer>,
    backlog: Q,
    /// Capacity that the ranks before this one leave.
    capacity: Q,
}

impl Rank {
    fn new() -> Rank {
        Rank {
            inflow: Arc::new(Mix::EMPTY),
            layers: VecDeque::new(),
            backlog: Q::ZERO,
            capacity: Q::ZERO,
        }
    }

    /// The mix that is being served, and its rate.
    fn served(&self) -> (&Mix, Q) {
        match self.layers.front() {
            Some(head) => (&head.mix, self.capacity),
            None => (&self.inflow, self.inflow.total.min(self.capacity)),
        }
    }

    /// True if the inflow joins the last layer.
    fn grows(&self, layer: &Layer) -> bool {
        Arc::ptr_eq(&layer.mix, &self.inflow) || layer.mix == self.inflow
    }

    /// Time for which the served mix stays the same if nothing else changes.
    fn lasts(&self) -> Option<Q> {
        let head = self.layers.front()?;
        let shrinks = if self.layers.len() == 1 && self.grows(head) {
            self.capacity - self.inflow.total
        } else {
            self.capacity
        };
        // A lost rate is positive to the caller, who then finds the lost time.
        (shrinks.is_positive() || !shrinks.fits()).then(|| head.volume / shrinks)
    }

    fn advance(&mut self, dt: Q) -> bool {
        if self.layers.is_empty() {
            let rise = self.inflow.total - self.capacity;
            if rise.is_positive() {
                self.layers.push_back(Layer { mix: self.inflow.clone(), volume: rise * dt });
                self.backlog = rise * dt;
            }
            return false; // a queue that begins serves the mix that passed before
        }
        let came = self.inflow.total * dt;
        if !came.is_zero() {
            match self.layers.back() {
                Some(tail) if self.grows(tail) => {
                    let last = self.layers.len() - 1;
                    self.layers[last].volume += came;
                }
                _ => self.layers.push_back(Layer { mix: self.inflow.clone(), volume: came }),
            }
        }
        let served = self.capacity * dt;
        self.backlog += came - served;
        let head = &mut self.layers[0];
        head.volume -= served;
        let used_up = head.volume.is_zero();
        if used_up {
            self.layers.pop_front();
        }
        used_up
    }
}

/// A queue with a part for each rank and a common capacity.
#[derive(Clone, Debug)]
pub(super) struct Server {
    ranks: Vec<Rank>,
    /// Rate of service [link rates].
    pub(super) capacity: Q,
    /// Present output.
    pub(super) output: Arc<Mix>,
    /// True if `output` must be computed again.
    pub(super) stale: bool,
}

impl Server {
    pub(super) fn new(ranks: usize, capacity: Q) -> Server {
        Server {
            ranks: vec![Rank::new(); ranks],
            capacity,
            output: Arc::new(Mix::EMPTY),
            stale: false,
        }
    }

    /// Number of ranks.
    pub(super) fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// Everything that waits here.
    pub(super) fn backlog(&self) -> Q {
        self.ranks.iter().map(|l| l.backlog).sum()
    }

    /// Sets the arrivals, by rank.
    pub(super) fn set_inflow(&mut self, mixes: Vec<Mix>) {
        for (rank, mix) in self.ranks.iter_mut().zip(mixes) {
            if *rank.inflow != mix {
                rank.inflow = Arc::new(mix);
                self.stale = true;
            }
        }
    }

    /// Computes the departures; true if they changed.
    pub(super) fn refresh(&mut self) -> bool {
        if !std::mem::take(&mut self.stale) {
            return false;
        }
        let mut left = self.capacity;
        let mut parts = Vec::new();
        for rank in &mut self.ranks {
            rank.capacity = left;
            let (mix, rate) = rank.served();
            if !rate.is_zero() {
                // Most mixes pass whole.
                let scale = if rate == mix.total { Q::ONE } else { rate / mix.total };
                parts.extend(
                    mix.parts
                        .iter()
                        .map(|p| (p.0, if scale == Q::ONE { p.1 } else { p.1 * scale })),
                );
            }
            left -= rate;
        }
        let output = Mix::gather(parts);
        let changed = *self.output != output;
        if changed {
            self.output = Arc::new(output);
        }
        changed
    }

    /// Time for which `output` stays constant if the inflow does.
    pub(super) fn lasts(&self) -> Option<Q> {
        self.ranks.iter().filter_map(Rank::lasts).min()
    }

    /// Lets `dt` pass, at most [`Server::lasts`].
    pub(super) fn advance(&mut self, dt: Q) {
        for rank in &mut self.ranks {
            self.stale |= rank.advance(dt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(parts: &[(u32, i128)]) -> Vec<Mix> {
        vec![Mix::gather(parts.iter().map(|p| (p.0, Q::int(p.1))).collect())]
    }

    #[test]
    fn a_queue_serves_the_mixes_in_the_order_of_their_arrival() {
        let mut s = Server::new(1, Q::ONE);
        s.set_inflow(mix(&[(7, 2), (8, 1)]));
        assert!(s.refresh());
        assert_eq!(s.output.parts, [(7, Q::new(2, 3)), (8, Q::new(1, 3))]);
        assert_eq!(s.lasts(), None);
        s.advance(Q::int(3)); // 6 wait
        s.set_inflow(mix(&[(9, 2)]));
        assert!(!s.refresh(), "the old mix continues");
        assert_eq!(
            (s.lasts(), s.ranks[0].inflow.total - s.output.total),
            (Some(Q::int(6)), Q::ONE)
        );
        s.advance(Q::int(6));
        assert!(s.refresh());
        assert_eq!((s.backlog(), s.output.parts.clone()), (Q::int(12), vec![(9, Q::ONE)]));
        s.set_inflow(mix(&[]));
        s.refresh();
        assert_eq!(s.lasts(), Some(Q::int(12)));
        s.advance(Q::int(12));
        s.refresh();
        assert_eq!((s.backlog(), s.output.total, s.lasts()), (Q::ZERO, Q::ZERO, None));
    }

    #[test]
    fn a_growing_layer_drains_by_the_difference() {
        let mut s = Server::new(1, Q::int(3));
        s.set_inflow(mix(&[(1, 5)]));
        s.refresh();
        s.advance(Q::int(1));
        s.set_inflow(mix(&[(1, 2)]));
        s.refresh();
        // The 2 that wait came at another rate: a layer of its own, though of the same traffic.
        let first = s.lasts().unwrap();
        s.advance(first);
        s.refresh();
        s.advance(s.lasts().unwrap());
        s.refresh();
        assert_eq!((first, s.backlog(), s.output.total), (Q::new(2, 3), Q::ZERO, Q::int(2)));
    }

    #[test]
    fn lower_ranks_go_first_and_leave_the_rest() {
        let mut s = Server::new(2, Q::ONE);
        let both = |a, b| vec![Mix::gather(vec![(1, a)]), Mix::gather(vec![(2, b)])];
        s.set_inflow(both(Q::new(3, 4), Q::ONE));
        s.refresh();
        assert_eq!(s.output.parts, [(1, Q::new(3, 4)), (2, Q::new(1, 4))]);
        s.advance(Q::int(4));
        s.set_inflow(both(Q::ONE, Q::ZERO));
        s.refresh();
        assert_eq!(
            (s.backlog(), s.output.parts.clone(), s.lasts()),
            (Q::int(3), vec![(1, Q::ONE)], None)
        );
    }
}
