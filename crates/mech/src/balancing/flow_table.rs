//! Next hops of flows at one switch, as long as the flows go on.

use rustc_hash::FxHashMap;
use xoff_units::state::State;
use xoff_units::{FlowId, Span, Time};

use super::Arrival;

/// A flow without frames for this long is forgotten (ConWeave's simulator: aging of LetFlow's
/// table, 10 ms).
pub(super) const AGING: Span = Span::from_ms(10);
/// Size at which a table first looks for flows to forget.
pub(super) const SMALL: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
struct Entry {
    set: u32,
    hop: u16,
    last: Time,
}

/// The latest next hop of each flow.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub(super) struct FlowTable {
    flows: FxHashMap<FlowId, Entry>,
    #[state(saved)] // when flows are forgotten changes no choice
    grown: usize,
    #[state(built)]
    aging: Span,
}

impl FlowTable {
    /// Without flows. `idle`: the longest time without frames that still means something.
    pub fn new(idle: Span) -> FlowTable {
        FlowTable { flows: FxHashMap::default(), grown: SMALL, aging: idle.max(AGING) }
    }

    /// Next hop and time of the flow's previous frame towards these next hops.
    pub fn get(&self, frame: &Arrival, count: usize) -> Option<(usize, Time)> {
        let entry = self.flows.get(&frame.flow)?;
        let known = entry.set == frame.set && usize::from(entry.hop) < count;
        let fresh = frame.now.since(entry.last) < self.aging;
        (known && fresh).then_some((entry.hop.into(), entry.last))
    }

    /// The flow's frame takes a next hop.
    pub fn put(&mut self, frame: &Arrival, hop: usize) {
        if self.flows.len() >= self.grown {
            self.flows.retain(|_, e| frame.now.since(e.last) < self.aging);
            self.grown = SMALL.max(2 * self.flows.len());
        }
        let entry = Entry { set: frame.set, hop: hop as u16, last: frame.now };
        self.flows.insert(frame.flow, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::frame;
    use super::*;

    #[test]
    fn a_flow_is_forgotten_after_its_time_and_after_a_change_of_routes() {
        let mut t = FlowTable::new(Span::ZERO);
        t.put(&frame(0, FlowId(7)), 3);
        assert_eq!(t.get(&frame(9_999, FlowId(7)), 4), Some((3, Time(0))));
        assert_eq!(t.get(&frame(10_000, FlowId(7)), 4), None, "10 ms");
        assert_eq!(t.get(&frame(1, FlowId(7)), 3), None, "there is no such next hop any more");
        assert_eq!(t.get(&Arrival { set: 2, ..frame(1, FlowId(7)) }, 4), None);
    }

    #[test]
    fn the_table_holds_no_more_than_twice_the_flows_that_go_on() {
        let mut t = FlowTable::new(Span::ZERO);
        for us in 0..100_000 {
            t.put(&frame(us * 10, FlowId(us as u32)), 0); // 1,000 flows in 10 ms
        }
        assert!(t.flows.len() <= 2_048, "{}", t.flows.len());
        assert_eq!(t.get(&frame(1_000_000, FlowId(99_999)), 2), Some((0, Time(999_990_000_000))));
    }
}
