//! The report: one HTML file that opens anywhere, prints well, and asks nothing of the network.

mod page;

use xoff_record::output::OutputError;

use crate::{Figure, Table, Tone};
use std::path::Path;

/// One number at the top of the report.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Card {
    /// Label, such as "Frames lost".
    pub label: String,
    /// The number with its unit: "0".
    pub value: String,
    /// A few words under it; may be empty.
    pub note: String,
    /// Colour of its edge.
    pub tone: Tone,
}

impl Card {
    /// A card without judgement.
    pub fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Card { label: label.into(), value: value.into(), ..Card::default() }
    }

    /// Adds a few words under the value.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Sets the colour of the edge.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq)]
enum Block {
    Text(String),
    Pre(String),
    Table(Table),
    /// Drawn once, when it is added.
    Figure {
        svg: String,
        /// The drawing for a phone.
        narrow: String,
        caption: String,
    },
    Details {
        summary: String,
        table: Table,
    },
}

/// A heading with blocks under it, in the order in which they were added.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Section {
    title: String,
    badge: Option<(Tone, String)>,
    blocks: Vec<Block>,
}

impl Section {
    /// A section without content.
    pub fn new(title: impl Into<String>) -> Self {
        Section { title: title.into(), ..Section::default() }
    }

    /// A verdict next to the heading.
    #[must_use]
    pub fn badge(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.badge = Some((tone, text.into()));
        self
    }

    /// A paragraph; text between backticks is set as code.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    /// Lines set as they are, e.g. a causal chain or a cycle.
    #[must_use]
    pub fn pre(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Pre(text.into()));
        self
    }

    /// A table.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.blocks.push(Block::Table(table));
        self
    }

    /// A figure with its caption.
    #[must_use]
    pub fn figure(mut self, figure: &Figure) -> Self {
        self.blocks.push(Block::Figure { svg: figure.to_svg(), narrow: figure.to_narrow_svg(), caption: figure.caption.clone() });
        self
    }

    /// A figure that was drawn before, as [`Figure::to_svg`] and [`Figure::to_narrow_svg`] gave it, with its caption.
    #[must_use]
    pub fn drawn(mut self, svg: impl Into<String>, narrow: impl Into<String>, caption: impl Into<String>) -> Self {
        self.blocks.push(Block::Figure { svg: svg.into(), narrow: narrow.into(), caption: caption.into() });
        self
    }

    /// A table that opens on demand; open when printed.
    #[must_use]
    pub fn details(mut self, summary: impl Into<String>, table: Table) -> Self {
        self.blocks.push(Block::Details { summary: summary.into(), table });
        self
    }
}

/// A report, built part by part.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Report {
    title: String,
    lead: Vec<String>,
    cards: Vec<Card>,
    verdicts: Option<Table>,
    sections: Vec<Section>,
    details: Vec<(String, Table)>,
    provenance: Vec<(String, String)>,
}

impl Report {
    /// A report without content.
    pub fn new(title: impl Into<String>) -> Self {
        Report { title: title.into(), ..Report::default() }
    }

    /// A paragraph under the title.
    #[must_use]
    pub fn lead(mut self, text: impl Into<String>) -> Self {
        self.lead.push(text.into());
        self
    }

    /// The numbers at the top.
    #[must_use]
    pub fn cards(mut self, cards: impl IntoIterator<Item = Card>) -> Self {
        self.cards.extend(cards);
        self
    }

    /// The table that answers the question, right under the cards.
    #[must_use]
    pub fn verdicts(mut self, table: Table) -> Self {
        self.verdicts = Some(table);
        self
    }

    /// Appends a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// A table at the end that opens on demand, e.g. the parameters with where each came from.
    #[must_use]
    pub fn details(mut self, summary: impl Into<String>, table: Table) -> Self {
        self.details.push((summary.into(), table));
        self
    }

    /// A line of the footer: version, seed, result hash. Long values can be selected whole.
    #[must_use]
    pub fn provenance(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.provenance.push((name.into(), value.into()));
        self
    }

    /// The page as text. Same data, same bytes.
    pub fn to_html(&self) -> String {
        crate::printable(page::draw(self).into_string())
    }

    /// Writes the page to a file: whole or not at all.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), OutputError> {
        xoff_record::output::write(path.as_ref(), self.to_html().as_bytes())
    }
}

/// A link target, if it cannot run anything: relative, `http`, `https` or a fragment.
pub(crate) fn safe_href(href: &str) -> Option<&str> {
    let scheme = href.split(['/', '?', '#']).next().unwrap_or("");
    let allowed = !scheme.contains(':') || matches!(scheme.to_ascii_lowercase().as_str(), "http:" | "https:");
    let clean = !href.is_empty() && !href.chars().any(char::is_control) && href.trim() == href;
    (allowed && clean).then_some(href)
}
