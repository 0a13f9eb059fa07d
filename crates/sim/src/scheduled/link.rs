//! A link between two stages, with hop-by-hop credits for the buffer behind it (section 3.1).

use std::collections::VecDeque;
use xoff_units::state::State;

use xoff_units::{Bytes, Rate};

/// Source of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feeder {
    /// An edge: which, counted over the fabric.
    Edge(u32),
    /// An output of an element, counted over the fabric.
    Output(u32),
}

/// Place behind a link, in some part of the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// An input of an element, by its number in that part.
    Input(u32),
    /// An edge: the port of its destination takes the segment.
    Port,
}

/// Room in one place behind a link, as far as its sender knows [bytes].
#[derive(Clone, Copy, Debug, Default, State)]
struct Room {
    free: u32,
    /// A segment waits for so much; 0: none waits.
    wanted: u32,
}

/// A link: one segment at a time, as long as the buffer behind it has room.
#[derive(Clone, Debug, State)]
pub(crate) struct Link {
    /// Number in the whole fabric.
    #[state(built)]
    pub number: u32,
    #[state(built)]
    pub feeder: Feeder,
    #[state(built)]
    pub behind: Behind,
    /// The element behind it, counted over the fabric, and its part; of no meaning before an edge.
    #[state(built)]
    pub element: u32,
    #[state(built)]
    pub part: u16,
    #[state(built)]
    pub rate: Rate,
    /// From the start of a segment to the arrival of its head behind the link [ps].
    #[state(built)]
    pub head_delay: u64,
    /// The wire is busy until then [ps].
    pub busy_until: u64,
    /// Nothing leaves before then: a blocked receiver [ps].
    pub blocked_until: u64,
    /// Room behind the link that the sender knows of, by place: one queue, or a crosspoint for each
    /// output; empty: without limit [bytes].
    rooms: Vec<Room>,
    /// Room on its way back, in the order in which it arrives: when, how much, and of which place.
    returning: VecDeque<(u64, u32, u32)>,
    /// Earliest pending call of the sender.
    pub wake: u64,
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
    /// A link of this rate, without limit; the rest is to be set.
    pub fn new(feeder: Feeder, rate: Rate) -> Link {
        Link {
            number: 0,
            feeder,
            behind: Behind::Port,
            part: 0,
            element: u32::MAX,
            rate,
            head_delay: 0,
            busy_until: 0,
            blocked_until: 0,
            rooms: Vec::new(),
            returning: VecDeque::new(),
            wake: u64::MAX,
            waits: 0,
        }
    }

    /// There are some places behind the link, with room for so many bytes each.
    pub fn limit(&mut self, places: u32, bytes: u32) {
        self.rooms = vec![Room { free: bytes, wanted: 0 }; places as usize];
    }

    /// Permission for `len` bytes to start at `now` to a place behind the link: 0, or the number of
    /// an output where room is kept by crosspoint.
    pub fn ready(&mut self, now: u64, len: u32, place: u32) -> Ready {
        let free = self.busy_until.max(self.blocked_until);
        if now < free {
            return Ready::At(free);
        }
        if self.rooms.is_empty() {
            return Ready::Now;
        }
        while let Some(&(at, bytes, of)) = self.returning.front() {
            if at > now {
                break;
            }
            self.rooms[of as usize].free += bytes;
            self.returning.pop_front();
        }
        let room = &mut self.rooms[place as usize];
        if room.free >= len {
            return Ready::Now;
        }
        self.waits += 1;
        room.wanted = if room.wanted == 0 { len } else { len.min(room.wanted) };
        self.room_at(place).map_or(Ready::Starved, Ready::At)
    }

    /// When there is the wanted room in a place, as far as it is known: the time does not depend on
    /// when it becomes known.
    fn room_at(&self, place: u32) -> Option<u64> {
        let Room { mut free, wanted } = self.rooms[place as usize];
        let enough = |&&(_, bytes, _): &&(u64, u32, u32)| {
            free += bytes;
            free >= wanted
        };
        self.returning.iter().filter(|r| r.2 == place).find(enough).map(|r| r.0)
    }

    /// The sender is called: it will ask again.
    pub fn called(&mut self) {
        self.wake = u64::MAX;
        self.rooms.iter_mut().for_each(|room| room.wanted = 0);
    }

    /// Control of `len` bytes starts at `now` in a lane of its own; returns when the wire is free
    /// again [ps].
    pub fn start_in_lane(&mut self, now: u64, len: u32) -> u64 {
        self.busy_until = now + self.rate.time_for(Bytes(len.into())).0;
        self.busy_until
    }

    /// `len` bytes start at `now` to a place behind the link; returns when the wire is free again
    /// [ps].
    pub fn start(&mut self, now: u64, len: u32, place: u32) -> u64 {
        if let Some(room) = self.rooms.get_mut(place as usize) {
            room.free =
                room.free.checked_sub(len).expect("a link sends no more than there is room for");
            self.rooms.iter_mut().for_each(|room| room.wanted = 0);
        }
        self.busy_until = now + self.rate.time_for(Bytes(len.into())).0;
        self.busy_until
    }

    /// A place behind the link has freed `bytes`, and the sender may use them from `arrives` on;
    /// returns when it is to be called, if it waits and has enough then.
    pub fn give_back(&mut self, arrives: u64, bytes: u32, place: u32) -> Option<u64> {
        // Nearly always the last: only a segment that was cut through is given back later than its
        // successor.
        let nth = self.returning.iter().rposition(|r| r.0 <= arrives).map_or(0, |last| last + 1);
        self.returning.insert(nth, (arrives, bytes, place));
        if self.rooms[place as usize].wanted == 0 {
            return None;
        }
        self.room_at(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link((places, bytes): (u32, u32)) -> Link {
        let mut l = Link::new(Feeder::Edge(0), Rate::from_gbps(8));
        l.limit(places, bytes);
        l
    }

    /// 100 bytes of room, 50-byte segments at 8 Gb/s (1 byte per ns), credits 300 ns away.
    #[test]
    fn sends_while_there_is_room_and_waits_for_its_return() {
        let mut l = link((1, 100));
        assert_eq!((l.ready(0, 50, 0), l.start(0, 50, 0)), (Ready::Now, 50_000));
        assert_eq!(l.ready(10_000, 50, 0), Ready::At(50_000), "busy");
        assert_eq!((l.ready(50_000, 50, 0), l.start(50_000, 50, 0)), (Ready::Now, 100_000));
        assert_eq!(l.ready(100_000, 50, 0), Ready::Starved);
        assert_eq!(l.give_back(360_000, 20, 0), None, "too little");
        assert_eq!(l.give_back(420_000, 30, 0), Some(420_000));
        assert_eq!(l.ready(400_000, 50, 0), Ready::At(420_000));
        l.called();
        assert_eq!(l.give_back(430_000, 20, 0), None, "no segment waits yet");
        assert_eq!(l.ready(420_000, 50, 0), Ready::Now);
        l.blocked_until = 900_000;
        assert_eq!(l.ready(420_000, 50, 0), Ready::At(900_000));
    }

    /// Whether room is known of before or after a segment asks for it, its sender is called at the
    /// same time; a segment that was cut through frees its room after one that was taken later and
    /// crossed at full speed.
    #[test]
    fn the_call_does_not_depend_on_when_room_is_known_of() {
        let credits = [(700_000, 30), (500_000, 20), (600_000, 10)];
        for known in 0..=3 {
            let mut l = link((1, 100));
            assert_eq!((l.start(0, 60, 0), l.start(60_000, 40, 0)), (60_000, 100_000));
            let (before, after) = credits.split_at(known);
            before.iter().for_each(|&(at, bytes)| assert_eq!(l.give_back(at, bytes, 0), None));
            let mut call = match l.ready(400_000, 50, 0) {
                Ready::At(at) => at,
                _ => u64::MAX,
            };
            for &(at, bytes) in after {
                call = call.min(l.give_back(at, bytes, 0).unwrap_or(u64::MAX));
            }
            assert_eq!(call, 700_000, "{known} known before");
            assert_eq!(l.ready(600_000, 30, 0), Ready::Now);
        }
    }

    #[test]
    #[should_panic(expected = "more than there is room for")]
    fn credits_never_go_negative() {
        link((1, 100)).start(0, 101, 0);
    }

    /// Room of one crosspoint says nothing of another's.
    #[test]
    fn room_is_kept_by_crosspoint() {
        let mut l = link((2, 50));
        assert_eq!((l.ready(0, 50, 1), l.start(0, 50, 1)), (Ready::Now, 50_000));
        assert_eq!((l.ready(50_000, 50, 1), l.ready(50_000, 50, 0)), (Ready::Starved, Ready::Now));
        assert_eq!(l.start(50_000, 50, 0), 100_000);
        assert_eq!(
            (l.ready(100_000, 50, 1), l.ready(100_000, 50, 0)),
            (Ready::Starved, Ready::Starved)
        );
        assert_eq!(l.give_back(460_000, 50, 0), Some(460_000));
        assert_eq!(l.give_back(600_000, 50, 1), Some(600_000));
        assert_eq!(
            (l.ready(460_000, 50, 1), l.ready(460_000, 50, 0)),
            (Ready::At(600_000), Ready::Now)
        );
    }
}
