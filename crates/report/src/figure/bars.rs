//! Bars side by side, with error bars and their values.

use super::axes::Scales;
use super::layout::Rect;
use super::palette::{Colours, INK, MUTED};
use super::text::{self, Px};
use super::{BarGroup, Mark, Panel, Unit};
use maud::{Markup, html};

const NAME: f64 = 11.0;
const VALUE: f64 = 10.0;

/// The bars of a panel: the first such mark counts, since categories are one per panel.
pub(super) fn of(panel: &Panel) -> Option<(&[String], &[BarGroup])> {
    panel.marks.iter().find_map(|mark| match mark {
        Mark::Bars { labels, groups } => Some((labels.as_slice(), groups.as_slice())),
        _ => None,
    })
}

/// Whether a panel has bars.
pub(super) fn any(panel: &Panel) -> bool {
    of(panel).is_some()
}

/// The labels as they are set: broken into lines, or slanted when a word is wider than its place.
fn set(labels: &[String], width: f64) -> (Vec<Vec<String>>, bool) {
    let room = width / labels.len().max(1) as f64 - 6.0;
    let lines: Vec<Vec<String>> =
        labels.iter().map(|label| text::wrap(label, NAME, room)).collect();
    let slanted = lines.iter().flatten().any(|line| text::width(line, NAME) > room);
    (lines, slanted)
}

/// Height of the category names under a plot of that width.
pub(super) fn labels_height(labels: &[String], width: f64) -> f64 {
    let (lines, slanted) = set(labels, width);
    if slanted {
        let widest = labels
            .iter()
            .map(|label| text::width(&text::fit(label, NAME, 140.0), NAME))
            .fold(0.0, f64::max);
        // sin 35 degrees of the longest name.
        return 14.0 + widest * 0.574;
    }
    6.0 + lines.iter().map(Vec::len).max().unwrap_or(0).max(1) as f64 * (NAME + 2.5)
}

/// The category names.
pub(super) fn names(labels: &[String], scales: &Scales, plot: Rect) -> Markup {
    let (lines, slanted) = set(labels, plot.w);
    let top = plot.bottom() + NAME + 5.0;
    html! {
        g font-size=(NAME) fill=(MUTED) text-anchor=(if slanted { "end" } else { "middle" }) {
            @for (i, label) in labels.iter().enumerate() {
                @if let Some(x) = scales.x.at(i as f64) {
                    @if slanted {
                        text x=(Px(x)) y=(Px(top)) transform={ "rotate(-35 " (Px(x)) " " (Px(top)) ")" } { (text::fit(label, NAME, 140.0)) }
                    } @else {
                        @for (n, line) in lines[i].iter().enumerate() {
                            text x=(Px(x)) y=(Px(top + n as f64 * (NAME + 2.5))) { (line) }
                        }
                    }
                }
            }
        }
    }
}

/// The bars.
pub(super) fn draw(
    labels: &[String],
    groups: &[BarGroup],
    panel: &Panel,
    scales: &Scales,
    colours: &mut Colours,
) -> Markup {
    let (count, width) = (groups.len() as f64, width(groups, scales));
    let base = scales.y.base();
    let mut out = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        let fill = group.colour.unwrap_or_else(|| colours.of(&group.name)).hex();
        for (i, label) in labels.iter().enumerate() {
            let (Some(bar), Some(middle)) = (group.bars.get(i), scales.x.at(i as f64)) else {
                continue;
            };
            let x = middle + (g as f64 - count / 2.0) * width;
            let centre = x + width / 2.0;
            let value = format!(
                "{}{}",
                if bar.at_least && bar.value.is_finite() { "≥ " } else { "" },
                panel.y.unit.format(bar.value)
            );
            // A value without a place on the axis (0 on a logarithmic one) is drawn at the base,
            // with its text.
            let top = scales.y.at(bar.value).unwrap_or(base);
            let ends = bar.interval.and_then(|(low, high)| {
                Some((scales.y.at(low).unwrap_or(base), scales.y.at(high)?))
            });
            let highest = ends.map_or(top, |(_, high)| high.min(top)).min(base);
            let number = number(&panel.y.unit, &value);
            let written = text::width(number, VALUE) < width + 6.0;
            out.push(html! {
                g {
                    title { (label) ", " (group.name) ": " (value)
                        @if let Some((low, high)) = bar.interval { " (" (panel.y.unit.format(low)) " to " (panel.y.unit.format(high)) ")" } }
                    rect x=(Px(x + 0.75)) y=(Px(top.min(base))) width=(Px((width - 1.5).max(0.5))) height=(Px((base - top).abs())) fill=(fill) {}
                    @if let Some((low, high)) = ends {
                        path d={ "M" (Px(centre)) " " (Px(low)) "V" (Px(high)) "M" (Px(centre - 4.0)) " " (Px(high)) "h8M"
                            (Px(centre - 4.0)) " " (Px(low)) "h8" } stroke=(INK) stroke-width="1.2" fill="none" {}
                    }
                    @if written {
                        text x=(Px(centre)) y=(Px(highest - 4.0)) font-size=(VALUE) text-anchor="middle" fill=(INK) { (number) }
                    }
                }
            });
        }
    }
    html! { @for bar in out { (bar) } }
}

/// Width of a bar: three quarters of a category's place for all its bars.
fn width(groups: &[BarGroup], scales: &Scales) -> f64 {
    let slot = scales.x.at(1.0).zip(scales.x.at(0.0)).map_or(0.0, |(b, a)| b - a);
    (slot * 0.76 / groups.len().max(1) as f64).min(54.0)
}

/// The text over a bar: with its unit, since bars of one panel may differ by powers of a thousand.
/// "0" needs none, nor does a unit without prefixes: the axis shows it.
fn number<'a>(unit: &Unit, value: &'a str) -> &'a str {
    match unit {
        Unit::Other(name) => value.strip_suffix(name.as_str()).map_or(value, str::trim_end),
        _ => value.strip_prefix("0 ").map_or(value, |_| "0"),
    }
}
