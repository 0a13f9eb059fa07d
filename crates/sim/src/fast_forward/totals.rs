//! Counters without influence on the state of a run: results that a skipped period adds to.

use xoff_units::Time;
use xoff_units::state::Counters;

use crate::observe::monitor::Monitor;
use crate::world::World;
use crate::world::partition::{Node, Partition};

impl Counters for Partition {
    fn counters(&mut self, f: &mut impl FnMut(&mut u64)) {
        let Monitor { counts, ports, cnms, .. } = &mut self.core.monitor;
        counts.counters(f);
        ports.counters(f);
        cnms.values_mut().for_each(|p| p.counters(f));
        self.core
            .lines
            .iter_mut()
            .for_each(|l| [&mut l.tx_bytes, &mut l.tx_frames].into_iter().for_each(&mut *f));
    }
}

impl World {
    /// The counters, those of flows only where they are wanted.
    fn each_counter(&mut self, flows: bool, mut f: impl FnMut(&mut u64)) {
        for p in &mut self.partitions {
            p.counters(&mut f);
            if flows {
                p.core.monitor.flows.records.iter_mut().for_each(|r| r.counters(&mut f));
            }
        }
        f(&mut self.events_skipped);
    }

    /// All counters at a time, after all earlier events. An open pause or hold is counted up to
    /// that time: not up to the last event, which may be a call that finds nothing due.
    pub(super) fn totals(&mut self, at: Time) -> Vec<u64> {
        self.counters(at, true)
    }

    /// All totals except those of flows.
    pub(super) fn totals_but_flows(&mut self, at: Time) -> Vec<u64> {
        self.counters(at, false)
    }

    fn counters(&mut self, at: Time, flows: bool) -> Vec<u64> {
        let handled = self.events();
        let closed: Vec<_> = self.partitions.iter().map(|p| p.core.monitor.ports.clone()).collect();
        self.partitions.iter_mut().for_each(|p| p.core.monitor.count_open(at));
        let mut all = Vec::new();
        self.each_counter(flows, |c| all.push(*c));
        self.partitions.iter_mut().zip(closed).for_each(|(p, ports)| p.core.monitor.ports = ports);
        // The last one represents the events of a period.
        if let Some(events) = all.last_mut() {
            *events = handled;
        }
        // Not a counter that can be added to, but it may not change.
        let switches = self
            .partitions
            .iter()
            .flat_map(|p| &p.nodes)
            .filter_map(|n| if let Node::Switch(s) = n { Some(s) } else { None });
        all.push(switches.map(|s| s.collisions()).sum());
        all
    }

    /// Adds the counts of `times` periods.
    pub(super) fn add_to_totals(&mut self, per_period: &[u64], times: u64) {
        let mut by = per_period.iter();
        self.each_counter(true, |c| {
            *c = c.wrapping_add(by.next().map_or(0, |d| d.wrapping_mul(times)))
        });
    }

    /// Adds the counts of an episode, except those of its flows.
    pub(super) fn add_to_totals_but_flows(&mut self, counts: &[u64]) {
        let mut by = counts.iter();
        self.each_counter(false, |c| *c = c.wrapping_add(by.next().copied().unwrap_or(0)));
    }
}

/// Counters of a period, from the counters at its start and at its end; `None`: a counter that
/// cannot be added up.
pub(super) fn per_period(before: &[u64], after: &[u64]) -> Option<Vec<u64>> {
    let same_collisions = before.last() == after.last();
    (before.len() == after.len() && same_collisions)
        .then(|| after.iter().zip(before).map(|(a, b)| a.wrapping_sub(*b)).collect())
}
