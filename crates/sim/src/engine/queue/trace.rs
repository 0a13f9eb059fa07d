//! Trace of the event queue of a run, to measure the queue alone: the limit of any engine around
//! it.

use std::time::Duration;

use xoff_node::EventKey;

use super::{EventQueue, Pending};
use crate::engine::event::Event;

/// The operations of a stretch of a run on its queue, in order.
#[derive(Clone, Debug)]
pub struct QueueTrace<E: Pending = Event> {
    /// The state of the queue at the beginning, latest first.
    before: Vec<E>,
    /// Events that were pushed, and where one was taken.
    operations: Vec<Option<E>>,
    /// Width of a bucket, as a power of two [ps].
    shift: u32,
    /// Number of buckets.
    buckets: usize,
    operations_max: usize,
}

/// Result of the queue alone for a trace.
#[derive(Clone, Copy, Debug)]
pub struct Replayed {
    /// Events taken.
    pub events: u64,
    /// Time on the processor.
    pub cpu: Duration,
}

impl<E: Pending> QueueTrace<E> {
    pub(super) fn new(queue: &EventQueue<E>, operations_max: usize) -> QueueTrace<E> {
        let before = queue.pending().copied().collect();
        QueueTrace {
            before,
            operations: Vec::with_capacity(operations_max),
            shift: queue.shift,
            buckets: queue.buckets.len(),
            operations_max,
        }
    }

    /// Notes an operation; does nothing once the trace is full.
    pub(super) fn emit(&mut self, operation: Option<E>) {
        if self.operations.len() < self.operations_max {
            self.operations.push(operation);
        }
    }

    /// Events taken in the trace.
    pub fn events(&self) -> u64 {
        self.operations.iter().filter(|o| o.is_none()).count() as u64
    }

    /// Repeats the trace on a queue alone.
    pub fn replay(&self) -> Replayed {
        let mut queue = EventQueue::sized(self.shift, self.buckets);
        self.before.iter().for_each(|e| queue.push(*e));
        #[cfg(not(target_family = "wasm"))]
        let cpu = cpu_time::ThreadTime::now();
        #[cfg(target_family = "wasm")]
        let cpu = std::time::Instant::now();
        let mut events = 0;
        for operation in &self.operations {
            match operation {
                Some(e) => queue.push(*e),
                None => events += queue.pop_before(EventKey::NEVER).is_some() as u64,
            }
        }
        Replayed { events, cpu: cpu.elapsed() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::Kind;
    use xoff_units::Time;

    #[test]
    fn a_replay_takes_what_the_run_took() {
        let event = |t| Event::new(EventKey { time: Time(t), rank: t }, Kind::Wake, 0, 0);
        let bound = |t| EventKey { time: Time(t), rank: 0 };
        let mut q = EventQueue::new(8, 1000);
        q.push(event(3));
        q.trace(100);
        q.push(event(100));
        assert!(
            q.pop_before(bound(50)).is_some()
                && q.pop_before(bound(50)).is_none()
                && q.pop_before(bound(200)).is_some()
        );
        let trace = q.take_trace().unwrap();
        assert_eq!((trace.events(), trace.replay().events), (2, 2));
    }
}
