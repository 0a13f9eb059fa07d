//! `xoff completions` and `xoff man`: files for a shell and `man`, from the definitions that the
//! command itself uses.

use std::io::Write;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use schemars::JsonSchema;
use serde::Serialize;
use xoff_scenario::{Problem, Problems};

use crate::Cli;
use crate::answer::{Answer, Exit};
use crate::terminal;

/// Print the completions for a shell
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff completions bash > xoff.bash\n\nWhere to put it: bash ~/.local/share/bash-completion/completions/xoff; zsh a folder of $fpath, as _xoff;\nfish ~/.config/fish/completions/xoff.fish. `make install` and the wheel put them in place."
)]
pub struct Completions {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Write the manual pages
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff man --out man1\n\n`make install` and the wheel put them where `man xoff` finds them."
)]
pub struct Manual {
    /// Write the pages into this folder [default: print the page of xoff itself]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Completions for a shell.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Completions")]
pub struct JsonCompletions {
    /// The shell.
    shell: String,
    /// Script.
    script: String,
}

/// Manual pages.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Manual")]
pub struct JsonManual {
    /// The folder into which they were written; null: none was written.
    out: Option<String>,
    /// Names of the pages.
    pages: Vec<String>,
}

/// Prints them.
pub fn completions(args: &Completions) -> Result<Answer, Problems> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "xoff", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    Ok(Answer::new(
        script.clone(),
        &JsonCompletions { shell: args.shell.to_string(), script },
        Exit::Done,
    ))
}

/// The pages by their names: `xoff.1`, `xoff-run.1`, ...
fn pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = Cli::command();
    root.build();
    let mut all = vec![(String::from("xoff"), root.clone())];
    let subcommands = root.get_subcommands().filter(|c| c.get_name() != "help" && !c.is_hide_set());
    all.extend(subcommands.map(|c| (format!("xoff-{}", c.get_name()), c.clone())));
    all.into_iter()
        .map(|(name, command)| Ok((format!("{name}.1"), page(&name, command)?)))
        .collect()
}

/// A page: clap_mangen's, except for the synopsis, which is clap's own line of usage, and the text
/// after the options, which keeps its lines.
fn page(name: &str, mut command: clap::Command) -> std::io::Result<Vec<u8>> {
    let usage = command.render_usage().to_string();
    let after = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let has_version = command.get_version().is_some();
    let has = (
        command.get_arguments().any(|a| !a.is_hide_set()),
        command.get_subcommands().any(|c| !c.is_hide_set()),
    );
    let man = Man::new(command.name(name.to_owned()));
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    lines_as_they_are(&mut text, "SYNOPSIS", usage.trim_start_matches("Usage: "))?;
    man.render_description_section(&mut text)?;
    if has.0 {
        man.render_options_section(&mut text)?;
    }
    if has.1 {
        man.render_subcommands_section(&mut text)?;
    }
    let (examples, notes): (Vec<&str>, Vec<&str>) = after
        .split("\n\n")
        .filter(|part| !part.is_empty())
        .partition(|part| part.starts_with("Examples:\n"));
    for (heading, parts) in [("EXAMPLES", examples), ("NOTES", notes)]
        .into_iter()
        .filter(|(_, parts)| !parts.is_empty())
    {
        lines_as_they_are(
            &mut text,
            heading,
            parts.join("\n\n").trim_start_matches("Examples:\n"),
        )?;
    }
    if has_version {
        man.render_version_section(&mut text)?;
    }
    Ok(text)
}

/// A section whose lines are not filled.
fn lines_as_they_are(page: &mut Vec<u8>, heading: &str, lines: &str) -> std::io::Result<()> {
    writeln!(page, ".SH {heading}\n.nf")?;
    for line in lines.lines() {
        // Special for roff: a backslash, a hyphen, a full stop or an apostrophe that begins a line.
        writeln!(page, "\\&{}", line.replace('\\', "\\\\").replace('-', "\\-"))?;
    }
    writeln!(page, ".fi")
}

/// Writes them.
pub fn manual(args: &Manual) -> Result<Answer, Problems> {
    let unwritten = |e: std::io::Error| {
        Problem::new(
            format!("cannot write the manual pages: {e}"),
            "name a folder where you may write",
        )
    };
    let pages = pages().map_err(unwritten)?;
    let names: Vec<String> = pages.iter().map(|(name, _)| name.clone()).collect();
    let Some(out) = &args.out else {
        let text = String::from_utf8_lossy(&pages[0].1).into_owned();
        return Ok(Answer::new(text, &JsonManual { out: None, pages: names }, Exit::Done));
    };
    let at = |e| unwritten(e).at(terminal::option("--out", &out.display().to_string()));
    std::fs::create_dir_all(out).map_err(at)?;
    for (name, text) in &pages {
        // A page of another program is not ours to replace.
        if std::fs::read_to_string(out.join(name)).is_ok_and(|there| !there.contains(".TH xoff")) {
            return Err(Problem::new(
                format!("{} is not a manual page of xoff", out.join(name).display()),
                "name another folder",
            )
            .into());
        }
        std::fs::write(out.join(name), text).map_err(at)?;
    }
    let text = format!("{}: {}", out.display(), terminal::counted(names.len() as u64, "page"));
    Ok(Answer::new(
        text,
        &JsonManual { out: Some(out.display().to_string()), pages: names },
        Exit::Done,
    ))
}
