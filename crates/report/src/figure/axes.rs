//! Grid, ticks and axis labels.

use super::layout::{HEIGHT, Margins, Rect};
use super::palette::{FRAME, GRID, INK, MINOR_GRID, MUTED};
use super::scale::{Extent, Fit, Ruler, Scale, Tick};
use super::text::{self, Px};
use super::{Axis, Mark, Panel, bars};
use maud::{Markup, html};

const TICK: f64 = 11.0;
const LABEL: f64 = 11.5;
/// Ticks of a vertical axis, about one for 36 px.
const Y_TICKS: usize = (HEIGHT / 36.0) as usize;

/// The rulers of a panel's axes.
pub(super) struct Rulers {
    pub x: Ruler,
    pub y: Ruler,
}

impl Rulers {
    /// Fixes the ranges for a panel that will be about `width` px wide.
    pub(super) fn new(panel: &Panel, [x, y]: [Extent; 2], width: f64) -> Self {
        let ruler = |axis: &Axis, data, fit, ticks| {
            Ruler::new(&axis.unit, axis.range, data, axis.log, fit, ticks)
        };
        // A cloud of points needs air around it; a time series runs from edge to edge.
        let loose = |mark: &Mark| matches!(mark, Mark::Points { .. });
        let fit = if panel.marks.iter().any(loose) && !bars::any(panel) {
            Fit::Round
        } else {
            Fit::Tight
        };
        Rulers {
            x: ruler(
                &panel.x,
                x,
                if panel.x.log { Fit::Round } else { fit },
                if bars::any(panel) { 1 } else { x_ticks(width) },
            ),
            y: ruler(&panel.y, y, Fit::Round, Y_TICKS),
        }
    }
}

fn x_ticks(width: f64) -> usize {
    (width / 80.0).clamp(3.0, 10.0) as usize
}

/// Scales of a placed panel.
pub(super) struct Scales {
    pub x: Scale,
    pub y: Scale,
}

impl Scales {
    pub(super) fn new(panel: &Panel, rulers: &Rulers, plot: Rect) -> Self {
        Scales {
            x: Scale::new(rulers.x.extent, plot.x, plot.right(), panel.x.log),
            y: Scale::new(rulers.y.extent, plot.bottom(), plot.y, panel.y.log),
        }
    }
}

/// Label with the unit; a logarithmic axis has the units on its ticks.
fn label(axis: &Axis, ruler: &Ruler) -> String {
    // "Messages (messages)" says nothing twice.
    let silent = ruler.unit_name.is_empty() || ruler.unit_name.eq_ignore_ascii_case(&axis.label);
    match (axis.label.is_empty(), silent || (axis.log && !ruler.unit_on_label())) {
        (_, true) => axis.label.clone(),
        (true, false) => ruler.unit_name.clone(),
        (false, false) => format!("{} ({})", axis.label, ruler.unit_name),
    }
}

/// Height of an x axis' label.
pub(super) fn label_height(axis: &Axis) -> f64 {
    if axis.label.is_empty() { 0.0 } else { LABEL + 7.0 }
}

/// Space that ticks and labels need around the plot.
pub(super) fn margins(panel: &Panel, rulers: &Rulers, quiet_x: bool) -> Margins {
    let x_label = if quiet_x || label(&panel.x, &rulers.x).is_empty() { 0.0 } else { LABEL + 7.0 };
    let y_label = if label(&panel.y, &rulers.y).is_empty() { 0.0 } else { LABEL + 8.0 };
    Margins { left: widest(&rulers.y) + 8.0 + y_label, bottom: TICK + 6.0 + x_label }
}

/// Everything behind the data.
pub(super) fn grid(rulers: &Rulers, scales: &Scales, plot: Rect, categorical: bool) -> Markup {
    let place = |ticks: Vec<Tick>, scale: &Scale| -> Vec<(f64, bool)> {
        ticks
            .iter()
            .filter_map(|tick| Some((scale.at(tick.value)?, tick.text.is_empty())))
            .collect()
    };
    let xs =
        if categorical { Vec::new() } else { place(rulers.x.ticks(x_ticks(plot.w)), &scales.x) };
    let ys = place(rulers.y.ticks(Y_TICKS), &scales.y);
    let path = |minor: bool| {
        let mut d = String::new();
        for (x, _) in xs.iter().filter(|(_, m)| *m == minor) {
            d.push('M');
            text::push(&mut d, *x);
            d.push(' ');
            text::push(&mut d, plot.y);
            d.push('V');
            text::push(&mut d, plot.bottom());
        }
        for (y, _) in ys.iter().filter(|(_, m)| *m == minor) {
            d.push('M');
            text::push(&mut d, plot.x);
            d.push(' ');
            text::push(&mut d, *y);
            d.push('H');
            text::push(&mut d, plot.right());
        }
        d
    };
    let (minor, major) = (path(true), path(false));
    html! {
        @if !minor.is_empty() { path d=(minor) stroke=(MINOR_GRID) fill="none" {} }
        @if !major.is_empty() { path d=(major) stroke=(GRID) fill="none" {} }
    }
}

/// Axis lines, ticks and labels.
pub(super) fn draw(
    panel: &Panel,
    rulers: &Rulers,
    scales: &Scales,
    plot: Rect,
    quiet_x: bool,
    x_names: f64,
) -> Markup {
    let categorical = x_names > 0.0;
    let x_ticks = if categorical { Vec::new() } else { rulers.x.ticks(x_ticks(plot.w)) };
    let x_label = label(&panel.x, &rulers.x);
    let below = if categorical { x_names } else { TICK + 6.0 };
    html! {
        path d={ "M" (Px(plot.x)) " " (Px(plot.y)) "V" (Px(plot.bottom())) "H" (Px(plot.right())) } stroke=(FRAME) fill="none" {}
        g font-size=(TICK) fill=(MUTED) text-anchor="middle" {
            @for tick in x_ticks.iter().filter(|tick| !tick.text.is_empty()) {
                @if let Some(x) = scales.x.at(tick.value) {
                    line x1=(Px(x)) x2=(Px(x)) y1=(Px(plot.bottom())) y2=(Px(plot.bottom() + 4.0)) stroke=(FRAME) {}
                    text x=(Px(x)) y=(Px(plot.bottom() + TICK + 5.0)) { (tick.text) }
                }
            }
        }
        g font-size=(TICK) fill=(MUTED) text-anchor="end" {
            @for tick in rulers.y.ticks(Y_TICKS).iter().filter(|tick| !tick.text.is_empty()) {
                @if let Some(y) = scales.y.at(tick.value) {
                    line x1=(Px(plot.x)) x2=(Px(plot.x - 4.0)) y1=(Px(y)) y2=(Px(y)) stroke=(FRAME) {}
                    text x=(Px(plot.x - 7.0)) y=(Px(y + 4.0)) { (tick.text) }
                }
            }
        }
        g font-size=(LABEL) fill=(INK) text-anchor="middle" {
            @if !quiet_x && !x_label.is_empty() {
                text x=(Px(plot.x + plot.w / 2.0)) y=(Px(plot.bottom() + below + LABEL + 3.0)) { (x_label) }
            }
            (rotated(&label(&panel.y, &rulers.y), plot, plot.x - widest(&rulers.y) - 13.0))
        }
    }
}

/// Width of the widest tick of a vertical axis.
fn widest(ruler: &Ruler) -> f64 {
    ruler.ticks(Y_TICKS).iter().map(|tick| text::width(&tick.text, TICK)).fold(0.0, f64::max)
}

/// The label along the vertical axis.
fn rotated(text: &str, plot: Rect, x: f64) -> Markup {
    let y = plot.y + plot.h / 2.0;
    // A label longer than its axis may stick out a little, not into the next panel.
    let text = text::fit(text, LABEL, plot.h + 40.0);
    html! {
        @if !text.is_empty() {
            text x=(Px(x)) y=(Px(y)) transform={ "rotate(-90 " (Px(x)) " " (Px(y)) ")" } { (text) }
        }
    }
}
