//! Lines of text formats, each with its place.

use std::ops::Range;
use std::sync::Arc;

use crate::{Place, Problem, Source};

/// A line without its end.
#[derive(Clone, Copy)]
pub(crate) struct Line<'s> {
    pub source: &'s Arc<Source>,
    pub text: &'s str,
    start: usize,
}

impl<'s> Line<'s> {
    /// The whole line.
    pub fn place(&self) -> Place {
        self.source.place(self.span())
    }

    /// Position of the whole line in the text [bytes].
    pub fn span(&self) -> Range<usize> {
        let lead = self.text.len() - self.text.trim_start().len();
        self.start + lead..self.start + self.text.trim_end().len()
    }

    /// A part of the line, which must be borrowed from it.
    pub fn place_of(&self, part: &str) -> Place {
        self.source.place(self.span_of(part))
    }

    fn span_of(&self, part: &str) -> Range<usize> {
        let start = (part.as_ptr() as usize).wrapping_sub(self.source.text().as_ptr() as usize);
        if start + part.len() <= self.source.text().len() {
            start..start + part.len()
        } else {
            self.start..self.start
        }
    }

    /// A problem at a part of the line.
    pub fn problem(&self, part: &str, what: impl Into<String>, hint: impl Into<String>) -> Problem {
        let place = if part.is_empty() { self.place() } else { self.place_of(part) };
        Problem::new(what, hint).at(place)
    }

    /// A whole number of at most `max` in decimal digits.
    ///
    /// # Errors
    /// Anything else, with its place.
    pub fn count(&self, part: &str, what: &str, max: u64) -> Result<u64, Problem> {
        match part.parse::<u64>() {
            Ok(n) if n <= max && !part.starts_with('+') => Ok(n),
            _ => {
                let what = format!(
                    "{what}: '{}' is not a whole number from 0 to {max}",
                    crate::suggest::clip(part)
                );
                Err(self.problem(part, what, "expected decimal digits"))
            }
        }
    }
}

/// All lines; LF and CR LF end one.
pub(crate) fn lines(source: &Arc<Source>) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    source.text().split_inclusive('\n').map(move |text| {
        let line = Line { source, text: text.trim_end_matches(['\n', '\r']), start };
        start += text.len();
        line
    })
}

/// The end of a text: where something is missing.
pub(crate) fn end(source: &Arc<Source>) -> Place {
    let text = source.text().trim_end();
    source.place(text.len()..text.len())
}
