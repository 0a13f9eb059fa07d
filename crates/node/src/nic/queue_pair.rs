//! Queue pairs: messages that share a connection, and with it the state of its rate control.
//!
//! ```text
//!   message 1 |------ sent|..acknowledged          rate control: message 1 ---moves--> message 2 ---moves--> ...
//!   message 2              |------ sent|..         CNPs and timers of message 1 from then on: message 2's
//! ```
//!
//! A message begins when the last byte of the one before it has left, so only one sends at a time. Between messages rate control keeps its
//! state and its timers.

use xoff_units::save::Value;

use super::Nic;

/// A message's place in its queue pair.
#[derive(Clone, Copy, Debug, Default, Value)]
pub(super) struct InPair {
    /// Bytes of the messages before it.
    before: u64,
    /// The message after it, by place.
    next: Option<u32>,
}

impl Nic {
    /// The message at `slot` is the next one of its queue pair.
    #[cold]
    pub(super) fn go_on_in_pair(&mut self, pair: u32, slot: u32) {
        let mut place = InPair::default();
        if let Some(last) = self.queue_pairs.insert(pair, slot) {
            let old = &mut self.flows[last as usize];
            let (rate_control, available) = (old.rate_control.take(), old.available);
            if let Some(in_pair) = &mut old.pair {
                place.before = in_pair.before + old.start.size;
                in_pair.next = Some(slot);
            }
            let new = &mut self.flows[slot as usize];
            new.rate_control = rate_control;
            new.available = new.available.max(available);
        }
        self.flows[slot as usize].pair = Some(Box::new(place));
    }

    /// The message that has the rate control now of one whose queue pair has gone on; `None`: it has not.
    #[cold]
    pub(super) fn successor(&self, slot: u32) -> Option<u32> {
        let next = |slot: u32| self.flows[slot as usize].pair.as_ref().and_then(|p| p.next);
        let mut at = next(slot)?;
        while let Some(later) = next(at) {
            at = later;
        }
        Some(at)
    }

    /// Bytes of its queue pair before a message, and sent in all; of a flow of its own: none, and what it has sent.
    pub(super) fn in_pair(&self, slot: u32) -> (u64, u64) {
        let f = &self.flows[slot as usize];
        let Some(pair) = &f.pair else { return (0, f.next) };
        let last = &self.flows[self.successor(slot).unwrap_or(slot) as usize];
        (pair.before, last.pair.as_ref().map_or(0, |p| p.before) + last.next)
    }
}
