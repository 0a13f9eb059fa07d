//! An entry of a paper: what the paper says, what is expected here, and what it assumes. Data, not code.

use xoff_params::{Kind, ParamSpec, Values};
use xoff_scenario::Problems;
use xoff_scenario::document::{Document, SectionSpec};

use crate::{Context, Findings, ReproduceError};

/// Keys of an entry file.
const ENTRY: &[ParamSpec] = &[
    ParamSpec::required("title", Kind::Text, "what the figure or table shows, one line"),
    ParamSpec::required("paper", Kind::Text, "what the paper says, with its numbers"),
    ParamSpec::required("band", Kind::Text, "what is expected here, in words"),
    ParamSpec {
        key: "assumptions",
        kind: Kind::Texts,
        default: None,
        optional: true,
        doc: "what the paper leaves open and how it is filled",
        source: "",
        renamed_from: &[],
    },
    ParamSpec {
        key: "kind",
        kind: Kind::Choice(&["claim", "study"]),
        default: Some("claim"),
        optional: false,
        doc: "claim: the paper's, judged; study: ours, with findings and outside the count",
        source: "",
        renamed_from: &[],
    },
    ParamSpec {
        key: "changes",
        kind: Kind::Texts,
        default: None,
        optional: true,
        doc: "changes of bands after data were seen: the date, a colon, what changed and why",
        source: "",
        renamed_from: &[],
    },
    ParamSpec {
        key: "scenarios",
        kind: Kind::Texts,
        default: None,
        optional: true,
        doc: "scenario files beside this one that the entry runs",
        source: "",
        renamed_from: &[],
    },
];

/// One figure, table or claim of a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Short name, `fig09`.
    pub id: &'static str,
    /// What it shows, one line.
    pub title: String,
    /// What the paper says, with its numbers.
    pub paper: String,
    /// What is expected here, in words.
    pub band: String,
    /// Ours: what it finds is no claim of the paper, and it has no part in the count.
    pub is_study: bool,
    /// What the paper leaves open and how it is filled.
    pub assumptions: Vec<String>,
    /// Changes of its bands after data were seen, each with date and reason.
    pub changes: Vec<String>,
    /// Scenario files the entry runs.
    pub scenarios: Vec<String>,
}

/// An entry's place in the registry: its text and its code.
pub struct Item {
    /// Short name.
    pub id: &'static str,
    /// The entry file.
    pub text: &'static str,
    /// Runs it.
    pub run: fn(&Context) -> Result<Findings, ReproduceError>,
}

impl Item {
    /// The entry, read.
    pub fn entry(&self) -> Result<Entry, Problems> {
        let doc = Document::from_text(&format!("{}.entry.toml", self.id), self.text, &[])?;
        let spec = SectionSpec::once("entry", "The entry.", vec![ENTRY]).required();
        let read = doc.open(&spec).take(|s| {
            Ok(Entry {
                id: self.id,
                title: s.text("title")?,
                paper: s.text("paper")?,
                band: s.text("band")?,
                is_study: s.text("kind")? == "study",
                assumptions: s.texts("assumptions")?,
                changes: s.texts("changes")?,
                scenarios: s.texts("scenarios")?,
            })
        });
        doc.finish()?;
        Ok(read.expect("a document without problems was read"))
    }
}
