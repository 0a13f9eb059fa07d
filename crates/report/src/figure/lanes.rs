//! Lanes: one row per item. Stretches along x are coloured by its state then, e.g. the state of each port over time.

use super::axes::Scales;
use super::layout::Rect;
use super::palette::{Colours, MUTED};
use super::text::{self, Px};
use super::{LaneGroup, Mark, Panel};
use maud::{Markup, html};

const NAME: f64 = 11.0;
/// Part of a row that a stretch is high.
const THICK: f64 = 0.62;
/// Nearer than this, two stretches are drawn as one [px].
const GAP: f64 = 0.25;
/// A stretch is at least this wide, or it would be invisible [px].
const THIN: f64 = 0.7;

/// The lanes of a panel: the first such mark counts, since rows are one set per panel.
pub(super) fn of(panel: &Panel) -> Option<(&[String], &[LaneGroup])> {
    panel.marks.iter().find_map(|mark| match mark {
        Mark::Lanes { names, groups } => Some((names.as_slice(), groups.as_slice())),
        _ => None,
    })
}

/// Height of a panel with that many rows, where none is asked for.
pub(super) fn height(rows: usize) -> f64 {
    (rows as f64 * 24.0).max(24.0)
}

/// Room that the names need left of the plot.
pub(super) fn margin(names: &[String]) -> f64 {
    names.iter().map(|name| text::width(&text::fit(name, NAME, 150.0), NAME)).fold(0.0, f64::max) + 10.0
}

/// The names of the rows, top to bottom.
pub(super) fn names(names: &[String], plot: Rect) -> Markup {
    let row = plot.h / names.len().max(1) as f64;
    html! {
        g font-size=(NAME) fill=(MUTED) text-anchor="end" {
            @for (i, name) in names.iter().enumerate() {
                text x=(Px(plot.x - 7.0)) y=(Px(plot.y + (i as f64 + 0.5) * row + 4.0)) { (text::fit(name, NAME, 150.0)) }
            }
        }
    }
}

/// The stretches: one element a group.
pub(super) fn draw(names: &[String], groups: &[LaneGroup], scales: &Scales, plot: Rect, colours: &mut Colours) -> Markup {
    let row = plot.h / names.len().max(1) as f64;
    let paths: Vec<(&str, &str, String)> = groups
        .iter()
        .map(|group| {
            let mut d = String::new();
            for lane in 0..names.len() {
                let top = plot.y + (lane as f64 + 0.5 - THICK / 2.0) * row;
                for (from, to) in merged(group, lane, scales, plot) {
                    d.push('M');
                    text::push(&mut d, from);
                    d.push(' ');
                    text::push(&mut d, top);
                    d.push('h');
                    text::push(&mut d, to - from);
                    d.push('v');
                    text::push(&mut d, row * THICK);
                    d.push('h');
                    text::push(&mut d, from - to);
                    d.push('z');
                }
            }
            let colour = group.colour.unwrap_or_else(|| colours.of(&group.name));
            (group.name.as_str(), colour.hex(), d)
        })
        .collect();
    html! {
        @for (name, fill, d) in &paths {
            @if !d.is_empty() { path d=(d) fill=(fill) { title { (name) } } }
        }
    }
}

/// Stretches of a row in pixels, in order; those that touch or nearly do are one.
fn merged(group: &LaneGroup, lane: usize, scales: &Scales, plot: Rect) -> Vec<(f64, f64)> {
    let inside = |x: f64| x.clamp(plot.x - 2.0, plot.right() + 2.0);
    let mut all: Vec<(f64, f64)> = group
        .stretches
        .iter()
        .filter(|s| s.0 == lane)
        .filter_map(|s| Some((scales.x.at(s.1)?, scales.x.at(s.2)?)))
        .filter(|(from, to)| *to >= plot.x && *from <= plot.right())
        .map(|(from, to)| (inside(from), inside(to)))
        .map(|(from, to)| (from, to.max(from + THIN)))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out: Vec<(f64, f64)> = Vec::new();
    for (from, to) in all {
        match out.last_mut() {
            Some(last) if from <= last.1 + GAP => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Colour, Figure, Unit};
    use super::*;

    fn figure(stretches: Vec<(usize, f64, f64)>) -> String {
        let x = Axis::new("Time", Unit::Picoseconds).range(0.0, 1e9);
        let group = LaneGroup::new("undetermined", stretches).colour(Colour::Orange);
        let panel = Panel::new("", x, Axis::new("", Unit::None)).mark(Mark::lanes(["P1", "P2"], [group]));
        Figure::new("").panel(panel).to_svg()
    }

    #[test]
    fn rows_are_named_and_stretches_are_drawn() {
        let svg = figure(vec![(0, 0.0, 2e8), (1, 4e8, 5e8)]);
        assert!(svg.contains(">P1<") && svg.contains(">P2<") && svg.contains("undetermined"), "{svg}");
        assert!(!svg.contains("no data"));
        let path = |svg: &str| {
            let mut paths = svg.split("<path d=\"").map(|p| p.split('>').next().unwrap_or(p));
            paths.find(|p| p.contains("#e69f00")).map(str::to_owned).unwrap()
        };
        assert_eq!(path(&svg).matches('z').count(), 2);
        assert_eq!(path(&figure(vec![(0, 0.0, 2e8), (0, 2e8, 3e8)])).matches('z').count(), 1, "touching stretches are one");
        assert_eq!(path(&figure(vec![(0, 5e8, 5e8)])).matches('z').count(), 1, "a time is seen");
    }

    #[test]
    fn what_lies_outside_is_left_out() {
        // The style of the dark theme names the colour too.
        let drawn = |svg: &str| svg.split("<path").skip(1).filter(|p| p.split('>').next().is_some_and(|p| p.contains("e69f00"))).count();
        assert_eq!(drawn(&figure(vec![(0, 0.0, 2e8)])), 1);
        assert_eq!(drawn(&figure(vec![(0, 2e9, 3e9), (7, 0.0, 1e9)])), 0);
        assert!(figure(vec![]).contains("no data"));
    }
}
