//! What can happen in a fabric, and when.

use std::cmp::Ordering;

use crate::{EventQueue, Pending};
use xoff_units::Time;

/// Subject of an event; `at` and `arg` of an event are place and details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The next packet arrives at a port from outside.
    Source,
    /// The head of a segment reaches the input of an element: link, segment.
    Head,
    /// The last bit of a segment reaches an edge: link, segment.
    Tail,
    /// The crossbar of an element may have something to do for an output: element output.
    Crossbar,
    /// An input of an element is free: element input.
    InputFree,
    /// A link may send: link.
    Link,
    /// The output arbiter of a port may grant: port.
    Grant,
    /// The line of a port may send the next packet: port.
    Line,
    /// A control message that travels next to the data arrives: segment.
    Message,
    /// A line is blocked or let go.
    Block,
    /// A host may put a frame on its line: port.
    HostLine,
    /// A frame of a host is at its port: port.
    HostFrame,
    /// A timer of a rate limiter: port, place of the flow and timer.
    HostTimer,
    /// STOP or GO is at a host: port, whether STOP.
    Pause,
    /// A CNM is at a host: port, flow and feedback.
    Cnm,
    /// A CNM is at the port of the host: port, flow and feedback.
    CnmAtEdge,
    /// The clock of a congestion point: port.
    PointClock,
    /// An acknowledgement of a frame is at its input: port.
    Acknowledged,
    /// A line changes its rate: number of the change.
    LineRate,
    /// A window of the measurement ends.
    Window,
}

/// 24 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    time: u64,
    /// Order of scheduling: first scheduled, first served among equal times.
    nth: u64,
    pub kind: Kind,
    at: [u8; 3],
    pub arg: u32,
}

impl Event {
    /// Place of the event: a port, a link, an input or an output, counted over the fabric.
    #[inline]
    pub fn at(&self) -> usize {
        let [a, b, c] = self.at;
        u32::from_le_bytes([a, b, c, 0]) as usize
    }
}

impl Pending for Event {
    const NONE: Event = Event { time: 0, nth: 0, kind: Kind::Window, at: [0; 3], arg: 0 };
    #[inline(always)]
    fn time(&self) -> u64 {
        self.time
    }
    #[inline(always)]
    fn rank(&self) -> u64 {
        self.nth
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
    scheduled: u64,
    /// Events taken.
    pub done: u64,
}

impl Events {
    /// No events yet: they are expected about `typical_ps` apart from their causes.
    pub fn new(typical_ps: u64) -> Events {
        Events { queue: EventQueue::new(typical_ps / 8, 64 * typical_ps), scheduled: 0, done: 0 }
    }

    #[inline]
    pub fn add(&mut self, time: u64, kind: Kind, at: usize, arg: u32) {
        self.scheduled += 1;
        let [a, b, c, _] = (at as u32).to_le_bytes();
        self.queue.push(Event { time, nth: self.scheduled, kind, at: [a, b, c], arg });
    }

    /// The event that comes `n`-th from now in the present bucket.
    #[inline]
    pub fn ahead(&self, n: usize) -> Option<&Event> {
        self.queue.ahead(n)
    }

    /// The next event not after `until`.
    #[inline]
    pub fn take(&mut self, until: u64) -> Option<Event> {
        let bound = just_after(until);
        let e = self.queue.pop_before(bound)?;
        self.done += 1;
        Some(e)
    }
}

/// Just after everything that happens at `until`.
fn just_after(until: u64) -> crate::EventKey {
    crate::EventKey { time: Time(until), rank: u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_leave_in_the_order_of_scheduling() {
        assert_eq!(size_of::<Event>(), 24);
        let mut a = Events::new(1_000);
        a.add(500, Kind::Line, PLACES_MAX - 1, 1);
        a.add(500, Kind::Grant, 7, 2);
        a.add(400, Kind::Head, 9, 3);
        let taken: Vec<_> =
            std::iter::from_fn(|| a.take(500)).map(|e| (e.kind, e.at(), e.arg)).collect();
        assert_eq!(
            taken,
            [(Kind::Head, 9, 3), (Kind::Line, PLACES_MAX - 1, 1), (Kind::Grant, 7, 2)]
        );
        assert_eq!(a.done, 3);
    }
}
