//! A tree as a drawing: the root at the left, its branches to the right.

use maud::{Markup, html};

use crate::Tone;
use crate::figure::palette::{INK, MUTED, theme};
use crate::figure::text::{FONTS, Px, fit, wrap};

/// A box of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeBox {
    /// First line.
    pub title: String,
    /// Second, smaller line.
    pub detail: String,
    /// Meaning of its colour.
    pub tone: Tone,
    /// The box it hangs on; none: a root.
    pub parent: Option<usize>,
    /// Further boxes it is tied to, drawn dashed.
    pub ties: Vec<usize>,
}

/// A forest with a title and lines of text below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeFigure {
    /// Heading.
    pub title: String,
    /// Meaning of the colours, in order: tone and words.
    pub legend: Vec<(Tone, String)>,
    /// The boxes.
    pub boxes: Vec<TreeBox>,
    /// Lines below the drawing.
    pub notes: Vec<String>,
}

const BOX: (f64, f64) = (176.0, 40.0);
const GAP: (f64, f64) = (44.0, 12.0);
const PAD: f64 = 14.0;
const LINE: f64 = 15.0;
/// Rows drawn at most; the rest is counted in a note.
const ROWS_MAX: usize = 60;

/// Positions of the boxes: column and row of each; `None`: no room.
struct Places(Vec<Option<(usize, f64)>>);

impl Places {
    fn of(boxes: &[TreeBox]) -> Places {
        let mut p = Places(vec![None; boxes.len()]);
        let mut row = 0;
        for i in 0..boxes.len() {
            if boxes[i].parent.is_none() {
                p.place(boxes, i, 0, &mut row);
            }
        }
        // A branch in a cycle has no root and stands alone.
        for i in 0..boxes.len() {
            if p.0[i].is_none() {
                p.place(boxes, i, 0, &mut row);
            }
        }
        p
    }

    /// Leaves take the rows one by one; a parent is in the middle of its first and last child.
    fn place(&mut self, boxes: &[TreeBox], i: usize, column: usize, row: &mut usize) {
        if *row >= ROWS_MAX {
            return;
        }
        self.0[i] = Some((column, *row as f64)); // taken, so that a circle ends here
        let mut rows = Vec::new();
        for c in 0..boxes.len() {
            if boxes[c].parent == Some(i) && self.0[c].is_none() {
                self.place(boxes, c, column + 1, row);
                rows.extend(self.0[c].map(|place| place.1));
            }
        }
        let own = match (rows.first(), rows.last()) {
            (Some(first), Some(last)) => (first + last) / 2.0,
            _ => {
                *row += 1;
                (*row - 1) as f64
            }
        };
        self.0[i] = Some((column, own));
    }
}

impl TreeFigure {
    /// The drawing as SVG text. Same data, same bytes.
    pub fn to_svg(&self) -> String {
        crate::printable(self.draw().into_string())
    }

    fn draw(&self) -> Markup {
        let places = Places::of(&self.boxes);
        let columns = places.0.iter().flatten().map(|p| p.0 + 1).max().unwrap_or(1);
        let rows = places.0.iter().flatten().map(|p| p.1.ceil() as usize + 1).max().unwrap_or(0);
        let width = (2.0 * PAD + columns as f64 * (BOX.0 + GAP.0) - GAP.0).max(520.0);
        let top = PAD + 26.0 + if self.legend.is_empty() { 0.0 } else { 24.0 };
        let corner = |i: usize| {
            places.0[i].map(|(c, r)| (PAD + c as f64 * (BOX.0 + GAP.0), top + r * (BOX.1 + GAP.1)))
        };
        let missing = places.0.iter().filter(|p| p.is_none()).count();
        let more = (missing > 0).then(|| format!("{missing} more are not drawn."));
        let notes: Vec<String> =
            self.notes.iter().chain(&more).flat_map(|n| wrap(n, 11.0, width - 2.0 * PAD)).collect();
        let below = top + rows as f64 * (BOX.1 + GAP.1) + 6.0;
        let height = below + notes.len() as f64 * LINE + PAD;
        let edge = |from: usize, to: usize, dashed: bool| {
            let (Some((x0, y0)), Some((x1, y1))) = (corner(to), corner(from)) else {
                return html! {};
            };
            let (x0, y0, y1) = (x0 + BOX.0, y0 + BOX.1 / 2.0, y1 + BOX.1 / 2.0);
            let mid = (x0 + x1) / 2.0;
            let d = format!("M{x0:.1} {y0:.1} C{mid:.1} {y0:.1} {mid:.1} {y1:.1} {x1:.1} {y1:.1}");
            html! { path d=(d) fill="none" stroke=(MUTED) stroke-width="1.2" stroke-dasharray=[dashed.then_some("4 3")] {} }
        };
        html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (Px(width)) " " (Px(height)) } width=(Px(width)) height=(Px(height))
                font-family=(FONTS) role="img" class="xoff-figure" {
                title { (self.title) }
                (theme())
                rect class="paper" width=(Px(width)) height=(Px(height)) fill="#ffffff" {}
                text x=(Px(PAD)) y=(Px(PAD + 14.0)) font-size="15" font-weight="600" fill=(INK) { (self.title) }
                @for (k, (tone, words)) in self.legend.iter().enumerate() {
                    @let x = PAD + k as f64 * 150.0;
                    rect x=(Px(x)) y=(Px(PAD + 26.0)) width="12" height="12" rx="2" fill=(tone.fill()) stroke=(MUTED) stroke-width="0.6" {}
                    text x=(Px(x + 17.0)) y=(Px(PAD + 36.0)) font-size="11" fill=(INK) { (words) }
                }
                @for (i, b) in self.boxes.iter().enumerate() {
                    @if let Some(p) = b.parent { (edge(i, p, false)) }
                    @for &t in &b.ties { (edge(i, t, true)) }
                }
                @for (i, b) in self.boxes.iter().enumerate() {
                    @if let Some((x, y)) = corner(i) { g class="cell" {
                        rect x=(Px(x)) y=(Px(y)) width=(Px(BOX.0)) height=(Px(BOX.1)) rx="5" fill=(b.tone.fill()) stroke=(MUTED) stroke-width="0.8" {}
                        text x=(Px(x + 10.0)) y=(Px(y + 17.0)) font-size="12.5" font-weight="600" fill=(INK) { (fit(&b.title, 12.5, BOX.0 - 20.0)) }
                        text x=(Px(x + 10.0)) y=(Px(y + 32.0)) font-size="10.5" fill=(MUTED) { (fit(&b.detail, 10.5, BOX.0 - 20.0)) }
                    } }
                }
                @for (k, line) in notes.iter().enumerate() {
                    text x=(Px(PAD)) y=(Px(below + LINE * (k as f64 + 0.8))) font-size="11" fill=(INK) { (line) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_box(title: &str, parent: Option<usize>) -> TreeBox {
        TreeBox {
            title: title.into(),
            detail: String::new(),
            tone: Tone::Neutral,
            parent,
            ties: Vec::new(),
        }
    }

    #[test]
    fn a_parent_stands_in_the_middle_of_its_children() {
        let boxes = [
            a_box("r", None),
            a_box("a", Some(0)),
            a_box("b", Some(0)),
            a_box("c", Some(2)),
            a_box("other root", None),
        ];
        let at: Vec<_> = Places::of(&boxes).0.into_iter().flatten().collect();
        assert_eq!(at, [(0, 0.5), (1, 0.0), (1, 1.0), (2, 1.0), (0, 2.0)]);
    }

    #[test]
    fn a_circle_is_drawn_too_and_the_svg_is_well_formed() {
        let mut boxes = vec![a_box("a & <b>", Some(1)), a_box("c", Some(0)), a_box("d", None)];
        boxes[2].ties.push(0);
        let figure = TreeFigure {
            title: "t".into(),
            boxes,
            notes: vec!["note".into()],
            legend: vec![(Tone::Bad, "bad".into())],
        };
        let svg = figure.to_svg();
        let parsed = roxmltree::Document::parse(&svg).unwrap();
        assert_eq!(parsed.descendants().filter(|n| n.has_tag_name("rect")).count(), 1 + 1 + 3);
        assert_eq!(svg, figure.to_svg());
    }
}
