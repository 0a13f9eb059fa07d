//! A NIC that hands frames to its host more slowly than they can come: its own buffer, and the same
//! receiver half as in a switch.
//!
//! ```text
//!   link --> memory (one queue, FIFO) --drain--> host: delivered, acknowledged
//!            receiver half: stops the switch         rate; stalls; a limit on messages per time
//! ```
//!
//! A NIC without a drain takes every frame in at once.

use xoff_mech::flow_control::Occupancy;
use xoff_units::state::State;
use xoff_units::{Bytes, Class, Loss, Rate, Span, Time};

use super::Nic;
use crate::env::{Call, Env, NodeEvent};
use crate::frame::{Frame, FrameId, FrameList};

/// Drain settings of a NIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainConfig {
    /// While it does [bit/s]; above zero.
    pub rate: Rate,
    /// Room for the frames of each class [bytes].
    pub buffer: Bytes,
    /// Start of headroom: the whole buffer, if the flow control has its own thresholds [bytes].
    pub plain: Bytes,
    /// The limit that a receiver half sees [bytes].
    pub limit: Bytes,
    /// Intervals without draining, as pairs of start and end; in order, without an overlap.
    pub stalls: Vec<(Time, Time)>,
    /// The last frame of a message, that is of a flow, is drained no sooner than this after that of
    /// the message before it [ps].
    pub message_gap: Span,
}

impl DrainConfig {
    /// End of a drain that starts at `begins` and takes `takes`, without stalls.
    fn done(&self, begins: Time, takes: Span) -> Time {
        let mut done = begins + takes;
        for &(from, until) in &self.stalls {
            if from < done && until > begins {
                done += until.since(from.max(begins));
            }
        }
        done
    }
}

/// Arrived frames that are not yet drained.
#[derive(State)]
pub(super) struct Drain {
    #[state(built)] // constant
    c: DrainConfig,
    memory: FrameList,
    /// By class [bytes].
    held: Vec<u64>,
    /// The first frame has been drained; never: there is none.
    done: Time,
    /// No message is drained before.
    #[state(deadline)]
    message_after: Time,
}

impl Drain {
    pub fn is_empty(&self) -> bool {
        self.memory.front().is_none()
    }

    pub fn occupancy(&self, class: Class) -> Occupancy {
        let bytes = Bytes(self.held.get(class.index()).copied().unwrap_or(0));
        let shared = bytes.min(self.c.plain);
        Occupancy { bytes, shared, headroom: bytes.saturating_sub(shared), limit: self.c.limit }
    }

    /// The first frame begins to be drained.
    fn begin(&mut self, now: Time, frame: &Frame) {
        self.done = self.c.done(now, self.c.rate.time_for(frame.bytes()));
        if frame.ends_flow() && self.c.message_gap > Span::ZERO {
            self.done = self.done.max(self.message_after);
            self.message_after = self.done + self.c.message_gap;
        }
    }
}

impl Nic {
    pub(super) const DRAIN: u8 = 2;

    /// The NIC drains in this manner, at each of its ports.
    pub fn drain_by(&mut self, c: DrainConfig) {
        for p in self.ports.iter_mut() {
            p.drain = Some(Box::new(Drain {
                held: vec![0; self.c.classes],
                c: c.clone(),
                memory: FrameList::default(),
                done: Time::NEVER,
                message_after: Time::ZERO,
            }));
        }
    }

    /// A data frame came: it waits to be drained.
    #[cold]
    pub(super) fn take_in(&mut self, port: u16, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let frame = env.frames()[id];
        let (class, len) = (frame.class(), frame.len());
        let p = &mut self.ports[port];
        let Some(d) = &mut p.drain else { return };
        let room = d.c.buffer.0;
        let Some(held) = d.held.get_mut(class.index()).filter(|held| **held + len as u64 <= room)
        else {
            env.discard(id);
            let (flow, kind) = (frame.flow, frame.kind());
            let why = Loss::BufferFull.into();
            let dropped = NodeEvent::Dropped { port, class, flow, len, kind, why };
            return env.emit(self.node, dropped);
        };
        *held += len as u64;
        let idle = d.is_empty();
        d.memory.push(id, env.frames());
        let occupancy = d.occupancy(class);
        if idle {
            d.begin(now, &frame);
            env.call_at(self.node, d.done, Call::Clock { which: Nic::clock(Self::DRAIN, port) });
        }
        if let Some(message) = p.port.on_arrival(now, class, frame.flow, &occupancy, len) {
            p.send_control(class, message, &self.c, env);
            p.port.plan_receiver(class, env);
        }
    }

    /// The first frame has been drained. Returns false where that is not so.
    pub(super) fn on_drained(&mut self, port: u16, env: &mut impl Env) -> bool {
        let now = env.now();
        let Some(d) = self.ports[port].drain.as_mut().filter(|d| d.done <= now) else {
            return false;
        };
        d.done = Time::NEVER;
        let Some(id) = d.memory.pop(env.frames()) else { return false };
        let frame = env.frames()[id];
        d.held[frame.class().index()] -= frame.len() as u64;
        let occupancy = d.occupancy(frame.class());
        if let Some(next) = d.memory.front() {
            let next = env.frames()[next];
            d.begin(now, &next);
            env.call_at(self.node, d.done, Call::Clock { which: Nic::clock(Self::DRAIN, port) });
        }
        env.discard(id); // its records stay in their place until another frame takes it
        self.on_data(port, &frame, id, env);
        let (class, len) = (frame.class(), frame.len());
        let p = &mut self.ports[port];
        if let Some(message) = p.port.on_departure(now, class, frame.flow, &occupancy, len) {
            p.send_control(class, message, &self.c, env);
            p.port.plan_receiver(class, env);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_delays_what_it_meets() {
        let us = Time::from_us;
        let c = DrainConfig {
            rate: Rate::from_gbps(1),
            buffer: Bytes(1),
            plain: Bytes(1),
            limit: Bytes(1),
            stalls: vec![(us(10), us(20)), (us(21), us(22))],
            message_gap: Span::ZERO,
        };
        let done = |at, takes| c.done(us(at), Span::from_us(takes));
        assert_eq!(
            [done(0, 10), done(0, 11), done(12, 1), done(20, 1)],
            [us(10), us(21), us(21), us(21)]
        );
        assert_eq!([done(15, 3), done(22, 3), done(5, 5)], [us(24), us(25), us(10)]);
        assert_eq!(done(0, 12), us(23), "both");
    }
}
