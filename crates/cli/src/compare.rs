//! `xoff compare`: runs side by side.

use std::path::{Path, PathBuf};

use xoff_lab::compare::{Bins, CompareError, Comparison, Run, Sides, compare};
use xoff_record::output::Kind;
use xoff_report::Table;
use xoff_scenario::{Problem, Problems};
use xoff_units::Bytes;

use crate::answer::{Answer, Exit};
use crate::{caller, interrupt, out, terminal};

/// Victims and ports in the table of a terminal.
const ROWS_MAX: usize = 10;
/// Victims and ports in JSON.
const JSON_MAX: usize = 1000;

/// Compare runs: parameters that differ, slowdown by size, victims, pauses.
///
/// xoff compares all others with the first run. Several runs of one scenario with different seeds
/// make one side, with means and 95 % intervals: join their folders by a comma, or name a folder
/// that contains only folders of runs.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff run scenarios/tutorial/ring.toml --out out/pfc\n  xoff run scenarios/tutorial/ring.toml --out out/gfc \\\n    --set flow_control=gfc-buffer\n  xoff compare out/pfc out/gfc\n  xoff compare out/pfc out/gfc --html pfc-gfc.html"
)]
pub struct Args {
    /// Folders of runs; join the seeds of one scenario by a comma
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<String>,
    /// Name the sides [default: the value of a parameter that differs]
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    names: Option<Vec<String>>,
    /// Split the slowdown at these flow sizes, such as 10KB,1MB, or into this number of rows with
    /// equally many flows
    #[arg(long, value_name = "SIZES", value_parser = bins)]
    bins: Option<Bins>,
    /// Also write a report with a figure
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Replace the file of --html even if xoff did not write it
    #[arg(long, requires = "html")]
    force: bool,
}

fn bins(text: &str) -> Result<Bins, String> {
    if let Ok(n) = text.parse::<usize>() {
        return if n > 0 { Ok(Bins::Equal(n)) } else { Err("expected 1 or more".into()) };
    }
    let size = |t: &str| {
        t.trim()
            .parse::<Bytes>()
            .map(|b| b.0)
            .map_err(|e| format!("{}: expected {}", e.what, e.expected))
    };
    text.split(',').map(size).collect::<Result<_, _>>().map(Bins::At)
}

/// Compares them.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    interrupt::end_at_once();
    let mut runs = Vec::new();
    let mut opened = Vec::new();
    for side in &args.runs {
        runs.push(side_of(side, &mut opened)?);
    }
    let refused = |e: CompareError| {
        let together = opened.iter().map(|o| format!("{o}, taken as the seeds of one side; "));
        Problem::new(e.what, together.collect::<String>() + &e.hint)
    };
    let page = args
        .html
        .as_ref()
        .map(|file| Ok::<_, Problem>((file, out::draft("--html", file, Kind::Html, args.force)?)))
        .transpose()?;
    let sides = Sides { runs, names: args.names.clone() };
    let mut c = compare(&sides, &args.bins.clone().unwrap_or_default()).map_err(refused)?;
    c.notes.splice(..0, opened.iter().map(|o| format!("{o}, taken as one side")));
    if let Some((file, draft)) = page {
        draft.finish_with(c.to_html().as_bytes()).map_err(|e| out::refused("--html", file, e))?;
    }
    let report = args.html.is_none().then(|| {
        let sides: Vec<_> = args.runs.iter().map(|side| terminal::word(side)).collect();
        format!("xoff compare {} --html compare.html", sides.join(" "))
    });
    Ok(Answer::new(text(&c), &c.cut(JSON_MAX), Exit::Done).next(report))
}

/// The runs of a side; into `opened`, in words, the folders that are none of a run but hold some.
fn side_of(argument: &str, opened: &mut Vec<String>) -> Result<Vec<Run>, Problem> {
    let mut runs = Vec::new();
    for name in argument.split(',') {
        let folder = Path::new(name);
        let at = |p: Problem| p.at(terminal::option("RUN", argument));
        if !folder.is_dir() {
            let what = if folder.exists() {
                format!("'{name}' is a file, not the folder of a run")
            } else {
                format!("there is no folder '{name}'")
            };
            return Err(at(Problem::new(
                what,
                "expected the folder of a run (--out of xoff run), or several joined by a comma",
            )));
        }
        let inner = if is_run(folder) { Vec::new() } else { inner(folder) };
        if !inner.is_empty() {
            let runs = terminal::counted(inner.len() as u64, "run");
            opened.push(format!("{name} contains {runs}"));
        }
        let folders = if inner.is_empty() { vec![folder.to_owned()] } else { inner };
        for folder in folders {
            runs.push(Run::read(&folder).map_err(|e| at(problem(e)))?);
        }
    }
    Ok(runs)
}

fn problem(e: CompareError) -> Problem {
    let problem = Problem::new(e.what, e.hint);
    if e.of_files { caller::of_output(problem) } else { problem }
}

fn is_run(folder: &Path) -> bool {
    folder.join(xoff_record::manifest::MANIFEST).is_file()
}

/// The folders of runs in a folder, in the order of their names.
fn inner(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let mut found: Vec<PathBuf> = entries.filter(|p| p.is_dir() && is_run(p)).collect();
    found.sort();
    found
}

fn text(c: &Comparison) -> String {
    let mut out = console::style(terminal::hanging(&c.headline, "").trim_end()).bold().to_string();
    out.push('\n');
    for note in &c.notes {
        out += &terminal::caution(terminal::hanging(&format!("Note: {note}."), "  ").trim_end());
        out.push('\n');
    }
    let mut section = |title: &str, table: Table| {
        if table.rows.is_empty() {
            return;
        }
        let mut t = terminal::table(table.columns.iter().map(|c| c.name.as_str()));
        table.rows.iter().for_each(|row| {
            t.add_row(row.iter().map(|c| c.text().to_owned()));
        });
        out += &format!("\n{title}\n\n{}", terminal::draw(&t));
    };
    section("Measures", c.measure_table());
    section("Slowdown by size", c.slowdown_table());
    section("Flows that the last side slows down most", c.victim_table(ROWS_MAX));
    section("Pauses by port, the largest change first", c.pause_table(ROWS_MAX));
    section("Parameters that differ", c.parameter_table());
    if c.sides.iter().any(|s| s.seeds.len() > 1) {
        out += &terminal::wrapped(xoff_lab::compare::INTERVALS);
    }
    out
}
