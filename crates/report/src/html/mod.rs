//! The report: one HTML file that opens anywhere, prints well, and asks nothing of the network.

mod page;

use crate::{Figure, Table, Tone};

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
    Table(Table),
    /// Drawn once, when it is added.
    Figure {
        svg: String,
        /// The drawing for a phone.
        narrow: String,
        caption: String,
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

    /// A word or a number next to the heading.
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

    /// A table.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.blocks.push(Block::Table(table));
        self
    }

    /// A figure with its caption.
    #[must_use]
    pub fn figure(mut self, figure: &Figure) -> Self {
        self.blocks.push(Block::Figure {
            svg: figure.to_svg(),
            narrow: figure.to_narrow_svg(),
            caption: figure.caption.clone(),
        });
        self
    }
}

/// A report, built part by part.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Report {
    title: String,
    lead: Vec<String>,
    cards: Vec<Card>,
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

    /// Appends a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// A table at the end that opens on demand, and is open when printed: the plan of a sweep.
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
}
