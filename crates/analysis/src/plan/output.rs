//! Contents of a plan: rows for reading, exact numbers for programs.

use schemars::JsonSchema;
use serde::Serialize;
use xoff_units::{Bytes, Rate, Span};

/// A number in the base unit of its row.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Exact {
    /// A whole number: picoseconds, bytes, bit/s or a count.
    Integer(u64),
    /// A ratio or a root.
    Real(f64),
}

/// One planned quantity.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PlanRow {
    /// Name of the quantity, in words.
    pub name: &'static str,
    /// Symbol in the source.
    pub symbol: &'static str,
    /// Value with unit, for reading (at most three decimals).
    pub value: String,
    /// Exact value, in `unit`.
    pub value_exact: Exact,
    /// Base unit of `value_exact`: "ps", "bytes", "bit/s", "blocks", "stages", ...; "" for a ratio.
    pub unit: &'static str,
    /// Formula of the value.
    pub formula: &'static str,
    /// Source of the formula: paper section, equation, clause.
    pub source: &'static str,
}

impl PlanRow {
    /// A size.
    pub fn bytes(
        name: &'static str,
        symbol: &'static str,
        v: Bytes,
        formula: &'static str,
        source: &'static str,
    ) -> Self {
        PlanRow {
            name,
            symbol,
            value: v.to_string(),
            value_exact: Exact::Integer(v.0),
            unit: "bytes",
            formula,
            source,
        }
    }
    /// A duration.
    pub fn span(
        name: &'static str,
        symbol: &'static str,
        v: Span,
        formula: &'static str,
        source: &'static str,
    ) -> Self {
        PlanRow {
            name,
            symbol,
            value: v.to_string(),
            value_exact: Exact::Integer(v.0),
            unit: "ps",
            formula,
            source,
        }
    }
    /// A rate.
    pub fn rate(
        name: &'static str,
        symbol: &'static str,
        v: Rate,
        formula: &'static str,
        source: &'static str,
    ) -> Self {
        PlanRow {
            name,
            symbol,
            value: v.to_string(),
            value_exact: Exact::Integer(v.0),
            unit: "bit/s",
            formula,
            source,
        }
    }
    /// A count of `unit`.
    pub fn count(
        name: &'static str,
        symbol: &'static str,
        v: u64,
        unit: &'static str,
        formula: &'static str,
        source: &'static str,
    ) -> Self {
        PlanRow {
            name,
            symbol,
            value: format!("{v} {unit}"),
            value_exact: Exact::Integer(v),
            unit,
            formula,
            source,
        }
    }
    /// A ratio without unit.
    pub fn ratio(
        name: &'static str,
        symbol: &'static str,
        v: f64,
        formula: &'static str,
        source: &'static str,
    ) -> Self {
        PlanRow {
            name,
            symbol,
            value: format!("{v:.3}"),
            value_exact: Exact::Real(v),
            unit: "",
            formula,
            source,
        }
    }
}

/// A column of a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Column {
    /// Heading, the symbol in the source.
    pub name: &'static str,
    /// Base unit of the numbers below it; "" for an index.
    pub unit: &'static str,
}

/// A table of numbers, such as the stages of buffer-based GFC.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Table {
    /// Title of the table.
    pub name: &'static str,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows, one number per column, in the column's base unit.
    pub rows: Vec<Vec<u64>>,
    /// Formula of the values.
    pub formula: &'static str,
    /// Source of the formula.
    pub source: &'static str,
}

/// A condition that does not hold. xoff accepts the parameters, but the guarantee of the source no
/// longer holds.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Warning {
    /// The condition that is violated, as a formula: stable, so that scripts can match it.
    pub condition: &'static str,
    /// The fix, if there is one, as an imperative; after a colon the problem, with numbers, and its
    /// consequence.
    pub text: String,
    /// Source of the condition.
    pub source: &'static str,
}

impl Warning {
    /// The problem with its consequence, and the fix.
    pub fn parts(&self) -> (&str, Option<&str>) {
        let is_fix = |text: &str| {
            ["set ", "use ", "raise ", "check "].iter().any(|verb| text.starts_with(verb))
        };
        match self.text.split_once(": ") {
            Some((fix, problem)) if is_fix(fix) => (problem, Some(fix)),
            _ => (&self.text, None),
        }
    }
}

/// Values to set, with their reasons and assumptions.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Answer {
    /// Rows of the plan to set, for one lossless priority of one port.
    pub set: Vec<PlanRow>,
    /// Reasons for these numbers.
    pub why: Vec<String>,
    /// Assumptions behind these numbers that the plan cannot check.
    pub check: Vec<String>,
    /// Numbers in the keys of xoff scenarios and of SONiC.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apply: Vec<String>,
}

impl Answer {
    /// Sets the rows with these symbols, in this order.
    pub fn of(rows: &[PlanRow], symbols: &[&str]) -> Answer {
        let row = |symbol: &&str| rows.iter().find(|r| r.symbol == *symbol).cloned();
        Answer { set: symbols.iter().filter_map(row).collect(), ..Answer::default() }
    }
}

/// The value of another rule for the quantity that the answer sets.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Evidence {
    /// The rule and its value; one of the rows of the plan as well.
    #[serde(flatten)]
    pub row: PlanRow,
    /// Name that selects it; "": it has none.
    pub choice: &'static str,
    /// Whether the answer sets this rule's value.
    pub chosen: bool,
    /// Value minus the one that the answer sets [bytes].
    pub difference: i64,
    /// Contributions that the rule counts.
    pub counts: &'static str,
    /// Contributions that the rule omits.
    pub leaves_out: &'static str,
}

/// Settings of one direction of a link for one priority, with reasons.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Plan {
    /// The flow control planned for.
    pub flow_control: String,
    /// The detection planned for, on a link with this flow control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detection: Option<String>,
    /// Settings, their reasons, and things to check.
    pub answer: Answer,
    /// The values of other rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// The planned quantities, inputs first.
    pub rows: Vec<PlanRow>,
    /// Tables, such as the stage table.
    pub tables: Vec<Table>,
    /// Conditions that do not hold.
    pub warnings: Vec<Warning>,
}

impl Plan {
    /// The row with this symbol.
    pub fn row(&self, symbol: &str) -> Option<&PlanRow> {
        self.rows.iter().find(|r| r.symbol == symbol)
    }
    /// The exact whole number of the row with this symbol, in its base unit.
    pub fn integer(&self, symbol: &str) -> Option<u64> {
        match self.row(symbol)?.value_exact {
            Exact::Integer(v) => Some(v),
            Exact::Real(_) => None,
        }
    }
}
