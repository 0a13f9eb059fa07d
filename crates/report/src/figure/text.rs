//! Text without a system font: estimated widths, and numbers as SVG wants them.

use maud::Render;

/// The font stack of every figure: whatever the viewer has, all of about the width of Helvetica.
pub(crate) use xoff_record::output::FONTS;

/// Width of a text [px], estimated from Helvetica's widths and a little generous, since fonts
/// differ.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let per_em = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '|' => 0.25,
        ' ' | '.' | ',' | ':' | ';' | '!' | 't' | 'f' | 'I' | '(' | ')' | '[' | ']' | '/' | '-'
        | 'r' => 0.33,
        'm' | 'M' | 'W' | '@' | '%' | '—' => 0.89,
        'w' | 'C' | 'D' | 'G' | 'H' | 'N' | 'O' | 'Q' | 'R' | 'U' => 0.74,
        'A'..='Z' | '+' | '=' | '<' | '>' | '&' => 0.67,
        c if (c as u32) >= 0x2e80 => 1.0,
        _ => 0.56,
    };
    text.chars().map(per_em).sum::<f64>() * size * 1.04
}

/// A text cut to a width, with an ellipsis where something is missing.
pub(crate) fn fit(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept, size) + size > room {
            kept.pop();
            break;
        }
    }
    kept.trim_end().to_owned() + "…"
}

/// A text broken between words into lines of at most that width; a single long word keeps its own
/// line.
pub(crate) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + 0.33 * size <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A coordinate with one decimal: a tenth of a pixel is finer than the eye, and hides the last bits
/// of a float.
#[derive(Clone, Copy)]
pub(crate) struct Px(pub f64);

impl Render for Px {
    fn render_to(&self, out: &mut String) {
        push(out, self.0);
    }
}

/// Appends a coordinate.
pub(super) fn push(out: &mut String, value: f64) {
    // A coordinate that is not finite cannot come from a scale; 0 keeps the document valid anyway.
    let tenths = if value.is_finite() { (value.clamp(-1e6, 1e6) * 10.0).round() as i64 } else { 0 };
    if tenths < 0 {
        out.push('-');
    }
    out.push_str(&(tenths.abs() / 10).to_string());
    if tenths % 10 != 0 {
        out.push('.');
        out.push_str(&(tenths.abs() % 10).to_string());
    }
}
