//! What can happen in a fabric, and when.
//!
//! Events of equal times leave by kind, then by place, then by `arg`: an order that does not depend
//! on the history of the run, nor on the way in which the fabric is divided among threads. It
//! matters within one edge or one element only, because everything else takes time.

use std::cmp::Ordering;
use xoff_units::state::{Broken, Reader, State, Value as _, Walk};

use crate::{EventQueue, Pending};
use xoff_units::Time;

/// Subject of an event; `at` and `arg` of an event are place and details. Events of equal times
/// leave in the order of this list: arrivals, then what falls free, then what that makes possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A line changes its rate: port, number of the change.
    LineRate,
    /// The next packet arrives at a port from outside: source.
    Source,
    /// A frame of a host is at its port: port.
    HostFrame,
    /// An acknowledgement of a frame is at its input: port.
    Acknowledged,
    /// The last bit of a segment reaches an edge: link, segment.
    Tail,
    /// A control message that travels next to the data arrives: port.
    Message,
    /// The head of a segment reaches the input of an element: input, segment.
    Head,
    /// A link may send: link.
    Link,
    /// An input of an element is free: element input.
    InputFree,
    /// The crossbar of an element may have something to do for an output: element output.
    Crossbar,
    /// The line of a port may send the next packet: port.
    Line,
    /// The output arbiter of a port may grant: port.
    Grant,
    /// STOP or GO is at a host: port, whether STOP.
    Pause,
    /// A CNM is at a host: port, flow and feedback.
    Cnm,
    /// A CNM is at the port of the host: port, flow and feedback.
    CnmAtEdge,
    /// A timer of a rate limiter: port, place of the flow and timer.
    HostTimer,
    /// A host may put a frame on its line: port.
    HostLine,
    /// The clock of a congestion point: port.
    PointClock,
    /// A message of a job is there: port, flow.
    MessageArrived,
    /// A message of a job has left its VOQ: port, flow.
    MessageSent,
    /// A rank of a job is called: port, its place among the ranks of the part.
    Rank,
}

impl Kind {
    /// By number.
    const ALL: [Kind; 21] = [
        Kind::LineRate,
        Kind::Source,
        Kind::HostFrame,
        Kind::Acknowledged,
        Kind::Tail,
        Kind::Message,
        Kind::Head,
        Kind::Link,
        Kind::InputFree,
        Kind::Crossbar,
        Kind::Line,
        Kind::Grant,
        Kind::Pause,
        Kind::Cnm,
        Kind::CnmAtEdge,
        Kind::HostTimer,
        Kind::HostLine,
        Kind::PointClock,
        Kind::MessageArrived,
        Kind::MessageSent,
        Kind::Rank,
    ];
}

/// 16 bytes: its place in the order of equal times is what it is about.
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct Event {
    time: u64,
    /// Kind, then place, then details.
    rank: u64,
}

impl Event {
    #[inline]
    fn new(time: u64, kind: Kind, at: usize, arg: u32) -> Event {
        Event { time, rank: (kind as u64) << 56 | (at as u64) << 32 | u64::from(arg) }
    }
    #[inline]
    pub fn kind(&self) -> Kind {
        Kind::ALL[(self.rank >> 56) as usize]
    }
    /// Place of the event: a port, a link, an input or an output.
    #[inline]
    pub fn at(&self) -> usize {
        (self.rank >> 32) as usize & (PLACES_MAX - 1)
    }
    #[inline]
    pub fn arg(&self) -> u32 {
        self.rank as u32
    }
}

impl Pending for Event {
    const NONE: Event = Event { time: 0, rank: 0 };
    #[inline(always)]
    fn time(&self) -> u64 {
        self.time
    }
    #[inline(always)]
    fn rank(&self) -> u64 {
        self.rank
    }
}
impl PartialEq for Event {
    fn eq(&self, o: &Self) -> bool {
        self.key() == o.key()
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, o: &Self) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for Event {
    #[inline]
    fn cmp(&self, o: &Self) -> Ordering {
        self.key().cmp(&o.key())
    }
}

/// Places that can be distinguished.
pub(crate) const PLACES_MAX: usize = 1 << 24;

/// The pending events and how many there have been.
pub(crate) struct Events {
    queue: EventQueue<Event>,
    /// Events handled.
    pub done: u64,
}

impl Events {
    /// No events yet: they are expected about `typical_ps` apart from their causes.
    pub fn new(typical_ps: u64) -> Events {
        // Few come later than the queue reaches: packets after a long gap.
        Events { queue: EventQueue::new(typical_ps / 8, 16 * typical_ps), done: 0 }
    }

    #[inline]
    pub fn add(&mut self, time: u64, kind: Kind, at: usize, arg: u32) {
        self.queue.push(Event::new(time, kind, at, arg));
    }

    /// The event that comes `n`-th from now in the present bucket.
    #[inline]
    pub fn ahead(&self, n: usize) -> Option<&Event> {
        self.queue.ahead(n)
    }

    /// Time of the next event [ps].
    pub fn next(&mut self) -> Option<u64> {
        self.queue.peek().map(|key| key.time.0)
    }

    /// The next event before `bound`.
    #[inline]
    pub fn take(&mut self, bound: u64) -> Option<Event> {
        let e = self.queue.pop_before(crate::EventKey { time: Time(bound), rank: 0 })?;
        self.done += 1;
        Some(e)
    }
}

impl State for Events {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let mut events: Vec<&Event> = self.queue.pending().collect();
        events.sort();
        w.list(events.into_iter())?;
        self.done.walk(w)
    }
    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        let events = Vec::<Event>::read(from)?;
        if events.iter().any(|e| (e.rank >> 56) as usize >= Kind::ALL.len()) {
            return Err(Broken("an event of no kind"));
        }
        self.queue.refill(events);
        self.done.restore(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_leave_by_kind_then_place_whatever_came_first() {
        assert_eq!(size_of::<Event>(), 16);
        assert!(Kind::ALL.iter().enumerate().all(|(number, &kind)| kind as usize == number));
        let all = [
            (400, Kind::Grant, 9, 3),
            (500, Kind::Head, PLACES_MAX - 1, u32::MAX),
            (500, Kind::Line, 7, 2),
            (500, Kind::Line, 8, 1),
        ];
        for first in 0..4 {
            let mut a = Events::new(1_000);
            for n in 0..4 {
                let (time, kind, at, arg) = all[(first + n) % 4];
                a.add(time, kind, at, arg);
            }
            assert!(a.take(400).is_none());
            let taken: Vec<_> = std::iter::from_fn(|| a.take(501))
                .map(|e| (e.time(), e.kind(), e.at(), e.arg()))
                .collect();
            assert_eq!(taken, all);
            assert_eq!(a.done, 4);
        }
    }
}
