//! Units of axes, and the prefix that makes their numbers short.

use xoff_units::measured::{self, Units, short};

/// Base unit of an axis. Values are given in it; the axis shows them with the prefix that fits.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Unit {
    /// No unit.
    #[default]
    None,
    /// Time in picoseconds, shown as ps, ns, us, ms or s.
    Picoseconds,
    /// Time in seconds, shown as ps .. s.
    Seconds,
    /// A rate in bit/s, shown as b/s, kb/s, Mb/s, Gb/s or Tb/s.
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
    fn steps(&self) -> Units {
        match self {
            Unit::Picoseconds => measured::TIMES,
            Unit::Seconds => &[(1e-12, "ps"), (1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")],
            Unit::BitsPerSecond => measured::RATES,
            Unit::Bytes => measured::SIZES,
            Unit::Fraction => &[(0.01, "%")],
            Unit::None | Unit::Other(_) => &[],
        }
    }

    /// Size and name of the unit in which `magnitude` is written best.
    pub(super) fn fit(&self, magnitude: f64) -> (f64, String) {
        match self {
            Unit::Other(name) => (1.0, name.clone()),
            _ => {
                let (size, name) = measured::fit(magnitude, self.steps());
                (size, name.to_owned())
            }
        }
    }

    /// A single value with its unit: "12.5 KB".
    pub fn format(&self, value: f64) -> String {
        if !value.is_finite() {
            return "n/a".to_owned();
        }
        let (size, name) = match self {
            // Zero has no magnitude of its own: the smallest prefix would claim a precision that
            // was not meant.
            Unit::Picoseconds | Unit::Seconds if value == 0.0 => (1.0, "s".to_owned()),
            _ => self.fit(value.abs()),
        };
        let number = short(value / size);
        if name.is_empty() { number } else { format!("{number} {name}") }
    }
}
