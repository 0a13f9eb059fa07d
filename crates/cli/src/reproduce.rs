//! `xoff reproduce`: a paper's figures and tables, run and judged by the Python package
//! (`python/xoff/lab`).
//!
//! ```text
//!   xoff reproduce PAPER ... --starts--> python -m xoff.lab PAPER ... --JSON--> table, exit code
//! ```

use std::ffi::OsString;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xoff_record::verdict::Conclusion;
use xoff_scenario::Problems;

use crate::answer::{Answer, Exit};
use crate::out::Force;
use crate::{interrupt, python, terminal};

/// Run the figures and tables of a paper and judge them.
///
/// A paper is a folder with a file for each claim: papers/gfc of the sources, or one of your own.
/// xoff runs the scenarios of each claim, draws its figure next to the paper's numbers, and
/// computes a verdict: confirmed, confirmed under a stated reading, undecided, contradicted, or
/// erratum, with distance and reason. An extension has no verdict. xoff keeps every finished run: after an interruption the same
/// command continues. It needs the Python package.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff reproduce papers/gfc ring fig05\n  xoff reproduce papers/tcd --list\n  xoff reproduce papers/pffc --out out/pffc\n  xoff reproduce papers/gfc --testbed  # real frames; needs root\n  xoff reproduce my-paper --full --record\n\nA paper of your own: docs/tutorials/paper.md."
)]
pub struct Args {
    /// Folder of the paper, such as papers/gfc
    paper: PathBuf,
    /// Claims to run [default: all]
    items: Vec<String>,
    /// Make short runs; this is the default
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Make full runs; hours for large networks
    #[arg(long)]
    full: bool,
    /// Write report, figures and results into this folder [default: out/paper-PAPER, with --testbed
    /// out/paper-PAPER-testbed]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Set the seed of every random stream
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Use N threads; never changes a result [default: the number of cores]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Also write the results as Markdown: this file, and its figures in a folder next to it
    #[arg(long, alias = "page", value_name = "FILE.md")]
    markdown: Option<PathBuf>,
    /// Keep the measured values in the folder of the paper: results.json, and the table of
    /// README.md
    #[arg(long)]
    record: bool,
    /// Run only the claims with real Ethernet frames, in network namespaces and in real time
    #[arg(long)]
    testbed: bool,
    /// List the claims
    #[arg(long)]
    list: bool,
}

/// Claims of a paper that were run.
#[derive(Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "Reproduce")]
pub struct Json {
    /// Short name of the paper.
    paper: String,
    /// `quick` or `full`.
    mode: String,
    /// Seed of every random stream.
    seed: u64,
    /// Every requested claim has run.
    complete: bool,
    /// The claims, in the order of the paper.
    claims: Vec<Claim>,
    /// `yes`: no claim is undecided or contradicted.
    answer: Conclusion,
}

/// A figure, table or claim of the paper, with its verdict.
#[derive(Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "JudgedClaim")]
pub struct Claim {
    /// Short name.
    id: String,
    /// Title of the figure, table or claim.
    title: String,
    /// Statement of the paper.
    paper: String,
    /// Measured values, in words.
    measured: String,
    /// Expected result, in words.
    band: String,
    /// The verdict; computed from the checks, or `extension`.
    verdict: Verdict,
    /// How far the value that decides is from the paper's, such as `1.44x`; may be empty.
    distance: String,
    /// Main cause in a few words; may be empty.
    cause: String,
    /// Points that the paper leaves open, with the assumption of xoff.
    assumptions: Vec<String>,
    /// Main figure, below the folder of the results; null if there is none.
    figure: Option<String>,
    /// Bands changed after the data were seen, each with date and reason.
    changes: Vec<String>,
    /// Checks with their results.
    checks: Vec<Check>,
    /// Reasons for a deviation from the paper, with computed evidence.
    why: Vec<String>,
    /// Notes.
    notes: Vec<String>,
}

/// Verdict on a claim.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "PaperVerdict")]
enum Verdict {
    /// Every check that counts holds.
    #[serde(rename = "confirmed")]
    Confirmed,
    /// Every check that counts holds, some of them under an assumption that the paper does not
    /// state.
    #[serde(rename = "confirmed under a stated reading")]
    UnderReading,
    /// The data do not separate: an interval reaches beyond its range, a range or a reading is
    /// xoff's own, or a check cannot fail.
    #[serde(rename = "undecided")]
    Undecided,
    /// A check contradicts the paper.
    #[serde(rename = "contradicted")]
    Contradicted,
    /// The paper prints another number than its own formulas give, and those are right.
    #[serde(rename = "erratum")]
    Erratum,
    /// Not a claim of the paper: findings, no verdict.
    #[serde(rename = "extension")]
    Extension,
}

impl Verdict {
    const ALL: [Verdict; 6] = [
        Verdict::Confirmed,
        Verdict::UnderReading,
        Verdict::Undecided,
        Verdict::Contradicted,
        Verdict::Erratum,
        Verdict::Extension,
    ];

    fn name(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::UnderReading => "confirmed under a stated reading",
            Verdict::Undecided => "undecided",
            Verdict::Contradicted => "contradicted",
            Verdict::Erratum => "erratum",
            Verdict::Extension => "extension",
        }
    }

    /// More or longer runs may give another one.
    fn is_open(self) -> bool {
        matches!(self, Verdict::Undecided | Verdict::Contradicted)
    }
}

/// A check and its result.
#[derive(Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "JudgedCheck")]
pub struct Check {
    /// Name of the measured quantity.
    what: String,
    /// Measured value with its unit; a mean with its 95 % interval, which must be in the range as a
    /// whole.
    measured: String,
    /// Accepted range with its unit.
    expected: String,
    /// The paper's value with its unit; empty if it has none.
    paper: String,
    /// Source of the range: `paper`, `recomputed`, `closed form`,
    /// `chosen around the paper's number`, `chosen for the paper's words` or `chosen`.
    source: String,
    /// Assumption that the paper does not state; empty if none.
    assumption: String,
    /// Other readings under which it fails too; empty if none.
    tried: String,
    /// A value that would fail the check.
    fails_at: String,
    /// `holds`, `undecided`, `contradicts`, `erratum`; or `fails`: a finding outside of its range,
    /// which counts for no verdict.
    result: String,
    /// How far the value is from the paper's, such as `1.44x`; may be empty.
    distance: String,
}

/// A claim that can be run.
#[derive(Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "ListedClaim")]
pub struct Listed {
    /// Short name, which chooses it.
    id: String,
    /// Statement of the claim.
    title: String,
    /// Value or statement of the paper.
    paper: String,
    /// Expected range.
    band: String,
}

/// A finished reproduction, and what only a terminal shows of it.
#[derive(Deserialize)]
struct Finished {
    #[serde(flatten)]
    json: Json,
    page: PathBuf,
}

impl Finished {
    /// Stopped before the first claim.
    fn interrupted(args: &Args) -> Finished {
        let paper = args.paper.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let page = args.out.clone().unwrap_or_default().join("index.html");
        let mode = if args.full { "full" } else { "quick" }.to_owned();
        let answer = Conclusion::Interrupted;
        let json =
            Json { paper, mode, seed: args.seed, complete: false, claims: Vec::new(), answer };
        Finished { json, page }
    }
}

/// Reproduces it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    if args.list {
        return list(&ask(args)?.unwrap_or_default());
    }
    interrupt::ask_first();
    let Finished { json, page } = ask(args)?.unwrap_or_else(|| Finished::interrupted(args));
    let failed: Vec<&str> =
        json.claims.iter().filter(|c| c.verdict.is_open()).map(|c| c.id.as_str()).take(3).collect();
    // Short runs decide less than full ones.
    let paper = args.paper.display().to_string();
    let full = format!("xoff reproduce {} {} --full", terminal::word(&paper), failed.join(" "));
    let next = (!failed.is_empty() && !args.full && !args.testbed).then_some(full);
    Ok(Answer::new(text(&json, &page), &json, json.answer.into()).next(next))
}

/// Starts the package with the same arguments. `None`: the user stopped it before it had an answer.
fn ask<T: DeserializeOwned>(args: &Args) -> Result<Option<T>, Problems> {
    let flags = [
        ("--full", args.full),
        ("--force", args.force.force),
        ("--record", args.record),
        ("--testbed", args.testbed),
        ("--list", args.list),
    ];
    let values: [(&str, Option<OsString>); 4] = [
        ("--out", args.out.clone().map(Into::into)),
        ("--markdown", args.markdown.clone().map(Into::into)),
        ("--threads", args.threads.map(|n| n.to_string().into())),
        ("--seed", Some(args.seed.to_string().into())),
    ];
    let mut words: Vec<OsString> =
        flags.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).into()).collect();
    for (name, value) in values.iter().filter_map(|(name, value)| value.as_ref().map(|v| (name, v)))
    {
        let mut option = OsString::from(format!("{name}="));
        option.push(value);
        words.push(option);
    }
    words.extend(["--".into(), args.paper.clone().into_os_string()]);
    words.extend(args.items.iter().map(OsString::from));
    python::ask("reproduce", "xoff.lab.__main__", &words)
}

fn list(claims: &Vec<Listed>) -> Result<Answer, Problems> {
    let mut t = terminal::table(["Claim", "Title"]);
    claims.iter().for_each(|c| {
        t.add_row([&c.id, &c.title]);
    });
    Ok(Answer::new(terminal::draw(&t), claims, Exit::Done))
}

fn verdict(c: &Claim) -> String {
    let name = c.verdict.name();
    match c.verdict {
        Verdict::Confirmed | Verdict::UnderReading => terminal::good(name),
        Verdict::Contradicted => terminal::bad(name),
        Verdict::Undecided | Verdict::Erratum | Verdict::Extension => name.into(),
    }
}

fn text(found: &Json, page: &std::path::Path) -> String {
    let mut out = String::new();
    let mut t = terminal::table(["Claim", "Verdict", "Distance", "Paper", "Measured"]);
    for c in &found.claims {
        let cells =
            [c.id.clone(), verdict(c), c.distance.clone(), c.paper.clone(), c.measured.clone()];
        t.add_row(cells);
    }
    for short in [0, 2] {
        if let Some(column) = t.column_mut(short) {
            column.set_constraint(comfy_table::ColumnConstraint::ContentWidth);
        }
    }
    out.push_str(&terminal::draw(&t));
    for c in found.claims.iter().filter(|c| c.verdict.is_open() || c.verdict == Verdict::Erratum) {
        let cause = if c.cause.is_empty() { String::new() } else { format!(" ({})", c.cause) };
        let why = c.why.join("; ");
        out.push_str(&terminal::wrapped(&format!("{}: {}{cause}. {why}", c.id, c.verdict.name())));
    }
    let counts: Vec<String> = Verdict::ALL
        .iter()
        .map(|v| (found.claims.iter().filter(|c| c.verdict == *v).count(), v.name()))
        .filter(|(n, name)| *n > 0 || *name == Verdict::Confirmed.name())
        .map(|(n, name)| format!("{n} {name}"))
        .collect();
    let rest = if found.complete { "" } else { "; interrupted before the rest" };
    out.push_str(&format!("\n{}{rest}\n", counts.join(", ")));
    // An interruption may come before there is one.
    if page.is_file() {
        out.push_str(&format!("Report: {}\n", page.display()));
    }
    out
}
