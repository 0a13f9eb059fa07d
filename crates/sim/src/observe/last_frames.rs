//! Time for which the last frame of a message waits in switches before stopped ports. It is the
//! part of a message's time that counts as pause.
//!
//! ```text
//!   frame      arrives at a switch |--------- stands there ---------| is transmitted
//!   its port         |-- stopped --|            |-- stopped --|     |-- stopped --|
//!   counted                                     |-------------|
//! ```
//!
//! A port that the frame has left, or has not reached, does not delay it. Kept where jobs are
//! accounted for only.

use rustc_hash::FxHashMap;
use xoff_units::state::State;
use xoff_units::{FlowId, NodeId, Time};

/// Stops that are kept before those are dropped that no frame here has met.
const KEPT: usize = 64;

/// Last frames in the switches of a partition, and the stops of ports that have ended since they
/// came.
#[derive(Default, State)]
pub(crate) struct LastFrames {
    /// By flow and switch: when it arrived.
    here: FxHashMap<(FlowId, NodeId), Time>,
    /// By port and class: begin and end of each stop.
    ended: FxHashMap<u32, Vec<(Time, Time)>>,
}

impl LastFrames {
    /// The last frame of a flow arrives at a switch.
    pub fn arrives(&mut self, flow: FlowId, node: NodeId, now: Time) {
        self.here.insert((flow, node), now);
    }

    /// Removes a frame that is transmitted there. Returns its arrival time.
    pub fn leaves(&mut self, flow: FlowId, node: NodeId) -> Option<Time> {
        self.here.remove(&(flow, node))
    }

    /// A class of a port is not stopped any more.
    pub fn stop_ends(&mut self, class_at: usize, since: Time, until: Time) {
        if self.here.is_empty() {
            return self.ended.clear();
        }
        let all = self.ended.entry(class_at as u32).or_default();
        if all.len() >= KEPT && all.len().is_power_of_two() {
            let first = self.here.values().copied().min().unwrap_or(until);
            all.retain(|stop| stop.1 > first);
        }
        all.push((since, until));
    }

    /// Time between two times in which a class was stopped [ps]; `open`: stops that have not ended,
    /// or not been noted to have.
    pub fn stopped(
        &self,
        class_at: usize,
        (from, to): (Time, Time),
        open: impl Iterator<Item = (Time, Time)>,
    ) -> u64 {
        let ended = self.ended.get(&(class_at as u32)).into_iter().flatten().copied();
        let mut all: Vec<(Time, Time)> = ended
            .chain(open)
            .map(|(a, b)| (a.max(from), b.min(to)))
            .filter(|(a, b)| a < b)
            .collect();
        all.sort_unstable();
        let (mut sum, mut reached) = (0, from);
        for (a, b) in all {
            let a = a.max(reached);
            sum += b.0.saturating_sub(a.0);
            reached = reached.max(b);
        }
        sum
    }

    /// Last frames of a flow that wait in switches here, each with its switch and its arrival.
    pub fn of(&self, flow: FlowId) -> impl Iterator<Item = (NodeId, Time)> + '_ {
        self.here.iter().filter(move |((f, _), _)| *f == flow).map(|((_, node), at)| (*node, *at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stops_while_a_frame_stands_there_count() {
        let mut l = LastFrames::default();
        let t = |t| Time(t);
        l.stop_ends(7, t(1), t(5)); // before it came
        l.arrives(FlowId(3), NodeId(9), t(10));
        l.stop_ends(7, t(2), t(12));
        l.stop_ends(8, t(11), t(30)); // another port
        l.stop_ends(7, t(20), t(25));
        l.stop_ends(7, t(22), t(24)); // within the one before
        assert_eq!(l.of(FlowId(3)).collect::<Vec<_>>(), [(NodeId(9), t(10))]);
        let from = l.leaves(FlowId(3), NodeId(9)).unwrap();
        assert_eq!(l.stopped(7, (from, t(40)), [(t(38), Time::NEVER)].into_iter()), 2 + 5 + 2);
        assert_eq!(l.leaves(FlowId(3), NodeId(9)), None);
        // Stops that nothing here has met are dropped.
        l.arrives(FlowId(4), NodeId(9), t(100));
        (0..1000).for_each(|i| l.stop_ends(7, t(2 * i), t(2 * i + 1)));
        assert!(l.ended[&7].len() < 1000, "{}", l.ended[&7].len());
    }
}
