//! Pending events by window and unit: nodes act one after the other, each for a whole window,
//! instead of all of them in one global order.
//!
//! ```text
//!              window 7              window 8              window 9             ...   far (event queue)
//!   unit 0  | e e e e e          | e e                |                      |
//!   unit 1  | e e e -- done      | e e e e            | e                    |     e    e
//!   unit 2  | e e   <- its turn  |     <- a frame that unit 2 transmits lands here
//!   unit 3  | e e e              | e                  |                      |
//! ```
//!
//! What a node does at time t reaches another node no sooner than t plus the delay of the cable
//! between them. So inside a window that is no longer than the shortest cable between two units,
//! every unit may handle its own events without knowing what the others do, and their order among
//! each other cannot matter: the result is that of the global order. What a unit needs stays in the
//! cache for its whole turn, and sorting is by unit.
//!
//! A unit is a node, or several that short cables join: a rack with cables of 5 ns does not shorten
//! the windows of a network whose other cables have 1 us.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use xoff_net::topology::Topology;
use xoff_node::EventKey;
use xoff_units::{Bytes, PortId, Span, Time, prefetch};

use crate::engine::event::Event;
use crate::engine::queue::{self, EventQueue, Pending};

/// Windows that are kept by unit; later events are in an event queue. A frame lands in the next
/// window or, after a long transmission, in the one after it.
const WINDOWS: usize = 4;
/// The longest window: the work of a unit in one turn should fit the second-level cache.
const WIDTH_MAX: Span = Span::from_us(2);
/// The shortest window that is worth a turn of every unit.
const WIDTH_MIN: Span = Span::from_ns(100);
/// Full frames that the links of an average unit carry in a window, below which a window costs more
/// than it saves.
const FRAMES_MIN: f64 = 4.0;
/// A unit of several nodes holds at most one of this number of ports: within a unit events are in
/// one order again.
const SHARE: usize = 4;
/// Up to here an event is put in its place among those of the present turn; further away it goes to
/// a heap.
const NEAR: usize = 24;
const NO_UNIT: u32 = u32::MAX;
/// Units whose lists fit into a second-level cache: each window has 24 bytes and the end of a list
/// for each.
const LARGE: usize = 1000;
/// Events for other units on their way to their lists, in a large network: each list is asked for
/// when its event comes, the end of it half way, and by the time the event is put there both have
/// come. Where one would wait for memory twice, sixteen wait side by side.
const UNDER_WAY: usize = 16;

/// Groups of nodes that act together, and the length of their windows.
pub(crate) struct Units {
    /// Unit of each node.
    pub of_node: Vec<u32>,
    /// Units.
    pub count: usize,
    /// Shortest delay between two units.
    pub lookahead: Span,
}

impl Units {
    /// The units with the longest windows, or why windows would not pay.
    pub fn new(t: &Topology) -> Result<Units, String> {
        let mut delays: Vec<Span> = t.links.iter().map(|l| l.delay).collect();
        delays.sort();
        delays.dedup();
        let ports = t.links.len() * 2;
        let of = |lookahead: Span| {
            let units = Units::joined(t, lookahead);
            let mut sizes = vec![(0, 0); units.count];
            for (n, node) in t.nodes.iter().enumerate() {
                let (nodes, ports) = &mut sizes[units.of_node[n] as usize];
                (*nodes, *ports) = (*nodes + 1, *ports + node.ports.len());
            }
            let fits = |&(nodes, of_unit): &(usize, usize)| nodes == 1 || of_unit * SHARE <= ports;
            (units.count > 1 && sizes.iter().all(fits)).then_some(units)
        };
        let (Some(&shortest), Some(&longest)) = (delays.first(), delays.last()) else {
            return Err("the network has no links".into());
        };
        let mut candidates = delays.iter().rev().filter(|d| **d >= WIDTH_MIN);
        candidates.find_map(|&d| of(d)).ok_or_else(|| {
            format!("cables of {shortest} to {longest}: windows of at least {WIDTH_MIN} would join most of the network into one unit")
        })
    }

    /// Reason why windows would cost more than they save for frames of this length: too few of them
    /// pass a unit in one window.
    pub fn too_sparse(&self, t: &Topology, frame: Bytes) -> Option<String> {
        let window = self.window();
        // As floats: it decides about speed only, and is still the same on every machine.
        let bytes: f64 = t.links.iter().map(|l| 2.0 * l.rate.bytes_in(window).0 as f64).sum();
        let frames = bytes / frame.0.max(1) as f64 / self.count.max(1) as f64;
        (frames < FRAMES_MIN)
            .then(|| format!("in a window of {window} an average node passes {frames:.1} frames; below {FRAMES_MIN} windows gain nothing"))
    }

    /// Length of a window.
    pub fn window(&self) -> Span {
        self.lookahead.min(WIDTH_MAX)
    }

    /// Nodes that shorter cables than `lookahead` join are one unit.
    fn joined(t: &Topology, lookahead: Span) -> Units {
        let mut root: Vec<u32> = (0..t.nodes.len() as u32).collect();
        fn find(root: &mut [u32], mut n: u32) -> u32 {
            while root[n as usize] != n {
                root[n as usize] = root[root[n as usize] as usize];
                n = root[n as usize];
            }
            n
        }
        for l in t.links.iter().filter(|l| l.delay < lookahead) {
            let (a, b) = (find(&mut root, l.a.0), find(&mut root, l.b.0));
            root[a.max(b) as usize] = a.min(b);
        }
        let mut number = vec![NO_UNIT; root.len()];
        let mut count = 0;
        let of_node = (0..root.len() as u32)
            .map(|n| {
                let r = find(&mut root, n) as usize;
                if number[r] == NO_UNIT {
                    number[r] = count;
                    count += 1;
                }
                number[r]
            })
            .collect();
        let of_node: Vec<u32> = of_node;
        let between = t.links.iter().filter(|l| of_node[l.a.index()] != of_node[l.b.index()]);
        let lookahead = between.map(|l| l.delay).min().unwrap_or(Span(u64::MAX));
        Units { of_node, count: count as usize, lookahead }
    }
}

/// The events of one window.
struct Window {
    by_unit: Vec<Vec<Event>>,
    /// Units that have any.
    active: Vec<u32>,
    /// The earliest of them.
    first: EventKey,
}

/// Memory of lists that are empty again, by size: a host, which has some dozens of events in a
/// window, is not to keep a list in which a switch had thousands.
///
/// Of each size, as many lists are kept as there are units. A burst makes a small list a large one,
/// so that in a network that is idle and busy by turns large lists become more with every burst.
struct Spare {
    /// Lists for two to the power of their place in it.
    by_size: Vec<Vec<Vec<Event>>>,
    /// By unit, the size of its next list as such a power: that of its last one, and after a larger
    /// one less in steps.
    sizes: Vec<u8>,
}

impl Spare {
    fn new(units: usize) -> Spare {
        Spare { by_size: Vec::new(), sizes: vec![2; units] }
    }

    /// A list that is about as large as a unit needs.
    #[inline]
    fn take(&mut self, unit: u32) -> Vec<Event> {
        let size = self.sizes[unit as usize] as usize;
        self.by_size
            .get_mut(size)
            .and_then(Vec::pop)
            .unwrap_or_else(|| Vec::with_capacity(1 << size))
    }

    /// A unit is through with a list.
    #[inline]
    fn give(&mut self, unit: u32, mut events: Vec<Event>) {
        let needed = events.len().max(4).next_power_of_two().ilog2() as u8;
        let size = &mut self.sizes[unit as usize];
        *size = needed.max(*size - (*size > needed) as u8);
        events.clear();
        let held = events.capacity().max(1).ilog2() as usize;
        if self.by_size.len() <= held {
            self.by_size.resize_with(held + 1, Vec::new);
        }
        if self.by_size[held].len() < self.sizes.len() {
            self.by_size[held].push(events);
        }
    }
}

/// An event on its way to the list of a unit.
#[derive(Clone, Copy)]
struct UnderWay {
    event: Event,
    /// Place of the window in the ring.
    window: u32,
    /// [`NO_UNIT`]: there is none.
    unit: u32,
}

/// The pending events.
pub(crate) struct Windows {
    /// Length of a window [ps].
    width: u64,
    /// By port.
    unit_of: Vec<u32>,
    /// Beginning of the present window [ps].
    start: u64,
    /// The present window and those after it, as a ring.
    ring: [Window; WINDOWS],
    /// Place of the present window in the ring.
    at: usize,
    far: EventQueue,
    /// Nothing in it is earlier [ps].
    far_from: u64,
    /// End of the present pass: it handles every event of the present window before this time.
    end: EventKey,
    /// Units of the present pass, and how many have had their turn.
    pass: Vec<u32>,
    turn: usize,
    /// Unit that is being served.
    unit: u32,
    /// Events of that unit, latest first.
    current: Vec<Event>,
    /// Events that were added to them far from their beginning.
    added: BinaryHeap<Reverse<Event>>,
    spare: Spare,
    /// Each unit is one node.
    single: bool,
    /// The lists of all units do not fit into the cache.
    large: bool,
    /// In a large network: events that are on their way, as a ring.
    under_way: [UnderWay; UNDER_WAY],
    /// Events that have been sent on their way.
    sent: usize,
}

impl Windows {
    /// Nothing pending; `far` takes events beyond the windows.
    pub fn new(units: &Units, places: &[PortId], far: EventQueue) -> Windows {
        let large = units.count > LARGE;
        let window = || Window {
            by_unit: vec![Vec::new(); units.count],
            active: Vec::new(),
            first: EventKey::NEVER,
        };
        Windows {
            width: units.window().0,
            unit_of: places.iter().map(|p| units.of_node[p.node.index()]).collect(),
            start: 0,
            ring: std::array::from_fn(|_| window()),
            at: 0,
            far,
            far_from: u64::MAX,
            end: EventKey::START,
            pass: Vec::new(),
            turn: 0,
            unit: NO_UNIT,
            current: Vec::new(),
            added: BinaryHeap::new(),
            spare: Spare::new(units.count),
            single: units.count == units.of_node.len(),
            large,
            under_way: [UnderWay { event: Event::NONE, window: 0, unit: NO_UNIT }; UNDER_WAY],
            sent: 0,
        }
    }

    /// True if the lists of all units do not fit into the cache.
    #[inline(always)]
    pub fn is_large(&self) -> bool {
        self.large
    }

    /// True if each unit is one node.
    #[inline(always)]
    pub fn are_nodes(&self) -> bool {
        self.single
    }

    /// Start of the present window [ps].
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Holds these events and no others, none of them before the window that begins at `start`;
    /// between two passes.
    pub fn refill(&mut self, start: u64, events: Vec<Event>) {
        for window in &mut self.ring {
            window.by_unit.iter_mut().for_each(Vec::clear);
            window.active.clear();
            window.first = EventKey::NEVER;
        }
        (self.start, self.far_from) = (start, u64::MAX);
        self.far.refill(Vec::new());
        events.into_iter().for_each(|e| self.push(e));
    }

    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, e: Event) {
        let unit = self.unit_of[e.port() as usize];
        if unit == self.unit && e.event_key() < self.end {
            return self.insert(e);
        }
        let ahead = e.time().saturating_sub(self.start);
        let w = self.width;
        let window = (ahead >= w) as usize + (ahead >= 2 * w) as usize + (ahead >= 3 * w) as usize;
        if ahead >= 4 * w {
            self.far_from = self.far_from.min(e.time());
            return self.far.push(e);
        }
        debug_assert!(
            window > 0 || self.unit == NO_UNIT || unit == self.unit,
            "an event for another unit within the lookahead"
        );
        let window = (self.at + window) % WINDOWS;
        if self.large && self.unit != NO_UNIT {
            self.send(UnderWay { event: e, window: window as u32, unit })
        } else {
            self.put(window, unit, e)
        }
    }

    /// Adds an event that is mostly one or two windows ahead, in a list that is not empty. A whole
    /// window ahead, it is beyond the present pass, whichever unit it is for.
    #[inline(always)]
    pub fn push_ahead(&mut self, e: Event) {
        let (ahead, w) = (e.time().wrapping_sub(self.start), self.width);
        if !self.large && w <= ahead && ahead < 3 * w {
            let window = &mut self.ring[(self.at + 1 + (ahead >= 2 * w) as usize) % WINDOWS];
            let events = &mut window.by_unit[self.unit_of[e.port() as usize] as usize];
            if !events.is_empty() && events.len() < events.capacity() {
                events.push(e);
                if e.time() <= window.first.time.0 {
                    window.first = window.first.min(e.event_key());
                }
                return;
            }
        }
        self.push_slowly(e);
    }

    #[inline(never)]
    fn push_slowly(&mut self, e: Event) {
        self.push(e);
    }

    /// An event for a later window or another unit sets out for its list, and the one that has been
    /// under way longest arrives.
    #[inline(always)]
    fn send(&mut self, e: UnderWay) {
        prefetch(&self.ring[e.window as usize].by_unit[e.unit as usize]);
        let half = self.under_way[(self.sent + UNDER_WAY / 2) % UNDER_WAY];
        if half.unit != NO_UNIT
            && let Some(end) = self.ring[half.window as usize].by_unit[half.unit as usize]
                .spare_capacity_mut()
                .first()
        {
            prefetch(end);
        }
        let longest = std::mem::replace(&mut self.under_way[self.sent % UNDER_WAY], e);
        self.sent += 1;
        if longest.unit != NO_UNIT {
            self.put(longest.window as usize, longest.unit, longest.event);
        }
    }

    /// All that is under way arrives: the pass has ended.
    fn arrive(&mut self) {
        for at in 0..UNDER_WAY {
            let e = self.under_way[at];
            if e.unit != NO_UNIT {
                self.under_way[at].unit = NO_UNIT;
                self.put(e.window as usize, e.unit, e.event);
            }
        }
    }

    #[inline(always)]
    fn put(&mut self, window: usize, unit: u32, e: Event) {
        let window = &mut self.ring[window];
        let events = &mut window.by_unit[unit as usize];
        if events.is_empty() {
            window.active.push(unit);
            *events = self.spare.take(unit);
        }
        events.push(e);
        window.first = window.first.min(e.event_key());
    }

    /// Puts an event among those of the present turn.
    #[inline]
    fn insert(&mut self, e: Event) {
        let n = self.current.len();
        let mut at = n;
        while at > 0 && self.current[at - 1] < e {
            at -= 1;
            if n - at > NEAR {
                return self.added.push(Reverse(e));
            }
        }
        self.current.insert(at, e);
    }

    /// The next event of the present turn; `None`: it has ended.
    #[inline(always)]
    pub fn next(&mut self) -> Option<Event> {
        if self.added.is_empty() { self.current.pop() } else { self.next_slowly() }
    }

    #[inline(never)]
    fn next_slowly(&mut self) -> Option<Event> {
        match (self.current.last(), self.added.peek()) {
            (Some(e), Some(Reverse(a))) if e < a => self.current.pop(),
            (_, Some(_)) => self.added.pop().map(|Reverse(e)| e),
            (_, None) => self.current.pop(),
        }
    }

    /// The next unit has its turn. Returns false if the pass has ended.
    pub fn begin_turn(&mut self) -> bool {
        let Some(&unit) = self.pass.get(self.turn) else {
            self.unit = NO_UNIT;
            self.arrive();
            return false;
        };
        self.turn += 1;
        self.unit = unit;
        let mut events = std::mem::take(&mut self.ring[self.at].by_unit[unit as usize]);
        if self.start.checked_add(self.width).is_none_or(|end| self.end.time.0 < end) {
            // Something concerns the whole network in the middle of this window, or time ends in
            // it: later events wait.
            let end = self.end;
            for e in events.extract_if(.., |e| e.event_key() >= end) {
                self.put(self.at, unit, e);
            }
        }
        queue::sort(&mut events, &mut self.current);
        self.spare.give(unit, events);
        true
    }

    /// All that is pending, in no particular order; between two passes.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        let near = self
            .ring
            .iter()
            .flat_map(|w| w.active.iter().flat_map(|&unit| &w.by_unit[unit as usize]));
        near.chain(self.far.pending())
    }

    /// Events that the present unit will handle soon, if it does not add others.
    #[inline]
    pub fn soon(&self, distance: usize) -> Option<&Event> {
        self.current.get(self.current.len().wrapping_sub(distance + 1))
    }

    /// The same, but the last one of the turn where it has fewer: no branch that is hard to predict.
    #[inline(always)]
    pub fn at_most(&self, distance: usize) -> Option<&Event> {
        self.current.get(self.current.len().saturating_sub(distance + 1))
    }

    /// The earliest event; between two passes.
    pub fn peek(&mut self) -> Option<EventKey> {
        // Far events are later than every window of the ring.
        let near = self.ring.iter().map(|w| w.first).min().filter(|k| *k != EventKey::NEVER);
        near.or_else(|| self.far.peek())
    }

    /// Moves on to the window of the earliest event; between two passes.
    fn move_on(&mut self, first: EventKey) {
        let ahead = first.time.0.saturating_sub(self.start) / self.width;
        self.start += ahead * self.width;
        self.at = (self.at + ahead as usize) % WINDOWS;
        let reach = EventKey {
            time: Time(self.start.saturating_add(WINDOWS as u64 * self.width)),
            rank: 0,
        };
        if self.far_from < reach.time.0 {
            while let Some(e) = self.far.pop_before(reach) {
                let unit = self.unit_of[e.port() as usize];
                let window = (e.time() - self.start) / self.width;
                self.put((self.at + window as usize) % WINDOWS, unit, e);
            }
            self.far_from = self.far.peek().map_or(u64::MAX, |first| first.time.0);
        }
    }

    /// End of the window of the earliest event.
    pub fn window_end(&mut self, first: EventKey) -> Time {
        self.move_on(first);
        self.end_of_window()
    }

    /// End of the present window; the end of time if that is earlier.
    fn end_of_window(&self) -> Time {
        Time(self.start.saturating_add(self.width))
    }

    /// Begins a pass over the units: events in the window of the earliest event, before `bound`.
    pub fn open(&mut self, bound: EventKey) {
        self.end = bound.min(EventKey { time: self.end_of_window(), rank: 0 });
        let window = &mut self.ring[self.at];
        self.pass.clear();
        std::mem::swap(&mut self.pass, &mut window.active);
        window.first = EventKey::NEVER;
        self.turn = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists that a switch needed are not kept by the hosts that follow it.
    #[test]
    fn a_unit_gets_a_list_of_its_own_size() {
        let mut spare = Spare::new(2);
        let (switch, host) = (0, 1);
        let mut turn = |unit, events: usize| {
            let mut list = spare.take(unit);
            let had = list.capacity();
            (0..events).for_each(|_| list.push(Event::NONE));
            spare.give(unit, list);
            had
        };
        turn(switch, 1000);
        assert_eq!((turn(host, 3), turn(switch, 1000)), (4, 1024));
        // After a burst a unit asks for less again, step by step.
        let after_burst: Vec<usize> = (0..10).map(|_| turn(switch, 3)).collect();
        assert_eq!(after_burst, [1024, 512, 256, 128, 64, 32, 16, 8, 4, 4]);
    }

    /// A unit that is idle and busy by turns takes a small list for each burst, and it comes back
    /// as a large one.
    #[test]
    fn lists_do_not_become_more_with_every_burst() {
        let mut spare = Spare::new(2);
        for turn in 0..10_000 {
            let mut list = spare.take(turn % 2);
            let events = if turn / 2 % 12 == 0 { 1000 } else { 3 };
            (0..events).for_each(|_| list.push(Event::NONE));
            spare.give(turn % 2, list);
        }
        assert!(spare.by_size.iter().all(|lists| lists.len() <= 2));
    }
}
