//! The egress discipline: in which order frames from different ingress ports leave through one port
//! and class.
//!
//! It decides whether a ring deadlocks, so it is a first-class choice:
//!
//! ```text
//!  Fifo         one queue per egress, FIFO: a typical shared-memory output queue
//!  RoundRobin   one queue per egress and ingress, one frame each, round robin
//!  Drr          the same, shared by bytes
//!  Random       the same, an ingress drawn at random sends some frames
//!  InputFifo    one queue per ingress, read one frame at a time; only its head may leave (head-of-line blocking)
//!  Pipeline     one queue per ingress, a worker that moves bursts to a ring per egress
//! ```
//!
//! An input that is being read has no candidate until the frame has been read at the rate of its
//! port: [`Discipline::set_reading`]. An egress passes over it and takes the next in round robin
//! order.
//!
//! A per-flow flow control brings its own queues, and its sender half chooses which of them goes
//! next.

use std::collections::VecDeque;

mod pipeline;

use xoff_units::state::State;
use xoff_units::{Class, Span, Time};

use crate::frame::{Frame, FrameId, FrameList, FrameStore};
use crate::port::ClassState;
use pipeline::Pipeline;

pub use pipeline::PipelineConfig;

/// Kind of discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisciplineKind {
    /// Arrival order across ingresses.
    Fifo,
    /// One frame of each ingress, round robin.
    RoundRobin,
    /// Deficit round robin across ingresses.
    Drr {
        /// Bytes an ingress gains per round.
        quantum: u32,
    },
    /// Frames of an ingress that is drawn at random, all that wait being equally likely.
    Random {
        /// Frames that it sends before the next draw, if it has them.
        batch: u32,
        /// Seed of the draws.
        seed: u64,
    },
    /// One queue per ingress with head-of-line blocking: the input-queued switch of Karol, Hluchyj
    /// and Morgan (1987), whose inputs send one frame at a time.
    InputFifo {
        /// From the end of a frame at its input until the next one of the input may go.
        arbitration: Span,
    },
    /// A worker between the inputs and the rings of the egresses: DPDK's test-pipeline.
    Pipeline(PipelineConfig),
}

/// Queues of one egress and class, apart per ingress.
#[derive(Clone, Debug, Default, State)]
struct PerIngress {
    /// Indexed by ingress port; empty until the first frame.
    lists: Vec<FrameList>,
    /// Ingresses with frames, in round-robin order.
    order: VecDeque<u16>,
    /// Bytes an ingress may still send in its turn; only under deficit round robin.
    deficit: Vec<u32>,
    /// Frames that the first one may still send; only under random order.
    left: u32,
    /// Draws so far.
    draws: u64,
}

/// How an egress chooses among its ingresses.
#[derive(Clone, Copy, Debug, State)]
enum Order {
    /// One frame each.
    RoundRobin,
    /// Bytes an ingress gains per round.
    Drr(u32),
    /// Frames of a batch, and the seed.
    Random(u32, u64),
}

impl Order {
    fn quantum(self) -> u32 {
        if let Order::Drr(quantum) = self { quantum } else { 0 }
    }
}

impl PerIngress {
    /// The frame that leaves next, and how many ingresses are passed over before: each gains a
    /// quantum. Without a quantum it is the turn of the first, or of one that is drawn.
    #[inline]
    fn next(&self, order: Order, store: &FrameStore) -> Option<(u64, FrameId)> {
        let first = *self.order.front()? as usize;
        let quantum = order.quantum();
        if let Order::Random(_, seed) = order
            && self.left == 0
        {
            return self.next_by_draw(seed);
        }
        let id = self.lists[first].front().expect("an ingress of the round robin has a frame");
        if quantum == 0 || self.deficit[first] >= store[id].len() {
            Some((0, id))
        } else {
            self.next_by_deficit(quantum, store)
        }
    }

    /// Next ingress, where one is drawn.
    #[inline(never)]
    fn next_by_draw(&self, seed: u64) -> Option<(u64, FrameId)> {
        let turns = mixed(seed ^ mixed(self.draws)) % self.order.len() as u64;
        Some((turns, self.lists[self.order[turns as usize] as usize].front()?))
    }

    /// Next ingress, where the first of the round robin has to wait for its next quantum.
    #[inline(never)]
    fn next_by_deficit(&self, quantum: u32, store: &FrameStore) -> Option<(u64, FrameId)> {
        let mut turns = 0;
        for gained in (0..).map(|round| quantum.saturating_mul(round)) {
            for &ingress in &self.order {
                let id = self.lists[ingress as usize].front()?;
                if self.deficit[ingress as usize].saturating_add(gained) >= store[id].len() {
                    return Some((turns, id));
                }
                turns += 1;
            }
        }
        None
    }

    /// Skips a number of turns.
    #[inline]
    fn pass(&mut self, turns: u64, quantum: u32) {
        for _ in 0..turns {
            let Some(&ingress) = self.order.front() else { return };
            if quantum > 0 {
                let deficit = &mut self.deficit[ingress as usize];
                *deficit = deficit.saturating_add(quantum);
            }
            self.order.rotate_left(1);
        }
    }
}

/// A number whose bits depend evenly on those of another one.
fn mixed(number: u64) -> u64 {
    [30, 27, 31].into_iter().fold(number.wrapping_add(1), |n, shift| {
        let n = n.wrapping_mul(0xd6e8_feb8_6659_fd93);
        n ^ (n >> shift)
    })
}

/// Queue of an egress and class, whatever the discipline. It is part of the class state of its
/// port, next to the sender half that guards it.
#[derive(Clone, Copy, Debug, Default, State)]
pub struct Egress {
    /// Bytes that wait.
    bytes: u64,
    /// The frames, FIFO across ingresses; stays empty under the other disciplines.
    fifo: FrameList,
    /// The most that ever waited [bytes].
    #[state(saved)] // a result
    highest: u64,
}

impl Egress {
    /// Bytes that wait.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// The most that ever waited [bytes].
    pub fn highest(&self) -> u64 {
        self.highest
    }
    /// The first frame, where that is known without choosing an ingress.
    #[inline]
    pub fn fifo_head(&self) -> Option<FrameId> {
        self.fifo.front()
    }
    /// A frame will be put into the queue soon.
    #[inline]
    pub fn prefetch_last(&self, store: &FrameStore) {
        self.fifo.prefetch_last(store);
    }
    /// A frame passes an idle egress without waiting: it counts as the longest queue for an
    /// instant.
    #[inline]
    pub fn pass(&mut self, len: u32) {
        self.highest = self.highest.max(len as u64);
    }
}

#[derive(Clone, Debug, State)]
enum Queues {
    /// In the egresses themselves.
    Fifo,
    /// By egress and class.
    Apart { queues: Vec<PerIngress>, order: Order },
    /// Lists by ingress and class; ingresses whose heads wait for it by egress and class, round
    /// robin.
    Input {
        arbitration: Span,
        lists: Vec<FrameList>,
        order: Vec<VecDeque<u16>>,
        reading: Vec<bool>,
    },
    /// In the inputs and rings of a software switch.
    Pipeline(Pipeline),
    /// In the sender halves of per-flow flow controls; where there is none, in the egress.
    OfSenders,
}

/// The order of the egress queues of a switch. What each egress and class needs under any
/// discipline is in its [`Egress`].
#[derive(Clone, Debug, State)]
pub struct Discipline {
    queues: Queues,
    ports: usize,
    classes: usize,
}

impl Discipline {
    /// Empty queues of a switch; `switch` and the egress make draws differ.
    pub fn new(kind: DisciplineKind, switch: u32, ports: usize, classes: usize) -> Self {
        let n = ports * classes;
        let apart = |order| {
            let queues = (0..n as u64)
                .map(|nth| PerIngress { draws: mixed(nth) << 32, ..PerIngress::default() })
                .collect();
            Queues::Apart { queues, order }
        };
        let queues = match kind {
            DisciplineKind::Fifo => Queues::Fifo,
            DisciplineKind::RoundRobin => apart(Order::RoundRobin),
            DisciplineKind::Drr { quantum } => apart(Order::Drr(quantum)),
            DisciplineKind::Random { batch, seed } => {
                apart(Order::Random(batch, mixed(seed ^ mixed(switch.into()))))
            }
            DisciplineKind::InputFifo { arbitration } => Queues::Input {
                arbitration,
                lists: vec![FrameList::default(); n],
                order: vec![VecDeque::new(); n],
                reading: vec![false; ports],
            },
            DisciplineKind::Pipeline(c) => Queues::Pipeline(Pipeline::new(c, ports, classes)),
        };
        Discipline { queues, ports, classes }
    }

    /// No queues of its own: frames wait in the sender halves.
    pub fn of_senders(ports: usize, classes: usize) -> Self {
        Discipline { queues: Queues::OfSenders, ports, classes }
    }

    #[inline]
    fn at(&self, port: u16, class: Class) -> usize {
        port as usize * self.classes + class.index()
    }

    /// True if no frame waits behind one for another egress, nor in a sender half.
    pub fn are_of_egresses(&self) -> bool {
        matches!(self.queues, Queues::Fifo | Queues::Apart { .. })
    }

    /// [`Discipline::push`] of a frame of this length; in arrival order without a call.
    #[inline(always)]
    pub(crate) fn push_plain(
        &mut self,
        egress: &mut Egress,
        id: FrameId,
        len: u32,
        store: &mut FrameStore,
    ) {
        let Queues::Fifo = self.queues else { return self.push_called(egress, id, store) };
        egress.bytes += len as u64;
        egress.highest = egress.highest.max(egress.bytes);
        egress.fifo.push(id, store);
    }

    #[inline(never)]
    fn push_called(&mut self, egress: &mut Egress, id: FrameId, store: &mut FrameStore) {
        self.push(egress, id, store);
    }

    /// The frame of the only class that leaves next; in arrival order without a call.
    #[inline(always)]
    pub(crate) fn first_plain(
        &self,
        egress: &Egress,
        out: u16,
        store: &FrameStore,
    ) -> Option<FrameId> {
        let Queues::Fifo = self.queues else { return self.first_called(egress, out, store) };
        egress.fifo.front()
    }

    #[inline(never)]
    fn first_called(&self, egress: &Egress, out: u16, store: &FrameStore) -> Option<FrameId> {
        self.first(egress, out, Class(0), store)
    }

    /// Takes the frame that [`Discipline::first_plain`] announced, of this length.
    #[inline(always)]
    pub(crate) fn pop_plain(
        &mut self,
        egress: &mut Egress,
        out: u16,
        len: u32,
        store: &mut FrameStore,
    ) {
        let Queues::Fifo = self.queues else { return self.pop_called(egress, out, store) };
        egress.fifo.pop(store);
        egress.bytes -= len as u64;
    }

    #[inline(never)]
    fn pop_called(&mut self, egress: &mut Egress, out: u16, store: &mut FrameStore) {
        self.pop(egress, out, Class(0), store);
    }

    /// True if no frame waits for a FIFO egress.
    #[inline]
    pub fn is_idle_fifo(&self, egress: &Egress) -> bool {
        matches!(self.queues, Queues::Fifo) && egress.bytes == 0
    }

    /// True if frames may wait behind one for another egress.
    #[inline]
    pub fn has_inputs(&self) -> bool {
        matches!(self.queues, Queues::Input { .. } | Queues::Pipeline(_))
    }

    /// Another egress that has got a frame when the last one left: of a worker.
    #[inline]
    pub fn next_exposed(&mut self) -> Option<u16> {
        if let Queues::Pipeline(p) = &mut self.queues { p.next_exposed() } else { None }
    }

    /// True if inputs send one frame at a time.
    #[inline]
    pub fn reads_inputs(&self) -> bool {
        matches!(self.queues, Queues::Input { .. })
    }

    /// From the end of a frame at its input until the next one of the input may go.
    pub fn arbitration(&self) -> Span {
        if let Queues::Input { arbitration, .. } = self.queues { arbitration } else { Span::ZERO }
    }

    /// An input begins to read a frame, or has read it.
    pub fn set_reading(&mut self, ingress: u16, reads: bool) {
        if let Queues::Input { reading, .. } = &mut self.queues {
            reading[ingress as usize] = reads;
        }
    }

    /// Puts a frame, whose ports and class are set, into its queue. Returns whether it became a
    /// candidate for its egress (always, except behind another frame of an input queue, or while
    /// that is being read).
    #[inline(always)] // every frame, and held ones
    pub fn push(&mut self, egress: &mut Egress, id: FrameId, store: &mut FrameStore) -> bool {
        let f = store[id];
        egress.bytes += f.len() as u64;
        egress.highest = egress.highest.max(egress.bytes);
        if let Queues::Fifo = self.queues {
            egress.fifo.push(id, store);
            return true;
        }
        let at = self.at(f.out_port, f.class());
        match &mut self.queues {
            Queues::Fifo | Queues::OfSenders => {}
            Queues::Pipeline(p) => return p.push(id, store),
            Queues::Apart { queues, order } => {
                let (q, quantum) = (&mut queues[at], order.quantum());
                if q.lists.is_empty() {
                    q.lists = vec![FrameList::default(); self.ports];
                    if quantum > 0 {
                        q.deficit = vec![0; self.ports];
                    }
                }
                let list = &mut q.lists[f.in_port as usize];
                if list.front().is_none() {
                    q.order.push_back(f.in_port);
                    if quantum > 0 {
                        q.deficit[f.in_port as usize] = quantum;
                    }
                }
                list.push(id, store);
            }
            Queues::Input { lists, order, reading, .. } => {
                let list = &mut lists[f.in_port as usize * self.classes + f.class().index()];
                let behind = list.front().is_some();
                list.push(id, store);
                if behind {
                    return false;
                }
                order[at].push_back(f.in_port);
                return !reading[f.in_port as usize];
            }
        }
        true
    }

    /// Length of the frame that would leave next through an egress and class. Asking changes
    /// nothing, however often: deficit round robin moves its turn on when a frame leaves.
    #[inline(always)]
    pub fn head(&self, egress: &Egress, out: u16, class: Class, store: &FrameStore) -> Option<u32> {
        self.first(egress, out, class, store).map(|id| store[id].len())
    }

    #[inline(always)]
    fn first(
        &self,
        egress: &Egress,
        out: u16,
        class: Class,
        store: &FrameStore,
    ) -> Option<FrameId> {
        let at = self.at(out, class);
        match &self.queues {
            Queues::Fifo => egress.fifo.front(),
            Queues::OfSenders => None, // see `head_of`
            Queues::Pipeline(p) => p.head(out, class),
            Queues::Apart { queues, order } => Some(queues[at].next(*order, store)?.1),
            Queues::Input { lists, order, reading, .. } => {
                let ingress = *order[at].iter().find(|&&i| !reading[i as usize])? as usize;
                lists[ingress * self.classes + class.index()].front()
            }
        }
    }

    /// Takes the frame that [`Discipline::head`] announced. The second value is another egress for
    /// which a frame has come to the head (only input queues do that); it is a candidate unless its
    /// input is being read.
    #[inline(always)]
    pub fn pop(
        &mut self,
        egress: &mut Egress,
        out: u16,
        class: Class,
        store: &mut FrameStore,
    ) -> Option<(FrameId, Option<u16>)> {
        let at = self.at(out, class);
        let mut exposed = None;
        let id = match &mut self.queues {
            Queues::Fifo => egress.fifo.pop(store)?,
            Queues::OfSenders => return None, // see `pop_of`
            Queues::Pipeline(p) => p.pop(out, class, store)?,
            Queues::Apart { queues, order } => {
                let q = &mut queues[at];
                let turns = q.next(*order, store)?.0;
                q.pass(turns, order.quantum());
                let ingress = *q.order.front()?;
                let list = &mut q.lists[ingress as usize];
                let id = list.pop(store)?;
                match *order {
                    Order::RoundRobin => {}
                    Order::Drr(_) => q.deficit[ingress as usize] -= store[id].len(),
                    Order::Random(batch, _) => {
                        q.draws += u64::from(q.left == 0);
                        q.left = if q.left == 0 { batch } else { q.left } - 1;
                    }
                }
                if list.front().is_none() {
                    q.order.pop_front();
                    q.left = 0;
                } else if matches!(order, Order::RoundRobin) {
                    q.order.rotate_left(1);
                }
                id
            }
            Queues::Input { lists, order, reading, .. } => {
                let next = order[at].iter().position(|&i| !reading[i as usize])?;
                let ingress = order[at].remove(next)?;
                let list = &mut lists[ingress as usize * self.classes + class.index()];
                let id = list.pop(store)?;
                if let Some(next) = list.front() {
                    let to = store[next].out_port;
                    order[to as usize * self.classes + class.index()].push_back(ingress);
                    exposed = (to != out).then_some(to);
                }
                id
            }
        };
        egress.bytes -= store[id].len() as u64;
        Some((id, exposed))
    }

    /// [`Discipline::push`] into the class state of an egress, which may keep frames in its sender
    /// half.
    #[inline(always)]
    pub(crate) fn push_in(
        &mut self,
        now: Time,
        class_state: &mut ClassState,
        id: FrameId,
        store: &mut FrameStore,
    ) -> bool {
        match self.queues {
            Queues::OfSenders => push_to_sender(now, class_state, id, store),
            _ => self.push(&mut class_state.egress, id, store),
        }
    }

    /// [`Discipline::head`] of a class. Of a sender half that keeps all that waits, it is the
    /// oldest frame.
    #[inline(always)]
    pub(crate) fn head_of(
        &self,
        now: Time,
        class_state: &ClassState,
        out: u16,
        class: Class,
        store: &FrameStore,
    ) -> Option<u32> {
        match self.queues {
            Queues::OfSenders => head_of_sender(now, class_state, store),
            _ => self.head(&class_state.egress, out, class, store),
        }
    }

    /// [`Discipline::pop`] of a class.
    #[inline(always)]
    pub(crate) fn pop_of(
        &mut self,
        now: Time,
        class_state: &mut ClassState,
        out: u16,
        class: Class,
        store: &mut FrameStore,
    ) -> Option<FrameId> {
        match self.queues {
            Queues::OfSenders => pop_of_sender(Some(now), class_state, store),
            _ => self.pop(&mut class_state.egress, out, class, store).map(|(id, _)| id),
        }
    }

    /// Takes a frame that will never go: the next one, also if it is held. The head of an input
    /// that is being read comes later.
    pub(crate) fn discard(
        &mut self,
        class_state: &mut ClassState,
        out: u16,
        class: Class,
        store: &mut FrameStore,
    ) -> Option<(FrameId, Option<u16>)> {
        match self.queues {
            Queues::OfSenders => Some((pop_of_sender(None, class_state, store)?, None)),
            _ => self.pop(&mut class_state.egress, out, class, store),
        }
    }

    /// Every frame that waits in this switch, for checkers and the deadlock detector, and the
    /// egress that it waits for: behind the head of an input queue, that of the head.
    pub(crate) fn for_each<'a, 'e>(
        &self,
        class_states: impl Iterator<Item = &'e ClassState>,
        store: &'a FrameStore,
        mut f: impl FnMut(&'a Frame, u16),
    ) {
        let mut own = |frame: &'a Frame| f(frame, frame.out_port);
        match &self.queues {
            Queues::Fifo => class_states.for_each(|l| l.egress.fifo.iter(store).for_each(&mut own)),
            Queues::OfSenders => each_of_senders(class_states, store, &mut own),
            Queues::Apart { queues, .. } => {
                queues.iter().flat_map(|q| &q.lists).for_each(|l| l.iter(store).for_each(&mut own))
            }
            Queues::Input { lists, .. } => {
                for list in lists {
                    let Some(head) = list.front() else { continue };
                    list.iter(store).for_each(|frame| f(frame, store[head].out_port));
                }
            }
            Queues::Pipeline(p) => p.for_each(store, &mut f),
        }
    }

    /// For an input queue: the egress its head waits for. `None` where queues are per egress, so
    /// that no frame waits behind a frame for another port.
    pub fn input_head(&self, ingress: u16, class: Class, store: &FrameStore) -> Option<u16> {
        match &self.queues {
            Queues::Input { lists, .. } => {
                lists[self.at(ingress, class)].front().map(|id| store[id].out_port)
            }
            _ => None,
        }
    }
}

// The rest is out of line, so that runs without such senders do not pay for it.

#[cold]
#[inline(never)]
fn push_to_sender(
    now: Time,
    class_state: &mut ClassState,
    id: FrameId,
    store: &mut FrameStore,
) -> bool {
    let (egress, frame) = (&mut class_state.egress, store[id]);
    egress.bytes += frame.len() as u64;
    egress.highest = egress.highest.max(egress.bytes);
    match class_state.tx.flows_mut() {
        Some(flows) => flows.push(now, id, frame.flow, frame.bytes()),
        None => egress.fifo.push(id, store),
    }
    true
}

#[cold]
#[inline(never)]
fn head_of_sender(now: Time, class_state: &ClassState, store: &FrameStore) -> Option<u32> {
    let id = match class_state.tx.flows() {
        Some(flows) => flows.head(now)?.0,
        None => class_state.egress.fifo.front()?,
    };
    Some(store[id].len())
}

#[cold]
#[inline(never)]
fn each_of_senders<'a, 'e>(
    class_states: impl Iterator<Item = &'e ClassState>,
    store: &'a FrameStore,
    f: &mut dyn FnMut(&'a Frame),
) {
    class_states.for_each(|l| match l.tx.flows() {
        Some(flows) => flows.for_each(&mut |id| f(&store[id])),
        None => l.egress.fifo.iter(store).for_each(&mut *f),
    });
}

/// The frame that may go at this time; at none, also one that may not.
#[cold]
#[inline(never)]
fn pop_of_sender(
    at: Option<Time>,
    class_state: &mut ClassState,
    store: &FrameStore,
) -> Option<FrameId> {
    let id = match (class_state.tx.flows_mut(), at) {
        (Some(flows), Some(now)) => flows.pop(now)?,
        (Some(flows), None) => flows.discard()?,
        (None, _) => class_state.egress.fifo.pop(store)?,
    };
    class_state.egress.bytes -= store[id].len() as u64;
    Some(id)
}

#[cfg(test)]
mod tests {
    use xoff_units::FlowId;

    use super::*;
    use crate::frame::FrameKind;

    /// Frames (ingress, length) for egress 2, taken out in order.
    fn order(kind: DisciplineKind, frames: &[(u16, u32)]) -> Vec<(u16, u32)> {
        let mut store = FrameStore::new();
        let (mut d, mut egress) = (Discipline::new(kind, 0, 3, 1), Egress::default());
        for &(in_port, len) in frames {
            let mut f = Frame::new(FrameKind::Data, FlowId(0), Class(0), len);
            (f.in_port, f.out_port) = (in_port, 2);
            let id = store.insert(f);
            d.push(&mut egress, id, &mut store);
        }
        let total: u64 = frames.iter().map(|f| f.1 as u64).sum();
        assert_eq!((egress.bytes(), egress.highest()), (total, total));
        let out = std::iter::from_fn(|| {
            d.pop(&mut egress, 2, Class(0), &mut store)
                .map(|(id, _)| (store[id].in_port, store[id].len()))
        })
        .collect();
        assert_eq!(egress.bytes(), 0);
        out
    }

    #[test]
    fn fifo_keeps_arrival_order_and_round_robin_takes_turns() {
        let frames = [(0, 10), (0, 11), (0, 12), (1, 20), (1, 21)];
        assert_eq!(order(DisciplineKind::Fifo, &frames), frames);
        assert_eq!(
            order(DisciplineKind::RoundRobin, &frames),
            [(0, 10), (1, 20), (0, 11), (1, 21), (0, 12)]
        );
    }

    #[test]
    fn drr_shares_by_bytes() {
        let mut frames: Vec<(u16, u32)> = (0..60).map(|_| (0, 500)).collect();
        frames.extend((0..60).map(|_| (1, 1500)));
        let out = order(DisciplineKind::Drr { quantum: 1500 }, &frames);
        let sent =
            |ingress: u16| out[..40].iter().filter(|f| f.0 == ingress).map(|f| f.1).sum::<u32>();
        assert!(sent(0).abs_diff(sent(1)) <= 1500, "{} {}", sent(0), sent(1));
    }

    /// A quantum as large as its 32 bits: the deficit of an ingress that has sent 4 GiB stops
    /// there.
    #[test]
    fn a_deficit_does_not_wrap() {
        let (mut store, mut d, mut egress) = (
            FrameStore::new(),
            Discipline::new(DisciplineKind::Drr { quantum: u32::MAX }, 0, 2, 1),
            Egress::default(),
        );
        for _ in 0..4 {
            let mut f = Frame::new(FrameKind::Data, FlowId(0), Class(0), 1000);
            (f.in_port, f.out_port) = (0, 1);
            let id = store.insert(f);
            d.push(&mut egress, id, &mut store);
        }
        let Queues::Apart { queues, .. } = &mut d.queues else { panic!("round robin") };
        queues[1].deficit[0] = 500;
        assert_eq!(d.head(&egress, 1, Class(0), &store), Some(1000));
        assert!(d.pop(&mut egress, 1, Class(0), &mut store).is_some());
        let Queues::Apart { queues, .. } = &mut d.queues else { panic!("round robin") };
        assert_eq!(queues[1].deficit[0], u32::MAX - 1000);
    }

    /// Of three ingresses with frames each leaves a third, in runs of a batch or its multiples; the
    /// seed gives the order.
    #[test]
    fn random_order_is_fair_and_in_batches() {
        let frames: Vec<(u16, u32)> = (0..9_000).map(|n| (n % 3, 100)).collect();
        let drawn = |batch, seed| order(DisciplineKind::Random { batch, seed }, &frames);
        for batch in [1, 8] {
            let out = drawn(batch, 1);
            assert_eq!(out, drawn(batch, 1));
            assert_ne!(out, drawn(batch, 2));
            // While all three have frames.
            let first = &out[..6_000];
            for ingress in 0..3 {
                let share = first.iter().filter(|f| f.0 == ingress).count() as f64 / 6_000.0;
                // Five standard deviations of a binomial share of batches.
                let five = 5.0 * (2.0 / 9.0 * f64::from(batch) / 6_000.0).sqrt();
                assert!((share - 1.0 / 3.0).abs() < five, "{batch}: {share}");
            }
            let runs = first.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len);
            assert!(runs.take(500).all(|n| (n as u32).is_multiple_of(batch)), "{batch}");
        }
    }

    /// The deadlock detector asks, and so does a port that is held: neither may move the turn on.
    /// It did, so that when the detector looked decided which frame left next.
    #[test]
    fn asking_for_the_next_frame_changes_nothing() {
        let frames =
            [(0, 1000), (0, 900), (1, 64), (0, 1000), (2, 1500), (1, 700), (2, 64), (1, 64)];
        let run = |asked: usize| {
            let mut store = FrameStore::new();
            let (mut d, mut egress) =
                (Discipline::new(DisciplineKind::Drr { quantum: 500 }, 0, 3, 1), Egress::default());
            let mut out = Vec::new();
            for (i, &(in_port, len)) in frames.iter().enumerate() {
                let mut f = Frame::new(FrameKind::Data, FlowId(0), Class(0), len);
                (f.in_port, f.out_port) = (in_port, 2);
                let id = store.insert(f);
                d.push(&mut egress, id, &mut store);
                (0..asked).for_each(|_| _ = d.head(&egress, 2, Class(0), &store));
                if i % 3 == 2 {
                    let announced = d.head(&egress, 2, Class(0), &store);
                    let (id, _) = d.pop(&mut egress, 2, Class(0), &mut store).unwrap();
                    assert_eq!(announced, Some(store[id].len()));
                    out.push(store[id].len());
                }
            }
            while let Some((id, _)) = d.pop(&mut egress, 2, Class(0), &mut store) {
                out.push(store[id].len());
            }
            out
        };
        assert_eq!(run(0).len(), frames.len());
        assert_eq!(run(0), run(3));
    }

    #[test]
    fn an_input_queue_blocks_behind_its_head() {
        let mut store = FrameStore::new();
        let mut d = Discipline::new(DisciplineKind::InputFifo { arbitration: Span::ZERO }, 0, 3, 1);
        let mut egress = [Egress::default(); 3];
        let add = |d: &mut Discipline,
                   egress: &mut [Egress],
                   store: &mut FrameStore,
                   in_port,
                   out_port| {
            let mut f = Frame::new(FrameKind::Data, FlowId(0), Class(0), 100);
            (f.in_port, f.out_port) = (in_port, out_port);
            let id = store.insert(f);
            d.push(&mut egress[out_port as usize], id, store)
        };
        assert!(add(&mut d, &mut egress, &mut store, 0, 1));
        assert!(!add(&mut d, &mut egress, &mut store, 0, 2), "waits behind the frame for port 1");
        assert_eq!(d.head(&egress[2], 2, Class(0), &store), None);
        assert_eq!(d.input_head(0, Class(0), &store), Some(1));
        let (_, exposed) = d.pop(&mut egress[1], 1, Class(0), &mut store).unwrap();
        assert_eq!(exposed, Some(2));
        assert_eq!(d.head(&egress[2], 2, Class(0), &store), Some(100));
    }

    #[test]
    fn an_input_that_is_being_read_is_passed_over() {
        let mut store = FrameStore::new();
        let mut d = Discipline::new(DisciplineKind::InputFifo { arbitration: Span::ZERO }, 0, 3, 2);
        let mut egress = Egress::default();
        let add = |d: &mut Discipline,
                   egress: &mut Egress,
                   store: &mut FrameStore,
                   in_port,
                   class,
                   len| {
            let mut f = Frame::new(FrameKind::Data, FlowId(0), class, len);
            (f.in_port, f.out_port) = (in_port, 2);
            let id = store.insert(f);
            d.push(egress, id, store)
        };
        assert!(add(&mut d, &mut egress, &mut store, 0, Class(0), 100));
        d.set_reading(0, true);
        assert!(
            !add(&mut d, &mut egress, &mut store, 0, Class(1), 200),
            "one frame at a time, whatever its class"
        );
        assert_eq!(
            (d.head(&egress, 2, Class(0), &store), d.pop(&mut egress, 2, Class(1), &mut store)),
            (None, None)
        );
        assert!(add(&mut d, &mut egress, &mut store, 1, Class(0), 300));
        assert_eq!(d.head(&egress, 2, Class(0), &store), Some(300), "the next of the round robin");
        let (id, _) = d.pop(&mut egress, 2, Class(0), &mut store).unwrap();
        assert_eq!(store[id].len(), 300);
        d.set_reading(0, false);
        assert_eq!(
            (d.head(&egress, 2, Class(0), &store), d.head(&egress, 2, Class(1), &store)),
            (Some(100), Some(200))
        );
    }
}
