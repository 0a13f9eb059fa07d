//! The adversary: what it may decide, and the search through all of its decisions.

use std::fmt;

use stateright::{Model, Property};

use super::state::{Broken, State, flow_of};
use super::{Link, Stuck, WAITING_MAX};
use crate::faults::Fate;
use crate::verdict::System;

/// Decision of the adversary for a tick.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// A frame of this flow leaves the buffer, the oldest of it.
    pub(super) drain: Option<u32>,
    /// The source has frames to send; of a per-flow flow control one of this flow.
    pub(super) source: Option<u32>,
    /// Fate of messages that are sent.
    pub(super) fate: Fate,
    /// A frame that is sent in it is lost to an error.
    pub(super) loses: bool,
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
pub(super) const FAIR: Decision =
    Decision { drain: None, source: None, fate: Fate::Soon, loses: false };

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
        let flows = self.flows();
        let must_drain =
            self.bounds.standstill_max.is_some_and(|most| s.stood + self.bounds.every > most);
        let mut drains: Vec<Option<u32>> =
            if must_drain && !s.buffer.is_empty() { vec![] } else { vec![None] };
        // A decision for several ticks may drain what comes in meanwhile.
        drains.extend(
            (0..flows)
                .filter(|&f| self.bounds.every > 1 || s.buffer.iter().any(|&b| flow_of(b) == f))
                .map(Some),
        );
        let mut sources = if self.bounds.greedy { vec![] } else { vec![None] };
        if !self.per_flow() || s.waiting < WAITING_MAX {
            sources.extend((0..flows).map(Some));
        }
        if sources.is_empty() {
            sources.push(None); // as many wait as may
        }
        let losses: &[bool] = if self.faults.loses_frames() { &[false, true] } else { &[false] };
        for &drain in &drains {
            for &source in &sources {
                for &fate in self.faults.fates() {
                    actions.extend(losses.iter().map(|&loses| Decision {
                        drain,
                        source,
                        fate,
                        loses,
                    }));
                }
            }
        }
    }

    fn next_state(&self, s: &State, d: Decision) -> Option<State> {
        let mut next = s.clone();
        (0..self.bounds.every).for_each(|_| self.tick(&mut next, d));
        self.name(&mut next);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let all = vec![
            Property::always(LOSSLESS, |_, s: &State| s.broken != Some(Broken::Overflow)),
            Property::always(IN_ORDER, |_, s: &State| s.broken != Some(Broken::Order)),
            // A state that is broken has its own property.
            Property::always(RECOVERS, |m: &Link, s: &State| {
                s.broken.is_some() || m.recovers(s).is_ok()
            }),
        ];
        all.into_iter().filter(|p| self.only.is_none_or(|only| p.name == only)).collect()
    }
}

impl System for Link {
    const PROPERTIES: &'static [&'static str] = &[LOSSLESS, IN_ORDER, RECOVERS];

    fn alone(&self, property: &'static str) -> Self {
        Link { only: Some(property), ..self.clone() }
    }
    fn states_on_a_path_max(&self) -> Option<usize> {
        self.bounds.ticks_max.map(|ticks| ticks / usize::from(self.bounds.every) + 1)
    }
    fn why(&self, property: &str, last: &State) -> Option<&'static str> {
        if property == RECOVERS { self.recovers(last).err().map(Stuck::describe) } else { None }
    }
}
