//! Histograms of the length of each egress queue, sampled at fixed times.
//!
//! A sample costs nothing per port: a queue is charged for the samples since its last change when
//! it changes again.

use xoff_units::state::State;
use xoff_units::{Bytes, Class, Span, Time};

/// Chosen polls, and the interval of stored counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// First look.
    pub first: Time,
    /// From one sample to the next [ps].
    pub every: Span,
    /// The first sample at or after this time is the last one.
    pub last: Time,
    /// Width of a bin of queue length [bytes].
    pub bin: Bytes,
    /// The counts so far are kept at looks whose time is a multiple of this [ps].
    pub keep_every: Span,
}

/// The counts of all ports at one time, from the first sample on.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct QueueCounts {
    /// Simulated time.
    pub time: Time,
    /// By node, port and bin; ports of hosts stay at length 0.
    pub counts: Vec<Vec<Vec<u32>>>,
}

/// Distribution of a queue, all classes together.
#[derive(Clone, Default, State)]
struct Queue {
    bytes: u64,
    /// Looks that are counted already.
    counted: u32,
    counts: Vec<u32>,
}

/// The counts during a run.
#[derive(State)]
pub(crate) struct Histogram {
    #[state(built)]
    pub looks: Looks,
    taken: u32,
    #[state(built)]
    classes: usize,
    /// By port and class [bytes].
    partitions: Vec<u64>,
    queues: Vec<Queue>,
    pub kept: Vec<QueueCounts>,
}

impl Histogram {
    pub fn new(looks: Looks, ports: usize, classes: usize) -> Histogram {
        Histogram {
            looks,
            taken: 0,
            classes,
            partitions: vec![0; ports * classes],
            queues: vec![Queue::default(); ports],
            kept: Vec::new(),
        }
    }

    fn settle(queue: &mut Queue, taken: u32, bin: Bytes) {
        if taken > queue.counted {
            let at = (queue.bytes / bin.0) as usize;
            if queue.counts.len() <= at {
                queue.counts.resize(at + 1, 0);
            }
            queue.counts[at] += taken - queue.counted;
            queue.counted = taken;
        }
    }

    /// A queue has a new length.
    pub fn set(&mut self, port: usize, class: Class, bytes: u64) {
        let partition = &mut self.partitions[port * self.classes + class.index()];
        let queue = &mut self.queues[port];
        Self::settle(queue, self.taken, self.looks.bin);
        queue.bytes = queue.bytes - *partition + bytes;
        *partition = bytes;
    }

    /// Takes a sample, and at once all samples before `until`, the next event: they would be equal.
    /// Returns when the next one is due.
    pub fn look(&mut self, now: Time, until: Time, first_port: &[u32]) -> Option<Time> {
        self.taken += 1;
        if now.0.is_multiple_of(self.looks.keep_every.0) {
            for queue in &mut self.queues {
                Self::settle(queue, self.taken, self.looks.bin);
            }
            let ends = first_port.iter().skip(1).map(|&e| e as usize).chain([self.queues.len()]);
            let ports = first_port.iter().zip(ends).map(|(&start, end)| start as usize..end);
            let counts =
                ports.map(|r| self.queues[r].iter().map(|q| q.counts.clone()).collect()).collect();
            self.kept.push(QueueCounts { time: now, counts });
        }
        if now >= self.looks.last {
            return None;
        }
        let mut next = now + self.looks.every;
        while next < until
            && next < self.looks.last
            && !next.0.is_multiple_of(self.looks.keep_every.0)
        {
            self.taken += 1;
            next += self.looks.every;
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_sees_the_length_at_its_time() {
        let us = Time::from_us;
        let looks = Looks {
            first: us(1),
            every: Span::from_us(1),
            last: us(5),
            bin: Bytes(1000),
            keep_every: Span::from_us(5),
        };
        let mut h = Histogram::new(looks, 3, 2);
        let nodes = [0, 1]; // one port, two ports
        assert_eq!(h.look(us(1), us(2), &nodes), Some(us(2)));
        h.set(2, Class(0), 2500);
        h.set(2, Class(1), 600);
        assert_eq!(h.look(us(2), us(4), &nodes), Some(us(4)), "3 us sees the same");
        h.set(2, Class(0), 0);
        assert_eq!(h.look(us(4), Time::NEVER, &nodes), Some(us(5)));
        assert_eq!(h.look(us(5), Time::NEVER, &nodes), None, "the last one");
        assert_eq!(
            h.kept,
            [QueueCounts {
                time: us(5),
                counts: vec![vec![vec![5]], vec![vec![5], vec![3, 0, 0, 2]]]
            }]
        );
    }
}
