//! Units of axes, and the prefix that makes their numbers short.

/// Base unit of an axis. Values are given in it; the axis shows them with the prefix that fits.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Unit {
    /// No unit.
    #[default]
    None,
    /// Time in picoseconds, shown as ps, ns, µs, ms or s.
    Picoseconds,
    /// Time in seconds, shown as ps .. s.
    Seconds,
    /// A rate in bit/s, shown as bit/s, kb/s, Mb/s, Gb/s or Tb/s.
    BitsPerSecond,
    /// A size in bytes, shown as B, KB (1000 bytes), MB, GB or TB.
    Bytes,
    /// A share of 1, shown in per cent.
    Fraction,
    /// Anything else, shown as it is: "frames", "messages".
    Other(String),
}

impl Unit {
    /// Prefixed names with their size in base units, smallest first.
    fn steps(&self) -> &'static [(f64, &'static str)] {
        match self {
            Unit::Picoseconds => &[(1.0, "ps"), (1e3, "ns"), (1e6, "µs"), (1e9, "ms"), (1e12, "s")],
            Unit::Seconds => &[(1e-12, "ps"), (1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")],
            Unit::BitsPerSecond => &[(1.0, "bit/s"), (1e3, "kb/s"), (1e6, "Mb/s"), (1e9, "Gb/s"), (1e12, "Tb/s")],
            Unit::Bytes => &[(1.0, "B"), (1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")],
            Unit::Fraction => &[(0.01, "%")],
            Unit::None | Unit::Other(_) => &[],
        }
    }

    /// Size and name of the unit in which `magnitude` is written best.
    pub(super) fn fit(&self, magnitude: f64) -> (f64, String) {
        let steps = self.steps();
        let own = if let Unit::Other(name) = self { name.as_str() } else { "" };
        let Some(&first) = steps.first() else { return (1.0, own.to_owned()) };
        // A little slack: a range that ends at 0.9999999 ms is meant to be one of ms.
        let (size, name) = steps.iter().rev().find(|(size, _)| magnitude >= size * 0.999).copied().unwrap_or(first);
        (size, name.to_owned())
    }

    /// A single value with its unit: "12.5 KB".
    pub fn format(&self, value: f64) -> String {
        if !value.is_finite() {
            return "n/a".to_owned();
        }
        let (size, name) = self.fit(value.abs());
        // Zero has no magnitude of its own; the smallest prefix would claim a precision that was not meant.
        let (size, name) = if value == 0.0 { self.fit(self.steps().first().map_or(1.0, |s| s.0)) } else { (size, name) };
        let number = short(value / size);
        if name.is_empty() { number } else { format!("{number} {name}") }
    }
}

/// Four significant digits at most, without trailing zeros; powers of ten from 10 million on.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trimmed(digits));
    }
    let whole = libm::floor(libm::log10(size)) as i32;
    let decimals = (3 - whole).max(0) as usize;
    grouped(trimmed(&format!("{value:.decimals$}")))
}

/// A number without trailing zeros behind the point, and without a minus sign before zero.
pub(super) fn trimmed(text: &str) -> &str {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if text == "-0" { "0" } else { text }
}

/// Digits before the point in groups of three: "12,345.6". Four digits stay together.
pub fn grouped(number: &str) -> String {
    let digits = number.trim_start_matches('-').find('.').unwrap_or(number.trim_start_matches('-').len());
    if digits < 5 { number.to_owned() } else { xoff_units::grouped(number) }
}
