//! Layout of a figure: its title, its grid of panels, and the axes that panels share.
//!
//! ```text
//!   +-- title ------------------------------------------+
//!   |  panel title            |  panel title            |
//!   |  legend                 |  legend                 |   one header height per row: plots stand level
//!   |  +-- plot ------------+ |  +-- plot ------------+ |   one left margin per column: plots stand in line
//!   |  |                    | |  |                    | |
//!   |  +--------------------+ |  +--------------------+ |
//!   |     ticks, x label      |     ticks, x label      |
//!   +-- note -------------------------------------------+
//! ```

use super::axes::{self, Rulers};
use super::legend::{self, Entry};
use super::palette::{Colours, INK, MUTED, theme};
use super::scale::Extent;
use super::text::{self, FONTS, Px};
use super::{Axis, Figure, Mark, Panel};
use super::{bars, panel, series};
use maud::{Markup, html};

/// Width of a figure [px]; it scales with the page.
pub(super) const WIDTH: f64 = 720.0;
/// Width of a figure for a phone [px].
pub(super) const NARROW: f64 = 400.0;
/// Height of a plot [px].
pub(super) const HEIGHT: f64 = 170.0;
const PAD: f64 = 14.0;
/// Space right of a plot [px].
const RIGHT: f64 = 12.0;
const GUTTER: f64 = 18.0;
const TITLE: f64 = 15.0;
const PANEL_TITLE: f64 = 12.5;
const NOTE: f64 = 10.0;

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub w: f64,
    pub h: f64,
}

impl Rect {
    pub(super) fn right(self) -> f64 {
        self.x + self.w
    }

    pub(super) fn bottom(self) -> f64 {
        self.y + self.h
    }
}

/// Space left of a plot and below it [px].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Margins {
    pub left: f64,
    pub bottom: f64,
}

/// A panel measured but not yet placed.
struct Measured<'a> {
    panel: &'a Panel,
    rulers: Rulers,
    entries: Vec<Entry>,
    /// The panel below has the same x axis; one label for both is enough.
    quiet_x: bool,
    margins: Margins,
}

/// The whole drawing.
pub(super) fn draw(figure: &Figure, width: f64) -> Markup {
    let mut colours = colours(figure);
    let columns = figure.columns.clamp(1, figure.panels.len().max(1));
    let cell = (width - 2.0 * PAD - GUTTER * (columns - 1) as f64) / columns as f64;
    let extents = shared_extents(figure);
    let mut measured: Vec<Measured> = Vec::new();
    for (i, panel) in figure.panels.iter().enumerate() {
        let below = figure.panels.get(i + columns);
        let quiet_x = below.is_some_and(|below| {
            !bars::any(panel) && !bars::any(below) && same(&panel.x, &below.x)
        });
        let entries = legend::entries(panel, &mut colours);
        let rulers = Rulers::new(panel, extents[i], cell);
        let margins = measure(panel, &rulers, quiet_x, cell);
        measured.push(Measured { panel, rulers, entries, quiet_x, margins });
    }
    level_columns(&mut measured, columns);

    let budget = series::budget(figure);
    let title = text::wrap(&figure.title, TITLE * 1.06, width - 2.0 * PAD);
    let mut y = PAD + title.len() as f64 * (TITLE + 4.0);
    let mut body = Vec::new();
    for (r, row) in measured.chunks(columns).enumerate() {
        y += if r > 0 { 16.0 } else { 4.0 };
        let header = row.iter().map(|m| header_height(m, cell)).fold(0.0, f64::max);
        for (c, m) in row.iter().enumerate() {
            let left = PAD + c as f64 * (cell + GUTTER);
            let plot =
                Rect { x: left + m.margins.left, y: y + header, w: plot_width(m, cell), h: HEIGHT };
            body.push(html! {
                (heading(m, plot.x, y, cell - m.margins.left))
                (panel::draw(m.panel, &m.rulers, plot, m.quiet_x, &mut colours, budget))
            });
        }
        y += header + row.iter().map(|m| HEIGHT + m.margins.bottom).fold(0.0, f64::max);
    }
    let note = figure
        .note
        .as_deref()
        .map(|note| text::wrap(note, NOTE, width - 2.0 * PAD))
        .unwrap_or_default();
    let note_top = y + 8.0;
    let height =
        (if note.is_empty() { y } else { note_top + note.len() as f64 * (NOTE + 3.0) }) + PAD;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(Px(width)) height=(Px(height)) viewBox={ "0 0 " (Px(width)) " " (Px(height)) }
            class="xoff-figure"
            role="img" aria-label=(figure.title) font-family=(FONTS) fill=(INK) {
            @if !figure.caption.is_empty() { desc { (figure.caption) } }
            (theme())
            rect class="paper" width="100%" height="100%" rx="6" fill="#ffffff" {}
            @for (i, line) in title.iter().enumerate() {
                text x=(Px(PAD)) y=(Px(PAD + TITLE + i as f64 * (TITLE + 4.0) - 2.0)) font-size=(TITLE) font-weight="600" { (line) }
            }
            @for panel in &body { (panel) }
            @for (i, line) in note.iter().enumerate() {
                text x=(Px(PAD)) y=(Px(note_top + NOTE + i as f64 * (NOTE + 3.0))) font-size=(NOTE) fill=(MUTED) { (line) }
            }
        }
    }
}

/// Panel title and legend.
fn heading(m: &Measured, left: f64, top: f64, room: f64) -> Markup {
    let titled = !m.panel.title.is_empty();
    html! {
        @if titled {
            text x=(Px(left)) y=(Px(top + PANEL_TITLE)) font-size=(PANEL_TITLE) font-weight="600" {
                (text::fit(&m.panel.title, PANEL_TITLE * 1.06, room))
            }
        }
        (legend::draw(&m.entries, left, top + if titled { PANEL_TITLE + 6.0 } else { 0.0 }, room))
    }
}

fn header_height(m: &Measured, cell: f64) -> f64 {
    let title = if m.panel.title.is_empty() { 0.0 } else { PANEL_TITLE + 6.0 };
    title + legend::height(&m.entries, cell - m.margins.left) + 8.0
}

fn plot_width(m: &Measured, cell: f64) -> f64 {
    (cell - m.margins.left - RIGHT).max(40.0)
}

/// Margins of a panel that has `cell` px of width.
fn measure(panel: &Panel, rulers: &Rulers, quiet_x: bool, cell: f64) -> Margins {
    let mut margins = axes::margins(panel, rulers, quiet_x);
    if let Some((labels, _)) = bars::of(panel) {
        margins.bottom =
            bars::labels_height(labels, cell - margins.left - RIGHT) + axes::label_height(&panel.x);
    }
    margins
}

/// Plots of one column begin at the same x.
fn level_columns(measured: &mut [Measured], columns: usize) {
    for column in 0..columns {
        let left = measured
            .iter()
            .skip(column)
            .step_by(columns)
            .map(|m| m.margins.left)
            .fold(0.0, f64::max);
        measured.iter_mut().skip(column).step_by(columns).for_each(|m| m.margins.left = left);
    }
}

/// Requested colours come first, so that automatic ones avoid them.
fn colours(figure: &Figure) -> Colours {
    let mut colours = Colours::default();
    for mark in figure.panels.iter().flat_map(|panel| &panel.marks) {
        match mark {
            Mark::Line { name, colour: Some(colour), .. }
            | Mark::Points { name, colour: Some(colour), .. }
            | Mark::HLine { label: name, colour: Some(colour), .. }
            | Mark::VLine { label: name, colour: Some(colour), .. } => {
                colours.reserve(name, *colour)
            }
            Mark::Bars { groups, .. } => {
                groups
                    .iter()
                    .filter_map(|g| g.colour.map(|c| (g, c)))
                    .for_each(|(g, c)| colours.reserve(&g.name, c));
            }
            _ => {}
        }
    }
    colours
}

/// Axes that mean the same thing.
fn same(a: &Axis, b: &Axis) -> bool {
    !a.label.is_empty()
        && a.label == b.label
        && a.unit == b.unit
        && a.log == b.log
        && a.range == b.range
}

/// Extents [x, y] per panel, joined over axes that mean the same.
fn shared_extents(figure: &Figure) -> Vec<[Extent; 2]> {
    let own: Vec<[Extent; 2]> = figure.panels.iter().map(panel::extents).collect();
    // Each axis with its extent; categories are those of their panel alone.
    let all: Vec<(Option<&Axis>, Extent)> = figure
        .panels
        .iter()
        .zip(&own)
        .flat_map(|(panel, [x, y])| {
            [((!bars::any(panel)).then_some(&panel.x), *x), (Some(&panel.y), *y)]
        })
        .collect();
    let joined = |(axis, extent): &(Option<&Axis>, Extent)| {
        let alike =
            all.iter().filter(|(other, _)| axis.zip(*other).is_some_and(|(a, b)| same(a, b)));
        alike.fold(*extent, |sum, (_, extent)| sum.join(*extent))
    };
    all.chunks(2).map(|panel| [joined(&panel[0]), joined(&panel[1])]).collect()
}
