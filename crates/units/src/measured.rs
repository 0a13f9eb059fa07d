//! Measured values for people: four significant digits, in the unit that keeps the number short.

use crate::grouped;

/// Units of a dimension with their size in base units, smallest first.
pub type Units = &'static [(f64, &'static str)];

/// Units of times in picoseconds.
pub const TIMES: Units = &[(1.0, "ps"), (1e3, "ns"), (1e6, "us"), (1e9, "ms"), (1e12, "s")];
/// Units of sizes in bytes.
pub const SIZES: Units = &[(1.0, "B"), (1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")];
/// Units of rates in bit/s.
pub const RATES: Units =
    &[(1.0, "b/s"), (1e3, "kb/s"), (1e6, "Mb/s"), (1e9, "Gb/s"), (1e12, "Tb/s")];

/// A time [ps]: `2.795 ms`.
pub fn time(ps: f64) -> String {
    if ps == 0.0 { "0 s".into() } else { in_units(ps, TIMES) }
}

/// A size [bytes]: `892.5 KB`.
pub fn size(bytes: f64) -> String {
    in_units(bytes, SIZES)
}

/// A rate [bit/s]: `4.999 Gb/s`.
pub fn rate(bps: f64) -> String {
    in_units(bps, RATES)
}

/// Unit for a value: the largest that it reaches, else the smallest.
pub fn fit(value: f64, units: Units) -> (f64, &'static str) {
    // Four digits of 0.99996 ms are those of 1 ms.
    units
        .iter()
        .rev()
        .find(|(size, _)| value.abs() >= size * 0.99995)
        .or(units.first())
        .copied()
        .unwrap_or((1.0, ""))
}

/// A value in the unit that fits.
pub fn in_units(value: f64, units: Units) -> String {
    if !value.is_finite() {
        return "n/a".into();
    }
    let (size, name) = fit(value, units);
    format!("{} {name}", short(value / size))
}

/// Four significant digits without trailing zeros, all digits of a whole number below 10 million:
/// `7.5`, `1234`, `12,345`, `2.5e9`.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "n/a".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e7).contains(&value.abs()) {
        let text = format!("{value:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trimmed(digits));
    }
    // In `9.9996e1` the exponent is that of the value, before it is rounded to 100.
    let text = format!("{value:e}");
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let decimals = (3 - exponent).max(0) as usize;
    long(trimmed(&format!("{value:.decimals$}")))
}

/// A number without trailing zeros after the point, and without a minus sign in front of zero.
pub fn trimmed(text: &str) -> &str {
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if text == "-0" { "0" } else { text }
}

/// Digits before the point in groups of three if there are five or more: `1234`, `12,345.6`.
pub fn long(number: &str) -> String {
    let digits = number.trim_start_matches('-').split('.').next().map_or(0, str::len);
    if digits < 5 { number.to_owned() } else { grouped(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_shown() {
        let cases = [
            (0.0, "0"),
            (7.5, "7.5"),
            (1234.4, "1234"),
            (104_283.0, "104,283"),
            (0.012_345_67, "0.01235"),
            (99.996, "100"),
            (5.0431e9, "5.04e9"),
            (-12.0, "-12"),
            (f64::NAN, "n/a"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    /// The values that python/tests/test_units.py and the report's script format too.
    #[test]
    fn the_examples_of_all_languages() {
        let of = |kind: &str| match kind {
            "time" => time,
            "size" => size,
            _ => rate,
        };
        let mut seen = 0;
        for line in include_str!("../examples.txt").lines() {
            let (kind, rest) = line.split_once(' ').unwrap();
            let (value, text) = rest.split_once(' ').unwrap();
            assert_eq!(of(kind)(value.parse().unwrap()), text, "{line}");
            seen += 1;
        }
        assert!(seen > 20);
    }
}
