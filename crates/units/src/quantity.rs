//! The five quantities and their arithmetic.

use serde::Serialize;
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in simulated time [ps since the start of the run].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Time(pub u64);

/// A duration [ps].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Span(pub u64);

/// A size or an occupancy [bytes].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Bytes(pub u64);

/// A data rate [bit/s].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Rate(pub u64);

/// A cable length [mm].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Length(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// Whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns.saturating_mul(1_000))
    }
    /// Whole microseconds.
    pub const fn from_us(us: u64) -> Time {
        Time(us.saturating_mul(1_000_000))
    }
    /// Time since `earlier`, zero if `earlier` is in the future.
    #[inline]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
    /// Nanoseconds, cut off.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// Seconds, for display and plots only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// Whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns.saturating_mul(1_000))
    }
    /// Whole microseconds.
    pub const fn from_us(us: u64) -> Span {
        Span(us.saturating_mul(1_000_000))
    }
    /// Whole milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms.saturating_mul(1_000_000_000))
    }
    /// From seconds as a float, rounded to the nearest picosecond; for inputs, never inside event
    /// time.
    pub fn from_secs_f64(s: f64) -> Span {
        Span((s * 1e12).round() as u64)
    }
    /// Seconds, for display, plots and control laws in floating point.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// Nanoseconds, cut off.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// `self * num / den` in 128 bits, rounded up, saturating.
    pub fn scale_ceil(self, num: u64, den: u64) -> Span {
        let v = (self.0 as u128 * num as u128).div_ceil(den as u128);
        Span(v.min(u64::MAX as u128) as u64)
    }
}

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// Thousands of bytes (KB).
    pub const fn from_kb(kb: u64) -> Bytes {
        Bytes(kb.saturating_mul(1_000))
    }
    /// Subtraction that stops at zero.
    #[inline]
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Rate {
    /// A rate of 0: nothing is sent.
    pub const ZERO: Rate = Rate(0);

    /// Whole gigabits per second.
    pub const fn from_gbps(g: u64) -> Rate {
        Rate(g.saturating_mul(1_000_000_000))
    }
    /// From a control law's float, cut off to whole bit/s; negative and NaN become zero.
    pub fn from_f64(bps: f64) -> Rate {
        Rate(if bps > 0.0 { bps as u64 } else { 0 })
    }
    /// The rate as a float, for control laws and plots.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// Time to send `len` at this rate, rounded up to the picosecond: a link is never faster than
    /// its rate. A rate of zero takes forever ([`u64::MAX`] ps).
    #[inline]
    pub fn time_for(self, len: Bytes) -> Span {
        if self.0 == 0 {
            return Span(u64::MAX);
        }
        // 8e12 ps-bits per byte. A division of 64 bits is several times faster than one of 128, in
        // which 2^64 bytes still fit.
        if let Some(bits) = len.0.checked_mul(8_000_000_000_000) {
            return Span(bits.div_ceil(self.0));
        }
        let ps = (len.0 as u128 * 8_000_000_000_000).div_ceil(self.0 as u128);
        Span(ps.min(u64::MAX as u128) as u64)
    }
    /// Whole bytes sent in `span` at this rate, cut off; saturating.
    pub fn bytes_in(self, span: Span) -> Bytes {
        Bytes((self.0 as u128 * span.0 as u128 / 8_000_000_000_000).min(u64::MAX as u128) as u64)
    }
    /// The rate at which `len` takes `span`, cut off to whole bit/s; zero span gives zero.
    pub fn of(len: Bytes, span: Span) -> Rate {
        if span.0 == 0 {
            return Rate(0);
        }
        Rate((len.0 as u128 * 8_000_000_000_000 / span.0 as u128).min(u64::MAX as u128) as u64)
    }
}

impl Length {
    /// Whole metres.
    pub const fn from_m(m: u64) -> Length {
        Length(m.saturating_mul(1_000))
    }
    /// Propagation delay at 2 x 10^8 m/s (GFC section 5.4), i.e. 5 ns per metre.
    pub const fn propagation(self) -> Span {
        Span(self.0.saturating_mul(5))
    }
}

// Sums and products saturate: a user's number may be as large as 64 bits hold, and what wraps is
// small again. Differences do not: one below zero is a mistake of ours, and overflow checks find
// it.
macro_rules! linear {
    ($($t:ident),*) => {$(
        impl Add for $t { type Output = $t; fn add(self, o: $t) -> $t { $t(self.0.saturating_add(o.0)) } }
        impl Sub for $t { type Output = $t; fn sub(self, o: $t) -> $t { $t(self.0 - o.0) } }
        impl AddAssign for $t { fn add_assign(&mut self, o: $t) { *self = *self + o } }
        impl SubAssign for $t { fn sub_assign(&mut self, o: $t) { self.0 -= o.0 } }
        impl Mul<u64> for $t { type Output = $t; fn mul(self, k: u64) -> $t { $t(self.0.saturating_mul(k)) } }
        impl Div<u64> for $t { type Output = $t; fn div(self, k: u64) -> $t { $t(self.0 / k) } }
    )*};
}
linear!(Span, Bytes, Rate);

impl Add<Span> for Time {
    type Output = Time;
    /// Saturates, so that `Time::NEVER + x` stays never.
    #[inline]
    fn add(self, s: Span) -> Time {
        Time(self.0.saturating_add(s.0))
    }
}
impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, s: Span) {
        *self = *self + s;
    }
}
impl Sub for Time {
    type Output = Span;
    #[inline]
    fn sub(self, o: Time) -> Span {
        Span(self.0 - o.0)
    }
}

/// Writes `value` in the largest unit of `units` that it reaches, exact or with three decimals:
/// `2.795 ms`. Zero is in the unit `zero`.
fn scaled(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(u64, &str)],
    zero: &str,
) -> fmt::Result {
    let smallest = units[units.len() - 1];
    let (size, name) = *units.iter().find(|(size, _)| value >= *size).unwrap_or(&smallest);
    let (space, name) = match f.alternate() {
        true => ("", name),
        false if value == 0 => (" ", zero),
        false => (" ", name),
    };
    if value.is_multiple_of(size) {
        write!(f, "{}{space}{name}", value / size)
    } else {
        let s = format!("{:.3}", value as f64 / size as f64);
        write!(f, "{}{space}{name}", s.trim_end_matches('0').trim_end_matches('.'))
    }
}

const TIME: &[(u64, &str)] =
    &[(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];
const SIZE: &[(u64, &str)] =
    &[(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB"), (1, "B")];
const RATE: &[(u64, &str)] = &[
    (1_000_000_000_000, "Tb/s"),
    (1_000_000_000, "Gb/s"),
    (1_000_000, "Mb/s"),
    (1_000, "kb/s"),
    (1, "b/s"),
];
const LENGTH: &[(u64, &str)] = &[(1_000_000, "km"), (1_000, "m"), (1, "mm")];
/// Units of scenario files.
const COMPACT_RATE: &[(u64, &str)] =
    &[(1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "kbps"), (1, "bps")];

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER {
            return f.write_str("never");
        }
        scaled(f, self.0, TIME, "s")
    }
}
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, TIME, "s")
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, if f.alternate() { &SIZE[1..] } else { SIZE }, "B")
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, if f.alternate() { COMPACT_RATE } else { RATE }, "b/s")
    }
}
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, LENGTH, "m")
    }
}

macro_rules! compact {
    ($($t:ident),*) => {$(
        impl $t {
            /// Text form of scenario files, settings and commands, the same as `{:#}`: no space,
            /// and `10Gbps` for a rate.
            pub fn compact(self) -> String {
                format!("{self:#}")
            }
        }
    )*};
}
compact!(Time, Span, Bytes, Rate, Length);

macro_rules! debug_is_compact {
    ($($t:ident),*) => {$(
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "{self:#}") }
        }
    )*};
}
debug_is_compact!(Time, Span, Bytes, Rate, Length);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_exact_at_the_ethernet_rates() {
        for (gbps, ps) in [(10, 800), (40, 200), (100, 80), (200, 40), (400, 20), (800, 10)] {
            assert_eq!(Rate::from_gbps(gbps).time_for(Bytes(1)), Span(ps));
        }
    }

    #[test]
    fn a_link_is_never_faster_than_its_rate() {
        // 3 bit/s: one byte needs 2.666.. s, so the picoseconds are rounded up.
        assert_eq!(Rate(3).time_for(Bytes(1)), Span(2_666_666_666_667));
        assert_eq!(Rate::ZERO.time_for(Bytes(1)), Span(u64::MAX));
        // Up to 2,305,843 B in 64 bits, beyond in 128.
        for rate in [1, 3, 7_000_000_001, 100_000_000_000] {
            for len in [0, 1, 1_522, 2_305_842, 2_305_843, 2_305_844, u64::MAX] {
                let ps = (u128::from(len) * 8_000_000_000_000).div_ceil(u128::from(rate));
                let ps = u64::try_from(ps).unwrap_or(u64::MAX);
                assert_eq!(Rate(rate).time_for(Bytes(len)), Span(ps), "{rate} {len}");
            }
        }
    }

    #[test]
    fn bytes_in_is_the_inverse_where_it_divides() {
        let r = Rate::from_gbps(25);
        assert_eq!(r.bytes_in(r.time_for(Bytes(9_216))), Bytes(9_216));
        assert_eq!(Rate(u64::MAX).bytes_in(Span(u64::MAX)), Bytes(u64::MAX), "it does not wrap");
        assert_eq!(
            (Time::from_ns(u64::MAX), Time::from_us(1 << 60), Span::from_ms(u64::MAX)),
            (Time::NEVER, Time::NEVER, Span(u64::MAX))
        );
    }

    #[test]
    fn sums_and_products_stop_at_the_largest_number() {
        let (span, bytes, rate) = (Span(u64::MAX / 2), Bytes(u64::MAX - 1), Rate(u64::MAX));
        assert_eq!(
            (span * 3, span + span + span, bytes + Bytes(5), rate * 2),
            (Span(u64::MAX), Span(u64::MAX), Bytes(u64::MAX), rate)
        );
        let mut sum = bytes;
        sum += Bytes(9);
        assert_eq!(sum, Bytes(u64::MAX));
        // C tau of a delay of a year at 18 Eb/s.
        assert_eq!(rate.bytes_in(Span(u64::MAX)), Bytes(u64::MAX));
        assert_eq!(
            (Span::from_ms(u64::MAX), Length(u64::MAX).propagation()),
            (Span(u64::MAX), Span(u64::MAX))
        );
    }

    #[test]
    fn display_keeps_exact_values_exact() {
        assert_eq!(Span::from_us(52).to_string(), "52 us");
        assert_eq!(Span(52_428_000).to_string(), "52.428 us");
        assert_eq!(Rate(152_588).to_string(), "152.588 kb/s");
        assert_eq!(Rate::from_gbps(1_600).to_string(), "1.6 Tb/s");
        assert_eq!(Bytes::from_kb(300).to_string(), "300 KB");
        assert_eq!(Length::from_m(100).to_string(), "100 m");
        assert_eq!(
            [Span::ZERO.to_string(), Bytes::ZERO.to_string(), Rate::ZERO.to_string()],
            ["0 s", "0 B", "0 b/s"]
        );
        assert_eq!(Length::from_m(100).propagation(), Span::from_ns(500));
    }

    #[test]
    fn the_compact_form_is_that_of_scenario_files() {
        assert_eq!([Span(52_428_000).compact(), Span::ZERO.compact()], ["52.428us", "0ps"]);
        assert_eq!(
            [Rate(152_588).compact(), Rate::from_gbps(1_600).compact()],
            ["152.588kbps", "1600Gbps"]
        );
        assert_eq!(
            [Bytes::from_kb(300).compact(), Bytes(2_000_000_000_000).compact()],
            ["300KB", "2000GB"]
        );
        assert_eq!(Length::from_m(100).compact(), "100m");
    }
}
