//! A matrix of cells with text, e.g. flow control against egress discipline.

use super::layout::{Margins, Rect};
use super::palette::{self, INK};
use super::text::{self, Px};
use super::{HeatCell, Mark, Panel};
use maud::{Markup, html};

const NAME: f64 = 11.5;
const TEXT: f64 = 12.0;
const DETAIL: f64 = 10.0;
const LINE: f64 = 13.5;

/// A heatmap's parts.
#[derive(Clone, Copy)]
pub(super) struct Heat<'a> {
    rows: &'a [String],
    columns: &'a [String],
    cells: &'a [Vec<HeatCell>],
}

/// The heatmap of a panel, if it has one.
pub(super) fn of(panel: &Panel) -> Option<Heat<'_>> {
    panel.marks.iter().find_map(|mark| match mark {
        Mark::Heatmap { rows, columns, cells, .. } => Some(Heat { rows, columns, cells }),
        _ => None,
    })
}

impl Heat<'_> {
    fn cell_width(self, plot: f64) -> f64 {
        plot / self.columns.len().max(1) as f64
    }

    fn columns_height(self, plot: f64) -> f64 {
        let room = self.cell_width(plot) - 6.0;
        let lines = self.columns.iter().map(|name| text::wrap(name, NAME, room).len()).max().unwrap_or(0);
        lines as f64 * LINE + 6.0
    }

    /// Lines of a cell: the text, then the detail, each broken to the cell's width.
    fn lines(self, cell: &HeatCell, plot: f64) -> Vec<(String, bool)> {
        let room = self.cell_width(plot) - 8.0;
        let main = text::wrap(&cell.text, TEXT, room).into_iter().map(|line| (line, false));
        main.chain(text::wrap(&cell.detail, DETAIL, room).into_iter().map(|line| (line, true))).collect()
    }

    fn row_height(self, plot: f64) -> f64 {
        let most = self.cells.iter().flatten().map(|cell| self.lines(cell, plot).len()).max().unwrap_or(1);
        (most as f64 * LINE + 12.0).max(32.0)
    }
}

/// Margins and height within `cell` px of width.
pub(super) fn measure(heat: Heat, cell: f64) -> (Margins, f64) {
    let widest = heat.rows.iter().map(|name| text::width(name, NAME)).fold(0.0, f64::max);
    let left = (widest + 12.0).min(cell * 0.35);
    let plot = (cell - left).max(40.0);
    let rows = heat.rows.len().max(1) as f64;
    (Margins { left, right: 0.0, bottom: 2.0 }, heat.columns_height(plot) + rows * heat.row_height(plot))
}

/// The matrix.
pub(super) fn draw(heat: Heat, plot: Rect) -> Markup {
    let (wide, high) = (heat.cell_width(plot.w), heat.row_height(plot.w));
    let top = plot.y + heat.columns_height(plot.w);
    let name_room = plot.x - 14.0;
    html! {
        g font-size=(NAME) fill=(INK) {
            @for (c, name) in heat.columns.iter().enumerate() {
                @let lines = text::wrap(name, NAME, wide - 6.0);
                @for (n, line) in lines.iter().enumerate() {
                    text x=(Px(plot.x + (c as f64 + 0.5) * wide)) y=(Px(top - 7.0 - (lines.len() - 1 - n) as f64 * LINE))
                        text-anchor="middle" font-weight="600" { (text::fit(line, NAME, wide - 2.0)) }
                }
            }
            @for (r, name) in heat.rows.iter().enumerate() {
                text x=(Px(plot.x - 8.0)) y=(Px(top + (r as f64 + 0.5) * high + 4.0)) text-anchor="end" font-weight="600" {
                    (text::fit(name, NAME, name_room))
                }
            }
        }
        @for r in 0..heat.rows.len() {
            @for c in 0..heat.columns.len() {
                @if let Some(cell) = heat.cells.get(r).and_then(|row| row.get(c)) {
                    (draw_cell(heat, cell, Rect { x: plot.x + c as f64 * wide, y: top + r as f64 * high, w: wide, h: high }, plot.w))
                }
            }
        }
    }
}

fn draw_cell(heat: Heat, cell: &HeatCell, at: Rect, plot: f64) -> Markup {
    let (fill, ink) = cell.level.map_or_else(|| (cell.tone.fill().to_owned(), INK), palette::level);
    let lines = heat.lines(cell, plot);
    let first = at.y + at.h / 2.0 - (lines.len() as f64 - 1.0) * LINE / 2.0 + 4.0;
    html! { g class="cell" {
        rect x=(Px(at.x + 1.0)) y=(Px(at.y + 1.0)) width=(Px(at.w - 2.0)) height=(Px(at.h - 2.0)) rx="3" fill=(fill) {}
        @for (i, (line, detail)) in lines.iter().enumerate() {
            text x=(Px(at.x + at.w / 2.0)) y=(Px(first + i as f64 * LINE)) text-anchor="middle" fill=(ink)
                font-size=(if *detail { DETAIL } else { TEXT }) { (text::fit(line, if *detail { DETAIL } else { TEXT }, at.w - 4.0)) }
        }
    } }
}
