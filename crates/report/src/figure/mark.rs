//! Marks of a panel.

use super::Colour;
use crate::{Tone, mechanism};

/// A bar's value with its interval, base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Height of the bar; NaN shows "n/a".
    pub value: f64,
    /// Ends of the error bar, absolute values (not distances), e.g. a Wilson interval.
    pub interval: Option<(f64, f64)>,
    /// A value to compare with, e.g. the paper's: a hollow diamond. [`Mark::bar_reference`] names it in the legend.
    pub reference: Option<f64>,
    /// The value is a lower bound, and says so.
    pub at_least: bool,
}

impl Bar {
    /// A bar without an interval.
    pub fn new(value: f64) -> Self {
        Bar { value, interval: None, reference: None, at_least: false }
    }

    /// A bar with an error bar from `low` to `high`.
    pub fn with_interval(value: f64, low: f64, high: f64) -> Self {
        Bar { value, interval: Some((low, high)), reference: None, at_least: false }
    }

    /// The value is a lower bound.
    #[must_use]
    pub fn at_least(mut self, is_bound: bool) -> Self {
        self.at_least = is_bound;
        self
    }

    /// Adds a value to compare with.
    #[must_use]
    pub fn reference(mut self, value: f64) -> Self {
        self.reference = Some(value);
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

    /// Fixes the colour.
    #[must_use]
    pub fn colour(mut self, colour: Colour) -> Self {
        self.colour = Some(colour);
        self
    }

    /// The colour of the mechanism whose kind is the name of the group, such as `pfc`. Other names keep their colour.
    #[must_use]
    pub fn colour_by_kind(mut self) -> Self {
        self.colour = mechanism(&self.name).map(|m| m.colour).or(self.colour);
        self
    }
}

/// One colour of lanes: stretches of any row.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneGroup {
    /// Name in the legend.
    pub name: String,
    /// Row from 0, and both ends in the x axis' base unit.
    pub stretches: Vec<(usize, f64, f64)>,
    /// Colour; none means automatic.
    pub colour: Option<Colour>,
}

impl LaneGroup {
    /// A group of stretches.
    pub fn new(name: impl Into<String>, stretches: impl IntoIterator<Item = (usize, f64, f64)>) -> Self {
        LaneGroup { name: name.into(), stretches: stretches.into_iter().collect(), colour: None }
    }

    /// Fixes the colour.
    #[must_use]
    pub fn colour(mut self, colour: Colour) -> Self {
        self.colour = Some(colour);
        self
    }
}

/// One cell of a heatmap.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct HeatCell {
    /// Text of the cell.
    pub text: String,
    /// A second, smaller line.
    pub detail: String,
    /// Fill by meaning, when `level` is none.
    pub tone: Tone,
    /// Fill by magnitude, 0 .. 1.
    pub level: Option<f64>,
}

impl HeatCell {
    /// A cell coloured by meaning.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        HeatCell { text: text.into(), tone, ..HeatCell::default() }
    }

    /// A cell coloured by magnitude, 0 .. 1.
    pub fn with_level(level: f64, text: impl Into<String>) -> Self {
        HeatCell { text: text.into(), level: Some(level), ..HeatCell::default() }
    }

    /// Adds the smaller line.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }
}

/// Something drawn in a panel. Points with a coordinate that is not finite (or not positive on a logarithmic axis) are
/// gaps. Every name and label goes to the legend; an empty one stays out of it.
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
        /// A value holds until the next point, as a queue length or a rate does.
        step: bool,
        /// On the right axis.
        second: bool,
        /// Colour; none means automatic.
        colour: Option<Colour>,
    },
    /// Separate points.
    Points {
        /// Name in the legend.
        name: String,
        /// Points in base units.
        points: Vec<(f64, f64)>,
        /// On the right axis.
        second: bool,
        /// Colour; none means automatic.
        colour: Option<Colour>,
    },
    /// Bars side by side in each category.
    Bars {
        /// Categories along x.
        labels: Vec<String>,
        /// One group per colour.
        groups: Vec<BarGroup>,
        /// Name of the bars' reference values in the legend; may be empty.
        reference: String,
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
    /// An expected band of values.
    HBand {
        /// Lower end, base unit.
        low: f64,
        /// Upper end, base unit.
        high: f64,
        /// Legend text.
        label: String,
    },
    /// A stretch of the x axis.
    VBand {
        /// Lower end, base unit.
        low: f64,
        /// Upper end, base unit.
        high: f64,
        /// Legend text.
        label: String,
    },
    /// The empirical distribution of samples, as a share of 0 .. 1.
    Cdf {
        /// Name in the legend.
        name: String,
        /// Samples in the x axis' base unit, in any order.
        samples: Vec<f64>,
        /// Dashed instead of solid.
        dashed: bool,
        /// Colour; none means automatic.
        colour: Option<Colour>,
    },
    /// Rows of coloured stretches along x, e.g. the state of each port over time. The rows take the place of the y axis.
    Lanes {
        /// Row names, top to bottom.
        names: Vec<String>,
        /// One group per colour; later ones are drawn over earlier ones.
        groups: Vec<LaneGroup>,
    },
    /// A matrix of cells with text. It fills its panel; other marks there are not drawn.
    Heatmap {
        /// Row names, top to bottom.
        rows: Vec<String>,
        /// Column names.
        columns: Vec<String>,
        /// Cells, row by row.
        cells: Vec<Vec<HeatCell>>,
        /// Meaning of the tones.
        legend: Vec<(Tone, String)>,
    },
}

impl Mark {
    /// A solid line.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().collect();
        Mark::Line { name: name.into(), points, dashed: false, step: false, second: false, colour: None }
    }

    /// A line whose values hold until the next point.
    pub fn steps(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().collect();
        Mark::Line { name: name.into(), points, dashed: false, step: true, second: false, colour: None }
    }

    /// Separate points.
    pub fn points(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Mark::Points { name: name.into(), points: points.into_iter().collect(), second: false, colour: None }
    }

    /// Bars side by side in each category.
    pub fn bars<L: Into<String>>(labels: impl IntoIterator<Item = L>, groups: impl IntoIterator<Item = BarGroup>) -> Self {
        let (labels, groups) = (labels.into_iter().map(Into::into).collect(), groups.into_iter().collect());
        Mark::Bars { labels, groups, reference: String::new() }
    }

    /// Names the bars' reference values in the legend.
    #[must_use]
    pub fn bar_reference(mut self, label: impl Into<String>) -> Self {
        if let Mark::Bars { reference, .. } = &mut self {
            *reference = label.into();
        }
        self
    }

    /// A level.
    pub fn hline(y: f64, label: impl Into<String>) -> Self {
        Mark::HLine { y, label: label.into(), colour: None }
    }

    /// A time.
    pub fn vline(x: f64, label: impl Into<String>) -> Self {
        Mark::VLine { x, label: label.into(), colour: None }
    }

    /// An expected band of values.
    pub fn hband(low: f64, high: f64, label: impl Into<String>) -> Self {
        Mark::HBand { low, high, label: label.into() }
    }

    /// A stretch of the x axis.
    pub fn vband(low: f64, high: f64, label: impl Into<String>) -> Self {
        Mark::VBand { low, high, label: label.into() }
    }

    /// The empirical distribution of samples.
    pub fn cdf(name: impl Into<String>, samples: impl IntoIterator<Item = f64>) -> Self {
        Mark::Cdf { name: name.into(), samples: samples.into_iter().collect(), dashed: false, colour: None }
    }

    /// Rows of coloured stretches.
    pub fn lanes<N: Into<String>>(names: impl IntoIterator<Item = N>, groups: impl IntoIterator<Item = LaneGroup>) -> Self {
        Mark::Lanes { names: names.into_iter().map(Into::into).collect(), groups: groups.into_iter().collect() }
    }

    /// A matrix of cells.
    pub fn heatmap<R: Into<String>, C: Into<String>>(
        rows: impl IntoIterator<Item = R>,
        columns: impl IntoIterator<Item = C>,
        cells: Vec<Vec<HeatCell>>,
    ) -> Self {
        let (rows, columns) = (rows.into_iter().map(Into::into).collect(), columns.into_iter().map(Into::into).collect());
        Mark::Heatmap { rows, columns, cells, legend: Vec::new() }
    }

    /// Fixes the colour, where the mark has one.
    #[must_use]
    pub fn colour(mut self, wanted: Colour) -> Self {
        match &mut self {
            Mark::Line { colour, .. }
            | Mark::Points { colour, .. }
            | Mark::HLine { colour, .. }
            | Mark::VLine { colour, .. }
            | Mark::Cdf { colour, .. } => *colour = Some(wanted),
            _ => {}
        }
        self
    }

    /// Dashes the line, where the mark is one.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        if let Mark::Line { dashed, .. } | Mark::Cdf { dashed, .. } = &mut self {
            *dashed = true;
        }
        self
    }

    /// Draws a line or points against the right axis.
    #[must_use]
    pub fn on_second_axis(mut self) -> Self {
        if let Mark::Line { second, .. } | Mark::Points { second, .. } = &mut self {
            *second = true;
        }
        self
    }

    /// States the meaning of a heatmap's tones.
    #[must_use]
    pub fn legend<L: Into<String>>(mut self, entries: impl IntoIterator<Item = (Tone, L)>) -> Self {
        if let Mark::Heatmap { legend, .. } = &mut self {
            *legend = entries.into_iter().map(|(tone, label)| (tone, label.into())).collect();
        }
        self
    }
}
