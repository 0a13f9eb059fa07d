//! A drain that stops, under a flow control whose lowest rate is not zero.
//!
//! ```text
//!   B_m      B_m + MTU                 B        the frame in flight takes the queue up to 1 MTU above B_m; from then on
//!    |-- MTU ----|-- MTU --|-- MTU --|-|        one frame comes in every MTU/R, and the first that finds no room is lost
//!                ^ 0       ^ MTU/R   ^ 2 MTU/R
//! ```
//!
//! The fluid of the theorems settles below B_m. Frames do not: the last stage sends R_N = C/2^N
//! (GFC section 5.4), and a limiter holds no rate below its unit (section 7). Neither gets to zero,
//! so a buffer that nothing drains fills up in the end.

use xoff_units::{Bytes, Rate, Span};

use super::gfc_buffer::StageTable;
use crate::bytes_ceil;

/// Frames that arrive while the drain of a buffer is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// The lowest rate that the sender is ever held to, above zero [bit/s].
    pub lowest: Rate,
    /// Occupancy B_m at which it would be zero in a fluid [bytes].
    pub b_m: Bytes,
    /// Largest frame [bytes].
    pub mtu: Bytes,
}

impl Standstill {
    /// The longest standstill during which a buffer loses nothing: whole frames above B_m + MTU, at
    /// the lowest rate.
    pub fn longest(&self, buffer: Bytes) -> Span {
        let frames = buffer.saturating_sub(self.b_m).saturating_sub(self.mtu).0 / self.mtu.0.max(1);
        self.lowest.time_for(self.mtu * frames)
    }

    /// The room above B_m that a standstill takes: a buffer of B_m plus this room loses nothing.
    pub fn room(&self, lasting: Span) -> Bytes {
        let frames = bytes_ceil(self.lowest, lasting).0.div_ceil(self.mtu.0.max(1));
        self.mtu * (frames + 1)
    }
}

/// Unit of the limiter, for the conceptual and the time-based design.
pub fn conceptual(b_m: Bytes, rate_unit: Rate, line: Rate, mtu: Bytes) -> Standstill {
    Standstill { lowest: rate_unit.min(line), b_m, mtu }
}

/// Last stage of the staircase, or the unit of the limiter if that is more.
pub fn staged((b_m, b_1): (Bytes, Bytes), rate_unit: Rate, line: Rate, mtu: Bytes) -> Standstill {
    let table = StageTable::new(b_m, b_1, line);
    Standstill { lowest: table.rate(table.len() as u16).max(rate_unit.min(line)), b_m, mtu }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Gb/s, 16 stages: R_16 = 152,587 bit/s, and a frame of 1500 B takes 78.6 ms. One of two
    /// MTU of slack is the frame in flight.
    #[test]
    fn the_room_above_b_m_bears_a_standstill() {
        let s = staged(
            (Bytes(297_000), Bytes(278_372)),
            Rate(8_000),
            Rate::from_gbps(10),
            Bytes(1_500),
        );
        assert_eq!(s.lowest, Rate(152_587));
        assert_eq!(s.longest(Bytes(300_000)).0 / 1_000_000_000, 78);
        assert_eq!(s.longest(Bytes(298_500)), Span::ZERO, "room for the frame in flight only");
        assert_eq!(
            s.longest(Bytes(301_400)),
            s.longest(Bytes(300_000)),
            "a part of a frame is no room"
        );
        for ms in [1, 78, 79, 200, 6_000] {
            let lasting = Span::from_ms(ms);
            let buffer = s.b_m + s.room(lasting);
            assert!(s.longest(buffer) >= lasting, "{ms} ms");
            assert!(s.longest(buffer - s.mtu) < lasting, "{ms} ms: not a frame more than needed");
        }
        assert_eq!(
            conceptual(Bytes(97_000), Rate(8_000), Rate::from_gbps(10), Bytes(1_500))
                .longest(Bytes(100_000)),
            Span::from_ms(1_500)
        );
    }

    /// A unit above R_N counts, one above the line does not.
    #[test]
    fn the_unit_of_the_limiter_is_a_floor() {
        let of = |unit| {
            staged((Bytes(297_000), Bytes(278_372)), Rate(unit), Rate::from_gbps(10), Bytes(1_500))
                .lowest
        };
        assert_eq!(of(1_000_000), Rate(1_000_000));
        assert_eq!(of(u64::MAX), Rate::from_gbps(10));
    }
}
