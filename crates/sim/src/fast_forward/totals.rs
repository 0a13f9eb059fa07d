//! Counters without influence on the state of a run: results that a skipped period adds to.

use xoff_units::{Loss, Time};

use crate::observe::flows::FlowRecord;
use crate::observe::lost::{FrameCount, LostFrames};
use crate::observe::monitor::{Counts, Monitor};
use crate::observe::outcome::{PortCnms, PortTotals};
use crate::wire::line::Line;
use crate::world::World;
use crate::world::partition::{Node, Partition};

/// Something that counts. `f` is handed each counter, always in the same order.
trait Counting {
    fn each(&mut self, f: &mut impl FnMut(&mut u64));
}

// Structures are taken apart field by field, so that a new one is not left out here.

impl Counting for FrameCount {
    fn each(&mut self, f: &mut impl FnMut(&mut u64)) {
        let FrameCount { data, control } = self;
        [data, control].into_iter().for_each(f);
    }
}

impl Counting for LostFrames {
    fn each(&mut self, f: &mut impl FnMut(&mut u64)) {
        Loss::ALL.into_iter().for_each(|cause| self[cause].each(f));
    }
}

impl Counting for Counts {
    fn each(&mut self, f: &mut impl FnMut(&mut u64)) {
        // A run whose links repeat frames skips nothing.
        let Counts { frame_hops, data_frame_hops, injected, delivered, rate_changes, lost, retry: _, retransmission_timeouts } = self;
        [frame_hops, data_frame_hops, injected, delivered, rate_changes, retransmission_timeouts].into_iter().for_each(&mut *f);
        lost.each(f);
    }
}

impl Counting for FlowRecord {
    fn each(&mut self, f: &mut impl FnMut(&mut u64)) {
        // The times, and the pauses of its last frame, come with its end, which no skipped period contains.
        let FlowRecord { flow: _, nth: _, sent, delivered, out_of_order, marked, cnms, stopped: _, all_sent: _, received: _, end: _ } =
            self;
        [sent, delivered, out_of_order, cnms].into_iter().for_each(&mut *f);
        marked.each(f);
    }
}

impl Counting for PortTotals {
    fn each(&mut self, f: &mut impl FnMut(&mut u64)) {
        let PortTotals {
            tx_bytes: _,  // of its line
            tx_frames: _, // of its line
            messages_sent,
            messages_received,
            marked,
            dropped,
            tail_dropped,
            lost,
            ingress_bytes_max: _, // the maximum of one period is that of all
            egress_bytes_max: _,
            pauses,
            paused_ps,
            blocks,
            blocked_ps,
            allowed_min: _,
        } = self;
        let all = [messages_sent, messages_received, dropped, tail_dropped, lost, pauses, paused_ps, blocks, blocked_ps];
        all.into_iter().for_each(&mut *f);
        marked.each(f);
    }
}

impl Counting for PortCnms {
    fn each(&mut self, f: &mut impl FnMut(&mut u64)) {
        let PortCnms { ingress, egress } = self;
        [ingress, egress].into_iter().for_each(f);
    }
}

impl Counting for Line {
    fn each(&mut self, f: &mut impl FnMut(&mut u64)) {
        [&mut self.tx_bytes, &mut self.tx_frames].into_iter().for_each(f);
    }
}

impl Counting for Partition {
    fn each(&mut self, f: &mut impl FnMut(&mut u64)) {
        let Monitor { counts, ports, cnms, .. } = &mut self.core.monitor;
        counts.each(f);
        ports.iter_mut().for_each(|p| p.each(f));
        cnms.values_mut().for_each(|p| p.each(f));
        self.core.lines.iter_mut().for_each(|l| l.each(f));
    }
}

impl World {
    /// The counters, those of flows only where they are wanted.
    fn each_counter(&mut self, flows: bool, mut f: impl FnMut(&mut u64)) {
        for p in &mut self.partitions {
            p.each(&mut f);
            if flows {
                p.core.monitor.flows.records.iter_mut().for_each(|r| r.each(&mut f));
            }
        }
        f(&mut self.events_skipped);
    }

    /// All counters at a time, after all earlier events. An open pause or hold is counted up to that time: not up to
    /// the last event, which may be a call that finds nothing due.
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
        let switches = self.partitions.iter().flat_map(|p| &p.nodes).filter_map(|n| if let Node::Switch(s) = n { Some(s) } else { None });
        all.push(switches.map(|s| s.collisions()).sum());
        all
    }

    /// Adds the counts of `times` periods.
    pub(super) fn add_to_totals(&mut self, per_period: &[u64], times: u64) {
        let mut by = per_period.iter();
        self.each_counter(true, |c| *c = c.wrapping_add(by.next().map_or(0, |d| d.wrapping_mul(times))));
    }

    /// Adds the counts of an episode, except those of its flows.
    pub(super) fn add_to_totals_but_flows(&mut self, counts: &[u64]) {
        let mut by = counts.iter();
        self.each_counter(false, |c| *c = c.wrapping_add(by.next().copied().unwrap_or(0)));
    }
}

/// Counters of a period, from the counters at its start and at its end; `None`: a counter that cannot be added up.
pub(super) fn per_period(before: &[u64], after: &[u64]) -> Option<Vec<u64>> {
    let same_collisions = before.last() == after.last();
    (before.len() == after.len() && same_collisions).then(|| after.iter().zip(before).map(|(a, b)| a.wrapping_sub(*b)).collect())
}
