//! A software switch of DPDK's test-pipeline: a ring for each input, a worker that takes bursts of
//! frames from one input after the other, and a ring for each egress.
//!
//! ```text
//!   in 0 --> [ b a a ] --+           +--> ring of a [ a a ] --> out a
//!                        +-- worker -+
//!   in 1 --> [ a a b ] --+           +--> ring of b [ b ] ----> out b
//!                         a burst of one input, then the next one
//! ```
//!
//! A frame at the front of a burst whose ring is full stops the worker until a frame has left the
//! ring, or is left where it is, and the worker goes on with the next input. Between two events the
//! worker does all that it can.

use xoff_units::Class;
use xoff_units::state::State;

use crate::frame::{Frame, FrameId, FrameList, FrameStore};

/// Parameters of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct PipelineConfig {
    /// Most frames that it takes from one input before it goes on.
    pub burst: u32,
    /// Frames that the ring of an egress has room for.
    pub ring: u32,
    /// A full ring stops it.
    pub blocks: bool,
}

/// Where the worker of a class is.
#[derive(Clone, Copy, Debug, Default, State)]
struct Worker {
    /// Input that it serves, or has served last.
    input: u16,
    /// Frames of the burst that are left.
    left: u32,
}

/// Frames of an input or a ring.
#[derive(Clone, Copy, Debug, Default, State)]
struct Queue {
    frames: FrameList,
    len: u32,
}

impl Queue {
    fn push(&mut self, id: FrameId, store: &mut FrameStore) {
        self.frames.push(id, store);
        self.len += 1;
    }
    fn pop(&mut self, store: &FrameStore) -> Option<FrameId> {
        let id = self.frames.pop(store)?;
        self.len -= 1;
        Some(id)
    }
}

/// Queues and workers of a switch, one worker for each class.
#[derive(Clone, Debug, State)]
pub(super) struct Pipeline {
    c: PipelineConfig,
    classes: usize,
    /// By input and class.
    inputs: Vec<Queue>,
    /// By egress and class.
    rings: Vec<Queue>,
    workers: Vec<Worker>,
    /// Egresses whose empty ring has got a frame; empty between two events.
    exposed: Vec<u16>,
}

impl Pipeline {
    pub(super) fn new(c: PipelineConfig, ports: usize, classes: usize) -> Self {
        Pipeline {
            c,
            classes,
            inputs: vec![Queue::default(); ports * classes],
            rings: vec![Queue::default(); ports * classes],
            workers: vec![Worker { input: (ports - 1) as u16, left: 0 }; classes],
            exposed: Vec::new(),
        }
    }

    fn at(&self, port: u16, class: Class) -> usize {
        usize::from(port) * self.classes + class.index()
    }

    /// Returns whether the frame is in the ring of its egress.
    pub(super) fn push(&mut self, id: FrameId, store: &mut FrameStore) -> bool {
        let f = store[id];
        let (input, ring) = (self.at(f.in_port, f.class()), self.at(f.out_port, f.class()));
        self.inputs[input].push(id, store);
        self.work(f.class(), store);
        self.exposed.clear(); // a worker that does not wait moves no other frame
        self.inputs[input].len == 0 && self.rings[ring].len > 0
    }

    pub(super) fn head(&self, out: u16, class: Class) -> Option<FrameId> {
        self.rings[self.at(out, class)].frames.front()
    }

    pub(super) fn pop(
        &mut self,
        out: u16,
        class: Class,
        store: &mut FrameStore,
    ) -> Option<FrameId> {
        let at = self.at(out, class);
        let id = self.rings[at].pop(store)?;
        self.work(class, store);
        self.exposed.retain(|&to| to != out);
        Some(id)
    }

    /// Another egress whose empty ring has got a frame.
    pub(super) fn next_exposed(&mut self) -> Option<u16> {
        self.exposed.pop()
    }

    /// The worker of a class does what it can.
    fn work(&mut self, class: Class, store: &mut FrameStore) {
        let ports = self.inputs.len() / self.classes;
        let mut skipped = 0;
        let mut served = self.workers[class.index()].input;
        while skipped < ports {
            let Worker { input, left } = self.workers[class.index()];
            if left == 0 {
                let next = (usize::from(input) + 1) % ports;
                let waiting = self.inputs[next * self.classes + class.index()].len;
                self.workers[class.index()] =
                    Worker { input: next as u16, left: waiting.min(self.c.burst) };
                skipped += usize::from(waiting == 0);
                continue;
            }
            let from = self.at(input, class);
            let Some(id) = self.inputs[from].frames.front() else { return };
            let out = store[id].out_port;
            let ring = self.at(out, class);
            if self.rings[ring].len < self.c.ring {
                self.inputs[from].pop(store);
                if self.rings[ring].len == 0 {
                    self.exposed.push(out);
                }
                self.rings[ring].push(id, store);
                self.workers[class.index()].left -= 1;
                (skipped, served) = (0, input);
            } else if self.c.blocks {
                return;
            } else {
                self.workers[class.index()].left = 0;
                skipped += 1;
            }
        }
        // After a round without a frame it is where it was.
        self.workers[class.index()].input = served;
    }

    /// Every frame, and the egress that it waits for: a frame of an input waits for that of its
    /// head, or for the one that stops the worker.
    pub(super) fn for_each<'a>(&self, store: &'a FrameStore, f: &mut dyn FnMut(&'a Frame, u16)) {
        for ring in &self.rings {
            ring.frames.iter(store).for_each(|frame| f(frame, frame.out_port));
        }
        for (at, list) in self.inputs.iter().enumerate() {
            let class = at % self.classes;
            let worker = &self.workers[class];
            let stops = &self.inputs[usize::from(worker.input) * self.classes + class];
            let head = if self.c.blocks { stops.frames.front() } else { None };
            let Some(head) = head.or(list.frames.front()) else { continue };
            list.frames.iter(store).for_each(|frame| f(frame, store[head].out_port));
        }
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::FlowId;

    use super::*;
    use crate::frame::FrameKind;

    struct Bench {
        p: Pipeline,
        store: FrameStore,
        /// Number of the next frame, as its flow.
        next: u32,
    }

    impl Bench {
        fn new(burst: u32, ring: u32, blocks: bool) -> Bench {
            let p = Pipeline::new(PipelineConfig { burst, ring, blocks }, 4, 1);
            Bench { p, store: FrameStore::new(), next: 0 }
        }
        fn push(&mut self, in_port: u16, out_port: u16) -> bool {
            let mut f = Frame::new(FrameKind::Data, FlowId(self.next), Class(0), 100);
            (f.in_port, f.out_port) = (in_port, out_port);
            self.next += 1;
            let id = self.store.insert(f);
            self.p.push(id, &mut self.store)
        }
        /// Input and number of the frame that leaves.
        fn pop(&mut self, out: u16) -> Option<(u16, u32)> {
            let id = self.p.pop(out, Class(0), &mut self.store)?;
            let f = self.store[id];
            Some((f.in_port, f.flow.0))
        }
        fn inputs(&mut self, out: u16) -> Vec<u16> {
            std::iter::from_fn(|| self.pop(out)).map(|f| f.0).collect()
        }
    }

    /// Two inputs with many frames for one egress: after what fills the ring they take turns in
    /// bursts.
    #[test]
    fn inputs_take_turns_in_bursts() {
        for (burst, blocks) in [(1, true), (2, true), (64, true), (64, false), (3, false)] {
            let mut b = Bench::new(burst, 8, blocks);
            for _ in 0..500 {
                b.push(0, 3);
                b.push(1, 3);
            }
            let out = b.inputs(3);
            assert_eq!(out.len(), 1_000);
            let rest = &out[10..800];
            let runs: Vec<u32> = rest.chunk_by(|a, b| a == b).map(|run| run.len() as u32).collect();
            let whole = &runs[1..runs.len() - 1];
            // One that leaves a full ring alone takes a frame whenever there is room.
            let expected = if blocks { burst } else { 1 };
            assert!(whole.iter().all(|&n| n == expected), "{burst} {blocks}: {whole:?}");
        }
    }

    /// The ring of egress 2 is full and nothing leaves it. Blocked, the worker brings no frame to
    /// egress 3 any more; skipping, it brings those of the input that has them at its head.
    #[test]
    fn a_full_ring_stops_the_worker_or_one_input() {
        for blocks in [true, false] {
            let mut b = Bench::new(64, 2, blocks);
            assert_eq!([b.push(0, 2), b.push(0, 2)], [true, true]);
            assert!(!b.push(0, 2));
            assert_eq!([b.push(0, 3), b.push(1, 3)], [false, !blocks]);
            let mut waits = vec![];
            b.p.for_each(&b.store, &mut |f, out| waits.push((f.flow.0, out)));
            waits.sort_unstable();
            let last = if blocks { 2 } else { 3 };
            assert_eq!(waits, [(0, 2), (1, 2), (2, 2), (3, 2), (4, last)]);
            assert_eq!(b.pop(3), (!blocks).then_some((1, 4)));
            // Room for the frame that stops it, which was a burst alone: input 1 has the next one.
            assert_eq!(b.pop(2), Some((0, 0)));
            let exposed: Vec<u16> = std::iter::from_fn(|| b.p.next_exposed()).collect();
            assert_eq!(exposed, [3]);
            let out: Vec<u32> = std::iter::from_fn(|| b.pop(3)).map(|f| f.1).collect();
            assert_eq!(out, if blocks { vec![4, 3] } else { vec![3] });
        }
    }
}
