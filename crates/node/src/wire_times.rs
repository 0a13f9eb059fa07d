//! Transmission times that are asked for again and again.

use xoff_units::{Bytes, Rate, Span, WireClock};

/// Caches `N` transmission times, each in a place that its rate and length determine: a network or
/// a flow sends the same few lengths at the same rate for long, and the division (through floating
/// point for the clock of ns-3) costs more than everything around it.
#[derive(Clone, Copy, Debug)]
pub struct WireTimes<const N: usize> {
    known: [(Rate, u32, Span); N],
    clock: WireClock,
}

/// Transmission times of a flow: those of its full frames.
pub(crate) type FlowTimes = WireTimes<1>;

impl<const N: usize> WireTimes<N> {
    /// An empty cache.
    pub fn new(clock: WireClock) -> Self {
        // A rate of zero takes forever; no length at a rate above zero does.
        WireTimes { known: [(Rate::ZERO, 0, Span(u64::MAX)); N], clock }
    }

    /// Transmission time of `len` bytes at `rate`.
    #[inline]
    pub fn of(&mut self, rate: Rate, len: u32) -> Span {
        // Not a search: which of two lengths comes next is unpredictable for the processor.
        // Fibonacci hashing of both.
        let mixed = (rate.0 ^ (len as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let at = (((mixed >> 32) * N as u64) >> 32) as usize;
        let (r, l, span) = self.known[at];
        if (r, l) == (rate, len) { span } else { self.compute(at, rate, len) }
    }

    #[cold]
    fn compute(&mut self, at: usize, rate: Rate, len: u32) -> Span {
        let span = self.clock.time_for(rate, Bytes(len as u64));
        self.known[at] = (rate, len, span);
        span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_times_are_those_of_the_clock() {
        for clock in [WireClock::Picoseconds, WireClock::Nanoseconds] {
            let mut times = WireTimes::<2>::new(clock);
            for (gbps, len) in [
                (100, 1048),
                (100, 60),
                (100, 1048),
                (40, 1048),
                (100, 1048),
                (100, 43),
                (0, 0),
                (0, 7),
            ] {
                let rate = Rate::from_gbps(gbps);
                assert_eq!(
                    times.of(rate, len),
                    clock.time_for(rate, Bytes(len as u64)),
                    "{clock:?} {gbps} {len}"
                );
            }
        }
    }
}
