//! `xoff reproduce`: a paper's figures and tables, run and judged.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_lab::{Context, Entry, Judged, Mode, Progress, Report, ReproduceError, Reproduced, Verdict, check_docs, write_docs};
use xoff_papers::{entries, reproduce, testbed_entries};
use xoff_real::testbed::veth_network;
use xoff_record::verdict::Conclusion;
use xoff_scenario::{Problem, Problems};

use crate::answer::{Answer, Exit, refused};
use crate::caller;
use crate::out::Force;
use crate::progress::Bar;
use crate::{interrupt, terminal};

/// Run the figures and tables of a paper and judge them.
///
/// xoff runs the scenario of each claim, draws its figure next to the paper's numbers, and computes a verdict: reproduced,
/// reproduced under assumption, or not reproduced, with the reason. An extension has no verdict. xoff keeps the verdicts of earlier
/// runs in the same folder: after an interruption the same command continues.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff reproduce gfc --quick --out out/paper-gfc\n  xoff reproduce gfc ring fig05 --out out/paper-gfc-some\n  xoff reproduce tcd fig03 fig12 --out out/paper-tcd\n  xoff reproduce unbiased-qcn --quick --out out/paper-unbiased-qcn\n  xoff reproduce pffc --quick --out out/paper-pffc\n  xoff reproduce gfc --testbed --out out/paper-gfc-testbed\n  xoff reproduce gfc --list"
)]
pub struct Args {
    /// Paper: gfc, tcd, request-grant, unbiased-qcn, pffc
    paper: String,
    /// Claims to run [default: all]
    items: Vec<String>,
    /// Make short runs, two minutes on two cores; this is the default
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Make full runs, as in the documentation; hours for the large networks
    #[arg(long)]
    full: bool,
    /// Write report, figures and results into this folder [default: out/paper-PAPER, with --testbed out/paper-PAPER-testbed]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Set the seed of every random stream
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Use N threads; never changes a result [default: the number of cores]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Also write the results as Markdown: this file, and its figures in a folder next to it; some claims replace theirs in a file of the
    /// same mode and seed
    #[arg(long, value_name = "FILE.md")]
    markdown: Option<PathBuf>,
    /// Old name of --markdown
    #[arg(long, hide = true, value_name = "FILE.md", conflicts_with = "markdown")]
    page: Option<PathBuf>,
    /// Run only the claims with real Ethernet frames, in network namespaces and in real time
    #[arg(long)]
    testbed: bool,
    /// List the claims
    #[arg(long)]
    list: bool,
}

/// Verdicts of the claims.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Reproduce")]
pub struct Json<'a> {
    #[serde(flatten)]
    entries: Reproduced<'a>,
    /// `yes`: every claim was reproduced.
    answer: Conclusion,
}

/// A claim that can be run.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ListedClaim")]
pub struct Listed<'a> {
    /// Short name, which chooses it.
    id: &'a str,
    /// Statement of the claim.
    title: &'a str,
    /// Value or statement of the paper.
    paper: &'a str,
    /// Expected range.
    band: &'a str,
}

/// Reproduces it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    if args.list {
        return list(&args.paper, args.testbed);
    }
    if args.testbed {
        // Before anything has a thread.
        veth_network::isolate().map_err(|e| Problem::new(e.to_string(), e.remedy()))?;
    }
    let suffix = if args.testbed { "-testbed" } else { "" };
    let out = args.out.clone().unwrap_or_else(|| Path::new("out").join(format!("paper-{}{suffix}", args.paper)));
    if args.page.is_some() {
        let warning = Problem::new("write --markdown instead of --page, its old name", "the old name still works").warning();
        terminal::problems(&warning.into());
    }
    let markdown = args.markdown.as_ref().or(args.page.as_ref());
    interrupt::ask_first();
    let asked = interrupt::asker();
    let bar = Bar::new("{bar:24} {prefix} {msg} {elapsed_precise:.dim} (this claim: {eta} left)");
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let cx = Context {
        mode: if args.full { Mode::Full } else { Mode::Quick },
        threads: args.threads.map_or(cores, |t| t as usize),
        progress: &bar,
        interrupted: &asked,
        seed: args.seed,
        testbed: args.testbed,
        force: args.force.force,
        ..Context::new(Mode::Quick, &out)
    };
    if let Some(page) = markdown {
        check_docs(page, &cx, &args.paper, args.force.force).map_err(problems)?;
    }
    let report = reproduce(&args.paper, &args.items, &cx);
    bar.clear();
    let report = report.map_err(problems)?;
    if let Some(page) = markdown {
        write_docs(&report, &cx, page).map_err(problems)?;
    }
    let conclusion = Conclusion::of(report.interrupted, report.is_reproduced());
    let json = Json { entries: Reproduced::of(&report, &cx), answer: conclusion };
    // Short runs decide less than full ones.
    let failed: Vec<&str> = report.entries.iter().filter(|e| e.verdict == Verdict::NotReproduced).map(|e| e.id.as_str()).take(3).collect();
    let full = format!("xoff reproduce {} {} --full", args.paper, failed.join(" "));
    let next = (!failed.is_empty() && !args.full && !args.testbed).then_some(full);
    Ok(Answer::new(text(&report), &json, conclusion.into()).next(next))
}

fn problems(e: ReproduceError) -> Problems {
    match e {
        ReproduceError::Scenario(p) => p,
        ReproduceError::Build(e) => refused(&e).into(),
        ReproduceError::Output(e) => caller::of_output(Problem::new(e.what, e.hint)).into(),
        ReproduceError::Unknown { what, hint } => Problem::new(what, hint).into(),
        e => Problem::new(e.to_string(), "").into(),
    }
}

fn list(paper: &str, testbed: bool) -> Result<Answer, Problems> {
    let entries = if testbed { testbed_entries(paper) } else { entries(paper) }.map_err(problems)?;
    let mut t = terminal::table(["Claim", "Title"]);
    entries.iter().for_each(|e| {
        t.add_row([e.id, &e.title]);
    });
    let json: Vec<_> = entries.iter().map(|e| Listed { id: e.id, title: &e.title, paper: &e.paper, band: &e.band }).collect();
    Ok(Answer::new(terminal::draw(&t), &json, Exit::Done))
}

fn verdict(e: &Judged) -> String {
    match e.verdict {
        Verdict::Reproduced => terminal::good("reproduced"),
        Verdict::UnderAssumption => terminal::good("reproduced under assumption"),
        Verdict::NotReproduced => terminal::bad("not reproduced"),
        Verdict::Extension => "extension".into(),
    }
}

fn text(report: &Report) -> String {
    let mut out = String::new();
    if report.entries.len() <= 2 {
        // Few entries: their tables are the answer.
        for e in &report.entries {
            out.push_str(&format!("{}\n", console::style(&e.title).bold()));
            for table in &e.tables {
                if let Some(caption) = &table.caption {
                    out.push_str(&terminal::wrapped(caption));
                }
                let mut t = terminal::table(table.columns.iter().map(|c| c.name.as_str()));
                table.rows.iter().for_each(|row| {
                    t.add_row(row.iter().map(|c| c.text().to_owned()));
                });
                out.push_str(&format!("\n{}", terminal::draw(&t)));
            }
            out.push('\n');
        }
    }
    let mut t = terminal::table(["Claim", "Verdict", "Paper", "Measured"]);
    for e in &report.entries {
        t.add_row([e.id.clone(), verdict(e), e.paper.clone(), e.measured.clone()]);
    }
    if let Some(column) = t.column_mut(0) {
        column.set_constraint(comfy_table::ColumnConstraint::ContentWidth);
    }
    out.push_str(&terminal::draw(&t));
    for e in report.entries.iter().filter(|e| e.verdict == Verdict::NotReproduced) {
        out.push_str(&terminal::wrapped(&format!("{}: not reproduced. {}", e.id, e.why.join("; "))));
    }
    let count = |v: Verdict| report.entries.iter().filter(|e| e.verdict == v).count();
    out.push_str(&format!(
        "\n{} reproduced, {} reproduced under assumption, {} not reproduced{}{}\nReport: {}\n",
        count(Verdict::Reproduced),
        count(Verdict::UnderAssumption),
        count(Verdict::NotReproduced),
        if count(Verdict::Extension) > 0 {
            format!(", {}", terminal::counted(count(Verdict::Extension) as u64, "extension"))
        } else {
            String::new()
        },
        if report.interrupted { "; interrupted before the rest" } else { "" },
        report.page.display()
    ));
    out
}

/// Shows the entry at hand, and leaves a line per entry.
impl Progress for Bar {
    fn started(&self, entry: &Entry, nth: usize, total: usize) {
        self.restart(format!("{} of {total}: {}", nth + 1, entry.id));
    }
    fn fraction(&self, _entry: &str, part: f64) {
        self.done(part);
    }
    fn note(&self, _entry: &str, text: &str) {
        self.message(text.to_owned());
    }
    fn finished(&self, e: &Judged, kept: bool) {
        let how = if kept { "kept from an earlier run".to_owned() } else { format!("{:.1} s", self.elapsed().as_secs_f64()) };
        self.line(&format!("{:<18} {} ({how})", e.id, verdict(e)));
    }
}
