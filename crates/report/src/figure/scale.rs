//! Ranges, ticks and the way from a value to a pixel.

use xoff_units::measured::{long, short, trimmed};

use super::unit::Unit;

/// Values beyond this are treated as missing: differences of ranges must stay finite.
const HUGE: f64 = 1e300;

/// Whether a value can be placed on an axis.
pub(super) fn usable(value: f64, log: bool) -> bool {
    value.is_finite() && value.abs() <= HUGE && (!log || value > 0.0)
}

/// Least and greatest of the values that it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub lo: f64,
    pub hi: f64,
}

impl Extent {
    pub(super) const EMPTY: Extent = Extent { lo: f64::INFINITY, hi: f64::NEG_INFINITY };

    pub(super) fn is_empty(self) -> bool {
        self.lo > self.hi
    }

    pub(super) fn add(&mut self, value: f64, log: bool) {
        if usable(value, log) {
            self.lo = self.lo.min(value);
            self.hi = self.hi.max(value);
        }
    }

    pub(super) fn join(self, other: Extent) -> Extent {
        Extent { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Never empty and never of width zero, so that every scale can divide by its width.
    fn opened(self, log: bool) -> Extent {
        match (self.is_empty(), log) {
            (true, false) => Extent { lo: 0.0, hi: 1.0 },
            (true, true) => Extent { lo: 1.0, hi: 10.0 },
            (false, true) if self.hi / self.lo < 1.001 => {
                Extent { lo: self.lo / 2.0, hi: self.hi * 2.0 }
            }
            (false, false) if self.hi - self.lo <= self.hi.abs().max(self.lo.abs()) * 1e-9 => {
                let half = if self.lo == 0.0 { 0.5 } else { self.lo.abs() * 0.1 };
                Extent { lo: self.lo - half, hi: self.hi + half }
            }
            _ => self,
        }
    }
}

/// Rounding of an automatic range.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fit {
    /// Exactly the data: time runs from edge to edge.
    Tight,
    /// Out to the next tick, and down to zero where the data come near it: heights are compared
    /// from zero.
    Round,
}

/// One axis' placement.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    lo: f64,
    hi: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// Values `extent` over pixels `from .. to`.
    pub(super) fn new(extent: Extent, from: f64, to: f64, log: bool) -> Self {
        let (lo, hi) = if log {
            (libm::log10(extent.lo), libm::log10(extent.hi))
        } else {
            (extent.lo, extent.hi)
        };
        Scale { lo, hi, from, to, log }
    }

    /// The pixel of a value, none for a gap. Far outside the range it is clamped: an SVG viewer
    /// need not cope with 1e20.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        if !usable(value, self.log) {
            return None;
        }
        let value = if self.log { libm::log10(value) } else { value };
        let share = (value - self.lo) / (self.hi - self.lo);
        Some((self.from + share * (self.to - self.from)).clamp(-20_000.0, 20_000.0))
    }

    /// Base of bars: zero, or the lower end if zero is not on the axis.
    pub(super) fn base(&self) -> f64 {
        let zero = if self.log { self.from } else { self.at(0.0).unwrap_or(self.from) };
        zero.clamp(self.from.min(self.to), self.from.max(self.to))
    }
}

/// A tick: value in base units, its text (empty for a minor one).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub value: f64,
    pub text: String,
}

/// The final range of an axis and, for a linear one, the unit its ticks are written in.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    pub extent: Extent,
    pub unit_name: String,
    size: f64,
    unit: Unit,
    log: bool,
}

impl Ruler {
    /// Fixes the range: the one asked for, or the data's, rounded as `fit` says with about `ticks`
    /// ticks.
    pub(super) fn new(
        unit: &Unit,
        asked: Option<(f64, f64)>,
        data: Extent,
        log: bool,
        fit: Fit,
        ticks: usize,
    ) -> Self {
        let asked = asked.filter(|(lo, hi)| usable(*lo, log) && usable(*hi, log) && lo < hi);
        let mut extent = asked.map_or(data, |(lo, hi)| Extent { lo, hi }).opened(log);
        let (size, unit_name) = unit.fit(extent.hi.abs().max(extent.lo.abs()));
        if asked.is_none() {
            extent = match (fit, log) {
                (Fit::Round, true) => round_log(extent),
                (Fit::Round, false) => round_linear(extent, size, ticks),
                (Fit::Tight, true) => extent,
                (Fit::Tight, false) => snap_linear(extent, size, ticks),
            };
        }
        Ruler { extent, unit_name, size, unit: unit.clone(), log }
    }

    /// Whether the label names the unit though the axis is logarithmic: units without prefixes do
    /// not repeat on ticks.
    pub(super) fn unit_on_label(&self) -> bool {
        matches!(self.unit, Unit::Other(_))
    }

    /// Ticks inside the range. On a logarithmic axis each text carries its own unit.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<Tick> {
        if self.log { self.log_ticks(wanted) } else { self.linear_ticks(wanted) }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<Tick> {
        let (lo, hi) = (self.extent.lo / self.size, self.extent.hi / self.size);
        let step = nice_step((hi - lo) / wanted.max(1) as f64);
        let decimals = (-libm::floor(libm::log10(step) + 1e-9)).clamp(0.0, 12.0) as usize;
        let first = libm::ceil(lo / step - 1e-6);
        let plain = hi.abs().max(lo.abs()) < 1e7 && step > 1e-6;
        (0..=wanted * 3 + 2)
            .map(|i| (first + i as f64) * step)
            .take_while(|value| *value <= hi + step * 1e-6)
            .map(|value| {
                let text = if plain {
                    long(trimmed(&format!("{value:.decimals$}")))
                } else {
                    short(value)
                };
                Tick { value: value * self.size, text }
            })
            .collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<Tick> {
        let first = libm::floor(libm::log10(self.extent.lo)) as i32;
        let last = libm::ceil(libm::log10(self.extent.hi)) as i32;
        let decades = (last - first).max(1) as usize;
        let every = decades.div_ceil(wanted.max(1)).max(1);
        let mut ticks = Vec::new();
        // Beyond a dozen decades the minor lines would be a grey area.
        let multiples: &[u32] = if decades > 12 { &[1] } else { &[1, 2, 3, 4, 5, 6, 7, 8, 9] };
        for exponent in first..=last {
            for multiple in multiples {
                let value = f64::from(*multiple) * libm::pow(10.0, f64::from(exponent));
                if value < self.extent.lo * (1.0 - 1e-9) || value > self.extent.hi * (1.0 + 1e-9) {
                    continue;
                }
                let labelled = match multiple {
                    1 => ((exponent - first).unsigned_abs() as usize).is_multiple_of(every),
                    2 | 5 => decades <= 2,
                    _ => false,
                };
                if decades > 12 && !labelled {
                    continue;
                }
                let text = match (&self.unit, labelled) {
                    (_, false) => String::new(),
                    (Unit::Other(_), true) => short(value),
                    (unit, true) => unit.format(value),
                };
                ticks.push(Tick { value, text });
            }
        }
        ticks
    }
}

/// 1, 2 or 5 times a power of ten, the nearest to `raw` by ratio.
fn nice_step(raw: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(raw)));
    // The bounds are the geometric means of neighbours: sqrt(1 * 2), sqrt(2 * 5), sqrt(5 * 10).
    let bounds = [(1.0, 1.4143), (2.0, 3.1623), (5.0, 7.0711)];
    bounds
        .into_iter()
        .find(|(_, bound)| raw <= bound * power)
        .map_or(10.0, |(multiple, _)| multiple)
        * power
}

fn round_linear(extent: Extent, size: f64, ticks: usize) -> Extent {
    let (mut lo, mut hi) = (extent.lo / size, extent.hi / size);
    if lo > 0.0 && lo < 0.6 * hi {
        lo = 0.0;
    } else if hi < 0.0 && hi > 0.6 * lo {
        hi = 0.0;
    }
    let step = nice_step((hi - lo) / ticks.max(1) as f64);
    // A millionth of a step beyond a tick is a rounding error, not a reason for another step.
    let lo = libm::floor(lo / step + 1e-6) * step;
    let hi = libm::ceil(hi / step - 1e-6) * step;
    Extent { lo: lo * size, hi: hi * size }
}

/// A range that ends within half a per cent of a tick ends on that tick: samples end one period
/// early.
fn snap_linear(extent: Extent, size: f64, ticks: usize) -> Extent {
    let (lo, hi) = (extent.lo / size, extent.hi / size);
    let step = nice_step((hi - lo) / ticks.max(1) as f64);
    let near = |value: f64| {
        let tick = (value / step).round() * step;
        if (tick - value).abs() < 0.005 * (hi - lo) { tick } else { value }
    };
    Extent { lo: near(lo) * size, hi: near(hi) * size }
}

/// Out to the next 1, 2 or 5 times a power of ten.
fn round_log(extent: Extent) -> Extent {
    let power = |value: f64| libm::pow(10.0, libm::floor(libm::log10(value) + 1e-12));
    let (below, above) = (power(extent.lo), power(extent.hi));
    let lo = [5.0, 2.0, 1.0]
        .into_iter()
        .map(|m| m * below)
        .find(|v| *v <= extent.lo * 1.000001)
        .unwrap_or(below);
    let hi = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * above)
        .find(|v| *v >= extent.hi * 0.999999)
        .unwrap_or(above * 10.0);
    Extent { lo, hi }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ruler: &Ruler, wanted: usize) -> Vec<String> {
        ruler
            .ticks(wanted)
            .into_iter()
            .map(|tick| tick.text)
            .filter(|text| !text.is_empty())
            .collect()
    }

    #[test]
    fn picoseconds_become_milliseconds() {
        let ruler = Ruler::new(
            &Unit::Picoseconds,
            None,
            Extent { lo: 0.0, hi: 4.2e9 },
            false,
            Fit::Tight,
            5,
        );
        assert_eq!(ruler.unit_name, "ms");
        assert_eq!(texts(&ruler, 4), ["0", "1", "2", "3", "4"]);
        assert_eq!(ruler.extent, Extent { lo: 0.0, hi: 4.2e9 });
    }

    #[test]
    fn a_rounded_range_ends_on_a_tick_and_starts_at_zero() {
        let ruler = Ruler::new(
            &Unit::Bytes,
            None,
            Extent { lo: 61_400.0, hi: 95_600.0 },
            false,
            Fit::Round,
            5,
        );
        assert_eq!(ruler.extent, Extent { lo: 60_000.0, hi: 100_000.0 });
        assert_eq!(texts(&ruler, 5), ["60", "70", "80", "90", "100"]);
        let ruler = Ruler::new(
            &Unit::BitsPerSecond,
            None,
            Extent { lo: 1e9, hi: 9.9e9 },
            false,
            Fit::Round,
            5,
        );
        assert_eq!(ruler.extent, Extent { lo: 0.0, hi: 1e10 });
        assert_eq!(texts(&ruler, 5), ["0", "2", "4", "6", "8", "10"]);
    }

    #[test]
    fn a_series_that_stops_one_sample_early_still_shows_its_last_tick() {
        let ruler = Ruler::new(
            &Unit::Picoseconds,
            None,
            Extent { lo: 0.0, hi: 19.9999e9 },
            false,
            Fit::Tight,
            4,
        );
        assert_eq!(ruler.extent, Extent { lo: 0.0, hi: 2e10 });
        assert_eq!(texts(&ruler, 4), ["0", "5", "10", "15", "20"]);
    }

    #[test]
    fn log_ticks_carry_their_units() {
        let ruler =
            Ruler::new(&Unit::Bytes, None, Extent { lo: 150.0, hi: 3.0e7 }, true, Fit::Round, 6);
        assert_eq!(ruler.extent, Extent { lo: 100.0, hi: 5.0e7 });
        assert_eq!(texts(&ruler, 6), ["100 B", "1 KB", "10 KB", "100 KB", "1 MB", "10 MB"]);
    }

    #[test]
    fn degenerate_ranges_are_opened() {
        for (extent, log) in [
            (Extent::EMPTY, false),
            (Extent::EMPTY, true),
            (Extent { lo: 5.0, hi: 5.0 }, false),
            (Extent { lo: 0.0, hi: 0.0 }, false),
            (Extent { lo: 5.0, hi: 5.0 }, true),
            (Extent { lo: -1e300, hi: 1e300 }, false),
            (Extent { lo: 1e-300, hi: 1e300 }, true),
        ] {
            for fit in [Fit::Tight, Fit::Round] {
                let ruler = Ruler::new(&Unit::None, None, extent, log, fit, 5);
                assert!(ruler.extent.lo < ruler.extent.hi, "{extent:?}");
                let ticks = ruler.ticks(5);
                assert!((1..=160).contains(&ticks.len()), "{extent:?}: {}", ticks.len());
                let scale = Scale::new(ruler.extent, 0.0, 100.0, log);
                assert!(scale.at(ruler.extent.lo).is_some_and(f64::is_finite));
            }
        }
    }

    #[test]
    fn gaps_have_no_pixel() {
        let scale = Scale::new(Extent { lo: 1.0, hi: 10.0 }, 0.0, 100.0, true);
        assert_eq!(scale.at(1.0), Some(0.0));
        assert_eq!(scale.at(10.0), Some(100.0));
        for gap in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e305] {
            assert_eq!(scale.at(gap), None);
        }
    }
}
