//! `xoff new`: commented scenarios to begin with.

use std::path::PathBuf;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;
use xoff_scenario::Problems;

use crate::answer::{Answer, Exit};
use crate::{import, terminal};

/// Write a commented scenario to start from.
///
/// The scenario runs as it is, and comments explain every key. Without --out it goes to standard
/// output.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff new ring --out ring.toml\n  xoff run ring.toml  # results in out/ring\n  xoff new testbed --out lab.toml"
)]
pub struct Args {
    /// Kind of network
    #[arg(value_enum)]
    kind: Kind,
    /// Write the scenario into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    /// One switch: incast of all hosts to one, no frame lost
    Star,
    /// Leaves and spines: random traffic under load
    LeafSpine,
    /// A fat-tree: random traffic under load
    FatTree,
    /// Three switches in a ring: the smallest deadlock
    Ring,
    /// Real frames on this machine, at rates that any machine can pace
    Testbed,
}

impl Kind {
    /// As the command line has it.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned())
    }

    /// The command that runs it.
    fn command(self) -> &'static str {
        if matches!(self, Kind::Testbed) { "testbed" } else { "run" }
    }
}

/// A scenario to begin with.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "New")]
pub struct Json<'a> {
    /// The file that was written; null: none.
    out: Option<String>,
    /// Text of the scenario.
    scenario: &'a str,
}

/// Writes it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let text = match args.kind {
        Kind::Star => include_str!("new/star.toml"),
        Kind::LeafSpine => include_str!("new/leaf-spine.toml"),
        Kind::FatTree => include_str!("new/fat-tree.toml"),
        Kind::Ring => include_str!("new/ring.toml"),
        Kind::Testbed => include_str!("new/testbed.toml"),
    };
    let file =
        args.out.clone().unwrap_or_else(|| PathBuf::from(args.kind.name()).with_extension("toml"));
    let suffix = if args.kind.command() == "testbed" { "-testbed" } else { "" };
    let (word, results) =
        (file.display().to_string(), crate::out::default(&file, suffix).display().to_string());
    // The commands in the comments name this file, so that they can be copied.
    let text =
        &text.replace("FILE", &terminal::word(&word)).replace("DIR", &terminal::word(&results));
    let json = Json { out: args.out.as_ref().map(|o| o.display().to_string()), scenario: text };
    let Some(out) = &args.out else { return Ok(Answer::new(text.clone(), &json, Exit::Done)) };
    import::free(out, args.force)?;
    import::write(out, text)?;
    let next = ["check", args.kind.command()]
        .map(|command| format!("xoff {command} {}", terminal::word(&word)));
    Ok(Answer::new(terminal::good(&format!("{word} is written.")), &json, Exit::Done).next(next))
}
