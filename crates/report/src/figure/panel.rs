//! One coordinate system: its range, and its marks in the right order.

use super::axes::{self, Rulers, Scales};
use super::layout::Rect;
use super::legend::{self, BAND_OPACITY, BANDS};
use super::palette::{Colours, MUTED};
use super::scale::Extent;
use super::text::Px;
use super::{Mark, Panel, bars, lanes, series};
use maud::{Markup, html};

/// Extents of [x, y, second y] over all marks.
pub(super) fn extents(panel: &Panel) -> [Extent; 3] {
    let mut out = [Extent::EMPTY; 3];
    let [x, y, second_y] = &mut out;
    let (log_x, log_y) = (panel.x.log, panel.y.log);
    let log_second = panel.second_y.as_ref().is_some_and(|axis| axis.log);
    for mark in &panel.marks {
        match mark {
            Mark::Line { points, second, .. } | Mark::Points { points, second, .. } => {
                let (log, to) = if *second { (log_second, &mut *second_y) } else { (log_y, &mut *y) };
                for (px, py) in points {
                    // A gap in one coordinate is a gap in both.
                    if super::scale::usable(*px, log_x) && super::scale::usable(*py, log) {
                        x.add(*px, log_x);
                        to.add(*py, log);
                    }
                }
            }
            Mark::Bars { labels, groups, .. } => {
                x.add(-0.5, false);
                x.add(labels.len() as f64 - 0.5, false);
                y.add(0.0, log_y);
                // Room over the bar for the number written there.
                let room = if log_y { 1.5 } else { 1.0 + 18.0 / panel.height.map_or(170.0, f64::from).max(40.0) };
                for bar in groups.iter().flat_map(|group| &group.bars) {
                    let ends = bar.interval.map_or([bar.value; 2], |(low, high)| [low, high]);
                    [bar.value, ends[0], ends[1] * room].into_iter().for_each(|at| y.add(at, log_y));
                    y.add(bar.reference.unwrap_or(f64::NAN), log_y);
                }
            }
            Mark::HLine { y: at, .. } => y.add(*at, log_y),
            Mark::VLine { x: at, .. } => x.add(*at, log_x),
            Mark::HBand { low, high, .. } => [low, high].into_iter().for_each(|at| y.add(*at, log_y)),
            Mark::VBand { low, high, .. } => [low, high].into_iter().for_each(|at| x.add(*at, log_x)),
            Mark::Cdf { samples, .. } => {
                samples.iter().for_each(|sample| x.add(*sample, log_x));
                y.add(1.0 / samples.len().max(1) as f64, log_y);
                y.add(0.0, log_y);
                y.add(1.0, log_y);
            }
            Mark::Lanes { groups, .. } => {
                for (_, from, to) in groups.iter().flat_map(|group| &group.stretches) {
                    [from, to].into_iter().for_each(|at| x.add(*at, log_x));
                }
            }
            Mark::Heatmap { .. } => {}
        }
    }
    out
}

/// The panel without its heading.
pub(super) fn draw(panel: &Panel, rulers: &Rulers, plot: Rect, quiet_x: bool, colours: &mut Colours, budget: usize) -> Markup {
    let scales = Scales::new(panel, rulers, plot);
    let bars = bars::of(panel);
    let names = bars.map_or(0.0, |(labels, _)| bars::labels_height(labels, plot.w));
    // A nested viewport clips without an identifier, so that many figures fit into one page.
    let (left, top, wide, high) = (plot.x - 2.0, plot.y - 2.0, plot.w + 4.0, plot.h + 4.0);
    html! {
        g {
            (bands(panel, &scales, plot, colours))
            (axes::grid(panel, rulers, &scales, plot, bars.is_some()))
            (axes::draw(panel, rulers, &scales, plot, quiet_x, names))
            svg x=(Px(left)) y=(Px(top)) width=(Px(wide)) height=(Px(high))
                viewBox={ (Px(left)) " " (Px(top)) " " (Px(wide)) " " (Px(high)) } overflow="hidden" {
                @for (mark, width) in panel.marks.iter().zip(series::widths(&panel.marks)) { (series::draw(mark, &scales, plot, colours, (budget, width))) }
                @if let Some((labels, groups)) = bars { (bars::draw(labels, groups, panel, &scales, colours)) }
                @if let Some((names, groups)) = lanes::of(panel) { (lanes::draw(names, groups, &scales, plot, colours)) }
                (references(panel, &scales, plot, colours))
            }
            @if let Some((names, _)) = lanes::of(panel) { (lanes::names(names, plot)) }
            @if let Some((labels, groups)) = bars {
                (bars::references(groups, &scales))
                (bars::names(labels, &scales, plot))
            }
            @if !panel.marks.iter().any(series::has_data) {
                text x=(Px(plot.x + plot.w / 2.0)) y=(Px(plot.y + plot.h / 2.0)) text-anchor="middle" font-size="12" fill=(MUTED) { "no data" }
            }
        }
    }
}

fn bands(panel: &Panel, scales: &Scales, plot: Rect, colours: &mut Colours) -> Markup {
    let mut out = Vec::new();
    for mark in &panel.marks {
        let (at, vertical, label) = match mark {
            Mark::HBand { low, high, label } => (scales.y.at(*low).zip(scales.y.at(*high)), false, label),
            Mark::VBand { low, high, label } => (scales.x.at(*low).zip(scales.x.at(*high)), true, label),
            _ => continue,
        };
        let fill = BANDS[colours.band(label) % BANDS.len()];
        let Some((a, b)) = at else { continue };
        let (from, to) = if vertical { (plot.x, plot.right()) } else { (plot.y, plot.bottom()) };
        let (low, high) = (a.min(b).clamp(from, to), a.max(b).clamp(from, to));
        // A band thinner than a pixel is still a band.
        let (low, size) = if high - low < 1.0 { ((low + high - 1.0) / 2.0, 1.0) } else { (low, high - low) };
        let (x, y, w, h) = if vertical { (low, plot.y, size, plot.h) } else { (plot.x, low, plot.w, size) };
        out.push(html! { rect x=(Px(x)) y=(Px(y)) width=(Px(w)) height=(Px(h)) fill=(fill) fill-opacity=(BAND_OPACITY) {} });
    }
    html! { @for band in out { (band) } }
}

fn references(panel: &Panel, scales: &Scales, plot: Rect, colours: &mut Colours) -> Markup {
    let mut out = Vec::new();
    for mark in &panel.marks {
        let (ends, colour, label) = match mark {
            Mark::HLine { y, colour, label } => (scales.y.at(*y).map(|y| (plot.x, y, plot.right(), y)), colour, label),
            Mark::VLine { x, colour, label } => (scales.x.at(*x).map(|x| (x, plot.y, x, plot.bottom())), colour, label),
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
