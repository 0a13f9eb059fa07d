//! The tests, in the order of the draft.

mod balancing;
mod convergence;
mod deadlock;
mod failure;
mod incast;
mod jct;
mod tenants;

use std::collections::BTreeMap;

use xoff_report::Unit;

use crate::bench::dut::Dut;
use crate::bench::seen::Seen;

/// A performance indicator of a test.
pub(crate) struct Kpi {
    /// Name for programs; its unit last.
    pub name: &'static str,
    /// Name in tables.
    pub label: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Unit for programs.
    pub base: &'static str,
    /// Definition.
    pub doc: &'static str,
}

/// A test of the draft.
pub(crate) struct Test {
    /// Name on the command line.
    pub id: &'static str,
    /// Sections of the draft.
    pub sections: &'static str,
    /// Title there.
    pub title: &'static str,
    /// Measured quantity and its method.
    pub definition: &'static str,
    /// Names of what differs between its cases.
    pub labels: &'static [&'static str],
    /// Indicators, the primary one first.
    pub kpis: &'static [Kpi],
    /// A loss is a result, because a link fails.
    pub excuses_loss: bool,
    /// Makes its cases.
    pub prepare: fn(&Dut) -> Prepared,
}

/// Values of a run, by the names of indicators; NaN: none.
pub(crate) type Values = Vec<(&'static str, f64)>;

/// A scenario of a test.
pub(crate) struct Case {
    /// Difference from the draft.
    pub labels: Vec<String>,
    /// Name of its file, without its ending.
    pub name: String,
    /// Text of the scenario.
    pub text: String,
    /// Reads the values of a run.
    pub measure: Box<dyn Fn(&Seen<'_>) -> Values + Send + Sync>,
}

/// Runs of a case: its values by seed; `None`: no result.
pub(crate) struct Measured<'c> {
    /// The case.
    pub case: &'c Case,
    /// Values of each seed.
    pub seeds: Vec<Option<BTreeMap<String, f64>>>,
}

impl Measured<'_> {
    /// A value by seed.
    pub fn values(&self, name: &str) -> Vec<f64> {
        let one = |seed: &Option<BTreeMap<String, f64>>| {
            seed.as_ref().and_then(|v| v.get(name).copied()).unwrap_or(f64::NAN)
        };
        self.seeds.iter().map(one).collect()
    }
}

/// A row of results: what differs, and the values of each indicator by seed.
pub(crate) struct Row {
    /// As the labels of the test.
    pub labels: Vec<String>,
    /// Values of each indicator by seed.
    pub values: Vec<Vec<f64>>,
}

/// Makes rows of measured cases.
type Rows = fn(&[Kpi], &[Measured<'_>]) -> Vec<Row>;

/// Cases of a test, or why there are none.
pub(crate) enum Prepared {
    /// It runs.
    Cases {
        /// The cases.
        cases: Vec<Case>,
        /// Makes the rows.
        rows: Rows,
        /// Findings without a run, and choices, one sentence each.
        notes: Vec<String>,
        /// Differences from the draft, one sentence each.
        deviations: Vec<String>,
    },
    /// It does not apply to this fabric.
    NotApplicable(String),
}

/// All tests.
pub(crate) const ALL: [&Test; 7] = [
    &incast::TEST,
    &convergence::TEST,
    &deadlock::TEST,
    &balancing::TEST,
    &jct::TEST,
    &tenants::TEST,
    &failure::TEST,
];

/// Sources of the measures: results that are kept are those of these texts.
pub(crate) const SOURCES: [&str; 8] = [
    include_str!("../seen.rs"),
    include_str!("balancing.rs"),
    include_str!("convergence.rs"),
    include_str!("deadlock.rs"),
    include_str!("failure.rs"),
    include_str!("incast.rs"),
    include_str!("jct.rs"),
    include_str!("tenants.rs"),
];

/// A row for each case that has a result.
fn each_case(kpis: &[Kpi], cases: &[Measured<'_>]) -> Vec<Row> {
    let row = |m: &Measured<'_>| Row {
        labels: m.case.labels.clone(),
        values: kpis.iter().map(|k| m.values(k.name)).collect(),
    };
    cases.iter().filter(|m| m.seeds.iter().any(Option::is_some)).map(row).collect()
}

/// Quotients by seed: the same traffic under two conditions.
fn over(above: &[f64], below: &[f64]) -> Vec<f64> {
    above.iter().zip(below).map(|(a, b)| a / b).collect()
}

const fn plain(name: &'static str, label: &'static str, doc: &'static str) -> Kpi {
    Kpi { name, label, unit: Unit::None, base: "", doc }
}
const fn share(name: &'static str, label: &'static str, doc: &'static str) -> Kpi {
    Kpi { name, label, unit: Unit::Fraction, base: "share of 1", doc }
}
const fn time(name: &'static str, label: &'static str, doc: &'static str) -> Kpi {
    Kpi { name, label, unit: Unit::Picoseconds, base: "ps", doc }
}
const fn rate(name: &'static str, label: &'static str, doc: &'static str) -> Kpi {
    Kpi { name, label, unit: Unit::BitsPerSecond, base: "bit/s", doc }
}
const fn bytes(name: &'static str, label: &'static str, doc: &'static str) -> Kpi {
    Kpi { name, label, unit: Unit::Bytes, base: "bytes", doc }
}

#[cfg(test)]
mod listed {
    use super::*;

    #[test]
    fn the_sources_are_all_tests() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bench/cases");
        let files = std::fs::read_dir(folder).unwrap().count();
        // This file measures nothing, `seen.rs` is elsewhere.
        assert_eq!((files, SOURCES.len()), (ALL.len() + 1, ALL.len() + 1));
    }
}
