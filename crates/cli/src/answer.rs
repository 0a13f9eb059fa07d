//! The end of every subcommand: an answer on stdout or problems on stderr, and the exit code.

use std::io::{self, Write};

use serde::Serialize;
use xoff_params::ParamError;
use xoff_record::RecordError;
use xoff_scenario::{Problem, Problems};

use crate::terminal;

/// How it went, as far as scripts are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Done, and the answer is "no".
    No = 1,
    /// Bad input or a missing capability.
    Bad = 2,
    /// The user stopped it; what there was is closed properly.
    Interrupted = 130,
}

/// What a subcommand has to say.
pub struct Answer {
    text: String,
    json: String,
    exit: Exit,
}

impl Answer {
    /// The same answer for people and for programs.
    pub fn new(text: String, json: &impl Serialize, exit: Exit) -> Answer {
        // Only a map with keys that are no texts could fail; no answer has one.
        let json = serde_json::to_string_pretty(json).unwrap_or_default();
        Answer { text, json, exit }
    }
}

/// Writes the answer, or what went wrong; returns the exit code.
pub fn deliver(answer: Result<Answer, Problems>, json: bool) -> u8 {
    let written = match answer {
        Ok(a) => write(if json { &a.json } else { &a.text }).map(|()| a.exit),
        Err(problems) => {
            terminal::problems(&problems);
            Ok(Exit::Bad)
        }
    };
    written.unwrap_or_else(|e| {
        terminal::problems(&Problem::new(format!("cannot write to standard output: {e}"), "").into());
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
    Problem::new(e.to_string(), e.hint.clone())
}
