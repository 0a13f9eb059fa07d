//! In-band telemetry: a data frame collects records at the egress ports of its path, and its
//! acknowledgement returns them (HPCC, SIGCOMM'19, section 3.1).
//!
//! ```text
//!   frame leaves a port:  Hop { when, bytes sent before it, bytes waiting behind it, line rate }   -> one more record
//!   two frames, one port: bytes sent between them / time between them = rate of the port
//! ```
//!
//! Runs of our own keep the numbers as they are. The HPCC simulator packs a record into 64 bits and
//! loses digits; a replay must lose the same ones, so [`RecordFormat`] makes every record and takes
//! every difference.

use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

/// Records of one way that are examined: more than any fat tree or dragonfly has on a shortest
/// path.
pub const HOPS_MAX: usize = 8;

/// State of an egress port when the first bit of a frame left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct Hop {
    /// Departure time of the frame.
    pub at: Time,
    /// Bytes of all frames of any class and kind that the port began to send before this one
    /// [bytes].
    pub tx_bytes: u64,
    /// Bytes of all classes that wait at the port, without this frame [bytes].
    pub queue: Bytes,
    /// Line rate of the port [bit/s].
    pub rate: Rate,
}

/// Format of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordFormat {
    /// As they are.
    #[default]
    Exact,
    /// As the HPCC simulator packs them (`simulation/src/network/utils/int-header.h`): 64 bits a
    /// hop.
    ///
    /// | field | bits | unit | wraps at |
    /// |---|---|---|---|
    /// | line rate | 3 | one of 25, 50, 100, 200, 400 Gb/s; any other reads as 25 | - |
    /// | time | 24 | 1 ns | 16.8 ms |
    /// | bytes sent | 20 | 128 bytes x multi, cut off | 128 MiB x multi |
    /// | bytes waiting | 17 | 80 bytes x multi, cut off | 10 MiB x multi |
    Packed {
        /// `INT_MULTI`; 1 at 25 Gb/s, 4 at 100 Gb/s in the configurations of the HPCC simulator.
        multi: u32,
    },
}

impl RecordFormat {
    /// Bytes of the header in a data frame and again in its acknowledgement: five records of 8
    /// bytes and a counter of 2, in the paper's simulator as in its replay, however many hops there
    /// are.
    pub const HEADER: u32 = 42;

    /// The record of a frame that leaves now.
    pub fn record(self, now: Time, tx_bytes: u64, queue: Bytes, rate: Rate) -> Hop {
        let RecordFormat::Packed { multi } = self else {
            return Hop { at: now, tx_bytes, queue, rate };
        };
        // All in 32 bits there, as are the products.
        let (tx_unit, queue_unit) = (128u32.wrapping_mul(multi), 80u32.wrapping_mul(multi));
        let tx = (tx_bytes / tx_unit as u64) as u32 & ((1 << 20) - 1);
        let queue = (queue.0 as u32 / queue_unit) & ((1 << 17) - 1);
        let known = [25, 50, 100, 200, 400].map(Rate::from_gbps).contains(&rate);
        Hop {
            at: Time::from_ns(now.as_ns() & ((1 << 24) - 1)),
            tx_bytes: tx as u64 * tx_unit as u64,
            queue: Bytes(queue.wrapping_mul(queue_unit) as u64),
            rate: if known { rate } else { Rate::from_gbps(25) },
        }
    }

    /// Unit of [`RecordFormat::since`] and of all times that are computed with it.
    pub const fn tick(self) -> Span {
        match self {
            RecordFormat::Exact => Span(1),
            RecordFormat::Packed { .. } => Span(1000),
        }
    }

    /// The tick in seconds. Both are literals: a quotient could differ in the last bit.
    pub(super) const fn tick_seconds(self) -> f64 {
        match self {
            RecordFormat::Exact => 1e-12,
            RecordFormat::Packed { .. } => 1e-9,
        }
    }

    /// From one record of a port to a later one: ticks, and bytes sent. `None` where the later one
    /// is before the earlier one, which only exact records can show: it is another port.
    pub fn since(self, earlier: &Hop, later: &Hop) -> Option<(u64, u64)> {
        match self {
            RecordFormat::Exact => Some((
                later.at.0.checked_sub(earlier.at.0)?,
                later.tx_bytes.checked_sub(earlier.tx_bytes)?,
            )),
            RecordFormat::Packed { multi } => {
                let wrapping =
                    |a: u64, b: u64, size: u64| if a >= b { a - b } else { a + size - b };
                let ns = wrapping(later.at.as_ns(), earlier.at.as_ns(), 1 << 24);
                let bytes = wrapping(
                    later.tx_bytes,
                    earlier.tx_bytes,
                    (128u32.wrapping_mul(multi) as u64) << 20,
                );
                Some((ns, bytes as u32 as u64))
            }
        }
    }

    /// Records that are examined; a way with more is not reacted to.
    pub const fn hops_max(self) -> usize {
        match self {
            RecordFormat::Exact => HOPS_MAX,
            RecordFormat::Packed { .. } => 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKED: RecordFormat = RecordFormat::Packed { multi: 4 };

    /// 100 Gb/s, multi 4: bytes in units of 512, queue in units of 320.
    #[test]
    fn a_packed_record_loses_digits() {
        let hop =
            PACKED.record(Time(1_234_567_890), 1_000_000, Bytes(100_000), Rate::from_gbps(100));
        // 1,000,000 / 512 = 1953.1; 100,000 / 320 = 312.5; 1234.567 ns
        assert_eq!(
            hop,
            Hop {
                at: Time::from_ns(1_234_567),
                tx_bytes: 1953 * 512,
                queue: Bytes(312 * 320),
                rate: Rate::from_gbps(100)
            }
        );
        assert_eq!(
            PACKED.record(Time::ZERO, 0, Bytes(0), Rate::from_gbps(40)).rate,
            Rate::from_gbps(25),
            "40 Gb/s has no code"
        );
    }

    #[test]
    fn packed_counters_wrap() {
        let size = 512 << 20;
        let a = PACKED.record(
            Time::from_ns((1 << 24) - 10),
            size - 1024,
            Bytes(0),
            Rate::from_gbps(100),
        );
        let b = PACKED.record(
            Time::from_ns((1 << 24) + 73),
            size + 100,
            Bytes(0),
            Rate::from_gbps(100),
        );
        assert_eq!((b.at, b.tx_bytes), (Time::from_ns(73), 0));
        assert_eq!(PACKED.since(&a, &b), Some((83, 1024)));
    }

    #[test]
    fn exact_records_do_not_run_backwards() {
        let f = RecordFormat::Exact;
        let a = f.record(Time(500), 3000, Bytes(7), Rate::from_gbps(40));
        let b = f.record(Time(900), 4500, Bytes(7), Rate::from_gbps(40));
        assert_eq!(f.since(&a, &b), Some((400, 1500)));
        assert_eq!(f.since(&b, &a), None);
    }
}
