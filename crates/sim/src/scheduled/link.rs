//! A link between two stages, with hop-by-hop credits for the buffer behind it (section 3.1).

use std::collections::VecDeque;

use xoff_units::{Bytes, Rate};

use crate::scheduled::shape::End;

/// Source of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feeder {
    /// An edge: which, counted over the fabric.
    Edge(u32),
    /// An output of an element, counted over the fabric.
    Output(u32),
}

/// A link: one segment at a time, as long as the buffer behind it has room.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub feeder: Feeder,
    pub end: End,
    pub rate: Rate,
    /// From the start of a segment to the arrival of its head behind the link [ps].
    pub head_delay: u64,
    /// From freed room behind the link to the sender [ps].
    pub credit_delay: u64,
    /// The wire is busy until then [ps].
    pub busy_until: u64,
    /// Nothing leaves before then: a blocked receiver [ps].
    pub blocked_until: u64,
    /// Room behind the link that the sender knows of, by place: one queue, or a crosspoint for each
    /// output; empty: without limit [bytes].
    room: Vec<u32>,
    /// Room on its way back, in the order in which it arrives: when, how much, and of which place.
    returning: VecDeque<(u64, u32, u32)>,
    /// Earliest pending call of the sender.
    pub wake: u64,
    /// The sender waits for room, and none is on its way.
    pub starved: bool,
    /// Times that a segment found the wire free and no room behind it.
    pub waits: u64,
}

/// Permission for a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    Now,
    /// Then [ps].
    At(u64),
    /// Wait for returned room.
    Starved,
}

impl Link {
    pub fn new(
        feeder: Feeder,
        end: End,
        rate: Rate,
        head_delay: u64,
        credit_delay: u64,
        room: Vec<u32>,
    ) -> Link {
        Link {
            feeder,
            end,
            rate,
            head_delay,
            credit_delay,
            busy_until: 0,
            blocked_until: 0,
            room,
            returning: VecDeque::new(),
            wake: u64::MAX,
            starved: false,
            waits: 0,
        }
    }

    /// Permission for `len` bytes to start at `now` to a place behind the link: 0, or the number of
    /// an output where room is kept by crosspoint.
    pub fn ready(&mut self, now: u64, len: u32, place: u32) -> Ready {
        let free = self.busy_until.max(self.blocked_until);
        if now < free {
            return Ready::At(free);
        }
        if self.room.is_empty() {
            return Ready::Now;
        }
        while let Some(&(at, bytes, of)) = self.returning.front() {
            if at > now {
                break;
            }
            self.room[of as usize] += bytes;
            self.returning.pop_front();
        }
        let mut known = self.room[place as usize];
        if known >= len {
            return Ready::Now;
        }
        self.waits += 1;
        for &(at, bytes, _) in self.returning.iter().filter(|r| r.2 == place) {
            known += bytes;
            if known >= len {
                return Ready::At(at);
            }
        }
        self.starved = true;
        Ready::Starved
    }

    /// `len` bytes start at `now` to a place behind the link; returns when the wire is free again
    /// [ps].
    pub fn start(&mut self, now: u64, len: u32, place: u32) -> u64 {
        if let Some(room) = self.room.get_mut(place as usize) {
            *room = room.checked_sub(len).expect("a link sends no more than there is room for");
        }
        self.busy_until = now + self.rate.time_for(Bytes(len.into())).0;
        self.busy_until
    }

    /// A place behind the link has freed `bytes` at `at`; returns when the sender is to be called,
    /// if it waits.
    pub fn give_back(&mut self, at: u64, bytes: u32, place: u32) -> Option<u64> {
        let arrives = at + self.credit_delay;
        // Nearly always the last: only a segment that was cut through is given back later than its
        // successor.
        let nth = self.returning.iter().rposition(|r| r.0 <= arrives).map_or(0, |last| last + 1);
        self.returning.insert(nth, (arrives, bytes, place));
        std::mem::take(&mut self.starved).then_some(arrives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 bytes of room, 50-byte segments at 8 Gb/s (1 byte per ns), credits 300 ns away.
    #[test]
    fn sends_while_there_is_room_and_waits_for_its_return() {
        let mut l = Link::new(
            Feeder::Edge(0),
            End::Port(0),
            Rate::from_gbps(8),
            200_000,
            300_000,
            vec![100],
        );
        assert_eq!((l.ready(0, 50, 0), l.start(0, 50, 0)), (Ready::Now, 50_000));
        assert_eq!(l.ready(10_000, 50, 0), Ready::At(50_000), "busy");
        assert_eq!((l.ready(50_000, 50, 0), l.start(50_000, 50, 0)), (Ready::Now, 100_000));
        assert_eq!(l.give_back(60_000, 20, 0), None, "no segment waits yet");
        assert_eq!(l.ready(100_000, 50, 0), Ready::Starved);
        assert_eq!(l.give_back(120_000, 30, 0), Some(420_000));
        assert_eq!(l.ready(400_000, 50, 0), Ready::At(420_000));
        assert_eq!(l.ready(420_000, 50, 0), Ready::Now);
        l.blocked_until = 900_000;
        assert_eq!(l.ready(420_000, 50, 0), Ready::At(900_000));
    }

    /// A segment that was cut through frees its room after one that was taken later and crossed at
    /// full speed.
    #[test]
    fn room_that_is_given_back_out_of_order_is_used_in_order() {
        let mut l = Link::new(
            Feeder::Edge(0),
            End::Port(0),
            Rate::from_gbps(8),
            200_000,
            300_000,
            vec![100],
        );
        assert_eq!((l.start(0, 60, 0), l.start(60_000, 40, 0)), (60_000, 100_000));
        assert_eq!((l.give_back(500_000, 40, 0), l.give_back(100_000, 40, 0)), (None, None));
        assert_eq!(
            l.ready(400_000, 60, 0),
            Ready::At(800_000),
            "a time that has come would be asked for again and again"
        );
        assert_eq!(l.ready(400_000, 40, 0), Ready::Now);
    }

    #[test]
    #[should_panic(expected = "more than there is room for")]
    fn credits_never_go_negative() {
        Link::new(Feeder::Edge(0), End::Port(0), Rate::from_gbps(8), 0, 0, vec![100])
            .start(0, 101, 0);
    }

    /// Room of one crosspoint says nothing of another's.
    #[test]
    fn room_is_kept_by_crosspoint() {
        let mut l = Link::new(
            Feeder::Edge(0),
            End::Port(0),
            Rate::from_gbps(8),
            200_000,
            300_000,
            vec![100, 50],
        );
        assert_eq!((l.ready(0, 50, 1), l.start(0, 50, 1)), (Ready::Now, 50_000));
        assert_eq!((l.ready(50_000, 50, 1), l.ready(50_000, 50, 0)), (Ready::Starved, Ready::Now));
        assert_eq!(l.start(50_000, 100, 0), 150_000);
        assert_eq!(
            l.give_back(160_000, 100, 0),
            Some(460_000),
            "the sender is called, though it waited for the other one"
        );
        assert_eq!(
            (l.ready(200_000, 50, 1), l.ready(200_000, 50, 0)),
            (Ready::Starved, Ready::At(460_000))
        );
        l.give_back(300_000, 50, 1);
        assert_eq!(
            (l.ready(460_000, 50, 1), l.ready(460_000, 50, 0)),
            (Ready::At(600_000), Ready::Now)
        );
    }
}
