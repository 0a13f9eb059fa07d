//! What an entry found, and the verdict that follows from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_report::{Figure, Table, Unit};

/// Where an expected value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The paper states it.
    Paper,
    /// Recomputed from the paper's formulas and parameters.
    Recomputed,
    /// It takes an assumption that the paper does not state.
    Assumption(String),
}

/// A measured value and the range in which it must lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What is measured.
    pub what: String,
    /// Measured value, base unit.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Smallest accepted value.
    pub low: f64,
    /// Largest accepted value.
    pub high: f64,
    /// The paper's value, where it has one.
    pub paper: Option<f64>,
    /// Where the range comes from.
    pub source: Source,
}

impl Check {
    /// A value that must lie in `low ..= high`.
    pub fn new(what: impl Into<String>, unit: Unit, value: f64, low: f64, high: f64) -> Self {
        Check { what: what.into(), value, unit, low, high, paper: None, source: Source::Recomputed }
    }
    /// A value that must lie within a share of another.
    pub fn near(what: impl Into<String>, unit: Unit, value: f64, expected: f64, share: f64) -> Self {
        let off = (expected * share).abs();
        Check::new(what, unit, value, expected - off, expected + off)
    }
    /// A value that must be this one.
    pub fn exact(what: impl Into<String>, unit: Unit, value: f64, expected: f64) -> Self {
        Check::new(what, unit, value, expected, expected)
    }
    /// A count that must be zero.
    pub fn none(what: impl Into<String>, of: &str, count: u64) -> Self {
        Check::exact(what, Unit::Other(of.into()), count as f64, 0.0)
    }
    /// A count that must not be zero.
    pub fn some(what: impl Into<String>, of: &str, count: u64) -> Self {
        Check::new(what, Unit::Other(of.into()), count as f64, 1.0, f64::INFINITY)
    }
    /// With the paper's value, which is then the source.
    pub fn paper(mut self, value: f64) -> Self {
        self.paper = Some(value);
        self.source = Source::Paper;
        self
    }
    /// The paper claims it without a number.
    pub fn claimed(mut self) -> Self {
        self.source = Source::Paper;
        self
    }
    /// With the paper's value beside a range that comes from elsewhere.
    pub fn beside(mut self, value: f64) -> Self {
        self.paper = Some(value);
        self
    }
    /// Under an assumption that the paper does not state.
    pub fn assuming(mut self, text: impl Into<String>) -> Self {
        self.source = Source::Assumption(text.into());
        self
    }

    /// Whether it holds. A value that is no number holds nowhere.
    pub fn holds(&self) -> bool {
        self.low <= self.value && self.value <= self.high
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

    /// One sentence.
    pub fn sentence(&self) -> String {
        let paper = self.paper.map(|p| format!(", paper {}", self.unit.format(p))).unwrap_or_default();
        format!("{}: {}, expected {}{paper}", self.what, self.unit.format(self.value), self.range())
    }
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(rename = "Reproduced")]
pub enum Verdict {
    /// All checks hold.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// All checks hold, some under an assumption that the paper does not state.
    #[serde(rename = "reproduced under assumption")]
    UnderAssumption,
    /// A check does not hold, or there was nothing to check.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl Verdict {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::UnderAssumption => "reproduced under assumption",
            Verdict::NotReproduced => "not reproduced",
        }
    }
}

/// What an entry found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The measured values that matter, one or two sentences.
    pub measured: String,
    /// What was checked; the verdict follows from it.
    pub checks: Vec<Check>,
    /// Figures, the main one first.
    pub figures: Vec<Figure>,
    /// Tables beside the figures.
    pub tables: Vec<Table>,
    /// What the reader should know besides.
    pub notes: Vec<String>,
    /// Evidence for deviations: why a value is not the paper's, each with numbers that were computed.
    pub why: Vec<String>,
}

impl Findings {
    /// The verdict: no check failed; none needed an assumption.
    pub fn verdict(&self) -> Verdict {
        if self.checks.is_empty() || self.failed().next().is_some() {
            Verdict::NotReproduced
        } else if self.assumed().is_empty() {
            Verdict::Reproduced
        } else {
            Verdict::UnderAssumption
        }
    }

    /// The checks that do not hold.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|c| !c.holds())
    }

    /// The assumptions that checks needed, each once.
    pub fn assumed(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for c in &self.checks {
            if let Source::Assumption(text) = &c.source
                && !all.contains(text)
            {
                all.push(text.clone());
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(checks: Vec<Check>) -> Verdict {
        Findings { checks, ..Findings::default() }.verdict()
    }
    fn good() -> Check {
        Check::near("rate", Unit::BitsPerSecond, 5.05e9, 5e9, 0.02)
    }

    #[test]
    fn the_verdict_follows_from_the_checks() {
        assert_eq!(with(vec![good()]), Verdict::Reproduced);
        assert_eq!(with(vec![good(), good().assuming("round robin at the egress")]), Verdict::UnderAssumption);
        let bad = Check::none("frames lost", "frames", 3);
        assert_eq!(with(vec![good(), bad.clone()]), Verdict::NotReproduced);
        assert_eq!(with(vec![bad.assuming("a small buffer")]), Verdict::NotReproduced);
    }

    #[test]
    fn nothing_checked_is_nothing_reproduced() {
        assert_eq!(with(vec![]), Verdict::NotReproduced);
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
    fn each_assumption_is_named_once() {
        let f = Findings { checks: vec![good().assuming("a"), good().assuming("b"), good().assuming("a")], ..Findings::default() };
        assert_eq!(f.assumed(), ["a", "b"]);
    }

    #[test]
    fn a_check_reads_as_a_sentence() {
        let c = Check::new("queue", Unit::Bytes, 806e3, 750e3, 875e3).paper(840e3);
        assert_eq!(c.sentence(), "queue: 806 KB, expected 750 KB to 875 KB, paper 840 KB");
    }
}
