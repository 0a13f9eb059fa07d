//! Go-back-N, as RoCE has it: cumulative acknowledgements, a Nack for a gap, and everything from
//! the first missing byte goes again. With a timer no pattern of losses lets a flow hang: missing
//! bytes go again until they have arrived.

use xoff_units::state::State;
use xoff_units::{Span, Time};

use super::{Acked, Facts, Law, Received, Reply, Source};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Acknowledge from this many bytes on; 1: every frame. 0: every frame too, but sources ignore
    /// how far their data have come, so that no flow ever ends.
    pub interval: u64,
    /// Chunk of go-back-0; also acknowledged at its multiples [bytes].
    pub chunk: u64,
    /// After a gap, go back to the start of the chunk.
    pub back_to_zero: bool,
    /// Shortest distance between two reports of the same gap [ps].
    pub nack_interval: Span,
    /// Retransmission timer of sources; `None`: only a Nack makes them go back.
    pub timers: Option<Timers>,
}

/// Retransmission timer of a source. It runs while bytes are in flight, from the last progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// The timer [ps].
    pub timer: Span,
    /// The timer while at most [`FEW`] frames are outstanding (RTO_low of IRN) [ps].
    pub timer_of_few: Span,
}

/// N of IRN: up to this number of frames outstanding, a lost frame may have none behind it that
/// reports it.
pub const FEW: u64 = 3;

impl Law for Params {
    type Source = GoBackN;

    fn source(&self, payload: u32) -> Option<GoBackN> {
        self.timers.map(|t| GoBackN::new(t, payload))
    }

    #[inline(always)]
    fn reply(
        &self,
        now: Time,
        r: &mut Received,
        seq: u64,
        expected: u64,
        keeps: bool,
    ) -> Option<Reply> {
        if seq == expected {
            let due = r.expected >= self.interval || r.expected.is_multiple_of(self.chunk);
            return due.then_some(Reply::Ack);
        }
        if seq < expected {
            return self.timers.map(|_| Reply::Ack); // the source does not know that it came
        }
        if keeps {
            return Some(Reply::Ack); // it may only have overtaken others
        }
        if now < r.nack_after && r.nacked == expected {
            return None; // a gap that is known
        }
        (r.nack_after, r.nacked) = (now + self.nack_interval, expected);
        if self.back_to_zero {
            r.expected = r.expected / self.chunk * self.chunk;
        }
        Some(Reply::Nack)
    }

    #[inline]
    fn acked(&self, seq: u64) -> u64 {
        match self.interval {
            0 => 0,
            _ if self.back_to_zero => seq / self.chunk * self.chunk,
            _ => seq,
        }
    }

    #[inline(always)]
    fn facts(&self) -> Facts {
        let chunks = self.back_to_zero || self.interval > 1;
        Facts { timers: self.timers, chunk: chunks.then_some(self.chunk), ..Facts::default() }
    }
}

/// The source of one flow, where it has a timer.
#[derive(Debug, State)]
pub struct GoBackN {
    #[state(built)]
    timers: Timers,
    /// Largest payload of a frame [bytes].
    #[state(built)]
    pub(super) payload: u64,
    /// Start of the timer; `None`: nothing is outstanding.
    since: Option<Time>,
}

impl GoBackN {
    pub(super) fn new(timers: Timers, payload: u32) -> GoBackN {
        GoBackN { timers, payload: payload.into(), since: None }
    }
}

impl Source for GoBackN {
    fn again(&self, _: u64) -> Option<u64> {
        None
    }

    fn on_sent(&mut self, now: Time, _: u64) {
        self.since.get_or_insert(now);
    }

    fn on_ack(&mut self, now: Time, ack: &Acked) {
        if ack.until > ack.before {
            self.since = (ack.until < ack.next).then_some(now);
        }
    }

    fn due(&self, in_flight: u64) -> Option<Time> {
        let few = in_flight.div_ceil(self.payload) <= FEW;
        Some(self.since? + if few { self.timers.timer_of_few } else { self.timers.timer })
    }

    fn on_timer(&mut self, now: Time, acked: u64, _: u64) -> u64 {
        self.since = Some(now);
        acked
    }
}
