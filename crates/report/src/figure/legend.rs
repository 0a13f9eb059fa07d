//! The legend: above the data, never on them.

use super::palette::{Colours, INK, MUTED};
use super::text::{self, Px};
use super::{Mark, Panel};
use maud::{Markup, html};

const SIZE: f64 = 11.5;
const SWATCH: f64 = 20.0;
const GAP: f64 = 16.0;
/// Height of a legend row.
pub(super) const ROW: f64 = 17.0;

/// Dashes of reference lines: apart without colour.
pub(super) const DASHES: [&str; 4] = ["7 3", "2 3", "9 3 2 3", "4 2"];

/// Sample of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Swatch {
    Line { colour: &'static str, dash: Option<&'static str>, width: &'static str },
    Dot(&'static str),
    Box(&'static str),
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    swatch: Swatch,
    label: String,
}

/// The entries of a panel, in the order of its marks.
pub(super) fn entries(panel: &Panel, colours: &mut Colours) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::new();
    for mark in &panel.marks {
        match mark {
            Mark::Line { name, points, dashed, colour } => {
                let colour = own(*colour, colours.of(name));
                let swatch = Swatch::Line { colour, dash: colours.dash(name, *dashed), width: "2" };
                out.push(Entry { swatch, label: series_label(name, points.is_empty()) });
            }
            Mark::Points { name, points, colour } => {
                let swatch = Swatch::Dot(own(*colour, colours.of(name)));
                out.push(Entry { swatch, label: series_label(name, points.is_empty()) });
            }
            Mark::Bars { groups, .. } => {
                out.extend(groups.iter().map(|group| {
                    let swatch = Swatch::Box(own(group.colour, colours.of(&group.name)));
                    Entry { swatch, label: series_label(&group.name, group.bars.is_empty()) }
                }));
            }
            Mark::HLine { label, colour, .. } | Mark::VLine { label, colour, .. } => {
                let (colour, dash) = reference(*colour, colours.reference(label));
                out.push(Entry {
                    swatch: Swatch::Line { colour, dash: Some(dash), width: "1.5" },
                    label: label.clone(),
                });
            }
        }
    }
    out.retain(|entry| !entry.label.is_empty());
    out
}

/// Colour of a mark: the given one, or the automatic one.
fn own(given: Option<super::Colour>, automatic: super::Colour) -> &'static str {
    given.unwrap_or(automatic).hex()
}

/// Colour and dashes of a figure's `index`-th reference line.
pub(super) fn reference(
    colour: Option<super::Colour>,
    index: usize,
) -> (&'static str, &'static str) {
    (colour.map_or("#3e4c59", super::Colour::hex), DASHES[index % DASHES.len()])
}

fn series_label(name: &str, empty: bool) -> String {
    if name.is_empty() {
        return String::new();
    }
    format!("{name}{}", if empty { " (no data)" } else { "" })
}

/// Entries laid out in rows of at most `room` px: position of each, and the number of rows.
fn flow(entries: &[Entry], room: f64) -> (Vec<(f64, f64, String)>, usize) {
    let (mut x, mut row) = (0.0, 0);
    let mut places = Vec::new();
    for entry in entries {
        let label = text::fit(&entry.label, SIZE, room - SWATCH - 6.0);
        let wide = SWATCH + 6.0 + text::width(&label, SIZE);
        if x > 0.0 && x + wide > room {
            x = 0.0;
            row += 1;
        }
        places.push((x, row as f64 * ROW, label));
        x += wide + GAP;
    }
    (places, if entries.is_empty() { 0 } else { row + 1 })
}

/// Height the legend needs [px].
pub(super) fn height(entries: &[Entry], room: f64) -> f64 {
    flow(entries, room).1 as f64 * ROW
}

/// The legend with its upper left corner at (`left`, `top`).
pub(super) fn draw(entries: &[Entry], left: f64, top: f64, room: f64) -> Markup {
    let (places, _) = flow(entries, room);
    html! {
        g font-size=(SIZE) fill=(INK) {
            @for (entry, (x, y, label)) in entries.iter().zip(&places) {
                @let (x, y) = (left + x, top + y + ROW / 2.0);
                @match &entry.swatch {
                    Swatch::Line { colour, dash, width } => {
                        line x1=(Px(x)) y1=(Px(y)) x2=(Px(x + SWATCH)) y2=(Px(y)) stroke=(colour) stroke-width=(width)
                            stroke-dasharray=[dash] {}
                    }
                    Swatch::Dot(colour) => circle cx=(Px(x + SWATCH / 2.0)) cy=(Px(y)) r="3.2" fill=(colour) {},
                    Swatch::Box(fill) => {
                        rect x=(Px(x + 3.0)) y=(Px(y - 5.5)) width="14" height="11" rx="2" fill=(fill) fill-opacity="1"
                            stroke=(MUTED) stroke-opacity="0.35" stroke-width="0.7" {}
                    }
                }
                text x=(Px(x + SWATCH + 6.0)) y=(Px(y + 4.0)) { (label) }
            }
        }
    }
}
