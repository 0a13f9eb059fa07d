//! `xoff verify`: every number that a run or a sweep prints, derived again from its tables by a
//! second implementation, in the Python package (`python/xoff/derive`).

use std::ffi::OsString;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_record::verdict::Conclusion;
use xoff_scenario::Problems;
use xoff_units::grouped;

use crate::answer::Answer;
use crate::{interrupt, python, terminal};

/// Derive every number of a run or sweep again from its tables.
///
/// A second implementation, in Python, reads the tables and derives the numbers of the headline, the
/// manifest, the report and the sweep. It names each difference with its place and the table, and
/// counts the numbers that the tables do not decide. The exit code is 1 if a number differs. It
/// needs the Python package.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff verify out/ring\n  xoff verify out/ring --answer answer.json --printed summary.txt\n  xoff verify out/* --json"
)]
pub struct Args {
    /// Folders of runs and sweeps
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Also verify the JSON answer of the run of one folder, in this file
    #[arg(long, value_name = "FILE")]
    answer: Option<PathBuf>,
    /// Also verify the printed summary of the run of one folder, in this file
    #[arg(long, value_name = "FILE")]
    printed: Option<PathBuf>,
}

/// Numbers of runs and sweeps, derived again from their tables.
#[derive(Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "Verify")]
pub struct Json {
    /// `yes`: every derived number equals the printed one.
    #[serde(default = "Json::interrupted")]
    answer: Conclusion,
    /// The folders.
    folders: Vec<String>,
    /// Numbers that were derived and compared.
    compared: u64,
    /// Numbers that differ.
    differences: Vec<Difference>,
    /// Numbers that the tables do not decide, by place.
    not_derived: Vec<NotDerived>,
}

/// A printed number that does not follow from the tables.
#[derive(Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "VerifyDifference")]
struct Difference {
    /// Folder.
    run: String,
    /// File, and place in it.
    place: String,
    /// Printed value.
    printed: String,
    /// Derived value.
    derived: String,
    /// Tables that it was derived from.
    table: String,
}

/// Numbers of one place that the tables do not decide.
#[derive(Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "VerifyNotDerived")]
struct NotDerived {
    /// File, and place in it.
    place: String,
    /// The reason.
    why: String,
    /// Count of numbers.
    numbers: u64,
}

impl Json {
    fn interrupted() -> Conclusion {
        Conclusion::Interrupted
    }
}

/// Verifies them.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    interrupt::ask_first();
    let mut words: Vec<OsString> = Vec::new();
    for (name, file) in [("--answer=", &args.answer), ("--printed=", &args.printed)] {
        if let Some(file) = file {
            let mut option = OsString::from(name);
            option.push(file);
            words.push(option);
        }
    }
    words.push("--".into());
    words.extend(args.folders.iter().map(|f| f.clone().into_os_string()));
    let found: Option<Json> = python::ask("verify", "xoff.derive.__main__", &words)?;
    let stopped = found.is_none();
    let mut json = found.unwrap_or_else(|| Json {
        answer: Conclusion::Interrupted,
        folders: Vec::new(),
        compared: 0,
        differences: Vec::new(),
        not_derived: Vec::new(),
    });
    json.answer = Conclusion::of(stopped, json.differences.is_empty());
    Ok(Answer::new(text(&json), &json, json.answer.into()))
}

/// Differences that are listed.
const LISTED: usize = 20;

fn text(json: &Json) -> String {
    let mut out = String::new();
    for d in json.differences.iter().take(LISTED) {
        out += &terminal::hanging(
            &format!(
                "{}: {}: printed {}, derived {} from {}",
                d.run, d.place, d.printed, d.derived, d.table
            ),
            "  ",
        );
    }
    if json.differences.len() > LISTED {
        out += &format!(
            "{} more: --json\n",
            terminal::counted((json.differences.len() - LISTED) as u64, "difference")
        );
    }
    let headline = format!(
        "{} of {}: {}",
        terminal::counted(json.compared, "number"),
        terminal::counted(json.folders.len() as u64, "folder"),
        match json.differences.len() as u64 {
            0 => "all equal".to_owned(),
            1 => "1 differs".to_owned(),
            n => format!("{} differ", grouped(n)),
        }
    );
    out += &match json.answer {
        Conclusion::Interrupted => terminal::bad("interrupted"),
        Conclusion::Yes => terminal::good(&headline),
        Conclusion::No => terminal::bad(&headline),
    };
    let unknown: u64 = json.not_derived.iter().map(|n| n.numbers).sum();
    if unknown > 0 {
        out += &format!(
            "\n{} not derived, as the tables do not decide them: --json names them",
            terminal::counted(unknown, "number")
        );
    }
    out + "\n"
}
