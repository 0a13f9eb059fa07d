//! Recovery of a link from a state.

use xoff_mech::flow_control::{Gate, Sender};
use xoff_units::{Rate, Span};

use super::adversary::{Decision, FAIR};
use super::state::{Carried, State, flow_of};
use super::{BURST_MAX, CARRIED_MIN, FRAME, Link, RECOVERS_IN, WAITING_MAX};

impl Link {
    /// Frames that a sender may send at once without an answer, and its rate: the measure of a link
    /// that has rested.
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

    /// Left alone from here on, is it as new in the end? And does it carry frames again if it is
    /// used?
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
            let source = (!self.per_flow() || runs.waiting < WAITING_MAX)
                .then_some(nth as u32 % self.flows());
            let d = Decision { drain: flow(&runs), source, ..FAIR };
            self.tick(&mut runs, d);
        }
        if runs.broken.is_some() {
            return Err(Stuck::BreaksLater);
        }
        if runs.delivered - before < CARRIED_MIN { Err(Stuck::Stands) } else { Ok(()) }
    }
}

/// Reason why a link does not recover from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// After a rest the sender may send less than on a new link, or something is still held:
    /// credits leaked, a rate stayed low.
    NotAsNew,
    /// With a source, a drain and messages that come, it carries less than half of what it could.
    Stands,
    /// Loses a frame later although everything goes well from here on.
    BreaksLater,
}

impl Stuck {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Stuck::NotAsNew => {
                "without traffic from here on, the sender stays paused or slower than on a new link"
            }
            Stuck::Stands => {
                "with traffic and no fault from here on, the link carries less than half the line rate"
            }
            Stuck::BreaksLater => "with traffic and no fault from here on, the link loses a frame",
        }
    }
}
