//! Text to quantity. Every error names the expected form and gives an example.

use std::fmt;
use std::str::FromStr;

use crate::{Bytes, Length, Rate, Span, Time};

/// Reason why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// Problem, one clause.
    pub what: String,
    /// The expected form with an example, one clause.
    pub expected: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", self.what, self.expected)
    }
}
impl std::error::Error for UnitError {}

/// Splits `text` into number and unit and returns the value in base units, exactly when the decimal
/// allows it.
fn parse(
    text: &str,
    size: impl Fn(&str) -> Option<u64>,
    units: &[(&str, u64)],
    expected: &'static str,
) -> Result<u64, UnitError> {
    let err = |what: String| UnitError { what, expected };
    let text = text.trim();
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-')))
        .unwrap_or(text.len());
    let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
    if number.is_empty() {
        return Err(err(format!("'{text}' has no number")));
    }
    if number.starts_with('-') {
        return Err(err(format!("'{text}' is negative")));
    }
    let number = number.trim_start_matches('+');
    if unit.is_empty() {
        return Err(err(format!("'{text}' has no unit")));
    }
    let Some(factor) = size(unit) else {
        let near = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
        return Err(err(match near {
            Some((name, _)) => format!("unknown unit '{unit}' (did you mean '{name}'?)"),
            None => format!("unknown unit '{unit}'"),
        }));
    };
    // Decimal arithmetic in integers: 0.1us is exactly 100 ns.
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.chars().all(|c| c.is_ascii_digit());
    if !digits(whole)
        || !digits(fraction)
        || (whole.is_empty() && fraction.is_empty())
        || fraction.len() > 18
    {
        return Err(err(format!("'{number}' is not a decimal number")));
    }
    let too_large = || err(format!("'{text}' is too large"));
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
    let scale = 10u128.pow(fraction.len() as u32);
    let part: u128 =
        if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| too_large())? };
    let value = whole
        .checked_mul(scale)
        .and_then(|w| w.checked_add(part))
        .and_then(|v| v.checked_mul(factor as u128))
        .ok_or_else(too_large)?;
    u64::try_from(value / scale).map_err(|_| too_large())
}

const SPAN: &[(&str, u64)] = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("μs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
];
const BYTES: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];
/// Units of rates that a wrong one is compared with.
const RATE: &[(&str, u64)] = &[
    ("bps", 1),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
];
const LENGTH: &[(&str, u64)] = &[("mm", 1), ("cm", 10), ("m", 1_000), ("km", 1_000_000)];

/// Size of a unit of a list.
fn of(units: &[(&str, u64)]) -> impl Fn(&str) -> Option<u64> {
    move |unit| units.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size)
}

/// Size of a unit of rates: `Gbps`, `gbit/s`, `Gb/s`, `G`. Bytes per second, and `m` alone, which
/// is a metre, are none.
fn of_rate(unit: &str) -> Option<u64> {
    let prefix = ["bps", "b/s", "bit/s", "bit", "Bit/s", "Bit", ""]
        .iter()
        .find_map(|suffix| unit.strip_suffix(suffix))?;
    match prefix {
        "" if !unit.is_empty() => Some(1),
        "k" | "K" => Some(1_000),
        "m" if unit == "m" => None,
        "m" | "M" => Some(1_000_000),
        "g" | "G" => Some(1_000_000_000),
        "t" | "T" => Some(1_000_000_000_000),
        _ => None,
    }
}

macro_rules! from_str {
    ($t:ident, $size:expr, $units:ident, $expected:literal) => {
        impl FromStr for $t {
            type Err = UnitError;
            fn from_str(s: &str) -> Result<$t, UnitError> {
                parse(s, $size, $units, $expected).map($t)
            }
        }
    };
}
from_str!(Time, of(SPAN), SPAN, "a time with a unit, such as \"1.5us\" (ps, ns, us, ms, s)");
from_str!(Span, of(SPAN), SPAN, "a time with a unit, such as \"1.5us\" (ps, ns, us, ms, s)");
from_str!(
    Bytes,
    of(BYTES),
    BYTES,
    "a size with a unit, such as \"300KB\" (B, KB = 1000, KiB = 1024, MB, MiB, ...)"
);
from_str!(
    Rate,
    of_rate,
    RATE,
    "a rate with a unit, such as \"10Gbps\" or \"10G\" (bps, kbps, Mbps, Gbps, Tbps)"
);
from_str!(Length, of(LENGTH), LENGTH, "a length with a unit, such as \"100m\" (mm, cm, m, km)");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_unless_marked_binary() {
        assert_eq!("300KB".parse(), Ok(Bytes(300_000)));
        assert_eq!("300KiB".parse(), Ok(Bytes(307_200)));
        assert_eq!("5GiB".parse(), Ok(Bytes(5 << 30)));
        assert_eq!("10 Gbps".parse(), Ok(Rate(10_000_000_000)));
        assert_eq!("8kb/s".parse(), Ok(Rate(8_000)));
        for text in [
            "100G",
            "100g",
            "100Gb/s",
            "100gbit",
            "100Gbit/s",
            "100GBit/s",
            "100 Gb/s",
            "100Gbps",
            "100gbps",
            "0.1T",
            "100000M",
        ] {
            assert_eq!(text.parse(), Ok(Rate(100_000_000_000)), "{text}");
        }
        assert_eq!(("1bit/s".parse(), "10mbit".parse()), (Ok(Rate(1)), Ok(Rate(10_000_000))));
        assert_eq!(["1MB", "1 MB", "1000kB"].map(str::parse), [const { Ok(Bytes(1_000_000)) }; 3]);
        assert_eq!(
            ["3us", "3 us", "3µs", "3μs"].map(str::parse),
            [const { Ok(Span(3_000_000)) }; 4]
        );
        assert_eq!("0.1us".parse(), Ok(Span(100_000)));
        assert_eq!("52.428us".parse(), Ok(Span(52_428_000)));
        assert_eq!("100m".parse(), Ok(Length(100_000)));
    }

    /// Printed text can be used as input again, and has the same value to the last digit shown.
    #[test]
    fn what_is_printed_is_read() {
        let mut values: Vec<u64> =
            (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, (1 << bit) + 1]).collect();
        values.extend((0..20).map(|digits| 532_812_345_678_912_345 / 10u64.pow(digits)));
        for v in values {
            let near =
                |read: u64| assert!(read.abs_diff(v) as f64 <= 0.0005 * v as f64, "{v}: {read}");
            // Above 2^64 less a rounded digit, the text may be a value that no integer holds.
            if v < u64::MAX - (u64::MAX >> 10) {
                for text in [Span(v).to_string(), Time(v).to_string(), Span(v).compact()] {
                    near(text.parse::<Span>().unwrap().0);
                }
                [Bytes(v).to_string(), Bytes(v).compact()]
                    .iter()
                    .for_each(|t| near(t.parse::<Bytes>().unwrap().0));
                [Rate(v).to_string(), Rate(v).compact()]
                    .iter()
                    .for_each(|t| near(t.parse::<Rate>().unwrap().0));
                [Length(v).to_string(), Length(v).compact()]
                    .iter()
                    .for_each(|t| near(t.parse::<Length>().unwrap().0));
            }
        }
    }

    #[test]
    fn refusals_name_the_expected_unit() {
        let e = "10".parse::<Rate>().unwrap_err();
        assert!(e.what.contains("no unit") && e.expected.contains("10Gbps"), "{e}");
        let e = "10GBps".parse::<Rate>().unwrap_err();
        assert!(e.what.contains("did you mean 'Gbps'"), "{e}");
        let e = "9216".parse::<Bytes>().unwrap_err();
        assert!(e.what.contains("no unit") && e.expected.contains("300KB"), "{e}");
        for bad in ["300m", "10GB/s", "10Gib/s", "10Gs", "10 ", "10/s"] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
        for bad in
            ["", "Gbps", "-1Gbps", "1.2.3Gbps", "1e9bps", "99999999999999999999Tbps", ".Gbps"]
        {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
    }
}
