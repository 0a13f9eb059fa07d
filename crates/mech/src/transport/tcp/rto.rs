//! The retransmission timeout (RFC 6298), from round trips that timestamps measure (RFC 7323):
//! retransmitted segments count too.

use xoff_units::state::State;
use xoff_units::{Span, Time};

use super::Params;

/// RFC 6298 (2.5).
pub(super) const MAX: Span = Span::from_ms(60_000);

/// Smoothed round trip, its variation, and how often the timeout was doubled.
#[derive(Clone, Copy, Debug, Default, State)]
pub(super) struct Rto {
    smoothed: Option<Span>,
    variation: Span,
    doubled: u32,
}

impl Rto {
    /// A round trip was measured: RFC 6298 (2.2), (2.3).
    pub fn sample(&mut self, rtt: Span) {
        match self.smoothed {
            None => {
                self.smoothed = Some(rtt);
                self.variation = Span(rtt.0 / 2);
            }
            Some(smoothed) => {
                let off = smoothed.0.abs_diff(rtt.0);
                self.variation = Span((3 * self.variation.0 + off) / 4);
                self.smoothed = Some(Span((7 * smoothed.0 + rtt.0) / 8));
            }
        }
    }

    /// New data were acknowledged: (5.7) has no more effect.
    pub fn progress(&mut self) {
        self.doubled = 0;
    }

    /// The timer expired: (5.5).
    pub fn double(&mut self) {
        self.doubled += 1;
    }

    /// Whether the timer expired before, without a new acknowledgement since.
    pub fn is_doubled(&self) -> bool {
        self.doubled > 0
    }

    /// Smoothed round trip; zero: unknown.
    pub fn smoothed(&self) -> Span {
        self.smoothed.unwrap_or_default()
    }

    /// Expiry of a timer that started at `since`: (2.3), (2.4), (2.5).
    pub fn due(&self, since: Time, p: &Params) -> Time {
        let plain = self
            .smoothed
            .map_or(p.rto_initial, |s| (s + Span(4 * self.variation.0)).max(p.rto_min));
        let doubled = Span(plain.0.saturating_mul(1 << self.doubled.min(20)));
        since + doubled.min(MAX.max(plain))
    }
}
