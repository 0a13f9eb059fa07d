//! Problems of an input, with their places.
//!
//! A [`Problem`] is a `miette` diagnostic with its own source text, so that the same value renders
//! as a caret under the fault on a terminal, as one line in a log, and as the text of a Python
//! exception.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::read;
use crate::suggest::{cut, is_unseen};
use miette::{
    Diagnostic, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};

/// Problems of one input that are shown; the rest is counted.
pub const SHOWN_MAX: usize = 10;
/// Problems of one input that are kept; a file of garbage must not fill the memory.
const KEPT_MAX: usize = 1_000;
/// Longest message, hint and setting that are shown [characters]: they may contain names of a file.
const TEXT_MAX: usize = 2_000;
/// Longest line that is drawn [bytes].
const LINE_MAX: usize = 400;

/// A text with its name: a file, or one setting from the command line.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
    setting: bool,
    /// Made at the first question: every value of a document asks where it stands.
    line_starts: OnceLock<Vec<usize>>,
    /// The text as it is drawn, if that differs.
    drawn: OnceLock<Option<String>>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        (&self.name, &self.text, self.setting) == (&other.name, &other.text, other.setting)
    }
}
impl Eq for Source {}

impl Source {
    /// A file that has been read already.
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        Arc::new(Source {
            name: name.into(),
            text: text.into(),
            setting: false,
            line_starts: OnceLock::new(),
            drawn: OnceLock::new(),
        })
    }

    /// A setting such as `--set topology.rate=10Gbps`; `name` is where it came from, `text` the
    /// setting.
    pub fn setting(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        Arc::new(Source {
            name: name.into(),
            text: text.into(),
            setting: true,
            line_starts: OnceLock::new(),
            drawn: OnceLock::new(),
        })
    }

    /// Reads a file or a pipe of at most [`read::TEXT_MAX`]. One that cannot be read or is not
    /// UTF-8 is a problem like any other.
    ///
    /// # Errors
    /// Errors of [`read::bytes`], and bytes that are not UTF-8.
    pub fn read(path: &Path) -> Result<Arc<Source>, Problems> {
        Source::from_bytes(path.display().to_string(), read::bytes(path, read::TEXT_MAX)?)
    }

    /// As [`Source::read`], with the smaller limit of a TOML document.
    ///
    /// # Errors
    /// As there.
    pub fn read_document(path: &Path) -> Result<Arc<Source>, Problems> {
        Source::from_bytes(path.display().to_string(), read::bytes(path, read::DOCUMENT_MAX)?)
    }

    /// Takes the bytes of a file; they must be UTF-8. The byte order mark that some editors write
    /// is no part of the text.
    ///
    /// # Errors
    /// The first byte that is not UTF-8, with its place.
    pub fn from_bytes(
        name: impl Into<String>,
        mut bytes: Vec<u8>,
    ) -> Result<Arc<Source>, Problems> {
        if bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source::file(name, text)),
            Err(e) => {
                let at = e.utf8_error().valid_up_to();
                let bad = e.as_bytes()[at];
                let source = Source::file(name, String::from_utf8_lossy(e.as_bytes()));
                // Up to the bad byte the lossy text has the same bytes; there it holds a
                // replacement character.
                let span = at..at + '\u{fffd}'.len_utf8();
                let hint = match e.as_bytes() {
                    [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "the file is UTF-16; save it as UTF-8",
                    [0x1f, 0x8b, ..] => "the file is compressed with gzip; unpack it first",
                    _ => "expected a text file in UTF-8",
                };
                let problem = Problem::new(format!("byte 0x{bad:02x} is not UTF-8"), hint);
                Err(problem.at(source.place(span)).into())
            }
        }
    }

    /// The file name, or where the setting came from.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// True for a setting, false for a file.
    pub fn is_setting(&self) -> bool {
        self.setting
    }

    /// A place in this text.
    pub fn place(self: &Arc<Self>, span: Range<usize>) -> Place {
        let end = span.end.min(self.text.len());
        Place { source: self.clone(), span: span.start.min(end)..end }
    }

    fn line_starts(&self) -> &[usize] {
        self.line_starts.get_or_init(|| line_starts(self.text.as_bytes()))
    }

    /// Line of a byte offset, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.line_starts().partition_point(|&start| start <= offset)
    }

    /// Line and column of a byte offset, both from 1; columns count characters. LF, CR LF and CR
    /// end a line.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.line(offset);
        // Continuation bytes do not start a character.
        let before = &self.text.as_bytes()[self.line_starts()[line - 1]..offset];
        (line, 1 + before.iter().filter(|&&b| b & 0xc0 != 0x80).count())
    }
}

/// Offsets at which lines start, the first at 0.
fn line_starts(text: &[u8]) -> Vec<usize> {
    let ends =
        |&(i, &b): &(usize, &u8)| b == b'\n' || (b == b'\r' && text.get(i + 1) != Some(&b'\n'));
    std::iter::once(0).chain(text.iter().enumerate().filter(ends).map(|(i, _)| i + 1)).collect()
}

impl SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let drawn = self.drawn.get_or_init(|| drawn(&self.text));
        let c = drawn.as_ref().unwrap_or(&self.text).as_str().read_span(span, before, after)?;
        Ok(Box::new(MietteSpanContents::new_named(
            cut(&self.name, TEXT_MAX),
            c.data(),
            *c.span(),
            c.line(),
            c.column(),
            c.line_count(),
        )))
    }
}

/// A text with a mark for each character that a terminal obeys or does not show. Marks are as long
/// as what they replace, so that places stay. `None`: there is none.
fn drawn(text: &str) -> Option<String> {
    let unseen = |c: char| is_unseen(c) && !matches!(c, '\n' | '\r' | '\t');
    let mark = |c: char| match c.len_utf8() {
        _ if !unseen(c) => c,
        1 => '?',
        2 => '\u{bf}',
        3 => '\u{fffd}',
        _ => '\u{1fbc4}',
    };
    text.contains(unseen).then(|| text.chars().map(mark).collect())
}

/// A range of bytes in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub source: Arc<Source>,
    /// The bytes concerned.
    pub span: Range<usize>,
}

impl fmt::Display for Place {
    /// `file:line:column`, or the setting as it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.source.setting {
            let (name, text) = (&self.source.name, &self.source.text);
            return write!(f, "{} {}", cut(name, TEXT_MAX), cut(text, TEXT_MAX));
        }
        let (line, column) = self.source.position(self.span.start);
        write!(f, "{}:{line}:{column}", cut(&self.source.name, TEXT_MAX))
    }
}

/// Effect of a problem on the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The run stops.
    Error,
    /// The run continues; the user is warned.
    Warning,
}

/// Capabilities of the output for problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// True if it shows colours.
    pub color: bool,
    /// True if it shows more than ASCII.
    pub unicode: bool,
    /// Width in columns.
    pub columns: usize,
}

impl Default for Canvas {
    fn default() -> Canvas {
        Canvas { color: false, unicode: true, columns: 110 }
    }
}

/// One thing wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Problem, one clause.
    pub message: String,
    /// Remedy, one clause; may be empty.
    pub hint: String,
    /// Place in the input; `None`: the problem has none.
    pub place: Option<Place>,
    /// Effect on the run.
    pub severity: Severity,
}

impl Problem {
    /// An error without a place.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem {
            message: cut(&message.into(), TEXT_MAX),
            hint: cut(&hint.into(), TEXT_MAX),
            place: None,
            severity: Severity::Error,
        }
    }
    /// Problem at `place`.
    pub fn at(mut self, place: Place) -> Problem {
        self.place = Some(place);
        self
    }
    /// Problem as a warning.
    pub fn warning(mut self) -> Problem {
        self.severity = Severity::Warning;
        self
    }
    /// One line: `file:line:column: message (hint)`.
    pub fn line(&self) -> String {
        let hint = if self.hint.is_empty() { String::new() } else { format!(" ({})", self.hint) };
        self.place_and_message() + &hint
    }

    /// One line without the hint, for a caller that has a place for it of its own.
    pub fn place_and_message(&self) -> String {
        let place = self.place.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
        let severity = if self.severity == Severity::Warning { "warning: " } else { "" };
        format!("{place}{severity}{}", self.message)
    }

    /// Drawn for a terminal: message, file, line, the line itself with a caret, hint.
    pub fn render(&self, color: bool) -> String {
        self.render_on(Canvas { color, ..Canvas::default() })
    }

    /// As [`Problem::render`], for a terminal that is described.
    pub fn render_on(&self, canvas: Canvas) -> String {
        use miette::{GraphicalReportHandler, GraphicalTheme, ThemeCharacters};
        let mut theme = if canvas.color {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        if !canvas.unicode {
            theme = GraphicalTheme { characters: ThemeCharacters::ascii(), ..theme };
        }
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(canvas.columns)
            .with_break_words(false)
            .with_links(false);
        let mut text = String::new();
        // Tested first: the handler panics at a column beyond 65,535.
        if self.on_endless_line() || handler.render_report(&mut text, self).is_err() {
            return format!("{}\n", self.line());
        }
        text
    }

    /// True if a line that would be drawn is too long: the affected lines, and those before and
    /// after them.
    fn on_endless_line(&self) -> bool {
        let Some(place) = &self.place else { return false };
        let (first, last) =
            (place.source.position(place.span.start).0, place.source.position(place.span.end).0);
        let starts = place.source.line_starts();
        let start = |line: usize| starts.get(line - 1).copied().unwrap_or(place.source.text.len());
        (first.saturating_sub(1).max(1)..=last + 1)
            .any(|line| start(line + 1) - start(line) > LINE_MAX)
    }
}

impl fmt::Display for Problem {
    /// The message alone, as `miette` wants it; [`Problem::line`] has everything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.hint.is_empty()).then(|| Box::new(&self.hint) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|p| &*p.source as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.place.as_ref()?.span.clone();
        // No text: the message is above the place, the hint below it.
        let label = LabeledSpan::new_primary_with_span(None, (span.start, span.len()));
        Some(Box::new(std::iter::once(label)))
    }
}

/// Problems of an input; at least one for a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    more: usize,
}

impl Problems {
    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        if self.list.len() < KEPT_MAX {
            self.list.push(problem);
        } else {
            self.more += 1;
        }
    }
    /// Adds those of another input.
    pub fn extend(&mut self, other: Problems) {
        self.more += other.more;
        other.list.into_iter().for_each(|p| self.push(p));
    }
    /// True if there is no problem.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// Number of problems.
    pub fn len(&self) -> usize {
        self.list.len() + self.more
    }
    /// The problems, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter()
    }
    /// `value` if there is no problem.
    ///
    /// # Errors
    /// These problems, if there are any.
    pub fn or<T>(self, value: T) -> Result<T, Problems> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
    /// Orders them as in the files, settings last.
    pub fn sort(&mut self) {
        self.list.sort_by_key(|p| p.place.as_ref().map(|p| (p.source.setting, p.span.start)));
    }

    /// The first ten drawn for a terminal, and how many more there are.
    pub fn render(&self, color: bool) -> String {
        self.render_on(Canvas { color, ..Canvas::default() })
    }

    /// As [`Problems::render`], for a terminal that is described.
    pub fn render_on(&self, canvas: Canvas) -> String {
        self.join("", |p| p.render_on(canvas))
    }

    /// `one` of each of the first ten, then the number of the others.
    fn join(&self, separator: &str, one: impl Fn(&Problem) -> String) -> String {
        let mut parts: Vec<String> = self.list.iter().take(SHOWN_MAX).map(one).collect();
        if self.len() > SHOWN_MAX {
            parts.push(format!("... and {} more", self.len() - SHOWN_MAX));
        }
        parts.join(separator)
    }
}

impl From<Problem> for Problems {
    fn from(p: Problem) -> Problems {
        Problems { list: vec![p], more: 0 }
    }
}

impl fmt::Display for Problems {
    /// One line each: `file:line:column: message (hint)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.join("\n", Problem::line))
    }
}

impl std::error::Error for Problems {}

/// For callers who print with `miette`.
impl Diagnostic for Problems {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.list.iter().take(SHOWN_MAX).map(|p| p as &dyn Diagnostic)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        let s = Source::file("f", "ab\r\nµx\rz\n");
        let at: Vec<_> = [0, 1, 4, 6, 8, 9, 10, 99].map(|i| s.position(i)).into();
        assert_eq!(at, [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (4, 1)]);
        assert_eq!(Source::file("f", "").position(0), (1, 1));
    }

    #[test]
    fn what_stands_on_or_beside_a_long_line_is_named_in_one_line() {
        let long = "[".repeat(200_000);
        for (text, at, place) in [
            (long.clone(), 0..1, "f:1:1"),
            (long.clone(), 150_000..150_001, "f:1:150001"),
            (long.clone(), 0..200_000, "f:1:1"),
            (long.clone(), 200_000..200_000, "f:1:200001"),
            (format!("{long}\nx\n"), 200_001..200_002, "f:2:1"),
            (format!("x\r\n{long}"), 0..1, "f:1:1"),
        ] {
            let shown =
                Problem::new("wrong", "right").at(Source::file("f", text).place(at)).render(false);
            assert_eq!(shown, format!("{place}: wrong (right)\n"));
        }
        let drawn = |text: &str| {
            Problem::new("wrong", "right").at(Source::file("f", text).place(0..1)).render(false)
        };
        assert!(
            drawn(&format!("x\ny\nz\n{long}")).contains("1 │ x") && drawn("").contains("wrong")
        );
    }
}
