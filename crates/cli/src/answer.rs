//! The end of every subcommand: an answer on stdout or problems on stderr, and the exit code.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::verdict::{Allow, Conclusion, Tone};
use xoff_record::{RecordError, Verdict};
use xoff_scenario::{Problem, Problems};
use xoff_units::params::ParamError;

use crate::terminal;

/// Result of a command, for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The answer is not a "no".
    Done = 0,
    /// Done, and the answer is "no".
    No = 1,
    /// Bad input or a missing capability.
    Bad = 2,
    /// The user stopped the command; partial results are closed properly.
    Interrupted = 130,
}

impl From<Conclusion> for Exit {
    fn from(c: Conclusion) -> Exit {
        match c {
            Conclusion::Yes => Exit::Done,
            Conclusion::No => Exit::No,
            Conclusion::Interrupted => Exit::Interrupted,
        }
    }
}

/// Outcomes that the user expects although the answer is "no".
#[derive(Clone, clap::Args)]
pub struct Allowed {
    /// Exit with 0 in spite of these: `deadlock`, `loss` (frames dropped, lost or rejected), or
    /// both, separated by a comma
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    allow: Vec<Expected>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Expected {
    Deadlock,
    Loss,
}

impl Allowed {
    /// Adds these to the allowed ones.
    #[must_use]
    pub fn and(mut self, more: &[Allow]) -> Allowed {
        self.allow.extend(more.iter().map(|allow| match allow {
            Allow::Deadlock => Expected::Deadlock,
            Allow::Loss => Expected::Loss,
        }));
        self.allow.dedup();
        self
    }

    /// As a verdict takes it.
    pub fn list(&self) -> Vec<Allow> {
        let one = |e: &Expected| match e {
            Expected::Deadlock => Allow::Deadlock,
            Expected::Loss => Allow::Loss,
        };
        self.allow.iter().map(one).collect()
    }

    /// The exit code of a run.
    pub fn exit(&self, v: &Verdict) -> Exit {
        v.conclusion(&self.list()).into()
    }

    /// The headline of a run in its colour: `Ring: no deadlock, 0 frames lost`.
    pub fn headline(&self, title: &str, v: &Verdict) -> String {
        let allowed = self.list();
        let words: Vec<&str> = allowed.iter().map(|a| a.word()).collect();
        let note = if v.conclusion(&[]) != v.conclusion(&allowed) {
            format!(" [allowed: {}]", words.join(", "))
        } else {
            String::new()
        };
        let text =
            format!("{}: {}{note}", if title.is_empty() { "Run" } else { title }, v.headline());
        match v.tone(&allowed) {
            Tone::Good => terminal::good(&text),
            Tone::Caution => terminal::caution(&text),
            Tone::Bad => terminal::bad(&text),
        }
    }
}

/// The answer of a subcommand.
pub struct Answer {
    text: String,
    /// Commands that lead on, for a terminal.
    next: Vec<String>,
    json: String,
    exit: Exit,
}

impl Answer {
    /// Answer for people and for programs.
    pub fn new(text: String, json: &(impl Serialize + JsonSchema), exit: Exit) -> Answer {
        // Only a map with keys that are no texts could fail; no answer has one.
        let json = serde_json::to_string_pretty(json).unwrap_or_default();
        Answer { text, next: Vec::new(), json, exit }
    }

    /// With the commands that lead on from it.
    #[must_use]
    pub fn next(self, commands: impl IntoIterator<Item = String>) -> Answer {
        Answer { next: commands.into_iter().collect(), ..self }
    }

    /// As a terminal shows it.
    fn shown(&self) -> String {
        let text = terminal::shown(&self.text);
        if self.next.is_empty() {
            text.into_owned()
        } else {
            format!("{}\n\n{}", text.trim_end(), terminal::next(&self.next))
        }
    }
}

/// An answer for a caller in the same process.
pub struct Given {
    /// As a terminal shows it, without colours.
    pub text: String,
    /// As `--json` prints it.
    pub json: String,
    /// The exit code that represents it: 0, 1 or 130.
    pub exit: u8,
}

impl From<Answer> for Given {
    fn from(a: Answer) -> Given {
        Given {
            text: console::strip_ansi_codes(&a.text).into_owned(),
            json: a.json,
            exit: a.exit as u8,
        }
    }
}

/// Writes the answer, or the error; returns the exit code.
pub fn deliver(answer: Result<Answer, Problems>, json: bool) -> u8 {
    let written = match answer {
        Ok(a) => write(&if json { a.json.clone() } else { a.shown() }).map(|()| a.exit),
        Err(problems) => {
            terminal::problems(&problems);
            Ok(Exit::Bad)
        }
    };
    written.unwrap_or_else(|e| {
        terminal::problems(
            &Problem::new(
                format!("cannot write to standard output: {e}"),
                "free some space, or redirect the output",
            )
            .into(),
        );
        Exit::Bad
    }) as u8
}

/// A reader that has seen enough (`| head`) is no error.
fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// A refusal without a place in a file.
pub fn refused(e: &ParamError) -> Problem {
    Problem::new(format!("{}: {}", e.key, e.what), e.hint.clone())
}

/// A file or folder that could not be written.
pub fn unwritten(e: &RecordError) -> Problem {
    crate::caller::of_output(Problem::new(e.to_string(), e.hint.clone()))
}
