//! The flows in motion. There are as many flows as pairs of ports, and few of them have something
//! under way: a flow at rest has no state but its place, so that a fabric fits into the cache.

use xoff_units::{prefetch, prefetch_whole};

use crate::scheduled::flow::Flow;

/// A flow at rest.
const RESTS: u32 = u32::MAX;

/// All flows, by input and output.
pub(crate) struct Flows {
    ports: usize,
    /// By input, then output: the place in `moving`, or [`RESTS`].
    places: Vec<u32>,
    moving: Vec<Flow>,
    /// Places in `moving` without a flow; the last one is the next to be used.
    free: Vec<u32>,
}

impl Flows {
    /// All flows between `ports` ports, at rest.
    pub fn new(ports: u32) -> Flows {
        let ports = ports as usize;
        Flows { ports, places: vec![RESTS; ports * ports], moving: Vec::new(), free: Vec::new() }
    }

    /// A flow, if it is in motion.
    #[inline]
    pub fn moving(&self, input: usize, output: usize) -> Option<&Flow> {
        match self.places[input * self.ports + output] {
            RESTS => None,
            place => Some(&self.moving[place as usize]),
        }
    }

    /// A flow, set in motion if it rests.
    #[inline]
    pub fn set_moving(&mut self, input: usize, output: usize) -> &mut Flow {
        let place = &mut self.places[input * self.ports + output];
        if *place == RESTS {
            *place = self.free.pop().unwrap_or_else(|| {
                self.moving.push(Flow::default());
                self.moving.len() as u32 - 1
            });
        }
        &mut self.moving[*place as usize]
    }

    /// Prefetches the place of a flow.
    pub fn prefetch(&self, input: usize, output: usize) {
        prefetch(&self.places[input * self.ports + output]);
    }

    /// Prefetches a flow in motion.
    pub fn prefetch_moving(&self, input: usize, output: usize) {
        if let Some(flow) = self.moving(input, output) {
            prefetch_whole(flow);
        }
    }

    /// Lets a flow rest if nothing of it is under way.
    #[inline]
    pub fn let_rest(&mut self, input: usize, output: usize) {
        let place = &mut self.places[input * self.ports + output];
        if *place != RESTS && self.moving[*place as usize].may_rest() {
            self.moving[*place as usize].begin_anew();
            self.free.push(*place);
            *place = RESTS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduled::flow::Tag;
    use xoff_mech::scheduled::request_grant::MaySend;

    /// A packet goes its whole way; its flow rests as soon as the ACK of its segment is there, and
    /// the next flow takes its memory.
    #[test]
    fn a_flow_rests_when_nothing_of_it_is_under_way() {
        let mut flows = Flows::new(4);
        let f = flows.set_moving(1, 2);
        f.push(40, 7, Tag::default());
        let piece = f.take_unsolicited(256);
        f.requester.on_sent(MaySend::Unsolicited);
        assert_eq!(f.next_injected(), Some((40, Tag::default())));
        assert_eq!(f.on_segment(piece.offset, piece.len, MaySend::Unsolicited), 1);
        f.depart();
        flows.let_rest(1, 2);
        let f = flows.set_moving(1, 2);
        assert_eq!(f.requester.unacknowledged(), 1, "its ACK is under way");
        f.requester.on_ack(1);
        f.transit_grants = 1;
        flows.let_rest(1, 2);
        flows.set_moving(1, 2).transit_grants = 0;
        flows.let_rest(1, 2);
        assert!(flows.moving(1, 2).is_none());
        let f = flows.set_moving(3, 0);
        assert!(!f.is_late(0), "its stream begins at zero");
        assert_eq!(flows.moving.len(), 1);
    }
}
