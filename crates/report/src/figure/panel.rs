//! One coordinate system: its range, and its marks in the right order.

use super::axes::{self, Rulers, Scales};
use super::layout::{HEIGHT, Rect};
use super::legend;
use super::palette::{Colours, MUTED};
use super::scale::Extent;
use super::text::Px;
use super::{Mark, Panel, bars, series};
use maud::{Markup, html};

/// Extents of [x, y] over all marks.
pub(super) fn extents(panel: &Panel) -> [Extent; 2] {
    let mut out = [Extent::EMPTY; 2];
    let [x, y] = &mut out;
    let (log_x, log_y) = (panel.x.log, panel.y.log);
    for mark in &panel.marks {
        match mark {
            Mark::Line { points, .. } | Mark::Points { points, .. } => {
                for (px, py) in points {
                    // A gap in one coordinate is a gap in both.
                    if super::scale::usable(*px, log_x) && super::scale::usable(*py, log_y) {
                        x.add(*px, log_x);
                        y.add(*py, log_y);
                    }
                }
            }
            Mark::Bars { labels, groups } => {
                x.add(-0.5, false);
                x.add(labels.len() as f64 - 0.5, false);
                y.add(0.0, log_y);
                // Room over the bar for the number written there.
                let room = if log_y { 1.5 } else { 1.0 + 18.0 / HEIGHT };
                for bar in groups.iter().flat_map(|group| &group.bars) {
                    let ends = bar.interval.map_or([bar.value; 2], |(low, high)| [low, high]);
                    [bar.value, ends[0], ends[1] * room]
                        .into_iter()
                        .for_each(|at| y.add(at, log_y));
                }
            }
            Mark::HLine { y: at, .. } => y.add(*at, log_y),
            Mark::VLine { x: at, .. } => x.add(*at, log_x),
        }
    }
    out
}

/// The panel without its heading.
pub(super) fn draw(
    panel: &Panel,
    rulers: &Rulers,
    plot: Rect,
    quiet_x: bool,
    colours: &mut Colours,
    budget: usize,
) -> Markup {
    let scales = Scales::new(panel, rulers, plot);
    let bars = bars::of(panel);
    let names = bars.map_or(0.0, |(labels, _)| bars::labels_height(labels, plot.w));
    // A nested viewport clips without an identifier, so that many figures fit into one page.
    let (left, top, wide, high) = (plot.x - 2.0, plot.y - 2.0, plot.w + 4.0, plot.h + 4.0);
    html! {
        g {
            (axes::grid(rulers, &scales, plot, bars.is_some()))
            (axes::draw(panel, rulers, &scales, plot, quiet_x, names))
            svg x=(Px(left)) y=(Px(top)) width=(Px(wide)) height=(Px(high))
                viewBox={ (Px(left)) " " (Px(top)) " " (Px(wide)) " " (Px(high)) } overflow="hidden" {
                @for (mark, width) in panel.marks.iter().zip(series::widths(&panel.marks)) { (series::draw(mark, &scales, plot, colours, (budget, width))) }
                @if let Some((labels, groups)) = bars { (bars::draw(labels, groups, panel, &scales, colours)) }
                (references(panel, &scales, plot, colours))
            }
            @if let Some((labels, _)) = bars { (bars::names(labels, &scales, plot)) }
            @if !panel.marks.iter().any(series::has_data) {
                text x=(Px(plot.x + plot.w / 2.0)) y=(Px(plot.y + plot.h / 2.0)) text-anchor="middle" font-size="12" fill=(MUTED) { "no data" }
            }
        }
    }
}

fn references(panel: &Panel, scales: &Scales, plot: Rect, colours: &mut Colours) -> Markup {
    let mut out = Vec::new();
    for mark in &panel.marks {
        let (ends, colour, label) = match mark {
            Mark::HLine { y, colour, label } => {
                (scales.y.at(*y).map(|y| (plot.x, y, plot.right(), y)), colour, label)
            }
            Mark::VLine { x, colour, label } => {
                (scales.x.at(*x).map(|x| (x, plot.y, x, plot.bottom())), colour, label)
            }
            _ => continue,
        };
        let (colour, dash) = legend::reference(*colour, colours.reference(label));
        let Some((x1, y1, x2, y2)) = ends else { continue };
        out.push(html! {
            line x1=(Px(x1)) y1=(Px(y1)) x2=(Px(x2)) y2=(Px(y2)) stroke=(colour) stroke-width="1.5" stroke-dasharray=(dash) {}
        });
    }
    html! { @for line in out { (line) } }
}
