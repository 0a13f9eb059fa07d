//! The source of a connection: its congestion window, reaction to a loss, and retransmissions.
//!
//! ```text
//!   slow start  --cwnd >= ssthresh-->  congestion avoidance       RFC 5681 section 3.1
//!        ^                               |
//!        |  timer                        | third duplicate acknowledgement
//!        |                               v
//!        +------------------------  fast recovery --all of it is acknowledged--> congestion avoidance      RFC 6582
//! ```

use xoff_units::Time;
use xoff_units::state::State;

use super::cubic::Cubic;
use super::reno::Reno;
use super::rto::Rto;
use super::{CongestionControl, Params};
use crate::transport::{Acked, Source};

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

/// The source of one connection.
#[derive(Clone, Debug, State)]
#[state(unwritten = "a connection")]
pub struct Connection {
    #[state(built)]
    p: Params,
    /// Largest payload of a segment [bytes].
    #[state(built)]
    mss: u64,
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

impl Connection {
    /// A new connection.
    pub fn new(p: Params, payload: u32) -> Connection {
        let mss = payload.into();
        let law = match p.congestion_control {
            CongestionControl::Reno => Law::Reno(Reno::default()),
            CongestionControl::Cubic => Law::Cubic(Cubic::default()),
        };
        let mut source = Connection {
            p,
            mss,
            cwnd: p.first_window(mss),
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

    fn on_progress(&mut self, now: Time, ack: &Acked, in_flight: u64) {
        let mss = self.mss;
        let acked = ack.until - ack.before;
        let left = ack.next.saturating_sub(ack.until);
        self.rto.sample(ack.rtt);
        self.rto.progress();
        let mut restarts = true;
        if self.recovers && self.recover.is_some_and(|r| ack.until < r) {
            // Partial: RFC 6582 section 3.2, step 3.
            self.again = true;
            self.cwnd = self.cwnd.saturating_sub(acked) + if acked >= mss { mss } else { 0 };
            self.cwnd = self.cwnd.max(mss);
            restarts = !std::mem::replace(&mut self.restarted, true);
        } else if self.recovers {
            (self.recovers, self.again, self.duplicates) = (false, false, 0);
            self.cwnd = self.ssthresh.min(left.max(mss) + mss);
        } else {
            (self.duplicates, self.again) = (0, false);
            self.grow(now, acked, in_flight);
        }
        if left == 0 {
            self.since = None;
        } else if restarts {
            self.since = Some(now);
        }
    }

    /// Only a window that is made use of grows (RFC 7661): in slow start one that is at least half
    /// full, else one without room for a segment.
    fn grow(&mut self, now: Time, acked: u64, in_flight: u64) {
        let mss = self.mss;
        if self.cwnd < self.ssthresh {
            if 2 * in_flight >= self.cwnd {
                self.cwnd += acked.min(mss);
            }
            return;
        }
        if in_flight + mss <= self.cwnd {
            return;
        }
        self.cwnd = match &mut self.law {
            Law::Reno(l) => l.grow(self.cwnd, acked, mss),
            Law::Cubic(l) => l.grow(now, self.cwnd, acked, mss, self.rto.smoothed()),
        };
    }

    fn on_duplicate(&mut self, ack: &Acked, in_flight: u64) {
        if self.recovers {
            self.cwnd += self.mss;
            return;
        }
        self.duplicates += 1;
        // Else they may be those of segments that went again (RFC 6582 section 3.2, step 2).
        if self.duplicates != DUPLICATES || self.recover.is_some_and(|r| ack.until <= r) {
            return;
        }
        self.ssthresh = self.after_loss(in_flight);
        self.cwnd = self.ssthresh + u64::from(DUPLICATES) * self.mss;
        self.recover = Some(self.sent);
        (self.recovers, self.restarted, self.again) = (true, false, true);
    }

    /// Window after a loss. Frames released by the first duplicates count only as much as RFC 3042
    /// wants.
    fn after_loss(&mut self, in_flight: u64) -> u64 {
        let in_flight = in_flight.min(self.cwnd);
        match &mut self.law {
            Law::Reno(l) => l.after_loss(in_flight, self.mss),
            Law::Cubic(l) => l.after_loss(self.cwnd, in_flight, self.mss),
        }
    }
}

impl Source for Connection {
    #[inline]
    fn again(&self, acked: u64) -> Option<u64> {
        self.again.then_some(acked)
    }

    #[inline]
    fn limit(&self, acked: u64, receive_window: u64) -> Option<u64> {
        // RFC 3042: the first two duplicates let a new segment go each.
        let more = match self.recovers {
            true => 0,
            false => u64::from(self.duplicates.min(DUPLICATES - 1)) * self.mss,
        };
        Some(acked + (self.cwnd + more).min(receive_window))
    }

    fn on_sent(&mut self, now: Time, end: u64) {
        self.again = false;
        self.sent = self.sent.max(end);
        self.since.get_or_insert(now);
    }

    fn on_ack(&mut self, now: Time, ack: &Acked) {
        let in_flight = ack.next.saturating_sub(ack.before);
        if ack.until > ack.before {
            self.on_progress(now, ack, in_flight);
        } else if in_flight > 0 {
            self.on_duplicate(ack, in_flight);
        }
    }

    fn due(&self, _: u64) -> Option<Time> {
        self.since.map(|since| self.rto.due(since, &self.p))
    }

    fn on_timer(&mut self, now: Time, acked: u64, next: u64) -> u64 {
        // RFC 5681 section 3.1: once for a segment, however often it is lost.
        if !self.rto.is_doubled() {
            self.ssthresh = self.after_loss(next.saturating_sub(acked));
        }
        self.law.begin();
        self.rto.double();
        self.cwnd = self.mss;
        self.recover = Some(self.sent);
        (self.recovers, self.again, self.duplicates) = (false, false, 0);
        self.since = Some(now);
        acked
    }
}
