//! Lines, points and distributions.

use super::axes::Scales;
use super::decimate::{self, Point};
use super::layout::Rect;
use super::palette::Colours;
use super::text::{self, Px};
use super::{Colour, Figure, Mark};
use maud::{Markup, html};

/// Points a series may have so that the whole drawing stays below about 200 KB at some 12 bytes a point.
pub(super) fn budget(figure: &Figure) -> usize {
    let series = |mark: &&Mark| matches!(mark, Mark::Line { .. } | Mark::Points { .. } | Mark::Cdf { .. });
    let count = figure.panels.iter().flat_map(|panel| &panel.marks).filter(series).count();
    (12_000 / count.max(1)).clamp(40, 3000)
}

/// Whether there is anything to see.
pub(super) fn has_data(mark: &Mark) -> bool {
    let finite = |points: &[(f64, f64)]| points.iter().any(|(x, y)| x.is_finite() && y.is_finite());
    match mark {
        Mark::Line { points, .. } | Mark::Points { points, .. } => finite(points),
        Mark::Cdf { samples, .. } => samples.iter().any(|sample| sample.is_finite()),
        Mark::Bars { labels, groups, .. } => !labels.is_empty() && !groups.is_empty(),
        // Reference lines and bands alone: the range they span is shown, and nothing was measured.
        Mark::HLine { .. } | Mark::VLine { .. } | Mark::HBand { .. } | Mark::VBand { .. } => false,
        Mark::Lanes { groups, .. } => groups.iter().any(|group| !group.stretches.is_empty()),
        Mark::Heatmap { cells, .. } => !cells.is_empty(),
    }
}

/// Widths of the lines of a panel [px]: each is wider than those that are drawn over it, so that lines of equal values show all of them.
pub(super) fn widths(marks: &[Mark]) -> Vec<f64> {
    const LINE: f64 = 1.8;
    const MORE: f64 = 0.9;
    const STEPS: usize = 3;
    let is_line = |mark: &&Mark| matches!(mark, Mark::Line { .. } | Mark::Cdf { .. });
    (0..marks.len()).map(|i| LINE + MORE * marks[i + 1..].iter().filter(is_line).count().min(STEPS) as f64).collect()
}

/// The mark's elements; nothing for marks drawn elsewhere.
pub(super) fn draw(mark: &Mark, scales: &Scales, plot: Rect, colours: &mut Colours, (budget, width): (usize, f64)) -> Markup {
    let window = (plot.x, plot.right());
    match mark {
        Mark::Line { name, points, dashed, step, second, colour } => {
            let y = if *second { scales.second.as_ref() } else { Some(&scales.y) };
            let Some(y) = y else { return Markup::default() };
            let pixels = points.iter().map(|(px, py)| scales.x.at(*px).zip(y.at(*py)));
            let automatic = colours.of(name);
            let dash = colours.dash(name, *dashed);
            curve(&decimate::line(pixels, window, budget), colour.unwrap_or(automatic), dash, (width, *step))
        }
        Mark::Points { name, points, second, colour } => {
            let y = if *second { scales.second.as_ref() } else { Some(&scales.y) };
            let Some(y) = y else { return Markup::default() };
            let inside = |p: &Point| p.0 >= plot.x - 4.0 && p.0 <= plot.right() + 4.0;
            let pixels = points.iter().filter_map(|(px, py)| scales.x.at(*px).zip(y.at(*py))).filter(inside);
            let thinned = decimate::dots(pixels, budget);
            // Many points overlap: smaller, so that the cloud keeps its shape.
            let size = if thinned.len() > 400 { "2.6" } else { "6" };
            dots(&thinned, colour.unwrap_or_else(|| colours.of(name)), size)
        }
        Mark::Cdf { name, samples, dashed, colour } => {
            let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
            sorted.sort_by(f64::total_cmp);
            let count = sorted.len() as f64;
            // From the axis up at the least sample, and on to the right edge: beyond the greatest everything is below.
            let first = sorted.first().map(|x| (*x, 0.0));
            let last = sorted.last().map(|_| (f64::MAX, 1.0));
            let points = first.into_iter().chain(sorted.iter().enumerate().map(|(i, x)| (*x, (i + 1) as f64 / count))).chain(last);
            let pixels = points.map(|(px, py)| {
                let x = if px == f64::MAX { Some(plot.right() + 2.0) } else { scales.x.at(px) };
                // A share of zero has no place on a logarithmic axis; the curve then starts at the lower edge.
                let y = scales.y.at(py).or((py == 0.0).then_some(plot.bottom()));
                x.zip(y)
            });
            let automatic = colours.of(name);
            let dash = colours.dash(name, *dashed);
            curve(&decimate::line(pixels, window, budget), colour.unwrap_or(automatic), dash, (width, true))
        }
        _ => Markup::default(),
    }
}

fn curve(drawn: &decimate::Drawn, colour: Colour, dash: Option<&str>, (width, step): (f64, bool)) -> Markup {
    let mut d = String::new();
    for piece in &drawn.pieces {
        path(&mut d, piece, step);
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

fn path(d: &mut String, piece: &[Point], step: bool) {
    for (i, (x, y)) in piece.iter().enumerate() {
        match (i, step) {
            (0, _) => {
                d.push('M');
                text::push(d, *x);
                d.push(' ');
                text::push(d, *y);
                if !step {
                    d.push('L');
                }
            }
            (_, true) => {
                d.push('H');
                text::push(d, *x);
                d.push('V');
                text::push(d, *y);
            }
            (_, false) => {
                if i > 1 {
                    d.push(' ');
                }
                text::push(d, *x);
                d.push(' ');
                text::push(d, *y);
            }
        }
    }
}
