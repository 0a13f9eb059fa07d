//! One direction of a link with both halves of a flow control: the closed system that is checked.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Gate, Message, Occupancy, QueueState, Sender, Totals};
use xoff_units::{Bytes, FlowId, Rate, Span, Time};

use crate::faults::{Fate, Faults, SPARED};

mod adversary;
mod recovery;
mod state;

pub use adversary::{Decision, IN_ORDER, LOSSLESS, RECOVERS};
pub use recovery::Stuck;
pub use state::{Broken, State};

use adversary::FAIR;
use state::{Carried, flow_of, handle, nth_of};

/// Length of every frame [bytes].
pub const FRAME: Bytes = Bytes(4096);
/// Line rate: a byte takes a nanosecond.
pub const RATE: Rate = Rate::from_gbps(8);
/// Time of a frame on the wire, the delay of the cable, and how often the adversary decides [ps].
pub const TICK: Span = Span(4_096_000);
/// Flows of a per-flow flow control, at most.
const FLOWS: u32 = 2;
/// Frames that wait in front of it at most.
const WAITING_MAX: usize = 2;
/// Ticks in which a link that is left alone has to be as new, and one that is used has to carry
/// frames again.
const RECOVERS_IN: u64 = 96;
/// Least number of the last quarter of ticks that carry a frame.
const CARRIED_MIN: u64 = RECOVERS_IN / 4 / 2;
/// Frames that a sender is asked for at once, to see what it may send without an answer.
const BURST_MAX: usize = 64;

/// A link to be checked.
#[derive(Clone)]
pub struct Link {
    /// Flow control of both halves.
    pub law: FlowControl,
    /// Facts of the link that both halves may know; the buffer must not overflow.
    pub facts: LinkFacts,
    /// Faults that the adversary may cause.
    pub faults: Faults,
    /// Limits of the search.
    pub bounds: Bounds,
    /// Only this property is checked: then the search ends at the nearest state in which it does
    /// not hold.
    pub only: Option<&'static str>,
    /// A fault of the receiver half that the check has to find.
    pub canary: Option<Canary>,
}

/// Limits of a search, and its start.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Ticks for which a decision holds.
    pub every: u16,
    /// Ticks for which the drain may stop while frames wait; `None`: forever.
    pub standstill_max: Option<u16>,
    /// Counters stay as they are, so that the search continues until they wrap.
    pub wraps: bool,
    /// So many bits of a difference of counters count.
    pub counter_bits: u32,
    /// The source always has frames.
    pub greedy: bool,
    /// Flows of a per-flow flow control.
    pub flows: u32,
    /// The search begins with so many frames in the buffer, come in at line rate.
    pub filled: usize,
    /// Number of ticks after which the search ends; `None`: no limit.
    pub ticks_max: Option<usize>,
}

impl Bounds {
    /// Runs of any length in which everything may be decided in every tick.
    pub const NONE: Bounds = Bounds {
        every: 1,
        standstill_max: None,
        wraps: false,
        counter_bits: 64,
        greedy: false,
        flows: FLOWS,
        filled: 0,
        ticks_max: None,
    };
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
    /// No message is obeyed.
    ObeysNothing,
    /// The sender never reports what it has sent.
    NoReport,
    /// Frames of a queue change places.
    Overtakes,
}

/// A bit for messages of a per-flow flow control that say the same, about the same queue or slot,
/// of which there are four at most.
fn kind(message: Message) -> u16 {
    let (what, about) = message.describe();
    let what = ["pause", "migrate", "resume", "migrate-back"]
        .iter()
        .position(|&w| w == what)
        .expect("a message of a per-flow flow control");
    1 << (what as u64 * 4 + about)
}

/// The link facts of a buffer of so many frames.
pub fn facts(frames: u64) -> LinkFacts {
    LinkFacts::plain(RATE, TICK, FRAME, FRAME * frames)
}

impl Link {
    fn capacity(&self) -> usize {
        let frames = (self.facts.buffer.0 / FRAME.0) as usize;
        let missing = if let Some(Canary::BufferTooSmall(missing)) = self.canary {
            missing.into()
        } else {
            0
        };
        frames.saturating_sub(missing)
    }

    fn per_flow(&self) -> bool {
        self.law.per_flow()
    }

    fn flows(&self) -> u32 {
        if self.per_flow() { self.bounds.flows } else { 1 }
    }

    /// The state in which the search begins.
    fn first(&self) -> State {
        let mut s = self.start();
        for flow in (0..self.flows()).cycle() {
            if s.buffer.len() >= self.bounds.filled.min(self.capacity()) {
                break;
            }
            let source = (s.waiting < WAITING_MAX).then_some(flow);
            self.tick(&mut s, Decision { source, ..FAIR });
        }
        s.stood = 0;
        self.name(&mut s);
        s
    }

    /// The queue of a flow at the next egress, which drains at line rate. Each flow has its own.
    fn queue(&self, s: &State, flow: u32) -> QueueState {
        let frames = |of: u32| s.buffer.iter().filter(|&&f| flow_of(f) == of).count();
        let active = (0..self.flows()).filter(|&f| f == flow || frames(f) > 0).count() as u32;
        QueueState { bytes: FRAME * frames(flow) as u64, rate: self.facts.rate, active }
    }

    fn occupancy(&self, s: &State) -> Occupancy {
        let bytes = FRAME * s.buffer.len() as u64;
        Occupancy { bytes, shared: bytes, headroom: Bytes::ZERO, limit: self.facts.buffer }
    }

    /// Something starts on the wire; only a report may be overtaken by what leaves after it.
    fn fly(&self, s: &mut State, arrives: Time, carried: Carried) {
        let place = s.flying.partition_point(|f| f.0 <= arrives);
        s.flying.insert(place, (arrives, carried));
    }

    /// The sender reports what it has sent, right behind the frame that is on the wire.
    fn report(&self, s: &mut State, at: Time, fate: Fate) {
        let Some(total) = s.tx.sent_total().filter(|_| self.canary != Some(Canary::NoReport))
        else {
            return;
        };
        let late = if fate == Fate::Late { TICK * 3 } else { Span::ZERO };
        let times = match fate {
            Fate::Never | Fate::FirstNever => 0,
            Fate::Twice => 2,
            Fate::Soon | Fate::Slow | Fate::Late | Fate::RestNever | Fate::Turned => 1,
        };
        let arrives = at.max(s.wire_free) + self.facts.delay + late;
        (0..times).for_each(|_| self.fly(s, arrives, Carried::Total(total)));
    }

    /// A frame with messages leaves the receiver half at a time; `nth` of its decision.
    fn send(&self, s: &mut State, at: Time, frame: &[Message], nth: usize, fate: Fate) {
        let Some(&message) = frame.first() else { return };
        if message.totals() == Totals::Always {
            // It reports what its own end has sent, in the other direction. Both ends keep the same
            // time, so ours leaves just now.
            return self.report(s, at, fate);
        }
        let wire = self.facts.rate.time_for(self.law.message_len());
        let soon = wire + self.facts.delay;
        let slow = self.facts.control_wait(self.law.message_len())
            + self.facts.delay
            + self.facts.processing;
        let lost = match fate {
            Fate::Never => true,
            Fate::FirstNever => nth == 0,
            Fate::RestNever => nth > 0,
            Fate::Soon | Fate::Slow | Fate::Late | Fate::Twice | Fate::Turned => false,
        };
        if self.is_lost(s, message, lost) {
            return;
        }
        let takes = match fate {
            Fate::Soon | Fate::Never => soon,
            Fate::Slow | Fate::Twice | Fate::FirstNever | Fate::RestNever | Fate::Turned => slow,
            Fate::Late => slow + TICK * 3,
        };
        if self.faults == Faults::Overtaken {
            let place = s.messages.partition_point(|m| m.0 <= at + takes);
            for (nth, &message) in frame.iter().enumerate() {
                s.messages.insert(place + nth, (at + takes, message));
            }
            return;
        }
        // One behind the other, as on any wire.
        let after = s.messages.back().map_or(Time::ZERO, |m| m.0 + wire);
        let at = after.max(at + takes);
        s.messages.extend(frame.iter().map(|&message| (at, message)));
        if fate == Fate::Twice {
            s.messages.extend(frame.iter().map(|&message| (at + wire, message)));
        }
    }

    /// Whether the adversary may lose a message that it wants to lose.
    fn is_lost(&self, s: &mut State, message: Message, wanted: bool) -> bool {
        match self.faults {
            Faults::LostRarely if wanted && s.spared == 0 => {
                s.spared = SPARED;
                true
            }
            Faults::LostRarely => false,
            Faults::LostByKind => {
                let lost = wanted && s.missing & kind(message) == 0;
                s.missing =
                    if lost { s.missing | kind(message) } else { s.missing & !kind(message) };
                lost
            }
            _ => wanted,
        }
    }

    fn send_all(&self, s: &mut State, at: Time, first: Option<Message>, fate: Fate) {
        let more = || self.per_flow().then(|| s.rx.more()).flatten();
        let mut all: Vec<Message> = first.into_iter().collect();
        if first.is_some() {
            all.extend(std::iter::from_fn(more));
        }
        if let Some(Message::Filter(_)) = all.first() {
            return self.send(s, at, &all, 0, fate); // the words of one filter are one frame
        }
        if fate == Fate::Turned {
            all.reverse();
        }
        for (nth, message) in all.iter().enumerate() {
            self.send(s, at, std::slice::from_ref(message), nth, fate);
        }
    }

    /// A frame leaves the buffer for good.
    fn drain(&self, s: &mut State, flow: u32, fate: Fate) {
        let Some(place) = s.buffer.iter().position(|&f| flow_of(f) == flow) else { return };
        let place = if self.canary == Some(Canary::Overtakes) && s.buffer.len() > place + 1 {
            place + 1
        } else {
            place
        };
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
            true => {
                let queue = self.queue(s, flow);
                s.rx.on_flow_departure(s.now, FlowId(flow), Some(queue), FRAME)
            }
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
        let queue = self.queue(s, flow_of(frame));
        s.buffer.push_back(frame);
        let occupancy = self.occupancy(s);
        let message = match self.per_flow() {
            true => s.rx.on_flow_arrival(at, FlowId(flow_of(frame)), Some(queue), FRAME),
            false => s.rx.on_arrival(at, &occupancy, FRAME),
        };
        self.send_all(s, at, message, fate);
    }

    /// Whether a frame may start at a time. `Some(t)`: at `t`, if nothing happens before.
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
        s.wire_free = at + tx;
        if !loses {
            self.fly(s, at + tx + self.facts.delay, Carried::Frame(frame));
        }
    }

    /// One tick.
    fn tick(&self, s: &mut State, d: Decision) {
        let end = s.now + TICK;
        s.spared = s.spared.saturating_sub(1);
        s.stood =
            if s.buffer.is_empty() || d.drain.is_some() { 0 } else { s.stood.saturating_add(1) };
        if let Some(flow) = d.drain {
            self.drain(s, flow, d.fate);
        }
        if let (true, Some(flow)) = (self.per_flow(), d.source) {
            let nth = s.made[flow as usize];
            s.made[flow as usize] = nth.wrapping_add(1);
            s.waiting += 1;
            let now = s.now;
            if let Some(flows) = s.tx.flows_mut() {
                flows.push(now, handle(flow, nth), FlowId(flow), FRAME);
            }
        }
        if self.faults == Faults::FrameLostReported {
            self.report(s, s.now, Fate::Soon);
        }
        let mut at = s.now;
        // What happens within the tick, in order; at equal times messages first, as in the
        // simulator.
        loop {
            let message = s.messages.front().map(|m| m.0).filter(|t| *t < end);
            let timer =
                s.rx.next_wake().filter(|t| *t < end && self.canary != Some(Canary::NoTimer));
            let arrival = s.flying.front().map(|f| f.0).filter(|t| *t < end);
            let start =
                self.may_start(s, at.max(s.wire_free), d.source.is_some()).filter(|t| *t < end);
            let Some(next) = [message, timer, arrival, start].into_iter().flatten().min() else {
                break;
            };
            at = at.max(next);
            if message == Some(next) {
                if let Some((_, message)) =
                    s.messages.pop_front().filter(|_| self.canary != Some(Canary::ObeysNothing))
                {
                    s.tx.on_message(at, message);
                }
            } else if timer == Some(next) {
                let occupancy = self.occupancy(s);
                let message = s.rx.on_wake(at, &occupancy);
                self.send_all(s, at, message, d.fate);
            } else if arrival == Some(next) {
                match s.flying.pop_front() {
                    Some((_, Carried::Frame(frame))) => self.arrive(s, at, frame, d.fate),
                    Some((_, Carried::Total(sent))) => s.rx.on_peer_total(sent),
                    None => {}
                }
            } else {
                self.start_frame(s, at, d.loses);
            }
        }
        s.now = end;
    }
}
