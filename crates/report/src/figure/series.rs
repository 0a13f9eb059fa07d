//! Lines and points.

use super::axes::Scales;
use super::decimate::{self, Point};
use super::layout::Rect;
use super::palette::Colours;
use super::text::{self, Px};
use super::{Colour, Figure, Mark};
use maud::{Markup, html};

/// Points a series may have so that the whole drawing stays below about 200 KB at some 12 bytes a
/// point.
pub(super) fn budget(figure: &Figure) -> usize {
    let series = |mark: &&Mark| matches!(mark, Mark::Line { .. } | Mark::Points { .. });
    let count = figure.panels.iter().flat_map(|panel| &panel.marks).filter(series).count();
    (12_000 / count.max(1)).clamp(40, 3000)
}

/// Whether there is anything to see.
pub(super) fn has_data(mark: &Mark) -> bool {
    let finite = |points: &[(f64, f64)]| points.iter().any(|(x, y)| x.is_finite() && y.is_finite());
    match mark {
        Mark::Line { points, .. } | Mark::Points { points, .. } => finite(points),
        Mark::Bars { labels, groups } => !labels.is_empty() && !groups.is_empty(),
        // Reference lines alone: the range they span is shown, and nothing was measured.
        Mark::HLine { .. } | Mark::VLine { .. } => false,
    }
}

/// Widths of the lines of a panel [px]: each is wider than those that are drawn over it, so that
/// lines of equal values show all of them.
pub(super) fn widths(marks: &[Mark]) -> Vec<f64> {
    const LINE: f64 = 1.8;
    const MORE: f64 = 0.9;
    const STEPS: usize = 3;
    let is_line = |mark: &&Mark| matches!(mark, Mark::Line { .. });
    (0..marks.len())
        .map(|i| LINE + MORE * marks[i + 1..].iter().filter(is_line).count().min(STEPS) as f64)
        .collect()
}

/// The mark's elements; nothing for marks drawn elsewhere.
pub(super) fn draw(
    mark: &Mark,
    scales: &Scales,
    plot: Rect,
    colours: &mut Colours,
    (budget, width): (usize, f64),
) -> Markup {
    let window = (plot.x, plot.right());
    match mark {
        Mark::Line { name, points, dashed, colour } => {
            let pixels = points.iter().map(|(px, py)| scales.x.at(*px).zip(scales.y.at(*py)));
            let automatic = colours.of(name);
            let dash = colours.dash(name, *dashed);
            curve(&decimate::line(pixels, window, budget), colour.unwrap_or(automatic), dash, width)
        }
        Mark::Points { name, points, colour } => {
            let inside = |p: &Point| p.0 >= plot.x - 4.0 && p.0 <= plot.right() + 4.0;
            let pixels = points
                .iter()
                .filter_map(|(px, py)| scales.x.at(*px).zip(scales.y.at(*py)))
                .filter(inside);
            let thinned = decimate::dots(pixels, budget);
            // Many points overlap: smaller, so that the cloud keeps its shape.
            let size = if thinned.len() > 400 { "2.6" } else { "6" };
            dots(&thinned, colour.unwrap_or_else(|| colours.of(name)), size)
        }
        _ => Markup::default(),
    }
}

fn curve(drawn: &decimate::Drawn, colour: Colour, dash: Option<&str>, width: f64) -> Markup {
    let mut d = String::new();
    for piece in &drawn.pieces {
        path(&mut d, piece);
    }
    html! {
        @if !d.is_empty() {
            path d=(d) fill="none" stroke=(colour.hex()) stroke-width=(Px(width)) stroke-linejoin="round"
                stroke-linecap=(if dash.is_some() { "butt" } else { "round" }) stroke-dasharray=[dash] {}
        }
        (dots(&drawn.dots, colour, "5"))
    }
}

/// Points as strokes of length zero with round ends: one element, however many there are.
fn dots(points: &[Point], colour: Colour, size: &str) -> Markup {
    let mut d = String::new();
    for (x, y) in points {
        d.push('M');
        text::push(&mut d, *x);
        d.push(' ');
        text::push(&mut d, *y);
        d.push_str("h0");
    }
    html! {
        @if !d.is_empty() {
            path d=(d) fill="none" stroke=(colour.hex()) stroke-width=(size) stroke-linecap="round" stroke-opacity="0.85" {}
        }
    }
}

fn path(d: &mut String, piece: &[Point]) {
    for (i, (x, y)) in piece.iter().enumerate() {
        match i {
            0 => d.push('M'),
            1 => {}
            _ => d.push(' '),
        }
        text::push(d, *x);
        d.push(' ');
        text::push(d, *y);
        if i == 0 {
            d.push('L');
        }
    }
}
