//! The switching element: one first-in-first-out queue per input, a crossbar, one queue per output
//! (section 3.1, Fig. 9).
//!
//! ```text
//!   link -> input queue (b_in) --crossbar, L_S = 2 L_F--> output queue (b) -> link, by local credits
//! ```
//!
//! It forwards; requests pass it like data. A segment may be forwarded as soon as its head is
//! there, but the crossbar holds its input and its output until the last bit has come in.

use std::collections::VecDeque;
use xoff_units::state::State;

use xoff_mech::scheduled::Bits;

/// Choice of an element's output among competing inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arbitration {
    /// In a circle, from the input after the one served last.
    #[default]
    RoundRobin,
    /// The input whose segment has waited longest since its head came.
    OldestFirst,
    /// iSLIP (McKeown 1999): inputs keep a queue per output; whenever an input or an output falls
    /// free, it chooses its partner in a circle of its own, and only matches move the circles.
    /// Segments differ in length, so there are no common slots and no iterations within one: each
    /// event is one.
    Islip,
}

/// An input of an element.
#[derive(Clone, Debug, State)]
pub(crate) struct Input {
    /// Segments: one queue, or one per output.
    pub queues: Vec<VecDeque<u32>>,
    /// The crossbar reads it until then [ps].
    pub busy_until: u64,
    /// The link that feeds it, and the part of the fabric that has its sender.
    #[state(built)]
    pub link: u32,
    #[state(built)]
    pub part: u16,
    /// The element, and the input's number in it.
    #[state(built)]
    pub element: u32,
    #[state(built)]
    pub number: u32,
    /// iSLIP: the output after the one matched last, and outputs for which something waits.
    pub next: u32,
    pub wants: Bits,
    /// A call for when it falls free is pending.
    pub called: bool,
}

/// An output of an element.
#[derive(Clone, Debug, State)]
pub(crate) struct Output {
    pub queue: VecDeque<u32>,
    /// Control in a lane of its own.
    pub lane: VecDeque<u32>,
    /// In the queue, a segment that leaves included until its last bit is gone [bytes].
    pub held: u32,
    /// Of that, leaving until the link is free [bytes].
    pub leaving: u32,
    /// Largest `held` [bytes].
    pub held_max: u32,
    /// Size of the queue [bytes].
    #[state(built)]
    pub size: u32,
    /// The crossbar writes it until then [ps].
    pub busy_until: u64,
    /// Inputs whose first segment wants it.
    pub wanted_by: Bits,
    /// The input after the one served last.
    pub next: u32,
    /// Number of the link.
    #[state(built)]
    pub link: u32,
    /// Earliest pending call of the crossbar.
    pub wake: u64,
    /// The queue had no room when the crossbar looked.
    pub full: bool,
    /// Number of the element, and position in it.
    #[state(built)]
    pub element: u32,
    #[state(built)]
    pub number: u32,
}

/// An element: its inputs and outputs are consecutive among those of the fabric.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub place: crate::scheduled::shape::Place,
    pub first_input: u32,
    pub first_output: u32,
}

impl Input {
    pub fn new(element: u32, number: u32, queues: usize, outputs: usize) -> Input {
        Input {
            queues: vec![VecDeque::new(); queues],
            busy_until: 0,
            link: u32::MAX,
            part: 0,
            element,
            number,
            next: 0,
            wants: Bits::new(outputs),
            called: false,
        }
    }

    /// The queue of an output.
    #[inline]
    pub fn queue(&mut self, output: u32) -> &mut VecDeque<u32> {
        let one_per_output = self.queues.len() > 1;
        &mut self.queues[if one_per_output { output as usize } else { 0 }]
    }
}

impl Output {
    pub fn new(element: u32, number: u32, inputs: usize, size: u32) -> Output {
        Output {
            queue: VecDeque::new(),
            lane: VecDeque::new(),
            held: 0,
            leaving: 0,
            held_max: 0,
            size,
            busy_until: 0,
            wanted_by: Bits::new(inputs),
            next: 0,
            link: u32::MAX,
            wake: u64::MAX,
            full: false,
            element,
            number,
        }
    }
}
