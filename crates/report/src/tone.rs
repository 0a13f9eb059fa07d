//! The meaning of a colour, shared by badges, cards and boxes of trees.

/// Meaning of a badge, card or box. The text states it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tone {
    /// Expected result: no failed run, free to send.
    Good,
    /// Result with a condition: paused, undetermined.
    Caution,
    /// Unexpected result: deadlock.
    Bad,
    /// No judgement.
    #[default]
    Neutral,
}

impl Tone {
    /// Class name in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Caution => "caution",
            Tone::Bad => "bad",
            Tone::Neutral => "neutral",
        }
    }

    /// Fill of a box: light enough for dark text, and apart in lightness as well as in hue,
    /// blue-green against orange, so that the usual colour-vision deficiencies still distinguish
    /// good from bad.
    pub(crate) fn fill(self) -> &'static str {
        match self {
            Tone::Good => "#cfeee3",
            Tone::Caution => "#fdebb8",
            Tone::Bad => "#f3b79a",
            Tone::Neutral => "#eceff2",
        }
    }
}
