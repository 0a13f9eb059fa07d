//! Time for which a port sends between two stops of its flow control: the ON-OFF model of TCD
//! (SIGCOMM'21, section 4.2).
//!
//! ```text
//!   queue behind the link  B_1 |- - -.- - - - -.- -       OFF at B_1, ON at B_0, each in force tau later
//!                              |   /   \     /            while ON the queue rises with R_i - R_d = epsilon C,
//!                          B_0 |-/- - - -\-/- - - -       epsilon being the congestion degree
//!   port                       | ON | OFF | ON | ...
//! ```
//!
//! T_on grows without bound as epsilon falls, so max(T_on) is that of the smallest epsilon that is
//! to be distinguished from a port that is never stopped. Formulas are computed in floating point
//! and rounded to the nearest picosecond.

use xoff_units::{Bytes, Rate, Span};

/// Eq. (2): `(B_1 - B_0 + tau R_d)/(epsilon C) + tau`, where stops are triggered by the queue.
/// `range` is B_1 - B_0 [bytes]; `share` is R_d/C, the part of the line that drains the queue;
/// `epsilon` is above 0.
pub fn ton_by_queue(line: Rate, range: Bytes, share: f64, tau: Span, epsilon: f64) -> Span {
    let occupancy = range.0 as f64 * 8e12 / line.as_f64();
    let tau = tau.0 as f64;
    Span(((occupancy + tau * share) / epsilon + tau).round() as u64)
}

/// Eq. (3), the longest of Eq. (2): R_d = C/2, since a congested flow shares its bottleneck with at
/// least one other.
pub fn max_ton_by_queue(line: Rate, range: Bytes, tau: Span, epsilon: f64) -> Span {
    ton_by_queue(line, range, 0.5, tau, epsilon)
}

/// Eq. (4): `R_d T_c/(R_d + epsilon C)`, where credits come once per `period` T_c. Always below
/// T_c, which is therefore max(T_on) (section 4.4).
pub fn ton_by_period(period: Span, share: f64, epsilon: f64) -> Span {
    Span((period.0 as f64 * share / (share + epsilon)).round() as u64)
}

/// Event that ends an ON period of a regulated port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The queue behind the link, which rises by B_1 - B_0 meanwhile [bytes].
    Queue(Bytes),
    /// The credits of one period T_c are used up.
    Credits(Span),
}

impl Stop {
    /// T_on where `share` x C drains the queue.
    pub fn ton(self, line: Rate, tau: Span, share: f64, epsilon: f64) -> Span {
        match self {
            Stop::Queue(range) => ton_by_queue(line, range, share, tau, epsilon),
            Stop::Credits(period) => ton_by_period(period, share, epsilon),
        }
    }

    /// max(T_on): Eq. (3), or T_c (section 4.4).
    pub fn max_ton(self, line: Rate, tau: Span, epsilon: f64) -> Span {
        match self {
            Stop::Queue(range) => max_ton_by_queue(line, range, tau, epsilon),
            Stop::Credits(period) => period,
        }
    }

    /// [`Stop::max_ton`] of a priority or virtual lane that expects this share of the link (TCD
    /// section 4.5): C is the share's in Eq. (3), and of a period of credits the share of its time.
    pub fn max_ton_of(self, share: f64, line: Rate, tau: Span, epsilon: f64) -> Span {
        if share >= 1.0 {
            return self.max_ton(line, tau, epsilon);
        }
        match self {
            Stop::Queue(range) => {
                max_ton_by_queue(Rate::from_f64(line.as_f64() * share), range, tau, epsilon)
            }
            Stop::Credits(period) => Span((period.0 as f64 * share).round() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TCD section 4.3: MTU 1000 B, XOFF - XON = 2 MTU, t_p 1 us, epsilon 0.05. The simulations of
    /// the paper have links of 4 us (section 3.1.1), for which the same formula gives three times
    /// as much.
    #[test]
    fn max_ton_of_section_4_3() {
        let max_ton = |gbps, t_p| {
            let line = Rate::from_gbps(gbps);
            let tau = line.time_for(Bytes(1_000)) * 2 + Span::from_us(t_p) * 2;
            max_ton_by_queue(line, Bytes(2_000), tau, 0.05)
        };
        assert_eq!(max_ton(40, 1), Span::from_ns(34_400));
        assert_eq!(max_ton(100, 1), Span::from_ns(26_960));
        assert_eq!(max_ton(200, 1), Span::from_ns(24_480));
        assert_eq!(max_ton(40, 4), Span::from_ns(100_400));
    }

    /// TCD section 5.1.1: 10 Gb/s, XOFF 800 KB, XON 770 KB, tau about 20 us, epsilon 0.04.
    #[test]
    fn max_ton_of_the_testbed() {
        assert_eq!(
            max_ton_by_queue(Rate::from_gbps(10), Bytes(30_000), Span::from_us(20), 0.04),
            Span::from_us(870)
        );
    }

    /// TCD Fig. 8: tau 8 us, 40 Gb/s, B_1 - B_0 = 2 MTU = 2 KB; the plane at epsilon 0.05, and R_d
    /// from 0 to C/2.
    #[test]
    fn the_surface_of_fig_8() {
        let ton = |share, epsilon| {
            ton_by_queue(Rate::from_gbps(40), Bytes(2_000), share, Span::from_us(8), epsilon)
        };
        for (epsilon, ps) in [
            (0.01, 448_000_000),
            (0.02, 228_000_000),
            (0.03, 154_666_667),
            (0.05, 96_000_000),
            (0.1, 52_000_000),
            (0.2, 30_000_000),
            (0.5, 16_800_000),
        ] {
            assert_eq!(ton(0.5, epsilon), Span(ps), "{epsilon}");
        }
        assert_eq!(ton(0.0, 0.05), Span::from_us(16), "0.4 us / 0.05 + tau");
        for step in 1..50 {
            let (less, more) = (step as f64 / 100.0, (step + 1) as f64 / 100.0);
            assert!(ton(0.5, less) > ton(0.5, more), "falls with epsilon");
            assert!(ton(less, 0.05) < ton(more, 0.05), "rises with R_d");
        }
    }

    /// TCD Eq. (4): T_on stays below T_c. With R_d = C/2 and epsilon 0.05 it is 10/11 of it.
    #[test]
    fn credits_cut_the_on_period_to_less_than_their_own() {
        let period = Span::from_us(66);
        assert_eq!(ton_by_period(period, 0.5, 0.05), Span::from_us(60));
        assert_eq!(ton_by_period(period, 0.5, 1.0), Span::from_us(22));
        assert!(ton_by_period(period, 0.5, 1e-6) < period);
    }
}
