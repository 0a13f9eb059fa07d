//! An entry of a paper: statement of the paper, expected result and assumptions. Data, not code.

use xoff_scenario::Problems;
use xoff_scenario::document::{Document, SectionSpec};
use xoff_units::params::{Kind, ParamSpec, Values};

use crate::{Context, Findings, ReproduceError};

/// Keys of an entry file.
const ENTRY: &[ParamSpec] = &[
    ParamSpec::required("title", Kind::Text, "title of the figure or table, one line"),
    ParamSpec::required("paper", Kind::Text, "the paper's statement, with its numbers"),
    ParamSpec::required("band", Kind::Text, "expected result, in words"),
    ParamSpec {
        key: "assumptions",
        kind: Kind::Texts,
        default: None,
        optional: true,
        doc: "what the paper leaves open, and what xoff assumes",
        source: "",
        renamed_from: &[],
    },
    ParamSpec {
        key: "kind",
        kind: Kind::Choice(&["claim", "extension"]),
        default: Some("claim"),
        optional: false,
        doc: "claim: of the paper, judged; extension: not in the paper, with findings, outside the count",
        source: "",
        renamed_from: &[],
    },
    ParamSpec {
        key: "changes",
        kind: Kind::Texts,
        default: None,
        optional: true,
        doc: "bands changed after the data were seen: the date, a colon, the change and its reason",
        source: "",
        renamed_from: &[],
    },
    ParamSpec {
        key: "scenarios",
        kind: Kind::Texts,
        default: None,
        optional: true,
        doc: "scenario files in the same folder that the claim runs",
        source: "",
        renamed_from: &[],
    },
];

/// One figure, table or claim of a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Short name, `fig09`.
    pub id: &'static str,
    /// Title, one line.
    pub title: String,
    /// Statement of the paper, with its numbers.
    pub paper: String,
    /// Expected result, in words.
    pub band: String,
    /// An extension: its findings are no claim of the paper and are not counted.
    pub is_extension: bool,
    /// Points that the paper leaves open, with the assumption of xoff.
    pub assumptions: Vec<String>,
    /// Bands changed after the data were seen, each with date and reason.
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
                is_extension: s.text("kind")? == "extension",
                assumptions: s.texts("assumptions")?,
                changes: s.texts("changes")?,
                scenarios: s.texts("scenarios")?,
            })
        });
        doc.finish()?;
        Ok(read.expect("a document without problems was read"))
    }
}
