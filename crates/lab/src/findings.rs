//! Findings of an entry, and the verdict that follows from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_report::{Figure, Table};

use crate::Check;

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
    /// A check does not hold or cannot fail, or there was nothing to check.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// No claim of the paper but an extension: its findings are outside the count.
    #[serde(rename = "extension", alias = "study")]
    Extension,
}

impl Verdict {
    /// Text for people.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::UnderAssumption => "reproduced under assumption",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Extension => "extension",
        }
    }
}

/// Findings of an entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The measured values that matter, one or two sentences.
    pub measured: String,
    /// Checks; the verdict follows from them.
    pub checks: Vec<Check>,
    /// Figures, the main one first.
    pub figures: Vec<Figure>,
    /// Tables next to the figures.
    pub tables: Vec<Table>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Evidence for deviations: why a value is not the paper's, each with numbers that were computed.
    pub why: Vec<String>,
}

impl Findings {
    /// The verdict on a claim: no check failed, each could have; none needed an assumption.
    pub fn verdict(&self) -> Verdict {
        if self.checks.is_empty() || self.failed().next().is_some() {
            Verdict::NotReproduced
        } else if self.assumed().is_empty() {
            Verdict::Reproduced
        } else {
            Verdict::UnderAssumption
        }
    }

    /// The checks that do not hold, or that no value fails.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|c| !c.holds() || c.failing_example().is_none())
    }

    /// The assumptions that checks needed, each once.
    pub fn assumed(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for c in &self.checks {
            if let Some(text) = &c.assumption
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
    use xoff_report::Unit;

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
    fn a_check_that_cannot_fail_reproduces_nothing() {
        assert_eq!(with(vec![good(), Check::new("share", Unit::Fraction, 0.5, 0.0, 1.0)]), Verdict::NotReproduced);
    }

    #[test]
    fn nothing_checked_is_nothing_reproduced() {
        assert_eq!(with(vec![]), Verdict::NotReproduced);
    }

    #[test]
    fn each_assumption_is_named_once() {
        let f = Findings { checks: vec![good().assuming("a"), good().assuming("b"), good().assuming("a")], ..Findings::default() };
        assert_eq!(f.assumed(), ["a", "b"]);
    }
}
