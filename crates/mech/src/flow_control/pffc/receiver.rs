//! The receiver half of PFFC: counts the bytes held of each flow, and decides which flows are
//! paused.
//!
//! ```text
//!            above Xoff_s             at or below Xon_s             the last holder of its pause queue is
//!   sends ----------------> holds it ------------------> waits for ---------------------------------------> sends
//!           PAUSE, MIGRATE     ^                         the others         RESUME, MIGRATE-BACK
//!                              +------------------------------+
//!                                above Xoff_s again: it is still paused, nothing to send
//! ```
//!
//! As long as a pause queue is held, its PAUSE and the MIGRATE of every flow led into it are
//! repeated at half the pause time; with `repeat` each interval, and RESUME as long as it is not
//! held.

use std::collections::VecDeque;

use xoff_units::{Bytes, FlowId, Rate, Time, state};

use super::super::pfc::Pause;
use super::super::{FlowReceiver, Message, QueueState, repeat};
use super::{Order, Params};

/// State of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, state::State)]
enum State {
    #[default]
    Sends,
    /// Paused: the slot prevents its pause queue from being resumed.
    Holds,
    /// Drained, but sharing its pause queue with a slot that has not drained.
    Waits,
}

/// The flows of one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, state::State)]
struct Slot {
    /// Held of them [bytes].
    bytes: u64,
    /// The flow that found it empty.
    owner: u32,
    state: State,
}

/// State of the receiver about a pause queue of its sender.
#[derive(Clone, Debug, Default, PartialEq, Eq, state::State)]
struct Queue {
    /// Slots that hold it; 0: it is not paused.
    holders: u32,
    /// Slots whose flows were led into it, in the order in which they were.
    guests: Vec<u16>,
    /// Time of the next repeat of its pause, or its resume; `None`: no repeat.
    refresh_at: Option<Time>,
}

/// The receiver half, for one ingress and priority.
#[derive(Clone, Debug, PartialEq, Eq, state::State)]
pub struct PffcReceiver {
    #[state(built)] // constant
    p: Params,
    line: Rate,
    /// Empty until the first frame: most ports of a large network never see one.
    slots: Vec<Slot>,
    queues: Vec<Queue>,
    /// Decided and not yet sent.
    due: VecDeque<Order>,
    /// Frames that were counted in the slot of another flow.
    #[state(saved)] // a result
    collisions: u64,
}

impl PffcReceiver {
    /// A receiver that holds nothing, on a link of this rate.
    pub fn new(p: &Params, line: Rate) -> Self {
        let queues = vec![Queue::default(); p.queues as usize];
        PffcReceiver {
            p: p.clone(),
            line,
            slots: Vec::new(),
            queues,
            due: VecDeque::new(),
            collisions: 0,
        }
    }

    /// Bytes held of the flows that share this flow's slot.
    pub fn held(&self, flow: FlowId) -> Bytes {
        self.slots.get(self.p.slot(flow) as usize).map_or(Bytes::ZERO, |s| Bytes(s.bytes))
    }

    fn queue_of(&self, slot: u16) -> usize {
        (slot % self.p.queues) as usize
    }

    fn pause(&mut self, now: Time, queue: usize) {
        let pause = Pause::of(self.p.quanta);
        let at = pause.repeat_at(now, self.line).min(repeat::after(now, self.p.repeat));
        self.queues[queue].refresh_at = Some(at).filter(|&at| at != Time::NEVER);
        self.due.push_back(Order::Pause(queue as u16, pause));
    }

    fn resume(&mut self, now: Time, queue: usize) {
        self.queues[queue].refresh_at =
            Some(repeat::after(now, self.p.repeat)).filter(|&at| at != Time::NEVER);
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
    fn on_arrival(
        &mut self,
        now: Time,
        flow: FlowId,
        _queue: Option<QueueState>,
        len: Bytes,
    ) -> Option<Message> {
        if self.slots.is_empty() {
            self.slots = vec![Slot::default(); self.p.slots as usize];
        }
        let at = self.p.slot(flow);
        let queue = self.queue_of(at);
        let slot = &mut self.slots[at as usize];
        if slot.bytes == 0 {
            slot.owner = flow.0;
        } else if slot.owner != flow.0 {
            self.collisions += 1;
        }
        slot.bytes += len.0;
        let before = slot.state;
        if slot.bytes > self.p.xoff_s.0 && before != State::Holds {
            slot.state = State::Holds;
            self.queues[queue].holders += 1;
            if before == State::Sends {
                if self.queues[queue].holders == 1 {
                    self.pause(now, queue);
                }
                self.due.push_back(Order::Migrate(at));
                self.queues[queue].guests.push(at);
            }
        }
        self.more()
    }

    #[cold] // out of line: runs without it do not pay
    #[inline(never)]
    fn on_departure(
        &mut self,
        now: Time,
        flow: FlowId,
        _queue: Option<QueueState>,
        len: Bytes,
    ) -> Option<Message> {
        let at = self.p.slot(flow);
        let queue = self.queue_of(at);
        let slot = &mut self.slots[at as usize];
        slot.bytes -= len.0;
        if slot.state == State::Holds && slot.bytes <= self.p.xon_s.0 {
            slot.state = State::Waits;
            self.queues[queue].holders -= 1;
            if self.queues[queue].holders == 0 {
                self.resume(now, queue);
            }
        }
        self.more()
    }

    #[cold]
    #[inline(never)]
    fn on_wake(&mut self, now: Time) -> Option<Message> {
        for queue in 0..self.queues.len() {
            if self.queues[queue].refresh_at.is_none_or(|at| at > now) {
                continue;
            }
            if self.queues[queue].holders > 0 {
                self.pause(now, queue);
                self.due.extend(self.queues[queue].guests.iter().map(|&slot| Order::Migrate(slot)));
            } else {
                self.resume(now, queue);
            }
        }
        self.more()
    }

    #[cold]
    #[inline(never)]
    fn next_wake(&self) -> Option<Time> {
        self.queues.iter().filter_map(|q| q.refresh_at).min()
    }

    fn more(&mut self) -> Option<Message> {
        self.due.pop_front().map(Message::Flow)
    }

    #[inline(never)]
    fn holds(&self, gone: Bytes) -> bool {
        // The message does not contain the flows of the bytes that leave. These bytes release a
        // queue if they can take all its holders to Xon_s.
        let excess = |q: &Queue| -> u64 {
            let holders = q
                .guests
                .iter()
                .map(|&s| &self.slots[s as usize])
                .filter(|s| s.state == State::Holds);
            holders.map(|s| s.bytes - self.p.xon_s.0).sum()
        };
        self.queues
            .iter()
            .filter(|q| q.holders > 0)
            .map(excess)
            .min()
            .is_some_and(|least| least > gone.0)
    }

    fn collisions(&self) -> u64 {
        self.collisions
    }
}
