//! An entry and its result, as stored in files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_report::{Align, Cell, Column, Table, Tone};

use crate::{CANNOT_FAIL, Check, Entry, Findings, Verdict};

/// A figure that was drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// File below the folder of the results.
    pub file: String,
    /// The same for a phone.
    #[serde(default)]
    pub narrow: String,
    /// Heading of the figure.
    pub title: String,
    /// Caption.
    pub caption: String,
}

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct JudgedCheck {
    /// Name of the measured quantity.
    pub what: String,
    /// Measured value with its unit; a mean with its 95 % interval, which must be in the range as a whole.
    pub measured: String,
    /// Accepted range with its unit.
    pub expected: String,
    /// The paper's value with its unit; empty if it has none.
    pub paper: String,
    /// Source of the range: `paper`, `recomputed`, `closed form`, `chosen around the paper's number`, `chosen for the paper's words` or
    /// `chosen`.
    pub source: String,
    /// Assumption that the paper does not state; empty if none.
    #[serde(default)]
    pub assumption: String,
    /// A value that would fail the check.
    #[serde(default)]
    pub fails_at: String,
    /// True if the check holds.
    pub holds: bool,
}

impl From<&Check> for JudgedCheck {
    fn from(c: &Check) -> Self {
        JudgedCheck {
            what: c.what.clone(),
            measured: c.measured(),
            expected: c.range(),
            paper: c.paper.map(|p| c.unit.format(p)).unwrap_or_default(),
            source: c.source.name().into(),
            assumption: c.assumption.clone().unwrap_or_default(),
            fails_at: c.fails_at_words(),
            holds: c.holds(),
        }
    }
}

/// An entry and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Short name.
    pub id: String,
    /// Title of the figure, table or claim.
    pub title: String,
    /// Statement of the paper.
    pub paper: String,
    /// Measured values, in words.
    pub measured: String,
    /// Expected result, in words.
    pub band: String,
    /// Verdict, computed from the checks.
    pub verdict: Verdict,
    /// Points that the paper leaves open, with the assumption of xoff.
    pub assumptions: Vec<String>,
    /// Bands changed after the data were seen, each with date and reason.
    #[serde(default)]
    pub changes: Vec<String>,
    /// Main figure, below the folder of the results.
    pub figure: Option<String>,
    /// All figures.
    pub figures: Vec<Picture>,
    /// Checks with their results.
    pub checks: Vec<JudgedCheck>,
    /// Reasons for a deviation from the paper, with computed evidence.
    pub why: Vec<String>,
    /// Notes.
    pub notes: Vec<String>,
    /// Tables that accompany the figures.
    #[serde(with = "tables")]
    pub tables: Vec<Table>,
}

impl Judged {
    /// The entry with its findings; `figures` are the drawn ones.
    pub fn new(entry: &Entry, found: &Findings, figures: Vec<Picture>) -> Judged {
        let mut assumptions = entry.assumptions.clone();
        assumptions.extend(found.assumed().into_iter().filter(|a| !entry.assumptions.contains(a)));
        let failed = found.failed().map(|c| match c.failing_example() {
            Some(_) => format!("failed: {}", c.sentence()),
            None => format!("{CANNOT_FAIL}: {}", c.sentence()),
        });
        Judged {
            id: entry.id.into(),
            title: entry.title.clone(),
            paper: entry.paper.clone(),
            measured: found.measured.clone(),
            band: entry.band.clone(),
            verdict: if entry.is_extension { Verdict::Extension } else { found.verdict() },
            assumptions,
            changes: entry.changes.clone(),
            figure: figures.first().map(|f| f.file.clone()),
            figures,
            checks: found.checks.iter().map(JudgedCheck::from).collect(),
            why: failed.chain(found.why.iter().cloned()).collect(),
            notes: found.notes.clone(),
            tables: found.tables.clone(),
        }
    }

    /// The colour of its verdict.
    pub fn tone(&self) -> Tone {
        match self.verdict {
            Verdict::Reproduced => Tone::Good,
            Verdict::UnderAssumption => Tone::Caution,
            Verdict::NotReproduced => Tone::Bad,
            Verdict::Extension => Tone::Info,
        }
    }

    /// Heading of the table of checks.
    pub fn checks_name(&self) -> &'static str {
        if self.verdict == Verdict::Extension { "Findings" } else { "Checks" }
    }

    /// The checks as a table.
    pub fn checks_table(&self) -> Table {
        use Align::{Centre, Left, Right};
        let columns = ["Check", "Measured", "Expected", "Paper", "Range from", "Would fail at", "Holds"];
        let mut table = Table::new(columns).align([Left, Right, Right, Right, Left, Right, Centre]);
        for c in &self.checks {
            let holds = if c.holds { Cell::badge(Tone::Good, "yes") } else { Cell::badge(Tone::Bad, "no") };
            let source = if c.assumption.is_empty() { c.source.clone() } else { format!("{}, assuming: {}", c.source, c.assumption) };
            let texts = [&c.what, &c.measured, &c.expected, &c.paper, &source, &c.fails_at].map(|t| Cell::Text(t.clone()));
            table.push(texts.into_iter().chain([holds]));
        }
        table
    }
}

/// Tables as they are kept in files.
mod tables {
    use super::*;
    use serde::{Deserializer, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Kept {
        caption: Option<String>,
        columns: Vec<(String, u8)>,
        rows: Vec<Vec<KeptCell>>,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum KeptCell {
        Text(String),
        Code(String),
        Badge(u8, String),
        Link(String, String),
    }

    const ALIGN: [Align; 3] = [Align::Left, Align::Right, Align::Centre];
    const TONES: [Tone; 5] = [Tone::Good, Tone::Caution, Tone::Bad, Tone::Info, Tone::Neutral];

    fn place<T: PartialEq>(all: &[T], one: &T) -> u8 {
        all.iter().position(|a| a == one).unwrap_or(0) as u8
    }

    pub fn serialize<S: Serializer>(all: &[Table], s: S) -> Result<S::Ok, S::Error> {
        let cell = |c: &Cell| match c {
            Cell::Text(t) => KeptCell::Text(t.clone()),
            Cell::Code(t) => KeptCell::Code(t.clone()),
            Cell::Badge(tone, t) => KeptCell::Badge(place(&TONES, tone), t.clone()),
            Cell::Link { text, href } => KeptCell::Link(text.clone(), href.clone()),
        };
        let kept = all.iter().map(|t| Kept {
            caption: t.caption.clone(),
            columns: t.columns.iter().map(|c| (c.name.clone(), place(&ALIGN, &c.align))).collect(),
            rows: t.rows.iter().map(|r| r.iter().map(cell).collect()).collect(),
        });
        s.collect_seq(kept)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Table>, D::Error> {
        let cell = |c: KeptCell| match c {
            KeptCell::Text(t) => Cell::Text(t),
            KeptCell::Code(t) => Cell::Code(t),
            KeptCell::Badge(tone, t) => Cell::Badge(TONES.get(tone as usize).copied().unwrap_or_default(), t),
            KeptCell::Link(text, href) => Cell::Link { text, href },
        };
        let table = |k: Kept| Table {
            caption: k.caption,
            columns: k
                .columns
                .into_iter()
                .map(|(name, a)| Column { name, align: ALIGN.get(a as usize).copied().unwrap_or_default() })
                .collect(),
            rows: k.rows.into_iter().map(|r| r.into_iter().map(cell).collect()).collect(),
        };
        Ok(Vec::<Kept>::deserialize(d)?.into_iter().map(table).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_report::Unit;

    #[test]
    fn an_entry_comes_back_from_its_file() {
        let mut entry = Entry {
            id: "fig01",
            title: "t".into(),
            paper: "p".into(),
            band: "b".into(),
            is_extension: false,
            assumptions: vec!["a".into()],
            changes: vec!["2026-11-23: c".into()],
            scenarios: vec![],
        };
        let table =
            Table::new(["x", "y"]).align([Align::Left, Align::Right]).row([Cell::code("1"), Cell::badge(Tone::Bad, "no")]).caption("c");
        let checks = vec![Check::none("lost", "frames", 2), Check::near("q", Unit::Bytes, 1e3, 1e3, 0.1).assuming("z")];
        let found = Findings { checks, tables: vec![table], measured: "m".into(), ..Findings::default() };
        let judged = Judged::new(&entry, &found, vec![]);
        assert_eq!(judged.verdict, Verdict::NotReproduced);
        assert_eq!(judged.why, ["failed: lost: 2 frames, expected 0 frames"]);
        assert_eq!(judged.assumptions, ["a", "z"]);
        let text = serde_json::to_string(&judged).unwrap();
        assert_eq!(serde_json::from_str::<Judged>(&text).unwrap(), judged);
        entry.is_extension = true;
        assert_eq!(Judged::new(&entry, &found, vec![]).verdict, Verdict::Extension);
    }
}
