//! The receiver half of BFC: which flows are paused, and when the next filter leaves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use xoff_units::state::{Broken, Reader, State, Walk};
use xoff_units::{Bytes, FlowId, Span, Time};

use super::super::{FlowReceiver, Message, QueueState};
use super::filter::{FILTER_BITS, Filter, FilterPart, bits};
use super::{Params, hrtt, threshold};
use crate::LinkFacts;

/// State of a flow at an ingress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
struct Held {
    bytes: u64,
    /// The flow that found it empty.
    owner: u32,
    paused: bool,
    /// True while the flow waits to be resumed.
    leaving: bool,
}

/// Paused flows with their filter, whose cost does not grow with their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Paused {
    flows: BTreeSet<u32>,
    filter: Filter,
    /// Number of flows that set each bit; empty until the first flow.
    setters: Vec<u32>,
}

impl Paused {
    fn insert(&mut self, vfid: u32) {
        if self.flows.insert(vfid) {
            self.note(vfid);
        }
    }

    fn note(&mut self, vfid: u32) {
        self.setters.resize(FILTER_BITS as usize, 0);
        bits(vfid).for_each(|b| self.setters[b] += 1);
        self.filter.insert(vfid);
    }

    fn remove(&mut self, vfid: u32) {
        if !self.flows.remove(&vfid) {
            return;
        }
        for b in bits(vfid) {
            self.setters[b] -= 1;
            if self.setters[b] == 0 {
                self.filter.clear(b);
            }
        }
    }
}

/// The flows; the rest follows from them.
impl State for Paused {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        self.flows.walk(w)
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        *self = Paused::default();
        self.flows.restore(from)?;
        self.flows.clone().into_iter().for_each(|vfid| self.note(vfid));
        Ok(())
    }
}

/// The receiver half, for one ingress and priority.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct BfcReceiver {
    #[state(compared, by = ticks)] // constant, but filters are sent at multiples of the period
    p: Params,
    /// HRTT + tau.
    horizon: Span,
    held: BTreeMap<FlowId, Held>,
    paused: Paused,
    /// Flows to be resumed, in the order in which their queues have drained.
    leaving: VecDeque<u32>,
    /// The next filter is due; never: nothing is paused, and the neighbour has been sent that.
    due: Time,
    /// Filters sent.
    #[state(number)]
    number: u32,
    parts: VecDeque<FilterPart>,
    #[state(saved)] // a result
    collisions: u64,
}

mod ticks {
    use xoff_units::state::{Meaning, Walk};

    pub fn walk<W: Walk>(p: &super::Params, w: &mut W) -> Result<(), W::Stop> {
        w.number(Meaning::Ticks, p.period.0)
    }
}

impl BfcReceiver {
    /// A receiver that holds nothing.
    pub fn new(p: &Params, link: &LinkFacts) -> Self {
        BfcReceiver {
            p: p.clone(),
            horizon: hrtt(link) + p.period,
            held: BTreeMap::new(),
            paused: Paused::default(),
            leaving: VecDeque::new(),
            due: Time::NEVER,
            number: 0,
            parts: VecDeque::new(),
            collisions: 0,
        }
    }

    /// Filters leave at multiples of tau.
    fn after(&self, now: Time) -> Time {
        Time((now.0 / self.p.period.0 + 1) * self.p.period.0)
    }
}

impl FlowReceiver for BfcReceiver {
    fn on_arrival(
        &mut self,
        now: Time,
        flow: FlowId,
        queue: Option<QueueState>,
        len: Bytes,
    ) -> Option<Message> {
        let queue = queue?; // a host takes in everything
        let vfid = self.p.vfid(flow);
        let held =
            self.held.entry(FlowId(vfid)).or_insert(Held { owner: flow.0, ..Held::default() });
        if held.bytes == 0 {
            held.owner = flow.0; // its paused frames have left, but its pause is not over yet
        }
        self.collisions += u64::from(held.owner != flow.0);
        held.bytes += len.0;
        if queue.bytes + len > threshold(self.horizon, &queue) {
            if std::mem::take(&mut held.leaving) {
                self.leaving.retain(|&v| v != vfid); // it begins again behind the others
            }
            if !held.paused {
                held.paused = true;
                self.paused.insert(vfid);
                self.due = self.due.min(self.after(now));
            }
        }
        None
    }

    fn on_departure(
        &mut self,
        _now: Time,
        flow: FlowId,
        queue: Option<QueueState>,
        len: Bytes,
    ) -> Option<Message> {
        let queue = queue?;
        let vfid = self.p.vfid(flow);
        let held = self.held.get_mut(&FlowId(vfid))?;
        held.bytes -= len.0;
        let drained = held.bytes == 0 || queue.bytes <= threshold(self.horizon, &queue);
        if held.paused && !held.leaving && drained {
            held.leaving = true;
            self.leaving.push_back(vfid);
        }
        if held.bytes == 0 && !held.paused {
            self.held.remove(&FlowId(vfid));
        }
        None
    }

    fn on_wake(&mut self, now: Time) -> Option<Message> {
        if now < self.due {
            return None;
        }
        let mut left = self.p.resumes;
        while left > 0
            && let Some(vfid) = self.leaving.pop_front()
        {
            let held = self.held.get_mut(&FlowId(vfid)).expect("a paused flow is known");
            (held.leaving, held.paused) = (false, false);
            if held.bytes == 0 {
                self.held.remove(&FlowId(vfid));
            }
            self.paused.remove(vfid);
            left -= 1;
        }
        self.number = self.number.wrapping_add(1);
        let words = self.paused.filter.0.iter().enumerate().filter(|(_, w)| **w != 0);
        self.parts = words.map(|(at, &w)| FilterPart::Word(self.number, at as u8, w)).collect();
        self.parts.push_back(FilterPart::End(self.number, self.paused.flows.len() as u32));
        self.due = if self.paused.flows.is_empty() { Time::NEVER } else { self.after(now) };
        self.more()
    }

    fn next_wake(&self) -> Option<Time> {
        (self.due != Time::NEVER).then_some(self.due)
    }

    fn more(&mut self) -> Option<Message> {
        self.parts.pop_front().map(Message::Filter)
    }

    fn holds(&self, gone: Bytes) -> bool {
        // Any frame of a paused flow that leaves may resume it, and whose leave is not said.
        gone.0 == 0 && self.leaving.is_empty() && !self.paused.flows.is_empty()
    }

    fn collisions(&self) -> u64 {
        self.collisions
    }
}
