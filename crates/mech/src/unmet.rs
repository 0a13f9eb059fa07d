//! Conditions that parameters do not meet although they work.

/// A condition that does not hold: reason for a warning, never for a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The condition with its numbers, and the consequence.
    pub what: String,
    /// Source of the condition, or a way to meet it.
    pub hint: String,
}

impl Unmet {
    /// A condition and its source or remedy.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Unmet {
        Unmet { what: what.into(), hint: hint.into() }
    }
}
