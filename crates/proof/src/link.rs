//! One direction of a link with both halves of a flow control: the closed system that is checked.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};

use stateright::{Model, Property};
use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Gate, Message, Occupancy, Rx, Sender, Tx};
use xoff_units::{Bytes, Rate, Span, Time};

use crate::faults::{Fate, Faults};
use crate::words::Words;

/// Length of every frame [bytes].
pub const FRAME: Bytes = Bytes(4096);
/// Line rate: a byte takes a nanosecond.
pub const RATE: Rate = Rate::from_gbps(8);
/// Time of a frame on the wire, the delay of the cable, and how often the adversary decides [ps].
pub const TICK: Span = Span(4_096_000);
/// Flows of a per-flow flow control.
const FLOWS: u32 = 2;
/// Frames that wait in front of it at most.
const WAITING_MAX: usize = 2;
/// Ticks in which a link that is left alone has to be as new, and one that is used has to carry frames again.
const RECOVERS_IN: u64 = 96;
/// Of the last quarter of them so many carry a frame at least.
const CARRIED_MIN: u64 = RECOVERS_IN / 4 / 2;
/// Frames that a sender is asked for at once, to see what it may send without an answer.
const BURST_MAX: usize = 64;

/// A link to be checked.
#[derive(Clone)]
pub struct Link {
    /// What both halves are made of.
    pub law: FlowControl,
    /// What they may know of the link; its buffer is what must not overflow.
    pub facts: LinkFacts,
    /// What the adversary may do.
    pub faults: Faults,
    /// Ticks for which the drain may stand still while frames wait; `None`: for ever.
    pub standstill_max: Option<u16>,
    /// Counters stay as they are, so that the search goes on until they wrap.
    pub wraps: bool,
    /// The source always has frames.
    pub greedy: bool,
    /// The search begins with so many frames in the buffer, come in at line rate.
    pub filled: usize,
    /// It ends after so many ticks; `None`: by itself.
    pub ticks_max: Option<usize>,
    /// Only this property is checked: then the search ends at the nearest state in which it does not hold.
    pub only: Option<&'static str>,
    /// A fault of the receiver half that the check has to find.
    pub canary: Option<Canary>,
}

/// A fault that is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Canary {
    /// The buffer has so many frames less than the dimensioning was given.
    BufferTooSmall(u8),
    /// Every message about a frame that leaves is left out.
    SilentDeparture,
    /// The timer of the receiver half is never called.
    NoTimer,
    /// Frames of a queue change places.
    Overtakes,
}

/// The link facts of a buffer of so many frames.
pub fn facts(frames: u64) -> LinkFacts {
    LinkFacts::plain(RATE, TICK, FRAME, FRAME * frames)
}

/// A frame by its handle: flow in the upper 4 bits, number within the flow below.
fn handle(flow: u32, nth: u32) -> u32 {
    flow << 28 | nth & (u32::MAX >> 4)
}
fn flow_of(handle: u32) -> u32 {
    handle >> 28
}
fn nth_of(handle: u32) -> u32 {
    handle & (u32::MAX >> 4)
}
/// A frame as a number: its flow, and how far behind the next one that is to be delivered.
fn relative(handle: u32, expected: &[u32]) -> u64 {
    let flow = flow_of(handle);
    u64::from(flow) << 32 | u64::from(nth_of(handle).wrapping_sub(expected[flow as usize]) & (u32::MAX >> 4))
}

/// The same where frames are lost to errors: which one it is does not matter.
fn kind(handle: u32, _: &[u32]) -> u64 {
    u64::from(flow_of(handle))
}

/// What the wire carries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carried {
    /// A frame, by its handle.
    Frame(u32),
    /// A report of the sender: blocks of 64 bytes that it has sent in all.
    Total(u64),
}

/// What went wrong for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A frame found no room.
    Overflow,
    /// A frame was delivered before one that was sent before it, twice, or not at all.
    Order,
}

/// A state of the link.
pub struct State {
    now: Time,
    rx: Rx,
    tx: Tx,
    /// When the frame on the wire has left.
    wire_free: Time,
    /// What is on the wire, with its arrival.
    flying: VecDeque<(Time, Carried)>,
    /// Frames in the buffer.
    buffer: VecDeque<u32>,
    /// Messages on the wire, with the times at which they take effect.
    messages: VecDeque<(Time, Message)>,
    /// The next frame of each flow that the source makes.
    made: [u32; FLOWS as usize],
    /// The next frame of each flow that is to be delivered.
    expected: [u32; FLOWS as usize],
    /// Frames that wait in a per-flow sender.
    waiting: usize,
    /// Blocks of 64 bytes that the sender has sent: what it reports.
    sent_blocks: u64,
    /// Ticks for which the drain has stood still.
    stood: u16,
    /// Frames delivered.
    delivered: u64,
    /// What went wrong.
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
            sent_blocks: self.sent_blocks,
            stood: self.stood,
            delivered: self.delivered,
            broken: self.broken,
            key: self.key.clone(),
        }
    }
}
impl PartialEq for State {
    fn eq(&self, o: &State) -> bool {
        self.key == o.key
    }
}
impl Eq for State {}
impl Hash for State {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.key.hash(h);
    }
}
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let frames = |n: usize| format!("{n} frame{}", if n == 1 { "" } else { "s" });
        let flying = self.flying.iter().filter(|c| matches!(c.1, Carried::Frame(_))).count();
        write!(f, "buffer {}, wire {}, {} messages", frames(self.buffer.len()), frames(flying), self.messages.len())?;
        if let Some(broken) = self.broken {
            write!(f, ", {broken:?}")?;
        }
        Ok(())
    }
}

/// What the adversary decides for a tick.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// A frame of this flow leaves the buffer, the oldest of it.
    drain: Option<u32>,
    /// The source has frames to send; of a per-flow flow control one of this flow.
    source: Option<u32>,
    /// What becomes of messages that are sent.
    fate: Fate,
    /// A frame that is sent in it is lost to an error.
    loses: bool,
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let drain = if self.drain.is_some() { "drains" } else { "stands" };
        let source = if self.source.is_some() { "sends" } else { "idle" };
        write!(f, "{source}, {drain}, messages {:?}", self.fate)?;
        if self.loses { write!(f, ", frame lost") } else { Ok(()) }
    }
}

/// Everything goes well.
const FAIR: Decision = Decision { drain: None, source: None, fate: Fate::Soon, loses: false };

impl Link {
    fn capacity(&self) -> usize {
        let frames = (self.facts.buffer.0 / FRAME.0) as usize;
        let missing = if let Some(Canary::BufferTooSmall(missing)) = self.canary { missing.into() } else { 0 };
        frames.saturating_sub(missing)
    }

    fn per_flow(&self) -> bool {
        self.law.per_flow()
    }

    /// A new link.
    pub fn start(&self) -> State {
        let (rx, tx) = self.law.halves(&self.facts);
        let s = State {
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
            sent_blocks: 0,
            stood: 0,
            delivered: 0,
            broken: None,
            key: Vec::new(),
        };
        s
    }

    /// The state in which the search begins.
    fn first(&self) -> State {
        let mut s = self.start();
        while s.buffer.len() < self.filled {
            self.tick(&mut s, Decision { source: Some(0), ..FAIR });
        }
        s.stood = 0;
        self.name(&mut s);
        s
    }

    /// Writes down what is equal where the link goes on alike.
    fn name(&self, s: &mut State) {
        let frame = if self.faults.loses_frames() { kind } else { relative };
        let mut w = Words::new(s.now, self.wraps, frame, &s.expected);
        let written = w.add(&s.rx).and_then(|()| w.add(&s.tx));
        for (at, message) in &s.messages {
            w.time(*at);
            w.add(message).expect("a message is numbers");
        }
        written.expect("a half of the registry is written");
        w.deadline(s.wire_free);
        w.numbers.push(s.flying.len() as u64);
        for &(at, carried) in &s.flying {
            w.time(at);
            match carried {
                Carried::Frame(frame) => w.handle(frame),
                Carried::Total(blocks) => w.counter(blocks),
            }
        }
        // The drain takes the oldest frame of a flow, so only the order within each counts.
        for flow in 0..FLOWS {
            let of_flow = || s.buffer.iter().copied().filter(|&f| flow_of(f) == flow);
            w.numbers.push(of_flow().count() as u64);
            of_flow().for_each(|frame| w.handle(frame));
        }
        if !self.faults.loses_frames() {
            w.numbers.extend(s.made.iter().zip(s.expected).map(|(made, expected)| u64::from(made.wrapping_sub(expected))));
        }
        if self.standstill_max.is_some() {
            w.numbers.push(u64::from(s.stood));
        }
        w.numbers.push(s.broken.map_or(0, |b| 1 + b as u64));
        s.key = w.numbers;
    }

    fn occupancy(&self, s: &State) -> Occupancy {
        let bytes = FRAME * s.buffer.len() as u64;
        Occupancy { bytes, shared: bytes, headroom: Bytes::ZERO, limit: self.facts.buffer }
    }

    /// A message leaves the receiver half at a time.
    fn send(&self, s: &mut State, at: Time, message: Message, fate: Fate) {
        let wire = self.facts.rate.time_for(self.law.message_len());
        let soon = wire + self.facts.delay;
        let slow = self.facts.control_wait(self.law.message_len()) + self.facts.delay + self.facts.processing;
        let takes = match fate {
            Fate::Never => return,
            Fate::Soon => soon,
            Fate::Slow | Fate::Twice => slow,
            Fate::Late => slow + TICK * 3,
        };
        // One behind the other, as on any wire.
        let after = s.messages.back().map_or(Time::ZERO, |m| m.0 + wire);
        let at = after.max(at + takes);
        s.messages.push_back((at, message));
        if fate == Fate::Twice {
            s.messages.push_back((at + wire, message));
        }
    }

    fn send_all(&self, s: &mut State, at: Time, first: Option<Message>, fate: Fate) {
        let Some(first) = first else { return };
        self.send(s, at, first, fate);
        while let Some(more) = self.per_flow().then(|| s.rx.more()).flatten() {
            self.send(s, at, more, fate);
        }
    }

    /// A frame leaves the buffer for good.
    fn drain(&self, s: &mut State, flow: u32, fate: Fate) {
        let Some(place) = s.buffer.iter().position(|&f| flow_of(f) == flow) else { return };
        let place = if self.canary == Some(Canary::Overtakes) && s.buffer.len() > place + 1 { place + 1 } else { place };
        let Some(frame) = s.buffer.remove(place) else { return };
        let expected = &mut s.expected[flow_of(frame) as usize];
        if self.faults.loses_frames() {
            // What was lost before it is missing, and is no fault of the flow control.
            *expected = nth_of(frame);
        }
        if nth_of(frame) != *expected {
            s.broken = s.broken.or(Some(Broken::Order));
        }
        *expected = expected.wrapping_add(1);
        s.delivered += 1;
        let occupancy = self.occupancy(s);
        let message = match self.per_flow() {
            true => s.rx.on_flow_departure(s.now, flow, None, FRAME),
            false => s.rx.on_departure(s.now, &occupancy, FRAME),
        };
        if self.canary == Some(Canary::SilentDeparture) {
            while self.per_flow() && s.rx.more().is_some() {}
            return;
        }
        self.send_all(s, s.now, message, fate);
    }

    fn arrive(&self, s: &mut State, at: Time, frame: u32, fate: Fate) {
        if s.buffer.len() == self.capacity() {
            s.broken = s.broken.or(Some(Broken::Overflow));
            return;
        }
        s.buffer.push_back(frame);
        let occupancy = self.occupancy(s);
        let message = match self.per_flow() {
            true => s.rx.on_flow_arrival(at, flow_of(frame), None, FRAME),
            false => s.rx.on_arrival(at, &occupancy, FRAME),
        };
        self.send_all(s, at, message, fate);
    }

    /// May a frame start at a time? `Some(t)`: at `t`, if nothing happens before.
    fn may_start(&self, s: &State, at: Time, has_frames: bool) -> Option<Time> {
        let gate = match s.tx.flows() {
            Some(flows) => match flows.head(at) {
                Some((_, true)) => Gate::Open,
                Some((_, false)) => flows.gate(at),
                None => return None,
            },
            None if has_frames => s.tx.gate(at, FRAME),
            None => return None,
        };
        match gate {
            Gate::Open => Some(at),
            Gate::Until(t) => Some(t.max(at)),
            Gate::Blocked => None,
        }
    }

    fn start_frame(&self, s: &mut State, at: Time, loses: bool) {
        let frame = match s.tx.flows_mut() {
            Some(flows) => {
                let Some(frame) = flows.pop(at) else { return };
                s.waiting -= 1;
                frame
            }
            None => {
                let nth = s.made[0];
                s.made[0] = nth.wrapping_add(1);
                handle(0, nth)
            }
        };
        let tx = self.facts.rate.time_for(FRAME);
        s.tx.on_sent(at, FRAME, tx);
        s.sent_blocks += FRAME.0 / 64;
        s.wire_free = at + tx;
        if !loses {
            s.flying.push_back((at + tx + self.facts.delay, Carried::Frame(frame)));
        }
    }

    /// One tick.
    fn tick(&self, s: &mut State, d: Decision) {
        let end = s.now + TICK;
        s.stood = if s.buffer.is_empty() || d.drain.is_some() { 0 } else { s.stood.saturating_add(1) };
        if let Some(flow) = d.drain {
            self.drain(s, flow, d.fate);
        }
        if let (true, Some(flow)) = (self.per_flow(), d.source) {
            let nth = s.made[flow as usize];
            s.made[flow as usize] = nth.wrapping_add(1);
            s.waiting += 1;
            let now = s.now;
            if let Some(flows) = s.tx.flows_mut() {
                flows.push(now, handle(flow, nth), flow, FRAME);
            }
        }
        if self.faults == Faults::FrameLostReported {
            // Right behind the frame that is on the wire.
            s.flying.push_back((s.now.max(s.wire_free) + self.facts.delay, Carried::Total(s.sent_blocks)));
        }
        let mut at = s.now;
        // What happens within the tick, in order; at equal times messages first, as in the simulator.
        loop {
            let message = s.messages.front().map(|m| m.0).filter(|t| *t < end);
            let timer = s.rx.next_wake().filter(|t| *t < end && self.canary != Some(Canary::NoTimer));
            let arrival = s.flying.front().map(|f| f.0).filter(|t| *t < end);
            let start = self.may_start(s, at.max(s.wire_free), d.source.is_some()).filter(|t| *t < end);
            let Some(next) = [message, timer, arrival, start].into_iter().flatten().min() else { break };
            at = at.max(next);
            if message == Some(next) {
                if let Some((_, message)) = s.messages.pop_front() {
                    s.tx.on_message(at, message);
                }
            } else if timer == Some(next) {
                let occupancy = self.occupancy(s);
                let message = s.rx.on_wake(at, &occupancy);
                self.send_all(s, at, message, d.fate);
            } else if arrival == Some(next) {
                match s.flying.pop_front() {
                    Some((_, Carried::Frame(frame))) => self.arrive(s, at, frame, d.fate),
                    Some((_, Carried::Total(blocks))) => s.rx.on_peer_total(blocks),
                    None => {}
                }
            } else {
                self.start_frame(s, at, d.loses);
            }
        }
        s.now = end;
    }

    /// What a sender may send at once without an answer, and its rate: what a link that has rested is compared by.
    fn as_new(&self, s: &State) -> (usize, Rate, usize) {
        let mut tx = s.tx.copy().expect("a half of the registry");
        let rate = tx.rate(s.now);
        let mut burst = 0;
        while !self.per_flow() && burst < BURST_MAX && tx.gate(s.now, FRAME) == Gate::Open {
            tx.on_sent(s.now, FRAME, Span::ZERO);
            burst += 1;
        }
        let frames = s.flying.iter().filter(|c| matches!(c.1, Carried::Frame(_))).count();
        (burst, rate, s.waiting + s.buffer.len() + frames)
    }

    /// Left alone from here on, is it as new in the end? And does it carry frames again if it is used?
    pub fn recovers(&self, from: &State) -> Result<(), Stuck> {
        let flow = |s: &State| s.buffer.front().map(|&f| flow_of(f));
        let mut rests = from.clone();
        for _ in 0..RECOVERS_IN {
            let d = Decision { drain: flow(&rests), ..FAIR };
            self.tick(&mut rests, d);
        }
        let mut new = self.start();
        new.now = rests.now;
        if self.as_new(&rests) != self.as_new(&new) {
            return Err(Stuck::NotAsNew);
        }
        let mut runs = from.clone();
        let mut before = 0;
        for nth in 0..RECOVERS_IN {
            if nth == RECOVERS_IN * 3 / 4 {
                before = runs.delivered;
            }
            let source = (!self.per_flow() || runs.waiting < WAITING_MAX).then_some(nth as u32 % if self.per_flow() { FLOWS } else { 1 });
            let d = Decision { drain: flow(&runs), source, ..FAIR };
            self.tick(&mut runs, d);
        }
        if runs.broken.is_some() {
            return Err(Stuck::BreaksLater);
        }
        if runs.delivered - before < CARRIED_MIN { Err(Stuck::Stands) } else { Ok(()) }
    }
}

/// Why a link does not come back from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// After a rest the sender may send less than on a new link, or something is still held: credits leaked, a rate stayed low.
    NotAsNew,
    /// With a source, a drain and messages that come, it carries less than half of what it could.
    Stands,
    /// It loses a frame later although everything goes well from here on.
    BreaksLater,
}

/// Names of the properties.
pub const LOSSLESS: &str = "no frame finds the buffer full";
/// See [`LOSSLESS`].
pub const IN_ORDER: &str = "frames are delivered once and in order";
/// See [`LOSSLESS`].
pub const RECOVERS: &str = "the link recovers";

impl Model for Link {
    type State = State;
    type Action = Decision;

    fn init_states(&self) -> Vec<State> {
        vec![self.first()]
    }

    fn actions(&self, s: &State, actions: &mut Vec<Decision>) {
        if s.broken.is_some() {
            return;
        }
        let flows = if self.per_flow() { FLOWS } else { 1 };
        let must_drain = self.standstill_max.is_some_and(|most| s.stood >= most);
        let mut drains: Vec<Option<u32>> = if must_drain && !s.buffer.is_empty() { vec![] } else { vec![None] };
        drains.extend((0..flows).filter(|&f| s.buffer.iter().any(|&b| flow_of(b) == f)).map(Some));
        let mut sources = if self.greedy { vec![] } else { vec![None] };
        if !self.per_flow() || s.waiting < WAITING_MAX {
            sources.extend((0..flows).map(Some));
        }
        let losses: &[bool] = if self.faults.loses_frames() { &[false, true] } else { &[false] };
        for &drain in &drains {
            for &source in &sources {
                for &fate in self.faults.fates() {
                    actions.extend(losses.iter().map(|&loses| Decision { drain, source, fate, loses }));
                }
            }
        }
    }

    fn next_state(&self, s: &State, d: Decision) -> Option<State> {
        let mut next = s.clone();
        self.tick(&mut next, d);
        self.name(&mut next);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let all = vec![
            Property::always(LOSSLESS, |_, s: &State| s.broken != Some(Broken::Overflow)),
            Property::always(IN_ORDER, |_, s: &State| s.broken != Some(Broken::Order)),
            // A state that is broken has its own property.
            Property::always(RECOVERS, |m: &Link, s: &State| s.broken.is_some() || m.recovers(s).is_ok()),
        ];
        all.into_iter().filter(|p| self.only.is_none_or(|only| p.name == only)).collect()
    }
}
