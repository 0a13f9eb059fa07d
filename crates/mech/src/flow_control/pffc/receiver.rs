//! The receiver half of PFFC: counts what is held of each flow, and decides who is paused.
//!
//! ```text
//!            above Xoff_s             at or below Xon_s             the last holder of its pause queue is
//!   sends ----------------> holds it ------------------> waits for ---------------------------------------> sends
//!           PAUSE, MIGRATE     ^                         the others         RESUME, MIGRATE-BACK
//!                              +------------------------------+
//!                                above Xoff_s again: it is still paused, nothing to say
//! ```

use std::collections::VecDeque;

use xoff_units::{Bytes, Time};

use super::super::{FlowReceiver, Message};
use super::{Order, Params};

/// Where a slot stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Sends,
    /// It keeps its pause queue from being resumed.
    Holds,
    /// It has drained, but shares its pause queue with one that has not.
    Waits,
}

/// The flows of one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    /// Held of them [bytes].
    bytes: u64,
    /// The flow that found it empty.
    owner: u32,
    state: State,
}

/// What the receiver knows of a pause queue of its sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    /// Slots that hold it; 0: it is not paused.
    holders: u32,
    /// Slots whose flows were led into it, in the order in which they were.
    guests: Vec<u16>,
}

/// The receiver half, for one ingress and priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PffcReceiver {
    p: Params,
    /// Empty until the first frame: most ports of a large network never see one.
    slots: Vec<Slot>,
    queues: Vec<Queue>,
    /// Decided and not yet said.
    due: VecDeque<Order>,
    /// Frames that were counted in the slot of another flow.
    collisions: u64,
}

impl PffcReceiver {
    /// A receiver that holds nothing.
    pub fn new(p: &Params) -> Self {
        let queues = vec![Queue::default(); p.queues as usize];
        PffcReceiver { p: p.clone(), slots: Vec::new(), queues, due: VecDeque::new(), collisions: 0 }
    }

    /// What is held of the flows that share this flow's slot [bytes].
    pub fn held(&self, flow: u32) -> Bytes {
        self.slots.get(self.p.slot(flow) as usize).map_or(Bytes::ZERO, |s| Bytes(s.bytes))
    }

    fn queue_of(&self, slot: u16) -> usize {
        (slot % self.p.queues) as usize
    }

    fn resume(&mut self, queue: usize) {
        self.due.push_back(Order::Resume(queue as u16));
        for slot in self.queues[queue].guests.drain(..) {
            self.slots[slot as usize].state = State::Sends;
            self.due.push_back(Order::MigrateBack(slot));
        }
    }
}

impl FlowReceiver for PffcReceiver {
    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn on_arrival(&mut self, _now: Time, flow: u32, len: Bytes) -> Option<Message> {
        if self.slots.is_empty() {
            self.slots = vec![Slot::default(); self.p.slots as usize];
        }
        let at = self.p.slot(flow);
        let queue = self.queue_of(at);
        let slot = &mut self.slots[at as usize];
        if slot.bytes == 0 {
            slot.owner = flow;
        } else if slot.owner != flow {
            self.collisions += 1;
        }
        slot.bytes += len.0;
        if slot.bytes > self.p.xoff_s.0 && slot.state != State::Holds {
            let queue_state = &mut self.queues[queue];
            if slot.state == State::Sends {
                if queue_state.holders == 0 {
                    self.due.push_back(Order::Pause(queue as u16));
                }
                self.due.push_back(Order::Migrate(at));
                queue_state.guests.push(at);
            }
            queue_state.holders += 1;
            slot.state = State::Holds;
        }
        self.more()
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn on_departure(&mut self, _now: Time, flow: u32, len: Bytes) -> Option<Message> {
        let at = self.p.slot(flow);
        let queue = self.queue_of(at);
        let slot = &mut self.slots[at as usize];
        slot.bytes -= len.0;
        if slot.state == State::Holds && slot.bytes <= self.p.xon_s.0 {
            slot.state = State::Waits;
            self.queues[queue].holders -= 1;
            if self.queues[queue].holders == 0 {
                self.resume(queue);
            }
        }
        self.more()
    }

    fn more(&mut self) -> Option<Message> {
        self.due.pop_front().map(Message::Flow)
    }

    #[inline(never)]
    fn holds(&self, gone: Bytes) -> bool {
        // Of which flows the bytes are that leave is not said. They let a queue go if they can take all its holders to Xon_s.
        let excess = |q: &Queue| -> u64 {
            let holders = q.guests.iter().map(|&s| &self.slots[s as usize]).filter(|s| s.state == State::Holds);
            holders.map(|s| s.bytes - self.p.xon_s.0).sum()
        };
        self.queues.iter().filter(|q| q.holders > 0).map(excess).min().is_some_and(|least| least > gone.0)
    }

    fn collisions(&self) -> u64 {
        self.collisions
    }
}
