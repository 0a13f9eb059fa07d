//! Congestion avoidance of RFC 5681: one segment more for each acknowledged window of data, and
//! half of the bytes in flight after a loss.

use xoff_units::state::State;

/// Since the window grew last.
#[derive(Clone, Copy, Debug, Default, State)]
pub(super) struct Reno {
    /// Acknowledged [bytes].
    acked: u64,
}

impl Reno {
    /// Slow start is over, or begins again.
    pub fn begin(&mut self) {
        self.acked = 0;
    }

    /// The window after `acked` more bytes were acknowledged: section 3.1, by bytes [bytes].
    pub fn grow(&mut self, cwnd: u64, acked: u64, mss: u64) -> u64 {
        self.acked += acked;
        if self.acked < cwnd {
            return cwnd;
        }
        self.acked -= cwnd;
        cwnd + mss
    }

    /// Equation (4): window after a loss [bytes].
    pub fn after_loss(&mut self, in_flight: u64, mss: u64) -> u64 {
        self.acked = 0;
        (in_flight / 2).max(2 * mss)
    }
}
