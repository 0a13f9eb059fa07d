//! The source of a connection: its congestion window, reaction to a loss, and retransmissions.
//!
//! ```text
//!   slow start  --cwnd >= ssthresh-->  congestion avoidance       RFC 5681 section 3.1
//!        ^                               |
//!        |  timer                        | third duplicate acknowledgement
//!        |                               v
//!        +------------------------  fast recovery --all of it is acknowledged--> congestion avoidance      RFC 6582
//! ```

use xoff_units::state::State;
use xoff_units::{Span, Time};

use super::cubic::Cubic;
use super::reno::Reno;
use super::rto::Rto;
use super::{CongestionControl, Params};

/// Duplicate acknowledgements that represent a loss (RFC 5681 section 3.2).
const DUPLICATES: u32 = 3;

/// Growth beyond slow start.
#[derive(Clone, Copy, Debug, State)]
enum Law {
    Reno(Reno),
    Cubic(Cubic),
}

impl Law {
    fn begin(&mut self) {
        match self {
            Law::Reno(l) => l.begin(),
            Law::Cubic(l) => l.begin(),
        }
    }
}

/// An acknowledgement, and where the connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// All before this byte was acknowledged before.
    pub before: u64,
    /// All before this byte is acknowledged now.
    pub until: u64,
    /// Next byte to send.
    pub next: u64,
    /// Round trip of the segment that caused it [ps].
    pub rtt: Span,
}

/// The source of one connection.
#[derive(Clone, Debug, State)]
pub struct Source {
    /// Congestion window [bytes].
    cwnd: u64,
    /// Slow start below it [bytes].
    ssthresh: u64,
    law: Law,
    /// Duplicate acknowledgements since the last progress.
    duplicates: u32,
    /// In fast recovery.
    recovers: bool,
    /// Highest byte sent at the last loss (`recover` of RFC 6582); `None`: no loss so far.
    recover: Option<u64>,
    /// A partial acknowledgement has restarted the timer in this recovery.
    restarted: bool,
    /// All before this byte has been sent once [bytes].
    sent: u64,
    /// The first segment that is not acknowledged is to go again.
    again: bool,
    rto: Rto,
    /// The timer runs since then; `None`: nothing is outstanding.
    since: Option<Time>,
}

impl Source {
    /// A new connection.
    pub fn new(p: &Params) -> Source {
        let law = match p.congestion_control {
            CongestionControl::Reno => Law::Reno(Reno::default()),
            CongestionControl::Cubic => Law::Cubic(Cubic::default()),
        };
        let mut source = Source {
            cwnd: p.initial_window,
            ssthresh: u64::MAX,
            law,
            duplicates: 0,
            recovers: false,
            recover: None,
            restarted: false,
            sent: 0,
            again: false,
            rto: Rto::default(),
            since: None,
        };
        source.law.begin();
        source
    }

    /// Congestion window [bytes].
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// In fast recovery.
    pub fn recovers(&self) -> bool {
        self.recovers
    }

    /// No byte from here on may be in flight, with all before `acked` acknowledged.
    pub fn limit(&self, p: &Params, acked: u64, receive_window: u64) -> u64 {
        // RFC 3042: the first two duplicates let a new segment go each.
        let more =
            if self.recovers { 0 } else { u64::from(self.duplicates.min(DUPLICATES - 1)) * p.mss };
        acked + (self.cwnd + more).min(receive_window)
    }

    /// True if the first unacknowledged segment must be resent.
    pub fn again(&self) -> bool {
        self.again
    }

    /// A segment went that ends before byte `end`.
    pub fn on_sent(&mut self, now: Time, end: u64) {
        self.again = false;
        self.sent = self.sent.max(end);
        self.since.get_or_insert(now);
    }

    /// Expiry of the timer; `None`: the timer does not run.
    pub fn due(&self, p: &Params) -> Option<Time> {
        self.since.map(|since| self.rto.due(since, p))
    }

    /// An acknowledgement came.
    pub fn on_ack(&mut self, p: &Params, now: Time, ack: &Acked) {
        let in_flight = ack.next.saturating_sub(ack.before);
        if ack.until > ack.before {
            self.on_progress(p, now, ack, in_flight);
        } else if in_flight > 0 {
            self.on_duplicate(p, ack, in_flight);
        }
    }

    fn on_progress(&mut self, p: &Params, now: Time, ack: &Acked, in_flight: u64) {
        let acked = ack.until - ack.before;
        let left = ack.next.saturating_sub(ack.until);
        self.rto.sample(ack.rtt);
        self.rto.progress();
        let mut restarts = true;
        if self.recovers && self.recover.is_some_and(|r| ack.until < r) {
            // Partial: RFC 6582 section 3.2, step 3.
            self.again = true;
            self.cwnd = self.cwnd.saturating_sub(acked) + if acked >= p.mss { p.mss } else { 0 };
            self.cwnd = self.cwnd.max(p.mss);
            restarts = !std::mem::replace(&mut self.restarted, true);
        } else if self.recovers {
            (self.recovers, self.again, self.duplicates) = (false, false, 0);
            self.cwnd = self.ssthresh.min(left.max(p.mss) + p.mss);
        } else {
            (self.duplicates, self.again) = (0, false);
            self.grow(p, now, acked, in_flight);
        }
        if left == 0 {
            self.since = None;
        } else if restarts {
            self.since = Some(now);
        }
    }

    /// Only a window that is made use of grows (RFC 7661): in slow start one that is at least half
    /// full, else one without room for a segment.
    fn grow(&mut self, p: &Params, now: Time, acked: u64, in_flight: u64) {
        if self.cwnd < self.ssthresh {
            if 2 * in_flight >= self.cwnd {
                self.cwnd += acked.min(p.mss);
            }
            return;
        }
        if in_flight + p.mss <= self.cwnd {
            return;
        }
        self.cwnd = match &mut self.law {
            Law::Reno(l) => l.grow(self.cwnd, acked, p.mss),
            Law::Cubic(l) => l.grow(now, self.cwnd, acked, p.mss, self.rto.smoothed()),
        };
    }

    fn on_duplicate(&mut self, p: &Params, ack: &Acked, in_flight: u64) {
        if self.recovers {
            self.cwnd += p.mss;
            return;
        }
        self.duplicates += 1;
        // Else they may be those of segments that went again (RFC 6582 section 3.2, step 2).
        if self.duplicates != DUPLICATES || self.recover.is_some_and(|r| ack.until <= r) {
            return;
        }
        self.ssthresh = self.after_loss(p, in_flight);
        self.cwnd = self.ssthresh + u64::from(DUPLICATES) * p.mss;
        self.recover = Some(self.sent);
        (self.recovers, self.restarted, self.again) = (true, false, true);
    }

    /// Window after a loss. Frames released by the first duplicates count only as much as RFC 3042
    /// wants.
    fn after_loss(&mut self, p: &Params, in_flight: u64) -> u64 {
        let in_flight = in_flight.min(self.cwnd);
        match &mut self.law {
            Law::Reno(l) => l.after_loss(in_flight, p.mss),
            Law::Cubic(l) => l.after_loss(self.cwnd, in_flight, p.mss),
        }
    }

    /// The timer may be due, with all from `acked` on to `next` in flight. True: all of it goes
    /// again, from `acked` on.
    pub fn on_timer(&mut self, p: &Params, now: Time, acked: u64, next: u64) -> bool {
        if self.due(p).is_none_or(|due| due > now) {
            return false;
        }
        // RFC 5681 section 3.1: once for a segment, however often it is lost.
        if !self.rto.is_doubled() {
            self.ssthresh = self.after_loss(p, next.saturating_sub(acked));
        }
        self.law.begin();
        self.rto.double();
        self.cwnd = p.mss;
        self.recover = Some(self.sent);
        (self.recovers, self.again, self.duplicates) = (false, false, 0);
        self.since = Some(now);
        true
    }
}
