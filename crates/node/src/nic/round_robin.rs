//! Round robin over the flows of a NIC, in the order of their start.
//!
//! ```text
//!   class 0:  2  5  6  9 ...     one ring per class; the turn goes through all of them by number,
//!   class 1:  3  4  7 ...        after the flow served last, and back to the beginning
//! ```
//!
//! The cost of a pick does not grow with the number of paused flows. If the first flow of a class
//! may not send the shortest frame of the class, no flow of the class may.
//!
//! Nor does it grow with the number of flows in flight. A flow that has sent its last byte is
//! *asleep*: it leaves the ring, and comes back to its place if it has to send something again.

use xoff_units::Class;
use xoff_units::state::State;

/// The answer of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The next frame may be sent.
    Go,
    /// The flow has nothing to send now; the length of its next frame, or [`NOTHING`] if it has
    /// none [bytes].
    Waits(u32),
    /// The peer's flow control holds its next frame, of this length [bytes].
    Held(u32),
    /// The flow is complete.
    Over,
}

/// The length of no frame.
pub(super) const NOTHING: u32 = u32::MAX;

/// Classes that a frame can have.
pub(super) const CLASSES_MAX: usize = 8;

/// The flows in round-robin order.
pub(super) trait Flows {
    /// True if this flow may send.
    fn ask(&mut self, slot: u32) -> Answer;
    /// True if the peer blocks every frame of this class of at least this length.
    fn closed_from(&mut self, class: Class, len: u32) -> bool;
    /// True if the flow has nothing to send.
    fn asleep(&self, slot: u32) -> bool;
    /// True if the flow is over, whatever is left.
    fn finished(&self, slot: u32) -> bool;
}

/// The flows of one class.
#[derive(Debug, State)]
struct Ring {
    /// By start, that is, by number.
    #[state(slots)]
    flows: Vec<u32>,
    /// Position of the flow after the last served one, unless another ring was served since.
    #[state(saved)] // a cache
    next: usize,
    /// No next frame of its flows is shorter [bytes].
    shortest: u32,
    /// Number of its flows that are asleep.
    asleep: usize,
}

impl Ring {
    const EMPTY: Ring = Ring { flows: Vec::new(), next: 0, shortest: NOTHING, asleep: 0 };

    /// Position of the first flow after number `last`.
    #[inline]
    fn place_after(&self, last: u32) -> usize {
        let (at, n) = (self.next, self.flows.len());
        let after = |i: usize| i < n && self.flows[i] > last;
        let right = at <= n && (at == 0 || !after(at - 1)) && (at == n || after(at));
        if right { at } else { self.flows.partition_point(|&f| f <= last) }
    }

    /// Removes flows that are asleep, once they are the greater part.
    #[inline]
    fn tidy(&mut self, flows: &impl Flows) {
        if self.asleep * 2 > self.flows.len() {
            self.tidy_up(flows);
        }
    }

    #[cold]
    fn tidy_up(&mut self, flows: &impl Flows) {
        self.flows.retain(|&f| !flows.asleep(f));
        self.asleep = 0;
        if self.flows.is_empty() {
            self.shortest = NOTHING;
        }
    }
}

/// A walk through a ring, from the flow after the one served last.
struct Walk {
    at: usize,
    left: usize,
    /// Shortest length of the frames met.
    shortest: u32,
    /// The peer holds some frames of the class and not all of them.
    mixed: bool,
}

impl Walk {
    const NOWHERE: Walk = Walk { at: 0, left: 0, shortest: NOTHING, mixed: false };

    fn new(ring: &Ring, last: u32) -> Walk {
        Walk { at: ring.place_after(last), left: ring.flows.len(), shortest: NOTHING, mixed: false }
    }

    /// The next flow; the ring has one.
    #[inline]
    fn slot(&mut self, ring: &Ring) -> u32 {
        if self.at == ring.flows.len() {
            self.at = 0;
        }
        ring.flows[self.at]
    }

    /// Asks the flow and moves to the next one. `None`: no other flow of this class may send.
    #[inline]
    fn step(
        &mut self,
        ring: &mut Ring,
        class: Class,
        slot: u32,
        flows: &mut impl Flows,
    ) -> Option<Answer> {
        let answer = flows.ask(slot);
        self.at += 1;
        self.left -= 1;
        match answer {
            Answer::Go => ring.next = self.at,
            Answer::Over => {}
            Answer::Waits(len) => self.shortest = self.shortest.min(len),
            Answer::Held(len) => {
                self.shortest = self.shortest.min(len);
                // The last one represents itself only.
                if !self.mixed && self.left > 0 {
                    if flows.closed_from(class, ring.shortest) {
                        self.left = 0;
                        return None;
                    }
                    self.mixed = true;
                }
            }
        }
        if self.left == 0 && answer != Answer::Go {
            // All of them were met.
            ring.shortest = self.shortest;
        }
        Some(answer)
    }
}

/// All rings of a NIC.
#[derive(Debug, State)]
pub(super) struct RoundRobin {
    first: Ring,
    /// Rings of class 1 and so on; as many as have been needed.
    more: Vec<Ring>,
    /// The flow served last.
    #[state(slot)]
    last: u32,
}

impl RoundRobin {
    pub fn new() -> RoundRobin {
        RoundRobin { first: Ring::EMPTY, more: Vec::new(), last: 0 }
    }

    fn ring(&self, class: Class) -> Option<&Ring> {
        if class == Class(0) { Some(&self.first) } else { self.more.get(class.index() - 1) }
    }

    #[inline]
    fn ring_mut(&mut self, class: Class) -> Option<&mut Ring> {
        if class == Class(0) { Some(&mut self.first) } else { self.more.get_mut(class.index() - 1) }
    }

    /// A flow begins; flows are numbered by their start. `len`: of its first frame [bytes]. One
    /// that comes from another port takes its place among those that began here.
    pub fn push(&mut self, class: Class, slot: u32, len: u32) {
        while self.more.len() < class.index() {
            self.more.push(Ring::EMPTY);
        }
        if let Some(ring) = self.ring_mut(class) {
            match ring.flows.last() {
                Some(&last) if last > slot => {
                    let at = ring.flows.partition_point(|&f| f < slot);
                    ring.flows.insert(at, slot);
                }
                _ => ring.flows.push(slot),
            }
            ring.shortest = ring.shortest.min(len);
        }
    }

    /// A flow moves to another port.
    pub fn remove(&mut self, class: Class, slot: u32) {
        if let Some(ring) = self.ring_mut(class) {
            ring.flows.retain(|&f| f != slot);
        }
    }

    /// The next frame of a flow became this long [bytes].
    #[inline]
    pub fn shorter(&mut self, class: Class, len: u32) {
        if let Some(ring) = self.ring_mut(class) {
            ring.shortest = ring.shortest.min(len);
        }
    }

    /// A flow has nothing to send.
    pub fn falls_asleep(&mut self, class: Class) {
        if let Some(ring) = self.ring_mut(class) {
            ring.asleep += 1;
        }
    }

    /// A flow that was asleep has something to send.
    #[cold]
    pub fn wakes(&mut self, class: Class, slot: u32) {
        if let Some(ring) = self.ring_mut(class) {
            match ring.flows.binary_search(&slot) {
                Ok(_) => ring.asleep -= 1,
                Err(at) => ring.flows.insert(at, slot),
            }
        }
    }

    /// True if it is empty, without even a flow that is asleep.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.flows.is_empty() && self.more.iter().all(|r| r.flows.is_empty())
    }

    /// Flows of a class, by start.
    #[inline]
    pub fn of_class(&self, class: Class) -> &[u32] {
        self.ring(class).map_or(&[], |r| &r.flows)
    }

    /// The first flow of class 0 whose turn it may be.
    #[inline]
    pub fn likely(&self) -> Option<u32> {
        self.first.flows.get(self.first.next).or(self.first.flows.first()).copied()
    }

    /// Flows that are asleep leave, as before a pick. Returns the flow served last.
    pub fn before_pick(&mut self, flows: &impl Flows) -> u32 {
        self.first.tidy(flows);
        self.more.iter_mut().for_each(|ring| ring.tidy(flows));
        self.last
    }

    /// A flow was picked elsewhere.
    pub fn served(&mut self, slot: u32) {
        self.last = slot;
    }

    /// Next flow in round robin order that may send, after the one served last. Nothing is served
    /// if there is none, and the turn stays.
    #[inline]
    pub fn pick(&mut self, flows: &mut impl Flows) -> Option<u32> {
        let picked =
            if self.more.is_empty() { self.pick_of_one(flows) } else { self.pick_of_many(flows) };
        if let Some(slot) = picked {
            self.last = slot;
        }
        picked
    }

    #[inline]
    fn pick_of_one(&mut self, flows: &mut impl Flows) -> Option<u32> {
        let ring = &mut self.first;
        ring.tidy(flows);
        let mut walk = Walk::new(ring, self.last);
        while walk.left > 0 {
            let slot = walk.slot(ring);
            if walk.step(ring, Class(0), slot, flows)? == Answer::Go {
                return Some(slot);
            }
        }
        None
    }

    fn pick_of_many(&mut self, flows: &mut impl Flows) -> Option<u32> {
        let last = self.last;
        let mut walks = [const { Walk::NOWHERE }; CLASSES_MAX];
        for (ring, walk) in std::iter::once(&mut self.first).chain(&mut self.more).zip(&mut walks) {
            ring.tidy(flows);
            *walk = Walk::new(ring, last);
        }
        loop {
            let rings =
                std::iter::once(&mut self.first).chain(&mut self.more).zip(&mut walks).enumerate();
            // Numbers above the last one come first, then those from the beginning on.
            let round_robin = rings
                .filter(|(_, (_, w))| w.left > 0)
                .map(|(class, (r, w))| (w.slot(r), class, r, w));
            let (slot, class, ring, walk) =
                round_robin.min_by_key(|t| t.0.wrapping_sub(last).wrapping_sub(1))?;
            if walk.step(ring, Class(class as u8), slot, flows) == Some(Answer::Go) {
                return Some(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows whose classes may be shut, and the number of questions to a flow.
    #[derive(Default)]
    struct Group {
        class: Vec<u8>,
        len: Vec<u32>,
        frames: Vec<u32>,
        /// Length from which frames of this class are held.
        held_from: [u32; 2],
        asked: usize,
    }

    impl Flows for Group {
        fn ask(&mut self, slot: u32) -> Answer {
            self.asked += 1;
            let at = slot as usize;
            match () {
                _ if self.frames[at] == 0 => Answer::Over,
                _ if self.len[at] >= self.held_from[self.class[at] as usize] => {
                    Answer::Held(self.len[at])
                }
                _ => Answer::Go,
            }
        }
        fn closed_from(&mut self, class: Class, len: u32) -> bool {
            len >= self.held_from[class.index()]
        }
        fn asleep(&self, slot: u32) -> bool {
            self.finished(slot)
        }
        fn finished(&self, slot: u32) -> bool {
            self.frames[slot as usize] == 0
        }
    }

    fn start(flows: &[(u8, u32, u32)]) -> (RoundRobin, Group) {
        let mut t = RoundRobin::new();
        let mut f = Group { held_from: [NOTHING; 2], ..Group::default() };
        for (slot, &(class, len, frames)) in flows.iter().enumerate() {
            t.push(Class(class), slot as u32, len);
            f.class.push(class);
            f.len.push(len);
            f.frames.push(frames);
        }
        (t, f)
    }

    /// Serves a number of frames.
    fn serve(t: &mut RoundRobin, f: &mut Group, n: usize) -> Vec<u32> {
        let mut served = Vec::new();
        for _ in 0..n {
            let Some(slot) = t.pick(f) else { break };
            f.frames[slot as usize] -= 1;
            if f.frames[slot as usize] == 0 {
                t.falls_asleep(Class(f.class[slot as usize]));
            }
            served.push(slot);
        }
        served
    }

    /// Flow 0 counts as served when none has been. The order is that of one ring, whatever the
    /// classes.
    #[test]
    fn the_round_robin_goes_by_order_of_start() {
        let one = [(0, 1500, 2), (0, 1500, 1), (0, 1500, 3), (0, 1500, 2)];
        let order = [1, 2, 3, 0, 2, 3, 0, 2];
        let (mut t, mut f) = start(&one);
        assert_eq!(serve(&mut t, &mut f, 99), order);
        assert!(t.is_empty() || t.pick(&mut f).is_none());
        let (mut t, mut f) = start(&[(0, 1500, 2), (1, 1500, 1), (1, 1500, 3), (0, 1500, 2)]);
        assert_eq!(serve(&mut t, &mut f, 99), order);
    }

    /// Flow 0 is over when the peer holds the rest; the turn is flow 2's. By places in the ring, as
    /// it was kept before, it went to flow 3. Where most flows are over they leave at once, which
    /// does not move it either.
    #[test]
    fn the_turn_stays_when_flows_end_while_none_can_send() {
        for class in [0, 1] {
            let held_for_a_while = |flows: &[(u8, u32, u32)]| {
                let (mut t, mut f) = start(flows);
                serve(&mut t, &mut f, flows.len());
                let before = serve(&mut t, &mut f, 1);
                f.held_from = [0, 0];
                assert_eq!(serve(&mut t, &mut f, 1), []);
                f.held_from = [NOTHING; 2];
                (before, serve(&mut t, &mut f, 3))
            };
            let long = (class, 1500, 9);
            assert_eq!(
                held_for_a_while(&[(0, 1500, 1), long, long, long]),
                (vec![1], vec![2, 3, 1])
            );
            let short = (0, 1500, 1);
            assert_eq!(
                held_for_a_while(&[short, short, short, long, long]),
                (vec![3], vec![4, 3, 4])
            );
        }
    }

    /// Ten thousand flows that the peer holds: one is asked, and none of theirs where another class
    /// may send.
    #[test]
    fn held_flows_are_not_asked_one_by_one() {
        let many = |class: u8| (0..10_000).map(move |i| (class, 64 + i % 1400, 5));
        let (mut t, mut f) = start(&many(0).collect::<Vec<_>>());
        f.held_from = [64, NOTHING];
        assert_eq!((serve(&mut t, &mut f, 1).len(), f.asked), (0, 1));
        f.asked = 0;
        f.held_from[0] = NOTHING;
        assert_eq!((serve(&mut t, &mut f, 5000).len(), f.asked), (5000, 5000));

        let (mut t, mut f) =
            start(&many(0).chain([(1, 1500, 1000), (1, 1500, 1000)]).collect::<Vec<_>>());
        f.held_from = [64, NOTHING];
        assert_eq!(serve(&mut t, &mut f, 2000).len(), 2000);
        assert!(f.asked <= 4002, "{}", f.asked);
    }

    /// Credits for 100 B: the flows with shorter frames continue, the others do not, and once no
    /// short frame is left no flow is asked in vain more than once.
    #[test]
    fn a_gate_may_be_open_for_short_frames_only() {
        let flows: Vec<_> =
            (0..1000).map(|i| (0, if i % 100 == 7 { 65 } else { 1500 }, 3)).collect();
        let (mut t, mut f) = start(&flows);
        f.held_from = [100, NOTHING];
        assert_eq!(serve(&mut t, &mut f, 99).len(), 30);
        f.asked = 0;
        assert!((0..50).all(|_| t.pick(&mut f).is_none()));
        assert!(f.asked <= 51, "{}", f.asked);
        // A flow comes to a short last frame: it counts again.
        f.len[500] = 70;
        t.shorter(Class(0), 70);
        assert_eq!(serve(&mut t, &mut f, 1), [500]);
    }

    /// Flows that are asleep are asked seldom: each pick of a thousand among ten thousand that have
    /// sent all costs two polls on average.
    #[test]
    fn flows_that_are_asleep_leave() {
        let flows: Vec<_> =
            (0..10_000).map(|i| (0, 1500, if i % 10 == 0 { 50 } else { 1 })).collect();
        let (mut t, mut f) = start(&flows);
        let served = serve(&mut t, &mut f, usize::MAX).len();
        assert_eq!(served, 1000 * 50 + 9000);
        assert!(f.asked < 2 * served, "{} for {served}", f.asked);
        assert!(t.is_empty());
    }
}
