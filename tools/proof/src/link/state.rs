//! A state of a link, and its canonical form: states that continue alike are equal.

use std::collections::VecDeque;
use std::fmt;

use xoff_mech::flow_control::bfc::FilterPart;
use xoff_mech::flow_control::{Message, Rx, Tx};
use xoff_units::Time;

use super::{FLOWS, Link};
use crate::words::Words;

/// A frame by its handle: flow in the upper 4 bits, number within the flow below.
pub(super) fn handle(flow: u32, nth: u32) -> u32 {
    flow << 28 | nth & (u32::MAX >> 4)
}
pub(super) fn flow_of(handle: u32) -> u32 {
    handle >> 28
}
pub(super) fn nth_of(handle: u32) -> u32 {
    handle & (u32::MAX >> 4)
}
/// A frame as a number: its flow, and how far behind the next one that is to be delivered.
fn relative(handle: u32, expected: &[u32]) -> u64 {
    let flow = flow_of(handle);
    u64::from(flow) << 32
        | u64::from(nth_of(handle).wrapping_sub(expected[flow as usize]) & (u32::MAX >> 4))
}

/// Kind of a frame where frames are lost to errors: its number does not matter.
fn kind(handle: u32, _: &[u32]) -> u64 {
    u64::from(flow_of(handle))
}

/// Item on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    /// A frame, by its handle.
    Frame(u32),
    /// A report of the sender: what it has sent in all.
    Total(u64),
}

/// Permanent error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A frame found no room.
    Overflow,
    /// A frame was delivered before one that was sent before it, twice, or not at all.
    Order,
}

/// A state of the link.
pub struct State {
    pub(super) now: Time,
    pub(super) rx: Rx,
    pub(super) tx: Tx,
    /// Time at which the frame on the wire has left.
    pub(super) wire_free: Time,
    /// Items on the wire, with their arrivals.
    pub(super) flying: VecDeque<(Time, Carried)>,
    /// Frames in the buffer.
    pub(super) buffer: VecDeque<u32>,
    /// Messages on the wire, with the times at which they take effect.
    pub(super) messages: VecDeque<(Time, Message)>,
    /// The next frame of each flow that the source makes.
    pub(super) made: [u32; FLOWS as usize],
    /// The next frame of each flow that is to be delivered.
    pub(super) expected: [u32; FLOWS as usize],
    /// Frames that wait in a per-flow sender.
    pub(super) waiting: usize,
    /// Ticks since the drain stopped.
    pub(super) stood: u16,
    /// Ticks in which no message is lost any more.
    pub(super) spared: u16,
    /// Kinds of messages of which the last one was lost, a bit each.
    pub(super) missing: u16,
    /// Frames delivered.
    pub(super) delivered: u64,
    /// Error found.
    pub broken: Option<Broken>,
    key: Vec<u64>,
}

impl Clone for State {
    fn clone(&self) -> State {
        State {
            now: self.now,
            rx: self.rx.copy().expect("a half of the registry"),
            tx: self.tx.copy().expect("a half of the registry"),
            wire_free: self.wire_free,
            flying: self.flying.clone(),
            buffer: self.buffer.clone(),
            messages: self.messages.clone(),
            made: self.made,
            expected: self.expected,
            waiting: self.waiting,
            stood: self.stood,
            spared: self.spared,
            missing: self.missing,
            delivered: self.delivered,
            broken: self.broken,
            key: self.key.clone(),
        }
    }
}
crate::words::equal_by_key!(State);
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let frames = |n: usize| format!("{n} frame{}", if n == 1 { "" } else { "s" });
        let flying = self.flying.iter().filter(|c| matches!(c.1, Carried::Frame(_))).count();
        write!(
            f,
            "buffer {}, wire {}, {} messages",
            frames(self.buffer.len()),
            frames(flying),
            self.messages.len()
        )?;
        if let Some(broken) = self.broken {
            write!(f, ", {broken:?}")?;
        }
        Ok(())
    }
}

impl Link {
    /// A new link.
    pub fn start(&self) -> State {
        let (rx, tx) = self.law.halves(&self.facts);
        State {
            now: Time::ZERO,
            rx,
            tx,
            wire_free: Time::ZERO,
            flying: VecDeque::new(),
            buffer: VecDeque::new(),
            messages: VecDeque::new(),
            made: [0; FLOWS as usize],
            expected: [0; FLOWS as usize],
            waiting: 0,
            stood: 0,
            spared: 0,
            missing: 0,
            delivered: 0,
            broken: None,
            key: Vec::new(),
        }
    }

    /// Writes the values that are equal if the link continues alike.
    pub(super) fn name(&self, s: &mut State) {
        let frame = if self.faults.loses_frames() { kind } else { relative };
        let mut w =
            Words::new(s.now, self.bounds.wraps, self.bounds.counter_bits, frame, &s.expected);
        let written = w.add(&s.rx).and_then(|()| w.add(&s.tx));
        for (at, message) in &s.messages {
            w.time(*at);
            let message = match *message {
                Message::Filter(FilterPart::Word(_, at, word)) => {
                    Message::Filter(FilterPart::Word(0, at, word))
                }
                Message::Filter(FilterPart::End(_, flows)) => {
                    Message::Filter(FilterPart::End(0, flows))
                }
                other => other,
            };
            w.add(&message).expect("a message is numbers");
        }
        written.expect("a half of the registry is written");
        w.deadline(s.wire_free);
        w.numbers.push(s.flying.len() as u64);
        for &(at, carried) in &s.flying {
            w.time(at);
            match carried {
                Carried::Frame(frame) => w.handle(frame),
                Carried::Total(sent) => w.counter(sent),
            }
        }
        // The drain takes the oldest frame of a flow, so only the order within each counts.
        for flow in 0..FLOWS {
            let of_flow = || s.buffer.iter().copied().filter(|&f| flow_of(f) == flow);
            w.numbers.push(of_flow().count() as u64);
            of_flow().for_each(|frame| w.handle(frame));
        }
        if !self.faults.loses_frames() {
            w.numbers.extend(
                s.made
                    .iter()
                    .zip(s.expected)
                    .map(|(made, expected)| u64::from(made.wrapping_sub(expected))),
            );
        }
        if self.bounds.standstill_max.is_some() {
            w.numbers.push(u64::from(s.stood));
        }
        w.numbers.push(
            u64::from(s.missing) << 32
                | u64::from(s.spared) << 2
                | s.broken.map_or(0, |b| 1 + b as u64),
        );
        s.key = w.numbers;
    }
}
