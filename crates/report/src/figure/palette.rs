//! Colours that remain apart for colour-blind readers (after Okabe and Ito, without yellow, which vanishes on white).

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
}

impl Colour {
    /// The automatic order.
    pub const ALL: [Colour; 7] =
        [Colour::Blue, Colour::Vermilion, Colour::Green, Colour::Purple, Colour::Orange, Colour::Sky, Colour::Grey];

    /// As SVG wants it.
    pub fn hex(self) -> &'static str {
        match self {
            Colour::Blue => "#0072b2",
            Colour::Vermilion => "#d55e00",
            Colour::Green => "#009e73",
            Colour::Purple => "#b5609a",
            Colour::Orange => "#e69f00",
            Colour::Sky => "#56b4e9",
            Colour::Grey => "#6b7280",
        }
    }
}

/// Text and frame colours.
pub(super) const INK: &str = "#1f2933";
pub(super) const MUTED: &str = "#52606d";
pub(super) const GRID: &str = "#e4e7eb";
pub(super) const MINOR_GRID: &str = "#f2f4f6";
pub(super) const FRAME: &str = "#9aa5b1";

/// Names seen so far in a figure and the colour each has, in order of appearance.
#[derive(Default)]
pub(super) struct Colours {
    taken: Vec<(String, Colour)>,
}

impl Colours {
    /// Reserves the colours that were asked for, so that no automatic one collides with them.
    pub(super) fn reserve(&mut self, name: &str, colour: Colour) {
        if !self.taken.iter().any(|(known, _)| known == name) {
            self.taken.push((name.to_owned(), colour));
        }
    }

    /// The colour of a name: one name, one colour in the whole figure. Beyond seven names colours repeat.
    pub(super) fn of(&mut self, name: &str) -> Colour {
        if let Some((_, colour)) = self.taken.iter().find(|(known, _)| known == name) {
            return *colour;
        }
        let uses = |colour: Colour| self.taken.iter().filter(|(_, taken)| *taken == colour).count();
        // The first of the least used; `min_by_key` takes the first among equals.
        let colour = Colour::ALL.into_iter().min_by_key(|colour| uses(*colour)).unwrap_or(Colour::Blue);
        self.taken.push((name.to_owned(), colour));
        colour
    }
}

/// Fill of a level in 0 .. 1, light to dark blue, and the text colour that is readable on it.
pub(super) fn level(level: f64) -> (String, &'static str) {
    let at = if level.is_finite() { level.clamp(0.0, 1.0) } else { 0.0 };
    let mix = |from: f64, to: f64| (from + (to - from) * at).round() as u8;
    let fill = format!("#{:02x}{:02x}{:02x}", mix(240.0, 8.0), mix(246.0, 69.0), mix(252.0, 124.0));
    (fill, if at > 0.55 { "#ffffff" } else { INK })
}
