//! Lines of words separated by blanks, as in the text formats of other simulators.

use std::ops::Range;
use std::sync::Arc;

use crate::{Place, Problem, Problems, Source, suggest};

/// A word with its place.
#[derive(Clone, Debug)]
pub(crate) struct Word<'t> {
    pub text: &'t str,
    pub span: Range<usize>,
}

/// A line with at least the line end; blanks around words carry no meaning.
#[derive(Clone, Debug)]
pub(crate) struct Line<'t> {
    pub words: Vec<Word<'t>>,
    /// Just behind the last word, or the start of an empty line: where a missing word would stand.
    end: usize,
}

/// Takes words from a text and reports their problems.
pub(crate) struct Words<'t> {
    pub source: &'t Arc<Source>,
    pub problems: Problems,
}

impl<'t> Words<'t> {
    pub fn new(source: &'t Arc<Source>) -> Words<'t> {
        Words { source, problems: Problems::default() }
    }

    /// All lines, empty ones included. LF, CR LF and CR end a line, as in [`Source::position`].
    pub fn lines(&self) -> impl Iterator<Item = Line<'t>> + use<'t> {
        let text = self.source.text();
        let mut at = 0;
        std::iter::from_fn(move || {
            if at >= text.len() {
                return None;
            }
            let start = at;
            let length = text[start..].find(['\n', '\r']).unwrap_or(text.len() - start);
            let end = start + length;
            at = end + if text[end..].starts_with("\r\n") { 2 } else { 1 };
            let words = words_of(text, start..end);
            let end = words.last().map_or(start, |w| w.span.end);
            Some(Line { words, end })
        })
    }

    pub fn place(&self, span: &Range<usize>) -> Place {
        self.source.place(span.clone())
    }

    pub fn refuse(
        &mut self,
        span: &Range<usize>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.problems.push(Problem::new(what, hint).at(self.place(span)));
    }

    /// Reports missing or surplus words of a line; true if it has as many words as `fields`.
    pub fn expect(&mut self, line: &Line<'_>, what: &str, fields: &[&str]) -> bool {
        let mut hint = format!("expected {}", fields.join(" "));
        if line.words.len() != fields.len()
            && line.words.iter().any(|w| w.text.contains([',', ';']))
        {
            hint += "; separate the words by blanks, not commas";
        }
        if let Some(comment) = line.words.iter().find(|w| w.text.starts_with('#')) {
            self.refuse(&comment.span, format!("{what}: this format has no comments"), hint);
        } else if let Some(missing) = fields.get(line.words.len()) {
            self.refuse(&(line.end..line.end), format!("{what}: '{missing}' is missing"), hint);
        } else if let Some(extra) = line.words.get(fields.len()) {
            self.refuse(
                &extra.span,
                format!("{what}: unexpected word '{}'", suggest::clip(extra.text)),
                hint,
            );
        } else {
            return true;
        }
        false
    }

    /// A whole number up to `max`.
    pub fn count(&mut self, word: &Word<'_>, what: &str, max: u64) -> Option<u64> {
        match word.text.parse::<u64>() {
            Ok(v) if v <= max => return Some(v),
            Ok(v) => self.refuse(
                &word.span,
                format!("{what}: {v} is too large"),
                format!("expected at most {max}"),
            ),
            Err(_) if !word.text.is_empty() && word.text.bytes().all(|b| b.is_ascii_digit()) => {
                self.refuse(
                    &word.span,
                    format!("{what}: {} is too large", suggest::clip(word.text)),
                    format!("expected at most {max}"),
                );
            }
            Err(_) => self.refuse(
                &word.span,
                format!("{what}: '{}' is not a whole number", suggest::clip(word.text)),
                "expected 0, 1, 2, ...",
            ),
        }
        None
    }

    /// A number that is neither negative nor infinite.
    pub fn number(&mut self, word: &Word<'_>, what: &str) -> Option<f64> {
        match word.text.parse::<f64>() {
            Ok(v) if v.is_finite() && v >= 0.0 => return Some(v),
            Ok(_) => self.refuse(
                &word.span,
                format!("{what}: {} is out of range", suggest::clip(word.text)),
                "expected a number from 0",
            ),
            Err(_) => self.refuse(
                &word.span,
                format!("{what}: '{}' is not a number", suggest::clip(word.text)),
                "expected a number, such as 0.5",
            ),
        }
        None
    }
}

fn words_of(text: &str, range: Range<usize>) -> Vec<Word<'_>> {
    let line = &text[range.clone()];
    let base = line.as_ptr() as usize;
    let word = |w| {
        let start = range.start + (str::as_ptr(w) as usize - base);
        Word { text: w, span: start..start + w.len() }
    };
    line.split_ascii_whitespace().map(word).collect()
}
