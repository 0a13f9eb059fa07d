//! The meaning of a colour, shared by badges, cards and heatmap cells.

/// What a badge, card or cell expresses. The text always states it too: colour alone carries nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tone {
    /// As expected: reproduced, no deadlock.
    Good,
    /// With a condition attached: reproduced under an assumption.
    Caution,
    /// Not as expected: not reproduced, deadlock.
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
