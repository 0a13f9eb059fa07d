//! Two joined ports in memory: one receives the frames of the other. For tests of code that drives ports.
//!
//! ```text
//!   a.send -> taken -flush-> [lose, duplicate, corrupt, reorder, by a seed] -> b.receive        and the same from b to a
//! ```
//!
//! Without [`Faults`] nothing is ever lost: when the other side does not receive, `send` reports that there is no room.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::netio::port::{Port, PortCounters, SHORTEST};

/// Frames on the way in one direction, and those taken but not flushed, each at most [frames].
const CAPACITY: usize = 1024;

/// Faults of the frames that a port sends. Each is a probability, 0 to 1; all of them together follow from the seed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Seed of the random draws: the same seed and the same frames give the same faults.
    pub seed: u64,
    /// A frame vanishes.
    pub lose: f64,
    /// A frame arrives twice.
    pub duplicate: f64,
    /// A frame arrives behind its successor; with none, behind nothing: at the second flush it leaves alone.
    pub reorder: f64,
    /// One bit of a frame is turned over. (A real wire would drop it; a bad bridge would not.)
    pub corrupt: f64,
}

/// One end of [`pair`].
pub struct MemoryPort {
    name: String,
    /// Frames to this end.
    inbound: Arc<Wire>,
    /// Frames to the other.
    outbound: Arc<Wire>,
    taken: VecDeque<Vec<u8>>,
    /// A frame that waits for its successor, and whether a flush has passed.
    held: Option<(Vec<u8>, bool)>,
    faults: Faults,
    random: u64,
    counters: PortCounters,
}

type Wire = Mutex<VecDeque<Vec<u8>>>;

/// Two joined ports in memory: one receives the frames of the other. For tests, with knobs to lose, duplicate, reorder, corrupt frames by a
/// seed ([`MemoryPort::set_faults`]).
pub fn pair(a: &str, b: &str) -> (MemoryPort, MemoryPort) {
    let (to_a, to_b) = (Arc::new(Wire::default()), Arc::new(Wire::default()));
    let port = |name: &str, inbound: &Arc<Wire>, outbound: &Arc<Wire>| MemoryPort {
        name: name.to_owned(),
        inbound: inbound.clone(),
        outbound: outbound.clone(),
        taken: VecDeque::new(),
        held: None,
        faults: Faults::default(),
        random: 0,
        counters: PortCounters::default(),
    };
    (port(a, &to_a, &to_b), port(b, &to_b, &to_a))
}

fn lock(wire: &Wire) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
    // A queue of frames is whole at any time, also after a panic in another thread.
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryPort {
    /// Sets the faults of the frames that this end sends from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.random = faults.seed;
        self.faults = faults;
    }

    /// SplitMix64 (Steele, Lea, Flood 2014): enough for random draws in tests, and a stream of its own.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn happens(&mut self, probability: f64) -> bool {
        // Drawn even where nothing can happen: turning one knob leaves the other draws as they were.
        let draw = (self.draw() >> 11) as f64 / (1u64 << 53) as f64;
        draw < probability
    }

    /// One frame through the faults: frames that reach the wire, in order.
    fn mangle(&mut self, mut frame: Vec<u8>, out: &mut Vec<Vec<u8>>) {
        let (lose, duplicate) = (self.happens(self.faults.lose), self.happens(self.faults.duplicate));
        let (reorder, corrupt) = (self.happens(self.faults.reorder), self.happens(self.faults.corrupt));
        let bit = self.draw() as usize % (frame.len() * 8);
        if lose {
            return;
        }
        if corrupt {
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        if reorder && self.held.is_none() {
            self.held = Some((frame, false));
            return;
        }
        if duplicate {
            out.push(frame.clone());
        }
        out.push(frame);
        out.extend(self.held.take().map(|(frame, _)| frame));
    }
}

impl Port for MemoryPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, max: usize, f: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        // Not under the lock: `f` may well send through the other end.
        let frames: Vec<_> = {
            let mut wire = lock(&self.inbound);
            let n = max.min(wire.len());
            wire.drain(..n).collect()
        };
        frames.iter().for_each(|frame| f(frame));
        self.counters.received += frames.len() as u64;
        Ok(frames.len())
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        if frame.len() < SHORTEST {
            self.counters.send_errors += 1;
            return Ok(true);
        }
        let room = self.taken.len() < CAPACITY;
        if room {
            self.taken.push_back(frame.to_vec());
        }
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        let outbound = self.outbound.clone();
        let mut wire = lock(&outbound);
        let mut out = Vec::new();
        while wire.len() < CAPACITY
            && let Some(frame) = self.taken.pop_front()
        {
            self.counters.sent += 1;
            self.counters.sent_bytes += frame.len() as u64;
            self.mangle(frame, &mut out);
            wire.extend(out.drain(..));
        }
        match self.held.take() {
            Some((frame, true)) => wire.push_back(frame),
            held => self.held = held.map(|(frame, _)| (frame, true)),
        }
        Ok(())
    }

    fn counters(&mut self) -> PortCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(n: u32) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[56..].copy_from_slice(&n.to_be_bytes());
        frame
    }

    fn number(frame: &[u8]) -> u32 {
        u32::from_be_bytes(frame[56..].try_into().unwrap())
    }

    /// Sends `count` numbered frames from one end with faults; numbers as they arrive, and the frames that were damaged.
    fn through(faults: Faults, count: u32) -> (Vec<u32>, usize) {
        let (mut a, mut b) = pair("a", "b");
        a.set_faults(faults);
        let (mut got, mut damaged) = (Vec::new(), 0);
        let mut take = |b: &mut MemoryPort| {
            b.receive(usize::MAX, &mut |f| {
                got.push(number(f));
                damaged += usize::from(f != numbered(number(f)) || number(f) >= count);
            })
            .unwrap()
        };
        for n in 0..count {
            assert!(a.send(&numbered(n)).unwrap());
            a.flush().unwrap();
            take(&mut b);
        }
        a.flush().unwrap();
        a.flush().unwrap();
        take(&mut b);
        assert_eq!(a.counters().sent, u64::from(count));
        assert_eq!(b.counters().received, got.len() as u64);
        (got, damaged)
    }

    #[test]
    fn without_faults_everything_arrives_in_order_in_both_directions() {
        assert_eq!(through(Faults::default(), 3000), ((0..3000).collect(), 0));
        let (mut a, mut b) = pair("left", "right");
        assert_eq!((a.name(), b.name(), a.fd()), ("left", "right", None));
        b.send(&numbered(7)).unwrap();
        assert_eq!(a.receive(9, &mut |_| ()).unwrap(), 0, "nothing moves before the flush");
        b.flush().unwrap();
        assert_eq!(a.receive(9, &mut |f| assert_eq!(number(f), 7)).unwrap(), 1);
    }

    #[test]
    fn without_room_nothing_is_lost() {
        let (mut a, mut b) = pair("a", "b");
        let mut sent = 0;
        for _ in 0..2 {
            while a.send(&numbered(sent)).unwrap() {
                sent += 1;
            }
            a.flush().unwrap();
        }
        assert_eq!(sent as usize, 2 * CAPACITY);
        let mut next = 0;
        while next < sent {
            let n = b
                .receive(100, &mut |f| {
                    assert_eq!(number(f), next);
                    next += 1;
                })
                .unwrap();
            assert!((1..=100).contains(&n));
            a.flush().unwrap();
        }
        assert!(a.send(&[0; 13]).unwrap());
        let c = a.counters();
        let bytes = (0..sent).map(|n| numbered(n).len() as u64).sum();
        assert_eq!(c, PortCounters { sent: u64::from(sent), sent_bytes: bytes, send_errors: 1, ..Default::default() });
    }

    #[test]
    fn each_fault_does_what_it_promises_and_follows_the_seed() {
        let none = Faults { seed: 1, ..Default::default() };
        let (lost, _) = through(Faults { lose: 0.5, ..none }, 1000);
        assert!((400..600).contains(&lost.len()) && lost.is_sorted(), "{}", lost.len());
        assert_eq!(lost, through(Faults { lose: 0.5, ..none }, 1000).0);
        assert_ne!(lost, through(Faults { lose: 0.5, seed: 2, ..none }, 1000).0);

        let (mut twice, _) = through(Faults { duplicate: 0.5, ..none }, 1000);
        assert!((1400..1600).contains(&twice.len()) && twice.is_sorted());
        twice.dedup();
        assert_eq!(twice, (0..1000).collect::<Vec<_>>());

        let (mut shuffled, _) = through(Faults { reorder: 0.5, ..none }, 1000);
        assert!(!shuffled.is_sorted());
        shuffled.sort();
        assert_eq!(shuffled, (0..1000).collect::<Vec<_>>());

        let (all, damaged) = through(Faults { corrupt: 0.5, ..none }, 1000);
        assert!(all.len() == 1000 && (400..600).contains(&damaged), "{damaged}");
    }
}
