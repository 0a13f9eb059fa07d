//! Two joined ports in memory: one receives the frames of the other. For tests of code that drives
//! ports.
//!
//! ```text
//!   a.send -> taken -flush-> b.receive        and the same from b to a
//! ```
//!
//! Nothing is ever lost: when the other side does not receive, `send` reports that there is no
//! room.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::netio::port::{Port, PortCounters, SHORTEST};

/// Frames on the way in one direction, and those taken but not flushed, each at most [frames].
const CAPACITY: usize = 1024;

/// One end of [`pair`].
pub struct MemoryPort {
    name: String,
    /// Frames to this end.
    inbound: Arc<Wire>,
    /// Frames to the other.
    outbound: Arc<Wire>,
    taken: VecDeque<Vec<u8>>,
    counters: PortCounters,
}

type Wire = Mutex<VecDeque<Vec<u8>>>;

/// Two joined ports in memory: one receives the frames of the other.
pub fn pair(a: &str, b: &str) -> (MemoryPort, MemoryPort) {
    let (to_a, to_b) = (Arc::new(Wire::default()), Arc::new(Wire::default()));
    let port = |name: &str, inbound: &Arc<Wire>, outbound: &Arc<Wire>| MemoryPort {
        name: name.to_owned(),
        inbound: inbound.clone(),
        outbound: outbound.clone(),
        taken: VecDeque::new(),
        counters: PortCounters::default(),
    };
    (port(a, &to_a, &to_b), port(b, &to_b, &to_a))
}

fn lock(wire: &Wire) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
    // A queue of frames is whole at any time, also after a panic in another thread.
    wire.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut wire = lock(&self.outbound);
        while wire.len() < CAPACITY
            && let Some(frame) = self.taken.pop_front()
        {
            self.counters.sent += 1;
            self.counters.sent_bytes += frame.len() as u64;
            wire.push_back(frame);
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

    #[test]
    fn frames_move_with_a_flush_in_both_directions() {
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
        assert_eq!(
            c,
            PortCounters {
                sent: u64::from(sent),
                sent_bytes: bytes,
                send_errors: 1,
                ..Default::default()
            }
        );
    }
}
