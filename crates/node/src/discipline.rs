//! The egress discipline: in which order frames from different ingress ports leave through one port and class.
//!
//! It decides whether a ring deadlocks, so it is a first-class choice:
//!
//! ```text
//!  Fifo         one queue per egress in arrival order: a typical shared-memory output queue
//!  RoundRobin   one queue per egress and ingress, one frame each in turn
//!  Drr          the same, shared by bytes
//!  InputFifo    one queue per ingress; only its head may leave (head-of-line blocking), heads taken in turn
//! ```

use std::collections::VecDeque;

use xoff_units::prefetch;

use crate::frame::{Frame, FrameId, FrameList, FrameStore};

/// Which discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisciplineKind {
    /// Arrival order across ingresses.
    Fifo,
    /// One frame of each ingress in turn.
    RoundRobin,
    /// Deficit round robin across ingresses.
    Drr {
        /// Bytes an ingress gains per round.
        quantum: u32,
    },
    /// One queue per ingress with head-of-line blocking.
    InputFifo,
}

/// Queues of one egress and class, apart per ingress.
#[derive(Clone, Debug, Default)]
struct PerIngress {
    /// Indexed by ingress port; empty until the first frame.
    lists: Vec<FrameList>,
    /// Ingresses with frames, in the order of their turns.
    turns: VecDeque<u16>,
    /// Bytes an ingress may still send in its turn; only under deficit round robin.
    deficit: Vec<u32>,
}

/// One egress and class, whatever the discipline.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Bytes that wait.
    bytes: u64,
    /// The most that ever waited [bytes].
    highest: u64,
    /// The frames, in arrival order across ingresses; stays empty under the other disciplines.
    fifo: FrameList,
}

#[derive(Clone, Debug)]
enum Queues {
    /// In the levels.
    Fifo,
    /// By egress and class; `quantum` 0 means one frame per turn.
    Turns { queues: Vec<PerIngress>, quantum: u32 },
    /// Lists by ingress and class; turns by egress and class.
    Input { lists: Vec<FrameList>, turns: Vec<VecDeque<u16>> },
}

/// The egress queues of a switch.
#[derive(Clone, Debug)]
pub struct Discipline {
    queues: Queues,
    ports: usize,
    classes: usize,
    /// By egress and class.
    levels: Vec<Level>,
}

impl Discipline {
    /// What an egress and class takes in arrival order [bytes].
    pub(crate) const BYTES_PER_EGRESS: usize = size_of::<Level>();

    /// Empty queues.
    pub fn new(kind: DisciplineKind, ports: usize, classes: usize) -> Self {
        let n = ports * classes;
        let queues = match kind {
            DisciplineKind::Fifo => Queues::Fifo,
            DisciplineKind::RoundRobin => Queues::Turns { queues: vec![PerIngress::default(); n], quantum: 0 },
            DisciplineKind::Drr { quantum } => Queues::Turns { queues: vec![PerIngress::default(); n], quantum },
            DisciplineKind::InputFifo => Queues::Input { lists: vec![FrameList::default(); n], turns: vec![VecDeque::new(); n] },
        };
        Discipline { queues, ports, classes, levels: vec![Level::default(); n] }
    }

    #[inline]
    fn at(&self, port: u16, class: u8) -> usize {
        port as usize * self.classes + class as usize
    }

    /// Bytes that wait for an egress and class.
    #[inline]
    pub fn bytes(&self, out: u16, class: u8) -> u64 {
        self.levels[self.at(out, class)].bytes
    }

    /// Bytes that wait for all egresses.
    pub fn total(&self) -> u64 {
        self.levels.iter().map(|l| l.bytes).sum()
    }

    /// Does anything wait for an egress?
    #[inline]
    pub fn waits(&self, out: u16) -> bool {
        let first = self.at(out, 0);
        self.levels[first..first + self.classes].iter().any(|l| l.bytes > 0)
    }

    /// Does nothing wait for an egress whose frames leave in arrival order, in the only class there is?
    #[inline]
    pub fn is_idle_fifo(&self, out: u16) -> bool {
        matches!(self.queues, Queues::Fifo) && self.levels[out as usize].bytes == 0
    }

    /// A frame passes an idle egress without waiting: it counts as the longest queue for an instant.
    #[inline]
    pub fn pass(&mut self, out: u16, len: u32) {
        let level = &mut self.levels[out as usize];
        level.highest = level.highest.max(len as u64);
    }

    /// The most that ever waited for an egress and class [bytes].
    pub fn highest(&self, out: u16, class: u8) -> u64 {
        self.levels[self.at(out, class)].highest
    }

    /// An egress will be asked soon.
    #[inline]
    pub fn prefetch(&self, out: u16) {
        let at = self.at(out, 0);
        prefetch(&self.levels[at]);
    }

    /// The first frame of an egress and the first class, where that is known without choosing an ingress.
    #[inline]
    pub fn fifo_head(&self, out: u16) -> Option<FrameId> {
        self.levels[self.at(out, 0)].fifo.front()
    }

    /// Puts a frame, whose ports and class are set, into its queue. Returns whether it became a candidate for its
    /// egress (always, except behind another frame of an input queue).
    #[inline]
    pub fn push(&mut self, id: FrameId, store: &mut FrameStore) -> bool {
        let f = store[id];
        let at = self.at(f.out_port, f.class());
        let level = &mut self.levels[at];
        level.bytes += f.len() as u64;
        level.highest = level.highest.max(level.bytes);
        match &mut self.queues {
            Queues::Fifo => level.fifo.push(id, store),
            Queues::Turns { queues, quantum } => {
                let q = &mut queues[at];
                if q.lists.is_empty() {
                    q.lists = vec![FrameList::default(); self.ports];
                    if *quantum > 0 {
                        q.deficit = vec![0; self.ports];
                    }
                }
                let list = &mut q.lists[f.in_port as usize];
                if list.front().is_none() {
                    q.turns.push_back(f.in_port);
                    if *quantum > 0 {
                        q.deficit[f.in_port as usize] = *quantum;
                    }
                }
                list.push(id, store);
            }
            Queues::Input { lists, turns } => {
                let list = &mut lists[f.in_port as usize * self.classes + f.class() as usize];
                let behind = list.front().is_some();
                list.push(id, store);
                if behind {
                    return false;
                }
                turns[at].push_back(f.in_port);
            }
        }
        true
    }

    /// Length of the frame that would leave next through an egress and class. Deficit round robin moves its turn on.
    #[inline]
    pub fn head(&mut self, out: u16, class: u8, store: &FrameStore) -> Option<u32> {
        let at = self.at(out, class);
        let id = match &mut self.queues {
            Queues::Fifo => self.levels[at].fifo.front()?,
            Queues::Turns { queues, quantum } => {
                let q = &mut queues[at];
                loop {
                    let ingress = *q.turns.front()? as usize;
                    let id = q.lists[ingress].front().expect("an ingress in turn has a frame");
                    if *quantum == 0 || q.deficit[ingress] >= store[id].len() {
                        break id;
                    }
                    q.deficit[ingress] += *quantum;
                    q.turns.rotate_left(1);
                }
            }
            Queues::Input { lists, turns } => {
                let ingress = *turns[at].front()? as usize;
                lists[ingress * self.classes + class as usize].front()?
            }
        };
        Some(store[id].len())
    }

    /// Takes the frame that [`Discipline::head`] announced. The second value is another egress for which a frame has
    /// just become a candidate (only input queues do that).
    #[inline]
    pub fn pop(&mut self, out: u16, class: u8, store: &FrameStore) -> Option<(FrameId, Option<u16>)> {
        if matches!(self.queues, Queues::Turns { quantum: 1.., .. }) {
            self.head(out, class, store)?; // whose turn it is
        }
        let at = self.at(out, class);
        let mut exposed = None;
        let id = match &mut self.queues {
            Queues::Fifo => self.levels[at].fifo.pop(store)?,
            Queues::Turns { queues, quantum } => {
                let q = &mut queues[at];
                let ingress = *q.turns.front()?;
                let list = &mut q.lists[ingress as usize];
                let id = list.pop(store)?;
                if *quantum > 0 {
                    q.deficit[ingress as usize] -= store[id].len();
                }
                if list.front().is_none() {
                    q.turns.pop_front();
                } else if *quantum == 0 {
                    q.turns.rotate_left(1);
                }
                id
            }
            Queues::Input { lists, turns } => {
                let ingress = turns[at].pop_front()?;
                let list = &mut lists[ingress as usize * self.classes + class as usize];
                let id = list.pop(store)?;
                if let Some(next) = list.front() {
                    let to = store[next].out_port;
                    turns[to as usize * self.classes + class as usize].push_back(ingress);
                    exposed = (to != out).then_some(to);
                }
                id
            }
        };
        self.levels[at].bytes -= store[id].len() as u64;
        Some((id, exposed))
    }

    /// Every frame that waits in this switch, for checkers and the deadlock watch.
    pub fn for_each<'a>(&self, store: &'a FrameStore, mut f: impl FnMut(&'a Frame)) {
        let mut all = |lists: &[FrameList]| lists.iter().for_each(|l| l.iter(store).for_each(&mut f));
        match &self.queues {
            Queues::Fifo => self.levels.iter().for_each(|l| all(&[l.fifo])),
            Queues::Input { lists, .. } => all(lists),
            Queues::Turns { queues, .. } => queues.iter().for_each(|q| all(&q.lists)),
        }
    }

    /// For an input queue: the egress its head waits for. `None` where queues are per egress, so that no frame waits
    /// behind a frame for another port.
    pub fn input_head(&self, ingress: u16, class: u8, store: &FrameStore) -> Option<u16> {
        match &self.queues {
            Queues::Input { lists, .. } => lists[self.at(ingress, class)].front().map(|id| store[id].out_port),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FrameKind;

    /// Frames (ingress, length) for egress 2, taken out in order.
    fn order(kind: DisciplineKind, frames: &[(u16, u32)]) -> Vec<(u16, u32)> {
        let mut store = FrameStore::new();
        let mut d = Discipline::new(kind, 3, 1);
        for &(in_port, len) in frames {
            let mut f = Frame::new(FrameKind::Data, 0, 0, len);
            (f.in_port, f.out_port) = (in_port, 2);
            let id = store.insert(f);
            d.push(id, &mut store);
        }
        let total: u64 = frames.iter().map(|f| f.1 as u64).sum();
        assert_eq!(d.bytes(2, 0), total);
        let out = std::iter::from_fn(|| d.pop(2, 0, &store).map(|(id, _)| (store[id].in_port, store[id].len()))).collect();
        assert_eq!(d.bytes(2, 0), 0);
        out
    }

    #[test]
    fn fifo_keeps_arrival_order_and_round_robin_takes_turns() {
        let frames = [(0, 10), (0, 11), (0, 12), (1, 20), (1, 21)];
        assert_eq!(order(DisciplineKind::Fifo, &frames), frames);
        assert_eq!(order(DisciplineKind::RoundRobin, &frames), [(0, 10), (1, 20), (0, 11), (1, 21), (0, 12)]);
    }

    #[test]
    fn drr_shares_by_bytes() {
        let mut frames: Vec<(u16, u32)> = (0..60).map(|_| (0, 500)).collect();
        frames.extend((0..60).map(|_| (1, 1500)));
        let out = order(DisciplineKind::Drr { quantum: 1500 }, &frames);
        let sent = |ingress: u16| out[..40].iter().filter(|f| f.0 == ingress).map(|f| f.1).sum::<u32>();
        assert!(sent(0).abs_diff(sent(1)) <= 1500, "{} {}", sent(0), sent(1));
    }

    #[test]
    fn an_input_queue_blocks_behind_its_head() {
        let mut store = FrameStore::new();
        let mut d = Discipline::new(DisciplineKind::InputFifo, 3, 1);
        let add = |d: &mut Discipline, store: &mut FrameStore, in_port, out_port| {
            let mut f = Frame::new(FrameKind::Data, 0, 0, 100);
            (f.in_port, f.out_port) = (in_port, out_port);
            let id = store.insert(f);
            d.push(id, store)
        };
        assert!(add(&mut d, &mut store, 0, 1));
        assert!(!add(&mut d, &mut store, 0, 2), "waits behind the frame for port 1");
        assert_eq!(d.head(2, 0, &store), None);
        assert_eq!(d.input_head(0, 0, &store), Some(1));
        let (_, exposed) = d.pop(1, 0, &store).unwrap();
        assert_eq!(exposed, Some(2));
        assert_eq!(d.head(2, 0, &store), Some(100));
    }
}
