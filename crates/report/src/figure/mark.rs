//! Marks of a panel.

use super::Colour;
use crate::mechanism;

/// A bar's value with its interval, base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Height of the bar; NaN shows "n/a".
    pub value: f64,
    /// Ends of the error bar, absolute values (not distances), e.g. a Wilson interval.
    pub interval: Option<(f64, f64)>,
    /// The value is a lower bound, and says so.
    pub at_least: bool,
}

impl Bar {
    /// A bar without an interval.
    pub fn new(value: f64) -> Self {
        Bar { value, interval: None, at_least: false }
    }

    /// A bar with an error bar from `low` to `high`.
    pub fn with_interval(value: f64, low: f64, high: f64) -> Self {
        Bar { value, interval: Some((low, high)), at_least: false }
    }

    /// The value is a lower bound.
    #[must_use]
    pub fn at_least(mut self, is_bound: bool) -> Self {
        self.at_least = is_bound;
        self
    }
}

/// One colour of bars: a value for every category.
#[derive(Clone, Debug, PartialEq)]
pub struct BarGroup {
    /// Name in the legend.
    pub name: String,
    /// One bar per category.
    pub bars: Vec<Bar>,
    /// Colour; none means automatic.
    pub colour: Option<Colour>,
}

impl BarGroup {
    /// A group of bars.
    pub fn new(name: impl Into<String>, bars: impl IntoIterator<Item = Bar>) -> Self {
        BarGroup { name: name.into(), bars: bars.into_iter().collect(), colour: None }
    }

    /// The colour of the mechanism whose kind is the name of the group, such as `pfc`. Other names
    /// keep their colour.
    #[must_use]
    pub fn colour_by_kind(mut self) -> Self {
        self.colour = mechanism(&self.name).map(|m| m.colour).or(self.colour);
        self
    }
}

/// Something drawn in a panel. Points with a coordinate that is not finite (or not positive on a
/// logarithmic axis) are gaps. Every name and label goes to the legend; an empty one stays out of
/// it.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A line through points, in their order.
    Line {
        /// Name in the legend.
        name: String,
        /// Points in base units, x not decreasing for a series in time.
        points: Vec<(f64, f64)>,
        /// Dashed instead of solid.
        dashed: bool,
        /// Colour; none means automatic.
        colour: Option<Colour>,
    },
    /// Separate points.
    Points {
        /// Name in the legend.
        name: String,
        /// Points in base units.
        points: Vec<(f64, f64)>,
        /// Colour; none means automatic.
        colour: Option<Colour>,
    },
    /// Bars side by side in each category.
    Bars {
        /// Categories along x.
        labels: Vec<String>,
        /// One group per colour.
        groups: Vec<BarGroup>,
    },
    /// A level, e.g. the paper's value or a threshold.
    HLine {
        /// Position, base unit.
        y: f64,
        /// Legend text.
        label: String,
        /// Colour; none means dark grey.
        colour: Option<Colour>,
    },
    /// A time, e.g. when a deadlock closed.
    VLine {
        /// Position, base unit.
        x: f64,
        /// Legend text.
        label: String,
        /// Colour; none means dark grey.
        colour: Option<Colour>,
    },
}

impl Mark {
    /// A solid line.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().collect();
        Mark::Line { name: name.into(), points, dashed: false, colour: None }
    }

    /// Separate points.
    pub fn points(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Mark::Points { name: name.into(), points: points.into_iter().collect(), colour: None }
    }

    /// Bars side by side in each category.
    pub fn bars<L: Into<String>>(
        labels: impl IntoIterator<Item = L>,
        groups: impl IntoIterator<Item = BarGroup>,
    ) -> Self {
        let (labels, groups) =
            (labels.into_iter().map(Into::into).collect(), groups.into_iter().collect());
        Mark::Bars { labels, groups }
    }

    /// A level.
    pub fn hline(y: f64, label: impl Into<String>) -> Self {
        Mark::HLine { y, label: label.into(), colour: None }
    }

    /// A time.
    pub fn vline(x: f64, label: impl Into<String>) -> Self {
        Mark::VLine { x, label: label.into(), colour: None }
    }

    /// Fixes the colour, where the mark has one.
    #[must_use]
    pub fn colour(mut self, wanted: Colour) -> Self {
        match &mut self {
            Mark::Line { colour, .. }
            | Mark::Points { colour, .. }
            | Mark::HLine { colour, .. }
            | Mark::VLine { colour, .. } => {
                *colour = Some(wanted);
            }
            Mark::Bars { .. } => {}
        }
        self
    }

    /// Dashes the line, where the mark is one.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        if let Mark::Line { dashed, .. } = &mut self {
            *dashed = true;
        }
        self
    }
}
