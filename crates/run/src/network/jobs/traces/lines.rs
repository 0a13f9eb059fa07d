//! A text that is read line by line, however long it is; gzip too.

use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flate2::bufread::MultiGzDecoder;
use xoff_scenario::{Problem, Problems, Source, read};

/// No line is longer [bytes].
const LINE_MAX: u64 = 1 << 20;

/// A file or a pipe that is read piece by piece, and has to stay as it is meanwhile.
pub(super) struct Whole {
    path: PathBuf,
    file: File,
    /// As it was when it was opened; `None`: a pipe.
    before: Option<(Metadata, Option<SystemTime>)>,
}

impl Whole {
    pub fn open(path: &Path) -> Result<Whole, Problem> {
        let file = read::open(path)?;
        let before = file.metadata().ok().filter(Metadata::is_file).map(looks_of);
        Ok(Whole { path: path.to_owned(), file, before })
    }

    /// Bytes of the file, from its beginning. To be called once.
    pub fn reader(&self) -> Result<BufReader<File>, Problem> {
        let unread = |e: std::io::Error| {
            Problem::new(format!("'{}' cannot be read: {e}", self.path.display()), "")
        };
        // WebAssembly has no `dup`, and no pipes.
        let file = if cfg!(target_family = "wasm") {
            File::open(&self.path)
        } else {
            self.file.try_clone()
        };
        Ok(BufReader::with_capacity(1 << 16, file.map_err(unread)?))
    }

    /// Nothing may write into a file while it is read: the mix of old and new text would be random.
    pub fn is_unchanged(&self) -> Result<(), Problem> {
        let Some((before, changed)) = &self.before else { return Ok(()) };
        let now = std::fs::metadata(&self.path).ok().map(looks_of);
        if now.is_some_and(|(meta, at)| meta.len() == before.len() && at == *changed) {
            return Ok(());
        }
        Err(Problem::new(
            format!("'{}' changed while xoff read it", self.path.display()),
            "wait until its writer has finished",
        ))
    }
}

/// The lines of a file.
pub(super) struct Lines {
    whole: Whole,
    from: Box<dyn BufRead>,
    line: Vec<u8>,
    /// Previous line.
    before: Vec<u8>,
    /// Number of the current line, from 1.
    number: u64,
}

fn looks_of(meta: Metadata) -> (Metadata, Option<SystemTime>) {
    let changed = meta.modified().ok();
    (meta, changed)
}

impl Lines {
    /// Opens a file or a pipe.
    pub fn open(path: &Path) -> Result<Lines, Problems> {
        let whole = Whole::open(path)?;
        let mut from = whole.reader()?;
        let zipped = from.fill_buf().is_ok_and(|head| head.starts_with(&[0x1f, 0x8b]));
        let from: Box<dyn BufRead> = if zipped {
            Box::new(BufReader::new(MultiGzDecoder::new(from)))
        } else {
            Box::new(from)
        };
        Ok(Lines { whole, from, line: Vec::new(), before: Vec::new(), number: 0 })
    }

    /// The next line; `None`: the file ends.
    pub fn next(&mut self) -> Result<Option<&str>, Problems> {
        std::mem::swap(&mut self.line, &mut self.before);
        self.line.clear();
        self.number += 1;
        let unread = |e: std::io::Error| {
            Problem::new(
                format!("'{}' cannot be read: {e}", self.whole.path.display()),
                "check that the \
                                                                                                                       file is complete",
            )
        };
        let there =
            (&mut self.from).take(LINE_MAX).read_until(b'\n', &mut self.line).map_err(unread)?;
        if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        match there {
            0 => {
                // The end of a file is behind its last line, if that has no end.
                if !self.before.is_empty() && !self.before.ends_with(b"\n") {
                    std::mem::swap(&mut self.line, &mut self.before);
                    self.number -= 1;
                }
                self.whole.is_unchanged()?;
                Ok(None)
            }
            n if n as u64 == LINE_MAX => Err(self.problem(
                0..0,
                "a line of more than 1 MiB",
                "check that this is the right file",
            )),
            _ => match std::str::from_utf8(&self.line) {
                Ok(_) => Ok(std::str::from_utf8(&self.line).ok()),
                Err(e) => {
                    let at = e.valid_up_to();
                    let what = format!("byte 0x{:02x} is not UTF-8", self.line[at]);
                    Err(self.problem(at..at + 1, what, "expected a text file in UTF-8"))
                }
            },
        }
    }

    /// The number of the line at hand, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Problem at the end of the file.
    pub fn problem_at_end(&self, what: impl Into<String>, hint: impl Into<String>) -> Problems {
        self.problem(self.line.len()..self.line.len(), what, hint)
    }

    /// Problem in a part of the present line.
    pub fn problem(
        &self,
        part: std::ops::Range<usize>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problems {
        problem_in(
            &self.whole.path,
            self.number,
            &String::from_utf8_lossy(&self.line),
            part,
            what,
            hint,
        )
    }
}

/// Problem in a part of a line with a known number.
pub(super) fn problem_in(
    path: &Path,
    number: u64,
    line: &str,
    part: std::ops::Range<usize>,
    what: impl Into<String>,
    hint: impl Into<String>,
) -> Problems {
    // As many lines before it, so that places are counted as in the file.
    let before = number.saturating_sub(1) as usize;
    let source = Source::file(path.display().to_string(), "\n".repeat(before) + line);
    Problem::new(what, hint).at(source.place(before + part.start..before + part.end)).into()
}

/// A line of a file by its number, without the spaces around it; empty: it cannot be read again.
pub(super) fn line_of(path: &Path, number: u64) -> String {
    let again = || -> Option<String> {
        std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        let mut lines = Lines::open(path).ok()?;
        while lines.number() + 1 < number {
            lines.next().ok()??;
        }
        lines.next().ok()?.map(|l| l.trim_end().to_owned())
    };
    again().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: &[u8]) -> PathBuf {
        let path = std::env::temp_dir().join(format!("xoff-lines-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn lines_come_with_their_numbers_and_so_does_what_is_wrong() {
        let path = file("bad", b"\xef\xbb\xbfone\r\ntwo\nth\xffree");
        let mut lines = Lines::open(&path).unwrap();
        assert_eq!(lines.next().unwrap(), Some("one\r\n"));
        assert_eq!(lines.next().unwrap(), Some("two\n"));
        assert_eq!(lines.number(), 2);
        assert!(lines.problem(1..3, "what", "").to_string().contains("bad-"));
        assert!(
            format!("{}", lines.next().unwrap_err()).contains(":3:3"),
            "the byte that is no text"
        );
        std::fs::write(&path, "one\ntwo").unwrap();
        let mut lines = Lines::open(&path).unwrap();
        while lines.next().unwrap().is_some() {}
        assert!(lines.problem_at_end("what", "").to_string().contains(":2:4"));
        assert_eq!([1, 2, 3].map(|n| line_of(&path, n)), ["one", "two", ""]);
        std::fs::remove_file(path).unwrap();
    }

    /// A file that is written to while it is read, and gzip that was cut off.
    #[test]
    fn a_file_that_changes_or_is_cut_off_is_refused() {
        let path = file("grows", b"one\n");
        let mut lines = Lines::open(&path).unwrap();
        lines.next().unwrap();
        std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
        let wrong = loop {
            match lines.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the change was not found"),
                Err(e) => break e.to_string(),
            }
        };
        assert!(wrong.contains("changed while xoff read it"), "{wrong}");
        let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        (0..10_000).for_each(|n| {
            std::io::Write::write_all(&mut zipped, format!("line {n}\n").as_bytes()).unwrap()
        });
        let zipped = zipped.finish().unwrap();
        std::fs::write(&path, &zipped[..zipped.len() / 2]).unwrap();
        let mut lines = Lines::open(&path).unwrap();
        let wrong = loop {
            match lines.next() {
                Ok(line) => assert!(line.is_some(), "it has no end"),
                Err(e) => break e.to_string(),
            }
        };
        assert!(wrong.contains("cannot be read"), "{wrong}");
        std::fs::remove_file(path).unwrap();
    }
}
