//! The meaning of a colour, shared by badges, cards and heatmap cells.

/// Meaning of a badge, card or cell. The text states it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tone {
    /// Expected result: reproduced, no deadlock.
    Good,
    /// Result with a condition: reproduced under an assumption.
    Caution,
    /// Unexpected result: not reproduced, deadlock.
    Bad,
    /// Worth knowing, without judgement.
    Info,
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
            Tone::Info => "info",
            Tone::Neutral => "neutral",
        }
    }

    /// Fill of a heatmap cell: light enough for dark text, and apart in lightness as well as in hue, blue-green against
    /// orange, so that the usual colour-vision deficiencies still distinguish good from bad.
    pub(crate) fn fill(self) -> &'static str {
        match self {
            Tone::Good => "#cfeee3",
            Tone::Caution => "#fdebb8",
            Tone::Bad => "#f3b79a",
            Tone::Info => "#d3e5f5",
            Tone::Neutral => "#eceff2",
        }
    }
}
