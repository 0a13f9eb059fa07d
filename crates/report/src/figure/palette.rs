//! Colours that colour-blind readers can distinguish (after Okabe and Ito, without yellow, which
//! vanishes on white).

use maud::{Markup, PreEscaped, html};

/// A colour of the palette. Give a scheme the same colour in every figure of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// First in the automatic order.
    Blue,
    /// Second.
    Vermilion,
    /// Third.
    Green,
    /// Fourth.
    Purple,
    /// Fifth.
    Orange,
    /// Sixth.
    Sky,
    /// Seventh.
    Grey,
    /// Only on request.
    Brown,
    /// The colour of text; only on request.
    Ink,
}

impl Colour {
    /// The automatic order.
    pub const ALL: [Colour; 7] = [
        Colour::Blue,
        Colour::Vermilion,
        Colour::Green,
        Colour::Purple,
        Colour::Orange,
        Colour::Sky,
        Colour::Grey,
    ];

    /// All colours, with their names in style sheets.
    pub const NAMED: [(&'static str, Colour); 9] = [
        ("blue", Colour::Blue),
        ("vermilion", Colour::Vermilion),
        ("green", Colour::Green),
        ("purple", Colour::Purple),
        ("orange", Colour::Orange),
        ("sky", Colour::Sky),
        ("grey", Colour::Grey),
        ("brown", Colour::Brown),
        ("ink", Colour::Ink),
    ];

    /// On a light page.
    pub const fn hex(self) -> &'static str {
        self.pair().0
    }

    /// On a dark page.
    pub const fn dark(self) -> &'static str {
        self.pair().1
    }

    const fn pair(self) -> (&'static str, &'static str) {
        match self {
            Colour::Blue => ("#0072b2", "#4fb0ea"),
            Colour::Vermilion => ("#d55e00", "#ff8a4a"),
            Colour::Green => ("#009e73", "#35c79b"),
            Colour::Purple => ("#b5609a", "#d88cc2"),
            Colour::Orange => ("#e69f00", "#f0b429"),
            Colour::Sky => ("#56b4e9", "#8accf5"),
            Colour::Grey => ("#6b7280", "#9aa5b1"),
            Colour::Brown => ("#7a4a12", "#b98a4e"),
            Colour::Ink => (INK, "#e4e9ee"),
        }
    }
}

/// A deadlock, on a light and on a dark page. No mechanism has this colour.
pub const DEADLOCK: (&str, &str) = ("#b00020", "#ff6b7a");

/// Text and frame colours.
pub(crate) const INK: &str = "#1f2933";
pub(crate) const MUTED: &str = "#52606d";
pub(super) const GRID: &str = "#e4e7eb";
pub(super) const MINOR_GRID: &str = "#f2f4f6";
pub(super) const FRAME: &str = "#9aa5b1";

/// Colours of a dark page, by those of a light one. Text on a cell or box with a light colour of
/// its own keeps its ink.
const DARK: &[(&str, &str)] = &[
    (INK, "#e4e9ee"),
    (MUTED, "#a3b0bc"),
    (GRID, "#2a323a"),
    (MINOR_GRID, "#20272e"),
    (FRAME, "#55626e"),
    Colour::Blue.pair(),
    Colour::Vermilion.pair(),
    Colour::Green.pair(),
    Colour::Purple.pair(),
    Colour::Orange.pair(),
    Colour::Sky.pair(),
    Colour::Grey.pair(),
];

/// A style sheet inside a drawing: dark where its reader's screen is, light on paper and in
/// programs without style sheets.
pub(crate) fn theme() -> Markup {
    let mut rules =
        format!("svg.xoff-figure{{fill:{}}}.xoff-figure .paper{{fill:#161b21}}", DARK[0].1);
    for (light, dark) in DARK {
        rules.push_str(&format!(".xoff-figure [fill=\"{light}\"]{{fill:{dark}}}.xoff-figure [stroke=\"{light}\"]{{stroke:{dark}}}"));
    }
    for ink in [INK, MUTED] {
        rules.push_str(&format!(".xoff-figure .cell [fill=\"{ink}\"]{{fill:{ink}}}"));
    }
    html! { style { (PreEscaped(format!("@media screen and (prefers-color-scheme:dark){{{rules}}}"))) } }
}

/// Names of a figure so far and their styles, in order of appearance.
#[derive(Default)]
pub(super) struct Colours {
    taken: Vec<Taken>,
    references: Vec<String>,
}

struct Taken {
    name: String,
    colour: Colour,
    /// Count of names with this colour before, for an automatic colour.
    repeat: usize,
}

impl Colours {
    /// Reserves the requested colours, so that no automatic one collides with them.
    pub(super) fn reserve(&mut self, name: &str, colour: Colour) {
        if !self.taken.iter().any(|taken| taken.name == name) {
            self.taken.push(Taken { name: name.to_owned(), colour, repeat: 0 });
        }
    }

    /// The colour of a name, the same in the whole figure. Beyond seven names colours repeat.
    pub(super) fn of(&mut self, name: &str) -> Colour {
        if let Some(taken) = self.taken.iter().find(|taken| taken.name == name) {
            return taken.colour;
        }
        let uses =
            |colour: Colour| self.taken.iter().filter(|taken| taken.colour == colour).count();
        // The first of the least used; `min_by_key` takes the first among equals.
        let colour =
            Colour::ALL.into_iter().min_by_key(|colour| uses(*colour)).unwrap_or(Colour::Blue);
        let repeat = uses(colour);
        self.taken.push(Taken { name: name.to_owned(), colour, repeat });
        colour
    }

    /// Dashes of a name's line: as asked, or because its colour had to be used again.
    pub(super) fn dash(&self, name: &str, dashed: bool) -> Option<&'static str> {
        let repeat =
            self.taken.iter().find(|taken| taken.name == name).map_or(0, |taken| taken.repeat);
        match (dashed, repeat) {
            (true, _) => Some("5 3"),
            (false, 0) => None,
            (false, 1) => Some("8 2"),
            (false, 2) => Some("2 2"),
            (false, _) => Some("8 2 2 2"),
        }
    }

    /// Number of a reference line: one label has one style in the whole figure.
    pub(super) fn reference(&mut self, label: &str) -> usize {
        self.references.iter().position(|other| other == label).unwrap_or_else(|| {
            self.references.push(label.to_owned());
            self.references.len() - 1
        })
    }
}
