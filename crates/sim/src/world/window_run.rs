//! A partition of the network, window by window and unit by unit (see [`Windows`]).
//!
//! ```text
//!   peek: first event at t     window_end: the window that holds t     feed_starts: flows that begin in it
//!   open: a pass up to the end of the window, or to the next event of the whole network if that is earlier
//!     unit 0: its events in order; unit 1: its events in order; ...
//! ```

use xoff_node::EventKey;
use xoff_units::{PortId, Time};

use crate::engine::calendar::Calendar;
use crate::engine::event::{Event, Kind};
use crate::engine::windows::Windows;
use crate::world::partition::{HOPS, Node, Partition, call_switch};

impl Partition {
    /// The events by window, if that is how they are handled.
    #[inline(always)]
    pub(crate) fn windows(&mut self) -> Option<&mut Windows> {
        match &mut self.core.pending {
            Calendar::ByWindow(w) => Some(w),
            Calendar::Global(_) => None,
        }
    }

    /// Time of the next event, or of the next start of a flow.
    pub(crate) fn peek(&mut self) -> Option<EventKey> {
        let start = match self.core.pending {
            Calendar::Global(_) => None, // it is an event
            Calendar::ByWindow(_) => self.next_start(),
        };
        let start = start.map(|(flow, time)| EventKey {
            time,
            rank: self.core.ranks.of(Kind::FlowStart, flow, 0, 0),
        });
        self.core.pending.peek().into_iter().chain(start).min()
    }

    /// Handles the events before `bound`, or about `events` of them, or until about `rows_max` rows
    /// are kept; never a part of a pass.
    pub(crate) fn run_windows(&mut self, bound: EventKey, events: u64, rows_max: usize) {
        let stop = self.core.events.saturating_add(events);
        let mut reached = self.core.clock.event_key();
        while self.core.events < stop && self.rows_kept() < rows_max {
            let Some(first) = self.peek().filter(|first| *first < bound) else { break };
            let Some(end) = self.windows().map(|w| w.window_end(first)) else { break };
            self.feed_starts(end, bound);
            let handled = self.core.events;
            if let Some(w) = self.windows() {
                w.open(bound);
            }
            let single = self.windows().is_some_and(|w| w.are_nodes());
            let single = single && !self.core.links_act();
            while let Some(first) = self.core.begin_turn(&mut reached) {
                if let Some(e) = first.filter(|_| single) {
                    self.take_turn(e.port());
                }
                while let Some(e) = self.core.next_of_turn() {
                    self.handle(e);
                }
            }
            assert!(
                self.core.events > handled,
                "a pass up to {bound:?} left the event at {first:?}: it would never end"
            );
        }
        // Units have reached different times; later events are after all of them.
        let last = self.core.clock.place();
        self.core.clock.reach(reached.max(last));
    }

    /// The node of a port has its turn, if it is a switch: it is looked up once.
    #[inline(always)]
    fn take_turn(&mut self, port: u32) {
        let Partition { nodes, core, acted, .. } = self;
        let PortId { node, .. } = core.layout.ports.places()[port as usize];
        let Node::Switch(s) = &mut nodes[node.index()] else { return };
        let first = core.layout.ports.of(node, 0);
        while let Some(e) = core.next_of_turn() {
            let port = (e.port() - first) as u16;
            match e.kind() {
                Kind::Arrive => {
                    *acted = core.clock.now.max(*acted);
                    if core.layout.jobs {
                        core.last_frame_arrives(node, e.arg);
                    }
                    s.on_frame(port, e.arg, core);
                }
                // The frame that was on the wire arrives no sooner.
                Kind::WireFree => s.on_wire_free(port, core),
                _ => call_switch(s, e, port, core, acted),
            }
        }
    }

    /// The flows that begin before `end` and `bound` become events of their sources: one that
    /// begins another's would reach into another unit.
    fn feed_starts(&mut self, end: Time, bound: EventKey) {
        while let Some((flow, time)) = self.next_start().filter(|s| s.1 < end) {
            let rank = self.core.ranks.of(Kind::FlowStart, flow, 0, 0);
            if (EventKey { time, rank }) >= bound {
                break;
            }
            self.starts.next += 1;
            let src = self.starts.flows[flow as usize].src;
            let port = self.core.layout.port_index(PortId { node: src, port: 0 }) as u32;
            self.core.pending.push(Event::new(
                EventKey { time, rank },
                Kind::FlowStart,
                port,
                flow * HOPS + 1,
            ));
        }
    }
}
