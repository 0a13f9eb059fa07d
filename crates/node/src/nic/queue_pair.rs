//! Queue pairs: messages that share a connection, and with it the state of its rate control.
//!
//! ```text
//!   message 1 |------ sent|..acknowledged          rate control: message 1 ---moves--> message 2 ---moves--> ...
//!   message 2              |------ sent|..         CNPs and timers of message 1 from then on: message 2's
//! ```
//!
//! Only one message of a queue pair sends at a time: one that comes before the last byte of the
//! previous one has left waits for that. Between messages rate control keeps its state and its
//! timers.

use xoff_units::FlowId;
use xoff_units::state::State;

use super::Nic;
use crate::env::Env;

/// A message's place in its queue pair.
#[derive(Clone, Copy, Debug, Default, State)]
pub(super) struct InPair {
    /// Bytes of the messages before it.
    before: u64,
    /// Number of the queue pair.
    number: u32,
    /// The message after it, by place.
    next: Option<u32>,
    /// The message that waits for its last byte to leave, by place.
    behind: Option<u32>,
    /// True if the queue pair itself waits.
    waits: bool,
}

impl InPair {
    /// True if the message waits for the previous one.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// True if its queue pair has continued.
    pub(super) fn is_passed(&self) -> bool {
        self.next.is_some()
    }
}

impl Nic {
    /// The message at `slot` is the next one of its queue pair. Returns whether it may begin: none
    /// before it has something left to send.
    #[cold]
    pub(super) fn go_on_in_pair(&mut self, pair: u32, slot: u32) -> bool {
        let mut place = InPair { number: pair, ..InPair::default() };
        let last = self.queue_pairs.insert(pair, slot);
        if let Some(last) = last
            && self.flows[last as usize].left() > 0
            && let Some(before) = &mut self.flows[last as usize].pair
        {
            before.behind = Some(slot);
            place.waits = true;
        }
        let begins = !place.waits;
        self.flows[slot as usize].pair = Some(Box::new(place));
        if let Some(last) = last.filter(|_| begins) {
            self.follow(last, slot);
        } else if begins && self.c.clears_flows {
            self.at_work.insert(pair, slot);
        }
        begins
    }

    /// The message at `slot` follows the one at `last` through the same ports, with the present state
    /// of rate control.
    fn follow(&mut self, last: u32, slot: u32) {
        let old = &mut self.flows[last as usize];
        let (rate_control, available, size) =
            (old.rate_control.take(), old.available, old.start.size);
        let (ports, line, entropy) = (old.ports, old.line, old.entropy.take());
        let mut sent = 0;
        if let Some(in_pair) = &mut old.pair {
            sent = in_pair.before + size;
            in_pair.next = Some(slot);
        }
        let new = &mut self.flows[slot as usize];
        (new.ports, new.line, new.entropy) = (ports, line, entropy);
        new.rate_control = rate_control;
        new.available = new.available.max(available);
        if let Some(in_pair) = &mut new.pair {
            (in_pair.before, in_pair.waits) = (sent, false);
            if self.c.clears_flows {
                self.at_work.insert(in_pair.number, slot);
            }
        }
    }

    /// The last byte of a message leaves through a port: the one that waits for it begins.
    #[cold]
    pub(super) fn next_in_pair(&mut self, port: u16, slot: u32, env: &mut impl Env) {
        let Some(next) = self.flows[slot as usize].pair.as_mut().and_then(|p| p.behind.take())
        else {
            return;
        };
        self.follow(slot, next);
        self.takes_turns(next);
        let others = self.flows[next as usize].ports;
        others.iter().filter(|&p| p != port).for_each(|p| self.try_send(p, env));
        self.ports[port].plan_next(env);
    }

    /// The latest message of the queue pair of one that has been cleared: news of a message concern
    /// those after it.
    #[cold]
    pub(super) fn slot_of_pair(&self, flow: FlowId, env: &mut impl Env) -> Option<u32> {
        if !self.c.clears_flows || self.c.transport.acknowledges() {
            return None;
        }
        self.at_work.get(&env.queue_pair_of(flow)?).copied()
    }

    /// The message that has the rate control now of one whose queue pair has gone on; `None`: it
    /// has not.
    #[cold]
    pub(super) fn successor(&self, slot: u32) -> Option<u32> {
        let next = |slot: u32| self.flows[slot as usize].pair.as_ref().and_then(|p| p.next);
        let mut at = next(slot)?;
        if self.c.clears_flows {
            // Those between the two may be gone.
            let number = self.flows[slot as usize].pair.as_ref()?.number;
            return self.at_work.get(&number).copied();
        }
        while let Some(later) = next(at) {
            at = later;
        }
        Some(at)
    }

    /// Bytes of its queue pair before a message, and bytes sent in all; for a separate flow: zero,
    /// and its bytes sent.
    pub(super) fn in_pair(&self, slot: u32) -> (u64, u64) {
        let f = &self.flows[slot as usize];
        let Some(pair) = &f.pair else { return (0, f.next) };
        let last = &self.flows[self.successor(slot).unwrap_or(slot) as usize];
        (pair.before, last.pair.as_ref().map_or(0, |p| p.before) + last.next)
    }
}
