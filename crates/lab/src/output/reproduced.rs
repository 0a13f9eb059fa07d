//! Results of a reproduction, for programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::judged::JudgedCheck;
use crate::{Context, Judged, Report, Verdict};

/// Claims of a paper that were run.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Claims")]
pub struct Reproduced<'a> {
    /// Short name of the paper.
    pub paper: &'a str,
    /// `quick` or `full`.
    pub mode: &'static str,
    /// Seed of every random stream.
    pub seed: u64,
    /// Every requested claim has run.
    pub complete: bool,
    /// The claims, in the order of the paper.
    #[serde(rename = "claims")]
    pub entries: Vec<JudgedEntry<'a>>,
}

/// A figure, table or claim of the paper, with its verdict.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "JudgedClaim")]
pub struct JudgedEntry<'a> {
    /// Short name.
    pub id: &'a str,
    /// Title of the figure, table or claim.
    pub title: &'a str,
    /// Statement of the paper.
    pub paper: &'a str,
    /// Measured values, in words.
    pub measured: &'a str,
    /// Expected result, in words.
    pub band: &'a str,
    /// The verdict; computed from the checks, or `extension`.
    pub verdict: Verdict,
    /// Points that the paper leaves open, with the assumption of xoff.
    pub assumptions: &'a [String],
    /// Main figure, below the folder of the results; null if there is none.
    pub figure: Option<&'a str>,
    /// Bands changed after the data were seen, each with date and reason.
    pub changes: &'a [String],
    /// Checks with their results.
    pub checks: &'a [JudgedCheck],
    /// Reasons for a deviation from the paper, with computed evidence.
    pub why: &'a [String],
    /// Notes.
    pub notes: &'a [String],
}

impl<'a> Reproduced<'a> {
    /// Builds the answer from a report.
    pub fn of(report: &'a Report, cx: &Context) -> Self {
        let entries = report.entries.iter().map(JudgedEntry::of).collect();
        Reproduced { paper: report.paper.id, mode: cx.mode.name(), seed: cx.seed, complete: !report.interrupted, entries }
    }
}

impl<'a> JudgedEntry<'a> {
    fn of(e: &'a Judged) -> Self {
        JudgedEntry {
            id: &e.id,
            title: &e.title,
            paper: &e.paper,
            measured: &e.measured,
            band: &e.band,
            verdict: e.verdict,
            assumptions: &e.assumptions,
            changes: &e.changes,
            figure: e.figure.as_deref(),
            checks: &e.checks,
            why: &e.why,
            notes: &e.notes,
        }
    }
}
