//! A measured value, its required band, the source of the band, and a value that would fail it.
//!
//! ```text
//!              possible.0        low        high        possible.1
//!   possible     |----------------[==========]----------------|     all that the quantity can be in this setting
//!                 fails here ---'              '--- or here         neither: the check says nothing, and is void
//! ```

use xoff_report::Unit;

use crate::stats::Mean;

/// Source of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The paper's text: its number, or words that leave no number open (none, some, more, less).
    Paper,
    /// Chosen around the number of the paper, which prints no tolerance.
    Around,
    /// Recomputed from the paper's formulas and parameters.
    Recomputed,
    /// A closed form: arithmetic or a proved law, independent of the paper.
    ClosedForm,
    /// Chosen for words of the paper, which claims the result without a number to judge it by.
    Words,
    /// Chosen: a number from no other source, for a result that the paper does not claim.
    Ours,
}

impl Source {
    /// Text for people.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Paper => "paper",
            Source::Around => "chosen around the paper's number",
            Source::Recomputed => "recomputed",
            Source::ClosedForm => "closed form",
            Source::Words => "chosen for the paper's words",
            Source::Ours => "chosen",
        }
    }

    /// True if the paper claims the checked result.
    pub fn is_claim(self) -> bool {
        matches!(self, Source::Paper | Source::Around | Source::Words)
    }
}

/// A measured value and its required band.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Name of the measured quantity.
    pub what: String,
    /// Measured value, base unit.
    pub value: f64,
    /// The 95 % interval of a mean: all of it must be in the band.
    pub interval: Option<(f64, f64)>,
    /// Unit of the value.
    pub unit: Unit,
    /// Smallest accepted value.
    pub low: f64,
    /// Largest accepted value.
    pub high: f64,
    /// All that the quantity can be in this setting, whatever the model does.
    pub possible: (f64, f64),
    /// The paper's value, where it has one.
    pub paper: Option<f64>,
    /// Source of the band.
    pub source: Source,
    /// Assumption that the paper does not state.
    pub assumption: Option<String>,
}

impl Check {
    fn with_source(what: impl Into<String>, unit: Unit, value: f64, (low, high): (f64, f64), source: Source) -> Self {
        let possible = possible(&unit, low, high);
        Check { what: what.into(), value, interval: None, unit, low, high, possible, paper: None, source, assumption: None }
    }
    /// A value that must be in `low ..= high`, chosen unless the check says otherwise.
    pub fn new(what: impl Into<String>, unit: Unit, value: f64, low: f64, high: f64) -> Self {
        Check::with_source(what, unit, value, (low, high), Source::Ours)
    }
    /// A value that must be within a share of another one, which was computed.
    pub fn near(what: impl Into<String>, unit: Unit, value: f64, expected: f64, share: f64) -> Self {
        let off = (expected * share).abs();
        Check::with_source(what, unit, value, (expected - off, expected + off), Source::Recomputed)
    }
    /// A value that must be this one, which was computed.
    pub fn exact(what: impl Into<String>, unit: Unit, value: f64, expected: f64) -> Self {
        Check::with_source(what, unit, value, (expected, expected), Source::Recomputed)
    }
    /// A count that must be zero.
    pub fn none(what: impl Into<String>, of: &str, count: u64) -> Self {
        Check::new(what, Unit::Other(of.into()), count as f64, 0.0, 0.0)
    }
    /// A count that must not be zero.
    pub fn some(what: impl Into<String>, of: &str, count: u64) -> Self {
        Check::new(what, Unit::Other(of.into()), count as f64, 1.0, f64::INFINITY)
    }
    /// A mean over seeds, all of whose 95 % interval must be in `low ..= high`. Of one value there is no interval.
    pub fn mean(what: impl Into<String>, unit: Unit, mean: Mean, low: f64, high: f64) -> Self {
        Check::new(what, unit, mean.mean, low, high).of(mean)
    }
    /// Takes the value and the 95 % interval of a mean over seeds. The whole interval must be in the band. One value has no interval.
    pub fn of(mut self, mean: Mean) -> Self {
        self.value = mean.mean;
        self.interval = (mean.n > 1).then_some((mean.low, mean.high));
        self
    }
    /// With an interval; all of it must be in the band.
    pub fn interval(mut self, low: f64, high: f64) -> Self {
        self.interval = Some((low, high));
        self
    }
    /// With the paper's value, which is then the source if it is an end of the band; else the width of the band is chosen.
    pub fn paper(mut self, value: f64) -> Self {
        self.paper = Some(value);
        self.source = if value == self.low || value == self.high { Source::Paper } else { Source::Around };
        self
    }
    /// The paper claims it in words. The band is the paper's if it needs no chosen number: zero, some, more or less than something
    /// else (0, 1 and open ends).
    pub fn claimed(mut self) -> Self {
        let in_words = |end: f64| end == 0.0 || end == 1.0 || end.is_infinite();
        self.source = if in_words(self.low) && in_words(self.high) { Source::Paper } else { Source::Words };
        self
    }
    /// With the paper's value next to a band that comes from elsewhere.
    pub fn beside(mut self, value: f64) -> Self {
        self.paper = Some(value);
        self
    }
    /// The band is arithmetic, or a law that is proved.
    pub fn closed_form(mut self) -> Self {
        self.source = Source::ClosedForm;
        self
    }
    /// The band is recomputed from the paper's formulas and parameters.
    pub fn recomputed(mut self) -> Self {
        self.source = Source::Recomputed;
        self
    }
    /// The number is chosen, independent of the paper.
    pub fn ours(mut self) -> Self {
        self.source = Source::Ours;
        self
    }
    /// Under an assumption that the paper does not state.
    pub fn assuming(mut self, text: impl Into<String>) -> Self {
        self.assumption = Some(text.into());
        self
    }
    /// The quantity can only be in `low ..= high` in this setting, whatever the model does.
    pub fn possible(mut self, low: f64, high: f64) -> Self {
        self.possible = (low, high);
        self
    }

    /// True if the value, or the whole interval of a mean, is in the band. NaN is in no band.
    pub fn holds(&self) -> bool {
        let inside = |v: f64| self.low <= v && v <= self.high;
        inside(self.value) && self.ends().is_none_or(|(low, high)| inside(low) && inside(high))
    }

    /// The interval, ending where the quantity does: half of that of a small share is below zero, where no share is.
    fn ends(&self) -> Option<(f64, f64)> {
        // By its unit: what else it can be in a setting (no more cases than networks with a cycle) bounds a sample and not what it says.
        let (bottom, top) = possible(&self.unit, self.low, self.high);
        self.interval.map(|(low, high)| (low.max(bottom), high.min(top)))
    }

    /// A value that the quantity can have and that fails the check; none: it cannot fail, and says nothing.
    pub fn failing_example(&self) -> Option<f64> {
        let step = match self.low == 0.0 {
            _ if self.is_count() => 1.0,
            true if self.high.is_finite() => 0.5 * self.high.abs(),
            true => 1.0,
            false => 0.5 * self.low.abs(),
        };
        let below = (self.low - step).max(self.possible.0).min(self.possible.1);
        let above = if self.is_count() || self.high == 0.0 { self.high + 1.0 } else { self.high + 0.5 * self.high.abs() };
        let above = above.min(self.possible.1).max(self.possible.0);
        [below, above].into_iter().find(|&v| v.is_finite() && self.fails_at(v))
    }

    /// True if the check fails for a value that the quantity can have.
    fn fails_at(&self, value: f64) -> bool {
        let possible = self.possible.0 <= value && value <= self.possible.1;
        possible && !Check { value, interval: None, ..self.clone() }.holds()
    }

    fn is_count(&self) -> bool {
        matches!(self.unit, Unit::Other(_)) && [self.low, self.high].iter().all(|v| v.is_infinite() || v.fract() == 0.0)
    }

    /// The measured value in words, a mean with its interval.
    pub fn measured(&self) -> String {
        let f = |v| self.unit.format(v);
        self.ends().map_or(f(self.value), |(low, high)| format!("{} ({} to {})", f(self.value), f(low), f(high)))
    }

    /// The accepted range in words.
    pub fn range(&self) -> String {
        let f = |v| self.unit.format(v);
        match (self.low.is_finite(), self.high.is_finite()) {
            _ if self.low == self.high => f(self.low),
            (true, true) => format!("{} to {}", f(self.low), f(self.high)),
            (true, false) => format!("{} or more", f(self.low)),
            (false, true) => format!("{} or less", f(self.high)),
            (false, false) => "any".into(),
        }
    }

    /// A value that would fail it, in words.
    pub fn fails_at_words(&self) -> String {
        self.failing_example().map_or(CANNOT_FAIL.into(), |v| self.unit.format(v))
    }

    /// Sentence with value, band and the paper's value.
    pub fn sentence(&self) -> String {
        let paper = self.paper.map(|p| format!(", paper {}", self.unit.format(p))).unwrap_or_default();
        format!("{}: {}, expected {}{paper}", self.what, self.measured(), self.range())
    }
}

/// Text for a check that no value fails.
pub const CANNOT_FAIL: &str = "cannot fail";

/// Possible values of a quantity by its unit alone: not negative unless the band is, and a share at most 1 unless the band is larger.
fn possible(unit: &Unit, low: f64, high: f64) -> (f64, f64) {
    let bottom = if low < 0.0 { f64::NEG_INFINITY } else { 0.0 };
    let top = if *unit == Unit::Fraction && (high <= 1.0 || high.is_infinite() && low <= 0.0) { 1.0 } else { f64::INFINITY };
    (bottom, top)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(low: f64, high: f64) -> Check {
        Check::new("x", Unit::None, 1.5, low, high)
    }

    #[test]
    fn bands_include_their_ends_and_no_nan() {
        let c = |value| Check::new("x", Unit::None, value, 1.0, 2.0).holds();
        assert!(c(1.0) && c(2.0) && c(1.5));
        assert!(!c(0.999) && !c(2.001) && !c(f64::NAN));
        assert!(Check::some("deadlocks", "deadlocks", 4).holds());
        assert!(!Check::some("deadlocks", "deadlocks", 0).holds());
    }

    #[test]
    fn a_check_reads_as_a_sentence() {
        let c = Check::new("queue", Unit::Bytes, 806e3, 750e3, 875e3).paper(840e3);
        assert_eq!(c.sentence(), "queue: 806 KB, expected 750 KB to 875 KB, paper 840 KB");
    }

    #[test]
    fn a_mean_holds_with_all_of_its_interval() {
        let of = |low: f64, high: f64| Check::mean("x", Unit::None, Mean { mean: 1.5, low, high, n: 5 }, 1.0, 2.0);
        assert!(of(1.0, 2.0).holds() && !of(0.9, 2.0).holds() && !of(1.0, 2.1).holds());
        assert!(!Check::mean("x", Unit::None, Mean::of([1.2, 1.9]), 1.0, 2.0).holds(), "two values say little");
        assert!(Check::mean("x", Unit::None, Mean::of([1.2]), 1.0, 2.0).holds());
        assert_eq!(of(1.25, 1.75).measured(), "1.5 (1.25 to 1.75)");
        // No share is below zero or above one.
        let share = Check::mean("x", Unit::Fraction, Mean { mean: 0.01, low: -0.01, high: 0.03, n: 3 }, 0.0, 0.05);
        assert!(share.holds() && share.measured() == "1 % (0 % to 3 %)");
        assert!(!Check::mean("x", Unit::None, Mean { mean: 0.01, low: -0.01, high: 0.03, n: 3 }, 0.005, 0.05).holds());
        assert!(!Check::mean("x", Unit::None, Mean { mean: 0.01, low: -2.0, high: 0.03, n: 3 }, -1.0, 0.05).holds());
    }

    #[test]
    fn each_kind_of_band_has_a_value_that_fails_it() {
        let value = |c: &Check| c.failing_example();
        assert_eq!(value(&Check::none("lost", "frames", 0)), Some(1.0));
        assert_eq!(value(&Check::some("lost", "frames", 1)), Some(0.0));
        assert_eq!(value(&Check::exact("rate", Unit::BitsPerSecond, 0.0, 0.0)), Some(1.0));
        assert_eq!(value(&Check::near("rate", Unit::BitsPerSecond, 5e9, 4e9, 0.5)), Some(1e9));
        assert_eq!(value(&band(1.0, f64::INFINITY)), Some(0.5));
        assert_eq!(value(&band(f64::NEG_INFINITY, 0.0)), Some(1.0));
        assert_eq!(value(&Check::new("share", Unit::Fraction, 0.1, 0.0, 0.05)), Some(0.075_000_000_000_000_01));
        assert_eq!(value(&Check::new("share", Unit::Fraction, 0.1, 0.8, 1.0)), Some(0.4));
        // At k = 16 no network has a cycle: zero is all there can be, and fails a band that begins above it.
        assert_eq!(value(&Check::new("cases", Unit::Other("cases".into()), 0.0, 0.2, 20.0).possible(0.0, 0.0)), Some(0.0));
        for c in [band(1.0, 2.0), band(-1.0, 1.0), Check::new("x", Unit::Bytes, 0.0, 1.0, 1.0)] {
            let example = value(&c).unwrap();
            assert!(!Check { value: example, ..c }.holds());
        }
    }

    #[test]
    fn a_band_with_all_that_is_possible_cannot_fail() {
        for c in [
            Check::new("share", Unit::Fraction, 0.5, 0.0, 1.0),
            Check::new("share", Unit::Fraction, 0.5, 0.0, f64::INFINITY),
            band(0.0, f64::INFINITY),
            band(f64::NEG_INFINITY, f64::INFINITY),
            // Table 1 at k = 8: of 93 networks with a cycle no more than 93 can deadlock.
            Check::new("cases", Unit::Other("cases".into()), 0.0, 0.0, 120.0).possible(0.0, 93.0),
            // None can, and the band begins with none.
            Check::new("cases", Unit::Other("cases".into()), 0.0, 0.0, 20.0).possible(0.0, 0.0),
            // A flow control that never holds a port is in no deadlock.
            Check::none("GFC: deadlocks", "deadlocks", 0).possible(0.0, 0.0),
        ] {
            assert_eq!(c.failing_example(), None, "{c:?}");
            assert_eq!(c.fails_at_words(), CANNOT_FAIL);
        }
    }

    #[test]
    fn a_claim_in_words_is_the_papers_only_without_a_number_of_ours() {
        assert_eq!(Check::none("lost", "frames", 0).claimed().source, Source::Paper);
        assert_eq!(Check::some("lost", "frames", 0).claimed().source, Source::Paper);
        assert_eq!(band(1.0, f64::INFINITY).claimed().source, Source::Paper);
        assert_eq!(band(0.95, 1.05).claimed().source, Source::Words);
        assert_eq!(band(0.95, 1.05).source, Source::Ours);
        // The width of a band around a number of the paper is chosen; an end that is that number is the paper's.
        assert_eq!(band(0.95, 1.05).paper(1.0).source, Source::Around);
        assert_eq!(band(1.0, 1.05).paper(1.0).source, Source::Paper);
        assert_eq!(Check::exact("x", Unit::None, 1.0, 1.0).paper(1.0).source, Source::Paper);
        assert_eq!(band(0.95, 1.05).paper(1.0).ours().source, Source::Ours);
    }
}
