//! The jump: the effect of a number of periods, without simulating them.

use std::cmp::Reverse;

use xoff_node::EventKey;
use xoff_units::{FlowId, NodeId, Span, Time};

use super::Period;
use crate::engine::event::{Event, Kind};
use crate::engine::queue::Pending;
use crate::observe::outcome::FastForwarded;
use crate::world::World;
use crate::world::partition::Node;

/// Full frames that a flow keeps: the one that it sends next, and one more.
const FRAMES_KEPT: u64 = 2;
/// Rows that one jump records at most, unless a period has more: who drives the run looks at its
/// clock and at signals between two jumps.
const ROWS_AT_ONCE: u64 = 1 << 18;

impl World {
    /// Skips as many periods as fit before something comes from outside. Returns whether the period
    /// still holds after that.
    pub(super) fn jump(&mut self, period: &Period, until: Time, done: &mut FastForwarded) -> bool {
        let Some(at) = self.boundary() else { return false };
        let listed = self.partitions.iter().filter_map(|p| p.next_start()).map(|(_, time)| time);
        // A deadlock lasts: a poll that found none in this state would find none in any later state
        // of it.
        let looked = self.looked.is_some_and(|look| look >= period.start.time);
        let sees_nothing = |e: &Event| looked && e.kind() == Kind::DeadlockDetector;
        let planned = self
            .global_events
            .iter()
            .map(|Reverse(e)| e)
            .filter(|e| !sees_nothing(e))
            .map(|e| Time(e.time()));
        let limit = listed.chain(planned).fold(until, Time::min);
        let fit = |limit: Time| (limit.since(at.time).0.saturating_sub(1)) / period.length.0;
        if fit(limit) == 0 {
            if done.skipped == Span::ZERO {
                done.because = Some(format!(
                    "the state recurs after {}, but an external event comes sooner",
                    period.length
                ));
            }
            return true; // later, perhaps
        }
        // Flows that begin in the present window are events already.
        let pending = self.partitions.iter().flat_map(|p| p.core.pending.events());
        let begins = pending.filter(|e| e.kind() == Kind::FlowStart).map(|e| Time(e.time())).min();
        let fit = fit(begins.map_or(limit, |b| b.min(limit)));
        if fit == 0 {
            return true;
        }
        let fit = fit.min((ROWS_AT_ONCE / period.rows.len().max(1) as u64).max(1));
        let times = fit.min(self.periods_left(period));
        if times == 0 {
            return false;
        }
        let skipped = Span(period.length.0 * times);
        self.repeat_rows(period, at, times);
        self.add_to_totals(&period.counts, times);
        for &(flow, advance) in &period.advances {
            let src = self.flow_source(FlowId(flow));
            if let Node::Nic(n) = self.node_mut(src) {
                n.shorten(FlowId(flow), advance * times);
            }
        }
        self.skip(skipped, at);
        done.skipped += skipped;
        done.events_skipped = self.events_skipped;
        done.because = None;
        self.paused = true;
        times == fit
    }

    /// Number of periods before a flow has no full frames left.
    fn periods_left(&self, period: &Period) -> u64 {
        let left = |&(flow, advance): &(u32, u64)| {
            let Node::Nic(n) = self.node(self.flow_source(FlowId(flow))) else { return 0 };
            let bytes = n.left().find(|l| l.flow == FlowId(flow)).map_or(0, |l| l.bytes);
            bytes.saturating_sub(FRAMES_KEPT * n.payload_max() as u64) / advance
        };
        period.advances.iter().map(left).min().unwrap_or(u64::MAX)
    }

    pub(super) fn flow_source(&self, flow: FlowId) -> NodeId {
        self.partitions[0].core.monitor.flows.records[flow.index()].flow.src
    }

    /// Records the rows of a period a number of times, from the present place in the period.
    fn repeat_rows(&mut self, period: &Period, at: EventKey, times: u64) {
        let length = period.length.0;
        let phase = at.time.since(period.start.time).0 % length;
        let place = |key: &EventKey| (key.time.since(period.start.time).0, key.rank);
        let (later, earlier): (Vec<_>, Vec<_>) =
            period.rows.iter().partition(|(key, _)| place(key) >= (phase, at.rank));
        let from = at.time.0 + self.skipped.0;
        for nth in 0..times {
            let base = from + nth * length;
            for (rows, behind) in [(&later, 0), (&earlier, length)] {
                for (key, row) in rows {
                    // Only the time of a row is new; its values recur.
                    self.record(row.at(base + behind + place(key).0 - phase));
                }
            }
        }
    }

    /// Advances simulated time: the nodes keep their local time, and events from outside come
    /// sooner by the same time.
    pub(super) fn skip(&mut self, by: Span, at: EventKey) {
        self.skipped += by;
        let every = self.deadlock_interval;
        let planned = std::mem::take(&mut self.global_events);
        let sooner = |Reverse(e): Reverse<Event>| {
            let key = e.event_key();
            // Looks that were skipped are those of the detector.
            let missed = match e.kind() {
                Kind::DeadlockDetector => {
                    (at.time.0 + by.0).saturating_sub(key.time.0).div_ceil(every.0)
                }
                _ => 0,
            };
            let mut time = Time(key.time.0 + missed * every.0 - by.0);
            if e.kind() == Kind::DeadlockDetector && (EventKey { time, ..key }) < at {
                time += every;
            }
            Reverse(Event::new(EventKey { time, ..key }, e.kind(), e.port(), e.arg))
        };
        self.global_events = planned.into_iter().map(sooner).collect();
        if let Some(looks) = &mut self.looks {
            looks.skip(by);
        }
        for p in &mut self.partitions {
            p.core.clock.skipped += by;
            p.starts.skipped += by;
            p.replan_flow_start();
        }
    }
}
