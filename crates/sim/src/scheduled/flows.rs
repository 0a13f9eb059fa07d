//! The flows in motion. There are as many flows as pairs of ports, and few of them have something
//! under way: a flow at rest has no state but its place, so that a fabric fits into the cache.

use xoff_units::state::{Broken, Meaning, Reader, State, Value, Walk};
use xoff_units::{prefetch, prefetch_whole};

/// State of a flow at one of its ends.
pub(crate) trait Half: Default {
    /// True if the state says nothing that a state at rest does not say.
    fn may_rest(&self, now: u64) -> bool;
    /// A flow at rest is set in motion.
    fn begin(&mut self, now: u64);
}

/// A flow at rest.
const RESTS: u32 = u32::MAX;

/// Flows at the ports of one part of the fabric, by that port and the port at the other end.
pub(crate) struct Flows<T> {
    /// First port of the part.
    first: usize,
    ports: usize,
    /// By own port, then the other one: the place in `moving`, or [`RESTS`].
    places: Vec<u32>,
    moving: Vec<T>,
    /// Places in `moving` without a flow; the last one is the next to be used.
    free: Vec<u32>,
}

impl<T: Half> Flows<T> {
    /// All flows between `own` ports and `ports` ports, at rest.
    pub fn new(own: std::ops::Range<u32>, ports: u32) -> Flows<T> {
        Flows {
            first: own.start as usize,
            ports: ports as usize,
            places: vec![RESTS; own.len() * ports as usize],
            moving: Vec::new(),
            free: Vec::new(),
        }
    }

    #[inline]
    fn nth(&self, own: usize, other: usize) -> usize {
        (own - self.first) * self.ports + other
    }

    /// A flow, if it is in motion.
    #[inline]
    pub fn moving(&self, own: usize, other: usize) -> Option<&T> {
        match self.places[self.nth(own, other)] {
            RESTS => None,
            place => Some(&self.moving[place as usize]),
        }
    }

    /// A flow, set in motion if it rests.
    #[inline(always)]
    pub fn set_moving(&mut self, own: usize, other: usize, now: u64) -> &mut T {
        let nth = self.nth(own, other);
        if self.places[nth] == RESTS {
            self.begin(nth, now);
        }
        &mut self.moving[self.places[nth] as usize]
    }

    #[inline(never)]
    fn begin(&mut self, nth: usize, now: u64) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.moving.push(T::default());
            self.moving.len() as u32 - 1
        });
        self.moving[place as usize].begin(now);
        self.places[nth] = place;
    }

    /// The flows in motion: own port, the port at the other end, flow.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, &T)> {
        let moving = self.places.iter().enumerate().filter(|(_, place)| **place != RESTS);
        moving.map(|(nth, &place)| {
            let flow = &self.moving[place as usize];
            (self.first + nth / self.ports, nth % self.ports, flow)
        })
    }

    /// Prefetches the place of a flow.
    pub fn prefetch(&self, own: usize, other: usize) {
        prefetch(&self.places[self.nth(own, other)]);
    }

    /// Prefetches a flow in motion.
    pub fn prefetch_moving(&self, own: usize, other: usize) {
        if let Some(flow) = self.moving(own, other) {
            prefetch_whole(flow);
        }
    }

    /// Lets a flow rest if nothing of it is under way.
    #[inline]
    pub fn let_rest(&mut self, own: usize, other: usize, now: u64) {
        let nth = self.nth(own, other);
        let place = &mut self.places[nth];
        if *place != RESTS && self.moving[*place as usize].may_rest(now) {
            self.free.push(*place);
            *place = RESTS;
        }
    }
}

/// The flows in motion: one at rest has no state.
impl<T: Half + Value> State for Flows<T> {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let moving = self.iter().map(|(own, other, flow)| (self.nth(own, other) as u64, flow));
        let moving: Vec<(u64, &T)> = moving.collect();
        w.number(Meaning::Plain, moving.len() as u64)?;
        moving.into_iter().try_for_each(|(nth, flow)| {
            nth.walk(w)?;
            flow.walk(w)
        })
    }
    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        self.places.fill(RESTS);
        self.moving.clear();
        self.free.clear();
        for (nth, flow) in Vec::<(u64, T)>::read(from)? {
            let place = self.places.get_mut(nth as usize).ok_or(Broken("no flow"))?;
            *place = self.moving.len() as u32;
            self.moving.push(flow);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduled::flow::{Flow, Reassembly, Tag};
    use xoff_mech::scheduled::request_grant::MaySend;

    /// A packet goes its whole way; each end rests as soon as nothing is under way that it has to
    /// know of, and the next flow takes its memory.
    #[test]
    fn a_flow_rests_when_nothing_of_it_is_under_way() {
        let (mut inputs, mut outputs) =
            (Flows::<Flow>::new(1..4, 4), Flows::<Reassembly>::new(0..4, 4));
        let f = inputs.set_moving(1, 2, 5);
        f.push(40, 7, Tag::default());
        let piece = f.take_unsolicited(256);
        f.requester.on_sent(MaySend::Unsolicited);
        let packet = f.next_begun().unwrap();
        assert_eq!((f.next_begun(), f.next_injected()), (None, Some((40, Tag::default()))));
        let r = outputs.set_moving(2, 1, 9);
        r.expect(packet);
        assert_eq!(r.on_segment(piece.offset, piece.len, MaySend::Unsolicited), 1);
        outputs.let_rest(2, 1, 9);
        outputs.set_moving(2, 1, 9).depart();
        outputs.let_rest(2, 1, 9);
        assert!(outputs.moving(2, 1).is_none());
        inputs.let_rest(1, 2, 9);
        let f = inputs.set_moving(1, 2, 9);
        assert_eq!(f.requester.unacknowledged(), 1, "its ACK is under way");
        f.requester.on_ack(1);
        f.transit_grants = 1;
        inputs.let_rest(1, 2, 9);
        inputs.set_moving(1, 2, 9).transit_grants = 0;
        inputs.let_rest(1, 2, 5);
        assert!(inputs.moving(1, 2).is_some(), "a stream of this time would begin in the last one");
        inputs.let_rest(1, 2, 9);
        assert!(inputs.moving(1, 2).is_none());
        let f = inputs.set_moving(3, 0, 9);
        f.push(40, 9, Tag::default());
        assert!(f.take_unsolicited(256).offset >= piece.offset + 40, "streams do not overlap");
        assert_eq!(inputs.moving.len(), 1);
    }
}
