//! How long a frame occupies a wire, in the arithmetic of different simulators.

use crate::{Bytes, Rate, Span};

/// The rounding rule of transmission times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WireClock {
    /// Picoseconds, rounded up: a link is never faster than its rate.
    #[default]
    Picoseconds,
    /// Whole nanoseconds, cut off, through the floating and fixed point steps of ns-3 (its
    /// `Seconds(double)` on a machine with 128-bit integers): a "100G" link carries 101 Gb/s. Only
    /// for replaying that simulator.
    Nanoseconds,
}

impl WireClock {
    /// Transmission time of `len` at `rate`; a rate of zero takes forever.
    pub fn time_for(self, rate: Rate, len: Bytes) -> Span {
        match self {
            WireClock::Picoseconds => rate.time_for(len),
            WireClock::Nanoseconds if rate.0 == 0 => Span(u64::MAX),
            WireClock::Nanoseconds => {
                Span::from_ns(seconds_to_ns(len.0 as f64 * 8.0 / rate.0 as f64))
            }
        }
    }
}

/// `value`, not negative, times `factor`, cut off, the way ns-3.17 does it: the fraction becomes a
/// 64-bit binary fraction, cut off, which is multiplied and cut off again.
pub fn cut_off(value: f64, factor: u64) -> u128 {
    let whole = value.floor();
    let fraction = ((value - whole) * 18_446_744_073_709_551_616.0) as u128;
    whole as u128 * factor as u128 + ((fraction * factor as u128) >> 64)
}

/// Seconds as a double to whole nanoseconds: 2.01 s becomes 2009999999 ns, 80 ns become 79.
pub fn seconds_to_ns(seconds: f64) -> u64 {
    cut_off(seconds, 1_000_000_000).min(u64::MAX as u128) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of the HPCC simulator: 1048 B and 43 B at 100 Gb/s, 1048 B at 400 and 40 Gb/s.
    #[test]
    fn nanoseconds_are_cut_off() {
        let ns =
            |gbps, len| WireClock::Nanoseconds.time_for(Rate::from_gbps(gbps), Bytes(len)).as_ns();
        assert_eq!(
            [ns(100, 1048), ns(100, 60), ns(100, 43), ns(400, 1048), ns(40, 1048)],
            [83, 4, 3, 20, 209]
        );
        assert_eq!(seconds_to_ns(2.01), 2_009_999_999);
        assert_eq!(seconds_to_ns(2.0), 2_000_000_000);
    }
}
