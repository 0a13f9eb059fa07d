//! Adaptive routing: a frame takes the next hop with the shortest queue.
//!
//! ```text
//!   frame goes on in its flowlet (idle < gap)                   same next hop
//!   queue of the flow's next hop <= shortest + hysteresis       same next hop
//!   else                                                        the shortest queue; of equal ones the next after the latest choice
//! ```

use rustc_hash::FxHashMap;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Span};

use super::{Arrival, Balancer, FlowTable, NextHops};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "hysteresis",
        Kind::Bytes,
        "0B",
        "a flow leaves its next hop only if another queue is shorter by more than this",
        "",
    ),
    ParamSpec::new(
        "gap",
        Kind::Span,
        "0s",
        "idle time of a flow after which it may take another next hop; 0s: each frame may",
        "",
    ),
    ParamSpec::new(
        "paused",
        Kind::Choice(&["avoid", "take"]),
        "avoid",
        "avoid: a next hop whose peer pauses the class is taken only if all are paused; take: only the lengths of queues count",
        "",
    ),
];

/// The law.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Adaptive {
    #[state(built)]
    hysteresis: Bytes,
    #[state(built)]
    gap: Span,
    #[state(built)]
    avoids_paused: bool,
    /// The latest next hop of each set.
    latest: FxHashMap<u32, u16>,
    /// Flows, where it matters which next hop they had.
    table: FlowTable,
}

impl Adaptive {
    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// A value without its unit.
    pub fn read(v: &mut dyn Values) -> Result<Adaptive, ParamError> {
        let gap = v.span("gap")?;
        Ok(Adaptive {
            hysteresis: v.bytes("hysteresis")?,
            gap,
            avoids_paused: v.text("paused")? == "avoid",
            latest: FxHashMap::default(),
            table: FlowTable::new(gap),
        })
    }

    /// Order of preference: lower is better.
    fn cost(&self, hops: &dyn NextHops, hop: usize) -> (bool, Bytes) {
        (self.avoids_paused && hops.is_held(hop), hops.waiting(hop))
    }

    /// Best of all next hops.
    fn best(&mut self, frame: &Arrival, hops: &mut dyn NextHops) -> usize {
        let n = hops.count();
        let first = match self.latest.get(&frame.set) {
            Some(&latest) => usize::from(latest) + 1,
            None => hops.hashed(n as u64) as usize,
        };
        let in_turn = (first..first + n).map(|hop| hop % n);
        in_turn.min_by_key(|&hop| self.cost(hops, hop)).expect("at least one next hop")
    }

    /// The next hop that the flow keeps, if it does.
    fn kept(&self, frame: &Arrival, hops: &dyn NextHops, best: usize) -> Option<usize> {
        let (hop, last) = self.table.get(frame, hops.count())?;
        let (best, own) = (self.cost(hops, best), self.cost(hops, hop));
        let near = own.0 == best.0 && own.1 <= best.1 + self.hysteresis;
        (frame.now.since(last) < self.gap || self.hysteresis > Bytes::ZERO && near).then_some(hop)
    }
}

impl Balancer for Adaptive {
    fn pick(&mut self, frame: &Arrival, hops: &mut dyn NextHops) -> usize {
        let best = self.best(frame, hops);
        let hop = self.kept(frame, hops, best).unwrap_or(best);
        self.latest.insert(frame.set, hop as u16);
        if self.gap > Span::ZERO || self.hysteresis > Bytes::ZERO {
            self.table.put(frame, hop);
        }
        hop
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::FlowId;

    use xoff_units::params::Defaults;

    use super::super::tests::{Hops, frame};
    use super::*;

    fn law(values: &[(&str, &str)]) -> Adaptive {
        let defaults = Defaults::of(PARAMS);
        Adaptive::read(&mut values.iter().fold(defaults, |v, (key, x)| v.with(key, x))).unwrap()
    }

    #[test]
    fn the_shortest_queue_and_equal_ones_in_turn() {
        let (mut law, mut hops) = (law(&[]), Hops::new(&[0, 0, 0]));
        let mut three = || [0; 3].map(|_| law.pick(&frame(0, FlowId(0)), &mut hops));
        assert_eq!(three(), [0, 1, 2]);
        hops.waiting = vec![9, 9, 4];
        assert_eq!(law.pick(&frame(0, FlowId(0)), &mut hops), 2);
    }

    #[test]
    fn a_paused_next_hop_is_avoided_unless_all_are() {
        let mut hops = Hops { held: vec![true, false], ..Hops::new(&[0, 9]) };
        assert_eq!(law(&[]).pick(&frame(0, FlowId(0)), &mut hops), 1);
        assert_eq!(law(&[("paused", "take")]).pick(&frame(0, FlowId(0)), &mut hops), 0);
        hops.held = vec![true, true];
        assert_eq!(law(&[]).pick(&frame(0, FlowId(0)), &mut hops), 0);
    }

    #[test]
    fn hysteresis_and_a_gap_keep_a_flow() {
        let mut hops = Hops::new(&[0, 0]);
        let mut sticky = law(&[("hysteresis", "1000B")]);
        assert_eq!(sticky.pick(&frame(0, FlowId(5)), &mut hops), 0);
        hops.waiting = vec![1000, 0];
        assert_eq!(sticky.pick(&frame(1, FlowId(5)), &mut hops), 0, "not longer by more than that");
        hops.waiting = vec![1001, 0];
        assert_eq!(sticky.pick(&frame(2, FlowId(5)), &mut hops), 1);
        let mut lets = law(&[("gap", "10us")]);
        hops.waiting = vec![0, 1];
        assert_eq!(lets.pick(&frame(0, FlowId(5)), &mut hops), 0);
        hops.waiting = vec![9, 1];
        assert_eq!([9, 19].map(|us| lets.pick(&frame(us, FlowId(5)), &mut hops)), [0, 1]);
    }
}
