//! Selective repeat (IRN, SIGCOMM 2018): the receiver keeps frames ahead of a gap, and each Nack
//! names the frame that caused it. Gaps before that frame are sent again, once in a recovery.
//! Frames lost again wait for the timer, which is that of go-back-N.

use std::collections::{BTreeSet, VecDeque};

use xoff_units::Time;
use xoff_units::state::State;

use super::roce::{GoBackN, Timers};
use super::{Acked, Facts, Law, Received, Reply, Source};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Retransmission timer of sources.
    pub timers: Timers,
}

impl Law for Params {
    type Source = Selective;

    fn source(&self, payload: u32) -> Option<Selective> {
        Some(Selective {
            timer: GoBackN::new(self.timers, payload),
            again: VecDeque::new(),
            arrived: BTreeSet::new(),
            until: 0,
            found: 0,
        })
    }

    #[inline]
    fn reply(&self, _: Time, _: &mut Received, seq: u64, expected: u64, _: bool) -> Option<Reply> {
        Some(if seq > expected { Reply::Nack } else { Reply::Ack })
    }

    #[inline(always)]
    fn facts(&self) -> Facts {
        Facts { nacks_name_frames: true, timers: Some(self.timers), ..Facts::default() }
    }
}

/// The source of one flow.
#[derive(Debug, State)]
#[state(in_place)]
pub struct Selective {
    timer: GoBackN,
    /// First bytes of frames that are to go again.
    again: VecDeque<u64>,
    /// First bytes of frames beyond the first missing one that have arrived.
    arrived: BTreeSet<u64>,
    /// In a recovery until all before this byte has arrived.
    until: u64,
    /// Holes before this byte have been found in this recovery.
    found: u64,
}

impl Selective {
    /// Holes before the last frame that has arrived are to go again, those that were not found
    /// before.
    fn find_holes(&mut self, acked: u64) {
        let Some(&last) = self.arrived.last() else { return };
        let mut at = self.found.max(acked);
        while at < last {
            if !self.arrived.contains(&at) {
                self.again.push_back(at);
            }
            at += self.timer.payload;
        }
        self.found = self.found.max(at);
    }
}

impl Source for Selective {
    fn again(&self, _: u64) -> Option<u64> {
        self.again.front().copied()
    }

    fn on_sent(&mut self, now: Time, end: u64) {
        self.again.pop_front(); // before a new frame goes, none is left
        self.timer.on_sent(now, end);
    }

    fn on_ack(&mut self, now: Time, ack: &Acked) {
        self.timer.on_ack(now, ack);
        if ack.until > ack.before {
            self.arrived = self.arrived.split_off(&ack.until);
            self.again.retain(|&at| at >= ack.until);
        }
        let Some(arrived) = ack.ahead else { return };
        let next = ack.next.max(ack.until);
        if ack.until >= self.until {
            (self.until, self.found) = (next, ack.until);
        }
        if arrived > ack.until && arrived < next {
            self.arrived.insert(arrived);
        }
        self.find_holes(ack.until);
    }

    fn due(&self, in_flight: u64) -> Option<Time> {
        self.timer.due(in_flight)
    }

    fn on_timer(&mut self, now: Time, acked: u64, next: u64) -> u64 {
        self.again.clear();
        self.again.push_back(self.timer.on_timer(now, acked, next));
        (self.until, self.found) = (next, acked + self.timer.payload);
        self.find_holes(acked);
        next
    }
}
